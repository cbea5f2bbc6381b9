"""Trial moves per second and parallel efficiency of ranks that share the disks.

    python rank_scaling.py
    mpirun -n 4 python -m benchmarks disks --ranks 1,2,4 --weak --sizes 1048576,4194304 \\
        --json weak.json
    mpirun -n 4 python -m benchmarks disks --ranks 1,2,4 --sizes 1048576,16777216 \\
        --json strong.json
    python rank_scaling.py --draw weak.json strong.json

The first command times one and two ranks of this machine; the last draws the records of others.
`python -m benchmarks` is a command for the root of the repository.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from manymove import script

ROOT = Path(__file__).resolve().parents[2]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Time weak scaling with `python -m benchmarks disks` under mpiexec."""
    report = (options.output / "bench.json").resolve()
    report.unlink(missing_ok=True)
    command = [options.mpiexec, "-n", str(options.ranks), sys.executable]
    command += ["-m", "benchmarks", "disks", "--weak"]
    command += ["--ranks", ",".join(str(2**k) for k in range(options.ranks.bit_length()))]
    command += ["--sizes", options.sizes, "--seconds", str(options.seconds)]
    command += ["--device", options.device, "--json", str(report)]
    subprocess.run(command, cwd=ROOT, check=True)
    return script.save(options, json.loads(report.read_text()))


def draw(reports: list[dict[str, Any]]) -> Figure:
    """(a) speed, (b) speed per rank relative to the fewest ranks."""
    curves: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for report in reports:
        for row in report["results"]:
            weak = row["scaling"] == "weak"
            disks = row["particles"] // row["ranks"] if weak else row["particles"]
            label = f"{row['scaling']}, {disks:,} disks{' per rank' if weak else ''}"
            curves[label].append((row["ranks"], row["trial_moves_per_second"], row["efficiency"]))
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    speed, efficiency = figure.subplots(1, 2)
    for label, points in curves.items():
        ranks, rates, shares = zip(*sorted(points), strict=True)
        line = "o-" if label.startswith("weak") else "s--"
        speed.plot(ranks, rates, line, label=label)
        efficiency.plot(ranks, shares, line)
    speed.set(xlabel="number of ranks", ylabel="speed (trial moves/s)", title="(a)")
    speed.set_ylim(bottom=0)
    efficiency.axhline(1, color="grey", lw=0.8)
    efficiency.set(ylim=(0, 1.1), xlabel="number of ranks", ylabel="parallel efficiency",
                   title="(b)")  # fmt: skip
    ticks = sorted({point[0] for points in curves.values() for point in points})
    for axes in (speed, efficiency):
        axes.set_xticks(ticks, [str(n) for n in ticks])
    speed.legend(fontsize=8)
    phi = reports[0].get("packing_fraction")
    figure.suptitle("Hard disks" + (f", packing fraction {phi:g}" if phi else ""), fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, device="cpu")
    parser.option("--ranks", 2, "Number of ranks, a power of two.")
    parser.option("--sizes", "65536,262144", "Numbers of disks per rank.")
    parser.option("--seconds", 1.0, "Least time of a measurement.")
    parser.option("--mpiexec", "mpiexec", "Launcher of the MPI of mpi4py.")
    quick = {"sizes": "4096", "seconds": 0.05}
    options = script.parse(parser, "rank_scaling", quick)
    reports = script.read(options) if options.draw else [measure(options)]
    script.picture(options, draw(reports))


if __name__ == "__main__":
    script.run_script(main)
