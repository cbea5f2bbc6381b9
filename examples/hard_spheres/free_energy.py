# SPDX-License-Identifier: BSD-3-Clause
"""The free energy of the FCC crystal, and chemical potentials of the fluid by test insertions.

Springs to the sites of the crystal are weakened to zero, with a pinned sphere (Einstein molecule)
or relative to the center of mass (Einstein crystal). At rho d^3 = 1.04086, infinitely many spheres
have F / (N kT) = 4.9590(2) (Vega and Noya, J. Chem. Phys. 127, 154113, 2007). Excess chemical
potentials are compared with Carnahan and Starling (J. Chem. Phys. 51, 635, 1969).

    python free_energy.py --sizes 108 256 500 --sweeps 20000
    python free_energy.py --draw out/free_energy/summary.json

The finished parts are kept, so that the same command continues after an interruption.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import EinsteinCrystal, Estimate, HardSpheres, fcc_packing, script
from manymove.analysis import WidomInsertions
from manymove.hard_particles import extrapolated

PUBLISHED = Estimate(4.9590, 2e-4)
PACKING_FRACTION = 1.04086 * math.pi / 6
FLUIDS = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3]


def free_energy(N: int, reference: str, options: argparse.Namespace) -> dict[str, Any]:
    sites, box = fcc_packing(N, PACKING_FRACTION)
    terms = EinsteinCrystal(sites, box, reference).measure(
        options.sweeps, equilibrate=options.equilibrate, seed=options.seed, device=options.device
    )
    found = terms["free_energy"]
    doubt = "" if found.converged else ", error not converged: raise --sweeps"
    print(f"{N:6} spheres, {reference:8}  F / (N kT) = {found}{doubt}", flush=True)
    return {"N": N, "reference": reference, **{name: [*each] for name, each in terms.items()}}


def chemical_potential(phi: float, options: argparse.Namespace) -> dict[str, Any]:
    spheres = HardSpheres.random(
        options.spheres, phi, seed=options.seed, device=options.device, max_displacement=0.3
    )
    widom = WidomInsertions(10_000, seed=options.seed)
    spheres.run(options.equilibrate)
    spheres.run(options.insertion_sweeps, [(2, widom)])
    found = widom.excess_chemical_potential
    print(f"packing fraction {phi:g}  mu_ex / kT = {found}, {carnahan_starling(phi):.4f}")
    return {"packing_fraction": phi, "excess": [*found]}


def carnahan_starling(phi: Any) -> Any:
    """mu_ex / kT of the equation of state of Carnahan and Starling."""
    return (8 * phi - 9 * phi**2 + 3 * phi**3) / (1 - phi) ** 3


def run(options: argparse.Namespace) -> dict[str, Any]:
    parts = script.Parts(options, without=("device",))
    rows = [
        parts.run(f"{N} {reference}", lambda N=N, name=reference: free_energy(N, name, options))  # type: ignore[misc]
        for reference in options.references
        for N in options.sizes
    ]
    fluids = [
        parts.run(f"fluid {phi:g}", lambda phi=phi: chemical_potential(phi, options))  # type: ignore[misc]
        for phi in FLUIDS[: options.fluids]
    ]
    infinite = {}
    for reference in options.references:
        some = [row for row in rows if row["reference"] == reference]
        if len(some) < 2:
            continue
        values = [Estimate(*row["free_energy"]) for row in some]
        value, _, squares = extrapolated([row["N"] for row in some], values)
        infinite[reference] = {
            "free_energy": [*value],
            "chi_squared": None if math.isnan(squares) else squares,
        }
        print(f"infinitely many, {reference:8}  F / (N kT) = {value}, published {PUBLISHED}")
    return script.save(options, {"results": rows, "infinite": infinite, "insertions": fluids})


def draw(report: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, squeeze=False)
    crystal, fluid = panels[0]
    for color, reference in zip(("C0", "C3"), report["references"], strict=False):
        rows = [row for row in report["results"] if row["reference"] == reference]
        N = np.array([row["N"] for row in rows])
        values, errors = np.array([row["free_energy"] for row in rows]).T
        x, y, label = 1 / N, values + np.log(N) / (2 * N), f"Einstein {reference}"
        if found := report["infinite"].get(reference):
            value, error = found["free_energy"]
            x, y, errors = np.append(x, 0), np.append(y, value), np.append(errors, error)
            label += f", {Estimate(value, error)}"
        x = x * (1 if reference == "molecule" else 1.02)
        crystal.errorbar(x, y, errors, fmt="o", ms=4, capsize=2, color=color, label=label)
    crystal.axhline(PUBLISHED.value, color="k", lw=0.8, label=f"published, {PUBLISHED}")
    crystal.set(xlabel="$1/N$", ylabel=r"$F/NkT + \ln(N)/2N$")
    phi = np.array([row["packing_fraction"] for row in report["insertions"]])
    if len(phi):
        values, errors = np.array([row["excess"] for row in report["insertions"]]).T
        known = carnahan_starling(phi)
        fluid.errorbar(phi, values - known, errors, fmt="o", ms=4, capsize=2, label="insertions")
    fluid.axhline(0, color="k", lw=0.8, label="Carnahan and Starling")
    fluid.set(xlabel=r"packing fraction $\phi$", ylabel=r"$\Delta\mu_\mathrm{ex} / kT$")
    for axes in (crystal, fluid):
        axes.legend(fontsize=8)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--sizes", [108, 256, 500])
    parser.option("--references", ["crystal"], choices=("molecule", "crystal"))
    parser.option("--sweeps", 20_000, "Sweeps with each spring constant.")
    parser.option("--equilibrate", 2000)
    parser.option("--spheres", 1372, "Number of spheres in the fluid.")
    parser.option("--fluids", 6, "Number of packing fractions.")
    parser.option("--insertion-sweeps", 2000, "Sweeps at each packing fraction.")
    quick = {
        "sizes": [32, 108], "sweeps": 200, "equilibrate": 50, "spheres": 256, "fluids": 2,
        "insertion_sweeps": 100,
    }  # fmt: skip
    options = script.parse(parser, "free_energy", quick, draw=draw)
    script.at_least(options, fluids=0, sweeps=100)
    if len(set(options.sizes)) < len(options.sizes):
        parser.error("--sizes has a number twice")
    script.picture(options, draw(run(options)))


if __name__ == "__main__":
    script.run_script(main)
