# SPDX-License-Identifier: BSD-3-Clause
"""Condensation of counterions on a charged rod in a DPD fluid.

    python counterions.py

The fraction of counterions within a radius has its inflection, as a function of the logarithm of
the radius, at 1 - 1 / xi, where xi is the Bjerrum length times the charges of the rod per length
(G. S. Manning, J. Chem. Phys. 51, 924 (1969); M. Le Bret, B. H. Zimm, Biopolymers 23, 287 (1984)).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error
from manymove.lammps import host

SCRIPT = Path(__file__).parent / "in.counterions"
RINGS, BLOCKS, EVERY = 120, 10, 100
NEAR, FAR = 1.25, 0.75  # the inflection is between this radius and this share of half the edge


def lammps(options: argparse.Namespace, xi: float) -> Path:
    """Run the input script in a folder of its own, which is returned."""
    folder = options.output / f"xi_{xi:g}"
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "edge": options.edge, "height": options.height, "density": xi / options.bjerrum,
        "bjerrum": options.bjerrum, "settle": options.settle, "steps": options.steps,
        "block": options.steps // BLOCKS, "rings": RINGS, "device": options.device,
        "threads": options.threads, "seed": options.seed,
    }  # fmt: skip
    host.run(SCRIPT, folder, log="log", **settings)
    return folder


def numbers(path: Path) -> np.ndarray:
    """Mean numbers of particles in the rings, (blocks, rings)."""
    rows = [line.split() for line in path.read_text().splitlines()]
    found = [float(row[3]) for row in rows if len(row) == 5 and row[0] != "#"]
    return np.reshape(found, (-1, RINGS))


def fraction_within(ions: np.ndarray, pairs: int) -> np.ndarray:
    """Fraction of the counterions within the outer radius of each ring."""
    return np.cumsum(ions, axis=-1) / pairs


def inflection(edges: np.ndarray, fraction: np.ndarray, density: np.ndarray) -> tuple[float, float]:
    """Radius where the slope dP / dln(r), relative to the density of the neutral particles, is
    smallest, and the fraction there. The minimum is that of a cubic through the relative slopes.

    Args:
        edges: edges of the rings, [rings + 1].
        fraction: fraction of the counterions within the outer edge of each ring.
        density: density of the neutral particles in each ring, relative to that far from the rod.
    """
    here = (edges[:-1] > NEAR) & (edges[1:] < FAR * edges[-1])
    outer, inner = edges[1:][here], edges[:-1][here]
    before = np.concatenate([[0], fraction])[:-1][here]
    middle = np.log(outer * inner) / 2
    slope = (fraction[here] - before) / np.log(outer / inner) / density[here]
    # The noise of a slope is in proportion to the inverse root of the width of its ring.
    fit = np.polynomial.Polynomial.fit(middle, slope, 3, w=np.sqrt(np.log(outer / inner)))
    fine = np.linspace(middle[0], middle[-1], 1000)
    at = fine[np.argmin(fit(fine))]
    return float(np.exp(at)), float(np.interp(at, np.log(edges[1:]), fraction))


def jackknife(estimate: Callable[[np.ndarray], float], blocks: np.ndarray) -> tuple[float, float]:
    """Estimate from the mean of blocks, and its standard error."""
    n = len(blocks)
    left_out = [estimate(np.delete(blocks, k, axis=0).mean(axis=0)) for k in range(n)]
    error = math.sqrt((n - 1) * np.var(left_out))
    return estimate(blocks.mean(axis=0)), error


def poisson_boltzmann(
    xi: float, radius: float, density: Callable[[np.ndarray], np.ndarray], steps: int = 4000
) -> tuple[np.ndarray, np.ndarray]:
    """Fraction of counterions by the equation of Poisson and Boltzmann in a cylindrical cell.

    The density of the ions is multiplied by the relative density of the neutral particles, which
    the rod repels as well.

    Args:
        xi: Bjerrum length times the charges of the rod per length.
        radius: radius of the cell.
        density: density of neutral particles at radii, relative to that far from the rod.

    Returns:
        radii, and the fraction within each of them.
    """
    r = np.geomspace(0.05, radius, steps)
    middle, width = np.sqrt(r[1:] * r[:-1]), math.log(r[1] / r[0])
    weight = middle**2 * density(middle) * width

    def within(scale: float) -> np.ndarray:
        fraction, energy = 0.0, 0.0
        course = np.empty(steps)
        for k in range(steps):
            course[k] = fraction
            if k < steps - 1:
                fraction += scale * weight[k] * math.exp(-energy)
                energy += 2 * xi * (1 - fraction) * width
        return course

    low, high = -30.0, 30.0
    for _ in range(60):
        scale = (low + high) / 2
        with np.errstate(over="ignore"):
            low, high = (low, scale) if _too_many(within, scale) else (scale, high)
    return r, within(math.exp(low))


def _too_many(within: Callable[[float], np.ndarray], logarithm: float) -> bool:
    try:
        return not within(math.exp(logarithm))[-1] < 1
    except OverflowError:
        return True


def measure(options: argparse.Namespace, xi: float) -> dict[str, Any]:
    """Run one rod, and compare it with Manning's limit and with Poisson and Boltzmann."""
    folder = lammps(options, xi)
    ions, water = numbers(folder / "ions"), numbers(folder / "water")
    pairs = round(xi / options.bjerrum * options.height)
    edges = np.linspace(0, options.edge / 2, RINGS + 1)
    area = math.pi * np.diff(edges**2)
    density = water.mean(axis=0) / (area * options.height)
    centers = (edges[1:] + edges[:-1]) / 2
    relative = density / density[RINGS // 2 :].mean()
    radii, theory = poisson_boltzmann(
        xi, options.edge / math.sqrt(math.pi), lambda r: np.interp(r, centers, relative)
    )
    at = float(np.interp(1 - 1 / xi, theory, radii))
    within = fraction_within(ions, pairs)
    value, error = jackknife(lambda mean: inflection(edges, mean, relative)[1], within)
    inside, uncertain = jackknife(lambda mean: float(np.interp(at, edges[1:], mean)), within)
    found = {
        "xi": xi,
        "pairs": pairs,
        "manning": 1 - 1 / xi,
        "fraction": value,
        "error": error,
        "radius": inflection(edges, within.mean(axis=0), relative)[0],
        "theory_radius": at,
        "fraction_there": inside,
        "error_there": uncertain,
        "edges": edges[1:].tolist(),
        "within": within.mean(axis=0).tolist(),
        "within_error": (within.std(axis=0, ddof=1) / math.sqrt(len(within))).tolist(),
        "theory": np.interp(edges[1:], radii, theory).tolist(),
        "water": density.tolist(),
    }
    print(
        f"xi = {xi:g}: fraction at the inflection {with_error(value, error)}, within "
        f"{at:.2f} {with_error(inside, uncertain)}, Manning {1 - 1 / xi:.4g}",
        flush=True,
    )
    return found


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """All rods, --jobs processes of LAMMPS at a time."""
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda xi: measure(options, xi), options.xi))
    return script.save(options, {"results": results})


def draw(report: dict[str, Any]) -> Figure:
    """Fractions within a radius, with those of Poisson and Boltzmann, and number densities."""
    figure = Figure(figsize=(9.6, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, found in enumerate(report["results"]):
        color = f"C{k}"
        edges, within = np.array(found["edges"]), np.array(found["within"])
        label = rf"$\xi$ = {found['xi']:g}"
        left.errorbar(edges[9::3], within[9::3], np.array(found["within_error"])[9::3], fmt="o",
                      ms=3, color=color, label=label)  # fmt: skip
        left.plot(edges[9:], found["theory"][9:], color=color, lw=1)
        left.axhline(found["manning"], color=color, lw=1, ls=":")
        left.plot(found["theory_radius"], found["manning"], "s", mfc="none", ms=9, color=color)
        area = math.pi * np.diff(np.concatenate([[0], edges]) ** 2)
        density = np.diff(np.concatenate([[0], within])) * found["pairs"] / report["height"] / area
        right.semilogy(edges[9:], density[9:], color=color, label=f"counterions, {label}")
    right.semilogy(edges[9:], found["water"][9:], color="black", lw=1, label="water")
    left.set(xscale="log", xlabel="distance from the rod", ylabel="fraction of counterions within")
    left.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    left.minorticks_off()
    left.set_title("lines: Poisson-Boltzmann, dotted: 1 - 1/$\\xi$", fontsize="medium")
    right.set(xlabel="distance from the rod", ylabel="number density")
    for axes in (left, right):
        axes.legend(fontsize="small")
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--xi", [2.0, 3.0], "Manning's xi.")
    parser.option("--bjerrum", 0.5, "Bjerrum length.")
    parser.option("--edge", 12.0, "Edge of the cross section.")
    parser.option("--height", 12.0, "Period along the rod.")
    parser.option("--settle", 4000, "Steps before the measurement.")
    parser.option("--steps", 100000, "Steps of the measurement.")
    parser.option("--jobs", 1, "Processes at a time.")
    parser.option("--device", "auto", "Device of the run style.")
    parser.option("--threads", 1, "Threads on a CPU.")
    quick = {"xi": [2.0], "edge": 6.5, "height": 7.0, "settle": 300, "steps": 2000}
    options = script.parse(parser, "counterions", quick)
    script.at_least(options, edge=6.1, height=6.1, settle=0, jobs=1)
    if options.steps <= 0 or options.steps % (BLOCKS * EVERY):
        parser.error(f"--steps must be a multiple of {BLOCKS * EVERY}")
    for xi in options.xi:
        if not xi > 1:
            parser.error(f"--xi is {xi:g}: counterions condense only if it is above 1")
        beads = xi / options.bjerrum * options.height
        if abs(beads - round(beads)) > 1e-9 * beads:
            parser.error(
                f"--height times --xi over --bjerrum is the number of charges, "
                f"and must be a whole number, got {beads:g}"
            )
    report = script.read(options)[0] if options.draw else simulate(options)
    script.picture(options, draw(report), dpi=100)


if __name__ == "__main__":
    script.run_script(main)
