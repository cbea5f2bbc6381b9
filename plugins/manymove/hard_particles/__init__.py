# SPDX-License-Identifier: BSD-3-Clause
"""Hard disks and spheres by massively parallel Monte Carlo (MPMC)."""

from manymove.errors import OverlapError
from manymove.hard_particles.copies import random_sphere_packing, replicate
from manymove.hard_particles.crystals import bcc_packing, fcc_packing, hcp_packing
from manymove.hard_particles.einstein import EinsteinCrystal, extrapolated
from manymove.hard_particles.gibbs import GibbsEnsemble
from manymove.hard_particles.packing import hexagonal_packing, random_packing, square_packing
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.hard_particles.tuning import Tuning

__all__ = [
    "EinsteinCrystal",
    "GibbsEnsemble",
    "HardDisks",
    "HardSpheres",
    "OverlapError",
    "Tuning",
    "bcc_packing",
    "extrapolated",
    "fcc_packing",
    "hcp_packing",
    "hexagonal_packing",
    "random_packing",
    "random_sphere_packing",
    "replicate",
    "square_packing",
]
