# SPDX-License-Identifier: BSD-3-Clause
"""Relaxation of polydisperse hard spheres with and without swap moves.

The spheres were defined by L. Berthier, D. Coslovich, A. Ninarello and M. Ozawa, Phys. Rev. Lett.
116, 238002 (2016): diameters from P(d) ~ d^-3 between d_min and 2.219 d_min, 23 % polydispersity.
The relaxation time is that after which the self-intermediate scattering function near the wave
number 2 pi / <d> has fallen to 1/e. Its unit is N trials; with swap moves about a fifth of the
trials are swaps. The displacement of all spheres together is not counted. It is a random walk, and
with 1,000 spheres it alone would relax the function within some 10^5 N trials.

A start is compressed with swap moves in steps and equilibrated with them. Then the spheres are
followed with swap moves and, from the same configuration, without. A run ends after --relaxations
relaxation times, or after --sweeps or --seconds.

With --method sequential one sphere moves at a time and swaps are of any two spheres of the system,
as in the paper. With 1,000 spheres on one core this is two to three times as fast as the
checkerboard, so that runs without swap moves relax at higher packing fractions.

    python swap_moves.py --packing-fractions 0.5 0.53 0.55 --replicas 2 --jobs 2
    python swap_moves.py --method sequential --only none --packing-fractions 0.6 --seconds 300
    python swap_moves.py --draw out/swap_moves/summary.json
"""

from __future__ import annotations

import argparse
import math
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sequential import SequentialSpheres

from manymove import Grid, HardSpheres, Start, script
from manymove.analysis.notation import with_error

RATIO = 2.219  # of the largest and the smallest diameter
PACKING_FRACTIONS = [0.50, 0.53, 0.55, 0.57, 0.58, 0.59, 0.60, 0.61]
START, GROWTH = 0.54, 0.005  # packing fraction of random starts, and its steps above
FRAMES = 4096  # configurations that are kept at most
ORIGINS = 256  # of time, averaged over
# A fifth of the trials are swaps, as in the paper; passes over the cells cost little.
SETTINGS = {"grid": Grid(moves_per_cell=4, rounds=4), "max_displacement": 0.07, "threads": 1}
SWAPS = {"swaps": 8}
SWAP_SHARE = 0.2  # of sequential trials
METHODS = {"checkerboard": "o-", "sequential": "s--"}  # and their markers


def diameters(N: int) -> np.ndarray:
    """Diameters at equal steps of the distribution function of P(d) ~ d^-3, with the mean 1."""
    shares = (np.arange(N) + 0.5) / N
    d = 1 / np.sqrt(1 - shares * (1 - RATIO**-2))
    np.random.default_rng(1).shuffle(d)
    return d / d.mean()


def compressed(N: int, phi: float, seed: int, settings: dict[str, Any]) -> HardSpheres:
    """Spheres with swap moves, brought to the packing fraction in steps that push overlaps apart.

    Random starts above about 0.58 would be glasses; swap moves keep the spheres fluid.
    """
    spheres = HardSpheres.random(
        N, min(START, phi), diameter=diameters(N), seed=seed, **SWAPS, **settings
    )
    spheres.run(500)
    while spheres.packing_fraction < phi - 1e-9:
        factor = (spheres.packing_fraction / min(phi, spheres.packing_fraction + GROWTH)) ** (1 / 3)
        spheres = HardSpheres(
            spheres.positions * factor, tuple(factor * edge for edge in spheres.box),
            spheres.diameters, seed=seed, start=Start(spheres.cycles, repair_depth=0.02),
            **SWAPS, **settings,
        )  # fmt: skip
        spheres.run(100)
    return spheres


class Trajectory:
    """Configurations at equal distances of time, which double when there are too many."""

    def __init__(self, box: tuple[float, float, float], every: float) -> None:
        self.every, self._frames = every, list[np.ndarray]()
        # Wave vectors of the box next to the wave number, so that images make no difference.
        self._wave = 2 * np.pi * np.round(box) / np.array(box)

    def add(self, positions: np.ndarray) -> None:
        self._frames.append(np.exp(1j * positions * self._wave).astype(np.complex64))
        if len(self._frames) == FRAMES:
            del self._frames[1::2]
            self.every *= 2

    def scattering(self) -> np.ndarray:
        """Lags in units of the distance, and the scattering function averaged over axes, spheres
        and origins, (K, 2). A displacement of all spheres together multiplies the sum over the
        spheres by a phase, and the absolute value of the sum does not contain it."""
        waves = np.array(self._frames)
        lags = np.unique(np.geomspace(1, len(waves) // 2, 40).astype(int))
        values = []
        for lag in lags:
            starts = np.arange(0, len(waves) - lag, -(-(len(waves) - lag) // ORIGINS))
            products = waves[starts + lag] * waves[starts].conj()
            values.append(np.mean(np.abs(products.mean(axis=1))))
        return np.column_stack((lags, values))


def relaxation_time(curve: np.ndarray) -> float | None:
    """Where a curve falls to 1/e, linear in the logarithm of time; None if it does not."""
    below = np.flatnonzero(curve[:, 1] < 1 / math.e)
    if not below.size:
        return None
    if below[0] == 0:
        return float(curve[0, 0])
    (t, f), (u, g) = curve[below[0] - 1], curve[below[0]]
    return float(t * (u / t) ** ((f - 1 / math.e) / (f - g)))


def measure(phi: float, swaps: bool, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Relaxation time and pressure of one run. Starts are compressed on a CPU."""
    began = time.perf_counter()
    settings = {**SETTINGS, "grid": Grid(options.moves_per_cell, rounds=4)}

    def follow(start: Any, swaps: bool) -> Any:
        if options.method == "sequential":
            return SequentialSpheres(
                start.positions, start.box, start.diameters, (seed, int(start.sweeps)),
                SETTINGS["max_displacement"], SWAP_SHARE if swaps else 0.0,
            )  # fmt: skip
        return HardSpheres(
            start.positions, start.box, start.diameters, seed=seed, start=Start(start.cycles),
            device=options.device, **settings, **(SWAPS if swaps else {}),
        )  # fmt: skip

    start = compressed(options.spheres, phi, seed, {**settings, "device": "cpu"})
    if options.device != "cpu" or options.method == "sequential":
        start = follow(start, swaps=True)
    start.run(options.equilibrate)
    spheres = follow(start, swaps)
    spheres.run(options.every)
    if options.method == "checkerboard":
        spheres.sample_pressure(every=10 * options.every, record=100 * options.every)
    first, moves, exchanges = spheres.sweeps, spheres.trial_moves, spheres.swap_trials
    trajectory, found, look = Trajectory(spheres.box, options.every), None, 512
    for frame in range(1, 1 << 40):
        trajectory.add(spheres.positions)
        spheres.run(trajectory.every)
        sweeps = spheres.sweeps - first
        over = sweeps >= options.sweeps or time.perf_counter() - began > options.seconds
        if over or frame == look:
            look = frame + max(256, frame // 2)
            curve = trajectory.scattering() * (trajectory.every, 1)
            found = relaxation_time(curve)
            if over or (found and sweeps > options.relaxations * found):
                break
    moves, exchanges = spheres.trial_moves - moves, spheres.swap_trials - exchanges
    unit = (moves + exchanges) / spheres.N / sweeps
    # The sequential method does not measure pressures.
    records = len(spheres.pressure_records) if options.method == "checkerboard" else 0
    return {
        "method": options.method,
        "packing_fraction": phi,
        "swaps": swaps,
        "seed": seed,
        "relaxation_time": found and found * unit,
        "length": sweeps * unit,
        "pressure": spheres.pressure_average.value if records else None,
        "pressure_error": spheres.pressure_average.error if records > 8 else None,
        "curve": [[round(t * unit, 2), round(f, 4)] for t, f in curve.tolist()],
        "acceptance": spheres.acceptance,
        "swap_acceptance": spheres.swap_acceptance if swaps else None,
        "swap_share": exchanges / (moves + exchanges),
        "max_overlap": spheres.max_overlap(),
        "seconds": time.perf_counter() - began,
    }


def mean(values: list[float]) -> tuple[float, float]:
    """Mean and standard error of replicas; NaN for one."""
    error = np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(np.mean(values)), float(error)


def kind_of(row: dict[str, Any]) -> tuple[str, bool]:
    """Method of a run, and whether it has swap moves."""
    return row.get("method", "checkerboard"), row["swaps"]


def states(results: list[dict[str, Any]], kind: tuple[str, bool]) -> list[dict[str, Any]]:
    """Means over the replicas of each packing fraction; `bound` where a replica did not relax."""
    rows = []
    for phi in sorted({row["packing_fraction"] for row in results if kind_of(row) == kind}):
        here = [r for r in results if r["packing_fraction"] == phi and kind_of(r) == kind]
        times = [r["relaxation_time"] for r in here]
        row: dict[str, Any] = {"packing_fraction": phi, "replicas": len(here)}
        if None in times:
            row["bound"] = max(r["curve"][-1][0] for r in here)
        else:
            row["time"], row["error"] = mean(times)
        if measured := [r for r in here if r["pressure"] is not None]:
            row["pressure"], spread = mean([r["pressure"] for r in measured])
            # The larger of the spread of the replicas and their blocking errors combined.
            blocked = math.hypot(*(r["pressure_error"] or 0 for r in measured)) / len(measured)
            row["pressure_error"] = max(blocked, 0 if math.isnan(spread) else spread) or math.nan
        rows.append(row)
    return rows


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    # The densest states, which take longest, come first.
    work = [
        (phi, swaps, options.seed + k)
        for phi in sorted(options.packing_fractions, reverse=True)
        for swaps in (False, True)
        if options.only in (None, "swaps" if swaps else "none")
        for k in range(options.replicas)
    ]
    # Runs on a GPU share it in one process, so that they are side by side and not in turn.
    on_cpu = options.device == "cpu"
    make = (
        ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"))
        if on_cpu
        else ThreadPoolExecutor(options.jobs)
    )
    with make as workers:
        running = [workers.submit(measure, *state, options) for state in work]
        for done in as_completed(running):
            row = done.result()
            results.append(row)
            results.sort(key=lambda r: (r["packing_fraction"], r["swaps"], r["seed"]))
            report = script.save(options, {"results": results})
            found = row["relaxation_time"]
            text = f"above {row['curve'][-1][0]:.3g}" if found is None else f"{found:.4g}"
            print(
                f"{row['packing_fraction']:.3f}  {'swaps' if row['swaps'] else 'no swaps':8}  "
                f"relaxation time {text}  of {row['length']:.3g}  {row['seconds']:.0f} s",
                flush=True,
            )
    return report


def table(report: dict[str, Any]) -> None:
    """Print relaxation times, their ratio and pressures."""
    results = report["results"]
    for method in METHODS:
        plain, swapped = (
            {row["packing_fraction"]: row for row in states(results, (method, swaps))}
            for swaps in (False, True)
        )
        for phi in sorted({*plain, *swapped}):
            row, other = swapped.get(phi, {}), plain.get(phi, {})
            texts = [
                with_error(r["time"], r["error"])
                if "time" in r
                else (f"> {r['bound']:.3g}" if r else "-")
                for r in (other, row)
            ]
            ratio = other.get("time", other.get("bound", math.nan)) / row.get("time", math.nan)
            pressures = [
                with_error(r["pressure"], r["pressure_error"]) if "pressure" in r else "-"
                for r in (other, row)
            ]
            print(
                f"{phi:.3f}  {method:12}  without {texts[0]:14} with {texts[1]:14} ratio "
                f"{'> ' if 'bound' in other else ''}{ratio:.3g}  P* {' and '.join(pressures)}"
            )


def draw(report: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    panels = figure.subplots(1, 2, squeeze=False)
    left, right = panels[0]
    results = report["results"]
    kinds = [(method, swaps) for method in METHODS for swaps in (False, True)]
    for kind in kinds:
        rows = states(results, kind)
        if not rows:
            continue
        (method, swaps), color = kind, "C0" if kind[1] else "C3"
        times = [row for row in rows if "time" in row]
        errors = [0 if math.isnan(row["error"]) else row["error"] for row in times]
        left.errorbar(
            [row["packing_fraction"] for row in times], [row["time"] for row in times], errors,
            fmt=METHODS[method], ms=4, lw=1, mfc=color if method == "checkerboard" else "none",
            color=color, label=f"{'with' if swaps else 'without'} swaps, {method}",
        )  # fmt: skip
        bounds = [row for row in rows if "bound" in row]
        left.plot(
            [row["packing_fraction"] for row in bounds], [row["bound"] for row in bounds],
            "^", ms=5, mfc="none", color=color,
        )  # fmt: skip
        for row in rows:
            first = next(
                r for r in results
                if r["packing_fraction"] == row["packing_fraction"] and kind_of(r) == kind
            )  # fmt: skip
            right.plot(*np.array(first["curve"]).T, METHODS[method][1:], color=color, lw=0.8)
    left.set(yscale="log", xlabel=r"packing fraction $\phi$", ylabel=r"relaxation time, $N$ trials")
    left.legend(fontsize=7)
    right.axhline(1 / math.e, color="k", lw=0.8, ls=":")
    right.set(xscale="log", xlabel=r"time, $N$ trials", ylabel=r"$F_s(k, t)$", ylim=(0, 1))
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--spheres", 1000)
    parser.option("--packing-fractions", PACKING_FRACTIONS)
    parser.option("--only", str, "Run with or without swap moves only.", choices=["swaps", "none"])
    parser.option("--method", "checkerboard", "Order of the trials.", choices=METHODS)
    parser.option("--replicas", 2, "Number of independent starts.")
    parser.option("--equilibrate", 10_000, "Sweeps with swap moves.", type=float)
    parser.option("--relaxations", 40, "Relaxation times of a run.", type=float)
    parser.option("--sweeps", 1_000_000, "Largest number of sweeps of a run.", type=float)
    parser.option("--seconds", 600, "Largest time of a run.", type=float)
    parser.option("--every", 10, "Sweeps between configurations.", type=float)
    parser.option("--jobs", 2, "Simultaneous runs.")
    parser.option(
        "--moves-per-cell", 4, "moves per cell; more of them are faster on a GPU, with fewer swaps"
    )
    parser.option("--device", "cpu", "Device of the measurement.")
    quick = {"spheres": 400, "packing_fractions": [0.45, 0.5], "equilibrate": 300, "seconds": 5,
             "replicas": 1}  # fmt: skip
    options = script.parse(parser, "swap_moves", quick)
    if options.method == "sequential":
        if options.device != "cpu":
            parser.error("--method sequential runs on a CPU only")
        if options.equilibrate % 1 or options.every % 1:
            parser.error("--method sequential needs whole sweeps in --equilibrate and --every")
    if options.draw:
        several = script.read(options)
        report = {**several[0], "results": [row for one in several for row in one["results"]]}
    else:
        report = run(options)
    table(report)
    script.picture(options, draw(report))


if __name__ == "__main__":
    script.run_script(main)
