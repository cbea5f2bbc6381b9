# SPDX-License-Identifier: BSD-3-Clause
"""Vapor and liquid of the square well of range 1.5, from grand-canonical runs.

The pressures are compared with exp(3.5211 - 7.1939 / T*) epsilon / d^3, the fit of the program
etomica (class EOSSW) to data of Singh, Kofke and Errington (J. Chem. Phys. 119, 3405, 2003). The
curve of coexistence is drawn with their critical point as quoted there, T* = 1.2172 and rho d^3 =
0.3079. Published densities are not compared.

    python vapor_liquid.py
    python vapor_liquid.py --draw out/vapor_liquid_curve/summary.json

The runs of `manymove vapor-liquid` are kept in --output/runs, so that the same command continues
after an interruption.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from manymove import Estimate, script
from manymove.hard_particles import vapor_liquid
from manymove.jobs.figures import new_panels, write_picture

CRITICAL = 0.3079, 1.2172  # density and temperature
KEYS = ("temperatures", "pressure", "pressure_error")


def published(T: Any) -> Any:
    """Pressure in epsilon / d^3."""
    return np.exp(3.5211 - 7.1939 / np.asarray(T))


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
    return script.save(options, {"results": found})


def plot(picture: Path, report: dict[str, Any]) -> None:
    figure, panels = new_panels((9.0, 3.6), (1, 2))
    curve, pressures = panels[0]
    found = report["results"]
    T = np.array(found["temperatures"])
    for color, name in (("C0", "vapor"), ("C3", "liquid")):
        values, errors = (
            np.array(found[f"{name}_density{end}"], dtype=float) for end in ("", "_error")
        )
        curve.errorbar(values, T, xerr=errors, fmt="o", ms=4, capsize=2, color=color, label=name)
    curve.plot(*CRITICAL, "k*", label="critical point (Singh et al.)")
    curve.set(xlabel=r"density $\rho d^3$", ylabel=r"$T^* = kT/\epsilon$")
    values, errors = (np.array(found[name], dtype=float) for name in KEYS[1:])
    pressures.errorbar(1 / T, values, errors, fmt="o", ms=4, capsize=2, label="simulations")
    x = np.linspace(1 / CRITICAL[1], 1 / T.min(), 50)
    pressures.plot(x, published(1 / x), "k", lw=0.8, label="fit to Singh et al.")
    pressures.set(xlabel="$1/T^*$", ylabel=r"$P d^3/\epsilon$", yscale="log")
    curve.legend(fontsize=8, loc="lower center")
    pressures.legend(fontsize=8)
    write_picture(picture, figure, dpi=110)


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--temperatures", type=float, nargs="+", default=[1.0, 1.05, 1.1, 1.15])
    parser.add_argument("--edge", type=float, default=7.3, help="of the box, in diameters")
    parser.add_argument(
        "--scan-fugacities", type=float, nargs="+", help="at T* = 1.2",
        default=[0.01, 0.02, 0.03, 0.04, 0.045, 0.048, 0.05, 0.051, 0.053, 0.056],
    )  # fmt: skip
    parser.add_argument("--sweeps", type=int, default=16_000, help="of each run")
    parser.add_argument("--equilibrate", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    quick = {
        "temperatures": [1.05, 1.1], "edge": 4.6, "sweeps": 800, "equilibrate": 100,
        "scan_fugacities": [0.01, 0.03, 0.045, 0.05, 0.056],
    }  # fmt: skip
    options = script.parse(parser, "vapor_liquid_curve", quick)
    report = script.read(options)[0] if options.draw else run(options)
    plot(options.output / "picture.png", report)
    print(f"results in {options.output}/")


if __name__ == "__main__":
    script.run_script(main)
