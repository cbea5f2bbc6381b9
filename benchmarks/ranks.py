"""Speed of hard disks, hard spheres and adsorbates on MPI ranks:
`mpiexec -n R python -m benchmarks disks --ranks 1,2,...`, and the same for `spheres` and
`adsorption`.

Ranks share one system of disks or spheres, or divide independent systems of adsorbates. Numbers of
ranks are timed in turn, with particles from the same melted configuration. In strong scaling the
total size is constant, and in weak scaling the size per rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.disk_variants import check_ratio, melted_mixture, standalone
from benchmarks.disks import COLUMNS
from manymove.adsorption.averages import MULTIPLE
from manymove.adsorption.input import arguments_of
from manymove.adsorption.occupancy import filling_systems
from manymove.adsorption.simulation import Adsorption
from manymove.bench.harness import STATUS, Report, Table, Variant, check, spread
from manymove.hard_particles.copies import random_sphere_packing, replicate
from manymove.hard_particles.packing import random_packing
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.jobs.ranks import Ranks
from manymove.jobs.world import World
from manymove.settings import Grid

T = TypeVar("T")
Kind = type[HardDisks] | type[HardSpheres]

LARGEST_PACKING = 1 << 16  # larger systems are periodic copies of a smaller one


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
    equilibrate: int,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
    kind: Kind = HardDisks,
    mixture_ratio: float | None = None,
) -> dict[str, Any]:
    """Time every size on every number of ranks; rank 0 prints a table and writes the JSON file.

    The arguments are `world`, all ranks, the options of the command, and the class of the
    particles.

    Returns:
        what the JSON file holds, on rank 0.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, equilibrate, 0)
    check_ratio(mixture_ratio)
    everyone = _everyone(world, ranks)
    about = {"packing_fraction": packing_fraction, "melt": equilibrate, "world": world.size}
    report = Report(_table(kind), json_file, silent=world.rank > 0, **about)
    settings = {
        "max_displacement": max_displacement,
        "grid": Grid(moves_per_cell),
        "seed": seed,
        "device": world.device(device),
        "threads": world.cores if threads is None else threads,
    }
    for N in sizes:
        found = _on_first(
            everyone,
            lambda N=N: melted(N, packing_fraction, settings, equilibrate, kind, mixture_ratio),
        )

        def make(some: Any, count: int, found: Any = found) -> Variant:
            blocks = _blocks(count if weak else 1, kind._DIMENSIONS)
            return _disks(some, count, found, blocks, settings, equilibrate, kind)

        variants = [_on_some(world, everyone, count, make) for count in ranks]
        results = _time(variants, everyone, repeats, seconds)
        _add_efficiency(results, weak)
        report.add(results)
    return report.end()


def adsorption(
    world: World,
    *,
    framework: str,
    molecules: Sequence[int],
    method: str,
    proposals: int,
    systems: int | None,
    ranks: Sequence[int],
    weak: bool,
    interpolation: str,
    grid_spacing: float | None,
    precision: str,
    device: str,
    threads: int | None,
    equilibrate: int,
    repeats: int,
    seconds: float,
    seed: int,
    json_file: Path | None,
) -> dict[str, Any]:
    """Time every size on every number of ranks; rank 0 prints a table and writes the JSON file.

    The arguments are `world`, all ranks, and the options of the command.

    Returns:
        what the JSON file holds, on rank 0.

    Raises:
        ValueError: an argument is out of range.
    """
    check(repeats, seconds, equilibrate, 0)
    everyone = _everyone(world, ranks)
    where, threads = world.device(device), world.cores if threads is None else threads
    settings = {
        "interpolation": interpolation,
        "grid_spacing": grid_spacing,
        "precision": precision,
        "device": where,
        "threads": threads,
        "method": method,
        "proposals": proposals if method in MULTIPLE else None,
    }
    about = {"framework": framework, "equilibrate": equilibrate, "world": world.size}
    report = Report(_ADSORPTION, json_file, silent=world.rank > 0, **about)
    for N in molecules:
        each = filling_systems(method, N, where, precision, threads)
        if everyone:
            each = everyone.first(each)
        total = systems
        if total is None:
            total = each if weak else each * max(ranks)
        if not weak and total < max(ranks):
            raise ValueError(f"--systems is {total}, fewer than the {max(ranks)} ranks")

        def make(some: Any, count: int, N: int = N, total: int = total) -> Variant:
            mine = total if weak else len(range(total)[world.rank :: count])
            own = {"framework": framework, "molecules": N, "systems": mine}
            own["seed"] = seed + world.rank
            engine = Adsorption(**arguments_of({**own, **settings}))
            engine.equilibrate(equilibrate)
            return _systems(some, count, engine, total * count if weak else total)

        variants = [_on_some(world, everyone, count, make) for count in ranks]
        results = _time(variants, everyone, repeats, seconds)
        _add_efficiency(results, weak)
        for result in results:
            result["trial_states_per_second"] = result.pop("trial_moves_per_second")
        report.add(results)
    return report.end()


def _everyone(world: World, ranks: Sequence[int]) -> Ranks | None:
    if not ranks or min(ranks) < 1 or max(ranks) > world.size:
        raise ValueError(
            f"--ranks is {','.join(map(str, ranks))}; it must be from 1 to {world.size}, the "
            "number of ranks that mpirun started"
        )
    return Ranks.of(world.communicator)


def _add_efficiency(results: list[dict[str, Any]], weak: bool) -> None:
    base = results[0]["trial_moves_per_second"] / results[0]["ranks"] if results else 0.0
    for result in results:
        result["efficiency"] = result["trial_moves_per_second"] / result["ranks"] / base
        result["scaling"] = "weak" if weak else "strong"


def _blocks(count: int, dimensions: int) -> tuple[int, ...]:
    """Numbers of blocks along the axes, one block per rank, as square or cubic as possible and not
    wider than high."""
    if dimensions == 1:
        return (count,)
    most = max(n for n in range(1, count + 1) if count % n == 0 and n**dimensions <= count)
    return most, *_blocks(count // most, dimensions - 1)


def _copies(N: int) -> int:
    """Copies along each axis that make up N disks."""
    copies = 1
    while N // copies**2 > LARGEST_PACKING and N % (2 * copies) ** 2 == 0:
        copies *= 2
    return copies


def melted(
    N: int,
    packing_fraction: float,
    settings: dict[str, Any],
    equilibrate: int,
    kind: Kind = HardDisks,
    mixture_ratio: float | None = None,
) -> tuple[np.ndarray, tuple[float, ...], Any]:
    """Positions, box and diameters of melted particles."""
    if kind is HardSpheres:
        positions, box = random_sphere_packing(
            N, packing_fraction, seed=settings["seed"], device=settings["device"]
        )
        copies = 1
    else:
        copies = _copies(N)
        positions, box = random_packing(N // copies**2, packing_fraction, seed=settings["seed"])
    engine = kind(positions, box, **settings)
    if mixture_ratio is not None:
        mixture = melted_mixture(engine, packing_fraction, mixture_ratio, equilibrate, engine.seed)
        return mixture.positions, mixture.box, mixture.diameters
    if equilibrate:
        engine.run(equilibrate)
    return *replicate(engine.positions, box, (copies,) * len(box)), engine.diameter


def _on_first(everyone: Ranks | None, task: Callable[[], T]) -> T | None:
    """The result of a task on rank 0; None on the others."""
    if everyone is None:
        return task()
    return everyone.together(lambda: task() if everyone.rank == 0 else None, patient=True)


def _on_some(
    world: World,
    everyone: Ranks | None,
    count: int,
    make: Callable[[Any, int], Variant],
) -> tuple[Variant | None, Ranks | None]:
    """The result of `make` for the communicator of the first `count` ranks, on these ranks."""
    some = None
    if everyone:
        everyone.any(False)  # a split has no limit of its own: all ranks are there when it begins
        some = world.communicator.Split(int(world.rank >= count))

    def task() -> tuple[Variant | None, Ranks | None]:
        if world.rank >= count:
            return None, None
        return make(some, count), Ranks.of(some)

    return everyone.together(task, patient=True) if everyone else task()


def _named(variant: Variant, count: int) -> Variant:
    variant.name = f"{count} rank{'s' if count > 1 else ''}, {variant.name}"
    variant.settings["ranks"] = count
    return variant


def _disks(
    some: Any,
    count: int,
    found: Any,
    blocks: tuple[int, ...],
    settings: dict[str, Any],
    equilibrate: int,
    kind: Kind,
) -> Variant:
    ranks = Ranks.of(some)
    positions, box, diameter = None, None, 1.0
    if found:
        positions, box = replicate(*found[:2], blocks)
        diameter = np.tile(found[2], math.prod(blocks)) if np.ndim(found[2]) else found[2]
    if ranks:
        box, diameter = ranks.first(box), ranks.first(diameter)
    engine = kind(positions, box, diameter, comm=some, **settings)
    engine.run(equilibrate)  # copies part
    variant = _named(standalone(engine), count)
    variant.settings |= {"particles": engine.N, "cells": list(engine.cells)}
    return variant


def _systems(some: Any, count: int, engine: Adsorption, total: int) -> Variant:
    """A variant with the moves of all ranks, whose runs end with the last rank."""
    ranks = Ranks.of(some)

    def run(steps: int) -> tuple[int, int]:
        states, accepted = engine.trial_states, engine.acceptance_counts[0]
        engine.run(steps)
        moves = [engine.trial_states - states, engine.acceptance_counts[0] - accepted]
        of_all = ranks.all(moves) if ranks else [moves]
        trials, accepted = (sum(values) for values in zip(*of_all, strict=True))
        return trials, accepted

    name = engine.device if engine.device != "cpu" else engine.device_name
    settings = {
        "device": engine.device,
        "device_name": engine.device_name,
        "method": engine.method,
        "proposals": engine.proposals,
        "molecules": int(engine.counts[0].sum()),
        "systems": total,
    }
    return _named(Variant(name, run, settings), count)


_EFFICIENCY = ("efficiency", ">10.1%", "efficiency")


def _table(kind: Kind) -> Table:
    particles = "disks" if kind is HardDisks else "spheres"
    return Table(((particles, *COLUMNS[0][1:]), *COLUMNS[1:], _EFFICIENCY))


def _method(row: dict[str, Any]) -> str:
    proposals = f" {row['proposals']}" if row["method"] in MULTIPLE else ""
    return f"{row['method']}{proposals}, {row['variant']}"


_ADSORPTION = Table(
    (
        ("molecules", ">9", "molecules"),
        ("variant", "<44", _method),
        ("systems", ">8", "systems"),
        ("steps/s", ">9.3g", lambda row: row["trial_states_per_second"] / (row["proposals"] - 1)),
        ("spread", ">6.1%", spread("trial_states_per_second")),
        ("accepted", ">8.2%", "acceptance"),
        STATUS,
        _EFFICIENCY,
    )
)


def _time(
    all_variants: list[tuple[Variant | None, Ranks | None]],
    everyone: Ranks | None,
    repeats: int,
    seconds: float,
) -> list[dict[str, Any]]:
    """Results of the variants in which this rank takes part."""
    variants = [(variant, ranks) for variant, ranks in all_variants if variant]
    answering = everyone.answering if everyone else nullcontext  # for ranks with fewer variants
    with answering():
        for variant, ranks in variants:
            variant.sweeps = 16  # at least one cycle
            variant.calibrate(seconds, ranks.first if ranks else float)
    for _ in range(repeats):
        if everyone:
            everyone.first(None)
        with answering():
            for variant, ranks in variants:
                if ranks:
                    ranks.any(False)  # all begin together
                variant.time()
    return [variant.result() for variant, _ in variants]
