# SPDX-License-Identifier: BSD-3-Clause
"""Table 1 and Figure 5: b* of the optimal estimator, and what the estimator gains.

    python table_1.py
    python table_1.py --draw table_1.json

b* (Eqs. 7 and 8) is the variance of the energy divided by half the mean squared change of a step,
so that it depends on the maximum displacement, but not on the time of a step. The paper does not
print the displacement of Table 1. It is 0.65 Å if the displacement of "the remainder of these
studies" (section 5.2) applies here. This script measures b* at several displacements, and Figure 5
at 0.65 Å. With --serial the independent program serial_proposals.cpp measures the same on one core
in double precision, and also takes the jumps from successive states (Eq. 7).
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from methane import (
    LOADINGS,
    REFERENCE_STEPS,
    add_options,
    device_name,
    equilibrated,
    laws,
    started,
)
from serial_proposals import METHANE, Serial

from manymove import Steps, script
from manymove.analysis.notation import with_error

PAPER = {32: {32: 66.74, 64: 136.20, 96: 224.92, 128: 400.40},
         128: {32: 43.14, 64: 89.93, 96: 162.07, 128: 321.72}}  # fmt: skip
PRINTED = 0.65  # angstrom, section 5.2
BLOCKS = 8  # of systems, whose b* give its error


def of_sums(means: np.ndarray) -> tuple[float, float]:
    """b* by Eq. 8 with its error, from means (3, systems) of E, E^2 and half the squared jump."""

    def ratio(some: np.ndarray) -> float:
        energy, squared, jump = some.mean(axis=1)
        return float((squared - energy**2) / jump) if jump else math.nan

    parts = [ratio(part) for part in np.array_split(means, min(BLOCKS, means.shape[1]), axis=1)]
    error = np.std(parts, ddof=1) / math.sqrt(len(parts)) if len(parts) > 1 else math.nan
    return ratio(means), float(error)


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    results = []
    some = max(2, options.systems // 4)
    for molecules in options.loadings:
        start = equilibrated(molecules, options, systems=some, interactions=laws(options))
        for proposals in (32, 128):
            for d in options.displacements:
                # b* of parts of the systems gives its error.
                parts, energies = [], []
                for part in np.array_split(np.arange(some), min(BLOCKS, some // 2)):
                    a = started(Steps("mdp-dj", proposals, d), start[part], options,
                                interactions=laws(options))  # fmt: skip
                    a.equilibrate(max(1, options.steps // 10))
                    a.run(options.steps)
                    scale = math.sqrt(a.systems * a.samples / REFERENCE_STEPS)
                    errors = (a.energy_plain, a.energy_waste_recycled, a.energy_average)
                    parts.append(a.b_star)
                    energies.append([e.error * scale for e in errors])
                deviations = np.sqrt(np.mean(np.square(energies), axis=0))
                results.append({
                    "molecules": molecules, "proposals": proposals, "max_displacement": d,
                    "systems": some, "steps": options.steps, "b_star": float(np.mean(parts)),
                    "b_star_error": float(np.std(parts, ddof=1) / math.sqrt(len(parts)))
                    if len(parts) > 1 else None,
                    **{f"deviation_{k}_K": float(value) for k, value in
                       zip(("mc", "mdp", "mdp-dj"), deviations, strict=True)},
                })  # fmt: skip
                print(molecules, proposals, d, with_error(results[-1]["b_star"],
                      results[-1]["b_star_error"] or math.nan), deviations, flush=True)  # fmt: skip
    return results


def serial(options: argparse.Namespace) -> list[dict[str, Any]]:
    """b* on one core by Eqs. 7 and 8, and the energy."""
    results = []
    program = Serial(METHANE, spacing=options.serial_spacing)
    for molecules in options.loadings:
        start = equilibrated(molecules, options, systems=options.serial_systems,
                             interactions=laws(options))  # fmt: skip
        for proposals in (32, 128):
            for d in (PRINTED,) if options.quick else options.displacements:
                found = program.run(start, "walks", proposals, d, options.serial_steps,
                                    seed=options.seed)  # fmt: skip
                eq_8 = of_sums(found["moments"])
                eq_7 = of_sums(found["plain_moments"])
                results.append({
                    "molecules": molecules, "proposals": proposals, "max_displacement": d,
                    "systems": options.serial_systems, "steps": options.serial_steps,
                    "b_star_eq_7": eq_7, "b_star_eq_8": eq_8,
                })  # fmt: skip
                print("serial", molecules, proposals, d, "Eq. 7", with_error(*eq_7), "Eq. 8",
                      with_error(*eq_8), flush=True)  # fmt: skip
    return results


def off(results: list[dict[str, Any]], displacement: float) -> float:
    """Root mean square of ln(ours / Table 1) at a displacement."""
    logs = [math.log(r["b_star"] / PAPER[r["proposals"]][r["molecules"]]) for r in results
            if r["max_displacement"] == displacement and r["molecules"] in LOADINGS]  # fmt: skip
    return float(np.sqrt(np.mean(np.square(logs)))) if logs else math.nan


def rows(results: list[dict[str, Any]], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """b* at the printed displacement and at the one that agrees best with Table 1, and Figure 5."""
    found = []
    ds = sorted({r["max_displacement"] for r in results})
    best = min(ds, key=lambda d: off(results, d))
    for d in dict.fromkeys((PRINTED, best)):
        for r in results:
            if r["max_displacement"] != d or r["molecules"] not in PAPER[32]:
                continue
            size = f"{r['molecules']} molecules, {r['systems']} systems"
            length = f"{r['steps']:,} steps"
            found.append(script.compared(
                f"b*, {r['proposals']} proposals, {d:g} Å", (r["b_star"], r["b_star_error"]),
                (PAPER[r["proposals"]][r["molecules"]], None), size, length,
            ))  # fmt: skip
    for d in ds:
        found.append(script.compared(
            f"root mean square of ln(b* / Table 1), {d:g} Å", (off(results, d), None), None,
            "all loadings", f"{results[0]['steps']:,} steps",
        ))  # fmt: skip
    for r in others:
        if r["max_displacement"] != PRINTED:
            continue
        size = f"{r['molecules']} molecules, {r['systems']} systems"
        length = f"{r['steps']:,} steps"
        for name in ("7", "8"):
            found.append(script.compared(
                f"b* by Eq. {name}, one core, {r['proposals']} proposals, {PRINTED} Å",
                tuple(r[f"b_star_eq_{name}"]),
                (PAPER[r["proposals"]][r["molecules"]], None), size, length,
            ))  # fmt: skip
    for r in results:
        if r["max_displacement"] == PRINTED:
            ratio = r["deviation_mdp_K"] / r["deviation_mdp-dj_K"]
            found.append(script.compared(
                f"Figure 5: standard deviation of mdp / mdp-dj, {r['proposals']} proposals",
                (ratio, None), None, f"{r['molecules']} molecules, {r['systems']} systems",
                f"{r['steps']:,} steps",
            ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ds = sorted({r["max_displacement"] for r in result["results"]})
    lines = ("-", "--", ":", "-.", (0, (1, 3)))
    for k, proposals in enumerate((32, 128)):
        for line, d in zip(lines, ds, strict=False):
            some = [r for r in result["results"]
                    if (r["proposals"], r["max_displacement"]) == (proposals, d)]  # fmt: skip
            n = [r["molecules"] for r in some]
            if d == PRINTED:
                for key, style in (("mc", ":"), ("mdp", "--"), ("mdp-dj", "-")):
                    left.semilogy(n, [r[f"deviation_{key}_K"] for r in some], "o", ls=style, ms=4,
                                  color=f"C{k}", label=f"{key}, {proposals} proposals")  # fmt: skip
            right.plot(n, [r["b_star"] for r in some], ls=line, marker="o", ms=4, color=f"C{k}",
                       label=f"{proposals} proposals, {d:g} Å")  # fmt: skip
        right.plot(list(PAPER[proposals]), list(PAPER[proposals].values()), "x", color=f"C{k}",
                   ms=8, label=f"Table 1, {proposals} proposals")  # fmt: skip
    left.set(xlabel="methane molecules per system", ylabel="standard deviation (K)",
             title=f"Figure 5, {PRINTED} Å")  # fmt: skip
    right.set(xlabel="methane molecules per system", ylabel="optimal coefficient $b^*$",
              title="Table 1")  # fmt: skip
    left.legend(fontsize=7)
    right.legend(fontsize=6)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--steps", 20000)
    parser.option(
        "--displacements", (PRINTED, 1.0, 1.65, 1.8, 2.0), "Maximum displacements in angstrom."
    )
    parser.option("--serial", False, "Measure b* also on one core with serial_proposals.cpp.")
    parser.option("--serial-systems", 16)
    parser.option("--serial-steps", 40000)
    parser.option(
        "--serial-spacing", 0.16, "Spacing of the linear grid of the program in angstrom."
    )
    add_options(parser)
    parser.set_defaults(spacing=0.2, interpolation="cubic")
    quick = {"steps": 40, "systems": 16, "relax": 0.005, "loadings": [32], "serial": True,
             "displacements": [PRINTED], "serial_systems": 2, "serial_steps": 100,
             "serial_spacing": 0.8, "spacing": 0.3}  # fmt: skip
    options = script.parse(parser, "table_1", quick, draw=draw)
    script.at_least(options, loadings=1, steps=1, systems=1, displacements=0)
    results = measure(options)
    others = serial(options) if options.serial else []
    script.finish(options, {
        "reference_steps": REFERENCE_STEPS, "results": results, "serial_results": others,
        "rows": rows(results, others), "device_name": device_name(options),
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
