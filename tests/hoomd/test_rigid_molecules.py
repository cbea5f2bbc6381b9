# SPDX-License-Identifier: BSD-3-Clause
"""`manymove.hoomd.RigidWasteRecyclingMC`: rigid molecules with charges in HOOMD-blue."""

from __future__ import annotations

import numpy as np
import pytest
from adsorption_model import agrees, molecules_in
from dipoles import BOX, LAWS, OFFSETS, dipole
from dipoles import dipoles_between_hills as alone

from manymove.adsorption import ForceField, Framework, Molecule, Site
from manymove.adsorption.places import rotated

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
from hoomd_adsorption import MOLECULES as SETTINGS  # noqa: E402
from hoomd_adsorption import UNIT  # noqa: E402
from hoomd_adsorption import of_molecules as simulation_of  # noqa: E402

import manymove.hoomd  # noqa: E402
from manymove.hoomd.rigid_waste_recycling import conjugate, product  # noqa: E402


def add(simulation, **settings):
    action = manymove.hoomd.RigidWasteRecyclingMC(**{**SETTINGS, **settings})
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, action))
    return action


def particles_of(simulation):
    return simulation.state.get_snapshot().particles


def _unit(turns):
    turns = turns.astype(float)
    return turns / np.linalg.norm(turns, axis=1)[:, None]


def places_of(particles, tags, edges):
    """Where molecules with these tags are, for one system in double precision."""
    return dict(
        positions=(particles.position[tags] + edges.sum(axis=0) / 2)[None].astype(float),
        orientations=_unit(particles.orientation[tags])[None],
        systems=1,
        precision="double",
    )


def test_the_energy_is_that_of_the_particles_and_of_other_units():
    simulation, reduced = simulation_of(), simulation_of(charge=UNIT / 300**0.5)
    laws = {label: (e / 300, s) for label, (e, s) in LAWS.items()}
    actions = [
        add(simulation),
        add(reduced, molecule=dipole(UNIT / 300**0.5, 1 / 300), force_field=ForceField(laws), kT=1),
    ]
    for one in (simulation, reduced):
        one.run(5)
    p = particles_of(simulation)
    exact = alone(**places_of(p, [2, 3, 4], np.diag(BOX)))
    assert actions[0].potential_energy == pytest.approx(exact.energies[0], rel=1e-3, abs=2)
    assert actions[0].potential_energy / 300 == pytest.approx(actions[1].potential_energy, rel=1e-4)
    assert np.allclose(p.position, particles_of(reduced).position, atol=1e-3)


@pytest.mark.parametrize("method", ["plj", "mdp"])
def test_the_mean_energy_is_that_of_the_engine_alone(method):
    """Five joint standard errors, blocks of the run for HOOMD-blue's."""
    simulation = simulation_of(bodies=False)
    action = add(simulation, method=method, steps=600 if method == "plj" else 40)
    simulation.run(10)
    blocks = []
    for _ in range(30):
        action.reset_averages()
        simulation.run(10)
        blocks.append(action.energy)
    other = alone(method=method, systems=32)
    other.equilibrate(300)
    other.run(3000 if method == "plj" else 400)
    error = np.std(blocks, ddof=1) / np.sqrt(len(blocks))
    assert agrees(np.mean(blocks), error, other.energy_average.value, other.energy_average.error)


def test_bodies_stay_rigid_and_whole_and_the_framework_fixed():
    simulation = simulation_of()
    before = particles_of(simulation)
    local = before.orientation[8:].copy()
    add(simulation, steps=20, max_displacement=1.0)
    simulation.run(60)
    after = particles_of(simulation)
    rigid = [0, 1, 5, 6, 7]
    assert np.array_equal(before.position[rigid], after.position[rigid])
    assert (np.abs(after.position) <= BOX / 2 + 1e-6).all()
    unwrapped = after.position + after.image * BOX
    turns = _unit(after.orientation[2:5])
    sites = unwrapped[2:5, None] + rotated(turns[:, None], OFFSETS)
    assert np.allclose(unwrapped[8:].reshape(3, 2, 3), sites, atol=1e-4)
    assert after.image[2:5].any()
    # Constituents turn with their molecule: their orientation relative to it does not change.
    start = _unit(before.orientation[2:5])
    x = np.array([1.0, 0.0, 0.0])
    for k in range(6):
        one = rotated(start[k // 2] * [1, -1, -1, -1], rotated(_unit(local)[k], x))
        own = rotated(_unit(after.orientation)[8 + k], x)
        other = rotated(turns[k // 2] * [1, -1, -1, -1], own)
        assert np.allclose(one, other, atol=1e-4)


def test_the_angular_momentum_turns_with_the_molecule():
    simulation = simulation_of(bodies=False)
    with simulation.state.cpu_local_snapshot as snapshot:
        index = snapshot.particles.rtag[2:5]
        q = np.array(snapshot.particles.orientation[index], dtype=float)
        in_body = np.array([[0, 0.1, 0.2, 0.3], [0, 1, 0, 0], [0, -0.5, 0, 1]])
        snapshot.particles.angmom[index] = 2 * product(q, in_body)
    add(simulation)
    simulation.run(4)
    p = particles_of(simulation)
    turned = p.orientation[2:5].astype(float)
    assert np.abs(turned - q).max() > 0.1
    found = product(conjugate(turned), p.angmom[2:5].astype(float)) / 2
    assert found == pytest.approx(in_body, abs=1e-5)


def test_molecules_that_another_updater_moved_are_adopted():
    simulation = simulation_of(bodies=False)
    action = add(simulation, steps=1)
    simulation.run(1)
    with simulation.state.cpu_local_snapshot as snapshot:
        index = snapshot.particles.rtag[3]
        snapshot.particles.orientation[index] = [0.5, 0.5, 0.5, 0.5]
    action._steps = 0  # looks, moves nothing
    action.act(simulation.timestep)
    p = particles_of(simulation)
    assert p.orientation[3] == pytest.approx([0.5] * 4)
    exact = alone(**places_of(p, [2, 3, 4], np.diag(BOX)))
    assert action.potential_energy == pytest.approx(exact.energies[0], rel=1e-3, abs=2)


def test_molecules_of_an_empty_box():
    simulation = hoomd.Simulation(hoomd.device.CPU(), seed=3)
    snapshot = hoomd.Snapshot(simulation.device.communicator)
    snapshot.configuration.box = [12.0, 12.0, 12.0, 0, 0, 0]
    snapshot.particles.types, snapshot.particles.N = ["A"], 2
    snapshot.particles.position[:] = [[0, 0, 0], [3, 0, 0]]
    simulation.create_state_from_snapshot(snapshot)
    action = add(simulation, force_field=None)
    simulation.run(2)
    p = particles_of(simulation)
    places = places_of(p, [0, 1], 12.0 * np.eye(3))
    exact = molecules_in(3 * (12.0,), 2, dipole(), cutoff=4.0, ewald=(0.7, 3.0), **places)
    assert action.potential_energy == pytest.approx(exact.energies[0], rel=1e-4, abs=0.02)


def beside_an_atom(place, edges, molecules, adsorbates, **settings):
    """The engine alone, for a box whose center is the origin and that has a fixed atom."""
    atom = Framework("one", (12.0, 13.0, 14.0), place @ np.linalg.inv(edges)[None] + 0.5, ("O",),
                     16.0, (edges[1, 0], edges[2, 0], edges[2, 1]))  # fmt: skip
    field = ForceField(LAWS, {"O": 0.0})
    settings = dict(cutoff=4.0, ewald=(0.7, 3.0), grid_spacing=0.25, cells=(1, 1, 1)) | settings
    return molecules_in(atom, molecules, adsorbates, force_field=field, **settings)


@pytest.mark.parametrize("method", ["plj", "mdp"])
def test_molecules_of_a_tilted_box(method):
    """The energy is that of the particles, bodies stay whole, and the framework stays."""
    tilts, n = (0.15, -0.1, 0.2), 4
    edges = np.array([[12, 0, 0], [0.15 * 13, 13, 0], [-0.1 * 14, 0.2 * 14, 14.0]])
    simulation = hoomd.Simulation(hoomd.device.CPU(), seed=3)
    snapshot = hoomd.Snapshot(simulation.device.communicator)
    snapshot.configuration.box = [12, 13, 14, *tilts]
    p = snapshot.particles
    p.types, p.N = ["A", "O", "P", "M"], 3 * n + 1
    p.typeid[:] = [0] * n + [1] + [2, 3] * n
    at = [[0.05, 0.1, 0.2], [0.4, 0.5, 0.1], [0.9, 0.5, 0.6], [0.3, 0.9, 0.9]]
    centers = (np.array(at) - 0.5) @ edges
    p.position[:n], p.position[n] = centers, (np.array([0.6, 0.1, 0.5]) - 0.5) @ edges
    sites = centers[:, None] + OFFSETS
    out = np.floor(sites @ np.linalg.inv(edges) + 0.5)
    p.position[n + 1 :] = (sites - out @ edges).reshape(-1, 3)
    p.image[n + 1 :] = out.reshape(-1, 3)
    p.body[:n], p.body[n] = np.arange(n), -1
    p.body[n + 1 :] = np.repeat(np.arange(n), 2)
    p.orientation[:] = [1, 0, 0, 0]
    fixed = p.position[n].copy()
    simulation.create_state_from_snapshot(snapshot)
    action = add(simulation, method=method, steps=30, max_displacement=1.5)
    simulation.run(30)
    p = particles_of(simulation)
    assert np.array_equal(p.position[n], fixed)
    unwrapped = p.position + p.image @ edges
    turns = _unit(p.orientation[:n])
    whole = unwrapped[:n, None] + rotated(turns[:, None], OFFSETS)
    assert np.allclose(unwrapped[n + 1 :].reshape(n, 2, 3), whole, atol=1e-4)
    assert (np.abs(p.position @ np.linalg.inv(edges)) <= 0.5 + 1e-6).all()
    assert p.image[:n].any()
    exact = beside_an_atom(fixed, edges, n, dipole(), **places_of(p, list(range(n)), edges))
    assert action.potential_energy == pytest.approx(exact.energies[0], rel=1e-3, abs=0.5)


BENT = np.array([[0.0, 0.0, 0.6], [0.5, 0.0, -0.3], [-0.5, 0.0, -0.3]])


def bent(unit=1.0):
    charges, laws = (0.3, -0.15, -0.15), ((50.0, 2.5), (0.0, 1.0), (0.0, 1.0))
    sites = zip(("X", "Y", "Y"), BENT, laws, charges, strict=True)
    return Molecule("bent", tuple(Site(k, tuple(x), *law, q * unit) for k, x, law, q in sites))


def mixture_of(tilts, bodies=True):
    """Two dipoles (B), a fixed atom and two bent molecules (A), and constituents in between."""
    edges = np.array([[12, 0, 0], [tilts[0] * 13, 13, 0], [tilts[1] * 14, tilts[2] * 14, 14.0]])
    simulation = hoomd.Simulation(hoomd.device.CPU(), seed=3)
    snapshot = hoomd.Snapshot(simulation.device.communicator)
    snapshot.configuration.box = [12, 13, 14, *tilts]
    p = snapshot.particles
    # Tags of the constituents follow all centers; those of A and B alternate.
    at = np.array([[0.05, 0.1, 0.2], [0.4, 0.5, 0.1], [0.6, 0.1, 0.5], [0.9, 0.5, 0.6],
                   [0.3, 0.9, 0.9]])  # fmt: skip
    names = ["B", "A", "O", "B", "A"]
    centers = (at - 0.5) @ edges
    shape = {"A": BENT, "B": OFFSETS}
    sites = [centers[k] + shape[n] for k, n in enumerate(names) if n != "O"] if bodies else []
    owners = [k for k, n in enumerate(names) if n != "O" for _ in shape[n]] if bodies else []
    p.types, p.N = ["O", "A", "B", "P"], 5 + len(owners)
    p.typeid[:] = [p.types.index(n) for n in names] + [3] * len(owners)
    p.position[:5] = centers
    p.orientation[:] = [1, 0, 0, 0]
    p.body[:] = [*(-1 if n == "O" or not bodies else k for k, n in enumerate(names)), *owners]
    if bodies:
        sites = np.concatenate(sites)
        out = np.floor(sites @ np.linalg.inv(edges) + 0.5)
        p.position[5:], p.image[5:] = sites - out @ edges, out
    simulation.create_state_from_snapshot(snapshot)
    return simulation, edges


MIXED = dict(adsorbate=["A", "B"], molecule=[bent(UNIT), dipole(UNIT)])


@pytest.mark.parametrize("tilts", [(0.0, 0.0, 0.0), (0.15, -0.1, 0.2)])
@pytest.mark.parametrize("method", ["plj", "mdp"])
def test_mixtures_have_the_energy_of_their_particles_and_their_bodies_stay_whole(method, tilts):
    simulation, edges = mixture_of(tilts)
    fixed = particles_of(simulation).position[2].copy()
    action = add(simulation, **MIXED, method=method, steps=30, max_displacement=1.5)
    simulation.run(30)
    p = particles_of(simulation)
    assert np.array_equal(p.position[2], fixed)
    unwrapped, turns = p.position + p.image @ edges, _unit(p.orientation)
    first = 5
    for k, shape in ((0, OFFSETS), (1, BENT), (3, OFFSETS), (4, BENT)):
        own = slice(first, first + len(shape))
        assert np.allclose(unwrapped[own], unwrapped[k] + rotated(turns[k], shape), atol=1e-4)
        first += len(shape)
    assert p.image[:5].any() and (np.abs(turns[[0, 1, 3, 4], 0]) < 0.999).all()
    places = places_of(p, [1, 4, 0, 3], edges)
    exact = beside_an_atom(fixed, edges, (2, 2), [bent(), dipole()], **places)
    assert action.potential_energy == pytest.approx(exact.energies[0], rel=1e-3, abs=0.5)


def test_the_mean_energy_of_a_mixture_is_that_of_the_engine_alone():
    """As for a single species; a fixed atom in the box."""
    simulation, edges = mixture_of((0.0, 0.0, 0.0), bodies=False)
    fixed = particles_of(simulation).position[2].astype(float)
    action = add(simulation, **MIXED, method="plj", steps=400, max_displacement=4.0, kT=800.0)
    simulation.run(10)
    blocks = []
    for _ in range(30):
        action.reset_averages()
        simulation.run(5)
        blocks.append(action.energy)
    settings = dict(systems=32, method="plj", threads=2, temperature=800.0)
    other = beside_an_atom(fixed, edges, (2, 2), [bent(), dipole()], **settings)
    other.equilibrate(500)
    other.run(1500)
    error, exact = np.std(blocks, ddof=1) / np.sqrt(len(blocks)), other.energy_average
    assert agrees(np.mean(blocks), error, exact.value, exact.error)
    assert max(error, exact.error) < 0.1 * abs(exact.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (dict(adsorbate=["A", "C"]), 'no particles of the type "C"'),
        (dict(adsorbate=["A", "A"]), 'has the type "A" twice'),
        (dict(adsorbate=["A"]), "one entry for each species, of which there are at most 4, got 1 "),
        (
            dict(molecule=[dipole(UNIT), dipole(UNIT)]),
            "tag 1 has 3 constituents, but dipole has 2 sites",
        ),
        (dict(adsorbate=list("ABPOQ"), molecule=5 * [dipole(UNIT)]), "at most 4, got 5 and 5"),
    ],
)
def test_bad_mixtures_are_refused_by_name(settings, message):
    simulation, _ = mixture_of((0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match=message):
        add(simulation, **{**MIXED, **settings})
        simulation.run(1)


def test_constituents_of_the_type_of_a_molecule_are_refused():
    simulation, _ = mixture_of((0.0, 0.0, 0.0))
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.typeid[snapshot.particles.rtag[5]] = 1  # of the first dipole, B
    add(simulation, **MIXED)
    with pytest.raises(ValueError, match="tag 5 has the type of a molecule, but is a constituent"):
        simulation.run(1)


def test_what_is_no_list_of_molecules_is_refused():
    with pytest.raises(TypeError, match=r"must be a manymove.adsorption.Molecule, got 'CO2'"):
        manymove.hoomd.RigidWasteRecyclingMC(**{**SETTINGS, "molecule": "CO2"})
    with pytest.raises(TypeError, match=r"must be a manymove.adsorption.Molecule, got 3"):
        manymove.hoomd.RigidWasteRecyclingMC(
            **{**SETTINGS, "adsorbate": ["A", "B"], "molecule": [dipole(UNIT), 3]}
        )


def bend(simulation):
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.position[snapshot.particles.rtag[9]] += 0.1


def shorten(simulation):
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.orientation[snapshot.particles.rtag[3]] = [0.5, 0, 0, 0]


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        (dict(adsorbate="B"), None, 'no particles of the type "B"'),
        (dict(force_field=ForceField({"O": (90.0, 2.6)})), None, "no parameters for Si"),
        (dict(force_field=ForceField(LAWS, {"O": 1.0})), None, "charges of the force field have"),
        (dict(molecule=Molecule("one", (Site("a", (0, 0, 0), 1.0, 2.0),))), None, "a single site"),
        (dict(molecule=Molecule("three", (*dipole(UNIT).sites, Site("c", (0, 0, 0))))), None,
         "tag 2 has 2 constituents, but three has 3 sites"),
        ({}, bend, "tag 9 is .* away from site 1 \\(M\\) of its molecule, the particle with tag 2"),
        ({}, shorten, "(tag 3 is not a unit quaternion|away from site)"),
        (dict(force_field=ForceField({**LAWS, "P": (1.0, 2.0)})), None,
         'the site "P" of dipole has the label of a framework type in force_field'),
        (dict(ewald=(0.7, 0.01)), None, "below the smallest wave number"),
        (dict(cutoff=6.0), None, "wide along x, less than twice the cutoff of 6: use a larger"),
    ],
)  # fmt: skip
def test_what_is_no_rigid_molecule_is_refused_by_name(settings, change, message):
    simulation = simulation_of()
    if change is not None:
        change(simulation)
    with pytest.raises(ValueError, match=message):
        add(simulation, **settings)
        simulation.run(1)


def test_a_charged_framework_is_refused():
    simulation = simulation_of()
    with simulation.state.cpu_local_snapshot as snapshot:
        snapshot.particles.charge[snapshot.particles.rtag[0]] = 0.0
    add(simulation)
    with pytest.raises(ValueError, match="net charge"):
        simulation.run(1)


@pytest.mark.parametrize("name", ["charge", "typeid"])
def test_a_framework_that_changes_is_refused(name):
    simulation = simulation_of()
    add(simulation)
    simulation.run(1)
    with simulation.state.cpu_local_snapshot as snapshot:
        values, tags = getattr(snapshot.particles, name), snapshot.particles.rtag
        values[tags[0]] = values[tags[7]]  # those of a silicon
    with pytest.raises(ValueError, match="charges or types of the framework have changed"):
        simulation.run(1)


@pytest.mark.gpu
def test_a_gpu_makes_the_moves_of_the_cpu():
    if hoomd.device.GPU.get_available_devices() == []:
        pytest.skip("no GPU for HOOMD-blue")
    found = []
    for device in (hoomd.device.CPU(), hoomd.device.GPU()):
        simulation = simulation_of(device=device)
        add(simulation)
        simulation.run(3)
        found.append(particles_of(simulation).position)
    assert np.array_equal(*found)
