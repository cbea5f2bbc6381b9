# SPDX-License-Identifier: BSD-3-Clause
"""Figure 11: the random-walker model of Appendix C and measured standard deviations.

    python figure_11.py
    python figure_11.py --draw figure_11.json

Panel (a) is a fluid of 128 methanes without framework, which this script measures. Panel (b) is
methane in MFI, the record of figure_4.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from figure_4 import DISPLACEMENTS, deviations, plot
from matplotlib.figure import Figure
from methane import BOX, add_options, device_name

from manymove import EnergyGrid, Interactions, script
from manymove.adsorption.adsorbates import Adsorbate

SIGMA = 3.73
# Appendix C: the cap of the density times sigma^3, R_min and R_max in angstrom, and A in kelvin.
WALKER = {"fluid": (1.0, 3.8, 8.0, 27.0), "MFI": (10.0, 1.0, 4.0, 110.0)}
FIGURE_4 = Path(__file__).with_name("figure_4.json")


def useful_proposals(system: str, max_displacement: float, proposals: int, walks: int) -> float:
    """The integral of Eq. 12, from random walks of section 4.4."""
    cap, nearest, farthest, _ = WALKER[system]
    rng = np.random.default_rng(proposals)
    edges = np.linspace(0.0, farthest, 81)
    counts = np.zeros(80)
    batch = min(walks, 2000)
    for _ in range(walks // batch):
        steps = rng.uniform(-max_displacement, max_displacement, (batch, proposals - 1, 3))
        first = proposals - 1 - rng.integers(0, proposals, batch)[:, None, None]
        sums = np.cumsum(steps, axis=1)
        second = np.arange(proposals - 1)[None, :, None] >= first
        ends = np.take_along_axis(sums, np.maximum(first - 1, 0), axis=1)
        sums -= np.where(second & (first > 0), ends, 0.0)
        sums -= BOX * np.rint(sums / BOX)
        counts += np.histogram(np.sqrt((sums**2).sum(axis=-1)), bins=edges)[0]
    shells = 4 / 3 * np.pi * np.diff(edges**3)
    capped = np.minimum(counts / (walks // batch * batch), cap / SIGMA**3 * shells)
    return float(capped[edges[:-1] >= nearest - 1e-9].sum())


def model(system: str, results: list[dict[str, Any]], walks: int) -> dict[str, Any]:
    """The only parameter A of Eq. 12, fitted to all results, the standard deviations of the model,
    and the root mean square of the logarithm of the ratio."""
    mdp = [r for r in results if r["method"] == "mdp"]
    shape = np.array([
        1 / np.sqrt(1 + useful_proposals(system, r["max_displacement"], r["proposals"], walks))
        for r in mdp
    ])  # fmt: skip
    ratio = np.log([r["deviation_K"] for r in mdp]) - np.log(shape)
    amplitude = float(np.exp(ratio.mean()))
    spread = float(ratio.std())
    return {"system": system, "A_K": amplitude, "A_error_K": amplitude * spread / len(mdp) ** 0.5,
            "rms_log_ratio": spread, "model_K": (amplitude * shape).tolist()}  # fmt: skip


def rows(
    models: list[dict[str, Any]], parts: dict[str, list[dict[str, Any]]], molecules: int
) -> list[dict[str, Any]]:
    """A of Eq. 12 and how well the model describes the data."""
    found = []
    for one in models:
        some = parts[one["system"]]
        size = f"{molecules} molecules, {some[0]['systems']} systems"
        length = f"{some[0]['steps']:,} steps"
        found.append(script.compared(
            f"A of Eq. 12, {one['system']} (K)", (one["A_K"], one["A_error_K"]),
            (WALKER[one["system"]][3], None), size, length,
        ))  # fmt: skip
        found.append(script.compared(
            f"root mean square of ln(measured / model), {one['system']}",
            (one["rms_log_ratio"], None), None, size, length,
        ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, one in zip(panels, result["models"], strict=False):
        some = [r for r in result["results"] if r["system"] == one["system"]]
        plot(axes, some)
        mdp = [r for r in some if r["method"] == "mdp"]
        for k, proposals in enumerate(dict.fromkeys(r["proposals"] for r in some)):
            own = [i for i, r in enumerate(mdp) if r["proposals"] == proposals]
            axes.plot([mdp[i]["max_displacement"] for i in own],
                      [one["model_K"][i] for i in own], "x:", color=f"C{k}")  # fmt: skip
        paper = WALKER[one["system"]][3]
        axes.set_title(
            f"{one['system']}: A = {one['A_K']:.0f} K, paper {paper:.0f} K (crosses: model)",
            fontsize=9,
        )
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--molecules", 128)
    parser.option("--steps", 40000, "Steps with 32 proposals; fewer in proportion with more.")
    parser.option("--walks", 20000, "Random walks of the model.")
    parser.option("--proposals", (32, 128, 512))
    parser.option(
        "--figure-4", FIGURE_4, "Record of figure_4.py (default: figure_4.json).", type=Path
    )
    add_options(parser)
    quick = {"steps": 60, "molecules": 32, "systems": 64, "relax": 0.005, "proposals": [32, 64],
             "walks": 500}  # fmt: skip
    options = script.parse(parser, "figure_11", quick, draw=draw)
    script.at_least(options, molecules=1, steps=1, systems=1, walks=1)
    bare = Adsorbate("CH4", 148.0, 3.73, {"O": None, "Si": None})
    laws = Interactions(grid=EnergyGrid(barrier=None))
    parts = {"fluid": deviations("fluid", options, DISPLACEMENTS, adsorbates=bare,
                                 interactions=laws)}  # fmt: skip
    if options.figure_4.exists():
        parts["MFI"] = json.loads(options.figure_4.read_text())["results"]
    models = [model(name, results, options.walks) for name, results in parts.items()]
    options.figure_4 = options.figure_4.name
    script.finish(options, {
        "results": [r for results in parts.values() for r in results], "models": models,
        "rows": rows(models, parts, options.molecules), "device_name": device_name(options),
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
