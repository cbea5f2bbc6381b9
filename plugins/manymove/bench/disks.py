# SPDX-License-Identifier: BSD-3-Clause
"""Speed of the hard-disk engines: `manymove bench disks`.

Variants (threads, and HOOMD-blue's HPMC where it is installed) start from the same melted
configuration and are timed in turn, so that a change of the machine's clock meets all of them
alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manymove.bench import status
from manymove.bench.disk_variants import add_decorrelation, hpmc, melted_engines, standalone
from manymove.bench.harness import Variant, check, machine, time_in_turn
from manymove.devices import on_gpu
from manymove.hard_particles.simulation import HardDisks
from manymove.jobs.report import write_json

GPU_SIZES = [4096, 16384, 65536, 262144, 1048576]
CPU_SIZES = [4096, 16384, 65536]
HPMC_NSELECT = 16  # moves per disk and time step: the best of 8 to 32 on an H100 for most sizes


def run(
    *,
    sizes: Sequence[int] | None,
    packing_fraction: float,
    device: str,
    threads: Sequence[int] | None,
    max_displacement: float | None,
    moves_per_cell: int | None,
    equilibrate: int,
    repeats: int,
    seconds: float,
    decorrelation: int,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size, print a table, write the JSON file.

    Args:
        sizes: numbers of disks; None for the usual ones of the device.
        packing_fraction: of all, up to 0.72.
        device: "auto", "cpu", "cuda" or "cuda:<index>".
        threads: CPU variants; None for the engine's choice.
        max_displacement, moves_per_cell: None for the engine's choice.
        equilibrate: sweeps from the random packing before anything is timed.
        repeats: timed runs per variant, at least 3.
        seconds: least length of a timed run.
        decorrelation: sweeps run for the autocorrelation time of the global psi_6; 0 leaves it out.
        seed: of packing and engines.
        json_file: where the results go; None for nowhere.

    Returns:
        what the JSON file holds.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, equilibrate, decorrelation)
    rows: list[dict[str, Any]] = []
    print(HEADER)
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
        for result in results:
            print(row(result))
        rows += results
    status.print_warnings(rows)
    report = {
        **machine(), "packing_fraction": packing_fraction, "melt": equilibrate, "results": rows
    }  # fmt: skip
    if json_file is not None:
        write_json(json_file, report)
    return report


HEADER = (
    f"{'disks':>9}  {'variant':<44} {'moves/s':>9}  {'spread':>6}  {'ns/move':>8}  "
    f"{'accepted':>8}  {'status':<{status.WIDTH}}"
)


def row(result: dict[str, Any]) -> str:
    rate = result["trial_moves_per_second"]
    spread = (result["highest"] - result["lowest"]) / 2 / rate
    line = (
        f"{result['particles']:>9}  {result['variant']:<44} {rate:>9.3g}  {spread:>6.1%}  "
        f"{result['nanoseconds_per_trial_move']:>8.3g}  {result['acceptance']:>8.2%}  "
        f"{status.status(result):<{status.WIDTH}}"
    )
    if "ratio_to_hoomd" in result:
        line += f"  {result['ratio_to_hoomd']:.1f} times HOOMD-blue"
    if "decorrelation_sweeps" in result:
        line += (
            f"  psi_6 decorrelates in {result['decorrelation_sweeps']:.3g} sweeps, "
            f"{result['decorrelation_seconds']:.3g} s"
        )
    return line


def _hpmc(engine: HardDisks, seed: int) -> list[Variant]:
    """HOOMD-blue's hpmc.integrate.Sphere on the same disks; nothing if it is not installed."""
    try:
        return hpmc(engine, seed, [HPMC_NSELECT])[0]
    except ImportError:
        return []
