# SPDX-License-Identifier: BSD-3-Clause
"""Relaxation of equal disks near the transitions of liquid, hexatic phase and solid."""

from __future__ import annotations

import math


def near_freezing(packing_fraction: float, particles: int | None = None) -> bool:
    """Whether equal disks relax so slowly that blocking errors of most runs are too small.

    Args:
        packing_fraction: packing fraction; at constant pressure the mean.
        particles: number of disks at constant pressure. A piece of a run may then have a mean that
            is lower by two standard deviations, 0.13 / sqrt(N) each (measured with 256 disks,
            docs/benchmarks/hard_disks_physics.md).
    """
    below = 0.26 / math.sqrt(particles) if particles else 0.0
    return 0.695 - below <= packing_fraction <= 0.722


def known_relaxation(
    particles: int, packing_fraction: float, constant_pressure: bool = False
) -> float | None:
    """The autocorrelation time of psi_6 in sweeps near freezing, as docs/benchmarks/hard_disks.md
    has it at 0.698: 1.6e5 with 4,096 disks and 7e5 with 65,536, therefore as the root of the
    number. None at other densities."""
    slow = near_freezing(packing_fraction, particles if constant_pressure else None)
    return 1.6e5 * math.sqrt(particles / 4096) if slow else None


def relaxations(
    sweeps: float, particles: int, packing_fraction: float, constant_pressure: bool = False
) -> float:
    """Length of a run of equal disks in relaxation times of the pressure, for
    `manymove.analysis.estimate`; infinite at densities where the records show these times."""
    time = known_relaxation(particles, packing_fraction, constant_pressure)
    return math.inf if time is None else sweeps / time
