"""gRASPA as a peer of `python -m benchmarks adsorption --merit`.

Z. Li, K. Shi, D. Dubbeldam, M. Dewing, C. Knight, A. Vazquez-Mayagoitia, R. Q. Snurr, J. Chem.
Theory Comput. 20, 10649 (2024). The environment variable MANYMOVE_GRASPA is the path of its
program, which is not part of this project. The program gets the framework, the charges, the
parameters, the cutoff and the fugacity of our engine; it chooses Ewald's parameters itself.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.series import Series
from manymove.adsorption.charges import Given, charges_of_framework
from manymove.adsorption.force_field import ForceField, Law
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.molecules import Molecule

PROGRAM = "MANYMOVE_GRASPA"
_STEPS = 20  # steps in a cycle, after which it prints the number of molecules
PRECISION = 1e-6  # relative precision of Ewald's sum


def program() -> Path | None:
    """The program of gRASPA; None if the environment variable is not set.

    Raises:
        ValueError: there is no such file.
    """
    path = os.environ.get(PROGRAM)
    if not path:
        return None
    if not Path(path).is_file():
        raise ValueError(f"{PROGRAM} is {path}, which is not a file")
    return Path(path).resolve()


def series(
    program: Path,
    *,
    framework: Framework,
    molecule: Molecule,
    force_field: ForceField,
    cells: tuple[int, int, int],
    temperature: float,
    fugacity: float,
    cutoff: float,
    molecules: int,
    exchange: float,
    reinsertion: float,
    trials: tuple[int, int],
    seconds: float,
    seed: int,
    charges: Given = None,
    processes: int = 1,
) -> list[Series]:
    """Numbers of molecules of an open system after each of its cycles, a series for each process.

    Args:
        program: path of gRASPA's program.
        framework, molecule, force_field, cells, temperature, fugacity, cutoff: the system, in the
            units of `Adsorption`.
        molecules: number of molecules at the start, which gRASPA inserts itself.
        exchange, reinsertion: shares of these moves; the others are displacements and rotations.
        trials: numbers of trial positions and of trial orientations.
        seconds: duration of the measurement, after an equilibration of a quarter of it.
        seed: seed of its random numbers, to which each process adds its number.
        charges: argument `framework_charges` of `Adsorption`.
        processes: number of processes that run at the same time on the same device.

    Raises:
        RuntimeError: the program failed.
    """
    texts = {
        "framework.cif": cif(framework, force_field, charges),
        "guest.def": _definition(molecule),
        "force_field_mixing_rules.def": _rules(framework, molecule, force_field),
        "pseudo_atoms.def": _atoms(framework, molecule, force_field),
    }
    rest = 1.0 - exchange - reinsertion
    turning = rest / 2 if len(molecule.sites) > 1 else 0.0
    shares = {
        "TranslationProbability": rest - turning,
        "RotationProbability": turning,
        "ReinsertionProbability": reinsertion,
        "SwapProbability": exchange,
    }

    def run(first: int, cycles: int, process: int) -> Series:
        values = {
            "NumberOfInitializationCycles": first,
            "NumberOfEquilibrationCycles": 0,
            "NumberOfProductionCycles": cycles,
            "UseMaxStep": "yes",
            "MaxStepPerCycle": _STEPS,
            "UseChargesFromCIFFile": "yes",
            "RestartFile": "no",
            "RandomSeed": (seed + process) % 2**31,
            "NumberOfTrialPositions": trials[0],
            "NumberOfTrialOrientations": trials[1],
            "NumberOfBlocks": 5,
            "AdsorbateAllocateSpace": 10240,
            "NumberOfSimulations": 1,
            "SingleSimulation": "yes",
            "PrintEvery": 1,
            "MoviesEvery": 10**9,
            "SaveOutputToFile": "yes",
            "InputFileType": "cif",
            "FrameworkName": "framework",
            "UnitCells": "0 " + " ".join(map(str, cells)),
            "ChargeMethod": "Ewald",
            "Temperature": temperature,
            "Pressure": fugacity * 1e5,
            "OverlapCriteria": 1e6,
            "CutOffVDW": cutoff,
            "CutOffCoulomb": cutoff,
            "EwaldPrecision": PRECISION,
        }
        guest = {
            "IdealGasRosenbluthWeight": 1.0,
            "FugacityCoefficient": 1.0,
            **shares,
            "CreateNumberOfMolecules": molecules,
        }
        lines = [f"{name} {value}" for name, value in values.items()]
        lines.append("Component 0 MoleculeName             guest")
        lines += [f"            {name} {value}" for name, value in guest.items()]
        return _result(program, texts | {"simulation.input": "\n".join(lines) + "\n"}, first)

    with ThreadPoolExecutor(processes) as pool:

        def together(first: int, cycles: int) -> list[Series]:
            return list(pool.map(lambda process: run(first, cycles, process), range(processes)))

        slowest = max(each.seconds for each in together(0, 100))
        cycles = max(200, int(100 * seconds / slowest))
        return together(cycles // 4, cycles)


def _result(program: Path, texts: Mapping[str, str], first: int) -> Series:
    """Run the program in a new folder with these files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in texts.items():
            (folder / file).write_text(text)
        done = subprocess.run(
            [program], cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        found = list((folder / "Output").glob("*.data"))
        output = found[0].read_text(errors="replace") if found else done.stderr
    return read_output(output, first, f"{done.stdout}\n{done.stderr}")


def read_output(output: str, first: int, messages: str) -> Series:
    """The measurement in gRASPA's output.

    Args:
        output: content of its output file.
        first: number of cycles before the measurement, whose time is subtracted.
        messages: what the program printed, for the error.

    Raises:
        RuntimeError: the output has no measurement, or no time.
    """
    pattern = r"PRODUCTION Cycle: \d+, (\d+) Adsorbate Molecules"
    numbers = np.array(re.findall(pattern, output), dtype=float)
    took = re.search(r"Work took ([\d.]+) seconds", output)
    if not len(numbers) or took is None:
        end = "\n".join((output + messages).strip().splitlines()[-8:])
        raise RuntimeError(f"gRASPA printed no measurement; its last lines:\n{end}")

    def count(name: str) -> int:
        return int((re.findall(rf"{name}: +(\d+)", output) or [0])[-1])

    tried = count("Insertion Performed") + count("Deletion Performed")
    taken = count("Insertion Accepted") + count("Deletion Accepted")
    share = len(numbers) / (first + len(numbers))
    return Series(
        numbers, np.full(len(numbers), float(_STEPS)), float(took[1]) * share,
        taken / tried if tried else math.nan,
    )  # fmt: skip


# ---- files ---------------------------------------------------------------------------------------


def cif(
    framework: Framework, force_field: ForceField, given: Given = None, *, numbered: bool = True
) -> str:
    """A CIF file of the unit cell with charges; labels are the elements, numbered or not.

    Args:
        framework, force_field: the framework, and the force field with its charges, if it has any.
        given: argument `framework_charges` of `Adsorption`.

    Raises:
        ValueError: the cell has no right angles.
    """
    angles = ("alpha", "beta", "gamma")
    if any(framework.tilt):
        raise ValueError("the comparison with gRASPA and kUPS needs a cell with right angles")
    lines = ["data_framework", ""]
    lines += [f"_cell_length_{k} {x:.8f}" for k, x in zip("abc", framework.cell, strict=True)]
    lines += [f"_cell_angle_{angle} 90" for angle in angles]
    lines += ["", "loop_"]
    columns = ("label", "type_symbol", "fract_x", "fract_y", "fract_z", "charge")
    lines += [f"_atom_site_{name}" for name in columns]
    found = charges_of_framework(framework, force_field, given)
    charges = found or [0.0] * len(framework.elements)
    for k, (element, place, charge) in enumerate(
        zip(framework.elements, framework.fractional, charges, strict=True)
    ):
        where = " ".join(f"{x % 1.0:.10f}" for x in place)
        label = f"{element}{k + 1}" if numbered else element
        lines.append(f"{label} {element} {where} {charge:.6f}")
    return "\n".join(lines) + "\n"


def _definition(molecule: Molecule) -> str:
    """The molecule, with critical constants that are not used."""
    sites = molecule.sites
    lines = ["# critical constants", "300.0", "5000000.0", "0.1", "# number of atoms"]
    lines += [str(len(sites)), "# number of groups", "1", "# group", "rigid"]
    lines += ["# number of atoms", str(len(sites)), "# positions"]
    for k, site in enumerate(sites):
        lines.append(f"{k} {site.label} " + " ".join(f"{x:.10f}" for x in site.position))
    return "\n".join([*lines, "# the rest is not read", ""])


def _types(framework: Framework, molecule: Molecule) -> tuple[list[str], dict[str, int]]:
    elements = sorted(set(framework.elements))
    return elements, {site.label: k for k, site in enumerate(molecule.sites)}


def laws(framework: Framework, molecule: Molecule, force_field: ForceField) -> dict[str, Law]:
    """Epsilon in kelvin and sigma in angstrom of the elements and of the labels of the sites."""
    elements, labels = _types(framework, molecule)
    found = {name: force_field.law_of_atom(name, name) for name in elements}
    found |= {
        name: (molecule.sites[k].epsilon, molecule.sites[k].sigma) for name, k in labels.items()
    }
    return found


def _rules(framework: Framework, molecule: Molecule, force_field: ForceField) -> str:
    found = laws(framework, molecule, force_field)
    lines = ["# shifted or truncated", force_field.potential, "# tail corrections", "no"]
    lines += ["# number of interactions", str(len(found)), "# type, parameters"]
    lines += [f"{name} lennard-jones {eps:.8f} {sigma:.8f}" for name, (eps, sigma) in found.items()]
    return "\n".join([*lines, "# mixing rule", "Lorentz-Berthelot", ""])


def _atoms(framework: Framework, molecule: Molecule, force_field: ForceField) -> str:
    elements, labels = _types(framework, molecule)
    charges = {name: force_field.charges.get(name, 0.0) for name in elements}
    charges |= {name: molecule.sites[k].charge for name, k in labels.items()}
    lines = ["# number of atoms", str(len(charges)), "# type print as chem oxi mass charge pol"]
    lines += [f"{name} yes C C 0 14.0 {charge:.8f} 0.0" for name, charge in charges.items()]
    return "\n".join([*lines, ""])
