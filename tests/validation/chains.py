"""Henry coefficients of propane and n-butane in MFI against RASPA2, which grows chains as well.

    python chains.py --simulate PATH/simulate --cycles 1500

`simulate` is the program of https://github.com/iRASPA/RASPA2, compiled from src/*.c. The Python
interface of RASPA3 cannot define flexible molecules. RASPA2 has stiff harmonic bonds
(96500 K / angstrom^2) instead of fixed ones, and weights of growth in an empty box that are not 1;
both runs are made. The force field is TraPPE-zeo, truncated at 12 angstrom without corrections for
the tail.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from manymove import Adsorption, EnergyGrid, Interactions
from manymove.adsorption import TRAPPE_ZEO, read_framework

TEMPERATURE = 300.0
FIELD = replace(TRAPPE_ZEO, potential="truncated")
CHAINS = {
    "propane": ("369.825\n4247660.0\n0.1524", 3),
    "n-butane": ("425.125\n3796000.0\n0.201", 4),
}


def write_inputs(folder: Path, name: str, cycles: int, empty: bool) -> None:
    constants, n = CHAINS[name]
    framework = read_framework("MFI")
    lengths = "".join(
        f"_cell_length_{axis} {edge}\n" for axis, edge in zip("abc", framework.cell, strict=True)
    )
    angles = "".join(f"_cell_angle_{angle} 90\n" for angle in ("alpha", "beta", "gamma"))
    columns = ("label", "type_symbol", "fract_x", "fract_y", "fract_z", "charge")
    atoms = "".join(
        f"{e} {e} {x:.8f} {y:.8f} {z:.8f} 0\n"
        for e, (x, y, z) in zip(framework.elements, framework.fractional % 1.0, strict=True)
    )
    (folder / "MFI.cif").write_text(
        f"data_MFI\n{lengths}{angles}_symmetry_space_group_name_H-M 'P 1'\n"
        "_symmetry_Int_Tables_number 1\nloop_\n_symmetry_equiv_pos_as_xyz\n 'x,y,z'\nloop_\n"
        + "".join(f"_atom_site_{column}\n" for column in columns)
        + atoms
    )
    laws = {e: FIELD.law_of_atom(e, e) for e in ("O", "Si")} | {"CH3": (98.0, 3.75),
                                                                "CH2": (46.0, 3.95)}  # fmt: skip
    rows = "".join(f"{label} lennard-jones {e} {s}\n" for label, (e, s) in laws.items())
    (folder / "force_field_mixing_rules.def").write_text(
        f"# rule\ntruncated\n# tail\nno\n# number\n4\n# type\n{rows}# mixing\nLorentz-Berthelot\n"
    )
    (folder / "force_field.def").write_text("# rules\n0\n# interactions\n0\n# mixing\n0\n")
    masses = {"O": 15.9994, "Si": 28.0855, "CH3": 15.04, "CH2": 14.03}
    rows = "".join(
        f"{label} yes {label[0]} {label[0]} 0 {mass} 0 0 1 1 2 0 absolute 0\n"
        for label, mass in masses.items()
    )
    (folder / "pseudo_atoms.def").write_text(f"# number\n4\n# columns\n{rows}")
    labels = ["CH3", *["CH2"] * (n - 2), "CH3"]
    bonds = "".join(f"{i} {i + 1} HARMONIC_BOND 96500 1.54\n" for i in range(n - 1))
    bends = "".join(f"{i} {i + 1} {i + 2} HARMONIC_BEND 62500 114\n" for i in range(n - 2))
    torsion = "# torsion\n0 1 2 3 TRAPPE_DIHEDRAL 0.0 355.03 -68.19 791.32\n" if n == 4 else ""
    (folder / f"{name}.def").write_text(
        f"# constants\n{constants}\n# atoms\n{n}\n# groups\n1\n# group\nflexible\n# atoms\n{n}\n"
        "# positions\n" + "".join(f"{i} {label}\n" for i, label in enumerate(labels))
        + f"# numbers\n0 {n - 1} 0 {n - 2} 0 0 {n - 3} 0 0 0 0 0 0 0 0\n# bonds\n{bonds}"
        f"# bends\n{bends}{torsion}# moves\n0\n"
    )  # fmt: skip
    where = "Box 0\nBoxLengths 40 40 40\n" if empty else (
        "Framework 0\nFrameworkName MFI\nUnitCells 2 2 2\n"
    )  # fmt: skip
    (folder / "simulation.input").write_text(
        f"SimulationType MonteCarlo\nNumberOfCycles {cycles}\nNumberOfInitializationCycles 0\n"
        f"PrintEvery {cycles}\nForcefield Local\nCutOff 12.0\nChargeMethod None\n{where}"
        f"ExternalTemperature {TEMPERATURE}\nComponent 0 MoleculeName {name}\n"
        " MoleculeDefinition Local\n IdealGasRosenbluthWeight 1.0\n WidomProbability 1.0\n"
        " CreateNumberOfMolecules 0\n"
    )


def raspa2(simulate: Path, name: str, cycles: int, empty: bool) -> tuple[float, float]:
    """The mean weight, or the Henry coefficient that it gives, with RASPA's error."""
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder), name, cycles, empty)
        subprocess.run(
            [simulate, "simulation.input"], cwd=folder, check=True,
            env={**os.environ, "RASPA_DIR": folder}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        (output,) = Path(folder).glob("Output/System_0/*.data")
        what = "Widom Rosenbluth-weight" if empty else "Henry coefficient"
        found = re.findall(rf"Average {what}: +(\S+) \+/- (\S+)", output.read_text())
    return float(found[-1][0]), float(found[-1][1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulate", type=Path, required=True, help="RASPA2's program")
    parser.add_argument("--cycles", type=int, default=1500, help="of RASPA2, 20 chains in each")
    parser.add_argument("--insertions", type=int, default=1500, help="of each of 32 systems")
    options = parser.parse_args()
    for name in CHAINS:
        a = Adsorption(
            "MFI",
            1,
            adsorbates=name,
            interactions=Interactions(force_field=FIELD, grid=EnergyGrid(barrier=None)),
            temperature=TEMPERATURE,
            method="plj",
            systems=32,
            seed=1,
        )
        coefficient, heat = a.henry(options.insertions)
        ideal, ideal_error = raspa2(options.simulate.resolve(), name, options.cycles, True)
        value, error = raspa2(options.simulate.resolve(), name, options.cycles, False)
        relative = (error / value) ** 2 + (ideal_error / ideal) ** 2
        other = f"{value / ideal:.4g} +- {value / ideal * relative**0.5:.2g}"
        print(f"{name}: manymove {coefficient} mol/(kg Pa), heat {heat} kJ/mol; RASPA2 {other}")


if __name__ == "__main__":
    main()
