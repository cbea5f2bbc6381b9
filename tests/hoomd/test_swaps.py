# SPDX-License-Identifier: BSD-3-Clause
"""Swap moves in HOOMD-blue, which exchange the types of particles, against manymove alone."""

from __future__ import annotations

import numpy as np
import pytest

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_spheres import attach, edges_of, lattice, positions_of, simulation_of  # noqa: E402

import manymove  # noqa: E402

SIZES = {"A": 1.0, "B": 0.7, "C": 0.85}
SYSTEMS = {
    "spheres": (lattice(3, 6, 1.15), 4.0),
    "disks": (lattice(2, 14, 1.15), 3.0),
}


def types_of(simulation):
    """Names of the particle types by tag."""
    with simulation.state.cpu_local_snapshot as snapshot:
        typeid = np.array(snapshot.particles.typeid)[np.array(snapshot.particles.rtag)]
    return np.array(simulation.state.particle_types)[typeid]


def attached(name, way, device, betaP=None, **swap):
    simulation = simulation_of(SYSTEMS[name][0], "ABC", device)
    settings = {"swap": swap or {"rounds": 3}, "box_moves": betaP and {"betaP": betaP}}
    settings |= {"nselect": 8, "sweeps_per_step": 2, "threads": None}
    return simulation, attach(simulation, way, SIZES, **settings)


def alone(name, simulation, betaP=None, **settings):
    """The same system without HOOMD-blue."""
    start, _ = SYSTEMS[name]
    D = len(start[1])
    diameters = np.array([SIZES[each] for each in types_of(simulation)])
    if betaP is not None:
        settings["pressure"] = betaP * np.mean(diameters**D)
    return (manymove.HardDisks if D == 2 else manymove.HardSpheres)(
        *start,
        diameter=diameters,
        max_displacement=0.12,
        grid=manymove.Grid(moves_per_cell=8, rounds=2),
        seed=simulation.seed,
        start=manymove.Start(first_cycle=simulation.timestep << 20),
        device="cpu",
        **settings,
    )


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("constant_pressure", [False, True])
def test_the_run_is_that_of_manymove_alone(hoomd_device, way, name, constant_pressure):
    betaP = SYSTEMS[name][1] if constant_pressure else None
    swap = {"rounds": 3, "range": 0.2, "every": 2}
    simulation, action = attached(name, way, hoomd_device, betaP, **swap)
    expected = alone(name, simulation, betaP, swaps=manymove.Swaps(**swap))
    first = types_of(simulation)
    for _ in range(4):
        trials = expected.swap_trials
        simulation.run(10)
        expected.run_cycles(10)
        assert sum(action.swap_moves) == expected.swap_trials - trials > 0
        assert action.state_hash == expected.state_hash
        found = np.array([SIZES[each] for each in types_of(simulation)])
        np.testing.assert_array_equal(found, expected.diameters)
        np.testing.assert_allclose(
            positions_of(simulation)[:, : len(edges_of(simulation))],
            expected.positions,
            rtol=0,
            atol=1e-5,
        )
    assert (types_of(simulation) != first).mean() > 0.2
    accepted, rejected = action.swap_moves
    assert accepted / (accepted + rejected) == pytest.approx(expected.swap_acceptance, rel=0.3)
    assert action.overlaps == 0
    assert (sum(action.volume_moves) > 0) == constant_pressure


def test_types_that_others_change_are_adopted(hoomd_device, way):
    """All small spheres become large where there is room, and the next step swaps these."""
    simulation, action = attached("spheres", way, hoomd_device)
    simulation.run(2)
    before = np.sort(types_of(simulation))
    snapshot = simulation.state.get_snapshot()
    typeid = np.array(snapshot.particles.typeid)
    typeid[typeid == 0] = 2  # smaller, so that nothing overlaps
    snapshot.particles.typeid[:] = typeid
    simulation.state.set_snapshot(snapshot)
    simulation.run(5)
    after = np.sort(types_of(simulation))
    assert (after == "A").sum() == 0 < (before == "A").sum()
    assert (after == "C").sum() == (before != "B").sum()
    assert sum(action.swap_moves) > 0 and action.overlaps == 0


BAD = [
    ({}, ValueError, "swap must have rounds"),
    ({"rounds": 0}, ValueError, "swap\\['rounds'\\] must be from 1 to 1000"),
    ({"rounds": 1.5}, TypeError, "rounds"),
    ({"rounds": 1, "range": 0}, ValueError, "swap\\['range'\\] must be positive"),
    ({"rounds": 1, "every": 0}, ValueError, "swap\\['every'\\] must be from 1"),
    (4, TypeError, "swap must be a dictionary, got 4"),
    ({"rounds": 1, "weight": 1}, ValueError, "swap\\['weight'\\] is not supported"),
]


@pytest.mark.parametrize("swap, error, message", BAD)
def test_bad_swaps_are_refused(way, swap, error, message):
    simulation = simulation_of(SYSTEMS["spheres"][0], "ABC")
    with pytest.raises(error, match=message):
        attach(simulation, way, SIZES, swap=swap)


@pytest.mark.parametrize(
    "sizes, message",
    [
        ({"A": 1.0, "B": 1.0, "C": 1.0}, "needs particle types of different diameters"),
        ({"A": 1.0, "B": 0.8, "C": 0.8}, "no two have the same diameter"),
    ],
)
def test_types_that_cannot_be_told_apart_are_refused(way, sizes, message):
    simulation = simulation_of(SYSTEMS["spheres"][0], "ABC")
    attach(simulation, way, sizes, swap={"rounds": 1})
    with pytest.raises(ValueError, match=message):
        simulation.run(1)
