# SPDX-License-Identifier: BSD-3-Clause
"""Free energies from equations of state, and the coexistence of two phases.

Free energies and chemical potentials are in kT per particle, with a thermal wavelength of a
diameter. Pressures are P* = beta P d^D, and densities are packing fractions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.polynomial import Polynomial

from manymove import arguments
from manymove.analysis.notation import Estimate
from manymove.analysis.sphere_reference import CLOSE_PACKED
from manymove.errors import ParameterError
from manymove.tables import Record

B = TypeVar("B", bound="Branch")

# Coefficients b_2 to b_6 of Z = 1 + b_2 phi + b_3 phi^2 + ... of disks and spheres (N. Clisby and
# B. M. McCoy, J. Stat. Phys. 122, 15, 2006).
_VIRIAL = {
    2: (2.0, 3.128018, 4.257854, 5.336897, 6.362960),
    3: (4.0, 10.0, 18.364768, 28.224512, 39.815148),
}
_CLOSE_PACKED = {2: math.pi / math.sqrt(12), 3: CLOSE_PACKED}
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_STEPS = 100  # most iterations for a root; about ten are needed
_DRAWS = 200  # sets of pressures that are drawn for an error


def _integral(function: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> float:
    """Integral of a smooth function by Gauss-Legendre."""
    half = (high - low) / 2
    return float(half * (_WEIGHTS * function(low + half * (_NODES + 1))).sum())


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root between two arguments at which the function has different signs, by false position
    (the Illinois variant)."""
    first, last = low, high
    at_low, at_high = function(low), function(high)  # `high` is the last argument from here on
    for _ in range(_STEPS):
        if at_low == at_high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = min(max(middle, first), last)  # because rounding may leave the interval
        value = function(middle)
        if value == 0 or abs(middle - high) <= 1e-13 * abs(middle):
            return middle
        if (value > 0) != (at_high > 0):
            low, at_low = high, at_high
        else:
            at_low /= 2
        high, at_high = middle, value
    return high


def _real_roots(polynomial: Any, low: float, high: float) -> list[float]:
    """The real roots in an interval, in their order."""
    roots = polynomial.roots()
    return sorted(
        float(each.real) for each in roots[abs(np.imag(roots)) < 1e-9] if low <= each.real <= high
    )


@dataclass(frozen=True, repr=False, eq=False)
class Branch(Record, ABC):
    """The equation of state of a phase of equal hard particles: a fit of measured pressures. This
    is the common base of `FluidBranch` and `CrystalBranch`.

    Args:
        packing_fractions: packing fractions of the pressures, (n,).
        pressures: pressures P*, (n,).
        errors: standard errors of the pressures, (n,).
        dimensions: 2 or 3.
        terms: number of coefficients that are fitted.
        N: number of particles of the simulations, with which the pressures are corrected to
            infinitely many particles (default no correction).

    Raises:
        ValueError: the arrays differ in length, have fewer different packing fractions than terms,
            or hold a number that is not positive; a packing fraction is not less than that of close
            packing; or a number is out of range.
    """

    packing_fractions: np.ndarray
    pressures: np.ndarray
    errors: np.ndarray
    dimensions: int = 3
    terms: int = 3
    N: int | None = None
    _factors: np.ndarray = field(init=False, repr=False)
    _fit: Polynomial = field(init=False, repr=False)

    _NAME: ClassVar[str]

    def __post_init__(self) -> None:
        for name in ("packing_fractions", "pressures", "errors"):
            given = np.asarray(getattr(self, name), dtype=np.float64)
            if given.ndim != 1 or not (np.isfinite(given) & (given > 0)).all():
                raise ParameterError(name, "must be positive numbers, (n,)")
            object.__setattr__(self, name, given)
        if not len(self.packing_fractions) == len(self.pressures) == len(self.errors):
            raise ParameterError("pressures", "must have a value and an error for each density")
        if self.dimensions not in _VIRIAL:
            raise ParameterError("dimensions", f"must be 2 or 3, got {self.dimensions}")
        if not self.packing_fractions.max(initial=0) < (most := _CLOSE_PACKED[self.dimensions]):
            raise ParameterError(
                "packing_fractions", f"must be less than {most:.6g}, that of close packing"
            )
        different = len(np.unique(self.packing_fractions))
        if different < arguments.count("terms", self.terms):
            raise ParameterError(
                "pressures",
                f"must be at least {self.terms} for a fit, got {different} packing fractions",
            )
        if self.N is not None and arguments.count("N", self.N) < 2:
            raise ParameterError("N", f"must be at least 2, got {self.N}")
        factors = self.pressures / self._density(self.packing_fractions)
        if self.N is not None:
            factors = factors + self._correction(factors, self.N)
        object.__setattr__(self, "_factors", factors)
        object.__setattr__(self, "_fit", self._fitted(factors))

    def _density(self, packing_fraction: Any) -> Any:
        """rho d^D."""
        return 2 * self.dimensions * packing_fraction / math.pi

    def _check_range(self, packing_fraction: float, low: float | None = None) -> None:
        """Refuse a packing fraction to which the fit would be extrapolated. Without a lower bound,
        it must be positive."""
        high = self.packing_fractions.max()
        if not 0 < packing_fraction <= high or (low is not None and packing_fraction < low):
            bounds = "positive and at most" if low is None else f"from {low:.6g} to"
            raise ParameterError(
                "packing_fraction",
                f"must be {bounds} {high:.6g}, the range of the {self._NAME}, got "
                f"{packing_fraction:.6g}",
            )

    @abstractmethod
    def _correction(self, factors: np.ndarray, N: int) -> np.ndarray:
        """Difference between Z of infinitely many particles and Z of N particles."""

    @abstractmethod
    def _fitted(self, factors: np.ndarray) -> Polynomial:
        """The fit of compressibility factors."""

    def _least_squares(self, design: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Coefficients of the columns of a matrix, weighted with the errors of the factors."""
        errors = self.errors / self._density(self.packing_fractions)
        return np.linalg.lstsq(design / errors[:, None], values / errors, rcond=None)[0]

    @abstractmethod
    def factor(self, packing_fraction: Any) -> Any:
        """Compressibility factor Z = beta P / rho at packing fractions."""

    @abstractmethod
    def free_energy(self, packing_fraction: float) -> float:
        """F / (N kT) at a packing fraction.

        Raises:
            ValueError: the packing fraction is not in the range of the equation of state.
        """

    def pressure(self, packing_fraction: Any) -> Any:
        """P* at packing fractions."""
        return self._density(packing_fraction) * self.factor(packing_fraction)

    def chemical_potential(self, packing_fraction: float) -> float:
        """mu / kT at a packing fraction."""
        return self.free_energy(packing_fraction) + float(self.factor(packing_fraction))

    @property
    def chi_squared(self) -> float:
        """chi^2 of the fit per degree of freedom; NaN without a degree of freedom."""
        freedom = len(self.pressures) - self.terms
        phi = self.packing_fractions
        deviations = (self.factor(phi) - self._factors) * self._density(phi) / self.errors
        return float((deviations**2).sum()) / freedom if freedom else math.nan

    def at_pressure(self, pressure: float) -> float:
        """The packing fraction at a pressure P*, in the range of the data.

        Raises:
            ValueError: the pressure is not in the range of the data, or the fit decreases there.
        """
        low, high = self.packing_fractions.min(), self.packing_fractions.max()
        if not (np.diff(self.pressure(np.linspace(low, high, 65))) > 0).all():
            raise ValueError(
                f"the fit of the pressures of the {self._NAME} does not increase with density: "
                "fewer terms or smaller errors"
            )
        if not self.pressure(low) <= pressure <= self.pressure(high):
            raise ValueError(
                f"a pressure of {pressure:.6g} is not between {self.pressure(low):.6g} and "
                f"{self.pressure(high):.6g}, the pressures of the {self._NAME}"
            )
        return root(lambda phi: float(self.pressure(phi)) - pressure, low, high)

    def drawn(self: B, random: np.random.Generator) -> B:
        """The fit of other data, which differ from the given ones by their errors."""
        noise = random.normal(size=len(self.errors))
        return replace(self, pressures=self.pressures + self.errors * noise)


def _virial_polynomial(dimensions: int) -> Polynomial:
    """The virial series in x: phi^n = (x / (1 + x))^n has (-1)^(k - n) binomial(k - 1, n - 1) as
    the coefficient of x^k."""
    virial = _VIRIAL[dimensions]
    coefficients = [
        sum((-1) ** (k - n) * math.comb(k - 1, n - 1) * virial[n - 1] for n in range(1, k + 1))
        for k in range(1, len(virial) + 1)
    ]
    return Polynomial([1.0, *coefficients])


@dataclass(frozen=True, repr=False, eq=False)
class FluidBranch(Branch):
    """The equation of state of a fluid, integrated from the ideal gas.

    Z is a polynomial of x = phi / (1 - phi), as that of Kolafa, Labik and Malijevsky (Phys. Chem.
    Chem. Phys. 6, 2335, 2004). The coefficients up to x^5 follow from the virial coefficients up to
    the sixth one; those of the next `terms` powers are fitted. N particles have
    P - (rho^2 / 2 N) P'' / P', with derivatives with respect to rho (Lebowitz and Percus, Phys.
    Rev. 124, 1673, 1961).
    """

    terms: int = 2

    _NAME: ClassVar[str] = "fluid"

    def _correction(self, factors: np.ndarray, N: int) -> np.ndarray:
        fit, phi = self._fitted(factors), self.packing_fractions
        free = 1 - phi
        x = phi / free  # whose derivatives are free^-2 and 2 free^-3
        slope = fit.deriv()(x) / free**2
        bend = fit.deriv(2)(x) / free**4 + 2 * fit.deriv()(x) / free**3
        return phi * (2 * slope + phi * bend) / (fit(x) + phi * slope) / (2 * N)

    def _fitted(self, factors: np.ndarray) -> Polynomial:
        x = self.packing_fractions / (1 - self.packing_fractions)
        exact = _virial_polynomial(self.dimensions)
        design = x[:, None] ** (len(exact.coef) + np.arange(self.terms))
        return Polynomial([*exact.coef, *self._least_squares(design, factors - exact(x))])

    def factor(self, packing_fraction: Any) -> Any:
        phi = np.asarray(packing_fraction)
        return self._fit(phi / (1 - phi))

    def free_energy(self, packing_fraction: float) -> float:
        self._check_range(packing_fraction)
        ideal = math.log(self._density(packing_fraction)) - 1
        excess = Polynomial(self._fit.coef[1:])  # (Z - 1) / x; d phi / phi is d x / (x (1 + x))
        x = packing_fraction / (1 - packing_fraction)
        return ideal + _integral(lambda y: excess(y) / (1 + y), 0.0, x)


@dataclass(frozen=True, repr=False, eq=False)
class CrystalBranch(Branch):
    """The equation of state of a crystal, integrated from a density with a known free energy.

    Z is that of free volume, D / (1 - z) with z = phi / phi_cp, plus a polynomial of z with `terms`
    coefficients. N particles have Z - (Z - 1) / N to first order, because the center of mass moves
    as an ideal gas.

    Args:
        start: packing fraction at which the free energy is known, in the range of the data.
        start_free_energy: F / (N kT) there.
    """

    start: float = field(kw_only=True)
    start_free_energy: Estimate = field(kw_only=True)

    _NAME: ClassVar[str] = "crystal"

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.packing_fractions.min(), self.packing_fractions.max()
        if not low <= arguments.number("start", self.start) <= high:
            raise ParameterError(
                "start", f"must be from {low:.6g} to {high:.6g}, the range of the data"
            )
        known = self.start_free_energy
        if not (isinstance(known, Estimate) and math.isfinite(known.value) and known.error >= 0):
            raise ParameterError("start_free_energy", "must be an Estimate with its error")

    def _correction(self, factors: np.ndarray, N: int) -> np.ndarray:
        return (factors - 1) / (N - 1)

    def _fitted(self, factors: np.ndarray) -> Polynomial:
        z = self._share(self.packing_fractions)
        design = (z[:, None] - z.mean()) ** np.arange(self.terms)
        fit = Polynomial(self._least_squares(design, factors - self.dimensions / (1 - z)))
        return fit(Polynomial([-z.mean(), 1.0]))

    def _share(self, packing_fraction: Any) -> Any:
        """Packing fraction in units of that of close packing."""
        return np.asarray(packing_fraction) / _CLOSE_PACKED[self.dimensions]

    def factor(self, packing_fraction: Any) -> Any:
        z = self._share(packing_fraction)
        return self.dimensions / (1 - z) + self._fit(z)

    def free_energy(self, packing_fraction: float) -> float:
        self._check_range(packing_fraction, self.packing_fractions.min())
        change = _integral(lambda phi: self.factor(phi) / phi, self.start, packing_fraction)
        return float(self.start_free_energy) + change

    def drawn(self, random: np.random.Generator) -> CrystalBranch:
        value, error = self.start_free_energy
        other = Estimate(value + error * float(random.normal()), error)
        return replace(super().drawn(random), start_free_energy=other)


@dataclass(frozen=True)
class Coexistence:
    """Two phases with equal pressure and equal chemical potential.

    Attributes:
        pressure: pressure P*.
        packing_fractions: packing fractions of the less dense and of the denser phase.
        chemical_potential: mu / kT with a thermal wavelength of a diameter; None if it is not
            known, after `maxwell_construction`.
        chi_squared: chi^2 per degree of freedom of the polynomial of `maxwell_construction`; NaN
            without a degree of freedom, and after `coexistence`, whose branches have their own.
    """

    pressure: Estimate
    packing_fractions: tuple[Estimate, Estimate]
    chemical_potential: Estimate | None = None
    chi_squared: float = math.nan


def coexistence(fluid: Branch, crystal: Branch, *, seed: int = 1) -> Coexistence:
    """The pressure at which two phases have the same chemical potential.

    The errors are standard deviations of the results of 200 sets of data, which are drawn with the
    errors of the given ones.

    Args:
        fluid, crystal: equations of state of the phases.
        seed: seed of the random number generator for the errors.

    Raises:
        ValueError: the phases do not coexist at a pressure in the range of both, or have different
            dimensions.
    """
    if fluid.dimensions != crystal.dimensions:
        raise ParameterError("dimensions", "of fluid and crystal must be the same")

    def solve(one: Branch, other: Branch) -> tuple[float, ...]:
        ends = [
            [float(each.pressure(end(each.packing_fractions))) for end in (np.min, np.max)]
            for each in (one, other)
        ]
        low, high = max(each[0] for each in ends), min(each[1] for each in ends)

        def difference(pressure: float) -> float:
            at = [each.chemical_potential(each.at_pressure(pressure)) for each in (one, other)]
            return at[0] - at[1]

        if not low < high or difference(low) * difference(high) > 0:
            raise ValueError(
                "the phases do not have the same chemical potential at a pressure that both "
                f"equations of state contain, from {low:.6g} to {high:.6g}"
            )
        pressure = root(difference, low, high)
        phi = [float(each.at_pressure(pressure)) for each in (one, other)]
        return pressure, *phi, one.chemical_potential(phi[0])

    random = np.random.default_rng(seed)
    return _of_draws(
        solve(fluid, crystal), lambda: solve(fluid.drawn(random), crystal.drawn(random))
    )


def _of_draws(found: Sequence[float], draw: Callable[[], Sequence[float]]) -> Coexistence:
    """The results of the given data, with the standard deviations of the results of others.

    Raises:
        ValueError: the errors of the data are so large that others have no coexistence.
    """
    try:
        errors = np.std([draw() for _ in range(_DRAWS)], axis=0, ddof=1).tolist()
    except ValueError as error:
        raise ValueError(f"the errors of the data are too large: {error}") from None
    pressure, low, high, *others = map(Estimate, found, errors)
    return Coexistence(pressure, (low, high), others[0] if others else None)


def maxwell_construction(
    packing_fractions: Sequence[float] | np.ndarray,
    pressures: Sequence[float] | np.ndarray,
    errors: Sequence[float] | np.ndarray,
    *,
    degree: int = 5,
    seed: int = 1,
) -> Coexistence:
    """Two phases from the loop of the pressure of a finite system, by equal areas.

    At constant volume, the pressure of a finite system with two phases has a loop (Mayer and Wood,
    J. Chem. Phys. 42, 4268, 1965). A polynomial in the volume per particle is fitted to the
    pressures. The pressure of coexistence cuts off equal areas above and below itself, so that both
    phases have the same chemical potential. The errors are those of the pressures; they do not
    contain the choice of the polynomial. Its `chi_squared` should be near 1.

    Args:
        packing_fractions: packing fractions from one phase to the other, (n,).
        pressures, errors: pressures P* and their standard errors, (n,).
        degree: degree of the polynomial, at least 3 and less than the number of different packing
            fractions.
        seed: seed of the random number generator for the errors, as in `coexistence`.

    Raises:
        ValueError: there is no loop, or an argument is out of range.
    """
    phi, values, widths = (
        np.asarray(each, dtype=np.float64) for each in (packing_fractions, pressures, errors)
    )
    if not (phi.ndim == 1 and phi.shape == values.shape == widths.shape):
        raise ParameterError("pressures", "must have a value and an error for each density")
    if not all((np.isfinite(each) & (each > 0)).all() for each in (phi, values, widths)):
        raise ParameterError("packing_fractions, pressures and errors", "must be positive numbers")
    different = len(np.unique(phi))
    if not 3 <= degree < different:
        raise ParameterError("degree", f"must be from 3 to {different - 1}, got {degree}")
    volumes = 1 / phi
    first, last = volumes.min(), volumes.max()

    def solve(given: np.ndarray) -> tuple[float, float, float]:
        fit = Polynomial.fit(volumes, given, degree, w=1 / widths)
        areas = fit.integ()
        turns = _real_roots(fit.deriv(), first, last)
        if len(turns) < 2:
            raise ValueError("the pressures have no loop: more densities or smaller errors")
        # The pressure has a minimum at the smaller volume and a maximum at the larger one.
        low = max(float(fit(turns[0])), float(fit(last)))
        high = min(float(fit(turns[-1])), float(fit(first)))
        margin = 1e-6 * (high - low)

        def ends(pressure: float) -> tuple[float, float]:
            roots = _real_roots(fit - pressure, first, last)
            return roots[0], roots[-1]

        def excess(pressure: float) -> float:
            one, other = ends(pressure)
            return float(areas(other) - areas(one)) - pressure * (other - one)

        low, high = low + margin, high - margin
        if not (low < high and excess(low) > 0 > excess(high)):
            raise ValueError("the pressures have no loop with equal areas in the range of the data")
        pressure = root(excess, low, high)
        dense, dilute = ends(pressure)
        return pressure, 1 / dilute, 1 / dense

    random = np.random.default_rng(seed)
    found = _of_draws(solve(values), lambda: solve(values + widths * random.normal(size=len(phi))))
    deviations = (Polynomial.fit(volumes, values, degree, w=1 / widths)(volumes) - values) / widths
    freedom = len(phi) - degree - 1
    squares = float((deviations**2).sum()) / freedom if freedom else math.nan
    return replace(found, chi_squared=squares)
