"""Converters of parameters, which name the parameter in their errors."""

from __future__ import annotations

import math
import operator

from hoomd.data.typeconverter import OnlyTypes, RequiredArg
from hoomd.error import TypeConversionError


class Number(OnlyTypes):
    """Converts to a number in [low, high), and names the parameter in its errors."""

    def __init__(self, name, low, high, rule, kind=float):
        super().__init__(kind)
        self.name, self.low, self.high, self.rule = name, low, high, rule

    def __call__(self, value):
        if value is RequiredArg:
            return value
        whole = self.types == (int,)
        try:
            number = operator.index(value) if whole else float(value)  # not rounded
        except (TypeError, ValueError):
            kind = "an integer" if whole else "a number"
            raise TypeConversionError(f"{self.name} must be {kind}, got {value!r}") from None
        if not self.low <= number < self.high:
            raise TypeConversionError(f"{self.name} must be {self.rule}, got {number}")
        return number


def count(name, most):
    return Number(name, 1, most + 1, f"from 1 to {most}", int)


def length(name):
    return Number(name, math.ulp(0.0), math.inf, "positive and finite")


def not_negative(name):
    return Number(name, 0.0, math.inf, "finite and not negative")


class OnlyFalse(OnlyTypes):
    """Accepts False, and refuses True with the reason."""

    def __init__(self, name, why):
        super().__init__(bool)
        self.name, self.why = name, why

    def __call__(self, value):
        if value is not RequiredArg and value is not False:
            raise TypeConversionError(f"{self.name} must be False, got {value!r}: {self.why}")
        return value


# An attribute that HPMC's class has and of which one value is possible here. (A docstring would
# become that of the attribute.)
class Fixed:
    def __init__(self, value, why):
        self.value, self.why = value, why

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self.value

    def __set__(self, instance, value):
        if value != self.value:
            raise ValueError(f"{self.name} must be {self.value!r}, got {value!r}: {self.why}")
