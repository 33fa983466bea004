"""Makes pages from annotated programs. A page has comments next to the code that they explain, and the recorded output
below each step. models/annotated/README.md describes the format."""

import html
import re
from dataclasses import dataclass, field
from pathlib import Path

import plot
from md import Linker, PageError, code, link, parser

PROSE = re.compile(r"^\s*//(?: (.*)|)$")
STEP = re.compile(r'^STEP\("(.*?)"\)')


@dataclass
class Chunk:
    """A comment and the lines of code up to the next comment."""

    line: int
    prose: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


def chunks(text: str) -> list[Chunk]:
    """Divides a program into chunks."""
    result = [Chunk(1)]
    for number, line in enumerate(text.splitlines(), 1):
        match = PROSE.match(line)
        if match:
            if any(c.strip() for c in result[-1].code):
                result.append(Chunk(number))
            result[-1].prose.append(match.group(1) or "")
        else:
            result[-1].code.append(line)
    return result


def steps(text: str, file: str) -> tuple[str, dict[str, list[str]]]:
    """Returns the machine on which an output was recorded, and the lines of each step."""
    machine, result, current = "", {}, None
    for line in text.splitlines():
        name = re.fullmatch(r"\[(.*)\]", line)
        if line.startswith("machine: "):
            machine = line.removeprefix("machine: ")
        elif name:
            current = result.setdefault(name.group(1), [])
        elif current is not None:
            current.append(line)
    if not machine:
        raise PageError(f"{file}: expected a first line with the machine")
    return machine, result


def output_html(lines: list[str], file: str) -> str:
    """Returns a step's output as HTML. Each table that begins with "plot:" becomes a drawing."""
    parts, text = [], []

    def flush():
        block = "\n".join(text).strip("\n")
        if block:
            parts.append(f'<pre class="output"><samp>{html.escape(block)}</samp></pre>')
        text.clear()

    at = 0
    while at < len(lines):
        if lines[at].startswith("plot: "):
            end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
            flush()
            parts.append(plot.figure(lines[at:end], file))
            at = end
        else:
            text.append(lines[at])
        at += 1
    flush()
    return "".join(parts)


def prose_html(chunk: Chunk, source: str, linker, root: Path) -> str:
    """Returns the comment as HTML, with its drawings inlined."""
    parse = parser(f"{source}:{chunk.line}", formulas=True)
    tokens = parse.parse("\n".join(chunk.prose))
    drawings = {}

    def target(to: str) -> str:
        if to.startswith("drawings/"):
            drawings[to] = drawing(root / "models/annotated" / to)
            return to
        return linker(to)

    link(tokens, target)
    text = parse.renderer.render(tokens, parse.options, {})
    for name, svg in drawings.items():
        text = re.sub(rf'<p><img src="{re.escape(name)}" alt="([^"]*)" ?/?></p>',
                      lambda m: f"<figure>{svg}<figcaption>{m.group(1)}</figcaption></figure>", text)
    return text


def drawing(path: Path) -> str:
    """Returns the content of an SVG file as an element of a page."""
    if not path.is_file():
        raise PageError(f"{path}: expected a drawing")
    return re.sub(r"<\?xml.*?\?>|<!--.*?-->", "", path.read_text(), flags=re.S).strip()


def page(root: Path, name: str, urls: dict) -> tuple[str, str, list]:
    """Returns the title, the HTML and the needed files of models/annotated/NAME.cpp."""
    source, recorded = f"models/annotated/{name}.cpp", f"models/annotated/recorded/{name}.txt"
    for file in (source, recorded):
        if not (root / file).is_file():
            raise PageError(f"{file} is missing")
    machine, outputs = steps((root / recorded).read_text(), recorded)
    linker = Linker(root, source, urls[source], urls)
    rows, title = [], name
    for index, chunk in enumerate(chunks((root / source).read_text())):
        prose = prose_html(chunk, source, linker, root)
        if index == 0:
            title = next((line.removeprefix("# ") for line in chunk.prose if line.startswith("# ")), name)
            prose += f'<p class="machine">Times and other figures were recorded on {html.escape(machine)}.</p>'
        shown = code("\n".join(chunk.code).strip("\n") + "\n", "cpp") if any(chunk.code) else ""
        output = ""
        for line in chunk.code:
            step = STEP.match(line)
            if step:
                if step.group(1) not in outputs:
                    raise PageError(f'{recorded}: no output of the step "{step.group(1)}": record the output again')
                output += output_html(outputs.pop(step.group(1)), recorded)
        block = f'<pre class="code"><code>{shown}</code></pre>' if shown else ""
        rows.append(f'<section class="row"><div class="prose">{prose}</div><div class="work">{block}{output}</div>'
                    "</section>")
    if outputs:
        raise PageError(f"{recorded}: output of unknown steps: {', '.join(outputs)}")
    return title, "\n".join(rows), linker.files
