# SPDX-License-Identifier: BSD-3-Clause
"""A simulation of one process, or of several MPI ranks that share a system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from manymove.checkpoint import PathLike
from manymove.jobs.ranks import Ranks
from manymove.runs import Call
from manymove.simulation import MonteCarlo

T = TypeVar("T")


class SharedSimulation(MonteCarlo):
    """Communication of this rank with the others; a base class that is not used on its own."""

    _ranks: Ranks | None = None

    @property
    def ranks(self) -> int:
        """Number of ranks that share the system; 1 without `comm`."""
        return self._ranks.size if self._ranks else 1

    def _settle(self, device: str, threads: int | None, comm: Any = None) -> None:
        """Find the other ranks, and choose the device and the threads of this rank."""
        self._ranks = Ranks.of(comm)
        if self._ranks is not None:
            self._quiet = self._ranks.rank > 0
            device = self._device_of_rank(self._ranks, device)
            if threads is None:
                threads = self._ranks.world.cores
        super()._settle(device, threads)

    def _device_of_rank(self, ranks: Ranks, device: str) -> str:
        return ranks.world.device(device)

    # ---- collective calls ------------------------------------------------------------------------

    def _on_all_ranks(self) -> AbstractContextManager[None]:
        """A context for calls that all ranks make together."""
        return self._ranks.collective() if self._ranks else nullcontext()

    def _on_ranks(self, calls: Sequence[Call]) -> AbstractContextManager[Callable[[], None]]:
        return super()._on_ranks(calls) if self._ranks is None else self._of_all_ranks(calls)

    @contextmanager
    def _of_all_ranks(self, calls: Sequence[Call]) -> Iterator[Callable[[], None]]:
        ranks: Any = self._ranks
        with ranks.collective(), ranks.interrupts() as check:
            intervals = ranks.all([every for every, _ in calls])
            if any(other != intervals[0] for other in intervals):
                raise ranks.all_raise(
                    ValueError(
                        "the ranks of comm have different callbacks: give all of them the same "
                        "intervals"
                    )
                )
            yield check

    def _piece_of_all(self, length: int) -> int:
        """The first rank's length of a piece of a run, on all ranks."""
        return self._ranks.first(length) if self._ranks else length

    def _together(self, task: Callable[[], T]) -> T:
        return task() if self._ranks is None else self._ranks.together(task)

    def _once(self, task: Callable[[], T]) -> T | None:
        ranks = self._ranks
        if ranks is None:
            return task()
        return ranks.together(lambda: task() if ranks.rank == 0 else None, patient=True)

    def _of_first(self, task: Callable[[], T]) -> T:
        """The first rank's result of a task, on all ranks."""
        return task() if self._ranks is None else self._ranks.of_first(task)

    def save(self, path: PathLike, *, keep_previous: bool = False) -> None:
        with self._on_all_ranks():
            whole = self._engine.snapshot()
            self._once(lambda: self._write(Path(path), whole, keep_previous))
