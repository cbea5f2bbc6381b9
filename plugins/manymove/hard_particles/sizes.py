# SPDX-License-Identifier: BSD-3-Clause
"""Contact distances of hard particles: equal sizes, diameters by particle, or a table by types."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from manymove.errors import ParameterError
from manymove.io import Frame

MOST_TYPES = 64


@dataclass(frozen=True, eq=False)
class Sizes:
    """The contact distances of all pairs.

    Attributes:
        diameter: diameter of all particles, if they are equal.
        diameters: diameters of the particles, float64 (N,); pairs are in contact at the mean of
            theirs.
        types: type of each particle, int32 (N,).
        contacts: contact distance of each pair of types, float64 (T, T).

    Either `diameter`, or `diameters`, or both `types` and `contacts` are set.
    """

    diameter: float | None = None
    diameters: np.ndarray | None = None
    types: np.ndarray | None = None
    contacts: np.ndarray | None = None

    @property
    def mixed(self) -> bool:
        return self.diameters is not None or self.types is not None

    @property
    def kinds(self) -> int:
        """Number of types T; 1 for equal sizes and for diameters by particle."""
        return 1 if self.contacts is None else len(self.contacts)

    @property
    def count(self) -> int | None:
        """Number of particles, if it is known from the sizes."""
        each = self.types if self.diameters is None else self.diameters
        return None if each is None else len(each)

    @property
    def additive(self) -> bool:
        """Whether all contacts are at the mean of two diameters."""
        if self.contacts is None:
            return True
        d = np.diagonal(self.contacts)
        return bool(np.allclose(self.contacts, (d[:, None] + d) / 2, rtol=1e-12, atol=0))

    def of_each(self, N: int) -> np.ndarray:
        """Diameter of each particle, float64 (N,)."""
        if self.diameters is not None:
            return self.diameters.copy()
        if self.contacts is not None:
            return np.diagonal(self.contacts)[self.types]
        return np.full(N, self.diameter)

    def by_particle(self) -> Sizes:
        """The same sizes as diameters of the particles, which swap moves need.

        Raises:
            ValueError: the particles are equal, or the contacts are not additive.
        """
        if not self.mixed:
            raise ValueError("swap moves are for a mixture: give the diameters of its types")
        if not self.additive:
            raise ValueError("swap moves exchange diameters: the contacts must be their means")
        return Sizes(diameters=self.of_each(0))

    def mean(self, dimensions: int) -> float:
        """Diameter of a particle with the mean area, or the mean volume in three dimensions."""
        if self.diameter is not None:
            return self.diameter
        return float(np.mean(self.of_each(0) ** dimensions) ** (1 / dimensions))

    def largest(self) -> float:
        """The largest contact distance."""
        return float(np.max(next(x for x in self._values() if x is not None)))

    def smallest(self) -> float:
        """The smallest contact distance."""
        return float(np.min(next(x for x in self._values() if x is not None)))

    def _values(self) -> tuple[Any, ...]:
        return self.contacts, self.diameters, self.diameter

    def scaled(self, factor: float) -> Sizes:
        """The same particles with all contact distances multiplied by a factor."""
        one, each, _, contacts = self.diameter, self.diameters, self.types, self.contacts
        return Sizes(
            diameter=None if one is None else one * factor,
            diameters=None if each is None else each * factor,
            types=self.types,
            contacts=None if contacts is None else contacts * factor,
        )

    def given(self) -> dict[str, Any]:
        """The arguments of a class with these sizes."""
        names = ("diameter", "diameters", "types", "contacts")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def read(diameter: float, diameters: Any = None, types: Any = None, contacts: Any = None) -> Sizes:
    """The sizes from the arguments of a class.

    Raises:
        ValueError: the arguments contradict each other, or a value is out of range.
    """
    if diameters is None and types is None and contacts is None:
        diameter = float(diameter)
        if not 0 < diameter < math.inf:
            raise ParameterError("diameter", f"must be positive and finite, got {diameter}")
        return Sizes(diameter=diameter)
    if diameter != 1.0:
        raise ParameterError(
            "diameter", "is that of equal particles: give diameter or the sizes of each"
        )
    if diameters is not None:
        if types is not None or contacts is not None:
            raise ValueError(
                "diameters are those of the particles: give them or types and contacts"
            )
        return Sizes(diameters=_lengths("diameters", diameters, 1))
    if types is None or contacts is None:
        raise ValueError("types and contacts belong together: give both")
    table = _lengths("contacts", contacts, 2)
    if table.shape[0] != table.shape[1]:
        raise ParameterError(
            "contacts", f"must be a symmetric table (T, T), got shape {table.shape}"
        )
    for i, j in np.argwhere(table != table.T)[:1]:
        raise ParameterError(
            "contacts",
            f"must be a symmetric table (T, T), got {table[i, j]} for types {i}-{j} and "
            f"{table[j, i]} for {j}-{i}",
        )
    if len(table) > MOST_TYPES:
        raise ParameterError("contacts", f"must have at most {MOST_TYPES} types, got {len(table)}")
    kinds = np.asarray(types)
    if kinds.ndim != 1 or kinds.dtype.kind not in "iu" or not kinds.size:
        raise ValueError(
            "types must be integers (N,), from 0 to the number of types less one, got "
            f"{kinds.dtype} of shape {kinds.shape}"
        )
    if kinds.min() < 0 or kinds.max() >= len(table):
        wrong = int(np.argmax((kinds < 0) | (kinds >= len(table))))
        raise ValueError(
            f"types must be from 0 to {len(table) - 1}, got {kinds[wrong]} of particle {wrong}"
        )
    return Sizes(types=kinds.astype(np.int32), contacts=table)


def _lengths(name: str, value: Any, dimensions: int) -> np.ndarray:
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(name, f"must be numbers: {error}") from None
    if found.ndim != dimensions or not found.size:
        shape = {1: "(N,)", 2: "(T, T)"}[dimensions]
        raise ParameterError(name, f"must have shape {shape}, got {found.shape}")
    bad = ~(np.isfinite(found) & (found > 0))
    if bad.any():
        where = np.argwhere(bad)[0].tolist()
        raise ParameterError(
            name, f"must be positive and finite, got {found[tuple(where)]} at {where}"
        )
    return found


def of_frame(frame: Frame) -> Sizes:
    """The sizes of a frame of a GSD file.

    Several types with one diameter each are types with the mean diameters as contact distances,
    unless the file has a table of its own.
    """
    if frame.contacts is not None:
        return Sizes(types=frame.typeid.astype(np.int32), contacts=frame.contacts)
    if (frame.diameters == frame.diameters[0]).all():
        return Sizes(diameter=frame.diameter)
    of_types = np.array([frame.diameters[frame.typeid == k][0] for k in range(len(frame.types))])
    if (of_types[frame.typeid] == frame.diameters).all():
        table = (of_types[:, None] + of_types) / 2
        return Sizes(types=frame.typeid.astype(np.int32), contacts=table)
    return Sizes(diameters=frame.diameters)


def of_checkpoint(parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> Sizes:
    """The sizes of a checkpoint, from its parameters and arrays, which the engine checks."""
    contacts = parameters.get("contacts")
    return Sizes(
        diameter=parameters.get("diameter"),
        diameters=arrays.pop("diameters", None),
        types=arrays.pop("types", None),
        contacts=None if contacts is None else np.array(contacts, dtype=np.float64),
    )
