"""Independent replicas over MPI ranks."""

from __future__ import annotations

import os
import platform
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from manymove import _core
from manymove.devices import usable_cores
from manymove.jobs.channel import Channel, RankLost
from manymove.jobs.progress import Interrupted, StopRequest

T = TypeVar("T")

# Environment variables with the rank of a process and the number of ranks: those of Open MPI, of
# MPICH and Intel MPI, of MVAPICH, and of a job step of Slurm (an mpirun inside a step has
# priority). PMIx has the rank only.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)
_LISTEN = 0.2  # seconds between two checks for an alarm of another rank
_HEARD = 0.5  # seconds for the launcher to print a rank's message before the rank aborts all


def _launched() -> tuple[int, int | None, str]:
    """Rank and number of ranks (None if unknown) according to the launcher, before MPI is
    initialized, and the name of the variable."""
    for rank, size in _LAUNCHERS:
        if size in os.environ:
            return int(os.environ.get(rank, "0")), int(os.environ[size]), size
    if "PMIX_RANK" in os.environ:
        return int(os.environ["PMIX_RANK"]), None, "PMIX_RANK"
    return 0, 1, ""


def launched_rank() -> int:
    """Rank of this process according to its launcher, before MPI is initialized."""
    return _launched()[0]


def launched_size() -> int:
    """Number of ranks according to the launcher, 1 if it is unknown."""
    return _launched()[1] or 1


def _refuse_no_ranks() -> None:
    """Refuse a number of ranks that is not positive. For `mpirun -n 0`, MPICH starts one rank
    without a message. The environment of that rank does not show it, but the command line of its
    launcher does.

    Raises:
        RuntimeError: the launcher on this host was asked for no ranks.
    """
    pid = os.getppid()
    for _ in range(4):  # the launcher's helper, perhaps a shell, the launcher
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            return
        if any("mpirun" in word or "mpiexec" in word for word in words[:2]):
            asked = [number for option, number in pairwise(words) if option in ("-n", "-np")]
            if asked and re.fullmatch(r"-\d+|0*", asked[0]):  # other words are of the program
                raise RuntimeError(
                    f"{os.path.basename(words[0])} was asked for {asked[0] or 'no'} ranks, and has "
                    "started one: the number of ranks must be at least 1"
                )
            return


def require_one_process(command: str, instead: str) -> None:
    """Refuse several ranks for a command of one process, because all would write the same files.

    Raises:
        RuntimeError: a launcher has started this process together with others.
    """
    rank, size, variable = _launched()
    if variable and size == 1:
        _refuse_no_ranks()
    if rank > 0 or size not in (1, None):
        raise RuntimeError(
            f"{command} is for one process, but mpirun or srun has started {size or 'several'}: "
            f"{instead}"
        )


_APART: ContextVar[bool] = ContextVar("apart", default=False)


@contextmanager
def ranks_apart(apart: bool) -> Iterator[None]:
    """A context in which each of several ranks makes simulations of its own, if `apart` is true."""
    token = _APART.set(apart)
    try:
        yield
    finally:
        _APART.reset(token)


def are_ranks_apart() -> bool:
    """Whether each of several ranks makes simulations of its own."""
    return _APART.get()


@dataclass(frozen=True)
class World:
    """The MPI ranks that share a job; a single process is a world of one.

    Attributes:
        rank, size: rank of this process, and number of all ranks.
        local_rank: rank of this process among those of the same machine.
        cores: number of CPU cores for this process, at least 1.
        hosts: where the ranks are, such as "0-1 on node1, 2-3 on node2"; empty if all are on one
            host.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    cores: int = field(default_factory=lambda: len(usable_cores()))
    communicator: Any = None
    hosts: str = ""

    @classmethod
    def connect(cls) -> World:
        """Join the other ranks if a launcher such as mpirun or srun has started the process.

        Raises:
            ImportError: there are several ranks, but mpi4py is not installed.
            RuntimeError: the launcher was asked for no ranks; or there are several, but the MPI
                of mpi4py does not see the others, so that all would write the same files.
        """
        rank, launched, variable = _launched()
        if launched == 1:
            if variable:
                _refuse_no_ranks()
            return cls()
        told = f"{launched} ranks" if launched else f"{variable} = {rank}"
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise ImportError(
                f"started by mpirun or srun with {told}, which needs mpi4py: "
                f"pip install 'mpi4py>=4' (or unset {variable}, for runs of their own)"
            ) from error
        if MPI.COMM_WORLD.size == 1 and (rank > 0 or launched):
            raise RuntimeError(
                f"started by mpirun or srun with {told}, but mpi4py sees one: use the launcher of "
                f"its MPI (srun: --mpi=pmix or pmi2), or unset {variable} for runs of their own"
            )
        try:
            world = cls.of(MPI.COMM_WORLD)
        except RankLost as error:
            cls(communicator=MPI.COMM_WORLD).abort(str(error))
        if world.hosts and rank == 0:
            print(f"messages travel through MPI; ranks {world.hosts}", file=sys.stderr)
        return world

    @classmethod
    def of(cls, everyone: Any) -> World:
        """The ranks of an mpi4py communicator. All ranks call this together.

        Raises:
            RuntimeError: the ranks run different versions of this package.
        """
        rank, mine = everyone.rank, (_machine(), usable_cores(), version("manymove"))
        every = Channel(everyone, "jobs").all(mine) if everyone.size > 1 else [mine]
        machines = [machine for machine, *_ in every]
        versions = {number: machine[0] for machine, _, number in every}
        if len(versions) > 1:
            text = ", ".join(f"{number} on {host}" for number, host in versions.items())
            raise RuntimeError(f"the ranks run different versions of manymove: {text}")
        # Ranks that are bound to different cores keep them; ranks with the same cores divide them.
        cores = max(1, len(mine[1]) // every.count(mine))
        hosts = _by_host(machines) if len(set(machines)) > 1 else ""
        local_rank = machines[:rank].count(mine[0])
        return cls(rank, everyone.size, local_rank, cores, everyone, hosts)

    @property
    def _channel(self) -> Channel | None:
        if self.communicator is None or self.size == 1:
            return None
        return Channel(self.communicator, "jobs")

    def share(self, items: Sequence[T]) -> list[T]:
        """The items of this rank."""
        return list(items[self.rank :: self.size])

    def gather(self, items: list[T]) -> list[T]:
        """The items of all ranks, on every rank, however long the others compute.

        Raises:
            RankLost: another rank is silent: it neither makes this call nor reads `stop_request`.
        """
        if self._channel is None:
            return items
        return [item for part in self._channel.all(items) for item in part]

    def answering(self) -> AbstractContextManager[None]:
        """A context in which this rank answers waiting ranks from a thread."""
        return self._channel.answering() if self._channel else nullcontext()

    def stop_request(self) -> StopRequest:
        """A request to stop by the user, or by another rank that has failed. Reading it tells
        waiting ranks that this one is alive."""
        return StopRequest(_Listener(self._channel)) if self._channel else StopRequest()

    def failures(self, mine: Exception | None) -> list[str]:
        """The failures of all ranks in their order. Each rank calls it at the end of its part.

        A rank that fails notifies the others, whose `stop_request` then becomes true. They write
        their checkpoints and make this call within seconds.
        """
        channel = self._channel
        if channel is None:
            return [] if mine is None else [str(mine)]
        if mine is not None:
            channel.core.raise_alarm()
        failed = self.gather([(self.rank, str(mine))] if mine is not None else [])
        channel.core.take_alarms(sum(rank != self.rank for rank, _ in failed))
        return [text for _, text in failed]

    def each(self, task: Callable[[], T]) -> T:
        """The result of the task of this rank.

        If the task fails on some ranks, those that read `stop_request` end early, and all ranks
        raise the error of the lowest of them.

        Raises:
            RankLost: another rank is silent.
            Interrupted: the task of the lowest rank that has failed was interrupted.
            RuntimeError: another error of another rank. Errors of the task are raised as they are.
        """
        failure: Exception | None = None
        try:
            result = task()
        except RankLost:
            raise
        except Exception as error:
            failure = error
        failures = self.failures(failure)
        if failure is not None and failures[0] == str(failure):
            raise failure
        if failures:
            raise Interrupted() if failures[0] == Interrupted.TEXT else RuntimeError(failures[0])
        return result

    def agree(self, task: Callable[[], list[T]]) -> list[T]:
        """The items of the tasks of all ranks, on every rank, or an error as by `each`."""
        return self.gather(self.each(task))

    def abort(self, message: str) -> NoReturn:
        """End the processes of all ranks, including silent ones, with a message on the standard
        error."""
        print(f"manymove: error: {message}", file=sys.stderr, flush=True)
        if self.communicator is not None:
            time.sleep(_HEARD)
            self.communicator.Abort(2)
        raise SystemExit(2)

    def device(self, wanted: str) -> str:
        """The device of this rank. With "auto" and "cuda" the local rank determines the GPU."""
        gpus = len(_core.cuda_devices())
        if self.size > 1 and gpus and wanted in ("auto", "cuda"):
            return f"cuda:{self.local_rank % gpus}"
        return wanted

    def threads(self, of_all: int | None) -> int | None:
        """This rank's share of the threads of all ranks, at least one of them."""
        return of_all and max(1, -((self.rank - of_all) // self.size))


def _machine() -> tuple[str, str]:
    """The name of the host, and with it a name that is the same for all processes of a machine and
    for no others. Containers of one kernel with different host names count as different
    machines."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return platform.node(), file.read()
    except OSError:
        return platform.node(), ""


def _by_host(machines: Sequence[tuple[str, str]]) -> str:
    parts = []
    for machine, group in groupby(range(len(machines)), machines.__getitem__):
        first, *others = group
        parts.append(f"{first}{f'-{others[-1]}' if others else ''} on {machine[0]}")
    return ", ".join(parts)


class _Listener:
    """Whether another rank has failed. Several threads may read it; each time, waiting ranks get an
    answer."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._heard, self._next = False, 0.0
        self._lock = threading.Lock()

    def __call__(self) -> bool:
        with self._lock:
            if not self._heard and (now := time.monotonic()) >= self._next:
                self._next = now + _LISTEN
                try:
                    self._heard = self._channel.core.alarms() > 0
                except RankLost:  # the next wait raises it again
                    self._heard = True
            return self._heard
