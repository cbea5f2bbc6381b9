"""hoomd.manymove.compute.SDF: the scale distribution function, against HPMC's."""

import hoomd
import hoomd.manymove
import numpy as np
import pytest
from hoomd.conftest import logging_check
from hoomd.logging import LoggerCategories
from hoomd.manymove.compute import SDF
from hoomd.manymove.pytest.conftest import edges_of, nearest_image
from hoomd.manymove.pytest.test_hard_spheres import DIAMETERS, particles  # noqa: F401
from hoomd.manymove.pytest.test_physics import hpmc

SYSTEMS = {
    "disks": (2, "A", 1.06, 30),
    "mixture of disks": (2, "AB", 1.42, 30),
    "spheres": (3, "A", 1.06, 10),
    "mixture of spheres": (3, "AB", 1.42, 10),
}


@pytest.fixture(params=SYSTEMS)
def measured(request, particles):  # noqa: F811
    """A simulation after some steps, with its compute."""
    dimensions, types, spacing, per_edge = SYSTEMS[request.param]
    simulation, mc = particles(dimensions, types, spacing, per_edge)
    sdf = SDF(xmax=0.02, dx=1e-4)
    simulation.operations.computes.append(sdf)
    simulation.run(40)
    return simulation, mc, sdf


def smallest_scales(simulation):
    """x of each particle by brute force."""
    snapshot = simulation.state.get_snapshot()
    edges = edges_of(simulation)
    r = snapshot.particles.position[:, : len(edges)]
    names = snapshot.particles.types
    sizes = np.array([DIAMETERS[names[k]] for k in snapshot.particles.typeid])
    found = []
    for i in range(len(r)):
        distance = np.linalg.norm(nearest_image(r - r[i], edges), axis=1)
        distance[i] = np.inf
        found.append((1 - (sizes + sizes[i]) / 2 / distance).min())
    return np.array(found)


def test_each_particle_counts_once_with_its_nearest_contact(measured):
    simulation, _, sdf = measured
    x = smallest_scales(simulation)
    expected, _ = np.histogram(x, bins=200, range=(0, 0.02))
    counts = sdf.sdf_compression * simulation.state.N_particles * 1e-4
    assert expected.sum() > 0.2 * len(x)
    assert np.abs(counts - expected).sum() < 1e-6
    np.testing.assert_allclose(sdf.x_compression, (np.arange(200) + 0.5) * 1e-4, rtol=1e-13)
    np.testing.assert_allclose(sdf.x_expansion, -sdf.x_compression[::-1], rtol=1e-13)
    assert sdf.sdf_expansion.shape == (200,) and not sdf.sdf_expansion.any()


@pytest.mark.skipif(hpmc is None, reason="HOOMD-blue without HPMC")
def test_the_numbers_are_those_of_hpmc(measured, simulation_factory):
    """HPMC evaluates overlaps with float32: few particles are in the next bin."""
    simulation, _, sdf = measured
    other = simulation_factory(simulation.state.get_snapshot())
    reference = hoomd.hpmc.integrate.Sphere(default_d=0.1)
    for name in other.state.particle_types:
        reference.shape[name] = dict(diameter=DIAMETERS[name])
    other.operations.integrator = reference
    theirs = hoomd.hpmc.compute.SDF(xmax=0.02, dx=1e-4)
    other.operations.computes.append(theirs)
    other.run(0)
    unit = simulation.state.N_particles * 1e-4
    counts = [each.sdf_compression * unit for each in (sdf, theirs)]
    assert counts[0].sum() == pytest.approx(counts[1].sum(), abs=1.5)
    moved = np.abs(np.cumsum(counts[0] - counts[1]))
    assert moved.max() < 1.5 and moved.sum() < 0.03 * counts[0].sum()
    for name in ("x_compression", "x_expansion", "sdf_expansion"):
        np.testing.assert_allclose(getattr(sdf, name), getattr(theirs, name), atol=1e-15)
    assert sdf.betaP == pytest.approx(theirs.betaP, rel=0.01)
    if moved.max() < 0.5:  # all particles are in the same bins
        assert sdf.betaP == pytest.approx(theirs.betaP, rel=1e-12)


def test_both_pressures_have_the_same_mean(particles):  # noqa: F811
    simulation, mc = particles(2, "A", 1.2, 30)
    sdf = SDF(xmax=0.02, dx=1e-4)
    simulation.operations.computes.append(sdf)
    simulation.run(200)
    rows = []
    for _ in range(400):
        simulation.run(5)
        rows.append((sdf.betaP, mc.betaP))
    ours, pairs = np.mean(rows, axis=0)
    error = np.std(np.subtract(*np.transpose(rows))) / 20
    assert error < 0.02 * pairs
    assert ours == pytest.approx(pairs, abs=4.5 * error)  # one seed of 100,000 is farther away


def test_quantities_are_logged_as_those_of_hpmc():
    scalar = {"category": LoggerCategories.scalar, "default": True}
    sequence = {"category": LoggerCategories.sequence, "default": True}
    names = ("sdf_compression", "sdf_expansion", "x_compression", "x_expansion")
    expected = {"betaP": scalar, **{name: sequence for name in names}}
    logging_check(SDF, ("manymove", "compute"), expected)


def test_bins_can_be_assigned(measured):
    _, _, sdf = measured
    before = sdf.sdf_compression
    sdf.dx = 2e-4
    np.testing.assert_allclose(sdf.sdf_compression, before.reshape(-1, 2).mean(1), rtol=1e-12)
    sdf.xmax = 0.01
    np.testing.assert_allclose(sdf.sdf_compression, before.reshape(-1, 2).mean(1)[:50], rtol=1e-12)
    with pytest.raises(AttributeError, match="xmx; the nearest name is xmax"):
        sdf.xmx = 1


@pytest.mark.parametrize(
    ("xmax", "dx", "message"),
    [
        (0.4, 1e-3, "xmax must be below 1/3, got 0.4"),
        (-1, 1e-3, "xmax must be positive and finite, got -1"),
        (0.02, 0, "dx must be positive and finite, got 0"),
        (0.02, 0.01, "xmax must be at least 6 times dx, got 0.02 and 0.01"),
    ],
)
def test_bad_bins_are_refused(xmax, dx, message):
    with pytest.raises(ValueError, match=message):
        SDF(xmax, dx)


def test_another_integrator_is_refused(measured):
    simulation, _, sdf = measured
    simulation.operations.integrator = None
    with pytest.raises(RuntimeError, match="HardDisks or HardSpheres, not NoneType"):
        sdf.betaP  # noqa: B018
