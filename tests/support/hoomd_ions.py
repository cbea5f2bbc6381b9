# SPDX-License-Identifier: BSD-3-Clause
"""Ions in HOOMD-blue, as the tests make them."""

from __future__ import annotations

import hoomd
import numpy as np


def simulation_of(ions, device, box=None, seed=3, domains=(None, None, None)):
    """A simulation of the ions of a `manymove.Electrolyte`, on any number of ranks."""
    simulation = hoomd.Simulation(device, seed=seed)
    snapshot = hoomd.Snapshot(device.communicator)
    if snapshot.communicator.rank == 0:
        snapshot.configuration.box = [*(box or ions.box), 0, 0, 0]
        snapshot.particles.N = ions.N
        snapshot.particles.types = ["A"]
        snapshot.particles.position[:] = ions.positions
        valences = np.array([s.valence for s in ions.species])
        snapshot.particles.charge[:] = valences[ions.types]
        diameters = np.array([s.diameter for s in ions.species])
        snapshot.particles.diameter[:] = diameters[ions.types]
    simulation.create_state_from_snapshot(snapshot, domains)
    return simulation
