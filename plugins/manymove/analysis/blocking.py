# SPDX-License-Identifier: BSD-3-Clause
"""Averages of correlated records, with standard errors by blocking."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from manymove.analysis.notation import Estimate

ENOUGH = 20  # length of a run in relaxation times that is sufficient
_LARGEST_FACTOR = 3.0


def blocking_error(records: np.ndarray, block: int = 1) -> tuple[float, bool]:
    """Standard error of the mean of correlated records, by blocking, and whether it has converged.

    Neighboring records are averaged in pairs again and again (Flyvbjerg and Petersen, J. Chem.
    Phys. 91, 461, 1989). The errors s_B for blocks of B of the n records are considered up
    to the smallest B that satisfies B^3 > 2 n (s_B / s_1)^4, which balances the bias of short
    blocks against the noise of few (Lee, Das, Kim, Yan, Phys. Rev. E 83, 066706, 2011), and
    the largest is taken. If there is no such B the series is too short and the error a lower bound.
    A constant series, for example a pressure without contacts, has the lower bound zero, since it
    shows no fluctuation by which the error could be estimated.

    Args:
        records: (n,), in the order of time.
        block: least number of records in the longest blocks, for a quantity whose noise hides slow
            fluctuations that another quantity shows (default 1).

    Returns:
        error (NaN for fewer than two records), converged.
    """
    error, converged, _ = _blocked(records, block)
    return error, converged


def block_length(records: np.ndarray) -> int:
    """Number of records in the longest blocks of `blocking_error`."""
    return _blocked(records, 1)[2]


def _blocked(records: np.ndarray, block: int) -> tuple[float, bool, int]:
    """Standard error, whether it has converged, and the length of the longest blocks."""
    records = np.asarray(records, dtype=np.float64)
    n = records.size
    if n < 2:
        return math.nan, False, 1
    blocks, size = records, 1
    errors: list[float] = []
    while blocks.size >= 2:
        errors.append(float(blocks.std(ddof=1) / math.sqrt(blocks.size)))
        if errors[0] == 0:
            return 0.0, False, 1
        if size >= block and size**3 > 2 * n * (errors[-1] / errors[0]) ** 4:
            return max(errors), True, size
        even = blocks.size // 2 * 2
        blocks = blocks[:even].reshape(-1, 2).mean(axis=1)
        size *= 2
    return max(errors), False, size // 2


def error_factor(relaxations: float) -> float:
    """Factor of the blocking error of a run that is this number of relaxation times long:
    sqrt(1 + 20 / relaxations), at most 3.

    It is for a quantity with a slow part of a small amplitude, which a short run does not show.
    Measured on pieces of long chains of hard disks near freezing
    (docs/benchmarks/hard_disks_physics.md): blocking errors are too small by a factor of up to 3.2
    below 2 relaxation times, 1.9 at 8 and 1.2 at 34. With this factor at most 7 % of the pieces are
    off by more than two errors.
    """
    if relaxations <= 0:
        return _LARGEST_FACTOR
    return min(_LARGEST_FACTOR, math.sqrt(1 + ENOUGH / relaxations))


def estimate(records: np.ndarray, relaxations: float = math.inf, block: int = 1) -> Estimate:
    """Mean of the records of one run, float64 (n,), with its standard error by blocking.

    All averages over time of the classes and the commands are from this function.

    Args:
        records: the records in the order of time.
        relaxations: length of the run in relaxation times of the quantity, where it is known from
            longer runs. The error is multiplied by `error_factor`.
        block: least number of records in the longest blocks, as for `blocking_error`.

    Raises:
        ValueError: there is no record.
    """
    records = np.asarray(records, dtype=np.float64)
    if records.size == 0:
        raise ValueError("there is no record to average")
    error, converged = blocking_error(records, block)
    return Estimate(float(records.mean()), error * error_factor(relaxations), converged)


def drift(runs: Sequence[np.ndarray]) -> Estimate:
    """How far a quantity still drifts: mean of the second half of the records minus that of the
    first half, averaged over the runs.

    Args:
        runs: the records of each run, (n,) each, in the order of time.

    Returns:
        the drift, with its error by blocking each half; NaN for fewer than four records. Beyond
        three errors the runs were not at equilibrium.
    """
    runs = [np.asarray(records, dtype=np.float64) for records in runs]
    if min((records.size for records in runs), default=0) < 4:
        return Estimate(math.nan, math.nan)
    halves = [(records[: records.size // 2], records[records.size // 2 :]) for records in runs]
    return _mean([estimate(late) - estimate(early) for early, late in halves])


def pool(runs: Sequence[Estimate]) -> Estimate:
    """Mean of independent runs of equal length.

    The error is the larger of the combined errors of the runs and, from three runs on, the standard
    error of their spread, which also shows runs that are stuck.

    Raises:
        ValueError: the list is empty.
    """
    if not runs:
        raise ValueError("no run to pool")
    mean = _mean(runs)
    if len(runs) < 3:
        return mean
    spread = float(np.std([run.value for run in runs], ddof=1) / math.sqrt(len(runs)))
    error = spread if math.isnan(mean.error) else max(mean.error, spread)
    return Estimate(mean.value, error, mean.converged)


def _mean(runs: Sequence[Estimate]) -> Estimate:
    return sum(runs[1:], runs[0]) / len(runs)
