# SPDX-License-Identifier: BSD-3-Clause
"""Gas phases: fugacities and densities by the equation of state of Peng and Robinson."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from manymove.errors import ParameterError

BOLTZMANN = 1.380649e-23  # J / K
AVOGADRO = 6.02214076e23  # 1 / mol
GAS_CONSTANT = BOLTZMANN * AVOGADRO  # J / (mol K)
_PASCAL = 1e5  # pascals in a bar
_ROOT = math.sqrt(2)
_HIGHEST = 10_000  # bar; far above it fugacities would have no meaning
_LOWEST = 1e-100  # bar; far below it, numbers in the equation of state are rounded to zero
_CRITICAL = 0.3074  # compressibility factor at the critical point
_ONE = 1e-6  # largest deviation of the sum of mole fractions from one


class Gas:
    """The gas phase of a species: its critical constants, its molar mass and its fugacity."""

    name: str
    critical_temperature: float | None
    critical_pressure: float | None
    acentric_factor: float | None
    molar_mass: float | None

    def _check_gas(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"the name of an adsorbate must be a string, got {self.name!r}")
        for name in ("critical_temperature", "critical_pressure", "molar_mass"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{self.name}: {name} must be positive and finite, got {value}")
        if self.critical_pressure is not None and self.critical_pressure > _HIGHEST:
            raise ValueError(
                f"{self.name}: critical_pressure is {self.critical_pressure:g} bar, which no "
                "species has; it must be in bar (1 bar is 10^5 Pa)"
            )
        if self.acentric_factor is not None and not math.isfinite(self.acentric_factor):
            raise ValueError(
                f"{self.name}: acentric_factor must be finite, got {self.acentric_factor}"
            )

    def fugacity_coefficient(self, pressure: float, temperature: float) -> float:
        """Fugacity coefficient of the pure gas by the Peng-Robinson equation of state.

        D.-Y. Peng, D. B. Robinson, Ind. Eng. Chem. Fundam. 15, 59 (1976).

        Args:
            pressure: pressure in bar.
            temperature: temperature in kelvin.

        Raises:
            ValueError: the critical constants are missing, or a number is out of range.
        """
        return GasPhase([self], pressure, temperature).fugacity_coefficients[0]


class GasPhase:
    """A gas or a mixture of gases at a pressure, by the Peng-Robinson equation of state.

    D.-Y. Peng, D. B. Robinson, Ind. Eng. Chem. Fundam. 15, 59 (1976). If there are several
    phases, the one with the lowest Gibbs energy is used; a mixture is not divided into phases.

    Example::

        gas = GasPhase([CO2, N2], 1.0, 298.15, [0.15, 0.85])
        gas.fugacities  # bar

    Args:
        gases: species with critical constants, each an `Adsorbate` or a `Molecule`.
        pressure: total pressure in bar.
        temperature: temperature in kelvin.
        mole_fractions: mole fraction of each species in the gas, whose sum is one (default
            equal mole fractions).
        interactions: {(name, name): k_ij}, binary interaction parameters without unit (default
            zero).

    Attributes:
        fugacity_coefficients: fugacity coefficient of each species.
        fugacities: fugacity of each species in bar.
        compressibility: compressibility factor p V / (n R T) of the mixture.
        density: density of the mixture in mol/m^3.
        densities: density of each species in mol/m^3.
        is_liquid: whether the phase is below the critical temperature and above the critical
            density of the mixture, taken as means of those of the species.

    Raises:
        ValueError: critical constants are missing, or a number is out of range.
    """

    def __init__(
        self,
        gases: Sequence[Gas],
        pressure: float,
        temperature: float,
        mole_fractions: Sequence[float] | None = None,
        interactions: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        if (
            not isinstance(gases, Sequence)
            or not gases
            or not all(isinstance(g, Gas) for g in gases)
        ):
            raise TypeError(f"gases must be a list of Adsorbate, Molecule or Chain, got {gases!r}")
        if not (_LOWEST <= pressure <= _HIGHEST and 0 < temperature < math.inf):
            names = ", ".join(gas.name for gas in gases)
            raise ValueError(
                f"{names}: no fugacity at {pressure:g} bar and {temperature:g} K: the equation "
                f"of state needs a positive temperature and a pressure from {_LOWEST:g} to "
                f"{_HIGHEST:g} bar (1 bar is 10^5 Pa)"
            )
        x = fractions_of(mole_fractions, len(gases))
        a, b = np.array([_attraction_and_volume(gas, pressure, temperature) for gas in gases]).T
        pairs = np.sqrt(a[:, None] * a) * (1 - _interactions(gases, interactions or {}))
        weighted = pairs @ x
        mixed, volume = float(x @ weighted), float(x @ b)
        z, logarithms = _stable(mixed, volume, 2 * weighted, b)
        self.pressure, self.temperature = float(pressure), float(temperature)
        self.mole_fractions = [float(part) for part in x]
        self.compressibility = z
        self.fugacity_coefficients = [math.exp(value) for value in logarithms]
        self.fugacities = [
            part * coefficient * pressure
            for part, coefficient in zip(x.tolist(), self.fugacity_coefficients, strict=True)
        ]
        self.density = pressure * _PASCAL / (z * GAS_CONSTANT * temperature)
        self.densities = [part * self.density for part in self.mole_fractions]
        critical = np.array([gas.critical_temperature for gas in gases], float)
        volumes = _CRITICAL * GAS_CONSTANT * critical
        volumes /= np.array([gas.critical_pressure for gas in gases], float) * _PASCAL
        self.is_liquid = bool(temperature < x @ critical and self.density * (x @ volumes) > 1)


def fractions_of(given: Sequence[float] | None, count: int) -> np.ndarray:
    """Mole fractions of species, float64 (count,); equal by default.

    Raises:
        ValueError: their number or their sum is wrong, or one is not positive.
    """
    if given is None:
        return np.full(count, 1 / count)
    x = np.array([float(part) for part in given])
    if len(x) != count:
        raise ParameterError(
            "mole_fractions", f"needs one number for each of {count} species, got {len(x)}"
        )
    if not (x > 0).all() or abs(x.sum() - 1) > _ONE:
        raise ParameterError(
            "mole_fractions", f"must be positive with the sum 1, got {list(given)}"
        )
    return x


def _attraction_and_volume(gas: Gas, pressure: float, temperature: float) -> tuple[float, float]:
    """The dimensionless parameters a p / (R T)^2 and b p / (R T) of a species."""
    tc, pc, omega = gas.critical_temperature, gas.critical_pressure, gas.acentric_factor
    if tc is None or pc is None or omega is None:
        raise ValueError(f"{gas.name} has no critical constants: give the fugacity instead")
    kappa = 0.37464 + 1.54226 * omega - 0.26992 * omega**2
    alpha = (1 + kappa * (1 - math.sqrt(temperature / tc))) ** 2
    a = 0.45724 * alpha * (pressure / pc) * (tc / temperature) ** 2
    return a, 0.07780 * (pressure / pc) * (tc / temperature)


def _interactions(gases: Sequence[Gas], given: Mapping[tuple[str, str], float]) -> np.ndarray:
    names = [gas.name for gas in gases]
    k = np.zeros((len(names), len(names)))
    for (first, second), value in given.items():
        for name in (first, second):
            if name not in names:
                raise ValueError(f'interactions has "{name}", but the gases are {names}')
        if first == second or not math.isfinite(value):
            raise ValueError(f"interactions: {value} is no parameter of {first} and {second}")
        i, j = names.index(first), names.index(second)
        k[i, j] = k[j, i] = value
    return k


def _stable(
    a: float, b: float, twice: np.ndarray, volumes: np.ndarray
) -> tuple[float, list[float]]:
    """The compressibility factor with the lowest Gibbs energy, and the logarithms of the fugacity
    coefficients.

    Args:
        a, b: parameters of the mixture.
        twice: 2 sum_j x_j a_ij of each species.
        volumes: parameter b of each species.
    """
    roots = np.roots([1, b - 1, a - 3 * b**2 - 2 * b, b**3 + b**2 - a * b])
    factors = [float(z.real) for z in roots if abs(z.imag) < 1e-9 and z.real > b]

    def logarithms(z: float) -> list[float]:
        ratio = (z + (1 + _ROOT) * b) / (z + (1 - _ROOT) * b)
        return [
            own / b * (z - 1)
            - math.log(z - b)
            - a / (2 * _ROOT * b) * (pull / a - own / b) * math.log(ratio)
            for own, pull in zip(volumes.tolist(), twice.tolist(), strict=True)
        ]

    def gibbs(z: float) -> float:
        ratio = (z + (1 + _ROOT) * b) / (z + (1 - _ROOT) * b)
        return z - 1 - math.log(z - b) - a / (2 * _ROOT * b) * math.log(ratio)

    z = min(factors, key=gibbs)
    return z, logarithms(z)
