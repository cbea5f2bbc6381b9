# SPDX-License-Identifier: BSD-3-Clause
"""Molecules of two opposite charges in the small framework, for the tests of rigid molecules."""

from __future__ import annotations

from typing import Any

import numpy as np
from adsorption_model import molecules_in, small_framework

from manymove import Adsorption
from manymove.adsorption import ForceField, Molecule, Site

FRAMEWORK = small_framework()
BOX = np.array(FRAMEWORK.cell)
LAWS, CHARGES = {"O": (90.0, 2.6), "Si": (60.0, 2.4)}, {"O": -0.1, "Si": 0.4}
FIELD = ForceField(LAWS, CHARGES)
OFFSETS = np.array([[0, 0, 0.5], [0.1, 0, -0.4]])


def dipole(unit: float = 1.0, energy: float = 1.0) -> Molecule:
    """The molecule in units of charge per e and of energy per kelvin."""
    sites = (Site("P", tuple(OFFSETS[0]), 80.0 * energy, 2.6, 0.1 * unit),
             Site("M", tuple(OFFSETS[1]), 60.0 * energy, 2.4, -0.1 * unit))  # fmt: skip
    return Molecule("dipole", sites)


DIPOLE = dipole()


def dipoles_in_small(molecules: Any, **settings: Any) -> Adsorption:
    defaults: dict[str, Any] = dict(
        adsorbates=DIPOLE, force_field=FIELD, cutoff=4.0, grid_spacing=0.25, ewald=(0.7, 3.0),
        temperature=300.0, threads=2,
    )  # fmt: skip
    return molecules_in(FRAMEWORK, molecules, **{**defaults, **settings})


def dipoles_between_hills(molecules: int = 3, **settings: Any) -> Adsorption:
    """A system of molecules that begin at places with low energies, for host programs."""
    settings = {"systems": 1, "threads": 1, "barrier": 6000.0, **settings}
    return dipoles_in_small(molecules, **settings)
