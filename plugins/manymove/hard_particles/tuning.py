"""Search for the displacement and the number of moves per cell with the fastest decorrelation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manymove import arguments
from manymove.analysis.autocorrelation import autocorrelation_time


@dataclass(frozen=True)
class Tuning:
    """A setting that `tune` of `manymove.HardDisks` or `manymove.HardSpheres` has measured.

    Attributes:
        max_displacement: maximum trial displacement along each axis, in the unit of the positions.
        moves_per_cell: number of trial moves per visit of a cell, n_m.
        acceptance: ratio of accepted to trial moves.
        autocorrelation_sweeps: autocorrelation time in sweeps, of the global psi_6 of equal disks
            and of the longest density modes of spheres and mixtures.
        autocorrelation_seconds: the same time in seconds of wall time, which is minimized.
        reliable: whether the series was at least fifty autocorrelation times long.
    """

    max_displacement: float
    moves_per_cell: int
    acceptance: float
    autocorrelation_sweeps: float
    autocorrelation_seconds: float
    reliable: bool


def tune(
    particles: Any,
    make: Callable[[float, int, int], Any],
    max_displacements: Iterable[float],
    moves_per_cell: Iterable[int],
    sweeps: float,
    every: float | None,
) -> tuple[Any, list[Tuning]]:
    """Implementation of the method `tune`.

    `make` returns a simulation of the same particles for a displacement, n_m, and a number of trial
    moves between two shifts.

    Returns:
        a simulation with the best setting, and all settings.
    """
    best: Tuning | None = None
    tried: list[Tuning] = []
    per_shift = particles.rounds * particles.moves_per_cell
    displacements = [
        arguments.positive_and_finite("max_displacements", d) * particles.diameter
        for d in max_displacements
    ]
    settings = [(d, particles.moves_per_cell) for d in displacements]
    counts = [arguments.count("moves_per_cell", n) for n in moves_per_cell]
    if not settings or not counts:
        raise ValueError("tune needs at least one displacement and one number of moves")
    if not 0 < sweeps < math.inf or (every is not None and not 0 < every <= sweeps / 10):
        raise ValueError(
            f"tune needs ten values of a series, got sweeps {sweeps} and every {every}"
        )
    for stage in range(2):
        if stage == 1:
            assert best is not None
            settings = [(best.max_displacement, n) for n in counts if n != best.moves_per_cell]
        for displacement, n in settings:
            trial = make(displacement, n, per_shift)
            result = _decorrelation(trial, sweeps, every or sweeps / 1000)
            tried.append(result)
            if best is None or (not result.reliable, result.autocorrelation_seconds) < (
                not best.reliable,
                best.autocorrelation_seconds,
            ):
                best = result
    assert best is not None
    tried.remove(best)
    chosen = make(best.max_displacement, best.moves_per_cell, per_shift)
    return chosen, [best, *tried]


def _decorrelation(particles: Any, sweeps: float, every: float) -> Tuning:
    particles.run(0.1 * sweeps)
    series, start, moves, seconds = [], particles.sweeps, particles.trial_moves, particles.seconds
    accepted = particles.accepted_moves
    for _ in range(math.ceil(sweeps / every)):
        particles.run(every)
        series.append(particles.slow_quantities())
    spacing = (particles.sweeps - start) / len(series)
    time_in_samples = autocorrelation_time(np.array(series))
    in_sweeps = time_in_samples * spacing
    per_sweep = (particles.seconds - seconds) / (particles.sweeps - start)
    return Tuning(
        max_displacement=particles.max_displacement,
        moves_per_cell=particles.moves_per_cell,
        acceptance=(particles.accepted_moves - accepted) / (particles.trial_moves - moves),
        autocorrelation_sweeps=in_sweeps,
        autocorrelation_seconds=in_sweeps * per_sweep,
        reliable=50 * time_in_samples <= len(series),
    )
