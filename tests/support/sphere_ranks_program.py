"""Ranks of hard_particles/test_ranks.py that share spheres and mixtures (rank_tasks.py)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import rank_tasks
from flat_settings import of_hard_particles
from rank_tasks import Errors, digest, fail_on_one_rank

from manymove import Grid, HardDisks, HardSpheres, Mixture, fields
from manymove.steps import Step

TABLE = [[0.7, 1.0, 0.5], [1.0, 0.6, 0.8], [0.5, 0.8, 0.4]]  # not additive
# The last edge is so little above 72 diameters that the number of cells along it changes.
PRESSURE = {"pressure": 20.0, "volume_delta": 0.004, "volume_repeats": 5}
APART = {"pressure": 20.0, "volume_mode": "length", "volume_delta": 0.01, "volume_repeats": 3}
MIXED = {
    "pressure": 20.0,
    "volume_weights": {"volume": 1, "length": 1, "aspect": 1},
    "volume_delta": {"volume": 0.004, "length": 0.01, "aspect": 0.003},
    "volume_repeats": 3,
}
STEPS = [Step(1.2, -0.5), Step(1.4, 0.3)]
NARROW = [Step(1.1, -0.5), Step(1.2, 0.3)]  # the last edge is a little above 60 of these ranges
CASES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "spheres": (3, "one", {"tile": 5}),
    "spheres, additive": (3, "additive", {"tile": (5, 3, 4), "moves_per_cell": 5}),
    "spheres, a table": (3, "table", {"rounds": 1}),
    "disks, additive": (2, "additive", {"tile": 9}),
    "disks, a table": (2, "table", {"tile": 6, "rounds": 2}),
    "spheres, pinned": (3, "one", {"tile": 5, "pinned": 5}),
    "disks, pinned": (2, "one", {"tile": 6, "pinned": 7}),
    "spheres, fields": (3, "one", {"tile": 5, "fields": 3}),
    "disks, additive, fields": (2, "additive", {"tile": 6, "fields": 2}),
    "spheres, steps": (3, "one", {"steps": STEPS, "tile": 3}),
    "disks, a table, steps": (2, "table", {"steps": [Step(1.3, -0.7)], "tile": 4}),
    "spheres, a table, steps, swaps": (
        3,
        "table",
        {"steps": [Step(1.2, -0.5)], "tile": 5, "swap_rounds": 3, "swap_every": 2},
    ),
    "spheres, steps, pressure": (3, "one", {"steps": NARROW, "tile": 3, **PRESSURE}),
    "disks, a table, steps, pressure": (2, "table", {"steps": NARROW[1], "tile": 4, **PRESSURE}),
    "spheres, steps, several kinds": (3, "one", {"steps": NARROW, "tile": 3, **MIXED}),
    "spheres, fugacity": (3, "one", {"tile": 5, "fugacity": 9.0}),
    "spheres, fields, steps, fugacity": (
        3,
        "one",
        {"tile": 3, "steps": [Step(1.3, -0.4)], "fields": 2, "fugacity": 4.0},
    ),
    "disks, a table, fugacity": (
        2,
        "table",
        {"tile": 6, "fugacity": (0.5, 0.0, 0.8), "insertion_every": 2, "insertion_attempts": 9},
    ),
    "spheres, swaps": (3, "additive", {"tile": 5, "swap_rounds": 3, "swap_range": 0.3}),
    "disks, swaps": (2, "additive", {"tile": 6, "swap_rounds": 2, "swap_every": 3}),
    "spheres, pressure": (3, "one", {"tile": 5, **PRESSURE}),
    "spheres, a table, pressure": (3, "table", {"volume_mode": "standard", "pressure": 3.0}),
    "disks, pressure": (2, "one", {"tile": 6, **PRESSURE}),
    "spheres, swaps, pressure": (3, "additive", {"tile": 5, "swap_rounds": 3, **PRESSURE}),
    "spheres, edges apart": (3, "one", {"tile": 5, **APART}),
    "disks, swaps, edges apart": (
        2,
        "additive",
        {"tile": 6, "swap_rounds": 2, **APART, "volume_delta": (0.01, 0.04)},
    ),
    "spheres, several kinds": (3, "one", {"tile": 5, **MIXED}),
    "disks, swaps, several kinds": (2, "additive", {"tile": 6, "swap_rounds": 2, **MIXED}),
    "disks, swaps, pressure": (2, "additive", {"tile": 6, "swap_rounds": 2, **PRESSURE}),
}


def system(dimensions: int, sizes: str, **settings: Any) -> HardDisks | HardSpheres:
    """A lattice that is long in the direction in which ranks divide it."""
    number = np.array((12, 72) if dimensions == 2 else (4, 5, 60))
    spacing = 1.1
    if "pressure" in settings:
        number[-1], spacing = 60, 72.01 / 60
    sites = np.indices(number).reshape(dimensions, -1).T
    box = tuple(float(edge) for edge in spacing * number)
    positions = (sites + 0.5) * spacing - np.array(box) / 2
    N = len(positions)
    if sizes == "additive":
        settings["diameters"] = np.where(np.arange(N) % 9, 0.3 + 0.7 * (np.arange(N) % 7) / 7, 1.0)
    if sizes == "table":
        settings |= {"types": np.arange(N) % 3, "contacts": TABLE}
    comm = settings.get("comm")
    if "pinned" in settings:
        settings["pinned"] = np.arange(N) % settings["pinned"] == 0
    if "fields" in settings:  # the spheres do not cross the upper face
        last = np.eye(dimensions)[-1]
        wall = fields.Plane(-last, last * box[-1] / 2)
        springs = fields.Springs(np.linspace(0, 2, N), positions)
        every = [fields.HardWall(wall), fields.Linear(0.2), springs]
        settings["fields"] = every[: settings["fields"]]
    first = not hasattr(comm, "rank") or comm.rank == 0
    settings = {"seed": 5, "threads": 1, "device": "cpu", **settings}
    make = HardDisks if dimensions == 2 else HardSpheres
    return make(positions if first else None, box, **of_hard_particles(**settings))


def trajectory(name: str, device: str, comm: Any = None) -> dict[str, Any]:
    """What must not depend on the number of ranks."""
    dimensions, sizes, settings = CASES[name]
    engine = system(dimensions, sizes, device=device, comm=comm, **settings)
    cells = engine.cells
    engine.run(10.5)
    if "pressure" in settings:
        engine.sample_volume(record=1e-9)  # each cycle
    elif {"fields", "fugacity"}.isdisjoint(settings):
        engine.sample_pressure(every=1e-9, record=1e-9)
    engine.run_cycles(25)
    engine.run_until(engine.sweeps + 7)
    found: dict[str, Any] = {}
    if "pressure" in settings:
        found = {
            "volumes": digest(engine.volume_records),
            "sweeps": digest(engine.volume_sweeps),
            "volume": [engine.volume, engine.volume_trials, engine.volume_acceptance],
            "grids": engine.cells != cells,
        }
    elif "fugacity" in settings:
        found = {
            "types": digest(engine.types),
            "insertions": [engine.insertion_trials, engine.insertion_acceptance],
            "deletions": [engine.deletion_trials, engine.deletion_acceptance],
            "energies": digest(engine.step_energies),
        }
    elif "fields" in settings:
        found = {"energies": digest(engine.field_energies)}
    else:
        found = {
            "histogram": digest(engine.pair_histogram),
            "records": digest(engine.pressure_records),
            "record sweeps": digest(engine.pressure_sweeps),
        }
    if "steps" in settings:
        found["energies"] = digest(engine.step_energies)
    if "swap_rounds" in settings:
        found["swaps"] = [engine.swap_trials, engine.swap_acceptance]
        found["diameters"] = digest(engine.diameters)
    return {
        **found,
        "hash": engine.state_hash,
        "positions": digest(engine.positions),
        "counters": [engine.cycles, engine.trial_moves, engine.accepted_moves],
        "overlap": engine.max_overlap(),
        "modes": digest(engine.density_modes()),
    }


def trajectories(comm: Any, folder: Path) -> dict[str, Any]:
    device = os.environ.get("RANKS_DEVICE", "cpu")
    return {name: trajectory(name, device, comm) for name in CASES}


SAVED: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("table", {}),
    "fields": ("additive", {"fields": 3}),
    "steps": ("one", {"steps": [Step(1.3, -0.5)]}),
    "fugacity": ("table", {"fugacity": {1: 2.0}}),
    "edges apart": ("one", APART),
    "pressure": ("additive", {"swap_rounds": 2, **PRESSURE}),
}


def save(comm: Any, folder: Path) -> list[str]:
    hashes = []
    for name, (sizes, settings) in SAVED.items():
        engine = system(3, sizes, comm=comm, **settings)
        engine.run_cycles(20)
        engine.save(folder / f"ranks-{name}.state")
        engine.run_cycles(20)
        hashes.append(engine.state_hash)
    return hashes


def load(comm: Any, folder: Path) -> list[str]:
    hashes = []
    for name in SAVED:
        for kind in ("ranks", "alone"):
            path = folder / f"{kind}-{name}.state"
            engine = HardSpheres.load(path, device="cpu", threads=1, comm=comm)
            engine.run_cycles(20)
            hashes.append(engine.state_hash)
    return hashes


def tuned(comm: Any, folder: Path) -> list[Any]:
    """What a change of the maximum step of the volume leaves."""
    engine = system(3, "additive", comm=comm, swap_rounds=2, **PRESSURE)
    engine.run_cycles(10)
    delta = engine.tune_volume(sweeps=40)
    engine.run_cycles(5)
    return [delta, engine.state_hash, digest(engine.diameters)]


def starts(comm: Any, folder: Path) -> list[str]:
    """Random starts, which the first rank makes."""
    where = {"seed": 3, "device": "cpu", "threads": 1, "comm": comm, "grid": Grid(tile=4)}
    mixture = {"diameter": Mixture(np.arange(300) % 3, TABLE)}
    every = [
        HardSpheres.random(400, 0.2, aspect_ratios=(1, 1, 4), **where),
        HardDisks.random(300, 0.3, aspect_ratios=(1.0, 2), **mixture, **where),
        HardDisks.random(400, 0.3, aspect_ratios=(1.0, 2), **where),
    ]
    for each in every:
        each.run_cycles(3)
    return [each.state_hash for each in every]


def interrupt(comm: Any, folder: Path) -> list[Any]:
    return rank_tasks.interrupt(comm, system(3, "one", comm=comm).run_cycles, "cycles")


def errors(comm: Any, folder: Path) -> dict[str, Any]:
    """Every error is one of all ranks, with the message of that which had it."""
    found = Errors()
    attempt = found.attempt
    low = ([[0.0, 0.0, 0.0]], (4.0, 4.0, 20.0))
    attempt(
        "too many", lambda: HardSpheres(*low, grid=Grid(tile=16), seed=1, device="cpu", comm=comm)
    )
    wide = np.full(1200, 1.0 + 0.01 * comm.rank)
    attempt("other settings", lambda: system(3, "one", comm=comm, diameters=wide))
    attempt("overlap", lambda: system(3, "one", comm=comm, diameter=1.15))
    attempt("device", lambda: system(3, "one", comm=comm, device=("cpu", "cuda:99")[comm.rank]))
    attempt("no file", lambda: HardSpheres.load(folder / "none", comm=comm))
    attempt("other kind", lambda: HardDisks.load(folder / "alone.state", comm=comm))
    engine = system(3, "additive", comm=comm)
    attempt("tune", engine.tune)
    attempt("callback", lambda: engine.run_cycles(5, callbacks=[(1, fail_on_one_rank(comm))]))
    engine.run_cycles(5)
    return {**found, "continues": [engine.cycles, engine.state_hash]}


if __name__ == "__main__":
    rank_tasks.make_tasks(globals())
