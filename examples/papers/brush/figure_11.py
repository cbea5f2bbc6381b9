# SPDX-License-Identifier: BSD-3-Clause
"""Autocorrelation of the energy of the 3:-1 electrolyte and its correlation time: Figure 11.

C_n and T_c are defined by Eqs. 9 and 10. Trial moves are uniform in a cube whose edge is about a
third of the diameter L of the spherical cell. Many chains of the paper's length of 2,000 sweeps
show the statistical error of a single chain. Other edges of the cube show how T_c depends on it.

    python figure_11.py --ions 2048 8192 --chains 256 --device cuda
    python figure_11.py --ions 2048 8192 --chains 256 --device cuda --run out/figure_12
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from figure_1 import LAGS, curves_of, script_number, times_of
from matplotlib.figure import Figure
from trivalent import BJERRUM, PAPER, cell, read

from manymove import Electrolyte, Replicas, script
from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.analysis.notation import with_error

EDGE = 1 / 3  # of the cube over L, section 5.2
FEWEST = 10  # chains whose spread is an error


def described(energies: np.ndarray) -> dict[str, Any]:
    """C_n of all chains together, T_c with its error, and T_c of single chains, from energies per
    ion (chains, sweeps)."""
    curves = curves_of(energies, min(LAGS, energies.shape[1] // 4))
    time, error = times_of(curves)
    if len(energies) < FEWEST:
        error = math.nan
    single = [0.5 + autocorrelation_time(one, every_lag=True) for one in energies]
    spread = float(np.std(single, ddof=1)) if len(single) > 1 else math.nan
    return {
        "chains": len(energies), "sweeps": energies.shape[1],
        "energy": float(energies.mean()), "autocorrelation": curves.mean(axis=0).tolist(),
        "autocorrelation_time": time, "autocorrelation_time_error": script_number(error),
        "single_mean": float(np.mean(single)), "single_deviation": script_number(spread),
    }  # fmt: skip


def measured(ions: int, edge: float, options: argparse.Namespace) -> dict[str, Any]:
    """Independent chains of one size with one edge of the cube, in units of L."""
    salt, sphere = cell(ions)

    def make(**where: Any) -> Electrolyte:
        # The edge of the cube is twice the largest displacement, and L = 2 R.
        return Electrolyte.random(
            salt, box=sphere, bjerrum_length=BJERRUM, max_displacement=edge * sphere.radius, **where
        )

    replicas = Replicas(
        make, options.chains, seed=options.seed, device=options.device, threads=options.threads
    )
    replicas.run(options.equilibrate)
    replicas.reset_averages()
    replicas.run(options.sweeps)
    energies = np.array(replicas.map(lambda one: one.energy_records / one.N))
    first = replicas.simulations[0]
    return {
        "ions": ions, "edge": edge, "device": first.device, "device_name": first.device_name,
        "acceptance": float(np.mean(replicas.map(lambda one: one.acceptance))),
        **described(energies),
    }  # fmt: skip


def of_run(folder: Path) -> dict[str, Any]:
    """The chains of another figure, whose cube has the edge L / 3."""
    kept = json.loads((folder / "parts.json").read_text())["parts"]
    chains = [read(folder, name, about) for name, about in kept.items()]
    about = chains[0].about
    return {
        "ions": about["ions"], "edge": EDGE, "device": about["device"],
        "device_name": about["device_name"], "acceptance": about["acceptance"],
        **described(np.array([one.energies for one in chains])),
    }  # fmt: skip


def text_of(point: dict[str, Any]) -> str:
    return f"{point['ions']:,} ions, cube of {point['edge']:.3g} L"


def rows(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for point in points:
        size = f"{point['ions']:,} ions"
        length = f"{point['chains']} chains of {point['sweeps']:,} sweeps"
        edge = f"cube of {point['edge']:.3g} L"
        paper = (PAPER["autocorrelation_time"], None)
        near = point["edge"] == EDGE
        ours = (point["autocorrelation_time"], point["autocorrelation_time_error"])
        text = f"$T_c$ (sweeps), {edge}"
        found.append(script.compared(text, ours, paper if near else None, size, length))
        if near and point["chains"] >= FEWEST:
            ours = (point["single_mean"], point["single_deviation"])
            text = f"$T_c$ (sweeps) of one chain with its standard deviation, {edge}"
            found.append(script.compared(text, ours, paper, size, f"{point['sweeps']:,} sweeps"))
    return found


def draw(result: dict[str, Any]) -> Figure:
    """C_n for L / 3, and T_c against the edge of the cube."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for point in result["points"]:
        c, time = point["autocorrelation"], point["autocorrelation_time"]
        error = point["autocorrelation_time_error"]
        text = f"{time:.2f}" if error is None else with_error(time, error)
        if point["edge"] == EDGE:
            left.plot(range(len(c)), c, "o-", ms=3, label=f"{text_of(point)}, $T_c$ = {text}")
    left.axhline(0, color="grey", lw=0.6)
    left.set(xlabel="n (sweeps)", ylabel="autocorrelation of the energy $C_n$", xlim=(0, 25))
    left.legend(fontsize=8)
    for ions in dict.fromkeys(point["ions"] for point in result["points"]):
        some = sorted((p for p in result["points"] if p["ions"] == ions), key=lambda p: p["edge"])
        errors = [p["autocorrelation_time_error"] or 0 for p in some]
        right.errorbar(
            [p["edge"] for p in some], [p["autocorrelation_time"] for p in some], errors,
            fmt="o-", ms=4, label=f"{ions:,} ions",
        )  # fmt: skip
    paper = PAPER["autocorrelation_time"]
    right.plot([EDGE], [paper], "k*", ms=10, label=f"paper, about L / 3: {paper}")
    right.set(xlabel="edge of the cube of trial moves / L", ylabel="$T_c$ (sweeps)")
    right.legend(fontsize=8)
    figure.suptitle(f"3:-1 salt, {result['points'][0]['device_name']}", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, device="auto")
    parser.option(
        "--ions", [1024], "Numbers of ions, multiples of 4. Only the first one runs with all edges."
    )
    parser.option(
        "--edges",
        [0.2, 0.25, 0.3, 0.4, 0.5, 0.6],
        "Other edges of the cube of trial moves, in units of L.",
    )
    parser.option("--chains", 16, "Number of independent chains.")
    parser.option("--sweeps", 2000, "Number of sweeps of a chain.")
    parser.option("--equilibrate", 50, "Number of sweeps of the equilibration.")
    parser.option("--seed", 1, "Seed of the first chain.")
    parser.option("--threads", int)
    parser.option("--minutes", float, "Time in minutes after which no point begins.")
    parser.option(
        "--run",
        str,
        "Folder of a finished run of figure_12.py, which is analyzed as well.",
        metavar="FOLDER",
    )
    quick = {"ions": [128], "edges": [0.5], "chains": 4, "sweeps": 200, "equilibrate": 10}
    options = script.parse(parser, "figure_11", quick, draw=draw)
    script.at_least(options, ions=4, chains=1, sweeps=20, equilibrate=0)
    wanted = [(n, EDGE) for n in options.ions] + [(options.ions[0], e) for e in options.edges]
    parts = script.Parts(options, without=("device", "threads", "run"))
    points = [] if options.run is None else [of_run(Path(options.run))]
    for ions, edge in wanted:
        points.append(
            parts.run(f"{ions} ions, {edge:g}", lambda n=ions, e=edge: measured(n, e, options))
        )
        print(f"{text_of(points[-1])}: T_c = {points[-1]['autocorrelation_time']:.3f} sweeps")
    about = {key: points[-1][key] for key in ("device", "device_name")}
    script.finish(options, {**about, "points": points, "rows": rows(points)}, draw)


if __name__ == "__main__":
    script.run_script(main)
