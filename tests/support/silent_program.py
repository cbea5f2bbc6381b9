"""Ranks of parallel/test_silent_ranks.py: `mpiexec -n R python silent_program.py TASK FOLDER`.

Each rank leaves what it found in FOLDER/TASK-RANK.json.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from ranks_program import small

from manymove import HardDisks
from manymove.hard_particles.packing import random_packing
from manymove.jobs.ranks import Ranks


def message(task) -> str:
    try:
        task()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def asleep(comm, folder: Path) -> dict:
    """The last rank stops alone; the others wake it when they have their error."""
    disks, pids, last = small(comm), comm.allgather(os.getpid()), comm.size - 1
    disks.run_cycles(5)
    began = time.monotonic()
    if comm.rank == last:
        os.kill(os.getpid(), signal.SIGSTOP)
    found = message(lambda: disks.run_cycles(10**9))
    seconds = time.monotonic() - began
    if comm.rank == 0:
        os.kill(pids[last], signal.SIGCONT)
    again = message(lambda: disks.run_cycles(1)), message(lambda: small(comm))
    return {"found": found, "again": again, "seconds": seconds}


def failing(comm, names: tuple[str, ...], ranks: tuple[int, ...]) -> dict:
    """Errors of some ranks in calls of the engines, during runs and during observations."""
    found = {}
    for name in names:
        disks = small(comm)
        disks.run_cycles(5)
        comm.barrier()  # all have left that call
        if comm.rank in ranks:

            def fail(*arguments, name=name) -> None:
                raise MemoryError(f"no memory in {name} of rank {comm.rank}")

            setattr(disks._ranks, "exchange" if name == "exchange" else "sum_in_place", fail)
        calls = {
            "exchange": lambda disks=disks: disks.run_cycles(50),
            "positions": lambda disks=disks: disks.positions,
            "state_hash": lambda disks=disks: disks.state_hash,
            "save": lambda disks=disks: disks.save("never"),
        }
        found[name] = message(calls[name])
        found[f"{name} again"] = message(calls[name])
    return found


def one_fails(comm, folder: Path) -> dict:
    return failing(comm, ("exchange", "positions", "state_hash", "save"), (1,))


def two_fail(comm, folder: Path) -> dict:
    return failing(comm, ("exchange", "positions"), (1, 2))


def start_fails(comm, folder: Path) -> dict:
    """An allocation of one rank fails while the ranks divide the disks; later ones can start."""
    before, disks = np.empty, random_packing(1200, 0.698, seed=1)
    if comm.rank == 1:

        def empty(shape, *arguments, **settings):
            if np.prod(shape) > 1000:
                raise MemoryError("no memory for the strip")
            return before(shape, *arguments, **settings)

        np.empty = empty
    found = message(lambda: HardDisks(*disks, seed=9, device="cpu", tile=5, comm=comm))
    np.empty = before
    return {"found": found, "later": small(comm).state_hash}


def tasks_fail(comm, folder: Path) -> list[str]:
    """If several ranks fail at once, all raise the error of the lowest one and continue."""
    ranks = Ranks.of(comm)

    def task() -> None:
        if comm.rank > 0:
            raise ValueError(f"wrong on rank {comm.rank}")

    return [message(lambda: ranks.together(task)), ranks.all(comm.rank)]


def mismatch(comm, folder: Path) -> dict:
    """One rank waits for a message, the others for a sum."""
    ranks, nothing = Ranks.of(comm), np.empty(0, np.uint8)
    some = np.empty(8, np.uint8)
    began = time.monotonic()
    if comm.rank == 0:
        found = message(lambda: ranks.exchange(nothing, nothing, some, nothing))
    else:
        found = message(lambda: ranks.any(True))
    return {"found": found, "seconds": time.monotonic() - began}


def long_task(comm, folder: Path) -> list:
    """A rank that computes for several times the limit answers the others."""
    ranks = Ranks.of(comm)
    return [ranks.together(lambda: time.sleep(5 * (comm.rank == 1)), patient=True), ranks.any(True)]


def dies_in_share(comm, folder: Path) -> None:
    """A rank is killed while the ranks open each other's memory."""
    ranks = Ranks.of(comm)
    if comm.rank == 1:
        ranks.all = lambda value: os.kill(os.getpid(), signal.SIGKILL)
    ranks.share(1000)


if __name__ == "__main__":
    from mpi4py import MPI

    task, folder = sys.argv[1], Path(sys.argv[2])
    result = globals()[task](MPI.COMM_WORLD, folder)
    (folder / f"{task}-{MPI.COMM_WORLD.rank}.json").write_text(json.dumps(result))
