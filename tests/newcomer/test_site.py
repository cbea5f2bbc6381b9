# SPDX-License-Identifier: BSD-3-Clause
"""The site in a browser without network, on a wide screen and on a phone: no raw formula, no broken
picture, nothing wider than the page. Screenshots of some pages are in MANYMOVE_SITE/screenshots."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: chromium)"),
    pytest.mark.skipif("MANYMOVE_SITE" not in os.environ, reason="make newcomer builds the site"),
]

SITE = Path(os.environ.get("MANYMOVE_SITE", os.devnull)).resolve()
WIDTHS = {"wide": 1280, "phone": 390}
SHOWN = [
    "docs/index.html",
    "docs/tutorials/hard_disks.html",
    "docs/benchmarks/adsorption.html",
    "docs/api/adsorption.html",
    "docs/theory/coulomb.html",
]
# Pages that forward the reader at once have nothing else.
PAGES = [p for p in sorted(SITE.rglob("*.html")) if 'http-equiv="refresh"' not in p.read_text()]

# Every finding is a line of text.
FIND = r"""
(async () => {
  const found = [];
  const short = text => text.trim().replace(/\s+/g, " ").slice(0, 60);
  const shown = node => node.getClientRects().length > 0;

  // Formulas: MathJax replaces the text of all elements of the class "math".
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  for (const math of document.querySelectorAll(".math"))
    if (!math.querySelector("mjx-container, math"))
      found.push("raw formula: " + short(math.innerText));
  for (const error of document.querySelectorAll("mjx-merror, [data-mjx-error]"))
    found.push("formula with an error: " + short(error.innerText || error.title));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const code = "pre, code, script, style, mjx-container, .math, textarea";
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest(code) || !shown(text.parentElement)) continue;
    if (/\\[([]|\$\$|\$[^$\s][^$]*\$|\\(?:frac|sum|sigma|mathrm|left|text)\b/.test(text.data))
      found.push("raw formula: " + short(text.data));
  }

  for (const image of document.images) {
    image.loading = "eager";
    await image.decode().catch(() => {});
    if (!image.naturalWidth) found.push("broken picture: " + image.getAttribute("src"));
  }

  // What is wider than its box has to scroll; on a wide screen all code is visible.
  const width = document.documentElement.clientWidth;
  const scrolls = node => ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
  const cut = node => {
    const right = node.getBoundingClientRect().right;
    for (let box = node.parentElement; box; box = box.parentElement) {
      if (scrolls(box) && box !== document.documentElement && box !== document.body) return false;
      if (getComputedStyle(box).overflowX === "hidden" &&
          right > box.getBoundingClientRect().right + 1) return true;
    }
    return right > width + 1;
  };
  for (const block of document.querySelectorAll("pre")) {
    if (!shown(block)) continue;
    const hidden = block.scrollWidth - block.clientWidth;
    if (hidden > 1 && !scrolls(block)) found.push("code cut off: " + short(block.innerText));
    else if (hidden > 1 && width >= 1000)
      found.push(`code wider than the page by ${hidden} px: ` + short(block.innerText));
    else if (cut(block)) found.push("code beyond the edge: " + short(block.innerText));
  }
  for (const node of document.querySelectorAll("article *"))
    if (shown(node) && !node.closest("pre, svg, mjx-container > *") && cut(node))
      found.push(`${node.tagName.toLowerCase()} beyond the edge: ` + short(node.innerText || ""));
  const beyond = document.documentElement.scrollWidth - width;
  if (beyond > 1) found.push(`the page is ${beyond} px wider than the screen`);
  return found;
})()
"""


@pytest.fixture(scope="module", params=WIDTHS)
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    browser = Browser(WIDTHS[request.param])
    yield browser
    browser.close()


def test_the_browser_finds_what_is_wrong(browser, tmp_path):
    page = tmp_path / "page.html"
    words = "wide " * 400
    table = f"<table><tr><td>{'wide' * 100}</td></tr></table>"
    page.write_text(
        '<!doctype html><body><article><p>Area $\\pi r^2$</p><span class="math">\\(x\\)</span>'
        f'<img src="none.png"><pre style="overflow-x: hidden">{words}</pre>{table}</article>'
    )
    browser.open(page)
    found = browser.value(FIND)
    defects = ["raw formula: Area $", "raw formula: \\(x", "broken picture", "code cut off"]
    defects.append("table")
    for defect in defects:
        assert any(line.startswith(defect) for line in found), (defect, found)


def test_the_site_has_pages():
    assert PAGES


@pytest.mark.parametrize("page", ["adsorption", "dpd_fluid", "electrolyte", "hard_disks"])
def test_each_member_has_a_line_with_its_link(page):
    text = (SITE / f"docs/api/{page}.html").read_text()
    table = text[text.index("<p>members</p>") :].partition("</table>")[0]
    lines = re.findall(
        r'<a [^>]*href="#[^"]*\.(\w+)"><code[^>]*><span class="pre">(\w+).*?<td><p>(.*?)</p>',
        table,
        re.DOTALL,
    )
    assert len(lines) > 30
    assert [name for target, name, _ in lines if target != name] == []
    assert [name for _, name, purpose in lines if not purpose] == []


@pytest.mark.parametrize("page", SHOWN)
def test_pictures_of_pages(page, browser):
    folder = SITE / "screenshots"
    folder.mkdir(exist_ok=True)
    browser.open(SITE / page)
    browser.value("window.MathJax && MathJax.startup && MathJax.startup.promise.then(() => 0)")
    width = browser.value("document.documentElement.clientWidth")
    path = folder / f"{Path(page).with_suffix('').as_posix().replace('/', '-')}-{width}.png"
    browser.picture(path)
    assert path.stat().st_size > 10_000


def test_the_front_page_shows_everything_on_one_screen(browser):
    browser.open(SITE / "docs/index.html")
    bottoms = """[...document.querySelectorAll("article pre, article img")].map(
        node => node.getBoundingClientRect().bottom)"""
    first = browser.value(bottoms)
    assert len(first) == 3 and max(first) <= browser.value("window.innerHeight")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_pages_are_whole(page, browser):
    browser.open(page)
    found = browser.value(FIND)
    assert not found, "\n".join(found)
