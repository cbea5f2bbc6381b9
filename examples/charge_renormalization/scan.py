"""Renormalized parameters of the 3:-1 electrolyte over diameters and densities: Figure 15.

    python scan.py --ions 131072 --sweeps 2000
    python scan.py --draw out/scan/summary.json

The paper prints neither diameters nor densities of its figure; these are ours. Symbols are fits of
the far field, lines the zero of the Ornstein-Zernike equation. At 15 A and diameters of 7.5 and
10 A the charge density oscillates: there is no single exponential, and such states are left out.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

import numpy as np
from matplotlib.figure import Figure

from manymove import Electrolyte, Sphere, script
from manymove.analysis import dressed_ions
from manymove.analysis.ions import Salt
from manymove.analysis.notation import with_error

BJERRUM = 7.117
DIAMETERS = (5.0, 7.5, 10.0)
DEBYE_LENGTHS = (40.0, 28.53, 24.0, 20.0, 15.0)


def state(options: argparse.Namespace, diameter: float, debye_length: float) -> dict:
    """One point, with the reason if nothing can be fitted."""
    salt = Salt.of(options.ions, (3, -1), (diameter, diameter))
    radius = (3 * options.ions / salt.density(debye_length, BJERRUM) / (4 * np.pi)) ** (1 / 3)
    ions = Electrolyte.random(
        salt, box=Sphere(radius), bjerrum_length=BJERRUM, seed=options.seed, device=options.device
    )
    ions.run(options.equilibrate)
    ions.sample_pair_correlations(2, bin_width=0.25)
    ions.run(options.sweeps)
    point = {
        "diameter": diameter,
        "debye_length": debye_length,
        "acceptance": ions.acceptance,
        "seconds_per_sweep": ions.seconds / ions.sweeps,
        "device_name": ions.device_name,
    }
    try:
        point["dressed"] = asdict(dressed_ions(ions.pair_correlations, BJERRUM))
    except ValueError as error:
        point["missing"] = str(error)
    return point


def draw(result: dict) -> Figure:
    """(a) both sides of Eq. 8, (b) valences by both ways, (c) permittivities by both ways."""
    figure = Figure(figsize=(13, 4), layout="constrained")
    a, b, c = figure.subplots(1, 3)
    for k, diameter in enumerate(DIAMETERS):
        points = [
            p["dressed"] for p in result["points"] if p["diameter"] == diameter and "dressed" in p
        ]
        if not points:
            continue
        color = f"C{k}"
        a.errorbar(
            [p["screening_ratio"] for p in points],
            [p["charge_ratio"] for p in points],
            [p["charge_ratio_error"] for p in points],
            [p["screening_ratio_error"] for p in points],
            "o",
            color=color,
            label=f"d = {diameter:g} Å",
        )
        x = [1 / p["bare_debye_length"] for p in points]
        for way, fill in ((0, "none"), (1, "full")):
            style = {"fmt": "o", "fillstyle": fill, "color": color, "ms": 5}
            for species in (0, 1):
                z = [p["valences"][species][way] for p in points]
                b.errorbar(x, z, [p["valence_errors"][species][way] for p in points], **style)
            eps = [p["permittivity"][way] for p in points]
            c.errorbar(x, eps, [p["permittivity_errors"][way] for p in points], **style)
        for species in (0, 1):
            b.plot(x, [p["pole_valences"][species] for p in points], color=color)
        c.plot(x, [p["pole_permittivity"] for p in points], color=color)
    a.axline((1, 1), slope=1, color="grey", lw=0.8)
    a.set(
        xlabel=r"$(\kappa_R / \kappa)^2$",
        ylabel=r"$(z_+^R - z_-^R) / (z_+ - z_-)$",
        title="(a) both sides of Eq. 8",
    )
    if a.get_legend_handles_labels()[0]:
        a.legend()
    b.set(
        xlabel=r"$\kappa$ (Å$^{-1}$)",
        ylabel="renormalized valence",
        title="(b) open: by way of +3, full: of -1",
    )
    c.set(xlabel=r"$\kappa$ (Å$^{-1}$)", ylabel=r"permittivity $\epsilon_R / \epsilon$",
          title="(c) lines: Ornstein-Zernike equation")  # fmt: skip
    c.set_ylim(0.4, 1.4)
    figure.suptitle(
        f"{result['ions']:,} ions +3:-1, $l_B$ = {BJERRUM} Å; {result['sweeps']} sweeps, "
        f"{result['date'][:10]}, "
        f"{result['commit']}",
        fontsize=9,
    )
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ions", type=int, default=16384, help="a multiple of 4")
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--equilibrate", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    quick = {"ions": 256, "sweeps": 20, "equilibrate": 2}
    options = script.parse(parser, "scan", quick)
    if options.draw:
        script.picture(options, draw(script.read(options)[0]))
        return
    points = []
    for diameter in DIAMETERS:
        for debye_length in DEBYE_LENGTHS:
            point = state(options, diameter, debye_length)
            text = point.get("missing")
            if text is None:
                found = point["dressed"]
                text = with_error(found["debye_length"], found["debye_length_error"])
            print(diameter, debye_length, text)
            points.append(point)
            result = script.save(options, {"points": points})
    script.picture(options, draw(result))


if __name__ == "__main__":
    script.run_script(main)
