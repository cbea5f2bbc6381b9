"""Simulations of hard disks in HOOMD-blue, as the tests make them; HOOMD-blue must be installed."""

from __future__ import annotations

import hoomd
import numpy as np
from flat_settings import of_hard_particles

import manymove
import manymove.hoomd


def simulation_of(start, device=None, seed=1, types=("A", "B")):
    """A simulation of the disks on any number of ranks, with alternating types."""
    positions, box = start
    simulation = hoomd.Simulation(device or hoomd.device.CPU(), seed=seed)
    snapshot = hoomd.Snapshot(simulation.device.communicator)
    if snapshot.communicator.rank == 0:
        snapshot.configuration.box = [*box, 0, 0, 0, 0]
        snapshot.particles.N = len(positions)
        snapshot.particles.types = list(types)
        snapshot.particles.typeid[:] = np.arange(len(positions)) % len(types)
        snapshot.particles.position[:, :2] = positions
    simulation.create_state_from_snapshot(snapshot)
    return simulation


def on_lattice(side, device=None, seed=1, types="A"):
    """side x side disks of these types in turn, 1.2 apart; only the first rank has memory for
    their places."""
    device, sites = device or hoomd.device.CPU(), None
    if device.communicator.rank == 0:
        sites = 1.2 * np.indices((side, side)).reshape(2, -1).T - 0.6 * (side - 1)
    return simulation_of((sites, 2 * (1.2 * side,)), device, seed, types=types)


def add_disks(simulation, trigger=1, **settings):
    disks = manymove.hoomd.HardDisksUpdater(**{"diameter": 1.0, "threads": 1, **settings})
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(trigger, disks))
    return disks


def make(start, device=None, **settings):
    simulation = simulation_of(start, device)
    return simulation, add_disks(simulation, **settings)


def positions_of(simulation):
    return simulation.state.get_snapshot().particles.position[:, :2].copy()


def images_of(simulation):
    return simulation.state.get_snapshot().particles.image[:, :2].copy()


def box_of(simulation):
    return simulation.state.box.Lx, simulation.state.box.Ly


def standalone(simulation, cycles, **settings):
    """The result of `manymove.HardDisks` for the present state after a number of cycles."""
    disks = manymove.HardDisks(
        positions_of(simulation),
        box_of(simulation),
        **of_hard_particles(**{"seed": simulation.seed, "device": "cpu", "threads": 1, **settings}),
    )
    disks.run_cycles(cycles)
    return disks
