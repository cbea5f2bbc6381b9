# SPDX-License-Identifier: BSD-3-Clause
"""Speedup of a GPU over LAMMPS' `dpd` on the cores of the same host: Figure 11 of Y.-H. Tang and
G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).

    python figure_11.py --device cuda --ranks 16 --minutes 9
    python figure_11.py --device cpu

Both programs start from the same melted fluid. LAMMPS makes neighbor lists every 5 steps, as in the
paper; run_style manymove/verlet makes them when it needs them. With --device cpu it runs with as
many threads as `dpd` has ranks.
"""

from __future__ import annotations

import argparse
import tempfile
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


def measure(options: argparse.Namespace, fluid: Fluid) -> dict[str, Any]:
    """Speeds of both programs with one fluid."""
    with tempfile.TemporaryDirectory() as folder:
        melted = Path(folder) / "melted.restart"
        ours, our_steps = resident_speed(
            fluid, options.device, 1, options.ranks, options.precision, options.seconds,
            options.seed, melted,
        )  # fmt: skip
        theirs, their_steps = reference_speed(
            fluid, melted, options.ranks, options.seconds, options.seed
        )
    found = {
        "density": fluid.density, "cutoff": fluid.cutoff, "particles": fluid.particles,
        "speed": ours, "steps": our_steps, "speed_of_dpd": theirs, "steps_of_dpd": their_steps,
        "speedup": ours / theirs,
    }  # fmt: skip
    print(
        f"{fluid.name}, {fluid.particles:,} particles: {ours / 1e6:.4g} and {theirs / 1e6:.4g} "
        f"million particle-steps per second, ratio {ours / theirs:.3g}",
        flush=True,
    )
    return found


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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--densities", type=float, nargs="+", default=list(DENSITIES))
    parser.add_argument("--cutoffs", type=float, nargs="+", default=list(CUTOFFS))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="Particles.")
    parser.add_argument("--device", default="auto", help="Device of manymove/verlet.")
    parser.add_argument("--precision", choices=("mixed", "double"), default="mixed")
    parser.add_argument(
        "--ranks", type=int, default=cores(), help="MPI ranks of dpd (default: cores, at most 16)."
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.5,
        help="Duration of a run in seconds; it has at least 20 steps.",
    )
    parser.add_argument(
        "--minutes", type=float, help="Time in minutes after which no fluid begins."
    )
    parser.add_argument("--seed", type=int, default=1)
    quick = {"densities": [3.0], "cutoffs": [1.0], "sizes": [2000], "seconds": 0.02}
    options = script.parse(parser, "figure_11", quick)
    if options.draw:
        script.picture(options, draw(script.read(options)[0]))
        return
    script.at_least(options, sizes=1, ranks=1)
    parts = script.Parts(options)
    results = []
    for size, density, cutoff in product(options.sizes, options.densities, options.cutoffs):
        fluid = Fluid(density, cutoff, size)
        results.append(
            parts.run(f"{fluid.name}, {size}", lambda fluid=fluid: measure(options, fluid))
        )
    report = {"results": results, "rows": rows(results, options.ranks)}
    script.picture(options, draw(script.save(options, report)))


if __name__ == "__main__":
    script.run_script(main)
