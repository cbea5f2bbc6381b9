"""Henry coefficients of methane in CIF files by sums over a mesh, without statistical errors.

    PYTHONPATH=.. python quadrature.py FILE... --json result.json

For each file, the sum over the same mesh has the energies of the engine's grid, with two spacings,
its direct energies, and the independent ones of tests/support/direct_henry.py. The ratio of the
first to the last is the error by interpolation alone.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from frameworks import CUTOFF, TEMPERATURE, direct_henry, laws, solid_of

from manymove import Adsorption, EnergyGrid, Interactions
from manymove.adsorption import CH4, UFF, Framework, read_framework
from manymove.info import record
from manymove.jobs.report import write_json

HIGHEST = 60  # temperatures: of energies that are summed directly


def systems(framework: Framework, spacing: float) -> Adsorption:
    grid = EnergyGrid(spacing=spacing, barrier=None)
    laws_of = Interactions(CUTOFF, UFF, grid=grid)
    return Adsorption(framework, 1, adsorbates=CH4, method="plj", temperature=TEMPERATURE,
                      systems=1, seed=1, interactions=laws_of, device="cpu")  # fmt: skip


def compared(path: Path, spacing: float) -> dict[str, Any]:
    """An entry of the record."""
    framework = read_framework(path)
    solid = solid_of(path, charged=False)
    site = CH4.sites[0]
    guest = direct_henry.Guest(
        CH4.positions, np.array([(site.epsilon, site.sigma)]), np.array([0.0])
    )
    energy = direct_henry.Energy(solid, guest, laws(), CUTOFF, UFF.potential)
    points = np.ceil(np.linalg.norm(framework.edges, axis=1) / spacing).astype(int)
    mesh = np.stack(np.meshgrid(*[np.arange(n) / n for n in points], indexing="ij"), -1)
    xyz = np.ascontiguousarray(mesh.reshape(-1, 3) @ framework.edges)
    unit = solid.volume * 1e-30 / (direct_henry.BOLTZMANN * TEMPERATURE)
    unit /= solid.mass * 1e-3
    found: dict[str, Any] = {"file": path.name, "mesh": points.tolist()}
    for name, a in {each: systems(framework, float(each)) for each in ("0.2", "0.1")}.items():
        energies = a._engine.framework_energies(xyz, 0, False) + energy.tail
        found[f"grid of {name} angstrom"] = float(np.exp(-energies / TEMPERATURE).mean() * unit)
    low = energies < energies.min() + HIGHEST * TEMPERATURE
    direct = a._engine.framework_energies(np.ascontiguousarray(xyz[low]), 0, True) + energy.tail
    found["direct"] = float(np.exp(-direct / TEMPERATURE).sum() / len(xyz) * unit)
    found["independent"] = direct_henry.quadrature(energy, TEMPERATURE, spacing)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--spacing", type=float, default=0.1, help="of the mesh, in angstrom")
    parser.add_argument("--json", type=Path, help="file of the record")
    options = parser.parse_args()
    entries = []
    for path in options.files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entries.append(compared(path, options.spacing))
        print(json.dumps(entries[-1]), flush=True)
    if options.json:
        write_json(options.json, {**record(), "spacing": options.spacing, "frameworks": entries})


if __name__ == "__main__":
    main()
