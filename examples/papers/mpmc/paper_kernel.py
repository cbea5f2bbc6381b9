# SPDX-License-Identifier: BSD-3-Clause
"""Hard disks moved by the paper's GPU kernel, which is in the program paper_kernel.cu."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import numpy as np
from programs import Function

from manymove.analysis import BINS, pressure_from_histogram

SLOTS = 4
NOWHERE = 1e6  # coordinate in empty places
STEP, MOVES_PER_CELL = 0.16, 4  # the largest displacement and n_m; the text at hand has lost them
BLOCK = (32, 4)  # threads of a block, the paper's
MULTIPLE = 64  # of the number of cells along an edge, for blocks 32 threads wide
# Name: whether the disks of a cell and the sets are shuffled, whether disks may leave their cell,
# and whether each disk is tried once in a sweep (section 2.4).
RULES = {
    "both": (True, True, False, False),
    "particles": (True, False, False, False),
    "sets": (False, True, False, False),
    "neither": (False, False, False, False),
    "leave": (True, True, True, False),
    "leave, once each": (True, True, True, True),
}


class Setup(ctypes.Structure):
    """Setup in paper_kernel.cu."""

    _fields_ = (
        *[(name, ctypes.c_int32) for name in
          ("systems", "cells", "moves_per_cell", "may_leave", "sweeps", "records",
           "sample_every")],
        ("block", ctypes.c_int32 * 2),
        ("width", ctypes.c_float), ("step", ctypes.c_float),
        ("seed", ctypes.c_uint64), ("first_sweep", ctypes.c_uint64),
    )  # fmt: skip


def cells_of(edge: float, multiple: int = MULTIPLE) -> int:
    """Number of cells along an edge: as wide as the root of 2, and then the next multiple.

    Raises:
        ValueError: the cells are narrower than a disk.
    """
    cells = _cells(edge, multiple)
    if edge < cells:
        raise ValueError(f"an edge of {edge:g} diameters has no {cells} cells as wide as a disk")
    return cells


def fits(edge: float, multiple: int) -> bool:
    """Whether the cells of `cells_of` are as wide as a disk."""
    return edge >= _cells(edge, multiple)


def _cells(edge: float, multiple: int) -> int:
    return multiple * max(math.ceil(4 / multiple), math.ceil(edge / math.sqrt(2) / multiple))


class PaperSystems:
    """Independent systems of N hard disks of unit diameter in square boxes of the same size.

    Args:
        starts: centers of the disks of each system, float (N, 2), in a box around the origin.
        edge: edge of the box in diameters.
        rules: name in RULES for each system.
        seed: seed of the random number generator.
        function: function of paper_kernel.cu.
        multiple: the number of cells along an edge is a multiple of it, an even number.
        block: threads of a block along both axes of the grid; their product is a multiple of 32.

    Raises:
        ValueError: the cells are narrower than a disk, or a cell has more than four disks.
    """

    def __init__(
        self, starts: Sequence[np.ndarray], edge: float, rules: Sequence[str], seed: int,
        function: Function, *, multiple: int = MULTIPLE, block: tuple[int, int] = BLOCK,
    ) -> None:  # fmt: skip
        self.N, self.edge, self.rules = len(starts[0]), edge, list(rules)
        self.packing_fraction = self.N * math.pi / 4 / edge**2
        self.cells = cells_of(edge, multiple)
        self.width = edge / self.cells
        self._function, self._seed, self._block = function, seed, block
        bits = [sum(on << k for k, on in enumerate(RULES[rule])) for rule in self.rules]
        self._variants = np.array(bits, dtype=np.int32)
        systems = len(starts)
        self._disks = np.full((systems, SLOTS, self.cells**2, 2), NOWHERE, dtype=np.float32)
        self._counts = np.zeros((systems, self.cells**2), dtype=np.int32)
        for k, positions in enumerate(starts):
            self._fill(k, positions)
        self.sweeps = 0  # over the cells
        self.moves = np.zeros((systems, 2), dtype=np.uint64)  # trial and accepted moves
        self.seconds = 0.0

    def _fill(self, system: int, positions: np.ndarray) -> None:
        half = self.edge / 2
        column, row = np.clip((positions + half) // self.width, 0, self.cells - 1).astype(int).T
        centers = (np.column_stack((column, row)) + 0.5) * self.width - half
        cell = self._index(column, row)
        order = np.argsort(cell, kind="stable")
        counts = np.bincount(cell, minlength=self.cells**2)
        if counts.max() > SLOTS:
            raise ValueError("a cell has more than four disks")
        slot = np.arange(self.N) - np.repeat(np.cumsum(counts) - counts, counts)
        self._disks[system, slot, cell[order]] = (positions - centers)[order]
        self._counts[system] = counts

    def _index(self, column: np.ndarray, row: np.ndarray) -> np.ndarray:
        """Index of cells in memory (Algorithm 3)."""
        return row * self.cells + column % 2 * (self.cells // 2) + column // 2

    def positions(self, system: int) -> np.ndarray:
        """Centers of the disks of a system in a box around the origin, float (N, 2)."""
        row, column = np.divmod(np.arange(self.cells**2), self.cells)
        centers = np.empty((self.cells**2, 2))
        centers[self._index(column, row)] = (
            np.column_stack((column, row)) + 0.5
        ) * self.width - self.edge / 2
        used = np.arange(SLOTS)[:, None] < self._counts[system]
        found = (self._disks[system] + centers)[used]
        return (found + self.edge / 2) % self.edge - self.edge / 2

    @property
    def acceptance(self) -> np.ndarray:
        """Share of accepted moves of each system, float64 (systems,)."""
        return self.moves[:, 1] / self.moves[:, 0]

    def run(self, sweeps: int, every: int = 0, records: int = 1) -> np.ndarray:
        """Run all systems.

        Args:
            sweeps: number of sweeps over the cells, a multiple of the records.
            every: number of sweeps between two samples of the pressure; 0: none.
            records: number of records of the pressure.

        Returns:
            P* of each record of each system, float64 (systems, records); NaN without samples.

        Raises:
            RuntimeError: the program fails, or a disk is lost.
        """
        systems = len(self._counts)
        may_leave = any(RULES[rule][2] for rule in self.rules)
        setup = Setup(
            systems, self.cells, MOVES_PER_CELL, may_leave, sweeps, records, every, self._block,
            self.width, STEP, self._seed, self.sweeps,
        )  # fmt: skip
        histograms = np.zeros((systems, records, BINS), dtype=np.uint64)
        seconds = np.zeros(1)
        arrays = (self._variants, self._disks, self._counts, histograms, self.moves, seconds)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        if wrong := self._function(ctypes.byref(setup), *pointers):
            raise RuntimeError(wrong.decode())
        if (self._counts.sum(axis=1) != self.N).any():
            raise RuntimeError("a disk is lost")
        self.sweeps += sweeps
        self.seconds += float(seconds[0])
        if not (every and sweeps // records // every):
            return np.full((systems, records), np.nan)
        samples = sweeps // records // every
        found = pressure_from_histogram(
            histograms.reshape(-1, BINS), samples, self.N, self.packing_fraction
        )
        return found.reshape(systems, records)
