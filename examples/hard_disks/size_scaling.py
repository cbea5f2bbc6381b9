"""Figure 4 of the paper: trial moves per second against the number of disks.

Draws what `manymove bench disks --json` measured; several files (devices, threads) share the
picture.

    manymove bench disks --device cpu --threads 1,2 --json cpu.json
    manymove bench disks --device cuda --json gpu.json
    python size_scaling.py scaling.png cpu.json gpu.json
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from matplotlib.figure import Figure


def main() -> None:
    """(a) speed, (b) speed relative to the largest of the same variant."""
    if len(sys.argv) < 3:
        sys.exit("usage: python size_scaling.py PICTURE RESULTS.json...")
    picture, *files = map(Path, sys.argv[1:])
    curves: dict[str, list[tuple[int, float, float, float]]] = defaultdict(list)
    for file in files:
        report = json.loads(file.read_text())
        for row in report["results"]:
            label = row["variant"]
            if row.get("device_name"):
                label += f" ({row['device_name']})"
            rates = (row["trial_moves_per_second"], row["lowest"], row["highest"])
            curves[label].append((row["particles"], *rates))
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    speed, efficiency = figure.subplots(1, 2)
    for label, points in curves.items():
        sizes, rates, lowest, highest = zip(*sorted(points), strict=True)
        below = [r - low for r, low in zip(rates, lowest, strict=True)]
        above = [high - r for r, high in zip(rates, highest, strict=True)]
        speed.errorbar(sizes, rates, (below, above), fmt="o-", capsize=3, label=label)
        efficiency.plot(sizes, [r / max(rates) for r in rates], "o-")
    speed.set(xscale="log", yscale="log", xlabel="disks", ylabel="trial moves per second")
    efficiency.set(xscale="log", ylim=(0, 1.05), xlabel="disks", ylabel="efficiency")
    speed.set_title("(a)")
    efficiency.set_title("(b)")
    speed.legend(fontsize=8)
    figure.savefig(picture, dpi=160)


if __name__ == "__main__":
    main()
