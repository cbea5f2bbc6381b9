"""The equation of state of Table 2, approached from both sides, with the evidence of equilibrium.

Each packing fraction is run from a random packing and, with --both-sides, from a crystal in the
same box: between the liquid and the solid the two meet only once each has equilibrated. The file
has the course of the pressure and of the global bond-orientational order from the first sweep on;
the means of the four quarters of each measurement show how much drift is left. The states run side
by side, which is what fills a GPU at this size. The courses are in another picture, courses.png.

    python equation_of_state.py --particles 65536 --both-sides
    python equation_of_state.py --draw out/equation_of_state/summary.json
"""

from __future__ import annotations

import argparse
import math
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import Estimate, HardDisks, script
from manymove.analysis import estimate, pool, published_pressure
from manymove.analysis.notation import with_error
from manymove.hard_particles import plots
from manymove.hard_particles.packing import random_packing
from manymove.jobs.figures import write_picture

PACKING_FRACTIONS = [0.698, 0.702, 0.706, 0.710, 0.714, 0.718]
PIECES = 64  # of a run, with a value of psi_6 after each
BLOCKS = 256  # means of consecutive records in the file


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


def averaged(records: np.ndarray, blocks: int) -> list[float]:
    """Means of that many blocks of consecutive records."""
    return [round(float(part.mean()), 6) for part in np.array_split(records, blocks) if part.size]


def measure(phi: float, start: str, options: argparse.Namespace) -> dict[str, Any]:
    """Equilibrate and measure one state from one side."""
    if start == "random":
        positions, box = random_packing(options.particles, phi, seed=options.seed)
    else:
        positions, box = crystal(options.particles, phi, options.seed)
    disks = HardDisks(positions, box, seed=options.seed, device=options.device)
    order, courses = [], []
    for sweeps in (options.equilibrate, options.sweeps):
        pieces = max(1, round(PIECES * sweeps / total(vars(options))))
        if sweeps:
            disks.sample_pressure(every=options.every, record=max(options.every, sweeps / 2048))
        for _ in range(pieces):
            disks.run(sweeps / pieces)
            order.append((round(disks.sweeps), round(abs(disks.psi6()), 4)))
        courses.append(disks.pressure_records if sweeps else np.empty(0))
    early, records = courses
    result = estimate(records)
    return {
        "packing_fraction": phi,
        "start": start,
        "pressure": result.value,
        "pressure_error": result.error,
        "error_converged": result.converged,
        "quarters": [float(part.mean()) for part in np.array_split(records, 4)],
        "psi6": order[-1][1],
        "seconds": disks.seconds,
        "trial_moves_per_second": disks.trial_moves / disks.seconds,
        "acceptance": disks.acceptance,
        "max_overlap": disks.max_overlap(),
        "state_hash": disks.state_hash,
        "equilibration": averaged(early, BLOCKS // 4),
        "records": averaged(records, BLOCKS),
        "psi6_course": order,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run all states; the file is complete after each of them."""
    results: list[dict[str, Any]] = []
    starts = ["random", "crystal"] if options.both_sides else ["random"]
    states = [(phi, start) for phi in options.packing_fractions for start in starts]
    began = time.perf_counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(measure, *state, options) for state in states]):
            result = done.result()
            results.append(result)
            results.sort(key=lambda r: (r["packing_fraction"], r["start"]))
            report = script.save(options, {"results": results})
            paper = published_pressure(options.particles, result["packing_fraction"])
            value = with_error(result["pressure"], result["pressure_error"])
            print(
                f"{result['packing_fraction']:.4f} {result['start']:<7}"
                f" P* {value}  paper {with_error(*paper) if paper else None}"
                f"  quarters {np.round(result['quarters'], 4)}"
                f"  |psi_6| {result['psi6']:.3f}  {time.perf_counter() - began:.0f} s",
                flush=True,
            )
    return report


def states(report: dict[str, Any]) -> list[tuple[float, float, float]]:
    """(packing fraction, P*, error), the starts pooled.

    The error is not below half the difference between the starts.
    """
    points = []
    for phi in sorted({r["packing_fraction"] for r in report["results"]}):
        runs = [r for r in report["results"] if r["packing_fraction"] == phi]
        mean = pool([Estimate(r["pressure"], r["pressure_error"]) for r in runs])
        values = [r["pressure"] for r in runs]
        points.append((phi, mean.value, max(mean.error, (max(values) - min(values)) / 2)))
    return points


def plot_courses(picture: Path, report: dict[str, Any]) -> None:
    """Pressure and |psi_6| of all runs against sweeps, from the start on."""
    fractions = sorted({r["packing_fraction"] for r in report["results"]})
    figure = Figure(figsize=(max(4.0, 2.2 * len(fractions)), 4.6), layout="constrained")
    axes = figure.subplots(2, len(fractions), sharex=True, sharey="row", squeeze=False)
    for column, phi in zip(axes.T, fractions, strict=True):
        for r in (r for r in report["results"] if r["packing_fraction"] == phi):
            color = "C3" if r["start"] == "random" else "C0"
            end = 0.0
            for part in ("equilibration", "records"):
                sweeps = report["equilibrate" if part == "equilibration" else "sweeps"]
                blocks = np.array(r[part])
                middle = (np.arange(blocks.size) + 0.5) * sweeps / max(1, blocks.size)
                column[0].plot((end + middle) / 1e6, blocks, color=color, lw=0.6, alpha=0.5)
                # Coarser means on top, of a 32nd of the run.
                means = np.array_split(blocks, max(1, round(32 * sweeps / total(report))))
                middle = (np.arange(len(means)) + 0.5) * sweeps / len(means)
                column[0].plot((end + middle) / 1e6, [m.mean() for m in means], color=color, lw=2)
                end += sweeps
            sweeps, order = np.array(r["psi6_course"]).T
            column[1].plot(sweeps / 1e6, order, color=color, label=f"from {r['start']}")
        published = published_pressure(report["particles"], phi)
        if published is not None:
            column[0].axhline(published.value, color="k", lw=0.8, ls="--")
        for axis in column:
            axis.axvspan(0, report["equilibrate"] / 1e6, color="0.93", lw=0)
        column[0].set_title(rf"$\phi$ = {phi:.3f}", fontsize=10)
        column[1].set_xlabel("sweeps (10$^6$)")
        column[0].margins(x=0)
    values = [p for r in report["results"] for p in r["records"]]
    low, high = min(values), max(values)
    axes[0, 0].set(
        ylabel=r"pressure $P^* = \beta P d^2$",
        ylim=(low - 0.2 * (high - low), high + 0.5 * (high - low)),
    )
    axes[1, 0].set(ylabel=r"order $|\psi_6|$", ylim=(0, 1))
    axes[1, 0].legend(fontsize=8)
    figure.suptitle(f"{report['particles']:,} hard disks; dashed: the paper", fontsize=9)
    write_picture(picture, figure, dpi=110)


def total(report: dict[str, Any]) -> float:
    """Sweeps of a run."""
    return report["equilibrate"] + report["sweeps"]


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=65536)
    parser.add_argument("--packing-fractions", type=float, nargs="+", default=PACKING_FRACTIONS)
    parser.add_argument("--sweeps", type=int, default=2_000_000)
    parser.add_argument("--equilibrate", type=int, default=1_000_000)
    parser.add_argument("--both-sides", action="store_true", help="start from a crystal as well")
    parser.add_argument("--jobs", type=int, default=1, help="states that run side by side")
    parser.add_argument("--every", type=float, default=50, help="sweeps between two samples")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    quick = {"particles": 256, "packing_fractions": [0.698], "sweeps": 2000, "equilibrate": 500}
    options = script.parse(parser, "equation_of_state", quick)
    script.fractions(options, "packing_fractions")
    script.at_least(options, particles=1, jobs=1)
    report = script.read(options)[0] if options.draw else run(options)
    picture = options.output / "picture.png"
    plots.equation_of_state(picture, states(report), report["particles"])
    plot_courses(options.output / "courses.png", report)
    print(f"results in {options.output}/")


if __name__ == "__main__":
    script.run_script(main)
