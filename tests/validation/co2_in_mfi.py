"""CO2, N2 and their mixtures in MFI at 313 K against published loadings.

    python co2_in_mfi.py
    python co2_in_mfi.py --draw out/co2_in_mfi/summary.json

Published: P. Li, F. H. Tezel, J. Chem. Eng. Data 53, 2479 (2008), as digitized in NIST's ISODB
(doi 10.1021/je700183y, isotherms 2, 4 and 5): silicalite pellets, pure gases (Figure 1) and
mixtures at 1 bar (Figure 4a).
"""

from __future__ import annotations

import argparse
import math
from typing import Any

from matplotlib.figure import Figure

from manymove import Adsorption, Interactions, Steps, script
from manymove.adsorption import CO2, N2, TRAPPE_ZEO, GasPhase

TEMPERATURE = 313.0
# Pressure in bar: loading in mol/kg.
PUBLISHED = {
    "CO2": {
        0.0182: 0.107, 0.0584: 0.275, 0.15: 0.478, 0.296: 0.704, 0.485: 0.968, 0.748: 1.24,
        1.12: 1.51, 1.61: 1.79, 2.34: 2.03, 3.3: 2.24, 4.57: 2.41,
    },
    "N2": {
        0.0985: 0.0292, 0.277: 0.06, 0.5: 0.102, 0.777: 0.162, 1.12: 0.229, 1.41: 0.281,
        1.86: 0.36, 2.43: 0.443, 3.07: 0.522, 3.86: 0.612, 4.73: 0.724,
    },
}  # fmt: skip
# Mole fraction of CO2 in the gas at 1 bar: loadings of CO2 and N2 in mol/kg.
MIXTURES = {
    0.037: (0.1865, 0.0665), 0.091: (0.2984, 0.0374), 0.157: (0.4023, 0.0197),
    0.235: (0.5159, 0.0134), 0.326: (0.6441, 0.0135), 0.446: (0.7967, 0.0153),
    0.59: (0.9752, 0.0188), 0.738: (1.1457, 0.0109), 0.854: (1.2869, 0.0062),
    0.947: (1.3973, 0.0064),
}  # fmt: skip


def points(options: argparse.Namespace, species: list[Any], gases: list[GasPhase], add: Any) -> Any:
    """The gases one after the other; each starts with the molecules of the one before."""
    a = Adsorption(
        options.framework,
        [0] * len(species),
        adsorbates=species,
        interactions=Interactions(force_field=TRAPPE_ZEO),
        temperature=TEMPERATURE,
        method=Steps("plj", exchange=0.6, reinsertion=0.2, trial_positions=options.trial_positions),
        systems=options.systems,
        fugacity=gases[0].fugacities,
        seed=options.seed,
        device=options.device,
    )
    names = [each.name for each in species]
    for gas in gases:
        a.set_fugacity(gas.fugacities)
        a.equilibrate_loading(options.equilibrate)
        every = max(1, options.steps // 20)
        for _ in range(0, options.steps, every):
            a.run(every)
            a.compare_loading(every)
        row = {
            "species": names, "pressure_bar": gas.pressure, "mole_fractions": gas.mole_fractions,
            "trial_positions": options.trial_positions,
            "fugacity_bar": gas.fugacities, "equilibrated": a.loading_agrees(),
            "loading_mol_per_kg": [n.value for n in a.loading_mol_per_kg],
            "error": [n.error for n in a.loading_mol_per_kg],
            "molecules": [n.value for n in a.loading],
            "by_test_molecules": [n.value for n in a.loading_from_test_molecules],
            "by_test_molecules_error": [n.error for n in a.loading_from_test_molecules],
            "steps": a.samples, "equilibration_steps": a.equilibration_steps, "seconds": a.seconds,
            "state_hash": a.state_hash,
        }  # fmt: skip
        if len(species) == 2:
            ratio = a.selectivity(0, 1, gas.mole_fractions)
            row["selectivity"], row["selectivity_error"] = ratio.value, ratio.error
        heats = a.heats_of_adsorption
        row["heat_kJ_per_mol"] = [q.value for q in heats]
        row["heat_error_kJ_per_mol"] = [q.error for q in heats]
        add(row)
    return a.device_name


def measure(options: argparse.Namespace) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"temperature_K": TEMPERATURE, "rows": rows}

    def add(row: dict[str, Any]) -> None:
        rows.append(row)
        script.save(options, result)  # a run that is cut short keeps its points
        print(row, flush=True)

    for molecule in () if options.only == "mixtures" else (CO2, N2):
        chosen = list(PUBLISHED[molecule.name])[:: options.every]
        gases = [GasPhase([molecule], p, TEMPERATURE) for p in chosen]
        result["device"] = points(options, [molecule], gases, add)
    if options.only == "gases":
        return result
    shares = list(MIXTURES)[:: options.every]
    mixed = [GasPhase([CO2, N2], 1.0, TEMPERATURE, [x, 1 - x]) for x in shares]
    result["device"] = points(options, [CO2, N2], mixed, add)
    return result


def draw(result: dict[str, Any]) -> Figure:
    """Isotherms of the pure gases, and the selectivity against the mole fraction of CO2."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    rows = result["rows"]
    for k, (name, published) in enumerate(PUBLISHED.items()):
        own = [r for r in rows if r["species"] == [name]]
        x = [r["pressure_bar"] for r in own]
        left.errorbar(x, [r["loading_mol_per_kg"][0] for r in own], [r["error"][0] for r in own],
                      fmt="o-", ms=4, lw=0.8, color=f"C{k}", label=f"{name}, manymove")  # fmt: skip
        left.plot(published.keys(), published.values(), "s", mfc="none", ms=6, color=f"C{k}",
                  label=f"{name}, Li and Tezel")  # fmt: skip
    left.set(xscale="log", yscale="log", xlabel="pressure (bar)", ylabel="loading (mol/kg)")
    left.legend(fontsize=8)
    mixed = [r for r in rows if len(r["species"]) == 2]
    right.errorbar([r["mole_fractions"][0] for r in mixed], [r["selectivity"] for r in mixed],
                   [r["selectivity_error"] for r in mixed], fmt="o-", ms=4, lw=0.8,
                   label="manymove")  # fmt: skip
    ratios = [a / b * (1 - x) / x for x, (a, b) in MIXTURES.items()]
    right.plot(MIXTURES.keys(), ratios, "s", mfc="none", ms=6, color="C0", label="Li and Tezel")
    right.set(xlabel="mole fraction of CO2 in the gas", ylabel="selectivity of CO2 over N2",
              yscale="log", title="1 bar")  # fmt: skip
    right.legend(fontsize=8)
    figure.suptitle(f"MFI, {result['temperature_K']:g} K, TraPPE", fontsize=9)
    return figure


def table(result: dict[str, Any]) -> str:
    """The loadings and the published ones, in Markdown."""
    lines = ["| gas | bar | loading (mol/kg) | published |", "|---|---|---|---|"]
    for r in result["rows"]:
        for k, name in enumerate(r["species"]):
            x = r["mole_fractions"][k]
            known = PUBLISHED[name].get(r["pressure_bar"], math.nan)
            if len(r["species"]) == 2:
                known = MIXTURES[r["mole_fractions"][0]][k]
            value = f"{r['loading_mol_per_kg'][k]:.4f} +- {r['error'][k]:.4f}"
            lines.append(f"| {name} ({x:.3g}) | {r['pressure_bar']:g} | {value} | {known:g} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--framework", default="MFI", help="CIF file, MFI or LTA (default MFI)")
    parser.add_argument("--systems", type=int, default=264)
    parser.add_argument("--equilibrate", type=int, default=20000,
                        help="steps of the first equilibration round")  # fmt: skip
    parser.add_argument("--steps", type=int, default=20000, help="of the measurement")
    parser.add_argument("--every", type=int, default=1, help="measure every so many points")
    parser.add_argument("--only", choices=("gases", "mixtures"), help="leave out the others")
    parser.add_argument("--trial-positions", type=int, default=64, help="of an exchange")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    quick = {"systems": 4, "steps": 40, "equilibrate": 4, "every": 11, "framework": "LTA"}
    options = script.parse(parser, "co2_in_mfi", quick)
    if options.draw:
        result = script.read(options)[0]
    else:
        result = script.save(options, measure(options))
    print(table(result))
    script.picture(options, draw(result))


if __name__ == "__main__":
    main()
