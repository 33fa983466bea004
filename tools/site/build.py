"""Builds the site, which is one folder of static pages that a browser opens from disk. tools/site/README.md describes
how."""

import argparse
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import annotated
import md
import reference
from page import Link, render

ROOT = Path(__file__).resolve().parents[2]



@dataclass
class Entry:
    """A page of contents.toml."""

    kind: str  # source, annotated or generated
    name: str  # a path or a name
    title: str  # if it is empty, the page's first heading is the title
    url: str = ""

    def __post_init__(self):
        self.url = {
            "source": "index.html" if self.name == "README.md" else str(Path(self.name).with_suffix(".html")),
            "annotated": f"annotated/{self.name}.html",
            "generated": f"reference/{self.name}.html",
        }[self.kind]


def chapters() -> list[tuple[str, list[Entry]]]:
    """Returns the chapters of contents.toml with their pages."""
    contents = tomllib.loads((ROOT / "tools/site/contents.toml").read_text())
    result = []
    for chapter in contents["chapter"]:
        entries = []
        for page in chapter["pages"]:
            kind = next(k for k in ("source", "annotated", "generated") if k in page)
            entries.append(Entry(kind, page[kind], page.get("title", "")))
        result.append((chapter["title"], entries))
    return result


def body_of(entry: Entry, urls: dict, weft: Path, cpp: Path | None) -> tuple[str, str, list]:
    """Returns the page's title, its HTML, and the files of the repository that it needs."""
    if entry.kind == "annotated":
        return annotated.page(ROOT, entry.name, urls)
    text, path = reference.page(ROOT, entry.name, weft, cpp) if entry.kind == "generated" else (
        (ROOT / entry.name).read_text(), entry.name)
    return md.page(ROOT, path, entry.url, text, urls)


def build(out: Path, weft: Path, cpp: Path | None) -> int:
    """Writes the site. Returns the number of pages."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    listed = chapters()
    urls = {("models/annotated/" + e.name + ".cpp" if e.kind == "annotated" else e.name): e.url
            for _, entries in listed for e in entries if e.kind != "generated"}
    urls["cpp/index.html"] = "cpp/index.html"
    pages = [(e, *body_of(e, urls, weft, cpp)) for _, entries in listed for e in entries]
    titles = {entry.url: entry.title or title for entry, title, _, _ in pages}
    navigation = [(title, [Link(titles[e.url], e.url) for e in entries]) for title, entries in listed]
    flat = [link for _, links in navigation for link in links]
    needed = set()
    for index, (entry, title, body, files) in enumerate(pages):
        near = (flat[index - 1] if index > 0 else None, flat[index + 1] if index + 1 < len(flat) else None)
        write(out / entry.url, render(title, body, entry.url, navigation, near, wide=entry.kind == "annotated"))
        needed.update(files)
    for file in sorted(needed):
        copy_or_list(file, out, navigation)
    shutil.copy(ROOT / "tools/site/style.css", out / "style.css")
    if cpp is not None:
        shutil.copytree(cpp, out / "cpp")
    return len(pages)


def copy_or_list(file: str, out: Path, navigation: list) -> None:
    """Copies an image. For any other file, writes a page that shows the file."""
    if file.endswith((".png", ".svg")):
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, out / file)
        return
    url = md.listing_url(file)
    write(out / url, render(file, md.listing(ROOT, file), url, navigation, (None, None)))


def write(path: Path, text: str) -> None:
    """Writes a text file, and makes its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def main() -> int:
    """Reads the command line and builds the site. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: cmake --build build --target site")
    parser.add_argument("--weft", type=Path, required=True, help="the weft command, whose help pages are shown")
    parser.add_argument("--cpp", type=Path, help="Doxygen's folder of HTML pages")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; its earlier contents are removed")
    options = parser.parse_args()
    try:
        count = build(options.out, options.weft, options.cpp)
    except md.PageError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    print(f"{count} pages: {options.out}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
