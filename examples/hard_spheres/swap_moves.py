# SPDX-License-Identifier: BSD-3-Clause
"""Relaxation of polydisperse hard spheres with and without swap moves.

The spheres are those of L. Berthier, D. Coslovich, A. Ninarello and M. Ozawa, Phys. Rev. Lett. 116,
238002 (2016): diameters from P(d) ~ d^-3 between d_min and 2.219 d_min, a polydispersity of 23 %.
The relaxation time is that after which the self-intermediate scattering function near the wave
number 2 pi / <d> has fallen to 1/e, in sweeps of N trial moves.

    python swap_moves.py --spheres 600 --sweeps 20000
    python swap_moves.py --draw out/swap_moves/summary.json
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from manymove import HardSpheres
from manymove.bench import example
from manymove.jobs.figures import new_figure, write_picture

RATIO = 2.219  # of the largest and the smallest diameter
PACKING_FRACTIONS = [0.46, 0.50, 0.53, 0.56, 0.58]


def diameters(N: int) -> np.ndarray:
    """Diameters at equal steps of the distribution function of P(d) ~ d^-3, with the mean 1."""
    shares = (np.arange(N) + 0.5) / N
    d = 1 / np.sqrt(1 - shares * (1 - RATIO**-2))
    np.random.default_rng(1).shuffle(d)
    return d / d.mean()


def scattering(spheres: HardSpheres, sweeps: float, every: float) -> np.ndarray:
    """Sweeps and the scattering function, averaged over axes, spheres and starts, (K, 2)."""
    frames, times, box = [], [], np.array(spheres.box)
    start = spheres.sweeps
    while spheres.sweeps - start < sweeps:
        frames.append(spheres.positions)
        times.append(spheres.sweeps - start)
        spheres.run(every)
    # Wave vectors of the box next to the wave number, so that images make no difference.
    waves = np.exp(2j * np.pi * np.round(box) * np.array(frames) / box)
    lags = np.unique(np.geomspace(1, len(frames) // 3, 40).astype(int))
    values = [np.mean((waves[lag:] * waves[:-lag].conj()).real) for lag in lags]
    return np.column_stack((np.array(times)[lags], values))


def relaxation_time(curve: np.ndarray) -> float | None:
    """Where a curve falls to 1/e, linear in the logarithm of time; None if it does not."""
    below = np.flatnonzero(curve[:, 1] < 1 / math.e)
    if not below.size:
        return None
    if below[0] == 0:
        return float(curve[0, 0])
    (t, f), (u, g) = curve[below[0] - 1], curve[below[0]]
    return float(t * (u / t) ** ((f - 1 / math.e) / (f - g)))


def measure(phi: float, swaps: bool, options: argparse.Namespace) -> float | None:
    """Relaxation time, after an equilibration with swaps for a third of the run."""
    # Short cycles, so that swap moves are about as frequent as in the paper.
    settings = {
        "rounds": 1, "moves_per_cell": 2, "max_displacement": 0.1, "device": options.device,
    }  # fmt: skip
    spheres = HardSpheres.random(
        options.spheres, phi, diameters=diameters(options.spheres), seed=options.seed,
        swap_rounds=8, **settings,
    )  # fmt: skip
    spheres.run(options.sweeps / 3)
    if not swaps:
        spheres = HardSpheres(
            spheres.positions, spheres.box, diameters=spheres.diameters, seed=options.seed,
            first_cycle=spheres.cycles, **settings,
        )  # fmt: skip
    return relaxation_time(
        scattering(spheres, options.sweeps, max(1.0, options.sweeps / options.samples))
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    for phi in options.packing_fractions:
        for swaps in (False, True):
            time = measure(phi, swaps, options)
            results.append({"packing_fraction": phi, "swaps": swaps, "relaxation_time": time})
            report = example.save(options, {"results": results})
            found = f"above {options.sweeps / 3:.3g}" if time is None else f"{time:.4g}"
            print(f"{phi:.3f}  {'swaps' if swaps else 'no swaps':8}  {found} sweeps", flush=True)
    return report


def plot(picture: Path, report: dict[str, Any]) -> None:
    figure, axes = new_figure(5.5, 4.0)
    for swaps, style, label in ((False, "o-", "without swaps"), (True, "s-", "with swaps")):
        rows = [row for row in report["results"] if row["swaps"] == swaps]
        found = [row for row in rows if row["relaxation_time"] is not None]
        axes.plot(
            [row["packing_fraction"] for row in found],
            [row["relaxation_time"] for row in found],
            style, ms=4, label=label,
        )  # fmt: skip
    axes.set(yscale="log", xlabel=r"packing fraction $\phi$", ylabel="relaxation time in sweeps")
    axes.legend(fontsize=8)
    write_picture(picture, figure, dpi=110)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spheres", type=int, default=600)
    parser.add_argument("--packing-fractions", type=float, nargs="+", default=PACKING_FRACTIONS)
    parser.add_argument("--sweeps", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    quick = {"spheres": 200, "packing_fractions": [0.4, 0.45], "sweeps": 1000, "samples": 200}
    options = example.parse(parser, "swap_moves", quick)
    report = example.read(options)[0] if options.draw else run(options)
    plot(options.output / "picture.png", report)
    print(f"results in {options.output}/")


if __name__ == "__main__":
    main()
