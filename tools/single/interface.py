"""What weft.h declares, and the comment at its beginning."""

import re
from pathlib import Path

from isas import flags_of, read_list
from items import Divider

# In addition to all that the headers of models/inference/ declare.
NAMES = ["load_checkpoint", "Context", "ContextScope", "set_default_threads", "available_isas", "isa_name", "Error", "WEFT_VERSION"]


def names_of_interface(root):
    """Returns the names of the functions and classes that a program can use."""
    names = list(NAMES)
    for source in sorted((Path(root) / "models/inference").glob("*.cpp")):
        header = Path(root) / "models/include/weft" / f"{source.stem}.h"
        if header.exists():
            items = Divider(header.name, header.read_text(), {"weft", "detail"}).run()
            names += [item.names[0] for item in items if item.kind in ("function", "type") and not item.owner]
    return list(dict.fromkeys(names))


def options_of(root, isa):
    """Returns the compiler's options for an instruction set."""
    return "-march=native" if isa == "native" else " ".join(flags_of(read_list(root)[isa]))


def first_comment(root, arguments):
    """Returns the first comment of weft.h."""
    version = ".".join(re.findall(r"#define WEFT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)",
                                  (Path(root) / "engine/include/weft/version.h").read_text()))  # fmt: skip
    options = f"{options_of(root, arguments.isa)} -ffp-contract=off -fno-math-errno -fno-trapping-math".strip()
    best = " weft.cpp uses the best instruction set that these options allow; without -march=native, that is SSE2 on x86-64."
    xsimd = "" if arguments.isa == "generic" else " of xsimd 8.1 or newer (Debian: libxsimd-dev) and"
    types = ", ".join(dict.fromkeys(["f32"] + arguments.types))
    gradients = f"It has no gradients and no training, and it computes in {types}."
    return wrapped([
        f"weft {version} for running trained models ({', '.join(arguments.arch)}) in a program. tools/amalgamate made "
        f"weft.h and weft.cpp from the sources of weft; don't edit them. {gradients} All that this header declares is "
        "documented at its declaration.",
        f"Compile with: c++ -std=c++20 -O2 {options} -fopenmp main.cpp weft.cpp",
        f"Without -fopenmp, weft uses threads of the C++ standard library (some systems then need -pthread). This header "
        f"needs only C++17. weft.cpp needs the headers{xsimd} of nlohmann_json (Debian: nlohmann-json3-dev)."
        f"{best if arguments.isa == 'native' else ''}",
        "-ffp-contract=off is needed for correct results; without it, weft throws an Error. -fno-math-errno and "
        "-fno-trapping-math make some kernels faster.",
        "The results have the same bits as those of the library with the same instruction set.",
    ]) + "//\n" + "".join(f"// {line}".rstrip() + "\n" for line in (Path(root) / "LICENSE").read_text().splitlines())  # fmt: skip


def wrapped(paragraphs):
    """Returns paragraphs as a comment with lines of at most 120 columns."""
    lines = []
    for paragraph in paragraphs:
        line = "//"
        for word in paragraph.split():
            if len(line) + 1 + len(word) > 120:
                lines.append(line)
                line = "//"
            line += " " + word
        lines += [line, "//"]
    return "\n".join(lines[:-1]) + "\n"
