# SPDX-License-Identifier: BSD-3-Clause
"""The slow time of a run, estimated from its own records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEWEST = 20  # values of a series from which a time is estimated


def relaxation_time(
    runs: Sequence[np.ndarray], interval: float, *, mean: float | None = None
) -> float | None:
    """Integrated autocorrelation time, summed up to the first negative value.

    A run much shorter than its slow time gives a fraction of its own length, which is too little,
    but enough to tell that the run is too short.

    Args:
        runs: real or complex values of independent runs, (n,) each, equally spaced in time.
        interval: time between two values, in any unit.
        mean: the exact mean, where symmetry gives it; otherwise that of each run.

    Returns:
        in the unit of `interval`; None for fewer than `FEWEST` values or constant ones.
    """
    n = min((run.size for run in runs), default=0)
    if n < FEWEST:
        return None
    values = np.array([run[:n] for run in runs])
    values = values - (values.mean(axis=1, keepdims=True) if mean is None else mean)
    spectrum = np.abs(np.fft.fft(values, 2 * n, axis=1)) ** 2
    correlation = np.fft.ifft(spectrum, axis=1)[:, :n].real.mean(axis=0) / np.arange(n, 0, -1)
    if not np.isfinite(correlation).all() or not correlation[0] > 1e-28 * np.max(np.abs(runs)) ** 2:
        return None
    correlation /= correlation[0]
    negative = correlation < 0
    end = int(np.argmax(negative)) if negative.any() else n
    return float(interval * (0.5 + correlation[1:end].sum()))
