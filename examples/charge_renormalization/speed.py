"""Seconds per sweep against N, and how many times faster a GPU is than one core: Figures 8 and 9.

manymove bench electrolyte --device cuda --methods brush,reduction --json gpu.json
manymove bench electrolyte --device cpu --threads 1 --methods serial,brush --json cpu.json
python speed.py gpu.json cpu.json --picture speed.png

A core's time beyond its largest measured size is taken to grow like N^2.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

Curve = dict[int, float]  # seconds per sweep by the number of ions


def read(files: list[Path]) -> dict[tuple[str, str, str], Curve]:
    """The best times of each method, precision and device; of CPUs with one thread only."""
    times: dict[tuple[str, str, str], Curve] = {}
    for file in files:
        for r in json.loads(file.read_text())["results"]:
            if r["device"] == "cpu" and r["threads"] > 1:
                continue
            where = "one core" if r["device"] == "cpu" else r["device_name"]
            curve = times.setdefault((r["method"], r["precision"], where), {})
            curve[r["ions"]] = min(r["seconds_per_sweep"], curve.get(r["ions"], float("inf")))
    return times


def time_at(curve: Curve, ions: int) -> float | None:
    """As measured, or from the largest size; None below what was measured."""
    if ions in curve:
        return curve[ions]
    largest = max(curve)
    return curve[largest] * (ions / largest) ** 2 if ions > largest else None


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+", help="of manymove bench electrolyte --json")
    parser.add_argument("--picture", type=Path, default=Path("speed.png"))
    options = parser.parse_args()
    times = read(options.files)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for (method, precision, where), curve in sorted(times.items()):
        sizes = sorted(curve)
        label = f"{method}, {precision}, {where}"
        left.loglog(sizes, [curve[n] for n in sizes], "o-", label=label)
        if where == "one core":
            continue
        for (other, same, core), slow in sorted(times.items()):
            if core != "one core" or same != precision:
                continue
            pairs = [(n, time_at(slow, n)) for n in sizes]
            ratios = [(n, t / curve[n]) for n, t in pairs if t is not None]
            right.loglog(
                *zip(*ratios, strict=True), "o-", label=f"{method}, {precision} over {other}"
            )
    left.set(xlabel="ions", ylabel="seconds per sweep")
    right.set(xlabel="ions", ylabel="times faster than one core")
    for axes in (left, right):
        axes.legend(fontsize=7)
    figure.savefig(options.picture, dpi=120)


if __name__ == "__main__":
    main()
