"""Ranks of parallel/test_silent_ranks.py (rank_tasks.py)."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace

from rank_tasks import make_tasks, message
from ranks_program import small

from manymove import Grid, HardDisks, _core
from manymove.hard_particles.packing import random_packing
from manymove.jobs.ranks import Ranks


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


class Failing:
    """An engine that fails before its work."""

    def __init__(self, engine, text: str) -> None:
        self._engine, self._text = engine, text

    def __getattr__(self, name: str):
        def fail(*arguments) -> None:
            raise MemoryError(self._text)

        return fail if name in CALLS.values() else getattr(self._engine, name)


CALLS = {"run_cycles": "run", "positions": "positions", "save": "snapshot"}  # of its engine


def failing(comm, ranks: tuple[int, ...]) -> dict:
    """Errors of some ranks in calls of the engines, during runs and during observations."""
    found = {}
    for name in CALLS:
        disks = small(comm)
        disks.run_cycles(5)
        comm.barrier()  # all have left that call
        if comm.rank in ranks:
            disks._engine = Failing(disks._engine, f"no memory in {name} of rank {comm.rank}")
        calls = {
            "run_cycles": lambda disks=disks: disks.run_cycles(50),
            "positions": lambda disks=disks: disks.positions,
            "save": lambda disks=disks: disks.save("never"),
        }
        found[name] = message(calls[name])
        found[f"{name} again"] = message(calls[name])
    return found


def one_fails(comm, folder: Path) -> dict:
    return failing(comm, (1,))


def two_fail(comm, folder: Path) -> dict:
    return failing(comm, (1, 2))


def start_fails(comm, folder: Path) -> dict:
    """One rank fails before the ranks divide the disks; later ones can start."""
    before, disks = _core.HardParticles, random_packing(1200, 0.698, seed=1)
    if comm.rank == 1:
        _core.HardParticles = SimpleNamespace(of_ranks=fail_to_start)
    found = message(lambda: HardDisks(*disks, seed=9, device="cpu", grid=Grid(tile=5), comm=comm))
    _core.HardParticles = before
    return {"found": found, "later": small(comm).state_hash}


def fail_to_start(*arguments) -> None:
    raise MemoryError("no memory for the strip")


def tasks_fail(comm, folder: Path) -> list[str]:
    """If several ranks fail at once, all raise the error of the lowest one and continue."""
    ranks = Ranks.of(comm)

    def task() -> None:
        if comm.rank > 0:
            raise ValueError(f"wrong on rank {comm.rank}")

    return [message(lambda: ranks.together(task)), ranks.all(comm.rank)]


def mismatch(comm, folder: Path) -> dict:
    """One rank waits for rows of its neighbor, the other for a value."""
    disks = small(comm)
    began = time.monotonic()
    if comm.rank == 0:
        found = message(lambda: disks._engine.run(1))
    else:
        found = message(lambda: disks._ranks.any(True))
    return {"found": found, "seconds": time.monotonic() - began}


def long_task(comm, folder: Path) -> list:
    """A rank that computes for several times the limit answers the others."""
    ranks = Ranks.of(comm)
    return [ranks.together(lambda: time.sleep(5 * (comm.rank == 1)), patient=True), ranks.any(True)]


def long_task_of_the_first(comm, folder: Path) -> list:
    """The same of rank 0, whose thread that calls MPI is free; then an error of its task."""
    ranks = Ranks.of(comm)

    def wrong() -> None:
        raise ValueError(f"wrong on rank {comm.rank}")

    found = ranks.of_first(lambda: (time.sleep(5), comm.rank)[1])
    return [found, message(lambda: ranks.of_first(wrong)), ranks.all(comm.rank)]


def interrupted_wait(comm, folder: Path) -> dict:
    """Ctrl-C ends the wait of a rank for another one that computes."""
    ranks, began = Ranks.of(comm), time.monotonic()
    if comm.rank == 0:
        threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        with ranks.answering():
            time.sleep(6)
    try:
        with ranks.collective():
            ranks.any(True)
    except BaseException as error:
        found = f"{type(error).__name__}: {error}"
    return {"found": found, "seconds": time.monotonic() - began}


if __name__ == "__main__":
    make_tasks(globals())
