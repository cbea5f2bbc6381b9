"""Small systems against exact results, through the engine that large systems use.

A chain is read every so many cycles, enough that samples are independent for these tests (the
slowest Fourier mode of a separation is correlated by 3 % at most), so that chi-square tests hold.
Each comparison has a false-alarm probability of 1e-6 over seeds; the seeds are fixed.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from flat_settings import of_hard_particles
from hard_disks import lattice, sample, separations
from laws import (
    FALSE_ALARM,
    another,
    assert_binomial,
    assert_follows,
    chi_square,
    chi_square_tail,
    symmetry,
)

from manymove import Grid, HardDisks

SAMPLES = 20_000
# Cycles between samples, in which the correlation of the separation decays to less than 0.5 %
# (measured: by a factor of two to four in five cycles).
APART = 30


def tiny(device, count, box, **settings):
    """A few disks on sites of a 3 x 3 lattice, with large moves, melted."""
    settings = {"max_displacement": 0.6, "seed": 1, "threads": 1, **settings}
    sites = lattice(3, 3, box)[[0, 4, 8, 2, 6, 1, 3, 5, 7][:count]]
    disks = HardDisks(sites, box, device=device, **of_hard_particles(**settings))
    disks.run_cycles(1000)
    return disks


def bins_of(vectors, box, m):
    """Histogram over the m x m bins of the periodic unit cell."""
    edges = [np.linspace(-edge / 2, edge / 2, m + 1) for edge in box]
    return np.histogram2d(vectors[:, 0], vectors[:, 1], bins=edges)[0]


def integrate_over_bins(density, box, m, points=100):
    """Midpoint integrals of density(x, y) over the m x m bins of the unit cell."""
    x, y = (((np.arange(m * points) + 0.5) / (m * points) - 0.5) * edge for edge in box)
    values = density(x[:, None], y[None, :])
    return values.reshape(m, points, m, points).mean(axis=(1, 3))


def lens(distance):
    """Area common to two circles of radius 1."""
    half = np.clip(distance / 2, 0, 1)
    return 2 * np.arccos(half) - 2 * half * np.sqrt(1 - half**2)


def pair_density(box, others):
    """Density of the separation of two disks: the area left for a third, if there is one.

    The circles of radius d around the two that a third cannot enter have the area 2 pi less what
    they share; images of one do not meet each other in a box of two diameters or more.
    """

    def density(x, y):
        allowed = (x**2 + y**2 >= 1).astype(float)
        if others == 0:
            return allowed
        shared = sum(
            lens(np.hypot(x + i * box[0], y + j * box[1])) for i in (-1, 0, 1) for j in (-1, 0, 1)
        )
        return allowed * (box[0] * box[1] - 2 * math.pi + shared)

    return density


@cache
def rejection_sample(count, box, tries, seed):
    """Independent uniform configurations of `count` disks without overlaps: (K, count, 2)."""
    generator = np.random.default_rng(seed)
    edges = np.array(box)
    kept = []
    for _ in range(max(1, tries // 500_000)):
        chains = generator.uniform(-0.5, 0.5, (min(tries, 500_000), 1, 2)) * edges
        for _ in range(count - 1):
            new = generator.uniform(-0.5, 0.5, (len(chains), 1, 2)) * edges
            vectors = chains - new
            vectors -= np.rint(vectors / edges) * edges
            free = ((vectors**2).sum(axis=2) >= 1).all(axis=1)
            chains = np.concatenate([chains[free], new[free]], axis=1)
        kept.append(chains)
    return np.concatenate(kept)


# ---- one disk ----------------------------------------------------------------------------------


@pytest.mark.parametrize("moves_per_cell", [3, another(4)])
def test_one_disk_visits_the_box_uniformly(device, moves_per_cell):
    """One comparison per number of moves."""
    box = (3.05, 4.3)
    disks = tiny(device, 1, box, moves_per_cell=moves_per_cell, max_displacement=1.0)
    places = sample(disks, SAMPLES, 60)[:, 0]
    assert_follows(bins_of(places, box, 10), np.ones((10, 10)))


@pytest.mark.parametrize("box", [(3.0, 3.0), (5.5, 3.7)])
def test_one_disk_is_active_and_stays_in_its_cell_as_often_as_geometry_says(device, box):
    """A move uniform in [-delta, delta]^2 from a uniform place in a cell of widths w stays inside
    with probability (1 - delta / (2 w_x)) (1 - delta / (2 w_y)); the disk is in one of a tile's
    active cells with probability prod (n - tiles) / n. A new shift is drawn in each cycle, so
    both counts are binomial. Two comparisons per box."""
    delta = 0.8
    disks = HardDisks(
        np.zeros((1, 2)),
        box,
        max_displacement=delta,
        grid=Grid(moves_per_cell=1, rounds=1, tile=3),
        seed=2,
        device=device,
        threads=1,
    )
    cycles = 200_000
    disks.run_cycles(cycles)
    grid = disks.core.grid
    active = math.prod((n - t) / n for n, t in zip(grid["cells"], grid["tiles"], strict=True))
    assert_binomial(disks.trial_moves, cycles, active)
    stays = math.prod(1 - disks.max_displacement / (2 * w) for w in grid["cell_width"])
    assert_binomial(disks.accepted_moves, disks.trial_moves, stays)


def test_every_place_of_the_box_is_frozen_equally_often(device):
    """A lone disk is frozen with the same probability wherever it is, on whatever side of a tile:
    in each of 6 x 6 bins a binomial count. One comparison."""
    box = (12.0, 9.0)
    disks = HardDisks(
        np.zeros((1, 2)),
        box,
        max_displacement=1.0,
        grid=Grid(moves_per_cell=8, rounds=4, tile=5),
        seed=3,
        device=device,
        threads=1,
    )
    grid = disks.core.grid
    assert grid["tiles"] == (3, 2)
    active = (12 - 3) / 12 * (9 - 2) / 9
    places, moved = np.empty((60_000, 2)), np.empty(60_000, dtype=bool)
    before = 0
    for k in range(len(places)):
        places[k] = disks.positions[0]
        disks.core.run(1)
        moved[k] = disks.trial_moves > before
        before = disks.trial_moves
    visits, trials = bins_of(places, box, 6), bins_of(places[moved], box, 6)
    chi2 = ((trials - visits * active) ** 2 / (visits * active * (1 - active))).sum()
    assert visits.min() > 100
    assert chi_square_tail(chi2, visits.size) > FALSE_ALARM


def single_moves(device, delta, box, cycles, seed):
    """Accepted displacements of a lone disk, one trial move per cycle at most."""
    disks = HardDisks(
        np.zeros((1, 2)),
        box,
        max_displacement=delta,
        grid=Grid(moves_per_cell=1, rounds=1),
        seed=seed,
        device=device,
        threads=1,
    )
    places = sample(disks, cycles, 1)[:, 0]
    steps = np.diff(places, axis=0)
    steps -= np.rint(steps / box) * box
    steps = steps[(steps != 0).any(axis=1)]
    return steps, disks


@pytest.mark.parametrize("delta", [another(0.05), 0.9])
def test_trial_displacements_are_uniform_in_a_square(device, delta):
    """Accepted moves (x, y) have the density (1 - |x| / w_x) (1 - |y| / w_y) in the square, because
    the disk's place in its cell is uniform. One comparison per displacement."""
    box = (3.3, 4.2)
    steps, disks = single_moves(device, delta, box, 60_000, seed=4)
    largest = disks.max_displacement
    assert largest == pytest.approx(delta, rel=2**-7)
    unit = disks.core.grid["unit"]
    assert np.abs(steps).max() <= largest + 2 * unit
    assert np.abs(steps).max() > largest * (1 - 20 / len(steps))  # fails with probability e^-40
    m = 8
    edges = np.linspace(-largest - unit, largest + unit, m + 1)
    counts = np.histogram2d(steps[:, 0], steps[:, 1], bins=[edges, edges])[0]
    middle = np.abs(edges[1:] + edges[:-1]) / 2  # the law is linear within each bin
    law = [1 - middle / w for w in disks.core.grid["cell_width"]]
    assert_follows(counts, np.outer(law[0], law[1]))


# ---- two and three disks -----------------------------------------------------------------------


DISTANCES = np.sqrt([1.0, 1.02, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 20.0])


def distance_counts(vectors):
    return np.histogram((vectors**2).sum(axis=1), bins=DISTANCES**2)[0]


@cache
def distance_law(box):
    """Areas of the unit cell by distance from its center, from 4e6 points of a grid."""
    x, y = (((np.arange(2000) + 0.5) / 2000 - 0.5) * edge for edge in box)
    return np.histogram((x[:, None] ** 2 + y[None, :] ** 2).ravel(), bins=DISTANCES**2)[0]


@pytest.mark.parametrize(
    ("box", "settings"),
    [
        another((3.05, 3.05), {}),
        ((3.05, 3.05), {"moves_per_cell": 3, "rounds": 2}),
        another((3.5, 3.5), {"moves_per_cell": 8}),
        another((3.2, 4.7), {}),
        ((4.0, 4.0), {"cell_width": 1.33, "moves_per_cell": 5}),
        another((5.2, 3.1), {"tile": 3, "rounds": 8}),
    ],
)
def test_two_disks_visit_every_separation_uniformly(device, box, settings):
    """Over the unit cell less a circle of radius d: one comparison over 11 x 11 bins, one over the
    distance."""
    disks = tiny(device, 2, box, **settings)
    cycles = APART if box != (5.2, 3.1) else 2 * APART
    vectors = separations(sample(disks, SAMPLES, cycles), box)[:, 0]
    m = 11
    assert_follows(bins_of(vectors, box, m), integrate_over_bins(pair_density(box, 0), box, m))
    assert_follows(distance_counts(vectors), distance_law(box))


@pytest.mark.parametrize(
    ("box", "settings"),
    [another((3.1, 3.1), {}), ((3.6, 3.1), {"moves_per_cell": 3, "rounds": 3})],
)
def test_three_disks_pair_and_triangle_distributions(device, box, settings):
    """Pairs: the area left for the third disk, integrated numerically. Triangles (sorted
    sides; the angle at the first disk): an independent rejection sample, whose own error the
    chi-square takes into account. Three comparisons."""
    places = sample(tiny(device, 3, box, **settings), SAMPLES, APART)
    vectors = separations(places, box)
    assert_follows(
        bins_of(vectors[:, 0], box, 11), integrate_over_bins(pair_density(box, 1), box, 11)
    )

    reference = rejection_sample(3, box, 1_000_000, seed=5)
    edges = np.quantile(
        np.sort(np.linalg.norm(separations(reference[:20_000], box), axis=2)),
        [0.02, 0.1, 0.25, 0.5, 0.75],
    )

    def triangles(configurations):
        sides = np.sort(np.linalg.norm(separations(configurations, box), axis=2), axis=1)
        classes = np.digitize(sides, edges) @ [36, 6, 1]
        return np.bincount(classes, minlength=216)

    def angles(configurations):
        v = separations(configurations, box)
        z = (v[:, 0, 0] + 1j * v[:, 0, 1]) / (v[:, 1, 0] + 1j * v[:, 1, 1])
        return np.histogram(np.angle(z), bins=24, range=(-np.pi, np.pi))[0]

    for statistic in (triangles, angles):
        law = statistic(reference)
        counts = statistic(places)
        assert not counts[law == 0].sum() > 5  # the reference may miss the rarest
        assert_follows(np.where(law > 0, counts, 0), law, law_samples=len(reference))


@pytest.mark.parametrize(
    ("count", "box", "settings"),
    [
        another(6, (4.2, 4.2), {"cell_width": 1.4, "moves_per_cell": 4}),
        (6, (4.2, 4.2), {"cell_width": 1.4, "moves_per_cell": 7, "rounds": 2}),
        another(5, (4.1, 3.6), {"moves_per_cell": 2}),
    ],
)
def test_crowded_cells_against_a_rejection_sample(device, count, box, settings):
    """Cells 1.4 d wide with up to four disks. The smallest distance, the number of pairs closer
    than 1.2 d and the number of disks in a window of a cell's size: three comparisons."""
    places = sample(tiny(device, count, box, **settings), SAMPLES, 40 if count == 6 else 60)
    reference = rejection_sample(count, box, 3_000_000, seed=6)

    def smallest_distance(configurations):
        r = np.linalg.norm(separations(configurations, box), axis=2).min(axis=1)
        return np.histogram(r, bins=[1, 1.003, 1.01, 1.02, 1.04, 1.08, 1.12, 1.2, 1.4, 9])[0]

    def near_pairs(configurations):
        r = np.linalg.norm(separations(configurations, box), axis=2)
        return np.bincount((r < 1.2).sum(axis=1), minlength=16)

    def in_window(configurations):
        return np.bincount((np.abs(configurations) < 0.7).all(axis=2).sum(axis=1), minlength=6)

    for statistic in (smallest_distance, near_pairs, in_window):
        law = statistic(reference)
        assert_follows(np.where(law > 0, statistic(places), 0), law, law_samples=len(reference))


def test_these_comparisons_notice_a_wrong_law(device):
    """Two disks 1 % larger than they should be, and a law without the third disk, are refused."""
    box = (3.05, 3.05)
    vectors = separations(sample(tiny(device, 2, box, diameter=1.01), SAMPLES, APART), box)[:, 0]
    assert chi_square(distance_counts(vectors), distance_law(box)) < FALSE_ALARM
    vectors = separations(sample(tiny(device, 3, box), SAMPLES, APART), box)[:, 0]
    law = integrate_over_bins(pair_density(box, 0), box, 11)
    assert chi_square(bins_of(vectors, box, 11), law) < FALSE_ALARM


# ---- detailed balance --------------------------------------------------------------------------


def transitions(device, count, box, settings, number, apart=30, drift=0.0):
    """Coarse-grained states before and after one cycle: the 3 x 3 bin of each separation from the
    first disk. Transitions are `apart` cycles from each other. A drift is added to the second."""
    disks = tiny(device, count, box, **settings)
    pairs = np.empty((number, 2, count, 2))
    for k in range(number):
        disks.core.run(apart)
        pairs[k, 0] = disks.positions
        disks.core.run(1)
        pairs[k, 1] = disks.positions
    vectors = separations(pairs, box)[..., : count - 1, :]
    vectors[:, 1] = (vectors[:, 1] + drift + np.array(box) / 2) % np.array(box) - np.array(box) / 2
    bins = np.minimum((vectors / np.array(box) + 0.5) * 3, 2.999).astype(int)
    digits = bins.reshape(number, 2, -1)
    states = digits @ 3 ** np.arange(digits.shape[2])
    size = 3 ** digits.shape[2]
    counts = np.zeros((size, size))
    np.add.at(counts, (states[:, 0], states[:, 1]), 1)
    return counts


@pytest.mark.parametrize(
    ("count", "box", "settings"),
    [
        another(2, (3.05, 3.05), {"rounds": 1}),
        (2, (3.3, 4.1), {"rounds": 2, "moves_per_cell": 3}),
        another(3, (3.2, 3.2), {"rounds": 1, "moves_per_cell": 4}),
        (3, (4.1, 4.1), {"cell_width": 1.35, "rounds": 1, "moves_per_cell": 4}),
    ],
)
def test_one_cycle_obeys_detailed_balance(device, count, box, settings):
    """Transitions between separations are as frequent as their reverses. One comparison.

    What this does not resolve is the lack of a shuffle of the sets: two disks cannot show it (the
    reverse sweep is the sweep of the system turned by 180 degrees, which for a pair is an
    exchange), and for three it is below one standard deviation in 150,000 transitions.
    """
    counts = transitions(device, count, box, settings, 30_000)
    assert symmetry(counts, 20) > FALSE_ALARM


def test_the_symmetry_of_transitions_notices_a_drift(device):
    """A drift of 0.03 d per cycle, against moves of 0.4 d, is refused."""
    counts = transitions(device, 2, (3.05, 3.05), {"rounds": 1}, 30_000, drift=0.03)
    assert symmetry(counts, 20) < FALSE_ALARM


# ---- every disk alike --------------------------------------------------------------------------


def test_every_disk_moves_equally_often(device):
    """At low density each disk is in a frozen cell with the probability that geometry gives; with
    16 small moves a disk that is not frozen moves. Cycles are independent because their shifts are:
    64 binomial counts, one false alarm in 1e6 together. Mean squared displacements agree, too."""
    N, box = 64, (40.0, 40.0)
    disks = HardDisks(
        lattice(8, 8, box),
        box,
        max_displacement=0.02,
        grid=Grid(moves_per_cell=8, rounds=2, tile=7),
        seed=7,
        device=device,
        threads=2,
    )
    grid = disks.core.grid
    active = math.prod((n - t) / n for n, t in zip(grid["cells"], grid["tiles"], strict=True))
    cycles = 10_000
    places = np.concatenate([disks.positions[None], sample(disks, cycles, 1)])
    steps = np.diff(places, axis=0)
    steps -= np.rint(steps / np.array(box)) * np.array(box)
    moved = (steps != 0).any(axis=2).sum(axis=0)
    for count in moved:
        assert_binomial(int(count), cycles, active, comparisons=N)
    # each component of a cycle's displacement is a sum of many: a chi-square variable to 1 %
    squares = (steps**2).sum(axis=(0, 2))
    spread = squares.std() / squares.mean()
    fourth = ((steps**2).sum(axis=2) ** 2).mean() / ((steps**2).sum(axis=2)).mean() ** 2 - 1
    expected = math.sqrt(fourth / cycles)
    # the standard deviation of 64 values is known to 9 %: five of its errors
    assert spread == pytest.approx(expected, rel=0.45)
