"""Simulations of this process that run at the same time, each with its device and its threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Semaphore
from typing import Any, TypeVar

from manymove import _core
from manymove.devices import on_gpu
from manymove.jobs.progress import Interrupted, StopRequest
from manymove.jobs.world import World

T = TypeVar("T")

_PER_GPU = 16  # simulations with launches of their own
_FEWEST_TOGETHER, _MOST_TOGETHER = 4, 1024  # simulations that share launches


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


class Team:
    """The replicas of this rank, which share its cores and its devices.

    Args:
        world: all ranks.
        indices: indices of this rank's replicas.
        device: device of all replicas; or devices, which the replicas take in turn.
        threads: number of threads of all ranks together (default all cores).
        at_once: maximum number of replicas that run at the same time.

    Attributes:
        places: the places of this rank's replicas, in the order of the indices.
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
        most = min(len(indices), at_once or len(indices))
        shares = _threads_of_each(devices, world.threads(threads), most, world.cores)
        self.places = [
            Place(index, devices[index % len(devices)], shares[slot % len(shares)])
            for slot, index in enumerate(indices)
        ]
        self._seats = Semaphore(len(shares))
        self._workers = len(shares)
        self._group: Any = None
        # Fewer systems, and those of a CPU, are faster alone.
        if at_once is None and len(indices) >= _FEWEST_TOGETHER and any(map(on_gpu, devices)):
            self._group = _core.HardParticlesGroup()
            self._workers = min(len(indices), _MOST_TOGETHER)
        self._pool = ThreadPoolExecutor(max(1, self._workers))

    @contextmanager
    def sharing(self, simulation: Any) -> Iterator[None]:
        """A context, in the task of a replica, in which its simulation shares launches with those
        of other replicas if it can. Then more replicas run at the same time."""
        if self._group is None or not simulation._join(self._group):
            yield
            return
        simulation._longer = min(max(1, self._workers / 64), 5)  # one thread at a time is in Python
        self._seats.release()
        try:
            yield
        finally:
            simulation._join(None)
            simulation._longer = 1.0
            self._seats.acquire()

    def run(
        self,
        task: Callable[[int], T],
        stop: StopRequest,
        show: Callable[[], None] = lambda: None,
    ) -> list[T]:
        """The results of a task for each replica of this rank, which is called with the position of
        the replica in `places`. `show` is called several times per second.

        The first exception stops the other tasks and is raised.
        """
        left = deque(range(len(self.places)))
        results: dict[int, T] = {}

        def work() -> None:
            while left:
                try:
                    slot = left.popleft()
                except IndexError:  # another thread has taken the last one
                    return
                with self._seats:
                    results[slot] = task(slot)

        pending = {self._pool.submit(work) for _ in range(min(self._workers, len(left)))}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                show()
                _ = stop.requested  # other ranks may ask whether this one is alive
                for future in done:
                    future.result()
        except BaseException:
            stop.request()
            left.clear()
            wait(pending)
            raise
        return [results[slot] for slot in range(len(self.places))]

    def on_all_ranks(
        self,
        task: Callable[[int, StopRequest], T],
        show: Callable[[], None] = lambda: None,
        *,
        to_the_end: bool = False,
    ) -> list[T]:
        """The results of a task for all replicas of all ranks in their order, on every rank. A
        signal does not end a rank that waits for the others.

        If some ranks fail, all raise the error of the lowest of them.

        Args:
            task: function of the position of a replica in `places`, and of the request that ends it
                early.
            show: as for `run`.
            to_the_end: raise KeyboardInterrupt on the ranks that were asked to stop, and on all
                ranks if a task has not ended.
        """
        stopped = False
        with self._world.stop_request() as stop:

            def share() -> list[tuple[int, T]]:
                found = self.run(lambda slot: task(slot, stop), stop, show)
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
