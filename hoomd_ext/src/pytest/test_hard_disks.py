"""hoomd.manymove.HardDisks, on the CPU and, where there is one, on the GPU.

Each test states physics or a contract. Statistical tests fix their seed and say how probable a
false alarm is over seeds. Where the Python package manymove is installed, trajectories are compared
with those of its engine, bit for bit.
"""

import math
import pickle
import re

import gsd.hoomd
import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.conftest import logging_check, operation_pickling_check, pickling_check
from hoomd.error import DataAccessError, IncompleteSpecificationError, TypeConversionError
from hoomd.logging import Logger, LoggerCategories

try:
    import hoomd.hpmc as hpmc
except ImportError:
    hpmc = None

SEED = 22765  # of the factory's simulations


# ---- systems -------------------------------------------------------------------------------------


def hexagonal(columns, rows, packing_fraction):
    """Sites of a hexagonal lattice, (columns * rows, 2), and the box; rows must be even."""
    spacing = math.sqrt(math.pi / (2 * math.sqrt(3) * packing_fraction))
    box = (columns * spacing, rows * spacing * math.sqrt(0.75))
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(columns), np.arange(rows)))
    fractions = np.column_stack(((i + 0.5 * (j % 2) + 0.25) / columns, (j + 0.5) / rows))
    return (fractions - 0.5) * box, box


@pytest.fixture
def snapshot_of(device):
    """Make a 2D snapshot of disks."""

    def make(positions, box, types=("A",), typeid=0):
        if device.communicator.num_ranks > 1:
            pytest.skip("the system is written for one rank")
        snapshot = hoomd.Snapshot(device.communicator)
        snapshot.configuration.box = [box[0], box[1], 0, 0, 0, 0]
        snapshot.particles.N = len(positions)
        snapshot.particles.types = list(types)
        snapshot.particles.typeid[:] = typeid
        snapshot.particles.position[:, :2] = positions
        return snapshot

    return make


@pytest.fixture
def disks(simulation_factory, snapshot_of):
    """Make a simulation of disks of diameter 1 and its integrator."""

    def make(positions, box, types=("A",), typeid=0, diameter=1.0, d=0.16, **settings):
        simulation = simulation_factory(snapshot_of(positions, box, types, typeid))
        mc = hoomd.manymove.HardDisks(default_d=d, **settings)
        for name in types:
            mc.shape[name] = dict(diameter=diameter)
        simulation.operations.integrator = mc
        return simulation, mc

    return make


def positions_of(simulation):
    return simulation.state.get_snapshot().particles.position[:, :2].copy()


def unwrapped(simulation):
    snapshot = simulation.state.get_snapshot()
    box = np.array(snapshot.configuration.box[:2])
    return snapshot.particles.position[:, :2] + snapshot.particles.image[:, :2] * box


def assert_same(positions, others):
    """Snapshots of HOOMD-blue 4 are rounded once more."""
    np.testing.assert_allclose(positions, others, rtol=0, atol=1e-11)


def nearest_image(vectors, box):
    return vectors - np.rint(vectors / box) * box


def closest_distance(positions, box):
    """By brute force."""
    i, j = np.triu_indices(len(positions), 1)
    return np.sqrt((nearest_image(positions[i] - positions[j], np.array(box)) ** 2).sum(1).min())


def engine(positions, box, mc, seed=SEED, **settings):
    """The engine of the package manymove with the parameters of an integrator."""
    manymove = pytest.importorskip("manymove")
    rounds = max(k for k in (1, 2, 3, 4) if mc.sweeps_per_step % k == 0)
    made = manymove.HardDisks(
        np.ascontiguousarray(positions, dtype=np.float64),
        box,
        mc.shape["A"]["diameter"],
        max_displacement=mc.d["A"],
        moves_per_cell=mc.nselect,
        rounds=rounds,
        seed=seed,
        device="cpu",
        **settings,
    )
    return made, mc.sweeps_per_step // rounds


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
    ("sweeps_per_step", 0),
    ("repair_depth", -1e-3),
    ("repair_depth", math.nan),
]


@pytest.mark.parametrize(("name", "value"), [*BAD, ("default_d", 0), ("threads", 0)])
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


@pytest.mark.parametrize("name", ["nselect", "sweeps_per_step", "repair_depth"])
def test_words_are_no_numbers(name):
    with pytest.raises(TypeConversionError, match="many"):
        setattr(hoomd.manymove.HardDisks(), name, "many")


@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("shape", dict(diameter=0.0), "A.*diameter must be positive"),
        ("shape", dict(diameter=-1.0), "A.*diameter must be positive"),
        ("shape", dict(diameter=math.inf), "A.*diameter must be positive"),
        ("shape", dict(radius=1.0), "radius"),
        ("d", 0.0, "A.*d must be positive"),
        ("d", -0.1, "A.*d must be positive"),
        ("d", math.nan, "A.*d must be positive"),
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


def test_pickling(disks, simulation_factory, snapshot_of):
    _, mc = disks(*hexagonal(8, 8, 0.5))
    pickling_check(mc)
    mc = hoomd.manymove.HardDisks(default_d=0.2, nselect=8, sweeps_per_step=2)
    mc.shape["A"] = dict(diameter=1.0)
    operation_pickling_check(mc, simulation_factory(snapshot_of(*hexagonal(8, 8, 0.5))))


def test_what_can_be_logged():
    scalar = {"category": LoggerCategories.scalar, "default": True}
    logging_check(
        hoomd.manymove.HardDisks,
        ("manymove", "hard_disks"),
        {
            "translate_moves": {"category": LoggerCategories.sequence, "default": True},
            "mps": scalar,
            "overlaps": scalar,
            "pressure": scalar,
            "betaP": scalar,
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
        mc.d["A"] = mc.d["A"]  # as it was: the engine goes on
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
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(100, 0.3, 0.5)
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
    two, other = disks(positions, box, types=("A", "B"), typeid=np.arange(256) % 2)
    one.run(5)
    two.run(5)
    assert mc.state_hash == other.state_hash


def test_parameters_changed_between_runs_hold_from_then_on(disks):
    """And no random number is used twice: the count of cycles goes on."""
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


# ---- HOOMD-blue's particles ----------------------------------------------------------------------


def test_images_follow_the_disks_through_the_boundary(disks):
    """A disk goes 0.5 diameters at most in a step here, less than half the box."""
    positions, box = hexagonal(4, 4, 0.3)
    simulation, _ = disks(positions, box, d=0.5, nselect=1, sweeps_per_step=1)
    snapshot = simulation.state.get_snapshot()
    snapshot.particles.image[:] = [[3, -2, 0]]
    simulation.state.set_snapshot(snapshot)
    path = positions + np.array([3, -2]) * box
    for _ in range(300):
        simulation.run(1)
        path += nearest_image(positions_of(simulation) - path, np.array(box))
    assert np.abs(path - positions).max() > 4 * max(box) / 2
    np.testing.assert_allclose(unwrapped(simulation), path, rtol=0, atol=1e-10)


def test_images_are_certain_however_long_a_step_is(disks):
    """One step of many sweeps leaves the same images as many of few."""
    start = hexagonal(4, 4, 0.3)
    settings = dict(d=0.9, nselect=16)
    long, mc = disks(*start, sweeps_per_step=400, **settings)
    long.run(1)
    short, other = disks(*start, sweeps_per_step=4, **settings)
    short.run(100)
    assert mc.state_hash == other.state_hash
    np.testing.assert_array_equal(unwrapped(long), unwrapped(short))


def test_disks_stay_in_the_box_and_nothing_else_changes(disks):
    positions, box = hexagonal(16, 16, 0.5)
    simulation, _ = disks(positions, box)
    snapshot = simulation.state.get_snapshot()
    rng = np.random.default_rng(1)
    for name in ("charge", "mass", "diameter"):
        getattr(snapshot.particles, name)[:] = 1 + rng.random(256)
    snapshot.particles.body[:] = np.arange(256)
    simulation.state.set_snapshot(snapshot)

    def by_tag(name):
        with simulation.state.cpu_local_snapshot as data:
            return np.array(getattr(data.particles, name))[np.array(data.particles.rtag)]

    names = ("charge", "mass", "diameter", "body", "typeid", "orientation", "velocity")
    before = {name: by_tag(name) for name in (*names, "position", "image")}
    simulation.run(10)
    for name in names:
        np.testing.assert_array_equal(by_tag(name), before[name])
    for name in ("position", "image"):
        np.testing.assert_array_equal(by_tag(name)[:, 2:], before[name][:, 2:])
    assert (np.abs(by_tag("position")[:, :2]) <= np.array(box) / 2).all()
    assert (by_tag("position")[:, :2] != before["position"][:, :2]).any(axis=1).all()
    assert simulation.state.box == hoomd.Box(*box)


def test_the_particle_sorter_changes_nothing(disks):
    start = hexagonal(20, 20, 0.6)
    plain, mc = disks(*start)
    plain.operations.tuners.clear()
    plain.run(20)
    sorted_, other = disks(*start)
    (sorter,) = sorted_.operations.tuners
    sorter.trigger = hoomd.trigger.Periodic(1)
    sorted_.run(20)
    with sorted_.state.cpu_local_snapshot as data:
        assert (np.array(data.particles.tag) != np.arange(400)).any()
    assert mc.state_hash == other.state_hash
    np.testing.assert_array_equal(unwrapped(plain), unwrapped(sorted_))


def test_positions_set_by_a_snapshot_are_taken_over(disks):
    positions, box = hexagonal(8, 8, 0.4)
    simulation, _ = disks(positions, box, d=1e-4)
    simulation.run(5)
    snapshot = simulation.state.get_snapshot()
    snapshot.particles.position[:, :2] = positions[::-1]
    snapshot.particles.image[:] = 0
    simulation.state.set_snapshot(snapshot)
    simulation.run(5)
    moved = np.abs(unwrapped(simulation) - positions[::-1])
    assert 0 < moved.max() < 5 * 4 * 4 * 1e-4


def test_a_snapshot_with_more_disks_is_taken_over(disks):
    positions, box = hexagonal(8, 8, 0.3)
    simulation, mc = disks(positions[:40], box)
    simulation.run(5)
    snapshot = simulation.state.get_snapshot()
    snapshot.particles.N = 64
    snapshot.particles.position[:, :2] = positions
    simulation.state.set_snapshot(snapshot)
    simulation.run(5)
    assert simulation.state.N_particles == 64
    assert mc.overlaps == 0
    assert sum(mc.translate_moves) > 0.5 * 5 * 16 * 64
    simulation.state.replicate(2, 3, 1)
    simulation.run(5)
    assert simulation.state.N_particles == 6 * 64
    assert mc.overlaps == 0


class Shift(hoomd.custom.Action):
    """Moves all disks along x."""

    def act(self, timestep):
        with self._state.cpu_local_snapshot as data:
            data.particles.position[:, 0] += 0.01


def test_positions_set_by_an_updater_are_taken_over(disks):
    positions, box = hexagonal(8, 8, 0.4)
    simulation, mc = disks(positions - (0.2, 0), box, d=1e-4)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(5, Shift()))
    simulation.run(20)
    moved = unwrapped(simulation) - (positions - (0.2, 0))
    assert np.abs(moved - (0.04, 0)).max() < 20 * 4 * 4 * 1e-4
    assert mc.overlaps == 0


def test_the_box_may_be_resized(disks):
    positions, box = hexagonal(8, 8, 0.4)
    simulation, mc = disks(positions, box, d=1e-4)
    final = hoomd.Box(0.9 * box[0], 1.1 * box[1])
    simulation.operations.updaters.append(
        hoomd.update.BoxResize(
            trigger=hoomd.trigger.Periodic(3),
            box=hoomd.variant.box.Interpolate(
                simulation.state.box, final, hoomd.variant.Ramp(0, 1, 0, 10)
            ),
        )
    )
    simulation.run(20)
    assert simulation.state.box == final
    np.testing.assert_allclose(
        unwrapped(simulation), positions * (0.9, 1.1), rtol=0, atol=20 * 4 * 4 * 1e-4 * 1.1
    )
    assert mc.overlaps == 0
    density = 64 / (0.99 * box[0] * box[1])
    assert mc.pressure == pytest.approx(density, rel=1e-9)  # no pair is near contact


@pytest.mark.parametrize("repair_depth", [1e-4, 0.01])
def test_a_fluid_is_compressed(disks, repair_depth):
    """By shrinking the box as far as the closest pair allows, or a little farther with overlaps to
    be repaired, as hoomd.hpmc.update.QuickCompress does it."""
    positions, box = hexagonal(10, 10, 0.5)
    simulation, mc = disks(positions, box, d=0.2, repair_depth=repair_depth)
    simulation.run(20)
    target = box[0] * math.sqrt(0.5 / 0.6)
    for _ in range(300):
        snapshot = simulation.state.get_snapshot()
        L = np.array(snapshot.configuration.box[:2])
        closest = closest_distance(snapshot.particles.position[:, :2], L)
        scale = max(target / L[0], (1 - 0.5 * repair_depth) / closest)
        simulation.state.set_box(hoomd.Box(*(scale * L)))
        scaled = simulation.state.get_snapshot()
        scaled.particles.position[:] = snapshot.particles.position * scale
        simulation.state.set_snapshot(scaled)
        simulation.run(2)
        if scale == target / L[0]:
            break
    assert simulation.state.box.Lx == pytest.approx(target, rel=1e-12)
    assert mc.overlaps == 0
    assert closest_distance(positions_of(simulation), simulation.state.box.L[:2]) > 1 - 1e-7


# ---- overlaps and restarts -----------------------------------------------------------------------


def test_a_run_goes_on_from_a_gsd_file(disks, simulation_factory, device, tmp_path):
    """Single precision leaves overlaps at this density, which are mended."""
    simulation, mc = disks(*hexagonal(128, 128, 0.89), d=0.01, sweeps_per_step=16)
    simulation.run(10)
    hoomd.write.GSD.write(simulation.state, str(tmp_path / "state.gsd"), mode="wb")
    restarted = hoomd.Simulation(device, seed=SEED)
    restarted.create_state_from_gsd(str(tmp_path / "state.gsd"))
    assert restarted.timestep == 10
    other = hoomd.manymove.HardDisks(default_d=0.01, sweeps_per_step=16)
    other.shape["A"] = dict(diameter=1.0)
    restarted.operations.integrator = other
    restarted.run(0)
    assert other.repaired["count"] > 0
    assert other.repaired["depth"] < 1e-5
    assert other.overlaps == 0
    shift = nearest_image(
        positions_of(restarted) - positions_of(simulation), np.array(simulation.state.box.L[:2])
    )
    assert np.abs(shift).max() < 2e-5
    restarted.run(10)
    assert other.overlaps == 0
    ratio = [
        accepted / rejected for accepted, rejected in (mc.translate_moves, other.translate_moves)
    ]
    assert ratio[0] == pytest.approx(ratio[1], rel=0.05)


def test_shallow_overlaps_are_mended(disks):
    positions, box = hexagonal(8, 8, 0.1)
    positions[10] = positions[9] + (1 - 5e-5, 0)
    positions[30] = positions[29] + (1 - 2e-5, 0)
    simulation, mc = disks(positions, box, d=1e-6)
    simulation.run(0)
    assert mc.repaired["count"] == 2
    assert mc.repaired["depth"] == pytest.approx(5e-5, abs=1e-6)
    simulation.run(1)
    assert mc.overlaps == 0
    assert closest_distance(positions_of(simulation), box) >= 1 - 1e-7
    untouched = np.setdiff1d(np.arange(64), [9, 10, 29, 30])
    shift = positions_of(simulation)[untouched] - positions[untouched]
    assert np.abs(shift).max() < 4 * 4 * 1e-6 + 1e-6


@pytest.mark.parametrize("depth", [2e-4, 0.1, 0.9])
def test_deep_overlaps_are_refused_with_the_pair(disks, depth):
    positions, box = hexagonal(8, 8, 0.1)
    positions[42] = positions[17] + (1 - depth, 0)
    simulation, _ = disks(positions, box)
    with pytest.raises(ValueError, match="17 and 42 overlap by") as error:
        simulation.run(0)
    (said,) = re.findall(r"overlap by (\S+) diameters", str(error.value))
    assert float(said) == pytest.approx(depth, abs=1e-6)
    np.testing.assert_array_equal(positions_of(simulation), positions)


def test_an_overlap_made_in_a_run_is_refused_with_the_pair(disks):
    """The state is as the updater left it, and the run can go on once it is mended."""

    class Collide(hoomd.custom.Action):
        def act(self, timestep):
            with self._state.cpu_local_snapshot as data:
                first, second = data.particles.rtag[[5, 3]]
                data.particles.position[first] = data.particles.position[second]
                data.particles.position[first, 0] += 0.5

    positions, box = hexagonal(8, 8, 0.1)
    simulation, mc = disks(positions, box)
    (sorter,) = simulation.operations.tuners
    sorter.trigger = hoomd.trigger.Periodic(1)
    updater = hoomd.update.CustomUpdater(hoomd.trigger.On(4), Collide())
    simulation.operations.updaters.append(updater)
    with pytest.raises(ValueError, match=r"3 and 5 overlap by 0\.(5|49999)"):
        simulation.run(10)
    collided = positions_of(simulation)
    np.testing.assert_allclose(collided[5] - collided[3], (0.5, 0), atol=1e-12)
    simulation.operations.updaters.clear()
    snapshot = simulation.state.get_snapshot()
    snapshot.particles.position[:, :2] = positions
    simulation.state.set_snapshot(snapshot)
    simulation.run(10)
    assert mc.overlaps == 0


def test_overlaps_are_counted_in_what_stands_there(disks):
    positions, box = hexagonal(8, 8, 0.1)
    simulation, mc = disks(positions, box)
    simulation.run(0)
    assert mc.overlaps == 0
    snapshot = simulation.state.get_snapshot()
    snapshot.particles.position[1, :2] = snapshot.particles.position[0, :2] + (0.9, 0)
    snapshot.particles.position[21, :2] = snapshot.particles.position[20, :2] + (0, 0.9)
    simulation.state.set_snapshot(snapshot)
    assert mc.overlaps == 2


# ---- what is not supported -----------------------------------------------------------------------


@pytest.mark.serial
def test_3d_boxes_are_refused(simulation_factory, lattice_snapshot_factory):
    simulation = simulation_factory(lattice_snapshot_factory(dimensions=3, a=2, n=4))
    mc = hoomd.manymove.HardDisks()
    mc.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = mc
    with pytest.raises((ValueError, RuntimeError), match="2D"):
        simulation.run(0)


@pytest.mark.parametrize("later", [False, True])
def test_tilted_boxes_are_refused(disks, later):
    simulation, _ = disks(*hexagonal(8, 8, 0.3))
    if later:
        simulation.run(1)
    simulation.state.set_box(hoomd.Box(*simulation.state.box.L[:2], 0, 0.1))
    with pytest.raises(ValueError, match="rectangular"):
        simulation.run(1)


def test_disks_that_an_updater_puts_outside_the_box_are_refused(disks):
    simulation, _ = disks(*hexagonal(8, 8, 0.1))
    simulation.run(1)
    for bad, message in ((100, "7 is outside the box"), (math.nan, "7 is not finite")):
        with simulation.state.cpu_local_snapshot as data:
            good = data.particles.position[data.particles.rtag[7], 0]
            data.particles.position[data.particles.rtag[7], 0] = bad
        with pytest.raises(ValueError, match=message):
            simulation.run(1)
        with simulation.state.cpu_local_snapshot as data:
            data.particles.position[data.particles.rtag[7], 0] = good
    simulation.run(1)


def test_boxes_narrower_than_three_diameters_are_refused(disks):
    simulation, _ = disks([(0, 0)], (2.9, 10))
    with pytest.raises(ValueError, match="three diameters"):
        simulation.run(0)
    simulation, _ = disks([(0, 0)], (3, 10))
    simulation.run(1)


def test_more_disks_than_fit_are_refused(disks):
    simulation, _ = disks(*hexagonal(8, 8, 0.9), diameter=1.1)
    with pytest.raises(ValueError, match=r"packing fraction|overlap"):
        simulation.run(0)


@pytest.mark.parametrize(("parameter", "word"), [("shape", "diameter"), ("d", "have different d")])
def test_types_that_differ_are_refused(disks, parameter, word):
    simulation, mc = disks(*hexagonal(8, 8, 0.3), types=("A", "B"), typeid=np.arange(64) % 2)
    getattr(mc, parameter)["B"] = dict(diameter=0.9) if parameter == "shape" else 0.05
    with pytest.raises(ValueError, match=word) as error:
        simulation.run(0)
    assert "A and B" in str(error.value)


def test_types_without_a_shape_are_refused(disks):
    simulation, _ = disks(*hexagonal(8, 8, 0.3))
    other = hoomd.manymove.HardDisks()
    simulation.operations.integrator = other
    with pytest.raises(IncompleteSpecificationError) as error:
        simulation.run(0)
    assert "shape" in str(error.value.__cause__)  # HOOMD-blue wraps it


def test_a_box_too_small_for_its_ranks_is_refused(
    device, simulation_factory, lattice_snapshot_factory
):
    if device.communicator.num_ranks == 1:
        pytest.skip("needs several MPI ranks")
    simulation = simulation_factory(lattice_snapshot_factory(dimensions=2, a=2, n=8))
    mc = hoomd.manymove.HardDisks()
    mc.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = mc
    with pytest.raises(ValueError, match=r"the box is too small for \d+ ranks"):
        simulation.run(0)


def test_the_integrator_gives_way_to_another(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.5))
    simulation.run(2)
    other = hoomd.manymove.HardDisks(default_d=0.3)
    other.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = other
    simulation.run(2)
    with pytest.raises(DataAccessError):
        _ = mc.translate_moves
    simulation.operations.integrator = None
    simulation.run(2)
    simulation.operations.integrator = mc
    simulation.run(2)
    assert sum(mc.translate_moves) > 0


# ---- tuning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["scale_solver", "secant_solver"])
@pytest.mark.parametrize("target", [0.3, 0.6])
def test_the_tuner_reaches_an_acceptance(disks, solver, target):
    simulation, mc = disks(*hexagonal(20, 20, 0.65), d=0.05)
    tuner = getattr(hoomd.manymove.tune.MoveSize, solver)(
        trigger=hoomd.trigger.Periodic(10), target=target, max_translation_move=0.8, tol=0.02
    )
    simulation.operations.tuners.append(tuner)
    simulation.run(400)
    assert tuner.tuned
    assert 0.05 < mc.d["A"] < 0.8
    simulation.operations.tuners.remove(tuner)
    simulation.run(50)
    accepted, rejected = mc.translate_moves
    assert accepted / (accepted + rejected) == pytest.approx(target, abs=0.04)


def test_the_tuner_sets_all_types(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.6), types=("A", "B"), typeid=np.arange(64) % 2)
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(
        trigger=2, target=0.3, max_translation_move=0.8
    )
    simulation.operations.tuners.append(tuner)
    simulation.run(20)
    assert mc.d["A"] == mc.d["B"] != 0.16


def test_the_tuner_refuses(disks):
    for target in (0, 1, -0.5, math.nan):
        with pytest.raises(ValueError, match="target"):
            hoomd.manymove.tune.MoveSize.scale_solver(
                trigger=10, target=target, max_translation_move=0.5
            )
    simulation, _ = disks(*hexagonal(8, 8, 0.5))
    simulation.operations.integrator = None
    simulation.operations.tuners.append(
        hoomd.manymove.tune.MoveSize.scale_solver(trigger=10, target=0.3, max_translation_move=0.5)
    )
    with pytest.raises(RuntimeError, match=r"hoomd\.manymove\.HardDisks"):
        simulation.run(0)


# ---- physics -------------------------------------------------------------------------------------


class Record(hoomd.custom.Action):
    """Collects a value in every step that it is called."""

    def __init__(self, value):
        self.value = value
        self.values = []

    def act(self, timestep):
        self.values.append(self.value())


def recorded(simulation, value, every, steps):
    """Values of a function, every so many steps of a run."""
    record = Record(value)
    writer = hoomd.write.CustomWriter(hoomd.trigger.Periodic(every), record)
    simulation.operations.writers.append(writer)
    simulation.run(steps)
    simulation.operations.writers.remove(writer)
    return np.array(record.values)


def blocked(series, blocks=32):
    """Mean, and its standard error from the means of blocks."""
    means = np.array([block.mean() for block in np.array_split(series, blocks)])
    return means.mean(), means.std(ddof=1) / math.sqrt(blocks)


def chi_square_tail(x, degrees):
    """Probability that chi-square with an even number of degrees exceeds x (exact)."""
    k = np.arange(degrees // 2)
    logs = k * math.log(x / 2) - x / 2 - np.array([math.lgamma(i + 1) for i in k])
    return float(np.exp(logs).sum())


def test_two_disks_visit_all_separations_alike(disks):
    """Chi-square of the separation over 7 x 7 parts of the free plane; false alarms: 1e-6.

    Five steps of large moves apart, samples are independent for this purpose.
    """
    edge, diameter = 4.2, 1.2
    simulation, _ = disks([(-1, 0), (1, 0)], (edge, edge), d=0.6 * diameter, diameter=diameter)

    def separation():
        with simulation.state.cpu_local_snapshot as data:
            index = data.particles.rtag[:2]
            return data.particles.position[index[1], :2] - data.particles.position[index[0], :2]

    simulation.run(20)
    vectors = nearest_image(recorded(simulation, separation, 5, 30_000), edge)
    assert (np.hypot(*vectors.T) >= diameter * (1 - 1e-7)).all()
    x = (np.arange(700) + 0.5) / 700 * edge - edge / 2
    free = (np.hypot(*np.meshgrid(x, x)) > diameter).astype(float)
    law = free.reshape(7, 100, 7, 100).mean(axis=(1, 3)).T.ravel()
    edges = np.linspace(-edge / 2, edge / 2, 8)
    counts = np.histogram2d(*vectors.T, bins=[edges, edges])[0].ravel()
    assert counts[law == 0].sum() == 0
    expected = len(vectors) * law / law.sum()
    usual = expected > 20
    counts = np.append(counts[usual], counts[~usual].sum())
    expected = np.append(expected[usual], expected[~usual].sum())
    keep = expected > 0
    chi2 = ((counts - expected)[keep] ** 2 / expected[keep]).sum()
    degrees = keep.sum() - 1
    assert chi_square_tail(chi2, degrees + degrees % 2) > 1e-6


VIRIAL = (  # B_n / B_2^(n - 1) of hard disks (Clisby and McCoy 2006), B_2 rho = 2 phi
    1,
    1,
    4 / 3 - math.sqrt(3) / math.pi,
    2 - 4.5 * math.sqrt(3) / math.pi + 10 / math.pi**2,
    0.33355604,
    0.1988425,
    0.1148728,
    0.0649930,
    0.0362193,
    0.0199537,
)


@pytest.mark.parametrize(
    ("packing_fraction", "d", "diameter"), [(0.1, 0.9, 1.0), (0.2, 0.7, 0.5), (0.3, 0.5, 2.0)]
)
def test_the_pressure_of_the_dilute_fluid_is_that_of_the_virial_series(
    disks, packing_fraction, d, diameter
):
    """Within six standard errors from 32 blocks (Student's t: false alarms of 1.2e-6 each) and
    1/N of the excess for the finite size."""
    positions, box = hexagonal(100, 100, packing_fraction)
    simulation, mc = disks(
        positions * diameter,
        (box[0] * diameter, box[1] * diameter),
        d=d * diameter,
        diameter=diameter,
        sweeps_per_step=2,
    )
    simulation.run(40)
    value, error = blocked(recorded(simulation, lambda: mc.pressure, 1, 1000))
    ideal = 4 * packing_fraction / math.pi
    excess = ideal * sum(b * (2 * packing_fraction) ** n for n, b in enumerate(VIRIAL) if n)
    assert error < 0.01 * excess
    assert abs(value - ideal - excess) < 6 * error + excess / 10_000
    assert mc.betaP == pytest.approx(mc.pressure / diameter**2, rel=1e-12)


@pytest.mark.skipif(hpmc is None, reason="this HOOMD-blue has no hpmc")
@pytest.mark.parametrize(
    ("steps", "precision"), [(1000, 0.015), pytest.param(20_000, 0.004, marks=pytest.mark.validate)]
)
def test_the_pressure_is_that_of_hpmc(disks, simulation_factory, steps, precision):
    """From the same snapshot, within six joint standard errors from 32 blocks (false alarms below
    1e-6)."""
    positions, box = hexagonal(32, 32, 0.6)
    simulation, mc = disks(positions, box)
    simulation.run(200)
    melted = simulation.state.get_snapshot()
    ours, our_error = blocked(recorded(simulation, lambda: mc.betaP, 1, steps))

    other = simulation_factory(melted)
    sphere = hpmc.integrate.Sphere(default_d=0.2, nselect=4)
    sphere.shape["A"] = dict(diameter=1.0)
    other.operations.integrator = sphere
    sdf = hpmc.compute.SDF(xmax=0.02, dx=1e-4)
    other.operations.computes.append(sdf)
    theirs, their_error = blocked(recorded(other, lambda: sdf.betaP, 2, 4 * steps))
    assert our_error < precision * ours
    assert their_error < precision * theirs
    assert abs(ours - theirs) < 6 * math.hypot(our_error, their_error)
