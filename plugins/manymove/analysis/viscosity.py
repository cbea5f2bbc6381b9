# SPDX-License-Identifier: BSD-3-Clause
"""Shear viscosity from the fluctuations of the pressure tensor."""

from __future__ import annotations

import numpy as np

from manymove.analysis.autocorrelation import correlation_of


def green_kubo_viscosity(
    pressure: np.ndarray,
    interval: float,
    *,
    volume: float,
    temperature: float,
    window: float,
) -> np.ndarray:
    """Running Green-Kubo integral of the shear viscosity of a fluid with any pair forces.

    The integral over the time t is V / (kB T) (C(0) / 2 + C(dt) + C(2 dt) + ... + C(t)) dt, where C
    is the mean autocorrelation of the five independent components of the traceless symmetric
    pressure tensor. The viscosity is its value where it no longer changes with t. The means of
    these components are zero, because the fluid is isotropic, and are not subtracted.

    Dissipative and random forces belong to the pressure tensor, because they carry momentum. The
    random forces have a correlation time of zero. Therefore the tensor of every step is needed, and
    the first term, C(0) dt / 2, contains a finite contribution of the random forces.

    Source: D. C. Malaspina, M. Lisal, J. P. Larentzos, J. K. Brennan, A. D. Mackie, J. B. Avalos,
        Phys. Chem. Chem. Phys. 25, 12025 (2023) and 26, 1328 (2024), for fluids with dissipative
        and random forces; P. J. Daivis, D. J. Evans, J. Chem. Phys. 100, 541 (1994) for the mean
        over components.

    Args:
        pressure: pressure tensor of every time step, float64 (n, 6): xx, yy, zz, xy, xz, yz.
        interval: length of a time step.
        volume: volume of the box.
        temperature: kB T in the unit of energy.
        window: longest time of the integral, at most a tenth of the length of the series.

    Returns:
        the integral at the times 0, dt, 2 dt, ..., window, float64.

    Raises:
        ValueError: the shape is wrong, a value is not finite, an argument is not positive, or the
            series is too short for the window.
    """
    pressure = np.asarray(pressure, float)
    if pressure.ndim != 2 or pressure.shape[1] != 6:
        raise ValueError(f"the pressure tensor needs the shape (n, 6), got {pressure.shape}")
    if not np.isfinite(pressure).all():
        raise ValueError("the pressure tensor has values that are not finite")
    arguments = {
        "interval": interval,
        "volume": volume,
        "temperature": temperature,
        "window": window,
    }
    for name, value in arguments.items():
        if not 0 < value < np.inf:
            raise ValueError(f"{name} must be positive, got {value}")
    lags = round(window / interval)
    if len(pressure) < 10 * max(lags, 1):
        raise ValueError(
            f"a window of {lags} steps needs {10 * max(lags, 1)} steps or more, got {len(pressure)}"
        )
    diagonal = pressure[:, :3] - pressure[:, :3].mean(axis=1, keepdims=True)
    # Each off-diagonal component is there twice; ten components in all, five of them independent.
    series = np.concatenate([diagonal, np.sqrt(2) * pressure[:, 3:]], axis=1)
    # correlation_of() is the mean over the six columns.
    correlation = correlation_of(series.T)[: lags + 1] * (6 / 10)
    correlation[0] /= 2
    return volume / temperature * interval * np.cumsum(correlation)
