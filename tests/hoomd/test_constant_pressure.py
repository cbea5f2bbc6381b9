# SPDX-License-Identifier: BSD-3-Clause
"""Hard particles at constant pressure in HOOMD-blue, against manymove alone."""

from __future__ import annotations

import numpy as np
import pytest

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_spheres import attach, edges_of, lattice, positions_of, simulation_of  # noqa: E402

import manymove  # noqa: E402

SYSTEMS = {
    "spheres": (lattice(3, 6, 1.4), "A", {"A": 1.0}, 5.0),
    "mixture of spheres": (lattice(3, 6, 1.6), "AB", {"A": 1.0, "B": 1.3}, 3.0),
    "disks": (lattice(2, 12, 1.4), "A", {"A": 1.0}, 3.0),
    "mixture of disks": (lattice(2, 12, 1.7), "AB", {"A": 1.0, "B": 1.3}, 3.0),
}


def attached(name, way, device, **kinds):
    start, types, diameters, betaP = SYSTEMS[name]
    simulation = simulation_of(start, types, device)
    settings = {"box_moves": {"betaP": betaP, **kinds}, "nselect": 8, "threads": None}
    return simulation, attach(simulation, way, diameters, 0.15, sweeps_per_step=1, **settings)


MIXED = {
    "volume": {"weight": 2, "mode": "ln", "delta": 0.1},
    "length": {"weight": 1.0, "delta": (0.1, 0.06, 0.2)},
    "aspect": {"weight": 1, "delta": 0.05},
}


# Box moves of HOOMD-blue; the same of manymove, for so many dimensions; and trials in a step.
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(
    ("kinds", "same", "trials"),
    [
        ({}, lambda D: {}, 10),
        (
            {"volume": {"mode": "standard", "delta": 1.0}},
            lambda D: {"mode": "standard", "delta": 1.0},
            10,
        ),
        (
            {"length": {"weight": 3, "delta": (0.1, 0.06, 0.2)}},
            lambda D: {"mode": "length", "delta": (0.1, 0.06, 0.2)[:D]},
            1,
        ),
        (
            MIXED,
            lambda D: {
                "weights": {"volume": 2, "length": 1, "aspect": 1},
                "delta": {"volume": 0.1, "length": (0.1, 0.06, 0.2)[:D], "aspect": 0.05},
            },
            1,
        ),
    ],
)
def test_the_run_is_that_of_manymove_alone(hoomd_device, way, name, kinds, same, trials):
    simulation, action = attached(name, way, hoomd_device, **kinds)
    simulation.run(0)
    start, types, sizes, betaP = SYSTEMS[name]
    D = len(start[1])
    each = np.array([sizes[types[k % len(types)]] for k in range(len(start[0]))])
    alone = (manymove.HardDisks if D == 2 else manymove.HardSpheres)(
        *start,
        diameter=each if len(types) > 1 else 1.0,
        max_displacement=0.15,
        grid=manymove.Grid(moves_per_cell=8, rounds=1),
        seed=simulation.seed,
        start=manymove.Start(first_cycle=simulation.timestep << 20),
        pressure=manymove.ConstantPressure(betaP * np.mean(each**D), **same(D)),
        device="cpu",
    )
    for _ in range(6):
        simulation.run(20)
        alone.run_cycles(20)
        assert sum(action.volume_moves) + sum(action.aspect_moves) == 20 * trials
        assert f"{action.state_hash}" == f"{alone.state_hash}"
        box = simulation.state.box
        np.testing.assert_allclose([box.Lx, box.Ly, box.Lz][:D], alone.box, rtol=1e-6)
        np.testing.assert_allclose(
            positions_of(simulation)[:, :D], alone.positions, rtol=0, atol=1e-5
        )
    assert action.overlaps == 0
    assert action.volume_moves[0] > 0 and action.swap_moves == (0, 0)
    assert (sum(action.aspect_moves) > 0) == ("aspect" in kinds)
    assert action.packing_fraction == pytest.approx(alone.packing_fraction)
    # The more trials, the more the box has shrunk.
    assert alone.volume < (0.95 if trials == 10 else 0.999) * np.prod(start[1])


def test_a_change_of_the_pressure_makes_a_new_engine(way):
    simulation, action = attached("spheres", way, None)
    simulation.run(5)
    assert sum(action.volume_moves) == 50
    moves = action.box_moves
    assert moves["volume"] == {"mode": "ln", "delta": None}
    action.box_moves = {**moves, "betaP": 2.0}
    simulation.run(5)
    assert sum(action.volume_moves) == 50
    action.box_moves = None
    before = simulation.state.box
    simulation.run(5)
    assert simulation.state.box == before and action.volume_moves == (0, 0)


def test_a_kind_without_weight_leaves_the_other_alone(way):
    """As if it were not given."""
    hashes = []
    for kinds in ({"volume": {}}, {"volume": {"weight": 0.5}, "aspect": {"weight": 0}}):
        simulation, particles = attached("disks", way, None, **kinds)
        assert particles.box_moves["volume"] == {"mode": "ln", "delta": None}
        simulation.run(10)
        hashes.append(particles.state_hash)
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(
    "moves, message",
    [
        ({}, "must have betaP"),
        ({"betaP": 0}, "must be positive and finite"),
        ({"betaP": 1, "shear": {}}, r"box_moves\['shear'\] is not supported: boxes are rect"),
        ({"betaP": 1, "bend": {}}, r"box_moves\['bend'\] is not supported; the settings are betaP"),
        (
            {"betaP": 1, "aspect": {"mode": "ln"}},
            r"box_moves\['aspect'\]\['mode'\] is not supported",
        ),
        ({"betaP": 1, "aspect": {"weight": -1}}, r"\['aspect'\]\['weight'\] must be positive"),
        ({"betaP": 1, "aspect": {"delta": 0}}, r"\['aspect'\]\['delta'\] must be positive"),
        ({"betaP": 1, "aspect": {"weight": 0}}, "no kind of moves whose weight is positive"),
        ({"betaP": 1, "volume": {"mode": "standard"}, "aspect": {}}, "must be 'ln' with other"),
        ({"betaP": 1, "volume": {"mode": "cubic"}}, "must be 'ln' or 'standard'"),
        ({"betaP": 1, "volume": {"delta": -1}}, "must be positive and finite"),
        ({"betaP": 1, "length": {"delta": (0, 0, 0)}}, "a number for each edge, one of them not 0"),
        ({"betaP": 1, "length": {"delta": (1, -1, 0)}}, "must be positive and finite"),
        ({"betaP": 1, "length": 0.1}, r"box_moves\['length'\] must be a dictionary, got 0.1"),
        ({"betaP": 1, "volume": 0.1}, r"box_moves\['volume'\] must be a dictionary, got 0.1"),
        (5, "box_moves must be a dictionary, got 5"),
    ],
)
def test_bad_box_moves_are_refused(way, moves, message):
    simulation = simulation_of(SYSTEMS["spheres"][0])
    with pytest.raises((ValueError, TypeError), match=message):
        attach(simulation, way, box_moves=moves)


@pytest.mark.parametrize(
    "changes, name",
    [
        ({"volume": {"delta": 9.0}}, "volume"),
        ({"length": {"delta": np.full(3, 9.0)}}, "length"),
        ({**MIXED, "volume": {"delta": 9.0}}, "volume"),
        ({**MIXED, "length": {"delta": 9.0}}, "length"),
        ({**MIXED, "aspect": {"delta": 9.0}}, "aspect"),
    ],
)
def test_a_change_that_is_too_large_is_named_as_it_was_given(way, changes, name):
    simulation = simulation_of(SYSTEMS["spheres"][0])
    attach(simulation, way, box_moves={"betaP": 5.0, **changes})
    with pytest.raises(ValueError, match=rf"box_moves\['{name}'\]\['delta'\] must .* got 9"):
        simulation.run(1)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_variant_of_the_pressure_acts_in_each_step(way, dimensions):
    """As its values, assigned between runs of one step."""
    start, found = lattice(dimensions, 6, 1.5), []
    ramp = hoomd.variant.Ramp(0.5, 8.0, 0, 3)
    for by_hand in (True, False):
        simulation = simulation_of(start)
        settings = {"betaP": ramp(0) if by_hand else ramp}
        particles = attach(simulation, way, box_moves=settings)
        for step in range(4):
            if by_hand:
                particles.box_moves = {"betaP": ramp(step)}
            simulation.run(1)
        found.append([*edges_of(simulation), *positions_of(simulation).ravel()])
        assert sum(particles.volume_moves) > 0
    assert found[0] == found[1]
    with pytest.raises(ValueError, match=r"betaP'\] must be positive and finite, got -1"):
        particles.box_moves = {"betaP": hoomd.variant.Constant(-1.0)}
        simulation.run(1)
