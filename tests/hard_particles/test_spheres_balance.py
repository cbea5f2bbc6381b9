# SPDX-License-Identifier: BSD-3-Clause
"""Mixtures of two and three particles in tiny boxes against integration, and detailed balance where
small tiles and frozen borders could break it, through the engine that large systems use.

A chain is read every so many cycles, enough that samples are independent for these tests. Each
comparison has a false-alarm probability of 1e-6 over seeds; the seeds are fixed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from laws import (
    FALSE_ALARM,
    another,
    assert_binomial,
    assert_follows,
    chi_square,
    chi_square_tail,
    symmetry,
)
from sphere_engines import engine, positions_of, sites

SAMPLES = {2: 10_000, 3: 6000}  # by the number of dimensions
BINS = {2: (11, 24), 3: (5, 12)}  # bins per axis of the unit cell, and points of integration

# Contact distances of the particles 0, 1 and 2.
SIZES = {
    "one size": {},
    "additive": {"diameters": [1.0, 0.4, 0.7]},
    "not additive": {"types": [0, 1, 1], "contacts": [[0.5, 1.0], [1.0, 0.6]]},
    "attracted": {"types": [0, 1, 1], "contacts": [[1.0, 0.4], [0.4, 0.9]]},
}
CONTACTS = {  # of the pairs (0, 1), (0, 2), (1, 2)
    "one size": (1.0, 1.0, 1.0),
    "additive": (0.7, 0.85, 0.55),
    "not additive": (1.0, 1.0, 0.6),
    "attracted": (0.4, 0.4, 0.9),
}


def tiny(device, count, box, sizes="one size", **settings):
    """A few particles on sites of a lattice, with large moves, melted."""
    order = np.random.default_rng(5).permutation(3 ** len(box))[:count]
    sized = {
        key: value[:count] if key != "contacts" else value for key, value in SIZES[sizes].items()
    }
    settings = {"max_displacement": 0.6, "moves_per_cell": 8, **sized, **settings}
    spheres = engine(sites(box)[order], box, device, **settings)
    spheres.run(1000)
    return spheres


def sample(spheres, samples, cycles):
    """Positions at intervals of a number of cycles, (samples, N, D)."""
    result = []
    for _ in range(samples):
        spheres.run(cycles)
        result.append(positions_of(spheres))
    return np.array(result)


def separations(places, box, i=0, j=1):
    vectors = places[..., j, :] - places[..., i, :]
    return vectors - np.rint(vectors / np.array(box)) * np.array(box)


def bins_of(vectors, box, m):
    """Histogram over the m^D bins of the periodic unit cell."""
    edges = [np.linspace(-edge / 2, edge / 2, m + 1) for edge in box]
    return np.histogramdd(vectors, bins=edges)[0]


def integrate_over_bins(density, box, m, points):
    """Midpoint integrals of density(vectors) over the m^D bins of the unit cell."""
    axes = [((np.arange(m * points) + 0.5) / (m * points) - 0.5) * edge for edge in box]
    values = density(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))
    for axis in range(len(box)):
        shape = (*values.shape[:axis], m, points, *values.shape[axis + 1 :])
        values = values.reshape(shape).mean(axis=axis + 1)
    return values


def shared(distance, a, b, dimensions):
    """Area or volume common to two circles or spheres of radii a and b."""
    if dimensions == 3:
        d = np.maximum(distance, 1e-9)
        cap = a + b - d
        lens = math.pi * cap**2 * (d**2 + 2 * d * (a + b) - 3 * (a - b) ** 2) / (12 * d)
        inside = 4 / 3 * math.pi * min(a, b) ** 3
    else:
        d = np.clip(distance, max(abs(a - b), 1e-9), a + b)
        x, y = (d**2 + a**2 - b**2) / (2 * d), (d**2 + b**2 - a**2) / (2 * d)
        lens = a**2 * np.arccos(np.clip(x / a, -1, 1)) + b**2 * np.arccos(np.clip(y / b, -1, 1))
        lens -= d * np.sqrt(np.maximum(a**2 - x**2, 0))
        inside = math.pi * min(a, b) ** 2
    return np.where(distance >= a + b, 0, np.where(distance <= abs(a - b), inside, lens))


def pair_density(box, sizes, count):
    """Density of the separation of particles 0 and 1: the volume left for a third, if there is one.

    Images of one of the volumes that the third cannot enter do not meet in a box that is three
    contact distances wide.
    """
    D = len(box)
    between, a, b = CONTACTS[sizes]
    ball = math.pi if D == 2 else 4 / 3 * math.pi

    def density(vectors):
        allowed = (np.linalg.norm(vectors, axis=-1) >= between).astype(float)
        if count == 2:
            return allowed
        images = [np.array(image) * box for image in itertools.product((-1, 0, 1), repeat=D)]
        common = sum(shared(np.linalg.norm(vectors + image, axis=-1), a, b, D) for image in images)
        return allowed * (math.prod(box) - ball * (a**D + b**D) + common)

    return density


def compare(spheres, box, sizes, count, cycles, samples=None):
    """Separations of particles 0 and 1 in bins of the unit cell, and their law."""
    m, points = BINS[len(box)]
    vectors = separations(sample(spheres, samples or SAMPLES[len(box)], cycles), box)
    law = integrate_over_bins(pair_density(box, sizes, count), box, m, points)
    return bins_of(vectors, box, m), law


# ---- two and three particles -------------------------------------------------------------------

FLAT = (3.05, 3.4)
SOLID = (3.05, 3.3, 3.1)


@pytest.mark.parametrize("box", [FLAT, SOLID], ids=["2D", "3D"])
@pytest.mark.parametrize("sizes", ["additive", "not additive", "attracted"])
def test_two_particles_of_a_mixture_visit_every_separation_uniformly(device, box, sizes):
    """Over the unit cell less the sphere of the contact distance. One comparison for the vector and
    one for its length near contact, to a hundredth."""
    spheres = tiny(device, 2, box, sizes)
    vectors = separations(sample(spheres, SAMPLES[len(box)], 40), box)
    m, points = BINS[len(box)]
    law = integrate_over_bins(pair_density(box, sizes, 2), box, m, points)
    assert_follows(bins_of(vectors, box, m), law)
    contact = CONTACTS[sizes][0]
    edges = contact * np.array([1, 1.1, 1.2, 1.3, 1.4, 1.5])
    found = np.histogram(np.linalg.norm(vectors, axis=1), bins=edges)[0]
    assert_follows(found, np.diff(edges ** len(box)))


@pytest.mark.parametrize(
    ("box", "sizes"),
    [
        another(FLAT, "one size"),
        another(SOLID, "one size"),
        (FLAT, "additive"),
        another(SOLID, "additive"),
        another(FLAT, "not additive"),
        (SOLID, "not additive"),
        another(FLAT, "attracted"),
        another(SOLID, "attracted"),
    ],
)
def test_three_particles_leave_each_other_the_room_of_the_integral(device, box, sizes):
    """The separation of two is distributed as the volume that is left for the third. One
    comparison."""
    assert_follows(*compare(tiny(device, 3, box, sizes), box, sizes, 3, 40))


@pytest.mark.parametrize("sizes", ["additive", "not additive"])
def test_three_particles_in_the_smallest_tiles_sample_the_same_law(device, sizes):
    """Four tiles of one and of two cells per edge: one cell of nine is active. One comparison."""
    spheres = tiny(device, 3, FLAT, sizes, tile=2, rounds=2, moves_per_cell=16)
    assert spheres.grid["tiles"] == (2, 2)
    assert_follows(*compare(spheres, FLAT, sizes, 3, 150, samples=5000))


def test_these_comparisons_notice_a_wrong_law():
    """A diameter that is 10 % larger, and a law without the third particle, are refused."""
    box = (3.4, 3.4)
    spheres = tiny("cpu", 2, box, diameter=1.1)
    counts, law = compare(spheres, box, "one size", 2, 40)
    assert chi_square(counts, law) < FALSE_ALARM
    counts, law = compare(tiny("cpu", 3, FLAT), FLAT, "one size", 2, 40, samples=40_000)
    assert chi_square(counts, law) < FALSE_ALARM


# ---- frozen borders ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("box", "tile"),
    [
        ((3.0, 3.0), 2),
        ((5.5, 3.7), 3),
        ((3.0, 3.3, 3.6), 2),
        ((7.1, 4.0, 3.0), 3),
        ((3.0,) * 3, 16),
    ],
)
def test_one_particle_is_active_as_often_as_geometry_says(device, box, tile):
    """It is in an active cell with probability prod (n - tiles) / n, because the shift is uniform;
    and stays in its cell of widths w in a move uniform in [-delta, delta]^D with probability
    prod (1 - delta / (2 w)). Two comparisons."""
    cycles = 60_000
    spheres = engine(
        np.zeros((1, len(box))), box, device,
        max_displacement=0.8, moves_per_cell=1, rounds=1, tile=tile,
    )  # fmt: skip
    spheres.run(cycles)
    grid = spheres.grid
    active = math.prod((n - t) / n for n, t in zip(grid["cells"], grid["tiles"], strict=True))
    _, trials, accepted = spheres.counters
    assert_binomial(trials, cycles, active)
    stays = math.prod(1 - grid["max_displacement"] / (2 * w) for w in grid["cell_width"])
    assert_binomial(accepted, trials, stays)


@pytest.mark.parametrize(
    ("box", "tile"), [((7.0, 5.0), 2), ((9.0, 4.2), 4), ((5.0, 3.0, 4.0), 2), ((4.0, 7.0, 3.0), 3)]
)
def test_every_place_of_the_box_is_frozen_equally_often(device, box, tile):
    """A lone particle is frozen with the same probability wherever it is, on whatever side of a
    tile: in each of 4^D bins a binomial count. One comparison."""
    spheres = engine(
        np.zeros((1, len(box))), box, device,
        max_displacement=1.0, moves_per_cell=8, rounds=4, tile=tile,
    )  # fmt: skip
    grid = spheres.grid
    active = math.prod((n - t) / n for n, t in zip(grid["cells"], grid["tiles"], strict=True))
    places, moved = np.empty((30_000, len(box))), np.empty(30_000, dtype=bool)
    before = 0
    for k in range(len(places)):
        places[k] = positions_of(spheres)[0]
        spheres.run(1)
        moved[k] = spheres.counters[1] > before
        before = spheres.counters[1]
    visits, trials = bins_of(places, box, 4), bins_of(places[moved], box, 4)
    chi2 = ((trials - visits * active) ** 2 / (visits * active * (1 - active))).sum()
    assert visits.min() > 100
    assert chi_square_tail(chi2, visits.size) > FALSE_ALARM


# ---- detailed balance --------------------------------------------------------------------------


def transitions(spheres, box, number, apart, drift=0.0):
    """Coarse-grained states before and after one cycle: the bin of the separation of particles 0
    and 1, four per axis in two dimensions and two in three. Transitions are `apart` cycles from
    each other. A drift is added to the second state."""
    D, per_axis = len(box), {2: 4, 3: 2}[len(box)]
    pairs = []
    for _ in range(number):
        spheres.run(apart)
        before = positions_of(spheres)
        spheres.run(1)
        pairs.append((before, positions_of(spheres)))
    shares = separations(np.array(pairs), box) / np.array(box) + 0.5
    shares[:, 1] = (shares[:, 1] + drift) % 1
    digits = np.minimum((shares * per_axis).astype(int), per_axis - 1)
    states = digits @ per_axis ** np.arange(D)
    counts = np.zeros((per_axis**D, per_axis**D))
    np.add.at(counts, (states[:, 0], states[:, 1]), 1)
    return counts


@pytest.mark.parametrize(
    ("count", "box", "sizes", "settings"),
    [
        (2, (3.05, 3.05), "additive", {"rounds": 1, "tile": 2}),
        (3, (3.2, 3.2), "not additive", {"rounds": 1, "tile": 2}),
        another(3, (3.3, 4.1), "additive", {"rounds": 2, "moves_per_cell": 3, "tile": 3}),
        (2, (3.05, 3.05, 3.05), "additive", {"rounds": 1, "moves_per_cell": 16}),
        (3, (3.1, 3.1, 3.1), "not additive", {"rounds": 1, "tile": 2, "moves_per_cell": 16}),
        another(3, (4.0, 3.1, 3.1), "additive", {"cell_width": 1.3, "rounds": 2, "tile": 2}),
    ],
)
def test_one_cycle_obeys_detailed_balance(device, count, box, sizes, settings):
    """Transitions between separations are as frequent as their reverses. One comparison."""
    spheres = tiny(device, count, box, sizes, max_displacement=0.9, **settings)
    assert symmetry(transitions(spheres, box, 20_000, 15), 12) > FALSE_ALARM


def test_the_symmetry_of_transitions_notices_a_drift():
    """A drift of 0.01 of the box per cycle is refused."""
    box = (3.05, 3.05)
    spheres = tiny("cpu", 2, box, "additive", max_displacement=0.9, rounds=1)
    assert symmetry(transitions(spheres, box, 20_000, 15, drift=0.01), 12) < FALSE_ALARM
