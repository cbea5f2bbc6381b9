# SPDX-License-Identifier: BSD-3-Clause
"""Speedup of a GPU over LAMMPS' `dpd` on the cores of the same host: Figure 11 of Y.-H. Tang and
G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).

    python figure_11.py --device cuda --ranks 16 --minutes 9
    python figure_11.py --device cpu

Both programs start from the same melted fluid. LAMMPS makes neighbor lists every 5 steps, as in the
paper; run_style manymove/verlet makes them when it needs them. With --device cpu it runs with as
many threads as `dpd` has ranks. All speeds of manymove/verlet are measured first, so that a GPU is
free while `dpd` runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from fluid import CUTOFFS, DENSITIES, Fluid, cores, reference_speed, resident_speed
from matplotlib.figure import Figure

from manymove import script

SIZES = (8192, 65536, 262144, 1_000_000, 2_000_000)
# Section 4.3: "the best speedup of over 30 measured with 2 million particles". The figure itself
# has no numbers in print.
PUBLISHED_BEST = 30.0


def measure_ours(options: argparse.Namespace, fluid: Fluid) -> dict[str, Any]:
    """Speed of run_style manymove/verlet with a fluid, which is kept in a file."""
    restart = melted(options, fluid)
    restart.parent.mkdir(parents=True, exist_ok=True)
    speed, steps = resident_speed(
        fluid, options.device, 1, options.ranks, options.precision, options.seconds, options.seed,
        restart,
    )  # fmt: skip
    return {
        "density": fluid.density, "cutoff": fluid.cutoff, "particles": fluid.particles,
        "speed": speed, "steps": steps,
    }  # fmt: skip


def measure_both(options: argparse.Namespace, fluid: Fluid, ours: dict[str, Any]) -> dict[str, Any]:
    """Speeds of both programs with a fluid. `dpd` starts from the file of the melted fluid."""
    restart = melted(options, fluid)
    theirs, steps = reference_speed(fluid, restart, options.ranks, options.seconds, options.seed)
    restart.unlink()
    ratio = ours["speed"] / theirs
    print(
        f"{fluid.name}, {fluid.particles:,} particles: {ours['speed'] / 1e6:.4g} and "
        f"{theirs / 1e6:.4g} million particle-steps per second, ratio {ratio:.3g}",
        flush=True,
    )
    return {**ours, "speed_of_dpd": theirs, "steps_of_dpd": steps, "speedup": ratio}


def melted(options: argparse.Namespace, fluid: Fluid) -> Path:
    """File of a melted fluid."""
    name = f"melted_density_{fluid.density:g}_cutoff_{fluid.cutoff:g}_{fluid.particles}.restart"
    return options.output.absolute() / name


def rows(results: Sequence[dict[str, Any]], ranks: int) -> list[dict[str, Any]]:
    """The comparisons for docs/papers.md."""
    best = max(results, key=lambda found: found["speedup"])
    lines = [
        script.compared(
            f"largest speedup over `dpd` on {ranks} ranks (published: over 30)",
            (best["speedup"], None), (PUBLISHED_BEST, None), f"{best['particles']:,} particles",
            f"{best['steps']:,} and {best['steps_of_dpd']:,} steps",
        )
    ]  # fmt: skip
    for found in results:
        fluid = Fluid(found["density"], found["cutoff"], found["particles"])
        length = f"{found['steps']:,} and {found['steps_of_dpd']:,} steps"
        size = f"{found['particles']:,} particles"
        lines.append(
            script.compared(f"speedup, {fluid.name}", (found["speedup"], None), None, size, length)
        )
        speed = (found["speed"] / 1e6, None)
        quantity = f"million particle-steps per second, {fluid.name}"
        lines.append(script.compared(quantity, speed, None, size, f"{found['steps']:,} steps"))
    return lines


def draw(report: dict[str, Any]) -> Figure:
    """Speedup and speed against the number of particles."""
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    ratios, speeds = figure.subplots(1, 2)
    results = report["results"]
    cases = dict.fromkeys((found["density"], found["cutoff"]) for found in results)
    for k, case in enumerate(cases):
        some = sorted(
            (found["particles"], found["speedup"], found["speed"], found["speed_of_dpd"])
            for found in results
            if (found["density"], found["cutoff"]) == case
        )
        sizes, speedup, *both = zip(*some, strict=True)
        ours, theirs = np.array(both) / 1e6
        label = f"density {case[0]:g}, $r_c$ = {case[1]:g}"
        ratios.semilogx(sizes, speedup, "o-", ms=4, color=f"C{k}", label=label)
        speeds.loglog(sizes, ours, "o-", ms=4, color=f"C{k}")
        speeds.loglog(sizes, theirs, "s--", ms=3, mfc="none", color=f"C{k}")
    ratios.axhspan(10, 30, color="0.9", label="the paper's range")
    ratios.set(xlabel="number of particles", ylabel=f"speedup over {report['ranks']} ranks")
    speeds.set(
        xlabel="number of particles", ylabel="million particle-steps per second",
        title="solid: manymove/verlet, dashed: LAMMPS' dpd",
    )  # fmt: skip
    ratios.legend(fontsize="small")
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--densities", list(DENSITIES))
    parser.option("--cutoffs", list(CUTOFFS))
    parser.option("--sizes", list(SIZES), "Particles.")
    parser.option("--device", "auto", "Device of manymove/verlet.")
    parser.option("--precision", "mixed", choices=("mixed", "double"))
    parser.option("--ranks", cores(), "MPI ranks of dpd (default: cores, at most 16).")
    parser.option("--seconds", 0.5, "Duration of a run in seconds; it has at least 20 steps.")
    parser.option("--minutes", float, "Time in minutes after which no fluid begins.")
    quick = {"densities": [3.0], "cutoffs": [1.0], "sizes": [2000], "seconds": 0.02}
    options = script.parse(parser, "figure_11", quick, draw=draw)
    script.at_least(options, sizes=1, ranks=1)
    parts = script.Parts(options)
    fluids = [
        Fluid(density, cutoff, size)
        for size, density, cutoff in product(options.sizes, options.densities, options.cutoffs)
    ]
    ours = [
        parts.run(
            f"{fluid.name}, {fluid.particles}, ours",
            lambda fluid=fluid: measure_ours(options, fluid),
        )
        for fluid in fluids
    ]
    results = [
        parts.run(
            f"{fluid.name}, {fluid.particles}",
            lambda fluid=fluid, speed=speed: measure_both(options, fluid, speed),
        )
        for fluid, speed in zip(fluids, ours, strict=True)
    ]
    report = {"results": results, "rows": rows(results, options.ranks)}
    script.finish(options, report, draw)


if __name__ == "__main__":
    script.run_script(main)
