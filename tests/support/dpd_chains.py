"""Input scripts with chains in a DPD fluid, in the manner of LAMMPS' examples: bonds, angles,
dihedrals and impropers of LAMMPS' own styles, charges, and everything that fixes of such scripts
do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from dpd_tables import force_tables

BOX = 7.0


def chain_data(
    folder: Path,
    chains: int = 60,
    beads: int = 5,
    fluid: int = 600,
    charged: bool = False,
    layered: bool = False,
    twisted: bool = False,
) -> Path:
    """A data file of random walks with bonds and angles of two types, and single particles.

    Args:
        folder: where it is written.
        chains: number of chains.
        beads: particles of each chain; bonds of 0.5 with random directions.
        fluid: number of single particles.
        charged: whether there are charges 1 and -1, which cancel (atom_style full).
        layered: whether the chains are straight, in the two leaflets of a bilayer across z, and the
            single particles elsewhere.
        twisted: whether each four particles in a row are a dihedral and an improper of two types
            (atom_style molecular).
    """
    random = np.random.default_rng(5)
    places, types, molecules, bonds, angles, fours = [], [], [], [], [], []
    for chain in range(chains):
        place = random.uniform(0, BOX, 3)
        side = 1 if chain % 2 else -1
        if layered:
            place[2] = BOX / 2 + side * 0.5 * (beads - 0.5)
        for bead in range(beads):
            places.append(place)
            types.append(1 if bead < 2 else 2)
            molecules.append(chain + 1)
            atom = len(places)
            if bead >= 1:
                bonds.append((1 + bead % 2, atom - 1, atom))
            if bead >= 2:
                angles.append((1 + bead % 2, atom - 2, atom - 1, atom))
            if bead >= 3 and twisted:
                fours.append((1 + bead % 2, atom - 3, atom - 2, atom - 1, atom))
            step = np.array([0, 0, -side]) if layered else random.normal(size=3)
            place = place + 0.5 * step / np.linalg.norm(step)
    for _ in range(fluid):
        place = random.uniform(0, BOX, 3)
        if layered:
            place[2] = (BOX / 2 + 0.5 * beads + place[2] * (1 - beads / BOX)) % BOX
        places.append(place)
        types.append(1)
        molecules.append(0)
    velocities = random.normal(size=(len(places), 3))
    velocities -= velocities.mean(axis=0)
    charges = np.zeros(len(places))
    charges[:200] = np.tile([1.0, -1.0], 100)
    lines = ["chains", "", f"{len(places)} atoms", "2 atom types"]
    lines += [f"{len(bonds)} bonds", "2 bond types", f"{len(angles)} angles", "2 angle types"]
    for name in ("dihedral", "improper") if twisted else ():
        lines += [f"{len(fours)} {name}s", f"2 {name} types"]
    lines += [f"0 {BOX} {a}lo {a}hi" for a in "xyz"] + ["", "Masses", "", "1 1.0", "2 2.0"]
    style = "full" if charged else "molecular" if twisted else "angle"
    lines += ["", f"Atoms # {style}", ""]
    for k, place in enumerate(places):
        image = np.floor(place / BOX)
        x, y, z = place - image * BOX
        charge = f"{charges[k]} " if charged else ""
        lines.append(
            f"{k + 1} {molecules[k]} {types[k]} {charge}{x:.17g} {y:.17g} {z:.17g} "
            + " ".join(str(int(n)) for n in image)
        )
    lines += ["", "Velocities", ""]
    lines += [f"{k + 1} {v[0]:.17g} {v[1]:.17g} {v[2]:.17g}" for k, v in enumerate(velocities)]
    terms = [("Bonds", bonds), ("Angles", angles)]
    terms += [("Dihedrals", fours), ("Impropers", fours)] if twisted else []
    for name, rows in terms:
        lines += ["", name, ""]
        lines += [f"{k + 1} " + " ".join(map(str, row)) for k, row in enumerate(rows)]
    file = folder / f"{style}.data"
    file.write_text("\n".join(lines) + "\n")
    return file


STYLES = {
    "harmonic": "bond_style harmonic\nbond_coeff 1 20.0 0.5\nbond_coeff 2 40.0 0.6\n",
    "fene": "bond_style fene\nbond_coeff 1 20.0 1.2 1.0 0.4\nbond_coeff 2 15.0 1.5 0.8 0.6\n",
    "table linear": f"{force_tables()}bond_style table linear 900\n"
    "bond_coeff 1 forces.table LONG\nbond_coeff 2 forces.table SHORT\n",
    "table spline": f"{force_tables()}bond_style table spline 150\n"
    "bond_coeff 1 forces.table SHORT\nbond_coeff 2 forces.table LONG\n",
    "zero": "bond_style zero\nbond_coeff * 0.5\n",
    "hybrid": f"{force_tables()}bond_style hybrid table spline 150 fene\n"
    "bond_coeff 1 table forces.table LONG\nbond_coeff 2 fene 15.0 1.5 0.8 0.6\n",
    "hybrid zero": "bond_style hybrid harmonic zero\nbond_coeff 1 harmonic 20.0 0.5\n"
    "bond_coeff 2 zero 0.5\n",
}
ANGLES = {
    "harmonic": "angle_style harmonic\nangle_coeff 1 6.0 180.0\nangle_coeff 2 5.0 120.0\n",
    "cosine": "angle_style cosine\nangle_coeff 1 5.0\nangle_coeff 2 3.0\n",
    "cosine/squared": "angle_style cosine/squared\nangle_coeff 1 5.0 120.0\n"
    "angle_coeff 2 3.0 170.0\n",
    "cosine/delta": "angle_style cosine/delta\nangle_coeff 1 5.0 120.0\nangle_coeff 2 3.0 180.0\n",
    "zero": "angle_style zero\nangle_coeff * 90.0\n",
    "hybrid": "angle_style hybrid cosine harmonic\nangle_coeff 1 harmonic 6.0 120.0\n"
    "angle_coeff 2 cosine 5.0\n",
    "hybrid zero": "angle_style hybrid cosine/delta zero\nangle_coeff 1 zero 90.0\n"
    "angle_coeff 2 cosine/delta 5.0 120.0\n",
}

DIHEDRALS = {
    "": "",
    "harmonic": "dihedral_style harmonic\ndihedral_coeff 1 2.0 -1 3\ndihedral_coeff 2 1.5 1 6\n",
    "opls": "dihedral_style opls\ndihedral_coeff 1 1.7 -0.4 3.2 0.3\n"
    "dihedral_coeff 2 0.5 0.8 -0.9 1.1\n",
    "zero": "dihedral_style zero\ndihedral_coeff *\n",
    "hybrid": "dihedral_style hybrid harmonic opls\ndihedral_coeff 1 opls 1.7 -0.4 3.2 0.3\n"
    "dihedral_coeff 2 harmonic 1.5 1 6\n",
}
IMPROPERS = {
    "": "",
    "harmonic": "improper_style harmonic\nimproper_coeff 1 3.0 0.0\nimproper_coeff 2 2.0 35.0\n",
    "zero": "improper_style zero\nimproper_coeff *\n",
    "hybrid": "improper_style hybrid harmonic\nimproper_coeff 1 none\n"
    "improper_coeff 2 harmonic 2.0 35.0\n",
}


def chains(
    data: Path,
    bond: str = "harmonic",
    angle: str = "harmonic",
    pair: str = "manymove/dpd 1.0 1.0 4711 precision double",
    law: str = "25.0 4.5",
    before: str = "",
    special: str = "special_bonds lj 0.0 0.5 1.0",
    dihedral: str = "",
    improper: str = "",
) -> str:
    """The input script of such a file, with fix nve."""
    return f"""
units lj
atom_style {data.stem}
comm_modify vel yes
{before}
{special}
read_data {data}
{STYLES[bond]}{ANGLES[angle]}{DIHEDRALS[dihedral]}{IMPROPERS[improper]}
neighbor 0.5 bin
pair_style {pair}
pair_coeff * * {law}
timestep 0.005
fix nve all nve
"""
