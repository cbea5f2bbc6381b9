# SPDX-License-Identifier: BSD-3-Clause
"""Runs that end when the error of their average is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from manymove.analysis.autocorrelation import relaxation_time
from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate

DECISIONS = 64  # in a run of the maximum length
_TIMES = 100  # fewest integrated correlation times, of 1/2 for independent records
_OF_A_SYSTEM = 4.0  # fewest integrated correlation times of each of many systems


def decisions(first: float, last: float, segment: int = 1) -> list[Any]:
    """Ends of at most `DECISIONS` equal parts of a run, at which its error is tested. They are
    integers if both limits are integers, and are rounded up to multiples of a segment."""
    length, whole = last - first, isinstance(first, Integral) and isinstance(last, Integral)
    parts = max(1, min(DECISIONS, int(length)))
    ends: list[Any] = [
        first + (length * k // parts if whole else length * k / parts) for k in range(1, parts + 1)
    ]
    if segment == 1:
        return ends
    return [*dict.fromkeys(min(last, math.ceil(end / segment) * segment) for end in ends)]


def is_reached(
    records: np.ndarray, target: float, average: Callable[[np.ndarray], Estimate] = estimate
) -> bool:
    """Whether a run may stop, because the relative error of its average is at most the target.

    A run that stops at a small error tends to stop when its error is underestimated. Therefore the
    records must be as long as 100 integrated correlation times, 50 independent values, and the
    blocking error must have converged. The measured shares of intervals that contain the mean, with
    and without these conditions, are in docs/theory/hard_disks.md, section 7.

    Args:
        records: the records so far, (n,), equally spaced in time.
        target: relative standard error.
        average: function of the records that returns their average.
    """
    time = relaxation_time([records], 1.0)
    if time is None or len(records) < _TIMES * time:
        return False
    found = average(records)
    return found.converged and found.error <= target * abs(found.value)


def share_of_mean(means: np.ndarray, variance: float) -> float:
    """Share of the variance of a state that the mean of a system over its steps has.

    Args:
        means: mean of a quantity in each of at least two systems, (systems,).
        variance: variance of the quantity in a state.

    Returns:
        the share, which is 1 for systems that have hardly moved; 0 if the means are equal.
    """
    of_means = float(means.var(ddof=1))
    return of_means / variance if variance > 0 else math.inf if of_means else 0.0


def correlation_times(share: float) -> float:
    """Length of a run in integrated correlation times from the `share_of_mean`, 0 if it is shorter
    than two.

    For the correlation exp(-t / tau), a mean over n = x tau steps has the share
    (2 / x) (1 - (1 - exp(-x)) / x). Without the exponential this is a quadratic equation for x.
    """
    if share <= 0:
        return math.inf
    return (1 + math.sqrt(1 - 2 * share)) / share if share < 0.5 else 0.0


def are_settled(share: float) -> bool:
    """Whether each of many systems is at least 4 integrated correlation times long, by the
    `share_of_mean` of a quantity."""
    return correlation_times(share) >= _OF_A_SYSTEM


def are_long_enough(share: float, systems: int, steps: int, before: float, target: float) -> bool:
    """Whether a run of many systems may stop when the error over its systems is small enough.

    The error is found from independent systems. It is right for runs of any length that start from
    equilibrium. Each system must be 4 integrated correlation times long, so that this time is
    known, and all systems together must have 50 independent values, 100 correlation times. If the
    quantity was zero at the start, its deviation decays within `before` steps of equilibration, and
    what is left of it in the average must be below a third of the target.

    Args:
        share: largest `share_of_mean` of the quantities.
        systems: number of systems.
        steps: number of steps of each system in the average.
        before: number of steps since the start of the equilibration that are not in the average.
        target: relative standard error of the average, with that of other parts of the systems.
    """
    times = correlation_times(share)
    if not (are_settled(share) and times * systems >= _TIMES):
        return False
    if times == math.inf:
        return True  # nothing fluctuates
    left = math.exp(-before / steps * times) * -math.expm1(-times) / times
    return 3 * left <= target
