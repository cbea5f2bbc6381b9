#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the numbers of the pages from the records that they link.

A page marks a number by `<!--=disks 1048576-->1.27e11<!--/-->`, where the number of particles is
left out if the record has one row only. The marks `record disks`, `card disks` and
`version disks-hpmc` stand for the link to the record, for its GPU and for the program's version,
and `hosts` for the table of the matrix of hosts (tests/hosts/run.py).
`python tests/support/recorded.py` prints what differs from the records and ends with an error if
anything does, and `--write` corrects it.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from documents import PAGES, ROOT, name

RESULTS = ROOT / "docs/benchmarks/results"
MARKED = re.compile(r"<!--=([^>]*)-->(.*?)<!--/-->", re.DOTALL)
Row = dict[str, Any]

# ---- how a number is written ---------------------------------------------------------------------


def significant(digits: int) -> Callable[[float], str]:
    """1.27e11, with that many digits."""

    def text(value: float) -> str:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"

    return text


def rounded(places: int) -> Callable[[float], str]:
    return lambda value: f"{value:,.{places}f}"


def three(value: float) -> str:
    """Three digits, as 0.00951, 65.2 and 4,210."""
    if value < 99.95:
        return f"{value:#.3g}"
    unit = 10 ** (len(f"{value:.0f}") - 3)
    return f"{round(value / unit) * unit:,.0f}"


def share(value: float) -> str:
    return f"{100 * value:.0f} %"


def small_share(value: float) -> str:
    return f"{100 * value:.1f} %"


def with_error(quantity: str, error: str) -> Callable[[Row], str]:
    """65.27(4), of a row."""

    def text(row: Row) -> str:
        places = -math.floor(math.log10(row[error]))
        return f"{row[quantity]:.{places}f}({row[error] * 10**places:.0f})"

    return text


# ---- which number of which record ----------------------------------------------------------------

# A file, and after # its part, where {:,} stands for the number that a mark names.
DISKS = "2026-11-29-h200-all#disks"
COMPONENT = "2026-11-29-h200-all#hoomd-disks"
HPMC = "2026-11-29-h200-all#hoomd-disks"
COMPONENT_OF_SPHERES = "2026-11-29-h200-all#hoomd-spheres"
SPHERES = "2026-11-29-h200-spheres#HPMC, {:,} spheres"
MIXTURES = "2026-11-29-h200-spheres#mixture, {:,} spheres"
DPD = "2026-11-29-h200-dpd"
FLUIDS = "2026-11-29-h200-small-systems#fluids"
IONS = "2026-11-29-h200-all#electrolyte"
SYSTEMS = "2026-11-29-h200-all"
SMALL_SYSTEMS = "2026-11-29-h200-small-systems"
MANY = "2026-11-29-h200-many"
PROCESSES_OF_HPMC = "2026-11-29-h200-hpmc-processes"
METHANE = "2026-11-29-h200-all#methane"
CO2 = "2026-11-29-h200-co2"
INTERACTIONS = "2026-11-30-h200-interactions"

MOVES, STEPS = "trial_moves_per_second", "steps_per_second"
MPS = "million_particle_steps_per_second"
TO_ENGINE, TO_HPMC = "ratio_to_standalone", "ratio_to_hpmc"


@cache
def read(file: str) -> Row:
    return json.loads((RESULTS / f"{file}.json").read_text())


@dataclass(frozen=True)
class Number:
    """A number of one row of a record.

    `row` has keys of the row and their values, in which * stands for any text, and `way` the keys
    that lead from the row to the number; no key means that `text` writes the row. `size` is
    the key of the number that a mark names. With `best` the row with the largest number is meant,
    and `over` divides by another number of the same size.
    """

    record: str
    row: dict[str, Any]
    way: tuple[str, ...]
    text: Callable[[Any], str]
    size: str = "particles"
    best: str = ""
    over: Number | None = None

    def report(self, size: int | None = None) -> Row:
        file, _, part = self.record.format(size or 0).partition("#")
        content = read(file)
        return content["parts"][part] if part else content

    def value(self, size: int | None) -> Any:
        """Raises ValueError if not exactly one row of the record is meant."""
        rows = self.report(size)["results"]
        which = self.row if size is None else self.row | {self.size: size}
        found = [row for row in rows if all(agrees(row.get(k), v) for k, v in which.items())]
        if self.best and found:
            found = [max(found, key=lambda row: row[self.best])]
        if len(found) != 1:
            raise ValueError(f"{self.record} has {len(found)} results with {which}; one is needed")
        value: Any = found[0]
        for step in self.way:
            value = value[step if step in value else next(k for k in value if agrees(k, step))]
        return value / self.over.value(size) if self.over else value


def agrees(found: Any, wanted: Any) -> bool:
    return fnmatchcase(found, wanted) if isinstance(found, str) else found == wanted


ENGINE, PEER = {"variant": "cuda:0"}, {"variant": "HPMC*"}
IN_HOOMD = {
    "engine": "standalone*",
    "component": "hoomd.manymove, 16 *",
    "component-4": "hoomd.manymove, 4 *",
    "python": "manymove.hoomd, 16 *",
}
NUMBERS = {"disks": Number(DISKS, ENGINE, (MOVES,), significant(3))}
for kind, record, with_hpmc in (
    ("disks", COMPONENT, HPMC),
    ("spheres", COMPONENT_OF_SPHERES, COMPONENT_OF_SPHERES),
):
    NUMBERS[f"{kind}-hpmc"] = Number(with_hpmc, PEER, (MOVES,), significant(3), best=MOVES)
    for program, variant in IN_HOOMD.items():
        row = {"variant": variant}
        NUMBERS[f"{kind}-{program}"] = Number(record, row, (MOVES,), significant(3))
        if (kind, program) != ("disks", "engine"):
            NUMBERS[f"{kind}-{program}-hpmc"] = Number(with_hpmc, row, (TO_HPMC,), three)
        if program != "engine":
            NUMBERS[f"{kind}-{program}-ratio"] = Number(record, row, (TO_ENGINE,), rounded(3))
        if program in ("component", "python"):
            NUMBERS[f"{kind}-{program}-share"] = Number(record, row, (TO_ENGINE,), share)

for kind, file, part in (
    ("disks", SYSTEMS, "systems of disks"),
    ("small", SYSTEMS, "1,024 systems of disks"),
    ("short", SYSTEMS, "1,024 systems of disks, short runs"),
    ("spheres", SYSTEMS, "systems of spheres"),
    ("ions", SMALL_SYSTEMS, "systems of ions"),
    ("disks-pressure", SMALL_SYSTEMS, "systems of disks at constant pressure"),
    ("spheres-pressure", SMALL_SYSTEMS, "systems of spheres at constant pressure"),
    ("swaps", SMALL_SYSTEMS, "systems of spheres with swap moves"),
):
    for how, variant in (("together", "together"), ("alone", "one after the other")):
        row = {"variant": variant}
        NUMBERS[f"{kind}-systems-{how}"] = Number(
            f"{file}#{part}", row, (MOVES,), significant(3), "systems"
        )

BEST_PEER = Number(
    PROCESSES_OF_HPMC, {"variant": "HPMC with MPS*"}, (MOVES,), significant(3), "systems", MOVES
)
NUMBERS |= {
    "disks-beside-hpmc": Number(
        PROCESSES_OF_HPMC, {"variant": "together"}, (MOVES,), significant(3), "systems"
    ),
    "disks-over-hpmc": Number(
        PROCESSES_OF_HPMC, {"variant": "together"}, (MOVES,), three, "systems", over=BEST_PEER
    ),
    "hpmc-processes": Number(
        PROCESSES_OF_HPMC, {"variant": "HPMC, *"}, (MOVES,), significant(3), "systems", MOVES
    ),
    "hpmc-processes-mps": BEST_PEER,
}

for kind in ("disks", "spheres", "ions"):
    part = f"{MANY}#{kind} in processes"
    row = {"variant": "together"}
    way = ("ratio_to_processes", "median")
    NUMBERS |= {
        f"{kind}-threads": Number(part, row, (MOVES,), significant(3), "systems"),
        f"{kind}-processes": Number(
            part, {"variant": "processes"}, (MOVES,), significant(3), "systems"
        ),
        f"{kind}-threads-ratio": Number(part, row, way, rounded(2), "systems"),
    }
for how, variant in (("together", "together"), ("alone", "one after the other")):
    for ions in (4096, 16384):
        for method in ("brush", "tree"):
            row = {"variant": variant, "particles": ions, "method": method, "precision": "double"}
            NUMBERS[f"{method}-{ions}-{how}"] = Number(
                f"{MANY}#methods of ions", row, (MOVES,), significant(3), "systems"
            )
    for ions in (14336, 16384):
        for eta in (8, 16):
            row = {"variant": variant, "particles": ions, "threads_per_particle": eta}
            row["precision"] = "mixed"
            NUMBERS[f"eta-{eta}-{ions}-{how}"] = Number(
                f"{MANY}#threads of ions", row, (MOVES,), significant(3), "systems"
            )
TRANSITION = "2026-11-29-cpu-disks-exchange#through the transition"
FRACTION = with_error("mean_packing_fraction", "mean_packing_fraction_error")
PRESSURES = (8.6, 8.8, 8.9, 9, 9.1, 9.2, 9.4, 9.6)
for P in PRESSURES:
    row = {"pressure": P}
    NUMBERS |= {
        f"transition-{P:g}": Number(TRANSITION, row, (), FRACTION),
        f"transition-{P:g}-time": Number(TRANSITION, row, ("relaxation_time",), three),
        f"transition-{P:g}-trips": Number(TRANSITION, row, ("round_trips",), rounded(0)),
        f"transition-{P:g}-status": Number(TRANSITION, row, ("status",), str),
    }
    if P < PRESSURES[-1]:
        NUMBERS[f"transition-{P:g}-next"] = Number(TRANSITION, row, ("exchange_acceptance",), share)

PEER_SPEED = Number(SPHERES, PEER, (MOVES,), significant(3), best=MOVES)
PEER_TIME = Number(SPHERES, PEER, ("relaxation_seconds",), three, best=MOVES)
TIME = Number(SPHERES, ENGINE, ("relaxation_seconds",), three)
NUMBERS |= {
    "spheres": Number(SPHERES, ENGINE, (MOVES,), significant(3)),
    "spheres-peer": PEER_SPEED,
    "spheres-ratio": Number(SPHERES, ENGINE, (MOVES,), three, over=PEER_SPEED),
    "spheres-time": TIME,
    "spheres-peer-time": PEER_TIME,
    "spheres-time-ratio": Number(SPHERES, PEER, PEER_TIME.way, three, best=MOVES, over=TIME),
    "one-size": Number(MIXTURES, ENGINE, (MOVES,), significant(3)),
    "mixture": Number(MIXTURES, {"variant": "cuda:0, mixture *"}, (MOVES,), significant(3)),
    "mixture-share": Number(
        MIXTURES, {"variant": "cuda:0, mixture *"}, ("ratio_to_one_size",), share
    ),
}

for key, variant in (
    ("plain", "plain"),
    ("longer", "plain in the longer box"),
    ("walls", "two hard walls"),
    ("soft-wall", "harmonic wall"),
    ("gravity", "gravity between walls"),
    ("springs", "springs"),
    ("wide-well", "well of range 1.5"),
    ("well", "well of range 1.25"),
    ("insertions", "insertions and deletions"),
):
    row = {"variant": f"cuda:0, {variant}"}
    NUMBERS[f"interactions-{key}"] = Number(INTERACTIONS, row, (MOVES,), significant(3))
    NUMBERS[f"interactions-{key}-share"] = Number(INTERACTIONS, row, ("share",), share)
NUMBERS["insertion-time"] = Number(
    INTERACTIONS, row, ("insertions_per_second",), lambda each: f"{1e9 / each:.2f} ns"
)

PEERS = {"kokkos": (DPD, "pair_style dpd/kk*"), "hoomd": (DPD, "md.pair.DPD*")}
for precision in ("mixed", "double"):
    row = {"variant": f"run_style manymove/verlet, {precision}"}
    NUMBERS[f"dpd-{precision}"] = Number(DPD, row, (MPS,), rounded(0))
    for peer, (record, variant) in PEERS.items():
        way = ("ratios", variant, "median")
        NUMBERS[f"dpd-{precision}-{peer}"] = Number(record, row, way, rounded(1))
    row = {"precision": precision, "method": "brush"}
    NUMBERS[f"ions-{precision}"] = Number(IONS, row, ("seconds_per_sweep",), three, "ions")
for peer, (record, variant) in PEERS.items():
    NUMBERS[f"dpd-{peer}"] = Number(record, {"variant": variant}, (MPS,), rounded(0))
for way in ("replicas", "partition", "processes", "mps"):
    NUMBERS[f"fluids-{way}"] = Number(FLUIDS, {"variant": way}, (MPS,), rounded(0), "systems")
NUMBERS["tree"] = Number(IONS, {"method": "tree"}, ("seconds_per_sweep",), three, "ions")

for method in ("metropolis", "pmc", "plj", "mup", "mdp", "mdp-dj"):
    row = {"method": method}
    NUMBERS[method] = Number(METHANE, row, (STEPS,), significant(3), "molecules")
    if method != "metropolis":
        way = ("merit_ratio_to_serial",)
        NUMBERS[f"{method}-merit"] = Number(METHANE, row, way, three, "molecules")
LOADING = with_error("loading_molecules", "loading_error_molecules")
BEST_LOADING = with_error("loading_optimal_molecules", "loading_optimal_error_molecules")
for trials, variant in (
    ("64", "plj 64 x 1*"),
    ("256", "plj 256 x 1*"),
    ("graspa-10", "gRASPA 10 *"),
    ("graspa-64", "gRASPA 64 *"),
    ("kups", "kUPS *, 64 systems"),
):
    row = {"variant": variant}
    shared = small_share if trials == "kups" else share
    NUMBERS |= {
        f"co2-{trials}": Number(CO2, row, (STEPS,), significant(3)),
        f"co2-{trials}-accepted": Number(CO2, row, ("acceptance",), shared),
        f"co2-{trials}-loading": Number(CO2, row, (), LOADING),
        f"co2-{trials}-merit": Number(CO2, row, ("figure_of_merit",), three),
    }
    if trials.startswith(("graspa", "kups")):
        NUMBERS[f"co2-{trials}-ratio"] = Number(CO2, row, ("merit_ratio",), three)
ALL_TRIALS = Number(CO2, {"variant": "plj 256 x 1*"}, ("optimal_merit",), three)
ONE_OF_256 = Number(CO2, {"variant": "plj 256 x 1*"}, ("figure_of_merit",), three)
NUMBERS |= {
    "co2-kups-start": Number(
        CO2, {"variant": "kUPS *, 64 systems"}, ("start_seconds",), rounded(0)
    ),
    "co2-kups-compile": Number(
        CO2, {"variant": "kUPS *, 64 systems"}, ("compile_seconds",), rounded(0)
    ),
    "co2-all-loading": Number(CO2, ALL_TRIALS.row, (), BEST_LOADING),
    "co2-all-merit": ALL_TRIALS,
    "co2-all-ratio": Number(CO2, ALL_TRIALS.row, ALL_TRIALS.way, three, over=ONE_OF_256),
}


def number(mark: str) -> str:
    """A number as its page has to write it.

    Raises:
        KeyError: the name is unknown.
        ValueError: not exactly one result of the record is meant.
    """
    key, _, size = mark.partition(" ")
    one = NUMBERS[key]
    return one.text(one.value(int(size) if size else None))


def link(key: str, page: Path) -> str:
    file = RESULTS / f"{NUMBERS[key].record.partition('#')[0]}.json"
    return f"[record]({os.path.relpath(file, page.parent)})"


def card(mark: str, _: Path) -> str:
    key, _, size = mark.partition(" ")
    return NUMBERS[key].report(int(size) if size else None)["gpus"][0]["name"]


def version(key: str, _: Path) -> str:
    number = NUMBERS[key]
    names = [row["variant"] for row in number.report()["results"]]
    named = next(name for name in names if agrees(name, number.row["variant"]))
    return re.search(r"(?:HOOMD-blue|LAMMPS|kUPS) ([^),]+)", named)[1]


def hosts(_: str, page: Path) -> str:
    """The newest record of the matrix as a table; nothing where there is none."""
    records = sorted(RESULTS.glob("*-hosts.json"))
    if not records:
        return ""
    lines = json.loads(records[-1].read_text())["lines"]
    columns = ("part", "version", "mpi", "python", "compiler", "device", "tests", "script", "date")
    rows = [["part", "version", "MPI", "Python", *columns[4:]], ["---"] * len(columns)]
    for line in sorted(lines, key=lambda line: line["part"]):
        why = {} if line["built"] == "yes" else {"tests": line["built"]}
        rows.append([{**line, **why}[column] for column in columns])
    file = os.path.relpath(records[-1], page.parent)
    return f"\nThese combinations were run ([record]({file})):\n\n" + "".join(
        f"| {' | '.join(row)} |\n" for row in rows
    )


ABOUT = {"record": link, "card": card, "version": version, "hosts": hosts}


def recorded(mark: str, page: Path) -> str:
    """What the page has to write for a mark."""
    key, _, of = mark.partition(" ")
    return ABOUT[key](of, page) if key in ABOUT else number(mark)


def marks(page: Path) -> Iterator[tuple[str, str]]:
    """(name, what the page writes) of each mark."""
    yield from MARKED.findall(page.read_text())


def written(text: str, page: Path) -> str:
    """The text with the numbers of the records."""
    return MARKED.sub(lambda mark: f"<!--={mark[1]}-->{recorded(mark[1], page)}<!--/-->", text)


def main(arguments: list[str]) -> int:
    write, wrong, used = arguments == ["--write"], 0, set()
    if arguments and not write:
        sys.exit("recorded.py [--write]")
    for page in PAGES:
        for mark, text in marks(page):
            used.add(mark.partition(" ")[0])
            if text != (right := recorded(mark, page)):
                wrong += not write
                print(f"{name(page)}: {mark} is {text}, and {right} in its record")
        if write:
            page.write_text(written(page.read_text(), page))
    for key in NUMBERS.keys() - used:
        wrong += 1
        print(f"{key} is on no page")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
