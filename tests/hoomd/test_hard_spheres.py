# SPDX-License-Identifier: BSD-3-Clause
"""Hard particles of one size and mixtures, in two and three dimensions, in HOOMD-blue: the
component `hoomd.manymove` and the updaters of `manymove.hoomd`, against manymove alone."""

from __future__ import annotations

import copy
import math
import sys

import numpy as np
import pytest
from commands import MPIEXEC
from processes import on_ranks, run, with_support

from manymove import fcc_packing
from manymove.analysis import BINS, DELTA_R, estimate, pressure_from_histogram
from manymove.analysis.sphere_reference import fluid_factor
from manymove.hard_particles import OverlapError

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_spheres import (  # noqa: E402
    SIZES,
    attach,
    edges_of,
    images_of,
    lattice,
    positions_of,
    simulation_of,
    standalone,
)

import manymove.hoomd  # noqa: E402

SYSTEMS = {
    "disks": (lattice(2, 16, 1.15), "A"),
    "spheres": (lattice(3, 7, 1.15), "A"),
    "mixture of spheres": (lattice(3, 7, 1.45), "AB"),
    "mixture of disks": (lattice(2, 16, 1.45), "AB"),
}


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]


def make(system, way, device=None, **settings):
    simulation = simulation_of(*system, device)
    return simulation, attach(simulation, way, **settings)


# ---- the trajectory ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "alone", "cycles_per_step"),
    [
        ({}, {}, 1),
        ({"sweeps_per_step": 16, "threads": 2}, {}, 4),
        ({"sweeps_per_step": 5}, {"rounds": 1}, 5),
        ({"tile": 3}, {"tile": 3}, 1),
        (
            {"sweeps_per_step": 6, "nselect": 3, "d": 0.3},
            {"rounds": 3, "moves_per_cell": 3, "d": 0.3},
            2,
        ),
    ],
)
def test_the_trajectory_is_that_of_manymove(
    hoomd_device, way, system, settings, alone, cycles_per_step
):
    simulation, particles = make(system, way, hoomd_device, **settings)
    expected = standalone(simulation, 20 * cycles_per_step, **alone)
    simulation.run(20)
    assert particles.state_hash == expected.state_hash
    assert np.array_equal(positions_of(simulation), expected.positions)
    trial, accepted = expected.trial_moves, expected.accepted_moves
    assert tuple(particles.translate_moves) == (accepted, trial - accepted)
    assert 0 < accepted < trial
    assert particles.overlaps == 0
    counts = expected.core.contact_histogram(DELTA_R, BINS)
    pressure = pressure_from_histogram(
        counts, 1, expected.N, expected.packing_fraction, dimensions=len(expected.box)
    )
    assert particles.pressure == pytest.approx(float(pressure), rel=1e-12)
    volume = expected.diameter ** len(expected.box)
    assert particles.betaP == pytest.approx(particles.pressure / volume, rel=1e-12)


def test_the_pressure_near_close_packing_is_that_of_the_crystal(way):
    """Within 5 % of Z = 3 / a + 2.57 with a = 0.7405 / phi - 1 (Alder, Hoover, Young, 1968). Bins
    up to 1.075 diameters give 9 % more."""
    simulation, particles = make((fcc_packing(108, 0.735), "A"), way, d=0.001, sweeps_per_step=16)
    simulation.run(100)
    found = []
    for _ in range(400):
        simulation.run(1)
        found.append(particles.pressure)
    expected = 6 / math.pi * 0.735 * (3 / (0.7404805 / 0.735 - 1) + 2.57)
    assert np.mean(found) == pytest.approx(expected, rel=0.05)


def test_types_of_one_diameter_are_particles_of_one_size(way):
    """Types matter by their diameters only: the trajectory is that of one type."""
    start, _ = SYSTEMS["spheres"]
    simulation = simulation_of(start, "AB")
    particles = attach(simulation, way, {"A": 1.0, "B": 1.0})
    expected = standalone(simulation, 5, {"A": 1.0, "B": 1.0})
    assert not expected.mixed
    simulation.run(5)
    assert particles.state_hash == expected.state_hash


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("sizes", [{"A": 1.0, "B": 1.0}, SIZES])
def test_particles_of_a_type_whose_d_is_0_never_move(hoomd_device, dimensions, sizes):
    pytest.importorskip("hoomd.manymove")
    start = lattice(dimensions, 8, 1.5)
    simulation, particles = make((start, "AB"), "component", hoomd_device, diameters=sizes)
    particles.d["B"] = 0
    pinned = np.arange(len(start[0])) % 2 == 1
    expected = standalone(simulation, 20, sizes, pinned=pinned)
    before = positions_of(simulation)
    simulation.run(20)
    assert particles.state_hash == expected.state_hash
    now = positions_of(simulation)
    moved = (np.abs(now - before) > 1e-5).any(axis=1)  # the engine's lattice is finer
    assert (moved == ~pinned).all()
    # Types, and with them pinned particles, are noticed when others change them.
    with simulation.state.cpu_local_snapshot as snapshot:
        typeid, index = snapshot.particles.typeid, snapshot.particles.rtag
        typeid[index[1]], typeid[index[2]] = (0, 0) if sizes["B"] > 1 else (0, 1)
    simulation.run(20)
    then = positions_of(simulation)
    still = (then == now).all(axis=1)
    if sizes["B"] == 1:
        pinned[2] = True
    pinned[1] = False
    assert (still == pinned).all()
    # With a d, all move again.
    particles.d["B"] = particles.d["A"]
    simulation.run(20)
    assert (positions_of(simulation) != then).any(axis=1).all()


def test_what_a_d_of_0_does_not_have_is_refused():
    pytest.importorskip("hoomd.manymove")
    simulation, particles = make(SYSTEMS["mixture of spheres"], "component")
    particles.d["B"] = 0
    for name, settings, message in (
        ("box_moves", {"betaP": 1.0}, "HardSpheres: a d of 0 cannot be combined with constant"),
        ("swap", {"rounds": 2}, "HardSpheres: a d of 0 cannot be combined with swap moves"),
    ):
        setattr(particles, name, settings)
        with pytest.raises(ValueError, match=message):
            simulation.run(0)
        setattr(particles, name, None)
    simulation.run(1)
    particles.d["A"] = 0
    with pytest.raises(ValueError, match="HardSpheres: d is 0 for all particle types"):
        simulation.run(0)


def test_the_tuner_leaves_a_d_of_0_alone():
    component = pytest.importorskip("hoomd.manymove")
    simulation, particles = make(SYSTEMS["mixture of spheres"], "component")
    particles.d["A"] = 0
    simulation.operations.tuners.append(component.tune.MoveSize.scale_solver(1, ["d"], 0.3))
    simulation.run(5)
    assert particles.d["A"] == 0 and particles.d["B"] not in (0, 0.12)


def test_the_unit_of_length_is_that_of_the_simulation(way, system):
    (positions, box), types = system
    diameters = {name: 0.37 * SIZES[name] for name in types}
    simulation = simulation_of((0.37 * positions, tuple(0.37 * edge for edge in box)), types)
    particles = attach(simulation, way, diameters, d=0.05)
    expected = standalone(simulation, 5, diameters, d=0.05)
    simulation.run(5)
    assert particles.state_hash == expected.state_hash


def test_the_order_of_the_particles_in_memory_does_not_matter(hoomd_device, way, system):
    simulation, particles = make(system, way, hoomd_device)
    expected = standalone(simulation, 20)
    simulation.operations.tuners.clear()
    simulation.operations.tuners.append(hoomd.tune.ParticleSorter(trigger=1))
    simulation.run(20)
    with simulation.state.cpu_local_snapshot as snapshot:
        assert not np.array_equal(snapshot.particles.tag, np.arange(expected.N))
    assert particles.state_hash == expected.state_hash
    assert np.array_equal(positions_of(simulation), expected.positions)


@pytest.mark.parametrize("types", ["A", "AB"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_images_follow_the_particles(hoomd_device, way, dimensions, types):
    """Boxes of a few cells. With a cycle per step no particle goes farther than a cell in a step,
    so that its image is certain; with five cycles per step images must come out the same."""
    start = lattice(dimensions, 3, 1.5)
    settings = {"d": 1.0, "nselect": 8}
    short, particles = make((start, types), way, hoomd_device, sweeps_per_step=1, **settings)
    long, others = make((start, types), way, hoomd_device, sweeps_per_step=5, **settings)
    box = np.array(edges_of(short))
    cell = box / np.floor(box / SIZES[types[-1]])
    unwrapped = positions_of(short)
    for _ in range(500):
        short.run(1)
        now = positions_of(short) + images_of(short) * box
        assert (np.abs(now - unwrapped) <= cell + 1e-9).all()
        unwrapped = now
    long.run(100)
    assert particles.state_hash == others.state_hash
    assert np.abs(images_of(short)).max() > 0
    assert np.count_nonzero(images_of(short)) > 5
    assert np.array_equal(images_of(short), images_of(long))


# ---- changes by others ---------------------------------------------------------------------------


def test_a_changed_position_is_noticed(hoomd_device, way, system):
    simulation, particles = make(system, way, hoomd_device)
    simulation.run(5)
    before = particles.state_hash
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.position[snapshot.particles.rtag[7], 0] += 1e-5
    expected = standalone(simulation, 4, first_cycle=5 << 20, repair_depth=1e-4)
    assert particles.state_hash != before
    simulation.run(4)
    assert particles.state_hash == expected.state_hash


@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_changed_type_is_noticed_in_a_mixture(hoomd_device, way, dimensions):
    simulation, particles = make((lattice(dimensions, 7, 1.45), "AB"), way, hoomd_device)
    simulation.run(5)
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.typeid[snapshot.particles.rtag[5]] = 0  # a large one shrinks
    expected = standalone(simulation, 4, first_cycle=5 << 20)
    simulation.run(4)
    assert particles.state_hash == expected.state_hash


def test_a_changed_diameter_box_or_seed_is_noticed(way):
    simulation, particles = make(SYSTEMS["mixture of spheres"], way)
    simulation.run(5)
    if way == "component":
        particles.shape["B"] = dict(diameter=1.3)
    else:
        particles.diameter = {"A": 1.0, "B": 1.3}
    simulation.seed = 9
    hoomd.update.BoxResize.update(
        simulation.state, hoomd.Box(*(1.1 * np.array(edges_of(simulation))))
    )
    expected = standalone(simulation, 4, {"A": 1.0, "B": 1.3}, first_cycle=5 << 20)
    simulation.run(4)
    assert particles.state_hash == expected.state_hash


def test_a_restart_from_gsd_continues(way, tmp_path):
    """The file has float32 positions: the run continues from them, at the time step of the file."""
    pytest.importorskip("gsd")
    simulation, particles = make(SYSTEMS["mixture of spheres"], way)
    simulation.run(50)
    moves = sum(particles.translate_moves)
    path = tmp_path / "restart.gsd"
    hoomd.write.GSD.write(simulation.state, str(path))
    restarted = hoomd.Simulation(hoomd.device.CPU(), seed=1)
    restarted.create_state_from_gsd(str(path))
    others = attach(restarted, way)
    expected = standalone(restarted, 10, first_cycle=50 << 20)
    restarted.run(10)
    assert restarted.timestep == 60
    assert others.state_hash == expected.state_hash
    assert others.overlaps == 0
    assert others.repaired["depth"] < 1e-6
    assert sum(others.translate_moves) == pytest.approx(moves / 5, rel=0.1)


# ---- quantities ----------------------------------------------------------------------------------

QUANTITIES = {
    "translate_moves": "sequence",
    "mps": "scalar",
    "overlaps": "scalar",
    "pressure": "scalar",
    "betaP": "scalar",
    "state_hash": "string",
    "packing_fraction": "scalar",
    "volume_moves": "sequence",
    "aspect_moves": "sequence",
    "swap_moves": "sequence",
}


def test_quantities_can_be_logged_after_a_run(way):
    simulation, particles = make(SYSTEMS["mixture of spheres"], way)
    energies = dict.fromkeys(("external_energy", "pair_energy"), "scalar")
    others = {"type_shapes": "object", **energies} if way == "component" else {}
    found = dict(particles.loggables)
    assert found == {**QUANTITIES, **others}
    for name in found:
        with pytest.raises(hoomd.error.DataAccessError, match=name):
            getattr(particles, name)
    simulation.run(0)
    assert (particles.overlaps, tuple(particles.translate_moves), particles.mps) == (0, (0, 0), 0)
    simulation.run(5)
    logger = hoomd.logging.Logger()
    logger.add(particles)
    values = logger.log()
    while "pressure" not in values:
        (values,) = values.values()
    assert values["state_hash"][0] == particles.state_hash
    assert values["pressure"][0] == particles.pressure > 0
    assert particles.mps > 0


def test_moves_are_counted_from_the_start_of_the_last_run(way):
    simulation, particles = make(SYSTEMS["spheres"], way)
    simulation.run(10)
    first = sum(particles.translate_moves)
    particles.nselect = 2  # another engine
    simulation.run(10)
    assert 0.4 * first < sum(particles.translate_moves) < 0.6 * first
    simulation.run(0)
    assert sum(particles.translate_moves) == 0


@pytest.mark.parametrize("dimensions", [2, 3])
def test_overlaps_of_a_mixture_are_counted(way, dimensions):
    start = lattice(dimensions, 6, 4.0)
    simulation, particles = make((start, "AB"), way)
    simulation.run(0)
    snapshot = simulation.state.get_snapshot()
    positions = snapshot.particles.position
    positions[1, :dimensions] = positions[0, :dimensions]
    positions[1, 0] += 1.19  # contact of a small and a large one at 1.2
    positions[4, :dimensions] = positions[2, :dimensions]
    positions[4, 0] += 1.01  # two small ones
    simulation.state.set_snapshot(snapshot)
    assert particles.overlaps == 1
    with pytest.raises((OverlapError, ValueError), match=r"0 and 1 overlap by 0\.0083"):
        simulation.run(1)


def test_the_pressure_is_that_of_the_equation_of_state(hoomd_device, way):
    """Kolafa et al. at packing fraction 0.25, 1,000 spheres: within five errors, which are known to
    about 10 %, and a thousandth of Z - 1 for the finite size: a false alarm of about 1e-5."""
    packing_fraction = 0.25
    start = lattice(3, 10, (np.pi / 6 / packing_fraction) ** (1 / 3))
    simulation, spheres = make((start, "A"), way, hoomd_device, d=0.3, sweeps_per_step=8)
    simulation.run(100)
    series = []
    for _ in range(800):
        simulation.run(1)
        series.append(spheres.pressure)
    found = estimate(np.array(series))
    ideal = 6 * packing_fraction / np.pi
    expected = ideal * fluid_factor(packing_fraction)
    assert found.error < 0.015 * (expected - ideal)
    assert abs(found.value - expected) < 5 * found.error + 1e-3 * (expected - ideal)


# ---- a script of hoomd.hpmc ----------------------------------------------------------------------

SCRIPT = """
mc = hoomd.hpmc.integrate.Sphere(default_d=0.1, nselect=4)
mc.shape["A"] = dict(diameter=1.0)
mc.shape["B"] = dict(diameter=1.4)
mc.d["A"] = mc.d["B"] = 0.15
simulation.operations.integrator = mc
logger = hoomd.logging.Logger()
logger.add(mc, quantities=["translate_moves", "mps", "overlaps", "type_shapes"])
simulation.run(20)
accepted, rejected = mc.counters.translate
values = logger.log()
"""


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("module", ["hoomd.hpmc", "hoomd.manymove"])
def test_a_script_for_hpmc_runs_with_one_line_changed(dimensions, module):
    """HOOMD-blue's own integrator, where it has been built, gives the values of the same kind."""
    pytest.importorskip(module)
    ours = f"hoomd.manymove.{'HardDisks' if dimensions == 2 else 'HardSpheres'}("
    script = SCRIPT
    if module == "hoomd.manymove":
        script = script.replace("hoomd.hpmc.integrate.Sphere(", ours)
    simulation = simulation_of(lattice(dimensions, 8, 1.5), "AB")
    found = {"hoomd": hoomd, "simulation": simulation}
    exec(script, found)
    assert found["accepted"] > found["rejected"] > 0
    values = found["values"]
    while "overlaps" not in values:
        (values,) = values.values()
    assert values["overlaps"][0] == 0
    shapes = [{"type": "Sphere", "diameter": 1.0}, {"type": "Sphere", "diameter": 1.4}]
    assert values["type_shapes"][0] == shapes


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["HardDisks", "HardSpheres"])
@pytest.mark.parametrize(
    "name",
    [
        "a",
        "depletant_fugacity",
        "interaction_matrix",
        "kT",
        "map_overlaps",
        "translation_move_probability",
    ],
)
def test_what_only_hpmc_has_is_refused_by_name(kind, name):
    component = pytest.importorskip("hoomd.manymove")
    mc = getattr(component, kind)()
    with pytest.raises(AttributeError, match=f"hoomd.manymove.{kind} has no {name}: "):
        setattr(mc, name, 1.0)
    with pytest.raises(AttributeError, match=f"hoomd.manymove.{kind} has no {name}: "):
        getattr(mc, name)
    copy.deepcopy(mc)


@pytest.mark.parametrize("key", ["orientable", "ignore_statistics"])
def test_shapes_with_orientation_are_refused_by_name(key):
    component = pytest.importorskip("hoomd.manymove")
    spheres = component.HardSpheres()
    with pytest.raises((KeyError, ValueError), match=key):
        spheres.shape["A"] = {"diameter": 1.0, key: True}


def refused(way, start, message, types="A", change=None, **settings):
    simulation = simulation_of(start, types)
    particles = attach(simulation, way, **settings)
    if change is not None:
        simulation.run(1)
        change(simulation)
    before = positions_of(simulation)
    with pytest.raises(ValueError, match=message):
        simulation.run(1)
    assert np.array_equal(positions_of(simulation), before)
    return simulation, particles


def test_boxes_that_are_tilted_or_narrow_are_refused(way):
    start = lattice(3, 4, 1.5)
    said = {"xy": "yz are 0.1, 0", "xz": "yz are 0, 0.1", "yz": "yz are 0, 0 and 0.1"}
    for tilt in ("xy", "xz", "yz"):
        refused(
            way,
            start,
            said[tilt] if way == "component" else f"{tilt} is 0.1",
            change=lambda simulation, tilt=tilt: simulation.state.set_box(
                hoomd.Box(6, 6, 6, **{tilt: 0.1})
            ),
        )
    refused(way, ([(0, 0, 0)], (10, 10, 2.9)), "edge z is 2.9")
    refused(way, ([(0, 0, 0), (4, 0, 0)], (10, 10, 4.1)), "edge z is 4.1", types="AB")


def test_the_other_number_of_dimensions_is_refused(way):
    if way == "component":
        component = pytest.importorskip("hoomd.manymove")
        for start, make_other, message in (
            (lattice(2, 4, 1.5), component.HardSpheres, "HardSpheres needs a 3D box: .*HardDisks"),
            (lattice(3, 4, 1.5), component.HardDisks, "HardDisks needs a 2D box.*: .*HardSpheres"),
        ):
            simulation = simulation_of(start)
            simulation.operations.integrator = mc = make_other()
            mc.shape["A"] = dict(diameter=1.0)
            with pytest.raises(ValueError, match=message):
                simulation.run(0)
    else:
        simulation = simulation_of(lattice(2, 4, 1.5))
        spheres = manymove.hoomd.HardSpheresUpdater(1.0)
        simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, spheres))
        with pytest.raises(ValueError, match="three-dimensional box; Lz is 0"):
            simulation.run(0)


def test_deep_overlaps_are_refused_with_the_pair(way):
    positions, box = lattice(3, 5, 2.0)
    positions[42] = positions[18]
    positions[42, 0] += 0.75
    who = "particles with tags" if way == "component" else "particles"
    message = f"{who} 18 and 42 overlap by 0.(25|24999).* contact distances, more than repair_depth"
    refused(way, (positions, box), f"{message} = 0.0001")
    simulation, particles = make(((positions, box), "A"), way, repair_depth=0.5)
    simulation.run(0)
    assert particles.repaired["count"] == 1
    assert particles.repaired["depth"] == pytest.approx(0.25, abs=1e-6)
    assert particles.overlaps == 0


def test_particles_outside_the_box_are_refused(way):
    def put_outside(simulation):
        with simulation.state.cpu_local_snapshot as data:
            data.particles.position[data.particles.rtag[7], 2] = 100

    refused(way, lattice(3, 4, 1.5), "7 is outside the box: z = 100", change=put_outside)


def test_displacements_beyond_the_cells_are_refused(way):
    refused(way, lattice(3, 4, 1.5), "at most the cell width", d=1.6)


def test_mixtures_with_particles_out_of_the_plane_are_refused(way):
    def lift(simulation):
        with simulation.state.cpu_local_snapshot as data:
            data.particles.position[data.particles.rtag[5], 2] = 0.25

    message = r"z = 0 .*the particle with tag 5 has z = 0\.25"
    refused(way, lattice(2, 5, 1.5), message, types="AB", change=lift)


def test_displacements_that_differ_between_types_are_refused():
    pytest.importorskip("hoomd.manymove")
    simulation, mc = make(SYSTEMS["mixture of spheres"], "component")
    mc.d["B"] = 0.2
    with pytest.raises(
        ValueError, match="HardSpheres has one d for all particle types, not d per type: A and B"
    ):
        simulation.run(0)


def test_the_updater_needs_a_diameter_of_each_type():
    for bad, message in (
        ({}, "diameter must have an entry"),
        ({"A": 0.0}, "diameter of type A must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            manymove.hoomd.HardSpheresUpdater(bad)
    simulation = simulation_of(*SYSTEMS["mixture of spheres"])
    attach(simulation, "updater", {"A": 1.0})
    with pytest.raises(ValueError, match="no entry for the particle type B"):
        simulation.run(0)


def test_the_default_displacement_of_the_updater_follows_the_largest_diameter():
    updater = manymove.hoomd.HardSpheresUpdater({"A": 1.0, "B": 1.5})
    assert updater.d == pytest.approx(0.18)
    updater.diameter = 2.0
    assert updater.d == pytest.approx(0.24)
    assert "HardSpheresUpdater: diameter = 2, d = 0.24" in repr(updater)
    assert manymove.hoomd.HardDisksUpdater(0.37).d == pytest.approx(0.16 * 0.37)


RANKS = """
import sys, hoomd
from hoomd_spheres import attach, lattice, simulation_of
simulation = simulation_of(lattice(int(sys.argv[1]), 8, 1.5), "AB")
attach(simulation, "updater")
try:
    simulation.run(1)
except ValueError as error:
    open(f"refused-{simulation.device.communicator.rank}", "w").write(str(error))
"""


@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_updater_refuses_several_ranks(dimensions, tmp_path):
    if not (MPIEXEC and hoomd.version.mpi_enabled):
        pytest.skip("no MPI")
    command = [*on_ranks(2), sys.executable, "-c", RANKS, dimensions]
    end = run(command, cwd=tmp_path, env=with_support())
    found = [file.read_text() for file in sorted(tmp_path.glob("refused-*"))]
    if end.returncode == 0 and len(found) < 2:
        pytest.skip("mpiexec is of another MPI than HOOMD-blue")
    assert len(found) == 2, end.stdout + end.stderr
    for message in found:
        assert "one MPI rank, there are 2" in message
        assert "ranks_per_partition=1" in message


# ---- tuning --------------------------------------------------------------------------------------


def test_the_displacement_of_a_mixture_can_be_tuned():
    component = pytest.importorskip("hoomd.manymove")
    simulation, mc = make(SYSTEMS["mixture of spheres"], "component", d=0.02)
    tuner = component.tune.MoveSize.scale_solver(
        hoomd.trigger.Periodic(5), ["d"], 0.4, max_translation_move=1.0, tol=0.02
    )
    simulation.operations.tuners.append(tuner)
    simulation.run(200)
    assert tuner.tuned
    assert 0.02 < mc.d["A"] == mc.d["B"] < mc.max_d
    assert mc.max_d == pytest.approx(7 * 1.45 / 7)
