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
