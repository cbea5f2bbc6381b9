"""Speed of hard disks that MPI ranks share: `mpiexec -n R manymove bench disks --ranks 1,2,...`.

Numbers of ranks are timed in turn, from the same melted configuration. In strong scaling all have
the same disks; in weak scaling as many on each rank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from manymove import bench
from manymove.harddisk import HardDisks
from manymove.packing import random_packing
from manymove.ranks import TIMEOUT, Ranks
from manymove.replicas import World
from manymove.report import write_json

T = TypeVar("T")

LARGEST_PACKING = 1 << 16  # larger systems are copies of a smaller one, side by side


def disks(
    world: World,
    *,
    sizes: Sequence[int],
    ranks: Sequence[int],
    weak: bool,
    packing_fraction: float,
    device: str,
    threads: int | None,
    max_displacement: float | None,
    moves_per_cell: int | None,
    melt: int,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size on every number of ranks; rank 0 prints a table and writes the JSON file.

    Args:
        world: all ranks, at least the largest number of `ranks`.
        sizes: numbers of disks; with `weak` of each rank.
        ranks: numbers of ranks; efficiencies are relative to the first.
        threads: of each CPU rank; None for its part of the cores.
        device, packing_fraction, max_displacement, moves_per_cell, melt, repeats, seconds, seed,
        json_file: as for `manymove.bench.disks`.

    Returns:
        what the JSON file holds, on rank 0.

    Raises:
        ValueError: an argument is out of range.
    """
    bench.check(repeats, seconds, melt, 0)
    if not ranks or min(ranks) < 1 or max(ranks) > world.size:
        raise ValueError(
            f"--ranks is {','.join(map(str, ranks))}; mpirun started {world.size}, it must be from "
            "1 to that"
        )
    everyone = Ranks.of(world.communicator, TIMEOUT)
    rows: list[dict[str, Any]] = []
    if world.rank == 0:
        print(f"{bench.HEADER}  efficiency")
    settings = {
        "max_displacement": max_displacement,
        "moves_per_cell": moves_per_cell,
        "seed": seed,
        "device": world.device(device),
        "threads": threads or world.cores,
    }
    for N in sizes:
        found = _on_first(everyone, lambda N=N: _melted(N, packing_fraction, settings, melt))
        variants = []
        for count in ranks:
            blocks = _blocks(count) if weak else (1, 1)
            variants += _variants(world, everyone, found, blocks, count, settings, melt)
        results = _time(variants, everyone, repeats, seconds)
        for result in results:
            base = results[0]["trial_moves_per_second"] / results[0]["ranks"]
            result["efficiency"] = result["trial_moves_per_second"] / result["ranks"] / base
            result["scaling"] = "weak" if weak else "strong"
            if world.rank == 0:
                print(f"{bench.row(result)}  {result['efficiency']:>9.1%}", flush=True)
        rows += results
    report = {**bench.machine(), "packing_fraction": packing_fraction, "melt": melt}
    report |= {"world": world.size, "results": rows}
    if json_file is not None and world.rank == 0:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        write_json(json_file, report)
    return report


def _blocks(count: int) -> tuple[int, int]:
    """Blocks along x and y, as many as ranks, as square as can be; not wider than high."""
    across = max(n for n in range(1, count + 1) if count % n == 0 and n * n <= count)
    return across, count // across


def _copies(N: int) -> int:
    """Copies along each axis that make up N disks."""
    copies = 1
    while N // copies**2 > LARGEST_PACKING and N % (2 * copies) ** 2 == 0:
        copies *= 2
    return copies


def _melted(
    N: int, packing_fraction: float, settings: dict[str, Any], melt: int
) -> tuple[np.ndarray, tuple[float, float]]:
    copies = _copies(N)
    positions, box = random_packing(N // copies**2, packing_fraction, seed=settings["seed"])
    engine = HardDisks(positions, box, **settings)
    if melt:
        engine.run(melt)
    return _repeat(engine.positions, box, (copies, copies))


def _repeat(
    positions: np.ndarray, box: tuple[float, float], copies: tuple[int, int]
) -> tuple[np.ndarray, tuple[float, float]]:
    """A periodic system several times, side by side."""
    centres = [(np.arange(n) - 0.5 * (n - 1)) * edge for n, edge in zip(copies, box, strict=True)]
    shifts = np.stack(np.meshgrid(*centres, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    return (positions + shifts).reshape(-1, 2), (box[0] * copies[0], box[1] * copies[1])


def _on_first(everyone: Ranks | None, task: Callable[[], T]) -> T | None:
    """The result of a task for rank 0, there."""
    if everyone is None:
        return task()
    return everyone.together(lambda: task() if everyone.rank == 0 else None, patient=True)


def _variants(
    world: World,
    everyone: Ranks | None,
    found: Any,
    blocks: tuple[int, int],
    count: int,
    settings: dict[str, Any],
    melt: int,
) -> list[tuple[bench.Variant, Ranks | None]]:
    """That of the first `count` ranks, on these."""
    some = world.communicator.Split(int(world.rank >= count)) if everyone else None

    def make() -> list[tuple[bench.Variant, Ranks | None]]:
        if world.rank >= count:
            return []
        ranks = Ranks.of(some, TIMEOUT)
        positions, box = _repeat(*found, blocks) if found else (None, None)
        box = ranks.first(box, patient=True) if ranks else box
        engine = HardDisks(positions, box, comm=some, timeout=10 * TIMEOUT, **settings)
        engine.run(melt)  # copies part
        variant = bench.standalone(engine)
        variant.name = f"{count} rank{'s' if count > 1 else ''}, {variant.name}"
        variant.settings |= {"particles": engine.N, "ranks": count, "cells": list(engine.cells)}
        return [(variant, ranks)]

    return everyone.together(make, patient=True) if everyone else make()


def _time(
    variants: list[tuple[bench.Variant, Ranks | None]],
    everyone: Ranks | None,
    repeats: int,
    seconds: float,
) -> list[dict[str, Any]]:
    for variant, ranks in variants:
        _calibrate(variant, ranks, seconds)
    for _ in range(repeats):
        if everyone:
            everyone.first(None, patient=True)
        for variant, ranks in variants:
            if ranks:
                ranks.any(False)  # all begin together
            variant.time()
    return [variant.result() for variant, _ in variants]


def _calibrate(variant: bench.Variant, ranks: Ranks | None, seconds: float) -> None:
    """Variant.calibrate() by the clock of one rank."""
    variant.sweeps = 16  # a cycle at least
    while True:
        began = time.perf_counter()
        variant.run(variant.sweeps)
        elapsed = time.perf_counter() - began
        elapsed = ranks.first(elapsed) if ranks else elapsed
        if elapsed > 0.2 * seconds:
            variant.sweeps = max(1, int(1.2 * variant.sweeps * seconds / elapsed))
            return
        variant.sweeps *= 4
