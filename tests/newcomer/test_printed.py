# SPDX-License-Identifier: BSD-3-Clause
"""Commands and snippets of the pages print what the pages say.

Compared are the blocks of text below a command or a snippet, the comments behind `print(...)`, and
the numbers of the text that `IN_PROSE` lists. tests/docs/test_numbers.py checks that each number
with an error is one of these, or comes from a record or a publication.

README, index and the page of estimates take seconds. The others take half an hour of two cores;
`make newcomer` runs them.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from documents import FENCE, ROOT, name
from printed import COMPARED, IN_PROSE, SHORT, Output, differences, outputs
from processes import run

from manymove.lammps import host

if not (ROOT / "README.md").exists():
    pytest.skip("there is no documentation beside the tests", allow_module_level=True)

SCRIPT = Path(sys.executable).parent / "manymove"
NEEDS_LAMMPS = ("examples/bilayer", "examples/melt", "examples/mixing", "examples/papers/dpd")
LONG = pytest.mark.skipif(
    "MANYMOVE_NEWCOMER" not in os.environ, reason="make newcomer runs what the other pages print"
)
CASES = [output for page in COMPARED for output in outputs(page)]

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not SCRIPT.exists(), reason="the command manymove is not installed"),
]


def case(page: str, words: str, *values: object) -> object:
    """A test of a page, which only `make newcomer` runs if it takes long."""
    marks = [] if page in map(name, SHORT) else [LONG]
    return pytest.param(*values, id=f"{page}-{' '.join(words.split())[:40]}", marks=marks)


def printed(language: str, code: str, folder: Path) -> str:
    """What a command or a snippet prints."""
    if language == "python":
        command = [sys.executable, "-c", code]
    else:
        program, first, *rest = shlex.split(re.sub(r"\\\n\s*", " ", code))
        if first.startswith(NEEDS_LAMMPS) and host.missing():
            pytest.skip(host.missing())
        own = program == "manymove"
        command = [SCRIPT, first] if own else [sys.executable, ROOT / first]
        command += rest
    done = run(command, cwd=folder, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_pages_print_something():
    pages = [output.page for output in CASES]
    assert pages.count("README.md") == 2 and pages.count("docs/index.md") == 1
    assert len(set(pages)) >= 12


@pytest.mark.parametrize("output", [case(each.page, each.code, each) for each in CASES])
def test_what_is_printed_is_on_the_page(output: Output, tmp_path):
    text = printed(output.language, output.code, tmp_path)
    assert not (found := differences(output, text)), "\n".join([*found, text])


@pytest.mark.parametrize(
    ("page", "part", "numbers"), [case(each[0], each[1], *each) for each in IN_PROSE]
)
def test_numbers_of_the_text_are_printed(page, part, numbers, tmp_path):
    text = (ROOT / page).read_text()
    ((language, code),) = (block for block in FENCE.findall(text) if part in block[1])
    expected = Output(page, language, code, " ".join(numbers))
    assert [number for number in numbers if number not in text] == []
    found = printed(language, code, tmp_path)
    assert not (wrong := differences(expected, found, words=False)), "\n".join([*wrong, found])


@LONG
def test_the_share_of_direct_sums_of_the_tree_is_on_the_page(tmp_path):
    page = (ROOT / "docs/tutorials/electrolytes.md").read_text()
    (code,) = (code for _, code in FENCE.findall(page) if "--output large/" in code)
    printed("sh", code, tmp_path)
    share = json.loads((tmp_path / "large/summary.json").read_text())["direct_moves_share"]
    assert f"here one in {round(1 / share, -2):,.0f}." in page
