# SPDX-License-Identifier: BSD-3-Clause
"""Renormalized parameters of the 3:-1 electrolyte over diameters and densities: Figure 15.

The text of the paper has neither the diameters nor the densities of its figure; these are our
choice. Symbols are fits of the far field, and lines are the zero of the Ornstein-Zernike equation.
At a Debye length of 15 angstrom and diameters of 7.5 and 10 angstrom the charge density oscillates.
Such states have no single exponential and are left out.

    python figure_15.py --ions 131072 --sweeps 2000 --device cuda
"""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from trivalent import BJERRUM, cell

from manymove import Electrolyte, script
from manymove.analysis import dressed_ions
from manymove.analysis.notation import with_error

DIAMETERS = (5.0, 7.5, 10.0)  # angstrom
DEBYE_LENGTHS = (40.0, 28.53, 24.0, 20.0, 15.0)  # angstrom, bare


def state(options: argparse.Namespace, diameter: float, debye_length: float) -> dict[str, Any]:
    """One point, with the reason if nothing can be fitted."""
    salt, sphere = cell(options.ions, debye_length, diameter)
    ions = Electrolyte.random(
        salt, box=sphere, bjerrum_length=BJERRUM, method=options.method, seed=options.seed,
        device=options.device, threads=options.threads,
    )  # fmt: skip
    ions.run(options.equilibrate)
    ions.sample_pair_correlations(2, bin_width=0.25)
    ions.run(options.sweeps)
    point = {
        "diameter": diameter, "debye_length": debye_length, "acceptance": ions.acceptance,
        "seconds_per_sweep": ions.seconds / ions.sweeps, "sweeps": options.sweeps,
        "device": ions.device, "device_name": ions.device_name,
    }  # fmt: skip
    try:
        point["dressed"] = asdict(dressed_ions(ions.pair_correlations, BJERRUM))
    except ValueError as error:
        point["missing"] = str(error)
    return point


def states(points: list[dict[str, Any]]) -> str:
    lengths = sorted({point["sweeps"] for point in points})
    text = " to ".join(f"{length:,}" for length in dict.fromkeys((lengths[0], lengths[-1])))
    return f"{len(points)} states of {text} sweeps"


def rows(ions: int, points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both sides of Eq. 8 in the states of a diameter, with the error from their spread, and the
    two ways in all states together."""
    size, found = f"{ions:,} ions", []
    fitted = [p for p in points if p.get("dressed")]
    for diameter in DIAMETERS:
        some = [p for p in fitted if p["diameter"] == diameter]
        ratios = [p["dressed"]["charge_ratio"] / p["dressed"]["screening_ratio"] for p in some]
        if len(ratios) > 1:
            text = f"(a) right-hand over left-hand side of Eq. 8, diameter {diameter:g} Å"
            error = float(np.std(ratios, ddof=1)) / math.sqrt(len(ratios))
            ours, length = (float(np.mean(ratios)), error), states(some)
            found.append(script.compared(text, ours, (1.0, None), size, length))
    names = {"(b) valence of +3": "valences", "(b) valence of -1": "valences",
             "(c) permittivity": "permittivity"}  # fmt: skip
    for k, (name, key) in enumerate(names.items()):
        squares = []
        for d in (point["dressed"] for point in fitted):
            errors = d["valence_errors" if key == "valences" else "permittivity_errors"]
            values, errors = (x[k] if key == "valences" else x for x in (d[key], errors))
            squares.append(((values[0] - values[1]) / math.hypot(*errors)) ** 2)
        squares = [square for square in squares if math.isfinite(square)]
        if squares:
            text = f"{name}: mean squared difference of both ways over their squared joint error"
            n = len(squares)
            ours, length = (float(np.mean(squares)), math.sqrt(2 / n)), states(fitted)
            found.append(script.compared(text, ours, (1.0, None), size, length))
    return found


def draw(result: dict) -> Figure:
    """(a) both sides of Eq. 8, (b) valences by both ways, (c) permittivities by both ways."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    a, b, c = figure.subplots(1, 3)
    for k, diameter in enumerate(DIAMETERS):
        points = [
            p["dressed"] for p in result["points"] if p["diameter"] == diameter and "dressed" in p
        ]
        if not points:
            continue
        color = f"C{k}"
        a.errorbar(
            [p["screening_ratio"] for p in points],
            [p["charge_ratio"] for p in points],
            [p["charge_ratio_error"] for p in points],
            [p["screening_ratio_error"] for p in points],
            "o",
            color=color,
            label=f"d = {diameter:g} Å",
        )
        x = [1 / p["bare_debye_length"] for p in points]
        for way, fill in ((0, "none"), (1, "full")):
            style = {"fmt": "o", "fillstyle": fill, "color": color, "ms": 5}
            for species in (0, 1):
                z = [p["valences"][species][way] for p in points]
                b.errorbar(x, z, [p["valence_errors"][species][way] for p in points], **style)
            eps = [p["permittivity"][way] for p in points]
            c.errorbar(x, eps, [p["permittivity_errors"][way] for p in points], **style)
        for species in (0, 1):
            b.plot(x, [p["pole_valences"][species] for p in points], color=color)
        c.plot(x, [p["pole_permittivity"] for p in points], color=color)
    a.axline((1, 1), slope=1, color="grey", lw=0.8)
    a.set(
        xlabel=r"$(\kappa_R / \kappa)^2$",
        ylabel=r"$(z_+^R - z_-^R) / (z_+ - z_-)$",
        title="(a) both sides of Eq. 8",
    )
    if a.get_legend_handles_labels()[0]:
        a.legend()
    b.set(
        xlabel=r"$\kappa$ (Å$^{-1}$)",
        ylabel="renormalized valence",
        title="(b) open: by way of +3, full: of -1",
    )
    c.set(xlabel=r"$\kappa$ (Å$^{-1}$)", ylabel=r"permittivity $\epsilon_R / \epsilon$",
          title="(c) lines: Ornstein-Zernike equation")  # fmt: skip
    c.set_ylim(0.4, 1.4)
    figure.suptitle(
        f"{result['ions']:,} ions +3:-1, $l_B$ = {BJERRUM} Å; {result['sweeps']} sweeps, "
        f"{result['date'][:10]}, "
        f"{result['commit']}",
        fontsize=9,
    )
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--ions", 16384, "Number of ions, a multiple of 4.")
    parser.option("--sweeps", 1000, "Number of sweeps of a state.")
    parser.option("--equilibrate", 50, "Number of sweeps of the equilibration.")
    parser.option("--method", "auto", choices=("brush", "tree", "auto"))
    parser.option("--threads", int)
    parser.option("--minutes", float, "Time in minutes after which no state begins.")
    quick = {"ions": 128, "sweeps": 20, "equilibrate": 2, "threads": 1}
    options = script.parse(parser, "figure_15", quick, draw=draw)
    script.at_least(options, ions=4, sweeps=2, equilibrate=0)
    parts = script.Parts(options, without=("device", "threads"))
    points = []
    for diameter in DIAMETERS:
        for debye_length in DEBYE_LENGTHS:
            point = parts.run(
                f"{diameter:g} {debye_length:g}",
                lambda d=diameter, length=debye_length: state(options, d, length),
            )
            text = point.get("missing")
            if text is None:
                found = point["dressed"]
                text = with_error(found["debye_length"], found["debye_length_error"])
            print(diameter, debye_length, text)
            points.append(point)
    about = {key: points[0][key] for key in ("device", "device_name")}
    result = {**about, "points": points, "rows": rows(options.ions, points)}
    script.finish(options, result, draw)


if __name__ == "__main__":
    script.run_script(main)
