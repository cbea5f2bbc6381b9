# SPDX-License-Identifier: BSD-3-Clause
"""Each argument of a class for HOOMD-blue, assigned when the simulation has begun, acts as if it
had been given at the start, or is refused with an error."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle

import numpy as np
import pytest
from electrolytes import trivalent

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
import hoomd_spheres  # noqa: E402
from hoomd_adsorption import ATOMS, LAWS, MOLECULES, dipole, of_atoms, of_molecules  # noqa: E402

import manymove.hoomd  # noqa: E402
from manymove.adsorption import ForceField  # noqa: E402

SIZES, NARROW = {"A": 1.0, "B": 1.2}, {"A": 1.0, "B": 1.1}
HARD = {
    "diameter": NARROW,
    "d": 0.05,
    "nselect": 8,
    "sweeps_per_step": 8,
    "repair_depth": 1e-3,
    "box_moves": {"betaP": 1.0},
    "swap": {"rounds": 2},
    "tile": 2,
    "threads": 2,
}
WASTE = {
    "kT": 500.0,
    "cutoff": 2.5,
    "method": "plj",
    "proposals": 32,
    "steps": 7,
    "max_displacement": 0.3,
    "grid_spacing": 1.5,
    "profile": "z",
    "bins": 10,
    "threads": 2,
}
# Another value of each argument.
OTHERS = {
    "HardDisksUpdater": HARD,
    "HardSpheresUpdater": HARD,
    "HardDisks": {"default_d": 0.05, **{name: HARD[name] for name in [*HARD][2:]}},
    "HardSpheres": {"default_d": 0.05, **{name: HARD[name] for name in [*HARD][2:]}},
    "CoulombMC": {
        "bjerrum_length": 100.0,
        "radius": 20.0,
        "sweeps_per_step": 2,
        "max_displacement": 1.0,
        "precision": "double",
        "threads": 2,
        "boundary": "nearest_image",
        "surrounding": "vacuum",
        "method": "tree",
    },
    "WasteRecyclingMC": {
        "adsorbate": "X",
        "epsilon": 200.0,
        "sigma": 2.5,
        "framework": {"O": (100.0, 2.5), "Si": None},
        **WASTE,
    },
    "RigidWasteRecyclingMC": {
        "adsorbate": "O",
        "molecule": dipole(energy=2.0),
        "force_field": ForceField({**LAWS, "O": (200.0, 2.6)}),
        "ewald": (0.1, 1.0),
        **WASTE,
    },
}
# They cannot change, or can change before the first run only.
REFUSED = {"threads", "profile", "default_d"}
# They do not influence the trajectory of these tests.
SILENT = {"repair_depth", "bins", "precision", "method", "surrounding"}
CASES = [(kind, name) for kind, others in OTHERS.items() for name in others]


def ions():
    start = trivalent(64, periodic=True, device="cpu")
    simulation = hoomd.Simulation(hoomd.device.CPU(), seed=3)
    snapshot = hoomd.Snapshot()
    snapshot.configuration.box = [*start.box, 0, 0, 0]
    snapshot.particles.N, snapshot.particles.types = start.N, ["A"]
    snapshot.particles.position[:] = start.positions
    snapshot.particles.charge[:] = np.array([s.valence for s in start.species])[start.types]
    snapshot.particles.diameter[:] = np.array([s.diameter for s in start.species])[start.types]
    simulation.create_state_from_snapshot(snapshot)
    return simulation


def begin(kind, **settings):
    """A simulation and its object of the class, which has seen no run."""
    if kind.startswith("Hard"):
        disks = "Disks" in kind
        start = hoomd_spheres.lattice(2 if disks else 3, 12 if disks else 6, 1.5)
        simulation = hoomd_spheres.simulation_of(start, "AB")
        if not kind.endswith("Updater"):
            component = importlib.import_module("hoomd.manymove")
            made = getattr(component, kind)(**{"default_d": 0.12, "threads": 1, **settings})
            for name, diameter in SIZES.items():
                made.shape[name] = dict(diameter=diameter)
            simulation.operations.integrator = made
            return simulation, made
        settings = {"diameter": SIZES, "threads": 1, **settings}
    elif kind == "CoulombMC":
        simulation = ions()
        settings = {"bjerrum_length": 7.117, "boundary": "ewald", "threads": 1, **settings}
    else:
        simulation = of_atoms() if kind == "WasteRecyclingMC" else of_molecules(bodies=False)
        given = ATOMS if kind == "WasteRecyclingMC" else MOLECULES
        settings = {**given, "steps": 20, **settings}
    made = getattr(manymove.hoomd, kind)(**settings)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, made))
    return simulation, made


def end(simulation):
    """Box, types and positions after a step, or the error."""
    try:
        simulation.run(1)
    except ValueError as error:
        return str(error)
    snapshot = simulation.state.get_snapshot()
    particles = snapshot.particles
    return np.concatenate(
        (snapshot.configuration.box, particles.typeid, particles.position.ravel())
    )


@functools.cache
def usual_end(kind):
    return end(begin(kind)[0])


def alike(one, other):
    """Positions that are read again are rounded again."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    return np.allclose(one, other, rtol=0, atol=2e-5)


@pytest.fixture(autouse=True)
def component_if_needed(request):
    kind = getattr(request.node, "callspec", None) and request.node.callspec.params.get("kind")
    if kind in ("HardDisks", "HardSpheres"):
        pytest.importorskip("hoomd.manymove")


@pytest.mark.parametrize("kind", OTHERS)
def test_all_arguments_are_looked_at(kind):
    _, made = begin(kind)
    every = inspect.signature(type(made)).parameters
    assert {*OTHERS[kind]} == {*every} - {"unavailable"}


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_an_argument_acts_on_assignment_or_is_refused(kind, name):
    other = OTHERS[kind][name]
    simulation, made = begin(kind)
    simulation.run(0)
    if name in REFUSED:
        with pytest.raises((AttributeError, hoomd.error.MutabilityError), match=name):
            setattr(made, name, other)
        return
    if name == "radius":
        made.boundary = None
    setattr(made, name, other)
    if isinstance(other, (int, float, str)):
        assert getattr(made, name) == other
    given = {"boundary": None} if name == "radius" else {}
    found = end(simulation)
    assert alike(found, end(begin(kind, **{name: other, **given})[0]))
    if name not in SILENT:
        assert not alike(found, usual_end(kind))


@pytest.mark.parametrize("kind", OTHERS)
def test_a_misspelled_attribute_is_refused(kind):
    _, made = begin(kind)
    near = [*OTHERS[kind]][1]
    with pytest.raises(AttributeError, match=f"{kind} has no attribute {near}x; .* name is {near}"):
        setattr(made, f"{near}x", 1)
    for name in ("translate_moves", "act" if hasattr(made, "act") else "mps"):
        with pytest.raises(AttributeError, match=f"{kind}.{name} is a .* cannot be assigned"):
            setattr(made, name, 1)


@pytest.mark.parametrize("kind", ["HardDisksUpdater", "HardSpheres"])
def test_an_item_of_a_dictionary_cannot_be_assigned(kind):
    _, made = begin(kind, box_moves={"betaP": 1.0}, swap={"rounds": 2})
    for name in ("box_moves", "swap"):
        read = getattr(made, name)
        with pytest.raises(TypeError, match=f"assign a whole dictionary to {name}"):
            read["betaP"] = 2.0
        assert pickle.loads(pickle.dumps(read)) == read
        setattr(made, name, {**read})


@pytest.mark.parametrize("kind", ["WasteRecyclingMC", "RigidWasteRecyclingMC"])
def test_annealing_by_assignment_is_that_by_a_variant(kind):
    """kT falls from step to step, and the averages belong to the last temperature."""
    simulation, made = begin(kind, kT=600.0)
    for kT in (600.0, 450.0, 300.0):
        made.kT = kT
        simulation.run(1)
    other, ramp = begin(kind, kT=hoomd.variant.Ramp(600.0, 300.0, 0, 2))
    other.run(3)
    assert np.array_equal(*(s.state.get_snapshot().particles.position for s in (simulation, other)))
    assert made.energy == ramp.energy
    assert sum(made.translate_moves) == 60 and made.mps > 0
    assert made.kT == 300.0 and ramp.kT(1) == 450.0
    ramp.kT = hoomd.variant.Constant(-1.0)
    with pytest.raises(ValueError, match="kT must be positive and finite, got -1"):
        other.run(1)


def test_a_variant_of_the_bjerrum_length_acts():
    simulation, action = begin("CoulombMC", bjerrum_length=hoomd.variant.Ramp(1.0, 2.0, 0, 1))
    simulation.run(0)
    first = action.energy
    simulation.run(1)
    positions = simulation.state.get_snapshot()
    other, exact = begin("CoulombMC", bjerrum_length=2.0)
    other.state.set_snapshot(positions)
    other.run(0)
    assert action.energy == pytest.approx(exact.energy, rel=1e-6)
    assert action.energy != first and sum(action.translate_moves) == 64


def test_a_setting_that_is_refused_changes_nothing():
    _, action = begin("WasteRecyclingMC")
    with pytest.raises(ValueError, match="kT must be positive"):
        action.kT = 0
    with pytest.raises(ValueError, match="cannot be both adsorbate and framework"):
        action.framework = {"Ar": (1.0, 1.0)}
    assert action.kT == 300.0 and action.framework == ATOMS["framework"]
    _, ions = begin("CoulombMC")
    with pytest.raises(ValueError, match="boundary 'ewald' is for the periodic box"):
        ions.radius = 10.0
    assert ions.radius is None
