"""One system divided among MPI ranks: what they say to each other."""

from __future__ import annotations

import math
import mmap
import os
import pickle
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import numpy as np

from manymove.replicas import World

T = TypeVar("T")

TIMEOUT = 50.0  # seconds that a rank waits for another in a run
_DOWN, _UP, _ROWS = 7101, 7102, 7103  # tags
_LARGEST = 1 << 30  # bytes of a message


class RankLost(RuntimeError):
    """Another rank does not answer: it has died, or is not making the same calls."""


class Ranks:
    """The ranks of an mpi4py communicator that share a system.

    All of them make the same calls in the same order. The communicator may be used for other things
    in between.

    Args:
        communicator: of mpi4py, with at least two ranks.
        timeout: seconds after which a silent rank is given up, in a run and in what observes.
    """

    shares_memory = True  # with neighbours on the same machine

    def __init__(self, communicator: Any, timeout: float = TIMEOUT) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout must be positive, got {timeout}")
        from mpi4py import MPI

        self._mpi = MPI
        self.communicator = self._comm = communicator
        self._timeout = timeout
        self._memory: list[np.ndarray | None] = []
        self._lost: list[Any] | None = None  # what an unfinished message may still touch
        self.rank: int = communicator.rank
        self.size: int = communicator.size
        self.world = World.of(communicator)

    @classmethod
    def of(cls, communicator: Any, timeout: float) -> Ranks | None:
        """Those of a communicator; None if there is no other rank.

        Raises:
            TypeError: it is no communicator of mpi4py.
        """
        if communicator is None:
            return None
        if not all(hasattr(communicator, name) for name in ("Iallreduce", "rank", "size")):
            raise TypeError(f"comm must be a communicator of mpi4py, got {communicator!r}")
        return cls(communicator, timeout) if communicator.size > 1 else None

    def abort(self, message: str) -> NoReturn:
        """End the processes of all ranks, with a message on the standard error."""
        print(f"manymove: error: {message}", file=sys.stderr, flush=True)
        self._comm.Abort(2)
        raise SystemExit(2)

    # ---- what the engine asks for ----------------------------------------------------------------

    def exchange(
        self,
        to_below: np.ndarray,
        to_above: np.ndarray,
        from_below: np.ndarray,
        from_above: np.ndarray,
    ) -> None:
        """Bytes to and from the next ranks below and above, around the box; empty ones rest."""
        below, above = (self.rank - 1) % self.size, (self.rank + 1) % self.size
        byte, comm = self._mpi.BYTE, self._comm
        receives, sends = [], []
        if from_below.size:
            receives.append(comm.Irecv([from_below, byte], below, _UP))
        if from_above.size:
            receives.append(comm.Irecv([from_above, byte], above, _DOWN))
        if to_below.size:
            sends.append(comm.Isend([to_below, byte], below, _DOWN))
        if to_above.size:
            sends.append(comm.Isend([to_above, byte], above, _UP))
        try:
            self._wait(receives + sends)
        except RankLost:
            for receive in receives:  # the engine's memory may not last as long as MPI
                receive.Cancel()
            raise

    def sum_in_place(self, values: np.ndarray) -> None:
        """The sums over all ranks, float64 or uint64."""
        self._sum(values, patient=False)

    def share(self, size: int) -> tuple[int, int, int]:
        """Addresses of `size` bytes that this rank's neighbours can read, and of those of the ranks
        below and above; 0 where they are on another machine."""
        if not self.shares_memory:
            return 0, 0, 0
        path = f"/dev/shm/manymove-{uuid.uuid4().hex}"
        mine = _mapped(path, size, os.O_CREAT | os.O_EXCL)
        paths = self.all(path)
        neighbours = ((self.rank - 1) % self.size, (self.rank + 1) % self.size)
        reached = {rank: _mapped(paths[rank], size) for rank in neighbours}
        reached = {rank: memory for rank, memory in reached.items() if memory is not None}
        others = self.all(set(reached))
        if mine is not None:
            os.unlink(path)
        mutual = {r: m for r, m in reached.items() if mine is not None and self.rank in others[r]}
        self._memory += [mine, *mutual.values()]
        below, above = (mutual[r].ctypes.data if r in mutual else 0 for r in neighbours)
        return mine.ctypes.data if mutual else 0, below, above

    # ---- agreement -------------------------------------------------------------------------------

    def first(self, value: T, patient: bool = False) -> T:
        """Rank 0's value, on every rank. Patient: however long rank 0 takes."""
        data = pickle.dumps(value) if self.rank == 0 else b""
        size = np.array([len(data)], dtype=np.int64)
        self._wait([self._comm.Ibcast(size)], size, patient=patient)
        message = np.empty(size[0], np.uint8)
        if self.rank == 0:
            message[:] = np.frombuffer(data, np.uint8)
        self._wait([self._comm.Ibcast(message)], message)
        return pickle.loads(message.tobytes())

    def all(self, value: T, patient: bool = False) -> list[T]:
        """The values of all ranks, on every rank."""
        data = np.frombuffer(pickle.dumps(value), dtype=np.uint8).copy()
        size, sizes = np.array([data.size], np.int64), np.empty(self.size, np.int64)
        self._wait([self._comm.Iallgather(size, sizes)], size, sizes, patient=patient)
        everything = np.empty(sizes.sum(), np.uint8)
        shape = (sizes.tolist(), np.concatenate(([0], np.cumsum(sizes)[:-1])).tolist())
        self._wait([self._comm.Iallgatherv(data, [everything, shape])], data, everything)
        return [
            pickle.loads(everything[start : start + count].tobytes())
            for count, start in zip(*shape, strict=True)
        ]

    def together(self, task: Callable[[], T], patient: bool = False) -> T:
        """This rank's result of a task that all ranks have; if it fails on one, it fails on all."""
        result, error = None, None
        try:
            result = task()
        except Exception as failure:
            if isinstance(failure, RankLost):
                raise
            error = failure
        failed = np.array([error is not None], dtype=np.uint64)
        self._sum(failed, patient)
        if failed[0]:
            told = [e for e in self.all(_picklable(error)) if e is not None]
            raise error if error is not None else told[0]
        return result  # type: ignore[return-value]

    def any(self, flag: bool) -> bool:
        """Whether it is true on one of the ranks."""
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
                raise KeyboardInterrupt

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
            self._wait([self._comm.Isend([part, self._mpi.BYTE], rank, _ROWS)], patient=True)

    def _receive(self, array: np.ndarray, rank: int) -> None:
        data = array.view(np.uint8)
        for start in range(0, data.size, _LARGEST):
            part = data[start : start + _LARGEST]
            self._wait([self._comm.Irecv([part, self._mpi.BYTE], rank, _ROWS)], patient=True)

    # ---- waiting ---------------------------------------------------------------------------------

    def _sum(self, values: np.ndarray, patient: bool) -> None:
        mine = values.copy()
        self._wait([self._comm.Iallreduce(mine, values)], mine, values, patient=patient)

    def _wait(self, requests: list[Any], *memory: np.ndarray, patient: bool = False) -> None:
        if self._lost is not None:
            raise RankLost("another rank was lost before")
        test = self._mpi.Request.Testall
        for _ in range(100):
            if test(requests):
                return
        began = time.monotonic()
        while not test(requests):
            waited = time.monotonic() - began
            if waited > (math.inf if patient else self._timeout):
                self._lost = [requests, memory]
                raise RankLost(
                    f"rank {self.rank} of {self.size} has waited {waited:.0f} s for another rank: "
                    "it has died or does not make the same calls"
                )
            # Ranks may share a core; those that have waited for long may as well sleep.
            time.sleep(0 if waited < 0.01 else 1e-4 if waited < 1 else 1e-2)


def _mapped(path: str, size: int, flags: int = 0) -> np.ndarray | None:
    """Memory that processes of a machine share; None where there is none of this name."""
    try:
        file = os.open(path, os.O_RDWR | flags, 0o600)
    except OSError:
        return None
    try:
        if flags:
            os.posix_fallocate(file, 0, size)
        return np.frombuffer(mmap.mmap(file, size), np.uint8)
    except OSError:
        if flags:
            os.unlink(path)
        return None
    finally:
        os.close(file)


def _picklable(error: Exception | None) -> Exception | None:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(str(error))
