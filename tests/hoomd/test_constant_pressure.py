# SPDX-License-Identifier: BSD-3-Clause
"""Hard particles at constant pressure in HOOMD-blue, against manymove alone."""

from __future__ import annotations

import numpy as np
import pytest

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_spheres import lattice, positions_of, simulation_of  # noqa: E402

import manymove  # noqa: E402
import manymove.hoomd  # noqa: E402

SYSTEMS = {
    "spheres": (lattice(3, 6, 1.4), "A", 1.0, 5.0),
    "mixture of spheres": (lattice(3, 6, 1.6), "AB", {"A": 1.0, "B": 1.3}, 3.0),
    "mixture of disks": (lattice(2, 12, 1.7), "AB", {"A": 1.0, "B": 1.3}, 3.0),
}


def attached(name, device, **volume):
    start, types, diameter, betaP = SYSTEMS[name]
    simulation = simulation_of(start, types, device)
    kind = manymove.hoomd.HardSpheresUpdater
    if len(start[1]) == 2:
        kind = manymove.hoomd.HardDisksUpdater
    action = kind(
        diameter, d=0.15, nselect=8, sweeps_per_step=1, box_moves={"betaP": betaP, "volume": volume}
    )
    simulation.operations.updaters.append(
        hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), action)
    )
    return simulation, action


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("volume", [{}, {"mode": "standard", "delta": 1.0}])
def test_the_run_is_that_of_manymove_alone(hoomd_device, name, volume):
    simulation, action = attached(name, hoomd_device, **volume)
    simulation.run(0)
    start, _, _, betaP = SYSTEMS[name]
    D = len(start[1])
    alone = (manymove.HardDisks if D == 2 else manymove.HardSpheres)(
        *start,
        **(
            {"diameters": action._engine.diameters}
            if len(SYSTEMS[name][1]) > 1
            else {"diameter": 1.0}
        ),
        max_displacement=0.15,
        moves_per_cell=8,
        rounds=1,
        seed=simulation.seed,
        first_cycle=simulation.timestep << 20,
        pressure=betaP * action._engine.diameter**D,
        volume_mode=volume.get("mode", "ln"),
        volume_delta=volume.get("delta"),
        device="cpu",
    )
    for _ in range(6):
        simulation.run(20)
        alone.run_cycles(20)
        assert f"{action.state_hash}" == f"{alone.state_hash}"
        box = simulation.state.box
        np.testing.assert_allclose([box.Lx, box.Ly, box.Lz][:D], alone.box, rtol=1e-6)
        np.testing.assert_allclose(
            positions_of(simulation)[:, :D], alone.positions, rtol=0, atol=1e-5
        )
    assert action.overlaps == 0
    assert sum(action.volume_moves) == 1200
    assert action.packing_fraction == pytest.approx(alone.packing_fraction)
    assert alone.volume < 0.95 * np.prod(start[1])


@pytest.mark.parametrize(
    "moves, message",
    [
        ({}, "must have betaP"),
        ({"betaP": 0}, "must be positive and finite"),
        ({"betaP": 1, "aspect": {}}, "box_moves\\['aspect'\\] is not supported"),
        ({"betaP": 1, "volume": {"weight": 1}}, "\\['weight'\\] is not supported"),
        ({"betaP": 1, "volume": {"mode": "cubic"}}, "must be 'ln' or 'standard'"),
        ({"betaP": 1, "volume": {"delta": -1}}, "must be positive and finite"),
    ],
)
def test_bad_box_moves_are_refused(moves, message):
    with pytest.raises(ValueError, match=message):
        manymove.hoomd.HardSpheresUpdater(1.0, box_moves=moves)
