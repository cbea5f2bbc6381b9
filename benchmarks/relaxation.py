# SPDX-License-Identifier: BSD-3-Clause
"""The structural relaxation time of hard particles, next to the trial moves per second.

Trial moves of two programs are not worth the same, because their settings and the shapes of their
moves differ. Therefore both programs run until the self-intermediate scattering function F_s at
k d = 2 pi is 1/e.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from manymove.analysis.scattering import self_intermediate_scattering
from manymove.bench.harness import Row, Variant

WAVE_NUMBER = 2 * math.pi  # times the diameter
GROWTH = 1.15  # of the time between two looks
FIRST = 16  # sweeps until the first look


def add_relaxation(
    result: Row,
    variant: Variant,
    positions: Callable[[], np.ndarray],
    box: tuple[float, ...],
    diameter: float,
    limit: float,
) -> None:
    """Add the relaxation time in sweeps and in seconds to a row.

    Args:
        result: row of the variant, to which keys are added.
        variant: variant that runs the particles.
        positions: function that returns the present positions.
        box: edges of the box.
        diameter: diameter of the particles.
        limit: time in seconds after which the measurement ends without a result.
    """
    N, rate = result["particles"], result["trial_moves_per_second"]
    start = positions()
    curve: list[tuple[float, float]] = [(0.0, 1.0)]
    trial_moves, wanted = 0, float(FIRST)
    found = None
    while found is None and trial_moves < limit * rate:
        trial_moves += variant.run(max(1, round(wanted - trial_moves / N)))[0]
        now = self_intermediate_scattering(start, positions(), box, WAVE_NUMBER / diameter)
        curve.append((trial_moves / N, now))
        wanted = max(wanted, curve[-1][0]) * GROWTH
        found = crossing(curve)
    result |= {
        "relaxation_sweeps": found,
        "relaxation_seconds": None if found is None else found * N / rate,
        "relaxation_curve": [[round(sweeps, 2), round(value, 5)] for sweeps, value in curve],
    }


def crossing(curve: list[tuple[float, float]]) -> float | None:
    """Time at which F_s falls below 1/e, from its last two values; None before that.

    Between the values the logarithm of F_s is a straight line.
    """
    (t0, f0), (t1, f1) = curve[-2:]
    if f1 > math.exp(-1):
        return None
    if f1 <= 0:
        return t0 + (t1 - t0) * (f0 - math.exp(-1)) / (f0 - f1)
    return t0 + (t1 - t0) * (math.log(f0) + 1) / (math.log(f0) - math.log(f1))


def relaxation_words(row: dict[str, Any]) -> list[str]:
    """The result of `add_relaxation` for a table."""
    if "relaxation_sweeps" not in row:
        return []
    if row["relaxation_sweeps"] is None:
        return ["F_s is above 1/e at the end"]
    return [f"relaxes in {row['relaxation_sweeps']:.3g} sweeps, {row['relaxation_seconds']:.3g} s"]
