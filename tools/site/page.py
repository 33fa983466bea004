"""Makes the frame of every page, which has the head, the navigation, and links to the previous and the next page."""

import html
import os
from typing import NamedTuple


class Link(NamedTuple):
    """A link to a page of the site."""

    title: str
    url: str  # relative to the site's root


def relative(url: str, page: str) -> str:
    """Converts a URL that is relative to the site's root to one that is relative to a page."""
    path, hash_, anchor = url.partition("#")
    return os.path.relpath(path, os.path.dirname(page) or ".") + hash_ + anchor


def navigation_html(navigation: list, page: str) -> str:
    """Returns the list of chapters as HTML. The chapter of the current page is open."""
    parts = []
    for title, links in navigation:
        current = any(link.url == page for link in links)
        items = "".join(
            f'<li><a href="{relative(link.url, page)}"{" aria-current=page" if link.url == page else ""}>'
            f"{html.escape(link.title)}</a></li>" for link in links)
        parts.append(f'<details{" open" if current else ""}><summary>{html.escape(title)}</summary>'
                     f"<ul>{items}</ul></details>")
    return "".join(parts)


def render(title: str, body: str, url: str, navigation: list, near: tuple, wide: bool = False) -> str:
    """Returns the whole page. `near` has the previous and the next Link. Each may be None."""
    turns = "".join(
        f'<a class="{kind}" href="{relative(link.url, url)}">{arrow.format(html.escape(link.title))}</a>'
        for kind, link, arrow in (("previous", near[0], "← {}"), ("next", near[1], "{} →")) if link)
    menu = navigation_html(navigation, url)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)} · weft</title>
<link rel="stylesheet" href="{relative("style.css", url)}">
</head>
<body{' class="wide"' if wide else ""}>
<header><a class="home" href="{relative("index.html", url)}">weft</a>
<details class="menu"><summary>Contents</summary><nav aria-label="Contents">{menu}</nav></details></header>
<nav class="side" aria-label="Chapters">{menu}</nav>
<main>
{body}
<footer>{turns}</footer>
</main>
</body>
</html>
"""
