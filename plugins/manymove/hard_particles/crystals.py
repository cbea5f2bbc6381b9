# SPDX-License-Identifier: BSD-3-Clause
"""Crystals of hard spheres: face-centered cubic, hexagonal close-packed and body-centered cubic."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from manymove import arguments
from manymove.errors import ParameterError
from manymove.hard_particles.packing import MAX_DISKS

Box3 = tuple[float, float, float]

_LONGEST = 2.0  # ratio of the longest edge of a box to the shortest


@dataclass(frozen=True)
class Crystal:
    """A lattice with an orthorhombic unit cell.

    Attributes:
        name: name in messages.
        edges: edges of the unit cell in units of the distance of nearest neighbors.
        sites: sites of the unit cell in units of its edges, (n, 3).
    """

    name: str
    edges: tuple[float, float, float]
    sites: tuple[tuple[float, float, float], ...]

    @property
    def densest(self) -> float:
        """Packing fraction of touching spheres."""
        return len(self.sites) * math.pi / 6 / math.prod(self.edges)


_FCC = ((0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 0.5), (0.0, 0.5, 0.5))
_HCP = ((0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.5, 1 / 6, 0.5), (0.0, 2 / 3, 0.5))
_BCC = ((0.0, 0.0, 0.0), (0.5, 0.5, 0.5))
CRYSTALS = {
    "fcc": Crystal("FCC", 3 * (math.sqrt(2),), _FCC),
    "hcp": Crystal("HCP", (1.0, math.sqrt(3), math.sqrt(8 / 3)), _HCP),
    "bcc": Crystal("BCC", 3 * (2 / math.sqrt(3),), _BCC),
}


def fcc_packing(
    N: int, packing_fraction: float, *, diameter: float = 1.0
) -> tuple[np.ndarray, Box3]:
    """Face-centered cubic crystal in a commensurate box that is as close to a cube as possible.

    The unit cell is a cube with four spheres.

    Args:
        N: number of spheres, four times a product of three numbers of similar size.
        packing_fraction: packing fraction N pi diameter^3 / (6 V), up to pi / (3 sqrt 2) = 0.7405.
        diameter: diameter of the spheres, in any unit of length.

    Returns:
        positions, float64 (N, 3) in [-L/2, L/2), and the box (Lx, Ly, Lz).

    Raises:
        ValueError: argument out of range, or N fits no such crystal.
    """
    return crystal("fcc", N, packing_fraction, diameter)


def hcp_packing(
    N: int, packing_fraction: float, *, diameter: float = 1.0
) -> tuple[np.ndarray, Box3]:
    """Hexagonal close-packed crystal in a commensurate box that is as close to a cube as possible.

    The unit cell has the edges a, sqrt(3) a and sqrt(8 / 3) a with four spheres; the close-packed
    planes are normal to z.

    Args:
        N, packing_fraction, diameter: as for `fcc_packing`, whose results and errors are the same
            as well.
    """
    return crystal("hcp", N, packing_fraction, diameter)


def bcc_packing(
    N: int, packing_fraction: float, *, diameter: float = 1.0
) -> tuple[np.ndarray, Box3]:
    """Body-centered cubic crystal in a commensurate box that is as close to a cube as possible.

    The unit cell is a cube with two spheres. Hard spheres are mechanically unstable in this crystal
    and leave it within a short run.

    Args:
        N: number of spheres, twice a product of three numbers of similar size.
        packing_fraction: packing fraction, up to pi sqrt(3) / 8 = 0.6802.
        diameter: as for `fcc_packing`, whose results and errors are the same as well.
    """
    return crystal("bcc", N, packing_fraction, diameter)


def crystal(
    kind: str, N: int, packing_fraction: float, diameter: float = 1.0
) -> tuple[np.ndarray, Box3]:
    """The crystal "fcc", "hcp" or "bcc"; see `fcc_packing`."""
    N = arguments.count("N", N, MAX_DISKS)
    diameter = arguments.positive_and_finite("diameter", diameter)
    check_crystal(kind, packing_fraction)
    lattice = CRYSTALS[kind]
    counts = _cells(lattice, N)
    spacing = (lattice.densest / packing_fraction) ** (1 / 3)
    spacing = diameter * max(spacing, 1 + 1e-11)  # touching spheres do not overlap through rounding
    box = tuple(n * spacing * edge for n, edge in zip(counts, lattice.edges, strict=True))
    cells = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 1, 3)
    # The offset keeps the sites off the faces of the box.
    places = (cells + np.array(lattice.sites) + 1 / 12).reshape(-1, 3) / counts
    return (places - 0.5) * box, box


def check_crystal(kind: str, packing_fraction: float) -> None:
    """Refuse a packing fraction that the crystal of touching spheres does not reach.

    Raises:
        ValueError: the packing fraction is too high, or not positive.
    """
    lattice = CRYSTALS[kind]
    if not packing_fraction > 0:
        raise ParameterError("packing_fraction", f"must be positive, got {packing_fraction}")
    if packing_fraction > lattice.densest * (1 + 1e-12):
        raise ParameterError(
            "packing_fraction",
            f"is {packing_fraction}; the {lattice.name} crystal of touching "
            f"spheres has {lattice.densest:.7f}",
        )


def _cells(lattice: Crystal, N: int) -> tuple[int, int, int]:
    """Numbers of unit cells along the axes, for the box nearest to a cube."""
    shape = _nearest(lattice, N)
    if shape is None:
        step = len(lattice.sites)
        first = N // step * step
        near = (first + sign * k * step for k in range(N) for sign in (1, -1))
        other = next(m for m in near if m > 0 and _nearest(lattice, m))
        raise ValueError(
            f"{N} spheres fill no {lattice.name} crystal in a box with edges in a ratio below "
            f"{_LONGEST:g}; {other} do"
        )
    return shape


def _nearest(lattice: Crystal, N: int) -> tuple[int, int, int] | None:
    cells, rest = divmod(N, len(lattice.sites))
    if rest or not cells:
        return None
    best, least = None, math.log(_LONGEST) + 1e-9
    for nx in _divisors(cells):
        for ny in _divisors(cells // nx):
            shape = (nx, ny, cells // nx // ny)
            edges = [n * edge for n, edge in zip(shape, lattice.edges, strict=True)]
            elongation = math.log(max(edges) / min(edges))
            if elongation < least - 1e-12:
                best, least = shape, elongation
    return best


def _divisors(n: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return sorted({*small, *(n // d for d in small)})


def simple_sites(N: int, box: tuple[float, ...]) -> np.ndarray:
    """At least N sites of a rectangular lattice that fills a box, float64 (M, D), nearly cubic."""
    D = len(box)
    spacing = (math.prod(box) / N) ** (1 / D)
    counts = [max(1, round(edge / spacing)) for edge in box]
    while math.prod(counts) < N:
        # One more layer where the spacing is the widest.
        widest = max(range(D), key=lambda a: box[a] / counts[a])
        counts[widest] += 1
    places = itertools.starmap(np.arange, ((n,) for n in counts))
    sites = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, D)
    return ((sites + 0.5) / counts - 0.5) * np.array(box)
