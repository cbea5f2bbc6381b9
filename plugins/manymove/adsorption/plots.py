"""Pictures of adsorption runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manymove.adsorption.density import AXES, corners_of
from manymove.adsorption.estimates import Profile
from manymove.adsorption.loadings import UNITS
from manymove.jobs.figures import draw_records, hollow, new_figure, new_panels, write_picture


def energy(path: str | Path, records: np.ndarray, summary: dict[str, Any]) -> None:
    """Picture of the energy per system against steps.

    Args:
        path: path of the PNG file.
        records: steps, plain and waste-recycled energies in kelvin, (K, 3).
        summary: summary of the run.
    """
    figure, axes = new_figure(7.0, 4.2)
    if "energy_wrmc_K" in summary:  # larger rings, which do not hide the other series
        axes.plot(records[:, 0], records[:, 2], "o", ms=5, mfc="none", mew=0.6, color="C1",
                  label="records, waste-recycled")  # fmt: skip
    mean = summary["energy_K"], summary["energy_error_K"]
    draw_records(axes, [(records[:, 0], records[:, 1])], mean, "K")
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
                   result.free_energy_error / temperature, fmt="s--", ms=3, mfc="none", lw=0.8,
                   color="C3")  # fmt: skip
    right.set_ylabel(r"free energy $\beta F$", color="C3")
    axes.yaxis.label.set_color("C0")
    write_picture(path, figure, dpi=160)


def density(
    path: str | Path, molecules: np.ndarray, edges: np.ndarray, axis: str, summary: dict[str, Any]
) -> None:
    """Picture of the density in the unit cell, projected along an edge.

    Args:
        path: path of the PNG file.
        molecules: molecules in each bin of a unit cell, (species, bins, bins).
        edges: edges of the unit cell across the axis in angstrom, (2, 3).
        axis: edge along which the density is projected.
        summary: summary of the run.
    """
    corners = corners_of(edges, molecules.shape[-1])
    area = np.linalg.norm(np.cross(*edges)) / molecules.shape[-1] ** 2
    width = max(4.5, 4.2 * len(molecules))
    figure, panels = new_panels((width, 4.2), (1, len(molecules)))
    names = [name for name in AXES if name != axis]
    for panel, part, name in zip(panels[0], molecules, summary["adsorbates"], strict=True):
        mesh = panel.pcolormesh(*np.moveaxis(corners, -1, 0), part / area, cmap="viridis",
                                rasterized=True)  # fmt: skip
        figure.colorbar(mesh, ax=panel, label="molecules per unit cell and Å$^2$")
        panel.set(aspect="equal", xlabel=f"{names[0]} (Å)", ylabel=f"{names[1]} (Å)",
                  title=f"{name}, along {axis}")  # fmt: skip
    figure.suptitle(state(summary), fontsize=9)
    write_picture(path, figure, dpi=130)


def published(path: str | Path) -> dict[str, Any]:
    """Published loadings for the picture of an isotherm, from a table in CSV.

    The first line names the columns: `pressure_bar`, `loading` in the unit of the picture, and, if
    present, `loading_error` and `adsorbate`. Text after a "#" is a comment.

    Returns:
        the `label` (the file's name without the suffix), and the columns as lists.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not such a table.
    """
    path = Path(path)
    lines = [line.split("#")[0].strip() for line in path.read_text("utf-8-sig").splitlines()]
    rows = [[word.strip() for word in line.split(",")] for line in lines if line]
    known = ("pressure_bar", "loading", "loading_error", "adsorbate")
    try:
        head, *body = rows
        if not {"pressure_bar", "loading"} <= set(head) <= set(known) or not body:
            raise ValueError
        columns = dict(zip(head, zip(*body, strict=True), strict=True))
        found = {
            name: [word if name == "adsorbate" else float(word) for word in words]
            for name, words in columns.items()
        }
    except ValueError:
        raise ValueError(
            f"{path} is not a table with the columns pressure_bar and loading (and loading_error "
            "and adsorbate)"
        ) from None
    return {"label": path.stem.replace("_", " "), **found}


def isotherm(
    path: str | Path, summary: dict[str, Any], others: Sequence[dict[str, Any]] = ()
) -> None:
    """Picture of the loading against pressure; points whose status is not "ok" are hollow.

    Args:
        path: path of the PNG file.
        summary: summary of all pressures.
        others: published loadings (see `published`).
    """
    figure, axes = new_figure(7.0, 4.2)
    unit = summary.get("unit", "mol/kg")
    loadings = np.array(summary[f"loading_{UNITS[unit]}"]).T
    errors = np.array(summary[f"loading_error_{UNITS[unit]}"], dtype=float).T
    pressures = summary["pressure_bar"]
    warned = [status != "ok" for status in summary["status"]]
    for k, (name, loading, error) in enumerate(
        zip(summary["adsorbates"], loadings, errors, strict=True)
    ):
        axes.errorbar(pressures, loading, np.nan_to_num(error), fmt="o-", ms=4, mfc=f"C{k}",
                      color=f"C{k}", lw=0.8, capsize=3,
                      label=f"{name} in {summary['framework']}")  # fmt: skip
        hollow(axes, pressures, loading.tolist(), warned, "o", f"C{k}")
    if any(warned):
        axes.plot([], [], "o", ms=4, mfc="white", mec="k", label="not known to be equilibrated")
    markers = "sD^vPX"
    for number, other in enumerate(others):
        names = other.get("adsorbate") or [""] * len(other["loading"])
        for name in dict.fromkeys(names):
            rows = [row for row, each in enumerate(names) if each == name]
            x, y, spread = (
                [other[key][row] for row in rows] if key in other else None
                for key in ("pressure_bar", "loading", "loading_error")
            )
            axes.errorbar(x, y, spread, fmt=markers[number % len(markers)], ms=5, mfc="none",
                          color="0.3", label=f"{name} {other['label']}".strip())  # fmt: skip
    temperature = summary["runs"][0]["temperature_K"]
    axes.set(xlabel="pressure (bar)", ylabel=f"loading ({unit})", xscale="log",
             title=f"{summary['framework']}, {temperature:g} K")  # fmt: skip
    axes.legend(fontsize=8)
    write_picture(path, figure, dpi=160)
