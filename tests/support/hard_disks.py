"""Hard disks of the tests, and distances by brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flat_settings import of_hard_particles

from manymove import HardDisks

KOLAFA_ROTTNER = {  # powers of x = phi / (1 - phi)
    0: 1.0,
    1: 2.0,
    2: 1.12801775,
    3: 0.00181895291,
    4: -0.0526134737,
    5: 0.0504960168,
    6: -0.0325537792,
    7: 0.0134578632,
    8: 0.00140888182,
    9: -0.00834273601,
    10: 0.00694127367,
    11: -0.00262254723,
    12: 0.000355746352,
    22: -5.24672938e-9,
    57: 5.88054639e-23,
}


def make(start: Any, device: str = "cpu", **settings: Any) -> HardDisks:
    """Disks from positions and box."""
    positions, box = start
    settings = of_hard_particles(**{"seed": 1, "threads": 1, **settings})
    return HardDisks(positions, box, device=device, **settings)


def lattice(columns: int, rows: int, box: tuple[float, float], count: int | None = None):
    """The first `count` sites of a rectangular lattice that fills the box, float64 (count, 2)."""
    sites = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).reshape(-1, 2)
    return ((sites + 0.5) / (columns, rows) - 0.5)[:count] * np.array(box)


def separations(positions: np.ndarray, box: tuple[float, float]) -> np.ndarray:
    """Vectors from disk i to disk j of each pair i < j, nearest images: (..., pairs, 2)."""
    i, j = np.triu_indices(positions.shape[-2], 1)
    vectors = positions[..., j, :] - positions[..., i, :]
    return vectors - np.rint(vectors / np.array(box)) * np.array(box)


def neighbour_pairs(positions: np.ndarray, box: tuple[float, float], reach: float) -> np.ndarray:
    """Vectors of all pairs closer than `reach`, each once, every periodic image that is: (K, 2).

    By brute force, in blocks.
    """
    edges = np.array(box)
    found = []
    images = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    for i in range(len(positions)):
        vectors = positions[i + 1 :] - positions[i]
        near = vectors - np.rint(vectors / edges) * edges
        close = near[(np.abs(near) < reach + edges / 2).all(axis=1)]
        for image in images:
            shifted = close + image * edges
            found.append(shifted[(shifted**2).sum(axis=1) < reach**2])
    return np.concatenate(found) if found else np.empty((0, 2))


def closest_distance(positions: np.ndarray, box: tuple[float, float]) -> float:
    """Smallest distance of two disks, nearest images, by brute force."""
    closest = math.inf
    for i in range(len(positions) - 1):
        vectors = positions[i + 1 :] - positions[i]
        vectors -= np.rint(vectors / np.array(box)) * np.array(box)
        closest = min(closest, float((vectors**2).sum(axis=1).min()))
    return math.sqrt(closest)


def sample(disks: HardDisks, samples: int, cycles: int) -> np.ndarray:
    """Positions at intervals of a number of cycles, (samples, N, 2).

    The interval is in cycles, because the end of a run in sweeps depends on the trajectory
    (docs/theory/hard_disks.md, section 7).
    """
    result = np.empty((samples, disks.N, 2))
    for k in range(samples):
        disks._engine.run(cycles)
        result[k] = disks.positions
    return result


def compressibility_factor(packing_fraction):
    """Z = P V / N k T of the fluid, Kolafa and Rottner."""
    x = packing_fraction / (1 - packing_fraction)
    return sum(c * x**power for power, c in KOLAFA_ROTTNER.items())
