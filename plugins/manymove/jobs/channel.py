"""Values that MPI ranks tell each other, in calls that end when one of the ranks is silent or has
failed."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from manymove import _core

T = TypeVar("T")

RankLost = _core.RankLost  # raised by all ranks, with the same message

_ANSWER = 0.2  # seconds between two answers of a rank that computes
_LOOK = 0.01  # seconds between two answers of rank 0 during a task for which others wait


class Channel:
    """The ranks of an mpi4py communicator, and the watchdog of their waits for each other.

    The ranks make the same collective calls in the same order, each rank from one thread at a time.
    A rank that waits for longer than the limit asks the others whether they are alive; every wait
    raises RankLost when one of them does not answer. Messages go through a duplicate of the
    communicator, which is the same in all channels for one purpose until it fails.

    Args:
        communicator: communicator of mpi4py. The first channel of a purpose duplicates it, which is
            a collective call.
        purpose: "jobs" or "engines"; the calls of one do not wait for those of the other.
        limit: time in seconds after which a silent rank is an error (default MANYMOVE_TIMEOUT, or
            60).

    Raises:
        RankLost: the duplicate has failed, and some rank has not noticed it.
    """

    def __init__(self, communicator: Any, purpose: str, limit: float | None = None) -> None:
        self.core = _core.join(communicator, purpose, limit)
        self.communicator = communicator
        self.rank: int = communicator.rank
        self.size: int = communicator.size

    def look(self) -> None:
        """Answer ranks that wait for this one during a long computation.

        Raises:
            RankLost: another rank has failed.
        """
        self.core.look()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A context in which a thread answers while this rank computes without channel calls."""
        from mpi4py import MPI

        stop = threading.Event()

        def answer() -> None:
            try:
                while not stop.wait(_ANSWER):
                    self.look()
            except RankLost:
                pass  # the next wait raises it

        thread = threading.Thread(target=answer, daemon=True)
        several = MPI.Query_thread() >= MPI.THREAD_SERIALIZED
        if several:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            if several:
                thread.join()

    # ---- agreement -------------------------------------------------------------------------------

    def first(self, value: T) -> T:
        """Rank 0's value, on every rank."""
        return self.all(value if self.rank == 0 else None)[0]  # type: ignore[return-value]

    def all(self, value: T) -> list[T]:
        """The values of all ranks, on every rank."""
        return [pickle.loads(part) for part in self.core.all(pickle.dumps(value))]

    def any(self, flag: bool) -> bool:
        """Whether a condition is true on at least one rank."""
        return self.core.any(flag)

    def together(self, task: Callable[[], T], patient: bool = False) -> T:
        """This rank's result of a task without calls of this channel. If it fails on some
        ranks, all raise the error of the lowest of them.

        Args:
            task: function that this rank calls.
            patient: whether the task may take longer than half of the limit.
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
        try:
            failed = self.any(error is not None)
        except RankLost as lost:  # the others wait in a call that the task has not reached
            raise lost from error
        if failed:
            errors = self.all(_picklable(error))
            lowest = next(rank for rank, told in enumerate(errors) if told is not None)
            raise self.all_raise(error if lowest == self.rank else errors[lowest])
        return result  # type: ignore[return-value]

    def of_first(self, task: Callable[[], T]) -> T:
        """The result of a task of rank 0, on every rank. If it fails, all ranks raise its error.

        The task must not call MPI. It runs in its own thread, so that the thread that calls MPI can
        answer the other ranks with any level of thread support.
        """

        def alone() -> T | None:
            if self.rank > 0:
                return None
            interrupt = None
            with ThreadPoolExecutor(1) as thread:
                result = thread.submit(task)
                while not result.done():
                    try:
                        wait([result], _LOOK)
                        self.look()
                    except KeyboardInterrupt as error:  # the task ends first
                        interrupt = error
            if interrupt is not None:
                raise interrupt
            return result.result()

        return self.first(self.together(alone))  # type: ignore[return-value]

    def all_raise(self, error: Any) -> Any:
        """Mark the error as one that all ranks raise now, and return it."""
        error.agreed = True
        return error

    @contextmanager
    def collective(self) -> Iterator[None]:
        """A context for calls that all ranks make together, the last of which is a call of this
        channel: an error of a single rank becomes RankLost on all of them, with its message."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, RankLost) or getattr(error, "agreed", False):
                raise
            text = f"rank {self.rank} of {self.size}: {type(error).__name__}: {error}"
            try:
                self.core.fail(text)
            except RankLost as failure:
                if isinstance(error, Exception):
                    raise failure from error
            raise


def _picklable(error: Exception | None) -> Exception | None:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(str(error))
