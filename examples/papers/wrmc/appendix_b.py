# SPDX-License-Identifier: BSD-3-Clause
"""Appendix B: incorrect and inefficient proposals of displacements, for one methane in MFI.

    python appendix_b.py
    python appendix_b.py --draw appendix_b.json

The mean energy of a single molecule on the interpolated grid is an integral, with which every
variant is compared. serial_proposals.cpp has the variants: two random walks (section 4.4), uniform
displacements from the old state ("naive"), Gaussian displacements without and with the correction
for the density of generation, and configurational bias (Eqs. 9 to 11). All runs calculate equally
many energies, so that their errors can be compared.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from serial_proposals import METHANE, Serial, mean_and_error

from manymove import Adsorption, EnergyGrid, Interactions, script

NAMES = {"walks": "random walks", "naive": "uniform displacements", "gaussian": "Gaussian",
         "corrected": "corrected Gaussian", "biased": "configurational bias"}  # fmt: skip
CORRECT = ("walks", "corrected", "biased")  # by the text of the paper


def measure(options: argparse.Namespace) -> dict[str, Any]:
    laws = Interactions(grid=EnergyGrid(options.spacing))
    a = Adsorption("MFI", 1, systems=options.systems, seed=options.seed, interactions=laws,
                   device="cpu")  # fmt: skip
    a.equilibrate(200)
    start, results = a.positions, []
    program = Serial(METHANE, spacing=options.spacing, threads=options.threads)
    exact = program.exact_energy()
    for scheme in NAMES:
        for proposals in options.proposals:
            cost = proposals**2 + 1 if scheme == "biased" else proposals
            steps = max(10, int(options.energies / cost))
            run = program.run(start, scheme, proposals, options.displacement, steps,
                              seed=options.seed)  # fmt: skip
            plain, recycled = (mean_and_error(run[key]) for key in ("plain", "recycled"))
            results.append({
                "scheme": scheme, "proposals": proposals, "steps": steps,
                "systems": options.systems, "plain_K": plain, "recycled_K": recycled,
                "acceptance": float(run["acceptance"].mean()),
                "energies_per_step": float(run["evaluations"].mean()),
            })  # fmt: skip
            print(results[-1], flush=True)
    return {"exact_K": exact, "results": results}


def rows(exact: float, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Differences from the integral, which the paper calls zero for correct proposals."""
    found = []
    for r in results:
        value, error = r["recycled_K"]
        name = f"{NAMES[r['scheme']]}, {r['proposals']} proposals"
        size, length = f"1 molecule, {r['systems']} systems", f"{r['steps']:,} steps"
        found.append(script.compared(
            f"energy by {name} less the integral (K)", (value - exact, error),
            (0.0, None) if r["scheme"] in CORRECT else None, size, length,
        ))  # fmt: skip
    largest = max(r["proposals"] for r in results)
    for r in results:
        if r["proposals"] == largest:
            found.append(script.compared(
                f"accepted share of steps, {NAMES[r['scheme']]}, {largest} proposals",
                (r["acceptance"], None), None, f"1 molecule, {r['systems']} systems",
                f"{r['steps']:,} steps",
            ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (scheme, name) in enumerate(NAMES.items()):
        some = [r for r in result["results"] if r["scheme"] == scheme]
        n = np.array([r["proposals"] for r in some])
        energy, error = np.array([r["recycled_K"] for r in some]).T
        left.errorbar(n * 1.03 ** (k - 2), energy - result["exact_K"], error, fmt="o-", ms=4,
                      capsize=3, label=name)  # fmt: skip
        right.loglog(n, error, "o-", ms=4, label=name)
    left.axhline(0, color="k", lw=0.8)
    left.set(xlabel="number of proposals", xscale="log", ylabel="energy less the integral (K)")
    right.set(xlabel="number of proposals", ylabel="error after equally many energies (K)")
    left.legend(fontsize=7)
    figure.suptitle(f"one methane in MFI, 300 K, {result['displacement']:g} Å", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--proposals", (2, 4, 8, 16, 32, 64))
    parser.option("--energies", 2e6, "Number of energies that each system calculates.")
    parser.option("--systems", 32)
    parser.option("--displacement", 0.65, "Maximum displacement or standard deviation in angstrom.")
    parser.option("--spacing", 0.3, "Spacing of the linear grid in angstrom.")
    parser.option("--threads", 1, "Number of simultaneous systems.")
    quick = {"energies": 4000, "systems": 8, "spacing": 0.8, "proposals": [2, 8]}
    options = script.parse(parser, "appendix_b", quick, draw=draw)
    script.at_least(options, systems=2, energies=1, proposals=2, threads=1)
    found = measure(options)
    script.finish(options, {
        **found, "rows": rows(found["exact_K"], found["results"]), "device": "cpu"
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
