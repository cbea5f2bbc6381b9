# SPDX-License-Identifier: BSD-3-Clause
"""Insertions and deletions of hard particles at given chemical potentials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.errors import ParameterError
from manymove.hard_particles.sizes import Sizes
from manymove.settings import GrandCanonical


def read(given: GrandCanonical | None, sizes: Sizes) -> dict[str, Any]:
    """The parameters of the engine; empty for a constant number of particles.

    Raises:
        ValueError: there are not as many fugacities as types.
    """
    if given is None:
        return {}
    T, value = sizes.kinds, given.fugacity
    if isinstance(value, Mapping):
        for kind in value:
            if not 0 <= kind < T:
                raise ParameterError("fugacity", f"has type {kind}, must be from 0 to {T - 1}")
        value = tuple(value.get(kind, 0.0) for kind in range(T))
    listed = list(value) if isinstance(value, tuple) else [value]
    if len(listed) != T:
        raise ParameterError("fugacity", f"must be one for each of {T} types, got {len(listed)}")
    if not any(listed):
        return {}
    return {
        "fugacities": listed,
        "insertion_attempts": given.attempts,
        "insertion_every": given.every,
    }


class Insertions:
    """What hard particles have in addition whose number changes."""

    _engine: Any
    _parameters: dict[str, Any]
    _sampling: Any
    _profile: Any

    @property
    def fugacity(self) -> float | tuple[float, ...] | None:
        """Fugacity z = exp(mu / kT) / Lambda^D in 1 / length^D, with one value for each type of a
        mixture, 0 for types whose number is constant; None if the number of particles is
        constant."""
        given = self._parameters.get("fugacities")
        if given is None:
            return None
        return float(given[0]) if len(given) == 1 else tuple(given)

    @property
    def insertion_attempts(self) -> int:
        """Number of trial insertions and deletions in each visit of a cell; 0 without them."""
        return self._parameters.get("insertion_attempts", 0)

    @property
    def insertion_every(self) -> int:
        """Number of cycles between insertions and deletions."""
        return self._parameters.get("insertion_every", 1)

    @property
    def insertion_trials(self) -> int:
        """Number of trial insertions since the start."""
        return self._engine.insertion_counters[0]

    @property
    def insertion_acceptance(self) -> float:
        """Ratio of accepted to trial insertions; NaN before the first."""
        return _ratio(*self._engine.insertion_counters)

    @property
    def deletion_trials(self) -> int:
        """Number of trial deletions since the start, those in empty cells included."""
        return self._engine.deletion_counters[0]

    @property
    def deletion_acceptance(self) -> float:
        """Ratio of accepted to trial deletions; NaN before the first."""
        return _ratio(*self._engine.deletion_counters)

    @property
    def number_records(self) -> np.ndarray:
        """Mean number of particles of each finished record of `sample_pressure`, or otherwise of
        `sample_profile`, in a simulation with a fugacity, float64 (K,).

        Raises:
            RuntimeError: the number of particles is constant, or nothing is sampled.
        """
        if self.fugacity is None:
            raise RuntimeError("the number of particles is constant: use N")
        sampling = self._sampling or self._profile
        if sampling is None:
            raise RuntimeError("nothing sampled: call sample_pressure or sample_profile and run")
        sampling.collect()
        if sampling is self._profile:
            return sampling.values[:, 3:].mean(axis=1) * math.prod(self.box)  # type: ignore[attr-defined]
        return sampling.values[:, 1]

    @property
    def density_average(self) -> Estimate:
        """Mean number of particles per volume of the box in a simulation with a fugacity, with its
        standard error by blocking of the records of `sample_pressure` or `sample_profile`.

        Raises:
            RuntimeError: the number of particles is constant, or no record is finished.
        """
        if not len(records := self.number_records):
            raise RuntimeError("no record is finished: run longer")
        return estimate(records) / math.prod(self.box)  # type: ignore[attr-defined]


def _ratio(trials: int, accepted: int) -> float:
    return accepted / trials if trials else math.nan
