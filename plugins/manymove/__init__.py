"""Massively parallel particle simulations on CPUs and GPUs."""

from importlib.metadata import version as _version

from manymove.adsorption import METHANE, Adsorbate, Adsorption, Framework, Profile, read_framework
from manymove.analysis.notation import Estimate
from manymove.analysis.pressure import PressureEstimate
from manymove.dpd import DPDFluid
from manymove.electrolyte import Electrolyte, IonOverlapError, PairCorrelations, Salt, Species
from manymove.hard_particles import (
    HardDisks,
    HardSpheres,
    OverlapError,
    Tuning,
    bcc_packing,
    fcc_packing,
    hcp_packing,
    hexagonal_packing,
    random_packing,
    random_sphere_packing,
    replicate,
    square_packing,
)
from manymove.jobs.channel import RankLost
from manymove.simulation import load

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
    "HardSpheres",
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
    "bcc_packing",
    "fcc_packing",
    "hcp_packing",
    "hexagonal_packing",
    "load",
    "random_packing",
    "random_sphere_packing",
    "read_framework",
    "replicate",
    "square_packing",
]
