"""`manymove.hoomd`: engines on the particles of HOOMD-blue simulations, in Python only. What they
have in common with the component is tested in test_hard_spheres.py."""

from __future__ import annotations

import gc
import io
import pickle
import weakref

import numpy as np
import pytest
from hard_disks import compressibility_factor, lattice

from manymove.analysis import estimate
from manymove.hard_particles import OverlapError, hexagonal_packing, random_packing

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_disks import add_disks, make, standalone  # noqa: E402
from hoomd_spheres import edges_of, positions_of, simulation_of  # noqa: E402

# ---- the trajectory ----------------------------------------------------------------------------


def test_runs_add_up(hoomd_device, fluid):
    whole, disks = make(fluid, hoomd_device)
    split, others = make(fluid, hoomd_device)
    whole.run(10)
    for steps in (5, 0, 5):
        split.run(steps)
    assert disks.state_hash == others.state_hash
    assert np.array_equal(positions_of(whole), positions_of(split))


def test_a_trigger_chooses_the_steps(fluid):
    simulation, disks = make(fluid, trigger=hoomd.trigger.Periodic(5))
    expected = standalone(simulation, 4)
    simulation.run(20)
    assert disks.state_hash == expected.state_hash


def test_nothing_but_positions_and_images_is_written(hoomd_device, fluid):
    simulation, _ = make(fluid, hoomd_device)
    before = simulation.state.get_snapshot().particles
    simulation.run(3)
    after = simulation.state.get_snapshot().particles
    assert not np.array_equal(before.position, after.position)
    assert (after.position[:, 2] == 0).all()
    assert np.array_equal(before.image[:, 2], after.image[:, 2])
    for name in ("typeid", "velocity", "mass", "charge", "diameter", "body", "orientation"):
        assert np.array_equal(getattr(before, name), getattr(after, name))


def test_one_disk(hoomd_device):
    simulation, disks = make((np.zeros((1, 2)), (3.0, 3.0)), hoomd_device)
    expected = standalone(simulation, 10)
    simulation.run(10)
    assert disks.state_hash == expected.state_hash


# ---- what others do to the state -----------------------------------------------------------------


def test_a_state_that_is_set_as_it_was_changes_nothing(hoomd_device, fluid):
    simulation, disks = make(fluid, hoomd_device)
    expected = standalone(simulation, 10)
    simulation.run(5)
    simulation.state.set_snapshot(simulation.state.get_snapshot())
    simulation.run(5)
    assert disks.state_hash == expected.state_hash


def test_disks_that_were_moved_between_runs_are_noticed(hoomd_device, fluid):
    simulation, disks = make(fluid, hoomd_device, sweeps_per_step=8)
    simulation.run(5)
    snapshot = simulation.state.get_snapshot()
    snapshot.particles.position[:, 0] *= -1
    simulation.state.set_snapshot(snapshot)
    expected = standalone(simulation, 10, first_cycle=5 << 20)
    simulation.run(5)
    assert disks.state_hash == expected.state_hash


def test_disks_that_another_updater_moves_are_noticed(hoomd_device, fluid):
    class Mirror(hoomd.custom.Action):
        def act(self, timestep):
            with self._state.cpu_local_snapshot as snapshot:
                snapshot.particles.position[:, 0] *= -1

    simulation = simulation_of(fluid, "AB", hoomd_device)
    mirror = hoomd.update.CustomUpdater(hoomd.trigger.On(5), Mirror())
    simulation.operations.updaters.append(mirror)
    disks = add_disks(simulation)
    simulation.run(5)
    at_five = simulation_of((positions_of(simulation) * (-1, 1), edges_of(simulation)), "AB")
    expected = standalone(at_five, 5, first_cycle=5 << 20)
    simulation.run(5)
    assert disks.state_hash == expected.state_hash
    assert sum(disks.translate_moves) == expected.trial_moves


def test_a_box_that_grows_is_respected(hoomd_device, fluid):
    box = fluid[1]
    simulation = simulation_of(fluid, "AB", hoomd_device)
    grown = hoomd.variant.box.Interpolate(
        hoomd.Box(*box),
        hoomd.Box(1.2 * box[0], 1.3 * box[1]),
        hoomd.variant.Ramp(0, 1, 0, 8),
    )
    simulation.operations.updaters.append(hoomd.update.BoxResize(trigger=1, box=grown))
    disks = add_disks(simulation)
    moves = 0
    for _ in range(8):
        simulation.run(1)
        moves += sum(disks.translate_moves)
        assert disks.overlaps == 0
    # from step 8 on the box stays
    simulation.run(1)
    assert edges_of(simulation) == pytest.approx((1.2 * box[0], 1.3 * box[1]))
    expected = standalone(simulation, 5, first_cycle=9 << 20)
    positions = positions_of(simulation)
    assert (np.abs(positions) <= np.array(edges_of(simulation)) / 2).all()
    assert np.ptp(positions, axis=0) == pytest.approx(edges_of(simulation), rel=0.05)
    disks.repair_depth = 1e-5  # another engine, from these positions
    simulation.run(5)
    assert disks.state_hash == expected.state_hash
    assert moves > 8 * 400


@pytest.mark.parametrize(
    ("setting", "value", "alone"),
    [
        ("d", 0.3, {"max_displacement": 0.3}),
        ("nselect", 2, {"moves_per_cell": 2}),
        ("sweeps_per_step", 3, {"rounds": 3}),
        ("tile", 6, {"tile": 6}),
        ("diameter", 0.9, {"diameter": 0.9, "max_displacement": 0.16 * 0.9}),
    ],
)
def test_settings_can_be_changed_between_runs(fluid, setting, value, alone):
    simulation, disks = make(fluid)
    simulation.run(5)
    (updater,) = simulation.operations.updaters
    setattr(updater, setting, value)
    assert getattr(disks, setting) == value
    expected = standalone(simulation, 5, first_cycle=5 << 20, **alone)
    simulation.run(5)
    assert disks.state_hash == expected.state_hash


def test_random_numbers_are_not_used_twice(fluid):
    """Fewer sweeps per step do not lead back to cycles that have been."""
    simulation, disks = make(fluid, sweeps_per_step=16)
    simulation.run(5)
    disks.sweeps_per_step = 3
    expected = standalone(simulation, 5, first_cycle=5 << 20, rounds=3)
    simulation.run(5)
    assert disks.state_hash == expected.state_hash


def test_an_action_belongs_to_one_simulation_and_its_copies_to_none(fluid):
    simulation, disks = make(fluid, sweeps_per_step=8)
    simulation.run(2)
    copy = pickle.loads(pickle.dumps(disks))
    assert copy.sweeps_per_step == 8
    other = simulation_of(fluid, "AB")
    other.operations.updaters.append(hoomd.update.CustomUpdater(1, disks))
    with pytest.raises(RuntimeError, match="make another one"):
        other.run(1)
    before = disks.state_hash
    simulation.run(1)
    assert disks.state_hash != before


def test_the_seed_is_that_of_the_simulation(fluid, tmp_path):
    hashes = []
    for seed in (0, 1, None):
        simulation = simulation_of(fluid, "AB", seed=seed)
        simulation.device.message_filename = str(tmp_path / f"{seed}")
        disks = add_disks(simulation)
        simulation.run(5)
        hashes.append(disks.state_hash)
    assert hashes[0] == hashes[2] != hashes[1]
    assert "Simulation.seed is not set, 0 is used" in (tmp_path / "None").read_text()
    assert "seed" not in (tmp_path / "1").read_text()


def test_a_seed_set_between_runs_is_noticed(fluid):
    simulation, disks = make(fluid)
    simulation.run(5)
    simulation.seed = 2
    expected = standalone(simulation, 5, first_cycle=5 << 20, seed=2)
    simulation.run(5)
    assert disks.state_hash == expected.state_hash


def test_a_restart_from_gsd_mends_overlaps_by_rounding(hoomd_device, tmp_path):
    """GSD keeps positions in float32: some of these disks, near contact, overlap in the file."""
    simulation, _ = make(hexagonal_packing(4096, 0.9), hoomd_device, d=0.004)
    simulation.run(20)
    path = str(tmp_path / "restart.gsd")
    hoomd.write.GSD.write(simulation.state, path)
    again = hoomd.Simulation(hoomd_device, seed=1)
    again.create_state_from_gsd(path)
    disks = add_disks(again, d=0.004, repair_depth=0)
    with pytest.raises(OverlapError, match="overlap"):
        again.run(0)
    again = hoomd.Simulation(hoomd_device, seed=1)
    again.create_state_from_gsd(path)
    assert again.timestep == 20
    disks = add_disks(again, d=0.004)
    expected = standalone(again, 5, max_displacement=0.004, first_cycle=20 << 20)
    again.run(5)
    assert disks.repaired == expected.repaired
    assert disks.repaired["count"] > 0 and 0 < disks.repaired["depth"] < 1e-5
    assert disks.overlaps == 0
    assert disks.state_hash == expected.state_hash


# ---- life of the engine --------------------------------------------------------------------------


def test_the_engine_goes_with_its_simulation(hoomd_device, fluid):
    simulation, disks = make(fluid, hoomd_device)
    simulation.run(1)
    engine = weakref.ref(disks._engine)
    del simulation
    gc.collect()
    assert engine() is None
    with pytest.raises(hoomd.error.DataAccessError):
        _ = disks.pressure


def test_disks_can_be_taken_out_and_put_back(fluid):
    simulation, disks = make(fluid)
    simulation.run(5)
    (updater,) = simulation.operations.updaters
    simulation.operations.updaters.remove(updater)
    simulation.run(5)
    simulation.operations.updaters.append(updater)
    expected = standalone(simulation, 5, first_cycle=10 << 20)
    simulation.run(5)
    assert disks.state_hash == expected.state_hash


# ---- loggable quantities -------------------------------------------------------------------------


def test_quantities_are_of_the_present_state(fluid):
    """Regardless of what made it, and without a step in between."""
    simulation, disks = make(fluid)
    simulation.run(5)
    before = disks.pressure
    snapshot = simulation.state.get_snapshot()
    snapshot.configuration.box = [30, 30, 0, 0, 0, 0]
    snapshot.particles.position[:, :2] = lattice(20, 20, (30.0, 30.0))
    simulation.state.set_snapshot(snapshot)
    assert disks.pressure == pytest.approx(400 / 900)  # an ideal gas: no pair near contact
    assert before > 2
    snapshot.particles.position[1, :2] = snapshot.particles.position[0, :2] + 0.1
    simulation.state.set_snapshot(snapshot)
    assert disks.overlaps == 1
    with pytest.raises(OverlapError, match="disks 0 and 1 overlap"):
        _ = disks.pressure
    assert sum(disks.translate_moves) > 0


def test_logs_hold_what_the_properties_say(fluid, tmp_path):
    h5py = pytest.importorskip("h5py")
    import gsd.hoomd

    simulation, disks = make(fluid)
    logger = hoomd.logging.Logger(categories=["scalar", "string", "sequence"])
    logger.add(disks)
    numbers = hoomd.logging.Logger(categories=["scalar", "sequence"])
    numbers.add(disks, quantities=["pressure", "translate_moves", "overlaps"])
    text = hoomd.logging.Logger(categories=["scalar", "string"])
    text.add(disks, quantities=["pressure", "state_hash"])
    table = io.StringIO()
    frames, rows = str(tmp_path / "log.gsd"), str(tmp_path / "log.h5")
    writers = [
        hoomd.write.Table(hoomd.trigger.Periodic(5), text, output=table),
        hoomd.write.GSD(hoomd.trigger.Periodic(5), frames, mode="wb", logger=logger),
        hoomd.write.HDF5Log(hoomd.trigger.Periodic(5), rows, numbers, mode="w"),
    ]
    simulation.operations.writers.extend(writers)
    simulation.run(10, write_at_start=True)
    last = {name: getattr(disks, name) for name in disks.loggables if name != "mps"}
    for writer in writers[1:]:
        writer.flush()
    assert table.getvalue().split()[-1] == last["state_hash"]
    assert float(table.getvalue().split()[-2]) == pytest.approx(last["pressure"], rel=1e-4)
    with gsd.hoomd.open(frames) as file:
        assert len(file) == 3
        log = {key.rpartition("/")[2]: value for key, value in file[-1].log.items()}
        assert {"manymove/hoomd/HardDisksUpdater/pressure"} < set(file[-1].log)
    assert log["pressure"] == last["pressure"]
    assert log["mps"] > 0
    assert tuple(log["translate_moves"]) == tuple(last["translate_moves"])
    simulation.operations.writers.clear()
    with h5py.File(rows) as file:
        series = file["hoomd-data/manymove/hoomd/HardDisksUpdater"]
        assert series["pressure"].shape == (3,)
        assert series["pressure"][-1] == last["pressure"]
        assert tuple(series["translate_moves"][-1]) == tuple(last["translate_moves"])
        assert not series["overlaps"][:].any()


def test_the_pressure_of_a_dilute_fluid(hoomd_device):
    """Against the virial series (hard_particles/test_pressure.py), within five standard errors and
    a thousandth of Z - 1 for finite size: a false alarm of about 1e-6."""
    packing_fraction = 0.2
    start = random_packing(4096, packing_fraction, seed=1)
    simulation, disks = make(start, hoomd_device, d=0.7)
    simulation.run(100)
    series = []
    for _ in range(1000):
        simulation.run(1)
        series.append(disks.pressure)
    density = 4 * packing_fraction / np.pi  # N d^2 / V
    result = estimate(np.array(series) / density)
    exact = compressibility_factor(packing_fraction)
    assert result.error < 0.007 * exact
    assert abs(result.value - exact) < 5 * result.error + 1e-3 * (exact - 1)
