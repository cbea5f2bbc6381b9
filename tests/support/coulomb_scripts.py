# SPDX-License-Identifier: BSD-3-Clause
"""Input scripts of fix manymove/coulomb."""

from __future__ import annotations

import numpy as np

from manymove import Electrolyte

BJERRUM = 7.117


def data_of(ions: Electrolyte, shift: float = 0.0, images: np.ndarray | None = None) -> str:
    """A LAMMPS data file of the ions, in a box from `shift`."""
    edges = np.array(ions.box if ions.box is not None else 3 * (2 * ions.radius + 2,))
    charges = np.array([s.valence for s in ions.species])[ions.types]
    lines = ["ions", "", f"{ions.N} atoms", f"{len(ions.species)} atom types", ""]
    for axis, edge in zip("xyz", edges, strict=True):
        lines.append(f"{shift!r} {float(shift + edge)!r} {axis}lo {axis}hi")
    lines += ["", "Masses", "", *(f"{t + 1} 1.0" for t in range(len(ions.species)))]
    lines += ["", "Atoms # charge", ""]
    at = ions.positions + edges / 2 + shift
    for k in np.random.default_rng(1).permutation(ions.N):
        x, y, z = (repr(float(c)) for c in at[k])
        image = "" if images is None else " " + " ".join(map(str, images[k]))
        lines.append(f"{k + 1} {ions.types[k] + 1} {float(charges[k])} {x} {y} {z}{image}")
    return "\n".join(lines) + "\n"


def script_of(
    tmp_path, ions, fix="1 1 3 7.117 7.5 7.5", steps=5, extra="", after="", shift=0.0, images=None
):
    """Particles at rest: only the fix moves them."""
    data = tmp_path / "ions.data"
    data.write_text(data_of(ions, shift, images))
    return f"""
units lj
atom_style charge
read_data {data}
pair_style zero 8.0
pair_coeff * *
comm_modify cutoff 20
{extra}
fix mc all manymove/coulomb {fix}
fix still all nve
thermo 1
thermo_style custom step f_mc[1] f_mc[2] f_mc[3] f_mc[4]
thermo_modify format float %.16g norm no
dump d all custom {steps} dump id type q x y z ix iy iz
dump_modify d sort id format float %.17g
run {steps}
{after}
"""


def positions(run):
    columns = run.dump()
    return np.stack([columns[c] for c in "xyz"], axis=-1)
