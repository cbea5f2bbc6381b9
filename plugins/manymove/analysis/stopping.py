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


def correlation_times(share: float, systems: float = math.inf) -> float:
    """Length of a run in integrated correlation times from the `share_of_mean`; 0 if the share is
    not below one.

    For the correlation exp(-t / tau), a mean over n = x tau steps has the share
    (2 / x) (1 - (1 - exp(-x)) / x), which decreases from one to zero and is below 2 / x.

    Args:
        share: the share.
        systems: number of systems from whose means it was found. The length is then a lower bound
            with a probability of 84 %, by the variance of so many normal means (chi squared as
            approximated by E. B. Wilson and M. M. Hilferty, PNAS 17, 684 (1931)).
    """
    if share <= 0:
        return math.inf
    width = 2 / (9 * (systems - 1))
    share /= (1 - width - math.sqrt(width)) ** 3
    below, above = 0.0, 2 / share if share < 1 else 0.0
    while above - below > 1e-12 * above:
        x = (below + above) / 2
        if 2 / x * (1 + math.expm1(-x) / x) > share:
            below = x
        else:
            above = x
    return above


def left_of_start(times: float, before: float, deviation: float) -> tuple[float, float]:
    """What is left of the deviation of the start from equilibrium, if it decays exponentially.

    Args:
        times: length of the average in correlation times.
        before: time from the start to the average, over the length of the average.
        deviation: relative deviation of the start from the average.

    Returns:
        the relative deviations of the average and of the last state from equilibrium. The deviation
        of the start from equilibrium is larger than the one from the average.
    """
    if times in (0, math.inf):
        return (0.0 if times else math.inf,) * 2
    decay = math.exp(-before * times)
    left = decay * -math.expm1(-times) / times
    whole = deviation / (1 - left) if left < 1 else math.inf
    return whole * left, whole * decay * math.exp(-times)


def are_long_enough(
    share: float, systems: int, before: float, target: float, deviation: float
) -> bool:
    """Whether a run of many systems may stop when the error over its systems is small enough.

    The error is found from independent systems. It is right for runs of any length that start from
    equilibrium. What is left of another start in the average must be below a third of the target.
    It follows from the lower bound of the number of correlation times, which is above zero only if
    all systems together seem to be 20 or more correlation times long.

    Args:
        share: largest `share_of_mean` of the quantities.
        systems: number of systems.
        before: number of steps since the start that are not in the average, over the number of
            steps in the average.
        target: relative standard error of the average, with that of other parts of the systems.
        deviation: relative deviation of the start from the average; 1 if the quantity was zero.
    """
    times = correlation_times(share, systems)
    return 3 * left_of_start(times, before, deviation)[0] <= target
