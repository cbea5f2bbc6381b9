"""The equation of state of Table 2, approached from both sides, with the evidence of equilibrium.

Each packing fraction is run from a random packing and, with --both-sides, from a crystal in the
same box: between the liquid and the solid the two meet only once each has equilibrated. The means
of the four quarters of each run show how much drift is left. The states run side by side, which is
what fills a GPU at this size. Results go to a JSON file that names machine, date and commit, the
picture is drawn from that file.

    python equation_of_state.py eos.json --particles 65536 --both-sides
    python equation_of_state.py eos.json eos.png --plot
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from manymove import HardDisks, plots
from manymove.analysis.pressure import estimate
from manymove.analysis.reference import published_pressure
from manymove.bench import machine
from manymove.packing import random_packing

PACKING_FRACTIONS = [0.698, 0.702, 0.706, 0.710, 0.714, 0.718]


def crystal(N: int, phi: float, seed: int) -> tuple[np.ndarray, tuple[float, float]]:
    """A slightly strained hexagonal lattice in a square box, with as many vacancies as needed."""
    edge = math.sqrt(N * math.pi / (4 * phi))
    rows = 2 * round(math.sqrt(N * 2 / math.sqrt(3)) / 2)
    columns = math.ceil(N / rows)
    i, j = np.meshgrid(np.arange(columns), np.arange(rows))
    lattice = np.column_stack(((i + 0.5 * (j % 2)).ravel() / columns, j.ravel() / rows))
    kept = np.random.default_rng(seed).permutation(rows * columns)[:N]
    positions = (lattice[kept] + (0.25 / columns, 0.5 / rows) - 0.5) * edge
    return np.ascontiguousarray(positions), (edge, edge)


def measure(phi: float, start: str, options: argparse.Namespace) -> dict[str, Any]:
    """Equilibrate and measure one state from one side."""
    if start == "random":
        positions, box = random_packing(options.particles, phi, seed=options.seed)
    else:
        positions, box = crystal(options.particles, phi, options.seed)
    disks = HardDisks(positions, box, seed=options.seed, device=options.device)
    disks.run(options.equilibrate)
    disks.sample_pressure(every=options.every, record=max(options.every, options.sweeps // 2048))
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
    starts = ["random", "crystal"] if options.both_sides else ["random"]
    states = [(phi, start) for phi in options.packing_fractions for start in starts]
    began = time.perf_counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(measure, *state, options) for state in states]):
            result = done.result()
            report["results"].append(result)
            report["results"].sort(key=lambda r: (r["packing_fraction"], r["start"]))
            options.file.write_text(json.dumps(report, indent=1) + "\n")
            paper = published_pressure(options.particles, result["packing_fraction"])
            print(
                f"{result['packing_fraction']:.4f} {result['start']:<7}"
                f" P* {result['pressure']:.5f} +- {result['pressure_error']:.5f}  paper {paper}"
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
    parser.add_argument("--both-sides", action="store_true", help="start from a crystal as well")
    parser.add_argument("--jobs", type=int, default=1, help="states that run side by side")
    parser.add_argument("--every", type=float, default=50, help="sweeps between two samples")
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
