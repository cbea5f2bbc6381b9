"""Table 1 of the paper: what happens without the shuffles.

Cells of width 1.41 diameters and one pass over the four checkerboard sets per shift of the grid, as
in the paper; disks that enter a cell are appended to its list and lists are partly kept, so that
without the shuffle of the particles the chain remembers. The switches are wrong on purpose.

The text of Table 1 at hand has lost its packing fractions. The first is 0.698; the correct chain
tells which others fit 9.18214 and 9.1774 (0.708 and 0.712 are tried by default).

    python ablation.py ablation.json --sweeps 1000000
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from manymove import HardDisks
from manymove.analysis.pressure import estimate
from manymove.bench import machine
from manymove.packing import random_packing

PAPER = {  # (particles shuffled, sets shuffled): P* and error in the three columns
    (True, True): [(9.17079, 0.00005), (9.18214, 0.00006), (9.1774, 0.0002)],
    (True, False): [(9.1707, 0.0001), (9.1821, 0.0002), (9.1775, 0.0003)],
    (False, True): [(9.1716, 0.0001), (9.1876, 0.0002), (9.1831, 0.0003)],
    (False, False): [(9.1715, 0.0001), (9.1873, 0.0001), (9.1823, 0.0002)],
}


def measure(
    column: int, particles: bool, sets: bool, options: argparse.Namespace
) -> dict[str, Any]:
    """One chain at one packing fraction."""
    phi = options.packing_fractions[column]
    positions, box = random_packing(options.particles, phi, seed=options.seed)
    disks = HardDisks(
        positions,
        box,
        cell_width=1.41,
        rounds=1,
        moves_per_cell=options.moves_per_cell,
        max_displacement=0.16,
        shuffle_particles=particles,
        shuffle_sets=sets,
        seed=options.seed,
        device=options.device,
    )
    disks.run(options.equilibrate)
    disks.sample_pressure(every=options.every, record=max(options.every, options.sweeps // 2048))
    disks.run(options.sweeps)
    records = disks.pressure_records
    result = estimate(records)
    return {
        "packing_fraction": phi,
        "shuffle_particles": particles,
        "shuffle_sets": sets,
        "pressure": result.value,
        "pressure_error": result.error,
        "error_converged": result.plateau,
        "quarters": [float(part.mean()) for part in np.array_split(records, 4)],
        "paper": PAPER[particles, sets][column],
        "trial_moves_per_second": disks.trial_moves / disks.seconds,
        "state_hash": disks.state_hash,
    }


def main() -> None:
    """Run the four chains at each packing fraction, print the table, write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="results, JSON")
    parser.add_argument("--particles", type=int, default=65536)
    parser.add_argument("--packing-fractions", type=float, nargs=3, default=[0.698, 0.708, 0.712])
    parser.add_argument("--sweeps", type=int, default=1_000_000)
    parser.add_argument("--equilibrate", type=int, default=500_000)
    parser.add_argument("--moves-per-cell", type=int, default=4)
    parser.add_argument("--every", type=float, default=50, help="sweeps between two samples")
    parser.add_argument("--jobs", type=int, default=1, help="chains that run side by side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    report = {**machine(), **vars(options), "file": str(options.file), "results": results}
    print("phi     particles  sets   P*                    paper")
    with ThreadPoolExecutor(options.jobs) as pool:
        chains = [
            pool.submit(measure, column, *switches, options)
            for column, switches in product(range(3), PAPER)
        ]
        for done in as_completed(chains):
            r = done.result()
            results.append(r)
            options.file.write_text(json.dumps(report, indent=1) + "\n")
            print(
                f"{r['packing_fraction']:.4f}  {r['shuffle_particles']!s:<9}"
                f"  {r['shuffle_sets']!s:<5}  {r['pressure']:.5f} +- {r['pressure_error']:.5f}"
                f"  {r['paper'][0]:.5f} +- {r['paper'][1]:.5f}"
                f"  quarters {np.round(r['quarters'], 4)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
