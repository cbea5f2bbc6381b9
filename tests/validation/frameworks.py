"""Henry coefficients of CO2 and CH4 in every CIF file of a folder, compared with direct sums.

    PYTHONPATH=.. python frameworks.py FOLDER --json result.json

Each file comes out with its Henry coefficients, or it is refused with the reason. The engine reads
the file with `read_framework`; the direct sum (tests/support/direct_henry.py) reads it with gemmi
and has its own Ewald sum, mixing rules and parameters of the table of UFF. The charges are those of
the file; a file without charges is run with methane, and with CO2 if --zero is given. Pockets
count in both, because blocked pockets are a choice of the engine. A difference above 1 % and three
joint standard errors ends the script with the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

import gemmi
import numpy as np

from manymove import Adsorption, EnergyGrid, Interactions
from manymove.adsorption import CH4, CO2, UFF, Framework, Molecule, read_framework
from manymove.info import record
from manymove.jobs.report import write_json

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

import direct_henry

CUTOFF, TEMPERATURE = 12.0, 298.15
KCAL = 4184 / 8.31446261815324  # kelvin


def laws() -> dict[str, tuple[float, float]]:
    """(epsilon, sigma) of UFF in kelvin and angstrom, from its distances and depths of minima."""
    text = (files("manymove") / "data" / "UFF.json").read_text()
    table = json.loads(text)["parameters"]
    return {element: (depth * KCAL, x / 2 ** (1 / 6)) for element, (x, depth) in table.items()}


def solid_of(path: Path, charged: bool) -> direct_henry.Solid:
    """The unit cell of a file as gemmi expands it, without the engine's cell with right angles."""
    text = re.sub(r"""(['"])\s*,[ \t]*$""", r"\1", path.read_text(errors="replace"), flags=re.M)
    document = gemmi.cif.read_string(text)
    (block,) = [b for b in document if len(b.find_values("_atom_site_fract_x"))]
    structure = gemmi.make_small_structure_from_block(block)
    if structure.spacegroup is None and not structure.symops and structure.spacegroup_number > 1:
        number = structure.spacegroup_number
        structure.spacegroup = gemmi.find_spacegroup_by_number(number)
        structure.setup_cell_images()
    column = block.find_values("_atom_site_charge")
    charges = [gemmi.cif.as_number(q) if charged else 0.0 for q in column] or [0.0] * len(
        structure.sites
    )
    for index, site in enumerate(structure.sites):
        site.label = str(index)
    sites = structure.get_all_unit_cell_sites()
    return direct_henry.Solid(
        np.array(structure.cell.orth.mat.tolist()).T,
        np.array([site.fract.tolist() for site in sites]),
        [site.element.name for site in sites],
        np.array([charges[int(site.label)] for site in sites]),
        sum(site.element.weight for site in sites),
    )


def measured(
    framework: Framework, gas: Molecule, charges: Any, error: float
) -> tuple[float, float]:
    """The engine's Henry coefficient in mol/(kg Pa), and its relative standard error."""
    a = Adsorption(
        framework, 1, adsorbates=gas, method="plj", temperature=TEMPERATURE, systems=64, seed=1,
        interactions=Interactions(
            CUTOFF, UFF, framework_charges=charges, grid=EnergyGrid(barrier=None)
        ),
        device="cpu",
    )  # fmt: skip
    insertions, sums, total = 5000, np.zeros((64, 2)), 0
    while True:
        sums = sums + a.insert_into_framework(insertions)
        total += insertions
        found, _ = a.henry_of(sums, total)
        if found.error < error * found.value or total >= 2_560_000:
            return found.value, found.error / found.value
        insertions = total


def compared(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """An entry of the record."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        entry: dict[str, Any] = {"file": path.name}
        try:
            framework = read_framework(path)
            entry |= {
                "formula": framework.formula, "atoms": len(framework.elements),
                "tilted": any(framework.tilt), "charges": framework.charges is not None,
            }  # fmt: skip
            for gas in (CH4, CO2):
                entry[gas.name] = of_gas(path, framework, gas, options)
        except ValueError as error:
            entry["refused"] = str(error).replace(str(path), path.name)
    entry["warnings"] = sorted({str(w.message).replace(str(path), path.name) for w in told})
    return entry


def of_gas(
    path: Path, framework: Framework, gas: Molecule, options: argparse.Namespace
) -> dict[str, Any]:
    begin = time.monotonic()
    polar = any(site.charge for site in gas.sites)
    none = framework.charges is None or not framework.charges.any()
    charges = "zero" if polar and options.zero and none else None
    value, error = measured(framework, gas, charges, options.error / 2)
    middle = time.monotonic()
    guest = direct_henry.Guest(
        gas.positions,
        np.array([(site.epsilon, site.sigma) for site in gas.sites]),
        np.array([site.charge for site in gas.sites]),
    )
    solid = solid_of(path, polar and charges is None)
    energy = direct_henry.Energy(solid, guest, laws(), CUTOFF, UFF.potential)
    direct, spread = direct_henry.henry(
        energy, TEMPERATURE, error=options.error, poses=options.poses, most=options.batches
    )
    joint = math.hypot(error, spread)
    return {
        "henry": value, "direct": float(direct), "ratio": float(value / direct),
        "error": float(error), "direct_error": float(spread),
        "agrees": bool(abs(value / direct - 1) < max(0.01, 3 * joint)),
        "seconds": [round(middle - begin, 1), round(time.monotonic() - middle, 1)],
        **({"charges": "zero"} if charges == "zero" else {}),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--zero", action="store_true", help="CO2 without charges of the framework")
    parser.add_argument("--error", type=float, default=0.005, help="relative error of the sums")
    parser.add_argument("--poses", type=int, default=20_000, help="poses of a batch")
    parser.add_argument("--batches", type=int, default=30, help="largest number of batches")
    parser.add_argument("--json", type=Path, help="file of the record")
    options = parser.parse_args()
    entries = []
    for path in sorted(options.folder.glob("*.cif")):
        entries.append(compared(path, options))
        print(json.dumps(entries[-1]), flush=True)
    if options.json:
        write_json(options.json, {**record(), "frameworks": entries})
    both = [entry[gas] for entry in entries for gas in ("CH4", "CO2") if gas in entry]
    wrong = sum(not each["agrees"] for each in both)
    refused = sum("refused" in entry for entry in entries)
    print(f"files: {len(entries)}, refused: {refused}, coefficients: {len(both)}, wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
