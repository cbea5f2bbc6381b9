"""Rigid crystalline frameworks, from CIF files."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from manymove.frameworks_cif import structure_of

SHIPPED = ("MFI", "LTA")  # in data/, with their citations
_CLOSEST = 0.5  # angstrom: atoms closer than this are one atom twice


@dataclass(frozen=True)
class Framework:
    """A cell with right angles and its atoms.

    Attributes:
        name: of the structure.
        cell: edges a, b, c in angstrom.
        fractional: float64 (M, 3), fractional coordinates of all atoms of the unit cell.
        elements: of each atom, (M,).
        mass: of the unit cell, in atomic mass units.
    """

    name: str
    cell: tuple[float, float, float]
    fractional: np.ndarray
    elements: tuple[str, ...]
    mass: float

    def __post_init__(self) -> None:
        if len(self.fractional) == 0:
            raise ValueError(f"framework {self.name} has no atoms")
        if self.fractional.shape != (len(self.elements), 3):
            raise ValueError(
                f"framework {self.name}: fractional has shape {self.fractional.shape}, "
                f"not ({len(self.elements)}, 3)"
            )
        if not np.isfinite(self.fractional).all():
            raise ValueError(f"framework {self.name}: a coordinate is not finite")
        i, j, distance = _closest(self.fractional, self.cell)
        if distance < _CLOSEST:
            raise ValueError(
                f"framework {self.name}: atoms {i} ({self.elements[i]}) and {j} "
                f"({self.elements[j]}) overlap, {distance:.3g} angstrom apart"
            )

    @property
    def formula(self) -> str:
        """Atoms of the unit cell, such as "O192 Si96"."""
        return " ".join(f"{e}{n}" for e, n in sorted(Counter(self.elements).items()))

    def cells_for(self, cutoff: float) -> tuple[int, int, int]:
        """The fewest unit cells along each axis that make the box twice the cutoff wide."""
        return tuple(max(1, math.ceil(2 * cutoff / edge - 1e-9)) for edge in self.cell)


def _closest(fractional: np.ndarray, cell: tuple[float, float, float]) -> tuple[int, int, float]:
    """The closest pair of atoms, nearest images."""
    best = (0, 0, math.inf)
    for i in range(len(fractional) - 1):
        d = fractional[i + 1 :] - fractional[i]
        d = (d - np.rint(d)) * np.array(cell)
        squares = (d**2).sum(axis=1)
        j = int(squares.argmin())
        if squares[j] < best[2] ** 2:
            best = (i, i + 1 + j, math.sqrt(float(squares[j])))
    return best


def read_framework(source: str | os.PathLike[str]) -> Framework:
    """A framework from a CIF file, or one of those that ship with manymove.

    A unit cell without right angles is exchanged for the smallest cell of the same crystal that has
    them, where there is one of up to eight unit cells: of all hexagonal lattices and of the
    primitive cells of centered ones, but of few monoclinic and triclinic lattices.

    Args:
        source: "MFI", "LTA", or the path of a CIF file.

    Raises:
        ImportError: gemmi is not installed.
        OSError: the file cannot be read.
        ValueError: it does not parse, has no atoms, several blocks with atoms, sites that are
            partially occupied, overlap, exclude each other or have no fractional coordinates, a
            symmetry that would have to be guessed, or a lattice without right angles.

    Warns:
        UserWarning: the file may not describe the framework that is meant: water or a disorder
            group in it, operations derived from the number of the space group, or an error in
            the syntax.
    """
    try:
        import gemmi  # noqa: F401
    except ImportError as error:
        raise ImportError("CIF files need gemmi: pip install 'manymove[adsorption]'") from error

    if str(source) in SHIPPED:
        with as_file(files("manymove").joinpath(f"data/{source}.cif")) as path:
            text, name = path.read_text(), str(source)
    else:
        path = Path(source)
        if not path.is_file():
            raise FileNotFoundError(
                f"no framework {source}: expected {', '.join(SHIPPED)} or the path of a CIF file"
            )
        text, name = path.read_text(errors="replace"), path.stem
    return _from_structure(name, structure_of(text, str(source)))


def _from_structure(name: str, structure: object) -> Framework:
    cell = structure.cell
    if not all(edge > 1 for edge in (cell.a, cell.b, cell.c)):
        raise ValueError(f"framework {name} has no unit cell")
    lattice = np.array(cell.orth.mat.tolist()).T  # rows: the edges
    wider = _right_angled(lattice)
    if wider is None:
        raise ValueError(
            f"framework {name} has cell angles {cell.alpha:g}, {cell.beta:g}, {cell.gamma:g}, and "
            "no cell of up to eight unit cells has right angles; others are not possible"
        )
    for site in structure.sites:
        if site.occ < 1 - 1e-6:
            raise ValueError(
                f"framework {name}: site {site.label} is occupied by {site.occ:g}; choose which "
                "atoms are there"
            )
        if site.element.name == "X":
            raise ValueError(f"framework {name}: site {site.label} is of no known element")
    sites = structure.get_all_unit_cell_sites()
    fractional = np.array([site.fract.tolist() for site in sites]).reshape(-1, 3) % 1.0
    copies = round(abs(np.linalg.det(wider)))
    return Framework(
        name=name,
        cell=tuple(float(np.linalg.norm(edge)) for edge in wider @ lattice),
        fractional=_in_wider_cell(fractional, wider),
        elements=tuple(site.element.name for site in sites for _ in range(copies)),
        mass=copies * sum(site.element.weight for site in sites),
    )


_FARTHEST = 3  # unit cells along each edge
_MOST_CELLS = 8
_SKEW = 2e-5  # cosine of an angle that counts as right


def _right_angled(lattice: np.ndarray) -> np.ndarray | None:
    """The smallest cell with right angles, its edges (rows) in units of those of the lattice: the
    unit cell itself if it has them; None if there is none."""
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
    """Coordinates of all copies of the atoms, atom by atom, in the wider cell."""
    inverse = np.linalg.inv(wider)
    reach = np.abs(wider).sum(axis=0)
    n = [np.arange(-r, r + 1) for r in reach]
    shifts = np.stack(np.meshgrid(*n, indexing="ij"), axis=-1).reshape(-1, 3) @ inverse
    shifts = shifts[((shifts > -1e-9) & (shifts < 1 - 1e-9)).all(axis=1)]
    return ((fractional @ inverse)[:, None] + shifts).reshape(-1, 3) % 1.0
