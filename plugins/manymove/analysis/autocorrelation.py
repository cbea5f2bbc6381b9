"""Autocorrelation times of time series, and the slow time of a run from its own records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEWEST = 20  # values of a series from which a relaxation time is estimated
_FIRST_LAGS = 10  # which the sum includes even where the correlation is negative


def autocorrelation_time(
    series: np.ndarray, interval: float = 1.0, *, every_lag: bool = False
) -> float:
    """Integrated autocorrelation time tau, (g - 1) / 2 with the statistical inefficiency g.

    The sum ends at the first lag beyond ten with a correlation that is not positive. A complex
    series (the global orientational order psi_6) is treated as two series of one quantity, its real
    and its imaginary part. Columns are treated as series of one quantity, too.

    Source: Chodera, Swope, Pitera, Seok, Dill, J. Chem. Theory Comput. 3, 26 (2007). The values
        agree with pymbar.timeseries.

    Args:
        series: real or complex, (n,) or (n, K), equally spaced in time, at equilibrium.
        interval: time between two values, in any unit.
        every_lag: whether to sum over every lag. By default the strides grow from lag to lag, so
            that a long tail has less noise; then a tau of one or two intervals is a fifth too long.

    Returns:
        tau in the unit of `interval`. It is meaningful only if the series is many tau long.

    Raises:
        ValueError: there are fewer than 10 values, a value is not finite, or the series is
            constant.
    """
    series = np.asarray(series)
    if series.ndim not in (1, 2) or len(series) < 10:
        raise ValueError(
            f"an autocorrelation time needs 10 values or more, got shape {series.shape}"
        )
    if not np.isfinite(series).all():
        raise ValueError("the series has values that are not finite")
    if (series == series[0]).all():
        raise ValueError("the series is constant")
    n = len(series)
    columns = series.reshape(n, -1).T
    parts = np.concatenate([columns.real, columns.imag] if np.iscomplexobj(series) else [columns])
    correlation = correlation_of(parts.astype(float) - parts.mean())
    k = np.arange(n - 2)
    lags = 1 + (k if every_lag else k * (k + 1) // 2)  # 1, 2, 4, 7, 11, ...
    lags = lags[lags < n - 1]
    strides = 1 if every_lag else k[: lags.size] + 1
    c = correlation[lags] / correlation[0]
    ends = (c <= 0) & (lags > _FIRST_LAGS)
    terms = (c * (1 - lags / n) * strides)[: np.argmax(ends) if ends.any() else None]
    return max(0.0, float(terms.sum())) * interval


def relaxation_time(
    runs: Sequence[np.ndarray], interval: float, *, mean: float | None = None
) -> float | None:
    """Integrated autocorrelation time, summed up to the first negative value.

    For a run that is much shorter than its relaxation time the result is a fraction of its length.
    This is too small, but it shows that the run is too short.

    Args:
        runs: real or complex values of independent runs, (n,) each, equally spaced in time.
        interval: time between two values, in any unit.
        mean: the exact mean if it is known from symmetry; default the mean of each run.

    Returns:
        the time in the unit of `interval`; None for fewer than `FEWEST` values or constant values.
    """
    n = min((run.size for run in runs), default=0)
    if n < FEWEST:
        return None
    values = np.array([run[:n] for run in runs])
    values = values - (values.mean(axis=1, keepdims=True) if mean is None else mean)
    correlation = correlation_of(values)
    largest = max(np.abs(run).max() for run in runs)
    if not np.isfinite(correlation).all() or not correlation[0] > 1e-28 * largest**2:
        return None
    correlation /= correlation[0]
    negative = correlation < 0
    end = int(np.argmax(negative)) if negative.any() else n
    return float(interval * (0.5 + correlation[1:end].sum()))


def correlation_of(values: np.ndarray) -> np.ndarray:
    """Mean product of two values of a run at each lag, float64 (n,), from runs of shape (K, n)."""
    n = values.shape[1]
    spectrum = np.abs(np.fft.fft(values, 2 * n, axis=1)) ** 2
    return np.fft.ifft(spectrum, axis=1)[:, :n].real.mean(axis=0) / np.arange(n, 0, -1)
