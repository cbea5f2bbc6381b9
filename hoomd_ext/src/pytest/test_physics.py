"""The tuner and the physics of hoomd.manymove.HardDisks."""

import inspect
import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.manymove.pytest.conftest import (
    hexagonal,
    nearest_image,
)

try:
    import hoomd.hpmc as hpmc
except ImportError:
    hpmc = None


# ---- tuning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["scale_solver", "secant_solver"])
@pytest.mark.parametrize("target", [0.3, 0.6])
def test_the_tuner_reaches_an_acceptance(disks, solver, target):
    simulation, mc = disks(*hexagonal(20, 20, 0.65), d=0.05)
    tuner = getattr(hoomd.manymove.tune.MoveSize, solver)(
        hoomd.trigger.Periodic(10), ["d"], target, max_translation_move=0.8, tol=0.02
    )
    simulation.operations.tuners.append(tuner)
    simulation.run(400)
    assert tuner.tuned
    assert 0.05 < mc.d["A"] < 0.8
    simulation.operations.tuners.remove(tuner)
    simulation.run(50)
    accepted, rejected = mc.translate_moves
    assert accepted / (accepted + rejected) == pytest.approx(target, abs=0.04)


@pytest.mark.parametrize("solver", ["scale_solver", "secant_solver"])
def test_the_tuner_stops_at_the_width_of_a_cell(disks, solver):
    """Few moves collide in a dilute system, however large they are."""
    simulation, mc = disks(*hexagonal(10, 10, 0.05), d=0.4)
    tuner = getattr(hoomd.manymove.tune.MoveSize, solver)(
        hoomd.trigger.Periodic(2), ["d"], 0.1, max_translation_move=20.0
    )
    simulation.operations.tuners.append(tuner)
    simulation.run(40)
    assert mc.d["A"] == mc.max_d
    assert not tuner.tuned


def test_the_tuner_sets_all_types(disks):
    simulation, mc = disks(*hexagonal(8, 8, 0.6), types="AB")
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(
        2, ["d"], 0.3, types=["B", "A"], max_translation_move=0.8
    )
    simulation.operations.tuners.append(tuner)
    simulation.run(20)
    assert mc.d["A"] == mc.d["B"] != 0.16


@pytest.mark.skipif(hpmc is None, reason="HOOMD-blue without HPMC")
@pytest.mark.parametrize("name", ["", "scale_solver", "secant_solver"])
def test_the_tuner_is_made_as_that_of_hpmc(name):
    mine, theirs = hoomd.manymove.tune.MoveSize, hpmc.tune.MoveSize
    # The class itself has the arguments of another one after the trigger.
    found = inspect.signature(getattr(mine, name) if name else mine).parameters.values()
    wanted = inspect.signature(getattr(theirs, name) if name else theirs._internal_class)
    every = [(p.name, p.default) for p in wanted.parameters.values()]
    assert [(p.name, p.default) for p in found][not name :] == every


def test_settings_of_the_tuner_act_on_assignment(disks):
    simulation, mc = disks(*hexagonal(20, 20, 0.65), d=0.05)
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(10, ["d"], 0.3, tol=0.02)
    simulation.operations.tuners.append(tuner)
    tuner.max_translation_move = 0.06
    simulation.run(20)
    assert mc.d["A"] == 0.06
    tuner.target, tuner.max_translation_move = 0.6, None
    simulation.run(400)
    assert tuner.tuned and tuner.target == 0.6 and mc.d["A"] > 0.06
    with pytest.raises(AttributeError, match="no attribute targt; the nearest name is target"):
        tuner.targt = 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"moves": ["a"]}, r"moves must be \['d'\], got \['a'\]: .* no orientation"),
        ({"moves": ["a", "d"]}, r"moves must be \['d'\]"),
        ({"moves": "d"}, r"moves must be \['d'\], got 'd'"),
        ({"max_rotation_move": 0.2}, "max_rotation_move must be None, got 0.2: .* no orientation"),
        ({"max_translation_move": 0}, "max_translation_move must be positive and finite, got 0"),
        ({"target": 2}, "target must be between 0 and 1, got 2"),
    ],
)
def test_settings_that_the_tuner_lacks_are_refused(settings, message):
    given = {"trigger": 10, "moves": ["d"], "target": 0.3, "types": None}
    with pytest.raises(ValueError, match=message):
        hoomd.manymove.tune.MoveSize.scale_solver(**{**given, **settings})
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(**given)
    for name, value in settings.items():
        with pytest.raises(ValueError, match=message):
            setattr(tuner, name, value)


def test_the_tuner_refuses_some_of_the_types(disks):
    simulation, _ = disks(*hexagonal(8, 8, 0.6), types="AB")
    tuner = hoomd.manymove.tune.MoveSize.scale_solver(2, ["d"], 0.3, types=["A"])
    simulation.operations.tuners.append(tuner)
    with pytest.raises(RuntimeError, match=r"the one d of all types, \['A', 'B'\], but types"):
        simulation.run(0)


def test_the_tuner_refuses(disks):
    for target in (0, 1, -0.5, math.nan):
        with pytest.raises(ValueError, match="target"):
            hoomd.manymove.tune.MoveSize.scale_solver(10, ["d"], target)
    simulation, _ = disks(*hexagonal(8, 8, 0.5))
    simulation.operations.integrator = None
    simulation.operations.tuners.append(hoomd.manymove.tune.MoveSize.scale_solver(10, ["d"], 0.3))
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


def assert_pressure_of_hpmc(simulation, simulation_factory, d, steps, precision):
    """From the present state on, within six joint standard errors, which are below a share
    `precision` of the pressure. d: of HPMC's trial moves."""
    mc = simulation.operations.integrator
    other = simulation_factory(simulation.state.get_snapshot())
    ours, our_error = blocked(recorded(simulation, lambda: mc.betaP, 1, steps))
    sphere = hpmc.integrate.Sphere(default_d=d, nselect=4)
    for name in other.state.particle_types:
        sphere.shape[name] = dict(diameter=mc.shape[name]["diameter"])
    other.operations.integrator = sphere
    sdf = hpmc.compute.SDF(xmax=0.02, dx=1e-4)
    other.operations.computes.append(sdf)
    theirs, their_error = blocked(recorded(other, lambda: sdf.betaP, 2, 4 * steps))
    assert our_error < precision * ours
    assert their_error < precision * theirs
    assert abs(ours - theirs) < 6 * math.hypot(our_error, their_error)


@pytest.mark.skipif(hpmc is None, reason="this HOOMD-blue has no hpmc")
@pytest.mark.parametrize(
    ("steps", "precision"), [(1000, 0.015), pytest.param(20_000, 0.004, marks=pytest.mark.validate)]
)
def test_the_pressure_is_that_of_hpmc(disks, simulation_factory, steps, precision):
    """From the same snapshot, within six joint standard errors from 32 blocks (false alarms below
    1e-6)."""
    positions, box = hexagonal(32, 32, 0.6)
    simulation, _ = disks(positions, box)
    simulation.run(200)
    assert_pressure_of_hpmc(simulation, simulation_factory, 0.2, steps, precision)


@pytest.mark.validate
@pytest.mark.skipif(hpmc is None, reason="this HOOMD-blue has no hpmc")
@pytest.mark.parametrize(
    "kinds",
    [
        {
            "volume": {"weight": 1, "mode": "ln", "delta": 0.012},
            "aspect": {"weight": 2, "delta": 0.025},
        },
        {
            "length": {"weight": 2, "delta": (0.08, 0.12, 0)},
            "aspect": {"weight": 1, "delta": 0.025},
        },
        {"aspect": {"weight": 1, "delta": 0.025}},
    ],
)
def test_the_boxes_are_those_of_hpmc(disks, simulation_factory, kinds):
    """A crystal of 16 disks, whose box is confined, with the same dictionaries: means of the area,
    of the logarithm of the ratio of the edges and of its square, within six joint standard errors
    from 32 blocks (false alarms below 1e-6 each)."""
    positions, box = hexagonal(4, 4, 0.8)
    betaP, found = 17.0, []
    simulation, mc = disks(positions, box, box_moves={"betaP": betaP, **kinds}, d=0.08)
    simulation.run(1)
    other = simulation_factory(simulation.state.get_snapshot())
    sphere = hpmc.integrate.Sphere(default_d=0.1, nselect=4)
    sphere.shape["A"] = dict(diameter=1.0)
    other.operations.integrator = sphere
    boxmc = hpmc.update.BoxMC(trigger=1, betaP=betaP)
    for name, settings in kinds.items():
        setattr(boxmc, name, settings)
    other.operations.updaters.append(boxmc)
    for each in (simulation, other):
        each.run(1000)

        def quantities(state=each.state):
            shape = math.log(state.box.Lx / state.box.Ly) - math.log(box[0] / box[1])
            return [state.box.Lx * state.box.Ly, shape, shape**2]

        rows = recorded(each, quantities, 5, 30_000)
        found.append([blocked(column) for column in np.transpose(rows)])
    for (ours, our_error), (theirs, their_error) in zip(*found, strict=True):
        assert abs(ours - theirs) < 6 * math.hypot(our_error, their_error) + 1e-5 * abs(theirs)
    assert found[0][2][1] < 0.2 * found[0][2][0]
    for moves in ("volume_moves", "aspect_moves"):
        assert (sum(getattr(mc, moves)) > 0) == (sum(getattr(boxmc, moves)) > 0)
