"""Loading of MFI with methane against published grand-canonical and Gibbs-ensemble simulations.

    python isotherm.py                                   all force fields
    python isotherm.py --draw out/isotherm/summary.json
    PYTHONPATH=../.. python isotherm.py --raspa out/isotherm/summary.json

The last command adds the loadings of RASPA3 (raspalib), for which it imports `benchmarks` from the
root of the repository. Every comparison has the force field of the other side; FORCE_FIELDS says
what differs all the same.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from manymove import Adsorption, Interactions, script
from manymove.adsorption.adsorbates import METHANE, Adsorbate
from manymove.adsorption.gas import GAS_CONSTANT
from manymove.analysis.notation import with_error

CELLS = 8  # unit cells of the box
MASS = 5.76806  # kg/mol of unit cells, Si96 O192


def lorentz_berthelot(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return math.sqrt(a[0] * b[0]), (a[1] + b[1]) / 2


def trappe_zeo(methane: tuple[float, float]) -> Adsorbate:
    """P. Bai, M. Tsapatsis, J. I. Siepmann, J. Phys. Chem. C 117, 24375 (2013)."""
    oxygen, silicon = (53.0, 3.30), (22.0, 2.30)
    return Adsorbate(
        "CH4", *methane,
        {"O": lorentz_berthelot(oxygen, methane), "Si": lorentz_berthelot(silicon, methane)},
        METHANE.critical_temperature, METHANE.critical_pressure, METHANE.acentric_factor,
    )  # fmt: skip


# Shah et al. tabulate mmol/g; molecules per unit cell here, as everywhere below.
_SHAH_298 = {
    0.001: (0.00060, 0.00001), 0.01: (0.0060, 0.0001), 0.1: (0.058, 0.001), 0.3: (0.168, 0.003),
    0.5: (0.274, 0.005), 1: (0.50, 0.01), 1.5: (0.70, 0.01), 2: (0.85, 0.01), 5: (1.46, 0.01),
    10: (1.88, 0.01), 12: (1.98, 0.01), 15: (2.09, 0.01), 18: (2.18, 0.01), 20: (2.22, 0.01),
    25: (2.33, 0.01), 30: (2.39, 0.01),
}  # fmt: skip
_SHAH_343 = {
    0.1: (0.0217, 0.0001), 1: (0.204, 0.001), 5: (0.788, 0.004), 10: (1.213, 0.003),
    15: (1.472, 0.003), 20: (1.643, 0.003), 25: (1.779, 0.002), 30: (1.877, 0.003),
    40: (2.032, 0.002), 50: (2.141, 0.002),
}  # fmt: skip
FORCE_FIELDS: dict[str, dict[str, Any]] = {
    "Kim et al. 2011": {
        "adsorbate": METHANE,
        "temperature": 300.0,
        "cutoff": 12.0,
        "pressures": (0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50),
        "source": "our own runs of RASPA3 (raspalib), which has no published table for it",
    },
    "RASPA3 manual": {
        "adsorbate": trappe_zeo((158.5, 3.72)),
        "temperature": 300.0,
        "cutoff": 12.0,
        "fugacities": (1.0,),
        "published": {1.0: (2.893379, 0.0031)},
        # Errors come from 5 blocks; the Henry coefficient in molecules per unit cell and pascal.
        "published_henry": (3.526013e-05, 7.5e-08),
        "published_energy_K": (-1984.827, 1.49),
        "published_heat_kJ_per_mol": (19.26605, 0.0104),
        "source": "RASPA3's manual (github.com/iRASPA/RASPA3, docs/manual/examples_basic.md), "
        "basic examples 6 to 8: the same coordinates, cutoff and shift, fugacity coefficient 1. "
        "Its loading is sampled once a cycle of max(N, 20) steps, which makes it 2.6 % too low. "
        "Its mol/kg are not used: they count oxygen with the mass of silicon.",
    },
    "TraPPE-zeo, 298 K": {
        "adsorbate": trappe_zeo((148.0, 3.73)),
        "temperature": 298.0,
        "cutoff": 14.0,
        "pressures": tuple(_SHAH_298),
        "published": {p: (q * MASS, e * MASS) for p, (q, e) in _SHAH_298.items()},
        "source": "M. S. Shah, M. Tsapatsis, J. I. Siepmann, Langmuir 31, 12268 (2015), Gibbs "
        "ensemble, as tabulated in github.com/dejac001/adsorption_isotherm_fitting; tail "
        "corrections instead of our shift, and other coordinates: different conventions",
    },
    "TraPPE-zeo, 343 K": {
        "adsorbate": trappe_zeo((148.0, 3.73)),
        "temperature": 343.0,
        "cutoff": 14.0,
        "pressures": tuple(_SHAH_343),
        "published": {p: (q * MASS, e * MASS) for p, (q, e) in _SHAH_343.items()},
        "source": "the same",
    },
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    results = {}
    for name in options.force_fields:
        field = FORCE_FIELDS[name]
        gas, t = field["adsorbate"], field["temperature"]
        laws = Interactions(field["cutoff"])
        common = dict(adsorbates=gas, temperature=t, interactions=laws, method="plj",
                      systems=options.systems, seed=options.seed,
                      device=options.device)  # fmt: skip
        empty = Adsorption("MFI", 1, **common)
        henry, heat = empty.henry(options.insertions)
        rows, a = [], Adsorption("MFI", 0, fugacity=1.0, **common)
        for p in field.get("pressures", ()) or field["fugacities"]:
            f = p * (gas.fugacity_coefficient(p, t) if "pressures" in field else 1.0)
            a.set_fugacity(f)  # every pressure begins with the molecules of the one before
            a.equilibrate_loading(options.steps)
            every = max(1, options.steps // 100)
            for _ in range(0, options.steps, every):
                a.run(every)
                a.compare_loading(every)
            cells = math.prod(a.cells)
            loading, q = a.loading[0], a.heat_of_adsorption
            test = a.loading_from_test_molecules[0]
            row = {"pressure_bar": p, "fugacity_bar": f, "equilibrated": a.loading_agrees(),
                   "by_test_molecules_per_cell": test.value / cells,
                   "by_test_molecules_error": test.error / cells,
                   "molecules_per_cell": loading.value / cells,
                   "error": loading.error / cells, "heat_kJ_per_mol": q.value,
                   "heat_error_kJ_per_mol": q.error}  # fmt: skip
            if p in field.get("published", {}):
                row["published"], row["published_error"] = field["published"][p]
            rows.append(row)
            print(name, {k: v if v is None else round(v, 5) for k, v in row.items()})
        results[name] = {
            "source": field["source"], "temperature_K": t, "cutoff_angstrom": field["cutoff"],
            "henry_mol_per_kg_Pa": henry.value, "henry_error": henry.error,
            "henry_molecules_per_cell_Pa": henry.value * MASS,
            "heat_at_zero_loading_kJ_per_mol": heat.value, "heat_error": heat.error,
            "energy_at_zero_loading_K": t - heat.value * 1000 / GAS_CONSTANT,
            "published": {k: v for k, v in field.items() if k.startswith("published_")},
            "rows": rows,
        }  # fmt: skip
        print(name, {k: v for k, v in results[name].items() if k != "rows"})
    return {"device": empty.device_name, "force_fields": results}


def _by_raspa(job: tuple[float, float, float]) -> dict[str, float]:
    """One fugacity (bar), for so many seconds."""
    pressure, fugacity, seconds = job
    import raspalib

    from benchmarks import raspa as bench_raspa
    from manymove.adsorption.frameworks import read_framework

    moves = raspalib.MCMoveProbabilities(
        translation_probability=0.5, reinsertion_cbmc_probability=0.5, swap_cbmc_probability=1.0
    )
    system = bench_raspa.methane_system(
        raspalib, read_framework("MFI"), 0, moves, pressure=fugacity * 1e5
    )

    def run(cycles: int, relax: int) -> tuple[Any, float]:
        mc = raspalib.MonteCarlo(cycles, relax, 0, systems=[system], random_seed=7)
        began = time.perf_counter()
        mc.setup()
        mc.initialize()
        mc.equilibrate()
        mc.production()
        return mc.systems[0], time.perf_counter() - began

    system, elapsed = run(200, 300)
    cycles = max(200, int(0.8 * seconds / elapsed * 500))
    system, _ = run(cycles, cycles // 5)
    mean, error = system.average_loadings.average_loading_number_of_molecules(0)
    return {"pressure_bar": pressure, "fugacity_bar": fugacity, "cycles": cycles,
            "raspa": mean / CELLS, "raspa_error": error / CELLS}  # fmt: skip


def raspa(options: argparse.Namespace, result: dict[str, Any]) -> dict[str, Any]:
    rows = result["force_fields"]["Kim et al. 2011"]["rows"]
    jobs = [(r["pressure_bar"], r["fugacity_bar"], options.raspa_seconds) for r in rows]
    with Pool(options.processes) as pool:
        for row, other in zip(rows, pool.map(_by_raspa, jobs, chunksize=1), strict=True):
            row |= other
            print(other, "ours", with_error(row["molecules_per_cell"], row["error"]))
    return result


def draw(result: dict[str, Any]) -> Figure:
    """Loading, and its difference from the published one, against pressure."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (name, field) in enumerate(result["force_fields"].items()):
        rows = field["rows"]
        p = [r["pressure_bar"] for r in rows]
        n = [r["molecules_per_cell"] for r in rows]
        left.errorbar(p, n, [r["error"] for r in rows], fmt="o-", ms=3, lw=0.8, color=f"C{k}",
                      label=name)  # fmt: skip
        for key in ("published", "raspa"):
            some = [r for r in rows if key in r]
            x = [r["pressure_bar"] for r in some]
            left.errorbar(x, [r[key] for r in some], [r[f"{key}_error"] for r in some], fmt="s",
                          mfc="none", ms=6, color=f"C{k}")  # fmt: skip
            ratio = [100 * (r["molecules_per_cell"] / r[key] - 1) for r in some]
            error = [100 * math.hypot(r["error"] / r["molecules_per_cell"],
                                      r[f"{key}_error"] / r[key]) for r in some]  # fmt: skip
            right.errorbar(x, ratio, error, fmt="o-", ms=3, lw=0.6, capsize=2, color=f"C{k}")
    left.set(
        xscale="log",
        yscale="log",
        xlabel="pressure (bar)",
        ylabel="loading (molecules per unit cell)",
    )
    left.legend(fontsize=7, title="dots: manymove, squares: published", title_fontsize=7)
    right.axhline(0, color="k", lw=0.5)
    right.set(xscale="log", xlabel="pressure (bar)", ylabel="difference from published (%)")
    figure.suptitle("Methane in MFI, 298 to 343 K", fontsize=9)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option(
        "--force-fields",
        list(FORCE_FIELDS),
        "Force fields to compare (default all).",
        choices=FORCE_FIELDS,
    )
    parser.option("--raspa", Path, "Add RASPA3 to this summary.", metavar="FILE")
    parser.option("--systems", 1056)
    parser.option("--steps", 100000, "Steps of the first equilibration round and of a measurement.")
    parser.option("--insertions", 20000, "Number of test molecules.")
    parser.option("--raspa-seconds", 120.0)
    parser.option("--processes", int)
    quick = {"force_fields": ["RASPA3 manual"], "systems": 16, "steps": 300, "insertions": 1000}
    options = script.parse(parser, "isotherm", quick)
    if options.draw:
        result = script.read(options)[0]
    elif options.raspa:
        added = raspa(options, json.loads(options.raspa.read_text()))
        result = script.save(argparse.Namespace(output=options.output), added)
    else:
        result = script.save(options, measure(options))
    script.picture(options, draw(result))


if __name__ == "__main__":
    script.run_script(main)
