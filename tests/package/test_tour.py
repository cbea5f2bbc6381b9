# SPDX-License-Identifier: BSD-3-Clause
"""The guided tour of CONTRIBUTING.md names files and functions that exist."""

from __future__ import annotations

import re

import pytest
from documents import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
FILE = re.compile(r"`([\w./]+\.(?:cpp|cuh|cu|h|md|py))`")
FOLLOWING = re.compile(r"(?:,| and) `(\w+)`")
NAME = re.compile(r"`([a-z_]\w+)`")


def has(file: str, name: str) -> bool:
    """Whether a file defines or calls a function."""
    return bool(re.search(rf"\b{name}(?:<[^;(]*>)?\(", (ROOT / file).read_text()))


def items() -> list[str]:
    text = PAGE.read_text()
    tour = text[text.index("## Guided tour") : text.index("## Rules")]
    return re.findall(r"^\d+\. .*(?:\n {3}.*)*", tour, re.MULTILINE)


def stops(item: str) -> list[tuple[str, str]]:
    """Pairs of a file and the name of a function that follows it."""
    found = []
    for file in FILE.finditer(item):
        end = file.end()
        while name := FOLLOWING.match(item, end):
            found.append((file[1], name[1]))
            end = name.end()
    return found


pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="not in a checkout")


def test_the_tour_names_files_and_functions_that_exist():
    for item in items():
        files = FILE.findall(item)
        for file in files:
            assert (ROOT / file).is_file(), file
        for file, name in stops(item):
            assert has(file, name), f"{file} has no {name}()"
        for name in NAME.findall(item):
            assert any(has(file, name) for file in files), f"no {name}() in {files}"


def test_the_tour_names_many_functions():
    assert sum(len(stops(item)) for item in items()) >= 30


def test_five_files_lead_from_the_readme_to_the_decision():
    text = PAGE.read_text()
    (way,) = re.findall(r"### From the README.*?\n\n(.*?)\n\n###", text, re.DOTALL)
    files = [FILE.search(line)[1] for line in way.splitlines() if line[0].isdigit()]
    assert files[0] == "README.md" and len(files) <= 5
    (decision,) = re.findall(r"`(if \(.*?\))`", way)
    assert decision in (ROOT / files[-1]).read_text()
