"""Loadings of methane, CO2 and a mixture of CO2 and N2 against RASPA3 (raspalib).

    python isotherms.py --seconds 60

The framework is LTA of silica with the force field TraPPE-zeo at 300 K. Both programs get the same
fugacities. RASPA3 samples after each of its cycles, which have max(20, N) moves: with up to 20
molecules all cycles have 20 moves, so that the average is one over moves, as ours. At higher
loadings short cycles, which follow states with few molecules, would weigh too much; the script
prints the share of cycles with more than 20 molecules.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from manymove import Adsorption
from manymove.adsorption import CH4, CO2, N2, TRAPPE_ZEO, Molecule, read_framework
from manymove.bench.raspa import lattice

TEMPERATURE = 300.0
BLOCKS = 20  # whose differences give the errors of RASPA3's loadings
POINTS: list[tuple[list[Molecule], list[float]]] = [
    ([CH4], [1.0]),
    ([CH4], [3.0]),
    ([CO2], [0.2]),
    ([CO2], [0.6]),
    ([CO2, N2], [0.3, 2.0]),
]  # fugacities in bar


def ours(species: list[Molecule], fugacities: list[float], options: argparse.Namespace) -> str:
    a = Adsorption(
        "LTA", [0] * len(species), adsorbates=species, force_field=TRAPPE_ZEO, method="plj",
        temperature=TEMPERATURE, systems=options.systems, fugacity=fugacities, barrier=None,
        seed=1, device=options.device, trial_positions=options.trial_positions,
    )  # fmt: skip
    a.equilibrate_loading(options.steps // 4)
    every = max(1, options.steps // 100)
    for _ in range(100):
        a.run(every)
        a.compare_loading(every)
    tests = a.loading_from_test_molecules
    return ", ".join(
        f"{s.name} {n}, by test molecules {t}"
        for s, n, t in zip(species, a.loading, tests, strict=True)
    )


def raspa(species: list[Molecule], fugacities: list[float], options: argparse.Namespace) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that there is no OpenCL
        import raspalib
    labels = sorted({site.label for s in species for site in s.sites})
    number = {label: 2 + k for k, label in enumerate(labels)}
    site_of = {site.label: site for s in species for site in s.sites}
    charges, elements = TRAPPE_ZEO.charges, [("O", 15.9994), ("Si", 28.0855)]
    charged = any(site.charge for site in site_of.values())
    field = raspalib.ForceField(
        [raspalib.PseudoAtom(e, True, mass, charges[e]) for e, mass in elements]
        + [raspalib.PseudoAtom(b, False, 14.0, site_of[b].charge) for b in labels],
        [raspalib.VDWParameters(*TRAPPE_ZEO.law_of_atom(e, e)) for e, _ in elements]
        + [raspalib.VDWParameters(site_of[b].epsilon, site_of[b].sigma) for b in labels],
        shifted=False, tail_corrections=True, use_charge=charged,
    )  # fmt: skip
    framework = read_framework("LTA")
    kinds = {e: (k, charges[e]) for k, (e, _) in enumerate(elements)}
    rotation = 0.5 if any(len(s.sites) > 1 for s in species) else 0.0
    pressure = sum(fugacities)
    components = [
        raspalib.Component(
            field, s.name, 300.0, 7e6, 0.2,
            [raspalib.Atom(tuple(x.position), x.charge, 1.0, 0, number[x.label]) for x in s.sites],
            particle_probabilities=raspalib.MCMoveProbabilities(
                translation_probability=0.5, rotation_probability=rotation,
                swap_cbmc_probability=1.0,
            ),
            # It divides the pressure equally among the components.
            fugacity_coefficient=f * len(species) / pressure,
        )
        for s, f in zip(species, fugacities, strict=True)
    ]  # fmt: skip
    system = raspalib.System(
        field, None, external_temperature=TEMPERATURE, external_pressure=pressure * 1e5,
        framework_components=lattice(raspalib, field, framework, kinds), components=components,
        initial_number_of_molecules=[0] * len(species),
    )  # fmt: skip

    def run(cycles: int) -> tuple[np.ndarray, float]:
        nonlocal system
        system.set_property_number_of_molecules_evolution(
            raspalib.PropertyNumberOfMoleculesEvolution(cycles, len(species), 1)
        )
        mc = raspalib.MonteCarlo(cycles, 0, 0, systems=[system], random_seed=7 + cycles)
        began = time.perf_counter()
        mc.setup()
        mc.production()
        (system,) = mc.systems
        counts = np.array(system.property_number_of_molecules_evolution.result)
        return counts.reshape(len(species), -1), time.perf_counter() - began

    _, seconds = run(200)
    cycles = max(400, int(200 * options.seconds / seconds))
    run(cycles // 4)  # equilibration
    counts, _ = run(cycles)
    total = counts.sum(axis=0)
    parts = []
    for s, series in zip(species, counts, strict=True):
        blocks = [part.mean() for part in np.array_split(series, BLOCKS)]
        error = np.std(blocks, ddof=1) / BLOCKS**0.5
        parts.append(f"{s.name} {series.mean():.3f} +- {error:.3f}")
    return f"{', '.join(parts)} ({cycles} cycles, {(total > 20).mean():.2%} above 20 molecules)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of RASPA3 for each point")
    parser.add_argument("--systems", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--only", choices=("manymove", "raspa3"), help="leave out the other one")
    parser.add_argument("--trial-positions", type=int, default=1, help="of an exchange")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--points", type=int, nargs="+", default=list(range(len(POINTS))))
    options = parser.parse_args()
    for index in options.points:
        species, fugacities = POINTS[index]
        names = " + ".join(f"{s.name} {f:g} bar" for s, f in zip(species, fugacities, strict=True))
        print(f"{names}: molecules in a unit cell of 24.555 angstrom", flush=True)
        if options.only != "raspa3":
            print(f"    manymove: {ours(species, fugacities, options)}", flush=True)
        if options.only != "manymove":
            print(f"    RASPA3:   {raspa(species, fugacities, options)}", flush=True)


if __name__ == "__main__":
    main()
