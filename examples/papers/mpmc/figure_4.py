"""Figure 4 of the paper: trial moves per second against the number of disks.

    python size_scaling.py
    python -m benchmarks disks --device cpu --threads 1,2 --json cpu.json
    python -m benchmarks disks --device cuda --json gpu.json
    python size_scaling.py --draw cpu.json gpu.json

The first command times this machine; the last draws the records of several devices or numbers of
threads. `python -m benchmarks` is a command for the root of the repository.
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
    """Time the engine with `python -m benchmarks disks`."""
    report = (options.output / "bench.json").resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    words = ["--device", options.device, "--sizes", options.sizes]
    words += ["--seconds", str(options.seconds), "--json", str(report)]
    subprocess.run([sys.executable, "-m", "benchmarks", "disks", *words], cwd=ROOT, check=True)
    return script.save(options, json.loads(report.read_text()))


def draw(reports: list[dict[str, Any]]) -> Figure:
    """(a) speed, (b) speed relative to the largest of the same variant."""
    curves: dict[str, list[tuple[int, float, float, float]]] = defaultdict(list)
    for report in reports:
        for row in report["results"]:
            label = row["variant"]
            if row.get("device_name"):
                label += f" ({row['device_name']})"
            rates = (row["trial_moves_per_second"], row["lowest"], row["highest"])
            curves[label].append((row["particles"], *rates))
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    speed, relative = figure.subplots(1, 2)
    for label, points in curves.items():
        sizes, rates, lowest, highest = zip(*sorted(points), strict=True)
        below = [r - low for r, low in zip(rates, lowest, strict=True)]
        above = [high - r for r, high in zip(rates, highest, strict=True)]
        speed.errorbar(sizes, rates, (below, above), fmt="o-", capsize=3, label=label)
        relative.plot(sizes, [r / max(rates) for r in rates], "o-")
    speed.set(xscale="log", yscale="log", xlabel="number of disks", title="(a)",
              ylabel="speed (trial moves/s)")  # fmt: skip
    relative.set(xscale="log", ylim=(0, 1.05), xlabel="number of disks", title="(b)",
                 ylabel="speed relative to the largest")  # fmt: skip
    speed.legend(fontsize=8)
    phi = reports[0].get("packing_fraction")
    figure.suptitle("Hard disks" + (f", packing fraction {phi:g}" if phi else ""), fontsize=9)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1024,4096,16384,65536", help="Numbers of disks.")
    parser.add_argument("--seconds", type=float, default=1.0, help="Least time of a measurement.")
    parser.add_argument("--device", default="auto")
    quick = {"sizes": "256,1024", "seconds": 0.05}
    options = script.parse(parser, "size_scaling", quick)
    reports = script.read(options) if options.draw else [measure(options)]
    script.picture(options, draw(reports))


if __name__ == "__main__":
    script.run_script(main)
