"""Communication of the MPI ranks that share one system."""

from __future__ import annotations

import math
import mmap
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import numpy as np

from manymove import _core
from manymove.jobs.channel import Channel, RankLost
from manymove.jobs.world import World

__all__ = ["RankLost", "Ranks"]

T = TypeVar("T")

_DOWN, _UP, _ROWS = 7101, 7102, 7103  # tags
_LARGEST = 1 << 30  # bytes of a message


class Ranks:
    """The ranks of an mpi4py communicator that share a system.

    All ranks make the same calls in the same order. The communicator may be used for other
    messages, because these ranks communicate through a duplicate of it.

    Args:
        communicator: communicator of mpi4py with at least two ranks.
        timeout: seconds after which a silent rank is an error (default MANYMOVE_TIMEOUT, or 60).

    Raises:
        ValueError: timeout is not positive.
    """

    shares_memory = True  # with neighbors on the same machine

    def __init__(self, communicator: Any, timeout: float | None = None) -> None:
        if timeout is None:
            timeout = _core.timeout()
        elif not 0 < timeout < math.inf:
            raise ValueError(f"timeout must be positive, got {timeout}")
        self.communicator = communicator
        self._timeout = timeout
        self._channel = Channel.of(communicator, "ranks")
        self._comm, self._mpi = self._channel.comm, self._channel.mpi
        self._memory: list[np.ndarray] = []
        self.rank: int = communicator.rank
        self.size: int = communicator.size
        self.world = World.of(communicator)

    @classmethod
    def of(cls, communicator: Any, timeout: float | None = None) -> Ranks | None:
        """The ranks of a communicator; None if there is a single rank.

        Raises:
            TypeError: the object is not a communicator of mpi4py.
        """
        if communicator is None:
            return None
        if not all(hasattr(communicator, name) for name in ("Iallreduce", "rank", "size")):
            raise TypeError(f"comm must be a communicator of mpi4py, got {communicator!r}")
        return cls(communicator, timeout) if communicator.size > 1 else None

    # ---- what the engine asks for ----------------------------------------------------------------

    @property
    def watchdog(self) -> Any:
        """The watchdog of the waits of these ranks, for engines of the core."""
        return self._watched.watchdog.core

    def exchange(
        self,
        to_below: np.ndarray,
        to_above: np.ndarray,
        from_below: np.ndarray,
        from_above: np.ndarray,
    ) -> None:
        """Exchange bytes with the next ranks below and above, around the box. Nothing is sent or
        received for empty arrays.

        Raises:
            RankLost: a rank is silent. MPI may still use the memory of all four arrays, which must
                never be freed.
        """
        below, above = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        byte, comm = self._mpi.BYTE, self._comm
        requests = []
        if from_below.size:
            requests.append(comm.Irecv([from_below, byte], below, _UP))
        if from_above.size:
            requests.append(comm.Irecv([from_above, byte], above, _DOWN))
        if to_below.size:
            requests.append(comm.Isend([to_below, byte], below, _DOWN))
        if to_above.size:
            requests.append(comm.Isend([to_above, byte], above, _UP))
        self._watched.wait(requests, to_below, to_above, from_below, from_above)

    def sum_in_place(self, values: np.ndarray) -> None:
        """Replace float64 or uint64 values by their sums over all ranks."""
        self._watched.sum(values)

    def share(self, size: int) -> tuple[int, int, int]:
        """Addresses of `size` bytes that this rank's neighbors can read, and of those of the ranks
        below and above; 0 where they are on another machine."""
        if not self.shares_memory:
            return 0, 0, 0
        mine, name = _anonymous(size)
        try:
            memory = _mapped(mine, size)
            names = self.all(name)
            neighbors = ((self.rank - 1) % self.size, (self.rank + 1) % self.size)
            reached = {rank: _opened(names[rank], size) for rank in neighbors}
            reached = {rank: other for rank, other in reached.items() if other is not None}
            others = self.all(set(reached))  # no rank closes before all have opened
        finally:
            if mine is not None:
                os.close(mine)
        mutual = {r: m for r, m in reached.items() if memory is not None and self.rank in others[r]}
        if not mutual:
            return 0, 0, 0
        self._memory += [memory, *mutual.values()]
        below, above = (mutual[r].ctypes.data if r in mutual else 0 for r in neighbors)
        return memory.ctypes.data, below, above

    # ---- agreement -------------------------------------------------------------------------------

    @property
    def _watched(self) -> Channel:
        """The channel, which objects with other timeouts may use as well."""
        self._channel.watchdog.limit = self._timeout
        return self._channel

    def first(self, value: T) -> T:
        """Rank 0's value, on every rank."""
        return self._watched.first(value)

    def all(self, value: T) -> list[T]:
        """The values of all ranks, on every rank."""
        return self._watched.all(value)

    def together(self, task: Callable[[], T], patient: bool = False) -> T:
        """This rank's result of a task that all ranks have, without calls of these ranks. If it
        fails on some, all raise the error of the lowest of them.

        Args:
            task: function that this rank calls.
            patient: whether the task may take longer than half of the timeout.
        """
        return self._watched.together(task, patient)

    def collective(self) -> AbstractContextManager[None]:
        """A context for calls that all ranks make together: an error of a single rank becomes
        RankLost on all of them, with its message."""
        return self._watched.collective()

    def all_raise(self, error: BaseException) -> BaseException:
        """Mark the error as one that all ranks raise now, and return it."""
        return self._channel.all_raise(error)

    def answering(self) -> AbstractContextManager[None]:
        """A context in which a thread answers the others while this rank computes without them."""
        return self._watched.answering()

    def any(self, flag: bool) -> bool:
        """Whether a condition is true on at least one rank."""
        flags = np.array([flag], dtype=np.uint64)
        self.sum_in_place(flags)
        return bool(flags[0])

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

    # ---- rows of cells ---------------------------------------------------------------------------

    def scatter_rows(
        self, whole: dict[str, Any] | None, edges: Sequence[int], slots: int
    ) -> dict[str, np.ndarray]:
        """From rank 0's arrays `cells` and `ids`, of `slots` slots a row, those of the rows from
        edges[rank] to edges[rank + 1]."""
        strip = {}
        for name, kind, width in (("cells", np.float32, 2 * slots), ("ids", np.int32, slots)):
            part = None
            for rank in range(self.size):
                first, end = (edges[rank + k] * width for k in (0, 1))
                if self.rank == 0:
                    assert whole is not None
                    if rank == 0:
                        part = whole[name][first:end].copy()
                    else:
                        self._send(whole[name][first:end], rank)
                elif self.rank == rank:
                    part = np.empty(end - first, kind)
                    self._receive(part, 0)
            strip[name] = part
        return strip

    def gather_rows(self, strip: dict[str, Any], rows: int) -> dict[str, Any] | None:
        """The snapshot of all `rows` rows on rank 0, from those of the ranks' strips."""
        mine = (strip["first_row"], strip["ids"].size)
        strips = self.all(mine)
        total = sum(size for _, size in strips)
        whole: dict[str, Any] | None = None
        if self.rank == 0:
            whole = {**strip, "first_row": 0}
        for name, kind, per_slot in (("cells", np.float32, 2), ("ids", np.int32, 1)):
            if self.rank != 0:
                self._send(strip[name], 0)
                continue
            width = total // rows * per_slot
            everything = np.empty((rows, width), kind)
            for rank, (first, size) in enumerate(strips):
                part = strip[name] if rank == 0 else np.empty(size * per_slot, kind)
                if rank:
                    self._receive(part, rank)
                count = part.size // width
                before = min(count, rows - first)  # the others are beyond the box's upper edge
                part = part.reshape(count, width)
                everything[first : first + before] = part[:before]
                everything[: count - before] = part[before:]
            whole[name] = everything.reshape(-1)
        return whole

    def _send(self, array: np.ndarray, rank: int) -> None:
        data = array.view(np.uint8)
        for start in range(0, data.size, _LARGEST):
            part = data[start : start + _LARGEST]
            self._watched.wait([self._comm.Isend([part, self._mpi.BYTE], rank, _ROWS)], part)

    def _receive(self, array: np.ndarray, rank: int) -> None:
        data = array.view(np.uint8)
        for start in range(0, data.size, _LARGEST):
            part = data[start : start + _LARGEST]
            self._watched.wait([self._comm.Irecv([part, self._mpi.BYTE], rank, _ROWS)], part)


# The memory has no name in any file system, so that a killed process leaves nothing behind. Other
# processes of the same user and machine find it among the open files of its owner.
def _anonymous(size: int) -> tuple[int | None, tuple[str, str] | None]:
    """Such a file with its path and label for other processes; None if the system has no such
    memory."""
    label = f"manymove-{uuid.uuid4().hex}"
    try:
        file = os.memfd_create(label)
    except (AttributeError, OSError):
        return None, None
    try:
        os.posix_fallocate(file, 0, size)
    except OSError:
        os.close(file)
        return None, None
    return file, (f"/proc/{os.getpid()}/fd/{file}", label)


def _opened(name: tuple[str, str] | None, size: int) -> np.ndarray | None:
    """Another process's memory; None if it is not on this machine."""
    if name is None:
        return None
    path, label = name
    try:
        if label not in os.readlink(path):
            return None
        file = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return _mapped(file, size)
    finally:
        os.close(file)


def _mapped(file: int | None, size: int) -> np.ndarray | None:
    try:
        return None if file is None else np.frombuffer(mmap.mmap(file, size), np.uint8)
    except OSError:
        return None
