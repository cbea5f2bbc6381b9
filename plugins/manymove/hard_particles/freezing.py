# SPDX-License-Identifier: BSD-3-Clause
"""Relaxation of equal disks near the transitions of liquid, hexatic phase and solid."""

from __future__ import annotations

import math


def near_freezing(packing_fraction: float, deviation: float = 0.0) -> bool:
    """Whether equal disks relax so slowly that blocking errors of most runs are too small.

    Args:
        packing_fraction: packing fraction; at constant pressure the mean.
        deviation: standard deviation of the packing fraction at constant pressure. Small systems
            visit the range in which disks relax slowly, also if their mean is outside.
    """
    return 0.695 - deviation <= packing_fraction <= 0.722 + deviation


def known_relaxation(
    particles: int, packing_fraction: float, deviation: float = 0.0
) -> float | None:
    """The autocorrelation time of psi_6 in sweeps near freezing, as docs/benchmarks/hard_disks.md
    has it at 0.698: 1.6e5 with 4,096 disks and 7e5 with 65,536, therefore as the root of the
    number. None at other densities. With replica exchange of 256 disks it is 3e3 to 3e4 instead of
    4e4 (docs/benchmarks/hard_disks_physics.md)."""
    slow = near_freezing(packing_fraction, deviation)
    return 1.6e5 * math.sqrt(particles / 4096) if slow else None


def relaxations(
    sweeps: float, particles: int, packing_fraction: float, deviation: float = 0.0
) -> float:
    """Length of a run of equal disks in relaxation times of the pressure, for
    `manymove.analysis.estimate`; infinite at densities where the records show these times."""
    time = known_relaxation(particles, packing_fraction, deviation)
    return math.inf if time is None else sweeps / time
