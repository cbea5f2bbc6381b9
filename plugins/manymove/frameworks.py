"""Rigid crystalline frameworks, from CIF files."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

SHIPPED = ("MFI", "LTA")  # in data/, with their citations
_CLOSEST = 0.5  # angstrom: atoms closer than this are one atom twice


@dataclass(frozen=True)
class Framework:
    """A unit cell with right angles and its atoms.

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

    Args:
        source: "MFI", "LTA", or the path of a CIF file.

    Raises:
        ImportError: gemmi is not installed.
        OSError: the file cannot be read.
        ValueError: it does not parse, has no atoms, several blocks with atoms, partially occupied
            or overlapping sites, or a cell without right angles.
    """
    try:
        import gemmi
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
    try:
        document = gemmi.cif.read_string(text)
    except ValueError as error:
        raise ValueError(f"{source} is no CIF file: {error}") from None
    structures = [gemmi.make_small_structure_from_block(block) for block in document]
    structures = [s for s in structures if len(s.sites)]
    if len(structures) != 1:
        raise ValueError(f"{source} has {len(structures)} blocks with atoms, expected one")
    return _from_structure(name, structures[0])


def _from_structure(name: str, structure: object) -> Framework:
    cell = structure.cell
    edges = (cell.a, cell.b, cell.c)
    if not all(edge > 1 for edge in edges):
        raise ValueError(f"framework {name} has no unit cell")
    angles = (cell.alpha, cell.beta, cell.gamma)
    if any(abs(angle - 90) > 1e-3 for angle in angles):
        raise ValueError(
            f"framework {name} has cell angles {angles[0]:g}, {angles[1]:g}, {angles[2]:g}; only "
            "right angles are possible"
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
    return Framework(
        name=name,
        cell=edges,
        fractional=np.array([site.fract.tolist() for site in sites]) % 1.0,
        elements=tuple(site.element.name for site in sites),
        mass=sum(site.element.weight for site in sites),
    )
