# SPDX-License-Identifier: BSD-3-Clause
"""Flexible linear chains of united atoms, such as n-alkanes, and shipped ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from numbers import Real
from typing import Any, cast

from manymove.adsorption.gas import Gas
from manymove.adsorption.molecules import MOST_SITES, Site

REGROWTH = 0.2  # default share of partial regrowths
SHIPPED_CHAINS = ("ethane", "propane", "n-butane", "n-pentane", "n-hexane")
# M. G. Martin, J. I. Siepmann, J. Phys. Chem. B 102, 2569 (1998).
_BOND = 1.54
_BEND = (62500.0, 114.0)
_TORSION = (0.0, 355.03, -68.19, 791.32)


@dataclass(frozen=True)
class Bead:
    """A united atom of a chain.

    Attributes:
        label: label of its type, by which a `ForceField` can give other parameters.
        epsilon: depth of the Lennard-Jones potential of two such beads in kelvin.
        sigma: Lennard-Jones diameter in angstrom.
    """

    label: str
    epsilon: float
    sigma: float

    def __post_init__(self) -> None:
        Site(self.label, (0.0, 0.0, 0.0), self.epsilon, self.sigma)  # has the checks


@dataclass(frozen=True)
class Chain(Gas):
    """A species of flexible molecules: an unbranched chain of united atoms without charges.

    Bonds have a fixed length, as in TraPPE-UA (M. G. Martin, J. I. Siepmann, J. Phys. Chem. B 102,
    2569 (1998)), whose parameters for n-alkanes are the defaults. The energy of a bend is
    k / 2 (theta - theta_0)^2. The energy of a torsion is c_0 + c_1 (1 + cos phi) + c_2 (1 - cos 2
    phi) + c_3 (1 + cos 3 phi), where phi is 180 degrees in the trans state. Beads of a chain that
    are four or more bonds apart interact like beads of different molecules.

    Attributes:
        name: name of the molecule.
        beads: the united atoms from one end to the other, one to eight.
        bonds: length of the bonds in angstrom; a number, or a sequence with one for each bond.
        bends: (k in kelvin / rad^2, theta_0 in degrees) of the bends, or a sequence with such a
            pair for each inner bead.
        torsions: (c_0, c_1, c_2, c_3) of the torsions in kelvin, or a sequence of such coefficients
            for each inner bond.
        critical_temperature, critical_pressure, acentric_factor, molar_mass: as in `Adsorbate`.

    Raises:
        ValueError: there are no or too many beads, the numbers of bonds, bends or torsions do not
            fit the number of beads, a number is out of range, or a bond is not a fixed length.
        TypeError: the name is not a string.
    """

    name: str
    beads: Sequence[Bead]
    bonds: float | Sequence[float] = _BOND
    bends: Sequence[Any] = _BEND
    torsions: Sequence[Any] = _TORSION
    critical_temperature: float | None = None
    critical_pressure: float | None = None
    acentric_factor: float | None = None
    molar_mass: float | None = None

    def __post_init__(self) -> None:
        self._check_gas()
        object.__setattr__(self, "beads", tuple(self.beads))
        n = len(self.beads)
        if not 1 <= n <= MOST_SITES:
            raise ValueError(f"{self.name}: a chain has from 1 to {MOST_SITES} beads, got {n}")
        for less, (name, width) in enumerate((("bonds", 1), ("bends", 2), ("torsions", 4)), 1):
            object.__setattr__(self, name, self._each(name, width, max(0, n - less)))
        for length in cast("Sequence[float]", self.bonds):
            if not 0 < length < math.inf:
                raise ValueError(f"{self.name}: bonds must be positive and finite, got {length}")
        for k, angle in self.bends:
            if not (0 <= k < math.inf and 0 < angle <= 180):
                raise ValueError(
                    f"{self.name}: bends need a stiffness of at least 0 K / rad^2 and an angle "
                    f"above 0, at most 180 degrees, got {k} and {angle}"
                )

    def _each(self, name: str, width: int, count: int) -> tuple[Any, ...]:
        """The values of all bonds, bends or torsions; `width` numbers each."""
        given = getattr(self, name)

        def row(value: Any) -> Any:
            numbers = list(value) if isinstance(value, Sequence) and width > 1 else [value]
            good = len(numbers) == width and all(
                isinstance(x, Real) and not isinstance(x, bool) and math.isfinite(x)
                for x in numbers
            )
            if not good:
                hint = "; harmonic bonds are not supported" if name == "bonds" else ""
                form = "a number" if width == 1 else f"{width} numbers"
                raise ValueError(f"{self.name}: {name} must be {form} each, got {value!r}{hint}")
            found = tuple(float(x) for x in numbers)
            return found[0] if width == 1 else found

        several = isinstance(given, Iterable) and not isinstance(given, str)
        if not several or (width > 1 and any(isinstance(x, Real) for x in given)):
            one = row(given)
            return count * (one,)
        rows = tuple(row(value) for value in given)
        if len(rows) != count:
            raise ValueError(
                f"{self.name}: a chain of {len(self.beads)} beads has {count} {name}, got "
                f"{len(rows)}"
            )
        return rows

    @property
    def sites(self) -> tuple[Site, ...]:
        """The beads as sites at their positions in the all-trans conformation, in a plane, with the
        middle bead, which is the center of the molecule, at the origin."""
        places, direction = [(0.0, 0.0)], 0.0
        for k, length in enumerate(cast("Sequence[float]", self.bonds)):
            if k:
                turn = math.pi - math.radians(self.bends[k - 1][1])
                direction += turn if k % 2 else -turn
            x, z = places[-1]
            places.append((x + length * math.sin(direction), z + length * math.cos(direction)))
        middle = places[len(places) // 2]
        return tuple(
            Site(b.label, (x - middle[0], 0.0, z - middle[1]), b.epsilon, b.sigma)
            for b, (x, z) in zip(self.beads, places, strict=True)
        )

    @property
    def laws(self) -> dict[str, list[Any]]:
        """Bonds, bends (angles in radians) and torsions for the engine."""
        return {
            "bonds": list(cast("Sequence[float]", self.bonds)),
            "bends": [(k, math.radians(angle)) for k, angle in self.bends],
            "torsions": [list(torsion) for torsion in self.torsions],
        }


# Laws of a species with a single site in a mixture with chains.
NO_LAWS: dict[str, list[Any]] = {"bonds": [], "bends": [], "torsions": []}


def chain_of(entry: dict[str, Any], name: str) -> Chain:
    """A chain from the contents of a JSON file: the attributes of `Chain`, and those of `Bead` for
    each of its `beads`.

    Raises:
        ValueError, TypeError: an error of `Chain`, or an attribute is unknown.
    """
    known = {f.name for f in fields(Chain)}
    for key in entry:
        if key not in known:
            raise ValueError(f'unknown "{key}"')
    beads = []
    if not isinstance(entry["beads"], Sequence) or isinstance(entry["beads"], str):
        raise ValueError(f'"beads" must be a list of beads, got {entry["beads"]!r}')
    for one in entry["beads"]:
        if not isinstance(one, dict) or set(one) != {"label", "epsilon", "sigma"}:
            raise ValueError(f'the bead {one!r} needs "label", "epsilon" and "sigma"')
        beads.append(Bead(**one))
    return Chain(**{"name": name, **entry, "beads": beads})


def shipped_chain(name: str) -> Chain:
    """One of the chains of the package, `SHIPPED_CHAINS`, with the parameters of TraPPE-UA."""
    text = resources.files("manymove").joinpath("data", f"{name}.json").read_text()
    return chain_of(json.loads(text), name)
