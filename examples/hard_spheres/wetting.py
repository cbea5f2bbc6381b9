# SPDX-License-Identifier: BSD-3-Clause
"""Hard spheres between two hard walls: density profile, contact theorem, surface tension.

The density at contact is the pressure (contact theorem). The excess adsorption of several fluids is
integrated over the chemical potential from zero density to the surface tension (Gibbs). It is
compared with scaled-particle theory (Reiss, Frisch and Lebowitz, J. Chem. Phys. 31, 369, 1959) and
with the expression of Henderson and Plischke (Proc. R. Soc. Lond. A 410, 409, 1987). The dividing
surface is the wall, half a diameter beyond the centers of the spheres that touch it.

    python wetting.py
    python wetting.py --draw out/wetting/summary.json

The finished parts are kept, so that the same command continues after an interruption, also with
other densities.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.polynomial import Polynomial, legendre

from manymove import Estimate, Grid, HardSpheres, fields, script
from manymove.analysis import estimate
from manymove.analysis.sphere_reference import fluid_factor

CELL = 1.45  # edge of the cubic cells of the start in diameters
BIN = 0.01  # of the profile in diameters
NEAR = 20  # bins from which the density at contact is extrapolated, by a polynomial of degree 4
BULK = 3.0  # the fluid within this distance of the middle has no layers
LOWEST = math.pi / 4  # of adsorption / density^2 in the limit of zero density, exactly
TERMS = 3  # powers of the density that are fitted beyond that limit
DRAWS = 200  # sets of adsorptions that are drawn for the errors of the surface tension


def pressure(density: float) -> float:
    """P* of the equation of state of Kolafa, Labik and Malijevsky."""
    return density * fluid_factor(density * math.pi / 6)


def slope(density: float) -> float:
    """Derivative of P* with respect to the density."""
    step = 1e-4 * density
    return (pressure(density + step) - pressure(density - step)) / (2 * step)


def slit(density: float, options: argparse.Namespace) -> HardSpheres:
    """Random sites of a crystal between walls, from which the fluid is equilibrated."""
    edge, width = options.cells * CELL, options.width
    layers = math.floor(2 * width / CELL) + 1
    places = np.indices((2 * options.cells, 2 * options.cells, layers)).reshape(3, -1).T
    sites = places[places.sum(axis=1) % 2 == 0] * CELL / 2 - [edge / 2, edge / 2, width / 2]
    N = round(density * edge**2 * width)
    chosen = np.random.default_rng(options.seed).permutation(len(sites))[:N]
    wall = (width + 1) / 2
    walls = [
        fields.HardWall(fields.Plane((0, 0, side), (0, 0, -side * wall))) for side in (1.0, -1.0)
    ]
    gap = 2 ** (1 / 6) / density ** (1 / 3) - 1  # between neighbors in a crystal
    return HardSpheres(
        sites[chosen], (edge, edge, width + 1), seed=options.seed, fields=walls,
        max_displacement=min(0.5, gap), grid=Grid(rounds=1), device=options.device,
    )  # fmt: skip


def measure(density: float, options: argparse.Namespace) -> dict[str, Any]:
    """Profile, density at contact, density in the middle and adsorption of one fluid."""
    spheres = slit(density, options)
    edges = np.linspace(0, options.width / 2, round(options.width / 2 / BIN) + 1)
    layer = 2 * (edges[1] - edges[0]) * spheres.box[0] * spheres.box[1]  # at both walls
    # A polynomial with the means of the first bins has this value at the wall.
    integrals = np.stack(
        [np.diff(legendre.Legendre.basis(n).integ()(np.arange(NEAR + 1) / NEAR * 2 - 1))
         for n in range(5)], axis=1,
    ) * NEAR / 2  # fmt: skip
    at_wall = (-1.0) ** np.arange(5) @ np.linalg.pinv(integrals)
    middle = edges[:-1] >= options.width / 2 - BULK
    profile, records = np.zeros(len(edges) - 1), []

    def read(one: HardSpheres) -> None:
        away = options.width / 2 - abs(one.positions[:, 2])
        counts = np.histogram(away, edges)[0]
        profile[:] += counts
        records.append((at_wall @ counts[:NEAR] / layer, counts[middle].mean() / layer))

    spheres.run(options.equilibrate)
    spheres.run(options.sweeps, [(1, read)])
    contact, bulk = (estimate(np.array(each)) for each in zip(*records, strict=True))
    area = spheres.box[0] * spheres.box[1]
    adsorbed = (spheres.N / area - options.width * bulk) / 2
    # The share of the error of adsorption / density^2, which has the error of the density alone.
    reduced = Estimate(
        adsorbed.value / bulk.value**2,
        (options.width / 2 + 2 * adsorbed.value / bulk.value) / bulk.value**2 * bulk.error,
        bulk.converged,
    )
    expected = Estimate(pressure(bulk.value), slope(bulk.value) * bulk.error)
    apart = (contact.value - expected.value) / math.hypot(contact.error, expected.error)
    doubt = "" if contact.converged and bulk.converged else ", not converged: raise --sweeps"
    print(
        f"density {bulk}  contact {contact}  P* {expected} ({apart:+.1f} errors)  "
        f"adsorption {adsorbed}{doubt}", flush=True,
    )  # fmt: skip
    return {
        "N": spheres.N, "density": [*bulk], "contact": [*contact], "pressure": [*expected],
        "adsorption": [*adsorbed], "reduced_adsorption": [*reduced],
        # A text, because the file has a line for each element of a list.
        "profile": " ".join(map(str, (profile / len(records) / layer).round(4).tolist())),
    }  # fmt: skip


def surface_tensions(rows: list[dict[str, Any]]) -> tuple[list[Estimate], float]:
    """Surface tension of each fluid in kT per squared diameter, and chi^2 of the fit per degree of
    freedom.

    With the dividing surface through the centers at contact, d gamma = -adsorption dP / density,
    and adsorption / density^2 is a polynomial. The distance of the wall from there adds P / 2.
    """
    density = np.array([row["density"][0] for row in rows])
    values, errors = np.array([row["reduced_adsorption"] for row in rows]).T
    powers = density[:, None] ** np.arange(1, TERMS + 1)
    x, weights = legendre.leggauss(24)

    def fit(given: np.ndarray) -> Polynomial:
        scaled = (given - LOWEST) / errors
        found = np.linalg.lstsq(powers / errors[:, None], scaled, rcond=None)[0]
        return Polynomial([LOWEST, *found])

    def tensions(given: np.ndarray) -> list[float]:
        reduced = fit(given)
        found = []
        for each in density.tolist():
            at = each * (x + 1) / 2
            slopes = np.array([slope(one) for one in at.tolist()])
            integral = each / 2 * (weights * reduced(at) * at * slopes).sum()
            found.append(pressure(each) / 2 - integral)
        return found

    random = np.random.default_rng(1)
    drawn = [tensions(values + errors * random.normal(size=len(values))) for _ in range(DRAWS)]
    # In the fluids' own densities, the term P / 2 has their errors.
    own = [0.5 * slope(each) * row["density"][1] for each, row in zip(density, rows, strict=True)]
    widths = np.hypot(np.std(drawn, axis=0, ddof=1), own)
    squares = float((((fit(values)(density) - values) / errors) ** 2).sum())
    freedom = len(rows) - TERMS
    found = [Estimate(*each) for each in zip(tensions(values), widths.tolist(), strict=True)]
    return found, squares / freedom if freedom else math.nan


def scaled_particle(density: Any) -> Any:
    """Surface tension of scaled-particle theory."""
    phi = density * math.pi / 6
    return 3 * phi * (2 + phi) / (2 * math.pi * (1 - phi) ** 2)


def henderson_plischke(density: float) -> float:
    """Surface tension of Henderson and Plischke. The coefficients were not compared with the paper;
    the first term is exact."""
    phi = density * math.pi / 6
    inner = 9 * phi**2 * (1 + 44 / 35 * phi - 4 / 5 * phi**2) / (2 * math.pi * (1 - phi) ** 3)
    return pressure(density) / 2 - inner


def run(options: argparse.Namespace) -> dict[str, Any]:
    parts = script.Parts(options, without=("device", "densities"))
    rows = [
        parts.run(f"{density:g}", lambda density=density: measure(density, options))  # type: ignore[misc]
        for density in options.densities
    ]
    tensions, squares = surface_tensions(rows)
    for row, tension in zip(rows, tensions, strict=True):
        density = row["density"][0]
        row["surface_tension"] = [*tension]
        print(
            f"density {density:.4f}  surface tension {tension}  scaled-particle theory "
            f"{scaled_particle(density):.4f}  Henderson and Plischke "
            f"{henderson_plischke(density):.4f}"
        )
    for row in rows:  # parts.json has the other profiles as well
        if row not in drawn(rows):
            del row["profile"]
    chi_squared = None if math.isnan(squares) else squares
    return script.save(options, {"results": rows, "bin": BIN, "chi_squared": chi_squared})


def drawn(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The fluids whose profiles are shown."""
    return [rows[0], rows[len(rows) // 2], rows[-1]]


def draw(report: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, squeeze=False)
    profiles, curves = panels[0]
    rows = report["results"]
    for color, row in enumerate(drawn(rows)):
        ratio = np.array(row["profile"].split(), dtype=float) / row["density"][0]
        z = 0.5 + report["bin"] * (np.arange(len(ratio)) + 0.5)
        near = z < 4.5
        label = rf"$\rho d^3$ = {row['density'][0]:.3f}"
        profiles.plot(z[near], ratio[near], color=f"C{color}", lw=1, label=label)
        contact = row["pressure"][0] / row["density"][0]
        profiles.plot([0.5], [contact], "o", ms=4, color=f"C{color}")
    profiles.set(xlabel="distance from the wall $z/d$", ylabel=r"$\rho(z)/\rho$")
    density = np.linspace(0.01, max(row["density"][0] for row in rows), 100)
    at = np.array([row["density"][0] for row in rows])
    values, errors = np.array([row["surface_tension"] for row in rows]).T
    curves.plot(density, scaled_particle(density), "k--", lw=0.8, label="scaled-particle theory")
    curves.plot(
        density, [henderson_plischke(each) for each in density.tolist()], "k", lw=0.8,
        label="Henderson and Plischke",
    )  # fmt: skip
    curves.errorbar(at, values, errors, fmt="o", ms=4, capsize=2, label="simulations")
    curves.set(xlabel=r"density $\rho d^3$", ylabel=r"$\gamma d^2 / kT$")
    for axes in (profiles, curves):
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option(
        "--densities", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], "mean densities between the walls"
    )
    parser.option("--cells", 8, "Number of cells of 1.45 d along the edge of a wall.")
    parser.option("--width", 16.0, "Width that is accessible to the centers.")
    parser.option("--equilibrate", 5000)
    parser.option("--sweeps", 200_000)
    quick = {
        "densities": [0.2, 0.4, 0.6, 0.7], "cells": 4, "width": 12.0, "equilibrate": 200,
        "sweeps": 2000,
    }  # fmt: skip
    options = script.parse(parser, "wetting", quick, draw=draw)
    script.at_least(options, cells=3, width=4 * BULK, equilibrate=0, sweeps=1000)
    if not all(0 < each <= 0.9 for each in options.densities):
        parser.error("--densities must be positive and at most 0.9")
    if len(set(options.densities)) < max(TERMS, len(options.densities)):
        parser.error(f"--densities must be at least {TERMS} numbers, all different")
    script.picture(options, draw(run(options)))


if __name__ == "__main__":
    script.run_script(main)
