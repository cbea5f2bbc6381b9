# SPDX-License-Identifier: BSD-3-Clause
"""Density profiles, and the pressure on hard walls by the contact theorem.

An estimate is farther than 5 standard errors from its expectation for one seed in a million; seeds
are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from hard_spheres import make, sites

from manymove import GrandCanonical, Grid, HardDisks, HardSpheres, Mixture
from manymove.analysis import estimate
from manymove.fields import HardWall, Linear, Plane, Sphere, Springs
from manymove.hard_particles.profiles import ProfileSampling

SIGMAS = 5
BOX = {2: (3.4, 4.0), 3: (3.3, 3.6, 4.0)}
LOOP = {"max_displacement": 1.0, "threads": 1}


def walls(axis: int, D: int, half: float, distance: float | None = None) -> list[HardWall]:
    up = np.eye(D)[axis]
    return [HardWall(Plane(tuple(s * up), tuple(-s * half * up)), distance) for s in (1, -1)]


def agree(found, expected: float, least: float) -> None:
    """The estimate agrees, and its relative error is small enough to tell."""
    assert abs(found.value - expected) < SIGMAS * found.error
    assert found.error < least * expected


def barometric(a: float, half: float) -> Callable[[np.ndarray], np.ndarray]:
    """The distribution function of one particle between -half and half."""
    low = math.exp(a * half)
    return lambda x: (low - np.exp(-a * np.clip(x, -half, half))) / (low - 1 / low)


@pytest.mark.parametrize("D", [2, 3])
def test_one_particle_has_the_barometric_law(device, D):
    a, box, axis = 0.7, BOX[D], D - 2
    fields = [*walls(axis, D, box[axis] / 2), Linear(a, tuple(np.eye(D)[axis]))]
    one = make((np.zeros((1, D)), box), device, fields=fields, **LOOP)
    one.sample_profile(1e-9, 20 * one.sweeps_per_cycle, axis=axis, bins=20)
    one.run_cycles(6000)
    places, density, error = one.density_profile.T
    width, area = box[axis] / 20, math.prod(box) / box[axis]
    assert places == pytest.approx((np.arange(20) + 0.5) * width - box[axis] / 2)
    law = barometric(a, box[axis] / 2 - 0.5)
    expected = (law(places + width / 2) - law(places - width / 2)) / width / area
    inside = expected > 1e-9
    assert (density[~inside] == 0).all() and inside.sum() > 10
    assert (abs(density - expected)[inside] < SIGMAS * error[inside]).all()
    assert error.max() < 0.15 * expected.max()
    assert density.sum() * width * area == pytest.approx(1)


@pytest.mark.parametrize("axis", [0, 2])
def test_pressures_are_densities_at_contact(axis):
    """Of particles of two sizes at the quantiles of the barometric law, as a run would have them
    in the limit of many samples."""
    a, box, N = 0.5, (5.0, 6.0, 7.0), 200_000
    diameters, half = np.array([1.0, 0.6]), box[axis] / 2
    types = np.arange(N, dtype=np.int32) % 2
    grid = np.linspace(-half, half, 200_001)
    x = np.empty(N)
    for kind, d in enumerate(diameters):
        law = barometric(a, half - d / 2)(grid)
        inside = abs(grid) <= half - d / 2
        chosen = types == kind
        x[chosen] = np.interp((np.arange(chosen.sum()) + 0.5) * 2 / N, law[inside], grid[inside])
    r = np.zeros((N, 3))
    r[:, axis] = x
    system = SimpleNamespace(
        positions=r, box=box, fields=tuple(walls(axis, 3, half)), diameters=diameters[types],
        diameter=1.2, field_energies=np.full(N, 0.5), cycles=1,
    )  # fmt: skip
    sampling = ProfileSampling(system, 1, 1, axis + 1, 10, 0)
    sampling.take(system)
    sampling.collect()
    lower, upper, energy, *density = sampling.values[0]
    area = math.prod(box) / box[axis]
    for found, side in ((lower, -1), (upper, 1)):
        slits = half - diameters / 2
        densities = a * np.exp(-side * a * slits) / (2 * np.sinh(a * slits))
        assert found == pytest.approx(N / 2 * densities.sum() / area * 1.2**3, rel=0.02)
    assert energy == 0.5 and sum(density) * math.prod(box) / 10 == pytest.approx(N)


def fluid(N: int = 40) -> tuple[np.ndarray, tuple[float, ...]]:
    """Sites between walls at -3 and 3."""
    box = (4.4, 4.4, 6.0)
    places = np.stack(np.meshgrid(*3 * [1.1 * (np.arange(4) - 1.5)]), axis=-1).reshape(-1, 3)
    return places[:N], box


def test_walls_carry_the_weight_of_a_mixture():
    """The difference of both pressures is the weight of all particles on the area, whatever their
    sizes; P* has the mean volume of the particles."""
    start, box = fluid()
    types = np.arange(len(start), dtype=np.int32) % 2
    given = Mixture(types, [[1.0, 0.85], [0.85, 0.7]])
    fields = [*walls(2, 3, 3.0), Linear(1.0)]
    system = HardSpheres(
        start, box, given, seed=2, fields=fields, device="cpu", grid=Grid(rounds=1), **LOOP
    )
    system.run_cycles(1000)
    system.sample_profile(1e-9, 100 * system.sweeps_per_cycle)
    system.run_cycles(10_000)
    lower, upper = system.wall_pressures
    unit = (0.5 * (1 + 0.7**3)) ** (1 / 3)
    agree(lower - upper, len(start) / (4.4 * 4.4) * unit**3, 0.15)
    assert system.density_profile[:, 1].mean() * math.prod(box) == pytest.approx(len(start))


def test_the_number_of_particles_may_change():
    """A thin gas in a slit, with the density z (1 - z v) for the volume v that a particle takes
    from another one: 1.7 to 1.9 in a slit of 0.6."""
    box, z, slit = (3.0, 3.0, 3.0), 0.02, 0.6
    system = HardSpheres(
        np.empty((0, 3)), box, seed=3, fields=walls(2, 3, 1.5, 1.2), device="cpu",
        fugacity=GrandCanonical(z, attempts=4), **LOOP,
    )  # fmt: skip
    system.sample_profile(1e-9, 100 * system.sweeps_per_cycle, bins=30)
    system.run_cycles(12_000)
    places, density, _ = system.density_profile.T
    inside = abs(places) < slit / 2
    assert (density[~inside] == 0).all() and inside.sum() == 6
    counts = system._profile.values[:, 3:].sum(axis=1) * 9 * 0.1
    agree(estimate(counts), z * (1 - 1.8 * z) * 9 * slit, 0.1)


def test_samples_survive_a_checkpoint_and_do_not_change_the_trajectory(tmp_path):
    """Also if the run stops within a record."""
    start, box = fluid()
    fields = [*walls(2, 3, 3.0), Springs(0.1, start)]

    def begun() -> HardSpheres:
        one = HardSpheres(start, box, seed=2, fields=fields, device="cpu", threads=1)
        one.sample_profile(2 * one.sweeps_per_cycle, 10 * one.sweeps_per_cycle, bins=12)
        return one

    whole, parts, plain = begun(), begun(), begun()
    plain.sample_profile(None)
    whole.run_cycles(60)
    plain.run_cycles(60)
    # A callback that saves at a cycle with a sample.
    parts.run_cycles(25, [(24, lambda one: one.save(tmp_path / "state"))])
    parts = HardSpheres.load(tmp_path / "state", device="cpu", threads=1)
    assert parts.cycles == 24
    parts.run_cycles(36)
    assert plain.state_hash == whole.state_hash == parts.state_hash
    assert np.array_equal(whole.density_profile, parts.density_profile)
    assert parts._profile.values.shape == (6, 15)
    assert parts._profile.values[:, 2].mean() > 0
    parts.reset_averages()
    with pytest.raises(RuntimeError, match="no record of the profile is finished"):
        parts.density_profile  # noqa: B018
    with pytest.raises(RuntimeError, match="nothing sampled: call sample_profile"):
        plain.density_profile  # noqa: B018


def test_other_walls_have_no_pressure():
    """Of two walls on one side the inner one counts."""
    box = (8.0, 8.0, 8.0)
    tilted = HardWall(Plane((0.0, 0.1, 1.0), (0.0, 0.0, -3.9)))
    fields = [tilted, HardWall(Sphere(3.9)), *walls(2, 3, 3.0)[:1], *walls(2, 3, 2.0)[:1]]
    one = HardSpheres([[0.0, 0.0, 0.0]], box, seed=1, fields=fields, device="cpu", **LOOP)
    one.sample_profile(1e-9)
    assert one._profile._walls[0][1] == -2.0
    one.run_cycles(100)
    assert math.isnan(one.wall_pressures[1].value) and one.wall_pressures[0].value >= 0


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ({}, {"axis": 2}, ValueError, "axis must be from 0 to 1, got 2"),
        ({}, {"axis": "x"}, TypeError, "axis must be an integer"),
        ({}, {"bins": 0}, ValueError, "bins must be positive"),
        ({}, {"every": -1}, ValueError, "every must be positive"),
        ({"pressure": 1.0}, {}, RuntimeError, "a profile needs a constant box"),
        (
            {"diameter": Mixture(np.zeros(9, np.int32), [[1.0]]), "fugacity": 0.1},
            {}, RuntimeError, "the pressure of a mixture is in units of its mean diameter",
        ),
    ],
)  # fmt: skip
def test_bad_input(given, options, error, message):
    box = (6.0, 6.0)
    disks = HardDisks(sites(box)[:16], box, **{"seed": 1, "device": "cpu", **given})
    with pytest.raises(error, match=message):
        disks.sample_profile(**{"every": 1, **options})
