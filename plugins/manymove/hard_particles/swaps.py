# SPDX-License-Identifier: BSD-3-Clause
"""Swap moves: exchanges of the diameters of two particles."""

from __future__ import annotations

import math
from typing import Any

from manymove import arguments
from manymove.hard_particles.sizes import Sizes


def read(settings: dict[str, Any], given: Sizes) -> dict[str, Any]:
    """The parameters of the engine; empty without swap moves.

    Raises:
        ValueError: the particles have no diameters of their own, or an option is out of range.
    """
    rounds = settings["swap_rounds"]
    if rounds is None:
        wrong = [name for name in ("swap_range", "swap_every") if settings[name] is not None]
        if wrong:
            raise ValueError(f"{wrong[0]} belongs to swap_rounds: give both")
        return {}
    if given.diameters is None:
        raise ValueError(
            "swap_rounds: swap moves exchange the diameters of particles: give diameters"
        )
    return {
        "swap_rounds": arguments.count("swap_rounds", rounds, most=1000),
        "swap_range": arguments.positive_or_default("swap_range", settings["swap_range"]),
        "swap_every": arguments.count_or_default("swap_every", settings["swap_every"]),
    }


class SwapMoves:
    """What hard particles with swap moves have in addition."""

    _engine: Any
    _parameters: dict[str, Any]

    @property
    def swap_rounds(self) -> int:
        """Number of rounds of swap moves for each set of cells; 0 without swap moves."""
        return self._parameters.get("swap_rounds", 0)

    @property
    def swap_range(self) -> float:
        """Largest difference of the diameters of a pair that is exchanged; infinite by default."""
        return self._parameters.get("swap_range") or math.inf

    @property
    def swap_every(self) -> int:
        """Number of cycles between swap moves."""
        return self._parameters.get("swap_every") or 1

    @property
    def swap_trials(self) -> int:
        """Number of trial swaps since the start."""
        return self._engine.swap_counters[0] if self.swap_rounds else 0

    @property
    def swap_acceptance(self) -> float:
        """Ratio of accepted to trial swaps; NaN before the first."""
        trials, accepted = self._engine.swap_counters if self.swap_rounds else (0, 0)
        return accepted / trials if trials else math.nan
