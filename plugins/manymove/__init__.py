"""Massively parallel particle simulations on CPUs and GPUs."""

from importlib.metadata import version as _version

from manymove.adsorption import METHANE, Adsorbate, Adsorption, Framework, Profile, read_framework
from manymove.analysis.notation import Estimate
from manymove.dpd import DPDFluid
from manymove.electrolyte import Electrolyte, IonOverlapError, PairCorrelations, Salt, Species
from manymove.exchange import ReplicaExchange
from manymove.hard_particles import (
    EinsteinCrystal,
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
from manymove.replicas import Replicas
from manymove.settings import (
    Brush,
    ConstantPressure,
    Displacements,
    Electrostatics,
    EnergyGrid,
    Ewald,
    Forces,
    GrandCanonical,
    Grid,
    Interactions,
    Ions,
    Mixture,
    Molecules,
    ProfileAxis,
    Ranks,
    Sphere,
    Start,
    Steps,
    Supercell,
    Swaps,
)
from manymove.simulation import load

__version__ = _version("manymove")
__all__ = [
    "METHANE",
    "Adsorbate",
    "Adsorption",
    "Brush",
    "ConstantPressure",
    "DPDFluid",
    "Displacements",
    "EinsteinCrystal",
    "Electrolyte",
    "Electrostatics",
    "EnergyGrid",
    "Estimate",
    "Ewald",
    "Forces",
    "Framework",
    "GrandCanonical",
    "Grid",
    "HardDisks",
    "HardSpheres",
    "Interactions",
    "IonOverlapError",
    "Ions",
    "Mixture",
    "Molecules",
    "OverlapError",
    "PairCorrelations",
    "Profile",
    "ProfileAxis",
    "RankLost",
    "Ranks",
    "ReplicaExchange",
    "Replicas",
    "Salt",
    "Species",
    "Sphere",
    "Start",
    "Steps",
    "Supercell",
    "Swaps",
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
