# SPDX-License-Identifier: BSD-3-Clause
"""Table 2 and Figure 7: energies of mdp-dj with 32 to 512 proposals, and errors at equal time.

    python table_2.py
    python table_2.py --draw table_2.json

All measurements have the same duration; pmc has four times as many systems as the other methods.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from methane import PROPOSALS, add_options, device_name, equilibrated, laws, run_for, started

from manymove import Steps, script

# Table 2: total energies in kelvin and their standard deviations, by molecules and proposals.
PAPER = {
    32: [(-68354.59, 1.39), (-68353.49, 1.27), (-68354.19, 1.67), (-68355.18, 1.97),
         (-68352.43, 3.32)],
    64: [(-138027.62, 2.97), (-138027.38, 2.56), (-138027.66, 2.27), (-138028.18, 3.50),
         (-138028.45, 4.84)],
    96: [(-209278.78, 3.24), (-209278.40, 3.21), (-209280.23, 3.73), (-209278.08, 5.77),
         (-209277.23, 7.04)],
    128: [(-281343.57, 7.63), (-281340.17, 7.58), (-281340.30, 9.55), (-281343.87, 10.42),
          (-281344.35, 13.05)],
}  # fmt: skip


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    results = []
    for molecules in options.loadings:
        start = equilibrated(molecules, options, interactions=laws(options))
        variants = [("pmc", None), ("plj", None), ("mup", 32), ("mdp", 32)]
        for method, proposals in variants + [("mdp-dj", p) for p in options.proposals]:
            some = start if method == "pmc" else start[: max(2, options.systems // 4)]
            a = started(Steps(method, proposals), some, options, interactions=laws(options))
            run_for(a, options.seconds)
            results.append({
                "molecules": molecules, "method": method, "proposals": proposals,
                "systems": a.systems, "energy_K": float(a.energy_average),
                "error_K": a.energy_average.error,
                "b_star": a.b_star if method == "mdp-dj" else None, "steps": a.samples,
                "acceptance": a.acceptance, "max_displacement": a.max_displacement,
                "on_hills": a.on_hills(),
            })  # fmt: skip
            print(molecules, method, proposals or "", a.energy_average, f"{a.samples} steps",
                  flush=True)  # fmt: skip
    return results


def rows(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Energies of Table 2, and errors relative to that of mdp-dj with 32 proposals (Figure 7)."""
    found = []
    for r in results:
        published = None
        if r["method"] == "mdp-dj" and r["molecules"] in PAPER:
            published = PAPER[r["molecules"]][PROPOSALS.index(r["proposals"])]
        name = f"{r['method']}, {r['proposals']} proposals" if r["proposals"] else r["method"]
        found.append(script.compared(
            f"energy, {name}, {r['molecules']} molecules (K)", (r["energy_K"], r["error_K"]),
            published, f"{r['systems']:,} systems", f"{r['steps']:,} steps",
        ))  # fmt: skip
    for molecules in dict.fromkeys(r["molecules"] for r in results):
        some = {(r["method"], r["proposals"]): r for r in results if r["molecules"] == molecules}
        first = some["mdp-dj", 32]["error_K"]
        for (method, proposals), r in some.items():
            if (method, proposals) == ("mdp-dj", 32) or method in ("mup", "mdp"):
                continue
            published = None
            if method == "mdp-dj" and molecules in PAPER:
                deviations = [deviation for _, deviation in PAPER[molecules]]
                published = (deviations[PROPOSALS.index(proposals)] / deviations[0], None)
            name = f"{method}, {proposals} proposals" if proposals else method
            found.append(script.compared(
                f"Figure 7: error of {name} / error of 32 proposals, {molecules} molecules",
                (r["error_K"] / first, None), published, f"{r['systems']:,} systems",
                f"{r['steps']:,} steps",
            ))  # fmt: skip
    return found


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    results = result["results"]
    names = dict.fromkeys((r["method"], r["proposals"]) for r in results)
    for k, (method, proposals) in enumerate(names):
        some = [r for r in results if (r["method"], r["proposals"]) == (method, proposals)]
        n = np.array([r["molecules"] for r in some])
        e, s = (np.array([r[key] for r in some]) for key in ("energy_K", "error_K"))
        label = f"{method} {proposals or ''}"
        known = np.array([m in PAPER for m in n])
        paper = np.array([PAPER[m][0][0] for m in n[known]])
        left.errorbar(n[known] + k - 4, 100 * (e[known] / paper - 1), 100 * s[known] / -paper,
                      fmt="o", ms=4, capsize=3, label=label)  # fmt: skip
        right.semilogy(n, s, "o-", ms=4, label=label)
    for k, proposals in enumerate(PROPOSALS):
        right.plot(list(PAPER), [PAPER[n][k][1] for n in PAPER], "x", color=f"C{k + 4}",
                   label=f"Table 2, {proposals}")  # fmt: skip
    left.axhspan(-0.6, 0.6, color="k", alpha=0.08, lw=0)
    left.set(xlabel="methane molecules per system", ylabel="energy relative to Table 2 (%)",
             ylim=(-1, 1))  # fmt: skip
    right.set(xlabel="methane molecules per system", ylabel="error of the energy (K)")
    right.legend(fontsize=6, ncols=2)
    figure.suptitle(f"methane in MFI, 300 K, {result['device_name']}", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--seconds", 0.6, "Duration of each measurement in seconds.")
    parser.option("--proposals", PROPOSALS)
    add_options(parser)
    parser.set_defaults(spacing=0.2, interpolation="cubic", precision="mixed")
    quick = {"seconds": 0.02, "systems": 32, "relax": 0.005, "loadings": [32],
             "proposals": [32, 64], "spacing": 0.3}  # fmt: skip
    options = script.parse(parser, "table_2", quick, draw=draw)
    script.at_least(options, loadings=1, systems=1, seconds=1e-3)
    results = measure(options)
    script.finish(options, {
        "results": results, "rows": rows(results), "device_name": device_name(options)
    }, draw)  # fmt: skip


if __name__ == "__main__":
    script.run_script(main)
