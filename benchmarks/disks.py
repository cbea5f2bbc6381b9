# SPDX-License-Identifier: BSD-3-Clause
"""Speed of the engines of hard disks and spheres: `python -m benchmarks disks` and `spheres`.

Variants (threads, and HOOMD-blue's HPMC if it is installed) start from the same melted
configuration. They are timed in turn, so that changes of the machine's clock affect all of them
equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.disk_variants import (
    Made,
    add_decorrelation,
    check_ratio,
    decorrelation_words,
    hpmc,
    melted_engines,
    melted_mixture,
    slow_quantities_of,
    standalone,
)
from benchmarks.relaxation import add_relaxation, relaxation_words
from manymove.bench.harness import STATUS, Report, Table, check, spread, time_in_turn
from manymove.devices import on_gpu
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres

GPU_SIZES = [4096, 16384, 65536, 262144, 1048576]
CPU_SIZES = [4096, 16384, 65536]
SPHERE_SIZES = ([65536, 262144, 1048576], [4096, 65536])  # on a GPU and on a CPU
# HPMC's moves per particle and time step, by the number of dimensions. For disks, 16 was the
# fastest of 8 to 32 on an H100. For spheres all are timed, and the fastest is compared with.
HPMC_NSELECT = {2: (16,), 3: (4, 8, 16)}
PATIENCE = 10  # times the duration of the timed runs, for the relaxation time of spheres


def run(
    *,
    sizes: Sequence[int] | None = None,
    packing_fraction: float = 0.698,
    device: str,
    threads: Sequence[int] | None = None,
    max_displacement: float | None = None,
    moves_per_cell: int | None = None,
    equilibrate: int = 200,
    repeats: int,
    seconds: float,
    decorrelation: int = 0,
    mixture_ratio: float | None = None,
    seed: int,
    json_file: Path | None = None,
    kind: type[HardDisks] | type[HardSpheres] = HardDisks,
) -> dict[str, Any]:
    """Time every size, print a table, and write the JSON file after each size.

    The arguments are the options of the commands; None stands for their defaults.

    Returns:
        the content of the JSON file.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, equilibrate, decorrelation)
    check_ratio(mixture_ratio)
    spheres = kind is HardSpheres
    table = Table((("spheres" if spheres else "disks", *COLUMNS[0][1:]), *COLUMNS[1:]), _ending)
    report = Report(table, json_file, packing_fraction=packing_fraction, melt=equilibrate)
    defaults = SPHERE_SIZES if spheres else (GPU_SIZES, CPU_SIZES)
    for N in sizes or defaults[not on_gpu(device)]:
        engines = melted_engines(
            N,
            packing_fraction,
            device,
            threads or [None],
            max_displacement,
            moves_per_cell,
            equilibrate,
            seed,
            kind,
        )
        peers, positions_of_peers = _hpmc(engines[0], seed)
        variants = [standalone(engine) for engine in engines] + peers
        if mixture_ratio is not None:
            mixture = melted_mixture(engines[0], packing_fraction, mixture_ratio, equilibrate, seed)
            variants.append(standalone(mixture, f", mixture with the ratio {mixture_ratio:g}"))
        time_in_turn(variants, repeats, seconds)
        results = [{"particles": N, **variant.result()} for variant in variants]
        own, others = results[: len(engines)], results[len(engines) : len(engines) + len(peers)]
        best = max(range(len(others)), key=lambda k: others[k]["trial_moves_per_second"], default=0)
        first = engines[0]
        chains = [(own[0], variants[0], partial(_positions, first), first.slow_quantities)]
        if others and positions_of_peers is not None:
            slow = slow_quantities_of(first, positions_of_peers, seed)
            chains.append((others[best], peers[best], positions_of_peers, slow))
        for row, variant, positions, slow in chains:
            if spheres:
                limit = PATIENCE * repeats * seconds
                add_relaxation(row, variant, positions, first.box, first.diameter, limit)
            if decorrelation:
                quantity = "density modes" if spheres else "psi_6"
                add_decorrelation(row, variant, slow, decorrelation, quantity)
        if others:
            peer = others[best]["trial_moves_per_second"]
            for result in own:
                result["ratio_to_hoomd"] = result["trial_moves_per_second"] / peer
        if mixture_ratio is not None:
            speed = results[-1]["trial_moves_per_second"]
            results[-1]["ratio_to_one_size"] = speed / own[0]["trial_moves_per_second"]
        report.add(results)
    return report.end()


def _ending(row: dict[str, Any]) -> str:
    words = []
    if "ratio_to_hoomd" in row:
        words = [f"{row['ratio_to_hoomd']:.1f} times HOOMD-blue"]
    if "ratio_to_one_size" in row:
        words = [f"{row['ratio_to_one_size']:.2f} times one size"]
    return "  ".join([*words, *relaxation_words(row), *decorrelation_words(row)])


COLUMNS = (
    ("particles", ">9", "particles"),
    ("variant", "<44", "variant"),
    ("moves/s", ">9.3g", "trial_moves_per_second"),
    ("spread", ">6.1%", spread("trial_moves_per_second")),
    ("ns/move", ">8.3g", "nanoseconds_per_trial_move"),
    ("accepted", ">8.2%", "acceptance"),
    STATUS,
)


def _positions(engine: HardDisks | HardSpheres) -> np.ndarray:
    return engine.positions


def _hpmc(engine: HardDisks | HardSpheres, seed: int) -> Made:
    """Variants of HOOMD-blue's hpmc.integrate.Sphere on the same particles; none if it is not
    installed."""
    try:
        return hpmc(engine, seed, HPMC_NSELECT[len(engine.box)])
    except ImportError:
        return [], None
