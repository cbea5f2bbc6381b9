"""Simulations of hard disks for the tests."""

import math

import hoomd
import hoomd.manymove
import numpy as np
import pytest

SEED = 22765  # of the factory's simulations


def hexagonal(columns, rows, packing_fraction):
    """Sites of a hexagonal lattice, (columns * rows, 2), and the box; rows must be even."""
    spacing = math.sqrt(math.pi / (2 * math.sqrt(3) * packing_fraction))
    box = (columns * spacing, rows * spacing * math.sqrt(0.75))
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(columns), np.arange(rows)))
    fractions = np.column_stack(((i + 0.5 * (j % 2) + 0.25) / columns, (j + 0.5) / rows))
    return (fractions - 0.5) * box, box


def lattice(dimensions, per_edge, spacing):
    """Sites of a square or cubic lattice around the origin, (per_edge**dimensions, dimensions)."""
    sites = np.indices((per_edge,) * dimensions).reshape(dimensions, -1).T
    return (sites - (per_edge - 1) / 2) * spacing


@pytest.fixture
def snapshot_of(device):
    """Make a snapshot of particles, which have the types in turn."""

    def make(positions, edges, types="A"):
        if device.communicator.num_ranks > 1:
            pytest.skip("the system is written for one rank")
        snapshot = hoomd.Snapshot(device.communicator)
        snapshot.configuration.box = [*edges, *[0] * (6 - len(edges))]
        snapshot.particles.N = len(positions)
        snapshot.particles.types = list(types)
        snapshot.particles.typeid[:] = np.arange(len(positions)) % len(types)
        snapshot.particles.position[:, : len(edges)] = positions
        return snapshot

    return make


@pytest.fixture
def simulation_of(simulation_factory, snapshot_of):
    """Make a simulation of particles with an integrator; diameters: of all types, or by type."""

    def make(mc, positions, edges, types="A", diameters=1.0):
        simulation = simulation_factory(snapshot_of(positions, edges, types))
        for name in types:
            diameter = diameters[name] if isinstance(diameters, dict) else diameters
            mc.shape[name] = dict(diameter=diameter)
        simulation.operations.integrator = mc
        return simulation

    return make


@pytest.fixture
def disks(simulation_of):
    """Make a simulation of disks of diameter 1 and its integrator."""

    def make(positions, box, types="A", diameter=1.0, d=0.16, **settings):
        mc = hoomd.manymove.HardDisks(default_d=d, **settings)
        return simulation_of(mc, positions, box, types, diameter), mc

    return make


def edges_of(simulation):
    box = simulation.state.box
    return np.array([box.Lx, box.Ly] if box.is2D else [box.Lx, box.Ly, box.Lz])


def integrator_of(dimensions):
    """The class of the integrator."""
    return hoomd.manymove.HardDisks if dimensions == 2 else hoomd.manymove.HardSpheres


def positions_of(simulation):
    return simulation.state.get_snapshot().particles.position[:, :2].copy()


def unwrapped(simulation):
    snapshot = simulation.state.get_snapshot()
    box = np.array(snapshot.configuration.box[:2])
    return snapshot.particles.position[:, :2] + snapshot.particles.image[:, :2] * box


def assert_same(positions, others):
    """Snapshots of HOOMD-blue 4 are rounded once more."""
    np.testing.assert_allclose(positions, others, rtol=0, atol=1e-11)


def nearest_image(vectors, box):
    return vectors - np.rint(vectors / box) * box


def closest_distance(positions, box):
    """By brute force."""
    i, j = np.triu_indices(len(positions), 1)
    return np.sqrt((nearest_image(positions[i] - positions[j], np.array(box)) ** 2).sum(1).min())


def engine(positions, box, mc, seed=SEED, first_cycle=0):
    """The engine of the package manymove with the parameters of an integrator."""
    manymove = pytest.importorskip("manymove")
    rounds = max(k for k in (1, 2, 3, 4) if mc.sweeps_per_step % k == 0)
    made = manymove.HardDisks(
        np.ascontiguousarray(positions, dtype=np.float64),
        box,
        mc.shape["A"]["diameter"],
        max_displacement=mc.d["A"],
        grid=manymove.Grid(moves_per_cell=mc.nselect, rounds=rounds),
        seed=seed,
        start=manymove.Start(first_cycle),
        device="cpu",
    )
    return made, mc.sweeps_per_step // rounds
