"""What weft.h declares, and the comment at its beginning."""

import re
from pathlib import Path

from isas import flags_of, read_list
from items import Divider

# In addition to all that the headers of models/inference/ declare.
NAMES = [
    "load_checkpoint",
    "Context",
    "ContextScope",
    "set_default_threads",
    "available_isas",
    "isa_name",
    "Error",
    "WEFT_VERSION",
]


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


ABOUT = """\
weft {version} for running trained models ({arch}) in a program. tools/amalgamate made weft.h and weft.cpp from the
sources of weft; don't edit them. They contain no gradients and no training, and compute in {types}.

Compile with: c++ -std=c++20 -O2 {options} {always} -fopenmp main.cpp weft.cpp

Without -fopenmp, weft uses threads of the C++ standard library (some systems then need -pthread). This header needs
only C++17. weft.cpp needs the headers {headers} (Debian: {packages}). {isa}

-ffp-contract=off is needed for correct results. Without it, weft throws an Error. -fno-math-errno and
-fno-trapping-math make some kernels faster. The results have the same bits as those of the library with the same
instruction set.
"""
NATIVE = (
    "It uses the best instruction set that the compiler's options allow. Without -march=native, it is SSE2 on x86-64."
)


def first_comment(root, arguments):
    """Returns the first comment of weft.h."""
    header = (Path(root) / "engine/include/weft/version.h").read_text()
    is_generic = arguments.isa == "generic"
    about = ABOUT.format(
        version=".".join(re.findall(r"#define WEFT_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)),
        arch=", ".join(arguments.arch),
        types=" and ".join(dict.fromkeys(["f32"] + arguments.types)),
        options=options_of(root, arguments.isa),
        always="-ffp-contract=off -fno-math-errno -fno-trapping-math",
        headers="of nlohmann_json" if is_generic else "of xsimd 8.1 or newer and of nlohmann_json",
        packages="nlohmann-json3-dev" if is_generic else "libxsimd-dev, nlohmann-json3-dev",
        isa=NATIVE if arguments.isa == "native" else f"Its instruction set is {arguments.isa}.",
    )
    license_lines = (Path(root) / "LICENSE").read_text().splitlines()
    return (
        wrapped(about.strip().split("\n\n")) + "//\n" + "".join(f"// {line}".rstrip() + "\n" for line in license_lines)
    )


def wrapped(paragraphs):
    """Returns paragraphs as a comment of at most 120 columns. The command of the compiler stays on one line."""
    lines = []
    for paragraph in paragraphs:
        line = "//"
        for word in paragraph.split():
            if len(line) + 1 + len(word) > 120 and not paragraph.startswith("Compile with"):
                lines.append(line)
                line = "//"
            line += " " + word
        lines += [line, "//"]
    return "\n".join(lines[:-1]) + "\n"
