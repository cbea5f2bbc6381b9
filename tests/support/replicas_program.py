"""Replicas of each class on ranks: `mpiexec -n R python replicas_program.py TASK FOLDER`.

Each rank leaves what it found in FOLDER/TASK-RANK.json.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from rank_tasks import message

from manymove import (
    Adsorption,
    DPDFluid,
    Electrolyte,
    EnergyGrid,
    HardDisks,
    Interactions,
    Replicas,
    Salt,
    Supercell,
)

COUNT = 3
SEED = 5
HERE = {"seed": SEED, "device": "cpu"}
LENGTH = 1500
EQUILIBRATE = 500


def disks(**place: Any) -> HardDisks:
    one = HardDisks.random(300, 0.6, **place)
    one.sample_pressure(every=10, record=100)
    return one


def ions(**place: Any) -> Electrolyte:
    one = Electrolyte.random(Salt.of(40, (1, -1), (4.0, 4.0)), box=(60.0,) * 3, **place)
    one.sample_pair_correlations(every=7)
    return one


def gas(**place: Any) -> Adsorption:
    coarse = Interactions(cutoff=5.0, grid=EnergyGrid(0.8))
    where = Supercell("LTA", (1, 1, 1))
    return Adsorption(
        where, 0, interactions=coarse, method="plj", systems=2, fugacity=50.0, **place
    )


def fluid(**place: Any) -> DPDFluid:
    return DPDFluid.random(375, 3.0, **place)


CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "disks": (disks, "pressure_average"),
    "ions": (ions, "energy_average"),
    "gas": (gas, "loading"),
    "fluid": (fluid, "temperature_average"),
}


def found(replicas: Replicas, average: str) -> dict[str, Any]:
    """What must not depend on threads and ranks."""
    return {
        "hash": replicas.state_hash,
        "hashes": replicas.map(lambda one: one.state_hash),
        "elapsed": replicas.elapsed,
        "each": repr(replicas.map(lambda one: getattr(one, average))),
        "average": repr(replicas.average(average)),
        "table": replicas.to_dataframe().to_csv(),
    }


def run(name: str, comm: Any, folder: Path, **options: Any) -> dict[str, Any]:
    """A run, half of which is continued from checkpoints."""
    make, average = CASES[name]
    replicas = Replicas(make, COUNT, comm=comm, **HERE, **options)
    replicas.run_until(1000, equilibrate=EQUILIBRATE, folder=folder)
    again = Replicas.load(folder, comm=comm, device="cpu", **options)
    again.run_until(LENGTH, equilibrate=EQUILIBRATE)
    return found(again, average)


def fail(one: HardDisks) -> None:
    if one.seed == SEED + 1:
        raise ZeroDivisionError("nothing works today")


def faults(comm: Any) -> dict[str, Any]:
    """Errors and interruptions of one rank, which end the runs of all ranks early."""
    long = 10**9
    one = Replicas(disks, COUNT, comm=comm, **HERE)
    texts = {"callback": message(lambda: one.run(long, [(20, fail)]))}
    if comm.rank == 1:
        threading.Timer(0.5, partial(os.kill, os.getpid(), signal.SIGINT)).start()
    texts["interrupted"] = message(lambda: one.run(long), KeyboardInterrupt)
    single = Replicas(disks, 1, comm=comm, **HERE)  # the other rank waits
    threading.Timer(0.5, partial(os.kill, os.getpid(), signal.SIGTERM)).start()
    texts["waiting"] = message(lambda: single.run(long), KeyboardInterrupt)
    makes = [disks, partial(HardDisks.random, 300, 0.95), disks]
    texts["input"] = message(lambda: Replicas(makes, comm=comm, **HERE))
    texts["kinds"] = message(lambda: Replicas([disks, ions], comm=comm, **HERE))
    before = one.elapsed
    one.run(100)
    return {**texts, "goes on": [b > a for a, b in zip(before, one.elapsed, strict=True)]}


def main(task: str, folder: Path) -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if task == "faults":
        results = faults(comm)
    else:
        results = {name: run(name, comm, folder / name) for name in task.split("-")}
    (folder / f"{task}-{comm.rank}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
