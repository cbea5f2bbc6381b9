# SPDX-License-Identifier: BSD-3-Clause
"""Structures of a system of adsorbates with its framework as CIF and PDB files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manymove import arguments, files
from manymove.optional import need

if TYPE_CHECKING:
    from manymove.adsorption.simulation import Adsorption

SUFFIXES = (".cif", ".pdb")
_MOST = 99_999  # atoms of a PDB file


def write_structure(path: str | os.PathLike[str], adsorption: Adsorption, system: int = 0) -> None:
    """Write the framework and the molecules of a system in the whole box, for viewers.

    Atoms have the labels of the framework and of the sites of molecules. Checkpoints do not
    have the labels of the framework, so that its atoms have their elements as labels after
    `Adsorption.load`. The element of a
    site is the one with which its label begins ("O_co2" is oxygen, "CH4_sp3" carbon). Sites without
    an element, and centers of mass ("N_com"), are not written; therefore the charges that are
    written need not add up to zero. In a PDB file the framework is residue 1 of chain A,
    and each molecule is a residue of chain B. A CIF file has the symmetry P 1 and the charges of
    all atoms.

    Args:
        path: path of the file, which is replaced; its suffix is ".cif" or ".pdb".
        adsorption: the systems.
        system: index of the system.

    Raises:
        ImportError: gemmi is not installed.
        OSError: the file cannot be written.
        ValueError: the suffix is another one, there is no such system, or there are too many atoms
            for a PDB file.
    """
    path = Path(path)
    need("gemmi", "a file of a structure")
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: the suffix must be .cif or .pdb")
    arguments.index("system", system, adsorption.systems)
    atoms = _atoms(adsorption, system)
    if path.suffix == ".pdb":
        check_pdb(path, len(atoms))
    text = (_cif if path.suffix == ".cif" else _pdb)(adsorption, atoms)
    with files.replace(path) as file:
        file.write(text.encode())


def check_pdb(path: str | os.PathLike[str], atoms: int) -> None:
    """Raise ValueError if there are too many atoms for a PDB file."""
    if atoms > _MOST:
        raise ValueError(
            f"{os.fspath(path)}: {atoms} atoms are more than a PDB file can have, {_MOST}"
        )


# Label, element, fractions of the box, charge, molecule (-1 for the framework) and its name.
Atom = tuple[str, str, np.ndarray, float, int, str]


def _atoms(a: Adsorption, system: int) -> list[Atom]:
    framework = a.framework
    shifts = np.stack(np.meshgrid(*map(np.arange, a.cells), indexing="ij"), -1).reshape(-1, 3)
    labels = framework.labels or framework.elements
    charges = a.framework_charges
    atoms: list[Atom] = []
    for k, (label, element) in enumerate(zip(labels, framework.elements, strict=True)):
        charge = 0.0 if charges is None else float(charges[k])
        for shift in shifts:
            place = ((framework.fractional[k] + shift) / a.cells) % 1.0
            atoms.append((label, element, place, charge, -1, "FRA"))
    inverse, count = np.linalg.inv(a.edges), 0
    for species in range(len(a.capacity)):
        sites = a.site_positions(species)[system]
        names, own = a.sites_of(species)
        short = [name.rpartition(".")[2] for name in names]
        symbols = [element_of(name) for name in short]
        for molecule in sites[~np.isnan(sites[:, 0, 0])]:
            for name, symbol, place, charge in zip(
                short, symbols, molecule @ inverse, own, strict=True
            ):
                if symbol is not None:
                    title = names[0].partition(".")[0]
                    atoms.append((name, symbol, place, charge, count, title))
            count += 1
    return atoms


def element_of(label: str) -> str | None:
    """The element with which a label begins, for example C of "CH4_sp3"; None without one."""
    import gemmi

    start = re.match(r"[A-Za-z]*", label).group()  # type: ignore[union-attr]
    if "_com" in label.lower():  # a center of mass or of charge
        return None
    for length in (2, 1):
        name = start[:length]
        # "Co" is cobalt, "CO" and "CH" begin with carbon.
        known = len(name) == length and (length == 1 or name[1].islower())
        if known and gemmi.Element(name).atomic_number:
            return gemmi.Element(name).name
    return None


def _cif(a: Adsorption, atoms: list[Atom]) -> str:
    import gemmi

    cell = _cell(a)
    document = gemmi.cif.Document()
    block = document.add_new_block(re.sub(r"\W", "_", a.framework.name) or "structure")
    values = (cell.a, cell.b, cell.c, cell.alpha, cell.beta, cell.gamma)
    names = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    for name, value in zip(names, values, strict=True):
        block.set_pair(f"_cell_{name}", f"{value:.8g}")
    block.set_pair("_symmetry_space_group_name_H-M", "'P 1'")
    block.init_loop("_symmetry_", ["equiv_pos_as_xyz"]).add_row(["'x,y,z'"])
    columns = ["label", "type_symbol", "fract_x", "fract_y", "fract_z", "charge"]
    loop = block.init_loop("_atom_site_", columns)
    for label, element, place, charge, _, _ in atoms:
        row = [gemmi.cif.quote(label), element, *(f"{x % 1.0:.8f}" for x in place)]
        loop.add_row([*row, f"{charge:.8g}"])
    return document.as_string()


def _pdb(a: Adsorption, atoms: list[Atom]) -> str:
    import gemmi

    structure = gemmi.Structure()
    structure.cell, structure.spacegroup_hm = _cell(a), "P 1"
    model = gemmi.Model(1)
    chains = [gemmi.Chain("A"), gemmi.Chain("B")]
    residues: dict[int, Any] = {}
    edges = a.edges
    for label, element, place, charge, molecule, title in atoms:
        if molecule not in residues:
            residue = gemmi.Residue()
            residue.name = re.sub(r"\W", "", title)[:3].upper()
            residue.seqid = gemmi.SeqId(str(1 if molecule < 0 else molecule + 1))
            residue.het_flag = "H"
            residues[molecule] = residue
        atom = gemmi.Atom()
        atom.name, atom.element = label[:4], gemmi.Element(element)
        atom.pos = gemmi.Position(*(place @ edges))
        atom.b_iso, atom.occ = charge, 1.0
        residues[molecule].add_atom(atom)
    for molecule, residue in residues.items():
        chains[molecule >= 0].add_residue(residue)
    for chain in chains:
        model.add_chain(chain)
    structure.add_model(model)
    return structure.make_pdb_string()


def _cell(a: Adsorption) -> Any:
    """The box as a cell of gemmi, with the first edge along x."""
    import gemmi

    lengths = np.linalg.norm(a.edges, axis=1)
    units = a.edges / lengths[:, None]
    pairs = ((1, 2), (0, 2), (0, 1))
    angles = [float(np.degrees(np.arccos(units[i] @ units[j]))) for i, j in pairs]
    return gemmi.UnitCell(*map(float, lengths), *angles)
