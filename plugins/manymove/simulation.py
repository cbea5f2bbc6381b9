"""What `manymove.HardDisks`, `manymove.Electrolyte` and `manymove.Adsorption` have in common."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from manymove import devices

_PIECE = 0.1  # seconds between looks at callbacks and signals


class Simulation:
    """An engine of the core on a device, and the parameters it was made with; not for use by
    itself."""

    _engine: Any
    _parameters: dict[str, Any]

    def _settle(self, device: Any, threads: int | None, several: bool = False) -> None:
        """Choose the device, or several GPUs where the engine can, and the threads."""
        self._device = devices.resolve(device, several)
        self._threads = devices.thread_count(threads)

    def _adopt(self, engine: Any) -> None:
        self._engine = engine
        self._seconds = 0.0
        self._pace = 0.0  # of the last piece, per second

    def _pieces(
        self, length: int, run: Callable[[int], Any], limit: Callable[[int], int] | None = None
    ) -> Iterator[int]:
        """Run in pieces short enough for callbacks and signals; they leave no trace in the state.

        Args:
            length: of the run: cycles, sweeps or steps.
            run: makes so many of them.
            limit: makes a piece shorter, if it must be.

        Yields:
            what is done, after each piece.
        """
        done = 0
        while done < length:
            piece = max(1, min(length - done, int(self._pace * _PIECE)))
            if limit is not None:
                piece = limit(piece)
            started = time.perf_counter()
            run(piece)
            elapsed = time.perf_counter() - started
            self._seconds += elapsed
            self._pace = piece / max(elapsed, 1e-9)
            done += piece
            yield done

    @property
    def core(self) -> Any:
        """The engine of `manymove._core`, for adaptors to host programs; whoever changes its state
        through it answers for what this object remembers."""
        return self._engine

    @property
    def seed(self) -> int:
        """Of the random numbers."""
        return self._parameters["seed"]

    @property
    def device(self) -> str:
        """ "cpu", "cuda:<index>", or "cuda:<index>,<index>..." of a chain on several GPUs."""
        return self._device

    @property
    def device_name(self) -> str:
        """The GPU's name (with their number, if several), or the CPU's SIMD level and the number
        of threads."""
        return devices.device_name(self._device, self.threads)

    @property
    def threads(self) -> int:
        """Threads of the CPU engine; 1 on a GPU."""
        return self._threads if self._device == "cpu" else 1

    @property
    def trial_moves(self) -> int:
        """Trial moves of all particles."""
        return self._engine.counters[1]

    @property
    def accepted_moves(self) -> int:
        """Trial moves that were accepted."""
        return self._engine.counters[2]

    @property
    def acceptance(self) -> float:
        """Accepted over trial moves; NaN before the first."""
        return self.accepted_moves / self.trial_moves if self.trial_moves else math.nan

    @property
    def seconds(self) -> float:
        """Wall time spent on moves since this object was made or loaded."""
        return self._seconds

    @property
    def state_hash(self) -> str:
        """16 hexadecimal digits from all positions and counters; the same on every machine."""
        return f"{self._engine.state_hash():016x}"
