# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a simulation, which call functions at multiples of its counter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from manymove import arguments

Call = tuple[int, Callable[[Any], object]]
Callbacks = Iterable[Call]  # functions are called with the object that runs

_PIECE = 0.1  # seconds between two checks of signals and updates of a progress bar


def checked(callbacks: Callbacks) -> list[Call]:
    """The callbacks of a run.

    Raises:
        TypeError: they are not pairs of an integer and a function.
        ValueError: an integer is not positive.
    """
    wanted = "callbacks must be a sequence of pairs (every, function)"
    try:
        pairs = [(every, function) for every, function in callbacks]
    except (TypeError, ValueError):
        raise TypeError(f"{wanted}, got {callbacks!r}") from None
    for every, function in pairs:
        arguments.count("every", every)
        if not callable(function):
            raise TypeError(f"{wanted}, got {function!r} as a function")
    return pairs


class Course:
    """The course of one run, in pieces that do not affect the trajectory.

    Args:
        simulation: object that runs.
        calls: callbacks of the run.
        show: function that updates the progress bar.
        check: function that raises KeyboardInterrupt on all ranks after Ctrl-C on one.
    """

    def __init__(
        self,
        simulation: Any,
        calls: Sequence[Call],
        show: Callable[[], object],
        check: Callable[[], None],
    ) -> None:
        self._simulation = simulation
        self._calls = calls
        self._show = show
        self._check = check

    @property
    def intervals(self) -> set[int]:
        """Numbers of cycles, sweeps or steps between calls."""
        return {every for every, _ in self._calls}

    def run(
        self, length: int, run: Callable[[int], Any], limit: Callable[[int], int] = int
    ) -> None:
        """Run a number of cycles, sweeps or steps.

        Args:
            length: number of cycles, sweeps or steps.
            run: function that runs a number of them. It may return the time of the engine in
                seconds, which does not include the wait for other threads of Python.
            limit: function that returns the length of a piece that is at most its argument.
        """
        s, done = self._simulation, 0
        while done < length:
            now = s.elapsed
            most = min((every - now % every for every in self.intervals), default=length)
            wanted = max(s._least, int(s._pace * _PIECE * s._longer))
            piece = limit(min(length - done, most, wanted))
            started = time.perf_counter()
            seconds = run(piece)
            elapsed = time.perf_counter() - started
            s._seconds += elapsed
            s._pace = piece / max(seconds or elapsed, 1e-9)
            done += piece
            self.call()
            self.end_piece()

    def call(self) -> None:
        """Call the functions that are due at the present counter."""
        now = self._simulation.elapsed
        for every, function in self._calls:
            if now % every == 0:
                self._simulation._together(lambda: function(self._simulation))  # noqa: B023

    def end_piece(self) -> None:
        """Update the progress bar, and notice signals."""
        self._show()
        if (watch := self._simulation._after_piece) is not None:
            self._simulation._together(lambda: watch(self._simulation))
        self._check()
