"""Tasks of this process that run at the same time, each with its device and its threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from manymove.jobs.progress import StopRequest
from manymove.jobs.world import World, run_concurrently, share_of_threads

T = TypeVar("T")


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
        devices = [world.device(device)] if isinstance(device, str) else [*device]
        most = min(len(indices), at_once or len(indices))
        shares: list[int | None] = []
        if indices:
            shares = share_of_threads(devices, world.threads(threads), most, world.cores)
        self._workers = len(shares)
        self.places = [
            Place(index, devices[index % len(devices)], shares[slot % len(shares)])
            for slot, index in enumerate(indices)
        ]

    def run(
        self,
        tasks: Sequence[Callable[[], T]],
        stop: StopRequest,
        show: Callable[[], None] = lambda: None,
        workers: int = 0,
    ) -> list[T]:
        """Run a task for each replica, in at least `workers` threads. `show` is called several
        times per second.

        The first exception stops the other tasks and is raised.
        """

        def look() -> None:
            show()
            _ = stop.requested  # other ranks may ask whether this one is alive

        workers = max(workers, self._workers)
        return run_concurrently(tasks, workers, stop, look) if tasks else []
