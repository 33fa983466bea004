"""Checks a built site. The targets of links, anchors and images must exist, the HTML must be balanced, every formula
must be MathML, no line of an annotated program may be lost, and no page may load anything from a network."""

import argparse
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from annotated import PROSE

VOID = {"meta", "link", "img", "br", "hr", "input", "wbr", "polyline", "circle", "line", "path", "rect", "use", "polygon",
        "ellipse", "mspace", "stop"}


class Page(HTMLParser):
    """The parts of a page that the checks need."""

    def __init__(self, text: str):
        super().__init__()
        self.errors: list[str] = []
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.formulas = 0
        self.text_outside_code = ""
        self.code = ""
        self.feed(text)
        self.close()
        self.errors += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in VOID:
            self.open.append(tag + (".code" if tag == "pre" and values.get("class") == "code" else ""))
        self.formulas += tag == "math"
        if values.get("id"):
            if values["id"] in self.ids:
                self.errors.append(f'the id "{values["id"]}" is not unique')
            self.ids.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("img", "link", "script", "iframe", "source"):
            self.loaded.append(values.get("src") or values.get("href") or "")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1].split(".")[0] != tag:
            self.errors.append(f"</{tag}> closes {self.open[-1] if self.open else 'nothing'}, line {self.getpos()[0]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if "pre.code" in self.open:
            self.code += data
        elif not {"pre", "code", "svg", "style"} & {tag.split(".")[0] for tag in self.open}:
            self.text_outside_code += data


def check_links(site: Path, file: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    """Returns an error for each link or loaded file whose target doesn't exist."""
    errors = []
    for target in page.links + page.loaded:
        if re.match(r"(https?|mailto):", target):
            if target in page.loaded:
                errors.append(f"the page loads {target} from a network")
            continue
        path, _, anchor = target.partition("#")
        to = Path(os.path.normpath(file.parent / unquote(path))) if path else file
        if not to.is_file():
            errors.append(f"the link to {target} leads nowhere")
        elif anchor and to in pages and unquote(anchor) not in pages[to].ids:
            errors.append(f"{target}: there is no such anchor")
    return errors


def lost_lines(source: str, shown: str) -> list[str]:
    """Returns an error if the page's code differs from that of the annotated program."""
    code = [line.rstrip() for line in source.splitlines() if line.strip() and not PROSE.match(line)]
    page = [line.rstrip() for line in shown.splitlines() if line.strip()]
    if code == page:
        return []
    at = next((i for i, (a, b) in enumerate(zip(code, page)) if a != b), min(len(code), len(page)))
    return [f"the page's code differs from the program's at its line of code {at + 1}: "
            f"{code[at] if at < len(code) else 'nothing'!r}"]


def formulas_of(source: str) -> int:
    """Returns the number of formulas in the comments of a program, outside of code."""
    prose = "\n".join((match.group(1) or "") if match else "" for match in map(PROSE.match, source.splitlines()))
    prose = re.sub(r"`[^`]*`", "", prose)
    return len(re.findall(r"\$\$.+?\$\$|\$[^$]+\$", prose, flags=re.S))


def check(site: Path, root: Path) -> list[str]:
    """Returns all mistakes in a site."""
    pages = {file: Page(file.read_text()) for file in sorted(site.rglob("*.html")) if site / "cpp" not in file.parents}
    errors = []
    for file, page in pages.items():
        found = page.errors + check_links(site, file, page, pages)
        program = root / "models/annotated" / (file.stem + ".cpp")
        if file.parent == site / "annotated" and program.is_file():
            source = program.read_text()
            found += lost_lines(source, page.code)
            if page.formulas != formulas_of(source):
                found.append(f"the page has {page.formulas} formulas, but the program has {formulas_of(source)}")
            if "$" in page.text_outside_code or "merror" in file.read_text():
                found.append("a formula could not be converted: its text contains $ or an error element")
        errors += [f"{file.relative_to(site)}: {error}" for error in found]
    if not pages:
        errors.append(f"{site}: there are no pages")
    return errors


def main() -> int:
    """Prints all mistakes. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: python3 tools/site/check_site.py build/site")
    parser.add_argument("site", type=Path, help="the folder of the site")
    site = parser.parse_args().site.resolve()
    errors = check(site, Path(__file__).resolve().parents[2])
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
