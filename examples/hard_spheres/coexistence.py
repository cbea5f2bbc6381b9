# SPDX-License-Identifier: BSD-3-Clause
"""Coexistence of fluid and crystal: an FCC slab in the fluid, in one long box of constant volume.

Between freezing (0.49) and melting (0.54) the slab grows or melts until both phases have the
pressure of coexistence, whatever the overall packing fraction is. Published: 11.5727(10)
(Fernandez et al., Phys. Rev. Lett. 108, 165701, 2012).

With --start-pressures both phases begin at the densities that they have at such a pressure by their
equations of state. Above coexistence the slab grows, below it melts, and the pressure approaches
that of coexistence from the side where it began.

With --constant-pressures the phases begin in the same way and the pressure is constant, so that the
slab grows or melts until one phase is left. The box changes isotropically: the slab is unstrained
at the beginning, and by at most 2 % strained at the end.

    python coexistence.py --cells 12 --sweeps 2000000
    python coexistence.py --cells 12 --start-pressures 11.0 11.47 11.67 12.2 --equilibrate 2000
    python coexistence.py --cells 10 --constant-pressures 11.0 11.47 11.67 12.2 --equilibrate 2000
    python coexistence.py --draw out/coexistence/summary.json
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
from crystallization import crystalline
from matplotlib.figure import Figure

from manymove import Grid, HardSpheres, fcc_packing, script
from manymove.analysis.notation import with_error
from manymove.analysis.sphere_reference import fluid_factor, published, solid_factor

MELTING = 0.5433  # packing fraction of the crystal at 11.57 by Speedy's equation of state
PACKING_FRACTIONS = [0.51, 0.52, 0.53]
BINS_PER_LAYER = 8
PHI = r"$\phi$"
PIECES = 16  # of a run, with a profile and a share of the crystal after each


def density(pressure: float, factor: Callable[[float], float], low: float, high: float) -> float:
    """Packing fraction at which 6 phi Z(phi) / pi is the pressure, by bisection."""
    for _ in range(60):
        middle = (low + high) / 2
        if 6 * middle / math.pi * factor(middle) < pressure:
            low = middle
        else:
            high = middle
    return low


def slab(
    crystal_phi: float, phi: float, options: argparse.Namespace
) -> tuple[np.ndarray, tuple[float, ...]]:
    """Positions and box: an FCC slab of half the length, and a fluid a diameter away from it. The
    slab is `options.length` unit cells long, by default twice as long as wide."""
    n = options.cells
    length = getattr(options, "length", 2 * n)
    edge = (4 * math.pi / 6 / crystal_phi) ** (1 / 3)
    cube, _ = fcc_packing(4 * n**3, crystal_phi)
    wide, long = n * edge, length * edge  # the slab
    box = (wide, wide, 2 * long)
    up = np.array([0, 0, 1])
    cubes = math.ceil(length / n)
    crystal = np.concatenate([cube + (k - (cubes - 1) / 2) * wide * up for k in range(cubes)])
    crystal = crystal[crystal[:, 2] - crystal[:, 2].min() < long - edge / 4]  # whole layers
    crystal[:, 2] -= (crystal[:, 2].min() + crystal[:, 2].max()) / 2
    N = round(phi * 6 / math.pi * math.prod(box)) - len(crystal)
    height = 2 * long - np.ptp(crystal[:, 2]) - 2
    fluid = HardSpheres.random(
        N, N * math.pi / 6 / (wide * wide * height), seed=options.seed, device=options.device,
        aspect_ratios=(1.0, 1.0, height / wide),
    )  # fmt: skip
    positions = np.concatenate((crystal, fluid.positions + long * up))
    return positions - np.rint(positions / np.array(box)) * np.array(box), box


Report = Callable[[dict[str, Any]], None]


def measure(state: dict[str, float], options: argparse.Namespace, report: Report) -> None:
    """Run from a packing fraction, or from the densities at a pressure, and report each piece."""
    crystal_phi = MELTING
    pressure = state.get("start_pressure", state.get("constant_pressure"))
    if pressure is not None:
        crystal_phi = density(pressure, solid_factor, 0.5, 0.7)
        fluid_phi = density(pressure, fluid_factor, 0.3, 0.54)
        phi = (crystal_phi + fluid_phi) / 2
    else:
        phi = state["packing_fraction"]
    positions, box = slab(crystal_phi, phi, options)
    constant = "constant_pressure" in state
    settings = {"pressure": pressure, "grid": Grid(rounds=4)} if constant else {}
    spheres = HardSpheres(
        positions, box, seed=options.seed, device=options.device, max_displacement=0.06, **settings
    )
    spheres.run(options.equilibrate)
    shares = [crystalline(spheres.positions, spheres.box)]
    fractions, done = [spheres.packing_fraction], [0.0]
    first, record = spheres.sweeps, max(20, options.sweeps / 256)
    if constant:
        spheres.sample_volume(record)
    else:
        spheres.sample_pressure(every=1, record=record)
    for _ in range(PIECES):
        spheres.run(options.sweeps / PIECES)
        shares.append(crystalline(spheres.positions, spheres.box))
        fractions.append(spheres.packing_fraction)
        done.append(spheres.sweeps - first)
        if constant:
            found = {"volume_acceptance": spheres.volume_acceptance}
        else:
            found = {
                "pressure": spheres.pressure_average.value,
                "pressure_error": spheres.pressure_average.error,
                "records": [round(float(p), 4) for p in spheres.pressure_records],
            }
        report(
            {
                **state,
                "packing_fraction": phi,
                "spheres": spheres.N,
                "box": list(spheres.box),
                **found,
                "sweeps_done": [round(sweeps) for sweeps in done],
                "packing_fractions": [round(fraction, 5) for fraction in fractions],
                "crystalline": [round(share, 4) for share in shares],
                "profile": np.round(
                    profile(spheres.positions, spheres.box, options.cells), 4
                ).tolist(),
                "acceptance": spheres.acceptance,
                "max_overlap": spheres.max_overlap(),
                "state_hash": spheres.state_hash,
            }
        )
        if constant and not 0.02 < shares[-1] < 0.9:
            break


def profile(positions: np.ndarray, box: tuple[float, ...], cells: int) -> np.ndarray:
    """Packing fraction along z, in bins of an eighth of a crystal layer."""
    bins = 8 * cells * BINS_PER_LAYER  # two layers in each of 4 * cells unit cells
    counts = np.histogram(positions[:, 2], bins=bins, range=(-box[2] / 2, box[2] / 2))[0]
    return counts * math.pi / 6 * bins / math.prod(box)


def run(options: argparse.Namespace) -> dict[str, Any]:
    if options.constant_pressures:
        states = [{"constant_pressure": p} for p in options.constant_pressures]
    elif options.start_pressures:
        states = [{"start_pressure": p} for p in options.start_pressures]
    else:
        states = [{"packing_fraction": phi} for phi in options.packing_fractions]
    results: list[dict[str, Any]] = [{} for _ in states]
    saved: dict[str, Any] = {}
    lock = Lock()

    def reporter(index: int) -> Report:
        def report(result: dict[str, Any]) -> None:
            with lock:
                results[index] = result
                saved.update(script.save(options, {"results": [row for row in results if row]}))
                show(result)

        return report

    with ThreadPoolExecutor(options.jobs) as threads:
        for done in [
            threads.submit(measure, state, options, reporter(index))
            for index, state in enumerate(states)
        ]:
            done.result()
    return saved


def show(result: dict[str, Any]) -> None:
    """Print the result of a run so far."""
    shares = result["crystalline"]
    if "pressure" in result:
        quarter = np.mean(result["records"][-len(result["records"]) // 4 :])
        value = with_error(result["pressure"], result["pressure_error"])
        text = f"P* {value}, last quarter {quarter:.3f}"
    else:
        fractions = result["packing_fractions"]
        text = f"packing fraction {fractions[0]:.4f} to {fractions[-1]:.4f}"
    print(
        f"{name(result).replace(PHI, 'packing fraction')}  {result['spheres']:,} spheres  "
        f"{result['sweeps_done'][-1]:,} sweeps  {text}  "
        f"crystalline {shares[0]:.1%} to {shares[-1]:.1%}",
        flush=True,
    )


def name(row: dict[str, Any]) -> str:
    if "start_pressure" in row:
        return f"from P* = {row['start_pressure']:g}"
    if "constant_pressure" in row:
        return f"at P* = {row['constant_pressure']:g}"
    return f"{PHI} = {row['packing_fraction']:g}"


def draw(report: dict[str, Any]) -> Figure:
    rows = report["results"]
    figure = Figure(figsize=(7.0, 2.2 * (len(rows) + 1)), layout="constrained")
    panels = figure.subplots(len(rows) + 1, 1, squeeze=False)
    for panel, row in zip(panels[:-1, 0], rows, strict=True):
        length = row["box"][2]
        z = (np.arange(len(row["profile"])) + 0.5) / len(row["profile"]) * length - length / 2
        panel.plot(z, row["profile"], lw=0.6)
        panel.set(ylabel=r"$\phi(z)$", xlim=(-length / 2, length / 2), xlabel=r"$z / d$")
        title = name(row)
        if "pressure" in row:
            title += f", $P^*$ = {with_error(row['pressure'], row['pressure_error'])}"
        if shares := row.get("crystalline"):
            title += f", crystalline {shares[0]:.1%} to {shares[-1]:.1%}"
        panel.set_title(title, fontsize=9)
    last = panels[-1, 0]
    if any("constant_pressure" in row for row in rows):
        for row in rows:
            last.plot(row["sweeps_done"], row["crystalline"], "o-", ms=3, label=name(row))
        last.set(xlabel="sweeps", ylabel="crystalline share", ylim=(0, 1))
    else:
        draw_pressures(last, report)
    last.legend(fontsize=8)
    return figure


def draw_pressures(axes: Any, report: dict[str, Any]) -> None:
    """The pressures of the pieces of each run, next to the published one."""
    for row in report["results"]:
        sweeps = (np.arange(len(row["records"])) + 0.5) / len(row["records"]) * report["sweeps"]
        means = np.array_split(np.array(row["records"]), PIECES)
        middle = [part.mean() for part in np.array_split(sweeps, PIECES)]
        axes.plot(middle, [part.mean() for part in means], "o-", ms=3, label=name(row))
    value, error = published()["coexistence"]["pressure"]
    axes.axhline(value, color="k", lw=1, label=f"published {with_error(value, error)}")
    axes.set(xlabel="sweeps", ylabel=r"$P^*$")


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--cells", 10, "Unit cells of the slab along x and y.")
    parser.option("--packing-fractions", PACKING_FRACTIONS)
    parser.option("--start-pressures", float, "Pressures P* for initial densities.", nargs="+")
    parser.option("--constant-pressures", float, "Pressures P* of NPT runs.", nargs="+")
    parser.option("--jobs", 1, "Simultaneous runs.")
    parser.option("--sweeps", 1_000_000)
    parser.option("--equilibrate", 500_000)
    quick = {"cells": 4, "packing_fractions": [0.52], "sweeps": 2000, "equilibrate": 500}
    options = script.parse(parser, "coexistence", quick, draw=draw)
    script.picture(options, draw(run(options)))


if __name__ == "__main__":
    script.run_script(main)
