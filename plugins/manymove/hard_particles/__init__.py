# SPDX-License-Identifier: BSD-3-Clause
"""Hard disks by massively parallel Monte Carlo (MPMC)."""

from manymove.hard_particles.packing import hexagonal_packing, random_packing, square_packing
from manymove.hard_particles.simulation import HardDisks, OverlapError
from manymove.hard_particles.tuning import Tuning

__all__ = [
    "HardDisks",
    "OverlapError",
    "Tuning",
    "hexagonal_packing",
    "random_packing",
    "square_packing",
]
