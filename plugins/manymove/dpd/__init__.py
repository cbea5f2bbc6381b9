# SPDX-License-Identifier: BSD-3-Clause
"""Dissipative particle dynamics in the installed LAMMPS."""

from manymove.dpd.simulation import DPDFluid

__all__ = ["DPDFluid"]
