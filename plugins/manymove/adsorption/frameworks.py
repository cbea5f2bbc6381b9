"""Rigid crystalline frameworks, from CIF files and databases of ASE."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from manymove import _core
from manymove.adsorption import databases
from manymove.adsorption.cif import charges_of, structure_of
from manymove.optional import need
from manymove.tables import Record

SHIPPED = ("MFI", "LTA")  # in data/, with their citations
_CLOSEST = 0.5  # angstrom: atoms closer than this are one atom twice
_ROUNDING = 1e-3  # rounding of the coordinates of a file, in angstrom


@dataclass(frozen=True, repr=False, eq=False)
class Framework(Record):
    """The atoms of a rigid framework in a unit cell.

    Attributes:
        name: name of the structure.
        cell: edges (a, b, c) of a unit cell with right angles in angstrom; of another cell the
            components (a_x, b_y, c_z) of edges with a along x and b in the plane of x and y.
        fractional: fractional coordinates of all atoms of the unit cell, float64 (M, 3).
        elements: symbol of the element of each atom, (M,).
        mass: mass of the unit cell in atomic mass units.
        tilt: components (b_x, c_x, c_y) of the edges in angstrom, zero for right angles.
        labels: label of each atom, (M,); default the elements.
        charges: charge of each atom in units of the elementary charge, float64 (M,), or None.

    Raises:
        ValueError: there are no atoms, a shape is wrong, a coordinate is not finite, or two atoms
            overlap.
    """

    name: str
    cell: tuple[float, float, float]
    fractional: np.ndarray
    elements: tuple[str, ...]
    mass: float
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)
    labels: tuple[str, ...] | None = None
    charges: np.ndarray | None = None

    def __post_init__(self) -> None:
        if len(self.fractional) == 0:
            raise ValueError(f"framework {self.name} has no atoms")
        sizes = (*self.cell, *self.tilt, self.mass)
        if len(sizes) != 7 or not all(map(math.isfinite, sizes)) or min(*self.cell, self.mass) <= 0:
            raise ValueError(
                f"framework {self.name}: cell and mass must be positive, and tilt three numbers, "
                f"got {self.cell}, {self.mass} and {self.tilt}"
            )
        if self.fractional.shape != (len(self.elements), 3):
            raise ValueError(
                f"framework {self.name}: fractional has shape {self.fractional.shape}, "
                f"not ({len(self.elements)}, 3)"
            )
        if not np.isfinite(self.fractional).all():
            wrong = int(np.argmax(~np.isfinite(self.fractional).all(axis=1)))
            raise ValueError(
                f"framework {self.name}: a coordinate of atom {wrong} ({self.elements[wrong]}) is "
                f"not finite: {self.fractional[wrong].tolist()}"
            )
        for name in ("labels", "charges"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.elements):
                raise ValueError(
                    f"framework {self.name}: {name} has {len(values)} values, "
                    f"not {len(self.elements)}"
                )
        places = np.ascontiguousarray(self.fractional, float)
        i, j, distance = _core.closest_pair(places, self.edges)
        if distance < _CLOSEST:
            one, two = (f"{k} ({(self.labels or self.elements)[k]})" for k in (i, j))
            what = "overlap" if distance > _ROUNDING else "are at the same place"
            raise ValueError(
                f"framework {self.name}: atoms {one} and {two} {what}, {distance:.3g} angstrom "
                "apart: the file has a site twice, or sites that exclude each other"
            )

    @classmethod
    def from_ase(
        cls, atoms: Any, name: str | None = None, *, right_angles: bool = True
    ) -> Framework:
        """The framework of an `ase.Atoms` object.

        Args:
            atoms: atoms with a cell that is periodic along all three edges. Their initial charges
                are the charges of the framework if they are set; their masses add up to its mass.
            name: name of the structure (default the chemical formula).
            right_angles: as for `read_framework`.

        Raises:
            ImportError: ase is not installed.
            TypeError: atoms is not an `ase.Atoms` object.
            ValueError: the cell is not periodic or has no volume, an atom has no element, sites are
                partially occupied, or `Framework` refuses the structure.
        """
        if not isinstance(atoms, need("ase", "Framework.from_ase").Atoms):
            raise TypeError(f"atoms must be an ase.Atoms object, got {type(atoms).__name__}")
        name = str(atoms.symbols) if name is None else name
        if not all(atoms.pbc) or not abs(atoms.cell.volume) > 1:
            raise ValueError(
                f"framework {name} must be periodic along three edges, got pbc "
                f"{atoms.pbc.tolist()} and a cell of {abs(atoms.cell.volume):.3g} cubic angstrom"
            )
        if 0 in atoms.numbers:
            raise ValueError(
                f"framework {name}: the element of atom {atoms.numbers.tolist().index(0)} is not "
                "known (X)"
            )
        for kind, shares in atoms.info.get("occupancy", {}).items():
            if len(shares) != 1 or min(shares.values()) < 1 - 1e-6:
                each = ", ".join(f"{element} {share:g}" for element, share in shares.items())
                raise ValueError(
                    f"framework {name}: site {kind} is occupied by {each}; choose which atoms are "
                    "there"
                )
        # The first edge along x, the second one in the plane of x and y.
        edges, fractional = np.array(atoms.cell), atoms.cell.scaled_positions(atoms.positions)
        if np.linalg.det(edges) < 0:
            edges, fractional = -edges, -fractional
        upper = np.linalg.qr(edges.T)[1]
        lattice = (upper * np.sign(np.diag(upper))[:, None]).T
        charges = atoms.get_initial_charges() if atoms.has("initial_charges") else None
        symbols = tuple(atoms.get_chemical_symbols())
        mass = float(atoms.get_masses().sum())
        return _of_cell(
            name, lattice, fractional % 1.0, symbols, mass, symbols, charges, right_angles
        )

    @property
    def formula(self) -> str:
        """Numbers of atoms of the unit cell, such as "O192 Si96"."""
        return " ".join(f"{e}{n}" for e, n in sorted(Counter(self.elements).items()))

    def cells_for(self, cutoff: float) -> tuple[int, int, int]:
        """Smallest numbers of unit cells along each axis for which the box is at least twice as
        wide as the cutoff (in angstrom)."""
        a, b, c = (max(1, math.ceil(2 * cutoff / w - 1e-9)) for w in widths(self.edges))
        return a, b, c

    @property
    def edges(self) -> np.ndarray:
        """Edges of the unit cell in angstrom as rows, float64 (3, 3)."""
        return edges_of(self.cell, self.tilt)


def edges_of(cell: Sequence[float], tilt: Sequence[float]) -> np.ndarray:
    """Edges (rows) from the components (a_x, b_y, c_z) and (b_x, c_x, c_y)."""
    return np.array([[cell[0], 0, 0], [tilt[0], cell[1], 0], [tilt[1], tilt[2], cell[2]]])


def widths(edges: np.ndarray) -> tuple[float, ...]:
    """Distances between opposite faces of a cell; the edges if the angles are right."""
    if not (edges - np.diag(np.diag(edges))).any():
        return tuple(float(edge) for edge in np.diag(edges))
    return tuple(float(1 / np.linalg.norm(column)) for column in np.linalg.inv(edges).T)


def read_framework(source: str | os.PathLike[str], *, right_angles: bool = True) -> Framework:
    """Read a framework from a CIF file or a row of a database of ASE, or take one of the package.

    A unit cell without right angles is replaced by the smallest cell of the same crystal with right
    angles, because distances are faster there. This cell may have at most eight unit cells. Such a
    cell exists for all hexagonal lattices and for primitive cells of centered lattices. Other
    monoclinic and triclinic cells are kept.

    Args:
        source: "MFI", "LTA", the path of a CIF file, or "FILE@id=ID": a row of a database of ASE
            (FILE.db or FILE.json), as `Framework.from_ase` takes its atoms.
        right_angles: whether to look for a larger cell with right angles. Without, the cell is that
            of the file.

    Returns:
        the framework.

    Raises:
        ImportError: gemmi, or ase for a database, is not installed.
        OSError: the file cannot be read.
        ValueError: the database has no such row; the file cannot be parsed, has no atoms or several
            blocks with atoms, its sites are partially occupied, overlap, exclude each other or have
            no fractional coordinates, its symmetry would have to be guessed, or its operations
            cannot be read, are not a group or do not fit the cell.

    Warns:
        UserWarning: the file contains water or a disorder group, atoms have too few bonded
            neighbors, its symmetry operations follow from the number of the space group only or
            are not those of the group that it names, or it has an error in the syntax. It may
            therefore not describe the intended framework.
    """
    if databases.is_row(source):
        return Framework.from_ase(*databases.atoms_of(source), right_angles=right_angles)
    need("gemmi", "a CIF file")

    if str(source) in SHIPPED:
        with as_file(files("manymove").joinpath(f"data/{source}.cif")) as path:
            text, name = path.read_text(), str(source)
    else:
        path = Path(source)
        if not path.is_file():
            raise FileNotFoundError(
                f"no framework {source}: expected {', '.join(SHIPPED)}, the path of a CIF file, or "
                "FILE.db@id=ID of a database of ASE"
            )
        if path.suffix.lower() in databases.SUFFIXES:
            raise ValueError(f"{source} is a database: name a row, such as {source}@id=1")
        text, name = path.read_text("utf-8-sig", "replace"), path.stem
    structure = structure_of(text, str(source))
    return _from_structure(name, structure, charges_of(text, str(source), structure), right_angles)


def name_of(source: str | os.PathLike[str]) -> str:
    """The name that `read_framework` gives a framework."""
    return databases.atoms_of(source)[1] if databases.is_row(source) else Path(source).stem


def _from_structure(
    name: str, structure: Any, charges: list[float] | None, right_angles: bool
) -> Framework:
    cell = structure.cell
    if not all(edge > 1 for edge in (cell.a, cell.b, cell.c)):
        raise ValueError(f"framework {name} has no unit cell")
    lattice = np.array(cell.orth.mat.tolist()).T  # rows: the edges
    if not (np.isfinite(lattice).all() and (np.diag(lattice) > 1).all()):
        raise ValueError(
            f"framework {name} has a unit cell with the angles {cell.alpha:g}, {cell.beta:g} and "
            f"{cell.gamma:g}, which is too flat"
        )
    for site in structure.sites:
        if site.occ < 1 - 1e-6:
            raise ValueError(
                f"framework {name}: site {site.label} is occupied by {site.occ:g}; choose which "
                "atoms are there"
            )
        if site.element.name == "X":
            raise ValueError(
                f"framework {name}: the element of site {site.label} is not known "
                f"({site.type_symbol or site.label})"
            )
    names = [site.label for site in structure.sites]
    for index, site in enumerate(structure.sites):  # labels may occur twice
        site.label = str(index)
    sites = structure.get_all_unit_cell_sites()
    source = [int(site.label) for site in sites]
    return _of_cell(
        name,
        lattice,
        np.array([site.fract.tolist() for site in sites]).reshape(-1, 3) % 1.0,
        tuple(site.element.name for site in sites),
        sum(site.element.weight for site in sites),
        tuple(names[index] for index in source),
        None if charges is None else np.array([charges[index] for index in source]),
        right_angles,
    )


def _of_cell(
    name: str,
    lattice: np.ndarray,
    fractional: np.ndarray,
    elements: Sequence[str],
    mass: float,
    labels: Sequence[str],
    charges: np.ndarray | None,
    right_angles: bool,
) -> Framework:
    """The framework of a unit cell whose edges are the rows of a lower triangular matrix, or of a
    larger cell with right angles if this is requested and exists."""
    wider = _right_angled(lattice) if right_angles else None
    skewed = wider is None
    wider = np.eye(3, dtype=int) if wider is None else wider
    copies = round(abs(np.linalg.det(wider)))
    lengths = np.diag(lattice) if skewed else np.linalg.norm(wider @ lattice, axis=1)
    a, b, c = map(float, lengths)
    return Framework(
        name=name,
        cell=(a, b, c),
        fractional=_in_wider_cell(fractional, wider),
        elements=tuple(element for element in elements for _ in range(copies)),
        mass=copies * mass,
        tilt=(float(lattice[1, 0]), float(lattice[2, 0]), float(lattice[2, 1]))
        if skewed
        else (0.0, 0.0, 0.0),
        labels=tuple(label for label in labels for _ in range(copies)),
        charges=None if charges is None else np.repeat(charges, copies),
    )


_FARTHEST = 3  # unit cells along each edge
_MOST_CELLS = 8
_SKEW = 2e-5  # cosine of an angle that counts as right


def _right_angled(lattice: np.ndarray) -> np.ndarray | None:
    """Edges (rows) of the smallest cell with right angles, in units of the edges of the lattice;
    None if there is no such cell."""
    unit = np.eye(3, dtype=int)
    if _orthogonal(*lattice):
        return unit
    n = np.arange(-_FARTHEST, _FARTHEST + 1)
    steps = np.stack(np.meshgrid(n, n, n, indexing="ij"), axis=-1).reshape(-1, 3)
    steps = steps[len(steps) // 2 + 1 :]  # one of each n and -n
    vectors = steps @ lattice
    order = np.argsort(np.linalg.norm(vectors, axis=1), kind="stable")
    steps, vectors = steps[order], vectors[order]
    units = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    right = np.abs(units @ units.T) < _SKEW
    best, cells = None, _MOST_CELLS + 0.5
    for i, j in zip(*np.nonzero(np.triu(right)), strict=True):
        for k in np.nonzero(right[i] & right[j])[0]:
            edges = steps[[i, j, k]]
            volume = abs(np.linalg.det(edges))
            if 0.5 < volume < cells - 0.5:
                best, cells = edges, volume
            break  # the others are longer
    return best


def _orthogonal(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> bool:
    return all(
        abs(x @ y) < _SKEW * np.linalg.norm(x) * np.linalg.norm(y)
        for x, y in ((a, b), (b, c), (c, a))
    )


def _in_wider_cell(fractional: np.ndarray, wider: np.ndarray) -> np.ndarray:
    """Fractional coordinates of all copies of the atoms in the larger cell, atom by atom."""
    inverse = np.linalg.inv(wider)
    reach = np.abs(wider).sum(axis=0)
    n = [np.arange(-r, r + 1) for r in reach]
    shifts = np.stack(np.meshgrid(*n, indexing="ij"), axis=-1).reshape(-1, 3) @ inverse
    shifts = shifts[((shifts > -1e-9) & (shifts < 1 - 1e-9)).all(axis=1)]
    return ((fractional @ inverse)[:, None] + shifts).reshape(-1, 3) % 1.0
