# SPDX-License-Identifier: BSD-3-Clause
"""The pressure of coexistence, at which the interfaces of a crystal slab in the fluid are at rest.

At constant pressure an FCC slab grows above the pressure of coexistence and melts below it. Near
coexistence the mean velocity of the interfaces is proportional to the difference of the pressures.
A straight line through the velocities at several pressures has its zero at coexistence, and the
scatter of the runs about the line gives the error. Published: 11.5727(10) (Fernandez et al., Phys.
Rev. Lett. 108, 165701, 2012).

The velocity is measured in two ways: by the share of crystalline spheres, and by the volume of the
box, from which the share of the crystal follows with the equations of state of both phases. The
first quarter of each run is left out, because the interfaces form in it. An interface diffuses as a
random walk does, so that the variance of its velocity is inversely proportional to the length of
the run. Therefore each run has a weight in proportion to its length. The pressures should lie on
both sides of coexistence and near it. The slab should be at least ten unit cells long, so that its
two interfaces are far apart.

    python interface_velocity.py --seconds 160 --jobs 8 --device cuda
    python interface_velocity.py --draw out/interface_velocity/summary.json
"""

from __future__ import annotations

import argparse
import math
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
from coexistence import density, slab
from crystallization import crystalline
from matplotlib.figure import Figure

from manymove import Grid, HardSpheres, script
from manymove.analysis.notation import with_error
from manymove.analysis.sphere_reference import fluid_factor, published, solid_factor

PRESSURES = [11.2, 11.4, 11.6, 11.8]
LEFT_OUT = 0.25  # of each run, while the interfaces form
SHARES = (0.15, 0.85)  # of the crystal, beyond which a run ends: the interfaces would meet
WAYS = {"share": "share of crystalline spheres", "volume": "volume of the box"}


def measure(state: dict[str, Any], options: argparse.Namespace, report: Any) -> None:
    """Run a slab from the densities at a pressure, and report each piece."""
    began = time.monotonic()
    pressure, seed = state["pressure"], state["seed"]
    phis = (density(pressure, solid_factor, 0.5, 0.7), density(pressure, fluid_factor, 0.3, 0.54))
    settings = argparse.Namespace(**{**vars(options), "seed": seed})
    positions, box = slab(phis[0], sum(phis) / 2, settings)
    spheres = HardSpheres(
        positions, box, seed=seed, device=options.device, threads=1, max_displacement=0.06,
        pressure=pressure, grid=Grid(rounds=2),
    )  # fmt: skip
    spheres.tune_volume(options.equilibrate)
    first = spheres.sweeps
    rows = [(0.0, crystalline(spheres.positions, spheres.box))]
    spheres.sample_volume(options.every)
    while rows[-1][0] < options.sweeps * (1 - 1e-9):
        spheres.run(options.every)
        rows.append((spheres.sweeps - first, crystalline(spheres.positions, spheres.box)))
        ended = not SHARES[0] < rows[-1][1] < SHARES[1]
        late = options.seconds is not None and time.monotonic() - began > options.seconds
        if len(rows) % 8 == 0 or ended or late or rows[-1][0] >= options.sweeps * (1 - 1e-9):
            report(
                {
                    **state,
                    "spheres": spheres.N,
                    "packing_fractions": phis,
                    "area": box[0] * box[1],
                    "length": box[2],
                    "volume_delta": spheres.volume_delta,
                    "volume_acceptance": spheres.volume_acceptance,
                    "trial_moves_per_second": spheres.trial_moves / spheres.seconds,
                    "sweeps_done": [round(sweeps) for sweeps, _ in rows],
                    "crystalline": [round(share, 4) for _, share in rows],
                    "volume_sweeps": [round(s - first) for s in spheres.volume_sweeps],
                    "volumes": [round(float(V), 3) for V in spheres.volume_records],
                    "max_overlap": spheres.max_overlap(),
                    "state_hash": spheres.state_hash,
                }
            )
        if ended or late:
            break


def growth(sweeps: np.ndarray, values: np.ndarray) -> float:
    """Slope of the values against the sweeps, without the part that is left out."""
    sweeps, values = np.array(sweeps, dtype=float), np.array(values)
    used = sweeps >= LEFT_OUT * sweeps[-1] if len(sweeps) else np.empty(0, dtype=bool)
    return float(np.polyfit(sweeps[used], values[used], 1)[0]) if used.sum() > 2 else math.nan


def velocities(row: dict[str, Any]) -> dict[str, float]:
    """Velocity of an interface in diameters a sweep, positive if the crystal grows, by both ways.

    A crystal of n spheres with the volume v_s of a sphere, between two interfaces of the area A,
    grows with (dn / dt) v_s / (2 A). Its share x of the spheres follows from the volume
    V / N = v_f + x (v_s - v_f).
    """
    v_s, v_f = (math.pi / 6 / phi for phi in row["packing_fractions"])
    by_share = row["spheres"] * v_s / (2 * row["area"])
    by_volume = v_s / (2 * row["area"] * (v_s - v_f))
    return {
        "share": by_share * growth(row["sweeps_done"], row["crystalline"]),
        "volume": by_volume * growth(row["volume_sweeps"], row["volumes"]),
    }


def line(P: np.ndarray, v: np.ndarray, weights: np.ndarray) -> dict[str, float] | None:
    """The straight line v = slope (P - zero) of weighted least squares, with the standard error of
    its zero from the scatter about it; None for fewer than three runs or a line that does not rise.
    """
    known = np.isfinite(v)
    P, v, weights = P[known], v[known], weights[known]
    if len(P) < 3 or np.ptp(P) == 0:
        return None
    weights = weights / weights.sum()
    middle, mean = weights @ P, weights @ v
    spread = weights @ (P - middle) ** 2
    slope = (weights @ ((P - middle) * (v - mean))) / spread
    if not slope > 0:
        return None
    zero = middle - mean / slope
    variance = weights @ (v - slope * (P - zero)) ** 2 / (len(P) - 2)
    error = math.sqrt(variance * (1 + (zero - middle) ** 2 / spread)) / slope
    return {
        "zero": float(zero),
        "zero_error": error,
        "slope": float(slope),
        "slope_error": math.sqrt(variance / spread),
        "runs": len(P),
    }


def lines_of(rows: list[dict[str, Any]]) -> dict[str, dict[str, float] | None]:
    """The line of each way, through all runs with weights in proportion to their lengths."""
    P = np.array([row["pressure"] for row in rows], dtype=float)
    found = [velocities(row) for row in rows]
    weights = np.array([row["sweeps_done"][-1] for row in rows], dtype=float)
    return {way: line(P, np.array([each[way] for each in found]), weights) for way in WAYS}


def run(options: argparse.Namespace) -> dict[str, Any]:
    states = [
        {"pressure": P, "seed": seed + 1}
        for seed in range(options.seeds)
        for P in options.pressures
    ]
    results: list[dict[str, Any]] = [{} for _ in states]
    saved: dict[str, Any] = {}
    lock = Lock()

    def reporter(index: int) -> Any:
        def report(result: dict[str, Any]) -> None:
            with lock:
                results[index] = result
                rows = [row for row in results if row]
                saved.update(script.save(options, {"results": rows, "lines": lines_of(rows)}))

        return report

    with ThreadPoolExecutor(options.jobs) as threads:
        runs = [
            threads.submit(measure, state, options, reporter(k)) for k, state in enumerate(states)
        ]
        for done in runs:
            done.result()
    return saved


def show(report: dict[str, Any]) -> None:
    """Print the velocities and the zeros of the lines."""
    print("P*      seed  spheres  sweeps      crystalline       velocity in 1e-6 d/sweep by share, "
          "volume")  # fmt: skip
    for row in report["results"]:
        v = velocities(row)
        print(
            f"{row['pressure']:<7g} {row['seed']:4d}  {row['spheres']:7,d}  "
            f"{row['sweeps_done'][-1]:10,d}  {row['crystalline'][0]:.1%} to "
            f"{row['crystalline'][-1]:.1%}  {1e6 * v['share']:8.2f}  {1e6 * v['volume']:8.2f}"
        )
    value, error = published()["coexistence"]["pressure"]
    for way, found in lines_of(report["results"]).items():
        text = "no line that rises through three runs"
        if found is not None:
            zero = with_error(found["zero"], found["zero_error"])
            slope = with_error(1e6 * found["slope"], 1e6 * found["slope_error"])
            text = f"P* of coexistence {zero}, slope {slope}e-6 d/sweep, {found['runs']} runs"
        print(f"by the {WAYS[way]}: {text}")
    print(f"published: {with_error(value, error)}")


def draw(report: dict[str, Any]) -> Figure:
    rows = report["results"]
    figure = Figure(figsize=(7.0, 6.5), layout="constrained")
    top, bottom = figure.subplots(2, 1)
    for row in rows:
        label = f"$P^*$ = {row['pressure']:g}" if row["seed"] == 1 else None
        color = f"C{sorted({r['pressure'] for r in rows}).index(row['pressure'])}"
        top.plot(row["sweeps_done"], row["crystalline"], lw=1, color=color, label=label)
    top.set(xlabel="sweeps", ylabel="crystalline share")
    top.legend(fontsize=8)
    P = np.array([row["pressure"] for row in rows])
    for (way, found), mark in zip(lines_of(rows).items(), "os", strict=True):
        v = [1e6 * velocities(row)[way] for row in rows]
        label = f"by the {WAYS[way]}"
        if found is not None:
            label += f": zero at {with_error(found['zero'], found['zero_error'])}"
        (points,) = bottom.plot(P, v, mark, ms=4, label=label)
        if found is not None:
            ends = np.array([P.min(), P.max()])
            bottom.plot(
                ends, 1e6 * found["slope"] * (ends - found["zero"]), color=points.get_color()
            )
    value, error = published()["coexistence"]["pressure"]
    bottom.axvline(value, color="k", lw=1, label=f"published {with_error(value, error)}")
    bottom.axhline(0, color="k", lw=0.5)
    bottom.set(xlabel="$P^*$", ylabel=r"velocity of an interface in $10^{-6}\,d$ / sweep")
    bottom.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, device="auto")
    parser.option("--pressures", PRESSURES)
    parser.option("--seeds", 2, "Runs at each pressure (default 2).")
    parser.option("--cells", 12, "Unit cells of the slab along x and y (default 12).")
    parser.option("--length", 10, "Unit cells of the slab along z (default 10).")
    parser.option("--sweeps", 4_000_000, "Largest length of a run (default 4000000).")
    parser.option("--every", 20_000, "Sweeps between two points (default 20000).")
    parser.option("--equilibrate", 4000, "Equilibration in sweeps (default 4000).")
    parser.option("--seconds", float, "Time in seconds after which a run ends (default no limit).")
    parser.option("--jobs", 1, "Simultaneous runs (default 1).")
    quick = {
        "pressures": [10.5, 12.5], "cells": 4, "length": 6, "sweeps": 1600, "every": 200,
        "equilibrate": 400, "seeds": 1,
    }  # fmt: skip
    options = script.parse(parser, "interface_velocity", quick)
    script.at_least(options, seeds=1, sweeps=1)
    report = script.read(options)[0] if options.draw else run(options)
    show(report)
    script.picture(options, draw(report))


if __name__ == "__main__":
    script.run_script(main)
