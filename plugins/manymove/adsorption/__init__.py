# SPDX-License-Identifier: BSD-3-Clause
"""Adsorbates in zeolites by waste-recycling Monte Carlo."""

from manymove.adsorption.adsorbates import METHANE, Adsorbate
from manymove.adsorption.averages import Profile
from manymove.adsorption.frameworks import Framework, read_framework
from manymove.adsorption.input import METHODS
from manymove.adsorption.simulation import Adsorption
from manymove.analysis.notation import Estimate

__all__ = [
    "METHANE",
    "METHODS",
    "Adsorbate",
    "Adsorption",
    "Estimate",
    "Framework",
    "Profile",
    "read_framework",
]
