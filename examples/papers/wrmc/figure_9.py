# SPDX-License-Identifier: BSD-3-Clause
"""Figures 9 and 10: free energy of 32 methanes along LTA, and errors of the probability P.

    python figure_9.py
    python figure_9.py --draw figure_9.json

All methods have the same time. P sums to 1 over the bins, and z* is the bin in which it is lowest.
The paper prints P(z*), but not the bins. Therefore the rows have the density at z*, the bins with
which it becomes the published value, and relative errors, which depend little on the bins. mdp runs
at several maximum displacements, because the paper does not print the displacement in LTA.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from methane import run_for

from manymove import Adsorption, EnergyGrid, Interactions, Molecules, ProfileAxis, Steps, script

MOLECULES = 32
EDGE = 24.555  # angstrom, of the box
# Method, number of proposals, maximum displacement in angstrom (None: as tuned, or uniform).
METHODS = (("pmc", None, None), ("plj", None, None), ("mup", 32, None), ("mdp", 32, 0.65),
           ("mdp", 64, 0.65), ("mdp", 128, 0.65), ("mdp", 256, 0.65), ("mdp", 32, 1.65),
           ("mdp", 32, 2.5), ("mdp", 32, 4.0))  # fmt: skip
# Section 5.6: P(z*) and its standard deviation over 20 simulations, and steps of all systems: 14
# multiprocessors with 8 blocks each (caption of Figure 9, for mdp; none is printed for plj).
PAPER = {"plj": (2.41e-4, 4.04e-6, 51.2e6 * 112), "mdp": (2.44e-4, 1.13e-6, 10e6 * 112)}
SIMULATIONS = 20
GROUPS = 128  # of systems at most, whose profiles give the errors


def name_of(row: dict[str, Any]) -> str:
    """Such as "mdp 32, 0.65 Å"."""
    name = f"{row['method']} {row['proposals'] or ''}".strip()
    return name + (f", {row['max_displacement']:g} Å" if row["method"] == "mdp" else "")


def add_barrier(results: list[dict[str, Any]]) -> None:
    """P, its error and F in the bin where P is lowest by all methods together."""
    window = int(np.argmin(np.mean([r["probability"] for r in results], axis=0)))
    for r in results:
        p = max(r["probability"][window], 1e-12)
        r["P_at_barrier"] = p
        r["barrier_kT"] = float(np.log(max(r["probability"]) / p))
        r["relative_error_at_barrier"] = r["error"][window] / p
    plj = next(r for r in results if r["method"] == "plj")
    for r in results:
        r["plj_error_over_its"] = plj["relative_error_at_barrier"] / max(
            r["relative_error_at_barrier"], 1e-12
        )


def at_windows(row: dict[str, Any]) -> tuple[float, float]:
    """P and its relative error in the bins on both sides of both windows (z = 0 and half the
    edge), which are equal by symmetry; the relative error is that of one bin."""
    n = len(row["probability"])
    bins = [0, n // 2 - 1, n // 2, n - 1] if n % 2 == 0 else [0, n // 2]
    p, s = (np.array(row[key])[bins] for key in ("probability", "error"))
    mean = float(p.mean())
    return mean, float(np.sqrt((s**2).mean()) / max(mean, 1e-300))


def rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The barrier, the density at z*, the bins of the paper, and relative errors."""
    found = []
    bins = len(results[0]["probability"])
    p_all, weight = [], []
    for r in results:
        p, relative = at_windows(r)
        if not p > 0:
            continue
        size, length = f"{r['systems']:,} systems", f"{r['steps']:,} steps"
        # Two windows, whose neighboring bins are correlated.
        error = relative / math.sqrt(2)
        p_all.append(p)
        weight.append(1 / max(error * p, 1e-300) ** 2)
        found.append(script.compared(
            f"barrier of {name_of(r)} (kT)",
            (math.log(max(r["probability"]) / p), error), None, size, length,
        ))  # fmt: skip
    density = float(np.average(p_all, weights=weight)) * bins / EDGE if p_all else 0.0
    if not density > 0:  # of a run that is too short to see the barrier
        return found
    uncertainty = float(1 / math.sqrt(sum(weight))) * bins / EDGE
    published = PAPER["plj"][0]
    every, whole = f"{bins} bins", "all methods"
    found += [
        script.compared("density at z*, P(z*) / width (1e-5/Å)",
                        (1e5 * density, 1e5 * uncertainty), None, every, whole),
        script.compared("width of a bin with P(z*) = 2.41e-4 if P sums to 1 (Å)",
                        (published / density, published / density * uncertainty / density), None,
                        every, whole),
        script.compared("number of bins with P(z*) = 2.41e-4 if P sums to 32, the molecules",
                        (MOLECULES * density * EDGE / published,
                         MOLECULES * uncertainty * EDGE / published), None, every, whole),
    ]  # fmt: skip
    plj = next(r for r in results if r["method"] == "plj")
    own = 1 / math.sqrt(2 * (GROUPS - 1) * 2)  # of a standard deviation over groups, two windows
    theirs = 1 / math.sqrt(2 * (SIMULATIONS - 1))
    for r in results:
        if r["method"] not in PAPER or not at_windows(r)[0] > 0:
            continue
        value, deviation, samples = PAPER[r["method"]]
        _, relative = at_windows(r)
        size, length = f"{r['systems']:,} systems", f"{r['steps']:,} steps"
        scaled = 100 * relative * math.sqrt(r["steps"] * r["systems"] / samples)
        printed = r["method"] == "plj" or r["proposals"] == 32
        found.append(script.compared(
            f"relative error of P(z*) of {name_of(r)} after as many steps as in the paper (%)",
            (scaled, own * scaled),
            (100 * deviation / value, 100 * deviation / value * theirs) if printed else None,
            size, length,
        ))  # fmt: skip
    ratio = PAPER["plj"][1] / PAPER["plj"][0] / (PAPER["mdp"][1] / PAPER["mdp"][0])
    for r in results:
        if r["method"] in ("mdp", "mup"):
            gain = at_windows(plj)[1] / max(at_windows(r)[1], 1e-300)
            printed = r["method"] == "mdp" and r["proposals"] == 32
            found.append(script.compared(
                f"Figure 10: relative error at z* of plj / {name_of(r)}, equal time",
                (gain, gain * own * math.sqrt(2)),
                (ratio, ratio * theirs * math.sqrt(2)) if printed else None,
                f"{r['systems']:,} systems", f"{r['steps']:,} steps",
            ))  # fmt: skip
    return found


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    grid = EnergyGrid(options.spacing, options.interpolation)
    settings = {"interactions": Interactions(grid=grid), "device": options.device}
    start = Adsorption("LTA", MOLECULES, method="mdp", systems=options.systems, seed=options.seed,
                       **settings)  # fmt: skip
    start.equilibrate(options.relax * MOLECULES)
    all_positions = start.positions
    results = []
    for method, proposals, displacement in METHODS:
        share = 1 if method == "pmc" else 8
        positions = all_positions[: max(2, options.systems // share)]
        a = Adsorption(
            "LTA", Molecules(MOLECULES, positions=positions),
            method=Steps(method, proposals, displacement), systems=len(positions),
            profile=ProfileAxis("z", options.bins), seed=options.seed + 1, **settings,
        )  # fmt: skip
        run_for(a, options.seconds)
        p = a.profile
        results.append({
            "method": method, "proposals": proposals, "max_displacement": a.max_displacement,
            "systems": a.systems, "steps": a.samples, "acceptance": a.acceptance,
            "position": p.position.tolist(), "probability": p.probability.tolist(),
            "error": p.probability_error.tolist(),
            "trial_states_per_second": a.trial_states / a.seconds,
            "blocked_share": a.grid["blocked"], "on_hills": a.on_hills(),
        })  # fmt: skip
    add_barrier(results)
    for r in results:
        print(name_of(r), r["systems"], "systems", r["steps"], "steps,",
              f"barrier {r['barrier_kT']:.3f} kT, P there {r['P_at_barrier']:.3e}, its error "
              f"{r['relative_error_at_barrier']:.2%}, plj's error over its "
              f"{r['plj_error_over_its']:.2f}")  # fmt: skip
    return results


def draw(result: dict[str, Any]) -> Figure:
    """F and the relative error of P along z (Figures 9 and 10)."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for row in result["results"]:
        z, p, s = (np.array(row[key]) for key in ("position", "probability", "error"))
        p = np.where(p > 0, p, np.nan)
        left.plot(z, -np.log(p / np.nanmax(p)), lw=1, label=name_of(row))
        right.semilogy(z, s / p, lw=1, label=name_of(row))
    for k, (method, (value, deviation, _)) in enumerate(PAPER.items()):
        right.plot([EDGE / 2], [deviation / value], "ks", mfc=("none", "k")[k], ms=5,
                   label=f"{method}, paper at z*")  # fmt: skip
    left.set(xlabel="position along z (Å)", ylabel=r"free energy $\beta F$")
    right.set(xlabel="position along z (Å)", ylabel="relative error of P")
    left.legend(fontsize=6)
    right.legend(fontsize=6, ncols=2)
    figure.suptitle(
        f"{MOLECULES} methanes in LTA, 300 K, {result['seconds']:g} s each, "
        f"{result['device_name']}", fontsize=9,
    )  # fmt: skip
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--seconds", 4.0, "Duration of each method in seconds.")
    parser.option("--systems", 33792, "Number of systems of pmc; others have an eighth.")
    parser.option("--bins", 100, "Number of bins in the box.")
    parser.option("--spacing", 0.2, "Spacing of the grid of framework energies in angstrom.")
    parser.option("--interpolation", "cubic", choices=("linear", "cubic"))
    parser.option("--relax", 500, "Steps of mdp per molecule.")
    quick = {"seconds": 0.02, "systems": 16, "relax": 20, "spacing": 0.6}
    options = script.parse(parser, "figure_9", quick, draw=draw)
    script.at_least(options, seconds=1e-3, systems=1, bins=2)
    results = measure(options)
    name = Adsorption("LTA", 1, systems=1, seed=0, device=options.device).device_name
    script.finish(options, {"results": results, "rows": rows(results), "device_name": name}, draw)


if __name__ == "__main__":
    script.run_script(main)
