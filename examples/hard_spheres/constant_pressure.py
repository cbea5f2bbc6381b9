# SPDX-License-Identifier: BSD-3-Clause
"""The equations of state of hard disks and hard spheres at constant pressure.

At each pressure of an equation of state the mean packing fraction is compared with that of the
equation: the virial series of disks, and Kolafa, Labik and Malijevsky's fluid of spheres (Phys.
Chem. Chem. Phys. 6, 2335, 2004).

    python constant_pressure.py --particles 128 --sweeps 60000
    python constant_pressure.py --draw out/constant_pressure/summary.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from manymove import HardDisks, HardSpheres
from manymove.analysis import reference, sphere_reference
from manymove.analysis.notation import with_error
from manymove.bench import example
from manymove.jobs.figures import new_figure, write_picture

PACKING_FRACTIONS = {"disks": [0.2, 0.35, 0.5, 0.6], "spheres": [0.1, 0.2, 0.3, 0.4]}


def pressure_of(kind: str, phi: float) -> float:
    """P* in the literature."""
    if kind == "spheres":
        return sphere_reference.literature_pressure(phi, None)[0]
    return reference.literature_pressure(1, phi)[0]


def measure(kind: str, phi: float, options: argparse.Namespace) -> dict[str, Any]:
    pressure = pressure_of(kind, phi)
    make = HardDisks if kind == "disks" else HardSpheres
    particles = make.random(
        options.particles, 0.97 * phi, seed=options.seed, device=options.device, pressure=pressure
    )
    particles.tune_volume(options.equilibrate)
    particles.sample_volume(max(20, options.sweeps / 256))
    particles.run(options.sweeps)
    found = particles.mean_packing_fraction
    return {
        "kind": kind,
        "pressure": pressure,
        "literature": phi,
        "packing_fraction": found.value,
        "packing_fraction_error": found.error,
        "compressibility": particles.compressibility.value,
        "compressibility_error": particles.compressibility.error,
        "volume_acceptance": particles.volume_acceptance,
        "state_hash": particles.state_hash,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    for kind, fractions in PACKING_FRACTIONS.items():
        for phi in fractions[: options.points]:
            row = measure(kind, phi, options)
            results.append(row)
            report = example.save(options, {"results": results})
            value = with_error(row["packing_fraction"], row["packing_fraction_error"])
            print(f"{kind:8}P* {row['pressure']:<9.5g}packing fraction {value}  literature {phi:g}")
    return report


def plot(picture: Path, report: dict[str, Any]) -> None:
    figure, axes = new_figure(5.5, 4.0)
    for kind, color in (("disks", "C0"), ("spheres", "C3")):
        rows = [row for row in report["results"] if row["kind"] == kind]
        axes.plot(
            [row["literature"] for row in rows], [row["pressure"] for row in rows],
            color=color, lw=1,
        )  # fmt: skip
        axes.errorbar(
            [row["packing_fraction"] for row in rows], [row["pressure"] for row in rows],
            xerr=[row["packing_fraction_error"] or 0 for row in rows],
            fmt="o", ms=4, color=color, label=kind,
        )  # fmt: skip
    axes.set(xlabel=r"packing fraction $\phi$", ylabel=r"pressure $P^*$", yscale="log")
    axes.legend(fontsize=8)
    write_picture(picture, figure, dpi=110)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--particles", type=int, default=128)
    parser.add_argument("--points", type=int, default=4)
    parser.add_argument("--sweeps", type=int, default=60_000)
    parser.add_argument("--equilibrate", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    quick = {"particles": 40, "points": 2, "sweeps": 1000, "equilibrate": 500}
    options = example.parse(parser, "constant_pressure", quick)
    report = example.read(options)[0] if options.draw else run(options)
    plot(options.output / "picture.png", report)
    print(f"results in {options.output}/")


if __name__ == "__main__":
    main()
