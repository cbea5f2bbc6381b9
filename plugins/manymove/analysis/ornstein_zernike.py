"""The Ornstein-Zernike equation of two species of charged hard spheres, and its screening pole.

At long distances the pair correlations of an electrolyte that is not too dense decay as
e^(-kR r) / r, where i kR is the first zero of det(1 - n c(k)), the direct correlation functions c
being those of the Ornstein-Zernike equation h = c + c n h (R. Kjellander, D. J. Mitchell, J. Chem.
Phys. 101, 603, 1994). c + beta u decays like h^2 / 2, twice as fast as h. Therefore short
distances, where g is known to many digits, determine the slope of the far field.

In the hypernetted-chain closure, ln g = -beta u + h - c, the bridge function is neglected. It is of
third order in h at least, and small in electrolytes of moderate coupling; `continue_pair_
correlations` needs it beyond a distance only, up to which g is measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manymove import arguments
from manymove.analysis.ions import debye_length
from manymove.errors import ParameterError
from manymove.tables import Record

_PAIRS = ((0, 0), (0, 1), (1, 1))
_TOLERANCE = 1e-9  # of h - c, which is of order 1
_MOST_ITERATIONS = 300
_MEMORY = 8  # iterates that the next is extrapolated from


@dataclass(frozen=True)
class Screening:
    """The far field of an electrolyte, in the terms of `manymove.analysis.DressedIons`.

    Attributes:
        debye_length: renormalized Debye length 1 / kR, in the unit of length.
        valences: renormalized valences of the two species, whose charge ratio obeys Eq. 8
            identically.
        permittivity: ratio eps_R / eps of the renormalized to the bare permittivity.
    """

    debye_length: float
    valences: tuple[float, float]
    permittivity: float


@dataclass(frozen=True, repr=False, eq=False)
class IntegralEquation(Record):
    """A solution of the Ornstein-Zernike equation of an electrolyte of two species, in the
    hypernetted-chain approximation where it is not measured.

    Attributes:
        r: distances (i + 1/2) spacing in angstrom, float64 (points,).
        h: total correlations g - 1 of the pairs 00, 01 and 11, float64 (3, points).
        c: direct correlations plus z_a z_b l_B (1 - e^(-a r)) / r with a = `split`, float64
            (3, points).
        densities, valences: densities in ions per cubic angstrom, and valences of the two species.
        bjerrum_length: Bjerrum length l_B in angstrom.
        split: inverse length a of the division into a short-range and a long-range part, in
            1/angstrom.
    """

    r: np.ndarray
    h: np.ndarray
    c: np.ndarray
    densities: tuple[float, float]
    valences: tuple[float, float]
    bjerrum_length: float
    split: float

    @property
    def energy_per_ion(self) -> float:
        """Energy per ion in kT: 2 pi l_B sum n_a n_b z_a z_b integral of r h_ab, divided by the
        density of ions."""
        n, z, spacing = self.densities, self.valences, self.r[1] - self.r[0]
        total = 0.0
        for (a, b), h in zip(_PAIRS, self.h, strict=True):
            total += (1 if a == b else 2) * n[a] * n[b] * z[a] * z[b] * float((self.r * h).sum())
        return 2 * math.pi * self.bjerrum_length * spacing * total / sum(n)

    def screening(self) -> Screening:
        """The far field from the zero kR of det(1 - n c) and the residue of h at this pole.

        Raises:
            ValueError: there is no zero between 0.7 and 3 bare inverse Debye lengths, therefore the
                far field is not a single screened exponential near the bare one.
        """
        n, z = np.array(self.densities), np.array(self.valences)
        bare = 1 / debye_length(n, z, self.bjerrum_length)
        roots = np.linspace(0.7 * bare, 3 * bare, 116)
        values = [_determinant(self._transform(k), n) for k in roots]
        sign = np.flatnonzero(np.sign(values[:-1]) != np.sign(values[1:]))
        if not sign.size:
            raise ValueError("no screened far field: det(1 - n c) has no zero near the bare one")
        low, high = float(roots[sign[0]]), float(roots[sign[0] + 1])
        positive = values[sign[0]] > 0
        for _ in range(60):
            middle = (low + high) / 2
            if (_determinant(self._transform(middle), n) > 0) == positive:
                low = middle
            else:
                high = middle
        kappa, step = (low + high) / 2, 1e-5 * bare
        slope = (
            _determinant(self._transform(kappa + step), n)
            - _determinant(self._transform(kappa - step), n)
        ) / (2 * step)
        # h_ab -> amplitude_ab e^(-kR r) / r, the adjugate over the determinant's slope.
        amplitude = -kappa / (2 * math.pi) * _adjugate(self._transform(kappa), n) / slope
        ratio = amplitude[1] / amplitude[0]
        scale = kappa**2 / (4 * math.pi * self.bjerrum_length)
        first = scale / float(n[0] * z[0] + n[1] * z[1] * ratio)
        permittivity = -(first**2) * self.bjerrum_length / amplitude[0]
        return Screening(1 / kappa, (first, first * float(ratio)), float(permittivity))

    def _transform(self, kappa: float) -> np.ndarray:
        """c of the three pairs, Coulomb part included, at the wave number i kappa."""
        spacing = self.r[1] - self.r[0]
        weight = 4 * math.pi * spacing * self.r * np.sinh(kappa * self.r) / kappa
        return self.c @ weight - _products(self.valences) * self.bjerrum_length * _long_range(
            -(kappa**2), self.split
        )


def hypernetted_chain(
    densities: Sequence[float],
    valences: Sequence[float],
    diameter: float,
    bjerrum_length: float,
    *,
    points_per_diameter: int = 32,
    extent: float = 20.0,
) -> IntegralEquation:
    """Solve the hypernetted-chain equation of charged hard spheres of one diameter.

    Args:
        densities, valences: of the two species, which must be neutral to 5 %.
        diameter: diameter of all ions.
        bjerrum_length: Bjerrum length l_B.
        points_per_diameter: number of points of the grid per diameter.
        extent: length of the grid in bare Debye lengths.

    Raises:
        ValueError: the iteration does not converge (outside the range of the closure).
    """
    if np.shape(densities) != (2,) or not np.isfinite(densities).all() or min(densities) <= 0:
        raise ParameterError("densities", f"must be two positive numbers, got {densities}")
    # Densities that are counted in a part of a system have fluctuations.
    if np.shape(valences) != (2,) or not abs(np.dot(densities, valences)) <= 0.05 * np.dot(
        densities, np.abs(valences)
    ):
        raise ParameterError("valences", f"must be two numbers of neutral species, got {valences}")
    arguments.positive_and_finite("diameter", diameter)
    arguments.positive_and_finite("bjerrum_length", bjerrum_length)
    arguments.count("points_per_diameter", points_per_diameter)
    arguments.positive_and_finite("extent", extent)
    spacing = diameter / points_per_diameter
    bare = debye_length(densities, valences, bjerrum_length)
    grid = _Grid(spacing, _points(extent * bare / spacing), densities, valences, bjerrum_length)
    core = grid.r < diameter
    return grid.solve(np.full((3, grid.r.size), -1.0), core)


def continue_pair_correlations(
    r: np.ndarray,
    g: np.ndarray,
    densities: Sequence[float] | np.ndarray,
    valences: Sequence[float] | np.ndarray,
    bjerrum_length: float,
    distance: float,
    *,
    extent: float = 20.0,
) -> IntegralEquation:
    """Correlations that are given up to a distance, continued by hypernetted chains beyond it.

    Args:
        r: centers of equal bins from 0, float64 (bins,).
        g: pair correlation functions of the pairs 00, 01 and 11, which tend to 1, averaged over the
            bins, float64 (3, bins). (The difference to the values at the centers changes kR by a
            relative 1e-5 if the width is a hundredth of the Debye length.)
        densities, valences: densities and valences of the two species.
        bjerrum_length: Bjerrum length l_B.
        distance: distance up to which the given g is used.
        extent: length of the grid in bare Debye lengths.

    Raises:
        ValueError: the bins do not begin at 0 or do not reach the distance, or the iteration does
            not converge.
    """
    spacing = float(r[1] - r[0])
    if abs(r[0] / spacing - 0.5) > 1e-6:
        raise ValueError(f"the bins must begin at 0, but the first is centered at {r[0]:.6g}")
    given = r < distance
    if given.all():
        raise ValueError(f"g is known up to {r[-1]:.6g} only, not to {distance:.6g}")
    bare = debye_length(densities, valences, bjerrum_length)
    points = max(_points(extent * bare / spacing), r.size)
    grid = _Grid(spacing, points, densities, valences, bjerrum_length)
    h = np.full((3, points), -1.0)
    h[:, : r.size] = g - 1
    inner = np.zeros(points, dtype=bool)
    inner[: r.size] = given
    return grid.solve(h, inner)


def _points(least: float) -> int:
    """A number of points with a fast transform."""
    return 256 * math.ceil(least / 256)


def _products(valences: Sequence[float]) -> np.ndarray:
    return np.array([valences[a] * valences[b] for a, b in _PAIRS])


def _long_range(wave2: float | np.ndarray, split: float) -> float | np.ndarray:
    """Transform of (1 - e^(-split r)) / r at a squared wave number."""
    return 4 * math.pi * split**2 / (wave2 * (wave2 + split**2))


def _determinant(c: np.ndarray, n: np.ndarray) -> float:
    return (1 - c[0] * n[0]) * (1 - c[2] * n[1]) - c[1] ** 2 * n[0] * n[1]


def _adjugate(c: np.ndarray, n: np.ndarray) -> np.ndarray:
    """adj(1 - c n) c of the pairs 00, 01 and 11."""
    cross = c[0] * c[2] - c[1] ** 2
    return np.array([c[0] - n[1] * cross, c[1], c[2] - n[0] * cross])


class _Grid:
    """r_i = (i + 1/2) spacing, its Fourier transforms, and the iteration."""

    def __init__(
        self,
        spacing: float,
        points: int,
        densities: Sequence[float] | np.ndarray,
        valences: Sequence[float] | np.ndarray,
        bjerrum_length: float,
    ) -> None:
        self.r = (np.arange(points) + 0.5) * spacing
        self._spacing = spacing
        self._k_spacing = math.pi / (points * spacing)
        self._k = (np.arange(points) + 0.5) * self._k_spacing
        self._n = np.array(densities, dtype=float)
        self._z = (float(valences[0]), float(valences[1]))
        self._bjerrum = bjerrum_length
        self._bare = 1 / debye_length(self._n, self._z, bjerrum_length)
        self._split = 4 * self._bare
        strength = _products(self._z)[:, None] * bjerrum_length
        self._coulomb = strength / self.r
        self._short = strength * np.exp(-self._split * self.r) / self.r
        self._long_k = strength * _long_range(self._k**2, self._split)
        twist = np.arange(points) * (0.5j * math.pi / points)
        self._before, self._after = np.exp(twist), np.exp(twist + 0.25j * math.pi / points)

    def _sines(self, f: np.ndarray) -> np.ndarray:
        """sum_i f_i sin(pi (i + 1/2) (j + 1/2) / points), of each row."""
        length = 2 * self.r.size
        spectrum = np.fft.ifft(f * self._before, length)[:, : self.r.size] * length
        return (spectrum * self._after).imag

    def _forward(self, f: np.ndarray) -> np.ndarray:
        return 4 * math.pi * self._spacing / self._k * self._sines(self.r * f)

    def _back(self, f: np.ndarray) -> np.ndarray:
        return self._k_spacing / (2 * math.pi**2) / self.r * self._sines(self._k * f)

    def _indirect(self, c: np.ndarray) -> np.ndarray:
        """h - c by the Ornstein-Zernike equation."""
        short = self._forward(c)
        whole = short - self._long_k
        return self._back(_adjugate(whole, self._n) / _determinant(whole, self._n) - short)

    def solve(self, h: np.ndarray, given: np.ndarray) -> IntegralEquation:
        """Iterate h - c with Anderson's extrapolation, where h is given at some of the points."""
        screened = np.exp(-self._bare * self.r)
        indirect = -self._coulomb * screened + self._short
        indirect = np.where(self.r < 0.1 / self._bare, indirect[:, [_near(self)]], indirect)
        past: list[tuple[np.ndarray, np.ndarray]] = []
        for _ in range(_MOST_ITERATIONS):
            chain = np.expm1(np.clip(indirect - self._short, -300, 30))
            now = np.where(given, h, chain)
            rest = self._indirect(now - indirect) - indirect
            if not np.isfinite(rest).all():
                break
            if np.abs(rest).max() < _TOLERANCE:
                n0, n1 = map(float, self._n)
                return IntegralEquation(
                    self.r, now, now - indirect, (n0, n1), self._z, self._bjerrum, self._split
                )
            past = [*past, (indirect, rest)][-_MEMORY:]
            indirect = _extrapolated(past)
        raise ValueError("the integral equation has no solution that the iteration finds")


def _near(grid: _Grid) -> int:
    return int(np.searchsorted(grid.r, 0.1 / grid._bare))


def _extrapolated(past: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The combination of iterates with the smallest residual, and a step along this residual."""
    x, rest = past[-1]
    if len(past) == 1:
        return x + 0.3 * rest
    differences = np.array([(rest - other).ravel() for _, other in past[:-1]]).T
    shares, *_ = np.linalg.lstsq(differences, rest.ravel(), rcond=None)
    for share, (other_x, other_rest) in zip(shares, past[:-1], strict=True):
        x = x - share * (past[-1][0] - other_x)
        rest = rest - share * (past[-1][1] - other_rest)
    return x + 0.6 * rest
