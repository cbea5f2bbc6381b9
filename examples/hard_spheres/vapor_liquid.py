# SPDX-License-Identifier: BSD-3-Clause
"""Vapor, liquid and critical point of the square well of range 1.5, from grand-canonical runs and,
at two temperatures, in the Gibbs ensemble.

The pressures are compared with exp(3.5211 - 7.1939 / T*) epsilon / d^3, the fit of the program
etomica (class EOSSW) to data of Singh, Kofke and Errington (J. Chem. Phys. 119, 3405, 2003). The
curve of coexistence is drawn with their critical point as quoted there, T* = 1.2172 and rho d^3 =
0.3079. The densities are compared with the equation of state of Espindola-Heredia, del Rio and
Malijevsky (J. Chem. Phys. 130, 024509, 2009), as the program teqp 0.23.2 evaluates it
(SW_EspindolaHeredia2009). Tables of simulations by other authors were not available.

    python vapor_liquid.py
    python vapor_liquid.py --draw out/vapor_liquid_curve/summary.json

The runs of `manymove vapor-liquid` are kept in --output/runs, so that the same command continues
after an interruption.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import Estimate, GibbsEnsemble, HardSpheres, script
from manymove.hard_particles import vapor_liquid
from manymove.steps import Step

CRITICAL = 0.3079, 1.2172  # density and temperature
# Densities of vapor and liquid by the equation of state, whose critical temperature is 1.3144.
OF_STATE = {
    1.0: (0.03117, 0.6229),
    1.05: (0.04346, 0.5931),
    1.1: (0.05956, 0.5609),
    1.15: (0.08070, 0.5254),
}
PARTICLES = {"liquid": (400, 0.3), "vapor": (150, 0.03)}  # numbers and packing fractions of starts
KEYS = ("temperatures", "pressure", "pressure_error")


def published(T: Any) -> Any:
    """Pressure in epsilon / d^3."""
    return np.exp(3.5211 - 7.1939 / np.asarray(T))


def in_gibbs_ensemble(T: float, options: argparse.Namespace) -> dict[str, Any]:
    """Densities, pressures and fugacities of both boxes, in d and epsilon."""
    place = {"device": options.device, "threads": options.threads}
    boxes = [
        HardSpheres.random(N, phi, seed=options.seed + k, steps=Step(1.5, -1 / T), **place)
        for k, (N, phi) in enumerate(PARTICLES.values())
    ]
    ensemble = GibbsEnsemble(*boxes, seed=options.seed, every=2)
    ensemble.tune_volume(options.gibbs_cycles // 100 * 2)
    ensemble.run(options.gibbs_cycles // 4 * 2)
    ensemble.reset_averages()
    ensemble.sample_pressure(every=2)
    ensemble.run(options.gibbs_cycles // 2 * 2)
    found = {
        "density": ensemble.densities,
        "pressure": tuple(T * each for each in ensemble.pressures),
        "fugacity": tuple(each[0] for each in ensemble.fugacities),
    }
    lines = (f"{name} {values[0]} and {values[1]}" for name, values in found.items())
    print(f"T* = {T:g}  Gibbs ensemble, liquid and vapor: {'; '.join(lines)}")
    entries = {
        f"{phase}_{name}": values[k].to_dict()
        for name, values in found.items()
        for k, phase in enumerate(PARTICLES)
    }
    return {
        "temperature": T,
        "transfer_acceptance": ensemble.transfer_acceptance,
        "volume_acceptance": ensemble.volume_acceptance,
        **entries,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    folder = options.output / "runs"
    begun = (folder / "options.json").is_file() and not options.overwrite
    names = ("edge", "sweeps", "equilibrate", "seed", "device", "threads")
    settings = vapor_liquid.VaporLiquidSettings(
        temperatures=tuple(options.temperatures),
        scan_fugacities=tuple(options.scan_fugacities),
        output=folder, resume=begun, overwrite=options.overwrite, quiet=True,
        **{name: getattr(options, name) for name in names},
    )  # fmt: skip
    found = vapor_liquid.run(settings)
    print(vapor_liquid.table(found))
    for T, value, error in zip(*(found[name] for name in KEYS), strict=True):
        pressure = Estimate(value, math.nan if error is None else error)
        print(f"T* = {T:g}  pressure {pressure}, published {published(T):.4f}")
    both = [in_gibbs_ensemble(T, options) for T in options.gibbs_temperatures]
    return script.save(options, {"results": found, "gibbs_ensemble": both})


def draw(report: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, squeeze=False)
    curve, pressures = panels[0]
    found = report["results"]
    T = np.array(found["temperatures"])
    for color, name in (("C0", "vapor"), ("C3", "liquid")):
        values, errors = (
            np.array(found[f"{name}_density{end}"], dtype=float) for end in ("", "_error")
        )
        curve.errorbar(values, T, xerr=errors, fmt="o", ms=4, capsize=2, color=color, label=name)
    for k, phase in enumerate(PARTICLES):
        boxes = [each[f"{phase}_density"] for each in report["gibbs_ensemble"]]
        curve.errorbar(
            [each["value"] for each in boxes],
            [each["temperature"] for each in report["gibbs_ensemble"]],
            xerr=[each["error"] or 0.0 for each in boxes],
            fmt="s", ms=7, mfc="none", color="C2", label=None if k else "Gibbs ensemble",
        )  # fmt: skip
    of_state = sorted((density, T) for T, pair in OF_STATE.items() for density in pair)
    curve.plot(*zip(*of_state, strict=True), "k+", label="equation of state")
    if found["critical_temperature"] is not None:
        place = [found[f"critical_{name}"] for name in ("density", "temperature")]
        errors = [found[f"critical_{name}_error"] or 0.0 for name in ("density", "temperature")]
        curve.errorbar(*place, *errors[::-1], fmt="D", ms=4, color="C1", label="critical point")
    curve.plot(*CRITICAL, "k*", label="critical point (Singh et al.)")
    curve.set(xlabel=r"density $\rho d^3$", ylabel=r"$T^* = kT/\epsilon$")
    values, errors = (np.array(found[name], dtype=float) for name in KEYS[1:])
    pressures.errorbar(1 / T, values, errors, fmt="o", ms=4, capsize=2, label="simulations")
    x = np.linspace(1 / CRITICAL[1], 1 / T.min(), 50)
    pressures.plot(x, published(1 / x), "k", lw=0.8, label="fit to Singh et al.")
    pressures.set(xlabel="$1/T^*$", ylabel=r"$P d^3/\epsilon$", yscale="log")
    curve.legend(fontsize=8, loc="lower center")
    pressures.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--temperatures", [1.0, 1.05, 1.1, 1.15])
    parser.option("--edge", 7.3, "Edge of the box in diameters.")
    parser.option(
        "--scan-fugacities",
        [0.01, 0.02, 0.03, 0.04, 0.045, 0.048, 0.05, 0.051, 0.053, 0.056],
        "at T* = 1.2",
    )
    parser.option("--sweeps", 16_000, "Sweeps of each run.")
    parser.option("--equilibrate", 1000)
    parser.option("--gibbs-temperatures", [1.0, 1.1])
    parser.option(
        "--gibbs-cycles", 60_000, "of a Gibbs ensemble, after an equilibration of 0.7 times as many"
    )
    parser.option("--threads", int)
    quick = {
        "temperatures": [1.05, 1.1], "edge": 4.6, "sweeps": 800, "equilibrate": 100,
        "scan_fugacities": [0.01, 0.03, 0.045, 0.05, 0.056], "gibbs_cycles": 200,
        "gibbs_temperatures": [1.05],
    }  # fmt: skip
    options = script.parse(parser, "vapor_liquid_curve", quick, draw=draw)
    script.picture(options, draw(run(options)))


if __name__ == "__main__":
    script.run_script(main)
