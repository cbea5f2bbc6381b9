# SPDX-License-Identifier: BSD-3-Clause
"""Fluids of dissipative particles in the installed LAMMPS: what `manymove dpd` runs."""

from manymove.dpd.fluid import Fluid, run, table

__all__ = ["Fluid", "run", "table"]
