"""Estimators for configurations and time series."""

from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.analysis.blocking import blocking_error, drift, estimate, pool
from manymove.analysis.dressed_ion import (
    DressedIons,
    charge_density,
    dressed_ions,
    potential_of_mean_force,
)
from manymove.analysis.insertions import WidomInsertions
from manymove.analysis.ornstein_zernike import (
    IntegralEquation,
    Screening,
    continue_pair_correlations,
    hypernetted_chain,
)
from manymove.analysis.phases import (
    Branch,
    Coexistence,
    CrystalBranch,
    FluidBranch,
    coexistence,
    maxwell_construction,
)
from manymove.analysis.pressure import (
    BINS,
    DEGREE,
    DELTA_R,
    bin_width,
    pressure_from_histogram,
    pressure_weights,
)
from manymove.analysis.reference import published_pressure, virial_pressure
from manymove.analysis.reweighting import (
    CriticalPoint,
    GrandRun,
    MultipleHistograms,
    VaporLiquid,
    critical_point,
    vapor_liquid,
)
from manymove.analysis.scattering import self_intermediate_scattering
from manymove.analysis.viscosity import DoublePoiseuille, green_kubo_viscosity

__all__ = [
    "BINS",
    "DEGREE",
    "DELTA_R",
    "Branch",
    "Coexistence",
    "CriticalPoint",
    "CrystalBranch",
    "DoublePoiseuille",
    "DressedIons",
    "FluidBranch",
    "GrandRun",
    "IntegralEquation",
    "MultipleHistograms",
    "Screening",
    "VaporLiquid",
    "WidomInsertions",
    "autocorrelation_time",
    "bin_width",
    "blocking_error",
    "charge_density",
    "coexistence",
    "continue_pair_correlations",
    "critical_point",
    "dressed_ions",
    "drift",
    "estimate",
    "green_kubo_viscosity",
    "hypernetted_chain",
    "maxwell_construction",
    "pool",
    "potential_of_mean_force",
    "pressure_from_histogram",
    "pressure_weights",
    "published_pressure",
    "self_intermediate_scattering",
    "vapor_liquid",
    "virial_pressure",
]
