# SPDX-License-Identifier: BSD-3-Clause
"""Pair potentials of hoomd.hpmc with the integrators of hoomd.manymove."""

import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.manymove.pytest.conftest import lattice
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


def deep():
    """A well and a shoulder whose terms of the pressure exceed that of an ideal gas."""
    made = hpmc.pair.Step()
    made.params[("A", "A")] = dict(epsilon=[-1.0, 0.8], r=[1.2, 1.4])
    made.params[("A", "B")] = dict(epsilon=[-1.5], r=[1.25])
    made.params[("B", "B")] = dict(epsilon=[1.5], r=[1.3])
    return made


@pytest.fixture
def start(simulation_of):
    """Make a simulation of 64 spheres of two types with an integrator."""

    def make(mc, types="AB"):
        return simulation_of(mc, lattice(3, 4, 1.3), (5.2, 5.2, 5.2), types, {"A": 1.0, "B": 0.8})

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
    mc.pair_potentials.append(well)
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
        mc.pair_potentials.append(hpmc.pair.LennardJones())
    simulation = start(mc, "A")
    well = hpmc.pair.Step()
    well.params[("A", "A")] = dict(epsilon=[-0.5], r=[1.2])
    mc.pair_potentials = [well]
    simulation.run(1)
    for epsilon, r, message in (
        ([-0.5], [1.2, 1.4], "as many r as"),
        ([-0.5, 1.0], [1.4, 1.2], "must have ascending r"),
        ([-0.5, 1.0], [1.2, 1.2], "must have ascending r"),
        ([-0.5], [1.9], "three times the largest range of an energy"),
        (list(range(12)), np.linspace(1.1, 1.3, 12).tolist(), "at most 8 steps in all"),
        ([1e4, -1.0], [1.1, 1.2], "at most 1000 kT in magnitude in each step"),
    ):
        well.params[("A", "A")] = dict(epsilon=epsilon, r=r)
        with pytest.raises(ValueError, match=message):
            simulation.run(1)


def test_a_pair_without_params_is_refused_by_its_name(start):
    mc = hoomd.manymove.HardSpheres(default_d=0.2)
    simulation = start(mc)
    well = hpmc.pair.Step()
    well.params[("A", "A")] = dict(epsilon=[-0.5], r=[1.2])
    mc.pair_potentials = [well]
    with pytest.raises(ValueError, match=r"Step.params\[\('A', 'B'\)\] is missing"):
        simulation.run(1)


def test_swap_moves_are_refused(start):
    mc = hoomd.manymove.HardSpheres(default_d=0.2, swap={"rounds": 1})
    simulation = start(mc)
    mc.pair_potentials = [step()]
    with pytest.raises(ValueError, match="pair_potentials cannot be combined with swap moves"):
        simulation.run(0)


def test_a_logger_has_the_pressure_of_all_terms(start):
    """`logger.add(mc)` of a usual script works; the pressure is that of the package."""
    mc = hoomd.manymove.HardSpheres(default_d=0.2)
    simulation = start(mc)
    logger = hoomd.logging.Logger(["scalar"])
    logger.add(mc)
    found = []
    for potentials in ([], [step()]):
        mc.pair_potentials = potentials
        simulation.run(2)
        logged = logger.log()["manymove"]["hard_spheres"]["HardSpheres"]
        found.append([logged[name][0] for name in ("pressure", "betaP", "pair_energy")])
    assert np.isfinite(found).all()
    assert found[1][0] == mc.pressure != found[0][0]
    assert found[1][1] == pytest.approx(mc.pressure / mc._cpp_obj.diameter**3)
    assert found[1][2] == mc.pair_energy


@pytest.mark.parametrize("types", ["A", "AB"])
def test_the_pressure_is_that_of_hpmc(start, types):
    """The estimators of all pairs and of the nearest events, and HPMC's, agree within 4.5 joint
    standard errors, which are below 10 % of the pressure of an ideal gas. For one type, the
    terms of contact and of the two ranges are 2.8, -3.7 and 1.3 in its units."""
    found = {}
    for mc, sdf in (
        (hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=16), manymove_sdf()),
        (hpmc.integrate.Sphere(default_d=0.2, nselect=4), hpmc_sdf()),
    ):
        simulation = start(mc, types)
        mc.pair_potentials = [deep()]
        simulation.operations.computes.append(sdf)
        simulation.run(400)
        values = []
        for _ in range(2400):
            simulation.run(4)
            values.append([sdf.betaP, mc.betaP] if hasattr(mc, "betaP") else [sdf.betaP])
        for name, column in zip(("SDF", "betaP"), np.transpose(values), strict=False):
            found[type(mc), name] = blocked(column)
    ideal = 64 / 5.2**3
    reference, error = found.pop((hpmc.integrate.Sphere, "SDF"))
    for mean, own in found.values():
        joint = np.hypot(own, error)
        assert joint < 0.1 * ideal
        assert abs(mean - reference) < 4.5 * joint


def manymove_sdf():
    return hoomd.manymove.compute.SDF(xmax=0.15, dx=3e-3)


def hpmc_sdf():
    return hpmc.compute.SDF(xmax=0.15, dx=3e-3)


def test_the_volume_is_that_of_hpmc(start):
    """At constant pressure, within 4.5 joint standard errors, which are below 3 % of the volume.
    Without steps the volume would be larger by a third."""
    found, betaP = [], 1.0
    for mc, steps in (
        (hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=4), 1),
        (hpmc.integrate.Sphere(default_d=0.2, nselect=4), 2),
    ):
        simulation = start(mc, "A")
        mc.pair_potentials = [deep()]
        if steps == 1:
            mc.box_moves = {"betaP": betaP, "volume": {"mode": "ln", "delta": 0.05}}
        else:
            moves = hpmc.update.BoxMC(trigger=1, betaP=hoomd.variant.Constant(betaP))
            moves.volume = dict(mode="ln", weight=1.0, delta=0.05)
            simulation.operations.updaters.append(moves)
        simulation.run(500 * steps)
        volumes = []
        for _ in range(3000):
            simulation.run(steps)
            volumes.append(simulation.state.box.volume)
        found.append(blocked(volumes))
    (ours, own), (theirs, other) = found
    joint = np.hypot(own, other)
    assert joint < 0.03 * theirs
    assert abs(ours - theirs) < 4.5 * joint


def test_energies_at_one_range_add_up(start):
    """Two potentials act as one with the sum of their energies."""
    found = []
    for energies in ([-1.0, 0.5], [-0.5]):
        mc = hoomd.manymove.HardSpheres(default_d=0.2)
        simulation = start(mc, "A")
        mc.pair_potentials = potentials = [hpmc.pair.Step() for _ in energies]
        for each, energy in zip(potentials, energies, strict=True):
            each.params[("A", "A")] = dict(epsilon=[energy], r=[1.3])
        sdf = manymove_sdf()
        simulation.operations.computes.append(sdf)
        simulation.run(60)
        found.append([mc.state_hash, mc.betaP, sdf.betaP, *sdf.sdf_expansion])
    assert found[0][0] == found[1][0]
    assert found[0][1:] == pytest.approx(found[1][1:])
    assert any(found[0][3:])


def test_the_pressure_of_box_moves_may_vary_with_steps(start):
    """A variant pressure and a constant one make the same box where they are equal."""
    boxes = []
    for betaP in (hoomd.variant.Ramp(0.9, 1.8, 10, 10), 0.9, 1.8):
        moves = {"betaP": betaP, "volume": {"mode": "ln", "delta": 0.05}}
        mc = hoomd.manymove.HardSpheres(default_d=0.2, box_moves=moves)
        simulation = start(mc)
        mc.pair_potentials = [step()]
        simulation.run(10)
        boxes.append([simulation.state.box.volume])
        simulation.run(40)
        boxes[-1].append(simulation.state.box.volume)
        assert mc.overlaps == 0
    assert boxes[0][0] == boxes[1][0] != boxes[2][0]
    assert boxes[0][1] != boxes[1][1]
