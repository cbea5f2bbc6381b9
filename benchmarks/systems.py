# SPDX-License-Identifier: BSD-3-Clause
"""Speed of many small systems at the same time: `python -m benchmarks systems`.

Replicas of hard disks, spheres or ions run together, and the same systems one after the other. The
time of a run of one sweep, which is mostly the start of the threads, is taken off. The peer is
HOOMD-blue's HPMC in simultaneous processes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import hpmc_processes
from benchmarks.disk_variants import melted_engines
from benchmarks.electrolyte import trivalent
from manymove.bench.harness import STATUS, Report, Table, Variant, check, spread, time_in_turn
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.replicas import Replicas

COLUMNS = (
    ("systems", ">7", "systems"),
    ("particles", ">9", "particles"),
    ("variant", "<25", "variant"),
    ("moves/s", ">9.3g", "trial_moves_per_second"),
    ("spread", ">6.1%", spread("trial_moves_per_second")),
    ("accepted", ">8.2%", "acceptance"),
    STATUS,
)


def run(
    *,
    systems: tuple[int, ...] = (64,),
    particles: int = 4096,
    packing_fraction: float | None = None,
    spheres: bool = False,
    ions: bool = False,
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
        RuntimeError: a process of HPMC failed.
    """
    check(repeats, seconds, equilibrate)
    if hpmc and (ions or pressure or swaps):
        raise ValueError("--hpmc cannot be combined with --ions, --pressure and --swaps")
    if ions and (spheres or packing_fraction or pressure or swaps):
        raise ValueError(
            "--ions cannot be combined with --spheres, --packing-fraction, --pressure and --swaps"
        )
    kind: type[HardDisks] | type[HardSpheres] = HardSpheres if spheres else HardDisks
    fraction = packing_fraction or (0.5 if spheres else 0.698)
    about = {} if ions else {"packing_fraction": fraction, "pressure": pressure, "swaps": swaps}
    if hpmc:
        hpmc_processes.require_hpmc(hpmc, device)
    report = Report(Table(COLUMNS), json_file, **about, melt=equilibrate)
    first: Any
    if ions:
        first = trivalent(particles, device=device, threads=threads, seed=seed)
        first.run(equilibrate)
    else:
        first = melted_engines(
            particles, fraction, device, [threads], None, None, equilibrate, seed, kind
        )[0]
        if pressure or swaps:
            first = kind(
                first.positions, first.box, np.linspace(0.7, 1, particles) if swaps else 1.0,
                pressure=pressure, swaps=swaps, seed=seed, device=device, threads=threads,
            )  # fmt: skip
            first.run(equilibrate)
    for count in systems:
        replicas = Replicas(first, count, seed=seed, device=device, threads=threads)
        every: list[Any] = replicas.simulations
        one_by_one: Callable[[int], None] = partial(_one_by_one, every)
        variants = [
            Variant(name, partial(_moves_of, every, advance), {}, shortest=1)
            for name, advance in (("together", replicas.run), ("one after the other", one_by_one))
        ]
        time_in_turn(variants, repeats, seconds)
        report.add(
            [{"systems": count, "particles": particles, **each.result()} for each in variants]
        )
    for count in hpmc or ():
        peers = hpmc_processes.Systems(particles, fraction, kind, device, equilibrate, seed)
        report.add(hpmc_processes.rows(peers, count, repeats, seconds))
    return report.end()


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
