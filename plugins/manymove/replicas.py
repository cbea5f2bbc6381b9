# SPDX-License-Identifier: BSD-3-Clause
"""Independent simulations on the threads, devices and MPI ranks of a job."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from manymove import arguments, files
from manymove.analysis.blocking import pool
from manymove.analysis.notation import Estimate
from manymove.analysis.stopping import decisions
from manymove.attributes import CheckedAttributes, Uncopied
from manymove.checkpoint import PathLike
from manymove.errors import ParameterError
from manymove.jobs.progress import MovesBar, StopRequest
from manymove.jobs.report import hash_of, write_json
from manymove.jobs.team import Member, Place, Team, named
from manymove.jobs.world import World, ranks_apart
from manymove.optional import need
from manymove.runs import Callbacks, checked
from manymove.simulation import Simulation, interruptible, load

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")
Make = Callable[..., Simulation] | Simulation

_CONTENTS = "replicas.json"


class Replicas(Uncopied, CheckedAttributes):
    """Independent simulations of one class, which run at the same time.

    The replicas share the cores of the process, or take the GPUs in turn, and MPI ranks divide
    them among each other. The seed of replica i is the given seed plus i, and its trajectory is
    that of the same simulation alone.

    With `comm`, all ranks make the same calls in the same order. Results are those of all replicas,
    on every rank. Ctrl-C, SIGTERM and SIGHUP end all runs within a second (DPD fluids at a multiple
    of 500 steps), in a valid state, with a KeyboardInterrupt. An error of one replica ends the runs
    of the others in a valid state as well. The message names the replica; other ranks raise it as a
    RuntimeError.

    Raises:
        TypeError: `make` is neither a function, a simulation nor a sequence of these, or a function
            does not return a simulation.
        ValueError: `count` is missing or not positive, or an error of the class.
        RankLost: (a RuntimeError, on all ranks) a rank is silent or has failed.
    """

    def __init__(
        self,
        make: Make | Sequence[Make],
        count: int | None = None,
        *,
        seed: int,
        comm: Any = None,
        device: str | Sequence[str] = "auto",
        threads: int | None = None,
    ) -> None:
        """Create the replicas.

        Args:
            make: function that is called as ``make(seed=..., device=..., threads=...)`` and returns
                a simulation, for instance ``partial(HardDisks.random, 1000, 0.7)``; or a
                simulation, from whose present configuration all replicas start. Or a sequence of
                these with one item for each replica, for example for a scan of a parameter.
            count: number of replicas; for a sequence its length.
            seed: seed of the first replica. Each following replica has the next integer.
            comm: communicator of mpi4py, whose ranks divide the replicas (default one process).
            device: "auto" (on several ranks the GPU of the local rank, if there is one), "cpu" or a
                GPU; or a sequence of devices, which the replicas take in turn, such as
                ["cuda:0", "cuda:1"]. GPUs such as "cuda:0,1" share one replica after the other.
            threads: number of threads of all CPU engines of all ranks (default all cores).
        """
        makes = _makes(make, count)
        arguments.integer("seed", seed)

        def create(place: Place) -> Simulation:
            where = {"device": place.device, "threads": place.threads}
            return makes[place.index](seed=seed + place.index, **where)

        self._settle(len(makes), comm, device, threads)
        self._begin(create)
        seeds = self.map(lambda one: one.seed)
        if len({*seeds}) < len(seeds):  # copies, whose errors would be too small
            raise ParameterError("make", f"must use its seed; the replicas have the seeds {seeds}")

    def _settle(
        self, count: int, comm: Any, device: str | Sequence[str], threads: int | None
    ) -> None:
        if comm is not None and not all(hasattr(comm, name) for name in ("rank", "size", "Split")):
            raise TypeError(f"comm must be a communicator of mpi4py, got {comm!r}")
        names = [device] if isinstance(device, str) else device
        if not (isinstance(names, Sequence) and names and all(isinstance(n, str) for n in names)):
            raise TypeError(f"device must be a string or a sequence of strings, got {device!r}")
        if threads is not None:
            arguments.count("threads", threads)
        self._count = count
        self._world = World() if comm is None else World.of(comm)
        self._team = Team(self._world, self._world.share(range(count)), device, threads)
        self._folder: Path | None = None  # that has the states of these replicas
        self._stop: StopRequest | None = None  # of a run that makes several calls

    def _begin(self, create: Callable[[Place], Any]) -> None:
        found: dict[int, Simulation] = {}

        def keep(slot: int, stop: StopRequest) -> str:
            with interruptible(lambda: stop.requested), ranks_apart(self._world.size > 1):
                created = create(self._team.places[slot])
            if not isinstance(created, Simulation):
                raise TypeError(f"make must return a simulation of manymove, got {created!r}")
            found[slot] = created
            return type(created).__name__

        kinds = self._each(keep)
        if len({*kinds}) > 1:
            raise TypeError(f"make must return simulations of one class, got {', '.join(kinds)}")
        self._kind = kinds[0]
        self._simulations = [found[slot] for slot in range(len(found))]

    @property
    def indices(self) -> list[int]:
        """Indices of the replicas of this rank."""
        return [place.index for place in self._team.places]

    @property
    def simulations(self) -> list[Any]:
        """The replicas of this rank, objects of the class."""
        return [*self._simulations]

    # ---- running ---------------------------------------------------------------------------------

    def run(
        self,
        n: float,
        callbacks: Callbacks = (),
        *,
        progress: bool = False,
        folder: PathLike | None = None,
        every: float = 600.0,
    ) -> None:
        """Run each replica, as its own method `run` does.

        Args:
            n: number of sweeps or steps of each replica.
            callbacks: pairs (every, function). A function is called with a replica, in the thread
                of this replica; its `seed` tells replicas apart.
            progress: show a progress bar of all replicas of the first rank.
            folder: folder for checkpoints, as by `save`. They are written at the start, during the
                run, and at the end or after Ctrl-C.
            every: time in seconds between two checkpoints of a replica.

        Raises:
            FileExistsError: the folder has the replicas of another object.
            OSError: a checkpoint cannot be written.
            TypeError, ValueError, RuntimeError: an error of a replica or of a callback.
            KeyboardInterrupt: Ctrl-C, SIGTERM or SIGHUP. The replicas may have stopped at different
                values of their counters; `run_until` completes the run.
        """
        calls = checked(callbacks)
        self._run(lambda one: one.run(n, calls), "_end_after", n, progress, folder, every)

    def run_until(
        self,
        n: float,
        callbacks: Callbacks = (),
        *,
        equilibrate: float = 0,
        target_error: float | None = None,
        progress: bool = False,
        folder: PathLike | None = None,
        every: float = 600.0,
    ) -> list[bool] | None:
        """Run each replica up to a length, counted from its start. Replicas that are farther are
        left as they are, so that the same call completes a run that was interrupted or killed.

        With `target_error` a replica ends earlier if the relative standard error of its average is
        small enough, and the next one starts. The average is the pressure (hard particles and DPD
        fluids), the packing fraction at constant pressure, the energy of electrolytes and of closed
        adsorbates, or the loading of each species. The error is tested after each of at most 64
        equal parts of the measurement, and no replica ends early before 100 integrated correlation
        times (20 for the means over at least ten systems of adsorbates). Therefore the end does not
        depend on threads, ranks or interruptions.

        Args:
            n: number of sweeps or steps since the start of each replica.
            equilibrate: number of these that are an equilibration, whose samples are discarded.
                Adsorbates make them with the method `equilibrate`.
            target_error: relative standard error of the average of each replica (default none). For
                a mean over K replicas it is sqrt(K) times that of the mean.
            callbacks, progress, folder, every: as in `run`.

        Returns:
            With `target_error`, whether each replica has reached it, on every rank.

        Raises:
            ValueError: `equilibrate` is negative or larger than n, `target_error` is not positive,
                or an error of `run`.
            OSError, TypeError, RuntimeError, KeyboardInterrupt: as in `run`.
        """
        calls = checked(callbacks)
        if not 0 <= arguments.number("equilibrate", equilibrate) <= arguments.number("n", n):
            raise ParameterError("equilibrate", f"must be from 0 to n = {n}, got {equilibrate}")
        target = target_error
        if target is not None:
            if not 0 < arguments.number("target_error", target) < math.inf:
                raise ParameterError("target_error", f"must be positive and finite, got {target}")
            self.map(lambda one: one._is_reached(target))  # raises an error if nothing is sampled

        def advance(one: Any) -> bool:
            if equilibrate and one.elapsed <= one._end_of(equilibrate):
                one._equilibrate_until(equilibrate, calls)
            ends = [n] if target is None else decisions(equilibrate, n, one._SEGMENT)
            for end in ends:
                if one.elapsed > one._end_of(end) and end < n:
                    continue  # there it was decided before
                one.run_until(end, calls)
                if target is not None and one._is_reached(target):
                    return True
            return False

        found = self._run(advance, "_end_of", n, progress, folder, every)
        return None if target is None else found

    def _run(
        self,
        advance: Callable[[Any], T],
        end: str,
        n: float,
        progress: bool,
        folder: PathLike | None,
        every: float,
    ) -> list[T]:
        """The results of a function that runs a replica, for all replicas. `end` is the name of the
        method that returns the counter at the end of a run of length n."""
        if not 0 <= arguments.number("n", n) < math.inf:
            raise ParameterError("n", f"must be finite and not negative, got {n}")
        arguments.not_negative("every", every)
        where = None if folder is None else Path(folder).absolute()
        if where is not None:
            self.save(where)
        starts = [one.elapsed for one in self._simulations]
        ends = [getattr(one, end)(n) for one in self._simulations]
        members: dict[int, Member] = {}

        def task(slot: int, stop: StopRequest) -> T:
            found: list[T] = []

            def save(one: Simulation) -> None:
                if where is not None:
                    self._save(slot, where)

            one = self._simulations[slot]
            members[slot] = Member(stop, every, save)
            members[slot].advance(one, lambda one: found.append(advance(one)), self._team.sharing)
            save(one)
            # Without a result the run is interrupted, which `_each` raises.
            return found[0] if found else None  # type: ignore[return-value]

        bar = MovesBar(
            f"{self._count} replicas",
            sum(max(0, last - first) for first, last in zip(starts, ends, strict=True)),
            unit=self._simulations[0]._COUNTER if starts else "steps",
            quiet=not progress or self._world.rank > 0,
        )

        def show() -> None:
            done = [(slot, one.moves) for slot, one in [*members.items()]]
            bar.show(sum(max(0, moves - starts[slot]) for slot, moves in done))

        with closing(bar):
            return self._each(task, show, together=True)

    def _each(
        self,
        task: Callable[[int, StopRequest], T],
        show: Callable[[], None] = lambda: None,
        *,
        together: bool = False,
    ) -> list[T]:
        """The results of a task for all replicas in their order, on every rank."""
        places = self._team.places

        def one(slot: int, stop: StopRequest) -> T:
            try:
                return named(f"replica {places[slot].index}", partial(task, slot, stop))
            except KeyboardInterrupt:  # while a simulation is created, or of a function of `map`
                if not stop.requested:
                    stop.request()
                return None  # type: ignore[return-value]  # `to_the_end` raises the interruption

        stop = self._stop
        return self._team.on_all_ranks(
            one, show, together=together, to_the_end=stop is None, stop=stop
        )

    def map(self, function: Callable[[Any], T]) -> list[T]:
        """Call a function for each replica, in the thread of the replica.

        Args:
            function: function of a simulation, for example
                ``lambda disks: disks.sample_pressure(every=10)``.

        Returns:
            The results in the order of the replicas, on every rank. Several ranks exchange them as
            pickles.

        Raises:
            TypeError, ValueError, RuntimeError: an error of the function.
            KeyboardInterrupt: as in `run`.
        """
        return self._each(lambda slot, _: function(self._simulations[slot]))

    def reset_averages(self) -> None:
        """Discard all samples and records of all replicas."""
        self.map(lambda one: one.reset_averages())

    # ---- results ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<Replicas: {self._count} of {self._kind}, ranks = {self._world.size}>"

    def average(self, quantity: str | Callable[[Any], Any]) -> Any:
        """Mean of a quantity over the replicas with its standard error (`manymove.analysis.pool`),
        for replicas that differ in their seeds only.

        Args:
            quantity: name of an attribute, such as "pressure_average" or "loading", or a function
                of a simulation. Its value is an `Estimate`, or a list or a dictionary of these.

        Returns:
            An `Estimate`, or a list or a dictionary of these.

        Raises:
            TypeError: the quantity has no standard error.
            AttributeError, RuntimeError: an error of the attribute, for example if nothing was
                sampled.
        """
        read = attrgetter(quantity) if isinstance(quantity, str) else quantity
        return _pooled(self.map(read), quantity)

    def to_dataframe(self) -> pandas.DataFrame:
        """The tables of all replicas as one, with the additional first columns `replica` and
        `seed`.

        Raises:
            ImportError: pandas is not installed.
            RuntimeError: nothing is sampled.
        """
        pandas = need("pandas", "to_dataframe")
        tables = self.map(lambda one: (one.seed, one.to_dataframe()))
        for index, (seed, table) in enumerate(tables):
            table.insert(0, "replica", index)
            table.insert(1, "seed", seed)
        return pandas.concat([table for _, table in tables], ignore_index=True)

    @property
    def elapsed(self) -> list[int]:
        """The counter `elapsed` of each replica."""
        return self.map(lambda one: one.elapsed)

    @property
    def state_hash(self) -> str:
        """Hash of the states of all replicas, 16 hexadecimal digits, as in the summary of a
        command; that of the replica if there is one."""
        return hash_of(self.map(lambda one: one.state_hash)) or ""

    # ---- files -----------------------------------------------------------------------------------

    def write_gsd(
        self, folder: PathLike | None, every: int | None = None, *, overwrite: bool = False
    ) -> None:
        """Write the present configuration of each replica, or the configurations of the following
        runs, to a file ``replica-<i>.gsd`` as by the method of the class.

        Args:
            folder: path of the folder, which is made if it does not exist; None ends the output of
                all files with `every`.
            every, overwrite: arguments of the method `write_gsd` of the class.

        Raises:
            OSError, TypeError, ValueError: an error of the class.
        """
        where = None if folder is None else Path(folder).absolute()
        if where is not None:
            self._on_first(lambda: files.make_folder(where))

        def write(slot: int, stop: StopRequest) -> None:
            path = where and where / f"replica-{self._team.places[slot].index}.gsd"
            self._simulations[slot].write_gsd(path, every, overwrite=overwrite)

        self._each(write)

    def save(self, folder: PathLike, *, overwrite: bool = False) -> None:
        """Write the checkpoints of all replicas into a folder, which all ranks must share.

        ``replica-<i>.state`` is a checkpoint of replica i, which `manymove.load` can read. A file
        is replaced only when the new one is on the disk. A kill may leave states of different
        times; `load` and `run_until` then complete the run.

        Args:
            folder: path of the folder, which is made if it does not exist.
            overwrite: replace the replicas of another object in the folder.

        Raises:
            FileExistsError: the folder has the replicas of another object.
            OSError: a file cannot be written.
        """
        where = Path(folder).absolute()
        contents = where / _CONTENTS
        if where == self._folder:
            self._each(lambda slot, _: self._save(slot, where))
            return

        def begin() -> None:
            files.make_folder(where)
            if contents.exists() and not overwrite:
                raise FileExistsError(
                    f"{folder} has other replicas: load them, choose another folder, or save with "
                    "overwrite=True"
                )
            files.remove(contents)

        self._on_first(begin)
        self._each(lambda slot, _: self._save(slot, where))
        self._on_first(lambda: write_json(contents, {"replicas": self._count}))
        self._folder = where

    def _on_first(self, task: Callable[[], object]) -> None:
        """A task of the first rank, whose error all ranks raise."""
        self._world.agree(lambda: [task()] if self._world.rank == 0 else [])

    def _save(self, slot: int, folder: Path) -> None:
        index = self._team.places[slot].index
        self._simulations[slot].save(folder / f"replica-{index}.state")

    @classmethod
    def load(
        cls,
        folder: PathLike,
        *,
        comm: Any = None,
        device: str | Sequence[str] = "auto",
        threads: int | None = None,
    ) -> Replicas:
        """Create the replicas of a folder that `save` or a run has written, on any number of ranks.

        Args:
            folder: path of the folder.
            comm, device, threads: arguments of the class.

        Raises:
            FileNotFoundError: the folder has no replicas.
            OSError: a file cannot be read.
            ValueError: a file is damaged.
            MemoryError: the replicas do not fit into memory.
        """
        where = Path(folder).absolute()
        try:
            count = json.loads((where / _CONTENTS).read_text())["replicas"]
            arguments.count("replicas", count)
        except FileNotFoundError:
            raise FileNotFoundError(f"{folder} has no replicas: {_CONTENTS} is missing") from None
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(f"{where / _CONTENTS} is damaged: {error}") from None
        self = cls.__new__(cls)
        self._settle(count, comm, device, threads)
        self._begin(
            lambda place: load(where / f"replica-{place.index}.state", place.device, place.threads)
        )
        self._folder = where
        return self


def _makes(make: Make | Sequence[Make], count: int | None) -> list[Callable[..., Any]]:
    """A function for each replica that takes seed, device and threads."""
    if isinstance(make, Sequence):
        if not make:
            raise ParameterError("make", "must have an item for each replica, got none")
        if count not in (None, len(make)):
            raise ParameterError("count", f"must be the length {len(make)} of make, got {count}")
        makes = [*make]
    else:
        if count is None:
            raise ParameterError("count", "must be the number of replicas, got None")
        makes = [make] * arguments.count("count", count)
    for index, one in enumerate(makes):
        other_class = isinstance(one, type) and not issubclass(one, Simulation)
        if other_class or not (isinstance(one, Simulation) or callable(one)):
            raise TypeError(
                f"replica {index}: make must be a function that returns a simulation, or a "
                f"simulation, got {one!r}"
            )
    copies = {id(one): _copies(one) for one in makes if isinstance(one, Simulation)}
    return [copies[id(one)] if isinstance(one, Simulation) else one for one in makes]


def _copies(simulation: Simulation) -> Callable[..., Simulation]:
    """A function that makes copies of a simulation with other seeds. One thread at a time uses the
    simulation."""
    lock = Lock()

    def copy(**changes: Any) -> Simulation:
        with lock:
            return simulation.replace(**changes)

    return copy


def _pooled(values: Sequence[Any], quantity: object) -> Any:
    """The mean over replicas of estimates, or of lists or dictionaries of estimates."""
    first = values[0]
    if isinstance(first, Estimate):
        return pool(values)
    if isinstance(first, Mapping):
        return {key: _pooled([each[key] for each in values], quantity) for key in first}
    if isinstance(first, (list, tuple)):
        return [_pooled(each, quantity) for each in zip(*values, strict=True)]
    raise TypeError(
        f"quantity must be an Estimate, or a list or a dictionary of these, and {quantity!r} is "
        f"{first!r}"
    )
