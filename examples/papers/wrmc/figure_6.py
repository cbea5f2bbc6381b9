# SPDX-License-Identifier: BSD-3-Clause
"""Figure 6: time of a step by the number of proposals, with systems times proposals constant.

    python figure_6.py
    python figure_6.py --draw figure_6.json

As in the paper, systems times proposals are 512 for each multiprocessor of the GPU.
"""

from __future__ import annotations

import argparse
from typing import Any

from matplotlib.figure import Figure
from methane import PROPOSALS, add_options, device_name, equilibrated, laws, run_for, started

from manymove import Steps, script
from manymove.adsorption.occupancy import filling_systems


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    results = []
    most = options.systems or max(32, filling_systems("plj", 1, options.device) // 2)
    for molecules in options.loadings:
        start = equilibrated(molecules, options, systems=most, interactions=laws(options))
        for proposals in options.proposals:
            some = start[: max(2, most * 32 // proposals)]
            a = started(Steps("mdp-dj", proposals), some, options, interactions=laws(options))
            run_for(a, options.seconds)
            results.append({
                "molecules": molecules, "proposals": proposals, "systems": len(some),
                "steps": a.samples, "seconds_per_step": a.seconds / a.steps,
                "error_K": a.energy_average.error,
            })  # fmt: skip
            print(results[-1], flush=True)
    return results


def rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Times relative to those of 64 proposals, which has the shortest time in the paper."""
    found = []
    for molecules in dict.fromkeys(r["molecules"] for r in results):
        some = {r["proposals"]: r for r in results if r["molecules"] == molecules}
        for proposals, r in some.items():
            size, length = f"{r['systems']:,} systems", f"{r['steps']:,} steps"
            found.append(script.compared(
                f"time of a step, {proposals} proposals, {molecules} molecules (µs)",
                (1e6 * r["seconds_per_step"], None), None, size, length,
            ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for molecules in dict.fromkeys(r["molecules"] for r in result["results"]):
        some = [r for r in result["results"] if r["molecules"] == molecules]
        axes.loglog([r["proposals"] for r in some], [1e6 * r["seconds_per_step"] for r in some],
                    "o-", ms=4, label=f"{molecules} molecules")  # fmt: skip
    axes.set(xlabel="number of proposals", ylabel="time of a step of all systems (µs)")
    axes.legend(fontsize=7)
    axes.set_title(f"methane in MFI, mdp-dj, {result['device_name']}", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--seconds", 0.5, "Duration of each measurement in seconds.")
    parser.option("--proposals", PROPOSALS)
    add_options(parser)
    parser.set_defaults(systems=None, relax=0.2)
    quick = {"seconds": 0.02, "systems": 16, "relax": 0.005, "loadings": [32],
             "proposals": [32, 64], "spacing": 0.3, "interpolation": "cubic"}  # fmt: skip
    options = script.parse(parser, "figure_6", quick, draw=draw)
    script.at_least(options, loadings=1, seconds=1e-3)
    results = measure(options)
    script.finish(options, {
        "results": results, "rows": rows(results), "device_name": device_name(options)
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
