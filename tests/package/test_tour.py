# SPDX-License-Identifier: BSD-3-Clause
"""The guided tour of ARCHITECTURE.md names files and functions that exist."""

from __future__ import annotations

import re

import pytest
from documents import ROOT

PAGE = ROOT / "ARCHITECTURE.md"
FILE = re.compile(r"`([\w./]+\.(?:cpp|cuh|cu|h|md|py))`")
FOLLOWING = re.compile(r"(?:,| and) `(\w+)`")
NAME = re.compile(r"`([a-z_]\w+)`")


def has(file: str, name: str) -> bool:
    """Whether a file defines or calls a function."""
    return bool(re.search(rf"\b{name}(?:<[^;(]*>)?\(", (ROOT / file).read_text()))


def items() -> list[str]:
    text = PAGE.read_text()
    tour = text[text.index("## Guided tour") : text.index("## Decisions that hold")]
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


INDEX = ROOT / "docs" / "theory" / "README.md"
# The last numbered equation of each paper, in the order of the tables.
LAST = {"Hard disks": 6, "Dissipative": 10, "Electrolytes": 18, "Adsorbates": 12}


def numbers(cell: str) -> list[int]:
    """The numbers of the equations in the first column of the index."""
    found: list[int] = []
    for text in re.findall(r"Eqs?\. ((?:\d+(?: to | and |, (?=\d))?)+)", cell):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
            found += range(int(first), int(last or first) + 1)
    return found


def test_every_equation_of_the_papers_has_one_row_that_names_its_code():
    text = INDEX.read_text()
    text = text[text.index("## Where the equations") :]
    assert numbers("Eqs. 6 to 8, 15 and 17, Appendix B") == [6, 7, 8, 15, 17]
    for paper, last in LAST.items():
        table = text[text.index(f"\n{paper}") :].split("\n\n")[1]
        rows = [row.strip("| ").split(" | ") for row in table.splitlines()[2:]]
        found = sorted(each for row in rows for each in numbers(row[0]))
        assert found == list(range(1, last + 1)), paper
        for row in rows:
            code = row[-1]
            for file in FILE.findall(code):
                assert (ROOT / file).is_file(), file
            for file, name in stops(code):
                assert has(file, name), f"{file} has no {name}()"
            assert code == "-" or FILE.search(code), row
