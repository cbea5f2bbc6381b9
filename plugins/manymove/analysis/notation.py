# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with their standard errors: arithmetic, and the notation 9.200(8)."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

_SMALL = 1e-4  # smaller numbers are written with an exponent
# Fill, alignment, sign, width, separator, precision and type of Python's format specifications.
_SPECIFICATION = re.compile(r"(?:(.)?([<>^]))?([+ -]?)(\d*)(,?)(?:\.(\d+))?([feg%]?)", re.DOTALL)


@dataclass(frozen=True)
class Estimate:
    """An average and its standard error.

    Estimates can be added, subtracted, multiplied, divided and raised to a power, also with
    numbers. The error of the result is of first order for independent operands; for
    correlated ones use the library `uncertainties`, whose numbers are ``ufloat(*estimate)``.
    ``<``, ``<=``, ``>`` and ``>=`` compare the values. ``==`` compares value and error; a number is
    equal to an estimate of this value without error.

    ``str`` gives 9.200(8), where the parentheses hold the error in units of the last digit. A
    format specification of a float (types f, e, g and %) determines the digits of the value:
    ``f"{estimate:.2f}"`` gives 9.20(1). ``round`` rounds value and error to a number of decimal
    places, or to the digits of ``str``. ``value, error = estimate`` unpacks both.

    Attributes:
        value: the average, in the unit of the averaged quantity; `float(estimate)` returns it.
        error: one standard error in the same unit; NaN if it is unknown, for example with a single
            system.
        converged: whether the error is reliable. It is False if the records were too short for the
            blocking to converge, or constant; then the error is a lower bound.
    """

    value: float
    error: float
    converged: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        error = math.nan if self.error is None else float(self.error)  # None is from a JSON file
        object.__setattr__(self, "value", float(self.value))
        object.__setattr__(self, "error", error)
        if self.error < 0:
            raise ValueError(f"error must not be negative, got {self.error}")

    def __float__(self) -> float:
        return self.value

    def __iter__(self) -> Iterator[float]:
        return iter((self.value, self.error))

    def to_dict(self) -> dict[str, Any]:
        """Dictionary of the three attributes for JSON, where an unknown error is None. It can be
        the default of ``json.dumps(results, default=Estimate.to_dict)``."""
        error = None if math.isnan(self.error) else self.error
        return {"value": self.value, "error": error, "converged": self.converged}

    # ---- comparison ------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Estimate):
            return (self.value, self.error) == (other.value, other.error)
        if isinstance(other, Real):
            return self.error == 0 and self.value == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.value, self.error) if self.error else self.value)

    def __lt__(self, other: Any) -> bool:
        return self._compared(other, float.__lt__)

    def __le__(self, other: Any) -> bool:
        return self._compared(other, float.__le__)

    def __gt__(self, other: Any) -> bool:
        return self._compared(other, float.__gt__)

    def __ge__(self, other: Any) -> bool:
        return self._compared(other, float.__ge__)

    def _compared(self, other: Any, compare: Callable[[float, float], bool]) -> bool:
        if isinstance(other, (Estimate, Real)):
            return compare(float(self.value), float(other))
        return NotImplemented

    # ---- arithmetic ------------------------------------------------------------------------------

    def _with(
        self, other: Any, function: Callable[[float, float], tuple[float, float, float]]
    ) -> Estimate:
        """The value of a function of two numbers; `function` also returns its two derivatives."""
        if not isinstance(other, (Estimate, Real)):
            return NotImplemented
        b, error = other if isinstance(other, Estimate) else (float(other), 0.0)
        value, first, second = function(self.value, b)
        # An error of zero does not make the result depend on a derivative that is not finite.
        terms = [
            slope * each for slope, each in ((first, self.error), (second, error)) if each != 0
        ]
        converged = self.converged and getattr(other, "converged", True)
        return Estimate(value, math.hypot(*terms), converged)

    def __add__(self, other: Any) -> Estimate:
        return self._with(other, lambda a, b: (a + b, 1.0, 1.0))

    def __sub__(self, other: Any) -> Estimate:
        return self._with(other, lambda a, b: (a - b, 1.0, 1.0))

    def __rsub__(self, other: Any) -> Estimate:
        return self._with(other, lambda a, b: (b - a, 1.0, 1.0))

    def __mul__(self, other: Any) -> Estimate:
        return self._with(other, lambda a, b: (a * b, b, a))

    def __truediv__(self, other: Any) -> Estimate:
        return self._with(other, lambda a, b: (a / b, 1 / b, a / b**2))

    def __rtruediv__(self, other: Any) -> Estimate:
        return self._with(other, lambda a, b: (b / a, b / a**2, 1 / a))

    def __pow__(self, other: Any) -> Estimate:
        return self._with(other, _power)

    def __rpow__(self, other: Any) -> Estimate:
        return Estimate(float(other), 0.0) ** self if isinstance(other, Real) else NotImplemented

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.error, self.converged)

    def __pos__(self) -> Estimate:
        return self

    def __abs__(self) -> Estimate:
        return Estimate(abs(self.value), self.error, self.converged)

    # ---- text ------------------------------------------------------------------------------------

    def __round__(self, ndigits: int | None = None) -> Estimate:
        if ndigits is None:
            if not (self.error > 0 and math.isfinite(self.error)):
                return self
            ndigits = _decimals(self.error)
        return Estimate(round(self.value, ndigits), round(self.error, ndigits), self.converged)

    def __str__(self) -> str:
        return with_error(self.value, self.error)

    def __format__(self, specification: str) -> str:
        found = _SPECIFICATION.fullmatch(specification)
        if found is None:
            raise ValueError(f"invalid format specification '{specification}' for an Estimate")
        fill, align, sign, width, comma, precision, kind = found.groups()
        if kind or precision:
            text = self._digits(sign + comma, int(precision or 6), kind or "g")
        else:
            text = str(self)
            text = (sign if sign != "-" and self.value >= 0 else "") + text
        return f"{text:{fill or ''}{align or '>'}{width}}"

    def _digits(self, flags: str, precision: int, kind: str) -> str:
        """The value with a precision, and the error in units of its last digit."""
        value, error, end, power = self.value, self.error, "", 0
        if kind == "%":
            value, error, end = 100 * value, 100 * error, "%"
        if kind in "eg" and math.isfinite(value):
            digits = precision if kind == "e" else max(precision, 1) - 1
            power = int(f"{value:.{digits}e}".partition("e")[2])
            if kind == "e" or not -5 < power <= digits:
                value, error, end = value * 10.0**-power, error * 10.0**-power, f"e{power:+03d}"
                precision = digits
            else:
                precision = digits - power
        last = f"{error * 10.0**precision:.0f}" if math.isfinite(error) else "?"
        return f"{value:{flags}.{precision}f}({last}){end}"


def _power(a: float, b: float) -> tuple[float, float, float]:
    """a^b and its derivatives with respect to a and b; the latter is NaN unless a is positive."""
    value = math.pow(a, b)
    return value, b * a ** (b - 1) if b else 0.0, value * math.log(a) if a > 0 else math.nan


def _decimals(error: float) -> int:
    """Number of decimal places with which a value with this error is written."""
    digits, exponent = f"{error:.1e}".split("e")
    return max(0, -int(exponent) + (digits[0] == "1" and digits[2] != "0"))


def with_error(value: float, error: float | None) -> str:
    """A value with its standard error in units of its last digit, such as 9.200(8).

    The error has one digit, or two if the first of them is 1 and the second is not 0. Small numbers
    have an exponent, such as 4.568(6)e-07.
    """
    if error is None or not (math.isfinite(error) and math.isfinite(value)):
        return f"{value:.6g}(?)"
    if error < sys.float_info.min:
        return f"{value:.6g}(0)"
    largest = max(abs(value), error)
    if largest < _SMALL:
        power = math.floor(math.log10(largest))
        return f"{with_error(value * 10.0**-power, error * 10.0**-power)}e{power:03d}"
    decimals = _decimals(error)
    return f"{value:.{decimals}f}({round(error * 10**decimals)})"
