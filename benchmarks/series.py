"""The loading of a single chain, and its merit: peers of the benchmark adsorption --merit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.analysis.notation import Estimate

_FEW = 20  # autocorrelation times, below which the error is a rough estimate


@dataclass(frozen=True)
class Series:
    """Numbers of molecules of one open system in the order of time.

    Attributes:
        numbers: number of molecules at the start of each cycle, float64 (n,).
        steps: number of steps in each cycle, which is the weight of the state, float64 (n,).
        seconds: wall time of the series.
        acceptance: ratio of accepted to tried insertions and deletions; NaN if it is unknown.
    """

    numbers: np.ndarray
    steps: np.ndarray
    seconds: float
    acceptance: float

    @property
    def autocorrelation_time(self) -> float:
        """Integrated autocorrelation time of the number of molecules, in steps."""
        return autocorrelation_time(self.numbers, float(self.steps.mean()))

    @property
    def loading(self) -> Estimate:
        """Mean number of molecules, with its standard error from the autocorrelation time."""
        mean = float(np.average(self.numbers, weights=self.steps))
        deviations = self.steps * (self.numbers - mean) / self.steps.mean()
        inefficiency = 1 + 2 * autocorrelation_time(deviations)
        variance = float(deviations.var(ddof=1)) * inefficiency / len(deviations)
        return Estimate(mean, math.sqrt(variance))

    def row(self, name: str, device: str) -> dict[str, Any]:
        """The row of the table and of the JSON file; the loading is in molecules.

        A series that has no autocorrelation time, such as one without any exchange, has NaN as its
        error and as its merit, and a warning.
        """
        total = float(self.steps.sum())
        rate = total / self.seconds
        warnings = []
        try:
            loading, correlated = self.loading, self.autocorrelation_time
        except ValueError as reason:
            mean = float(np.average(self.numbers, weights=self.steps)) if total else math.nan
            loading, correlated = Estimate(mean, math.nan), math.nan
            warnings.append(f"no merit: the run of {name} has no error of its loading: {reason}")
        times = total / max(1.0, correlated)
        if times < _FEW:
            warnings.append(
                f"short: the run of {name} has {times:.0f} autocorrelation times, so that its "
                "error is a rough estimate"
            )
        merit = 1 / (loading.error**2 * self.seconds)
        return {
            "molecules": 0,
            "variant": name,
            "systems": 1,
            "trial_states_per_second": rate,
            "steps_per_second": rate,
            "lowest": rate,
            "highest": rate,
            "repeats": 1,
            "acceptance": self.acceptance,
            "measured_steps": int(total),
            "measured_seconds": self.seconds,
            "loading_molecules": loading.value,
            "loading_error_molecules": loading.error,
            "autocorrelation_steps": correlated,
            "figure_of_merit": merit,
            "merit_per_step": merit * self.seconds / total,
            "optimal_merit": merit,
            "device": device,
            "warnings": warnings,
        }


def row_of_processes(processes: Sequence[Series], name: str, device: str) -> dict[str, Any]:
    """The row of equal processes that have run at the same time: the mean of their loadings and the
    sum of their rates. For a single process it is the row of its series."""
    rows = [one.row(f"{name}, process {k + 1}", device) for k, one in enumerate(processes)]
    if len(rows) == 1:
        return processes[0].row(name, device)
    rate = sum(row["steps_per_second"] for row in rows)
    seconds = max(row["measured_seconds"] for row in rows)
    steps = sum(row["measured_steps"] for row in rows)
    loading = sum(row["loading_molecules"] for row in rows) / len(rows)
    error = math.hypot(*(row["loading_error_molecules"] for row in rows)) / len(rows)
    merit = 1 / (error**2 * seconds)
    rates = ("trial_states_per_second", "steps_per_second", "lowest", "highest")
    return {
        **rows[0],
        "variant": name,
        "systems": len(rows),
        **dict.fromkeys(rates, rate),
        "acceptance": sum(row["acceptance"] for row in rows) / len(rows),
        "measured_steps": steps,
        "measured_seconds": seconds,
        "loading_molecules": loading,
        "loading_error_molecules": error,
        "loadings_of_processes_molecules": [row["loading_molecules"] for row in rows],
        "autocorrelation_steps": sum(row["autocorrelation_steps"] for row in rows) / len(rows),
        "figure_of_merit": merit,
        "merit_per_step": merit * seconds / steps,
        "optimal_merit": merit,
        "warnings": [text for row in rows for text in row["warnings"]],
    }
