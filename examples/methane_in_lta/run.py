"""Methane through the windows of LTA: Figures 9 and 10 of Kim et al., J. Chem. Theory Comput. 7,
3208 (2011).

    python run.py                                        all methods at equal time
    python run.py --draw out/methane_in_lta/summary.json

P and F along z.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import Adsorption, EnergyGrid, Interactions, Molecules, ProfileAxis, Steps, script

MOLECULES = 32
METHODS = (("pmc", None), ("plj", None), ("mup", 32), ("mdp", 32), ("mdp", 64), ("mdp", 128))


def run_for(a: Adsorption, seconds: float, equilibrate: float = 0.3) -> None:
    """So many seconds of steps, after a share of them that is not measured."""
    for share, run in ((equilibrate, a.equilibrate), (1.0, a.run)):
        end, steps = a.seconds + share * seconds, 16
        while (left := end - a.seconds) > 0:
            before = a.seconds
            run(steps)
            steps = max(1, min(4 * steps, int(0.9 * left / ((a.seconds - before) / steps))))


def add_barrier(rows: list[dict[str, Any]]) -> None:
    """P, its error and F in the bin where P is lowest by all methods together."""
    window = int(np.argmin(np.mean([r["probability"] for r in rows], axis=0)))
    for r in rows:
        p = max(r["probability"][window], 1e-12)
        r["P_at_barrier"] = p
        r["barrier_kT"] = float(np.log(max(r["probability"]) / p))
        r["relative_error_at_barrier"] = r["error"][window] / p
    plj = next(r for r in rows if r["method"] == "plj")
    for r in rows:
        r["plj_error_over_its"] = plj["relative_error_at_barrier"] / max(
            r["relative_error_at_barrier"], 1e-12
        )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    grid = EnergyGrid(interpolation=options.interpolation)
    settings = {"interactions": Interactions(grid=grid), "device": options.device}
    start = Adsorption("LTA", MOLECULES, method="mdp", systems=options.systems, seed=options.seed,
                       **settings)  # fmt: skip
    start.equilibrate(options.relax * MOLECULES)
    rows = []
    for method, proposals in METHODS:
        share = 1 if method == "pmc" else 8
        positions = start.positions[: options.systems // share]
        a = Adsorption(
            "LTA", Molecules(MOLECULES, positions=positions), method=Steps(method, proposals),
            systems=len(positions), profile=ProfileAxis("z", options.bins), seed=options.seed + 1,
            **settings,
        )  # fmt: skip
        run_for(a, options.seconds)
        p = a.profile
        rows.append({
            "method": method, "proposals": proposals, "systems": a.systems, "steps": a.samples,
            "position": p.position.tolist(), "probability": p.probability.tolist(),
            "error": p.probability_error.tolist(),
            "trial_states_per_second": a.trial_states / a.seconds,
            "blocked_share": a.grid["blocked"], "on_hills": a.on_hills(),
        })  # fmt: skip
    add_barrier(rows)
    for r in rows:
        print(r["method"], r["proposals"] or "", r["systems"], "systems", r["steps"], "steps,",
              f"barrier {r['barrier_kT']:.3f} kT, P there {r['P_at_barrier']:.3e}, its error "
              f"{r['relative_error_at_barrier']:.2%}, plj's error over its "
              f"{r['plj_error_over_its']:.2f}")  # fmt: skip
    return {"device": a.device_name, "rows": rows}


def draw(result: dict[str, Any]) -> Figure:
    """F and the relative error of P along z (Figures 9 and 10)."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for row in result["rows"]:
        z, p, s = (np.array(row[key]) for key in ("position", "probability", "error"))
        p = np.where(p > 0, p, np.nan)
        label = f"{row['method']} {row['proposals'] or ''}"
        left.plot(z, -np.log(p / np.nanmax(p)), lw=1, label=label)
        right.semilogy(z, s / p, lw=1, label=label)
    left.set(xlabel="position along z (Å)", ylabel=r"free energy $\beta F$")
    right.set(xlabel="position along z (Å)", ylabel="relative error of P")
    left.legend(fontsize=7)
    figure.suptitle(
        f"{MOLECULES} methanes in LTA, 300 K, {result['seconds']:g} s each on {result['device']}",
        fontsize=9,
    )
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="measured, of each method")
    parser.add_argument("--systems", type=int, default=33792, help="of pmc; others take an eighth")
    parser.add_argument("--bins", type=int, default=100, help="in one unit cell")
    parser.add_argument("--interpolation", default="linear", choices=("linear", "cubic"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--relax", type=int, default=500, help="Steps of mdp per molecule.")
    parser.add_argument("--seed", type=int, default=1)
    quick = {"seconds": 0.02, "systems": 16, "relax": 20, "interpolation": "cubic"}
    options = script.parse(parser, "methane_in_lta", quick)
    if not 0 < options.seconds < 1e6:
        parser.error("--seconds must be positive")
    if options.draw:
        result = script.read(options)[0]
    else:
        result = script.save(options, measure(options))
    script.picture(options, draw(result))


if __name__ == "__main__":
    script.run_script(main)
