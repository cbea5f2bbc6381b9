"""What a long job shows, and how it is asked to stop."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from tqdm import tqdm

LINE_EVERY = 60.0  # seconds between two lines of progress, where there is no terminal


class Interrupted(Exception):
    """The user asked a running job to stop; its state is valid."""


class StopRequest:
    """Turns Ctrl-C and SIGTERM into a flag while the context is entered.

    Worker threads ask `requested`; a second Ctrl-C interrupts the main thread at once.
    Outside the main thread, where Python allows no handlers, it is only the flag.

    Args:
        elsewhere: whether another process of the job wants it to stop.
    """

    def __init__(self, elsewhere: Callable[[], bool] = lambda: False) -> None:
        self._elsewhere = elsewhere
        self._event = threading.Event()
        self._previous: dict[signal.Signals, object] = {}

    @property
    def requested(self) -> bool:
        return self._elsewhere() or self._event.is_set()

    def request(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raise Interrupted if a stop was requested."""
        if self.requested:
            raise Interrupted

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        if self._event.is_set():
            raise KeyboardInterrupt
        self.request()

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            for signum in (signal.SIGINT, signal.SIGTERM):
                self._previous[signum] = signal.signal(signum, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()


class MovesBar:
    """Progress in trial moves or steps: a bar on a terminal, elsewhere a line a minute on standard
    error.

    Args:
        description: words before the bar.
        total: trial moves or steps of the whole job.
        unit: what is counted.
        quiet: show nothing.
    """

    def __init__(
        self, description: str, total: int, *, unit: str = "moves", quiet: bool = False
    ) -> None:
        self._words = (description, unit)
        self._total = max(total, 1)
        self._quiet = quiet
        self._began = self._said = time.monotonic()
        self._first: int | None = None  # moves of earlier sessions
        self._bar = tqdm(
            desc=description,
            total=total,
            unit=f" {unit}",
            unit_scale=True,
            dynamic_ncols=True,
            disable=True if quiet else None,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {rate_fmt}, {remaining} left",
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
        left = f"{(self._total - moves) / rate / 60:.0f} min left" if rate else "no estimate yet"
        print(
            f"{description}: {moves / self._total:.0%}, {rate:.3g} {unit}/s, {left}",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        self._bar.close()
