# SPDX-License-Identifier: BSD-3-Clause
"""The self-intermediate scattering function, which tells how far particles have moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def self_intermediate_scattering(
    start: np.ndarray, positions: np.ndarray, box: Sequence[float], wave_number: float
) -> float:
    """Self-intermediate scattering function F_s(k) between two configurations.

    F_s is the mean of exp(i k . u) over all particles, with the displacement u of a particle and a
    wave vector k along an edge of the box; it is averaged over the edges. It is 1 at first and 0
    when the particles have forgotten where they were. For Gaussian displacements with the mean
    square <u^2>, F_s = exp(-k^2 <u^2> / (2 D)) in D dimensions.

    Args:
        start: first configuration, (N, D).
        positions: second configuration of the same particles in the same order, (N, D).
        box: edges of the periodic box, (D,). Displacements must be below half an edge.
        wave_number: k in the inverse unit of the positions.

    Returns:
        F_s(k).

    Raises:
        ValueError: the two configurations have different shapes.
    """
    start, positions = np.asarray(start, dtype=np.float64), np.asarray(positions, dtype=np.float64)
    edges = np.asarray(box, dtype=np.float64)
    if start.shape != positions.shape or start.shape[1:] != edges.shape:
        raise ValueError(f"the shapes {start.shape} and {positions.shape} do not fit the box {box}")
    moved = positions - start
    moved -= edges * np.rint(moved / edges)
    return float(np.cos(wave_number * moved).mean())
