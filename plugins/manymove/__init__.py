"""Massively parallel particle simulations on CPUs and GPUs."""

import typing as _typing
from importlib.metadata import version as _version

from manymove import _renamed
from manymove.adsorption import METHANE, Adsorbate, Adsorption, Framework, Profile, read_framework
from manymove.analysis.notation import Estimate
from manymove.analysis.pressure import PressureEstimate
from manymove.dpd import DPDFluid
from manymove.electrolyte import Electrolyte, IonOverlapError, PairCorrelations, Salt, Species
from manymove.hard_particles import (
    HardDisks,
    OverlapError,
    Tuning,
    hexagonal_packing,
    random_packing,
    square_packing,
)
from manymove.jobs.channel import RankLost

__version__ = _version("manymove")
__all__ = [
    "METHANE",
    "Adsorbate",
    "Adsorption",
    "DPDFluid",
    "Electrolyte",
    "Estimate",
    "Framework",
    "HardDisks",
    "IonOverlapError",
    "OverlapError",
    "PairCorrelations",
    "PressureEstimate",
    "Profile",
    "RankLost",
    "Salt",
    "Species",
    "Tuning",
    "__version__",
    "hexagonal_packing",
    "random_packing",
    "read_framework",
    "square_packing",
]

if not _typing.TYPE_CHECKING:  # otherwise any name would be right for a type checker
    __getattr__ = _renamed.names_of("manymove")
