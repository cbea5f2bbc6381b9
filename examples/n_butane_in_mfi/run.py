"""Isotherm of n-butane in MFI at 300 K by growth of chains, and an experiment.

    python run.py
    python run.py --draw out/n_butane_in_mfi/summary.json

The force field is TraPPE-zeo with TraPPE-UA.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import Adsorption, EnergyGrid, Interactions, Steps, script
from manymove.adsorption import TRAPPE_ZEO, GasPhase, read_molecule

TEMPERATURE = 300.0
# H. B. Abdul-Rehman, M. A. Hasanain, K. F. Loughlin, Ind. Eng. Chem. Res. 29, 1525 (1990), Table 1:
# bar and mol per kg of pellets, of which 20 % are binder (L. Lu, Q. Wang, Y. Liu, Langmuir 19,
# 10617 (2003), who divide by 0.8).
PELLETS = (
    (0.0005, 0.356), (0.001, 0.656), (0.0023, 0.878), (0.0042, 1.016), (0.0111, 1.142),
    (0.0545, 1.251), (0.1784, 1.301), (0.3948, 1.339), (0.6957, 1.362), (0.9973, 1.378),
)  # fmt: skip
CRYSTALS = 0.8
FIELDS = {"TraPPE-zeo": (read_molecule("n-butane"), TRAPPE_ZEO)}


def isotherm(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    chain, field = FIELDS[name]
    pressures = sorted(options.pressures)
    fugacities = [GasPhase([chain], p, TEMPERATURE).fugacities[0] for p in pressures]
    a = Adsorption(
        "MFI", 0, adsorbates=chain, temperature=TEMPERATURE, fugacity=fugacities[0],
        interactions=Interactions(options.cutoff, field, grid=EnergyGrid(options.spacing)),
        method=Steps("plj", exchange=0.5, reinsertion=0.1, trial_positions=options.trials,
                     trial_orientations=options.trials),
        systems=options.systems, seed=options.seed, device=options.device,
    )  # fmt: skip
    coefficient, heat = a.henry(options.insertions)
    print(f"{name}: Henry coefficient {coefficient} mol/(kg Pa), heat {heat} kJ/mol", flush=True)
    rows = []
    for pressure, fugacity in zip(pressures, fugacities, strict=True):
        a.set_fugacity(fugacity)
        a.equilibrate(options.steps // 2)
        a.run(options.steps)
        a.compare_loading(options.insertions)
        (loading,), (molecules,), (tests,) = (
            a.loading_in("mol/kg"), a.loading, a.loading_from_test_molecules
        )  # fmt: skip
        rows.append({
            "pressure_bar": pressure, "fugacity_bar": fugacity, "mol_per_kg": loading.value,
            "error": loading.error, "molecules": molecules.value, "test_molecules": tests.value,
            "test_molecules_error": tests.error, "exchange_acceptance": a.exchange_acceptance,
            "regrowth_acceptance": a.regrowth_acceptance, "seconds": a.seconds,
        })  # fmt: skip
        text = f"{molecules} molecules, by test molecules {tests}"
        accepted = f"exchanges {a.exchange_acceptance:.2%}, {a.seconds:.0f} s"
        print(f"  {pressure:g} bar: {loading} mol/kg, {text}, {accepted}", flush=True)
    return [{"henry": [coefficient.value, coefficient.error], "heat": [heat.value, heat.error]},
            *rows]  # fmt: skip


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    x, y = np.array(PELLETS).T
    axes.semilogx(x, y / CRYSTALS, "ks", mfc="none", label="Abdul-Rehman et al. (1990)")
    for name in FIELDS:
        _, *rows = result["fields"][name]
        p, n, error = (np.array([row[key] for row in rows], dtype=float)
                       for key in ("pressure_bar", "mol_per_kg", "error"))  # fmt: skip
        axes.errorbar(p, n, error, fmt="o-", lw=1, ms=4, label=name)
    axes.set(xlabel="pressure (bar)", ylabel="n-butane (mol/kg)")
    axes.legend()
    axes.set_title(f"n-butane in MFI, 300 K, {result['systems']} systems", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--pressures", [0.0001, 0.0005, 0.0023, 0.0111, 0.1, 1.0], "Pressures in bar.")
    parser.option("--systems", 64, "Number of independent systems.")
    parser.option("--steps", 20000, "Steps per pressure.")
    parser.option("--insertions", 2000, "Number of test molecules.")
    parser.option("--trials", 16, "Trials of each bead.")
    parser.option("--cutoff", 12.0, "Cutoff in angstrom.")
    parser.option("--spacing", 0.2, "Spacing of the grid.")
    quick = {"systems": 4, "steps": 20, "insertions": 5, "pressures": [0.001], "cutoff": 9.5,
             "spacing": 0.5}  # fmt: skip
    options = script.parse(parser, "n_butane_in_mfi", quick, draw=draw)
    script.finish(options, {"fields": {name: isotherm(name, options) for name in FIELDS}}, draw)


if __name__ == "__main__":
    script.run_script(main)
