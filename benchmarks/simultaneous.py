# SPDX-License-Identifier: BSD-3-Clause
"""Processes that do the same work at the same time, each with something of its own.

The processes prepare themselves one after the other, because some programs choose their launch
parameters by timing, which needs an idle device. Before each call the processes wait for each
other.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from multiprocessing import connection
from pathlib import Path
from types import MappingProxyType
from typing import Any

from manymove import load

START = 120.0  # seconds that one process may take to start
LONGEST = 3600.0  # seconds that a run may take


class Processes(AbstractContextManager["Processes"]):
    """Processes that call the same functions at the same time, and end with the block.

    Args:
        make: picklable function that returns what the process whose index it takes works on.
        count: number of processes.
        environment: environment variables of the processes in addition to those of this one.

    Raises:
        ValueError: the number of processes is not positive.
        RuntimeError: a process ended or did not answer in time, or `make` failed. An ImportError or
            a ValueError of `make` is raised as such.
    """

    def __init__(
        self,
        make: Callable[[int], Any],
        count: int,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        if count < 1:
            raise ValueError(f"the number of processes must be positive, got {count}")
        context = multiprocessing.get_context("spawn")  # a GPU does not survive a fork
        turn, meeting = context.Lock(), context.Barrier(count)
        self._pipes: list[connection.Connection] = []
        self._started: list[Any] = []
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            for index in range(count):
                mine, its = context.Pipe()
                process = context.Process(
                    target=_serve, args=(make, index, turn, meeting, its), daemon=True
                )
                process.start()
                its.close()
                self._pipes.append(mine)
                self._started.append(process)
            self._answers(START * count)
        except BaseException:
            self._end()
            raise
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def __exit__(self, *error: object) -> None:
        self._end()

    def call(
        self, function: Callable[..., Any], *arguments: object, limit: float = START
    ) -> list[Any]:
        """Call a function in all processes.

        Args:
            function: picklable function that takes what `make` has returned, and the arguments.
            arguments: picklable arguments.
            limit: time in seconds that the call may take.

        Returns:
            the results in the order of the processes.

        Raises:
            RuntimeError: a process ended or did not answer in time, or the function failed. An
                ImportError or a ValueError is raised as such.
        """
        for pipe in self._pipes:
            pipe.send((function, arguments))
        return self._answers(limit)

    def _answers(self, limit: float) -> list[Any]:
        """One message of each process."""
        until = time.monotonic() + limit
        found: dict[Any, Any] = {}
        while len(found) < len(self._pipes):
            silent = [pipe for pipe in self._pipes if pipe not in found]
            ready = connection.wait(silent, max(0.0, until - time.monotonic()))
            if not ready:
                raise RuntimeError(f"{len(silent)} processes did not answer within {limit:.0f} s")
            for pipe in ready:
                try:
                    found[pipe] = pipe.recv()
                except EOFError:
                    process = self._started[self._pipes.index(pipe)]
                    process.join(5)
                    raise RuntimeError(
                        f"one of {len(self._pipes)} processes ended with exit code "
                        f"{process.exitcode}"
                    ) from None
                if isinstance(found[pipe], Exception):
                    raise found[pipe]
        return [found[pipe] for pipe in self._pipes]

    def _end(self) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.join()
        for pipe in self._pipes:
            pipe.close()


@contextmanager
def continued(simulations: Sequence[Any]) -> Iterator[Callable[[int], tuple[int, int]]]:
    """Processes that continue copies of simulations on the CPU, each with its number of threads,
    and end with the block. The block has a function that runs all of them for a number of sweeps,
    and returns the sums of their trial moves and of their accepted moves."""
    with tempfile.TemporaryDirectory() as folder:
        for i, simulation in enumerate(simulations):
            simulation.save(Path(folder) / f"{i}.state")
        threads = [simulation.threads for simulation in simulations]
        with Processes(partial(_load, Path(folder), threads), len(simulations)) as processes:
            yield lambda sweeps: summed(processes.call(_run, sweeps, limit=LONGEST))


def summed(moves: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The sums of the trial moves and of the accepted moves of all processes."""
    trials, accepted = zip(*moves, strict=True)
    return sum(trials), sum(accepted)


def _load(folder: Path, threads: Sequence[int], index: int) -> Any:
    return load(folder / f"{index}.state", device="cpu", threads=threads[index])


def _run(simulation: Any, sweeps: int) -> tuple[int, int]:
    before = simulation.trial_moves, simulation.accepted_moves
    simulation.run(sweeps)
    return simulation.trial_moves - before[0], simulation.accepted_moves - before[1]


def _serve(
    make: Callable[[int], Any], index: int, turn: Any, meeting: Any, pipe: connection.Connection
) -> None:
    """The work of a process: it makes something, and calls functions of it on request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    try:
        with turn:
            made = make(index)
        pipe.send(None)
        while True:
            function, arguments = pipe.recv()
            meeting.wait(START)
            pipe.send(function(made, *arguments))
    except (EOFError, BrokenPipeError):
        return
    except Exception as error:
        for kind in (ImportError, ValueError):
            if isinstance(error, kind):
                pipe.send(kind(str(error)))
                return
        pipe.send(RuntimeError(f"{type(error).__name__}: {error}"))
