# SPDX-License-Identifier: BSD-3-Clause
"""Steps of the energies of pairs of hard particles: square wells and square shoulders.

Energies are in units of kT, and lengths in the unit of the positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from manymove.errors import ParameterError
from manymove.settings import Group

__all__ = ["Step"]

Table = tuple[tuple[float, ...], ...]


def _numbers(name: str, value: Any) -> float | Table:
    """A check of a number, or of a table of them for the pairs of types."""
    try:
        found = np.asarray(value)
    except ValueError:  # rows of different lengths
        found = np.empty(0)
    if found.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a number or a table of numbers, got {value!r}")
    square = found.ndim == 2 and found.shape[0] == found.shape[1] > 0
    if not (found.ndim == 0 or square) or not np.isfinite(found).all():
        raise ParameterError(
            name, f"must be a finite number or a square table of them, got {value!r}"
        )
    if found.ndim == 0:
        return float(found)
    return tuple(tuple(map(float, row)) for row in found)


def _lengths(name: str, value: Any) -> float | Table:
    found = _numbers(name, value)
    if not (np.asarray(found) > 0).all():
        raise ParameterError(name, f"must be positive, got {value!r}")
    return found


@dataclass(frozen=True)
class Step(Group):
    """A step of the energy of a pair: a square well or, with a positive energy, a square shoulder.

    Args:
        range: distance of the centers below which a pair has the energy, above the contact
            distance; a number, or a symmetric table for the pairs of T types, (T, T).
        energy: energy in kT, at most 1000 in magnitude, which is rounded to a multiple of 2**-32; a
            number, or a symmetric table (T, T), in which pairs with the energy 0 have no step. A
            trial move that would raise the energy by more than 45 kT is rejected.

    Raises:
        TypeError: an argument is not made of numbers.
        ValueError: a number is not finite, a range is not positive, or a table is not square.
    """

    range: Annotated[float | Table, _lengths]
    energy: Annotated[float | Table, _numbers]


def read(given: Any, types: int) -> tuple[tuple[Step, ...], dict[str, Any]]:
    """The steps, and the parameters that the engine has of them. Tables of equal numbers become
    numbers, as in a checkpoint, which does not distinguish them.

    Args:
        given: argument of the class.
        types: number of types of the particles.

    Raises:
        TypeError: something is not a `Step`.
        ValueError: a table has another size than the number of types.
    """
    if given is not None and not isinstance(given, (Step, Iterable)):
        raise TypeError(f"steps must be objects of manymove.steps, got {given!r}")
    steps = () if given is None else (given,) if isinstance(given, Step) else tuple(given)
    for step in steps:
        if not isinstance(step, Step):
            raise TypeError(f"steps must be objects of manymove.steps, got {step!r}")
        for name, value in vars(step).items():
            if np.shape(value) not in ((), (types, types)):
                raise ParameterError(
                    name,
                    f"must be a number or a table of {types} by {types} for pairs of types, got "
                    f"a table of shape {np.shape(value)}",
                )
    listed = [
        {
            name: np.broadcast_to(value, (types, types)).ravel().tolist()
            for name, value in (("ranges", step.range), ("energies", step.energy))
        }
        for step in steps
    ]
    parameters = {"steps": listed} if listed else {}
    return of_checkpoint(parameters), parameters


def reach(steps: tuple[Step, ...], contact: float) -> float:
    """The largest range of the steps, or the largest contact distance, which is given."""
    ranges = (np.max(np.where(np.asarray(step.energy) != 0, step.range, 0)) for step in steps)
    return float(max(contact, *ranges)) if steps else contact


def of_checkpoint(parameters: dict[str, Any]) -> tuple[Step, ...]:
    """The steps of the parameters that `read` returned."""

    def table(flat: list[float]) -> Any:
        types = round(len(flat) ** 0.5)
        return flat[0] if len(set(flat)) == 1 else np.reshape(flat, (types, types))

    return tuple(
        Step(table(each["ranges"]), table(each["energies"])) for each in parameters.get("steps", [])
    )
