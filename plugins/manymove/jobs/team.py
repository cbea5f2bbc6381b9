"""Simulations of this process that run at the same time, each with its device and its threads."""

from __future__ import annotations

import os
import resource
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock, Semaphore, Thread, current_thread, main_thread
from typing import Any, TypeVar

from manymove import _core
from manymove.devices import on_gpu
from manymove.jobs.channel import RankLost
from manymove.jobs.progress import Interrupted, StopRequest
from manymove.jobs.world import World

T = TypeVar("T")

_PER_GPU = 16  # simulations with launches of their own
_FEWEST_TOGETHER, _MOST_TOGETHER = 4, 1024  # simulations that share launches
_FILES, _OTHER_FILES = 2, 64  # open files of a simulation, and of the rest of the process
# Classes of errors that are raised again with the name of the simulation in the message.
_ERRORS = (
    AttributeError,
    FileNotFoundError,
    ImportError,
    MemoryError,
    OSError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class Place:
    """The place of a replica.

    Attributes:
        index: index of the replica among those of all ranks.
        device, threads: device and number of threads of its engine.
    """

    index: int
    device: str
    threads: int | None


class Member:
    """The run of one simulation of a team, which can be stopped and writes checkpoints.

    Args:
        stop: request that ends the run early.
        every: time in seconds between two checkpoints.
        save: function of the simulation that writes a checkpoint.

    Attributes:
        moves: number of moves so far, as the progress bar counts them.
    """

    def __init__(self, stop: StopRequest, every: float, save: Callable[[Any], object]) -> None:
        self.moves = 0
        self._stop = stop
        self._interval = every
        self._write = save
        self._saved = time.time()  # when the last checkpoint was written

    def advance(
        self,
        simulation: Any,
        course: Callable[[Any], object],
        sharing: Callable[[Any], AbstractContextManager[None]],
    ) -> bool:
        """Run a simulation, with checkpoints on the way.

        Args:
            simulation: the simulation.
            course: function that runs the simulation from its present state to the end.
            sharing: function that returns the context in which the simulation runs.

        Returns:
            whether the run came to its end.
        """
        simulation._after_piece = self._pause
        try:
            with sharing(simulation):
                self._check_stop()  # after the wait for a seat
                course(simulation)
            complete = True
        except Interrupted:
            complete = False
        except KeyboardInterrupt:  # of a callback, or of ranks that share the simulation
            if not self._stop.requested:
                self._stop.request()
            complete = False
        finally:
            simulation._after_piece = None
        return complete

    def _moves(self, simulation: Any) -> int:
        return simulation.elapsed

    def _check_stop(self) -> None:
        self._stop.check()

    def _is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.time() - self._saved > self._interval

    def _pause(self, simulation: Any) -> None:
        """What is done about every 0.1 s of a run."""
        self.moves = self._moves(simulation)
        self._check_stop()
        if self._is_due():
            self.save(simulation)

    def save(self, simulation: Any) -> None:
        """Write a checkpoint."""
        self._write(simulation)
        self._saved = time.time()


class Team:
    """The replicas of this rank, which share its cores and its devices.

    Args:
        world: all ranks.
        indices: indices of this rank's replicas.
        device: device of all replicas; or devices, which the replicas take in turn.
        threads: number of threads of all ranks together (default all cores).
        at_once: maximum number of replicas that run at the same time; one if several GPUs share it.

    Attributes:
        places: the places of this rank's replicas, in the order of the indices.
        seats: seats at the devices for replicas that do not share launches.
    """

    def __init__(
        self,
        world: World,
        indices: Sequence[int],
        device: str | Sequence[str],
        threads: int | None,
        at_once: int | None = None,
    ) -> None:
        self._world = world
        devices = [world.device(device)] if isinstance(device, str) else [*device]
        if any("," in each for each in devices):
            at_once = 1
        most = min(len(indices), at_once or len(indices))
        shares = _threads_of_each(devices, world.threads(threads), most, world.cores)
        self.places = [
            Place(index, devices[index % len(devices)], shares[slot % len(shares)])
            for slot, index in enumerate(indices)
        ]
        self.seats = Semaphore(len(shares))
        self._alone = self._together = len(shares)
        self._group: Any = None
        # Fewer systems, and systems on a CPU, are faster alone.
        if at_once is None and len(indices) >= _FEWEST_TOGETHER and any(map(on_gpu, devices)):
            self._group = _core.EngineGroup()
            self._together = max(self._alone, min(len(indices), _MOST_TOGETHER, _most_with_files()))
        self._idle: list[_Threads] = []

    @contextmanager
    def sharing(self, simulation: Any, *, seated: bool = False) -> Iterator[None]:
        """A context in which the simulation of a replica shares launches with other replicas if it
        can. Otherwise it takes one of the `seats`.

        Args:
            simulation: the simulation.
            seated: whether the task has a seat, which others may take while launches are shared.
        """
        joined = self._group is not None and simulation._join(self._group)
        seats: list[Callable[[], object]] = [self.seats.release, self.seats.acquire]
        before, after = seats if joined else reversed(seats)
        if joined:
            # Python runs one thread at a time, so that many replicas need longer pieces.
            simulation._longer = min(max(1, self._together / 64), 5)
        if joined == seated:
            before()

        def leave() -> None:
            try:
                if joined:
                    simulation._longer = 1.0
                    simulation._join(None)
            finally:
                if joined == seated:
                    after()

        try:
            yield
        except BaseException:
            with suppress(Exception):  # which would hide the first one
                leave()
            raise
        else:
            leave()

    def run(
        self,
        task: Callable[[int], T],
        stop: StopRequest,
        show: Callable[[], None] | None = lambda: None,
        *,
        together: bool = False,
    ) -> list[T]:
        """The results of a task for each replica of this rank, which is called with the position of
        the replica in `places`. `show` is called several times per second; if it is None, a single
        task runs in the calling thread, unless that is the main thread, which handles signals.

        The first exception stops the other tasks and is raised.

        Args:
            together: whether the task takes a seat, and may share launches, by itself.
        """
        count = len(self.places)
        if show is None and count == 1 and current_thread() is not main_thread():
            return [task(0)]
        look = show or (lambda: None)
        left, results = deque(range(count)), {}
        failed: list[BaseException] = []

        def work() -> None:
            while left:
                try:
                    slot = left.popleft()
                except IndexError:  # another thread has taken the last one
                    return
                try:
                    results[slot] = task(slot)
                except BaseException as error:
                    failed.append(error)
                    stop.request()
                    left.clear()

        threads = self._idle_threads()  # a task may make a call itself
        ended = threads.start(work, min(self._together if together else self._alone, count))
        try:
            while not ended.wait(0.1):
                look()
                _ = stop.requested  # other ranks may ask whether this one is alive
            look()
        except BaseException:
            stop.request()
            left.clear()
            while not ended.wait(0.1):
                _ = stop.requested
            raise
        self._idle.append(threads)
        if failed:
            try:
                raise failed[0]
            finally:
                failed.clear()  # its traceback refers to this function
        return [results[slot] for slot in range(count)]

    def _idle_threads(self) -> _Threads:
        """Threads without work. A forked process has none of those that its parent has started."""
        while True:
            try:
                threads = self._idle.pop()
            except IndexError:
                return _Threads()
            if threads.process == os.getpid():
                return threads

    def on_all_ranks(
        self,
        task: Callable[[int, StopRequest], T],
        show: Callable[[], None] | None = lambda: None,
        *,
        together: bool = False,
        to_the_end: bool = False,
        stop: StopRequest | None = None,
    ) -> list[T]:
        """The results of a task for all replicas of all ranks in their order, on every rank. A
        signal does not end a rank that waits for the others.

        If some ranks fail, all raise the error of the lowest of them.

        Args:
            task: function of the position of a replica in `places`, and of the request that ends it
                early.
            show, together: as for `run`.
            to_the_end: raise KeyboardInterrupt on the ranks that were asked to stop, and on all
                ranks if a task has not ended.
            stop: request to stop whose context the caller has entered (default one of this call).
        """
        stopped = False
        with nullcontext(stop) if stop else self._world.stop_request() as stop:

            def share() -> list[tuple[int, T]]:
                found = self.run(lambda slot: task(slot, stop), stop, show, together=together)
                if to_the_end and stop.requested_here:
                    raise Interrupted
                return [(place.index, each) for place, each in zip(self.places, found, strict=True)]

            try:
                results = self._world.agree(share)
                stopped = stop.requested_here
            except Interrupted:
                if not to_the_end:
                    raise
                stopped = True
        if to_the_end and stopped:
            raise KeyboardInterrupt
        return [result for _, result in sorted(results, key=lambda each: each[0])]


def named(name: str, task: Callable[[], T]) -> T:
    """The result of a task of one simulation of several, whose errors get its name."""
    try:
        return task()
    except RankLost:
        raise
    except Exception as error:
        kind = next((each for each in _ERRORS if isinstance(error, each)), RuntimeError)
        raise kind(f"{name}: {error}") from error


class _Threads:
    """Threads that wait for work between the runs of a team, because starting a thread takes longer
    than a short run of a small system."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._all: list[Thread] = []
        weakref.finalize(self, _dismiss, self._calls, self._all)

    def start(self, work: Callable[[], None], count: int) -> Event:
        """Call a function in a number of threads, with the context variables of the caller. The
        result is set at the end of all calls, when no thread refers to the function any more."""
        ended, lock, running = Event(), Lock(), count

        def end() -> None:
            nonlocal running
            with lock:
                running -= 1
                if not running:
                    ended.set()

        while len(self._all) < count:
            thread = Thread(target=_serve, args=(self._calls,), daemon=True)
            thread.start()
            self._all.append(thread)
        for _ in range(count):
            self._calls.put((partial(copy_context().run, work), end))
        if not count:
            ended.set()
        return ended


_Call = tuple[Callable[[], None], Callable[[], None]]


def _serve(calls: SimpleQueue[_Call | None]) -> None:
    while (call := calls.get()) is not None:
        work, end = call
        del call
        try:
            work()
        finally:
            del work
            end()


def _dismiss(calls: SimpleQueue[_Call | None], threads: list[Thread]) -> None:
    for _ in threads:
        calls.put(None)


def _most_with_files() -> int:
    """Number of simulations for whose files the limit on open files of this process suffices."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY:
        return _MOST_TOGETHER
    return (most - _OTHER_FILES) // _FILES


def _threads_of_each(
    devices: Sequence[str], threads: int | None, replicas: int, cores: int
) -> list[int | None]:
    """Number of threads of each concurrent engine, one entry per replica that runs at a time.

    CPU engines share `threads` (by default all cores); engines on GPUs leave the choice to the
    engine.
    """
    if all(map(on_gpu, devices)):
        return [threads] * min(replicas, _PER_GPU * len(devices))
    total = threads or cores
    concurrent = max(1, min(replicas, total))
    return [total // concurrent + (i < total % concurrent) for i in range(concurrent)]
