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


@pytest.fixture
def snapshot_of(device):
    """Make a 2D snapshot of disks."""

    def make(positions, box, types=("A",), typeid=0):
        if device.communicator.num_ranks > 1:
            pytest.skip("the system is written for one rank")
        snapshot = hoomd.Snapshot(device.communicator)
        snapshot.configuration.box = [box[0], box[1], 0, 0, 0, 0]
        snapshot.particles.N = len(positions)
        snapshot.particles.types = list(types)
        snapshot.particles.typeid[:] = typeid
        snapshot.particles.position[:, :2] = positions
        return snapshot

    return make


@pytest.fixture
def disks(simulation_factory, snapshot_of):
    """Make a simulation of disks of diameter 1 and its integrator."""

    def make(positions, box, types=("A",), typeid=0, diameter=1.0, d=0.16, **settings):
        simulation = simulation_factory(snapshot_of(positions, box, types, typeid))
        mc = hoomd.manymove.HardDisks(default_d=d, **settings)
        for name in types:
            mc.shape[name] = dict(diameter=diameter)
        simulation.operations.integrator = mc
        return simulation, mc

    return make


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
