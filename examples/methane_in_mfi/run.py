"""Methane in MFI: tables and figures of Kim et al., J. Chem. Theory Comput. 7, 3208 (2011).

    python run.py energies      Table 2, Figures 3b and 7: energies and errors at equal time
    python run.py displacement  Figures 4 and 11: errors against displacement and proposals
    python run.py estimator     Figure 5 and Table 1: what the optimal estimator gains, b*
    python run.py blocks        Figure 6: time of a step, proposals against systems
    python run.py speedup       Figure 8: pmc and plj over one core, 32 to 2048 molecules
    python run.py grid          section 3.2: energies on the paper's grid and on a spline
    python run.py --draw out/methane_in_mfi/summary.json

"paper" in the code is the above.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import figures
import numpy as np

from manymove import Adsorption, EnergyGrid, Interactions, Molecules, Steps, Supercell, script
from manymove.adsorption.adsorbates import Adsorbate
from manymove.adsorption.occupancy import filling_systems
from manymove.analysis.notation import with_error

PROPOSALS = (32, 64, 128, 256, 512)
LOADINGS = (32, 64, 96, 128)
DISPLACEMENTS = (0.15, 0.35, 0.65, 1.0, 1.65)  # angstrom
RELAXATION = 1000  # steps of mdp per molecule
REFERENCE_STEPS = 14e6  # of all systems, to which standard deviations are scaled: the paper's


def equilibrated(molecules: int, options: argparse.Namespace, framework: str = "MFI", **settings):
    """Positions (systems, molecules, 3) after a run along random walks."""
    a = Adsorption(
        framework, molecules, method=Steps("mdp", proposals=64), systems=options.systems,
        seed=options.seed, device=options.device, **settings,
    )  # fmt: skip
    a.equilibrate(int(RELAXATION * molecules * options.relax))
    if a.on_hills():
        raise SystemExit(f"{a.on_hills()} molecules still are on hills: raise --relax")
    return a.positions


def started(method: str | Steps, positions: np.ndarray, options: argparse.Namespace, **settings):
    """An engine of that method in those positions."""
    return Adsorption(
        "MFI", Molecules(positions.shape[1], positions=positions), systems=len(positions),
        method=method, seed=options.seed + 1, device=options.device, **settings,
    )  # fmt: skip


def run_for(a: Adsorption, seconds: float, equilibrate: float = 0.3) -> None:
    """So many seconds of steps, after a share of them that is not measured."""
    for share, run in ((equilibrate, a.equilibrate), (1.0, a.run)):
        end, steps = a.seconds + share * seconds, 16
        while (left := end - a.seconds) > 0:
            before = a.seconds
            run(steps)
            steps = max(1, min(4 * steps, int(0.9 * left / ((a.seconds - before) / steps))))


def energies(options: argparse.Namespace) -> dict[str, Any]:
    rows = []
    for molecules in options.loadings:
        start = equilibrated(molecules, options)
        variants = [("pmc", None), ("plj", None), ("mup", 32), ("mdp", 32)]
        for method, proposals in variants + [("mdp-dj", p) for p in options.proposals]:
            some = start if method == "pmc" else start[: options.systems // 4]
            a = started(Steps(method, proposals), some, options)
            run_for(a, options.seconds)
            rows.append({
                "molecules": molecules, "method": method, "proposals": proposals,
                "systems": a.systems, "energy_K": float(a.energy_average),
                "error_K": a.energy_average.error,
                "b_star": a.b_star if method == "mdp-dj" else None, "steps": a.samples,
                "acceptance": a.acceptance, "max_displacement": a.max_displacement,
                "on_hills": a.on_hills(),
            })  # fmt: skip
            print(molecules, method, proposals or "", a.energy_average, f"{a.samples} steps")
    return {"rows": rows}


def deviation(a: Adsorption, steps: int) -> tuple[float, float]:
    """Standard deviation of the mean energy of REFERENCE_STEPS, from that over systems, with its
    own error."""
    a.run(steps)
    value = a.energy_average.error * math.sqrt(a.systems) * math.sqrt(steps / REFERENCE_STEPS)
    return value, value / math.sqrt(2 * (a.systems - 1))


def displacement(options: argparse.Namespace) -> dict[str, Any]:
    bare = Adsorbate("CH4", 148.0, 3.73, {"O": None, "Si": None})
    open_pores = Interactions(grid=EnergyGrid(barrier=None))
    rows = []
    for name, settings, all_proposals in (
        ("MFI", {}, options.proposals),
        ("fluid", {"adsorbates": bare, "interactions": open_pores}, options.proposals[::2]),
    ):
        start = equilibrated(options.molecules, options, **settings)[: options.systems // 16]
        for proposals in all_proposals:
            a = started(Steps("mup", proposals), start, options, **settings)
            value, error = deviation(a, options.steps)
            rows.append({"system": name, "method": "mup", "proposals": proposals,
                         "deviation_K": value, "error_K": error})  # fmt: skip
            for d in DISPLACEMENTS:
                a = started(Steps("mdp", proposals, d), start, options, **settings)
                a.equilibrate(options.steps // 10)
                value, error = deviation(a, options.steps)
                rows.append({"system": name, "method": "mdp", "proposals": proposals,
                             "max_displacement": d, "deviation_K": value,
                             "error_K": error})  # fmt: skip
            print(name, proposals, *(with_error(r["deviation_K"], r["error_K"]) for r in rows[-8:]))
    return {"systems": len(start), "rows": rows}


def estimator(options: argparse.Namespace) -> dict[str, Any]:
    rows = []
    for molecules in options.loadings:
        start = equilibrated(molecules, options)[: options.systems // 4]
        for proposals in (32, 128):
            a = started(Steps("mdp-dj", proposals), start, options)
            a.equilibrate(options.steps // 10)
            a.run(options.steps)
            parts = {
                "mc": a.energy_plain,
                "mdp": a.energy_waste_recycled,
                "mdp-dj": a.energy_average,
            }
            scale = math.sqrt(a.systems * a.samples / REFERENCE_STEPS)
            rows.append({"molecules": molecules, "proposals": proposals, "b_star": a.b_star,
                         **{f"deviation_{k}_K": e.error * scale for k, e in parts.items()}}
                         )  # fmt: skip
            print(rows[-1])
    return {"systems": len(start), "rows": rows}


def blocks(options: argparse.Namespace) -> dict[str, Any]:
    """Systems times proposals are the same for all."""
    rows = []
    for molecules in options.loadings:
        start = equilibrated(molecules, options)
        for proposals in options.proposals:
            some = start[: options.systems // 2 * 32 // proposals]
            a = started(Steps("mdp-dj", proposals), some, options)
            run_for(a, options.seconds)
            error = a.energy_average.error
            rows.append({"molecules": molecules, "proposals": proposals, "systems": len(some),
                         "seconds_per_step": a.seconds / a.steps, "error_K": error,
                         "figure_of_merit": 1 / (error**2 * options.seconds)})  # fmt: skip
            print(rows[-1])
    return {"rows": rows}


def speedup(options: argparse.Namespace) -> dict[str, Any]:
    """At four molecules in a unit cell. The paper kept its box, at unphysical densities."""
    rows = []
    for molecules, cells in ((32, (2, 2, 2)), (64, (2, 2, 4)), (128, (4, 2, 4)), (256, (4, 4, 4)),
                             (512, (4, 4, 8)), (1024, (8, 4, 8)), (2048, (8, 8, 8))):  # fmt: skip
        rates = {}
        for method in ("metropolis", "pmc", "plj"):
            serial = method == "metropolis"
            device = "cpu" if serial else options.device
            systems = min(filling_systems(method, molecules, device), 2**25 // molecules)
            a = Adsorption(
                Supercell("MFI", cells), molecules, method=method, systems=systems,
                interactions=Interactions(grid=EnergyGrid(0.15, "linear")), seed=options.seed,
                threads=1 if serial else None, device=device,
            )  # fmt: skip
            run_for(a, options.seconds, equilibrate=1.0)
            began, states = time.perf_counter(), a.trial_states
            a.run(a.samples)
            rates[method] = (a.trial_states - states) / (time.perf_counter() - began)
        rows.append({"molecules": molecules, "cells": cells, **rates,
                     **{f"speedup_{m}": rates[m] / rates["metropolis"] for m in ("pmc", "plj")}}
                     )  # fmt: skip
        print(rows[-1])
    return {"rows": rows}


def grid(options: argparse.Namespace) -> dict[str, Any]:
    cell = (20.022, 19.899, 13.383)
    papers = [edge / n for edge, n in zip(cell, (256, 256, 128), strict=True)]
    rows = []
    for molecules in options.loadings:
        start = equilibrated(molecules, options)
        results = {}
        for name, grid in (
            ("linear", EnergyGrid(papers, "linear")),
            ("cubic", EnergyGrid(0.15)),
        ):
            laws = Interactions(grid=grid)
            a = started(Steps("mdp-dj", 32), start, options, interactions=laws)
            run_for(a, options.seconds, equilibrate=0.6)
            results[name] = a.energy_average
            rows.append({"molecules": molecules, "grid": name, "points": a.grid["points"],
                         "energy_K": a.energy_average.value, "error_K": a.energy_average.error,
                         "same_places": a.grid_error(16384)})  # fmt: skip
        a, b = results["linear"], results["cubic"]
        percent = 100 * (a.value / b.value - 1), 100 * math.hypot(a.error, b.error) / -b.value
        print(molecules, with_error(*percent), "%", rows[-2]["same_places"])
    return {"rows": rows}


COMMANDS = {f.__name__: f for f in (energies, displacement, estimator, blocks, speedup, grid)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("what", nargs="?", choices=COMMANDS, default="energies")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--steps", type=int, default=20000, help="of displacement and estimator")
    parser.add_argument("--molecules", type=int, default=128, help="of displacement")
    parser.add_argument("--systems", type=int, default=16896, help="of pmc; others take a share")
    parser.add_argument("--relax", type=float, default=1.0, help="longer or shorter equilibration")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loadings", type=int, nargs="+", default=LOADINGS)
    parser.add_argument("--proposals", type=int, nargs="+", default=PROPOSALS)
    quick = {"seconds": 0.02, "steps": 50, "molecules": 32, "systems": 64, "relax": 0.005,
             "loadings": [32], "proposals": [32, 64]}  # fmt: skip
    options = script.parse(parser, "methane_in_mfi", quick)
    if not (options.seconds > 0 and math.isfinite(options.seconds)):
        parser.error("--seconds must be positive")
    if options.draw:
        result = script.read(options)[0]
    else:
        found = COMMANDS[options.what](options)
        device = Adsorption("LTA", 1, systems=1, seed=0, device=options.device).device_name
        result = script.save(options, {**found, "device": device})
    script.picture(options, figures.draw(result))


if __name__ == "__main__":
    script.run_script(main)
