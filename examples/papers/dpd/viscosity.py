# SPDX-License-Identifier: BSD-3-Clause
"""Dynamic viscosity from the double Poiseuille flow: section 4.2 of Y.-H. Tang and G. E.
Karniadakis, Comput. Phys. Commun. 185, 2809 (2014). It runs in.double_poiseuille.

    python viscosity.py --runs 10

In each half of width L the velocity is rho g / (2 eta) x (L - x); its mean is rho g L^2 / (12 eta).
The error of a run follows from the thermal fluctuations. Warnings appear if the flow is not
stationary.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import Estimate, script
from manymove.analysis import DoublePoiseuille, pool
from manymove.analysis.notation import with_error
from manymove.devices import on_gpu
from manymove.lammps import host

DENSITY, FORCE, HALF, TEMPERATURE, PARTICLES, TIMESTEP = 6.0, 0.055, 6.0, 0.5, 4608, 0.001
EVERY = 100  # steps of a profile in the file
PUBLISHED = (2.09, 0.02)  # J. A. Backer et al., J. Chem. Phys. 122, 154503 (2005)
PAPER = (2.089, 0.009)  # section 4.2
INPUT = Path(__file__).parents[2] / "poiseuille/in.double_poiseuille"


def read_profiles(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Centers of the slabs, and velocities of three parts of the run, (3, slabs): the whole, and
    its two halves."""
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    table = np.array([row for row in rows if len(row) == 5], dtype=float)
    slabs = int(table[:, 0].max())
    x, number, velocity = table.reshape(-1, slabs, 5)[..., 1:4].transpose(2, 0, 1)
    half = len(x) // 2
    parts = [slice(None), slice(0, half), slice(half, None)]
    means = [(number[k] * velocity[k]).sum(axis=0) / number[k].sum(axis=0) for k in parts]
    return x[0], np.array(means)


def viscosities(flow: DoublePoiseuille, x: np.ndarray, velocities: np.ndarray) -> list[float]:
    """The viscosity of each part of a run."""
    # The mean over slabs of finite width is that over the half: both average the parabola.
    lower, upper = velocities[:, x < HALF], velocities[:, x > HALF]
    return [flow.viscosity(v) for v in (lower.mean(axis=1) - upper.mean(axis=1)) / 2]


def evaluate(flow: DoublePoiseuille, runs: list[list[float]]) -> dict[str, Any]:
    """Mean of the runs with its error, and the warnings."""
    whole, first, second = np.transpose(runs)
    mean = pool([Estimate(value, flow.error(value)) for value in whole])
    warnings = flow.warnings(mean.value, mean.error, len(runs), float(np.mean(second - first)))
    return {
        "viscosities": whole.tolist(),
        "viscosity": mean.value,
        "error": mean.error,
        "warnings": warnings,
    }


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The comparisons for docs/papers.md."""
    ours = (report["viscosity"], report["error"])
    size = f"{PARTICLES:,} particles"
    length = f"{len(report['viscosities'])} runs of {report['steps']:,} steps"
    return [
        script.compared("dynamic viscosity", ours, PAPER, size, length),
        script.compared("dynamic viscosity (Backer et al.)", ours, PUBLISHED, size, length),
    ]


def draw(report: dict) -> Figure:
    """Viscosities of the runs, and their mean profile with the parabolas of the published one."""
    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels = figure.subplots(1, 2)
    values = report["viscosities"]
    panels[0].plot(range(1, len(values) + 1), values, "o", ms=4)
    for (value, error), label, color in (
        ((report["viscosity"], report["error"]), "mean of the runs", "C0"),
        (PUBLISHED, "Backer et al. (2005)", "0.4"), (PAPER, "Tang and Karniadakis (2014)", "C3"),
    ):  # fmt: skip
        label = f"{label}: η = {with_error(value, error)}"
        panels[0].axhspan(value - error, value + error, alpha=0.3, color=color, label=label)
    panels[0].set(xlabel="run", ylabel="dynamic viscosity η")
    panels[0].legend(fontsize="small")
    if "x" not in report:  # a record of several commands
        panels[1].set_axis_off()
        return figure
    axes = panels[1]
    axes.plot(report["x"], report["velocities"], "o", ms=3, label="manymove/dpd")
    x = np.linspace(0, 2 * HALF, 241)
    y = x % HALF
    parabola = DENSITY * FORCE / (2 * PUBLISHED[0]) * y * (HALF - y)
    axes.plot(x, np.where(x < HALF, parabola, -parabola), "k-", lw=1, label="Backer et al. (2005)")
    axes.set(
        xlabel="position x ($r_c$)", ylabel="velocity $v_z$",
        title=f"density {DENSITY:g}, σ = 4.5, kT = 0.5, g = {FORCE}",
    )  # fmt: skip
    axes.legend()
    return figure


def simulate(options: argparse.Namespace, seed: int) -> tuple[list[float], list[list[float]]]:
    """What `read_profiles` finds of a run."""
    profile = options.output / f"profile_{options.weight_exponent:g}_{seed}"
    gpu = on_gpu(options.device)
    variables = {
        "seed": seed,
        "s": options.weight_exponent,
        "settle": options.settle,
        "steps": options.steps,
        "out": profile,
        "style": "manymove/verlet" if gpu else "verlet",
    }
    host.run(INPUT, ranks=1 if gpu else options.ranks, log=f"{profile}.log", **variables)
    x, velocities = read_profiles(profile)
    return x.tolist(), velocities.tolist()


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--runs", 10)
    parser.option("--seed", 1, "Seed of the first run.")
    parser.option("--weight-exponent", 1.0)
    parser.option("--settle", 60000, "Steps before the profile.")
    parser.option("--steps", 100000, "Steps of the profile.")
    parser.option("--device", "auto", "Device; on a GPU with run_style manymove/verlet.")
    parser.option("--ranks", 1, "MPI ranks on a CPU.")
    parser.option("--minutes", float, "Time in minutes after which no run begins.")
    quick = {"runs": 2, "settle": 200, "steps": 1000, "device": "cpu"}
    options = script.parse(parser, "viscosity", quick, draw=draw)
    script.at_least(options, runs=1, ranks=1, settle=0, steps=2 * EVERY)
    for name in ("settle", "steps"):
        if getattr(options, name) % EVERY:
            parser.error(f"--{name} must be a multiple of {EVERY}")
    times = (options.settle * TIMESTEP, options.steps * TIMESTEP)
    flow = DoublePoiseuille(DENSITY, HALF, FORCE, TEMPERATURE, PARTICLES, *times)
    parts = script.Parts(options, without=("runs", "device", "ranks"))
    results, profiles = [], []
    for seed in range(options.seed, options.seed + options.runs):
        x, velocities = map(
            np.array, parts.run(f"seed {seed}", lambda seed=seed: simulate(options, seed))
        )
        results.append(viscosities(flow, x, velocities))
        profiles.append(velocities[0])
        value = results[-1][0]
        print(f"seed {seed}: viscosity {with_error(value, flow.error(value))}", flush=True)
    report = {**evaluate(flow, results), "x": x.tolist()}
    report["velocities"] = np.mean(profiles, axis=0).tolist()
    report["rows"] = rows({**vars(options), **report})
    if len(results) > 1:
        print(f"viscosity {with_error(report['viscosity'], report['error'])}")
    for warning in report["warnings"]:
        print(f"warning: {warning}")
    print(f"published {with_error(*PUBLISHED)}")
    script.finish(options, report, draw)


if __name__ == "__main__":
    script.run_script(main)
