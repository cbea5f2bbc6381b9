"""Density of hard spheres at constant pressure, at a state point of HOOMD-blue's validation.

    python density_at_pressure.py FOLDER --seeds 8 --json density.json

The state point is that of hard_sphere.py in https://github.com/glotzerlab/hoomd-validation: 1,331
spheres at the pressure that the fluid has at a number density of 0.75. The volume relaxes in about
12,000 sweeps, so that an error needs runs of many of these times, or independent runs. Each run has
its own seed, and FOLDER keeps the densities of each, from which an interrupted script continues.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from manymove import ConstantPressure, HardSpheres, info
from manymove.analysis.sphere_reference import fluid_factor

PARTICLES, DENSITY = 1331, 0.75
PRESSURE = 6.6566 * DENSITY  # with the compressibility factor of that validation
RECORD = 100  # sweeps


def densities(seed: int, sweeps: int, device: str) -> np.ndarray:
    """Mean number densities of the records of a run, (K,)."""
    spheres = HardSpheres.random(
        PARTICLES,
        DENSITY * math.pi / 6,
        seed=seed,
        pressure=ConstantPressure(PRESSURE),
        device=device,
        threads=1,
    )
    spheres.run(20_000)
    spheres.tune_volume(20_000, acceptance=0.4)
    spheres.run(20_000)
    spheres.sample_volume(record=RECORD)
    spheres.run(sweeps)
    return spheres.packing_fraction_records * 6 / math.pi


def literature() -> float:
    """Number density of the fluid of Kolafa, Labik and Malijevsky at the pressure."""
    low, high = DENSITY - 0.05, DENSITY + 0.05
    for _ in range(60):
        middle = (low + high) / 2
        if middle * fluid_factor(middle * math.pi / 6) < PRESSURE:
            low = middle
        else:
            high = middle
    return low


def relaxation_records(runs: list[np.ndarray]) -> float:
    """Integrated autocorrelation time of the density in records, from all runs together."""
    mean = np.mean([run.mean() for run in runs])
    variance = np.mean([((run - mean) ** 2).mean() for run in runs])
    total = 0.5
    for lag in range(1, min(map(len, runs))):
        products = [((run - mean)[:-lag] * (run - mean)[lag:]).mean() for run in runs]
        total += float(np.mean(products) / variance)
        if lag > 6 * total:
            break
    return total


def summary(runs: list[np.ndarray]) -> dict[str, Any]:
    means = np.array([run.mean() for run in runs])
    everything = np.concatenate(runs)
    tau = relaxation_records(runs)
    return {
        "density": float(means.mean()),
        "error_of_seeds": float(means.std(ddof=1) / math.sqrt(len(means))),
        "error_of_correlation": float(everything.std() * math.sqrt(2 * tau / len(everything))),
        "standard_deviation": float(everything.std()),
        "relaxation_sweeps": tau * RECORD,
        "literature": literature(),
        "of_seeds": means.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--sweeps", type=int, default=400_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    runs = []
    for seed in range(1, given.seeds + 1):
        file = given.folder / f"{given.sweeps}-{seed}.npy"
        if not file.exists():
            np.save(file, densities(seed, given.sweeps, given.device))
        runs.append(np.load(file))
        print(f"seed {seed}: {runs[-1].mean():.5f}", flush=True)
    found = summary(runs)
    for name, value in found.items():
        print(f"{name}: {value}")
    if given.json:
        settings = {"sweeps": given.sweeps, "seeds": given.seeds, "pressure": PRESSURE}
        given.json.write_text(json.dumps({**info.record(), **settings, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
