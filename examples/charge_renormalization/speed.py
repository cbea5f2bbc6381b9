"""Seconds per sweep against N, and how many times faster a GPU is than one core: Figures 8 and 9.

    python speed.py
    python -m benchmarks electrolyte --device cuda --methods brush,reduction --json gpu.json
    python -m benchmarks electrolyte --device cpu --threads 1 --methods serial,brush --json cpu.json
    python speed.py --draw gpu.json cpu.json

The first command times the serial and the brush method on this machine. A core's time beyond its
largest measured size is taken to grow like N^2. `python -m benchmarks` is a command for the root of
the repository.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from matplotlib.figure import Figure

from manymove import script

ROOT = Path(__file__).resolve().parents[2]
Curve = dict[int, float]  # seconds per sweep by the number of ions


def best_times(reports: list[dict]) -> dict[tuple[str, str, str], Curve]:
    """The best times of each method, precision and device; of CPUs with one thread only."""
    times: dict[tuple[str, str, str], Curve] = {}
    for report in reports:
        for r in report["results"]:
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


def measure(options: argparse.Namespace) -> dict:
    """Time the methods with `python -m benchmarks electrolyte`."""
    report = (options.output / "bench.json").resolve()
    options.output.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    words = ["--device", options.device, "--sizes", options.sizes, "--methods", "serial,brush"]
    words += ["--seconds", str(options.seconds), "--threads", "1", "--json", str(report)]
    command = [sys.executable, "-m", "benchmarks", "electrolyte", *words]
    subprocess.run(command, cwd=ROOT, check=True)
    return script.save(options, json.loads(report.read_text()))


def draw(reports: list[dict]) -> Figure:
    """(a) seconds per sweep, (b) speed over one core."""
    times = best_times(reports)
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (method, precision, where), curve in sorted(times.items()):
        sizes = sorted(curve)
        label = f"{method}, {precision}, {where}"
        left.loglog(sizes, [curve[n] for n in sizes], "o-", ms=4, label=label)
        for (other, same, core), slow in sorted(times.items()):
            if core != "one core" or same != precision or (where == core and other == method):
                continue
            pairs = [(n, time_at(slow, n)) for n in sizes]
            ratios = [(n, t / curve[n]) for n, t in pairs if t is not None]
            label = f"{method}, {precision}, over {other} on one core"
            if ratios:
                right.loglog(*zip(*ratios, strict=True), "o-", ms=4, label=label)
    left.set(xlabel="number of ions", ylabel="time of a sweep (s)", title="(a)")
    right.set(xlabel="number of ions", ylabel="speed relative to one core", title="(b)")
    for axes in (left, right):
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7)
    figure.suptitle("3:-1 electrolyte, spherical cell", fontsize=9)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1024,2048,4096,8192", help="Numbers of ions.")
    parser.add_argument("--seconds", type=float, default=0.3, help="Least time of a measurement.")
    parser.add_argument("--device", default="cpu")
    quick = {"sizes": "256,512", "seconds": 0.02}
    options = script.parse(parser, "speed", quick)
    reports = script.read(options) if options.draw else [measure(options)]
    script.picture(options, draw(reports))


if __name__ == "__main__":
    script.run_script(main)
