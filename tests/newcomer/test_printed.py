# SPDX-License-Identifier: BSD-3-Clause
"""Commands and snippets of tutorials and guides print what the pages print below them.

All of them take a few minutes of two cores; `make newcomer` runs them.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from documents import FENCE, ROOT, name
from processes import run

from manymove.lammps import host

if "MANYMOVE_NEWCOMER" not in os.environ:
    pytest.skip("make newcomer runs what the pages print", allow_module_level=True)

FOLDERS = [ROOT / "docs/tutorials", ROOT / "docs/guides"]
PAGES = [page for folder in FOLDERS for page in sorted(folder.glob("*.md"))]
SCRIPT = Path(sys.executable).parent / "manymove"
OF_THE_MACHINE = ("speed", "device", "...", "results in")
# What is left out, and why.
LEFT_OUT = {
    "docs/tutorials/dpd.md": "the flow takes seven minutes of one core",
    "docs/tutorials/mixtures.md": "the mixtures take five minutes of one core",
}

# What the text of a page says of the output of a command or snippet, which some words name.
IN_PROSE = [
    ("docs/tutorials/adsorbates.md", "empty.henry(20000)", ["2.97(4)e-05", "25.89(6)"]),
    ("docs/tutorials/pressure_and_swaps.md", "--output far/", ["0.4469(8)", "289,088"]),
    ("docs/tutorials/pressure_and_swaps.md", "spheres.compressibility", ["0.2999(5)", "0.097(9)"]),
]


class Output(NamedTuple):
    """A block of text below what prints it."""

    page: str
    language: str
    code: str
    text: str


def outputs(page: Path) -> list[Output]:
    """The blocks "text" of a page that follow a command or a snippet."""
    found, before = [], ("", "")
    for language, text in FENCE.findall(page.read_text() + "\n"):
        lines = re.sub(r"\\\n\s*", " ", before[1]).strip().splitlines()
        prints = before[0] == "python" and "print(" in before[1]
        prints |= len(lines) == 1 and lines[0].startswith(("manymove ", "python "))
        if language == "text" and prints and not text.startswith("#"):  # a file
            code = before[1] if before[0] == "python" else lines[0]
            found.append(Output(name(page), before[0], code, text))
        before = (language, text)
    return found


CASES = [output for page in PAGES for output in outputs(page)]


def words(text: str) -> list[str]:
    """The lines of a text with single spaces."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_each_page_that_is_left_out_prints_something():
    assert {output.page for output in CASES} >= LEFT_OUT.keys()
    assert len([output for output in CASES if output.page not in LEFT_OUT]) >= 7


def printed(language: str, code: str, folder: Path) -> str:
    """What a command or a snippet prints."""
    if language == "python":
        command = [sys.executable, "-c", code]
    else:
        program, first, *rest = shlex.split(re.sub(r"\\\n\s*", " ", code))
        own = program == "manymove"
        command = [SCRIPT, first] if own else [sys.executable, ROOT / first]
        command += rest
    done = run(command, cwd=folder, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not SCRIPT.exists(), reason="the command manymove is not installed")
@pytest.mark.parametrize(
    "output", CASES, ids=lambda case: f"{case.page}-{words(case.code)[0][:30]}"
)
def test_what_is_printed_is_on_the_page(output, tmp_path):
    if output.page in LEFT_OUT:
        pytest.skip(f"{output.page}: {LEFT_OUT[output.page]}")
    if "bilayer" in output.page and host.missing():
        pytest.skip(host.missing())
    text = printed(output.language, output.code, tmp_path)
    for line in words(output.text):
        assert line in words(text) or line.startswith(OF_THE_MACHINE), f"{line}\n{text}"


@pytest.mark.skipif(not SCRIPT.exists(), reason="the command manymove is not installed")
@pytest.mark.parametrize("page, part, numbers", IN_PROSE)
def test_numbers_of_the_text_are_printed(page, part, numbers, tmp_path):
    text = (ROOT / page).read_text()
    ((language, code),) = (block for block in FENCE.findall(text) if part in block[1])
    found = printed(language, code, tmp_path)
    assert [n for n in numbers if n not in text or n not in found] == [], found
