# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of free energies and of coexisting phases, which need matplotlib (the extra "plot")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from manymove.analysis.notation import Estimate
from manymove.jobs.figures import new_figure, write_picture


def free_energy(path: Path, summary: dict[str, Any]) -> None:
    """Free energies with (1/2) ln(N) / N, against 1/N, and the straight line."""
    figure, axes = new_figure(6.0, 4.0)
    N = np.array([row["N"] for row in summary["sizes"]])
    shift = np.log(N) / (2 * N)
    values = np.array([row["free_energy"] for row in summary["sizes"]]) + shift
    errors = np.array([row["free_energy_error"] for row in summary["sizes"]])
    axes.errorbar(1 / N, values, errors, fmt="o", capsize=3, label="simulations")
    if summary["free_energy"] is not None:
        value, error = summary["free_energy"], summary["free_energy_error"]
        x = np.array([0, 1.05 / N.min()])
        axes.plot(x, value + summary["slope"] * x, color="C0", lw=1)
        label = f"infinitely many: {Estimate(value, error)}"
        axes.errorbar([0], [value], [error], fmt="s", color="C1", capsize=3, label=label)
    axes.set(xlabel="$1/N$", ylabel=r"$F/NkT + \ln(N)/2N$", xlim=(-0.03 / N.min(), None))
    axes.legend(fontsize=9)
    write_picture(path, figure, dpi=130)


def coexistence(path: Path, summary: dict[str, Any]) -> None:
    """Pressures against packing fractions, and the line between the coexisting phases."""
    figure, axes = new_figure(6.0, 4.0)
    phases = {name: summary[name] for name in ("fluid", "crystal", "loop") if name in summary}
    for color, (name, found) in zip(("C0", "C1"), phases.items(), strict=False):
        axes.errorbar(
            found["packing_fractions"], found["pressure"], found["pressure_error"], fmt="o", ms=4,
            color=color, label=name,
        )  # fmt: skip
        if "fit" in found:
            axes.plot(*np.array(found["fit"]).T, color=color, lw=1)
    value, error = summary["pressure"], summary["pressure_error"]
    label = f"coexistence, $P^*$ = {Estimate(value, error)}"
    axes.plot([summary["freezing"], summary["melting"]], [value, value], "ks-", ms=4, label=label)
    axes.set(xlabel=r"packing fraction $\phi$", ylabel="$P^*$")
    axes.legend(fontsize=9)
    write_picture(path, figure, dpi=130)


def vapor_liquid(path: Path, summary: dict[str, Any]) -> None:
    """Temperatures against the densities of vapor and liquid."""
    figure, axes = new_figure(6.0, 4.0)
    for name in ("vapor", "liquid"):
        errors = np.array(summary[f"{name}_density_error"], dtype=float)  # NaN if it is unknown
        axes.errorbar(
            summary[f"{name}_density"], summary["temperatures"], xerr=errors, fmt="o", ms=4,
            capsize=3, label=name,
        )  # fmt: skip
    axes.set(xlabel=r"density $\rho d^3$", ylabel=r"temperature $kT/\epsilon$")
    axes.legend(fontsize=9)
    write_picture(path, figure, dpi=130)
