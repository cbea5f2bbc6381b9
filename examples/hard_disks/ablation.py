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
from pathlib import Path

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


def main() -> None:
    """Run the four chains at each packing fraction, print the table, write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="results, JSON")
    parser.add_argument("--particles", type=int, default=65536)
    parser.add_argument("--packing-fractions", type=float, nargs=3, default=[0.698, 0.708, 0.712])
    parser.add_argument("--sweeps", type=int, default=1_000_000)
    parser.add_argument("--equilibrate", type=int, default=500_000)
    parser.add_argument("--moves-per-cell", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    results = []
    report = {**machine(), **vars(options), "file": str(options.file), "results": results}
    print("phi     particles  sets   P*                    paper")
    for column, phi in enumerate(options.packing_fractions):
        positions, box = random_packing(options.particles, phi, seed=options.seed)
        for (particles, sets), row in PAPER.items():
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
            disks.sample_pressure(every=1, record=max(1, options.sweeps // 2048))
            disks.run(options.sweeps)
            result = estimate(disks.pressure_records)
            paper = "{:.5f} +- {:.5f}".format(*row[column])
            print(f"{phi:.4f}  {particles!s:<9}  {sets!s:<5}  {result}  {paper}", flush=True)
            results.append(
                {
                    "packing_fraction": phi,
                    "shuffle_particles": particles,
                    "shuffle_sets": sets,
                    "pressure": result.value,
                    "pressure_error": result.error,
                    "paper": row[column],
                    "state_hash": disks.state_hash,
                }
            )
            options.file.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
