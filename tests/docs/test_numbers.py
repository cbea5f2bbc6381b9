# SPDX-License-Identifier: BSD-3-Clause
"""Each number with an error in parentheses comes from somewhere: from a command or a snippet of its
page, whose output `make newcomer` compares, from a record or a page that the page links, or from a
publication. The numbers between marks are those of tests/support/recorded.py."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from documents import FENCE, PAGES, ROOT, name
from printed import COMPARED, IN_PROSE, outputs, value
from recorded import MARKED

if not (ROOT / "README.md").exists():
    pytest.skip("there is no documentation beside the tests", allow_module_level=True)

NUMBER = re.compile(r"(?<![\w.,])[-−]?\d[\d,]*(?:\.\d+)?\(\d+\)(?:e[+-]?\d+)?")
LINK = re.compile(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)")

# Numbers of other authors and programs, whose source the page names.
PUBLISHED = {
    "0.2739(14)": "Rasaiah, Card and Valleau (1972)",
    "0.4341(17)": "Rasaiah, Card and Valleau (1972)",
    "0.5516(16)": "Rasaiah, Card and Valleau (1972)",
    "0.286(2)": "Groot and Warren (1997)",
    "2.09(2)": "Backer et al. (2005)",
    "2.089(9)": "Tang and Karniadakis (2014)",
    "3.526(8)": "RASPA3's manual",
    "-1984.8(15)": "RASPA3's manual",
    "20.33(10)": "gRASPA's examples",
    "11.5727(10)": "Fernandez et al. (2012)",
    "4.9590(2)": "Vega and Noya (2007)",
}
# Examples of how numbers are written.
NOTATION = {"2.613(6)", "9.200(8)", "4.568(6)e-07", "9.2(?)"}
# Numbers that no record has as they stand: means of several runs and differences of two, numbers of
# other programs, and of theory pages.
DERIVED = {
    "docs/tutorials/counterions.md": "0.009(3) 0.022(3)",
    "docs/benchmarks/adsorption.md": "3.488(27) 2.974(6) 2.968(7) 2.894(5) 114.07(15) 8.19(6)e-4 "
    "8.2(3)e-4 8.9(1)e-3 9.1(9)e-3",
    "docs/benchmarks/dpd_physics.md": "0.874(3) 1.118(4) 1.626(7) 0.9982(9) 0.9982(10) "
    "0.2867(8) 0.2861(8) 1.0277(6) 1.0266(5) 23.840(3) 23.836(2) 0.3042(11) 6.068(2) 7.58(4)",
    "docs/benchmarks/hard_spheres.md": "629(1) 1.67(1)e3 14.53(3) 14.64(7) 3.10(1)e3 17.43(3) "
    "21.1(2) 20.89(5) 23.3(3)",
    "docs/benchmarks/hoomd.md": "0.785(3) 0.803(7) 2.597(7) 2.636(18) 4.917(15) 4.898(26) "
    "8.503(22) 8.540(37)",
    "docs/theory/adsorption.md": "588(12) 169(8) 128(8) 123.2(1)",
    "docs/theory/coulomb.md": "0.99(2) 1.24(2)",
}


def pages() -> list[object]:
    chosen = (page for page in PAGES if page.name != "CHANGELOG.md")
    return [pytest.param(page, id=name(page)) for page in chosen if NUMBER.search(prose(page))]


def prose(page: Path) -> str:
    """The text of a page without blocks, except output that no test compares, and without numbers
    that are written by a script."""
    text = page.read_text() + "\n"
    blocks = () if page in COMPARED else FENCE.findall(text)
    printed = (content for language, content in blocks if language == "text")
    return "\n".join((MARKED.sub("", FENCE.sub("", text)), *printed)).replace("−", "-")


def numbers(content: object) -> Iterator[float]:
    if isinstance(content, dict | list):
        for each in content.values() if isinstance(content, dict) else content:
            yield from numbers(each)
    elif isinstance(content, int | float):
        yield float(content)


@cache
def recorded(record: Path) -> tuple[str, tuple[float, ...]]:
    text = record.read_text()
    return text, tuple(numbers(json.loads(text))) if record.suffix == ".json" else ()


def is_in(number: str, record: Path) -> bool:
    """Whether a record has the number, or one that is rounded to it and one to its error."""
    text, found = recorded(record)
    center, error, last = value(number)
    near = [any(abs(each - x) <= 0.5001 * last for each in found) for x in (center, error)]
    return number in text or all(near)


def test_other_numbers_are_not_in_a_record():
    record = ROOT / "docs/benchmarks/results/2026-11-23-dpd-bilayer.json"
    assert is_in("1.268(2)", record) and is_in("3.48(14)", record)
    assert not is_in("1.268(3)", record) and not is_in("3.47(14)", record)


@pytest.mark.parametrize("page", pages())
def test_numbers_with_errors_have_a_source(page):
    known = PUBLISHED.keys() | NOTATION | set(DERIVED.get(name(page), "").split())
    if page in COMPARED:
        known |= {n for each in outputs(page) for n in NUMBER.findall(each.text)}
    known |= {n for where, _, listed in IN_PROSE if where == name(page) for n in listed}
    known |= {n.lstrip("-") for n in known}  # -U is quoted as well
    targets = [(page.parent / target).resolve() for target in LINK.findall(prose(page))]
    of_records = (t for t in targets if t.parent.name == "results" or t.suffix == ".json")
    records = [t for t in of_records if t.is_file()]
    linked = "".join(t.read_text() for t in targets if t.suffix == ".md" and t.is_file())
    unknown = [
        n
        for n in dict.fromkeys(NUMBER.findall(prose(page)))
        if n not in known and n not in linked and not any(is_in(n, r) for r in records)
    ]
    assert not unknown, f"{name(page)}: {unknown}"
