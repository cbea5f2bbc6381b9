"""Checks of arguments. What is refused is told by the argument's name, in the same words
everywhere: "<name> must be <what>, got <value>"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

PRECISIONS = ("mixed", "double")


def integer(name: str, value: Any) -> int:
    if not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    return int(value)


def uint64(name: str, value: Any) -> int:
    """A seed, or where a counter begins."""
    if not 0 <= integer(name, value) < 2**64:
        raise ValueError(f"{name} must be in [0, 2**64), got {value}")
    return int(value)


def steps(name: str, value: Any) -> int:
    """How far to run."""
    if integer(name, value) < 0:
        raise ValueError(f"{name} must not be negative, got {value}")
    return int(value)


def count(name: str, value: Any, most: int = 2**31 - 1) -> int:
    """How many of something that there must be."""
    if not 0 < integer(name, value) <= most:
        wanted = "positive and below 2**31" if most == 2**31 - 1 else f"from 1 to {most}"
        raise ValueError(f"{name} must be {wanted}, got {value}")
    return int(value)


def count_or_default(name: str, value: Any) -> int:
    """The same; 0 stands for the engine's default."""
    return 0 if value is None else count(name, value)


def positive(name: str, value: float) -> float:
    """A length that the engine bounds from above."""
    if not value > 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return float(value)


def positive_or_default(name: str, value: float | None) -> float:
    """The same; 0 stands for the engine's default."""
    return 0.0 if value is None else positive(name, value)


def positive_and_finite(name: str, value: float) -> float:
    value = float(value)
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return value


def not_negative(name: str, value: float) -> float:
    if not value >= 0:
        raise ValueError(f"{name} must not be negative, got {value}")
    return float(value)


def one_of(name: str, value: Any, words: Sequence[str]) -> str:
    if value not in words:
        *others, last = (f'"{known}"' for known in words)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")
    return value


def positions(value: Any) -> Any:
    """Positions as the engines read them: lists become arrays, and arrays in host memory that are
    not C-contiguous are copied; what is contiguous, or on a device, stays where it is.

    Raises:
        ValueError: a list of anything but points.
    """
    if isinstance(value, (list, tuple)):
        try:
            value = np.array(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"positions must be a list of points: {error}") from None
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value


def edges(box: Iterable[float], dimensions: int) -> tuple[float, ...]:
    """Of a box; whether they are long enough is for the engine to say."""
    try:
        found = tuple(float(edge) for edge in box)
    except (TypeError, ValueError):
        found = ()
    if len(found) != dimensions:
        number, names = {2: ("two", "Lx, Ly"), 3: ("three", "Lx, Ly, Lz")}[dimensions]
        raise ValueError(f"box must be {number} edges ({names}), got {box!r}")
    return found
