# SPDX-License-Identifier: BSD-3-Clause
"""The job behind `manymove screen`: runs one structure after the other and writes their table."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manymove import _core, devices
from manymove.adsorption.screening import aif, results
from manymove.adsorption.screening.collection import digest_of, structures_of
from manymove.adsorption.screening.settings import Screening, screening_of
from manymove.adsorption.screening.structure import PENDING, REFUSED, Task
from manymove.jobs import figures, folder_lock, output_folder, report
from manymove.jobs.options import OPTIONS_FILE, flag_of
from manymove.jobs.progress import StopRequest, time_left
from manymove.jobs.world import require_one_process

_EVERY = 10.0  # minimum time between two writes of the tables during a run, in seconds
# Options that do not change the results of a structure that is finished.
_CHANGEABLE = (
    "collection", "device", "threads", "time_limit", "checkpoint_every", "working_capacity",
    "rank_by", "unit", "parquet",
)  # fmt: skip
Collection = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def screen(
    collection: Collection, *, output: str | os.PathLike[str], quiet: bool = True, **options: Any
) -> Iterator[dict[str, Any]]:
    """Measure isotherms of a collection of frameworks, one framework after the other.

    All frameworks are checked before the first one is run. The same call continues a screening that
    was stopped or killed. Finished structures are not run again, unless their file has changed.

    Args:
        collection: a folder of CIF files, a text file with a path on each line, the path of a CIF
            file, the name of a shipped framework, or a sequence of these.
        output: folder of the results.
        quiet: whether to suppress the progress report.
        options: the options of `manymove screen` by their names, with "_" for "-", for example
            `isotherm=(0.1, 1.0)` or `target_error=0.02`. `adsorbates` may also be objects, and
            `force_field`, which is required, may be a `ForceField`.

    Yields:
        for each structure the contents of its file structure.json, in the order of the collection.
        Refused structures and structures of earlier sessions come first.

    Raises:
        TypeError: there is no such option.
        OSError: the collection does not exist, or the folder cannot be written or is in use.
        ValueError: an option is wrong, or differs from that of the screening in the folder.
        ImportError: gemmi, which reads CIF files, is not installed.
        KeyboardInterrupt: Ctrl-C; the present structure has a checkpoint.
    """
    given = {name: value for name, value in options.items() if name != "overwrite"}
    given["collection"] = collection
    job = Job(collection, screening_of({**options, "output": Path(output), "quiet": quiet}, given))
    return job.run()


class Job:
    """A screening and its folder.

    Args:
        collection: as for `screen`.
        screening: the settings.

    Attributes:
        table: rows of all structures in the order of the collection.

    Raises:
        OSError, ValueError, ImportError: an error of `screen`.
    """

    def __init__(self, collection: Collection, screening: Screening) -> None:
        several = isinstance(collection, Sequence) and not isinstance(collection, str)
        items: Any = collection if several else [collection]
        self.screening = screening
        self._tasks = [Task(one, screening) for one in structures_of(items)]
        self._states: dict[str, str] = {}
        self.table: list[results.Rows] = []
        self._written = -math.inf
        require_one_process("manymove screen", "start it without a launcher")
        index = devices.first_index(devices.resolve(screening.device))
        if index >= len(_core.cuda_devices()):  # no structure is to be refused for that
            why = _core.why_no_cuda_devices()
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
        with self._folder():
            pending, ended = self._checked()
            self._write(final=not pending)
            yield from ended
            began = time.monotonic()
            with ThreadPoolExecutor(1) as worker:
                for count, (index, known) in enumerate(pending, 1):
                    found = self._finished(worker, index, known)
                    self._adopt(index, found)
                    self._write(final=count == len(pending))
                    self._say_progress(found, count, len(pending), time.monotonic() - began)
                    yield found

    @contextmanager
    def _folder(self) -> Iterator[None]:
        """A context in which the folder is locked. It has the results of the same options, or none.

        Raises:
            OSError, ValueError: the folder has other results, or is in use.
        """
        s = self.screening
        path = s.output / OPTIONS_FILE
        given = json.loads(json.dumps({"command": "screen", **(s.given or {})}, default=_text))
        given["digests"] = _digests(s.given or {})
        try:
            goes_on = path.is_file() and not s.overwrite
            output_folder.claim(s.output, resume=goes_on, overwrite=s.overwrite)
            if goes_on:
                _refuse_others(path, given)
            if s.overwrite:
                for folder in sorted((s.output / "structures").glob("*/")):
                    output_folder.claim(folder, resume=False, overwrite=True)
                    folder_lock.release(folder)
            report.write_json(path, given)
            yield
        finally:
            folder_lock.release(s.output)

    def _checked(self) -> tuple[list[tuple[int, dict[str, Any]]], list[dict[str, Any]]]:
        """Check all structures.

        Returns:
            the structures that remain to be run, with their indices and the entries of their check,
            and the results of the structures that are refused or finished.
        """
        pending, ended = [], []
        with StopRequest() as stop:
            for index, task in enumerate(self._tasks):
                if stop.requested:
                    raise KeyboardInterrupt
                self.table.append([])
                if (found := task.found()) is None:
                    found = task.check()
                    if found["state"] == PENDING:
                        pending.append((index, found))
                    else:
                        found = task.write(found)
                        self._say(f"{task.structure.name}: refused: {found['reason']}")
                        ended.append(found)
                else:
                    ended.append(found)
                self._adopt(index, found)
        refused = self.counts[REFUSED]
        self._say(
            f"{len(self._tasks)} structures: {len(pending)} to run, {refused} refused, "
            f"{len(ended) - refused} finished before"
        )
        return pending, ended

    def _finished(
        self, worker: ThreadPoolExecutor, index: int, known: dict[str, Any]
    ) -> dict[str, Any]:
        """The results of a structure. It runs in another thread, so that Ctrl-C ends it in a valid
        state.

        Raises:
            KeyboardInterrupt: a stop was requested.
        """
        task = self._tasks[index]
        try:
            with StopRequest() as stop:
                future = worker.submit(task.run, known, stop)
                try:
                    while not future.done():
                        wait([future], 0.2)
                finally:
                    stop.request()
                found = future.result()
        finally:
            folder_lock.release(task.folder)
        if found is None:
            self._write(final=True)
            raise KeyboardInterrupt
        return found

    def _adopt(self, index: int, found: dict[str, Any]) -> None:
        """Enter the results of a structure into the table, and write its isotherm."""
        s, task = self.screening, self._tasks[index]
        self._states[task.structure.name] = found["state"]
        self.table[index] = results.rows_of(found, s)
        if found.get("points") and "density_g_per_cm3" in found:
            source = (s.given or {}).get("force_field")
            aif.write_files(task.folder, found, self.table[index], _text(source))

    def _write(self, final: bool) -> None:
        """Write the tables, at most every 10 seconds during a run, and the picture at its end."""
        s, now = self.screening, time.monotonic()
        if not final and now - self._written < _EVERY:
            return
        results.write_tables(self.table, s)
        self._written = time.monotonic()
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
        if not self.screening.quiet:
            print(f"screen: {text}", file=sys.stderr, flush=True)

    def lines(self, most: int = 10) -> Iterator[str]:
        """The ranking and the numbers of structures in each state, for the end of the command."""
        yield from results.lines_of_ranking(self.table, self.screening, most)
        yield ", ".join(f"{count} {state}" for state, count in sorted(self.counts.items()))


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, str | os.PathLike) else repr(value)


def _refuse_others(path: Path, given: dict[str, Any]) -> None:
    """Refuse options that differ from those of the screening in the folder."""
    try:
        held = dict(json.loads(path.read_text()))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} has no options: {error}") from None
    if held.get("command") != "screen":
        raise ValueError(f"{path.parent} holds the results of another command")
    digests, now = held.pop("digests", {}), given["digests"]
    for name in sorted((held.keys() | given.keys()) - {*_CHANGEABLE, "digests"}):
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
