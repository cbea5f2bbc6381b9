"""Energies of 1:1 electrolytes, compared with published ones and the hypernetted-chain equation.

python energies.py
python energies.py --quick
"""

from __future__ import annotations

import argparse

from matplotlib.figure import Figure

from manymove import Electrolyte, script
from manymove.analysis import blocking_error, hypernetted_chain
from manymove.analysis.ions import Salt
from manymove.analysis.notation import with_error

DIAMETER, BJERRUM_LENGTH = 4.25, 7.1432  # angstrom
# J. C. Rasaiah, D. N. Card, J. P. Valleau, J. Chem. Phys. 56, 248 (1972), Table II, as tabulated in
# github.com/patrickbwarren/SunlightHNC: -U/NkT and its error by the concentration in mol/l.
PUBLISHED = {0.10376: (0.2739, 0.0014), 0.42502: (0.4341, 0.0017), 1.0001: (0.5516, 0.0016)}


def state(options: argparse.Namespace, concentration: float) -> dict[str, float]:
    """-E/NkT of a periodic box of ions and of the integral equation."""
    salt = Salt.of(options.ions, (1, -1), (DIAMETER, DIAMETER))
    density = salt.density_at(concentration)
    edge = (options.ions / density) ** (1 / 3)
    ions = Electrolyte.random(
        salt,
        box=(edge, edge, edge),
        bjerrum_length=BJERRUM_LENGTH,
        seed=options.seed,
        device=options.device,
    )
    ions.run(options.equilibrate + options.sweeps)
    energies = -ions.energy_records[options.equilibrate :] / ions.N
    error, converged = blocking_error(energies)
    chains = hypernetted_chain((density / 2, density / 2), (1, -1), DIAMETER, BJERRUM_LENGTH)
    return {
        "mol_per_l": concentration,
        "energy": float(energies.mean()),
        "energy_error": float(error),
        "energy_error_converged": bool(converged),
        "hypernetted_chains": -float(chains.energy_per_ion),
        "acceptance": ions.acceptance,
    }


def draw(result: dict) -> Figure:
    """-U/NkT against the square root of the concentration."""
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.add_subplot()
    points = result["points"]
    root = [point["mol_per_l"] ** 0.5 for point in points]
    axes.plot(
        root, [p["hypernetted_chains"] for p in points], "k-", lw=1, label="hypernetted chain"
    )
    values, errors = zip(*PUBLISHED.values(), strict=True)
    axes.errorbar([c**0.5 for c in PUBLISHED], values, errors, fmt="s", mfc="none", capsize=3,
                  label="Rasaiah, Card and Valleau (1972)")  # fmt: skip
    axes.errorbar(root, [p["energy"] for p in points], [p["energy_error"] for p in points],
                  fmt="o", ms=4, capsize=3, label="manymove")  # fmt: skip
    axes.set(
        xlabel="square root of the concentration (mol/l)$^{1/2}$", ylabel="energy $-U/NkT$",
        title=f"{result['ions']} ions +1:-1, diameter {DIAMETER} Å, $l_B$ = {BJERRUM_LENGTH} Å",
    )  # fmt: skip
    axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1, device="auto")
    parser.option("--ions", 512, "Even number of ions.")
    parser.option("--sweeps", 10000)
    parser.option("--equilibrate", 500, "Sweeps before these.")
    quick = {"ions": 256, "sweeps": 500, "equilibrate": 50}
    options = script.parse(parser, "energies", quick, draw=draw)
    points = []
    for concentration, published in PUBLISHED.items():
        point = state(options, concentration)
        points.append(point)
        print(
            f"{concentration:<8g} {with_error(point['energy'], point['energy_error'])}  "
            f"published {with_error(*published)}  "
            f"hypernetted chain {point['hypernetted_chains']:.5f}"
        )
    system = {"diameter": DIAMETER, "bjerrum_length": BJERRUM_LENGTH}
    script.finish(options, {**system, "points": points}, draw)


if __name__ == "__main__":
    script.run_script(main)
