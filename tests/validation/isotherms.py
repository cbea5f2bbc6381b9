"""Loadings of methane, CO2 and a mixture of CO2 and N2 against RASPA3 (raspalib).

    PYTHONPATH=../.. python isotherms.py --framework MFI --seconds 60

The frameworks are LTA and MFI of silica with the force field TraPPE-zeo at 300 K. The box of MFI
has 1 x 1 x 2 cells and a cutoff of 9.9 angstrom. Both programs get the same fugacities. RASPA3
samples once in a cycle of max(20, N) moves: with up to 20 molecules all cycles have 20 moves, so
that the average is one over moves, as ours. States with more molecules get the weight of their
cycle; the script prints the share of such cycles. Errors of RASPA3 follow from the autocorrelation
time, and --seconds is time of its core. `benchmarks`, which runs RASPA3, is at the root of the
repository.
"""

from __future__ import annotations

import argparse

import numpy as np
from flat_settings import of_adsorption

from benchmarks import raspa as bench_raspa
from manymove import Adsorption
from manymove.adsorption import CH4, CO2, N2, TRAPPE_ZEO, Molecule, read_framework

TEMPERATURE = 300.0
Points = list[tuple[list[Molecule], list[float]]]
# Cells, cutoff, and species with their fugacities in bar.
BOXES: dict[str, tuple[tuple[int, int, int], float, Points]] = {
    "LTA": (
        (1, 1, 1), 12.0,
        [([CH4], [1.0]), ([CH4], [3.0]), ([CO2], [0.2]), ([CO2], [0.6]), ([CO2, N2], [0.3, 2.0])],
    ),
    "MFI": (
        (1, 1, 2), 9.9,
        [([CH4], [0.5]), ([CH4], [3.0]), ([CO2], [0.1]), ([CO2], [0.5]), ([CO2, N2], [0.2, 2.0])],
    ),
}  # fmt: skip


def ours(species: list[Molecule], fugacities: list[float], options: argparse.Namespace) -> str:
    cells, cutoff, _ = BOXES[options.framework]
    a = Adsorption(
        **of_adsorption(
            framework=options.framework,
            molecules=[0] * len(species),
            adsorbates=species,
            force_field=TRAPPE_ZEO,
            method="plj",
            temperature=TEMPERATURE,
            systems=options.systems,
            fugacity=fugacities,
            barrier=None,
            seed=options.seed,
            device=options.device,
            cells=cells,
            cutoff=cutoff,
            trial_positions=options.trial_positions,
            exchange=0.6,
        )
    )
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
    cells, cutoff, _ = BOXES[options.framework]
    framework = read_framework(options.framework)
    found = bench_raspa.open_series(
        bench_raspa.module(), framework=framework, species=species, cells=cells,
        temperature=TEMPERATURE, fugacities=fugacities, cutoff=cutoff,
        molecules=[0] * len(species), seconds=options.seconds, seed=options.seed, least=400,
    )  # fmt: skip
    words = []
    for s, series in zip(species, found, strict=True):
        n = series.loading
        words.append(f"{s.name} {n}, relative error {n.error / n.value:.1%}")
    long = np.mean(found[0].steps > 20)
    return f"{', '.join(words)} ({len(found[0].steps)} cycles, {long:.2%} above 20 molecules)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", choices=list(BOXES), default="LTA")
    parser.add_argument("--seconds", type=float, default=60.0, help="of RASPA3 for each point")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--systems", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--only", choices=("manymove", "raspa3"), help="leave out the other one")
    parser.add_argument("--trial-positions", type=int, default=1, help="of an exchange")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--points", type=int, nargs="+", help="numbers of the points")
    options = parser.parse_args()
    cells, _, points = BOXES[options.framework]
    print(f"molecules in {' x '.join(map(str, cells))} cells of {options.framework}", flush=True)
    for species, fugacities in (points[k] for k in options.points or range(len(points))):
        names = " + ".join(f"{s.name} {f:g} bar" for s, f in zip(species, fugacities, strict=True))
        print(f"{names}:", flush=True)
        if options.only != "raspa3":
            print(f"    manymove: {ours(species, fugacities, options)}", flush=True)
        if options.only != "manymove":
            print(f"    RASPA3:   {raspa(species, fugacities, options)}", flush=True)


if __name__ == "__main__":
    main()
