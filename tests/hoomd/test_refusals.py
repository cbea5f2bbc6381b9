"""What `manymove.hoomd` refuses: settings at once, states when the simulation runs."""

from __future__ import annotations

import numpy as np
import pytest

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_disks import add_disks, make, standalone  # noqa: E402
from hoomd_spheres import simulation_of  # noqa: E402

import manymove.hoomd  # noqa: E402


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"diameter": 0}, ValueError, "diameter must be positive and finite, got 0.0"),
        ({"diameter": np.nan}, ValueError, "diameter must be positive and finite, got nan"),
        ({"diameter": "x"}, TypeError, "diameter must be a number, got 'x'"),
        ({"d": [0.1]}, TypeError, r"d must be a number, got \[0.1\]"),
        ({"repair_depth": None}, TypeError, "repair_depth must be a number, got None"),
        ({"d": -0.1}, ValueError, "d must be positive and finite, got -0.1"),
        ({"nselect": 0}, ValueError, "nselect must be from 1 to 1024, got 0"),
        ({"nselect": 1025}, ValueError, "nselect must be from 1 to 1024, got 1025"),
        ({"nselect": 4.0}, TypeError, "nselect must be an integer, got 4.0"),
        ({"sweeps_per_step": 0}, ValueError, "sweeps_per_step must be from 1 to 1000000, got 0"),
        ({"sweeps_per_step": None}, TypeError, "sweeps_per_step must be an integer, got None"),
        ({"repair_depth": -1}, ValueError, "repair_depth must not be negative, got -1"),
        ({"threads": 0}, ValueError, "threads must be positive"),
    ],
)
def test_settings_out_of_range_are_refused_at_once(settings, error, message):
    with pytest.raises(error, match=message):
        manymove.hoomd.HardDisksUpdater(**{"diameter": 1.0, **settings})
    if "threads" not in settings:
        disks = manymove.hoomd.HardDisksUpdater(1.0)
        (name,) = settings
        before = getattr(disks, name)
        with pytest.raises(error, match=message):
            setattr(disks, name, settings[name])
        assert getattr(disks, name) == before


def change_box(**edges):
    def change(simulation):
        box = simulation.state.box
        values = {"Lx": box.Lx, "Ly": box.Ly, **edges}
        simulation.state.set_box(hoomd.Box(**values))

    return change


def remove_a_disk(simulation):
    simulation.state._cpp_sys_def.getParticleData().removeParticle(3)


def overlap(simulation):
    snapshot = simulation.state.get_snapshot()
    snapshot.particles.position[7, :2] = snapshot.particles.position[5, :2] + 0.1
    simulation.state.set_snapshot(snapshot)


def positions_of(simulation):
    return simulation.state.get_snapshot().particles.position


REFUSALS = [
    (change_box(Lz=5), {}, "two-dimensional box, Lz = 0; Lz is 5"),
    (change_box(xy=0.1), {}, "a box that is not tilted; xy is 0.1"),
    (change_box(Lx=2.9), {}, "box too small for the checkerboard: edge x is 2.9"),
    (change_box(Lx=5), {}, "disk .* is outside the box: x = "),
    (remove_a_disk, {}, "tags from 0 to N - 1; of the 399 here one has the tag 399"),
    (overlap, {}, "disks 5 and 7 overlap by 0.8"),
    (lambda simulation: None, {"d": 5}, "^d must be .* at most the cell width"),
    (lambda simulation: None, {"diameter": 2}, "packing fraction 2.4 is above"),
]


@pytest.mark.parametrize(("change", "settings", "message"), REFUSALS)
def test_a_state_that_does_not_do_is_refused_when_it_runs(fluid, change, settings, message):
    simulation = simulation_of(fluid)
    change(simulation)
    before = positions_of(simulation)
    add_disks(simulation, **settings)
    with pytest.raises(ValueError, match=message):
        simulation.run(0)
    assert np.array_equal(positions_of(simulation), before)


@pytest.mark.parametrize(("change", "settings", "message"), REFUSALS)
def test_a_state_that_no_longer_does_is_refused_at_the_next_step(fluid, change, settings, message):
    simulation, disks = make(fluid)
    simulation.run(2)
    change(simulation)
    for name, value in settings.items():
        setattr(disks, name, value)
    before = positions_of(simulation)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            simulation.run(1)
    assert np.array_equal(positions_of(simulation), before)


def test_a_simulation_goes_on_when_the_reason_for_a_refusal_is_gone(fluid):
    simulation, disks = make(fluid, sweeps_per_step=16)
    simulation.run(2)
    disks.d = 5
    with pytest.raises(ValueError, match=r"^d must be"):
        simulation.run(1)
    assert simulation.timestep == 2
    disks.d, disks.sweeps_per_step = None, 4
    expected = standalone(simulation, 3, first_cycle=2 << 20)
    simulation.run(3)
    assert disks.state_hash == expected.state_hash


def test_no_disk(fluid):
    simulation, _ = make((np.zeros((0, 2)), (5.0, 5.0)))
    with pytest.raises(ValueError, match="needs at least one particle"):
        simulation.run(0)


UPDATERS = {
    "HardDisks": lambda: manymove.hoomd.HardDisksUpdater(1.0),
    "CoulombMC": lambda: manymove.hoomd.CoulombMC(1.0),
    "WasteRecyclingMC": lambda: manymove.hoomd.WasteRecyclingMC("A", 1, 1, {"B": None}, 1, 1),
}


def test_disks_on_several_ranks_are_refused(fluid, monkeypatch):
    simulation = simulation_of(fluid)
    updater = hoomd.update.CustomUpdater(1, UPDATERS["HardDisks"]())
    simulation.operations.updaters.append(updater)
    monkeypatch.setattr(hoomd.communicator.Communicator, "num_ranks", property(lambda self: 2))
    for steps in (0, 1):  # also at a step, after HOOMD-blue has heard of it
        with pytest.raises(ValueError, match=r"one MPI rank, there are 2; .*ranks_per_partition=1"):
            simulation.run(steps)


@pytest.mark.parametrize("name", ["CoulombMC", "WasteRecyclingMC"])
def test_two_dimensions_are_refused(name, fluid):
    simulation = simulation_of(fluid)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, UPDATERS[name]()))
    for steps in (0, 1):
        with pytest.raises(ValueError, match="three-dimensional box; Lz is 0"):
            simulation.run(steps)


def test_another_layout_of_the_particles_is_refused(fluid, monkeypatch):
    from manymove.hoomd import action

    class Wide(action._Array):
        def __init__(self, array):
            super().__init__(array)
            self.strides = tuple(2 * stride for stride in self.strides)

    simulation, _ = make(fluid)
    monkeypatch.setattr(action, "_Array", Wide)
    with pytest.raises(RuntimeError, match="do not lie in memory as manymove expects: position f"):
        simulation.run(0)


@pytest.mark.parametrize(("given", "cores", "used"), [(None, 8, 2), (None, 1, 1), (3, 8, 3)])
def test_the_default_of_threads_is_that_of_the_device(given, cores, used, monkeypatch):
    monkeypatch.setattr(hoomd.version, "tbb_enabled", True)
    monkeypatch.setattr(hoomd.device.CPU, "num_cpu_threads", 2)
    monkeypatch.setattr("manymove.devices.usable_cores", lambda: frozenset(range(cores)))
    simulation, disks = make((np.zeros((1, 2)), (5.0, 5.0)), threads=given)
    simulation.run(0)
    assert disks.threads == disks._engine.threads == used


def test_threads_can_be_set_until_the_simulation_runs():
    simulation = simulation_of((np.zeros((1, 2)), (5.0, 5.0)))
    disks = add_disks(simulation, threads=1)
    disks.threads = 2
    assert disks.threads == 2
    with pytest.raises(ValueError, match="threads must be positive"):
        disks.threads = 0
    simulation.run(1)
    with pytest.raises(hoomd.error.MutabilityError):
        disks.threads = 1
    assert disks.threads == 2


def test_particles_out_of_the_plane_are_refused():
    simulation = simulation_of((np.array([[-1.0, 0.0], [1.0, 0.0]]), (5.0, 5.0)))
    with simulation.state.cpu_local_snapshot as data:
        data.particles.position[data.particles.rtag[1], 2] = 0.25
    add_disks(simulation)
    with pytest.raises(ValueError, match=r"z = 0 .*the particle with tag 1 has z = 0\.25"):
        simulation.run(1)


def test_an_overlap_names_repair_depth():
    simulation = simulation_of((np.array([[0.0, 0.0], [0.5, 0.0]]), (5.0, 5.0)))
    add_disks(simulation)
    with pytest.raises(ValueError, match=r"overlap by 0\.5.* more than repair_depth = 0\.0001"):
        simulation.run(1)
