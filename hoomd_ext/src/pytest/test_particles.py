"""How hoomd.manymove.HardDisks reads HOOMD-blue's particles, and what it refuses."""

import copy
import math
import pickle

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.error import DataAccessError, IncompleteSpecificationError
from hoomd.manymove.pytest.conftest import (
    SEED,
    closest_distance,
    hexagonal,
    nearest_image,
    positions_of,
    unwrapped,
)

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
    """Single precision leaves overlaps at this density, which are repaired."""
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


def test_shallow_overlaps_are_repaired(disks):
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


def test_an_overlap_made_in_a_run_is_refused_with_the_pair(disks):
    """The state is as the updater left it, and the run can continue once it is repaired."""

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


@pytest.mark.parametrize("later", [False, True])
def test_particles_out_of_the_plane_are_refused(disks, later):
    simulation, _ = disks(*hexagonal(8, 8, 0.3))
    if later:
        simulation.run(1)
    with simulation.state.cpu_local_snapshot as data:
        data.particles.position[data.particles.rtag[[9, 5]], 2] = 0.25
    with pytest.raises(ValueError, match=r"z = 0 .*the particle with tag 5 has z = 0\.25"):
        simulation.run(1)
    with simulation.state.cpu_local_snapshot as data:
        data.particles.position[data.particles.rtag[[9, 5]], 2] = 0
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


@pytest.mark.parametrize("threads", [None, 1])
def test_types_without_a_shape_are_refused_until_they_have_one(disks, threads):
    simulation, _ = disks(*hexagonal(8, 8, 0.3), types="AB")
    other = hoomd.manymove.HardDisks(threads=threads)
    other.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = other
    for _ in range(2):
        with pytest.raises(IncompleteSpecificationError, match=r'type: shape\["B"\] = .* missing'):
            simulation.run(1)
    other.shape["B"] = dict(diameter=1.0)
    simulation.run(1)
    assert sum(other.translate_moves) > 0


def test_errors_have_small_numbers(disks):
    start = hexagonal(8, 8, 0.3)
    simulation, mc = disks(*start, types="AB", d=1e-9)
    mc.d["B"] = 2e-9
    with pytest.raises(ValueError) as error:
        simulation.run(0)
    assert str(error.value) == (
        "hoomd.manymove.HardDisks has one d for all particle types, not d per type: A and B have "
        "different d, 1e-09 and 2e-09; give all types the same, or 0 to those that never move"
    )
    simulation, _ = disks(*start)
    with simulation.state.cpu_local_snapshot as data:
        data.particles.position[data.particles.rtag[3], 2] = 1e-9
    with pytest.raises(ValueError, match="the particle with tag 3 has z = 1e-09"):
        simulation.run(0)
    simulation, _ = disks(*start)
    simulation.state.set_box(hoomd.Box(*start[1], xy=1e-8))
    with pytest.raises(ValueError, match="xy, xz and yz are 1e-08, 0 and 0"):
        simulation.run(0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nselect": None}, "nselect must be an integer, got None"),
        ({"sweeps_per_step": "16"}, "sweeps_per_step must be an integer, got '16'"),
        ({"repair_depth": "x"}, "repair_depth must be a number, got 'x'"),
        ({"default_d": [0.1]}, r"d must be a number, got \[0.1\]"),
        ({"threads": 1.5}, "threads must be an integer, got 1.5"),
        ({"threads": 10**12}, "threads must be from 1 to"),
        ({"kT": 1.0}, r"hoomd\.manymove\.HardDisks has no kT: .*hoomd\.hpmc\.integrate\.Sphere"),
        ({"default_a": 0.1}, r"hoomd\.manymove\.HardDisks has no default_a: "),
        ({"nselct": 4}, r"hoomd\.manymove\.HardDisks has no argument nselct"),
    ],
)
def test_settings_of_a_wrong_kind_are_named(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        hoomd.manymove.HardDisks(**settings)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda mc: pickle.loads(pickle.dumps(mc))])
def test_a_copy_has_the_settings_and_makes_the_same_trajectory(disks, copied):
    start = hexagonal(8, 8, 0.5)
    simulation, mc = disks(*start, nselect=3, box_moves={"betaP": 2.0}, threads=1)
    simulation.run(3)
    other, _ = disks(*start)
    other.operations.integrator = again = copied(mc)
    other.run(3)
    assert again.state_hash == mc.state_hash
    assert (again.box_moves, again.nselect, again.threads) == (mc.box_moves, 3, 1)


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
