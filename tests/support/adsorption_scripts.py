# SPDX-License-Identifier: BSD-3-Clause
"""Input scripts of fix manymove/wrmc: the small framework with a gas."""

from __future__ import annotations

import numpy as np
from adsorption_model import CUTOFF, GAS, make, small_framework

FRAMEWORK = small_framework()
BOX = np.array(FRAMEWORK.cell)
FIX = f"fix w gas manymove/wrmc 1 {{steps}} 7 300.0 {CUTOFF} {GAS.epsilon} {GAS.sigma} "
LAWS = "framework 1 160.0 2.6 inert 2 spacing 0.25 "
THERMO = """
thermo_style custom step atoms f_w f_w[2] f_w[3] f_w[4] f_w[5] f_w[6]
thermo_modify format float %.12g norm no
thermo {every}
"""
DUMP = """dump d all custom {every} dump id type x y z xu yu zu
dump_modify d sort id format float %.12g
"""


def system(molecules: int = 3) -> str:
    """A system in units of kelvin and angstrom, in which the gas has IDs between those of the
    framework."""
    places = make(molecules=molecules, systems=1, barrier=6000.0).positions[0]
    framework = FRAMEWORK.fractional * BOX
    atoms = [(1, p) for p in framework[:2]] + [(3, p) for p in places]
    atoms += [(1, p) for p in framework[2:4]] + [(2, framework[4])]
    lines = [
        f"create_atoms {t} single {x:.16g} {y:.16g} {z:.16g} units box" for t, (x, y, z) in atoms
    ]
    lines.append("group gas type 3")
    lx, ly, lz = BOX
    return f"""
units lj
atom_style atomic
atom_modify map yes
region box block 0 {lx} 0 {ly} 0 {lz}
create_box 3 box
mass * 1.0
pair_style zero {CUTOFF}
pair_coeff * *
neighbor 0.0 bin
""" + "\n".join(lines)


def script(tail: str = "", steps: int = 100, every: int = 1, laws: str = LAWS) -> str:
    fix = FIX.format(steps=steps) + laws + tail
    return f"{system()}\n{fix}\n{THERMO.format(every=every)}{DUMP.format(every=every)}"
