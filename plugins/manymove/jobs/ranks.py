"""Communication of the MPI ranks that share one system."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from manymove import settings as settings_of
from manymove.jobs.channel import Channel, RankLost
from manymove.jobs.world import World

__all__ = ["RankLost", "Ranks"]


class Ranks(Channel):
    """The ranks of an mpi4py communicator that share a system.

    All ranks make the same calls in the same order. The communicator may be used for other
    messages, because these ranks communicate through a duplicate of it.

    Args:
        communicator: communicator of mpi4py with at least two ranks.
        timeout: seconds after which a silent rank is an error (default MANYMOVE_TIMEOUT, or 60).
    """

    def __init__(self, communicator: Any, timeout: float | None = None) -> None:
        super().__init__(communicator, "engines", timeout)
        self.world = World.of(communicator)

    @classmethod
    def of(cls, given: Any) -> Ranks | None:
        """The ranks of a communicator or of the settings; None if there is a single rank.

        Raises:
            TypeError: the object is not a communicator of mpi4py.
        """
        settings = given if isinstance(given, settings_of.Ranks) else settings_of.Ranks(given)
        communicator = settings.comm
        if communicator is None:
            return None
        if not all(hasattr(communicator, name) for name in ("Iallreduce", "rank", "size")):
            raise TypeError(f"comm must be a communicator of mpi4py, got {communicator!r}")
        return cls(communicator, settings.timeout) if communicator.size > 1 else None

    @contextmanager
    def interrupts(self) -> Iterator[Callable[[], None]]:
        """Between two calls of what it yields Ctrl-C waits; the call raises KeyboardInterrupt on
        all ranks if it was pressed for one. Outside the main thread Python knows no Ctrl-C."""
        pressed: list[int] = []
        in_main = threading.current_thread() is threading.main_thread()
        if in_main:
            before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))

        def check() -> None:
            if self.any(bool(pressed)):
                raise self.all_raise(KeyboardInterrupt())

        try:
            yield check
        finally:
            if in_main:
                signal.signal(signal.SIGINT, before)
