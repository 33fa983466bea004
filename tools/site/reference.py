"""Makes pages from the programs themselves. The page of the command is made from its help, that of C from the header,
and that of Python from docstrings. The page of C++ leads to Doxygen's pages."""

import ast
import re
import subprocess
from pathlib import Path

from md import PageError


def page(root: Path, name: str, weft: Path, cpp: Path | None) -> tuple[str, str]:
    """Returns the Markdown text of a page, and the path that its links are relative to."""
    makers = {"command": lambda: command(weft), "c": lambda: c(root), "python": lambda: python(root),
              "cpp": lambda: cpp_page(cpp)}
    return makers[name](), f"{name}.md"


def help_of(weft: Path, *words: str) -> str:
    """Returns the output of the command with --help."""
    return subprocess.run([weft, *words, "--help"], check=True, capture_output=True, text=True).stdout


def cell(text: str) -> str:
    """Escapes a text for a Markdown table."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("_", "\\_")


def entries(block: str) -> list[tuple[str, str]]:
    """Returns the entries of a group of a help page. Each has names and a description, which may have several lines."""
    result: list[tuple[str, str]] = []
    for line in block.splitlines():
        if re.match(r"  \S", line):
            name, _, text = line[2:].partition("  ")
            if len(line) > 26 and line[24:26] == "  ":
                name, text = line[2:26], line[26:]
            result.append((name.strip(), text.strip()))
        elif line.strip() and result:
            result[-1] = (result[-1][0], (result[-1][1] + " " + line.strip()).strip())
    return result


def section(title: str, page_text: str, level: str) -> str:
    """Returns a help page as Markdown."""
    blocks = page_text.rstrip("\n").split("\n\n")
    summary, _, usage = blocks[0].partition("\n")
    parts = [f"{level} {title}", summary + "."]
    if usage.startswith("Usage: "):
        parts.append(f"```\n{usage.removeprefix('Usage: ')}\n```")
    groups = re.split(r"\n(?=\S[^\n]*:\n)", "\n\n".join(blocks[1:]))
    for group in groups:
        name, _, block = group.partition("\n")
        if name.startswith("Example"):
            parts.append(f"{name}\n\n```sh\n" + re.sub(r"^  ", "", block, flags=re.M).strip("\n") + "\n```")
        elif name.endswith(":"):
            rows = "\n".join("| `" + names.replace("|", "\\|") + f"` | {cell(text)} |" for names, text in entries(block))
            parts.append(f"| {name.removesuffix(':')} | |\n|---|---|\n{rows}")
        elif group.strip():
            parts.append("\n".join(line.strip() for line in group.splitlines()))
    return "\n\n".join(parts)


def command(weft: Path) -> str:
    """Returns the page of the command, with the help of every subcommand."""
    overview = help_of(weft)
    names = re.findall(r"^  ([a-z][a-z-]*)  ", overview[overview.index("ubcommands:"):], flags=re.M)
    if "train" not in names:
        raise PageError("weft --help lists no subcommand train")
    parts = ["# The command", "These are the pages of `weft COMMAND --help`.",
             " · ".join(f"[{name}](#weft-{name})" for name in names)]
    for name in names:
        text = help_of(weft, name)
        parts.append(section(f"weft {name}", text, "##"))
        nested = re.findall(r"^  ([a-z][a-z-]*)  ", text[text.index("ubcommands:"):], flags=re.M) \
            if "ubcommands:" in text else []
        parts += [section(f"weft {name} {inner}", help_of(weft, name, inner), "###") for inner in nested]
    return "\n\n".join(parts) + "\n"


def c(root: Path) -> str:
    """Returns the page of C, with the declarations of weft_c.h and their comments."""
    text = (root / "models/include/weft/weft_c.h").read_text()
    parts = ["# C: weft/weft_c.h"]
    for block in re.split(r"\n\s*\n", text):
        comment = [line.strip().removeprefix("///").strip() for line in block.splitlines() if line.startswith("///")]
        lines = [line for line in block.splitlines() if not line.startswith(("///", "#", "extern", "}  //"))]
        prose = " ".join(line for line in comment if not line.startswith("\\file"))
        if prose:
            parts.append(prose.replace("<", "&lt;"))
        if prose and any(line.strip() for line in lines):
            parts.append("```c\n" + "\n".join(lines).strip("\n") + "\n```")
    return "\n\n".join(parts) + "\n"


def signature(node: ast.FunctionDef) -> str:
    """Returns "def name(arguments) -> result"."""
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({ast.unparse(node.args)}){result}"


def documented(body: list, level: str, owner: str) -> list[str]:
    """Returns the public classes and functions with their docstrings."""
    parts = []
    for node in body:
        is_public = isinstance(node, (ast.ClassDef, ast.FunctionDef)) and (
            not node.name.startswith("_") or node.name in ("__call__", "__init__"))
        doc = ast.get_docstring(node) if is_public else None
        if doc is None:
            continue
        declared = f"class {node.name}" if isinstance(node, ast.ClassDef) else signature(node)
        parts += [f"{level} {owner}{node.name}", f"```python\n{declared}\n```", doc]
        if isinstance(node, ast.ClassDef):
            parts += documented(node.body, level + "#", f"{owner}{node.name}.")
    return parts


def python(root: Path) -> str:
    """Returns the page of Python, with the public names of the package."""
    parts = ["# Python: weft and weft.torch"]
    for module, file in (("weft", "__init__.py"), ("weft.torch", "torch.py")):
        tree = ast.parse((root / "tools/python/src/weft" / file).read_text())
        parts += [f"## {module}", ast.get_docstring(tree) or "", *documented(tree.body, "###", module + ".")]
    return "\n\n".join(parts) + "\n"


def cpp_page(cpp: Path | None) -> str:
    """Returns the page of C++, which leads to Doxygen's pages."""
    where = ("Doxygen's pages describe [all public names](cpp/index.html), with their shapes, errors and sources."
             if cpp is not None else "Doxygen was not installed when this site was built, so its pages are missing.")
    return f"""# C++

{where}

| header | contents |
|---|---|
| `weft/weft.h` | includes all the others |
| `weft/ops.h` | every operation; `weft/custom_op.h` for your own |
| `weft/tensor.h`, `weft/tape.h`, `weft/context.h` | tensors, gradients, threads and memory |
| `weft/gmlp.h`, `weft/tnn.h`, `weft/fnet.h`, `weft/layers.h` | the architectures and their layers |
| `weft/checkpoint.h`, `weft/classifier.h`, `weft/generate.h`, `weft/fill_mask.h` | loading and using models |
| `weft/trainer.h`, `weft/optimizer.h`, `weft/schedule.h`, `weft/data.h` | training |
| `weft/quantize.h`, `weft/safetensors.h`, `weft/load_parameters.h` | weights |
"""
