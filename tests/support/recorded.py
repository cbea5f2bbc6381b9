#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the numbers of the pages from the records that they link.

A page marks a number by `<!--=name-->1.27e11<!--/-->`. `python tests/support/recorded.py` prints
the numbers that differ from their records and ends with an error if there are any, and `--write`
corrects them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from documents import PAGES, ROOT, name

RESULTS = ROOT / "docs/benchmarks/results"
MARKED = re.compile(r"<!--=([a-z-]+)-->(.*?)<!--/-->")
MOVES, STEPS = "trial_moves_per_second", "steps_per_second"
MPS, TERMS = "million_particle_steps_per_second", "pair_terms_per_second"
KOKKOS, HOOMD = "pair_style dpd/kk, LAMMPS 4 Jul 2026", "md.pair.DPD, HOOMD-blue 7.0.1"

DISKS = "2026-11-24-h100-disks-planes"
COMPONENT = "2026-11-24-h100-hoomd-disks-whole-sectors"
HPMC = "2026-11-22-h100-hpmc"
SPHERES = "2026-11-23-h100-hoomd-spheres"
DPD = "2026-11-21-h100-dpd-peers"
IONS = "2026-11-21-h100-electrolyte-speed"
METHANE = "2026-11-21-h100-adsorption-speed"
CO2 = "2026-11-23-h100-co2-merit"


def significant(digits: int) -> Callable[[float], str]:
    """1.27e11, with that many digits."""

    def text(value: float) -> str:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"

    return text


def rounded(places: int) -> Callable[[float], str]:
    return lambda value: f"{value:,.{places}f}"


def share(value: float) -> str:
    return f"{100 * value:.0f} %"


ALL_STEPS = {"particles": 1048576, "variant": "hoomd.manymove, 16 sweeps a step"}
MIXED = {"particles": 2000000, "variant": "run_style manymove/verlet, mixed"}
DOUBLE = {"particles": 2000000, "variant": "run_style manymove/verlet, double"}
PMC = {"molecules": 32, "variant": "pmc, cuda:0"}
TRIALS = {"variant": "plj 256 x 1, cuda:0"}
GRASPA = {"variant": "gRASPA 64 x 10"}
# Name: the record, which of its results, the keys that lead to the number, how it is written.
NUMBERS: dict[str, tuple[str, dict[str, Any], tuple[str, ...], Callable[[float], str]]] = {
    "disks": (DISKS, {"particles": 1048576}, (MOVES,), significant(3)),
    "disks-component": (COMPONENT, ALL_STEPS, (MOVES,), significant(3)),
    "disks-component-ratio": (COMPONENT, ALL_STEPS, ("ratio_to_standalone",), rounded(3)),
    "disks-component-share": (COMPONENT, ALL_STEPS, ("ratio_to_standalone",), share),
    "disks-python-share": (
        COMPONENT,
        {"particles": 1048576, "variant": "manymove.hoomd, 16 sweeps a step"},
        ("ratio_to_standalone",),
        share,
    ),
    "disks-before-hpmc": (HPMC, ALL_STEPS, (MOVES,), significant(3)),
    "disks-hpmc-ratio": (HPMC, ALL_STEPS, ("ratio_to_hpmc",), rounded(0)),
    "spheres": (SPHERES, {"variant": "standalone, cuda:0"}, (MOVES,), significant(3)),
    "spheres-hpmc-ratio": (
        SPHERES,
        {"variant": "standalone, cuda:0"},
        ("ratio_to_hpmc",),
        rounded(1),
    ),
    "spheres-component-share": (
        SPHERES,
        {"variant": "hoomd.manymove, 16 sweeps a step"},
        ("ratio_to_standalone",),
        share,
    ),
    "spheres-python-share": (
        SPHERES,
        {"variant": "manymove.hoomd, 16 sweeps a step"},
        ("ratio_to_standalone",),
        share,
    ),
    "dpd-mixed": (DPD, MIXED, (MPS,), rounded(0)),
    "dpd-mixed-kokkos": (DPD, MIXED, ("ratios", KOKKOS, "median"), rounded(1)),
    "dpd-mixed-hoomd": (DPD, MIXED, ("ratios", HOOMD, "median"), rounded(1)),
    "dpd-double": (DPD, DOUBLE, (MPS,), rounded(0)),
    "dpd-double-kokkos": (DPD, DOUBLE, ("ratios", KOKKOS, "median"), rounded(1)),
    "dpd-double-hoomd": (DPD, DOUBLE, ("ratios", HOOMD, "median"), rounded(1)),
    "ions": (IONS, {"ions": 1048576, "precision": "mixed"}, (TERMS,), significant(2)),
    "methane": (METHANE, PMC, (STEPS,), significant(3)),
    "methane-merit": (METHANE, PMC, ("merit_ratio_to_serial",), rounded(0)),
    "carbon-dioxide": (CO2, TRIALS, (STEPS,), significant(3)),
    "carbon-dioxide-graspa": (CO2, GRASPA, ("merit_ratio",), rounded(0)),
}  # fmt: skip


def number(key: str) -> str:
    """A number as its page has to write it.

    Raises:
        KeyError: the name is unknown.
        ValueError: not exactly one result of the record is meant.
    """
    record, which, way, text = NUMBERS[key]
    results = json.loads((RESULTS / f"{record}.json").read_text())["results"]
    found = [row for row in results if which.items() <= row.items()]
    if len(found) != 1:
        raise ValueError(f"{record} has {len(found)} results with {which}; one is needed")
    value: Any = found[0]
    for step in way:
        value = value[step]
    return text(value)


def marks(page: Path) -> Iterator[tuple[str, str]]:
    """(name, what the page writes) of each marked number."""
    yield from MARKED.findall(page.read_text())


def written(text: str) -> str:
    """The text with the numbers of the records."""
    return MARKED.sub(lambda mark: f"<!--={mark[1]}-->{number(mark[1])}<!--/-->", text)


def main(arguments: list[str]) -> int:
    wrong, used = 0, set()
    for page in PAGES:
        for key, text in marks(page):
            used.add(key)
            if text != number(key):
                wrong += 1
                print(f"{name(page)}: {key} is {text}, and {number(key)} in its record")
        if "--write" in arguments:
            page.write_text(written(page.read_text()))
    for key in NUMBERS.keys() - used:
        wrong += 1
        print(f"{key} is on no page")
    return int(bool(wrong) and "--write" not in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
