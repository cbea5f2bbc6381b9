# SPDX-License-Identifier: BSD-3-Clause
"""Loadings of open systems in several units, excess loadings and selectivities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from manymove import arguments
from manymove.adsorption.estimates import ratio
from manymove.adsorption.gas import AVOGADRO, GAS_CONSTANT, GasPhase, fractions_of
from manymove.analysis.notation import Estimate
from manymove.errors import ParameterError

# Volume of a mole of an ideal gas at 273.15 K and 101325 Pa in cm^3.
MOLAR_VOLUME = GAS_CONSTANT * 273.15 / 101325 * 1e6
UNITS = {  # names in summary.json and in isotherm.csv
    "molecules": "molecules",
    "molecules/uc": "molecules_per_uc",
    "mol/kg": "mol_per_kg",
    "mg/g": "mg_per_g",
    "cm3(STP)/g": "cm3_STP_per_g",
    "cm3(STP)/cm3": "cm3_STP_per_cm3",
}
_CUBIC_CENTIMETER = 1e-24  # of a cubic angstrom


class Loadings:
    """The loadings of `manymove.Adsorption`; a base class that is not for separate use."""

    _parameters: dict[str, Any]
    _about: dict[str, Any]
    _volume: float
    loading: list[Estimate]
    _loadings_of_systems: np.ndarray

    @property
    def loading_mol_per_kg(self) -> list[Estimate]:
        """Mean loading of each species in mol per kg of framework.

        Raises:
            ValueError: the box is empty.
        """
        return self.loading_in("mol/kg")

    def loading_in(self, unit: str) -> list[Estimate]:
        """Mean absolute loading of each species in a unit.

        Args:
            unit: "molecules" (of a system), "molecules/uc" (of a unit cell of `framework`),
                "mol/kg", "mg/g", "cm3(STP)/g" or "cm3(STP)/cm3", per mass or volume of framework;
                STP is 273.15 K and 101325 Pa.

        Raises:
            ValueError: there is no such unit, the box is empty, or a molar mass is missing.
        """
        return [n * factor for n, factor in zip(self.loading, self._factors(unit), strict=True)]

    def excess_loading_in(
        self, unit: str, void_fraction: Estimate | float, gas: GasPhase
    ) -> list[Estimate]:
        """Mean excess loading of each species, without the gas that would fill the pores.

        It is n - rho x V phi with the absolute loading n, the density rho of the gas, the mole
        fraction x of the species, the volume V of the framework and the helium void fraction phi.

        Args:
            unit: as for `loading_in`.
            void_fraction: share of the volume that the gas fills (see `helium_void_fraction`). That
                of helium, <exp(-U / T)>, may exceed 1 where helium is attracted.
            gas: the gas with which the systems exchange molecules.

        Raises:
            ValueError: an error of `loading_in`, the void fraction is negative or not finite, or
                the gas has another temperature or number of species.
        """
        # Helium that is attracted has a Boltzmann factor, and a void fraction, above 1.
        if not 0 <= float(void_fraction) < math.inf:
            raise ParameterError(
                "void_fraction", f"must be at least 0 and finite, got {float(void_fraction):g}"
            )
        if len(gas.densities) != len(self.loading):
            raise ValueError(f"the gas has {len(gas.densities)} species, not {len(self.loading)}")
        if gas.temperature != self._parameters["temperature"]:
            raise ValueError(
                f"the gas has a temperature of {gas.temperature:g} K, not "
                f"{self._parameters['temperature']:g} K"
            )
        full = [rho * AVOGADRO * self._volume * 1e-30 for rho in gas.densities]  # phi = 1
        return [
            (n - void_fraction * most) * factor
            for n, most, factor in zip(self.loading, full, self._factors(unit), strict=True)
        ]

    def selectivity(
        self, first: int = 0, second: int = 1, mole_fractions: Sequence[float] | None = None
    ) -> Estimate:
        """Adsorption selectivity (n_1 / n_2) / (x_1 / x_2) of two species of a mixture.

        Args:
            first, second: indices of the adsorbates.
            mole_fractions: mole fractions x in the gas (default equal).

        Returns:
            the selectivity with the standard error over the systems; NaN if the second species was
            not adsorbed.

        Raises:
            ValueError: there are no such species, or the mole fractions are wrong.
        """
        means = self._loadings_of_systems
        for index in (first, second):
            arguments.index("species", index, len(means))
        x = fractions_of(mole_fractions, len(means))
        a, b = means[first], means[second]
        return ratio(a, b) * (x[second] / x[first])

    def _factors(self, unit: str) -> list[float]:
        """Numbers by which molecules in a system are multiplied, for each species."""
        arguments.one_of("unit", unit, tuple(UNITS))
        kinds = len(self._parameters["species"])
        if unit == "molecules":
            return [1.0] * kinds
        mass = self._about["mass"]
        if not mass:
            raise ValueError("an empty box has no loading per mass of the framework")
        if unit == "molecules/uc":
            return [1 / math.prod(self._parameters["cells"])] * kinds
        if unit == "mol/kg":
            return [1000 / mass] * kinds
        if unit == "mg/g":
            masses = self._about.get("molar_masses") or [None] * kinds
            names = self._about["adsorbates"]
            for name, each in zip(names, masses, strict=True):
                if each is None:
                    raise ValueError(f"{name} has no molar_mass, which loadings in mg/g need")
            return [1000 * each / mass for each in masses]
        if unit == "cm3(STP)/g":
            return [MOLAR_VOLUME / mass] * kinds
        return [MOLAR_VOLUME / (AVOGADRO * self._volume * _CUBIC_CENTIMETER)] * kinds


def in_all_units(
    averages: Loadings, void_fraction: Estimate | float | None = None, gas: GasPhase | None = None
) -> dict[str, list[float]]:
    """The loadings of a summary: the entries `loading_<unit>` and `loading_error_<unit>`, and with
    a void fraction and the gas those of `excess_loading` as well. Units that need a molar mass are
    left out without it, and those of a framework in an empty box."""
    found: dict[str, list[float]] = {}
    for unit, name in UNITS.items():
        if unit != "molecules" and not averages._about["mass"]:
            continue
        try:
            kinds = {"loading": averages.loading_in(unit)}
            if void_fraction is not None and gas is not None:
                kinds["excess_loading"] = averages.excess_loading_in(unit, void_fraction, gas)
        except ValueError:
            if unit != "mg/g":
                raise
            continue
        for kind, values in kinds.items():
            found[f"{kind}_{name}"] = [n.value for n in values]
            found[f"{kind}_error_{name}"] = [n.error for n in values]
    return found
