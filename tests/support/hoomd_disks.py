"""Simulations of hard disks in HOOMD-blue, as the tests make them; HOOMD-blue must be installed."""

from __future__ import annotations

import hoomd
import numpy as np
from flat_settings import of_hard_particles
from hoomd_spheres import edges_of, positions_of, simulation_of

import manymove
import manymove.hoomd


def on_lattice(side, device=None, seed=1, types="A"):
    """side x side disks of these types in turn, 1.2 apart; only the first rank has memory for
    their places."""
    device, sites = device or hoomd.device.CPU(), None
    if device.communicator.rank == 0:
        sites = 1.2 * np.indices((side, side)).reshape(2, -1).T - 0.6 * (side - 1)
    return simulation_of((sites, 2 * (1.2 * side,)), types, device, seed)


def add_disks(simulation, trigger=1, **settings):
    disks = manymove.hoomd.HardDisksUpdater(**{"diameter": 1.0, "threads": 1, **settings})
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(trigger, disks))
    return disks


def make(start, device=None, **settings):
    simulation = simulation_of(start, "AB", device)
    return simulation, add_disks(simulation, **settings)


def standalone(simulation, cycles, **settings):
    """The result of `manymove.HardDisks` for the present state after a number of cycles."""
    disks = manymove.HardDisks(
        positions_of(simulation),
        edges_of(simulation),
        **of_hard_particles(**{"seed": simulation.seed, "device": "cpu", "threads": 1, **settings}),
    )
    disks.run_cycles(cycles)
    return disks
