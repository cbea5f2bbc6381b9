"""Progress of a long job, and requests to stop it."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from tqdm import tqdm

LINE_EVERY = 60.0  # seconds between two lines of progress without a terminal


class Interrupted(Exception):
    """The user asked a running job to stop; its state is valid."""

    TEXT = "the run was interrupted"

    def __init__(self, text: str = TEXT) -> None:  # an argument, so that ranks can send it
        super().__init__(text)


class StopRequest:
    """A context in which Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) set a flag.

    Worker threads read `requested`. A second Ctrl-C interrupts the main thread at once. Outside the
    main thread, where Python allows no handlers, there is only the flag. Under `nohup`, which
    ignores SIGHUP, it stays ignored.

    Args:
        elsewhere: function that returns whether another process has requested to stop the job.
    """

    def __init__(self, elsewhere: Callable[[], bool] = lambda: False) -> None:
        self._elsewhere = elsewhere
        self._event = threading.Event()
        self._previous: dict[signal.Signals, Any] = {}

    @property
    def requested(self) -> bool:
        return self._elsewhere() or self._event.is_set()

    @property
    def requested_here(self) -> bool:
        """Whether this process has requested the stop, and not another one."""
        return self._event.is_set()

    def request(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raise Interrupted if a stop was requested."""
        if self.requested:
            raise Interrupted

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self._event.is_set() and signum != signal.SIGHUP:  # which may come twice
            raise KeyboardInterrupt
        self.request()

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signum == signal.SIGHUP and signal.getsignal(signum) == signal.SIG_IGN:
                    continue
                self._previous[signum] = signal.signal(signum, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()


def time_left(seconds: float) -> str:
    """A remaining time in a unit in which it has at most three digits."""
    if not math.isfinite(seconds):
        return "no estimate yet"
    for unit, length, most in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48), ("d", 86400, 999)):
        if seconds / length < most:
            return f"{seconds / length:.0f} {unit} left"
    return "years left"


class _Bar(tqdm):
    """A bar whose format has the field `left`, the remaining time."""

    @property
    def format_dict(self) -> dict[str, Any]:
        known = super().format_dict
        done, rate = known["n"] - known["initial"], known["rate"]
        rate = rate or (done / known["elapsed"] if known["elapsed"] else 0)
        left = time_left((known["total"] - known["n"]) / rate if rate else math.inf)
        return known | {"left": left}


class MovesBar:
    """Progress in trial moves or steps: a bar on a terminal, otherwise one line per minute on
    standard error.

    Args:
        description: text before the bar.
        total: number of trial moves or steps of the whole job.
        unit: name of what is counted.
        done: number of moves or steps that were done before.
        quiet: whether to show nothing.
    """

    def __init__(
        self,
        description: str,
        total: int,
        *,
        unit: str = "moves",
        done: int = 0,
        quiet: bool = False,
    ) -> None:
        self._words = (description, unit)
        self._total = max(total, 1)
        self._quiet = quiet
        self._began = self._said = time.monotonic()
        self._first: int | None = None  # moves of earlier sessions
        self._bar = _Bar(
            desc=description,
            total=total,
            initial=done,
            unit=f" {unit}",
            unit_scale=True,
            dynamic_ncols=True,
            disable=True if quiet else None,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {rate_fmt}, {left}",
        )

    def show(self, moves: int) -> None:
        """Set the number of moves done."""
        moves = min(moves, self._total)
        self._first = moves if self._first is None else self._first
        if not self._bar.disable:
            self._bar.update(moves - self._bar.n)
            return
        now = time.monotonic()
        if self._quiet or now - self._said < LINE_EVERY:
            return
        self._said = now
        description, unit = self._words
        rate = (moves - self._first) / (now - self._began)
        left = time_left((self._total - moves) / rate if rate else math.inf)
        print(
            f"{description}: {moves / self._total:.0%}, {rate:.3g} {unit}/s, {left}",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        self._bar.close()
