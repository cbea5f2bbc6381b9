# SPDX-License-Identifier: BSD-3-Clause
"""Constant pressure: trial changes of the volume between cycles, and samples of the volume."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from manymove import arguments
from manymove.analysis.autocorrelation import relaxation_time
from manymove.analysis.blocking import ENOUGH, estimate
from manymove.analysis.notation import Estimate
from manymove.errors import ParameterError
from manymove.hard_particles.sampling import VolumeSampling
from manymove.hard_particles.sizes import Sizes
from manymove.settings import BOX_MOVES, ConstantPressure

# What a checkpoint has of the box; the last two if there are several kinds of trial changes.
BOX_STATE = ("volume", "extent", "logarithms", "box_moves")
ACCEPTANCE = 0.3  # the default of `tune_volume`


def read(given: ConstantPressure | None, sizes: Sizes, dimensions: int) -> dict[str, Any]:
    """The parameters of the engine; empty at constant volume.

    Raises:
        ValueError: the number of maximum changes is not that of the edges.
    """
    if given is None:
        return {}
    delta: Any = given.delta
    maxima: dict[str, Any] = dict(delta or {}) if given.weights else {"one": delta}
    shares: dict[str, Any] = {}
    for kind, maximum in maxima.items():
        if not isinstance(maximum, tuple):
            continue
        if len(maximum) != dimensions:
            raise ParameterError("delta", f"must have {dimensions} numbers, got {maximum}")
        maxima[kind] = most = max(maximum)
        shares = {"edge_shares": [each / most for each in maximum]}
    several: dict[str, Any] = {}
    if given.weights:
        several["box_weights"] = [given.weights.get(kind, 0.0) for kind in BOX_MOVES]
        several["box_deltas"] = [maxima.get(kind, 0.0) for kind in BOX_MOVES]
    return {
        "beta_pressure": given.pressure / sizes.mean(dimensions) ** dimensions,
        "ln_volume": given.mode == "ln" and not several,
        "edges_apart": given.mode == "length" or bool(several),
        "volume_delta": maxima.get("one") or 0.0,
        **shares,
        **several,
        "volume_repeats": given.repeats or 0,
        "volume_every": given.every,
    }


class VolumeMoves:
    """What hard particles at constant pressure have in addition."""

    _DIMENSIONS: ClassVar[int]
    _engine: Any
    _grid: dict[str, Any]
    _parameters: dict[str, Any]
    _given: dict[str, Any] | None
    _sizes: Sizes
    _volumes: VolumeSampling | None

    @property
    def constant_pressure(self) -> float | None:
        """Pressure P* = beta P d^D of a simulation at constant pressure; None at constant
        volume."""
        beta_pressure = self._parameters.get("beta_pressure")
        return beta_pressure and beta_pressure * self._sizes.mean(self._DIMENSIONS) ** (
            self._DIMENSIONS
        )

    @property
    def volume_mode(self) -> str:
        """Coordinate in which trial changes of the box are uniform: "ln" for ln V, "standard" for
        V, "length" for one edge at a time, or "mixed" for several kinds with `weights`."""
        self._of_pressure("edges_apart")
        if self._box_weights:
            return "mixed"
        if self._parameters["edges_apart"]:
            return "length"
        return "ln" if self._of_pressure("ln_volume") else "standard"

    @property
    def volume_delta(self) -> float | tuple[float, ...] | dict[str, float | tuple[float, ...]]:
        """Maximum trial change of ln V, of V in the mode "standard", or of an edge in the mode
        "length", with one number for each edge if the maxima differ. In the mode "length" it is the
        maximum for the initial edges and grows in proportion to the edge. If there are several
        kinds of trial changes, it is a dictionary with the maximum of each kind."""
        self._of_pressure("volume_delta")
        shares = self._parameters.get("edge_shares")

        def of_edges(most: float) -> float | tuple[float, ...]:
            return most if shares is None else tuple(most * share for share in shares)

        if not self._box_weights:
            return of_edges(self._grid["volume_delta"])
        maxima = dict(zip(BOX_MOVES, self._grid["box_deltas"], strict=True))
        return {
            kind: of_edges(maxima[kind]) if kind == "length" else maxima[kind]
            for kind in self._box_weights
        }

    @property
    def _box_weights(self) -> dict[str, float]:
        """The weights of several kinds of trial changes; empty if there is one kind."""
        weights = self._parameters.get("box_weights") or (0.0,) * len(BOX_MOVES)
        return {kind: each for kind, each in zip(BOX_MOVES, weights, strict=True) if each}

    @property
    def box_moves(self) -> dict[str, tuple[int, int]]:
        """Numbers of trial and of accepted changes of each kind since the start, for a simulation
        with several kinds; empty if there is one kind."""
        counts = dict(zip(BOX_MOVES, self._engine.box_counters, strict=True))
        return {kind: counts[kind] for kind in self._box_weights}

    @property
    def volume_repeats(self) -> int:
        """Number of trial changes of the volume after `volume_every` cycles."""
        self._of_pressure("volume_repeats")
        return self._grid["volume_repeats"]

    @property
    def volume_every(self) -> int:
        """Number of cycles between trial changes of the volume."""
        self._of_pressure("volume_every")
        return self._grid["volume_every"]

    @property
    def volume_trials(self) -> int:
        """Number of trial changes of the volume, or of edges, since the start."""
        self._of_pressure("volume_repeats")
        return self._engine.volume_counters[0]

    @property
    def volume_acceptance(self) -> float:
        """Ratio of accepted to trial changes of the volume, or of edges; NaN before the first."""
        self._of_pressure("volume_repeats")
        trials, accepted = self._engine.volume_counters
        return accepted / trials if trials else math.nan

    def _of_pressure(self, name: str) -> Any:
        if self._in_gibbs_ensemble:  # type: ignore[attr-defined]
            raise RuntimeError("the volume is exchanged: the GibbsEnsemble has its records")
        if name not in self._parameters:
            raise RuntimeError("the volume is constant: give pressure when the object is created")
        return self._parameters[name]

    @property
    def volume(self) -> float:
        """Volume of the box, or its area in two dimensions."""
        return math.prod(self.box)  # type: ignore[attr-defined]

    # ---- samples ---------------------------------------------------------------------------------

    def sample_volume(self, record: float | None) -> None:
        """Sample the volume after every cycle of the following runs.

        Args:
            record: number of sweeps per record, rounded to whole cycles; None stops sampling.

        Raises:
            RuntimeError: the volume is constant.
            ValueError: the number is not positive or not below 1e15.
        """
        self._of_pressure("volume_repeats")
        if record is not None and not 0 < record < 1e15:
            raise ValueError(f"record must be positive and below 1e15 sweeps, got {record}")
        if record is None:
            self._engine.set_volume_sampling(0)
            self._volumes = None
        else:
            self._volumes = self._sampling_of_volume(max(1, self._cycles_in(record)))  # type: ignore[attr-defined]

    def _sampling_of_volume(self, record: int) -> VolumeSampling:
        return VolumeSampling(self._engine, record, self._engine.counters[0])

    def _volume_means(self) -> np.ndarray:
        """Means of V, V^2 and 1/V of each finished record, float64 (K, 3)."""
        self._of_pressure("volume_repeats")
        if self._volumes is None:
            raise RuntimeError("nothing sampled: call sample_volume(record=...) and run")
        self._volumes.collect()
        return self._volumes.values

    @property
    def volume_records(self) -> np.ndarray:
        """Mean volume of each finished record, float64 (K,)."""
        return self._volume_means()[:, 0]

    @property
    def packing_fraction_records(self) -> np.ndarray:
        """Mean packing fraction of each finished record, float64 (K,)."""
        return self.packing_fraction * self.volume * self._volume_means()[:, 2]  # type: ignore[attr-defined]

    @property
    def volume_sweeps(self) -> np.ndarray:
        """Number of sweeps at the end of each record, float64 (K,)."""
        return self._cycles_of_volumes * self._mean_cycle  # type: ignore[attr-defined]

    @property
    def _cycles_of_volumes(self) -> np.ndarray:
        """Number of cycles at the end of each record of the volume."""
        self._volume_means()
        return self._volumes.cycles - self._parameters["first_cycle"]  # type: ignore[union-attr]

    @property
    def packing_fraction_average(self) -> Estimate:
        """Mean packing fraction with its standard error by blocking of the records.

        The volume relaxes over hundreds of sweeps. If the mean of equal disks is between
        0.695 - 0.26 / sqrt(N) and 0.722, the error is multiplied by a factor of up to 3, as in
        `pressure_average`. If the blocking error has not converged, or the records are shorter than
        20 relaxation times, the error is a lower bound. Then `converged` is False, and a
        UserWarning is issued.

        Raises:
            RuntimeError: no record is finished.
        """
        records = self.packing_fraction_records
        if not len(records):
            raise RuntimeError("no record of the volume is finished: run longer")
        mean = float(records.mean())
        found = self._average(records, self._volumes.length, mean)  # type: ignore
        return self._warned(found, "mean packing fraction")

    @property
    def compressibility(self) -> Estimate:
        """Isothermal compressibility rho kT kappa_T = N (<V^2> - <V>^2) / <V>^2 of the records,
        with its standard error. The error is the larger one of the blocking error and the error of
        a Gaussian volume with an exponential correlation. If it is a lower bound, a warning is
        issued as by `packing_fraction_average`.

        Raises:
            RuntimeError: no record is finished.
        """
        means = self._volume_means()
        if not len(means):
            raise RuntimeError("no record of the volume is finished: run longer")
        V = means[:, 0].mean()
        # The variance about the mean of all records, a linear average of the records. The variance
        # about the exact mean is larger by the variance of the mean, which is not negligible,
        # because volumes are correlated over many records.
        missing = estimate(means[:, 0]).error ** 2 if len(means) > 1 else 0.0
        squares = means[:, 1] - 2 * V * means[:, 0] + V**2 + missing
        found = estimate(squares * (self.N / V**2))  # type: ignore[attr-defined]
        # A volume with n independent values has the variance of its mean, sigma^2 / n. Its squares
        # decay twice as fast, so that the relative error of sigma^2 is sqrt(2 / 2 n).
        gaussian = found.value * math.sqrt(missing / squares.mean()) if missing else 0.0
        return self._warned(replace(found, error=max(found.error, gaussian)), "compressibility")

    def _warned(self, found: Estimate, what: str) -> Estimate:
        """The estimate, with a warning if its error is a lower bound."""
        volumes = self._volume_means()[:, 0]
        if found.converged and len(volumes) >= ENOUGH * (relaxation_time([volumes], 1.0) or 0.0):
            return found
        warnings.warn(
            f"the error of the {what} is a lower bound, because the volume is correlated over much "
            "of the run: run longer",
            stacklevel=3,
        )
        return replace(found, converged=False)

    # ---- tuning ----------------------------------------------------------------------------------

    def tune_volume(
        self, sweeps: float = 2000, *, acceptance: float = ACCEPTANCE
    ) -> float | tuple[float, ...] | dict[str, float | tuple[float, ...]]:
        """Adjust `volume_delta` to an acceptance, before a production run. If there is one number
        per edge, their ratios are kept; each of several kinds of trial changes is adjusted.

        The run is part of the equilibration: the particles move and the volume changes. Sampling of
        the volume ends.

        Args:
            sweeps: number of sweeps, in ten parts after each of which the step is adjusted.
            acceptance: wanted ratio of accepted to trial changes.

        Returns:
            the new `volume_delta`.

        Raises:
            RuntimeError: the volume is constant.
            ValueError: a number is out of range.
        """
        self._of_pressure("volume_repeats")
        if not 0 < acceptance < 1:
            raise ValueError(f"acceptance must be between 0 and 1, got {acceptance}")
        arguments.positive_and_finite("sweeps", sweeps)
        for _ in range(10):
            before = self._trials_of_box()
            self.run(sweeps / 10)  # type: ignore[attr-defined]
            self._adjust_delta(before, acceptance)
        return self.volume_delta

    def _trials_of_box(self) -> Any:
        """Numbers of trial and of accepted changes, of each kind if there are several."""
        core = self._engine
        return core.box_counters if self._box_weights else core.volume_counters

    def _adjust_delta(self, before: Any, acceptance: float = ACCEPTANCE) -> None:
        """Change `volume_delta` in proportion to the acceptance since the counters had the values
        `before`, by a factor from 0.3 to 3."""
        trials, accepted = np.subtract(self._trials_of_box(), before).T
        if np.any(trials):
            share = accepted / np.maximum(trials, 1) / acceptance
            factor = np.where(trials > 0, np.clip(share, 0.3, 3.0), 1.0)
            name = "box_deltas" if self._box_weights else "volume_delta"
            self._change_delta(np.array(self._grid[name]) * factor)

    def _change_delta(self, delta: Any) -> None:
        """Continue with another maximum change of the volume, or those of several kinds, the
        largest possible if they are too large."""
        name = "box_deltas" if self._box_weights else "volume_delta"
        self._parameters[name] = np.minimum(delta, self._grid[f"largest_{name}"]).tolist()
        if self._swaps_diameters:  # type: ignore[attr-defined]
            self._sizes = replace(self._sizes, diameters=self.diameters)  # type: ignore[attr-defined]
        run = {name: getattr(self, f"_{name}") for name in ("goal", "sweeps_per_cycle")}
        kept = {name: getattr(self, name) for name in ("_seconds", "_repaired")}
        self._adopt_snapshot(self._engine.snapshot())  # type: ignore[attr-defined]
        self.__dict__.update(kept)
        self._proceed(run)  # type: ignore[attr-defined]
        if self._given is not None:
            given = self._given["pressure"]
            moves = given if isinstance(given, ConstantPressure) else ConstantPressure(given)
            self._given["pressure"] = replace(moves, delta=self.volume_delta)
