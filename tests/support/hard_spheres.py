# SPDX-License-Identifier: BSD-3-Clause
"""Hard spheres of the tests, and distances by brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flat_settings import of_hard_particles

from manymove import HardDisks, HardSpheres


def make(start: Any, device: str = "cpu", **settings: Any) -> HardSpheres | HardDisks:
    """Spheres, or disks in a box with two edges, from positions and box."""
    positions, box = start
    kind = HardDisks if len(box) == 2 else HardSpheres
    settings = of_hard_particles(**{"seed": 1, "threads": 1, **settings})
    return kind(positions, box, device=device, **settings)


def contact_table(particles: HardSpheres | HardDisks) -> np.ndarray:
    """Contact distances of all pairs, (N, N)."""
    if particles.contacts is not None:
        return particles.contacts[np.ix_(particles.types, particles.types)]
    d = particles.diameters
    return (d[:, None] + d) / 2


def gaps(particles: HardSpheres | HardDisks, reach: float) -> dict[tuple[int, int], np.ndarray]:
    """Distances of all pairs below `reach` contact distances, in contact distances, each periodic
    image once, by pair of types. By brute force."""
    positions, box = particles.positions, np.array(particles.box)
    table, types = contact_table(particles), particles.types
    images = np.array(list(itertools.product((-1, 0, 1), repeat=len(box)))) * box
    found: dict[tuple[int, int], list[float]] = {pair: [] for pair in particles.pairs_of_types}
    for i in range(len(positions) - 1):
        vectors = positions[i + 1 :] - positions[i]
        vectors -= np.rint(vectors / box) * box
        for image in images:
            distances = np.sqrt(((vectors + image) ** 2).sum(axis=1)) / table[i, i + 1 :]
            for j in np.flatnonzero(distances < reach):
                a, b = sorted((int(types[i]), int(types[i + 1 + j])))
                found[a, b].append(float(distances[j]))
    return {pair: np.array(distances) for pair, distances in found.items()}


def assert_valid(particles: HardSpheres | HardDisks) -> None:
    """Every particle in the box and no overlap, by a check of its own."""
    positions, half = particles.positions, np.array(particles.box) / 2
    assert positions.shape == (particles.N, len(half))
    assert (positions >= -half).all() and (positions < half).all()
    closest = min((d.min() for d in gaps(particles, 1.3).values() if len(d)), default=math.inf)
    assert closest >= 1 - 1e-6
    if closest < math.inf:
        assert particles.max_overlap() <= max(0.0, 1 - closest) + 1e-9


def sites(box: tuple[float, ...], per_edge: int = 3) -> np.ndarray:
    """Sites of a lattice that fills a box, (per_edge^D, D)."""
    axis = (np.arange(per_edge) + 0.5) / per_edge - 0.5
    mesh = np.meshgrid(*(axis * edge for edge in box), indexing="ij")
    return np.stack(mesh, axis=-1).reshape(-1, len(box))


def sample(particles: HardSpheres | HardDisks, samples: int, cycles: int) -> np.ndarray:
    """Positions at intervals of a number of cycles, (samples, N, D)."""
    result = np.empty((samples, particles.N, len(particles.box)))
    for k in range(samples):
        particles.run_cycles(cycles)
        result[k] = particles.positions
    return result


def three_by_samples(
    particles: Any, run: Callable[[], None], box: np.ndarray, samples: int = 6000
) -> tuple[np.ndarray, np.ndarray]:
    """Which of the three diameters particles 0 and 1 have, as one number, and their distance, each
    time after run()."""
    distance, assignment = np.empty(samples), np.empty(samples, dtype=int)
    for k in range(samples):
        run()
        r = particles.positions[1] - particles.positions[0]
        r -= np.rint(r / box) * box
        distance[k] = np.sqrt((r**2).sum())
        order = np.argsort(np.argsort(-particles.diameters))
        assignment[k] = 3 * order[0] + order[1]
    return assignment, distance


def three_by_integration(
    diameters: np.ndarray, box: np.ndarray, swaps: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The law of three particles in a small box, from random positions without overlaps.

    Returns:
        edges of the bins of the distance of particles 0 and 1, and counts (9, bins) for each
        assignment 3 i + j of the i-th and the j-th largest diameter to the two.
    """
    dimensions = len(box)
    edges = np.array([0.5, 0.6, 0.75, 0.9, 1.05, 1.25, 1.5, 1.8, 2.2, 9.0])
    random = np.random.default_rng(8)
    # With swaps all assignments are as likely as random positions are legal for them.
    counts = np.zeros((9, len(edges) - 1))
    points = 400_000
    for one in range(3):
        for two in range(3):
            if one == two:
                continue
            by_size = np.sort(diameters)[::-1]
            d = by_size[[one, two, 3 - one - two]]
            if not swaps and not np.array_equal(d, diameters):
                continue
            r = random.uniform(-0.5, 0.5, (points, 2, dimensions)) * box
            third = r[:, 0] - r[:, 1]
            third -= np.rint(third / box) * box
            a, b, c = (np.sqrt((v**2).sum(axis=1)) for v in (r[:, 0], r[:, 1], third))
            legal = (a >= (d[0] + d[1]) / 2) & (b >= (d[0] + d[2]) / 2) & (c >= (d[1] + d[2]) / 2)
            counts[3 * one + two] = np.histogram(a[legal], bins=edges)[0]
    return edges, counts
