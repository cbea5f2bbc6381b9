"""Messages between MPI ranks, in calls that end when one of the ranks is silent or has failed."""

from __future__ import annotations

import atexit
import ctypes
import math
import pickle
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from manymove import _core

T = TypeVar("T")

RankLost = _core.RankLost  # raised by all ranks, with the same message

_NOTICES = 7100  # tag
_QUESTION, _ANSWERED = 0, 1  # kinds of notices, watchdog.h
_ANSWER = 0.2  # seconds between two answers of a rank that computes

_keys: dict[str, int] = {}  # attributes of communicators, by purpose: indices of _channels
_channels: list[Channel] = []
atexit.register(_channels.clear)


class Channel:
    """A duplicate of an mpi4py communicator, and the watchdog of all waits on it.

    The ranks make the same collective calls in the same order, each rank from one thread at a time.
    A rank that waits for longer than MANYMOVE_TIMEOUT seconds (or `limit`) asks the others whether
    they are alive; every wait raises RankLost when one of them does not answer.

    Args:
        communicator: communicator of mpi4py. The constructor duplicates it, which is a collective
            call.

    Raises:
        RankLost: a rank does not make this call within the limit.
    """

    def __init__(self, communicator: Any) -> None:
        from mpi4py import MPI

        self.mpi = MPI
        self.comm = _duplicate(MPI, communicator)
        self.rank: int = communicator.rank
        self.size: int = communicator.size
        self.watchdog = _core.Watchdog(self.rank, self.size, *_post(MPI, self.comm))
        self._common: BaseException | None = None  # last error that all ranks have raised

    @classmethod
    def of(cls, communicator: Any, purpose: str) -> Channel:
        """The channel of a communicator for one purpose, the same in all calls until it fails.

        The call is collective.

        Raises:
            RankLost: the channel has failed, but a rank does not know it.
        """
        from mpi4py import MPI

        if purpose not in _keys:
            _keys[purpose] = MPI.Comm.Create_keyval()
        index = communicator.Get_attr(_keys[purpose])
        if index is None or not _channels[index].watchdog.can_go_on():
            index = len(_channels)
            _channels.append(cls(communicator))
            communicator.Set_attr(_keys[purpose], index)
        return _channels[index]

    # ---- waiting ---------------------------------------------------------------------------------

    def wait(self, requests: list[Any], *memory: Any) -> None:
        """Wait until all requests, which use this memory, are complete."""
        _wait(self.mpi, self.watchdog, requests, *memory)

    def look(self) -> None:
        """Answer ranks that wait for this one during a long computation.

        Raises:
            RankLost: another rank has failed.
        """
        self.watchdog.look()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A context in which a thread answers while this rank computes without channel calls."""
        stop = threading.Event()

        def answer() -> None:
            try:
                while not stop.wait(_ANSWER):
                    self.look()
            except RankLost:
                pass  # the next wait raises it

        thread = threading.Thread(target=answer, daemon=True)
        several = self.mpi.Query_thread() >= self.mpi.THREAD_SERIALIZED
        if several:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if several:
                thread.join()

    # ---- agreement -------------------------------------------------------------------------------

    def sum(self, values: np.ndarray) -> None:
        """Replace the values by their sums over all ranks."""
        mine, sums = values.copy(), np.empty_like(values)
        self.wait([self.comm.Iallreduce(mine, sums)], mine, sums)
        values[...] = sums

    def first(self, value: T) -> T:
        """Rank 0's value, on every rank."""
        data = pickle.dumps(value) if self.rank == 0 else b""
        size = np.array([len(data)], dtype=np.int64)
        self.wait([self.comm.Ibcast(size)], size)
        message = np.empty(size[0], np.uint8)
        if self.rank == 0:
            message[:] = np.frombuffer(data, np.uint8)
        self.wait([self.comm.Ibcast(message)], message)
        return pickle.loads(message.tobytes())

    def all(self, value: T) -> list[T]:
        """The values of all ranks, on every rank."""
        data = np.frombuffer(pickle.dumps(value), dtype=np.uint8).copy()
        size, sizes = np.array([data.size], np.int64), np.empty(self.size, np.int64)
        self.wait([self.comm.Iallgather(size, sizes)], size, sizes)
        everything = np.empty(sizes.sum(), np.uint8)
        shape = (sizes.tolist(), np.concatenate(([0], np.cumsum(sizes)[:-1])).tolist())
        self.wait([self.comm.Iallgatherv(data, [everything, shape])], data, everything)
        return [
            pickle.loads(everything[start : start + count].tobytes())
            for count, start in zip(*shape, strict=True)
        ]

    def together(self, task: Callable[[], T], patient: bool = False) -> T:
        """This rank's result of a task without calls of this channel. If it fails on some
        ranks, all raise the error of the lowest of them.

        Args:
            task: function that this rank calls.
            patient: whether the task may take longer than half of MANYMOVE_TIMEOUT.
        """
        result, error = None, None
        try:
            if patient:
                with self.answering():
                    result = task()
            else:
                result = task()
        except Exception as failure:
            if isinstance(failure, RankLost):
                raise
            error = failure
        failed = np.array([error is not None], dtype=np.uint64)
        self.sum(failed)
        if failed[0]:
            errors = self.all(_picklable(error))
            lowest = next(rank for rank, told in enumerate(errors) if told is not None)
            raise self.all_raise(error if lowest == self.rank else errors[lowest])
        return result  # type: ignore[return-value]

    def all_raise(self, error: Any) -> Any:
        """Mark the error as one that all ranks raise now, and return it."""
        self._common = error
        return error

    @contextmanager
    def collective(self) -> Iterator[None]:
        """A context for calls that all ranks make together, the last of which is a call of this
        channel: an error of a single rank becomes RankLost on all of them, with its message."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, RankLost) or error is self._common:
                raise
            text = f"rank {self.rank} of {self.size}: {type(error).__name__}: {error}"
            try:
                self.watchdog.fail(text)
            except RankLost as failure:
                if isinstance(error, Exception):
                    raise failure from error
            raise


def _wait(mpi: Any, watchdog: Any, requests: list[Any], *memory: Any) -> None:
    """Wait until all requests, which use this memory, are complete. If that fails, MPI may still
    write to the memory, also while Python ends: it is never freed."""
    test = mpi.Request.Testall
    try:
        watchdog.wait(lambda: test(requests))
    except BaseException:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object((requests, memory)))
        raise


def _duplicate(mpi: Any, communicator: Any) -> Any:
    """A duplicate of a communicator, which all ranks make together. Ranks cannot be asked whether
    they are alive before it exists: a rank is known to be alive once its byte has arrived."""
    size: int = communicator.size
    mine, arrived = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    answers: list[bytes] = []

    def send(rank: int, notice: bytes) -> None:
        kind, _, number = struct.unpack_from("iii", notice)
        if kind == _QUESTION and arrived[rank]:  # that rank waits as this one does
            answers.append(struct.pack("iiif496x", _ANSWERED, rank, number, math.inf))

    watchdog = _core.Watchdog(
        communicator.rank, size, send, lambda: answers.pop() if answers else None
    )
    shape = ([1] * size, list(range(size)))
    roll_call = communicator.Ialltoallv([mine, shape, mpi.BYTE], [arrived, shape, mpi.BYTE])
    copy, made = communicator.Idup()
    _wait(mpi, watchdog, [roll_call, made], mine, arrived, copy)
    return copy


def _post(mpi: Any, comm: Any) -> tuple[Callable[[int, bytes], None], Callable[[], bytes | None]]:
    """The functions with which a watchdog sends and receives."""
    sent: list[tuple[Any, bytes]] = []  # messages that are not yet received

    def send(rank: int, notice: bytes) -> None:
        sent[:] = [one for one in sent if not one[0].Test()]
        sent.append((comm.Isend([notice, mpi.BYTE], rank, _NOTICES), notice))

    def receive() -> bytes | None:
        message = comm.Improbe(mpi.ANY_SOURCE, _NOTICES)
        if message is None:
            return None
        notice = bytearray(512)
        message.Recv([notice, mpi.BYTE])
        return bytes(notice)

    return send, receive


def _picklable(error: Exception | None) -> Exception | None:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(str(error))
