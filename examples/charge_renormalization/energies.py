"""Energies of 1:1 electrolytes beside those of the hypernetted-chain equation.

python energies.py --json energies.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from manymove import Electrolyte
from manymove.analysis import hypernetted_chain
from manymove.analysis.ions import Salt
from manymove.analysis.notation import with_error
from manymove.analysis.pressure import blocking_error
from manymove.bench.harness import machine
from manymove.jobs.report import write_json

DIAMETER, BJERRUM_LENGTH = 4.25, 7.1432  # angstrom
CONCENTRATIONS = (0.10376, 0.42502, 1.0001)  # mol/l


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
    energies = -ions.energies[options.equilibrate :] / ions.N
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ions", type=int, default=512, help="an even number")
    parser.add_argument("--sweeps", type=int, default=10000)
    parser.add_argument("--equilibrate", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", type=Path, default=Path("energies.json"))
    options = parser.parse_args()
    settings = {key: vars(options)[key] for key in ("ions", "sweeps", "equilibrate", "seed")}
    result = {**machine(), **settings, "diameter": DIAMETER, "bjerrum_length": BJERRUM_LENGTH}
    result["points"] = []
    for concentration in CONCENTRATIONS:
        point = state(options, concentration)
        result["points"].append(point)
        print(
            f"{concentration:<8g} {with_error(point['energy'], point['energy_error'])}  "
            f"hypernetted chains {point['hypernetted_chains']:.5f}"
        )
    write_json(options.json, result)


if __name__ == "__main__":
    main()
