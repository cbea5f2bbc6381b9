# SPDX-License-Identifier: BSD-3-Clause
"""Maps of the density of molecules in the unit cell, projected along an edge."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from manymove import arguments

if TYPE_CHECKING:
    from manymove.adsorption.simulation import Adsorption

AXES = ("x", "y", "z")


class DensityMap:
    """Mean number of molecules in the unit cell, projected along one of its edges.

    Each call of `sample` adds the present centers of the molecules of all systems.

    Example::

        density = DensityMap(adsorption, "y")
        for _ in range(100):
            adsorption.run(1000)
            density.sample()
        density.molecules[0].sum()  # per unit cell

    Args:
        adsorption: the systems.
        axis: edge along which the density is projected: "x", "y" or "z" for a, b or c.
        bins: number of bins along each of the other two edges.

    Raises:
        ValueError: the axis or the number of bins is wrong.
    """

    def __init__(self, adsorption: Adsorption, axis: str = "z", bins: int = 100) -> None:
        arguments.one_of("axis", axis, AXES)
        self._adsorption = adsorption
        self._across = [k for k in range(3) if k != AXES.index(axis)]
        self.bins = arguments.count("bins", bins, most=1024)
        self.axis = axis
        kinds = adsorption.counts.shape[1]
        self.counts = np.zeros((kinds, self.bins, self.bins), dtype=np.int64)
        self.samples = 0

    def sample(self, weight: int = 1) -> None:
        """Add the present positions.

        Args:
            weight: how many samples they count for, at least 1.
        """
        arguments.count("weight", weight)
        a = self._adsorption
        ends = np.cumsum([0, *a.capacity])
        fractions = (a.positions @ np.linalg.inv(a.edges)) * a.cells % 1.0
        cells = np.minimum(fractions[..., self._across] * self.bins, self.bins - 1)
        for kind, (first, last) in enumerate(pairwise(ends)):
            part = cells[:, first:last].reshape(-1, 2)
            rows, columns = part[~np.isnan(part[:, 0])].astype(np.int64).T
            index = np.bincount(rows * self.bins + columns, minlength=self.bins**2)
            self.counts[kind] += weight * index.reshape(self.bins, self.bins)
        self.samples += weight

    @property
    def molecules(self) -> np.ndarray:
        """Mean number of molecules of each species in each bin of a unit cell, float64 (species,
        bins, bins). The first index of a bin is along the first of the other two edges.

        Raises:
            RuntimeError: nothing has been sampled.
        """
        if not self.samples:
            raise RuntimeError("nothing sampled yet: call sample")
        cells = np.prod(self._adsorption.cells) * self._adsorption.systems
        return self.counts / (self.samples * cells)

    @property
    def corners(self) -> np.ndarray:
        """Corners of the bins in angstrom in the plane of both edges, float64 (bins + 1, bins + 1,
        2); the first edge is along the first axis."""
        return corners_of(self._adsorption.framework.edges[self._across], self.bins)


def corners_of(edges: np.ndarray, bins: int) -> np.ndarray:
    """Corners of bins of a parallelogram, (bins + 1, bins + 1, 2), from its edges (2, 3)."""
    first, second = edges
    length = np.linalg.norm(first)
    along = first @ second / length
    flat = np.array([[length, 0.0], [along, np.sqrt(max(0.0, second @ second - along**2))]])
    u = np.arange(bins + 1) / bins
    return np.stack(np.meshgrid(u, u, indexing="ij"), axis=-1) @ flat
