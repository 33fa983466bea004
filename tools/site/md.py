"""Converts Markdown pages of the repository to HTML, with links to other pages of the site."""

import html
import os
import re
from pathlib import Path
from urllib.parse import unquote

import latex2mathml.converter
from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from page import relative
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

LANGUAGES = {"sh": "bash", "cpp": "cpp", "c": "c", "python": "python", "cmake": "cmake", "json": "json"}
FORMATTER = HtmlFormatter(nowrap=True)


class PageError(Exception):
    """A mistake in a source. The message begins with the file, and the line if it is known."""


def slug(title: str) -> str:
    """Returns the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def code(text: str, language: str) -> str:
    """Returns code as HTML with syntax highlighting."""
    return highlight(text, get_lexer_by_name(LANGUAGES.get(language, "text"), stripnl=False), FORMATTER)


def fence(text: str, language: str) -> str:
    """Returns a block of code as HTML. Commands and their output are wrapped, because they have long lines."""
    wrap = "" if language in ("cpp", "c", "python", "cmake") or "  ." in text else ' class="wrapped"'
    return f"<pre{wrap}><code>{code(text, language)}</code></pre>\n"


def formula(latex: str, display: bool, where: str) -> str:
    """Returns a formula as MathML."""
    plain = re.sub(r"\\[{}]", "", latex)
    if plain.count("{") != plain.count("}"):  # the converter would accept it
        raise PageError(f"{where}: unbalanced braces in the formula ${latex}$")
    try:
        result = latex2mathml.converter.convert(latex, display="block" if display else "inline")
    except Exception as error:
        raise PageError(f"{where}: the formula ${latex}$ is not LaTeX: {error!r}") from error
    unknown = re.search(r"\\[A-Za-z]+", result)
    if unknown:
        raise PageError(f"{where}: unknown command {unknown.group()} in the formula ${latex}$")
    space = '<mspace width="0.17em"/>'  # browsers add no space around the names of functions
    return re.sub(r"<mi>(log|ln|sin|cos|tanh|exp|max|min)</mi>", rf"{space}\g<0>{space}", result)


def parser(where: str = "", formulas: bool = False) -> MarkdownIt:
    """Returns the Markdown parser for all pages. Error messages name `where`, which is a file and a line."""
    md = MarkdownIt("commonmark", {"html": False}).enable("table").use(
        anchors_plugin, max_level=4, slug_func=slug, permalink=True, permalinkSymbol="#", permalinkSpace=False)
    if formulas:
        md.use(dollarmath_plugin, allow_space=False, double_inline=True,
               renderer=lambda text, options: formula(text.strip(), options["display_mode"], where))
    md.add_render_rule("fence", lambda self, tokens, at, options, env:
                       fence(tokens[at].content, tokens[at].info.strip()))
    md.add_render_rule("table_open", lambda *args: '<div class="table"><table>\n')
    md.add_render_rule("table_close", lambda *args: "</table></div>\n")
    return md


def listing_url(file: str) -> str:
    """Returns the URL of the page that shows a file of the repository."""
    return f"source/{file}.html"


def listing(root: Path, file: str) -> str:
    """Returns the HTML of a file with numbered lines."""
    text = (root / file).read_text(errors="replace")
    try:
        lexer = get_lexer_for_filename(file, stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    lines = highlight(text, lexer, FORMATTER).rstrip("\n").split("\n")
    rows = "".join(f'<span class="line" id="L{i}">{line}</span>\n' for i, line in enumerate(lines, 1))
    return f'<h1>{html.escape(file)}</h1>\n<pre class="listing"><code>{rows}</code></pre>'


class Linker:
    """Converts the links of a Markdown file to links of the site, and records the files that they need."""

    def __init__(self, root: Path, source: str, url: str, urls: dict):
        self.root, self.source, self.url, self.urls = root, source, url, urls
        self.files: list[str] = []

    def __call__(self, target: str) -> str:
        if re.match(r"[a-z]+:", target):
            return target
        path, _, anchor = target.partition("#")
        anchor = "#" + anchor if anchor else ""
        if not path:
            return anchor
        file = os.path.normpath(os.path.join(os.path.dirname(self.source), unquote(path)))
        if (self.root / file).is_dir():
            file = os.path.join(file, "README.md")
        if file in self.urls:
            return relative(self.urls[file] + anchor, self.url)
        if not (self.root / file).is_file():
            raise PageError(f"{self.source}: the link to {target} leads nowhere")
        self.files.append(file)
        return relative(file if file.endswith((".png", ".svg")) else listing_url(file), self.url) + anchor


def link(tokens: list, linker) -> None:
    """Replaces the targets of all links and images."""
    for token in tokens:
        for attribute in ("href", "src"):
            target = token.attrGet(attribute)
            if target is not None and "header-anchor" not in str(token.attrGet("class")):
                token.attrSet(attribute, linker(str(target)))
        link(token.children or [], linker)


def page(root: Path, source: str, url: str, text: str, urls: dict) -> tuple[str, str, list]:
    """Returns the title, the HTML and the needed files of a Markdown text. Its links are relative to `source`."""
    parse = parser(source)
    tokens = parse.parse(text)
    linker = Linker(root, source, url, urls)
    link(tokens, linker)
    heading = next((tokens[i + 1] for i, token in enumerate(tokens) if token.type == "heading_open"), None)
    if heading is None:
        raise PageError(f"{source}: expected a heading")
    title = "".join(child.content for child in heading.children or [] if child.type in ("text", "code_inline"))
    return title.removesuffix("#"), parse.renderer.render(tokens, parse.options, {}), linker.files
