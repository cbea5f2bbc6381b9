"""Autocorrelation time of a time series."""

from __future__ import annotations

import logging

import numpy as np


def autocorrelation_time(
    series: np.ndarray, interval: float = 1.0, *, every_lag: bool = False
) -> float:
    """Integrated autocorrelation time, from pymbar's statistical inefficiency g = 1 + 2 tau.

    A complex series (the global orientational order psi_6) is treated as two series of one
    quantity, its real and its imaginary part.

    Source: Chodera, Swope, Pitera, Seok, Dill, J. Chem. Theory Comput. 3, 26 (2007);
        pymbar.timeseries.

    Args:
        series: real or complex, (n,), equally spaced in time, at equilibrium.
        interval: time between two values, in any unit.
        every_lag: sum over every lag; otherwise over ever longer strides, which takes far less time
            for long tau, and finds a tau of an interval or two a fifth too long.

    Returns:
        tau in the unit of `interval`. It means something only if the series is many tau long.

    Raises:
        ValueError: fewer than 10 values, values that are not finite, or a constant series.
        ImportError: pymbar is not installed.
    """
    series = np.asarray(series)
    if series.ndim != 1 or series.size < 10:
        raise ValueError(f"an autocorrelation time needs 10 values or more, not {series.shape}")
    if not np.isfinite(series).all():
        raise ValueError("the series has values that are not finite")
    if (series == series[0]).all():
        raise ValueError("the series is constant")
    logging.getLogger("pymbar").setLevel(logging.ERROR)  # no banner on import
    try:
        from pymbar.timeseries import statistical_inefficiency_multiple
    except ImportError as error:
        raise ImportError(
            "autocorrelation times need pymbar: pip install 'manymove[test]' or pip install pymbar"
        ) from error
    parts = [series.real, series.imag] if np.iscomplexobj(series) else [series]
    inefficiency = statistical_inefficiency_multiple(
        [p.astype(np.float64) for p in parts], fast=not every_lag
    )
    return (inefficiency - 1) / 2 * interval
