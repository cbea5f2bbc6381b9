# SPDX-License-Identifier: BSD-3-Clause
"""Dissipative particle dynamics in the installed LAMMPS."""

from manymove import _renamed
from manymove.dpd.simulation import DPDFluid

__all__ = ["DPDFluid"]

__getattr__ = _renamed.names_of("manymove.dpd")
