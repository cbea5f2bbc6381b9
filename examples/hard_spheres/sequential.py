# SPDX-License-Identifier: BSD-3-Clause
"""Sequential Monte Carlo of polydisperse hard spheres, the reference method of swap_moves.py."""

from __future__ import annotations

import ctypes
import math
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from manymove import script

SOURCE = Path(__file__).with_suffix(".cpp")
SKIN = 0.4  # reach of neighborhoods beyond contact and one step, in mean diameters


@cache
def library() -> ctypes.CDLL:
    """The compiled sequential.cpp."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = script.compiled(SOURCE, folder, "-fno-math-errno")
    loaded.sequential.argtypes = [
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_double] * 3,
        ctypes.c_longlong, ctypes.c_void_p, ctypes.c_void_p,
    ]  # fmt: skip
    return loaded


class SequentialSpheres:
    """Polydisperse spheres in a cube, one trial after the other.

    Args:
        positions: positions without overlaps, (N, 3).
        box: edges, which are equal.
        diameters: diameter of each sphere.
        seed: seed of the random number generator.
        max_displacement: largest displacement along an axis.
        swap_share: share of the trials that exchange the diameters of any two spheres.
    """

    def __init__(
        self,
        positions: np.ndarray,
        box: tuple[float, ...],
        diameters: np.ndarray,
        seed: int | tuple[int, ...],
        max_displacement: float,
        swap_share: float,
    ) -> None:
        if max(box) - min(box) > 1e-9 * max(box):
            raise ValueError("the box is not a cube")
        self.box, self.N, self.sweeps = box, len(diameters), 0
        self._unit = 2.0**32 / box[0]
        fractions = np.floor(positions / box[0] % 1 * 2.0**32 + 0.5).astype(np.uint64)
        self._at = [np.ascontiguousarray(x, dtype=np.uint32) for x in fractions.T]
        self._radii = (np.asarray(diameters) / 2 * self._unit).astype(np.float32)
        self._random = np.random.SeedSequence(seed).generate_state(4, np.uint64)
        self._counters = np.zeros(4, dtype=np.uint64)
        self._step, self._share = max_displacement * self._unit, swap_share
        self._skin = (SKIN + math.sqrt(3) * max_displacement) * self._unit

    def run(self, sweeps: float) -> None:
        """Make N trials per sweep; the number of sweeps is whole."""
        if sweeps % 1 != 0:
            raise ValueError(f"sweeps must be a whole number, got {sweeps}")
        at = (ctypes.c_void_p * 3)(*(x.ctypes.data for x in self._at))
        if library().sequential(
            self.N, at, self._radii.ctypes.data, self._step, self._share, self._skin,
            int(sweeps), self._random.ctypes.data, self._counters.ctypes.data,
        ):  # fmt: skip
            raise RuntimeError("a neighborhood is full")
        self.sweeps += int(sweeps)

    @property
    def positions(self) -> np.ndarray:
        """Positions from 0 to the edge, (N, 3)."""
        return np.column_stack(self._at) / self._unit

    @property
    def diameters(self) -> np.ndarray:
        """Present diameters."""
        return 2 * self._radii.astype(float) / self._unit

    trial_moves = property(lambda self: int(self._counters[0]))
    swap_trials = property(lambda self: int(self._counters[2]))

    @property
    def acceptance(self) -> float:
        """Ratio of accepted to trial moves."""
        return float(self._counters[1] / max(self._counters[0], 1))

    @property
    def swap_acceptance(self) -> float:
        """Ratio of accepted to trial swaps; NaN without swaps."""
        return float(self._counters[3] / self._counters[2]) if self._counters[2] else math.nan

    def max_overlap(self) -> float:
        """Deepest overlap of a pair in units of the mean diameter; 0 without overlaps."""
        edge, deepest = self.box[0], 0.0
        for i, (r, d) in enumerate(zip(self.positions, self.diameters, strict=True)):
            away = (self.positions[:i] - r + edge / 2) % edge - edge / 2
            contact = (self.diameters[:i] + d) / 2
            deepest = max([deepest, *(contact - np.linalg.norm(away, axis=1))])
        return deepest
