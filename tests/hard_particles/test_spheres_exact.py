# SPDX-License-Identifier: BSD-3-Clause
"""Small systems of spheres and mixtures against exact results, through the public classes.

A chain is read every 80 cycles, after which samples are independent for these tests. Each
comparison has a false-alarm probability of 1e-6 over seeds; the seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hard_spheres import make, sample, sites
from laws import another, assert_binomial, assert_follows

SAMPLES = 8_000
APART = 80  # cycles between two samples; at 40 those in elongated boxes correlate by 5 to 7 %


def tiny(device, count, box, **settings):
    """A few particles on sites of a lattice, with large moves, melted."""
    settings = {"max_displacement": 0.5, **settings}
    places = sites(box)
    order = np.random.default_rng(5).permutation(len(places))[:count]
    particles = make((places[order], box), device, **settings)
    particles.run_cycles(500)
    return particles


def distances(places, box):
    """Distances of the pairs (0, 1), (0, 2), ... of each sample, nearest images."""
    i, j = np.triu_indices(places.shape[1], 1)
    vectors = places[:, j] - places[:, i]
    vectors -= np.rint(vectors / np.array(box)) * np.array(box)
    return np.sqrt((vectors**2).sum(axis=2))


EDGES = np.sqrt([1.0, 1.05, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 30.0])


def cell_law(box, edges, per_edge=160):
    """Volumes of the unit cell by distance from its center, by a grid of points."""
    axes = [((np.arange(per_edge) + 0.5) / per_edge - 0.5) * edge for edge in box]
    squares = sum(np.meshgrid(*(axis**2 for axis in axes), indexing="ij"))
    return np.histogram(np.sqrt(squares).ravel(), bins=edges)[0]


def test_one_sphere_visits_the_box_uniformly(device):
    """A comparison over 5 x 5 x 5 bins."""
    box = (3.05, 4.3, 3.6)
    spheres = tiny(device, 1, box, max_displacement=0.9)
    places = sample(spheres, SAMPLES, APART)[:, 0]
    edges = [np.linspace(-edge / 2, edge / 2, 6) for edge in box]
    assert_follows(np.histogramdd(places, bins=edges)[0], np.ones(125))


@pytest.mark.parametrize("box", [(3.0, 3.0), (3.2, 3.0, 4.1)])
def test_one_particle_stays_in_its_cell_as_often_as_geometry_says(device, box):
    """A move uniform in [-delta, delta]^D from a uniform place in a cell of widths w stays inside
    with probability prod (1 - delta / (2 w)). One comparison per box."""
    start = (np.zeros((1, len(box))), box)
    sizes = {"diameters": [1.0]} if len(box) == 2 else {}
    lone = make(start, device, max_displacement=0.7, moves_per_cell=1, rounds=1, **sizes)
    lone.run_cycles(40_000)
    stays = math.prod(1 - lone.max_displacement / (2 * w) for w in lone._grid["cell_width"])
    assert_binomial(lone.accepted_moves, lone.trial_moves, stays)


@pytest.mark.parametrize(
    ("box", "settings"),
    [
        another((3.05, 3.05, 3.05), {}),
        ((3.3, 4.2, 3.1), {"moves_per_cell": 3, "rounds": 2}),
        another((4.1, 4.1, 4.1), {"cell_width": 1.3, "moves_per_cell": 7}),
        another((5.2, 3.1, 3.1), {"tile": 3}),
    ],
)
def test_two_spheres_visit_every_separation_uniformly(device, box, settings):
    """The distance of a pair that is uniform outside contact, and its direction by octants and the
    largest component. Two comparisons per box."""
    places = sample(tiny(device, 2, box, **settings), SAMPLES, APART)
    found = distances(places, box)[:, 0]
    assert_follows(np.histogram(found, bins=EDGES)[0], cell_law(box, EDGES))
    vectors = places[:, 1] - places[:, 0]
    octants = ((vectors - np.rint(vectors / np.array(box)) * np.array(box)) > 0) @ [1, 2, 4]
    assert_follows(np.bincount(octants, minlength=8), np.ones(8))


def rejection_sample(box, contacts, types, tries, seed):
    """Independent uniform configurations of particles without overlaps, (K, N, D)."""
    generator = np.random.default_rng(seed)
    edges = np.array(box)
    chains = generator.uniform(-0.5, 0.5, (tries, 1, len(box))) * edges
    for k in range(1, len(types)):
        new = generator.uniform(-0.5, 0.5, (len(chains), 1, len(box))) * edges
        vectors = chains - new
        vectors -= np.rint(vectors / edges) * edges
        limits = np.array([contacts[types[i]][types[k]] for i in range(k)])
        free = ((vectors**2).sum(axis=2) >= limits**2).all(axis=1)
        chains = np.concatenate([chains[free], new[free]], axis=1)
    return chains


MIXTURES = {
    "additive": (((1.0, 0.7), (0.7, 0.4)), (0, 1, 1)),
    "not additive": (((0.6, 1.0), (1.0, 0.8)), (0, 0, 1)),
    "three types": (((1.0, 0.8, 0.7), (0.8, 0.6, 0.5), (0.7, 0.5, 0.45)), (0, 1, 2)),
}


@pytest.mark.parametrize(
    ("mixture", "dimensions"),
    [
        another("additive", 2),
        another("additive", 3),
        ("not additive", 2),
        another("not additive", 3),
        another("three types", 2),
        ("three types", 3),
    ],
)
def test_three_particles_of_a_mixture_have_the_distances_of_independent_samples(
    device, mixture, dimensions
):
    """All three distances, each in five classes, against rejection sampling. One comparison."""
    contacts, types = MIXTURES[mixture]
    box = (3.05, 3.3, 3.1)[:dimensions]
    particles = tiny(device, 3, box, types=list(types), contacts=contacts)
    found = distances(sample(particles, SAMPLES, APART), box)
    reference = distances(rejection_sample(box, contacts, types, 400_000, seed=3), box)
    edges = np.quantile(reference, [0.1, 0.3, 0.5, 0.75], axis=0)

    def classes(values):
        digits = sum(np.digitize(values[:, k], edges[:, k]) * 5**k for k in range(3))
        return np.bincount(digits, minlength=125)

    law = classes(reference)
    counts = classes(found)
    assert counts[law == 0].sum() <= 3  # the reference may miss the rarest
    assert_follows(np.where(law > 0, counts, 0), law, law_samples=len(reference))


@pytest.mark.parametrize("dimensions", [2, 3])
def test_diameters_by_particle_are_an_additive_mixture(device, dimensions):
    """The same trajectory as of types with the table of the means; and the same law."""
    box = (4.0, 4.2, 4.4)[:dimensions]
    start = (sites(box)[[0, 2, 5, 7]], box)
    d = np.array([1.0, 0.5, 0.75, 0.45])
    by_particle = make(start, device, diameters=d, max_displacement=0.3)
    by_type = make(
        start, device, types=[0, 1, 2, 3], contacts=(d[:, None] + d) / 2, max_displacement=0.3
    )
    for particles in (by_particle, by_type):
        particles.run_cycles(200)
    assert np.array_equal(by_particle.positions, by_type.positions)
    assert by_particle.accepted_moves > 0
