"""Records of the pressure of hard disks, from pair distances near contact."""

from __future__ import annotations

from typing import Any

import numpy as np

from manymove.analysis.pressure import BINS, DELTA_R, pressure_from_histogram


class PressureSampling:
    """Sampling of the pressure by an engine, and its records.

    Args:
        engine: engine of the core.
        every: number of cycles between two samples.
        samples: number of samples of a record.
        particles, packing_fraction: number and packing fraction of the disks.
    """

    def __init__(
        self, engine: Any, every: int, samples: int, particles: int, packing_fraction: float
    ) -> None:
        engine.set_sampling(DELTA_R, BINS, every, every * samples)
        self._engine = engine
        self.every, self.samples = every, samples
        self._disks = (particles, packing_fraction)
        self.records = np.empty(0)  # P*
        self.cycles = np.empty(0)  # at their ends
        self.histogram = np.zeros(BINS, dtype=np.uint64)

    def collect(self) -> None:
        """Fetch the finished records from the engine."""
        rows, cycles = self._engine.take_rows()
        if len(cycles):
            rows = rows.reshape(len(cycles), BINS)
            self.histogram += rows.sum(axis=0, dtype=np.uint64)
            new = pressure_from_histogram(rows, self.samples, *self._disks)
            self.records = np.concatenate((self.records, new))
            self.cycles = np.concatenate((self.cycles, cycles))
