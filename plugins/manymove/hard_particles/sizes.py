# SPDX-License-Identifier: BSD-3-Clause
"""Contact distances of hard particles: equal sizes, diameters by particle, or a table by types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manymove import arguments
from manymove.io import Frame
from manymove.settings import Mixture, lengths


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

    @property
    def radii(self) -> float | np.ndarray:
        """Half the diameter of all particles, or those of each."""
        return self.of_each(0) / 2 if self.diameter is None else self.diameter / 2

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
        each = self.of_each(0)
        if not len(each) and self.contacts is not None:  # a particle of each type
            each = np.diagonal(self.contacts)
        return float(np.mean(each**dimensions) ** (1 / dimensions))

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

    @property
    def given(self) -> Any:
        """The argument of a class with these sizes."""
        if self.types is not None:
            return Mixture(self.types, self.contacts)  # type: ignore[arg-type]
        return self.diameter if self.diameters is None else self.diameters


def read(diameter: Any) -> Sizes:
    """The sizes from the argument of a class: a number, an array, or a `Mixture`.

    Raises:
        ValueError: a value is out of range.
    """
    if isinstance(diameter, Mixture):
        return Sizes(types=diameter.types, contacts=diameter.contacts)
    if np.ndim(diameter) == 0:
        return Sizes(diameter=arguments.positive_and_finite("diameter", diameter))
    return Sizes(diameters=lengths("diameter", diameter))


def of_frame(frame: Frame) -> Sizes:
    """The sizes of a frame of a GSD file.

    Several types with one diameter each are types with the mean diameters as contact distances,
    unless the file has a table of its own.
    """
    if frame.contacts is not None:
        return Sizes(types=frame.typeid.astype(np.int32), contacts=frame.contacts)
    if (frame.diameters == frame.diameters[:1]).all():
        return Sizes(diameter=frame.diameter)
    of_types = np.array([frame.diameters[frame.typeid == k][0] for k in range(len(frame.types))])
    if (of_types[frame.typeid] == frame.diameters).all():
        table = (of_types[:, None] + of_types) / 2
        return Sizes(types=frame.typeid.astype(np.int32), contacts=table)
    return Sizes(diameters=frame.diameters)


def with_table(frame: Frame, table: Sequence[Sequence[float]] | None) -> Frame:
    """The frame of `--input`, with the contact distances of the options if there are any.

    Raises:
        ValueError: the file has sizes of its own, or another number of types.
    """
    if table is None:
        return frame
    if of_frame(frame).mixed:
        raise ValueError(
            "--input has the sizes of the particles: leave out --diameters and --contacts"
        )
    if len(table) != len(frame.types):
        types = ", ".join(frame.types)
        raise ValueError(
            f"--input has particles of the types {types}; --diameters or --contacts is for "
            f"{len(table)} types"
        )
    contacts = np.array(table)
    return replace(frame, diameters=np.diagonal(contacts)[frame.typeid], contacts=contacts)


def of_checkpoint(parameters: dict[str, Any], arrays: dict[str, np.ndarray]) -> Sizes:
    """The sizes of a checkpoint, from its parameters and arrays, which the engine checks."""
    contacts = parameters.get("contacts")
    return Sizes(
        diameter=parameters.get("diameter"),
        diameters=arrays.pop("diameters", None),
        types=arrays.pop("types", None),
        contacts=None if contacts is None else np.array(contacts, dtype=np.float64),
    )
