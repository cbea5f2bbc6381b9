# SPDX-License-Identifier: BSD-3-Clause
"""Speed of the hard-disk engines: `manymove bench disks`.

Variants (threads, and HOOMD-blue's HPMC if it is installed) start from the same melted
configuration. They are timed in turn, so that changes of the machine's clock affect all of them
equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manymove.bench.disk_variants import (
    add_decorrelation,
    decorrelation_words,
    hpmc,
    melted_engines,
    standalone,
)
from manymove.bench.harness import STATUS, Report, Table, Variant, check, spread, time_in_turn
from manymove.devices import on_gpu
from manymove.hard_particles.simulation import HardDisks

GPU_SIZES = [4096, 16384, 65536, 262144, 1048576]
CPU_SIZES = [4096, 16384, 65536]
HPMC_NSELECT = 16  # moves per disk and time step: the fastest of 8 to 32 on an H100


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
    seed: int,
    json_file: Path | None = None,
) -> dict[str, Any]:
    """Time every size, print a table, and write the JSON file after each size.

    The arguments are the options of `manymove bench disks`; None stands for their defaults.

    Returns:
        the content of the JSON file.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, equilibrate, decorrelation)
    report = Report(TABLE, json_file, packing_fraction=packing_fraction, melt=equilibrate)
    for N in sizes or (GPU_SIZES if on_gpu(device) else CPU_SIZES):
        engines = melted_engines(
            N,
            packing_fraction,
            device,
            threads or [None],
            max_displacement,
            moves_per_cell,
            equilibrate,
            seed,
        )
        variants = [standalone(engine) for engine in engines] + _hpmc(engines[0], seed)
        time_in_turn(variants, repeats, seconds)
        results = [{"particles": N, **variant.result()} for variant in variants]
        if decorrelation:
            add_decorrelation(results[0], variants[0], engines[0].psi6, decorrelation)
        if len(variants) > len(engines):
            peer = results[-1]["trial_moves_per_second"]
            for result in results[:-1]:
                result["ratio_to_hoomd"] = result["trial_moves_per_second"] / peer
        report.add(results)
    return report.end()


def _ending(row: dict[str, Any]) -> str:
    words = []
    if "ratio_to_hoomd" in row:
        words = [f"{row['ratio_to_hoomd']:.1f} times HOOMD-blue"]
    return "  ".join([*words, *decorrelation_words(row)])


COLUMNS = (
    ("disks", ">9", "particles"),
    ("variant", "<44", "variant"),
    ("moves/s", ">9.3g", "trial_moves_per_second"),
    ("spread", ">6.1%", spread("trial_moves_per_second")),
    ("ns/move", ">8.3g", "nanoseconds_per_trial_move"),
    ("accepted", ">8.2%", "acceptance"),
    STATUS,
)
TABLE = Table(COLUMNS, _ending)


def _hpmc(engine: HardDisks, seed: int) -> list[Variant]:
    """Variants of HOOMD-blue's hpmc.integrate.Sphere on the same disks; none if it is not
    installed."""
    try:
        return hpmc(engine, seed, [HPMC_NSELECT])[0]
    except ImportError:
        return []
