"""What a long job shows, and how it is asked to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

from tqdm import tqdm


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for signum, handler in self._previous.items():
            signal.signal(signum, handler)
        self._previous.clear()


class MovesBar:
    """Progress bar in trial moves: moves/s and the time left. Shown on a terminal only.

    Args:
        description: words before the bar.
        total: trial moves of the whole job.
        quiet: show nothing.
    """

    def __init__(self, description: str, total: int, *, quiet: bool = False) -> None:
        self._bar = tqdm(
            desc=description,
            total=total,
            unit=" moves",
            unit_scale=True,
            dynamic_ncols=True,
            disable=True if quiet else None,
            bar_format="{desc} {percentage:3.0f}%|{bar}| {rate_fmt}, {remaining} left",
        )

    def show(self, moves: int) -> None:
        """Set the number of trial moves done."""
        self._bar.update(min(moves, self._bar.total) - self._bar.n)

    def close(self) -> None:
        self._bar.close()
