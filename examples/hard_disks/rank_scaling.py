"""Trial moves per second and efficiency against the number of ranks that share the disks.

Draws what `manymove bench disks --ranks` measured, weak and strong scaling side by side.

    mpirun -n 4 manymove bench disks --ranks 1,2,4 --weak --sizes 1048576,4194304 --json weak.json
    mpirun -n 4 manymove bench disks --ranks 1,2,4 --sizes 1048576,16777216 --json strong.json
    python rank_scaling.py rank_scaling.png weak.json strong.json
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from matplotlib.figure import Figure


def main() -> None:
    """(a) speed, (b) speed per rank relative to the fewest ranks."""
    if len(sys.argv) < 3:
        sys.exit("usage: python rank_scaling.py PICTURE RESULTS.json...")
    picture, *files = map(Path, sys.argv[1:])
    curves: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for file in files:
        for row in json.loads(file.read_text())["results"]:
            weak = row["scaling"] == "weak"
            disks = row["particles"] // row["ranks"] if weak else row["particles"]
            label = f"{row['scaling']}, {disks:,} disks{' a rank' if weak else ''}"
            curves[label].append((row["ranks"], row["trial_moves_per_second"], row["efficiency"]))
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    speed, efficiency = figure.subplots(1, 2)
    for label, points in curves.items():
        ranks, rates, shares = zip(*sorted(points), strict=True)
        line = "o-" if label.startswith("weak") else "s--"
        speed.plot(ranks, rates, line, label=label)
        efficiency.plot(ranks, shares, line)
    speed.set(xlabel="ranks", ylabel="trial moves per second")
    speed.set_ylim(bottom=0)
    efficiency.set(ylim=(0, 1.1), xlabel="ranks", ylabel="efficiency")
    ticks = sorted({point[0] for points in curves.values() for point in points})
    for axes, title in ((speed, "(a)"), (efficiency, "(b)")):
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.set_title(title)
    speed.legend(fontsize=8)
    figure.savefig(picture, dpi=160)


if __name__ == "__main__":
    main()
