"""Seconds per sweep against N, and how many times faster than the slowest: Figures 8 and 9.

manymove bench electrolyte --device cuda --methods brush,reduction --json gpu.json
manymove bench electrolyte --device cpu --threads 1 --methods serial --json cpu.json
python speed.py gpu.json cpu.json --picture speed.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", help="of manymove bench electrolyte --json")
    parser.add_argument("--picture", type=Path, default=Path("speed.png"))
    options = parser.parse_args()
    times: dict[str, dict[int, float]] = {}
    for file in options.files:
        for r in json.loads(file.read_text())["results"]:
            name = f"{r['method']}, {r['precision']}, {r['device_name']}"
            best = times.setdefault(name, {})
            best[r["ions"]] = min(r["seconds_per_sweep"], best.get(r["ions"], float("inf")))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    slowest = {
        n: max(curve[n] for curve in times.values() if n in curve)
        for n in {n for curve in times.values() for n in curve}
    }
    for name, curve in sorted(times.items()):
        sizes = sorted(curve)
        left.loglog(sizes, [curve[n] for n in sizes], "o-", label=name)
        right.loglog(sizes, [slowest[n] / curve[n] for n in sizes], "o-", label=name)
    left.set(xlabel="ions", ylabel="seconds per sweep")
    right.set(xlabel="ions", ylabel="times the slowest of the same size")
    left.legend(fontsize=7)
    figure.savefig(options.picture, dpi=120)


if __name__ == "__main__":
    main()
