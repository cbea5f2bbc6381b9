"""Pictures of adsorption runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manymove.adsorption.averages import Profile
from manymove.analysis.notation import with_error
from manymove.jobs.figures import hollow, new_figure, write_picture


def energy(path: str | Path, records: np.ndarray, summary: dict[str, Any]) -> None:
    """Picture of the energy per system against steps.

    Args:
        path: path of the PNG file.
        records: steps, plain and waste-recycled energies in kelvin, (K, 3).
        summary: summary of the run.
    """
    figure, axes = new_figure(7.0, 4.2)
    recycled = "energy_wrmc_K" in summary
    axes.plot(records[:, 0], records[:, 1], ".", ms=3, alpha=0.6, label="plain")
    if recycled:
        axes.plot(records[:, 0], records[:, 2], ".", ms=3, alpha=0.6, label="waste-recycled")
    value, error = summary["energy_K"], summary["energy_error_K"] or 0.0
    axes.axhspan(value - error, value + error, color="k", alpha=0.15, lw=0)
    axes.axhline(value, color="k", lw=1, label=f"mean {with_error(value, error)} K")
    axes.set(xlabel="steps", ylabel=r"energy of a system, $E / k_B$ (K)", title=state(summary))
    axes.legend(fontsize=8)
    write_picture(path, figure, dpi=160)


def state(summary: dict[str, Any]) -> str:
    """Title of a picture: molecules, framework, temperature, and fugacity of an open system."""
    names = ", ".join(
        f"{number} {name}" if summary["fugacity_bar"] is None else name
        for number, name in zip(summary["molecules"], summary["adsorbates"], strict=True)
    )
    title = f"{names} in {summary['framework']}, {summary['temperature_K']:g} K"
    if summary["fugacity_bar"] is not None:
        fugacities = ", ".join(f"{f:.4g}" for f in np.atleast_1d(summary["fugacity_bar"]))
        title += f", fugacity {fugacities} bar"
    return title


def profile(
    path: str | Path,
    result: Profile,
    along: str | Sequence[int],
    summary: dict[str, Any],
) -> None:
    """Picture of P and of beta F along the direction (the paper's Figure 9).

    Args:
        path: path of the PNG file.
        result: profile of the run.
        along: direction, an axis or Miller indices.
        summary: summary of the run.
    """
    temperature = summary["temperature_K"]
    if isinstance(along, str) or sorted(along) == [0, 0, 1]:
        unit = "Å"
    else:
        unit = "periods"
    figure, axes = new_figure(7.0, 4.2)
    axes.errorbar(result.position, result.probability, result.probability_error, fmt=".-", ms=3,
                  lw=0.8, color="C0")  # fmt: skip
    axes.set(xlabel=f"position along {along} ({unit})", ylabel="probability per bin, P",
             title=state(summary))  # fmt: skip
    right = axes.twinx()
    right.errorbar(result.position, result.free_energy / temperature,
                   result.free_energy_error / temperature, fmt=".-", ms=3, lw=0.8,
                   color="C3")  # fmt: skip
    right.set_ylabel(r"free energy $\beta F$", color="C3")
    axes.yaxis.label.set_color("C0")
    write_picture(path, figure, dpi=160)


def isotherm(path: str | Path, summary: dict[str, Any]) -> None:
    """Picture of the loading against pressure; points whose status is not "ok" are hollow.

    Args:
        path: path of the PNG file.
        summary: summary of all pressures.
    """
    figure, axes = new_figure(7.0, 4.2)
    loadings = np.array(summary["loading_mol_per_kg"]).T
    errors = np.array(summary["loading_error_mol_per_kg"], dtype=float).T
    pressures = np.array(summary["pressure_bar"])
    warned = [status != "ok" for status in summary["status"]]
    for k, (name, loading, error) in enumerate(
        zip(summary["adsorbates"], loadings, errors, strict=True)
    ):
        axes.errorbar(pressures, loading, np.nan_to_num(error), fmt="o-", ms=4, mfc=f"C{k}",
                      color=f"C{k}", lw=0.8, capsize=3,
                      label=f"{name} in {summary['framework']}")  # fmt: skip
        hollow(axes, pressures, loading, warned, "o", f"C{k}")
    if any(warned):
        axes.plot([], [], "o", ms=4, mfc="white", mec="k", label="not known to be equilibrated")
    temperature = summary["runs"][0]["temperature_K"]
    axes.set(xlabel="pressure (bar)", ylabel="loading (mol/kg)", xscale="log",
             title=f"{summary['framework']}, {temperature:g} K")  # fmt: skip
    axes.legend(fontsize=8)
    write_picture(path, figure, dpi=160)
