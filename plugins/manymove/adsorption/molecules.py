"""Rigid molecules of one or several sites with charges, and shipped ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manymove.adsorption.adsorbates import METHANE
from manymove.adsorption.gas import Gas

MOST_SITES = 8
_NEUTRAL = 1e-9  # e


@dataclass(frozen=True)
class Site:
    """A site of a rigid molecule.

    Attributes:
        label: label of its type, by which a `ForceField` can give other parameters.
        position: position in angstrom.
        epsilon: depth of the Lennard-Jones potential of two such sites in kelvin; 0 for none.
        sigma: Lennard-Jones diameter in angstrom.
        charge: charge in units of the elementary charge.
    """

    label: str
    position: tuple[float, float, float]
    epsilon: float = 0.0
    sigma: float = 1.0
    charge: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.label, str):
            raise TypeError(f"the label of a site must be a string, got {self.label!r}")
        position = tuple(float(x) for x in self.position)
        if len(position) != 3 or not all(map(math.isfinite, position)):
            raise ValueError(f"site {self.label}: position must be three numbers, got {position}")
        object.__setattr__(self, "position", position)
        if not (0 <= self.epsilon < math.inf and 0 < self.sigma < math.inf):
            raise ValueError(
                f"site {self.label}: epsilon must be at least 0 and sigma positive, got "
                f"{self.epsilon} K and {self.sigma} angstrom"
            )
        if not math.isfinite(self.charge):
            raise ValueError(f"site {self.label}: charge must be finite, got {self.charge}")


@dataclass(frozen=True)
class Molecule(Gas):
    """A species of rigid molecules.

    The center of a molecule is the origin of the positions of its sites. It is the point that
    displacements move, about which rotations turn, and that profiles count.

    Attributes:
        name: name of the molecule.
        sites: its sites, one to eight.
        critical_temperature, critical_pressure, acentric_factor, molar_mass: as in `Adsorbate`.

    Raises:
        ValueError: there are no or too many sites, the molecule has a net charge, or a critical
            constant is out of range.
        TypeError: the name is not a string.
    """

    name: str
    sites: Sequence[Site]
    critical_temperature: float | None = None
    critical_pressure: float | None = None
    acentric_factor: float | None = None
    molar_mass: float | None = None

    def __post_init__(self) -> None:
        self._check_gas()
        object.__setattr__(self, "sites", tuple(self.sites))
        if not 1 <= len(self.sites) <= MOST_SITES:
            raise ValueError(
                f"{self.name}: a molecule has from 1 to {MOST_SITES} sites, got {len(self.sites)}"
            )
        net = math.fsum(site.charge for site in self.sites)
        if abs(net) > _NEUTRAL:
            raise ValueError(f"{self.name} has a net charge of {net:g} e; it must be neutral")

    @property
    def positions(self) -> np.ndarray:
        """Positions of the sites in angstrom, float64 (sites, 3), without rotation."""
        return np.array([site.position for site in self.sites])


def linear(*sites: tuple[str, float, float, float, float]) -> tuple[Site, ...]:
    """Sites (label, z, epsilon, sigma, charge) of a linear molecule along z."""
    return tuple(Site(label, (0.0, 0.0, z), eps, sigma, q) for label, z, eps, sigma, q in sites)


# J. J. Potoff, J. I. Siepmann, AIChE J. 47, 1676 (2001).
CO2 = Molecule(
    "CO2",
    linear(
        ("O_co2", 1.16, 79.0, 3.05, -0.35),
        ("C_co2", 0.0, 27.0, 2.80, 0.70),
        ("O_co2", -1.16, 79.0, 3.05, -0.35),
    ),
    304.1282, 73.773, 0.22394, 44.0098,
)  # fmt: skip
# A. Garcia-Sanchez et al., J. Phys. Chem. C 113, 8814 (2009), for the force field GARCIA_SANCHEZ.
CO2_GARCIA_SANCHEZ = Molecule(
    "CO2-Garcia-Sanchez",
    linear(
        ("O_co2_gs", 1.149, 85.671, 3.017, -0.3256),
        ("C_co2_gs", 0.0, 29.933, 2.745, 0.6512),
        ("O_co2_gs", -1.149, 85.671, 3.017, -0.3256),
    ),
    CO2.critical_temperature, CO2.critical_pressure, CO2.acentric_factor, CO2.molar_mass,
)  # fmt: skip
# TraPPE, as CO2.
N2 = Molecule(
    "N2",
    linear(
        ("N_n2", 0.55, 36.0, 3.31, -0.482),
        ("N_com", 0.0, 0.0, 1.0, 0.964),
        ("N_n2", -0.55, 36.0, 3.31, -0.482),
    ),
    126.192, 33.958, 0.0372, 28.01348,
)  # fmt: skip
# M. G. Martin, J. I. Siepmann, J. Phys. Chem. B 102, 2569 (1998).
CH4 = Molecule(
    "CH4",
    linear(("CH4_sp3", 0.0, 148.0, 3.73, 0.0)),
    METHANE.critical_temperature, METHANE.critical_pressure, METHANE.acentric_factor,
    METHANE.molar_mass,
)  # fmt: skip
ETHANE = Molecule(
    "C2H6",
    linear(("CH3_sp3", 0.77, 98.0, 3.75, 0.0), ("CH3_sp3", -0.77, 98.0, 3.75, 0.0)),
    305.322, 48.722, 0.0995, 30.06904,
)  # fmt: skip
# SPC/E: H. J. C. Berendsen, J. R. Grigera, T. P. Straatsma, J. Phys. Chem. 91, 6269 (1987), in the
# units of NIST's reference configurations.
_HALF_ANGLE = math.radians(109.47) / 2
_H = (math.sin(_HALF_ANGLE), math.cos(_HALF_ANGLE))
WATER = Molecule(
    "H2O",
    (
        Site("O_spce", (0.0, 0.0, 0.0), 78.19743111, 3.16555789, -0.8476),
        Site("H_spce", (_H[0], 0.0, _H[1]), charge=0.4238),
        Site("H_spce", (-_H[0], 0.0, _H[1]), charge=0.4238),
    ),
    647.096, 220.64, 0.3443, 18.015268,
)  # fmt: skip
# O. Talu, A. L. Myers, AIChE J. 47, 1160 (2001): the helium that measures the volume of pores.
HELIUM = Molecule("He", linear(("He", 0.0, 10.9, 2.64, 0.0)), 5.1953, 2.2832, -0.3836, 4.002602)
SHIPPED_MOLECULES = {m.name: m for m in (CO2, N2, CH4, ETHANE, WATER, HELIUM, CO2_GARCIA_SANCHEZ)}
