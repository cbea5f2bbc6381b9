# SPDX-License-Identifier: BSD-3-Clause
"""The common part of the benchmarks: variants that are timed in turn, tables and files."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from manymove.bench import status
from manymove.info import record
from manymove.jobs.report import write_json

Row = dict[str, Any]


@dataclass
class Variant:
    """A program that is timed: `run(sweeps)` returns its trial and accepted moves at its end."""

    name: str
    run: Callable[[int], tuple[int, int]]
    settings: dict[str, Any]
    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # seconds of each timed run
    trial_moves: int = 0
    accepted_moves: int = 0
    sweeps: int = 1  # of one timed run
    shortest: int = 0  # of a run that is taken off: what a program spends on a beginning
    look: Callable[[], None] = lambda: None  # called after each timed run

    def calibrate(self, seconds: float, agree: Callable[[float], float] = float) -> None:
        """Choose the number of sweeps that takes `seconds`, from a run of at least a fifth of this
        time.

        The first such run is repeated, because it may include the start of the device.

        Args:
            seconds: duration of a timed run.
            agree: function that returns the time of all ranks for that of this rank.
        """
        warm = False
        while True:
            elapsed, trial_moves, _ = self._measure()
            elapsed = agree(elapsed if trial_moves else 0.0)
            if elapsed <= 0.2 * seconds:
                self.sweeps *= 4
            elif warm or elapsed > 10 * seconds:  # of which the start is little
                wanted = int(1.2 * self.sweeps * seconds / elapsed)
                self.sweeps = max(1, self.shortest, wanted)
                return
            else:
                warm = True

    def time(self) -> None:
        elapsed, trial_moves = 0.0, 0
        while not trial_moves:  # a cycle may be more sweeps than these
            more, trial_moves, accepted = self._measure()
            elapsed += more
        self.rates.append(trial_moves / elapsed)
        self.times.append(elapsed)
        self.trial_moves += trial_moves
        self.accepted_moves += accepted
        self.look()

    def _measure(self) -> tuple[float, int, int]:
        """Time in seconds, trial moves and accepted moves of a number of sweeps."""
        if not self.shortest:
            return self._run(self.sweeps)
        short, long = self._run(self.shortest), self._run(self.shortest + self.sweeps)
        elapsed = max(long[0] - short[0], long[0] / 10)  # a disturbed short one leaves some time
        return elapsed, long[1] - short[1], long[2] - short[2]

    def _run(self, sweeps: int) -> tuple[float, int, int]:
        began = time.perf_counter()
        trial, accepted = self.run(sweeps)
        return time.perf_counter() - began, trial, accepted

    def result(self) -> dict[str, Any]:
        rate = median(self.rates)
        return {
            "variant": self.name,
            "trial_moves_per_second": rate,
            "lowest": min(self.rates),
            "highest": max(self.rates),
            "repeats": len(self.rates),
            "nanoseconds_per_trial_move": 1e9 / rate,
            "acceptance": self.accepted_moves / self.trial_moves,
            "sweeps_per_repeat": self.sweeps,
            "warnings": status.of_timing(min(self.times)),
            **self.settings,
        }


def check(repeats: int, seconds: float, equilibrate: int = 0, decorrelation: int = 0) -> None:
    """Refuse the settings of a benchmark that are out of range."""
    if repeats < 3:
        raise ValueError(f"--repeats is {repeats}; a spread needs at least 3")
    if not seconds > 0 or equilibrate < 0 or decorrelation < 0:
        raise ValueError(
            "--seconds must be positive, --equilibrate and --decorrelation not negative, got "
            f"{seconds:g}, {equilibrate} and {decorrelation}"
        )


def time_in_turn(variants: Sequence[Variant], repeats: int, seconds: float) -> None:
    """Time each variant `repeats` times, alternating."""
    for variant in variants:
        variant.calibrate(seconds)
    for _ in range(repeats):
        for variant in variants:
            variant.time()


def spread(key: str) -> Callable[[Row], float]:
    """Half the distance of the extremes of a row, relative to its value `key`."""
    return lambda row: (row["highest"] - row["lowest"]) / 2 / row[key]


@dataclass(frozen=True)
class Table:
    """The format of the printed rows of a benchmark.

    Attributes:
        columns: title, format specification, and the key of the row or a function of the row.
        ending: text after the columns of a row.
        ending_title: text after the titles.
    """

    columns: Sequence[tuple[str, str, str | Callable[[Row], Any]]]
    ending: Callable[[Row], str] = lambda row: ""
    ending_title: str = ""

    @property
    def header(self) -> str:
        aligned = (re.match(r"[<>]\d+", form)[0] for _, form, _ in self.columns)  # type: ignore[index]
        titles = (f"{column[0]:{form}}" for column, form in zip(self.columns, aligned, strict=True))
        return "  ".join([*titles, self.ending_title]).rstrip()

    def line(self, row: Row) -> str:
        values = ((row[key] if isinstance(key, str) else key(row)) for _, _, key in self.columns)
        cells = (f"{v:{form}}" for v, (_, form, _) in zip(values, self.columns, strict=True))
        return "  ".join([*cells, self.ending(row)]).rstrip()


STATUS = ("status", f"<{status.WIDTH}", status.status)  # the column


class Report:
    """The results of a benchmark: a printed table and, after each size, a JSON file.

    `rows` has all present rows.

    Args:
        table: format of the rows.
        json_file: path of the results; None for no file.
        silent: whether to print and write nothing, as on all ranks except the first.
        about: further entries of the file.
    """

    def __init__(
        self, table: Table, json_file: Path | None, *, silent: bool = False, **about: Any
    ) -> None:
        self._table, self._file, self._silent = table, json_file, silent
        self.rows: list[Row] = []
        self._content = {**record(), **about, "results": self.rows}
        if not silent:
            print(table.header)

    def add(self, rows: Sequence[Row]) -> None:
        self.rows += rows
        if self._silent:
            return
        for row in rows:
            print(self._table.line(row), flush=True)
        if self._file is not None:
            write_json(self._file, self._content)

    def end(self) -> dict[str, Any]:
        """Print the warnings, and return the content of the file."""
        if not self._silent:
            status.print_warnings(self.rows)
        return self._content
