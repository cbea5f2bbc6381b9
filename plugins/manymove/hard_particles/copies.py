# SPDX-License-Identifier: BSD-3-Clause
"""Periodic copies of a configuration, and large random configurations of spheres made of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manymove import arguments
from manymove.hard_particles.spheres import HardSpheres

_FEWEST_IN_A_COPY = 4096


def replicate(
    positions: np.ndarray, box: Sequence[float], copies: Sequence[int]
) -> tuple[np.ndarray, tuple[float, ...]]:
    """Periodic copies of a configuration, side by side.

    Args:
        positions: positions, (N, D) in [-L/2, L/2).
        box: edges of the box, D numbers.
        copies: number of copies along each axis, D integers.

    Returns:
        positions, float64 (N * product of copies, D), one copy after the other, and the box.

    Raises:
        ValueError: a number of copies is not positive, or the numbers of axes differ.
    """
    points, edges = np.asarray(positions, dtype=float), np.asarray(box, dtype=float)
    counts = np.array([arguments.count("copies", count) for count in copies])
    if points.ndim != 2 or not points.shape[1] == len(edges) == len(counts):
        raise ValueError(
            f"positions of shape {points.shape}, a box of {len(edges)} edges and {len(counts)} "
            "numbers of copies do not fit together"
        )
    axes = np.meshgrid(*(np.arange(count) for count in counts), indexing="ij")
    shifts = np.stack(axes, axis=-1).reshape(-1, 1, len(edges))
    whole = counts * edges
    centered = (points + shifts * edges).reshape(-1, len(edges)) - (whole - edges) / 2
    return centered, tuple(whole.tolist())


def copies_of(N: int) -> int:
    """Number of copies along each axis that make up N spheres: at most 8, with 4,096 spheres or
    more in each."""
    fits = (k for k in (8, 4, 2) if N % k**3 == 0 and N // k**3 >= _FEWEST_IN_A_COPY)
    return next(fits, 1)


def random_sphere_packing(
    N: int, packing_fraction: float, *, seed: int, device: str = "auto"
) -> tuple[np.ndarray, tuple[float, float, float]]:
    """Random configuration of many spheres without overlaps.

    It is that of `HardSpheres.random`, or consists of up to 8 x 8 x 8 copies of a smaller one of
    4,096 spheres or more, which takes much less time. The copies differ after a few sweeps. The
    configuration has to be equilibrated.

    Args:
        N: number of spheres of diameter 1.
        packing_fraction: packing fraction N pi / (6 Lx Ly Lz).
        seed: seed of the random number generator.
        device: device on which the small configuration is compressed.

    Returns:
        positions, float64 (N, 3), and the box (Lx, Ly, Lz).

    Raises:
        ValueError: an error of `HardSpheres.random`.
    """
    copies = copies_of(arguments.count("N", N))
    part = HardSpheres.random(N // copies**3, packing_fraction, seed=seed, device=device)
    positions, (lx, ly, lz) = replicate(part.positions, part.box, (copies,) * 3)
    return positions, (lx, ly, lz)
