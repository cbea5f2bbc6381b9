# SPDX-License-Identifier: BSD-3-Clause
"""Section 3.3 of the paper: the settings that decorrelate the orientational order fastest.

The number of moves per second is no measure of efficiency, because small moves decorrelate slowly.
The measure is the wall time per autocorrelation time of the global psi_6. Each setting is first
timed alone. Then all settings run simultaneously for a long series of psi_6, which does not affect
their trajectories.

    python section_3_3.py --particles 65536 --sweeps 30000000 --jobs 4
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import Grid, HardDisks, script
from manymove.analysis.autocorrelation import autocorrelation_time
from manymove.hard_particles.packing import random_packing

# Displacement, n_m, rounds between two shifts of the grid.
SETTINGS = [(0.16, 4, 4), (0.12, 4, 4), (0.2, 4, 4), (0.16, 8, 2), (0.16, 4, 8), (0.16, 4, 1)]
LENGTH = 2000  # values of psi_6


def speed(disks: HardDisks, least: float) -> float:
    """Seconds per sweep, alone on the device, over at least that many seconds."""
    sweeps = 100.0
    while True:
        began, before = time.perf_counter(), disks.sweeps
        disks.run(sweeps)
        elapsed = time.perf_counter() - began
        if elapsed > least:
            return elapsed / (disks.sweeps - before)
        sweeps *= max(2.0, 1.2 * least / max(elapsed, 1e-3))


def series(disks: HardDisks, sweeps: float) -> np.ndarray:
    """Values of psi_6, equally spaced in sweeps, the first tenth left out."""
    values = []
    for _ in range(LENGTH):
        disks.run(sweeps / LENGTH)
        values.append(disks.psi6())
    return np.array(values[LENGTH // 10 :])


def rows(results: list[dict[str, Any]], particles: int, sweeps: float) -> list[dict[str, Any]]:
    """Wall time of each setting per autocorrelation time."""
    made = []
    for row in results:
        tau = row["autocorrelation_seconds"]
        what = (
            f"s per autocorrelation time of ψ6: displacement {row['max_displacement']:.2f} d, "
            f"{row['moves_per_cell']} moves, {row['rounds']} rounds"
        )
        size = f"{particles:,} disks"
        made.append(script.compared(what, (tau, None), None, size, f"{sweeps:.2g} sweeps"))
    return made


def draw(report: dict[str, Any]) -> Figure:
    """Autocorrelation time of psi_6 in seconds for each setting."""
    rows = report["results"]
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    names = [f"{r['max_displacement']:.2f} d, {r['moves_per_cell']}, {r['rounds']}" for r in rows]
    axes.barh(names, [r["autocorrelation_seconds"] for r in rows])
    axes.invert_yaxis()
    axes.set(
        xlabel=r"autocorrelation time of $\psi_6$ (s)",
        ylabel="displacement, $n_m$, rounds",
        title=f"{report['particles']:,} hard disks, packing fraction {report['packing_fraction']}",
    )
    return figure


def main() -> None:
    """Run, print the table, write the file."""
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--particles", 65536)
    parser.option("--packing-fraction", 0.698)
    parser.option("--sweeps", 3e7, "Sweeps of each setting.")
    parser.option("--jobs", 1, "Simultaneous settings.")
    parser.option("--settings", len(SETTINGS), "Number of settings, from the first one on.")
    parser.option("--seconds", 1.0, "Minimum duration of a speed measurement in seconds.")
    quick = {"particles": 256, "sweeps": 20000, "settings": 2, "seconds": 0.05}
    options = script.parse(parser, "section_3_3", quick, draw=draw)
    start, box = random_packing(options.particles, options.packing_fraction, seed=options.seed)
    engines = [
        HardDisks(
            start,
            box,
            max_displacement=d,
            grid=Grid(moves_per_cell=n, rounds=r),
            seed=options.seed + k,
            device=options.device,
        )
        for k, (d, n, r) in enumerate(SETTINGS[: options.settings])
    ]
    for disks in engines:
        disks.run(1000)
    seconds = [speed(disks, options.seconds) for disks in engines]
    with ThreadPoolExecutor(options.jobs) as pool:
        all_psi = list(pool.map(lambda disks: series(disks, options.sweeps), engines))
    results: list[dict[str, Any]] = []
    print("displacement  n_m  rounds  accepted  moves/s   tau/sweeps  tau/s   series/tau")
    for disks, per_sweep, psi in zip(engines, seconds, all_psi, strict=True):
        tau = autocorrelation_time(psi) * options.sweeps / LENGTH
        found = {
            "max_displacement": disks.max_displacement,
            "moves_per_cell": disks.moves_per_cell,
            "rounds": disks.rounds,
            "acceptance": disks.acceptance,
            "trial_moves_per_second": disks.N / per_sweep,
            "autocorrelation_sweeps": tau,
            "autocorrelation_seconds": tau * per_sweep,
            "series_over_tau": options.sweeps * 0.9 / tau,
            "mean_abs_psi6": float(np.abs(psi).mean()),
        }
        results.append(found)
        print(
            f"{found['max_displacement']:12.4f}  {found['moves_per_cell']:3d}"
            f"  {found['rounds']:6d}  {found['acceptance']:8.4f}"
            f"  {found['trial_moves_per_second']:8.3g}  {tau:10.4g}"
            f"  {found['autocorrelation_seconds']:6.3g}  {found['series_over_tau']:6.1f}",
            flush=True,
        )
    compared = rows(results, options.particles, options.sweeps)
    result = {"results": results, "rows": compared}
    script.finish(options, result, draw)


if __name__ == "__main__":
    script.run_script(main)
