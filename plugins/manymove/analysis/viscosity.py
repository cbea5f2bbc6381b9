# SPDX-License-Identifier: BSD-3-Clause
"""Shear viscosity from the fluctuations of the pressure tensor, and from Poiseuille flow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from manymove.analysis.autocorrelation import correlation_of
from manymove.errors import ParameterError

_FEWEST_TIMES = 5  # relaxation times of a flow in a measurement
_LARGEST_DRIFT = 4  # standard errors: one false alarm in 16,000


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
        the integral at the times 0, dt, 2 dt, ..., window, float64. Its error follows from the
        scatter of the integrals of independent runs, or of parts of a run.

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
            raise ParameterError(name, f"must be positive, got {value}")
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


@dataclass(frozen=True)
class DoublePoiseuille:
    """Flow in a periodic box with a force on the particles of one half and the opposite force on
    the others, from the start of a run to the end of a measurement.

    In each half of width L the velocity of the stationary flow is rho g / (2 eta) x (L - x). Its
    slowest mode relaxes with the time rho L^2 / (pi^2 eta).

    Source: J. A. Backer, C. P. Lowe, H. C. J. Hoefsloot, P. D. Iedema, J. Chem. Phys. 122, 154503
        (2005).

    Attributes:
        density: mass density rho.
        half: width L of one half.
        force: force g on a particle per mass.
        temperature: kB T per mass of a particle.
        particles: number of particles.
        settled: time before the measurement.
        length: time of the measurement.
        missing: share of the stationary flow that is missing at the start; 1 at rest.
    """

    density: float
    half: float
    force: float
    temperature: float
    particles: int
    settled: float
    length: float
    missing: float = 1.0

    def viscosity(self, velocity: float) -> float:
        """Viscosity eta from the mean velocity of a half, relative to the center of mass."""
        return self.density * self.force * self.half**2 / (12 * velocity)

    def relaxation_time(self, viscosity: float) -> float:
        """Relaxation time of the slowest mode."""
        return self.density * self.half**2 / (math.pi**2 * viscosity)

    def error(self, viscosity: float) -> float:
        """Standard error of the viscosity of one run, from the thermal fluctuations of the flow.

        The difference of the mean velocities of the halves, divided by two, has the variance
        kB T / N. It is a sum over the odd modes n, which have the shares 8 / (pi n)^2 of the
        variance and relax n^2 times as fast as the first one.
        """
        velocity = self.viscosity(viscosity)  # the relation is its own inverse
        times = math.pi**2 / 12 * self.relaxation_time(viscosity)
        variance = 2 * self.temperature * times / (self.particles * self.length)
        return abs(viscosity / velocity) * math.sqrt(variance) if viscosity > 0 else math.nan

    def warnings(self, viscosity: float, error: float, runs: int, drift: float) -> list[str]:
        """Reasons why the viscosity of the stationary flow may be wrong.

        Args:
            viscosity: mean viscosity of all runs.
            error: its standard error.
            runs: number of independent runs.
            drift: viscosity of the second half of the measurement minus the viscosity of the first
                half, averaged over all runs.
        """
        time = self.relaxation_time(viscosity)
        if not time > 0:
            return ["the flow is not along the forces: make the run longer or the forces stronger"]
        found = []
        if self.length < _FEWEST_TIMES * time:
            found.append(
                f"the measurement of {self.length:.3g} is {self.length / time:.1f} relaxation "
                f"times of the flow long, but {_FEWEST_TIMES} are needed: make it longer"
            )
        bias = viscosity * self.missing * time / self.length * math.exp(-self.settled / time)
        if bias > error:
            found.append(
                f"the flow was still developing: after a time of {self.settled:.3g} the viscosity "
                f"is off by about {bias:.2g}, more than its error: let the flow settle longer"
            )
        # Each half has twice the variance of the whole.
        if abs(drift) > _LARGEST_DRIFT * 2 * self.error(viscosity) / math.sqrt(runs):
            found.append(
                f"the flow was not stationary: the viscosity changes by {drift:.2g} from the first "
                "half of the measurement to the second: let the flow settle longer"
            )
        return found
