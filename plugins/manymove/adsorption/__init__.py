# SPDX-License-Identifier: BSD-3-Clause
"""Adsorbates in zeolites by waste-recycling Monte Carlo."""

from manymove.adsorption.adsorbates import METHANE, Adsorbate
from manymove.adsorption.chains import Bead, Chain
from manymove.adsorption.density import DensityMap
from manymove.adsorption.estimates import Profile
from manymove.adsorption.force_field import (
    DREIDING_UFF,
    GARCIA_SANCHEZ,
    TRAPPE_ZEO,
    UFF,
    ForceField,
)
from manymove.adsorption.frameworks import Framework, read_framework
from manymove.adsorption.gas import GasPhase
from manymove.adsorption.input import METHODS
from manymove.adsorption.molecule_files import read_molecule
from manymove.adsorption.molecules import (
    CH4,
    CO2,
    CO2_GARCIA_SANCHEZ,
    ETHANE,
    HELIUM,
    N2,
    WATER,
    Molecule,
    Site,
)
from manymove.adsorption.pores import (
    SurfaceArea,
    helium_void_fraction,
    pore_volume,
    surface_area,
)
from manymove.adsorption.screening import screen
from manymove.adsorption.simulation import Adsorption
from manymove.adsorption.structures import write_structure
from manymove.analysis.notation import Estimate

__all__ = [
    "CH4",
    "CO2",
    "CO2_GARCIA_SANCHEZ",
    "DREIDING_UFF",
    "ETHANE",
    "GARCIA_SANCHEZ",
    "HELIUM",
    "METHANE",
    "METHODS",
    "N2",
    "TRAPPE_ZEO",
    "UFF",
    "WATER",
    "Adsorbate",
    "Adsorption",
    "Bead",
    "Chain",
    "DensityMap",
    "Estimate",
    "ForceField",
    "Framework",
    "GasPhase",
    "Molecule",
    "Profile",
    "Site",
    "SurfaceArea",
    "helium_void_fraction",
    "pore_volume",
    "read_framework",
    "read_molecule",
    "screen",
    "surface_area",
    "write_structure",
]
