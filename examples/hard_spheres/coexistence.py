# SPDX-License-Identifier: BSD-3-Clause
"""Coexistence of fluid and crystal: an FCC slab in the fluid, in one long box of constant volume.

Between freezing (0.49) and melting (0.54) the slab grows or melts until both phases have the
pressure of coexistence, whatever the overall packing fraction is. Published: 11.5727(10)
(Fernandez et al., Phys. Rev. Lett. 108, 165701, 2012).

    python coexistence.py --cells 12 --sweeps 2000000
    python coexistence.py --draw out/coexistence/summary.json
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from manymove import HardSpheres, fcc_packing
from manymove.analysis.notation import with_error
from manymove.analysis.sphere_reference import published
from manymove.bench import example
from manymove.jobs.figures import new_panels, write_picture

MELTING = 0.5433  # packing fraction of the crystal at 11.57 by Speedy's equation of state
PACKING_FRACTIONS = [0.51, 0.52, 0.53]
BINS_PER_LAYER = 8


def slab(phi: float, options: argparse.Namespace) -> tuple[np.ndarray, tuple[float, ...]]:
    """Positions and box: an FCC slab of half the length, and a fluid a diameter away from it."""
    n = options.cells
    edge = (4 * math.pi / 6 / MELTING) ** (1 / 3)
    cube, _ = fcc_packing(4 * n**3, MELTING)
    wide, long = n * edge, 2 * n * edge  # the slab
    box = (wide, wide, 2 * long)
    up = np.array([0, 0, 1])
    crystal = np.concatenate((cube - wide / 2 * up, cube + wide / 2 * up))
    crystal[:, 2] -= (crystal[:, 2].min() + crystal[:, 2].max()) / 2
    N = round(phi * 6 / math.pi * math.prod(box)) - len(crystal)
    height = 2 * long - np.ptp(crystal[:, 2]) - 2
    fluid = HardSpheres.random(
        N, N * math.pi / 6 / (wide * wide * height), seed=options.seed, device=options.device,
        aspect_ratios=(1.0, 1.0, height / wide),
    )  # fmt: skip
    positions = np.concatenate((crystal, fluid.positions + long * up))
    return positions - np.rint(positions / np.array(box)) * np.array(box), box


def measure(phi: float, options: argparse.Namespace) -> dict[str, Any]:
    positions, box = slab(phi, options)
    spheres = HardSpheres(
        positions, box, seed=options.seed, device=options.device, max_displacement=0.06
    )
    spheres.run(options.equilibrate)
    spheres.sample_pressure(every=1, record=max(20, options.sweeps / 256))
    profiles = []
    for _ in range(16):
        spheres.run(options.sweeps / 16)
        profiles.append(profile(spheres.positions, box, options.cells))
    found = spheres.pressure
    return {
        "packing_fraction": phi,
        "spheres": spheres.N,
        "box": list(box),
        "pressure": found.value,
        "pressure_error": found.error,
        "records": [round(float(p), 4) for p in spheres.pressure_records],
        "profile": np.round(profiles[-1], 4).tolist(),
        "acceptance": spheres.acceptance,
        "max_overlap": spheres.max_overlap(),
        "state_hash": spheres.state_hash,
    }


def profile(positions: np.ndarray, box: tuple[float, ...], cells: int) -> np.ndarray:
    """Packing fraction along z, in bins of an eighth of a crystal layer."""
    bins = 8 * cells * BINS_PER_LAYER  # two layers in each of 4 * cells unit cells
    counts = np.histogram(positions[:, 2], bins=bins, range=(-box[2] / 2, box[2] / 2))[0]
    return counts * math.pi / 6 * bins / math.prod(box)


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    for phi in options.packing_fractions:
        result = measure(phi, options)
        results.append(result)
        report = example.save(options, {"results": results})
        value = with_error(result["pressure"], result["pressure_error"])
        print(f"{phi:.3f}  {result['spheres']:,} spheres  P* {value}", flush=True)
    return report


def plot(picture: Path, report: dict[str, Any]) -> None:
    rows = report["results"]
    figure, panels = new_panels((7.0, 2.2 * (len(rows) + 1)), (len(rows) + 1, 1))
    for panel, row in zip(panels[:-1, 0], rows, strict=True):
        length = row["box"][2]
        z = (np.arange(len(row["profile"])) + 0.5) / len(row["profile"]) * length - length / 2
        panel.plot(z, row["profile"], lw=0.6)
        panel.set(ylabel=r"$\phi(z)$", xlim=(-length / 2, length / 2), xlabel=r"$z / d$")
        value = with_error(row["pressure"], row["pressure_error"])
        panel.set_title(rf"$\phi$ = {row['packing_fraction']:g}, $P^*$ = {value}", fontsize=9)
    last = panels[-1, 0]
    for row in rows:
        sweeps = (np.arange(len(row["records"])) + 0.5) / len(row["records"]) * report["sweeps"]
        means = np.array_split(np.array(row["records"]), 16)
        middle = [part.mean() for part in np.array_split(sweeps, 16)]
        label = rf"$\phi$ = {row['packing_fraction']:g}"
        last.plot(middle, [part.mean() for part in means], "o-", ms=3, label=label)
    value, error = published()["coexistence"]["pressure"]
    last.axhline(value, color="k", lw=1, label=f"published {with_error(value, error)}")
    last.set(xlabel="sweeps", ylabel=r"$P^*$")
    last.legend(fontsize=8)
    write_picture(picture, figure, dpi=110)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cells", type=int, default=10, help="unit cells of the slab along x and y"
    )
    parser.add_argument("--packing-fractions", type=float, nargs="+", default=PACKING_FRACTIONS)
    parser.add_argument("--sweeps", type=int, default=1_000_000)
    parser.add_argument("--equilibrate", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    quick = {"cells": 4, "packing_fractions": [0.52], "sweeps": 2000, "equilibrate": 500}
    options = example.parse(parser, "coexistence", quick)
    report = example.read(options)[0] if options.draw else run(options)
    plot(options.output / "picture.png", report)
    print(f"results in {options.output}/")


if __name__ == "__main__":
    main()
