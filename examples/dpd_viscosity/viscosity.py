# SPDX-License-Identifier: BSD-3-Clause
"""Viscosity of the DPD fluid from shear, Poiseuille flow and fluctuations, at weight exponents s.

    python viscosity.py

Shear: the mean of -pxy over the rate. Poiseuille flow: in each half of width L the velocity is
rho g / (2 eta) y (L - y). Fluctuations: manymove.analysis.green_kubo_viscosity.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis import DoublePoiseuille, blocking_error, drift, green_kubo_viscosity
from manymove.analysis.notation import with_error
from manymove.lammps import host

SCRIPT = Path(__file__).parent / "in.viscosity"
DENSITY, TIME_STEP, SLABS, BLOCKS = 3.0, 0.01, 20, 10
EVERY = {"shear": 5, "poiseuille": 20}  # steps between samples
ROUTES = ("shear", "poiseuille", "equilibrium")
LABELS = ("shear", "Poiseuille flow", "Green-Kubo")


def lammps(options: argparse.Namespace, name: str, device: str, **variables: Any) -> Path:
    """Run the input script in a folder of its own, which is returned."""
    folder = options.output / name
    folder.mkdir(parents=True, exist_ok=True)
    host.run(SCRIPT, folder, log="log", **variables, device=device, slab=1 / SLABS)
    return folder


def thermo(folder: Path) -> np.ndarray:
    """Thermodynamic output of the last run, without its first line; a row for each output."""
    text = (folder / "log").read_text()
    table = text[: text.rindex("Loop time")]
    table = table[table.rindex("\n   Step") + 1 :]
    head, _, body = table.partition("\n")
    return np.fromstring(body, sep=" ").reshape(-1, len(head.split()))[1:]


def profiles(folder: Path) -> np.ndarray:
    """Velocities of the slabs in each block, (blocks, slabs)."""
    rows = [line.split() for line in (folder / "profile").read_text().splitlines()]
    velocity = [float(row[3]) for row in rows if len(row) == 4 and row[0] != "#"]
    return np.reshape(velocity, (-1, SLABS))


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def flow_of(options: argparse.Namespace, route: str, s: float, guess: float) -> dict[str, Any]:
    """One of the two flows. Poiseuille flow begins with the parabolas of a guessed viscosity."""
    steps, height = options.steps, options.edge
    if route == "poiseuille":
        steps, height = options.steps_of_poiseuille, 2 * options.half
    block, every = steps // BLOCKS, EVERY[route]
    folder = lammps(
        options, f"{route}_{s:g}", options.device, route=route, s=s, seed=options.seed,
        x=options.edge, y=height, z=options.edge, rate=options.rate, g=options.force,
        settle=options.settle, steps=steps, block=block, samples=block // every, every=every,
        threads=options.threads, guess=guess,
    )  # fmt: skip
    rows, velocity = thermo(folder), profiles(folder)
    if route == "shear":
        value, error, warnings = of_stress(-rows[:, 2] / options.rate)
    else:
        flow = DoublePoiseuille(
            DENSITY, height / 2, options.force, 1.0, DENSITY * options.edge**2 * height,
            options.settle * TIME_STEP, steps * TIME_STEP,
        )  # fmt: skip
        value, error, warnings = of_profiles(flow, velocity, guess)
    return {
        "viscosity": value,
        "error": error,
        "warnings": warnings,
        "temperature": float(rows[:, 1].mean()),
        "height": height,
        "profile": velocity.mean(axis=0).tolist(),
        "profile_error": (velocity.std(axis=0, ddof=1) / math.sqrt(len(velocity))).tolist(),
    }


def of_stress(viscosity: np.ndarray) -> tuple[float, float, list[str]]:
    """Mean, error and warnings of the stress over the rate, in the order of time."""
    error, converged = blocking_error(viscosity)
    change, uncertain = drift([viscosity])
    warnings = [] if converged else ["the error has not converged: make the run longer"]
    if abs(change) > 4 * uncertain:
        warnings.append(
            f"the flow was not stationary: the viscosity changes by {change:.2g} from the first "
            "half of the measurement to the second: let it settle longer"
        )
    return float(viscosity.mean()), error, warnings


def of_profiles(
    flow: DoublePoiseuille, velocity: np.ndarray, guess: float
) -> tuple[float, float, list[str]]:
    """Mean, error and warnings of Poiseuille flow, from the profiles of blocks."""
    found = np.array([parabola(v, flow.half, flow.force) for v in velocity])
    value, error = mean_and_error(found)
    flow = replace(flow, missing=abs(1 - value / guess))
    error = float(np.fmax(error, flow.error(value)))  # blocks may be shorter than the relaxation
    first, second = np.array_split(found, 2)
    return value, error, flow.warnings(value, error, 1, second.mean() - first.mean())


def parabola(velocity: np.ndarray, half: float, force: float) -> float:
    """Viscosity of the least squares fit to the slabs of both halves."""
    edges = np.linspace(0, half, SLABS // 2 + 1)
    shape = np.diff(half * edges**2 / 2 - edges**3 / 3) / np.diff(edges)  # means of y (L - y)
    lower, upper = np.split(velocity, 2)
    curvature = shape @ (lower - upper) / (2 * shape @ shape)
    return DENSITY * force / (2 * curvature)


def fluctuations_of(options: argparse.Namespace, s: float, run: int) -> dict[str, Any]:
    """Green-Kubo integrals of parts of a run at equilibrium."""
    edge = options.small_edge
    folder = lammps(
        options, f"equilibrium_{s:g}_{run}", "cpu", route="equilibrium", s=s,
        seed=options.seed + run, x=edge, y=edge, z=edge, settle=2000, steps=options.long,
    )  # fmt: skip
    rows = thermo(folder)
    (folder / "log").unlink()  # has a line for every step
    parts = np.array_split(rows[:, 2:], BLOCKS)
    temperature = float(rows[:, 1].mean())
    integrals = [
        green_kubo_viscosity(
            part, TIME_STEP, volume=edge**3, temperature=temperature, window=options.window
        )
        for part in parts
    ]
    return {"integrals": np.array(integrals), "temperature": temperature}


def tell(found: dict[str, Any], route: str) -> None:
    number = with_error(found[route]["viscosity"], found[route]["error"])
    label = LABELS[ROUTES.index(route)]
    print(f"s = {found['exponent']:g}, {label}: viscosity {number}", flush=True)
    for warning in found[route]["warnings"]:
        print(f"  warning: {warning}", flush=True)


def flows_of(options: argparse.Namespace, s: float) -> dict[str, Any]:
    """Both flows at an exponent; Poiseuille flow starts with the viscosity from shear."""
    shear = flow_of(options, "shear", s, 1.0)
    poiseuille = flow_of(options, "poiseuille", s, shear["viscosity"])
    return {"exponent": s, "shear": shear, "poiseuille": poiseuille}


def mean_of_runs(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Green-Kubo integral and viscosity of all parts of all runs at an exponent."""
    integrals = np.concatenate([run["integrals"] for run in runs])
    value, error = mean_and_error(integrals[:, -1])
    late, uncertain = mean_and_error(integrals[:, -1] - integrals[:, integrals.shape[1] // 2])
    warnings = []
    if abs(late) > 5 * uncertain:  # one false alarm in 1,300 of ten parts
        warnings.append(
            f"the integral still changes by {late:.2g} in the second half of the window: make it "
            "longer"
        )
    times = np.unique(np.geomspace(1, integrals.shape[1], 60).astype(int)) - 1
    return {
        "viscosity": value,
        "error": error,
        "warnings": warnings,
        "temperature": float(np.mean([run["temperature"] for run in runs])),
        "times": (times * TIME_STEP).tolist(),
        "integral": integrals.mean(axis=0)[times].tolist(),
        "integral_error": (
            integrals.std(axis=0, ddof=1)[times] / math.sqrt(len(integrals))
        ).tolist(),
    }


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """All routes at all exponents, --jobs processes of LAMMPS at a time."""
    results = []
    with ThreadPoolExecutor(options.jobs) as pool:
        flows = [pool.submit(flows_of, options, s) for s in options.exponents]
        runs = [
            [pool.submit(fluctuations_of, options, s, run) for run in range(options.runs)]
            for s in options.exponents
        ]
        for both, of_exponent in zip(flows, runs, strict=True):
            found = both.result()
            found["equilibrium"] = mean_of_runs([run.result() for run in of_exponent])
            for route in ROUTES:
                tell(found, route)
            results.append(found)
    return script.save(options, {"results": results})


def draw(report: dict[str, Any]) -> Figure:
    """Profiles of both flows, Green-Kubo integrals, and the viscosities of the three routes."""
    figure = Figure(figsize=(9.6, 6.4), layout="constrained")
    (shear, flow), (integral, all_routes) = figure.subplots(2, 2)
    for k, found in enumerate(report["results"]):
        color, label = f"C{k}", f"s = {found['exponent']:g}"
        for axes, route in ((shear, "shear"), (flow, "poiseuille")):
            result = found[route]
            y = (np.arange(SLABS) + 0.5) * result["height"] / SLABS
            axes.errorbar(y, result["profile"], result["profile_error"], fmt="o", ms=3,
                          color=color, label=label)  # fmt: skip
        half = found["poiseuille"]["height"] / 2
        y = np.linspace(0, 2 * half, 201)
        bow = y % half * (half - y % half)
        steep = DENSITY * report["force"] / (2 * found["poiseuille"]["viscosity"])
        flow.plot(y, np.where(y < half, bow, -bow) * steep, color=color, lw=1)
        result = found["equilibrium"]
        integral.semilogx(result["times"][1:], result["integral"][1:], color=color, label=label)
        integral.axhline(found["shear"]["viscosity"], color=color, lw=1, ls=":")
        values = [found[route]["viscosity"] for route in ROUTES]
        errors = [found[route]["error"] for route in ROUTES]
        all_routes.errorbar(range(3), values, errors, fmt="o", ms=4, color=color, label=label)
    shear.axline((0, 0), slope=report["rate"], color="black", lw=1)
    shear.set(title=f"shear at the rate {report['rate']:g}", xlabel="y", ylabel="velocity")
    flow.set(title=f"forces of {report['force']:g} in two halves", xlabel="y", ylabel="velocity")
    integral.set(title="Green-Kubo integral (dotted: shear)", xlabel="time", ylabel="viscosity")
    all_routes.set(title="three routes", ylabel="viscosity", xlim=(-0.5, 2.5))
    all_routes.set_xticks(range(3), LABELS)
    for axes in (shear, flow, integral):
        axes.legend(fontsize="small")
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--exponents", [1.0, 0.5, 0.25])
    parser.option("--edge", 10, "Edge of the box.")
    parser.option("--half", 8, "Width of one half of the flow.")
    parser.option("--rate", 0.2, "Rate of shear.")
    parser.option("--force", 0.02, "Force on a particle.")
    parser.option("--settle", 10000, "Steps before a measurement.")
    parser.option("--steps", 50000, "Steps of shear flow.")
    parser.option("--steps-of-poiseuille", 50000, "Steps of Poiseuille flow.")
    parser.option("--small-edge", 5, "Edge of the box at equilibrium.")
    parser.option("--long", 400000, "Steps of a run at equilibrium.")
    parser.option("--runs", 2, "Number of runs at equilibrium.")
    parser.option("--window", 2.0, "Longest time of the integral.")
    parser.option("--jobs", 1, "Processes at a time.")
    parser.option("--device", "auto", "Device of the flows.")
    parser.option("--threads", 1, "Threads of the flows on a CPU.")
    quick = {
        "exponents": [0.25], "edge": 5, "half": 4, "settle": 100, "steps": 1000,
        "steps_of_poiseuille": 1000, "long": 10000, "runs": 1,
        "window": 1.0,
    }  # fmt: skip
    options = script.parse(parser, "viscosity", quick)
    script.at_least(options, edge=1, half=1, small_edge=1, long=1, runs=1, jobs=1)
    for route, name in (("shear", "steps"), ("poiseuille", "steps_of_poiseuille")):
        unit, steps = BLOCKS * EVERY[route], getattr(options, name)
        if steps % unit or steps <= 0:
            parser.error(f"--{name.replace('_', '-')} must be a multiple of {unit}")
    # LAMMPS writes profiles in the steps that are multiples of a block's.
    for steps in (options.steps, options.steps_of_poiseuille):
        if options.settle % (steps // BLOCKS):
            parser.error("--settle must be a multiple of a tenth of the steps of each flow")
    report = script.read(options)[0] if options.draw else simulate(options)
    script.picture(options, draw(report), dpi=100)


if __name__ == "__main__":
    script.run_script(main)
