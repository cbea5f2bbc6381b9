# SPDX-License-Identifier: BSD-3-Clause
"""Adsorbates in zeolites by waste-recycling Monte Carlo."""

from manymove.adsorption.adsorbates import METHANE, Adsorbate
from manymove.adsorption.averages import Estimate, Profile
from manymove.adsorption.frameworks import Framework, read_framework
from manymove.adsorption.simulation import METHODS, Adsorption

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
