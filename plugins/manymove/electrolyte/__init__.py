# SPDX-License-Identifier: BSD-3-Clause
"""Electrolytes by brush Metropolis Monte Carlo."""

from manymove.analysis.ions import Salt, Species
from manymove.analysis.pair_correlations import PairCorrelations
from manymove.analysis.structure_factors import StructureFactors
from manymove.electrolyte.simulation import METHODS, WATER_300K, Electrolyte
from manymove.errors import IonOverlapError

__all__ = [
    "METHODS",
    "WATER_300K",
    "Electrolyte",
    "IonOverlapError",
    "PairCorrelations",
    "Salt",
    "Species",
    "StructureFactors",
]
