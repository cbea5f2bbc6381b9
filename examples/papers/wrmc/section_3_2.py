# SPDX-License-Identifier: BSD-3-Clause
"""Section 3.2: error of the energies on the paper's grid of 512 x 512 x 256 points.

    python section_3_2.py
    python section_3_2.py --draw section_3_2.json

The script measures two errors of linear interpolation: the error of the energy at the same
positions, and the error of the mean energy of a run on the grid, which also has other positions.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from matplotlib.figure import Figure
from methane import LOADINGS, add_options, device_name, equilibrated, run_for, started

from manymove import EnergyGrid, Interactions, Steps, script

CELL = (20.022, 19.899, 13.383)  # angstrom
POINTS = (256, 256, 128)  # of a unit cell in the paper
PAPER = 0.05  # per cent, section 3.2


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    papers = [options.coarsen * edge / n for edge, n in zip(CELL, POINTS, strict=True)]
    results = []
    for molecules in options.loadings:
        start = equilibrated(molecules, options)
        found = {}
        for name, grid in (("linear", EnergyGrid(papers, "linear")), ("cubic", EnergyGrid(0.15))):
            laws = Interactions(grid=grid, precision=options.precision)
            a = started(Steps("mdp-dj", 32), start, options, interactions=laws)
            run_for(a, options.seconds, equilibrate=0.6)
            share, rms = a.grid_error(16384)
            found[name] = {
                "molecules": molecules, "grid": name, "points": a.grid["points"],
                "systems": a.systems, "steps": a.samples, "energy_K": a.energy_average.value,
                "error_K": a.energy_average.error, "same_positions_percent": 100 * share,
                "same_positions_rms_K": rms,
            }  # fmt: skip
        results += found.values()
        print(molecules, [(r["energy_K"], r["error_K"]) for r in found.values()], flush=True)
    return results


def rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for molecules in dict.fromkeys(r["molecules"] for r in results):
        a, b = (r for r in results if r["molecules"] == molecules)
        size = f"{molecules} molecules, {a['systems']:,} systems"
        length = f"{a['steps']:,} steps"
        found.append(script.compared(
            "error of the framework energy in the same positions (%; published: at most)",
            (abs(a["same_positions_percent"]), None), (PAPER, None), size, length,
        ))  # fmt: skip
        error = math.hypot(a["error_K"], b["error_K"]) / molecules
        share = 100 * (1 - a["energy_K"] / b["energy_K"])
        found.append(script.compared(
            "change of the mean energy by the linear grid (%; published: at most)",
            (share, -100 * error * molecules / b["energy_K"]), (PAPER, None), size, length,
        ))  # fmt: skip
        found.append(script.compared(
            "mean energy of a molecule, linear grid less spline (K)",
            ((a["energy_K"] - b["energy_K"]) / molecules, error), None, size, length,
        ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    lines = [r for r in result["results"] if r["grid"] == "linear"]
    n = [r["molecules"] for r in lines]
    shifts = [row["ours"] for row in result["rows"][2::3]]
    left.errorbar(n, [s[0] for s in shifts], [s[1] for s in shifts], fmt="o-", capsize=3)
    left.set(xlabel="methane molecules per system",
             ylabel="mean energy, linear less spline (K per molecule)")  # fmt: skip
    right.plot(n, [abs(r["same_positions_percent"]) for r in lines], "o-", label="same positions")
    right.axhline(PAPER, color="k", lw=0.8, label="section 3.2: within 0.05 %")
    right.set(xlabel="methane molecules per system", ylabel="error of the framework energy (%)",
              ylim=(0, None))  # fmt: skip
    right.legend(fontsize=7)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--seconds", 1.0, "Duration of each measurement in seconds.")
    parser.option("--coarsen", 1.0, "Spacing relative to the paper's spacing.")
    add_options(parser, systems=2112)
    parser.set_defaults(loadings=LOADINGS)
    quick = {"seconds": 0.02, "systems": 8, "relax": 0.005, "loadings": [32], "coarsen": 4.0}
    options = script.parse(parser, "section_3_2", quick, draw=draw)
    script.at_least(options, loadings=1, systems=1, seconds=1e-3, coarsen=0.1)
    results = measure(options)
    script.finish(options, {
        "results": results, "rows": rows(results), "device_name": device_name(options)
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
