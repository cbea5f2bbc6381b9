# SPDX-License-Identifier: BSD-3-Clause
"""Event chains of hard disks, computed by the serial program event_chain.cpp."""

from __future__ import annotations

import ctypes
import math
import time

import numpy as np
from programs import Function

CELL = 1.001  # least width of a cell, in diameters


class Setup(ctypes.Structure):
    """Setup in event_chain.cpp."""

    _fields_ = (
        ("disks", ctypes.c_int32), ("cells", ctypes.c_int32),
        ("edge", ctypes.c_double), ("length", ctypes.c_double),
        ("seed", ctypes.c_uint64), ("first_chain", ctypes.c_uint64),
        ("records", ctypes.c_int64), ("chains", ctypes.c_int64),
    )  # fmt: skip


class EventChains:
    """Hard disks of unit diameter in a square box, which event chains move.

    Args:
        positions: centers of the disks, float (N, 2), in any periodic image.
        edge: edge of the box in diameters, at least 3.003.
        length: length of a chain in diameters.
        seed: seed of the random number generator.
        function: function of event_chain.cpp.

    Raises:
        ValueError: the box is too small.
    """

    def __init__(
        self, positions: np.ndarray, edge: float, length: float, seed: int, function: Function
    ) -> None:
        self.N, self.edge, self.length = len(positions), edge, length
        if edge < 3 * CELL:
            raise ValueError(f"the edge of the box is {edge:g}; it must be at least {3 * CELL:g}")
        self._function = function
        self._setup = Setup(self.N, math.floor(edge / CELL), edge, length, seed)
        self._positions = np.ascontiguousarray(np.mod(positions, edge), dtype=float)
        self.contacts = self.chains = 0
        self.seconds = 0.0

    @property
    def positions(self) -> np.ndarray:
        """Centers of the disks, float (N, 2), in a box around the origin. Their order changes."""
        return self._positions - self.edge / 2

    def run(self, displacement: float, records: int = 1) -> np.ndarray:
        """Run chains whose lengths add up to this displacement per disk, in diameters, or a little
        more.

        Returns:
            P* of each record, float64 (records,): N / edge^2 times (1 + the mean sum of the
            separations at the contacts of a chain / its length).

        Raises:
            RuntimeError: a cell has too many disks.
        """
        began, setup = time.perf_counter(), self._setup
        # As many chains along x as along y in each record.
        setup.chains = 2 * math.ceil(displacement * self.N / self.length / records / 2)
        setup.records, setup.first_chain = records, self.chains
        sums, contacts = np.zeros(records), np.zeros(1, dtype=np.int64)
        arrays = (self._positions, sums, contacts)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        if wrong := self._function(ctypes.byref(setup), *pointers):
            raise RuntimeError(wrong.decode())
        self.chains += records * setup.chains
        self.contacts += int(contacts[0])
        self.seconds += time.perf_counter() - began
        return self.N / self.edge**2 * (1 + sums / (setup.chains * self.length))
