"""pair_style manymove/edpd and manymove/tdpd: particles with temperatures and concentrations."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_comparisons import assert_named, assert_restart_continues
from dpd_scripts import END, STAYS, assert_close, assert_stays, pick, resident
from lammps_host import THERMO, needs_lammps, run_lammps
from laws import another
from machine import on_gpu

pytestmark = needs_lammps

SCALARS = {"edpd": "c_s", "tdpd": "c_s c_u"}


def atoms(kind: str, masses: str, before: str = "", size: int = 8) -> str:
    species = " 2" if kind == "tdpd" else ""
    return f"""
units lj
boundary p p p
neighbor 0.3 bin
neigh_modify every 1 delay 0 check yes
{before}
atom_style {kind}{species}
atom_modify map array
comm_modify vel yes
region box block 0 {size} 0 {size} 0 {size}
create_box 2 box
create_atoms 1 random {3 * size**3} 276438 NULL
set type 1 type/fraction 2 0.4 1234
{masses}
"""


# LAMMPS draws other random numbers. Its noise vanishes beside the other forces and fluxes where
# masses and coefficients of forces are large, or heat capacities are large and kappa is small.
HEAVY = 1e52
QUIET_EDPD = (
    atoms("edpd", f"mass 1 {HEAVY}\nmass 2 {HEAVY}")
    + f"""
variable t atom 1.0+0.3*sin(x)*cos(y)+0.1*z/8
variable c atom 1.0e26*(1.5+0.5*cos(z))
set atom * edpd/temp v_t edpd/cv v_c
velocity all create {HEAVY} 432982 loop geom
timestep 0.01
fix i all mvv/edpd
compute s all edpd/temp/atom
pair_style edpd 1.2 9872598
"""
)
# LAMMPS keeps the series of the last command alone.
LAWS_OF_EDPD = {
    "series": f"""
pair_coeff * * {18.75 * HEAVY} {4.5 * HEAVY} 0.41 1.2 1.45e-25 2.0 1.2 &
  power 10.54 -3.66 3.44 -4.1 kappa -0.44 -3.21 5.04 0.1
""",
    "types": f"""
pair_coeff 1 1 {18.75 * HEAVY} {4.5 * HEAVY} 0.41 1.2 1.45e-25 2.0 1.2
pair_coeff 1 2 {25.0 * HEAVY} {3.5 * HEAVY} 0.8 1.0 2.45e-25 1.5 1.0
pair_coeff 2 2 {12.0 * HEAVY} {6.5 * HEAVY} 2.0 1.1 0.45e-25 1.0 1.1
""",
}
