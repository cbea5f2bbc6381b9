# SPDX-License-Identifier: BSD-3-Clause
"""Speed of many small systems at the same time: `python -m benchmarks systems`.

Replicas of hard disks, spheres or ions run together, and the same systems one after the other. On a
CPU as many processes with one system each are timed as well. All variants alternate. The time of a
run of one sweep, which is mostly the start of the threads, is taken off. The peer is HOOMD-blue's
HPMC in simultaneous processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import hpmc_processes, simultaneous
from benchmarks.disk_variants import melted_engines
from benchmarks.electrolyte import trivalent
from manymove.bench.harness import STATUS, Report, Table, Variant, check, spread, time_in_turn
from manymove.devices import on_gpu
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.replicas import Replicas
from manymove.settings import Brush

COLUMNS = (
    ("systems", ">7", "systems"),
    ("particles", ">9", "particles"),
    ("variant", "<25", "variant"),
    ("moves/s", ">9.3g", "trial_moves_per_second"),
    ("spread", ">6.1%", spread("trial_moves_per_second")),
    ("accepted", ">8.2%", "acceptance"),
    STATUS,
)
Row = dict[str, Any]


@dataclass
class Case:
    """Systems of one kind.

    Attributes:
        first: simulation that the others copy with other seeds.
        about: entries of the rows.
    """

    first: Any
    about: Row = field(default_factory=dict)


def run(
    *,
    systems: tuple[int, ...] = (64,),
    particles: tuple[int, ...] = (4096,),
    packing_fraction: float | None = None,
    spheres: bool = False,
    ions: bool = False,
    methods: tuple[str, ...] | None = None,
    precisions: tuple[str, ...] | None = None,
    threads_per_particle: tuple[int, ...] | None = None,
    pressure: float | None = None,
    swaps: int | None = None,
    hpmc: tuple[int, ...] | None = None,
    device: str = "auto",
    threads: int | None = None,
    equilibrate: int = 200,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None = None,
) -> dict[str, Any]:
    """Time each number of systems, print a table, and write the JSON file after each.

    The arguments are the options of the command.

    Returns:
        the content of the JSON file.

    Raises:
        ImportError: HPMC is to be timed, and HOOMD-blue is not installed or has none.
        ValueError: an argument is out of range, or HPMC has no GPU.
        RuntimeError: a process of a system has ended or failed.
    """
    check(repeats, seconds, equilibrate)
    if hpmc and (ions or pressure or swaps):
        raise ValueError("--hpmc cannot be combined with --ions, --pressure and --swaps")
    if ions and (spheres or packing_fraction or pressure or swaps):
        raise ValueError(
            "--ions cannot be combined with --spheres, --packing-fraction, --pressure and --swaps"
        )
    if not ions and (methods or precisions or threads_per_particle):
        raise ValueError("--methods, --precision and --threads-per-particle need --ions")
    if threads_per_particle and methods and "brush" not in methods:
        raise ValueError("--threads-per-particle needs the method brush")
    if threads_per_particle and not on_gpu(device):
        raise ValueError("--threads-per-particle needs a GPU")
    if precisions and methods and set(methods) == {"tree"}:
        raise ValueError("--precision does not go with the tree, which has one precision")
    kind: type[HardDisks] | type[HardSpheres] = HardSpheres if spheres else HardDisks
    fraction = packing_fraction or (0.5 if spheres else 0.698)
    about: Row = (
        {} if ions else {"packing_fraction": fraction, "pressure": pressure, "swaps": swaps}
    )
    if hpmc:
        hpmc_processes.require_hpmc(hpmc, device)
    report = Report(Table(COLUMNS, _ending), json_file, **about, melt=equilibrate)
    place: dict[str, Any] = {"seed": seed, "device": device, "threads": threads}
    for N in particles:
        if ions:
            start = trivalent(N, **place)
            start.run(equilibrate)
            cases = [*_cases_of_ions(start, methods, precisions, threads_per_particle)]
        else:
            cases = [Case(_particles(kind, N, fraction, pressure, swaps, equilibrate, **place))]
        for count in systems:
            report.add(_rows(cases, count, N, repeats, seconds, **place))
        for count in hpmc or ():
            peers = hpmc_processes.Systems(N, fraction, kind, device, equilibrate, seed)
            report.add(hpmc_processes.rows(peers, count, repeats, seconds))
    return report.end()


def _particles(
    kind: type[HardDisks] | type[HardSpheres],
    N: int,
    fraction: float,
    pressure: float | None,
    swaps: int | None,
    equilibrate: int,
    *,
    seed: int,
    device: str,
    threads: int | None,
) -> Any:
    """Hard particles after their equilibration."""
    melted = melted_engines(
        N, fraction, device, [threads], None, None, equilibrate, seed, kind
    )[0]  # fmt: skip
    if not (pressure or swaps):
        return melted
    found = kind(
        melted.positions, melted.box, np.linspace(0.7, 1, N) if swaps else 1.0,
        pressure=pressure, swaps=swaps, seed=seed, device=device, threads=threads,
    )  # fmt: skip
    found.run(equilibrate)
    return found


def _cases_of_ions(
    start: Any,
    methods: tuple[str, ...] | None,
    precisions: tuple[str, ...] | None,
    threads_per_particle: tuple[int, ...] | None,
) -> Iterator[Case]:
    """The ions with each method, precision and number of threads. The tree has one precision."""
    for method in methods or ("brush",):
        for precision in ("double",) if method == "tree" else precisions or ("mixed",):
            etas = threads_per_particle if method == "brush" else None
            for eta in etas or (None,):
                chosen = Brush(eta) if eta else method
                first = start.replace(method=chosen, precision=precision)
                about = {"method": method, "precision": precision, "threads_per_particle": eta}
                yield Case(first, about)


def _rows(
    cases: list[Case],
    count: int,
    N: int,
    repeats: int,
    seconds: float,
    *,
    seed: int,
    device: str,
    threads: int | None,
) -> list[Row]:
    """The rows of a number of systems, whose variants are timed in turn."""
    variants: list[tuple[Case, Variant]] = []
    with ExitStack() as stack:
        for case in cases:
            replicas = Replicas(case.first, count, seed=seed, device=device, threads=threads)
            every: list[Any] = replicas.simulations
            ways: dict[str, Callable[[int], tuple[int, int]]] = {
                "together": partial(_moves_of, every, replicas.run),
                "one after the other": partial(_moves_of, every, partial(_one_by_one, every)),
            }
            if every[0].device == "cpu":
                ways["processes"] = stack.enter_context(simultaneous.continued(every))
            variants += [(case, Variant(name, way, {}, shortest=1)) for name, way in ways.items()]
        time_in_turn([variant for _, variant in variants], repeats, seconds)
    rows = []
    for case, variant in variants:
        row = {"systems": count, "particles": N, **case.about, **variant.result()}
        if variant.name == "together":
            for of, other in variants:
                if of is case and other.name == "processes":
                    row["ratio_to_processes"] = _ratio(variant, other)
        rows.append(row)
    return rows


def _one_by_one(simulations: list[Any], sweeps: int) -> None:
    for each in simulations:
        each.run(sweeps)


def _moves_of(
    simulations: list[Any], advance: Callable[[int], None], sweeps: int
) -> tuple[int, int]:
    """Trial moves and accepted moves of all simulations in a run."""

    def moves() -> list[int]:
        return [
            sum(each.trial_moves for each in simulations),
            sum(each.accepted_moves for each in simulations),
        ]

    before = moves()
    advance(sweeps)
    trials, accepted = (now - then for now, then in zip(moves(), before, strict=True))
    return trials, accepted


def _ratio(ours: Variant, other: Variant) -> dict[str, float]:
    """Median and extremes of the ratios of the speeds, one ratio for each round."""
    ratios = [a / b for a, b in zip(ours.rates, other.rates, strict=True)]
    return {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)}


def _ending(row: Row) -> str:
    words = [f"{row['method']}, {row['precision']}"] if "method" in row else []
    if eta := row.get("threads_per_particle"):
        words.append(f"{eta} threads per ion")
    if ratio := row.get("ratio_to_processes"):
        low, high = ratio["lowest"], ratio["highest"]
        words.append(f"{ratio['median']:.3f} ({low:.3f} to {high:.3f}) times processes")
    return "  ".join(words)
