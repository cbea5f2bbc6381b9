"""Comparison with loadings that other programs have published with their input files.

    python published.py --raspa2 ~/RASPA2

The examples of RASPA2 (D. Dubbeldam, S. Calero, D. E. Ellis, R. Q. Snurr, Mol. Simul. 42, 81
(2016); github.com/iRASPA/RASPA2) and of gRASPA (Z. Li et al., J. Chem. Theory Comput. 20, 10649
(2024); github.com/snurr-group/gRASPA) have the force field, the framework and the results. The
standard errors come from the five block averages that they print. Both programs sample once in a
cycle of max(20, N) moves, which is done here as well: states count with the weight 1 / max(20, N).
The framework of the mixture is a file of RASPA2's example. With --raspa2, the path of its sources,
the mixture is compared, and methane in four metal-organic and covalent frameworks of RASPA2's
collection. Their loadings were computed with RASPA2
(docs/benchmarks/results/2026-11-30-cpu-raspa2.txt).

With --experiment, CO2 in MFI is compared with an experiment, with the force field of A.
Garcia-Sanchez et al., J. Phys. Chem. C 113, 8814 (2009), as in RASPA2's examples/Auxiliary/11.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from flat_settings import of_adsorption

from manymove import Adsorption, Interactions, Steps, script
from manymove.adsorption import ForceField, GasPhase, Molecule, Site

MIXTURE = "examples/Advanced/10_CFCMC_N2_CO2_Binary_Mixture_in_DMOF"
# Framework of RASPA2's collection, unit cells and fugacity in bar: number of methane molecules in
# the box at 298 K, and its standard error.
COMPUTED = {
    ("IRMOF-1", (1, 1, 1), 5.0): (11.878, 0.088),
    ("Cu-BTC", (1, 1, 1), 1.0): (9.559, 0.064),
    ("MIL-47", (4, 2, 2), 0.5): (7.845, 0.054),
    ("COF-300", (1, 1, 3), 2.0): (8.689, 0.050),
}


def linear(name: str, *sites: tuple[str, float, float, float, float]) -> Molecule:
    places = (Site(label, (0.0, 0.0, z), eps, sigma, q) for label, z, eps, sigma, q in sites)
    return Molecule(name, tuple(places))


def co2(bond: float) -> Molecule:
    """A. Garcia-Sanchez et al., J. Phys. Chem. C 113, 8814 (2009)."""
    oxygen = (85.671, 3.017, -0.3256)
    return linear(
        "CO2", ("O_co2", bond, *oxygen), ("C_co2", 0.0, 29.933, 2.745, 0.6512),
        ("O_co2", -bond, *oxygen),
    )  # fmt: skip


CRITICAL = dict(critical_temperature=304.1282, critical_pressure=73.773, acentric_factor=0.22394)
# CO2 in MFI of silica at 298 K, pressure in bar: loading in mol/kg. T.-H. Bae et al., Energy
# Environ. Sci. 6, 128 (2013), as digitized in NIST's ISODB (doi 10.1039/c2ee23337a, isotherms 2
# and 9).
BAE: list[dict[float, float]] = [
    {0.1854: 0.493157, 0.3733: 0.94761, 0.5786: 1.29719, 1.0265: 1.83467},
    {0.0302: 0.174165, 0.1023: 0.392652, 0.2509: 0.759711, 0.4301: 1.1224, 0.6988: 1.4982},
]

N2 = linear(
    "N2", ("N_n2", 0.55, 38.298, 3.306, -0.405), ("N_com", 0.0, 0.0, 1.0, 0.81),
    ("N_n2", -0.55, 38.298, 3.306, -0.405),
)  # fmt: skip
CH4 = linear("CH4", ("CH4", 0.0, 158.5, 3.72, 0.0))
SILICA = {"O": (53.0, 3.30), "Si": (22.0, 2.30)}


@dataclass
class Case:
    """A published loading in molecules of the box, and its standard error, for each species."""

    source: str
    species: list[Molecule]
    settings: dict[str, Any]
    published: list[tuple[float, float]]
    start: list[int]
    framework: str | Path = "MFI"
    mole_fractions: list[float] = field(default_factory=list)


def cases(raspa2: str | None) -> list[Case]:
    found = [
        Case(
            "RASPA2, basic example 7: CH4 in MFI, 300 K, 0.1 bar", [CH4],
            dict(force_field=ForceField(SILICA), temperature=300.0, fugacity=0.09997825,
                 cutoff=12.0),
            [(2.7852, 0.0296)], [3],
        ),
        Case(
            "gRASPA, CO2-MFI: CO2 in MFI, 298 K, 0.1 bar", [co2(1.16)],
            dict(force_field=ForceField(SILICA, {"O": -1.025, "Si": 2.05}, potential="truncated"),
                 temperature=298.0, fugacity=0.1, cutoff=12.8),
            [(20.3334, 0.102)], [20],
        ),
        Case(
            "RASPA2, advanced example 9: CO2 in MFI without charges, 353 K, 100 bar", [co2(1.149)],
            dict(force_field=ForceField(SILICA, {"O": 0.0, "Si": 0.0}), temperature=353.0,
                 fugacity=100.0, cutoff=10.0, cells=(2, 2, 2)),
            [(114.795, 0.328)], [70],
        ),
    ]  # fmt: skip
    if raspa2 is not None:
        folder = Path(raspa2) / MIXTURE
        found.append(
            Case(
                "RASPA2, advanced example 10: CO2 and N2 in DMOF, 300 K, 0.5 bar of each",
                [co2(1.149), N2],
                dict(force_field=ForceField.read(folder), temperature=300.0, cutoff=10.0,
                     fugacity=[0.5, 0.5], cells=(1, 1, 1)),
                [(20.3360, 0.175), (1.43388, 0.0162)], [20, 1], folder / "DMOF.cif",
            )
        )  # fmt: skip
        found += of_collection(Path(raspa2))
    return found


def of_collection(raspa2: Path) -> list[Case]:
    """The cases of `COMPUTED`, with DREIDING and UFF as in RASPA2's ExampleMOFsForceField."""
    field = ForceField.read(
        raspa2 / "forcefield/ExampleMOFsForceField", remove_atom_number_code=True
    )
    # The file has beads of alkanes, of which the last one, C, replaces the carbon of DREIDING.
    beads = ("CH3", "CH2", "CH", "C")
    laws = {name: law for name, law in field.parameters.items() if name not in beads}
    field = replace(field, parameters=laws)
    return [
        Case(
            f"RASPA2: CH4 in {name}, 298 K, {fugacity:g} bar", [CH4],
            dict(force_field=field, temperature=298.0, fugacity=fugacity, cutoff=12.0, cells=cells),
            [loading], [round(loading[0])], raspa2 / f"structures/mofs/cif/{name}.cif",
        )
        for (name, cells, fugacity), loading in COMPUTED.items()
    ]  # fmt: skip


def measure(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    a = Adsorption(
        **of_adsorption(
            framework=case.framework,
            molecules=case.start,
            adsorbates=case.species,
            method="plj",
            barrier=None,
            systems=options.systems,
            trial_positions=options.trial_positions,
            exchange=0.6,
            reinsertion=0.2,
            seed=options.seed,
            device=options.device,
            **case.settings,
        )
    )
    a.equilibrate(options.equilibrate)
    sums = np.zeros((2, len(case.species) + 1, a.systems))  # over steps, and over cycles
    for _ in range(max(1, options.steps // options.sample)):
        a.run(options.sample)
        counts = a.counts.T
        weight = 1 / np.maximum(20, counts.sum(axis=0))
        for part, w in zip(sums, (np.ones(a.systems), weight), strict=True):
            part += [*(counts * w), w]
    rows = []
    for k, (species, (value, error)) in enumerate(zip(case.species, case.published, strict=True)):
        (mine, own), (cycle, spread) = (ratio(part[k], part[-1]) for part in sums)
        rows.append(
            {
                "source": case.source, "species": species.name, "published": value,
                "published_error": error, "per_step": a.loading[k].value,
                "per_step_error": a.loading[k].error, "sampled_per_step": mine,
                "sampled_error": own, "per_cycle": cycle, "per_cycle_error": spread,
                "difference_in_errors": (cycle - value) / math.hypot(spread, error),
            }
        )  # fmt: skip
    for row, n in zip(rows, a.loading_from_insertions, strict=True):
        row["from_insertions"], row["from_insertions_error"] = n.value, n.error
    return {
        "rows": rows, "equilibration_steps": a.equilibration_steps, "steps": a.samples,
        "exchange_acceptance": a.exchange_acceptance, "seconds": a.seconds,
        "state_hash": a.state_hash, "device": a.device_name,
    }  # fmt: skip


def experiment(options: argparse.Namespace) -> None:
    """CO2 in MFI with the parameters that Garcia-Sanchez et al. fitted to isotherms of zeolites."""
    charges = {"O": -0.39299, "Si": 0.78598}
    pairs = {("O", "C_co2"): (37.595, 3.511), ("O", "O_co2"): (78.980, 3.237)}
    rows = []
    gas = [
        GasPhase([replace(co2(1.149), **CRITICAL)], p, 298.0) for p in sorted({*BAE[0], *BAE[1]})
    ]
    a = Adsorption(
        "MFI",
        0,
        adsorbates=co2(1.149),
        method=Steps("plj", exchange=0.6, reinsertion=0.2, trial_positions=options.trial_positions),
        temperature=298.0,
        interactions=Interactions(force_field=ForceField({"O": None, "Si": None}, charges, pairs)),
        fugacity=gas[0].fugacities,
        systems=options.systems,
        seed=options.seed,
        device=options.device,
    )
    for phase in gas:
        a.set_fugacity(phase.fugacities)
        a.equilibrate(options.equilibrate)
        a.run(options.steps)
        (n,), p = a.loading_mol_per_kg, phase.pressure
        published = next(part[p] for part in BAE if p in part)
        rows.append({"pressure_bar": p, "loading_mol_per_kg": n.value, "error": n.error,
                     "published_mol_per_kg": published, "molecules": a.loading[0].value,
                     "from_insertions": a.loading_from_insertions[0].value,
                     "heat_kJ_per_mol": a.heat_of_adsorption.value, "device": a.device_name,
                     "seconds": a.seconds, "state_hash": a.state_hash})  # fmt: skip
        script.save(options, {"rows": rows})
        print(f"{p:g} bar: {n} mol/kg, published {published:g}, ratio {n.value / published:.2f}; "
              f"{a.loading[0]} molecules, from insertions {a.loading_from_insertions[0]}",
              flush=True)  # fmt: skip


def ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """Ratio of two sums over systems, and its linearized standard error."""
    value = above.sum() / below.sum()
    rest = (above - value * below) / below.mean()
    return float(value), float(rest.std(ddof=1) / math.sqrt(len(rest)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--raspa2", help="folder of RASPA2's sources")
    parser.add_argument("--systems", type=int, default=64)
    parser.add_argument("--trial-positions", type=int, default=64)
    parser.add_argument("--equilibrate", type=int, default=4000)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--sample", type=int, default=20, help="steps between two samples")
    parser.add_argument("--experiment", action="store_true", help="only CO2 in MFI, see BAE")
    parser.add_argument("--points", type=int, nargs="+", help="numbers of the cases, from 0")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    quick = {"systems": 4, "steps": 8, "equilibrate": 4, "sample": 4, "points": [0]}
    options = script.parse(parser, "published", quick)
    if options.experiment:
        for name in ("raspa2", "sample", "points"):
            if getattr(options, name) != parser.get_default(name):
                parser.error(f"--{name} has no effect with --experiment")
        experiment(options)
        return
    chosen = list(enumerate(cases(options.raspa2)))
    runs: list[dict[str, Any]] = []
    for k, case in chosen:
        if options.points is None or k in options.points:
            runs.append(measure(case, options))
            script.save(options, {"runs": runs})
            for row in runs[-1]["rows"]:
                print(
                    f"{row['source']}: {row['species']} {row['per_cycle']:.3f} +- "
                    f"{row['per_cycle_error']:.3f} per cycle, published {row['published']:.3f} +- "
                    f"{row['published_error']:.3f} ({row['difference_in_errors']:+.1f} errors); "
                    f"per step {row['per_step']:.3f} +- {row['per_step_error']:.3f}, insertions "
                    f"{row.get('from_insertions', math.nan):.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
