"""`manymove.hoomd.WasteRecyclingMC`: adsorbates in HOOMD-blue among fixed particles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from adsorption_model import GAS, agrees, make, nearest, pair_energy

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_adsorption import ATOMS as SETTINGS  # noqa: E402
from hoomd_adsorption import BOX  # noqa: E402
from hoomd_adsorption import of_atoms as simulation_of  # noqa: E402

import manymove.hoomd  # noqa: E402


def add(simulation, trigger=1, **settings):
    action = manymove.hoomd.WasteRecyclingMC(**{**SETTINGS, **settings})
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(trigger, action))
    return action


def positions_of(simulation):
    return simulation.state.get_snapshot().particles.position.astype(float)


@pytest.mark.parametrize("method", ["pmc", "mdp-dj"])
def test_energy_and_profile_are_those_of_the_engine_alone(method):
    """Five joint standard errors, blocks of the run for HOOMD-blue's."""
    simulation = simulation_of()
    steps = 1000 if method == "pmc" else 100
    action = add(simulation, method=method, steps=steps, profile="z", bins=10)
    simulation.run(10)
    blocks = []
    for _ in range(30):
        action.reset_averages()
        simulation.run(10)
        blocks.append(action.energy)
    alone = make(method, 3, systems=128, barrier=6000.0)
    alone.equilibrate(1000)
    alone.run(4000 if method == "pmc" else 1000)
    error = np.std(blocks, ddof=1) / np.sqrt(len(blocks))
    assert agrees(np.mean(blocks), error, alone.energy_average.value, alone.energy_average.error)
    assert sum(action.profile) == pytest.approx(1)
    moved, stayed = action.translate_moves
    assert moved + stayed == 310 * steps
    proposals = 1 if method == "pmc" else 63
    assert action.mps * action._seconds == pytest.approx(310 * steps * proposals)


def test_only_adsorbates_move_and_the_energy_is_that_of_their_positions():
    simulation = simulation_of()
    action = add(simulation)
    before = positions_of(simulation)
    simulation.run(20)
    after = positions_of(simulation)
    rigid = [0, 1, 5, 6, 7]
    assert np.array_equal(before[rigid], after[rigid])
    assert (np.abs(after[2:5] - before[2:5]).max(axis=1) > 0.1).all()
    assert (np.abs(after) <= BOX / 2).all()
    places = after[2:5] + BOX / 2
    field = make(grid_spacing=0.1)._engine.framework_energies(places, 0, True).sum()
    i, j = np.triu_indices(3, 1)
    pairs = pair_energy(nearest(places[i] - places[j], tuple(BOX))).sum()
    assert action.potential_energy == pytest.approx(field + pairs, abs=15)  # the spline's error


def test_other_units_give_the_same_moves():
    kelvin, reduced = simulation_of(), simulation_of()
    laws = {"O": (160.0 / 300, 2.6), "Si": None}
    actions = [add(kelvin), add(reduced, epsilon=120.0 / 300, framework=laws, kT=1.0)]
    for simulation in (kelvin, reduced):
        simulation.run(5)
    assert np.allclose(positions_of(kelvin), positions_of(reduced), atol=1e-5)
    assert actions[0].potential_energy / 300 == pytest.approx(actions[1].potential_energy, rel=1e-5)


def test_images_follow_the_nearest_image():
    simulation = simulation_of()
    add(simulation, steps=1, max_displacement=1.0)
    unwrapped = []
    for _ in range(300):
        simulation.run(1)
        s = simulation.state.get_snapshot()
        unwrapped.append(s.particles.position + s.particles.image * BOX)
    steps = np.abs(np.diff(unwrapped, axis=0)).max(axis=(0, 1))
    assert (steps <= BOX / 2 + 1e-5).all()
    assert simulation.state.get_snapshot().particles.image.any()


def test_particles_that_someone_else_moved_are_taken_over():
    simulation, other = simulation_of(), simulation_of(start_seed=7)
    action = add(simulation)
    simulation.run(3)
    simulation.state.set_snapshot(other.state.get_snapshot())
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.image[:] = 0
    action._settings["steps"] = 0  # looks, moves nothing
    with pytest.raises(ValueError, match="steps"):
        manymove.hoomd.WasteRecyclingMC(**{**SETTINGS, "steps": 0})
    action.act(simulation.timestep)
    assert np.allclose(positions_of(simulation), positions_of(other), atol=1e-6)


def test_framework_that_moves_is_refused():
    simulation = simulation_of()
    add(simulation)
    simulation.run(1)
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.position[0] = [0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match="framework or the box has changed"):
        simulation.run(1)


def test_particle_on_a_hill_is_named():
    simulation = simulation_of()
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.position[3] = snapshot.particles.position[0]
    add(simulation)
    with pytest.raises(ValueError, match="particle with tag 3 is"):
        simulation.run(1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(method="metropolis"), "method must be"),
        (dict(framework={"O": (1.0, 1.0)}), 'type "Si" has no parameters'),
        (dict(framework={**GAS.framework, "Ar": None}), "both adsorbate and framework"),
        (dict(adsorbate="Xe", framework={**GAS.framework, "Ar": None}), "both adsorbates"),
        (dict(kT=0.0), "kT must be positive"),
        # In the units of the simulation.
        (dict(cutoff=6.0), f"{BOX[0]:g} wide along x, less than twice the cutoff of 6: use a"),
        (dict(max_displacement=50.0), f"below half the box, {BOX.min() / 2:g}, got 50"),
        (dict(proposals=31), "power of two"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        simulation = simulation_of()
        add(simulation, **settings)
        simulation.run(1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(adsorbate=["C"]), r"adsorbate must be the name of a particle type, got \['C'\]"),
        (dict(epsilon="x"), "epsilon and sigma must be two numbers"),
        (dict(framework=None), "framework must be a dictionary of particle types, got None"),
        (dict(framework={"O": 1.0}), r"framework\['O'\] must be two numbers, .* got 1.0"),
        (dict(framework={"O": (1, -1)}), r"framework\['O'\] must be finite, .* got \(1, -1\)"),
        (dict(kT="300"), "kT must be a number, got '300'"),
        (dict(bins=2000), "bins must be from 1 to 1024, got 2000"),  # also without a profile
        (dict(grid_spacing=1e-9), "with grid_spacing 1e-09 the grid"),
    ],
)
def test_settings_of_a_wrong_kind_are_named(settings, message):
    simulation = simulation_of()
    with pytest.raises((TypeError, ValueError), match=message):
        add(simulation, **settings)
        simulation.run(1)


LOGGABLE = ("energy", "energy_plain", "potential_energy", "profile", "mps", "translate_moves")


def test_what_is_read_before_there_is_anything_is_refused_as_hoomd_does():
    """Before the simulation runs, when the particles were refused, and when all is over."""
    simulation = simulation_of()
    action = manymove.hoomd.WasteRecyclingMC(**{**SETTINGS, "framework": {"O": (1.0, 1.0)}})

    def nothing_is_there():
        for name in LOGGABLE:
            with pytest.raises(hoomd.error.DataAccessError, match=name):
                getattr(action, name)
        with pytest.raises(RuntimeError, match="before the simulation runs"):
            action.reset_averages()

    nothing_is_there()
    updater = hoomd.update.CustomUpdater(1, action)
    simulation.operations.updaters.append(updater)
    with pytest.raises(ValueError, match="has no parameters"):
        simulation.run(0)
    nothing_is_there()
    with pytest.raises(RuntimeError, match="in a simulation already"):
        action.attach(simulation_of())
    simulation.operations.updaters.remove(updater)
    nothing_is_there()


@pytest.mark.parametrize("settings", [dict(), dict(profile="z", bins=10)])
def test_all_quantities_are_logged_from_the_first_frame(settings, tmp_path):
    """HDF5Log refuses arrays without elements and a change of their number."""
    h5py = pytest.importorskip("h5py")
    simulation = simulation_of()
    logger = hoomd.logging.Logger(categories=["scalar", "sequence"])
    logger.add(add(simulation, **settings))
    writer = hoomd.write.HDF5Log(1, tmp_path / "log.h5", logger, mode="w")
    simulation.operations.writers.append(writer)
    simulation.run(2, write_at_start=True)
    writer.flush()
    with h5py.File(tmp_path / "log.h5") as file:
        (path,) = (name for name in paths_in(file) if name.endswith("profile"))
        found = file[path][:]
    assert np.isnan(found[0]).all() and found.shape == (3, settings.get("bins", 1))
    assert found[-1].sum() == pytest.approx(1) if settings else np.isnan(found).all()


def paths_in(file):
    paths = []
    file.visit(paths.append)
    return paths


def test_settings_survive_pickling():
    simulation = simulation_of()
    action = add(simulation)
    simulation.run(1)
    copy = pickle.loads(pickle.dumps(action))
    other = simulation_of()
    other.operations.updaters.append(hoomd.update.CustomUpdater(1, copy))
    other.run(1)
    assert np.array_equal(positions_of(other), positions_of(simulation))


def test_arguments_of_open_systems_are_refused_by_name():
    simple = dict(adsorbate="C", epsilon=1.0, sigma=1.0, framework={}, kT=1.0, cutoff=2.5)
    for name in ("fugacity", "trial_positions", "identity_change"):
        with pytest.raises(ValueError, match=f"{name} is for manymove.Adsorption"):
            manymove.hoomd.WasteRecyclingMC(**simple, **{name: 1})
    with pytest.raises(TypeError, match="no argument color"):
        manymove.hoomd.WasteRecyclingMC(**simple, color="red")
    with pytest.raises(ValueError, match="reinsertion is for manymove"):
        manymove.hoomd.RigidWasteRecyclingMC("C", None, kT=1.0, cutoff=2.5, reinsertion=0.1)
