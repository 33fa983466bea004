"""Draws every page of a site with Chromium, in a narrow and a wide window and in light and dark colors. Fails if a page
is wider than its window."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

SIZES = {"narrow": (500, 3000), "wide": (1400, 2400)}  # Chromium's windows are at least 500 pixels wide
MEASURE = "<script>document.title = document.documentElement.scrollWidth + ' ' + innerWidth;</script>"


def chromium(*arguments: str) -> str:
    """Runs Chromium without a window. Returns its output."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def draw(page: Path, name: str, out: Path) -> list[str]:
    """Draws a page in all sizes and color schemes. Returns its mistakes."""
    errors = []
    measured = page.with_name(page.name + ".measured.html")
    measured.write_text(page.read_text().replace("</body>", MEASURE + "</body>"))
    try:
        for size, (width, height) in SIZES.items():
            window = f"--window-size={width},{height}"
            title = re.search(r"<title>(\d+) (\d+)</title>", chromium(window, "--dump-dom", measured.as_uri()))
            if title is None or int(title.group(1)) > int(title.group(2)):
                errors.append(f"{name}, {size}: wider than its window: {title and title.groups()}")
            for scheme in ("light", "dark"):
                picture = out / f"{name.replace('/', '-')}-{size}-{scheme}.png"
                dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
                chromium(window, *dark, f"--screenshot={picture}", page.as_uri())
    finally:
        measured.unlink()
    return errors


def main() -> int:
    """Draws all pages. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     epilog="example: python3 tools/site/pictures.py build/site build/site-pictures")
    parser.add_argument("site", type=Path, help="the folder of the site")
    parser.add_argument("out", type=Path, help="the folder for the pictures")
    options = parser.parse_args()
    site = options.site.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    errors = []
    for page in sorted(site.rglob("*.html")):
        if site / "cpp" not in page.parents and site / "source" not in page.parents:
            errors += draw(page, str(page.relative_to(site).with_suffix("")), options.out.resolve())
    print(*errors, sep="\n", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
