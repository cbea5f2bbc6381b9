"""hoomd.manymove.update.QuickCompress: from dilute random particles to a target box."""

import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.manymove.pytest.conftest import edges_of, integrator_of, nearest_image
from hoomd.manymove.update import QuickCompress

DIAMETERS = {"A": 1.0, "B": 1.4}


def box_of(edges):
    return hoomd.Box(*edges)


def random_points(N, edges, apart, seed=3):
    """Random sequential addition."""
    rng = np.random.default_rng(seed)
    found = np.empty((0, len(edges)))
    while len(found) < N:
        one = (rng.random(len(edges)) - 0.5) * edges
        if (np.linalg.norm(nearest_image(found - one, edges), axis=1) > apart).all():
            found = np.vstack((found, one))
    return found


@pytest.fixture
def dilute(simulation_of):
    """Make a simulation of random particles at packing fraction 0.1 and its integrator."""

    def make(dimensions=2, types="A", N=120, ratios=(1.0, 1.0, 1.0), d=0.2, **settings):
        sizes = np.array([DIAMETERS[name] for name in types])[np.arange(N) % len(types)]
        volume = math.pi / (2 * dimensions) * (sizes**dimensions).sum() / 0.1
        edges = np.array(ratios[:dimensions])
        edges *= (volume / edges.prod()) ** (1 / dimensions)
        mc = integrator_of(dimensions)(default_d=d, **settings)
        points = random_points(N, edges, sizes.max())
        return simulation_of(mc, points, edges, types, DIAMETERS), mc

    return make


def add(simulation, target, trigger=2, **settings):
    compress = QuickCompress(trigger, target, **settings)
    simulation.operations.updaters.append(compress)
    return compress


def target_of(simulation, packing_fraction):
    """The edges at this packing fraction; that of the start is 0.1."""
    edges = edges_of(simulation)
    return edges * (0.1 / packing_fraction) ** (1 / len(edges))


def run_until_complete(simulation, compress, most=4000, check=lambda: None):
    while not compress.complete:
        simulation.run(20)
        check()
        assert simulation.timestep < most


@pytest.mark.parametrize(
    ("dimensions", "types", "packing_fraction"),
    [(2, "A", 0.7), (2, "AB", 0.7), (3, "A", 0.5), (3, "AB", 0.5)],
)
def test_dilute_particles_reach_the_target_without_overlaps(
    dilute, dimensions, types, packing_fraction
):
    simulation, mc = dilute(dimensions, types)
    target = target_of(simulation, packing_fraction)
    compress = add(simulation, box_of(target))
    assert not compress.complete
    steps = [edges_of(simulation)]

    def check():
        steps.append(edges_of(simulation))
        assert mc.overlaps == 0

    run_until_complete(simulation, compress, check=check)
    assert (np.diff(steps, axis=0) <= 0).all() and len(steps) > 3
    np.testing.assert_array_equal(edges_of(simulation), target)
    assert mc.packing_fraction == pytest.approx(packing_fraction, rel=1e-12)
    snapshot = simulation.state.get_snapshot()
    r = snapshot.particles.position[:, :dimensions]
    sizes = np.array([DIAMETERS[types[k]] for k in snapshot.particles.typeid])
    i, j = np.triu_indices(len(r), 1)
    distances = np.linalg.norm(nearest_image(r[i] - r[j], target), axis=1)
    assert (distances > (sizes[i] + sizes[j]) / 2 * (1 - 1e-6)).all()
    simulation.run(20)  # and stays there
    np.testing.assert_array_equal(edges_of(simulation), target)
    assert compress.complete and mc.translate_moves[0] > 0


def test_the_trajectory_is_a_function_of_the_seed_and_the_parameters(dilute):
    found = []
    for sites in (1, 1, 2):
        simulation, mc = dilute(threads=sites)
        run_until_complete(simulation, add(simulation, box_of(target_of(simulation, 0.65))))
        found.append((simulation.timestep, mc.state_hash))
    assert found[0] == found[1] == found[2]
    simulation, mc = dilute()
    run_until_complete(
        simulation, add(simulation, box_of(target_of(simulation, 0.65)), min_scale=0.98)
    )
    assert (simulation.timestep, mc.state_hash) != found[0]


def test_every_edge_goes_to_its_target_and_no_farther(dilute):
    simulation, mc = dilute(ratios=(1.0, 2.0))
    start = edges_of(simulation)
    target = np.array([start[0] * 1.2, start[1] * 0.4])
    compress = add(simulation, box_of(target), trigger=1)
    simulation.run(1)
    np.testing.assert_allclose(edges_of(simulation), [start[0] / 0.99, start[1] * 0.99])
    run_until_complete(simulation, compress)
    np.testing.assert_array_equal(edges_of(simulation), target)
    assert mc.overlaps == 0


def test_fewer_overlaps_at_a_time_take_more_steps(dilute):
    taken = []
    for most in (0.25, 0.0):
        simulation, _ = dilute()
        compress = add(
            simulation,
            box_of(target_of(simulation, 0.5)),
            trigger=1,
            max_overlaps_per_particle=most,
        )
        while not compress.complete:
            simulation.run(1)
        taken.append(simulation.timestep)
    assert taken[1] > 1.5 * taken[0]


def test_a_refused_step_changes_nothing(dilute):
    simulation, mc = dilute()
    simulation.run(5)
    before, edges, state = mc.state_hash, edges_of(simulation), simulation.state.get_snapshot()
    assert not mc._cpp_obj.resize([*edges * 0.6, 1.0], 0.4, 0.0)
    assert mc.state_hash == before
    np.testing.assert_array_equal(edges_of(simulation), edges)
    after = simulation.state.get_snapshot().particles
    np.testing.assert_array_equal(after.position, state.particles.position)
    np.testing.assert_array_equal(after.image, state.particles.image)
    assert mc._cpp_obj.resize([*edges * 0.99, 1.0], 0.011, 1.0)
    assert mc.state_hash != before and mc.overlaps == 0


def test_a_target_box_may_change_with_time(dilute):
    simulation, mc = dilute()
    box = simulation.state.box
    ramp = hoomd.variant.box.InverseVolumeRamp(box, box.volume / 4, 0, 200)
    compress = add(simulation, ramp, trigger=1)
    simulation.run(100)
    expected = hoomd.Box(*np.asarray(ramp(99))[:2]).volume
    assert simulation.state.box.volume == pytest.approx(expected, rel=0.05)
    while simulation.timestep <= 200 or not compress.complete:
        simulation.run(50)
    assert simulation.state.box.volume == pytest.approx(box.volume / 4, rel=1e-12)
    assert mc.packing_fraction == pytest.approx(0.4, rel=1e-12)


def test_a_tuner_of_d_works_at_the_same_time(dilute):
    simulation, mc = dilute()
    tune = hoomd.manymove.tune.MoveSize.scale_solver(
        trigger=5, moves=["d"], target=0.05, max_scale=4.0
    )
    simulation.operations.tuners.append(tune)
    simulation.run(200)
    assert mc.d["A"] > 1  # wider than cells of smaller boxes may be
    tune.target = 0.3
    compress = add(simulation, box_of(target_of(simulation, 0.7)))
    simulation.run(10)
    assert mc.d["A"] <= 1
    run_until_complete(simulation, compress)
    simulation.run(200)
    assert mc.d["A"] < 0.3 and mc.overlaps == 0


def test_a_target_that_is_not_reached_ends_with_an_error(dilute):
    """Disks of two sizes do not fill 94 % of a plane."""
    simulation, mc = dilute(types="AB", N=40)
    add(simulation, box_of(target_of(simulation, 0.94)), trigger=1)
    with pytest.raises(RuntimeError, match=r"cannot reach target_box: at packing fraction 0\.[78]"):
        simulation.run(20_000)
    simulation.operations.updaters.clear()
    simulation.run(10)
    assert mc.overlaps == 0 and mc.packing_fraction < 0.92


@pytest.mark.parametrize(("dimensions", "most"), [(2, "0.9069"), (3, "0.74048")])
def test_a_target_beyond_the_densest_packing_is_refused(dilute, dimensions, most):
    simulation, _ = dilute(dimensions)
    add(simulation, box_of(target_of(simulation, float(most) + 0.01)), trigger=1)
    with pytest.raises(ValueError, match=f"that of the densest packing is {most}"):
        simulation.run(1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(allow_unsafe_resize=True), "allow_unsafe_resize must be False, got True: overlaps"),
        (dict(max_overlaps_per_particle=-1), "must be finite and not negative, got -1"),
        (dict(min_scale=1.0), "min_scale must be from 0.5 to below 1, got 1"),
        (dict(min_scale=0.3), "min_scale must be from 0.5 to below 1, got 0.3"),
    ],
)
def test_arguments_without_a_meaning_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        QuickCompress(1, hoomd.Box.square(10), **settings)
    compress = QuickCompress(1, hoomd.Box.square(10))
    for name, value in settings.items():
        with pytest.raises(ValueError, match=message):
            setattr(compress, name, value)


def test_attributes_are_the_arguments():
    compress = QuickCompress(hoomd.trigger.Periodic(5), hoomd.Box.square(10), 0.1, 0.9, False)
    assert compress.trigger == hoomd.trigger.Periodic(5)
    assert compress.target_box == hoomd.variant.box.Constant(hoomd.Box.square(10))
    assert (compress.max_overlaps_per_particle, compress.min_scale) == (0.1, 0.9)
    compress.target_box = hoomd.Box.square(9)
    compress.instance = 0
    with pytest.raises(ValueError, match="instance must be 0, got 1: no random numbers"):
        compress.instance = 1
    with pytest.raises(AttributeError, match="min_scal; the nearest name is min_scale"):
        compress.min_scal = 0.9
    with pytest.raises(AttributeError, match="complete"):
        compress.complete = True


def test_what_the_integrator_cannot_follow_is_refused(dilute):
    simulation, mc = dilute()
    compress = add(simulation, hoomd.Box(Lx=12, Ly=12, xy=0.1), trigger=1)
    with pytest.raises(ValueError, match="needs a rectangular target_box without tilts"):
        simulation.run(1)
    compress.target_box = hoomd.Box.square(12)
    mc.box_moves = {"betaP": 1.0}
    with pytest.raises(ValueError, match="HardDisks has box_moves: set them to None to compress"):
        simulation.run(1)
    mc.box_moves = None
    run_until_complete(simulation, compress)


def test_another_integrator_is_refused(dilute):
    simulation, _ = dilute()
    simulation.operations.integrator = None
    add(simulation, hoomd.Box.square(12))
    with pytest.raises(RuntimeError, match="HardDisks and HardSpheres only, not NoneType"):
        simulation.run(1)
