# SPDX-License-Identifier: BSD-3-Clause
"""hoomd.manymove.HardSpheres, and mixtures, on the CPU and, where there is one, on the GPU."""

import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.conftest import logging_check
from hoomd.logging import LoggerCategories
from hoomd.manymove.pytest.conftest import SEED, assert_same
from hoomd.manymove.pytest.test_physics import blocked, hpmc, recorded

DIAMETERS = {"A": 1.0, "B": 1.4}


@pytest.fixture
def particles(device, simulation_factory):
    """Make a simulation of particles on a lattice, with alternating types, and its integrator."""

    def make(dimensions, types, spacing, per_edge=8, **settings):
        if device.communicator.num_ranks > 1:
            pytest.skip("the system is written for one rank")
        sites = np.indices((per_edge,) * dimensions).reshape(dimensions, -1).T
        snapshot = hoomd.Snapshot(device.communicator)
        edge = per_edge * spacing
        snapshot.configuration.box = [edge, edge, edge if dimensions == 3 else 0, 0, 0, 0]
        snapshot.particles.N = len(sites)
        snapshot.particles.types = list(types)
        snapshot.particles.typeid[:] = np.arange(len(sites)) % len(types)
        positions = (sites - (per_edge - 1) / 2) * spacing
        snapshot.particles.position[:, :dimensions] = positions
        simulation = simulation_factory(snapshot)
        kind = hoomd.manymove.HardDisks if dimensions == 2 else hoomd.manymove.HardSpheres
        mc = kind(default_d=0.12, **settings)
        for name in types:
            mc.shape[name] = dict(diameter=DIAMETERS[name])
        simulation.operations.integrator = mc
        return simulation, mc

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


def test_what_can_be_logged():
    scalar = {"category": LoggerCategories.scalar, "default": True}
    logging_check(
        hoomd.manymove.HardSpheres,
        ("manymove", "hard_spheres"),
        {
            "translate_moves": {"category": LoggerCategories.sequence, "default": True},
            "mps": scalar,
            "overlaps": scalar,
            "pressure": scalar,
            "betaP": scalar,
            "type_shapes": {"category": LoggerCategories.object, "default": True},
            "state_hash": {"category": LoggerCategories.string, "default": True},
        },
    )


@pytest.mark.parametrize("name", ["a", "kT", "depletant_fugacity"])
def test_what_only_hpmc_has_is_refused_by_name(name):
    mc = hoomd.manymove.HardSpheres()
    with pytest.raises(AttributeError, match=f"HardSpheres has no {name}"):
        setattr(mc, name, 1.0)


def test_2d_boxes_are_refused(particles):
    simulation, _ = particles(2, "A", 1.5)
    mc = hoomd.manymove.HardSpheres()
    mc.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = mc
    with pytest.raises(ValueError, match="needs a 3D box"):
        simulation.run(0)


@pytest.mark.skipif(hpmc is None, reason="this HOOMD-blue has no hpmc")
@pytest.mark.parametrize(("dimensions", "types"), [(2, "AB"), (3, "A"), (3, "AB")])
def test_the_pressure_is_that_of_hpmc(particles, simulation_factory, dimensions, types):
    """From the same snapshot, within six joint standard errors from 32 blocks (false alarms below
    1e-6). Errors fall as the root of the number of particles: in two dimensions, too, there must be
    hundreds for an error of 3 %."""
    per_edge = 20 if dimensions == 2 else 8
    simulation, mc = particles(dimensions, types, 1.45, per_edge, sweeps_per_step=8)
    simulation.run(100)
    melted = simulation.state.get_snapshot()
    ours, our_error = blocked(recorded(simulation, lambda: mc.betaP, 1, 1000))

    other = simulation_factory(melted)
    sphere = hpmc.integrate.Sphere(default_d=0.15, nselect=4)
    for name in types:
        sphere.shape[name] = dict(diameter=DIAMETERS[name])
    other.operations.integrator = sphere
    sdf = hpmc.compute.SDF(xmax=0.02, dx=1e-4)
    other.operations.computes.append(sdf)
    theirs, their_error = blocked(recorded(other, lambda: sdf.betaP, 2, 4000))
    assert our_error < 0.03 * ours
    assert their_error < 0.03 * theirs
    assert abs(ours - theirs) < 6 * math.hypot(our_error, their_error)
