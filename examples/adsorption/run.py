"""Methane in MFI and in LTA as in Kim et al., J. Chem. Theory Comput. 7, 3208 (2011).

    python run.py mfi RESULTS.json     energies of Table 2 and errors at equal time (Figures 3b, 7)
    python run.py lta RESULTS.json     free energy through the window (Figures 9, 10)
    python run.py draw RESULTS.json    the picture that belongs to a file of results, beside it

Every method gets the same --seconds for its measured steps on the device that is there.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from manymove import Adsorption
from manymove.bench import machine

METHODS = {"pmc": None, "plj": None, "mup": 32, "mdp": 32, "mdp-dj": 32}
# Table 2, 32 proposals: total energies in kelvin and their standard deviations.
PAPER = {32: (-68354.59, 1.39), 64: (-138027.62, 2.97), 96: (-209278.78, 3.24),
         128: (-281343.57, 7.63)}  # fmt: skip
EQUILIBRATE = 4  # times the seconds that are measured


def measure(framework: str, molecules: int, method: str, options: argparse.Namespace, **settings):
    """An engine after `--seconds` of measured steps."""
    a = Adsorption(
        framework, molecules, method=method, proposals=METHODS[method], systems=options.systems,
        interpolation="cubic", seed=options.seed, device=options.device, **settings,
    )  # fmt: skip
    for share, run in ((EQUILIBRATE, a.equilibrate), (1, a.run)):
        end, steps = a.seconds + share * options.seconds, 16
        while (left := end - a.seconds) > 0:
            before = a.seconds
            run(steps)
            each = (a.seconds - before) / steps
            steps = max(1, min(2 * steps, int(0.5 * left / each)))
    return a


def mfi(options: argparse.Namespace) -> dict[str, Any]:
    rows = []
    for molecules, (paper, paper_error) in PAPER.items():
        for method in METHODS:
            a = measure("MFI", molecules, method, options)
            rows.append({
                "molecules": molecules,
                "method": method,
                "energy_K": a.energy.value,
                "error_K": a.energy.error,
                "b_star": a.b_star if method == "mdp-dj" else None,
                "steps": a.samples,
                "seconds": options.seconds,
                "paper_K": paper,
                "paper_deviation_K": paper_error,
                "on_hills": a.on_hills(),
            })  # fmt: skip
            print(molecules, method, a.energy, f"{a.energy.value / paper - 1:+.2%} of the paper")
    return {"framework": "MFI", "systems": options.systems, "device": a.device_name, "rows": rows}


def lta(options: argparse.Namespace) -> dict[str, Any]:
    rows = []
    for method in METHODS:
        a = measure("LTA", 32, method, options, profile="z", bins=40)
        p = a.profile
        top = int(np.argmin(p.probability))
        rows.append({
            "method": method,
            "position": p.position.tolist(),
            "probability": p.probability.tolist(),
            "error": p.probability_error.tolist(),
            "barrier_kT": float(np.log(p.probability.max() / p.probability[top])),
            "relative_error_at_barrier": float(p.probability_error[top] / p.probability[top]),
            "steps": a.samples,
            "blocked_share": a.grid["blocked"],
        })  # fmt: skip
        print(method, {k: rows[-1][k] for k in ("barrier_kT", "relative_error_at_barrier")})
    return {"framework": "LTA", "systems": options.systems, "device": a.device_name,
            "seconds": options.seconds, "rows": rows}  # fmt: skip


def draw(path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    result = json.loads(path.read_text())
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    if result["framework"] == "MFI":
        for k, method in enumerate(METHODS):
            rows = [r for r in result["rows"] if r["method"] == method]
            n, e, s, paper = (
                np.array([r[key] for r in rows])
                for key in ("molecules", "energy_K", "error_K", "paper_K")
            )
            left.errorbar(n + k - 2, 100 * (e / paper - 1), 100 * s / abs(paper), fmt="o", ms=4,
                          capsize=3, label=method)  # fmt: skip
            right.semilogy(n, s, "o-", ms=4, label=method)
        left.axhspan(-0.6, 0.6, color="k", alpha=0.08, lw=0)
        left.set(xlabel="methane molecules", ylabel="energy against Table 2 (%)", ylim=(-1, 1))
        right.set(xlabel="methane molecules", ylabel="standard error of the energy (K)")
    else:
        for row in result["rows"]:
            z, p, s = (np.array(row[key]) for key in ("position", "probability", "error"))
            left.plot(z, -np.log(p / p.max()), lw=1, label=row["method"])
            right.semilogy(z, s / p, lw=1, label=row["method"])
        left.set(xlabel="z (angstrom)", ylabel=r"$\beta F$")
        right.set(xlabel="z (angstrom)", ylabel="relative error of P")
    left.legend(fontsize=8)
    figure.suptitle(
        f"methane in {result['framework']}, 300 K; {result['systems']} systems, "
        f"{result['seconds']:g} s each on {result['device']}", fontsize=9
    )  # fmt: skip
    figure.savefig(path.with_suffix(".png"), dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", choices=("mfi", "lta", "draw"))
    parser.add_argument("results", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0, help="measured, of each method")
    parser.add_argument("--systems", type=int, default=256)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not (options.seconds > 0 and math.isfinite(options.seconds)):
        parser.error("--seconds must be positive")
    if options.what != "draw":
        result = (mfi if options.what == "mfi" else lta)(options)
        result = {**machine(), "seconds": options.seconds, **result}
        options.results.parent.mkdir(parents=True, exist_ok=True)
        options.results.write_text(json.dumps(result, indent=1) + "\n")
    draw(options.results)


if __name__ == "__main__":
    main()
