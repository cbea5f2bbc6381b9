"""The Markdown pages of the repository and their contents, and the scripts of its examples."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest  # which programs that import this module do not need

SUPPORT = Path(__file__).resolve().parent
ROOT = SUPPORT.parents[1]
PATTERNS = (
    "*.md",
    "docs/**/*.md",
    "examples/*/*.md",
    "benchmarks/*.md",
    "hoomd_ext/*.md",
    "lammps_ext/**/*.md",
)
PAGES = sorted({page for pattern in PATTERNS for page in ROOT.glob(pattern)})
FENCE = re.compile(r"^```+ *\{?([\w-]*)\}?[^\n]*\n(.*?)^```+ *$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}\S.*\n(?:^ {5,}\S.*\n)*(?:\s*\n(?= {4}))?)+", re.MULTILINE)


def module_of(script: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of a script, which other modules can import until the end of the test."""
    found = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, script.stem, module)
    found.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Block:
    """A block of code.

    Attributes:
        language: language of the fence; empty for indented code.
        text: the code without fence and indentation.
    """

    language: str
    text: str


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in its order, the fenced ones first."""
    text = page.read_text() + "\n"
    fenced = [Block(*found) for found in FENCE.findall(text)]
    rest = re.sub(r"^- .*(?:\n {2,}.*)*", "", FENCE.sub("", text), flags=re.MULTILINE)
    indented = (re.sub(r"^ {4}", "", each, flags=re.MULTILINE) for each in INDENTED.findall(rest))
    return [*fenced, *(Block("", each) for each in indented)]


def prose(page: Path) -> str:
    """The text of a page without code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))


def commands(page: Path) -> list[str]:
    """Lines of shell blocks and of indented code, with continued lines joined and without
    comments."""
    found = []
    for block in blocks(page):
        if block.language in ("", "sh", "console"):
            text = re.sub(r"\\\n\s*", " ", block.text)
            found += [re.sub(r"\s+#.*|\s{3,}.*", "", line).strip() for line in text.splitlines()]
    return [line for line in found if line]


def anchor(heading: str) -> str:
    """Anchor of a heading, as code hosts and MyST make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page."""
    headings = re.findall(r"^#+ +(.+?) *$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {anchor(each) for each in headings}


def links(page: Path) -> list[tuple[str, str]]:
    """(path, anchor) of the links that stay in the repository."""
    found = re.findall(r"\]\(([^()\s]+)\)", prose(page))
    inside = (each for each in found if not re.match(r"[a-z]+:", each))
    return [tuple(each.partition("#")[::2]) for each in inside]


def section(page: Path, heading: str) -> str:
    """The text of a section of a page, without its heading."""
    parts = re.split(r"^## +(.+?) *$", page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(heading, "")
