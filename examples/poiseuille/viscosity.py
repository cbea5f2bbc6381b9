"""Dynamic viscosity from the double Poiseuille flow of in.double_poiseuille.

    python viscosity.py --runs 10

In each half of width L the velocity is rho g / (2 eta) x (L - x); its mean is rho g L^2 / (12 eta).
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from manymove.analysis.notation import with_error
from manymove.bench import example
from manymove.lammps import host

DENSITY, FORCE, HALF = 6.0, 0.055, 6.0
PUBLISHED = (2.09, 0.02)  # J. A. Backer et al., J. Chem. Phys. 122, 154503 (2005)


def read_profile(path: Path) -> np.ndarray:
    """Centers of the slabs and their velocities, (2, slabs)."""
    return np.loadtxt(path, skiprows=4, usecols=(1, 3)).T


def viscosity(x: np.ndarray, velocity: np.ndarray) -> float:
    """The viscosity of one run, from the slabs of its profile."""
    mean = (velocity[x < HALF].mean() - velocity[x > HALF].mean()) / 2
    # The mean over slabs of finite width is that over the half: both average the parabola.
    return DENSITY * FORCE * HALF**2 / (12 * mean)


def draw(report: dict) -> Figure:
    """Mean profile of all runs, and the parabolas of the published viscosity."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(report["x"], report["velocities"], "o", ms=3, label="manymove/dpd")
    x = np.linspace(0, 2 * HALF, 241)
    y = x % HALF
    parabola = DENSITY * FORCE / (2 * PUBLISHED[0]) * y * (HALF - y)
    axes.plot(x, np.where(x < HALF, parabola, -parabola), "k-", lw=1,
              label=f"Backer et al. (2005): η = {with_error(*PUBLISHED)}")  # fmt: skip
    axes.set(
        xlabel="position x ($r_c$)", ylabel="velocity $v_z$",
        title=f"double Poiseuille flow, density {DENSITY:g}, σ = 4.5, kT = 0.5, g = {FORCE}",
    )  # fmt: skip
    axes.legend()
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="Seed of the first run.")
    parser.add_argument("--weight-exponent", type=float, default=1.0)
    parser.add_argument("--settle", type=int, default=60000, help="Steps before the profile.")
    parser.add_argument("--steps", type=int, default=100000, help="Steps of the profile.")
    parser.add_argument("--ranks", type=int, default=1)
    options = example.parse(parser, "viscosity", {"runs": 2, "settle": 200, "steps": 1000})
    example.at_least(options, runs=1, ranks=1)
    if options.draw:
        example.picture(options, draw(example.read(options)[0]))
        return
    options.output.mkdir(parents=True, exist_ok=True)
    deck = Path(__file__).parent / "in.double_poiseuille"
    results, profiles = [], []
    for seed in range(options.seed, options.seed + options.runs):
        profile = options.output / f"profile_{options.weight_exponent:g}_{seed}"
        variables = {
            "seed": seed,
            "s": options.weight_exponent,
            "settle": options.settle,
            "steps": options.steps,
            "out": profile,
        }
        command = host.command(options.ranks)
        command += ["-in", str(deck), "-log", f"{profile}.log", "-screen", "none"]
        for name, value in variables.items():
            command += ["-var", name, str(value)]
        subprocess.run(command, env=host.environment(), check=True)
        x, velocity = read_profile(profile)
        results.append(viscosity(x, velocity))
        profiles.append(velocity)
        print(f"seed {seed}: viscosity {results[-1]:.4f}", flush=True)
    report = {"viscosities": results, "viscosity": float(np.mean(results)), "x": x.tolist()}
    report["velocities"] = np.mean(profiles, axis=0).tolist()
    if len(results) > 1:
        report["error"] = float(np.std(results, ddof=1) / np.sqrt(len(results)))
        print(f"viscosity {with_error(report['viscosity'], report['error'])}")
    print(f"published {with_error(*PUBLISHED)}")
    example.picture(options, draw(example.save(options, report)))


if __name__ == "__main__":
    example.run_script(main)
