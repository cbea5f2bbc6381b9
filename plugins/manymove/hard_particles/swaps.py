# SPDX-License-Identifier: BSD-3-Clause
"""Swap moves: exchanges of the diameters, or of the types, of two particles."""

from __future__ import annotations

import math
from typing import Any

from manymove.errors import ParameterError
from manymove.hard_particles.sizes import Sizes
from manymove.settings import Swaps


def read(given: Swaps | None, sizes: Sizes) -> dict[str, Any]:
    """The parameters of the engine; empty without swap moves.

    Raises:
        ValueError: the particles are equal, or types are exchanged within a range of diameters.
    """
    if given is None:
        return {}
    if not sizes.mixed:
        raise ValueError(
            "swap moves exchange the diameters or the types of particles: give an array of "
            "diameters, or a Mixture, as diameter"
        )
    if sizes.types is not None and given.range is not None:
        raise ParameterError("range", "is a difference of diameters: types need no range")
    return {
        "swap_rounds": given.rounds,
        "swap_range": given.range or 0.0,
        "swap_every": given.every,
    }


class SwapMoves:
    """What hard particles with swap moves have in addition."""

    _engine: Any
    _parameters: dict[str, Any]
    _sizes: Sizes

    @property
    def _swaps_diameters(self) -> bool:
        return self.swap_rounds > 0 and self._sizes.diameters is not None

    @property
    def swap_rounds(self) -> int:
        """Number of rounds of swap moves for each set of cells; 0 without swap moves."""
        return self._parameters.get("swap_rounds", 0)

    @property
    def swap_range(self) -> float:
        """Largest difference of the diameters of a pair that is exchanged; infinite by default, and
        for types."""
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
