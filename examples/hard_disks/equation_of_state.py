"""The equation of state of Table 2, approached from both sides, with the evidence of equilibrium.

Each packing fraction is run from a random packing and, with --both-sides, from the hexagonal
lattice: between the liquid and the solid the two meet only once each has equilibrated. The means of
the four quarters of each run show how much drift is left. Results go to a JSON file that names
machine, date and commit, the picture is drawn from that file.

    python equation_of_state.py eos.json --particles 65536 --both-sides
    python equation_of_state.py eos.json eos.png --plot
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from manymove import HardDisks, plots
from manymove.analysis.pressure import estimate
from manymove.analysis.reference import published_pressure
from manymove.bench import machine
from manymove.packing import hexagonal_packing, random_packing

PACKING_FRACTIONS = [0.698, 0.702, 0.706, 0.710, 0.714, 0.718]


def measure(phi: float, start: str, options: argparse.Namespace) -> dict[str, Any]:
    """Equilibrate and measure one state from one side."""
    if start == "random":
        positions, box = random_packing(options.particles, phi, seed=options.seed)
    else:
        positions, box = hexagonal_packing(options.particles, phi)
    disks = HardDisks(positions, box, seed=options.seed, device=options.device)
    disks.run(options.equilibrate)
    disks.sample_pressure(every=1, record=max(1, options.sweeps // 2048))
    disks.run(options.sweeps)
    records = disks.pressure_records
    result = estimate(records)
    return {
        "packing_fraction": phi,
        "start": start,
        "pressure": result.value,
        "pressure_error": result.error,
        "error_converged": result.plateau,
        "quarters": [float(part.mean()) for part in np.array_split(records, 4)],
        "psi6": abs(disks.psi6()),
        "seconds": disks.seconds,
        "trial_moves_per_second": disks.trial_moves / disks.seconds,
        "acceptance": disks.acceptance,
        "max_overlap": disks.max_overlap(),
        "state_hash": disks.state_hash,
        "records": [round(float(record), 6) for record in records],
    }


def run(options: argparse.Namespace) -> None:
    """Run all states; the file is complete after each of them."""
    report = {
        **machine(),
        "particles": options.particles,
        "sweeps": options.sweeps,
        "equilibrate": options.equilibrate,
        "seed": options.seed,
        "results": [],
    }
    starts = ["random", "hexagonal"] if options.both_sides else ["random"]
    for phi in options.packing_fractions:
        for start in starts:
            began = time.perf_counter()
            result = measure(phi, start, options)
            report["results"].append(result)
            options.file.write_text(json.dumps(report, indent=1) + "\n")
            paper = published_pressure(options.particles, phi)
            print(
                f"{phi:.4f} {start:<9} P* {result['pressure']:.5f}"
                f" +- {result['pressure_error']:.5f}  paper {paper}"
                f"  quarters {np.round(result['quarters'], 4)}"
                f"  |psi_6| {result['psi6']:.3f}  {time.perf_counter() - began:.0f} s",
                flush=True,
            )


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="results, JSON")
    parser.add_argument("picture", type=Path, nargs="?", help="with --plot: the picture to draw")
    parser.add_argument("--plot", action="store_true", help="draw the results, run nothing")
    parser.add_argument("--particles", type=int, default=65536)
    parser.add_argument("--packing-fractions", type=float, nargs="+", default=PACKING_FRACTIONS)
    parser.add_argument("--sweeps", type=int, default=2_000_000)
    parser.add_argument("--equilibrate", type=int, default=1_000_000)
    parser.add_argument("--both-sides", action="store_true", help="start from the lattice as well")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    if not options.plot:
        run(options)
        return
    report = json.loads(options.file.read_text())
    points = [
        (r["packing_fraction"], r["pressure"], r["pressure_error"])
        for r in report["results"]
        if r["start"] == "random"
    ]
    picture = options.picture or options.file.with_suffix(".png")
    plots.equation_of_state(picture, points, report["particles"])


if __name__ == "__main__":
    main()
