"""The fluid of Groot and Warren with LAMMPS' dpd and with manymove/dpd.

Temperature, pressure, diffusion coefficient and radial distribution function, with errors from
independent runs.

    python compare.py --runs 8
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error
from manymove.lammps import host

BINS, CUTOFF_OF_G = 50, 1.5
SCRIPT = """
units lj
comm_modify mode single vel yes cutoff 2.0
lattice fcc 3.0
region box block 0 7 0 7 0 7
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.0 {seed} loop all
velocity all zero linear
pair_style {style} 1.0 1.0 {seed}
pair_coeff 1 1 {repulsion} 4.5
neighbor 0.4 bin
neigh_modify delay 0 every 1 check yes
timestep {timestep}
fix integrate all nve
thermo_style custom step temp press
run {settle}
reset_timestep 0
compute pairs all rdf {bins} cutoff {cutoff}
compute moved all msd com yes
fix means all ave/time 5 {samples} {steps} c_thermo_temp c_thermo_press file means
fix pairs all ave/time 20 {frames} {steps} c_pairs[*] file rdf mode vector
fix moved all print {tenth} "$(c_moved[4]:%.12g)" screen no file moved
run {steps}
"""


def measure(
    style: str, timestep: float, time: float, seed: int, repulsion: float = 25.0
) -> dict[str, Any]:
    """One run of `time` after a fifth of it."""
    steps = round(time / timestep) // 200 * 200
    if steps == 0:
        raise ValueError(f"--time must be 200 steps at least, {200 * timestep:g}")
    input_script = SCRIPT.format(
        style=style,
        seed=seed,
        timestep=timestep,
        repulsion=repulsion,
        bins=BINS,
        cutoff=CUTOFF_OF_G,
        settle=steps // 5,
        steps=steps,
        samples=steps // 5,
        frames=steps // 20,
        tenth=steps // 10,
    )
    with tempfile.TemporaryDirectory() as folder:
        host.run(input_script, folder)
        temperature, pressure = np.loadtxt(Path(folder) / "means")[1:]
        g = np.loadtxt(Path(folder) / "rdf", skiprows=4)[:, 2]
        moved = np.loadtxt(Path(folder) / "moved")
    # Between a tenth and the whole of the run: the ballistic start drops out.
    diffusion = (moved[-1] - moved[1]) / (6 * 0.9 * steps * timestep)
    return {"temperature": temperature, "pressure": pressure, "diffusion": diffusion, "g": g}


def compare(
    timestep: float, time: float, runs: int, first: int, repulsion: float = 25.0
) -> dict[str, Any]:
    """Means and errors of both styles, differences in joint errors, chi-square of g(r)."""
    results = {
        style: [
            measure(style, timestep, time, seed, repulsion) for seed in range(first, first + runs)
        ]
        for style in ("dpd", "manymove/dpd")
    }
    report: dict[str, Any] = {"timestep": timestep, "repulsion": repulsion}
    for name in ("temperature", "pressure", "diffusion"):
        row: dict[str, Any] = {}
        for style, values in results.items():
            of = np.array([value[name] for value in values])
            row[style] = [float(of.mean()), float(of.std(ddof=1) / math.sqrt(runs))]
        (theirs, error), (ours, our_error) = row.values()
        row["difference_in_errors"] = (ours - theirs) / math.hypot(error, our_error)
        report[name] = row
    g = {style: np.array([value["g"] for value in values]) for style, values in results.items()}
    theirs, ours = g.values()
    # Neighboring bins share particles but hardly pairs: their errors are taken as independent.
    variance = (theirs.var(axis=0, ddof=1) + ours.var(axis=0, ddof=1)) / runs
    counted = np.minimum(theirs.min(axis=0), ours.min(axis=0)) > 0
    away = (ours.mean(axis=0) - theirs.mean(axis=0))[counted]
    report["g"] = {
        **{style: values.mean(axis=0).tolist() for style, values in g.items()},
        "r": ((np.arange(BINS) + 0.5) * CUTOFF_OF_G / BINS).tolist(),
        # With a variance from 2 (runs - 1) degrees of freedom F instead of chi-square: its mean.
        "chi_square": float((away**2 / variance[counted]).sum() * (runs - 2) / (runs - 1)),
        "degrees": int(counted.sum()),
        "largest_difference": float(np.abs(away).max()),
    }
    return report


def draw(report: dict[str, Any]) -> Figure:
    """g(r) of both styles for each time step."""
    results = report["comparison"]
    figure = Figure(figsize=(1 + 4.5 * len(results), 4), layout="constrained")
    for axes, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results,
                            strict=True):  # fmt: skip
        r, g = result["g"]["r"], result["g"]
        axes.plot(r, g["dpd"], "k-", lw=1, label="LAMMPS' dpd")
        axes.plot(r, g["manymove/dpd"], "o", ms=3, label="manymove/dpd")
        axes.set(
            xlabel="distance r ($r_c$)", ylabel="radial distribution function g(r)",
            title=f"density 3, a = {result.get('repulsion', 25):g}, γ = 4.5, "
            f"time step {result['timestep']:g}",
        )  # fmt: skip
        axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--runs", 8, "Number of runs of each style and time step.")
    parser.option("--seed", 1, "Seed of the first run.")
    parser.option("--time", 40.0, "Length of a run.")
    parser.option("--timesteps", "0.01,0.04")
    parser.option("--repulsion", 25.0, "Repulsion between two particles.")
    quick = {"runs": 4, "time": 2.0, "timesteps": "0.01"}
    options = script.parse(parser, "compare", quick, draw=draw)
    if options.runs < 4:
        parser.error("--runs must be at least 4")
    results = []
    for timestep in (float(word) for word in options.timesteps.split(",")):
        result = compare(timestep, options.time, options.runs, options.seed, options.repulsion)
        results.append(result)
        print(f"dt = {timestep:g}")
        for name in ("temperature", "pressure", "diffusion"):
            (theirs, e1), (ours, e2) = (result[name][style] for style in ("dpd", "manymove/dpd"))
            print(
                f"  {name:12} dpd {with_error(theirs, e1)}   ours {with_error(ours, e2)}   "
                f"{result[name]['difference_in_errors']:+.1f} joint errors"
            )
        g = result["g"]
        print(f"  g(r)         chi-square {g['chi_square']:.1f} of {g['degrees']}", flush=True)
    script.finish(options, {"comparison": results}, draw)


if __name__ == "__main__":
    script.run_script(main)
