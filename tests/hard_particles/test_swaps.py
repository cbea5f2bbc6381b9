# SPDX-License-Identifier: BSD-3-Clause
"""Swap moves of diameters (docs/theory/constant_pressure.md, sections 5 and 6).

Seeds are fixed; each comparison has the false-alarm rate of `laws.FALSE_ALARM` over seeds, and the
equation of state allows five standard errors.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flat_settings import of_hard_particles
from hard_spheres import assert_valid, make, sites, three_by_integration, three_by_samples
from laws import another, assert_follows, each_once
from machine import on_gpu

from manymove import HardDisks, HardSpheres, Mixture
from manymove.hard_particles.replica import is_mixture_of
from manymove.hard_particles.sizes import Sizes
from manymove.steps import Step

SWAPS = {"swap_rounds": 4}


def test_tuning_the_volume_leaves_the_diameters_where_they_are():
    """In a dense fluid, in which exchanged diameters would overlap."""
    disks = mixture(2, phi=0.55, pressure=4.0, **SWAPS)
    disks.run_cycles(20)
    before = disks.diameters
    disks._change_delta(disks.volume_delta / 2)
    assert np.array_equal(disks.diameters, before)
    disks.tune_volume(sweeps=50)
    assert_valid(disks)


def mixture(dimensions, device="cpu", phi=None, N=200, **settings):
    """A fluid with the diameters of the law d^-3 between 1 and 2.2."""
    shares = (np.arange(N) + 0.5) / N
    diameters = 1 / np.sqrt(1 - shares * (1 - 1 / 2.2**2))
    np.random.default_rng(2).shuffle(diameters)
    make = HardDisks if dimensions == 2 else HardSpheres
    phi = phi or (0.5 if dimensions == 2 else 0.4)
    return make.random(
        N, phi, diameter=diameters, seed=3, device=device, **of_hard_particles(**settings)
    )


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("range_", [None, 0.3])
def test_the_diameters_are_conserved_exactly(device, dimensions, range_):
    particles = mixture(dimensions, device, swap_rounds=4, swap_range=range_)
    before = particles.diameters
    particles.run_cycles(30)
    after = particles.diameters
    assert (before != after).mean() > 0.5
    np.testing.assert_array_equal(np.sort(before), np.sort(after))
    assert 0 < particles.swap_acceptance < 1
    assert_valid(particles)


def test_diameters_that_differ_by_more_than_the_range_stay():
    particles = mixture(3, swap_rounds=4, swap_range=1e-3)
    before = particles.diameters
    assert np.diff(np.sort(before)).min() > 1e-3
    particles.run_cycles(30)
    assert np.array_equal(before, particles.diameters) and particles.swap_acceptance == 0


@pytest.mark.parametrize(("swaps", "dimensions"), each_once([{}, SWAPS], [2, 3]))
def test_three_particles_agree_with_integration(device, dimensions, swaps):
    """The distance of particles 0 and 1 and which of the three diameters each of the two has, from
    random positions without overlaps. Without swaps only the assignment of the start occurs."""
    diameters = np.array([1.0, 0.45, 0.7])
    box = np.full(dimensions, 4.05)
    start = sites(tuple(box))[[0, 4, 8]]
    particles = make(
        (start, tuple(box)), device, diameters=diameters, max_displacement=0.6, **swaps
    )
    particles.run_cycles(300)
    edges, counts = three_by_integration(diameters, box, bool(swaps))
    samples = three_by_samples(particles, lambda: particles.run_cycles(20), box)
    found = np.histogram2d(*samples, bins=[np.arange(10) - 0.5, edges])[0]
    assert_follows(found, counts, law_samples=counts.sum())


@pytest.mark.parametrize("dimensions", [2, another(3)])
def test_the_pressure_is_that_without_swaps(device, dimensions):
    """A mixture that equilibrates both ways; one comparison."""
    found = []
    for swaps in ({}, SWAPS):
        particles = mixture(dimensions, device, **swaps)
        particles.run(1000)
        particles.sample_pressure(every=1, record=200)
        particles.run(16_000)
        found.append(particles.pressure_average)
    error = math.hypot(*(one.error for one in found))
    assert abs(found[0].value - found[1].value) < 5 * error
    assert error < 0.03 * found[0].value


def test_constant_pressure_with_swaps_has_the_density_without(device):
    found = []
    for swaps in ({}, SWAPS):
        disks = mixture(2, device, N=80, pressure=2.2, **swaps)
        disks.run(2000)
        disks.sample_volume(400)
        disks.run(60_000)
        found.append(disks.packing_fraction_average)
    error = math.hypot(*(one.error for one in found))
    assert abs(found[0].value - found[1].value) < 5 * error
    assert error < 5e-3


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("pressure", [None, 6.0])
def test_a_resumed_run_is_the_same(device, dimensions, pressure, tmp_path):
    whole, part = (
        mixture(dimensions, device, **SWAPS, swap_range=0.4, swap_every=2, pressure=pressure)
        for _ in range(2)
    )
    for k in range(4):
        whole.run_cycles(9)
        part.run_cycles(9)
        part.save(tmp_path / "state")
        part = type(whole).load(tmp_path / "state", device=device, threads=1 + k % 2)
        assert part.state_hash == whole.state_hash
        np.testing.assert_array_equal(part.diameters, whole.diameters)
        assert part.swap_trials == whole.swap_trials > 0


@on_gpu
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("pressure", [None, 6.0])
def test_cpu_and_gpu_make_the_same_trajectory(dimensions, pressure):
    runs = [mixture(dimensions, d, **SWAPS, pressure=pressure) for d in ("cpu", "cuda")]
    for _ in range(5):
        for run in runs:
            run.run_cycles(20)
        assert runs[0].state_hash == runs[1].state_hash


@on_gpu
@pytest.mark.parametrize(
    ("dimensions", "per_edge", "tile"),
    [(2, 36, 9), (2, 36, 16), (3, 13, 7), (3, 15, 8), (3, 13, 14)],
)
def test_sets_of_few_and_of_many_cells_make_the_swaps_of_the_cpu(dimensions, per_edge, tile):
    """Up to 16 and 36 cells of a set in two dimensions, 27, 64 and 216 in three: a GPU keeps 32 or
    64 of them in registers."""
    box = (1.04 * per_edge,) * dimensions
    diameters = np.random.default_rng(3).uniform(0.5, 1, per_edge**dimensions)
    settings = {**SWAPS, "diameters": diameters, "tile": tile, "seed": 7}
    runs = [make((sites(box, per_edge), box), d, **settings) for d in ("cpu", "cuda")]
    for _ in range(3):
        for run in runs:
            run.run_cycles(4)
        assert runs[0].state_hash == runs[1].state_hash
    assert runs[0].swap_acceptance * runs[0].swap_trials > 1000


@on_gpu
def test_tiles_beyond_the_shared_memory_of_a_gpu_make_the_same_trajectory():
    """One sphere among 12,000 of half its size, with swap moves and changes of the box."""
    box = (12.1, 12.1, 12.1)
    small = sites(box, 23)
    small = small[np.linalg.norm(small, axis=1) > 0.8]
    start = np.concatenate([small, np.zeros((1, 3))])
    g = np.random.default_rng(4)
    diameters = np.append(g.uniform(0.46, 0.51, len(small)), 1.0)
    settings = {**SWAPS, "diameters": diameters, "pressure": 40.0, "tile": 10, "seed": 6}
    runs = [make((start, box), d, **settings) for d in ("cpu", "cuda")]
    for run in runs:
        run.run_cycles(3)
    assert runs[0].state_hash == runs[1].state_hash
    assert runs[0].swap_trials > 1000
    assert runs[1].max_overlap() == 0


BAD = [
    ({"swap_rounds": 0}, ValueError, "rounds must be from 1 to 1000"),
    ({"swap_rounds": 1001}, ValueError, "rounds must be from 1 to 1000"),
    ({"swap_rounds": 1.5}, TypeError, "rounds"),
    ({"swap_rounds": 1, "swap_range": -0.1}, ValueError, "range must be positive"),
    ({"swap_rounds": 1, "swap_every": 0}, ValueError, "every must be positive"),
    ({"swap_range": 0.1}, TypeError, "rounds"),
    ({"swap_every": 2}, TypeError, "rounds"),
]


@pytest.mark.parametrize("settings, error, message", BAD)
def test_bad_settings_are_refused(settings, error, message):
    with pytest.raises(error, match=message):
        mixture(3, **settings)


def test_swaps_need_a_mixture():
    box = (4.5, 4.5)
    with pytest.raises(ValueError, match="swap moves exchange the diameters or the types"):
        make((sites(box)[:8], box), swap_rounds=1)
    with pytest.raises(ValueError, match="swap moves exchange the diameters or the types"):
        make((sites(box)[:8], box), types=[0] * 8, contacts=[[1.0]], swap_rounds=1)
    types = {"types": [0, 1] * 4, "contacts": [[1.0, 0.6], [0.6, 0.8]]}
    with pytest.raises(ValueError, match="range is a difference of diameters"):
        make((sites(box)[:8], box), **types, swap_rounds=1, swap_range=0.3)


def test_sizes_are_compared_relative_to_their_own_unit_of_length():
    """Lengths of 1e-9, for example in meters, are not all alike."""
    types = np.arange(8) % 2
    table = np.array([[1.0, 1.1], [1.1, 1.4]])
    assert not Sizes(types=types, contacts=1e-9 * table).additive
    table[0, 1] = table[1, 0] = 1.2
    assert Sizes(types=types, contacts=1e-9 * table).additive
    box = (7.5e-9, 7.5e-9)
    for given, other in [
        ({"types": types, "contacts": 1e-9 * table}, {"types": types, "contacts": 2e-9 * table}),
        ({"diameters": 1e-9 * types + 1e-9}, {"diameters": 2e-9 * types + 1e-9}),
    ]:
        disks = make((sites(box)[:8], box), **given)
        assert is_mixture_of(disks, Sizes(**given))
        assert not is_mixture_of(disks, Sizes(**other))


def test_swaps_need_two_cells_of_a_set():
    box = (3.2,) * 3
    with pytest.raises(ValueError, match="swap moves need tiles of at least four cells"):
        make((sites(box)[:3], box), diameters=[1.0, 0.5, 0.7], swap_rounds=1)


def test_tune_refuses_swap_moves():
    with pytest.raises(ValueError, match="tune works without swap moves"):
        mixture(3, swap_rounds=1).tune()


# ---- types, with the energies of steps ----

TABLE = [[1.0, 0.8], [0.8, 0.9]]  # not additive
STEPS = [
    Step([[1.3, 1.2], [1.2, 1.15]], [[-1.3, 0.6], [0.6, -0.4]]),
    Step([[1.2, 1.25], [1.25, 1.3]], [[0.0, 0.4], [0.4, -0.5]]),
]


def energy_of(positions, types, box, steps) -> float:
    """The energy of all pairs, or infinity for an overlap, by brute force."""
    total = 0.0
    for i, j in itertools.combinations(range(len(types)), 2):
        d = positions[i] - positions[j]
        d -= np.rint(d / box) * box
        away, pair = math.sqrt(d @ d), (types[i], types[j])
        if away < TABLE[pair[0]][pair[1]]:
            return math.inf
        total += sum(step.energy[pair] for step in map(Tables, steps) if away < step.range[pair])
    return total


class Tables:
    """The tables of a step as arrays."""

    def __init__(self, step: Step) -> None:
        self.range, self.energy = np.asarray(step.range), np.asarray(step.energy)


@pytest.mark.parametrize(("dimensions", "steps"), each_once([2, 3], [tuple(STEPS), ()]))
def test_types_of_particles_at_rest_follow_boltzmann(device, dimensions, steps):
    """Which of six particles, three pairs of neighbors, have which type: each assignment has the
    weight exp(-U), and 0 if particles overlap; one comparison."""
    box = np.array([8.0, 6.0, 5.5][:dimensions])
    flat = np.array([[-3, 0], [-1.95, 0.2], [0.1, 1], [0.1, -0.05], [2.2, 0.4], [3.13, 0.4]])
    start = np.zeros((6, dimensions))
    start[:, :2] = flat
    types = [0, 0, 0, 1, 1, 1]
    particles = make(
        (start, tuple(box)), device, types=types, contacts=TABLE, steps=list(steps),
        max_displacement=1e-5, moves_per_cell=1, rounds=1, swap_rounds=3,
    )  # fmt: skip
    found = []
    particles.run_cycles(60_000, [(10, lambda one: found.append(tuple(one.types.tolist())))])
    assignments = sorted(set(itertools.permutations(types)))
    law = [math.exp(-energy_of(start, each, box, steps)) for each in assignments]
    assert 0 < law.count(0.0) < len(law)  # the last pair has no room for two of type 0
    assert_follows([found.count(each) for each in assignments], law)
    assert 0 < particles.swap_acceptance < 1


def test_a_moving_mixture_with_wells_agrees_with_integration(device):
    """Three particles, of which two are alike: whether each pair is in its well, from random
    positions with their Boltzmann factors; one comparison."""
    box = np.array([5.4, 5.6])
    wells = [Step([[1.3, 1.2], [1.2, 1.3]], [[-1.3, 0.7], [0.7, 0.0]])]
    types = [0, 0, 1]
    rng = np.random.default_rng(7)
    law, points = np.zeros(8), 300_000
    r = rng.uniform(-0.5, 0.5, (points, 3, 2)) * box
    weights, bits = np.ones(points), np.zeros(points, dtype=int)
    reach, energy = wells[0].range, wells[0].energy

    def look(k, i, j, positions, kinds):
        d = positions[..., i, :] - positions[..., j, :]
        d -= np.rint(d / box) * box
        away, pair = np.sqrt((d**2).sum(axis=-1)), (kinds[i], kinds[j])
        inside = away < np.asarray(reach)[pair]
        return away < TABLE[pair[0]][pair[1]], inside, np.asarray(energy)[pair]

    pairs = [(0, 1), (0, 2), (1, 2)]
    for k, (i, j) in enumerate(pairs):
        overlap, inside, u = look(k, i, j, r, types)
        weights *= np.where(overlap, 0, np.exp(-u * inside))
        bits += inside << k
    law = np.bincount(bits, weights, minlength=8)
    start = np.array([[-1.8, 0.0], [0.0, 0.0], [1.8, 0.0]])
    particles = make(
        (start, tuple(box)), device, types=types, contacts=TABLE, steps=wells, swap_rounds=4
    )
    found, odd = [], []

    def read(one):
        kinds = one.types
        order = np.argsort(kinds, kind="stable")  # the two of type 0 first
        positions = one.positions[order]
        inside = [look(k, i, j, positions, [0, 0, 1])[1] for k, (i, j) in enumerate(pairs)]
        found.append(sum(int(each) << k for k, each in enumerate(inside)))
        odd.append(int(order[2]))

    particles.run_cycles(48_000, [(12, read)])
    assert_follows(np.bincount(found, minlength=8), law)
    assert_follows(np.bincount(odd, minlength=3), [1, 1, 1])


def wells_of_types(dimensions: int, device: str, **settings):
    N = 300
    types = Mixture(types=np.arange(N) % 2, contacts=[[1.0, 0.8], [0.8, 0.7]])
    kind = HardDisks if dimensions == 2 else HardSpheres
    wells = Step([[1.3, 1.1], [1.1, 0.9]], [[-0.7, 0.5], [0.5, -0.3]])
    return kind.random(
        N, 0.2, diameter=types, seed=3, steps=wells, device=device,
        **of_hard_particles(swap_rounds=3, **settings),
    )  # fmt: skip


@pytest.mark.parametrize(("dimensions", "pressure"), each_once([2, 3], [None, 1.2]))
def test_swaps_of_types_resume_and_do_not_depend_on_threads(device, dimensions, pressure, tmp_path):
    given = {"threads": 1, **({} if pressure is None else {"pressure": pressure})}
    whole = wells_of_types(dimensions, device, **given)
    before = whole.types
    many = wells_of_types(dimensions, device, **{**given, "threads": 3})
    part = wells_of_types(dimensions, device, **given)
    whole.run_cycles(30)
    many.run_cycles(30)
    part.run_cycles(13)
    part.save(tmp_path / "state")
    part = type(part).load(tmp_path / "state", device, 1)
    part.run_cycles(17)
    assert whole.state_hash == many.state_hash == part.state_hash
    assert (whole.types == part.types).all()
    assert 0.1 < (whole.types != before).mean() < 0.9
    assert np.bincount(whole.types).tolist() == [150, 150]
    assert whole.swap_trials == part.swap_trials > 1000
    assert_valid(whole)
    again = whole.replace(seed=4)
    assert (again.types == whole.types).all()


@on_gpu
@pytest.mark.parametrize(("dimensions", "pressure"), each_once([2, 3], [None, 1.2]))
def test_cpu_and_gpu_swap_the_same_types(dimensions, pressure):
    given = {} if pressure is None else {"pressure": pressure}
    one, other = (wells_of_types(dimensions, device, **given) for device in ("cpu", "cuda"))
    one.run_cycles(40)
    other.run_cycles(40)
    assert one.state_hash == other.state_hash
    assert (one.types == other.types).all()
