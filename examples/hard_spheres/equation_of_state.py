# SPDX-License-Identifier: BSD-3-Clause
"""The equation of state of hard spheres: the fluid from random starts and the FCC crystal.

Pressures from contact values are compared with the equations of state of Kolafa, Labik and
Malijevsky (fluid) and of Speedy (crystal). The lower panel shows the relative deviations.

    python equation_of_state.py --spheres 65536 --sweeps 200000
    python equation_of_state.py --draw out/equation_of_state/summary.json

Several files after --draw are independent runs, whose pressures are pooled.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import HardSpheres, random_sphere_packing, script
from manymove.analysis.notation import with_error
from manymove.analysis.sphere_reference import fluid_factor, literature_pressure, solid_factor

FLUID = [0.1, 0.2, 0.3, 0.4, 0.45, 0.49]
CRYSTAL = [0.545, 0.57, 0.6]


def commensurate(N: int) -> int:
    """The number of spheres of a cubic FCC crystal that is nearest to N."""
    return 4 * max(3, round((N / 4) ** (1 / 3))) ** 3


def displacement(phi: float) -> float:
    """A maximum displacement of about half the gap between the spheres."""
    return min(0.5, 0.5 * ((0.74 / phi) ** (1 / 3) - 1))


def measure(phi: float, start: str, options: argparse.Namespace) -> dict[str, Any]:
    settings = {
        "seed": options.seed, "device": options.device, "max_displacement": displacement(phi)
    }  # fmt: skip
    if start == "fcc":
        spheres = HardSpheres.fcc(commensurate(options.spheres), phi, **settings)
    else:
        start_of_fluid = random_sphere_packing(
            options.spheres, phi, seed=options.seed, device=options.device
        )
        spheres = HardSpheres(*start_of_fluid, **settings)
    spheres.run(options.equilibrate)
    spheres.sample_pressure(every=1, record=max(20, options.sweeps / 256))
    spheres.run(options.sweeps)
    found = spheres.pressure_average
    reference, uncertainty = literature_pressure(phi, start)
    return {
        "packing_fraction": phi,
        "start": start,
        "spheres": spheres.N,
        "pressure": found.value,
        "pressure_error": found.error,
        "literature": reference,
        "literature_error": uncertainty,
        "acceptance": spheres.acceptance,
        "trial_moves_per_second": spheres.trial_moves / spheres.seconds,
        "sweeps": spheres.sweeps,
        "records": np.round(spheres.pressure_records, 6).tolist(),
        "max_overlap": spheres.max_overlap(),
        "state_hash": spheres.state_hash,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run all states; the file is complete after each of them."""
    results: list[dict[str, Any]] = []
    states = [(phi, "random") for phi in options.fluid] + [(phi, "fcc") for phi in options.crystal]
    for phi, start in states:
        result = measure(phi, start, options)
        results.append(result)
        report = script.save(options, {"results": results})
        value = with_error(result["pressure"], result["pressure_error"])
        print(
            f"{phi:.3f} {start:<6}  P* {value}  literature {result['literature']:.5g}", flush=True
        )
    return report


def pooled(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The states of all runs; the same state of several runs with its weighted mean."""
    states: dict[tuple[float, str], list[dict[str, Any]]] = {}
    for row in (row for report in reports for row in report["results"]):
        states.setdefault((row["packing_fraction"], row["start"]), []).append(row)
    rows = []
    for same in states.values():
        weights = [row["pressure_error"] ** -2 for row in same]
        mean = float(np.average([row["pressure"] for row in same], weights=weights))
        rows.append({**same[0], "pressure": mean, "pressure_error": sum(weights) ** -0.5})
    return rows


def draw(reports: list[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    panels = figure.subplots(2, 1, squeeze=False, sharex=True, height_ratios=(2, 1))
    above, below = panels[:, 0]
    rows = pooled(reports)
    for start, color, name, factor in (
        ("random", "C0", "fluid, Kolafa et al.", fluid_factor),
        ("fcc", "C3", "FCC crystal, Speedy", solid_factor),
    ):
        mine = [row for row in rows if row["start"] == start]
        if not mine:
            continue
        phi, pressure, error, reference = (
            np.array([row[key] for row in mine])
            for key in ("packing_fraction", "pressure", "pressure_error", "literature")
        )
        line = np.linspace(phi.min(), phi.max(), 200)
        curve = [6 * x / math.pi * factor(x) for x in line]
        above.plot(line, curve, color=color, lw=1, label=name)
        above.errorbar(phi, pressure, error, fmt="o", ms=4, color=color, label="this run")
        deviation = 1e3 * (pressure / reference - 1)
        below.errorbar(phi, deviation, 1e3 * error / reference, fmt="o", ms=4, color=color)
    below.axhline(0, color="k", lw=0.8)
    above.set(ylabel=r"$P^* = \beta P d^3$", title=f"{reports[0]['spheres']:,} hard spheres")
    below.set(xlabel=r"packing fraction $\phi$", ylabel="deviation (0.1 %)")
    above.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--spheres", 65536)
    parser.option("--fluid", FLUID, nargs="*")
    parser.option("--crystal", CRYSTAL, nargs="*")
    parser.option("--sweeps", 100_000)
    parser.option("--equilibrate", 10_000)
    quick = {
        "spheres": 864, "fluid": [0.2, 0.4], "crystal": [0.57], "sweeps": 2000, "equilibrate": 200
    }  # fmt: skip
    options = script.parse(parser, "equation_of_state", quick)
    script.fractions(options, "fluid", "crystal")
    reports = script.read(options) if options.draw else [run(options)]
    script.picture(options, draw(reports))


if __name__ == "__main__":
    script.run_script(main)
