# SPDX-License-Identifier: BSD-3-Clause
"""Far field of the charge densities and the renormalized Debye length: Figure 13.

The symbols are ln |r rho|. The lines are not fitted: their slope follows from the zero of the
Ornstein-Zernike equation, and their amplitudes from its residue. The curve around +3 is bent at all
measured distances; debye_length.py shows how this affects fits of straight lines.

    python figure_13.py --run out/figure_12
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import trivalent
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis import charge_density, dressed_ions
from manymove.analysis.notation import with_error

AROUND = ("+3", "-1")


def far_field(options: argparse.Namespace, found: list[trivalent.Chain]) -> dict[str, Any]:
    """The renormalized parameters of all chains together, or why there are none, and g."""
    correlations = [one.correlations[options.margins[0]] for one in found]
    r, g = trivalent.coarse(correlations)
    g = trivalent.normalized(r, g)
    result: dict[str, Any] = {"dressed": None, "missing": None}
    try:
        result["dressed"] = asdict(dressed_ions(correlations, trivalent.BJERRUM))
    except ValueError as error:  # too short a run
        result["missing"] = str(error)
    densities = trivalent.pooled_densities(correlations)
    return {**result, "densities": densities.tolist(), "r": r.tolist(), "g": g.tolist()}


def rows(options: argparse.Namespace, dressed: dict[str, Any] | None) -> list[dict[str, Any]]:
    if dressed is None:
        return []
    size, length = trivalent.size_of(options), trivalent.length_of(options)
    names = {
        "zero of the Ornstein-Zernike equation": "pole_debye_length",
        "fit of both lines, corrected for their curvature": "debye_length",
    }
    found = [
        script.compared(
            f"renormalized Debye length (Å), {text}", (dressed[key], dressed[f"{key}_error"]),
            (trivalent.PAPER["debye_length"], None), size, length,
        )
        for text, key in names.items()
    ]  # fmt: skip
    bare = (dressed["bare_debye_length"], None)
    paper = (trivalent.PAPER["bare_debye_length"], None)
    text = "bare Debye length (Å) of the ions that are counted (Eq. 5)"
    return [*found, script.compared(text, bare, paper, size, length)]


def draw(result: dict[str, Any]) -> Figure:
    """ln |r rho| around both species, and the far field."""
    r, g, dressed = np.array(result["r"]), np.array(result["g"]), result["dressed"]
    rho = charge_density(g, result["densities"], trivalent.VALENCES)
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    shown = (r > 12) & (r < 6 * trivalent.DEBYE_LENGTH)
    slopes = {"paper, 25.57 Å": trivalent.PAPER["debye_length"]}
    if dressed:
        kappa = 1 / dressed["pole_debye_length"]
    for k, around in enumerate(AROUND):
        y = np.abs(r * rho[k])
        use = shown & (y > 0)
        (line,) = axes.plot(r[use], np.log(y[use]), ".", ms=4, label=f"around {around}")
        if dressed:
            z, e = abs(dressed["pole_valences"][k]), dressed["pole_permittivity"]
            far = math.log(kappa**2 * z / (4 * math.pi * e)) - kappa * r[shown]
            text = with_error(dressed["pole_debye_length"], dressed["pole_debye_length_error"])
            axes.plot(r[shown], far, color=line.get_color(), lw=1, label=f"slope of {text} Å")
            for label, length in slopes.items():  # through the middle of the same line
                middle = r[shown].mean()
                axes.plot(r[shown], far[len(far) // 2] - (r[shown] - middle) / length, "k--",
                          lw=0.7, label=None if k else label)  # fmt: skip
    axes.set(
        xlabel="distance r (Å)", ylabel="ln |r ρ(r) Å² / e|", title=trivalent.title(result)
    )  # fmt: skip
    axes.title.set_fontsize(8)
    axes.legend(fontsize=8)
    return figure


def run(
    description: str,
    name: str,
    rows: Callable[[argparse.Namespace, dict[str, Any] | None], list[dict[str, Any]]],
    draw: Callable[[dict[str, Any]], Figure],
) -> None:
    """A script that fits the far field.

    Args:
        description: first line of the help text.
        name: name of the script.
        rows: function of the options and of the fit that returns the comparisons.
        draw: function of the summary that returns the picture.
    """
    parser = script.Parser(description)
    trivalent.arguments(parser)
    options = script.parse(parser, name, trivalent.QUICK, draw=draw)
    found = trivalent.chains(options)
    result = far_field(options, found)
    if result["missing"]:
        print(f"nothing is fitted: {result['missing']}")
    about = trivalent.described(found)
    summary = script.save(options, {**about, **result, "rows": rows(options, result["dressed"])})
    for row in summary["rows"]:
        print(f"{row['quantity']}: {row['ours'][0]:.4g}, published {row['published'][0]:.4g}")
    script.picture(options, draw(summary))


def main() -> None:
    run(__doc__, "figure_13", rows, draw)


if __name__ == "__main__":
    script.run_script(main)
