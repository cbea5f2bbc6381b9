# SPDX-License-Identifier: BSD-3-Clause
"""Dissipative particle dynamics in the installed LAMMPS."""

from manymove import _renamed
from manymove.dpd.fluid import Model
from manymove.dpd.simulation import DPDFluid

__all__ = ["DPDFluid", "Model"]

__getattr__ = _renamed.names_of("manymove.dpd")
