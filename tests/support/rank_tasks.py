# SPDX-License-Identifier: BSD-3-Clause
"""Tasks of several MPI ranks: what the programs `mpiexec -n R python PROGRAM TASK,... FOLDER`
share, and what tests expect of them. Each rank leaves what it found in FOLDER/TASK-RANK.json."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from documents import SUPPORT
from processes import Job, on_ranks

Task = Callable[[Any, Path], Any]

# ---- in the programs ----


def make_tasks(tasks: Mapping[str, Task]) -> None:
    """Make the tasks of the command line."""
    from mpi4py import MPI

    comm, folder = MPI.COMM_WORLD, Path(sys.argv[2])
    for name in sys.argv[1].split(","):
        result = tasks[name](comm, folder)
        (folder / f"{name}-{comm.rank}.json").write_text(json.dumps(result))


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def message(task: Callable[[], object], *others: type[BaseException]) -> str:
    """The error of a task, an `Exception` or one of others."""
    try:
        task()
    except (Exception, *others) as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


class Errors(dict[str, str]):
    """The errors of tasks, by the names of the tasks."""

    def attempt(self, name: str, task: Callable[[], object]) -> None:
        if (found := message(task)) != "no error":
            self[name] = found


def fail_on_one_rank(comm: Any) -> Callable[[Any], None]:
    """A callback."""

    def fail(engine: Any) -> None:
        if comm.rank == 1:
            raise ZeroDivisionError("on one rank")

    return fail


def interrupt(comm: Any, run: Callable[..., None], elapsed: str) -> list[Any]:
    """Ctrl-C on one rank stops all of them after the same number of cycles or sweeps, the attribute
    `elapsed` of the engine, and they can continue."""
    engine = run.__self__

    def press(engine: Any) -> None:
        if comm.rank == 1 and getattr(engine, elapsed) > 20:
            os.kill(os.getpid(), signal.SIGINT)

    try:
        run(10**9, callbacks=[(1, press)])
    except KeyboardInterrupt:
        stopped = getattr(engine, elapsed)
    run(10)
    return [stopped, getattr(engine, elapsed), engine.state_hash]


def lose_a_rank(comm: Any, run: Callable[[int], None]) -> str:
    """A rank that leaves ends the run of the others."""
    run(5)
    if comm.rank == 1:
        raise SystemExit("this rank leaves")
    began = time.monotonic()
    try:
        run(10**9)
    except RuntimeError as error:
        return f"{type(error).__name__} after {time.monotonic() - began < 30}: {error}"
    return "continued"


# ---- in the tests ----


class Alone:
    """A communicator of one rank."""

    rank, size = 0, 1
    Iallreduce = None


def assert_interrupted_together(found: list[list[Any]]) -> None:
    first, second = found
    assert first == second
    stopped, end, _ = first
    assert 20 < stopped < 10**6 and end == stopped + 10


def assert_errors(found: list[dict[str, Any]], texts: Mapping[str, str], *others: str) -> None:
    """The ranks have the same errors, with these texts in them."""
    first, second = found
    assert first == second
    assert first.keys() == {*texts, *others}
    for name, text in texts.items():
        assert text in first[name], (name, first[name])


def assert_a_lost_rank_ends_the_run(program: str, folder: Path) -> None:
    Job([*on_ranks(2), sys.executable, SUPPORT / program, "lost", folder]).failure(100)
    left = folder / "lost-0.json"  # mpiexec may have been faster than the timeout
    if left.exists():
        assert "RankLost after True: rank 1 of 2 has been silent for 3 s" in left.read_text()
