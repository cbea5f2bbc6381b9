# SPDX-License-Identifier: BSD-3-Clause
"""External potentials of hoomd.hpmc with the integrators of hoomd.manymove."""

import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.manymove.pytest.conftest import lattice
from hoomd.manymove.pytest.test_physics import blocked, hpmc, recorded

pytestmark = pytest.mark.skipif(hpmc is None, reason="this HOOMD-blue has no hpmc")
HEIGHT = 9.0


def walls():
    normals = ((0, 0, 1), (0, 0, -1))
    return hpmc.external.wall.WallPotential(
        [hoomd.wall.Plane(origin=(0, 0, -n[2] * HEIGHT / 2), normal=n) for n in normals]
    )


def weight(strength):
    linear = hpmc.external.linear.Linear(strength, plane_normal=(0, 0, 1))
    linear.alpha["B"] = 2 * strength
    return linear


@pytest.fixture
def start(simulation_of):
    """Make a simulation of 64 spheres of two types between walls, with an integrator."""
    sites = lattice(3, 4, 1.25)
    return lambda mc: simulation_of(mc, sites, (5.2, 5.2, HEIGHT), "AB", {"A": 1.0, "B": 0.8})


def heights(simulation):
    data = simulation.state.get_snapshot().particles
    return [float(data.position[data.typeid == k, 2].mean()) for k in (0, 1)]


def test_the_trajectory_is_that_of_manymove(start):
    manymove = pytest.importorskip("manymove")
    pytest.importorskip("manymove.fields")
    mc = hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=4)
    simulation = start(mc)
    mc.external_potential = walls()
    mc.external_potentials = [weight(0.3)]
    data = simulation.state.get_snapshot()
    d = np.array([1.0, 0.8])[data.particles.typeid]
    fields = [
        manymove.fields.HardWall(manymove.fields.Plane((0, 0, s), (0, 0, -s * HEIGHT / 2)))
        for s in (1, -1)
    ]
    alone = manymove.HardSpheres(
        np.ascontiguousarray(data.particles.position, dtype=np.float64),
        data.configuration.box[:3],
        d,
        max_displacement=0.2,
        grid=manymove.Grid(moves_per_cell=4, rounds=4),
        seed=simulation.seed,
        fields=[*fields, manymove.fields.Linear(np.where(d == 1.0, 0.3, 0.6))],
        device="cpu",
    )
    simulation.run(20)
    alone.run_cycles(20)
    assert mc.state_hash == alone.state_hash
    assert mc.external_energy == pytest.approx(alone.field_energies.sum())


def test_mean_heights_are_those_of_hpmc(start):
    """Of both types in a linear potential between walls, within six joint standard errors from 32
    blocks (false alarms below 1e-6)."""
    found = []
    for mc in (
        hoomd.manymove.HardSpheres(default_d=0.25, sweeps_per_step=16),
        hpmc.integrate.Sphere(default_d=0.3, nselect=16),
    ):
        simulation = start(mc)
        mc.external_potential = walls()
        mc.external_potentials = [weight(0.15)]
        simulation.run(300)
        rows = np.array(recorded(simulation, lambda s=simulation: heights(s), 4, 1600))
        found.append([blocked(column) for column in rows.T])
    for ours, theirs in zip(*found, strict=True):
        assert ours[1] < 0.2 and theirs[1] < 0.2
        assert abs(ours[0] - theirs[0]) < 6 * math.hypot(ours[1], theirs[1])


def test_springs_hold_particles_and_changes_are_noticed(start):
    mc = hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=16)
    simulation = start(mc)
    places = simulation.state.get_snapshot().particles.position
    orientations = np.tile([1.0, 0, 0, 0], (len(places), 1))
    springs = hpmc.external.field.Harmonic(places, orientations, 400.0, 0.0, [[1.0, 0, 0, 0]])
    mc.external_potential = springs
    simulation.run(50)
    energies = []
    for _ in range(200):
        simulation.run(1)
        energies.append(mc.external_energy / 64)
    assert np.mean(energies) == pytest.approx(1.5, rel=0.05)  # 3/2 kT without collisions
    springs.k_translational = 0.01
    simulation.run(200)
    moved = simulation.state.get_snapshot().particles.position - places
    assert np.abs(moved).max() > 1
    springs.k_rotational = 1.0
    with pytest.raises(ValueError, match="k_rotational must be 0"):
        simulation.run(1)


def test_other_potentials_and_moves_are_refused_by_name(start):
    mc = hoomd.manymove.HardSpheres(default_d=0.2)
    with pytest.raises(TypeError, match="has the WallPotential, Linear and Harmonic"):
        mc.external_potential = object()
    md = pytest.importorskip("hoomd.md")
    with pytest.raises(TypeError, match="has the WallPotential, Linear and Harmonic"):
        mc.external_potential = md.external.wall.LJ([hoomd.wall.Sphere(9.0)])
    simulation = start(mc)
    mc.external_potentials.append(weight(0.1))
    mc.box_moves = {"betaP": 1.0}
    with pytest.raises(ValueError, match="external_potentials cannot be combined with constant"):
        simulation.run(1)
