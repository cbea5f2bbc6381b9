# SPDX-License-Identifier: BSD-3-Clause
"""Records of the pressure of hard particles, from pair distances near contact."""

from __future__ import annotations

from typing import Any

import numpy as np

from manymove.analysis.pressure import (
    BINS,
    DEGREE,
    DELTA_R,
    contact_weights,
    pressure_from_histogram,
)


class PressureSampling:
    """Sampling of the pressure by an engine, and its records.

    Args:
        engine: engine of the core.
        every: number of cycles between two samples.
        samples: number of samples of a record.
        particles, packing_fraction, dimensions: number, packing fraction and dimensions of the
            particles.
        kinds: number of pairs of types, each with a histogram.
    """

    def __init__(
        self,
        engine: Any,
        every: int,
        samples: int,
        particles: int,
        packing_fraction: float,
        dimensions: int,
        kinds: int,
    ) -> None:
        engine.set_sampling(DELTA_R, BINS, every, every * samples)
        self._engine = engine
        self.every, self.samples = every, samples
        self._particles = (particles, packing_fraction)
        self._dimensions = dimensions
        self._shape = (kinds, BINS)
        self.records = np.empty(0)  # P*
        self.contact_records = np.empty((0, kinds))  # pairs per unit of r / contact distance, at 1
        self.cycles = np.empty(0)  # at their ends
        self.histogram = np.zeros(self._shape, dtype=np.uint64)

    def collect(self) -> None:
        """Fetch the finished records from the engine."""
        rows, cycles = self._engine.take_rows()
        if len(cycles):
            rows = rows.reshape(len(cycles), *self._shape)
            self.histogram += rows.sum(axis=0, dtype=np.uint64)
            new = pressure_from_histogram(
                rows.sum(axis=1, dtype=np.uint64),
                self.samples,
                *self._particles,
                dimensions=self._dimensions,
            )
            at_contact = rows @ contact_weights(BINS, DELTA_R, DEGREE, self._dimensions)
            self.records = np.concatenate((self.records, new))
            self.contact_records = np.concatenate((self.contact_records, at_contact / self.samples))
            self.cycles = np.concatenate((self.cycles, cycles))
