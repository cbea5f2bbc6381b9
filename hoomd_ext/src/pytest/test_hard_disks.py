"""hoomd.manymove.HardDisks, on the CPU and, where there is one, on the GPU.

Each test states physics or a contract. Statistical tests fix their seed and say how probable a
false alarm is over seeds. Where the Python package manymove is installed, trajectories are compared
with those of its engine, bit for bit.
"""

import math
import os
import pickle
from types import SimpleNamespace

import gsd.hoomd
import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.conftest import logging_check, operation_pickling_check, pickling_check
from hoomd.error import DataAccessError, MutabilityError, TypeConversionError
from hoomd.logging import Logger, LoggerCategories
from hoomd.manymove.integrator import default_threads
from hoomd.manymove.pytest.conftest import (
    SEED,
    assert_same,
    engine,
    hexagonal,
    positions_of,
    unwrapped,
)

# ---- parameters ----------------------------------------------------------------------------------


def test_parameters_before_attaching():
    mc = hoomd.manymove.HardDisks()
    assert (mc.nselect, mc.sweeps_per_step, mc.repair_depth) == (4, 4, 1e-4)
    assert mc.d["A"] == 0.1
    mc = hoomd.manymove.HardDisks(default_d=0.2, nselect=8, sweeps_per_step=16, repair_depth=1e-3)
    assert (mc.nselect, mc.sweeps_per_step, mc.repair_depth) == (8, 16, 1e-3)
    assert mc.d["A"] == 0.2
    mc.nselect, mc.sweeps_per_step, mc.repair_depth = 2, 3, 0
    mc.shape["A"] = dict(diameter=1.5)
    mc.d["A"] = 0.3
    assert (mc.nselect, mc.sweeps_per_step, mc.repair_depth) == (2, 3, 0)
    assert mc.shape["A"]["diameter"] == 1.5
    assert mc.d["A"] == 0.3


def test_parameters_after_attaching(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.5))
    simulation.run(0)
    assert mc.shape["A"]["diameter"] == 1
    assert mc.d["A"] == 0.16
    mc.nselect, mc.sweeps_per_step, mc.repair_depth = 2, 3, 1e-3
    mc.shape["A"] = dict(diameter=0.9)
    mc.d["A"] = 0.3
    assert (mc.nselect, mc.sweeps_per_step, mc.repair_depth) == (2, 3, 1e-3)
    assert mc.shape["A"]["diameter"] == 0.9
    assert mc.d["A"] == 0.3
    simulation.run(1)
    assert 2 * 3 * 64 * 0.5 < sum(mc.translate_moves) < 2 * 3 * 64


BAD = [
    ("nselect", 0),
    ("nselect", 1025),
    ("nselect", 1.5),
    ("sweeps_per_step", 2.0),
    ("sweeps_per_step", 0),
    ("repair_depth", -1e-3),
    ("repair_depth", math.nan),
]


@pytest.mark.parametrize(("name", "value"), [*BAD, ("default_d", -1), ("threads", 0)])
def test_bad_arguments_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name.removeprefix('default_')} must be"):
        hoomd.manymove.HardDisks(**{name: value})


@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize(("name", "value"), BAD)
def test_bad_parameters_are_refused_by_name(disks, attached, name, value):
    simulation, mc = disks(*hexagonal(8, 8, 0.5))
    if attached:
        simulation.run(0)
    before = getattr(mc, name)
    with pytest.raises(ValueError, match=f"{name} must be"):
        setattr(mc, name, value)
    assert getattr(mc, name) == before
    simulation.run(1)


@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("shape", dict(diameter=0.0), "A.*diameter must be positive"),
        ("shape", dict(diameter=-1.0), "A.*diameter must be positive"),
        ("shape", dict(diameter=math.inf), "A.*diameter must be positive"),
        ("shape", dict(radius=1.0), "radius"),
        ("d", -0.1, "A.*d must be finite and not negative"),
        ("d", math.nan, "A.*d must be finite and not negative"),
    ],
)
def test_bad_parameters_of_a_type_are_refused(disks, attached, parameter, value, message):
    simulation, mc = disks(*hexagonal(8, 8, 0.5))
    if attached:
        simulation.run(0)
    with pytest.raises((ValueError, KeyError), match=message):
        getattr(mc, parameter)["A"] = value
    assert (mc.shape["A"]["diameter"], mc.d["A"]) == (1, 0.16)
    simulation.run(1)


def test_a_displacement_beyond_the_cells_is_refused(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.5), d=1.5)
    with pytest.raises(ValueError, match="d must be positive and at most the cell width"):
        simulation.run(0)
    mc.d["A"] = 0.5
    simulation.run(1)


@pytest.mark.parametrize("diameter", [1.0, 0.37])
def test_max_d_is_the_largest_displacement(disks, diameter):
    positions, box = hexagonal(8, 10, 0.3)
    simulation, mc = disks(
        positions * diameter, np.array(box) * diameter, diameter=diameter, d=0.1 * diameter
    )
    with pytest.raises(DataAccessError):
        _ = mc.max_d
    simulation.run(0)
    largest = mc.max_d
    cells = np.floor(np.array(box))
    assert largest == pytest.approx(diameter * (np.array(box) / cells).min(), rel=1e-12)
    mc.d["A"] = largest
    simulation.run(1)
    mc.d["A"] = 1.01 * largest
    assert mc.max_d == largest
    with pytest.raises(ValueError, match="at most the cell width"):
        simulation.run(1)


@pytest.mark.cpu
def test_threads_can_be_set_until_the_integrator_is_attached(disks, device):
    simulation, mc = disks(*hexagonal(40, 40, 0.7))
    assert mc.threads is None
    with pytest.raises(ValueError, match="threads must be from 1 to"):
        mc.threads = 0
    mc.threads = 2
    assert mc.threads == 2
    simulation.run(1)
    with pytest.raises(MutabilityError):
        mc.threads = 1
    assert mc.threads == 2
    simulation.operations.integrator = None
    mc.threads = 1
    simulation.operations.integrator = mc
    simulation.run(1)


@pytest.mark.cpu
def test_threads_set_before_attaching_are_used(disks, device):
    at_work = {}
    for threads in (1, 3):
        simulation, mc = disks(*hexagonal(40, 40, 0.7), threads=2)
        mc.threads = threads
        before = len(os.listdir("/proc/self/task"))
        simulation.run(1)
        at_work[threads] = len(os.listdir("/proc/self/task")) - before
    assert at_work[3] - at_work[1] == 2


def test_pickling(disks, simulation_factory, snapshot_of):
    _, mc = disks(*hexagonal(8, 8, 0.5))
    pickling_check(mc)
    mc = hoomd.manymove.HardDisks(default_d=0.2, nselect=8, sweeps_per_step=2)
    mc.shape["A"] = dict(diameter=1.0)
    operation_pickling_check(mc, simulation_factory(snapshot_of(*hexagonal(8, 8, 0.5))))


@pytest.mark.parametrize("kind", ["HardDisks", "HardSpheres"])
def test_what_can_be_logged(kind):
    scalar = {"category": LoggerCategories.scalar, "default": True}
    logging_check(
        getattr(hoomd.manymove, kind),
        ("manymove", {"HardDisks": "hard_disks", "HardSpheres": "hard_spheres"}[kind]),
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


@pytest.mark.parametrize(
    "name",
    [
        "translate_moves",
        "mps",
        "overlaps",
        "pressure",
        "betaP",
        "state_hash",
        "type_shapes",
        "counters",
        "repaired",
    ],
)
def test_results_need_a_run(disks, name):
    simulation, mc = disks(*hexagonal(8, 8, 0.5))
    with pytest.raises(DataAccessError):
        getattr(mc, name)
    simulation.run(0)
    getattr(mc, name)


def test_version_and_build_are_known():
    assert hoomd.manymove.built_for == hoomd.version.version
    assert hoomd.manymove.version


# ---- counters and logs ---------------------------------------------------------------------------


def test_moves_are_counted_from_the_start_of_the_run(disks):
    simulation, mc = disks(*hexagonal(16, 16, 0.6))
    simulation.run(0)
    assert tuple(mc.translate_moves) == (0, 0)
    simulation.run(10)
    ten = mc.translate_moves
    accepted, rejected = ten
    assert 0 < accepted
    assert 0 < rejected
    # A sweep visits each cell with disks once; at this density most have one.
    assert 0.5 < (accepted + rejected) / (10 * mc.sweeps_per_step * mc.nselect * 256) < 1
    assert tuple(mc.counters.translate) == tuple(ten)
    assert (mc.counters.rotate, mc.counters.overlap_errors) == ((0, 0), 0)
    with pytest.raises(AttributeError, match="does not count overlap checks"):
        _ = mc.counters.overlap_checks
    assert mc.mps > 0
    simulation.run(1)
    assert 0.05 < sum(mc.translate_moves) / sum(ten) < 0.15


def test_counts_of_a_run_survive_a_change_of_positions(disks):
    simulation, mc = disks(*hexagonal(16, 16, 0.5), d=1e-3)
    resize = hoomd.update.BoxResize(
        trigger=hoomd.trigger.Periodic(2),
        box=hoomd.variant.box.Interpolate(
            simulation.state.box,
            1.02 * np.array([*simulation.state.box.L[:2], 0]),
            hoomd.variant.Ramp(0, 1, 0, 10),
        ),
    )
    simulation.operations.updaters.append(resize)
    simulation.run(10)
    assert sum(mc.translate_moves) > 0.5 * 10 * mc.sweeps_per_step * mc.nselect * 256


def test_a_logger_takes_everything(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.5))
    logger = Logger()
    logger.add(mc)
    simulation.run(2)
    logged = logger.log()["manymove"]["hard_disks"]["HardDisks"]
    assert logged["state_hash"] == (mc.state_hash, "string")
    assert logged["pressure"] == (mc.pressure, "scalar")
    assert logged["overlaps"] == (0, "scalar")
    assert tuple(logged["translate_moves"][0]) == tuple(mc.translate_moves)


def test_hdf5_and_gsd_take_the_log(disks, tmp_path):
    h5py = pytest.importorskip("h5py")
    simulation, mc = disks(*hexagonal(8, 8, 0.5))
    names = ["pressure", "betaP", "translate_moves", "overlaps"]
    numbers = Logger(categories=["scalar", "sequence"])
    numbers.add(mc, quantities=names)
    hdf5 = hoomd.write.HDF5Log(2, tmp_path / "log.h5", numbers, mode="w")
    frames = hoomd.write.GSD(2, str(tmp_path / "frames.gsd"), mode="wb", logger=numbers)
    simulation.operations.writers.extend([hdf5, frames])
    simulation.run(6)
    hdf5.flush()
    frames.flush()
    at = "manymove/hard_disks/HardDisks/"
    with h5py.File(tmp_path / "log.h5", "r") as file:
        pressures = file[f"hoomd-data/{at}pressure"][:]
        moves = file[f"hoomd-data/{at}translate_moves"][:]
    assert len(pressures) == 3
    assert (np.diff(moves.sum(axis=1)) > 0).all()
    with gsd.hoomd.open(str(tmp_path / "frames.gsd"), "r") as file:
        assert [frame.log[f"{at}pressure"][0] for frame in file] == list(pressures)


# ---- the trajectory ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "packing_fraction", "nselect", "sweeps_per_step", "steps"),
    [
        ((4, 4), 0.5, 4, 4, 30),
        ((8, 8), 0.6, 1, 1, 30),
        ((10, 12), 0.6, 3, 2, 20),
        ((16, 16), 0.7, 4, 6, 10),
        ((30, 32), 0.7, 8, 5, 5),
        ((64, 64), 0.698, 4, 16, 3),
    ],
)
def test_the_trajectory_is_that_of_the_package(
    disks, size, packing_fraction, nselect, sweeps_per_step, steps
):
    positions, box = hexagonal(*size, packing_fraction)
    simulation, mc = disks(positions, box, nselect=nselect, sweeps_per_step=sweeps_per_step)
    simulation.run(steps)
    ours, cycles_per_step = engine(positions, box, mc)
    ours.run_cycles(steps * cycles_per_step)
    assert mc.state_hash == ours.state_hash
    assert tuple(mc.translate_moves) == (
        ours.accepted_moves,
        ours.trial_moves - ours.accepted_moves,
    )
    assert_same(positions_of(simulation), ours.positions)


@pytest.mark.parametrize(
    ("size", "nselect", "sweeps_per_step", "state_hash"),
    [
        ((8, 8), 4, 4, "653b2b05e1e2192c"),
        ((24, 20), 2, 3, "eb63d5a3a99a66a8"),
        ((60, 64), 4, 16, "b8d0fec6d973debc"),
    ],
)
def test_every_device_makes_the_recorded_trajectory(
    disks, size, nselect, sweeps_per_step, state_hash
):
    simulation, mc = disks(*hexagonal(*size, 0.7), nselect=nselect, sweeps_per_step=sweeps_per_step)
    simulation.run(20)
    assert mc.state_hash == state_hash


@pytest.mark.parametrize(
    ("tbb", "threads", "partitions", "expected"),
    [(True, 2, 1, 2), (True, 64, 1, 3), (False, 1, 1, 3), (True, 2, 2, 1)],
)
def test_the_default_is_the_number_of_threads_of_the_device(
    tbb, threads, partitions, expected, monkeypatch
):
    monkeypatch.setattr(hoomd.version, "tbb_enabled", tbb)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    communicator = SimpleNamespace(num_partitions=partitions, num_ranks=1)
    device = SimpleNamespace(communicator=communicator, num_cpu_threads=threads)
    assert default_threads(device) == expected


def test_flags_of_hpmc_are_false(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.3))
    mc.shape["A"] = dict(diameter=1.0, orientable=False, ignore_statistics=False)
    for name, reason in (("orientable", "no orientation"), ("ignore_statistics", "all types")):
        for _ in range(2):
            with pytest.raises(
                TypeConversionError, match=f"{name} must be False, got True: .*{reason}"
            ):
                mc.shape["A"] = {"diameter": 1.0, name: True}
            simulation.run(0)
    assert mc.shape["A"] == dict(diameter=1.0, orientable=False, ignore_statistics=False)


@pytest.mark.cpu
def test_threads_do_not_change_the_trajectory(disks, device):
    hashes = set()
    for threads in (1, 2, 3):
        simulation, mc = disks(*hexagonal(40, 40, 0.7), threads=threads)
        simulation.run(10)
        hashes.add(mc.state_hash)
    assert len(hashes) == 1


def test_two_runs_end_where_one_ends(disks):
    start = hexagonal(16, 16, 0.7)
    whole, mc = disks(*start)
    whole.run(10)
    halves, other = disks(*start)
    halves.run(5)
    for name in ("pressure", "overlaps", "mps", "translate_moves", "state_hash"):
        getattr(other, name)  # looking changes nothing
    positions_of(halves)
    halves.run(0)
    halves.run(5)
    assert mc.state_hash == other.state_hash
    np.testing.assert_array_equal(unwrapped(whole), unwrapped(halves))


def test_looking_after_a_change_changes_nothing(disks):
    start = hexagonal(16, 16, 0.6)
    hashes = []
    for look in (False, True):
        simulation, mc = disks(*start, sweeps_per_step=16)
        simulation.run(4)
        mc.sweeps_per_step = 8
        if look:
            assert mc.pressure > 0
        mc.d["A"] = mc.d["A"]  # as it was: the engine continues
        simulation.run(4)
        hashes.append(mc.state_hash)
    assert hashes[0] == hashes[1]


def test_a_parameter_set_to_what_it_is_changes_nothing(disks):
    start = hexagonal(16, 16, 0.6)
    whole, mc = disks(*start)
    whole.run(6)
    again, other = disks(*start)
    again.run(3)
    other.nselect, other.d["A"], other.repair_depth = other.nselect, 0.16, other.repair_depth
    other.shape["A"] = dict(diameter=1.0)
    again.run(3)
    assert mc.state_hash == other.state_hash


def test_overlaps_of_a_tilted_box_are_refused(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.3))
    simulation.run(1)
    simulation.state.set_box(hoomd.Box(*simulation.state.box.L[:2], 0, 0.1))
    with pytest.raises(ValueError, match="rectangular"):
        _ = mc.overlaps


def test_a_tuner_can_be_pickled():
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(100, ["d"], 0.3)
    assert pickle.loads(pickle.dumps(tuner)).target == tuner.target == 0.3


def test_another_seed_gives_another_trajectory(disks):
    start = hexagonal(8, 8, 0.5)
    first, mc = disks(*start)
    second, other = disks(*start)
    second.seed = SEED + 1
    first.run(2)
    second.run(2)
    assert mc.state_hash != other.state_hash


def test_the_seed_may_be_changed_between_runs(disks):
    positions, box = hexagonal(8, 8, 0.5)
    simulation, mc = disks(positions, box)
    simulation.run(3)
    before = positions_of(simulation)
    simulation.seed = SEED + 1
    simulation.run(3)
    ours, cycles_per_step = engine(before, box, mc, seed=SEED + 1, first_cycle=3 << 20)
    ours.run_cycles(3 * cycles_per_step)
    assert_same(positions_of(simulation), ours.positions)


def test_types_of_one_size_are_one(disks):
    positions, box = hexagonal(16, 16, 0.6)
    one, mc = disks(positions, box)
    two, other = disks(positions, box, types="AB")
    one.run(5)
    two.run(5)
    assert mc.state_hash == other.state_hash


def test_parameters_changed_between_runs_hold_from_then_on(disks):
    """And no random number is used twice: the count of cycles continues."""
    positions, box = hexagonal(16, 16, 0.6)
    simulation, mc = disks(positions, box, sweeps_per_step=16)
    simulation.run(5)  # 20 cycles
    before = positions_of(simulation)
    mc.sweeps_per_step, mc.nselect, mc.d["A"] = 4, 2, 0.3
    simulation.run(10)
    ours, _ = engine(before, box, mc, first_cycle=5 << 20)
    ours.run_cycles(10)
    assert_same(positions_of(simulation), ours.positions)


def test_a_resumed_simulation_goes_on_with_the_random_numbers_of_its_time_step(disks, device):
    """Not with those of its first steps: they would repeat the moves just made."""
    positions, box = hexagonal(8, 8, 0.5)
    simulation, mc = disks(positions, box, sweeps_per_step=8)
    simulation.run(3)
    before = positions_of(simulation)
    resumed = hoomd.Simulation(device, seed=SEED)
    resumed.timestep = 3
    resumed.create_state_from_snapshot(simulation.state.get_snapshot())
    resumed.operations.integrator = hoomd.manymove.HardDisks(default_d=0.16, sweeps_per_step=8)
    resumed.operations.integrator.shape["A"] = dict(diameter=1.0)
    resumed.run(4)
    ours, cycles_per_step = engine(before, box, mc, first_cycle=3 << 20)
    ours.run_cycles(4 * cycles_per_step)
    assert resumed.operations.integrator.state_hash == ours.state_hash
