# SPDX-License-Identifier: BSD-3-Clause
"""Figure 3: time of a step and error of the energy by pmc, plj, mup and mdp, 32 to 128 molecules.

As in section 5.1, a multiprocessor of the GPU has one warp: one system of plj, mup and mdp with 32
threads or proposals, or 32 systems of pmc. The paper prints
the numbers of steps in equal times, relative to pmc.

    python figure_3.py
    python figure_3.py --draw figure_3.json
"""

from __future__ import annotations

import argparse
from typing import Any

from matplotlib.figure import Figure
from methane import add_options, device_name, equilibrated, laws, run_for, started

from manymove import Steps, script
from manymove.adsorption.occupancy import filling_systems

LOADINGS = (32, 48, 64, 80, 96, 112, 128)
METHODS = (("pmc", None), ("plj", None), ("mup", 32), ("mdp", 32))
# Section 5.1: millions of steps in the time of one million of pmc. The text has six numbers for
# seven loadings; the first and the last belong to the first and the last loading.
PAPER_STEPS = {"plj": {32: 9.5, 128: 17.8}, "mup": {32: 2.1, 128: 2.3}, "mdp": {32: 1.8, 128: 2.1}}


def warps(options: argparse.Namespace) -> int:
    """Number of systems with which each multiprocessor of the GPU has one warp."""
    return max(2, filling_systems("plj", 1, options.device) // 32)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    single = options.systems or warps(options)
    results = []
    for molecules in options.loadings:
        start = equilibrated(molecules, options, systems=32 * single, interactions=laws(options))
        for method, proposals in METHODS:
            some = start if method == "pmc" else start[:single]
            a = started(Steps(method, proposals), some, options, interactions=laws(options))
            run_for(a, options.seconds)
            results.append({
                "molecules": molecules, "method": method, "proposals": proposals,
                "systems": a.systems, "steps": a.samples, "seconds_per_step": a.seconds / a.steps,
                "energy_K": a.energy_average.value, "error_K": a.energy_average.error,
            })  # fmt: skip
            print(results[-1], flush=True)
    return {"results": results, "rows": rows(results)}


def rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps in equal times beside those that the paper prints, and errors beside those of plj."""
    by = {(r["molecules"], r["method"]): r for r in results}
    found = []
    for molecules in sorted({r["molecules"] for r in results} & {32, 128}):
        pmc, plj = (by[molecules, method] for method in ("pmc", "plj"))
        length = f"{pmc['seconds_per_step'] * pmc['steps']:.2g} s of each method"
        for method in PAPER_STEPS:
            r = by[molecules, method]
            found.append(script.compared(
                f"steps of {method} in the time of a step of pmc, {molecules} molecules",
                (pmc["seconds_per_step"] / r["seconds_per_step"], None),
                (PAPER_STEPS[method][molecules], None), f"{r['systems']} systems", length,
            ))  # fmt: skip
        for method in ("pmc", "mup", "mdp"):
            r = by[molecules, method]
            found.append(script.compared(
                f"error of the energy by {method} relative to plj, equal time, {molecules} "
                "molecules", (r["error_K"] / plj["error_K"], None), None,
                f"{r['systems']} systems", length,
            ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (method, _) in enumerate(METHODS):
        some = [r for r in result["results"] if r["method"] == method]
        n = [r["molecules"] for r in some]
        left.semilogy(n, [1e6 * r["seconds_per_step"] for r in some], "o-", ms=4, color=f"C{k}",
                      label=method)  # fmt: skip
        right.semilogy(n, [r["error_K"] for r in some], "o-", ms=4, color=f"C{k}", label=method)
        if method != "pmc":
            times = {r["molecules"]: r["seconds_per_step"] for r in result["results"]
                     if r["method"] == "pmc"}  # fmt: skip
            both = [m for m in PAPER_STEPS[method] if m in times]
            left.plot(both, [1e6 * times[m] / PAPER_STEPS[method][m] for m in both], "x",
                      color=f"C{k}", label=f"{method}, ratio of the paper")  # fmt: skip
    left.set(xlabel="methane molecules per system", ylabel="time of a step of all systems (µs)")
    right.set(xlabel="methane molecules per system", ylabel="error at equal time (K)")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    figure.suptitle(f"methane in MFI, 300 K, {result['device_name']}", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--seconds", 1.0, "Duration of each measurement in seconds.")
    add_options(parser)
    parser.set_defaults(systems=None, loadings=LOADINGS, relax=0.2)
    quick = {"seconds": 0.02, "systems": 2, "relax": 0.02, "loadings": [32], "spacing": 0.3,
             "interpolation": "cubic"}  # fmt: skip
    options = script.parse(parser, "figure_3", quick, draw=draw)
    script.at_least(options, loadings=1, relax=0)
    found = measure(options)
    script.finish(options, {**found, "device_name": device_name(options)}, draw)


if __name__ == "__main__":
    script.run_script(main)
