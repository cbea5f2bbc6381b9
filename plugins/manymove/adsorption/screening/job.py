# SPDX-License-Identifier: BSD-3-Clause
"""The job behind `manymove screen`: runs the structures of a collection and writes their table."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manymove import _core, devices, files
from manymove.adsorption.screening import aif, results
from manymove.adsorption.screening.collection import digest_of, structures_of
from manymove.adsorption.screening.crew import Crew, devices_of, open_connections, places_of
from manymove.adsorption.screening.settings import Screening, screening_of
from manymove.adsorption.screening.structure import PENDING, Task
from manymove.jobs import figures, folder_lock, output_folder, replica, report
from manymove.jobs.folder_lock import FolderInUse
from manymove.jobs.options import OPTIONS_FILE, flag_of
from manymove.jobs.progress import StopRequest, time_left
from manymove.jobs.team import Place
from manymove.jobs.world import World

_EVERY = 10.0  # minimum time between two writes of the tables during a run, in seconds
_OPENING, _LOOK = 10.0, 0.1  # seconds that another process has to enter its options, and of a look
_GOLDEN = (math.sqrt(5) - 1) / 2  # its multiples are spread evenly between 0 and 1
# Options that do not change the results of a structure that is finished.
_CHANGEABLE = (
    "collection", "device", "threads", "at_once", "time_limit", "checkpoint_every",
    "working_capacity", "rank_by", "unit", "parquet",
)  # fmt: skip
# Those that may differ in processes that share a screening, which write the same tables.
_CHANGEABLE_TOGETHER = _CHANGEABLE[:-4]
Collection = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def screen(
    collection: Collection, *, output: str | os.PathLike[str], quiet: bool = True, **options: Any
) -> Iterator[dict[str, Any]]:
    """Measure isotherms of a collection of frameworks, several frameworks at a time.

    The same call continues a screening that was stopped or killed. Finished structures are not run
    again, unless their file or row has changed. The ranks of mpirun or srun, and processes that are
    started with the same output folder, share the collection.

    Args:
        collection: a folder of CIF files, a text file with a path on each line, a database of ASE
            (.db or .json), the path of a CIF file, the name of a shipped framework, or a sequence
            of these.
        output: folder of the results.
        quiet: whether to suppress the progress report.
        options: the options of `manymove screen` by their names, with "_" for "-", for example
            `isotherm=(0.1, 1.0)` or `target_error=0.02`. `adsorbates` may also be objects, and
            `force_field`, which is required, may be a `ForceField`.

    Yields:
        for each structure the contents of its file structure.json: structures of earlier sessions
        first, then the others as they end, in this or another process.

    Raises:
        TypeError: there is no such option.
        OSError: the collection does not exist, or the folder cannot be written or is in use by
            another command.
        ValueError: an option is wrong, or differs from that of the screening in the folder.
        ImportError: gemmi, which reads CIF files, is not installed, or ase for a database, or
            mpi4py for several ranks.
        KeyboardInterrupt: Ctrl-C; the structures that were run have checkpoints.
    """
    open_connections()
    given = {name: value for name, value in options.items() if name != "overwrite"}
    given["collection"] = collection
    settings = screening_of({**options, "output": Path(output), "quiet": quiet}, given)
    return Job(collection, settings, World.connect()).run()


class Job:
    """A screening and its folder, in one of the processes that share it.

    Args:
        collection: as for `screen`.
        screening: the settings.
        world: the ranks of the launcher. Each takes structures from the list.

    Attributes:
        table: rows of all structures in the order of the collection.

    Raises:
        OSError, ValueError, ImportError: an error of `screen`.
    """

    def __init__(
        self, collection: Collection, screening: Screening, world: World | None = None
    ) -> None:
        several = isinstance(collection, Sequence) and not isinstance(collection, str)
        items: Any = collection if several else [collection]
        self.screening = screening
        self._world = world or World()
        self._tasks = [Task(one, screening) for one in structures_of(items)]
        self._states = dict.fromkeys((task.structure.name for task in self._tasks), PENDING)
        self.table = [results.rows_of(task.nothing, screening) for task in self._tasks]
        self._leads = False  # whether this object holds the folder, and writes its tables
        self._since = 0.0  # time of the file system at which the session began
        self._written = -math.inf
        for device in devices_of(screening, self._world):
            if devices.first_index(device) >= len(_core.cuda_devices()):
                why = _core.why_no_cuda_devices()  # no structure is to be refused for that
                raise ValueError(
                    f"--device is {screening.device}, which does not exist here"
                    + (f": {why}; use --device cpu" if why else "")
                )
        if screening.parquet:
            results.need_parquet()

    @property
    def counts(self) -> Counter[str]:
        """Number of structures in each state."""
        return Counter(self._states.values())

    def run(self) -> Iterator[dict[str, Any]]:
        """The results of the structures, as `screen` yields them."""
        with self._folder() as since:
            pending, ended = self._known(since)
            places = places_of(self.screening, self._world, len(pending))
            self._say(
                f"{len(self._tasks)} structures: {len(ended)} finished before, {len(pending)} to "
                f"run, {len(places)} at once"
            )
            self._write(final=not pending)
            yield from ended
            if pending:
                yield from self._rest(pending, places, since)

    def _rest(
        self, pending: Sequence[int], places: Sequence[Place], since: float
    ) -> Iterator[dict[str, Any]]:
        """The results of the structures that are left, as they end in this or another process."""
        tasks = [self._tasks[index] for index in pending]
        crew = Crew(tasks, places, self._first(len(tasks)), since, self._finished)
        began, count = time.monotonic(), 0
        try:
            each = crew.results()
            while (one := self._next(crew, each, pending)) is not None:
                index, found = one
                count += 1
                self._adopt(pending[index], found)
                self._write(final=count == len(tasks))
                self._say_progress(found, count, len(tasks), time.monotonic() - began)
                yield found
        finally:
            crew.stop()

    def _next(
        self,
        crew: Crew,
        each: Iterator[tuple[int, dict[str, Any]] | None],
        pending: Sequence[int],
    ) -> tuple[int, dict[str, Any]] | None:
        """The next structure that has ended; None after the last one. Signals have their own
        handlers only while this method waits.

        Raises:
            KeyboardInterrupt: a stop was requested; the structures that were run have checkpoints.
        """
        with StopRequest() as stop:
            one = next((one for one in each if one is not None or stop.requested), None)
            if not stop.requested:
                return one
            crew.stop()
            for index, found in filter(None, (one, *each)):
                self._adopt(pending[index], found)
            self._write(final=True)
        raise KeyboardInterrupt

    def _first(self, count: int) -> int:
        """The position with which this process begins, another one in each, so that they seldom
        try to take the same structure."""
        if self._world.size > 1:
            return count * self._world.rank // self._world.size
        return 0 if self._leads else int(os.getpid() * _GOLDEN % 1 * count)

    @contextmanager
    def _folder(self) -> Iterator[float]:
        """A context with the time at which the session began. The folder has the results of the
        same options, or none. The first process holds it, and other ones join.

        Raises:
            OSError, ValueError: the folder has other results, or another command uses it.
        """

        def opened() -> Exception | float:
            try:
                with self._world.answering():  # a lock from another host may take a minute
                    self._open()
                return (self.screening.output / OPTIONS_FILE).stat().st_mtime
            except (OSError, ValueError) as error:
                return error

        try:
            # Other hosts may not see the new file at once.
            since = replica.of_first(self._world, opened)
            if isinstance(since, Exception):
                raise since
            self._since = since
            yield since
        finally:
            if self._leads:  # others of this process may have structures inside
                folder_lock.release(self.screening.output, inside=False)
                self._leads = False

    def _open(self) -> None:
        """Lock the folder and enter the options, or join the process that has done so."""
        s = self.screening
        path = s.output / OPTIONS_FILE
        given = json.loads(json.dumps({"command": "screen", **(s.given or {})}, default=_text))
        given["digests"] = _digests(s.given or {})
        goes_on = path.is_file() and not s.overwrite
        removes = s.overwrite and (s.output / "structures").is_dir()
        try:
            if removes:
                self._remove_structures()
            output_folder.claim(s.output, resume=goes_on, overwrite=s.overwrite, again=removes)
        except FolderInUse:
            end = time.monotonic() + _OPENING
            while not path.is_file() and time.monotonic() < end:
                time.sleep(_LOOK)
            if s.overwrite or not path.is_file():
                raise
            _refuse_others(path, given, changeable=_CHANGEABLE_TOGETHER)
            return
        except (OSError, ValueError):
            folder_lock.release(s.output, inside=False)
            raise
        self._leads = True
        if goes_on:
            _refuse_others(path, given)
        files.make_folder(s.output / "structures")
        report.write_json(path, given)

    def _remove_structures(self) -> None:
        """Remove the results of all structures, before the options with which they were made."""
        output = self.screening.output
        folder_lock.hold(output, again=False)
        try:
            for folder in sorted((output / "structures").glob("*/")):
                output_folder.claim(folder, resume=False, overwrite=True)
                folder_lock.release(folder)
        except FolderInUse:  # a worker of another process still has a structure
            folder_lock.release(output, inside=False)
            raise

    def _known(self, since: float) -> tuple[list[int], list[dict[str, Any]]]:
        """The structures that are left, and the results of those that have ended before."""
        pending, ended = [], []
        for index, task in enumerate(self._tasks):
            if (found := task.found(since)) is None:
                pending.append(index)
            else:
                self._adopt(index, found)
                ended.append(found)
        return pending, ended

    def _adopt(self, index: int, found: dict[str, Any]) -> None:
        """Enter the results of a structure into the table."""
        self._states[self._tasks[index].structure.name] = found["state"]
        self.table[index] = results.rows_of(found, self.screening)

    def _finished(self, task: Task, found: dict[str, Any]) -> None:
        """Write the isotherm of a structure that has ended here, before its results."""
        if found.get("points") and "density_g_per_cm3" in found:
            rows = results.rows_of(found, self.screening)
            source = (self.screening.given or {}).get("force_field")
            aif.write_files(task.folder, found, rows, _text(source))

    def _write(self, final: bool) -> None:
        """Write the tables, at most every 10 seconds during a run, and the picture at its end."""
        s, now = self.screening, time.monotonic()
        if not final and (not self._leads or now - self._written < _EVERY):
            return
        with folder_lock.turn(s.output / "structures"):
            self._write_all(final)
        self._written = time.monotonic()

    def _write_all(self, final: bool) -> None:
        s = self.screening
        if final:  # with what others have ended, so that no table loses results of an earlier one
            for index, task in enumerate(self._tasks):
                if self._states[task.structure.name] == PENDING:
                    found = task.found(self._since)
                    if found is not None:
                        self._adopt(index, found)
        results.write_tables(self.table, s)
        best = results.ranked(self.table, s)
        report.write_json(s.output / "summary.json", {
            "complete": not self.counts[PENDING], "structures": len(self._tasks),
            "states": dict(self.counts), "rank_by": s.rank_by,
            "ranking": [row["structure"] for row in best], **report.made_by(),
        })  # fmt: skip
        if final and best:
            with figures.pictures(s.quiet):
                from manymove.adsorption.screening import plots

                plots.screen(s.output / "screen.png", self.table, s)

    def _say_progress(self, found: dict[str, Any], count: int, of: int, seconds: float) -> None:
        state, reason = found["state"], found["reason"]
        what = f"{state}: {reason}" if reason else state
        left = time_left((of - count) * seconds / count)
        self._say(
            f"{found['structure']}: {what} ({count} of {of}, {3600 * count / seconds:.3g} "
            f"structures/h, {left})"
        )

    def _say(self, text: str) -> None:
        if not self.screening.quiet and self._world.rank == 0:
            print(f"screen: {text}", file=sys.stderr, flush=True)

    def lines(self, most: int = 10) -> Iterator[str]:
        """The ranking and the numbers of structures in each state, for the end of the command."""
        yield from results.lines_of_ranking(self.table, self.screening, most)
        yield ", ".join(f"{count} {state}" for state, count in sorted(self.counts.items()))


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, str | os.PathLike) else repr(value)


def _refuse_others(
    path: Path, given: dict[str, Any], changeable: Sequence[str] = _CHANGEABLE
) -> None:
    """Refuse options that differ from those of the screening in the folder, except some."""
    try:
        held = dict(json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} has no options: {error}") from None
    if held.get("command") != "screen":
        raise ValueError(f"{path.parent} holds the results of another command")
    digests, now = held.pop("digests", {}), given["digests"]
    for name in sorted((held.keys() | given.keys()) - {*changeable, "digests"}):
        if held.get(name) != given.get(name):
            raise ValueError(
                f"{path} has {flag_of(name)} {held.get(name)}, not {given.get(name)}: --overwrite "
                "replaces the screening, and another --output keeps it"
            )
    changed = [file for file in sorted(digests | now) if digests.get(file) != now.get(file)]
    if changed:
        raise ValueError(
            f"{changed[0]} has changed since the screening in {path.parent} began: --overwrite "
            "replaces the screening, and another --output keeps it"
        )


def _digests(given: dict[str, Any]) -> dict[str, str]:
    """Hashes of the contents of the files that the options of the model name."""
    found = {}
    for name in ("adsorbates", "force_field", "framework_charges"):
        value = given.get(name)
        words = value.split(",") if isinstance(value, str) else value
        for word in words if isinstance(words, list | tuple) else [words]:
            if not isinstance(word, str | os.PathLike) or not os.fspath(word):
                continue
            path = Path(word)
            for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                if file.is_file():
                    found[str(file)] = digest_of(file)
    return found
