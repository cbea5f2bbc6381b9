# SPDX-License-Identifier: BSD-3-Clause
"""What the pages say that their commands and snippets print."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

from documents import FENCE, ROOT, name

# The pages whose output `make newcomer` compares, and those of them that take seconds.
SHORT = [ROOT / page for page in ("README.md", "docs/index.md", "docs/api/estimate.md")]
_FOLDERS = [ROOT / "docs/tutorials", ROOT / "docs/guides"]
COMPARED = [*SHORT, *(page for folder in _FOLDERS for page in sorted(folder.glob("*.md")))]
# Lines that depend on the machine, or stand for others.
OF_THE_MACHINE = ("speed", "device", "...", "results in")
# Numbers with single precision depend on the instructions of the CPU, and on the GPU.
ROUNDED = ("electrolytes.md", "dpd.md", "mixtures.md", "bilayer.md", "melt.md", "counterions.md")
NUMBER = re.compile(r"(?<![\w.,])-?\d[\d,]*(?:\.\d+)?(?:\(\d+\))?(?:e[+-]?\d+)?(?![\w(])")

# What the text of a page says of the output of a command or a snippet, which some words name.
IN_PROSE = [
    ("docs/tutorials/adsorbates.md", "empty.henry(20000)", ["2.97(4)e-05", "25.89(6)"]),
    ("docs/tutorials/hard_spheres.md", "coexistence.py", ["3,308", "11.574(17)"]),
    ("docs/tutorials/pressure_and_swaps.md", "--output far/", ["0.4469(8)", "289,088"]),
    ("docs/tutorials/pressure_and_swaps.md", "spheres.compressibility", ["0.2999(5)", "0.097(9)"]),
]


class Output(NamedTuple):
    """What a command or a snippet prints according to its page."""

    page: str
    language: str
    code: str
    text: str


def outputs(page: Path) -> list[Output]:
    """The blocks "text" of a page that follow a command or a snippet, and the comments that begin
    with a number behind `print(...)`, up to a semicolon."""
    found, before = [], ("", "")
    for language, text in FENCE.findall(page.read_text() + "\n"):
        lines = re.sub(r"\\\n\s*", " ", before[1]).strip().splitlines()
        prints = before[0] == "python" and "print(" in before[1]
        prints |= len(lines) == 1 and lines[0].startswith(("manymove ", "python "))
        if language == "text" and prints and not text.startswith("#"):  # a file
            code = before[1] if before[0] == "python" else lines[0]
            found.append(Output(name(page), before[0], code, text))
        comments = re.findall(r"^print\(.*\)  # (-?\d[^;\n]*)", text, re.MULTILINE)
        if language == "python" and comments:
            found.append(Output(name(page), language, text, "\n".join(comments)))
        before = (language, text)
    return found


def value(number: str) -> tuple[float, float, float]:
    """Value, error and unit of the last digit of a number: 1.25(3)e-4 is (1.25e-4, 3e-6, 1e-6). The
    error is NaN where there is none."""
    digits, error, power = re.fullmatch(r"([^(e]+)(?:\((\d+)\))?(e.+)?", number).groups()
    scale = float(f"1{power or ''}")
    last = scale * 10.0 ** -len(digits.partition(".")[2])
    return float(digits.replace(",", "")) * scale, int(error) * last if error else math.nan, last


def agree(expected: str, found: str, rounded: bool) -> bool:
    """Whether a printed number is the expected one. Rounded numbers may differ by four of their
    errors, or by a tenth without an error."""
    if expected == found or not rounded:
        return expected == found
    (a, error, _), (b, other, _) = value(expected), value(found)
    if math.isnan(error) or math.isnan(other):
        return math.isclose(a, b, rel_tol=0.1)
    return abs(a - b) <= 4 * math.hypot(error, other)


def differences(output: Output, text: str, words: bool = True) -> list[str]:
    """Lines of the page that are not printed, or without `words` its numbers."""
    rounded = Path(output.page).name in ROUNDED
    if not words:
        found = NUMBER.findall(text)
        return [
            n for n in NUMBER.findall(output.text) if not any(agree(n, f, rounded) for f in found)
        ]
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [
        line
        for line in (" ".join(each.split()) for each in output.text.splitlines())
        if not line.startswith(OF_THE_MACHINE)
        and not (rounded and line.startswith("state hash"))
        and not any(_same(line, other, rounded) for other in lines)
    ]


def _same(line: str, other: str, rounded: bool) -> bool:
    if line == other or not rounded:
        return line == other
    if NUMBER.split(line) != NUMBER.split(other):
        return False
    pairs = zip(NUMBER.findall(line), NUMBER.findall(other), strict=True)
    return all(agree(a, b, rounded) for a, b in pairs)
