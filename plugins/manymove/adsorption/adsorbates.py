"""Adsorbates: molecules of a single Lennard-Jones site."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from manymove.adsorption.gas import BOLTZMANN, Gas

# e^2 / (4 pi epsilon_0 k_B angstrom) in kelvin, from the constants of CODATA 2018.
COULOMB = 1.602176634e-19**2 / (4 * math.pi * 8.8541878128e-12 * BOLTZMANN * 1e-10)


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
        molar_mass: molar mass in g/mol, which is needed for loadings in mg/g only.

    Raises:
        ValueError: epsilon is negative, or sigma, a critical constant or the molar mass is not
            positive.
        TypeError: the name is not a string, or another value is not a number.
    """

    name: str
    epsilon: float
    sigma: float
    framework: Mapping[str, tuple[float, float] | None]
    critical_temperature: float | None = None
    critical_pressure: float | None = None
    acentric_factor: float | None = None
    molar_mass: float | None = None

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
    for one in adsorbates:
        for other in adsorbates:
            given = cross.get((one.name, other.name)) or cross.get((other.name, one.name))
            mean = (math.sqrt(one.epsilon * other.epsilon), 0.5 * (one.sigma + other.sigma))
            epsilon, sigma = given or mean
            laws.append((epsilon, sigma))
    return laws


# Critical constants here and in molecules.py: those of the reference equations of state that NIST's
# Chemistry WebBook (SRD 69) uses: CH4 of U. Setzmann, W. Wagner, J. Phys. Chem. Ref. Data 20, 1061
# (1991); CO2 of R. Span, W. Wagner, ibid. 25, 1509 (1996); N2 of R. Span et al., ibid. 29, 1361
# (2000); C2H6 of D. Bücker, W. Wagner, ibid. 35, 205 (2006); H2O of W. Wagner, A. Pruß, ibid. 31,
# 387 (2002); He of D. O. Ortiz Vega et al., NISTIR 8474 (2023).
# Parameters of J. Kim et al., J. Chem. Theory Comput. 7, 3208 (2011), section 2.1.
METHANE = Adsorbate(
    name="CH4",
    epsilon=148.0,
    sigma=3.73,
    framework={"O": (115.0, 3.47), "Si": None},
    critical_temperature=190.564,
    critical_pressure=45.992,
    acentric_factor=0.01142,
    molar_mass=16.0428,
)
