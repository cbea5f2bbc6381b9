# SPDX-License-Identifier: BSD-3-Clause
"""Density profiles of hard particles in external fields, and their pressure on hard walls.

The pressure on a hard wall is the density of centers at contact with it (contact theorem,
docs/theory/external_fields.md, section 5).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from manymove.analysis.pressure import contact_weights
from manymove.fields import Field, HardWall, Plane
from manymove.hard_particles.sampling import Sampling

_WIDTH = 0.05  # of a bin, in diameters
_MOST = 1000  # bins
# Bins from which the density at contact is extrapolated: number, width in diameters, and degree of
# the polynomial, as in examples/hard_spheres/wetting.py, whose densities agree with the pressure.
_NEAR = 20, 0.01, 4

Wall = tuple[float, float, float | np.ndarray]


def default_bins(edge: float, diameter: float) -> int:
    """Number of bins along an edge of the box: a twentieth of a diameter each, at most 1000."""
    return min(_MOST, max(1, round(edge / (_WIDTH * diameter))))


def walls_across(fields: tuple[Field, ...], axis: int) -> list[Wall | None]:
    """The hard walls below and above the particles across an axis, None where there is none:
    direction from the wall to the particles along the axis (1 or -1), coordinate of the wall, and
    least distance of the centers, None for half the diameter."""
    found: list[Any] = [None, None]
    for field in fields:
        if not (isinstance(field, HardWall) and isinstance(field.surface, Plane)):
            continue
        normal = np.array(field.surface.normal)
        if normal[axis] and not np.delete(normal, axis).any():
            side = math.copysign(1.0, normal[axis])
            place = 0.0 if field.surface.origin is None else field.surface.origin[axis]
            before = found[side < 0]
            if before is None or side * place > side * before[1]:  # the inner one
                found[side < 0] = side, place, field.distance
    return found


class ProfileSampling(Sampling):
    """Sampling of the density along an axis. The values are P* on the hard walls below and above
    the particles, NaN without them; the mean energy of a particle in the fields, in kT; and the
    number densities in the bins.

    Args:
        particles: the particles, in a constant box.
        every: number of cycles between two samples.
        samples: number of samples of a record.
        axis: number of the axis, from 1.
        bins: number of bins along the edge of the box.
        first: present cycle.
    """

    TYPES: ClassVar[dict[str, Any]] = dict.fromkeys(
        ("profile_values", "profile_cycles", "profile_open"), np.float64
    )

    def __init__(
        self, particles: Any, every: int, samples: int, axis: int, bins: int, first: int
    ) -> None:
        self.settings = {"every": every, "samples": samples, "axis": axis, "bins": bins}
        self.every, self.axis = every, axis - 1
        self.edges = np.linspace(-0.5, 0.5, bins + 1) * particles.box[self.axis]
        self._walls = walls_across(particles.fields, self.axis)
        self._new: list[tuple[np.ndarray, int]] = []
        # The last sum is the number of samples: a Ctrl-C comes between a cycle and its sample.
        self._begin(every * samples, first, np.zeros(4 + bins), 3 + bins)

    def take(self, particles: Any) -> None:
        """Take a sample. Ranks that share the particles call it together."""
        x, energies = particles.positions[:, self.axis], particles.field_energies
        area = math.prod(particles.box) / particles.box[self.axis]
        unit, D = particles.diameter, len(particles.box)
        bins, width, degree = _NEAR
        weights = contact_weights(bins, width, degree, 1)
        pressures = []
        for wall in self._walls:
            if wall is None:
                pressures.append(math.nan)
                continue
            side, place, least = wall
            least = particles.diameters / 2 if least is None else least
            away = (side * (x - place) - least) / unit
            # Rounding may put a particle in contact on the other side of it.
            near = np.maximum(0, away[away < bins * width] / width).astype(int)
            counts = np.bincount(np.minimum(near, bins - 1), minlength=bins)
            pressures.append(weights @ counts * unit ** (D - 1) / area)
        end = self.edges[-1]
        counts = np.histogram(x, len(self.edges) - 1, (-end, end))[0]
        density = counts / (area * (self.edges[1] - self.edges[0]))
        mean = energies.mean() if len(energies) else 0.0
        self._new.append((np.array([*pressures, mean, *density, 1.0]), particles.cycles))

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        rows, cycles = [row for row, _ in self._new], [cycle for _, cycle in self._new]
        self._new = []
        return np.reshape(rows, (len(rows), len(self._open))), np.array(cycles, dtype=np.int64)

    def _finished(self, sums: np.ndarray) -> np.ndarray:
        return sums[:-1] / sums[-1]
