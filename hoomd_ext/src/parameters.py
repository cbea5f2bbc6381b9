"""Converters of parameters, which name the parameter in their errors."""

from __future__ import annotations

import math
import operator
import os

import hoomd.version
from hoomd.data.typeconverter import OnlyTypes, RequiredArg
from hoomd.error import MutabilityError, TypeConversionError
from hoomd.manymove import moves


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


class OfThreads:
    """The property `threads` of an integrator."""

    @property
    def threads(self):
        return self._threads

    @threads.setter
    def threads(self, value):
        if self._attached:
            raise MutabilityError("threads")
        self._threads = None if value is None else moves.count("threads", value, 2**31 - 1)


def default_threads(device):
    """Default number of threads: one if there are several ranks or partitions, otherwise the cores
    that the process may use, but at most the threads of a HOOMD-blue with threads."""
    communicator = device.communicator
    if communicator.num_partitions * communicator.num_ranks > 1:
        return 1
    cores = len(os.sched_getaffinity(0))
    return min(cores, device.num_cpu_threads) if hoomd.version.tbb_enabled else cores
