# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with their standard errors in the notation 9.200(8)."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

_SMALL = 1e-4  # smaller numbers are written with an exponent


@dataclass(frozen=True)
class Estimate:
    """An average and its standard error.

    Attributes:
        value: the average, in the unit of the averaged quantity; `float(estimate)` returns it.
        error: one standard error in the same unit; NaN if it is unknown, for example with a single
            system.
    """

    value: float
    error: float

    def __str__(self) -> str:
        return with_error(self.value, self.error)

    def __float__(self) -> float:
        return self.value


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
    digits, exponent = f"{error:.1e}".split("e")
    decimals = max(0, -int(exponent) + (digits[0] == "1" and digits[2] != "0"))
    return f"{value:.{decimals}f}({round(error * 10**decimals)})"
