# SPDX-License-Identifier: BSD-3-Clause
"""The site that `make docs` has built: it loads nothing from the network, its links lead somewhere,
and its root forwards the reader. `make docs` runs these tests."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

if "MANYMOVE_SITE" not in os.environ:
    pytest.skip("make docs builds the site and runs these tests", allow_module_level=True)

# Attributes by which a page loads something when it is opened.
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
# Relations of <link> that a browser only follows on demand.
ON_DEMAND = {"index", "search", "next", "prev", "genindex", "author", "copyright", "canonical"}


class Page(HTMLParser):
    """What an HTML page loads, links to, forwards to, and whether it has equations."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.forwards: list[str] = []
        self.math = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        relations = set(values.get("rel", "").split())
        if (source := values.get(LOADING.get(tag, ""), "")) and not relations & ON_DEMAND:
            self.loads.append(source)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "meta" and values.get("http-equiv") == "refresh":
            self.forwards.append(values["content"].partition("url=")[2])
        self.math |= "math" in values.get("class", "").split()


@pytest.fixture(scope="module")
def site() -> Path:
    return Path(os.environ["MANYMOVE_SITE"]).resolve()


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}


def test_nothing_is_loaded_from_the_network(site, pages):
    for path, page in pages.items():
        for source in page.loads:
            assert not re.match(r"[a-z]+:(?!image/)|//", source), f"{path.name} loads {source}"
            if not source.startswith("data:"):
                file = path.parent / source.partition("?")[0].partition("#")[0]
                assert file.exists(), f"{path.name} lacks {source}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", style.read_text()), style


def test_pages_with_equations_load_mathjax_from_the_site(site, pages):
    equations = [path for path, page in pages.items() if page.math]
    assert len(equations) > 5
    for path in equations:
        sources = [s for s in pages[path].loads if "mathjax" in s]
        assert sources, f"{path.name} has equations without MathJax"
    mathjax = site / "_static/mathjax"
    assert list((mathjax / "output/chtml/fonts").rglob("MathJax_Math-Italic.woff"))
    assert (mathjax / "input/tex/extensions/boldsymbol.js").exists()  # loaded on demand


def test_the_search_has_an_index_that_needs_no_server(site):
    index = (site / "searchindex.js").read_text()
    assert index.startswith("Search.setIndex(") and "checkerboard" in index


def test_links_within_the_site_lead_somewhere(pages):
    for path, page in pages.items():
        for link in page.links:
            target = link.partition("#")[0].partition("?")[0]
            if target and not re.match(r"[a-z]+:", target):
                assert (path.parent / target).exists(), f"{path.name}: no {link}"


def test_the_root_forwards_to_the_front_page(site, pages):
    (target,) = pages[site / "index.html"].forwards
    assert (site / target).exists()
    assert not pages[(site / target).resolve()].forwards
