"""Tests of the site's builder, on small sources, and of the checks: each mistake must be found."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import annotated
import check_site
import md
import plot
import reference
from page import Link, relative, render

PROGRAM = '''// # Sums
// The sum $\\sum_i x_i$.
#include "step.h"

// ## A loop
// It adds.
double sum(double a, double b) {
  return a + b;  // trailing comments stay
}

STEP("The sum") {
  print("%g", sum(1, 2));
}
'''
RECORDED = "machine: a CPU\n\n[The sum]\n3\nplot: time | n log | µs\nn, loop\n1, 2\n100, 3\n\n"
URLS = {"models/annotated/sums.cpp": "annotated/sums.html", "models/README.md": "models/README.html"}


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "models/annotated"
    (folder / "recorded").mkdir(parents=True)
    (folder / "drawings").mkdir()
    (folder / "sums.cpp").write_text(PROGRAM)
    (folder / "recorded/sums.txt").write_text(RECORDED)
    (tmp_path / "models/README.md").write_text("# Models\n")
    return tmp_path


def built(root, program=PROGRAM, recorded=RECORDED):
    (root / "models/annotated/sums.cpp").write_text(program)
    (root / "models/annotated/recorded/sums.txt").write_text(recorded)
    return annotated.page(root, "sums", URLS)


def site_of(root, body):
    site = root / "site"
    (site / "annotated").mkdir(parents=True)
    (site / "style.css").write_text("")
    (site / "index.html").write_text(render("Start", "<p>x</p>", "index.html", [], (None, None)))
    (site / "annotated/sums.html").write_text(render("Sums", body, "annotated/sums.html", [], (None, None)))
    return site


def test_an_annotated_page(root):
    title, body, files = built(root)
    assert title == "Sums" and files == []
    assert body.count('<section class="row">') == 2
    assert "<math" in body and "$" not in body
    assert "a CPU" in body and "<polyline" in body and "trailing comments stay" in body
    assert body.index("The sum") < body.index('<samp>3</samp>')
    assert check_site.check(site_of(root, body), root) == []


@pytest.mark.parametrize("formula", ["\\sum_{i", "\\nosuchcommand x"])
def test_a_wrong_formula_is_an_error_with_its_line(root, formula):
    with pytest.raises(md.PageError, match="sums.cpp:1"):
        built(root, PROGRAM.replace("\\sum_i x_i", formula))


def test_steps_and_their_output_belong_together(root):
    with pytest.raises(md.PageError, match='no output of the step "Another"'):
        built(root, PROGRAM.replace("The sum\"", "Another\""))
    with pytest.raises(md.PageError, match="unknown steps: Other"):
        built(root, recorded=RECORDED + "[Other]\n1\n\n")
    with pytest.raises(md.PageError, match="machine"):
        built(root, recorded=RECORDED.replace("machine: a CPU", ""))


@pytest.mark.parametrize("mistake", ["1, 2, 3", "1, two", "0, 2"])
def test_a_plot_that_cannot_be_read_is_an_error(root, mistake):
    with pytest.raises(md.PageError, match="plot: time"):
        built(root, recorded=RECORDED.replace("1, 2\n", mistake + "\n"))


def test_drawings_are_inlined(root):
    program = PROGRAM.replace("// It adds.", "// ![two boxes](drawings/boxes.svg)")
    with pytest.raises(md.PageError, match="boxes.svg"):
        built(root, program)
    (root / "models/annotated/drawings/boxes.svg").write_text('<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>')
    assert "<figure><svg" in built(root, program)[1]
    assert "<figcaption>two boxes</figcaption>" in built(root, program)[1]


def test_a_lost_line_of_code_is_found(root):
    body = built(root)[1]
    site = site_of(root, body.replace("print", "brint"))
    assert any("line of code 6" in e for e in check_site.check(site, root))


def test_a_lost_formula_is_found(root):
    body = built(root)[1]
    site = site_of(root, body[:body.index("<math")] + body[body.index("</math>") + 7:])
    assert any("the page has 0 formulas, but the program has 1" in e for e in check_site.check(site, root))


@pytest.mark.parametrize("body, error", [
    ('<a href="no.html">x</a>', "no.html leads nowhere"),
    ('<a href="../index.html#no">x</a>', "no such anchor"),
    ('<img src="no.png">', "no.png leads nowhere"),
    ('<img src="https://example.org/x.png">', "from a network"),
    ("<p><b>x</p></b>", "closes"),
    ("<p>x", "closes"),
    ('<p id="a">x</p><p id="a">y</p>', "not unique"),
])
def test_mistakes_of_a_page_are_found(root, body, error):
    good = built(root)[1]
    assert any(error in e for e in check_site.check(site_of(root, good + body), root))


def test_links_of_markdown(root):
    (root / "notes.txt").write_text("a < b\n")
    text = "# Page\n\n[models](../models/README.md#x) [notes](../notes.txt) [out](https://example.org) [here](#page)\n"
    title, body, files = md.page(root, "tools/page.md", "tools/page.html", text, URLS)
    assert title == "Page" and files == ["notes.txt"]
    for target in ("../models/README.html#x", "../source/notes.txt.html", "https://example.org", "#page"):
        assert f'href="{target}"' in body
    assert "a &lt; b" in md.listing(root, "notes.txt")
    with pytest.raises(md.PageError, match="nowhere.md"):
        md.page(root, "tools/page.md", "tools/page.html", "# P\n\n[x](nowhere.md)\n", URLS)
    with pytest.raises(md.PageError, match="heading"):
        md.page(root, "tools/page.md", "tools/page.html", "text\n", URLS)


def test_the_frame():
    navigation = [("One", [Link("A & B", "a.html")]), ("Two", [Link("C", "two/c.html")])]
    page = render("C", "<p>x</p>", "two/c.html", navigation, (Link("A & B", "a.html"), None))
    assert 'href="../a.html"' in page and "A &amp; B" in page and "← " in page and "→" not in page
    assert page.index("<details><summary>One") < page.index("<details open><summary>Two")
    assert relative("a.html#b", "two/c.html") == "../a.html#b"


def test_help_becomes_tables():
    text = ("Do something\nUsage: weft do [OPTIONS]\n\nOptions:\n  -h, --help              Show this page\n"
            "  --data FILE|DIR         Rows to read; may be\n                          long\n"
            "  --a-very-long-option NAME\n                          Its text\n\n"
            "Examples:\n  weft do --data x\n")
    page = reference.section("weft do", text, "##")
    assert "| `-h, --help` | Show this page |" in page
    assert "| `--data FILE\\|DIR` | Rows to read; may be long |" in page
    assert "| `--a-very-long-option NAME` | Its text |" in page
    assert "```sh\nweft do --data x\n```" in page


def test_numbers_of_axes():
    assert [plot.number(v) for v in (0, 1, 0.25, 1e-5, 1e6, 2e6)] == ["0", "1", "0.25", "10⁻⁵", "10⁶", "2·10⁶"]
    axis = plot.Axis("n log", [1, 1000], 0, 300)
    assert axis.ticks() == [1, 10, 100, 1000] and abs(axis.at(10) - 100) < 1e-9
    linear = plot.Axis("n", [0, 10], 0, 100)
    assert linear.ticks() == [0, 2, 4, 6, 8, 10] and linear.at(5) == 50
