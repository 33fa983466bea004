"""Reads the list of instruction sets, engine/include/weft/isas.def, whose columns are explained there."""

import re
from pathlib import Path

# How compilers for aarch64 name the features of the list. On x86-64 the names are the same, with underscores.
AARCH64_MACROS = {"ASIMDDP": "__ARM_FEATURE_DOTPROD", "BF16": "__ARM_FEATURE_BF16_VECTOR_ARITHMETIC"}
COLUMNS = ("name", "processor", "extends", "kernels", "arch", "bytes", "traits", "features", "flags")


def read_list(root):
    """Returns the lines of the list by name, worst first, each with what it inherits."""
    text = re.sub(r"^ *(?://|#).*\n", "", (Path(root) / "engine/include/weft/isas.def").read_text(), flags=re.MULTILINE)
    lines = {}
    for match in re.finditer(r"WEFT_INSTRUCTION_SET\(((?:[^()]|\([^)]*\))*)\)", text):
        line = dict(zip(COLUMNS, (re.sub(r"\s+", " ", column).strip() for column in match.group(1).split(","))))
        line["features"] = re.findall(r"HAS\((\w+)\)", line["features"])
        for column in ("traits", "flags"):
            line[column] = line[column].split()
        for column in ("features", "traits", "flags"):
            line[column] = lines.get(line["extends"], {column: []})[column] + line[column]
        lines[line["name"]] = line
    return lines


def inlined_list(root):
    """Returns the list without comments. Each instruction set has all kernels, because there is only one."""
    text = (Path(root) / "engine/include/weft/isas.def").read_text()
    text = re.sub(r"^ *//.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"(INSTRUCTION_SET\(\w+, *\w+, *\w+,)[^,]*,", r"\1 all,", text)


def macro_of(line, feature):
    """Returns the macro that a compiler defines if it may use the feature."""
    return AARCH64_MACROS[feature] if line["processor"] == "aarch64" else f"__{feature.upper()}__"


def flags_of(line):
    """Returns the options with which a compiler compiles for the instruction set."""
    if line["processor"] != "x86_64":
        return line["flags"]
    return [f"-m{feature}" for feature in line["features"] if feature != "sse2"] + line["flags"]


def condition_of(line):
    """Returns the condition of the preprocessor under which the compiler compiles for the instruction set."""
    processor = {"x86_64": "defined(__x86_64__)", "aarch64": "defined(__aarch64__)"}.get(line["processor"], "1")
    return " && ".join([processor] + [f"defined({macro_of(line, feature)})" for feature in line["features"]])


def definitions(lines, line):
    """Returns the macros with which the kernels are compiled for an instruction set."""
    traits = dict.fromkeys(trait for each in lines.values() for trait in each["traits"])
    found = {
        "WEFT_ISA": line["name"],
        "WEFT_ARCH": line["arch"],
        "WEFT_VECTOR_BYTES": line["bytes"],
        "WEFT_BUILT_ISAS": f'"{line["name"]}"',
        "WEFT_PROCESSOR": f'"{line["processor"]}"',
    }
    found.update({f"WEFT_HAS_{trait}": int(trait in line["traits"]) for trait in traits})
    return "".join(f"#define {name} {value}\n" for name, value in found.items())


def choice(root, isa):
    """Returns the lines of the preprocessor that choose the instruction set.

    native is the best one that the compiler's options allow.
    """
    lines = read_list(root)
    if isa == "native":
        vectors = [line for line in reversed(lines.values()) if line["processor"] != "other"]
        text = "".join(f"#elif {condition_of(line)}\n" + definitions(lines, line) for line in vectors)
        return "#" + text[len("#el") :] + "#else\n" + definitions(lines, lines["generic"]) + "#endif\n"
    line = lines[isa]
    needed = " ".join(flags_of(line))
    check = f'#if !({condition_of(line)})\n#error "compile weft.cpp with {needed}"\n#endif\n'
    return (check if line["processor"] != "other" else "") + definitions(lines, line)
