"""Massively parallel particle simulations on CPUs and GPUs."""

from importlib.metadata import version

from manymove import _renamed
from manymove.adsorption import METHANE, Adsorbate, Adsorption, Framework, read_framework
from manymove.dpd import DPDFluid
from manymove.electrolyte import Electrolyte, IonOverlapError, Salt, Species
from manymove.hard_particles import (
    HardDisks,
    OverlapError,
    hexagonal_packing,
    random_packing,
    square_packing,
)
from manymove.jobs.channel import RankLost

__version__ = version("manymove")
__all__ = [
    "METHANE",
    "Adsorbate",
    "Adsorption",
    "DPDFluid",
    "Electrolyte",
    "Framework",
    "HardDisks",
    "IonOverlapError",
    "OverlapError",
    "RankLost",
    "Salt",
    "Species",
    "__version__",
    "hexagonal_packing",
    "random_packing",
    "read_framework",
    "square_packing",
]

__getattr__ = _renamed.names_of("manymove")
