"""Adsorbates: molecules of a single Lennard-Jones site, and their gas phase."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

BOLTZMANN = 1.380649e-23  # J / K
AVOGADRO = 6.02214076e23  # 1 / mol
# e^2 / (4 pi epsilon_0 k_B angstrom) in kelvin, from the constants of CODATA 2018.
COULOMB = 1.602176634e-19**2 / (4 * math.pi * 8.8541878128e-12 * BOLTZMANN * 1e-10)
GAS_CONSTANT = BOLTZMANN * AVOGADRO  # J / (mol K)


class Gas:
    """The gas phase of a species: its critical constants and its fugacity."""

    name: str
    critical_temperature: float | None
    critical_pressure: float | None
    acentric_factor: float | None

    def _check_gas(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"the name of an adsorbate must be a string, got {self.name!r}")
        for name in ("critical_temperature", "critical_pressure"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{self.name}: {name} must be positive and finite, got {value}")
        if self.acentric_factor is not None and not math.isfinite(self.acentric_factor):
            raise ValueError(f"{self.name}: acentric_factor must be finite")

    def fugacity_coefficient(self, pressure: float, temperature: float) -> float:
        """Fugacity coefficient of the pure gas by the Peng-Robinson equation of state.

        D.-Y. Peng, D. B. Robinson, Ind. Eng. Chem. Fundam. 15, 59 (1976).

        Args:
            pressure: pressure in bar.
            temperature: temperature in kelvin.

        Raises:
            ValueError: the critical constants are missing, or a number is out of range.
        """
        if not (0 < pressure < 1e6 and 0 < temperature < math.inf):
            raise ValueError(
                f"{self.name}: no fugacity at {pressure:g} bar and {temperature:g} K: the equation "
                "of state needs positive numbers, and less than 10^6 bar"
            )
        tc, pc, omega = self.critical_temperature, self.critical_pressure, self.acentric_factor
        if tc is None or pc is None or omega is None:
            raise ValueError(f"{self.name} has no critical constants: give the fugacity instead")
        kappa = 0.37464 + 1.54226 * omega - 0.26992 * omega**2
        alpha = (1 + kappa * (1 - math.sqrt(temperature / tc))) ** 2
        a = 0.45724 * alpha * (pressure / pc) * (tc / temperature) ** 2
        b = 0.07780 * (pressure / pc) * (tc / temperature)
        roots = np.roots([1, b - 1, a - 3 * b**2 - 2 * b, b**3 + b**2 - a * b])
        factors = [
            _log_coefficient(float(z.real), a, b)
            for z in roots
            if abs(z.imag) < 1e-9 and z.real > b
        ]
        return math.exp(min(factors))  # the stable one of several phases


@dataclass(frozen=True)
class Adsorbate(Gas):
    """A species of molecules with a single Lennard-Jones site.

    Attributes:
        name: name of the molecule.
        epsilon: depth of the potential well between two molecules in kelvin.
        sigma: Lennard-Jones diameter of two molecules in angstrom.
        framework: (epsilon in kelvin, sigma in angstrom) for each element of the framework, or None
            for no interaction.
        critical_temperature: critical temperature in kelvin. This and the next two constants are
            needed for fugacities only, that is for isotherms.
        critical_pressure: critical pressure in bar.
        acentric_factor: acentric factor without unit.

    Raises:
        ValueError: epsilon is negative, or sigma or a critical constant is not positive.
        TypeError: the name is not a string, or another value is not a number.
    """

    name: str
    epsilon: float
    sigma: float
    framework: Mapping[str, tuple[float, float] | None]
    critical_temperature: float | None = None
    critical_pressure: float | None = None
    acentric_factor: float | None = None

    def __post_init__(self) -> None:
        self._check_gas()
        laws = [(self.epsilon, self.sigma), *(law for law in self.framework.values() if law)]
        for epsilon, sigma in laws:
            if not (0 <= epsilon < math.inf and 0 < sigma < math.inf):
                raise ValueError(
                    f"{self.name}: epsilon must be at least 0 and sigma positive, got {epsilon} K "
                    f"and {sigma} angstrom"
                )

    def with_element(self, element: str) -> tuple[float, float]:
        """Parameters (epsilon, sigma) with an element of the framework; epsilon is 0 for no
        interaction.

        Raises:
            ValueError: the element is not in `framework`.
        """
        if element not in self.framework:
            raise ValueError(
                f"{self.name} has no parameters for {element}: give (epsilon, sigma), or None for "
                "no interaction"
            )
        return self.framework[element] or (0.0, 1.0)


def _log_coefficient(z: float, a: float, b: float) -> float:
    root = math.sqrt(2)
    ratio = (z + (1 + root) * b) / (z + (1 - root) * b)
    return z - 1 - math.log(z - b) - a / (2 * root * b) * math.log(ratio)


def mixed_laws(
    adsorbates: Sequence[Adsorbate], cross: Mapping[tuple[str, str], tuple[float, float]]
) -> list[tuple[float, float]]:
    """Parameters (epsilon, sigma) of each pair of species, row by row.

    Pairs that `cross` does not name follow the Lorentz-Berthelot rules.

    Raises:
        ValueError: `cross` names an unknown species, or has a pair twice with different numbers.
    """
    names = [b.name for b in adsorbates]
    for (a, b), law in cross.items():
        for name in (a, b):
            if name not in names:
                raise ValueError(f'cross has "{name}", but the adsorbates are {", ".join(names)}')
        if tuple(cross.get((b, a), law)) != tuple(law):
            raise ValueError(f"cross has two laws for {a} and {b}")
    laws = []
    for a in adsorbates:
        for b in adsorbates:
            given = cross.get((a.name, b.name)) or cross.get((b.name, a.name))
            mean = (math.sqrt(a.epsilon * b.epsilon), 0.5 * (a.sigma + b.sigma))
            laws.append(tuple(given or mean))
    return laws


# Parameters of J. Kim et al., J. Chem. Theory Comput. 7, 3208 (2011), section 2.1.
METHANE = Adsorbate(
    name="CH4",
    epsilon=148.0,
    sigma=3.73,
    framework={"O": (115.0, 3.47), "Si": None},
    critical_temperature=190.564,
    critical_pressure=45.992,
    acentric_factor=0.01142,
)
