# SPDX-License-Identifier: BSD-3-Clause
"""The equations of state of hard disks and hard spheres at constant pressure.

At each pressure of an equation of state the mean packing fraction and the compressibility are
compared with those of the equation: the virial series of disks (N. Clisby and B. M. McCoy, J. Stat.
Phys. 122, 15, 2006), and Kolafa, Labik and Malijevsky's fluid of spheres (Phys. Chem. Chem. Phys.
6, 2335, 2004). Pressures measured at constant volume agree with these equations.

    python constant_pressure.py --particles 1000 --sweeps 50000 --jobs 2
    python constant_pressure.py --draw out/constant_pressure/summary.json
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from matplotlib.figure import Figure

from manymove import HardDisks, HardSpheres, script
from manymove.analysis import reference, sphere_reference
from manymove.analysis.notation import with_error

PACKING_FRACTIONS = {
    "disks": [0.2, 0.3, 0.4, 0.5, 0.6],
    "spheres": [0.1, 0.2, 0.3, 0.4, 0.45, 0.49],
}
PIECES = 20  # of a run, after each of which --seconds is compared with the time


def pressure_of(kind: str, phi: float) -> float:
    """P* in the literature."""
    if kind == "spheres":
        return sphere_reference.literature_pressure(phi, None).value
    return reference.literature_pressure(1, phi).value


def compressibility(pressure: Callable[[float], float], kind: str, phi: float) -> float:
    """Compressibility rho kT kappa_T = 1 / (d beta P / d rho) of an equation of state, from the
    slope to lower densities to second order."""
    h = 1e-3
    slope = (3 * pressure(phi) - 4 * pressure(phi - h) + pressure(phi - 2 * h)) / (2 * h)
    return {"disks": 4, "spheres": 6}[kind] / math.pi / slope


def measure(kind: str, phi: float, options: argparse.Namespace) -> dict[str, Any]:
    pressure = pressure_of(kind, phi)
    make = HardDisks if kind == "disks" else HardSpheres
    particles = make.random(
        options.particles, 0.97 * phi, seed=options.seed, device=options.device,
        threads=options.threads, pressure=pressure, max_displacement=0.12 if phi > 0.4 else 0.3,
    )  # fmt: skip
    particles.tune_volume(options.equilibrate)
    began, first = time.perf_counter(), particles.sweeps
    particles.sample_volume(max(20, options.sweeps / 1024))
    for _ in range(PIECES):
        particles.run(options.sweeps / PIECES)
        if time.perf_counter() - began > options.seconds:
            break
    found, swollen = particles.packing_fraction_average, particles.compressibility
    return {
        "kind": kind,
        "pressure": pressure,
        "literature": phi,
        "packing_fraction": found.value,
        "packing_fraction_error": found.error,
        "compressibility": swollen.value,
        "compressibility_error": swollen.error,
        "literature_compressibility": compressibility(lambda x: pressure_of(kind, x), kind, phi),
        "sweeps_done": particles.sweeps - first,
        "seconds_taken": time.perf_counter() - began,
        "volume_acceptance": particles.volume_acceptance,
        "max_overlap": particles.max_overlap(),
        "state_hash": particles.state_hash,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    # The densest states take longest.
    work = [
        (kind, phi)
        for kind, fractions in PACKING_FRACTIONS.items()
        for phi in fractions[: options.points]
    ][::-1]
    with ThreadPoolExecutor(options.jobs) as threads:
        for done in as_completed([threads.submit(measure, *state, options) for state in work]):
            row = done.result()
            results.append(row)
            results.sort(key=lambda r: (r["kind"], r["pressure"]))
            report = script.save(options, {"results": results})
            fraction = with_error(row["packing_fraction"], row["packing_fraction_error"])
            compressed = with_error(row["compressibility"], row["compressibility_error"])
            print(
                f"{row['kind']:8}P* {row['pressure']:<9.5g}packing fraction {fraction:12} "
                f"literature {row['literature']:<5g} compressibility {compressed:12} "
                f"literature {row['literature_compressibility']:.4f}",
                flush=True,
            )
    return report


def draw(report: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 3, squeeze=False)
    state, deviation, other = panels[0]
    for kind, color in (("disks", "C0"), ("spheres", "C3")):
        rows = [row for row in report["results"] if row["kind"] == kind]
        known = [row["literature"] for row in rows]
        state.plot(known, [row["pressure"] for row in rows], color=color, lw=1)
        errors = [row["packing_fraction_error"] or 0 for row in rows]
        state.plot(
            [row["packing_fraction"] for row in rows], [row["pressure"] for row in rows], "o",
            ms=4, color=color, label=kind,
        )  # fmt: skip
        deviation.errorbar(
            known,
            [1e4 * (row["packing_fraction"] / row["literature"] - 1) for row in rows],
            [1e4 * error / phi for error, phi in zip(errors, known, strict=True)],
            fmt="o", ms=4, capsize=2, color=color,
        )  # fmt: skip
        other.plot(known, [row["literature_compressibility"] for row in rows], color=color, lw=1)
        other.errorbar(
            known,
            [row["compressibility"] for row in rows],
            [row["compressibility_error"] or 0 for row in rows],
            fmt="o", ms=4, capsize=2, color=color,
        )  # fmt: skip
    deviation.axhline(0, color="k", lw=0.8)
    state.set(xlabel=r"packing fraction $\phi$", ylabel=r"pressure $P^*$", yscale="log")
    state.legend(fontsize=8)
    deviation.set(xlabel=r"$\phi$ in the literature", ylabel=r"$10^4\,\Delta\phi / \phi$")
    other.set(
        xlabel=r"$\phi$ in the literature", ylabel=r"$\rho k_B T \kappa_T$", yscale="log"
    )  # fmt: skip
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--particles", 1000)
    parser.option("--points", 6, "Largest number of pressures of each kind.")
    parser.option("--sweeps", 50_000, type=float)
    parser.option("--seconds", 600, "Largest time of a state.", type=float)
    parser.option("--equilibrate", 6000, type=float)
    parser.option("--jobs", 1, "Simultaneous runs.")
    parser.option("--threads", 1, "CPU threads of each run")
    quick = {"particles": 40, "points": 2, "sweeps": 1000, "equilibrate": 500}
    options = script.parse(parser, "constant_pressure", quick, draw=draw)
    script.at_least(options, points=1)
    script.picture(options, draw(run(options)))


if __name__ == "__main__":
    script.run_script(main)
