# SPDX-License-Identifier: BSD-3-Clause
"""Potentials of mean force against charge densities, and the renormalized valences: Figure 14.

python figure_14.py --run out/figure_12
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import trivalent
from figure_13 import AROUND, run
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis import charge_density, potential_of_mean_force

PAIRS = {(0, 0): 0, (0, 1): 1, (1, 0): 1, (1, 1): 2}  # row of g by central and other species
SIDES = {  # of Eq. 8
    "$(\\kappa_R/\\kappa)^2$": ("screening_ratio", (28.53 / 25.57) ** 2),
    "$(q_+^R - q_-^R)/(q_+ - q_-)$": ("charge_ratio", (4.125 + 0.884) / 4),
}


def rows(options: argparse.Namespace, dressed: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Valences by both ways and from the residue, and the sides of Eq. 8. Eq. 17 has the square of
    the inverse Debye length as a factor, so that valences with the published one are shown too."""
    if dressed is None:
        return []
    size, length = trivalent.size_of(options), trivalent.length_of(options)
    paper = trivalent.PAPER
    found = []

    def add(text: str, value: float, error: float | None, published: float | None) -> None:
        published_pair = None if published is None else (published, None)
        found.append(script.compared(text, (value, error), published_pair, size, length))

    for k, name in enumerate(AROUND):
        for way, other in enumerate(AROUND):
            text = f"valence of {name} from the ions around {other} (Eq. 17)"
            ours = dressed["valences"][k][way], dressed["valence_errors"][k][way]
            add(text, *ours, paper["valences"][k])
    for k, name in enumerate(AROUND):
        text = f"valence of {name} from the residue of the Ornstein-Zernike equation"
        ours = dressed["pole_valences"][k], dressed["pole_valence_errors"][k]
        add(text, *ours, paper["valences"][k])
    factor = (dressed["debye_length"] / paper["debye_length"]) ** 2
    for k, name in enumerate(AROUND):
        both, errors = dressed["valences"][k], dressed["valence_errors"][k]
        for way, other in enumerate(AROUND):
            text = f"valence of {name} from the ions around {other} with $1/\\kappa_R$ of 25.57 Å"
            add(text, factor * both[way], factor * errors[way], paper["valences"][k])
        text = f"valence of {name}, mean of both ways with the published $1/\\kappa_R$ of 25.57 Å"
        error = factor * float(np.hypot(*errors)) / 2
        add(text, factor * float(np.mean(both)), error, paper["valences"][k])
    for text, (key, published) in SIDES.items():
        add(f"Eq. 8: {text}", dressed[key], dressed[f"{key}_error"], published)
    return found


def draw(result: dict[str, Any]) -> Figure:
    """U against rho for the four combinations."""
    r, g, dressed = np.array(result["r"]), np.array(result["g"]), result["dressed"]
    rho = charge_density(g, result["densities"], trivalent.VALENCES)
    u = potential_of_mean_force(g)
    begin, end = dressed["window"] if dressed else (30.0, 120.0)
    window = (r >= begin) & (r <= end)
    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (a, b), row in PAIRS.items():
        label = f"U of {AROUND[b]} around {AROUND[a]}"
        (points,) = axes.plot(rho[a][window] * 1e6, u[row][window], ".", ms=4)
        if dressed:
            z = dressed["valences"][b][a]
            x = np.array([rho[a][window].min(), rho[a][window].max()])
            slope = -z * 4 * np.pi * trivalent.BJERRUM * dressed["debye_length"] ** 2
            axes.plot(x * 1e6, slope * x, color=points.get_color(), lw=1)
            label += f": z = {z:.3f}"
        points.set_label(label)
    axes.set(
        xlabel="charge density ρ (10⁻⁶ e Å⁻³)", ylabel="potential of mean force U (kT)",
        title=f"{trivalent.title(result)}\npaper: z = 4.125 and -0.884",
    )  # fmt: skip
    axes.title.set_fontsize(8)
    axes.legend(fontsize=8)
    return figure


def main() -> None:
    run(__doc__, "figure_14", rows, draw)


if __name__ == "__main__":
    script.run_script(main)
