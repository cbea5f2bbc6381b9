# SPDX-License-Identifier: BSD-3-Clause
"""Figure 8: speed of pmc and plj on a GPU relative to one core, 32 to 2048 methanes.

    python figure_8.py
    python figure_8.py --draw figure_8.json

As in the paper, the box stays the same. Therefore large systems have unphysical densities, and only
their speed is meaningful. A step of pmc and plj is a trial move of each system, and the speedup is
the ratio of the trial moves per second.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from methane import add_options, device_name, laws, run_for

from manymove import Adsorption, Molecules, script
from manymove.adsorption.occupancy import filling_systems

LOADINGS = (32, 64, 128, 256, 512, 1024, 2048)
PLACES, STRIDE = 2**14, 37
# Section 5.5; the maximum of Figure 8 is that of pmc with 2048 molecules.
PAPER = {"pmc": {32: 44.11, 64: 53.18, 128: 56.90, 2048: 61.75},
         "plj": {32: 9.47, 64: 14.93, 128: 21.68}}  # fmt: skip


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    results = []
    law = laws(options)
    # Places of single molecules in the pores, which molecules of large systems share.
    places = Adsorption("MFI", 1, systems=PLACES, interactions=law, seed=options.seed,
                        device="cpu").positions[:, 0]  # fmt: skip
    for molecules in options.loadings:
        rates, numbers = {}, {}
        for method in ("metropolis", "pmc", "plj"):
            alone = method == "metropolis"
            device = "cpu" if alone else options.device
            systems = options.systems or filling_systems(
                method, molecules, device, options.precision
            )
            systems = min(systems, max(2, 2**25 // molecules))
            first = np.random.default_rng(options.seed).integers(0, PLACES, (systems, 1))
            positions = places[(first + STRIDE * np.arange(molecules)) % PLACES]
            a = Adsorption(
                "MFI", Molecules(molecules, positions=positions), method=method, systems=systems,
                interactions=law, seed=options.seed, threads=1 if alone else None, device=device,
            )  # fmt: skip
            run_for(a, options.seconds, equilibrate=1.0)
            began, states = time.perf_counter(), a.trial_states
            a.run(a.samples)
            rates[method] = (a.trial_states - states) / (time.perf_counter() - began)
            numbers[f"systems_{method}"] = systems
        results.append({"molecules": molecules, **rates, **numbers,
                        **{f"speedup_{m}": rates[m] / rates["metropolis"] for m in ("pmc", "plj")}}
                       )  # fmt: skip
        print(results[-1], flush=True)
    return results


def rows(results: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """Speed-ups beside those that the paper prints."""
    return [
        script.compared(
            f"speed of {method} / one core, {r['molecules']} molecules",
            (r[f"speedup_{method}"], None),
            (PAPER[method][r["molecules"]], None) if r["molecules"] in PAPER[method] else None,
            f"{r[f'systems_{method}']:,} systems", f"{seconds:g} s",
        )
        for method in PAPER for r in results
    ]  # fmt: skip


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    n = [r["molecules"] for r in result["results"]]
    for k, method in enumerate(PAPER):
        left.loglog(n, [r[f"speedup_{method}"] for r in result["results"]], "o-", ms=4,
                    color=f"C{k}", label=method)  # fmt: skip
        left.loglog(list(PAPER[method]), list(PAPER[method].values()), "x", color=f"C{k}",
                    label=f"{method}, Tesla C2050 of the paper")  # fmt: skip
    for method in ("metropolis", "pmc", "plj"):
        right.loglog(n, [r[method] for r in result["results"]], "o-", ms=4, label=method)
    left.set(xlabel="methane molecules per system", ylabel="speed relative to one core")
    right.set(xlabel="methane molecules per system", ylabel="speed (trial moves/s)")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    figure.suptitle(f"{result['device_name']}, {result['precision']} precision", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--seconds", 0.5, "Duration of each measurement in seconds.")
    add_options(parser)
    parser.set_defaults(systems=None, loadings=LOADINGS, spacing=0.15)
    quick = {"seconds": 0.02, "systems": 4, "loadings": [32, 64], "spacing": 0.4,
             "interpolation": "cubic"}  # fmt: skip
    options = script.parse(parser, "figure_8", quick, draw=draw)
    script.at_least(options, loadings=1, seconds=1e-3)
    results = measure(options)
    script.finish(options, {
        "results": results, "rows": rows(results, options.seconds),
        "device_name": device_name(options),
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
