# SPDX-License-Identifier: BSD-3-Clause
"""Operations that belong to HPMC's integrator are refused at every run of a simulation without it;
they would go on with the old integrator, and HOOMD-blue crashes at the second run of some."""

from __future__ import annotations

import importlib

import pytest

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
hpmc = pytest.importorskip("hoomd.hpmc", reason="HOOMD-blue without HPMC")
import hoomd_disks  # noqa: E402

NAMES = {
    "compute.SDF": "use hoomd.manymove.compute.SDF, or the quantity betaP",
    "compute.FreeVolume": "use the quantity packing_fraction",
    "update.BoxMC": "use the setting box_moves",
    "update.Clusters": "it is not needed",
    "update.MuVT": "use hoomd.manymove.update.MuVT",
    "update.QuickCompress": "use hoomd.manymove.update.QuickCompress",
    "tune.MoveSize": "use hoomd.manymove.tune.MoveSize, or assign d",
    "tune.BoxMCMoveSize": "assign box_moves",
}


def made(name):
    folder, _, kind = name.partition(".")
    make = getattr(getattr(hpmc, folder), kind)
    box_moves = hpmc.update.BoxMC(1, betaP=1.0)
    arguments = {
        "SDF": dict(xmax=0.02, dx=1e-4),
        "FreeVolume": dict(test_particle_type="A", num_samples=10),
        "BoxMC": dict(trigger=1, betaP=1.0),
        "Clusters": dict(trigger=1),
        "MuVT": dict(trigger=1, transfer_types=["A"]),
        "QuickCompress": dict(trigger=1, target_box=hoomd.Box.square(14.0)),
        "MoveSize": dict(trigger=1, moves=["d"], target=0.3),
        "BoxMCMoveSize": dict(
            trigger=1, boxmc=box_moves, moves=["volume"], target=0.3, max_move_size=dict(volume=1)
        ),
    }[kind]
    if folder == "tune":
        make = make.scale_solver
    return make(**arguments)


def place(simulation, name):
    folder = name.partition(".")[0]
    return getattr(simulation.operations, {"compute": "computes"}.get(folder, f"{folder}rs"))


def replace_integrator(simulation):
    component = importlib.import_module("hoomd.manymove")
    mc = component.HardDisks(default_d=0.1, threads=1)
    mc.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = mc
    return mc


def refused(simulation, name, who):
    with pytest.raises(RuntimeError) as error:
        simulation.run(1)
    assert str(error.value) == (
        f"hoomd.hpmc.{name} is in simulation.operations, but works with HPMC's integrator only, "
        f"not with {who}: remove it; {NAMES[name]}"
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("began", [False, True], ids=["new", "with HPMC"])
def test_the_component_refuses_them_until_they_are_removed(name, began):
    pytest.importorskip("hoomd.manymove")
    simulation = hoomd_disks.on_lattice(12)
    simulation.operations.integrator = old = hpmc.integrate.Sphere(default_d=0.1)
    old.shape["A"] = dict(diameter=1.0)
    if began:
        if name == "tune.BoxMCMoveSize":
            pytest.skip("it needs its updater")
        place(simulation, name).append(made(name))
        simulation.run(0)
        mc = replace_integrator(simulation)
    else:
        mc = replace_integrator(simulation)
        place(simulation, name).append(made(name))
    for _ in range(2):
        refused(simulation, name, "hoomd.manymove.HardDisks")
    place(simulation, name).pop()
    simulation.run(1)
    assert sum(mc.translate_moves) > 0


@pytest.mark.parametrize("name", ["compute.SDF", "update.BoxMC"])
def test_an_updater_refuses_them_unless_the_integrator_is_that_of_hpmc(name):
    simulation = hoomd_disks.on_lattice(12)
    simulation.operations.integrator = old = hpmc.integrate.Sphere(default_d=0.1)
    old.shape["A"] = dict(diameter=1.0)
    place(simulation, name).append(made(name))
    disks = hoomd_disks.add_disks(simulation)
    simulation.run(1)
    simulation.operations.integrator = None
    for _ in range(2):
        refused(simulation, name, "manymove.hoomd.HardDisksUpdater")
    place(simulation, name).remove(next(iter(place(simulation, name))))
    simulation.run(1)
    assert sum(disks.translate_moves) > 0


def test_a_subclass_of_an_operation_is_refused_too():
    pytest.importorskip("hoomd.manymove")

    class Mine(hpmc.compute.SDF):
        pass

    simulation = hoomd_disks.on_lattice(12)
    replace_integrator(simulation)
    simulation.operations.computes.append(Mine(xmax=0.02, dx=1e-4))
    refused(simulation, "compute.SDF", "hoomd.manymove.HardDisks")
