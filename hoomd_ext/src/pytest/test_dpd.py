# SPDX-License-Identifier: BSD-3-Clause
"""hoomd.manymove.DPD beside hoomd.md.pair.DPD, on the CPU and, where there is one, on the GPU."""

import copy
import math
import pickle
import signal

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.conftest import logging_check
from hoomd.error import IncompleteSpecificationError, MutabilityError
from hoomd.logging import LoggerCategories
from hoomd.manymove.pytest.conftest import SEED
from hoomd.manymove.pytest.test_physics import blocked

try:
    import hoomd.md as md
except ImportError:
    md = None

needs_md = pytest.mark.skipif(md is None, reason="this HOOMD-blue has no md")
ALL = hoomd.filter.All()
PARAMS = {
    ("A", "A"): dict(A=25.0, gamma=4.5),
    ("A", "B"): dict(A=40.0, gamma=2.0),
    ("B", "B"): dict(A=15.0, gamma=3.0),
}
R_CUT = {("A", "A"): 1.0, ("A", "B"): 0.8, ("B", "B"): 0.9}
BOXES = {"cube": (6, 6, 6, 0, 0, 0), "tilted": (7, 6, 5, 0.2, -0.1, 0.15)}


def fluid_snapshot(device, box=BOXES["cube"], N=648, bonded=False):
    """Particles of two types at random, with random velocities and a total momentum of 0, and
    chains of four with bonds and angles if they are wanted."""
    rng = np.random.default_rng(7)
    snapshot = hoomd.Snapshot(device.communicator)
    if device.communicator.rank > 0:
        return snapshot
    snapshot.configuration.box = list(box)
    particles = snapshot.particles
    particles.N = N
    particles.types = ["A", "B"]
    particles.typeid[:] = np.arange(N) // 4 % 2
    particles.mass[:] = 1 + 0.5 * particles.typeid
    x, y, z, xy, xz, yz = box
    edges = np.array([(x, 0, 0), (xy * y, y, 0), (xz * z, yz * z, z)])
    fractions = rng.random((N, 3)) - 0.5
    if bonded:
        steps = rng.normal(size=(N // 4, 4, 3))
        steps *= 0.6 / np.linalg.norm(steps, axis=2, keepdims=True)
        chains = steps.cumsum(axis=1) @ np.linalg.inv(edges)
        fractions = (fractions[: N // 4, None] + chains).reshape(N, 3)
        fractions -= np.rint(fractions)
        starts = np.arange(0, N, 4)[:, None]
        snapshot.bonds.types = ["soft", "stiff"]
        snapshot.bonds.N = 3 * N // 4
        snapshot.bonds.group[:] = (starts + np.array([0, 1, 1, 2, 2, 3])).reshape(-1, 2)
        snapshot.bonds.typeid[:] = np.arange(3 * N // 4) % 2
        snapshot.angles.types = ["straight"]
        snapshot.angles.N = N // 2
        snapshot.angles.group[:] = (starts + np.array([0, 1, 2, 1, 2, 3])).reshape(-1, 3)
    particles.position[:] = fractions @ edges
    velocity = rng.normal(size=(N, 3))
    particles.velocity[:] = velocity - np.average(velocity, axis=0, weights=particles.mass)
    return snapshot


def linked_snapshot(device):
    """Bonded chains with a ring, a branch and bodies, and with dihedrals, special pairs and
    constraints, so that there are pairs for each exclusion."""
    snapshot = fluid_snapshot(device, bonded=True)
    if device.communicator.rank > 0:
        return snapshot
    starts = np.arange(0, snapshot.particles.N, 4)[:, None]
    snapshot.dihedrals.types, snapshot.pairs.types = ["turn"], ["special"]
    snapshot.dihedrals.N = snapshot.pairs.N = snapshot.constraints.N = len(starts)
    snapshot.dihedrals.group[:] = starts + np.arange(4)
    snapshot.pairs.group[:] = starts + np.array([1, 3])
    snapshot.constraints.group[:] = starts + np.array([2, 0])
    chains = snapshot.bonds.group[:-2].copy()
    more = np.array([(0, 3), (5, 11), (6, 9)])
    snapshot.bonds.N = len(chains) + len(more)
    snapshot.bonds.group[:] = np.concatenate((chains, more))
    snapshot.bonds.typeid[:] = 0
    snapshot.particles.body[:40] = -2 - np.arange(40) // 8
    return snapshot


def set_params(pair):
    for types, params in PARAMS.items():
        pair.params[types] = params
        pair.r_cut[types] = R_CUT[types]


@pytest.fixture
def one_rank(device):
    if device.communicator.num_ranks > 1:
        pytest.skip("the test reads the snapshots of one rank")


@pytest.fixture
def fluid(device, simulation_factory, one_rank):
    """Make a simulation of a fluid, and its integrator."""

    def make(snapshot=None, dt=0.02, kT=1.0, precision="double", seed=None, **settings):
        simulation = simulation_factory(snapshot or fluid_snapshot(device))
        if seed is not None:
            simulation.seed = seed
        dpd = hoomd.manymove.DPD(dt, kT, precision=precision, **settings)
        set_params(dpd)
        simulation.operations.integrator = dpd
        return simulation, dpd

    return make


@pytest.fixture
def reference(device, one_rank):
    """Make the same simulation with md.pair.DPD, and its pair force. It is on the CPU, because md's
    kernel of harmonic angles on the GPU has square roots in single precision."""

    def make(
        snapshot=None, dt=0.02, kT=1.0, forces=(), exclusions=("bond",), filter=ALL, seed=SEED
    ):
        simulation = hoomd.Simulation(hoomd.device.CPU(), seed=seed)
        simulation.create_state_from_snapshot(snapshot or fluid_snapshot(device))
        pair = md.pair.DPD(md.nlist.Cell(buffer=0.4, exclusions=exclusions), kT=kT)
        set_params(pair)
        simulation.operations.integrator = md.Integrator(
            dt, methods=[md.methods.ConstantVolume(filter)], forces=[pair, *forces]
        )
        return simulation, pair

    return make


def with_thermo(simulation, filter=ALL):
    thermo = md.compute.ThermodynamicQuantities(filter)
    simulation.operations.computes.append(thermo)
    simulation.always_compute_pressure = True
    return thermo


def state_of(simulation):
    particles = simulation.state.get_snapshot().particles
    return particles.position.copy(), particles.velocity.copy(), particles.image.copy()


def assert_same_state(simulation, other):
    for one, two in zip(state_of(simulation), state_of(other), strict=True):
        np.testing.assert_array_equal(one, two)


def assert_equal_forces(forces, others):
    largest = np.abs(others).max()
    np.testing.assert_allclose(forces, others, rtol=0, atol=1e-12 * largest)


def bonded_forces():
    harmonic, fenewca, angle = md.bond.Harmonic(), md.bond.FENEWCA(), md.angle.Harmonic()
    harmonic.params["soft"] = dict(k=60.0, r0=0.7)
    harmonic.params["stiff"] = dict(k=0, r0=0)
    fenewca.params["soft"] = dict(k=0, r0=1, epsilon=0, sigma=1, delta=0)
    fenewca.params["stiff"] = dict(k=40.0, r0=2.5, epsilon=0.1, sigma=0.3, delta=0)
    angle.params["straight"] = dict(k=5.0, t0=math.pi * 0.9)
    return [harmonic, fenewca, angle]


# ---- forces --------------------------------------------------------------------------------------


@needs_md
@pytest.mark.parametrize("box", BOXES)
def test_forces_without_noise_are_those_of_md(fluid, reference, device, box):
    snapshot = fluid_snapshot(device, BOXES[box])
    simulation, dpd = fluid(snapshot, kT=0.0)
    other, pair = reference(snapshot, kT=0.0)
    simulation.run(0)
    other.run(0)
    assert_equal_forces(dpd.forces_on_particles, pair.forces)
    assert dpd.pair_energy == pytest.approx(pair.energy, rel=1e-12)


@needs_md
def test_pairs_with_a_cutoff_of_0_have_no_forces(fluid, reference):
    simulation, dpd = fluid(kT=0.0)
    other, pair = reference(kT=0.0)
    dpd.r_cut[("A", "B")] = pair.r_cut[("A", "B")] = 0
    simulation.run(0)
    other.run(0)
    assert_equal_forces(dpd.forces_on_particles, pair.forces)


@needs_md
@pytest.mark.parametrize("box", BOXES)
def test_the_trajectory_without_noise_is_that_of_md(fluid, reference, device, box):
    snapshot = fluid_snapshot(device, BOXES[box])
    simulation, _ = fluid(snapshot, kT=0.0)
    other, _ = reference(snapshot, kT=0.0)
    simulation.run(60)
    other.run(60)
    position, velocity, image = state_of(simulation)
    expected = state_of(other)
    np.testing.assert_allclose(position, expected[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(velocity, expected[1], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(image, expected[2])


@needs_md
def test_mixed_precision_has_the_stated_error(fluid, reference):
    simulation, dpd = fluid(kT=0.0, precision="mixed")
    other, pair = reference(kT=0.0)
    simulation.run(0)
    other.run(0)
    largest = np.abs(pair.forces).max()
    error = np.abs(dpd.forces_on_particles - pair.forces).max()
    assert 1e-10 * largest < error < 2e-6 * largest


@needs_md
@pytest.mark.parametrize("exclusions", [(), ("bond",), ("bond", "angle")])
def test_bonds_and_angles_are_those_of_md(fluid, reference, device, exclusions):
    snapshot = fluid_snapshot(device, bonded=True)
    settings = dict(dt=0.002, kT=0.0, exclusions=exclusions)
    simulation, dpd = fluid(snapshot, forces=bonded_forces(), **settings)
    forces = bonded_forces()
    other, pair = reference(snapshot, forces=forces, **settings)
    simulation.run(0)
    other.run(0)
    expected = pair.forces + sum(force.forces for force in forces)
    assert_equal_forces(dpd.forces_on_particles, expected)
    harmonic, fenewca, angle = (force.energy for force in forces)
    assert dpd.pair_energy == pytest.approx(pair.energy, rel=1e-12)
    assert dpd.bond_energy == pytest.approx(harmonic + fenewca, rel=1e-12)
    assert dpd.angle_energy == pytest.approx(angle, rel=1e-12)
    simulation.run(20)
    other.run(20)
    np.testing.assert_allclose(state_of(simulation)[0], state_of(other)[0], rtol=0, atol=1e-9)


@needs_md
@pytest.mark.parametrize(
    "exclusions",
    [
        ("dihedral",), ("special_pair",), ("constraint",), ("body",), ("1-3",), ("1-4",),
        ("bond", "angle", "dihedral", "special_pair", "constraint", "body", "1-3", "1-4"),
    ],
    ids=lambda exclusions: exclusions[0] if len(exclusions) == 1 else "all",
)  # fmt: skip
def test_excluded_pairs_are_those_of_md(fluid, reference, device, exclusions):
    snapshot = linked_snapshot(device)
    settings = dict(kT=0.0, exclusions=exclusions)
    simulation, dpd = fluid(snapshot, **settings)
    other, pair = reference(snapshot, **settings)
    simulation.run(0)
    other.run(0)
    assert_equal_forces(dpd.forces_on_particles, pair.forces)
    dpd.exclusions = ()
    simulation.run(0)
    assert np.abs(dpd.forces_on_particles - pair.forces).max() > 1


def test_a_changed_body_is_noticed(fluid, device):
    """Bodies that change between two runs change the excluded pairs of the second run."""
    simulation, dpd = fluid(linked_snapshot(device), kT=0.0, exclusions="body")
    simulation.run(0)
    before = dpd.forces_on_particles
    with simulation.state.cpu_local_snapshot as data:
        data.particles.body[:] = 2**32 - 1  # no body
    simulation.run(0)
    assert np.abs(dpd.forces_on_particles - before).max() > 1


@needs_md
def test_parameters_of_bonds_are_read_when_a_run_begins(fluid, device):
    harmonic, *_ = forces = bonded_forces()
    simulation, dpd = fluid(fluid_snapshot(device, bonded=True), kT=0.0, forces=forces)
    simulation.run(0)
    before = dpd.bond_energy
    for force in forces[1:]:
        dpd.forces.remove(force)
    simulation.run(0)
    soft = dpd.bond_energy
    assert dpd.angle_energy == 0 < soft < before
    harmonic.params["soft"] = dict(k=120.0, r0=0.7)
    simulation.run(0)
    assert dpd.bond_energy == pytest.approx(2 * soft, rel=1e-12)


@needs_md
def test_the_pressure_without_noise_and_friction_is_that_of_md(fluid, reference, device):
    """And the energies and the temperature that ThermodynamicQuantities computes."""
    snapshot = fluid_snapshot(device, BOXES["tilted"], bonded=True)
    simulation, dpd = fluid(snapshot, forces=bonded_forces())
    for types in PARAMS:
        dpd.params[types] = dict(A=PARAMS[types]["A"], gamma=0)
    other, _ = reference(snapshot, kT=0.0, forces=bonded_forces())
    thermo, expected = with_thermo(simulation), with_thermo(other)
    for one in (simulation, other):
        one.run(1)
        one.state.set_snapshot(snapshot)
        one.run(0)
    quantities = ("potential_energy", "kinetic_energy", "kinetic_temperature", "pressure")
    for name in (*quantities, "degrees_of_freedom"):
        assert getattr(thermo, name) == pytest.approx(getattr(expected, name), rel=1e-11), name
        assert getattr(dpd, name) == pytest.approx(getattr(expected, name), rel=1e-11), name
    largest = max(map(abs, expected.pressure_tensor))
    for tensor in (thermo.pressure_tensor, dpd.pressure_tensor):
        assert tensor == pytest.approx(expected.pressure_tensor, abs=1e-11 * largest)


def with_masses(snapshot, masses):
    """The masses in turn, and a total momentum of 0."""
    particles = snapshot.particles
    particles.mass[:] = np.resize(masses, particles.N)
    particles.velocity[:] -= np.average(particles.velocity, axis=0, weights=particles.mass)
    return snapshot


@needs_md
def test_particles_of_a_type_may_have_different_masses(fluid, reference, device):
    """The trajectory is that of md, and the kinetic energy is that of ThermodynamicQuantities."""
    snapshot = with_masses(fluid_snapshot(device), [1, 0.5, 3, 1, 1.5])
    simulation, dpd = fluid(snapshot, kT=0.0)
    other, _ = reference(snapshot, kT=0.0)
    thermo = with_thermo(other)
    simulation.run(60)
    other.run(60)
    for ours, theirs in zip(state_of(simulation)[:2], state_of(other)[:2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    assert dpd.kinetic_energy == pytest.approx(thermo.kinetic_energy, rel=1e-9)
    snapshot.particles.mass[:] = 1
    equal, _ = fluid(snapshot, kT=0.0)
    equal.run(60)
    assert np.abs(state_of(equal)[1] - state_of(simulation)[1]).max() > 0.1


def test_equipartition_among_many_masses(fluid, device):
    """kT changes during the run, so that each step has coefficients for all pairs of masses."""
    snapshot = with_masses(fluid_snapshot(device), np.geomspace(0.2, 5, 64))
    simulation, _ = fluid(snapshot, dt=0.005, kT=hoomd.variant.Ramp(0.5, 1.0, 0, 500))
    simulation.run(1000)
    energies = []
    for _ in range(40):
        simulation.run(25)
        particles = simulation.state.get_snapshot().particles
        energy = particles.mass * (particles.velocity**2).sum(axis=1) / 3
        light = particles.mass < 1
        energies.append([energy[light].mean(), energy[~light].mean()])
    assert np.mean(energies, axis=0) == pytest.approx([1.0, 1.0], abs=0.05)


def test_the_weight_exponent_changes_friction_only(fluid):
    """Two particles at the distance r: the friction is -gamma w^(2 s) v."""
    found = {}
    for exponent in (1.0, 0.25):
        snapshot = hoomd.Snapshot()
        snapshot.configuration.box = [6, 6, 6, 0, 0, 0]
        snapshot.particles.types = ["A", "B"]
        snapshot.particles.N = 2
        snapshot.particles.position[:] = [(0, 0, 0), (0.4, 0, 0)]
        snapshot.particles.velocity[:] = [(0, 0, 0), (2.0, 0, 0)]
        simulation, dpd = fluid(snapshot, kT=0.0)
        dpd.params[("A", "A")] = dict(A=25.0, gamma=4.5, weight_exponent=exponent)
        simulation.run(0)
        found[exponent] = dpd.forces_on_particles[1, 0]
    for exponent, force in found.items():
        assert force == pytest.approx(25 * 0.6 - 4.5 * 0.6 ** (2 * exponent) * 2, rel=1e-12)


# ---- noise and the thermostat --------------------------------------------------------------------


@needs_md
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_the_fluid_in_equilibrium_is_that_of_md(fluid, reference, precision):
    """Temperature, pressure and energy within five joint standard errors from 32 blocks (false
    alarms below 1e-5)."""
    found = []
    for simulation, _ in (fluid(dt=0.01, precision=precision), reference(dt=0.01)):
        thermo = with_thermo(simulation)
        simulation.run(400)
        rows = []
        for _ in range(640):
            simulation.run(5)
            energy = thermo.potential_energy / thermo.num_particles
            rows.append((thermo.kinetic_temperature, thermo.pressure, energy))
        found.append([blocked(np.array(row)) for row in zip(*rows, strict=True)])
    for (ours, our_error), (theirs, their_error) in zip(*found, strict=True):
        assert our_error < 0.01 * ours
        assert abs(ours - theirs) < 5 * math.hypot(our_error, their_error)


@needs_md
def test_the_viscosity_is_that_of_md(fluid, reference, device):
    """From the decay of shear waves: two have the length of the box, and two half of it. Velocities
    are along x and z and gradients along y, so that no wave transports another one.
    The viscosity is rho / k^2 times the slope of the logarithm of the mean amplitude. Its standard
    errors are those of a jackknife over ten seeds and both directions, and the viscosities of both
    programs agree within five joint ones (false alarms below 1e-4)."""
    waves = np.array([1, 2])
    k = 2 * math.pi / 6 * waves
    times = 0.01 * np.array([40, 80, 120])

    def waves_at(particles):
        return np.sin(np.multiply.outer(k, particles.position[:, 1]))

    def amplitudes(one):
        found = []
        for _ in times:
            one.run(40)
            particles = one.state.get_snapshot().particles
            found.append(waves_at(particles) @ particles.velocity[:, [0, 2]] * 2 / particles.N)
        return np.moveaxis(found, 0, 2)  # [wave][direction][time]

    def viscosities(samples):
        logs = np.log(samples.mean(axis=1))
        slopes = [np.polyfit(times, each, 1)[0] for each in logs]
        return -3.0 / k**2 * slopes

    snapshot = fluid_snapshot(device)
    snapshot.particles.typeid[:] = 0
    snapshot.particles.mass[:] = 1
    samples = {fluid: [], reference: []}
    for seed in range(10):
        simulation, _ = fluid(snapshot, dt=0.01, seed=100 + seed)
        simulation.run(100)
        start = simulation.state.get_snapshot()
        added = waves_at(start.particles).sum(axis=0)
        start.particles.velocity[:, [0, 2]] += (added - added.mean())[:, None]
        for make, found in samples.items():
            found.append(amplitudes(make(start, dt=0.01, seed=seed)[0]))
    results = []
    for found in samples.values():
        all_samples = np.concatenate(found, axis=1)
        count = all_samples.shape[1]
        others = [viscosities(np.delete(all_samples, i, axis=1)) for i in range(count)]
        error = math.sqrt(count - 1) * np.std(others, axis=0)
        results.append((viscosities(all_samples), error))
    (ours, our_error), (theirs, their_error) = results
    assert (our_error < 0.15 * ours).all()
    assert (their_error < 0.15 * theirs).all()
    assert (abs(ours - theirs) < 5 * np.hypot(our_error, their_error)).all()


def test_the_temperature_follows_kT(fluid):
    simulation, dpd = fluid(dt=0.01, kT=hoomd.variant.Ramp(1.0, 3.0, 300, 100))
    simulation.run(300)
    cold = []
    for _ in range(20):
        simulation.run(1)
        cold.append(dpd.kinetic_temperature)
    simulation.run(700)
    hot = []
    for _ in range(100):
        simulation.run(5)
        hot.append(dpd.kinetic_temperature)
    assert np.mean(cold) == pytest.approx(1.2, abs=0.25)
    assert np.mean(hot) == pytest.approx(3.0, abs=0.15)
    dpd.kT = 0.5
    simulation.run(2000)
    cold = []
    for _ in range(100):
        simulation.run(5)
        cold.append(dpd.kinetic_temperature)
    assert np.mean(cold) == pytest.approx(0.5, abs=0.03)


class Switched(hoomd.variant.Variant):
    """0 before a step, then a value."""

    def __init__(self, value, step):
        hoomd.variant.Variant.__init__(self)
        self.value, self.step = value, step

    def __call__(self, timestep):
        return self.value if timestep >= self.step else 0.0

    def _min(self):
        return 0.0

    def _max(self):
        return self.value


def test_kT_has_its_value_at_each_time_step(fluid):
    """Noise that begins at step 7 has no effect on the positions there: it is the difference of
    forces, and proportional to the root of kT."""
    forces = []
    for value in (0.0, 1.0, 4.0):
        simulation, dpd = fluid(kT=Switched(value, 7))
        simulation.run(7)
        forces.append(dpd.forces_on_particles)
    noise, doubled = forces[1] - forces[0], forces[2] - forces[0]
    assert np.abs(noise).max() > 1
    assert_equal_forces(doubled, 2 * noise)
    np.testing.assert_allclose(noise.sum(axis=0), 0, atol=1e-9)


def test_noise_is_a_function_of_seed_and_time_step(fluid, device):
    snapshot = fluid_snapshot(device)

    def noise(seed, steps):
        forces = []
        for kT in (1.0, 0.0):
            simulation, dpd = fluid(snapshot, kT=kT, seed=seed)
            simulation.run(steps)
            simulation.state.set_snapshot(snapshot)
            simulation.run(0)
            forces.append(dpd.forces_on_particles)
        return forces[0] - forces[1]

    first = noise(1, 5)
    assert_equal_forces(noise(1, 5), first)
    for other in (noise(2, 5), noise(1, 6)):
        correlation = np.corrcoef(first.ravel(), other.ravel())[0, 1]
        assert abs(correlation) < 0.15


def test_momentum_is_conserved(fluid, device):
    simulation, _ = fluid(kT=2.0)
    simulation.run(200)
    particles = simulation.state.get_snapshot().particles
    momentum = (particles.mass[:, None] * particles.velocity).sum(axis=0)
    np.testing.assert_allclose(momentum, 0, atol=1e-9)


# ---- runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_two_runs_make_the_trajectory_of_one(fluid, precision):
    simulation, _ = fluid(precision=precision)
    other, _ = fluid(precision=precision)
    simulation.run(40)
    other.run(13)
    _ = state_of(other)
    other.run(27)
    assert_same_state(simulation, other)


def test_output_and_sorting_do_not_affect_the_trajectory(fluid):
    class Look(hoomd.custom.Action):
        def __init__(self, dpd):
            self.dpd, self.found = dpd, []

        def act(self, timestep):
            velocity = self._state.get_snapshot().particles.velocity
            self.found.append((timestep, self.dpd.kinetic_energy, (velocity**2).sum()))

    simulation, _ = fluid()
    other, dpd = fluid()
    look = Look(dpd)
    every_third = hoomd.trigger.Periodic(3)
    other.operations.writers.append(hoomd.write.CustomWriter(every_third, look))
    (sorter,) = other.operations.tuners
    sorter.trigger = hoomd.trigger.Periodic(5)
    simulation.run(30)
    other.run(30)
    assert [step for step, *_ in look.found] == list(range(3, 31, 3))
    assert len({energy for _, energy, _ in look.found}) == 10
    assert_same_state(simulation, other)


def test_changes_of_other_operations_are_taken_over(fluid):
    """A particle that is set to rest in a run is at rest at that step."""

    class Stop(hoomd.custom.Action):
        def act(self, timestep):
            with self._state.cpu_local_snapshot as data:
                data.particles.velocity[:] = 0

    simulation, dpd = fluid(kT=0.0)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(hoomd.trigger.On(10), Stop()))
    energies = []
    for _ in range(12):
        simulation.run(1)
        energies.append(dpd.kinetic_energy)
    assert energies[10] < 0.1 * energies[9]

    other, dpd = fluid(kT=0.0)
    other.operations.updaters.append(hoomd.update.CustomUpdater(hoomd.trigger.On(10), Stop()))
    other.run(12)
    assert dpd.kinetic_energy == energies[11]


def test_an_updater_can_change_parameters(fluid):
    """From its time step on, as a change between two runs."""

    class Harden(hoomd.custom.Action):
        def act(self, timestep):
            dpd.params[("A", "A")] = dict(A=60.0, gamma=4.5)

    simulation, dpd = fluid()
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(hoomd.trigger.On(5), Harden()))
    simulation.run(12)
    other, dpd = fluid()
    other.run(5)
    Harden().act(5)
    other.run(7)
    assert_same_state(simulation, other)
    plain, _ = fluid()
    plain.run(12)
    with pytest.raises(AssertionError):
        assert_same_state(simulation, plain)


@needs_md
def test_the_box_can_be_resized(fluid, reference, device):
    """Between runs, and by an updater in a run."""
    snapshot = fluid_snapshot(device)
    simulation, dpd = fluid(snapshot, kT=0.0)
    larger, smaller = hoomd.Box.cube(6.3), hoomd.Box(5.5, 6.0, 6.5, 0.1)

    def assert_present_energy():
        other, pair = reference(simulation.state.get_snapshot(), kT=0.0)
        other.run(0)
        assert dpd.pair_energy == pytest.approx(pair.energy, rel=1e-12)

    simulation.run(5)
    hoomd.update.BoxResize.update(simulation.state, larger)
    simulation.run(0)
    assert_present_energy()
    simulation.run(5)
    assert simulation.state.box == larger
    resize = hoomd.update.BoxResize(
        trigger=hoomd.trigger.Periodic(2),
        box=hoomd.variant.box.Interpolate(larger, smaller, hoomd.variant.Ramp(0, 1, 10, 6)),
    )
    simulation.operations.updaters.append(resize)
    simulation.run(10)
    assert simulation.state.box == smaller
    assert_present_energy()


@needs_md
def test_particles_outside_the_filter_are_fixed(fluid, reference, device):
    snapshot = fluid_snapshot(device)
    snapshot.particles.velocity[snapshot.particles.typeid == 1] = 0
    moving = hoomd.filter.Type(["A"])
    simulation, dpd = fluid(snapshot, kT=0.0, filter=moving)
    other, _ = reference(snapshot, kT=0.0, filter=moving)
    thermo, expected = with_thermo(simulation, moving), with_thermo(other, moving)
    for one in (simulation, other):
        one.run(20)
    position, velocity, _ = state_of(simulation)
    theirs = state_of(other)
    np.testing.assert_allclose(position, theirs[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(velocity, theirs[1], rtol=0, atol=1e-9)
    assert (velocity[snapshot.particles.typeid == 1] == 0).all()
    assert dpd.degrees_of_freedom == expected.degrees_of_freedom == thermo.degrees_of_freedom
    assert dpd.kinetic_temperature == pytest.approx(expected.kinetic_temperature, rel=1e-9)


def test_a_run_continues_from_a_gsd_file(fluid, simulation_factory, device, tmp_path):
    """The run begins at the time step of the file and, in the float32 of the file, with its
    configuration. Temperature, pressure and energy agree with those of the run that was not
    interrupted within five joint standard errors from 32 blocks (false alarms below 1e-5)."""
    pytest.importorskip("gsd")
    simulation, dpd = fluid(dt=0.01)
    simulation.run(500)
    file = tmp_path / "state.gsd"
    hoomd.write.GSD.write(simulation.state, file, mode="wb")

    def continued():
        again = hoomd.Simulation(device, seed=simulation.seed)
        again.create_state_from_gsd(file)
        dpd = hoomd.manymove.DPD(0.01, 1.0, precision="double")
        set_params(dpd)
        again.operations.integrator = dpd
        again.run(0)
        assert again.timestep == 500
        return again, dpd

    def averages(one, dpd):
        rows = []
        for _ in range(320):
            one.run(5)
            rows.append((dpd.kinetic_temperature, dpd.pressure, dpd.potential_energy))
        return [blocked(np.array(row)) for row in zip(*rows, strict=True)]

    again, restarted = continued()
    for ours, theirs in zip(state_of(again), state_of(simulation), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    for one, other in zip(averages(again, restarted), averages(simulation, dpd), strict=True):
        assert abs(one[0] - other[0]) < 5 * math.hypot(one[1], other[1])
        assert other[1] < 0.02 * other[0]
    twice, _ = continued()
    twice.run(1600)
    assert_same_state(twice, again)


def test_ctrl_c_leaves_the_state_of_the_time_step(fluid):
    simulation, _ = fluid(dt=0.005)
    simulation.run(1)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)  # as for SIGINT
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            simulation.run(10**6)
    finally:
        signal.signal(signal.SIGALRM, before)
    other, _ = fluid(dt=0.005)
    other.run(simulation.timestep)
    assert simulation.timestep > 1
    assert_same_state(simulation, other)


def test_a_run_continues_after_a_writer_has_failed(fluid):
    """The next run begins with the arrays of the time step of the error, and with what a script has
    changed in them. A new engine computes their forces, so that the trajectory differs slightly
    from that of an uninterrupted run."""

    class Fail(hoomd.custom.Action):
        def act(self, timestep):
            if timestep == 9:
                raise RuntimeError("disk full")

    states = []
    for change in (False, True):
        simulation, _ = fluid()
        every_third = hoomd.trigger.Periodic(3)
        simulation.operations.writers.append(hoomd.write.CustomWriter(every_third, Fail()))
        with pytest.raises(RuntimeError, match="disk full"):
            simulation.run(20)
        steps_left = 20 - simulation.timestep
        assert 0 < steps_left <= 11
        if change:
            with simulation.state.cpu_local_snapshot as data:
                data.particles.velocity[data.particles.rtag[17]] = (0, 5, 0)
        simulation.operations.writers.clear()
        simulation.run(steps_left)
        states.append(state_of(simulation))
    other, _ = fluid()
    other.run(20)
    np.testing.assert_allclose(states[0][0], state_of(other)[0], rtol=0, atol=0.01)
    assert np.abs(states[1][0][17] - states[0][0][17]).max() > 0.1


@needs_md
def test_the_integrator_gives_way_to_another(fluid, reference, device):
    snapshot = fluid_snapshot(device)
    simulation, dpd = fluid(snapshot, kT=0.0)
    other, _ = reference(snapshot, kT=0.0)
    simulation.run(10)
    theirs = other.operations.integrator
    other.operations.integrator = None
    simulation.operations.integrator = theirs
    simulation.run(10)
    simulation.operations.integrator = dpd
    simulation.run(10)
    again, _ = reference(snapshot, kT=0.0)
    again.run(30)
    # Each run of md begins with the friction of the full step.
    np.testing.assert_allclose(state_of(simulation)[0], state_of(again)[0], rtol=0, atol=0.02)
    assert dpd.potential_energy > 0


def test_settings_can_be_changed_between_runs(fluid):
    simulation, dpd = fluid(kT=0.0)
    simulation.run(0)
    before = dpd.pair_energy
    for types, params in PARAMS.items():
        dpd.params[types] = dict(params, A=2 * params["A"])
    simulation.run(0)
    assert dpd.pair_energy == pytest.approx(2 * before, rel=1e-12)
    dpd.dt = 0.001
    dpd.buffer = 0.6
    simulation.run(1)
    assert (dpd.dt, dpd.buffer, dpd.params[("B", "A")]["A"]) == (0.001, 0.6, 80.0)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda dpd: pickle.loads(pickle.dumps(dpd))])
def test_a_copy_has_the_settings_and_makes_the_same_trajectory(fluid, copied):
    simulation, dpd = fluid()
    other, _ = fluid()
    other.operations.integrator = copied(dpd)
    simulation.run(5)
    other.run(5)
    assert_same_state(simulation, other)


# ---- what can be logged, and what is refused -----------------------------------------------------


def test_what_can_be_logged():
    scalar = {"category": LoggerCategories.scalar, "default": True}
    scalars = (
        "potential_energy",
        "pair_energy",
        "bond_energy",
        "angle_energy",
        "kinetic_energy",
        "degrees_of_freedom",
        "kinetic_temperature",
        "pressure",
        "mps",
    )
    logging_check(
        hoomd.manymove.DPD,
        ("manymove", "dpd"),
        dict.fromkeys(scalars, scalar)
        | {
            "pressure_tensor": {"category": LoggerCategories.sequence, "default": True},
            "forces_on_particles": {"category": LoggerCategories.particle, "default": True},
        },
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dt": 0}, "dt must be positive and finite, got 0"),
        ({"dt": "x"}, "dt must be a number, got 'x'"),
        ({"buffer": -1}, "buffer must be finite and not negative, got -1"),
        ({"default_r_cut": -1}, "r_cut must be finite and not negative, got -1"),
        ({"precision": "single"}, 'precision must be "mixed" or "double"'),
        ({"threads": 0}, "threads must be from 1 to"),
        ({"exclusions": ("meshbond",)}, "exclusions of .* '1-4', got 'meshbond'"),
        ({"exclusions": 3}, "exclusions must be a sequence, got 3"),
        ({"forces": 3}, "forces must be a sequence, got 3"),
        ({"filter": "A"}, "filter must be a filter of hoomd.filter, got 'A'"),
        ({"kT": "x"}, "variant"),
        ({"forces": [3]}, r"hoomd\.manymove\.DPD has no force builtins\.int"),
        ({"nlist": None}, "unexpected keyword argument 'nlist'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        hoomd.manymove.DPD(**({"dt": 0.02, "kT": 1.0} | settings))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (dict(A=math.nan, gamma=1), "A must be finite, got nan"),
        (dict(A=1, gamma=-1), "gamma must be finite and not negative, got -1"),
        (dict(A=1, gamma=1, weight_exponent=-1), "weight_exponent must be finite and not negative"),
        (dict(A=1, gamma=1, sigma=1), "sigma"),
    ],
)
def test_wrong_parameters_are_named(params, message):
    dpd = hoomd.manymove.DPD(0.02, 1.0)
    with pytest.raises((TypeError, ValueError, KeyError), match=message):
        dpd.params[("A", "A")] = params


def test_misspelled_attributes_are_refused():
    dpd = hoomd.manymove.DPD(0.02, 1.0)
    with pytest.raises(AttributeError, match="has no attribute buffr; the nearest name is buff"):
        dpd.buffr = 0.3
    with pytest.raises(AttributeError, match=r"DPD\.pressure is a result"):
        dpd.pressure = 1.0
    with pytest.raises(AttributeError, match=r"DPD\.filter"):
        dpd.filter = hoomd.filter.All()


@pytest.mark.parametrize("N", [1, 2])
def test_very_few_particles_and_a_type_without_any(fluid, device, N):
    """A single particle moves along a straight line, and so do two that are far apart."""
    snapshot = hoomd.Snapshot()
    snapshot.configuration.box = [6, 6, 6, 0, 0, 0]
    snapshot.particles.types = ["A", "B"]
    snapshot.particles.N = N
    snapshot.particles.position[:] = [(0, 0, 0), (2.5, 0, 0)][:N]
    snapshot.particles.velocity[:] = (0, 1, 0)
    simulation, dpd = fluid(snapshot, dt=0.1)
    simulation.run(20)
    position, velocity, image = state_of(simulation)
    np.testing.assert_allclose(position[:, 1] + 6 * image[:, 1], 2.0, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(velocity, snapshot.particles.velocity)
    assert dpd.potential_energy == 0
    assert dpd.degrees_of_freedom == 3 * (N - 1)


@needs_md
def test_forces_without_bonds_in_the_state_do_nothing(fluid, device):
    forces = [md.bond.Harmonic(), md.angle.Harmonic()]
    simulation, dpd = fluid(forces=forces)
    other, _ = fluid(forces=None)
    simulation.run(5)
    other.run(5)
    assert dpd.bond_energy == dpd.angle_energy == 0
    assert_same_state(simulation, other)


@needs_md
def test_other_forces_are_refused_by_name(fluid):
    lj = md.pair.LJ(md.nlist.Cell(buffer=0.4))
    with pytest.raises(ValueError, match=r"has no force hoomd\.md\.pair\.LJ: .*md\.Integrator"):
        hoomd.manymove.DPD(0.02, 1.0, forces=[lj])
    simulation, dpd = fluid()
    dpd.forces.append(md.bond.Tether())
    with pytest.raises(ValueError, match=r"has no force hoomd\.md\.bond\.Tether"):
        simulation.run(1)


@needs_md
def test_a_shifted_fenewca_is_refused(fluid, device):
    forces = bonded_forces()
    forces[1].params["stiff"] = dict(k=40.0, r0=2.5, epsilon=0.1, sigma=0.3, delta=0.1)
    simulation, _ = fluid(fluid_snapshot(device, bonded=True), forces=forces)
    with pytest.raises(ValueError, match=r"needs delta = 0 in hoomd\.md\.bond\.FENEWCA, got 0\.1"):
        simulation.run(0)


@needs_md
def test_bonds_without_parameters_are_refused(fluid, device):
    harmonic = md.bond.Harmonic()
    harmonic.params["soft"] = dict(k=20.0, r0=0.7)
    simulation, _ = fluid(fluid_snapshot(device, bonded=True), forces=[harmonic])
    with pytest.raises(IncompleteSpecificationError, match=r'needs params\["stiff"\]\["k"\]'):
        simulation.run(0)


def test_missing_parameters_are_refused_until_they_are_there(fluid):
    simulation, _ = fluid()
    other = hoomd.manymove.DPD(0.02, 1.0)
    other.params[("A", "A")] = other.params[("B", "B")] = dict(A=25.0, gamma=4.5)
    other.r_cut[("A", ["A", "B"])] = 1.0
    simulation.operations.integrator = other
    for _ in range(2):
        with pytest.raises(IncompleteSpecificationError, match=r"A and gamma .*\('A', 'B'\)"):
            simulation.run(1)
    other.params[("A", "B")] = dict(A=25.0, gamma=4.5)
    with pytest.raises(IncompleteSpecificationError, match=r"r_cut\[\('B', 'B'\)\]"):
        simulation.run(1)
    other.r_cut[("B", "B")] = 1.0
    simulation.run(1)
    assert other.kinetic_energy > 0


def test_impossible_systems_are_refused(fluid, device, simulation_factory):
    narrow, _ = fluid(fluid_snapshot(device, (1.9, 6, 6, 0, 0, 0)))
    with pytest.raises(ValueError, match=r"1\.9 wide along x, less than twice the largest cutoff"):
        narrow.run(0)
    many, _ = fluid(with_masses(fluid_snapshot(device), np.linspace(1, 2, 300)))
    with pytest.raises(ValueError, match=r"at most 256 different pairs .* have \d{3}"):
        many.run(0)
    snapshot = fluid_snapshot(device)
    snapshot.particles.mass[:] = 0
    masses, _ = fluid(snapshot)
    with pytest.raises(ValueError, match="needs positive masses: a particle of type"):
        masses.run(0)
    snapshot = fluid_snapshot(device)
    snapshot.particles.body[:130] = -2
    bodies, _ = fluid(snapshot, exclusions="body")
    with pytest.raises(ValueError, match="bodies of at most 128 particles, and a body has 130"):
        bodies.run(0)
    snapshot.particles.body[:2] = 0
    rigid, _ = fluid(snapshot)
    with pytest.raises(ValueError, match=r"has no rigid bodies: .* tag [01] belongs to body 0"):
        rigid.run(0)
    flat, _ = fluid(fluid_snapshot(device, (6, 6, 0, 0, 0, 0), N=4))
    with pytest.raises(ValueError, match="needs a 3D box"):
        flat.run(0)
    simulation, dpd = fluid(kT=Switched(-1.0, 5))
    with pytest.raises(ValueError, match="kT must be finite and not negative, got -1 at step 5"):
        simulation.run(10)
    dpd.kT = 1.0
    simulation.run(10)


def test_a_lost_particle_is_named_by_its_tag(fluid):
    simulation, dpd = fluid()
    simulation.run(3)
    with simulation.state.cpu_local_snapshot as data:
        data.particles.velocity[data.particles.rtag[17]] = (0, 200, 0)
    with pytest.raises(RuntimeError, match="DPD: particle 17 was lost before step 4"):
        simulation.run(10)
    for result in ("pressure", "forces_on_particles"):
        with pytest.raises(RuntimeError, match="has no results after an error"):
            getattr(dpd, result)


def test_operations_of_hpmc_are_refused(fluid):
    hpmc = pytest.importorskip("hoomd.hpmc")
    simulation, _ = fluid()
    simulation.operations.computes.append(hpmc.compute.FreeVolume("A", 1))
    with pytest.raises(RuntimeError, match=r"FreeVolume is in simulation\.operations"):
        simulation.run(1)


def test_threads_are_fixed_while_it_is_attached(fluid):
    simulation, dpd = fluid(threads=1)
    other, _ = fluid(threads=2)
    simulation.run(10)
    other.run(10)
    assert_same_state(simulation, other)
    with pytest.raises(MutabilityError):
        dpd.threads = 2
