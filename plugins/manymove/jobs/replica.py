"""The common part of the jobs of `manymove disks`, `electrolyte` and `adsorption`: replicas over
threads and ranks. A replica is an engine from its start to its last move, with checkpoints."""

from __future__ import annotations

import json
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np

from manymove import checkpoint, files
from manymove.jobs import output_folder, report
from manymove.jobs.channel import RankLost
from manymove.jobs.options import OPTIONS_FILE, check_declared, least, not_negative, positive
from manymove.jobs.progress import Interrupted, MovesBar, StopRequest
from manymove.jobs.team import Member, Team, named
from manymove.jobs.world import World
from manymove.simulation import interruptible

if TYPE_CHECKING:
    from manymove.io import FrameWriter

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Session:
    """The options that all commands that simulate in this process have in common.

    Run:
        seed: Seed of the random number generator.

    Files:
        quiet: Print neither progress nor a table.

    Device:
        device: Device: auto, cpu, cuda or cuda:<index>.
        threads: Number of CPU threads of the whole command (default all cores).
    """

    seed: Annotated[int, least(0)] = 1
    quiet: bool = False
    device: str = "auto"
    threads: Annotated[int | None, least(1)] = None


@dataclass(frozen=True, kw_only=True)
class Settings(Session):
    """The settings of a job. Those under the title of a group are options of the command.

    Run:
        equilibrate: Length of the equilibration in sweeps.
        seed: Seed of the random number generator; replica k adds k.

    Files:
        output: Folder of the results.
        checkpoint_every: Time between two checkpoints in seconds; 0 writes as many as possible
            (default 600).
        resume: Continue the run in --output with its options; length, device and threads may
            differ.
        overwrite: Replace the results in --output.

    Attributes:
        given: the options of the command, stored for `--resume`.
        folder: folder of the command, if `output` is that of one of several runs.
    """

    equilibrate: Annotated[int, least(0)]
    output: Path
    checkpoint_every: Annotated[float, not_negative] = 600.0
    resume: bool = False
    overwrite: bool = False
    given: dict[str, Any] | None = None
    folder: Path | None = None

    def __post_init__(self) -> None:
        check_declared(self)


@dataclass(frozen=True, kw_only=True)
class Measurement(Settings):
    """The settings of a job whose replicas measure an average.

    Run:
        target_error: Relative standard error of the measured average at which the run ends early
            (default none).
    """

    target_error: Annotated[float | None, positive] = None


@dataclass(frozen=True)
class Result:
    """The result of a replica. Most of its fields are attributes of the engine. Without a
    state_hash the replica was stopped before it began."""

    replica: int
    seed: int
    complete: bool
    reached: bool | None = None  # whether it has the target error; None without one
    trial_moves: int = 0  # and accepted ones, those of the equilibration and earlier runs included
    accepted_moves: int = 0
    session_moves: int = 0  # of what the progress bar counts, since the process started or resumed
    began: float = 0.0  # wall-clock times of the first and the last move of this session
    ended: float = 0.0
    device: str = ""
    device_name: str = ""
    threads: int | None = None
    max_displacement: float | None = None
    state_hash: str | None = None


def seconds_of(started: Sequence[Result]) -> float:
    """Time in seconds from the first move of a session to its last, over all replicas."""
    return max((r.ended for r in started), default=0) - min((r.began for r in started), default=0)


def missed(results: Sequence[Result]) -> list[str]:
    """The warning of replicas that have ended at the maximum length without the target error."""
    count = sum(r.complete and r.reached is False for r in results)
    if not count:
        return []
    of = f" ({count} of {len(results)} replicas)" if len(results) > 1 else ""
    return [f"target error not reached: the run has ended at its maximum length{of}"]


def of_all(settings: Measurement, results: Sequence[Result], ranks: int) -> dict[str, Any]:
    """The entries that the summaries of all jobs have."""
    started = [r for r in results if r.state_hash is not None]
    first = (started or results)[0]
    trial_moves = sum(r.trial_moves for r in started)
    accepted_moves = sum(r.accepted_moves for r in started)
    return {
        "complete": all(r.complete for r in results),
        "target": settings.target_error,
        "target_reached": (
            None if settings.target_error is None else all(r.reached is True for r in results)
        ),
        "trial_moves": trial_moves,
        "accepted_moves": accepted_moves,
        "acceptance": accepted_moves / trial_moves if trial_moves else None,
        "seconds": seconds_of(started),
        "device": first.device,
        "device_name": first.device_name,
        "threads": first.threads,
        "ranks": ranks,
        "seed": settings.seed,
        "state_hash": report.hash_of([r.state_hash for r in started]),
        **report.made_by(),
    }


class Replica(Member, ABC):
    """One engine from its start to its last move, in a thread of its own.

    Args:
        index: index of the replica, which is added to the seed of the settings.
        settings: settings of the job.
        device, threads: device and number of threads of the engine.
        stop: request that ends the replica early, with a checkpoint.
    """

    Result: ClassVar[type[Result]]

    def __init__(
        self, index: int, settings: Any, device: str, threads: int | None, stop: StopRequest
    ) -> None:
        super().__init__(stop, settings.checkpoint_every, self._write_both)
        self.writes = True  # whether this rank writes the files and has the result
        self._index = index
        self._settings = settings
        self._device = device
        self._threads = threads
        self._seed = settings.seed + index
        self._state = settings.output / f"checkpoint-{index}.state"
        self._records_file = self._state.with_suffix(".records")
        self._whole: set[Path] = set()  # those of the two files that are undamaged
        self._stored = False  # whether the options are
        self._trajectory: FrameWriter | None = None
        self._reached: bool | None = None  # whether it has the target error
        self._mark: dict[str, Any] | None = None  # the durable part of the trajectory

    def run(self, sharing: Callable[[Any], AbstractContextManager[None]]) -> Any:
        """Equilibrate and measure; a requested stop ends it early with a checkpoint.

        Args:
            sharing: function that returns the context in which the engine runs.
        """
        try:
            with interruptible(lambda: self._stop.requested):
                self._check_stop()  # nothing is read or written after a stop
                engine = self._resumed() if self._settings.resume else self._started()
        except (Interrupted, KeyboardInterrupt):
            return self.Result(self._index, self._seed, complete=False)
        files.make_folder(self._settings.output)
        began = self._saved = time.time()
        before = self._moves(engine)  # those of the runs that this one resumes
        complete = self.advance(engine, self._course, sharing)
        ended = time.time()
        self.save(engine)
        found = {
            "replica": self._index,
            "seed": self._seed,
            "complete": complete,
            "reached": self._reached,
            "session_moves": self._moves(engine) - before,
            "began": began,
            "ended": ended,
            **self._found(engine),
        }
        for field in fields(self.Result):  # in one order on all ranks
            if field.name not in found:
                found[field.name] = getattr(engine, field.name)
        return self.Result(**found)

    # ---- what a subclass gives -------------------------------------------------------------------

    @abstractmethod
    def _started(self) -> Any:
        """A new engine."""

    @abstractmethod
    def _resumed(self) -> Any:
        """The engine of the checkpoint, which must be one of the same run."""

    @abstractmethod
    def _course(self, engine: Any) -> None:
        """Run the engine from its present state to the end."""

    @abstractmethod
    def _write_records(self, engine: Any) -> None:
        """Write the records. A resumed run drops records that a crash has left ahead of the
        state."""

    @abstractmethod
    def _found(self, engine: Any) -> dict[str, Any]:
        """The entries of its results that are not attributes of the engine, or differ from them."""

    # ---- what it is made of ----------------------------------------------------------------------

    def _moves(self, engine: Any) -> int:
        return engine.trial_moves

    def _write_both(self, engine: Any) -> None:
        """Write a checkpoint. Records are written first, so that they are never behind the state.
        Each file is durable before the next one is written, and its predecessor is kept."""
        self._write_records(engine)
        engine.save(self._state, keep_previous=self._state in self._whole)
        self._whole.add(self._state)

    def _opened(self, name: str) -> FrameWriter:
        """A trajectory, new or as it was at the checkpoint. A power cut may have damaged later
        frames, therefore they are computed again."""
        from manymove.io import FrameWriter

        s = self._settings
        path = s.output / name
        # Without a mark all frames are after the state.
        trajectory = FrameWriter(path, mark=self._mark, overwrite=s.resume or s.overwrite)
        if trajectory.shortened:
            after = f"frames after step {trajectory.last_step}, the last checkpoint's"
            print(f"manymove: {path}: {after}, are computed again", file=sys.stderr)
        return trajectory

    def _sync_trajectory(self) -> None:
        """Make the frames durable. This is not done when they are appended, because there may be
        many."""
        if self._trajectory is not None:
            self._mark = self._trajectory.sync()

    def _replace_records(self, records: np.ndarray, **about: Any) -> None:
        s = self._settings
        options = (s.folder or s.output) / OPTIONS_FILE
        # Another replica than the first one may be the first with a checkpoint.
        first = self._index == 0 or not options.is_file()
        if first and s.given is not None and not self._stored:
            report.write_json(options, s.given)
            self._stored = True
        if not self._settings.resume and not self._whole:
            # The state of an earlier run in this folder must not be combined with new records.
            both = (self._state, self._records_file)
            files.remove(*both, *map(files.previous, both))
        keep = self._records_file in self._whole
        checkpoint.write_records(self._records_file, records, keep_previous=keep, **about)
        self._whole.add(self._records_file)

    def _newest(self) -> tuple[Path, Path]:
        """The newest undamaged records and state to resume from.

        Raises:
            FileNotFoundError: there is no checkpoint.
            ValueError: the last checkpoint and the previous one are damaged.
        """
        last = (self._records_file, self._state)
        before = (files.previous(last[0]), files.previous(last[1]))
        if not (self._state.is_file() or before[1].is_file()):
            raise FileNotFoundError(f"--resume: no checkpoint {self._state}")
        if not (self._records_file.is_file() or before[0].is_file()):
            raise FileNotFoundError(
                f"--resume: {self._records_file}, the records of the run, is missing: put it back, "
                "or start again with --overwrite"
            )
        damage = cache(checkpoint.damage)
        self._whole = {path for path in last if not damage(path)}
        # Newer records fit an older state, because the rows after that state are dropped.
        for pair in (last, (last[0], before[1]), before):
            if not any(map(damage, pair)):
                break
        else:
            if not before[1].is_file():
                return last  # reading it raises the error
            raise ValueError(f"--resume: {'; '.join(filter(None, map(damage, (*last, *before))))}")
        if pair != last:
            wrong = "; ".join(filter(None, map(damage, last)))
            print(f"manymove: {wrong}; continuing from {pair[1]}", file=sys.stderr)
        return pair

    def _refuse_other_equilibration(
        self, held: int | None, done: float, *, over: bool, unit: str = "sweeps"
    ) -> None:
        """Refuse another --equilibrate than that of the checkpoint if the equilibration is over,
        and one that is shorter than what has been done of it."""
        asked, output = self._settings.equilibrate, self._settings.output
        if over:
            self._refuse_others({"--equilibrate": (held, asked)})
        elif asked != held and asked < done:
            raise ValueError(
                f"--equilibrate is {asked}, but the run in {output} has equilibrated for "
                f"{done:.7g} {unit} already: --resume needs at least as many"
            )

    def _refuse_others(
        self, held_and_asked: dict[str, tuple[Any, Any]], tolerance: float | None = None
    ) -> None:
        """Refuse a checkpoint of another run, and name the option that differs. Numbers are
        compared with the relative tolerance."""
        for option, (held, asked) in held_and_asked.items():
            same = held == asked
            if tolerance is not None and not same and None not in (held, asked):
                same = math.isclose(held, asked, rel_tol=tolerance)
                held, asked = f"{held:.6g}", f"{asked:.6g}"
            if not same:
                raise ValueError(f"--resume: {self._state} has {option} {held}, not {asked}")


@contextmanager
def started(jobs: Sequence[Settings], world: World) -> Iterator[StopRequest]:
    """A context with the output folders of jobs and the request to stop them. A signal does not end
    a rank that waits for the others."""
    for one in jobs:
        claim(one, world)
    with world.stop_request() as stop:
        yield stop


def on_each(world: World, task: Callable[[], T]) -> T:
    """The result of a task of each rank before its replicas. If it fails on some ranks, all raise
    the error of the lowest of them."""
    return or_abort(world, lambda: world.each(task))


def run_replicas(
    replicas: Sequence[tuple[Settings, int]],
    world: World,
    stop: StopRequest,
    mine: Sequence[int],
    make: Callable[..., Replica],
    description: str,
    moves: int,
    *,
    at_once: int | None = None,
    others: tuple[int, int] = (0, 0),
    found: Callable[[Mapping[int, Any]], object] | None = None,
) -> list[Any]:
    """Run the replicas of all ranks, several at a time, with a progress bar.

    If some ranks fail, all raise the error of the lowest of them. If a rank is silent, or ranks
    that share a system have lost one, all processes end.

    Args:
        replicas: the replicas of all ranks, which may be of several jobs: settings and index.
        world: all ranks.
        stop: request to stop of `started`.
        mine: positions of this rank's replicas.
        make: function that makes a replica from the arguments of `Replica`, in its thread.
        description: text before the progress bar.
        moves: total number of moves of this rank, as the replicas count them.
        at_once: maximum number of replicas that run at the same time.
        others: numbers of moves of the jobs before and after these, whose progress is shown
            together.
        found: function that is called, in a thread of its own, with the results of this rank so
            far, by position, whenever there are new ones.

    Returns:
        the results of all replicas in their order, on every rank.
    """
    first, last = replicas[0][0], replicas[-1][0]
    several = first.output != last.output

    team = on_each(world, lambda: Team(world, mine, first.device, first.threads, at_once))
    running: dict[int, Replica] = {}
    results: dict[int, Any] = {}

    def task(slot: int, stop: StopRequest) -> Any:
        place = team.places[slot]
        settings, index = replicas[place.index]
        one = running[slot] = make(index, settings, place.device, place.threads, stop)
        with team.seats:
            run = partial(one.run, partial(team.sharing, seated=True))
            result = named(f"{settings.output.name}, replica {index}", run) if several else run()
        if not one.writes:
            return None
        results[place.index] = result
        return result

    before, later = others
    quiet = first.quiet or world.rank > 0
    calls: list[tuple[int, Future[object]]] = []  # the last call of `found`

    def show() -> None:
        bar.show(before + min(moves, sum(replica.moves for replica in [*running.values()])))
        if found is None:
            return
        known, call = calls[-1] if calls else (0, None)
        if (call is None or call.done()) and len(results) > known:
            if call is not None:
                call.result()  # raises its error
            present = {**results}
            calls[:] = [(len(present), writer.submit(found, present))]

    bar = MovesBar(description, before + moves + later, done=before, quiet=quiet)
    looks = None if quiet and found is None and world.size == 1 else show
    with closing(bar), ThreadPoolExecutor(1) as writer:
        results_of_all = or_abort(
            world, lambda: team.on_all_ranks(task, looks, together=True, stop=stop)
        )
        for _, call in calls:
            call.result()
    return [result for result in results_of_all if result is not None]


def or_abort(world: World, task: Callable[[], T]) -> T:
    """The result of a collective task. If a rank is silent, all processes end."""
    try:
        return task()
    except RankLost as error:
        world.abort(str(error))


def claim(settings: Settings, world: World) -> None:
    """Make sure that the output folder may be written. The first rank checks and locks it for all;
    the call is collective.

    Raises:
        OSError, ValueError: an error of `output_folder.claim`.
    """

    def refusal() -> Exception | None:
        try:
            with world.answering():  # a lock from another host may take a minute
                output_folder.claim(
                    settings.output, resume=settings.resume, overwrite=settings.overwrite
                )
        except (OSError, ValueError) as error:
            return error
        return None

    error = of_first(world, refusal)
    if error is not None:
        raise error


def of_first(world: World, task: Callable[[], T]) -> T:
    """The result of a task on the first rank, on every rank. Collective."""
    return or_abort(world, lambda: world.gather([task()] if world.rank == 0 else [])[0])


def begun(output: Path, index: int | str = "*") -> bool:
    """Whether a run, or one of its replicas, has a checkpoint, also if only the earlier one of two
    is left, or has had one according to its summary. A kill may have left an incomplete file, which
    does not count."""
    names = (f"checkpoint-{index}.state", f"checkpoint-{index}.state.previous")
    if any(any(output.glob(name)) for name in names):
        return True
    try:
        summary = json.loads((output / "summary.json").read_text())
        of = summary if index == "*" else summary["replicas"][index]
        return of["state_hash"] is not None
    except FileNotFoundError:
        return False
    except (ValueError, LookupError, TypeError):
        return True


def earlier_summaries(jobs: Sequence[Settings], world: World) -> list[dict[str, Any] | None]:
    """The summaries that earlier runs of resumed jobs have left; None without one of this version.
    Collective."""

    def read(one: Settings) -> dict[str, Any] | None:
        try:
            summary = json.loads((one.output / "summary.json").read_text())
            same = summary["version"] == report.made_by()["version"]
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return summary if same else None

    return of_first(world, lambda: [read(one) if one.resume else None for one in jobs])


def replicas_of(jobs: Sequence[Any], world: World) -> list[tuple[Any, int]]:
    """The replicas of jobs, each with its settings and its index. If some replicas of resumed jobs
    have begun, the others start from the beginning, and replace the files that were written before
    a kill, a full disk or Ctrl-C ended them. Collective."""
    replicas = [(one, index) for one in jobs for index in range(one.replicas)]
    resumed = of_first(
        world, lambda: [one.resume and begun(one.output, index) for one, index in replicas]
    )
    if not any(resumed):
        return replicas
    new = {one.output: replace(one, resume=False, overwrite=True) for one in jobs}
    return [
        (one if goes_on else new[one.output], index)
        for (one, index), goes_on in zip(replicas, resumed, strict=True)
    ]
