# SPDX-License-Identifier: BSD-3-Clause
"""Adsorbates and rigid molecules in HOOMD-blue among fixed particles, as the tests make them."""

from __future__ import annotations

import hoomd
import numpy as np
from adsorption_model import CUTOFF, GAS, make
from dipoles import BOX, CHARGES, FRAMEWORK, LAWS, OFFSETS, dipole, dipoles_between_hills
from ewald_sum import COULOMB

from manymove.adsorption import ForceField
from manymove.adsorption.places import rotated

ATOMS = dict(adsorbate="Ar", epsilon=120.0, sigma=3.0, framework=dict(GAS.framework), kT=300.0,
                cutoff=CUTOFF, grid_spacing=0.25, threads=1)  # fmt: skip


def of_atoms(molecules=3, seed=1, start_seed=1, device=None, domains=(None, None, None)):
    """Adsorbates between two parts of the framework, on any number of ranks."""
    simulation = hoomd.Simulation(device or hoomd.device.CPU(), seed=seed)
    snapshot = hoomd.Snapshot(simulation.device.communicator)
    if snapshot.communicator.rank == 0:
        _place_atoms(snapshot, molecules, start_seed)
    simulation.create_state_from_snapshot(snapshot, domains)
    return simulation


def _place_atoms(snapshot, molecules, seed):
    places = make(molecules=molecules, systems=1, seed=seed, barrier=6000.0).positions[0]
    snapshot.configuration.box = [*BOX, 0, 0, 0]
    snapshot.particles.types = ["O", "Ar", "Si"]
    snapshot.particles.N = molecules + 5
    # Adsorbates between framework atoms, so that tags and molecules differ.
    names = ["O", "O", *["Ar"] * molecules, "O", "O", "Si"]
    snapshot.particles.typeid[:] = [snapshot.particles.types.index(n) for n in names]
    everything = np.insert(FRAMEWORK.fractional * BOX, 2, places, axis=0)
    snapshot.particles.position[:] = everything - BOX / 2


UNIT = COULOMB**0.5  # charges of HOOMD-blue in these units, per e
MOLECULES = dict(adsorbate="A", molecule=dipole(UNIT), force_field=ForceField(LAWS), kT=300.0,
                cutoff=4.0, ewald=(0.7, 3.0), grid_spacing=0.25, threads=1)  # fmt: skip


def of_molecules(molecules=3, bodies=True, charge=UNIT, device=None, domains=(None, None, None)):
    """Molecules between two parts of the framework, with or without constituents, on any number of
    ranks."""
    simulation = hoomd.Simulation(device or hoomd.device.CPU(), seed=1)
    snapshot = hoomd.Snapshot(simulation.device.communicator)
    if snapshot.communicator.rank == 0:
        _place_molecules(snapshot, molecules, bodies, charge)
    simulation.create_state_from_snapshot(snapshot, domains)
    return simulation


def _place_molecules(snapshot, molecules, bodies, charge):
    start = dipoles_between_hills(molecules)
    places, turns = start.positions[0] - BOX / 2, start.orientations[0]
    snapshot.configuration.box = [*BOX, 0, 0, 0]
    snapshot.particles.types = ["O", "A", "Si", "P", "M"]
    parts = 2 * molecules if bodies else 0
    snapshot.particles.N = molecules + 5 + parts
    p, tags = snapshot.particles, np.arange(2, 2 + molecules)
    names = ["O", "O", *["A"] * molecules, "O", "O", "Si", *["P", "M"] * (parts // 2)]
    p.typeid[:] = [p.types.index(n) for n in names]
    atoms = np.delete(np.arange(5 + molecules), tags)
    p.position[atoms] = FRAMEWORK.fractional * BOX - BOX / 2
    p.charge[atoms] = [charge * CHARGES[e] for e in FRAMEWORK.elements]
    p.position[tags], p.orientation[tags] = places, turns
    p.body[:] = -1
    if bodies:
        sites = places[:, None] + rotated(turns[:, None], OFFSETS)
        out = np.floor(sites / BOX + 0.5)
        p.position[5 + molecules :] = (sites - out * BOX).reshape(-1, 3)
        p.image[5 + molecules :] = out.reshape(-1, 3)
        p.body[tags] = tags
        p.body[5 + molecules :] = np.repeat(tags, 2)
