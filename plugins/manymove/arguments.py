"""Checks of arguments. All errors have the form "<name> must be <condition>, got <value>"."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from manymove.errors import ParameterError

PRECISIONS = ("mixed", "double")
LONGEST = 10**15  # sweeps, cycles or steps of a run, as in the commands


def integer(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None


def uint64(name: str, value: Any) -> int:
    """Check a seed or the start of a counter."""
    if not 0 <= integer(name, value) < 2**64:
        raise ParameterError(name, f"must be in [0, 2**64), got {value}")
    return int(value)


def steps(name: str, value: Any) -> int:
    """Check the length of a run."""
    value = integer(name, value)
    if value < 0:
        raise ParameterError(name, f"must not be negative, got {value}")
    if value > LONGEST:
        raise ParameterError(name, f"must be at most 10**15, got {reprlib.repr(value)}")
    return value


def count(name: str, value: Any, most: int = 2**31 - 1) -> int:
    """Check a positive number of things."""
    if not 0 < integer(name, value) <= most:
        wanted = "positive and below 2**31" if most == 2**31 - 1 else f"from 1 to {most}"
        raise ParameterError(name, f"must be {wanted}, got {value}")
    return int(value)


def count_or_auto(name: str, value: Any, most: int = 2**31 - 1) -> int | str:
    """Check a positive number of things, or "auto"."""
    if isinstance(value, str) and value != "auto":
        raise ParameterError(name, f'must be an integer or "auto", got {value!r}')
    return value if isinstance(value, str) else count(name, value, most)


def count_or_default(name: str, value: Any) -> int:
    """Check a positive number of things; None becomes 0, the engine's default."""
    return 0 if value is None else count(name, value)


def counts_or_default(name: str, value: Any, number: int) -> int | tuple[int, ...]:
    """Check a positive number of things, or one for each of `number` axes; None becomes 0, the
    engine's default."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, Integral):
        return count_or_default(name, value)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TypeError(f"{name} must be an integer or have {number} integers, got {value!r}")
    if len(value) != number:
        raise ParameterError(name, f"must be an integer or have {number} integers, got {value!r}")
    return tuple(count(name, each) for each in value)


def index(name: str, value: Any, number: int) -> int:
    """Check an index of one of `number` things."""
    if not 0 <= integer(name, value) < number:
        raise ParameterError(name, f"must be from 0 to {number - 1}, got {value}")
    return int(value)


def number(name: str, value: Any) -> float:
    try:
        if not isinstance(value, (str, bytes)):
            return float(value)
    except OverflowError:  # an integer
        return math.copysign(math.inf, value > 0 or -1)
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} must be a number, got {value!r}")


def positive(name: str, value: float) -> float:
    """Check a length, for which the engine checks the upper bound."""
    if not number(name, value) > 0:
        raise ParameterError(name, f"must be positive, got {value}")
    return float(value)


def positive_or_default(name: str, value: float | None) -> float:
    """Check a length; None becomes 0, the engine's default."""
    return 0.0 if value is None else positive(name, value)


def positive_and_finite(name: str, value: float) -> float:
    value = number(name, value)
    if not 0 < value < math.inf:
        raise ParameterError(name, f"must be positive and finite, got {value}")
    return value


def not_negative(name: str, value: float) -> float:
    if not number(name, value) >= 0:
        raise ParameterError(name, f"must not be negative, got {value}")
    return float(value)


def aspect_ratios(value: Any, dimensions: int) -> list[float]:
    """Check the ratios of the edges of a box, one for each axis."""
    several = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, bytes)
    ratios = list(value) if several else [value]
    if len(ratios) != dimensions:
        raise ParameterError("aspect_ratios", f"must be {dimensions} numbers, got {value!r}")
    return [positive_and_finite("aspect_ratios", ratio) for ratio in ratios]


def one_of(name: str, value: Any, words: Sequence[str]) -> str:
    if value not in words:
        *others, last = (f'"{known}"' for known in words)
        raise ParameterError(name, f"must be {', '.join(others)} or {last}, got {value!r}")
    return value


def positions(value: Any) -> Any:
    """Positions in a form that the engines read.

    Lists become arrays, and arrays in host memory are copied unless they are C-contiguous and in
    the byte order of the machine. Arrays on a device are not copied.

    Raises:
        ValueError: a list contains something other than points, or entries are masked.
        TypeError: an array of NumPy has another type than float32 or float64.
    """
    if isinstance(value, (list, tuple)):
        try:
            value = np.array(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"positions must be a list of points: {error}") from None
    if value is None:  # which the engines' bindings do not name
        raise TypeError("positions must be an array, got None")
    if not isinstance(value, np.ndarray):
        return value
    if np.ma.is_masked(value):
        raise ParameterError("positions", "must not have masked entries: remove their particles")
    native = value.dtype.newbyteorder("=")
    if native not in (np.float32, np.float64):
        raise TypeError(f"positions must be float32 or float64, got {value.dtype}")
    return np.ascontiguousarray(value, dtype=None if value.dtype.isnative else native)


def edges(box: Iterable[float], dimensions: int) -> tuple[float, ...]:
    """Edges of a box; the engine checks whether they are long enough."""
    try:
        found = () if isinstance(box, bytes) else tuple(number("box", edge) for edge in box)
    except (TypeError, ValueError):
        found = ()
    if len(found) != dimensions:
        count, names = {2: ("two", "Lx, Ly"), 3: ("three", "Lx, Ly, Lz")}[dimensions]
        raise ValueError(f"box must be {count} edges ({names}), got {box!r}")
    return found
