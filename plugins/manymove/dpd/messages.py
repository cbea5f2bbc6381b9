# SPDX-License-Identifier: BSD-3-Clause
"""Errors of LAMMPS in the words of `manymove dpd` and `manymove.DPDFluid`."""

from __future__ import annotations

import re

_MARK = re.compile(r"ERROR(?: on proc \d+)?: *")
_STYLE = re.compile(r"(?:Run|Pair) style manymove/[\w/]+(?: on \w+)?: (?:Lost atoms: )?")
_PLACE = re.compile(r"\s*\([\w./-]+\.(?:cpp|h):\d+\)\s*$")  # in LAMMPS' sources
_SHORTER = "use a shorter time step, or weaker forces"
_WORDS = (  # pattern of LAMMPS' error, and the sentence that replaces it
    (r"(particle \d+ was lost before step \d+): (.*)", rf"\1 because \2: {_SHORTER}"),
    (
        r"Lost atoms: original (\d+) current (\d+).*",
        rf"particles have been lost, \2 of \1 are left: {_SHORTER}",
    ),
    (
        r"Non-numeric (?:atom coords|pressure|box dimensions).*",
        f"positions or the pressure have become infinite: {_SHORTER}",
    ),
    (
        r"Neighbor list overflow.*",
        "a particle has more neighbors than LAMMPS' lists can hold, 2000: use a shorter cutoff or "
        "a lower density",
    ),
    (
        r"(?:Too many atom sorting bins|Domain too large for neighbor bins).*",
        "the box is too large for neighbor lists of this cutoff: use a higher density, or a longer "
        "cutoff",
    ),
)


def is_error(line: str) -> bool:
    """Whether a line of LAMMPS' output begins an error."""
    return bool(_MARK.match(line))


def sentence(error: str) -> str:
    """An error of LAMMPS in one sentence, without the style and the place in the sources. Errors
    that bad settings cause also name the remedy."""
    first = _MARK.sub("", error.strip().partition("\n")[0], count=1)
    first = _PLACE.sub("", _STYLE.sub("", first, count=1))
    for pattern, replacement in _WORDS:
        if found := re.fullmatch(pattern, first):
            return found.expand(replacement)
    return first
