# SPDX-License-Identifier: BSD-3-Clause
"""Figure 4: standard deviation of the energy against the maximum displacement of mdp, 128 methanes.

    python figure_4.py
    python figure_4.py --draw figure_4.json

All standard deviations are scaled to one million steps of the paper's 14 systems.
"""

from __future__ import annotations

import argparse
from typing import Any

from matplotlib.figure import Figure
from methane import (
    PROPOSALS,
    REFERENCE_STEPS,
    add_options,
    deviation,
    device_name,
    equilibrated,
    laws,
    started,
)

from manymove import Steps, script
from manymove.analysis.notation import with_error

DISPLACEMENTS = (0.15, 0.35, 0.65, 1.0, 1.65)  # angstrom


def deviations(
    name: str, options: argparse.Namespace, displacements: tuple[float, ...], **settings: Any
) -> list[dict[str, Any]]:
    """Standard deviations of mup and of mdp at each displacement."""
    results = []
    some = max(2, options.systems // 16)
    start = equilibrated(options.molecules, options, systems=some, **settings)
    for proposals in options.proposals:
        # The cost of a step grows with the number of proposals, and the error falls.
        steps = max(1, options.steps * 32 // proposals)
        a = started(Steps("mup", proposals), start, options, **settings)
        value, error = deviation(a, steps)
        results.append({"system": name, "method": "mup", "proposals": proposals, "systems": some,
                        "steps": steps, "deviation_K": value, "error_K": error})  # fmt: skip
        for d in displacements:
            a = started(Steps("mdp", proposals, d), start, options, **settings)
            a.equilibrate(max(1, steps // 10))
            value, error = deviation(a, steps)
            results.append({"system": name, "method": "mdp", "proposals": proposals,
                            "max_displacement": d, "systems": some, "steps": steps,
                            "deviation_K": value, "error_K": error})  # fmt: skip
        last = results[-1 - len(displacements) :]
        print(name, proposals, *(with_error(r["deviation_K"], r["error_K"]) for r in last),
              flush=True)  # fmt: skip
    return results


def rows(results: list[dict[str, Any]], molecules: int) -> list[dict[str, Any]]:
    """What section 5.2 says about the figure: a minimum between 0.15 and 1.65, all below mup."""
    found = []
    for proposals in dict.fromkeys(r["proposals"] for r in results):
        some = [r for r in results if r["proposals"] == proposals]
        mup, *mdp = some
        at = {r["max_displacement"]: r for r in mdp}
        size = f"{molecules} molecules, {mup['systems']} systems"
        length = f"{mup['steps']:,} steps"
        best = min(at, key=lambda d: at[d]["deviation_K"])
        found.append(script.compared(
            f"displacement with the smallest error, {proposals} proposals (Å)",
            (best, None), None, size, length,
        ))  # fmt: skip
        if 0.65 in at:
            ours = at[0.65]["deviation_K"]
            error = at[0.65]["error_K"]
            found.append(script.compared(
                f"standard deviation of mdp at 0.65 Å, {proposals} proposals (K)",
                (ours, error), None, size, length,
            ))  # fmt: skip
            found.append(script.compared(
                f"standard deviation of mup / mdp at 0.65 Å, {proposals} proposals",
                (mup["deviation_K"] / ours,
                 mup["deviation_K"] / ours * ((error / ours) ** 2
                                              + (mup["error_K"] / mup["deviation_K"]) ** 2) ** 0.5),
                None, size, length,
            ))  # fmt: skip
    return found


def plot(axes: Any, results: list[dict[str, Any]]) -> None:
    """Standard deviations against the displacement; mup is dashed."""
    for k, proposals in enumerate(dict.fromkeys(r["proposals"] for r in results)):
        mup, *mdp = (r for r in results if r["proposals"] == proposals)
        axes.errorbar([r["max_displacement"] for r in mdp], [r["deviation_K"] for r in mdp],
                      [r["error_K"] for r in mdp], fmt="o-", ms=4, capsize=3, color=f"C{k}",
                      label=f"mdp, {proposals} proposals")  # fmt: skip
        axes.axhline(mup["deviation_K"], color=f"C{k}", ls="--", lw=0.8)
    axes.set(xlabel="maximum displacement (Å)", ylabel="standard deviation (K)", yscale="log")
    axes.legend(fontsize=7)


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    plot(axes, result["results"])
    axes.axvline(0.65, color="k", lw=0.8, alpha=0.5)
    axes.set_title(
        f"{result['molecules']} methanes in MFI, 300 K, {result['device_name']}; dashed: mup; "
        "line: the paper's choice", fontsize=8,
    )  # fmt: skip
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--molecules", 128)
    parser.option("--steps", 40000, "Steps with 32 proposals; fewer in proportion with more.")
    parser.option("--proposals", PROPOSALS)
    add_options(parser)
    parser.set_defaults(spacing=0.2, interpolation="cubic", precision="mixed")
    quick = {"steps": 60, "molecules": 32, "systems": 64, "relax": 0.005, "proposals": [32, 64],
             "spacing": 0.3}  # fmt: skip
    options = script.parse(parser, "figure_4", quick, draw=draw)
    script.at_least(options, molecules=1, steps=1, systems=1)
    results = deviations("MFI", options, DISPLACEMENTS, interactions=laws(options))
    script.finish(options, {
        "reference_steps": REFERENCE_STEPS, "results": results,
        "rows": rows(results, options.molecules), "device_name": device_name(options),
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
