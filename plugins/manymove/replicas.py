"""Independent replicas over threads and MPI ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar

from manymove import _core
from manymove.progress import StopRequest

T = TypeVar("T")

# Environment variables <name>_SIZE and <name>_RANK of Open MPI, of MPICH and Intel MPI, of MVAPICH.
_LAUNCHERS = ("OMPI_COMM_WORLD", "PMI", "MV2_COMM_WORLD")
_REPLICAS_PER_GPU = 16


def _usable_cores() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def launched_rank() -> int:
    """Rank of this process according to its launcher, before MPI is initialised."""
    return max(int(os.environ.get(f"{name}_RANK", "0")) for name in _LAUNCHERS)


@dataclass(frozen=True)
class World:
    """The MPI ranks that share a job; a single process is a world of one.

    Attributes:
        rank, size: of this process among all.
        local_rank: among those of the same machine.
        cores: CPU cores that fall to this process, at least 1.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    cores: int = field(default_factory=lambda: len(_usable_cores()))
    communicator: Any = None

    @classmethod
    def connect(cls) -> World:
        """Join the other ranks if the process was started by mpirun or the like.

        Raises:
            ImportError: it was, with several ranks, but mpi4py is not installed.
        """
        launched = max(int(os.environ.get(f"{name}_SIZE", "1")) for name in _LAUNCHERS)
        if launched == 1:
            return cls()
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise ImportError(
                f"started by mpirun with {launched} ranks, which needs mpi4py: "
                "pip install 'manymove[mpi]'"
            ) from error
        return cls.of(MPI.COMM_WORLD)

    @classmethod
    def of(cls, everyone: Any) -> World:
        """The ranks of a communicator of mpi4py."""
        from mpi4py import MPI

        machine = everyone.Split_type(MPI.COMM_TYPE_SHARED)
        mine = _usable_cores()
        # Ranks bound to cores of their own keep them; those with the same cores divide them.
        sharing = machine.allgather(mine).count(mine)
        cores = max(1, len(mine) // sharing)
        return cls(everyone.rank, everyone.size, machine.rank, cores, everyone)

    def share(self, items: Sequence[T]) -> list[T]:
        """The items that fall to this rank."""
        return list(items[self.rank :: self.size])

    def gather(self, items: list[T]) -> list[T]:
        """The items of all ranks, on every rank."""
        if self.communicator is None:
            return items
        return [item for part in self.communicator.allgather(items) for item in part]

    def device(self, wanted: str) -> str:
        """This rank's device: with "auto" and "cuda", GPUs are dealt out by local rank."""
        gpus = len(_core.cuda_devices())
        if self.size > 1 and gpus and wanted in ("auto", "cuda"):
            return f"cuda:{self.local_rank % gpus}"
        return wanted


def share_of_threads(
    device: str, threads: int | None, replicas: int, cores: int
) -> list[int | None]:
    """Threads of each concurrent engine, one entry per replica that runs at the same time.

    CPU engines share `threads` (by default all cores); engines on a GPU leave the choice to the
    engine.
    """
    on_gpu = device.startswith("cuda") or (device == "auto" and _core.cuda_devices())
    if on_gpu:
        return [threads] * min(replicas, _REPLICAS_PER_GPU)
    total = threads or cores
    concurrent = min(replicas, total)
    return [total // concurrent + (i < total % concurrent) for i in range(concurrent)]


def run_concurrently(
    tasks: Sequence[Callable[[], T]],
    workers: int,
    stop: StopRequest,
    show: Callable[[], None],
) -> list[T]:
    """Run the tasks in at most `workers` threads; `show` is called several times a second.

    The first exception stops the other tasks and is raised.
    """
    with ThreadPoolExecutor(max_workers=workers) as pool:
        futures = [pool.submit(task) for task in tasks]
        pending = set(futures)
        try:
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_EXCEPTION)
                show()
                for future in done:
                    future.result()
        except BaseException:
            stop.request()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
