"""Ranks of hard_particles/test_sphere_ranks.py:
`mpiexec -n R python sphere_ranks_program.py TASK FOLDER`.

Each rank leaves what it found in FOLDER/TASK-RANK.json.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
from ranks_program import digest

from manymove import HardDisks, HardSpheres

TABLE = [[0.7, 1.0, 0.5], [1.0, 0.6, 0.8], [0.5, 0.8, 0.4]]  # not additive
CASES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "spheres": (3, "one", {"tile": 5}),
    "spheres, additive": (3, "additive", {"tile": 4, "moves_per_cell": 5}),
    "spheres, a table": (3, "table", {"rounds": 1}),
    "disks, additive": (2, "additive", {"tile": 9}),
    "disks, a table": (2, "table", {"tile": 6, "rounds": 2}),
}


def system(dimensions: int, sizes: str, **settings: Any) -> HardDisks | HardSpheres:
    """A lattice that is long in the direction in which ranks divide it."""
    number = np.array((12, 72) if dimensions == 2 else (4, 5, 60))
    sites = np.indices(number).reshape(dimensions, -1).T
    box = tuple(float(edge) for edge in 1.1 * number)
    positions = (sites + 0.5) * 1.1 - np.array(box) / 2
    N = len(positions)
    if sizes == "additive":
        settings["diameters"] = np.where(np.arange(N) % 9, 0.3 + 0.7 * (np.arange(N) % 7) / 7, 1.0)
    if sizes == "table":
        settings |= {"types": np.arange(N) % 3, "contacts": TABLE}
    comm = settings.get("comm")
    first = not hasattr(comm, "rank") or comm.rank == 0
    settings = {"seed": 5, "threads": 1, "device": "cpu", **settings}
    make = HardDisks if dimensions == 2 else HardSpheres
    return make(positions if first else None, box, **settings)


def trajectory(name: str, device: str, comm: Any = None) -> dict[str, Any]:
    """What must not depend on the number of ranks."""
    dimensions, sizes, settings = CASES[name]
    engine = system(dimensions, sizes, device=device, comm=comm, **settings)
    engine.run(10.5)
    engine.sample_pressure(every=1e-9, record=1e-9)  # each cycle
    engine.run_cycles(25)
    engine.run_until(engine.sweeps + 7)
    return {
        "hash": engine.state_hash,
        "positions": digest(engine.positions),
        "counters": [engine.cycles, engine.trial_moves, engine.accepted_moves],
        "histogram": digest(engine.pair_histogram),
        "records": digest(engine.pressure_records),
        "record sweeps": digest(engine.pressure_sweeps),
        "overlap": engine.max_overlap(),
        "modes": digest(engine.density_modes()),
    }


def trajectories(comm: Any, folder: Path) -> dict[str, Any]:
    device = os.environ.get("RANKS_DEVICE", "cpu")
    return {name: trajectory(name, device, comm) for name in CASES}


def save(comm: Any, folder: Path) -> str:
    engine = system(3, "table", comm=comm)
    engine.run_cycles(20)
    engine.save(folder / "ranks.state")
    engine.run_cycles(20)
    return engine.state_hash


def load(comm: Any, folder: Path) -> list[str]:
    hashes = []
    for name in ("ranks.state", "alone.state"):
        engine = HardSpheres.load(folder / name, device="cpu", threads=1, comm=comm)
        engine.run_cycles(20)
        hashes.append(engine.state_hash)
    return hashes


def starts(comm: Any, folder: Path) -> list[str]:
    """Random starts, which the first rank makes."""
    where = {"seed": 3, "device": "cpu", "threads": 1, "comm": comm, "tile": 4}
    mixture = {"types": np.arange(300) % 3, "contacts": TABLE}
    every = [
        HardSpheres.random(400, 0.2, aspect_ratios=(1, 1, 4), **where),
        HardDisks.random(300, 0.3, aspect_ratio=2, **mixture, **where),
        HardDisks.random(400, 0.3, aspect_ratio=2, **where),
    ]
    for each in every:
        each.run_cycles(3)
    return [each.state_hash for each in every]


def interrupt(comm: Any, folder: Path) -> list[Any]:
    """Ctrl-C on one rank stops all of them at the same cycle, and they can continue."""
    engine = system(3, "one", comm=comm)

    def press(engine: HardSpheres) -> None:
        if comm.rank == 1 and engine.cycles > 20:
            os.kill(os.getpid(), signal.SIGINT)

    try:
        engine.run_cycles(10**9, callback=press)
    except KeyboardInterrupt:
        stopped = engine.cycles
    engine.run_cycles(10)
    return [stopped, engine.cycles, engine.state_hash]


def errors(comm: Any, folder: Path) -> dict[str, Any]:
    """Every error is one of all ranks, with the message of that which had it."""
    found = {}

    def attempt(name: str, task: Any) -> None:
        try:
            task()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"

    low = ([[0.0, 0.0, 0.0]], (4.0, 4.0, 20.0))
    attempt("too many", lambda: HardSpheres(*low, tile=16, seed=1, device="cpu", comm=comm))
    wide = np.full(1200, 1.0 + 0.01 * comm.rank)
    attempt("other sizes", lambda: system(3, "one", comm=comm, diameters=wide))
    attempt("overlap", lambda: system(3, "one", comm=comm, diameter=1.15))
    attempt("device", lambda: system(3, "one", comm=comm, device=("cpu", "cuda:99")[comm.rank]))
    attempt("no file", lambda: HardSpheres.load(folder / "none", comm=comm))
    attempt("other kind", lambda: HardDisks.load(folder / "alone.state", comm=comm))
    engine = system(3, "additive", comm=comm)
    attempt("tune", engine.tune)

    def callback(engine: HardSpheres) -> None:
        if comm.rank == 1:
            raise ZeroDivisionError("on one rank")

    attempt("callback", lambda: engine.run_cycles(5, callback=callback))
    engine.run_cycles(5)
    return {**found, "continues": [engine.cycles, engine.state_hash]}


if __name__ == "__main__":
    from mpi4py import MPI

    task, folder = sys.argv[1], Path(sys.argv[2])
    result = globals()[task](MPI.COMM_WORLD, folder)
    (folder / f"{task}-{MPI.COMM_WORLD.rank}.json").write_text(json.dumps(result))
