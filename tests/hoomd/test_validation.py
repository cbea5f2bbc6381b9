# SPDX-License-Identifier: BSD-3-Clause
"""The changes that HOOMD-blue's validation scripts need, on a script with the same words."""

from __future__ import annotations

import numpy as np
import pytest
from documents import ROOT, module_of

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("hoomd.manymove")
SCRIPT = """
def simulate(snapshot, pressure, steps):
    import hoomd
    boxmc = hoomd.hpmc.update.BoxMC(
        betaP=pressure, trigger=hoomd.trigger.Periodic(1)
    )
    boxmc.volume = dict(weight=1.0, mode='ln', delta=1e-3)
    sim = hoomd.Simulation(hoomd.device.CPU(), seed=2)
    sim.create_state_from_snapshot(snapshot)
    mc = hoomd.hpmc.integrate.Sphere(default_d=0.01)
    mc.shape['A'] = dict(diameter=1.0)
    sim.operations.integrator = mc
    sim.run(10)
    mc = hoomd.hpmc.integrate.Sphere(nselect=4)
    mc.shape['A'] = dict(diameter=1.0)
    sim.operations.integrator = mc
    sdf = hoomd.hpmc.compute.SDF(xmax=0.02, dx=1e-4)
    sim.operations.computes.append(sdf)
    logger = hoomd.logging.Logger(categories=['scalar', 'sequence'])
    logger.add(mc, quantities=['translate_moves'])
    logger.add(sdf, quantities=['betaP'])
    for loggable, quantity in [(boxmc, 'volume_moves')]:
        logger.add(loggable, quantities=[quantity])
    sim.operations.add(boxmc)
    until = hoomd.trigger.And([hoomd.trigger.Periodic(50), hoomd.trigger.Before(500)])
    move_size_tuner = hoomd.hpmc.tune.MoveSize.scale_solver(moves=['d'], target=0.2, trigger=until)
    sim.operations.add(move_size_tuner)
    boxmc_tuner = hoomd.hpmc.tune.BoxMCMoveSize.scale_solver(
        trigger=until, boxmc=boxmc, moves=['volume'], target=0.5
    )
    sim.operations.add(boxmc_tuner)
    sim.run(500)
    path, densities, pressures = 'hpmc/compute/SDF/betaP', [], []
    for _ in range(steps // 10):
        sim.run(10)
        found = logger.log()
        for name in path.split('/'):
            found = found[name]
        densities.append(sim.state.N_particles / sim.state.box.volume)
        pressures.append(found[0])
    means = [sum(each) / len(each) for each in (densities, pressures)]
    return *means, boxmc.volume_moves, boxmc.volume["delta"]
"""
BARE = SCRIPT.replace("hpmc", "manymove")


@pytest.fixture
def validation(monkeypatch):
    return module_of(ROOT / "tests/validation/hoomd_validation.py", monkeypatch)


def snapshot():
    """256 disks at a packing fraction of 0.5."""
    made, edge = hoomd.Snapshot(), 16 * np.sqrt(np.pi / 2)
    made.configuration.box = [edge, edge, 0, 0, 0, 0]
    made.particles.N = 256
    made.particles.types = ["A"]
    sites = np.indices((16, 16)).reshape(2, -1).T + 0.5
    made.particles.position[:, :2] = edge * (sites / 16 - 0.5)
    return made


def test_a_script_has_the_density_of_the_equation_of_state(validation):
    found = {}
    exec(validation.translated(SCRIPT, "HardDisks"), found)
    # At P* = 2.6142, 0.5 of the area is covered; the error of the mean is about 0.003.
    density, pressure, moves, _ = found["simulate"](snapshot(), 2.6142, 2500)
    assert density * np.pi / 4 == pytest.approx(0.5, abs=0.015)
    assert pressure == pytest.approx(2.6142, rel=0.1)
    assert min(moves) > 0


@pytest.mark.parametrize("script", [BARE, SCRIPT + "\nhoomd.hpmc.update.Clusters()\n"])
def test_a_script_with_other_words_is_refused(script, validation):
    with pytest.raises(ValueError, match=r"the script (has no|still has)"):
        validation.translated(script, "HardDisks")
