# SPDX-License-Identifier: BSD-3-Clause
"""Equations 9 to 11: waste recycling of configurational bias, for n-butane in MFI.

    python equation_9.py
    python equation_9.py --draw equation_9.json

serial_proposals.cpp moves chains of TraPPE: a trial is a displaced center with a conformation of
the ideal gas and a random orientation. Configurational bias needs an old set of its own for each
trial if all of them are recycled (Eq. 11). The same chains move by random walks (section 4.4) and
by single proposals, and, as an independent reference, by the growth of chains in the engine.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from serial_proposals import BUTANE, Serial, mean_and_error

from manymove import Adsorption, EnergyGrid, Interactions, Steps, script
from manymove.adsorption import TRAPPE_ZEO

NAMES = {"metropolis": "one proposal", "walks": "random walks", "biased": "configurational bias"}


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    field = replace(TRAPPE_ZEO, potential="shifted")
    laws = Interactions(12.0, field, grid=EnergyGrid(options.spacing, "linear"))
    a = Adsorption(
        "MFI", options.molecules, adsorbates="n-butane", systems=options.systems,
        method=Steps("plj", reinsertion=0.1, trial_positions=16, trial_orientations=16),
        interactions=laws, seed=options.seed, device="cpu",
    )  # fmt: skip
    a.equilibrate(options.reference_steps // 4)
    a.run(options.reference_steps)
    reference = a.energy_plain
    results = [{
        "scheme": "engine", "proposals": None, "steps": options.reference_steps,
        "plain_K": [reference.value, reference.error], "recycled_K": None, "acceptance": None,
        "energies_per_step": None,
    }]  # fmt: skip
    print(results[0], flush=True)
    start = a.site_positions(0)
    program = Serial(BUTANE, spacing=options.spacing, threads=options.threads)
    for scheme in NAMES:
        for proposals in (2,) if scheme == "metropolis" else options.proposals:
            cost = proposals**2 + 1 if scheme == "biased" else proposals
            steps = max(10, int(options.energies / cost))
            run = program.run(start, scheme, proposals, options.displacement, steps,
                              seed=options.seed)  # fmt: skip
            results.append({
                "scheme": scheme, "proposals": proposals, "steps": steps,
                "plain_K": mean_and_error(run["plain"]),
                "recycled_K": mean_and_error(run["recycled"]),
                "acceptance": float(run["acceptance"].mean()),
                "energies_per_step": float(run["evaluations"].mean()),
            })  # fmt: skip
            print(results[-1], flush=True)
    return results


def rows(results: list[dict[str, Any]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Energies of a molecule, and the cost of Eq. 9 beside that which the paper states."""
    found, molecules = [], options.molecules
    size = f"{molecules} molecules, {options.systems} systems"
    reference = tuple(x / molecules for x in results[0]["plain_K"])
    found.append(script.compared(
        "energy of a molecule, growth of chains in the engine (K)", reference, None, size,
        f"{results[0]['steps']:,} steps",
    ))  # fmt: skip
    for r in results[1:]:
        name, length = f"{NAMES[r['scheme']]}, {r['proposals']} proposals", f"{r['steps']:,} steps"
        for key, how in (("plain_K", "states"), ("recycled_K", "recycled")):
            found.append(script.compared(
                f"energy of a molecule, {name}, {how} (K)",
                tuple(x / molecules for x in r[key]), None, size, length,
            ))  # fmt: skip
    for r in results[1:]:
        if r["scheme"] == "biased":
            n = r["proposals"]
            found.append(script.compared(
                f"energies in a step, configurational bias, {n} trials (paper: N(N - 1))",
                (r["energies_per_step"], None), (float(n * (n - 1)), None), size,
                f"{r['steps']:,} steps",
            ))  # fmt: skip
    walks = {r["proposals"]: r for r in results if r["scheme"] == "walks"}
    for r in results[1:]:
        if r["scheme"] == "biased" and r["proposals"] in walks:
            ratio = r["recycled_K"][1] / walks[r["proposals"]]["recycled_K"][1]
            found.append(script.compared(
                f"error of Eq. 9 / error of random walks, equally many energies, "
                f"{r['proposals']} trials", (ratio, None), None, size, f"{r['steps']:,} steps",
            ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    molecules = result["molecules"]
    value, error = result["results"][0]["plain_K"]
    left.axhspan((value - error) / molecules, (value + error) / molecules, color="k", alpha=0.2,
                 lw=0, label="growth of chains, engine")  # fmt: skip
    for k, (scheme, name) in enumerate(NAMES.items()):
        some = [r for r in result["results"] if r["scheme"] == scheme]
        n = np.array([r["proposals"] for r in some])
        for key, marker, how in (("plain_K", "o", "states"), ("recycled_K", "s", "recycled")):
            energy, errors = np.array([r[key] for r in some]).T / molecules
            left.errorbar(n * (1.06 if marker == "s" else 1.0), energy, errors, fmt=marker, ms=4,
                          capsize=3, color=f"C{k}", label=f"{name}, {how}")  # fmt: skip
            right.loglog(n, errors, f"{marker}-", ms=4, color=f"C{k}", label=f"{name}, {how}")
    left.set(xlabel="number of proposals", xscale="log", ylabel="energy of a molecule (K)")
    right.set(xlabel="number of proposals", ylabel="error after equally many energies (K)")
    left.legend(fontsize=6)
    figure.suptitle(f"{molecules} n-butanes in MFI, 300 K, {result['systems']} systems",
                    fontsize=9)  # fmt: skip
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--molecules", 8)
    parser.option("--proposals", (8, 32))
    parser.option("--energies", 2e6, "Number of energies that each system calculates.")
    parser.option("--reference-steps", 40000)
    parser.option("--systems", 16)
    parser.option("--displacement", 1.0, "Maximum displacement of the center in angstrom.")
    parser.option("--spacing", 0.3, "Spacing of the linear grid in angstrom.")
    parser.option("--threads", 1, "Number of simultaneous systems.")
    quick = {"energies": 3000, "systems": 4, "molecules": 2, "spacing": 0.8, "proposals": [8],
             "reference_steps": 40}  # fmt: skip
    options = script.parse(parser, "equation_9", quick, draw=draw)
    script.at_least(options, molecules=1, systems=2, energies=1, proposals=2, threads=1)
    results = measure(options)
    script.finish(options, {
        "results": results, "rows": rows(results, options), "device": "cpu"
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
