# SPDX-License-Identifier: BSD-3-Clause
"""hoomd.manymove.update.MuVT: the trajectory of the engine, exact results, HPMC, and what
HOOMD-blue has of particles that come and go."""

import inspect
import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.manymove.pytest.conftest import SEED, assert_same, integrator_of, lattice
from hoomd.manymove.pytest.test_physics import blocked, hpmc

DIAMETERS = {"A": 1.0, "B": 0.8, "C": 0.8}
needs_hpmc = pytest.mark.skipif(hpmc is None, reason="HOOMD-blue without HPMC")


@pytest.fixture
def start(simulation_of):
    """Make a simulation of particles on a lattice, of alternating types, and its operations."""

    def make(dimensions=3, types="A", per_edge=3, fugacity=None, make_muvt=None, **settings):
        mc = integrator_of(dimensions)(default_d=0.3, **{"sweeps_per_step": 8, **settings})
        sites, edges = lattice(dimensions, per_edge, 1.3), (5.2, 5.4, 5.3)[:dimensions]
        simulation = simulation_of(mc, sites, edges, types, DIAMETERS)
        if fugacity is None:
            return simulation, mc, None
        muvt = (make_muvt or hoomd.manymove.update.MuVT)(transfer_types=[*fugacity])
        for name, value in fugacity.items():
            muvt.fugacity[name] = value
        simulation.operations.updaters.append(muvt)
        return simulation, mc, muvt

    return make


def particles_of(simulation):
    return simulation.state.get_snapshot().particles


def engine_of(simulation, types, fugacity, attempts=4):
    """The engine of the package manymove for the present state."""
    manymove = pytest.importorskip("manymove")
    data = simulation.state.get_snapshot()
    flat = simulation.state.box.is2D
    D = 2 if flat else 3
    sizes = [DIAMETERS[name] for name in types]
    contacts = np.add.outer(sizes, sizes) / 2
    values = [fugacity.get(name, 0.0) for name in types]
    return (manymove.HardDisks if flat else manymove.HardSpheres)(
        np.ascontiguousarray(data.particles.position[:, :D], dtype=np.float64),
        data.configuration.box[:D],
        sizes[0] if len(types) == 1 else manymove.Mixture(data.particles.typeid, contacts),
        max_displacement=0.3,
        grid=manymove.Grid(moves_per_cell=4, rounds=4),
        seed=SEED,
        fugacity=manymove.GrandCanonical(values[0] if len(types) == 1 else values, attempts),
        device="cpu",
    )


@pytest.mark.parametrize(
    ("dimensions", "types", "per_edge", "fugacity"),
    [
        (3, "A", 3, {"A": 0.3}),
        (3, "A", 0, {"A": 0.3}),
        (2, "A", 3, {"A": 0.6}),
        (3, "ABC", 3, {"A": 0.2, "C": 0.6}),
        (2, "AB", 3, {"B": 1.1}),
        (3, "BC", 3, {"B": 0.4}),
    ],
)
def test_the_trajectory_is_that_of_manymove(start, dimensions, types, per_edge, fugacity):
    """Bit for bit, with all counts. The tags are the indices of the engine."""
    simulation, mc, muvt = start(dimensions, types, per_edge, fugacity)
    alone = engine_of(simulation, types, fugacity)
    numbers = set()
    for _ in range(12):
        simulation.run(2)
        alone.run_cycles(4)
        particles = particles_of(simulation)
        numbers.add(alone.N)
        assert mc.state_hash == alone.state_hash
        assert_same(particles.position[:, :dimensions], alone.positions)
        if len(types) > 1:
            assert (particles.typeid == alone.types).all()
        each = np.bincount(particles.typeid, minlength=len(types))
        assert muvt.N == dict(zip(types, each, strict=True))
    assert len(numbers) > 3
    simulation.run(3)
    before = alone.insertion_trials, alone.deletion_trials
    alone.run_cycles(6)
    assert sum(muvt.insert_moves) == alone.insertion_trials - before[0]
    assert sum(muvt.remove_moves) == alone.deletion_trials - before[1]
    assert muvt.insert_moves[0] > 0 and muvt.remove_moves[0] > 0
    assert muvt.exchange_moves == muvt.volume_moves == (0, 0)
    assert mc.overlaps == 0


def test_attempts_and_triggers(start):
    """Particles come and go in triggered steps only, with the fugacity of the step."""
    simulation, mc, muvt = start(fugacity={"A": 0.3})
    muvt.attempts = 7
    alone = engine_of(simulation, "A", {"A": 0.3}, attempts=7)
    simulation.run(5)
    alone.run_cycles(10)
    assert mc.state_hash == alone.state_hash
    muvt.trigger = hoomd.trigger.Periodic(3)
    muvt.fugacity["A"] = hoomd.variant.Ramp(0.3, 3.0, 5, 60)
    numbers = [simulation.state.N_particles]
    for _ in range(60):
        simulation.run(1)
        numbers.append(simulation.state.N_particles)
        trials = sum(muvt.insert_moves)
        assert (trials > 0) == ((simulation.timestep - 1) % 3 == 0)
        assert trials > 0 or numbers[-1] == numbers[-2]
    assert np.mean(numbers[-10:]) > np.mean(numbers[:10]) + 5
    assert mc.overlaps == 0


def test_the_number_is_constant_without_the_updater(start):
    simulation, mc, muvt = start(fugacity={"A": 0.5})
    simulation.run(10)
    number = simulation.state.N_particles
    assert number != 27
    simulation.operations.updaters.remove(muvt)
    simulation.run(10)
    assert simulation.state.N_particles == number
    assert sum(mc.translate_moves) > 0
    simulation.operations.updaters.append(muvt)
    simulation.run(20)
    assert simulation.state.N_particles != number


@pytest.mark.parametrize("fugacity", [0.4, 2.5])
def test_a_cavity_for_one_particle_has_its_exact_occupation(start, fugacity):
    """P(1) = z V / (1 + z V), with the volume V for the center; the mean of blocks is within five
    standard errors, which are below 0.02."""
    if hpmc is None:
        pytest.skip("walls are objects of HPMC")
    simulation, mc, _muvt = start(per_edge=1, fugacity={"A": fugacity})
    wall = hoomd.wall.Sphere(radius=0.98, origin=(0.3, -0.2, 0.1))
    mc.external_potential = hpmc.external.wall.WallPotential([wall])
    numbers = []
    for _ in range(4000):
        simulation.run(2)
        numbers.append(simulation.state.N_particles)
    assert set(numbers) == {0, 1}
    zV = fugacity * 4 / 3 * math.pi * 0.48**3
    mean, error = blocked(np.array(numbers, dtype=float), 32)
    assert error < 0.02
    assert abs(mean - zV / (1 + zV)) < 5 * error


def test_a_dilute_gas_has_the_density_of_its_fugacity(start):
    """Except for its virial coefficients, of which three are enough at this density: ln(rho / z) =
    -2 B2 rho - 3/2 B3 rho^2, with B3 = 5/8 B2^2."""
    simulation, mc, _muvt = start(per_edge=3, fugacity={"A": 0.3})
    mc.shape["A"] = dict(diameter=0.5)
    mc.d["A"] = 0.4
    numbers = []
    for _ in range(3000):
        simulation.run(1)
        numbers.append(simulation.state.N_particles)
    volume = simulation.state.box.volume
    b2 = 2 / 3 * math.pi * 0.5**3
    z, density = 0.3, 0.3
    for _ in range(100):
        density = z * math.exp(-2 * b2 * density - 1.5 * 5 / 8 * (b2 * density) ** 2)
    mean, error = blocked(np.array(numbers, dtype=float), 32)
    assert error < 0.01 * mean
    assert abs(mean - density * volume) < 5 * error


@needs_hpmc
@pytest.mark.skipif(not hasattr(getattr(hpmc, "pair", None), "Step"), reason="no hpmc.pair.Step")
def test_the_mean_numbers_are_those_of_hpmc(start):
    """With walls and steps, of a type that is transferred beside one that is not: the same script
    for both, within five joint standard errors, which are below 4 % of the mean."""
    found = []
    for ours in (True, False):
        if ours:
            update = hoomd.manymove.update
        else:
            update = hpmc.update
        simulation, mc, muvt = start(3, "BC", 3, {"B": 0.35}, update.MuVT)
        if not ours:
            mc = hpmc.integrate.Sphere(default_d=0.3, nselect=1)
            for name in "BC":
                mc.shape[name] = dict(diameter=DIAMETERS[name])
            simulation.operations.integrator = mc
        well = hpmc.pair.Step()
        well.params[("B", "B")] = dict(epsilon=[-0.4], r=[1.2])
        well.params[("B", "C")] = dict(epsilon=[-0.7, 0.3], r=[1.0, 1.3])
        well.params[("C", "C")] = None
        mc.pair_potentials = [well]
        walls = [
            hoomd.wall.Plane((0, 0, -1.95), (0, 0, 1)),
            hoomd.wall.Plane((0, 0, 1.95), (0, 0, -1)),
        ]
        mc.external_potential = hpmc.external.wall.WallPotential(walls)
        each = 2 if ours else 200  # steps
        simulation.run(100 * each)
        numbers = []
        for _ in range(1500):
            simulation.run(each)
            number = muvt.N
            assert number["C"] == 13
            numbers.append(number["B"])
        assert muvt.insert_moves[0] > 0
        found.append(blocked(np.array(numbers, dtype=float), 30))
    (mean, own), (theirs, other) = found
    assert math.hypot(own, other) < 0.04 * theirs
    assert abs(mean - theirs) < 5 * math.hypot(own, other)


def test_properties_of_particles(start):
    """Those that stay keep theirs, and new ones have the defaults of HOOMD-blue."""
    simulation, *_ = start(types="AB", fugacity={"A": 0.4})
    with simulation.state.cpu_local_snapshot as data:
        of_a = np.array(data.particles.typeid) == 0
        data.particles.charge[:] = np.where(of_a, -1.0, 1.0 + np.array(data.particles.tag))
        data.particles.mass[:] = np.where(of_a, 3.0, 2.0)
        data.particles.diameter[:] = np.where(of_a, 7.0, 5.0)
    charges = np.sort(1.0 + np.arange(27)[1::2])
    fewest = most = 27
    for _ in range(40):
        simulation.run(1)
        data = particles_of(simulation)
        fewest, most = min(fewest, data.N), max(most, data.N)
        of_b = data.typeid == 1
        assert (np.sort(data.charge[of_b]) == charges).all()
        assert (data.mass[of_b] == 2).all() and (data.diameter[of_b] == 5).all()
        new = ~of_b & (data.charge == 0)
        assert (data.mass[new] == 1).all() and (data.diameter[new] == 1).all()
        assert (data.body[new] == -1).all() and (data.velocity[new] == 0).all()
        assert (data.orientation[new] == [1, 0, 0, 0]).all()
        old = ~of_b & ~new
        assert (data.charge[old] == -1).all() and (data.mass[old] == 3).all()
        assert np.abs(data.image[new]).max(initial=0) <= 2
        with simulation.state.cpu_local_snapshot as local:
            tags = np.array(local.particles.tag)
            assert (np.sort(tags) == np.arange(data.N)).all()
            assert (np.array(local.particles.rtag)[tags] == np.arange(data.N)).all()
    assert fewest < 27 and new.any()


def test_images_follow_the_particles_that_stay(start):
    """Particles of constant number are followed by a charge of their own."""
    simulation, *_ = start(types="AB", fugacity={"A": 0.5}, sweeps_per_step=1)
    box = np.array([5.2, 5.4, 5.3])
    with simulation.state.cpu_local_snapshot as data:
        data.particles.charge[:] = data.particles.tag
    before = None
    for _ in range(150):
        simulation.run(1)
        data = particles_of(simulation)
        of_b = np.flatnonzero(data.typeid == 1)
        order = of_b[np.argsort(data.charge[of_b])]
        way = data.position[order] + data.image[order] * box
        # Between two shifts of the grid a particle stays in its cell.
        assert before is None or np.abs(way - before).max() < 1.4
        before = way
    assert np.abs(data.image[of_b]).max() > 0


@pytest.mark.parametrize(("types", "dynamic"), [("A", None), ("AB", ["property", "attribute"])])
def test_files_and_a_restart(start, simulation_factory, device, tmp_path, types, dynamic):
    """The frames have the numbers of their time, and a run continues from the last one."""
    gsd = pytest.importorskip("gsd.hoomd")
    simulation, mc, muvt = start(types=types, fugacity={"A": 0.3})
    logger = hoomd.logging.Logger(["scalar", "sequence"])
    logger.add(muvt, quantities=["insert_moves", "remove_moves"])
    logger.add(mc, quantities=["overlaps"])
    path = tmp_path / "open.gsd"
    writer = hoomd.write.GSD(filename=path, trigger=1, mode="wb", dynamic=dynamic, logger=logger)
    simulation.operations.writers.append(writer)
    numbers = []
    for _ in range(12):
        simulation.run(1)
        numbers.append(simulation.state.N_particles)
    last = particles_of(simulation)
    writer.flush()
    simulation.operations.writers.clear()
    with gsd.open(path) as frames:
        assert [frame.particles.N for frame in frames] == numbers
        assert frames[-1].log["manymove/update/MuVT/insert_moves"].sum() > 0
        final = frames[-1]
    assert len({*numbers}) > 3
    again = simulation_factory()
    again.create_state_from_gsd(path)
    data = particles_of(again)
    np.testing.assert_allclose(data.position, last.position, atol=1e-6)
    assert (data.typeid == last.typeid).all() and final.particles.N == data.N
    other = hoomd.manymove.HardSpheres(default_d=0.3, sweeps_per_step=8)
    for name in types:
        other.shape[name] = dict(diameter=DIAMETERS[name])
    again.operations.integrator = other
    restarted = hoomd.manymove.update.MuVT(["A"])
    restarted.fugacity["A"] = 0.3
    again.operations.updaters.append(restarted)
    again.run(20)
    assert again.state.N_particles != data.N and other.overlaps == 0
    assert restarted.N.get("B", 13) == 13


def test_logged_quantities_of_an_empty_box(start):
    """`logger.add(mc)` works when all particles have gone, also in a mixture."""
    for types in ("A", "AB"):
        simulation, mc, muvt = start(types=types, per_edge=1, fugacity={"A": 1e-6})
        logger = hoomd.logging.Logger(["scalar", "sequence", "object"])
        logger.add(mc)
        logger.add(muvt)
        sdf = hoomd.manymove.compute.SDF(xmax=0.02, dx=1e-3)
        simulation.operations.computes.append(sdf)
        logger.add(sdf)
        while simulation.state.N_particles:
            simulation.run(1)
        found = logger.log()["manymove"]["hard_spheres"]["HardSpheres"]
        for name in ("pressure", "betaP", "packing_fraction", "overlaps", "pair_energy"):
            assert found[name][0] == 0
        assert logger.log()["manymove"]["compute"]["SDF"]["betaP"][0] == 0
        assert logger.log()["manymove"]["update"]["MuVT"]["N"][0] == dict.fromkeys(types, 0)
        muvt.fugacity["A"] = 0.3
        simulation.run(10)
        assert simulation.state.N_particles > 0 and mc.betaP > 0


def test_the_pressure_of_a_mixture_is_that_without_the_updater(start):
    simulation, mc, muvt = start(types="AB", per_edge=4, fugacity={"A": 1.0})
    simulation.run(20)
    before = mc.pressure
    simulation.operations.updaters.remove(muvt)
    simulation.run(0)
    assert before == pytest.approx(mc.pressure, rel=1e-9)


def test_the_packing_fraction_is_that_of_the_present_particles(start):
    simulation, mc, muvt = start(types="AB", fugacity={"A": 0.5})
    for _ in range(5):
        simulation.run(3)
        number = muvt.N
        covered = sum(number[name] * math.pi / 6 * DIAMETERS[name] ** 3 for name in "AB")
        assert mc.packing_fraction == pytest.approx(covered / simulation.state.box.volume)


def test_other_operations(start):
    """Positions that others change are read, with the present number of particles; so is a new
    displacement of the tuner, or a new seed."""
    simulation, mc, _muvt = start(fugacity={"A": 0.3})
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(2, ["d"], 0.3, max_translation_move=0.9)
    simulation.operations.tuners.append(tuner)
    simulation.run(20)
    assert mc.d["A"] != 0.3
    simulation.operations.tuners.remove(tuner)
    number = simulation.state.N_particles
    with simulation.state.cpu_local_snapshot as data:
        data.particles.position[0, 0] += 1e-7
    simulation.run(0)
    assert simulation.state.N_particles == number
    simulation.run(20)
    assert mc.overlaps == 0 and simulation.state.N_particles != number
    compress = hoomd.manymove.update.QuickCompress(5, hoomd.Box(5.0, 5.2, 5.1))
    simulation.operations.updaters.append(compress)
    while not compress.complete:
        simulation.run(5)
    assert mc.overlaps == 0
    assert simulation.state.box.Lx == pytest.approx(5.0)


@needs_hpmc
def test_the_arguments_are_those_of_hpmc():
    ours, theirs = (
        [*inspect.signature(kind).parameters.values()]
        for kind in (hoomd.manymove.update.MuVT, hpmc.update.MuVT)
    )
    assert [(each.name, each.default) for each in ours[: len(theirs)]] == [
        (each.name, each.default) for each in theirs
    ]
    loggables = {*hpmc.update.MuVT._export_dict} - {*hoomd.manymove.update.MuVT._export_dict}
    assert not loggables


def test_arguments_can_be_assigned(start):
    simulation, _mc, muvt = start(types="AB", fugacity={"A": 0.3})
    for _ in range(2):  # before and after the updater is attached
        muvt.transfer_types = ["A", "B"]
        muvt.max_volume_rescale = 0.2
        muvt.volume_move_probability = 0.3
        muvt.ngibbs = muvt.ntrial = 1
        muvt.attempts = 3
        muvt.trigger = hoomd.trigger.Periodic(2)
        muvt.fugacity = dict(A=0.2, B=hoomd.variant.Ramp(0.1, 0.2, 0, 10))
        assert muvt.transfer_types == ("A", "B")
        assert (muvt.max_volume_rescale, muvt.volume_move_probability) == (0.2, 0.3)
        assert muvt.fugacity["A"](0) == 0.2 and muvt.attempts == 3
        assert (muvt.N is None) == (not muvt._attached)
        simulation.run(2)
    assert sum(muvt.insert_moves) > 0
    for name, value, message in (
        ("ngibbs", 2, "ngibbs must be 1, got 2"),
        ("ntrial", 2, "ntrial must be 1, got 2"),
        ("transfer_types", [], "transfer_types must have a type"),
        ("transfer_types", ["A", "A"], "each once"),
        ("transfer_types", "A", "must be a list of names"),
        ("transfer_types", ["X"], "transfer_types has 'X', but the types are"),
        ("attempts", 0, "attempts must be from 1 to 1000"),
        ("fugacities", 1, "has no attribute fugacities; the nearest name is fugacity"),
        ("insert_moves", 1, "is a result"),
    ):
        with pytest.raises((ValueError, TypeError, AttributeError), match=message):
            setattr(muvt, name, value)
    with pytest.raises(ValueError, match="ngibbs must be 1, got 2"):
        hoomd.manymove.update.MuVT(["A"], ngibbs=2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"box_moves": {"betaP": 1.0}}, "update.MuVT cannot be combined with constant pressure"),
        ({"swap": {"rounds": 1}}, "update.MuVT cannot be combined with swap moves"),
        ({"d": 0.0}, "update.MuVT cannot be combined with pinned particles"),
    ],
)
def test_what_the_engine_cannot_do_is_refused_by_name(start, settings, message):
    pinned = settings.pop("d", None)
    simulation, mc, _muvt = start(types="AB", fugacity={"A": 0.3}, **settings)
    if pinned is not None:
        mc.d["B"] = pinned
    with pytest.raises(ValueError, match=message):
        simulation.run(1)


@needs_hpmc
def test_fields_of_single_particles_are_refused(start):
    simulation, mc, _muvt = start(types="AB", fugacity={"A": 0.3})
    where = particles_of(simulation).position
    springs = hpmc.external.field.Harmonic(
        reference_positions=where,
        reference_orientations=[[1, 0, 0, 0]] * len(where),
        k_translational=1.0,
        k_rotational=0.0,
        symmetries=[[1, 0, 0, 0]],
    )
    mc.external_potential = springs
    with pytest.raises(ValueError, match=r"update\.MuVT cannot be combined with springs"):
        simulation.run(1)
    mc.external_potential = hpmc.external.wall.WallPotential([hoomd.wall.Sphere(radius=2.6)])
    with pytest.raises(ValueError, match="potentials that differ between particle types"):
        simulation.run(1)


def test_a_fugacity_that_is_not_positive_is_refused_in_a_triggered_step(start):
    simulation, _mc, muvt = start(types="AB", fugacity={"A": 0.3, "B": 0.0})
    simulation.run(0)
    with pytest.raises(ValueError, match=r'fugacity\["B"\] must be positive.*0 at step 0'):
        simulation.run(1)
    muvt.transfer_types = ["A"]
    simulation.run(1)
    muvt.fugacity["A"] = hoomd.variant.Ramp(1.0, -1.0, 0, 10)
    with pytest.raises(ValueError, match=r'fugacity\["A"\] must be positive'):
        simulation.run(12)
    muvt.fugacity["A"] = 0.3
    simulation.run(1)


def test_two_updaters_are_refused(start):
    simulation, *_ = start(fugacity={"A": 0.3})
    simulation.operations.updaters.append(hoomd.manymove.update.MuVT(["A"]))
    with pytest.raises(RuntimeError, match="has 2 updaters"):
        simulation.run(1)


@needs_hpmc
def test_an_integrator_of_hpmc_is_refused(start):
    for steps, message in (
        (0, "HardDisks and HardSpheres only, not Sphere"),
        (2, "has been replaced by one that is not"),
    ):
        simulation, *_ = start(fugacity={"A": 0.3})
        if steps:
            simulation.run(steps)
        other = hpmc.integrate.Sphere(default_d=0.1)
        other.shape["A"] = dict(diameter=1.0)
        simulation.operations.integrator = other
        with pytest.raises(RuntimeError, match=message):
            simulation.run(3)


@needs_hpmc
def test_another_integrator_of_the_component_takes_over(start):
    simulation, _mc, muvt = start(fugacity={"A": 0.3})
    simulation.run(5)
    other = hoomd.manymove.HardSpheres(default_d=0.2, sweeps_per_step=4)
    other.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = other
    number = simulation.state.N_particles
    simulation.run(20)
    assert simulation.state.N_particles != number and muvt.insert_moves[0] > 0
    assert sum(other.translate_moves) > 0
