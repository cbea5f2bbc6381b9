"""Dynamic viscosity from the double Poiseuille flow of in.double_poiseuille.

In each half of width L the velocity is rho g / (2 eta) x (L - x); its mean is rho g L^2 / (12 eta).
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np

from manymove.analysis.notation import with_error
from manymove.bench.harness import machine
from manymove.lammps import host

DENSITY, FORCE, HALF = 6.0, 0.055, 6.0


def viscosity(profile: Path) -> float:
    """The viscosity of one run, from the slabs of its profile."""
    slabs = np.loadtxt(profile, skiprows=4, usecols=(1, 3))
    x, velocity = slabs.T
    mean = (velocity[x < HALF].mean() - velocity[x > HALF].mean()) / 2
    # The mean over slabs of finite width is that over the half: both average the parabola.
    return DENSITY * FORCE * HALF**2 / (12 * mean)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--weight-exponent", type=float, default=1.0)
    parser.add_argument("--settle", type=int, default=60000)
    parser.add_argument("--steps", type=int, default=100000)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("out"))
    options = parser.parse_args()

    options.output.mkdir(parents=True, exist_ok=True)
    deck = Path(__file__).parent / "in.double_poiseuille"
    results = []
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
        results.append(viscosity(profile))
        print(f"seed {seed}: viscosity {results[-1]:.4f}", flush=True)
    settings = {name: value for name, value in vars(options).items() if name != "output"}
    report = {**machine(), **settings, "viscosities": results}
    report["viscosity"] = float(np.mean(results))
    if len(results) > 1:
        report["error"] = float(np.std(results, ddof=1) / np.sqrt(len(results)))
        print(f"viscosity {with_error(report['viscosity'], report['error'])}")
    (options.output / "viscosity.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
