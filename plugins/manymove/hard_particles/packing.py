"""Initial configurations of hard disks: random packings, square and hexagonal lattices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.random import Generator, default_rng  # as in analysis/ions.py

from manymove import _core, arguments
from manymove.errors import ParameterError

MAX_DISKS = 2_000_000_000
MAX_RANDOM = 0.72
MAX_SQUARE = math.pi / 4
MAX_HEXAGONAL = math.pi / (2 * math.sqrt(3))

# Random packings are left with this gap, so that rounding to float32 (GSD) makes no overlap in
# boxes of up to some thousand diameters.
_GAP = 2e-4
_PASSES_PER_CALL = 10
_STRATUM = 16
# The disks are swollen on the way, so that few pairs are left in contact: their pressure would be
# many times that of equilibrium and take hundreds of sweeps to relax.
_SWOLLEN_FRACTION = 0.8  # packing fraction
_MOST_SWOLLEN = 1.07  # diameters
_ATTEMPTS = 10

Box = tuple[float, float]


def random_packing(
    N: int,
    packing_fraction: float,
    *,
    seed: int,
    diameter: float = 1.0,
    aspect_ratios: tuple[float, float] = (1.0, 1.0),
    interrupted: Callable[[], bool] | None = None,
) -> tuple[np.ndarray, Box]:
    """Random configuration of disks without overlaps.

    The box is divided into parts of equal area with 16 uniformly distributed points each. Disks
    around these points grow beyond the full diameter, while overlaps are pushed apart. Points that
    are uniform in the whole box would leave density fluctuations of long wavelength, which relax
    very slowly in Monte Carlo. The configuration has to be equilibrated; it is not a sample of the
    ensemble.

    Args:
        N: number of disks, at least 1.
        packing_fraction: packing fraction N pi diameter^2 / (4 Lx Ly), up to 0.72.
        seed: seed of the random number generator.
        diameter: diameter of the disks, in any unit of length.
        aspect_ratios: ratios of the edges of the box.
        interrupted: function that is called about every second for large N; if it returns True, the
            search ends.

    Returns:
        positions, float64 (N, 2) in [-L/2, L/2), and the box (Lx, Ly).

    Raises:
        ValueError: an argument is out of range, or no packing was found (a few disks may not fit
            into a periodic box in which many would).
        KeyboardInterrupt: `interrupted` returned True.
    """
    _check(N, packing_fraction, diameter)
    width, height = arguments.aspect_ratios(aspect_ratios, 2)
    aspect_ratio = height / width
    check_density("random", packing_fraction)
    area = N * math.pi * diameter**2 / (4 * packing_fraction)
    box = (math.sqrt(area / aspect_ratio), math.sqrt(area * aspect_ratio))
    final = diameter * (1 + _GAP)
    if min(box) < final:
        raise ValueError(f"the box {box[0]:.6g} x {box[1]:.6g} is narrower than a disk")
    swollen = diameter * min(_MOST_SWOLLEN, math.sqrt(_SWOLLEN_FRACTION / packing_fraction))
    stages = [(0.7 * final, 100), (min(swollen, *box), 400), (final, 4000)]
    generator = default_rng(arguments.uint64("seed", seed))
    for _ in range(_ATTEMPTS):
        positions = (_stratified(N, box[1] / box[0], generator) - 0.5) * box
        for size, passes in stages:
            depth = _relax(positions, box, size, passes, interrupted)
        if depth == 0:
            return positions, box
    raise ValueError(
        f"found no packing of {N} disks at packing fraction {packing_fraction} in a periodic box "
        f"of aspect ratio {aspect_ratio}: it may not exist for so few disks"
    )


def _relax(
    positions: np.ndarray,
    box: Box,
    diameter: float,
    passes: int,
    interrupted: Callable[[], bool] | None,
) -> float:
    """Push disks of this diameter apart, and return the deepest remaining overlap in diameters."""
    depth = 0.0
    for _ in range(0, passes, _PASSES_PER_CALL):
        _, depth = _core.relax_overlaps(positions, box, diameter, _PASSES_PER_CALL)
        if interrupted is not None and interrupted():
            raise KeyboardInterrupt
        if depth == 0:
            break
    return depth


def _stratified(N: int, aspect_ratio: float, generator: Generator) -> np.ndarray:
    """Random points in the unit square, (N, 2), about _STRATUM in each of many equal rectangles.

    The square is cut into rows and these into rectangles, each as large as its share of the points.
    """
    points = generator.random((N, 2))
    rows = _cuts(N, math.sqrt(N * aspect_ratio / _STRATUM))
    for first, last in itertools.pairwise(rows):
        row = points[first:last]
        row[:, 1] = (first + row[:, 1] * (last - first)) / N
        columns = _cuts(last - first, (last - first) / _STRATUM)
        for left, right in itertools.pairwise(columns):
            row[left:right, 0] = (left + row[left:right, 0] * (right - left)) / (last - first)
    return points


def _cuts(count: int, parts: float) -> list[int]:
    """Where to cut `count` points into about `parts` parts whose sizes differ by at most one."""
    whole = min(count, max(1, round(parts)))
    return [k * count // whole for k in range(whole + 1)]


def square_packing(
    N: int, packing_fraction: float, *, diameter: float = 1.0
) -> tuple[np.ndarray, Box]:
    """Square lattice in a commensurate rectangular box that is as close to a square as possible.

    Args:
        N: number of disks; the product of two numbers of similar size.
        packing_fraction: packing fraction N pi diameter^2 / (4 Lx Ly), up to pi / 4.
        diameter: diameter of the disks, in any unit of length.

    Returns:
        positions, float64 (N, 2) in [-L/2, L/2), and the box (Lx, Ly).

    Raises:
        ValueError: argument out of range, or N fits no such lattice.
    """
    _check(N, packing_fraction, diameter)
    check_density("square", packing_fraction)
    columns, rows = _columns_and_rows(N, "square", 1.0)
    spacing = diameter * _at_least_one(math.sqrt(MAX_SQUARE / packing_fraction))
    box = (columns * spacing, rows * spacing)
    row, column = np.divmod(np.arange(N), columns)
    x = (column + 0.5) / columns - 0.5
    y = (row + 0.5) / rows - 0.5
    return np.column_stack((x * box[0], y * box[1])), box


def hexagonal_packing(
    N: int, packing_fraction: float, *, diameter: float = 1.0
) -> tuple[np.ndarray, Box]:
    """Hexagonal (triangular) lattice in a commensurate rectangular box that is as close to a square
    as possible.

    There is an even number of rows of disks along x.

    Args:
        N: number of disks; the product of a number and an even number of similar size.
        packing_fraction: packing fraction N pi diameter^2 / (4 Lx Ly), up to
            pi / (2 sqrt 3) = 0.9069.
        diameter: diameter of the disks, in any unit of length.

    Returns:
        positions, float64 (N, 2) in [-L/2, L/2), and the box (Lx, Ly).

    Raises:
        ValueError: argument out of range, or N fits no such lattice.
    """
    _check(N, packing_fraction, diameter)
    check_density("hexagonal", packing_fraction)
    columns, rows = _columns_and_rows(N, "hexagonal", math.sqrt(3) / 2)
    spacing = diameter * _at_least_one(math.sqrt(MAX_HEXAGONAL / packing_fraction))
    box = (columns * spacing, rows * spacing * math.sqrt(3) / 2)
    row, column = np.divmod(np.arange(N), columns)
    x = (column + 0.25 + 0.5 * (row % 2)) / columns - 0.5
    y = (row + 0.5) / rows - 0.5
    return np.column_stack((x * box[0], y * box[1])), box


def _check(N: int, packing_fraction: float, diameter: float) -> None:
    arguments.count("N", N, MAX_DISKS)
    if not arguments.number("packing_fraction", packing_fraction) > 0:
        raise ParameterError("packing_fraction", f"must be positive, got {packing_fraction}")
    arguments.positive_and_finite("diameter", diameter)


def check_density(start: str, packing_fraction: float) -> None:
    """Refuse a packing fraction that is too high for a start ("random", "square", "hexagonal").

    Raises:
        ValueError: the packing fraction is too high.
    """
    if start == "random" and packing_fraction > MAX_RANDOM:
        raise ParameterError(
            "packing_fraction",
            f"is {packing_fraction}; random packings go up to {MAX_RANDOM}, "
            "start denser systems from the hexagonal lattice",
        )
    largest = {"square": MAX_SQUARE, "hexagonal": MAX_HEXAGONAL}.get(start, 1.0)
    if packing_fraction > largest * (1 + 1e-12):
        raise ParameterError(
            "packing_fraction",
            f"is {packing_fraction}; the {start} lattice of touching disks has {largest:.7f}",
        )


def _at_least_one(spacing: float) -> float:
    """Touching disks do not overlap through rounding."""
    return max(spacing, 1 + 1e-11)


def _columns_and_rows(N: int, lattice: str, row_height: float) -> tuple[int, int]:
    shape = _nearest_shape(N, lattice, row_height)
    if shape is None:
        near = (N + sign * step for step in range(1, N + 5) for sign in (-1, 1))
        other = next(m for m in near if m > 0 and _nearest_shape(m, lattice, row_height))
        raise ValueError(
            f"{N} disks fill no {lattice} lattice in a box with sides in a ratio below 2; "
            f"{other} do"
        )
    return shape


def _nearest_shape(N: int, lattice: str, row_height: float) -> tuple[int, int] | None:
    """(columns, rows) of the box nearest to a square; None if all are over twice as long."""
    even = lattice == "hexagonal"
    shapes = [(N // rows, rows) for rows in _divisors(N) if not (even and rows % 2)]
    elongation = {s: abs(math.log(s[1] * row_height / s[0])) for s in shapes}
    best = min(shapes, key=elongation.__getitem__, default=None)
    return best if best is not None and elongation[best] <= math.log(2) + 1e-9 else None


def _divisors(N: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(N) + 1) if N % d == 0]
    return sorted({*small, *(N // d for d in small)})
