# SPDX-License-Identifier: BSD-3-Clause
"""Pair potentials of hoomd.hpmc with the integrators of hoomd.manymove."""

import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.manymove.pytest.test_physics import blocked, hpmc

pytestmark = pytest.mark.skipif(
    not hasattr(getattr(hpmc, "pair", None), "Step"), reason="this HOOMD-blue has no hpmc.pair.Step"
)


def step():
    """A well and a shoulder for A, a deep well for A and B, nothing for B."""
    made = hpmc.pair.Step()
    made.params[("A", "A")] = dict(epsilon=[5.0, -0.6, 0.4], r=[0.5, 1.2, 1.5])
    made.params[("A", "B")] = dict(epsilon=[-1.1], r=[1.3])
    made.params[("B", "B")] = None
    return made


@pytest.fixture
def start(device, simulation_factory):
    """Make a simulation of 64 spheres of two types with an integrator."""

    def make(mc, types="AB"):
        if device.communicator.num_ranks > 1:
            pytest.skip("the system is written for one rank")
        snapshot = hoomd.Snapshot(device.communicator)
        snapshot.configuration.box = [5.2, 5.2, 5.2, 0, 0, 0]
        snapshot.particles.N = 64
        snapshot.particles.types = list(types)
        snapshot.particles.typeid[:] = np.arange(64) % len(types)
        sites = np.indices((4, 4, 4)).reshape(3, -1).T
        snapshot.particles.position[:] = (sites - 1.5) * 1.3
        simulation = simulation_factory(snapshot)
        for name, diameter in zip(types, (1.0, 0.8), strict=False):
            mc.shape[name] = dict(diameter=diameter)
        simulation.operations.integrator = mc
        return simulation

    return make


@pytest.mark.parametrize("types", ["AB", "A"])
def test_the_trajectory_is_that_of_manymove(start, types):
    manymove = pytest.importorskip("manymove")
    steps = pytest.importorskip("manymove.steps")
    mc = hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=4)
    simulation = start(mc, types)
    mc.pair_potentials = [step()]
    data = simulation.state.get_snapshot()
    sizes, given = 1.0, [steps.Step(1.2, -1.0), steps.Step(1.5, 0.4)]
    if types == "AB":
        sizes = manymove.Mixture(data.particles.typeid, [[1.0, 0.9], [0.9, 0.8]])
        given = [
            steps.Step([[1.2, 1.3], [1.3, 1.0]], [[-1.0, -1.1], [-1.1, 0.0]]),
            steps.Step(1.5, [[0.4, 0.0], [0.0, 0.0]]),
        ]
    alone = manymove.HardSpheres(
        np.ascontiguousarray(data.particles.position, dtype=np.float64),
        data.configuration.box[:3],
        sizes,
        max_displacement=0.2,
        grid=manymove.Grid(moves_per_cell=4, rounds=4),
        seed=simulation.seed,
        steps=given,
        device="cpu",
    )
    simulation.run(20)
    alone.run_cycles(20)
    assert mc.state_hash == alone.state_hash
    assert mc.pair_energy == pytest.approx(alone.step_energies.sum() / 2)


def test_the_mean_energy_is_that_of_hpmc(start):
    """Within six joint standard errors from 32 blocks (false alarms below 1e-6), which are below
    1 % of the mean."""
    found = []
    for mc, steps in (
        (hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=8), 1),
        (hpmc.integrate.Sphere(default_d=0.2, nselect=4), 4),
    ):
        simulation = start(mc)
        mc.pair_potentials = [step()]
        simulation.run(100 * steps)
        energies = []
        for _ in range(3200):
            simulation.run(steps)
            energies.append(mc.pair_energy)
        found.append(blocked(np.array(energies), 32))
    (ours, error), (theirs, other) = found
    assert math.hypot(error, other) < 0.01 * abs(theirs)
    assert abs(ours - theirs) < 6 * math.hypot(error, other)


def test_a_change_is_noticed_at_the_start_of_a_run(start):
    mc = hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=8)
    simulation = start(mc, "A")
    well = hpmc.pair.Step()
    well.params[("A", "A")] = dict(epsilon=[0.0], r=[1.2])
    mc.pair_potentials = [well]
    simulation.run(100)
    assert mc.pair_energy == 0
    well.params[("A", "A")] = dict(epsilon=[-3.0], r=[1.2])
    simulation.run(300)
    assert mc.pair_energy < -3 * 64
    mc.pair_potentials = []
    simulation.run(1)
    assert mc.pair_energy == 0


def test_what_steps_do_not_have_is_refused_by_name(start):
    mc = hoomd.manymove.HardSpheres(default_d=0.2)
    with pytest.raises(TypeError, match=r"pair_potentials: hoomd.manymove has the Step"):
        mc.pair_potentials = [hpmc.pair.LennardJones()]
    simulation = start(mc, "A")
    well = hpmc.pair.Step()
    well.params[("A", "A")] = dict(epsilon=[-0.5], r=[1.2])
    mc.pair_potentials = [well]
    simulation.run(1)
    with pytest.raises(ValueError, match="pair_potentials has a term for each step"):
        _ = mc.pressure
    mc.box_moves = {"betaP": 1.0}
    with pytest.raises(ValueError, match="pair_potentials cannot be combined with constant"):
        simulation.run(1)
    mc.box_moves = None
    for r, message in (([1.2, 1.4], "as many r as"), ([1.9], "largest range of the steps")):
        well.params[("A", "A")] = dict(epsilon=[-0.5], r=r)
        with pytest.raises(ValueError, match=message):
            simulation.run(1)
