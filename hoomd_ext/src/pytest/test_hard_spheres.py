# SPDX-License-Identifier: BSD-3-Clause
"""hoomd.manymove.HardSpheres, and mixtures, on the CPU and, where there is one, on the GPU."""

import numpy as np
import pytest
from hoomd.manymove.pytest.conftest import SEED, assert_same, integrator_of, lattice
from hoomd.manymove.pytest.test_physics import assert_pressure_of_hpmc, hpmc

DIAMETERS = {"A": 1.0, "B": 1.4}


@pytest.fixture
def particles(simulation_of):
    """Make a simulation of particles on a lattice, with alternating types, and its integrator."""

    def make(dimensions, types, spacing, per_edge=8, **settings):
        mc = integrator_of(dimensions)(default_d=0.12, **settings)
        sites, edges = lattice(dimensions, per_edge, spacing), (per_edge * spacing,) * dimensions
        return simulation_of(mc, sites, edges, types, DIAMETERS), mc

    return make


@pytest.mark.parametrize(("dimensions", "types"), [(2, "AB"), (3, "A"), (3, "AB")])
def test_the_trajectory_is_that_of_manymove(particles, dimensions, types):
    """Whose CPU engine and CUDA engine make the same, bit for bit."""
    manymove = pytest.importorskip("manymove")
    simulation, mc = particles(dimensions, types, 1.5, sweeps_per_step=8)
    snapshot = simulation.state.get_snapshot()
    sizes = np.array([DIAMETERS[name] for name in types])[snapshot.particles.typeid]
    make = manymove.HardDisks if dimensions == 2 else manymove.HardSpheres
    alone = make(
        np.ascontiguousarray(snapshot.particles.position[:, :dimensions], dtype=np.float64),
        snapshot.configuration.box[:dimensions],
        sizes if len(types) > 1 else 1.0,
        max_displacement=0.12,
        grid=manymove.Grid(moves_per_cell=4, rounds=4),
        seed=SEED,
        device="cpu",
    )
    simulation.run(20)
    alone.run_cycles(40)
    assert mc.state_hash == alone.state_hash
    found = simulation.state.get_snapshot().particles.position[:, :dimensions]
    assert_same(found, alone.positions)
    assert mc.overlaps == 0
    assert sum(mc.translate_moves) == alone.trial_moves


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_change_of_types_is_noticed(particles, dimensions):
    simulation, mc = particles(dimensions, "AB", 1.5)
    simulation.run(5)
    assert mc.pressure / mc.betaP > 1.1
    with simulation.state.cpu_local_snapshot as data:
        data.particles.typeid[:] = 0
    simulation.run(1)
    assert mc.pressure / mc.betaP == pytest.approx(1.0)  # the diameter of all


@pytest.mark.skipif(hpmc is None, reason="this HOOMD-blue has no hpmc")
@pytest.mark.parametrize(("dimensions", "types"), [(2, "AB"), (3, "A"), (3, "AB")])
def test_the_pressure_is_that_of_hpmc(particles, simulation_factory, dimensions, types):
    """From the same snapshot, within six joint standard errors from 32 blocks (false alarms below
    1e-6). Errors fall as the root of the number of particles: in two dimensions, too, there must be
    hundreds for an error of 3 %."""
    per_edge = 20 if dimensions == 2 else 8
    simulation, _ = particles(dimensions, types, 1.45, per_edge, sweeps_per_step=8)
    simulation.run(100)
    assert_pressure_of_hpmc(simulation, simulation_factory, 0.15, 1000, 0.03)
