# SPDX-License-Identifier: BSD-3-Clause
"""Loads mutated files, the same ones in every run. Prints each case before it is loaded, so that
the test knows which one has ended this process.

Use: fuzz_program.py TARGET FIRST COUNT FOLDER. The cases are numbered; FIRST and COUNT = 1 repeat
one, whose file stays in the folder.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from adsorption_model import GAS
from damage import damaged, damaged_words
from flat_settings import of_adsorption

from manymove import (
    Adsorption,
    ConstantPressure,
    DPDFluid,
    Electrolyte,
    HardDisks,
    HardSpheres,
    Sphere,
    checkpoint,
)
from manymove.adsorption import CO2, TRAPPE_ZEO
from manymove.adsorption.force_field import ForceField
from manymove.adsorption.frameworks import Framework, read_framework
from manymove.adsorption.molecule_files import read_species
from manymove.analysis.ions import Salt
from manymove.io import FrameWriter, make_frame, read_frame

SECONDS = 30  # for a case
MEMORY = 8 << 30  # bytes of address space

HERE = {"seed": 1, "device": "cpu", "threads": 1}
# A framework of a few atoms, whose energies are soon on a grid.
SMALL = {
    "cells": (1, 1, 1), "cutoff": 4.0, "temperature": 300.0, "interpolation": "cubic",
    "grid_spacing": 0.5, "systems": 2,
}  # fmt: skip
ATOMS = Framework(
    "small", (12.0, 12.5, 13.0), np.array([[0.1, 0.2, 0.3], [0.6, 0.1, 0.8], [0.4, 0.7, 0.2]]),
    ("O", "O", "Si"), 60.0,
)  # fmt: skip


def disks() -> HardDisks:
    made = HardDisks.random(60, 0.5, **HERE)
    made.sample_pressure(1)
    return made


def pressure() -> HardSpheres:
    return HardSpheres.random(40, 0.3, pressure=ConstantPressure(2.0, delta=0.05), **HERE)


def mixture() -> HardSpheres:
    sizes = np.linspace(0.8, 1.2, 600)
    return HardSpheres.random(600, 0.3, diameter=sizes, swaps=1, **HERE)


def ions() -> Electrolyte:
    made = Electrolyte.random(Salt.of(40, (3, -1), (7.5, 7.5)), box=Sphere(60.0), **HERE)
    made.sample_pair_correlations(1, bin_width=5.0)
    return made


def ewald() -> Electrolyte:
    salt = Salt.of(40, (1, -1), (4.0, 4.0))
    made = Electrolyte.random(salt, box=(40.0, 40.0, 40.0), **HERE)
    made.sample_structure_factors(1)
    return made


def closed() -> Adsorption:
    return Adsorption(
        **of_adsorption(
            framework=ATOMS,
            molecules=2,
            adsorbates=GAS,
            method="mdp",
            profile="z",
            bins=4,
            **SMALL,
            **HERE,
        )
    )


def opened() -> Adsorption:
    return Adsorption(
        **of_adsorption(
            framework=ATOMS,
            molecules=1,
            adsorbates=GAS,
            method="plj",
            fugacity=5.0,
            capacity=4,
            **SMALL,
            **HERE,
        )
    )


def rigid() -> Adsorption:
    return Adsorption(
        **of_adsorption(
            framework=ATOMS,
            molecules=2,
            adsorbates=CO2,
            force_field=TRAPPE_ZEO,
            method="mdp",
            **SMALL,
            **HERE,
        )
    )


def dpd() -> DPDFluid:
    return DPDFluid.random(100, 3.0, record_every=1, **HERE)


CHECKPOINTS: dict[str, Callable[[], Any]] = {
    one.__name__: one for one in (disks, pressure, mixture, ions, ewald, closed, opened, rigid, dpd)
}

STRANGE: tuple[Any, ...] = (
    None, True, "", "x", "nan", "0", [], {}, [None], [[]], -1, 0, 1, 2, 7, 1.5, -0.5, 1e-300,
    1e300, -1e300, float("nan"), float("inf"), 2**31 - 1, 2**31, -(2**31), 2**32, 2**63, 2**64,
    10**30, "; shell true", "$x\n", {"kind": 1}, [1, 2, 3],
)  # fmt: skip


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all entries of a header, including lists and dictionaries."""
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    return [p for key, value in items for p in ((*path, key), *leaves(value, (*path, key)))]


def mutate_header(random: np.random.Generator, header: dict[str, Any]) -> str:
    every = leaves(header)
    path = every[random.integers(len(every))]
    at = header
    for key in path[:-1]:
        at = at[key]
    last, how = path[-1], int(random.integers(8))
    if how == 0:
        del at[last]
        return f"{path} deleted"
    if how == 1:
        other = every[random.integers(len(every))]
        value = header
        for key in other:
            value = value[key]
        at[last] = json.loads(json.dumps(value))
        return f"{path} as in {other}"
    if how == 2 and isinstance(at[last], (int, float)):
        at[last] = at[last] * float(random.normal(1, 0.5)) + float(random.normal())
        return f"{path} = {at[last]}"
    if how == 3 and isinstance(at[last], int):
        at[last] += int(random.integers(-3, 4))
        return f"{path} = {at[last]}"
    if how == 4 and isinstance(at[last], list):
        at[last] = at[last][1:] if random.random() < 0.5 else at[last] + at[last][:1]
        return f"{path} is shorter or longer"
    at[last] = STRANGE[random.integers(len(STRANGE))]
    return f"{path} = {at[last]!r}"


def mutate_array(random: np.random.Generator, arrays: dict[str, np.ndarray]) -> str:
    name = sorted(arrays)[random.integers(len(arrays))]
    array, how = arrays[name].copy(), int(random.integers(9))
    flat = array.reshape(-1)
    some = random.integers(0, max(1, flat.size), size=random.integers(1, 4))
    if how <= 3 and flat.size:
        if array.dtype.kind == "f":
            values = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e15, -1.0, 0.0, 1e-300)
            with np.errstate(over="ignore"):
                flat[some] = np.array(values, array.dtype)[random.integers(len(values))]
        elif array.dtype.kind in "iu":
            info = np.iinfo(array.dtype)
            values = (info.min, info.max, 0, 1, info.max // 2, info.max - 1)
            flat[some] = values[random.integers(len(values))]
        what = f"{name}{list(map(int, some))} = {flat[some[:1]]}"
    elif how == 4:
        array, what = array[: len(array) // 2] if array.ndim else array, f"{name} is halved"
    elif how == 5:
        array, what = array[..., None], f"{name} has one more axis"
    elif how == 6:
        array, what = np.concatenate([array, array]) if array.ndim else array, f"{name} is doubled"
    elif how == 7:
        array, what = array[:0] if array.ndim else array, f"{name} is empty"
    else:
        array, what = random.permutation(array) if array.ndim else array, f"{name} is shuffled"
    arrays[name] = array
    if random.random() < 0.05:
        del arrays[name]
        what = f"{name} is missing"
    return what


def checkpoints(name: str, folder: Path) -> Callable[[int], tuple[str, Callable[[], object]]]:
    made = CHECKPOINTS[name]()
    made.run(3)
    made.save(folder / "whole")
    kind = type(made)
    with np.load(folder / "whole") as file:
        whole = dict(file)
    text = str(whole.pop("header"))

    def case(number: int) -> tuple[str, Callable[[], object]]:
        random = np.random.default_rng((7, max(0, number)))
        header, arrays, labels = json.loads(text), dict(whole), []
        for _ in range(random.integers(1, 3) if number >= 0 else 0):
            if random.random() < 0.65:
                labels.append(mutate_header(random, header))
            elif arrays:
                labels.append(mutate_array(random, arrays))
        with open(folder / "state", "wb") as file:
            np.savez(file, header=json.dumps(header), **arrays)

        def load() -> None:
            state = kind.load(folder / "state", device="cpu", threads=1)
            check(state)
            try:
                state.run(1)
            except (ValueError, RuntimeError, MemoryError) as error:
                print("    run:", error)

        return "; ".join(labels), load

    return case


def check(state: Any) -> None:
    """All numbers of a state are finite."""
    # Adsorbates have sums of squares, which must stay finite.
    most = 1e250 if isinstance(state, Adsorption) else np.inf
    snapshot = state._engine.snapshot()
    for name, value in snapshot.items():
        array = np.asarray(value)
        if array.dtype.kind == "f" and not (np.abs(array) < most).all():
            raise AssertionError(f"{name} of the engine has numbers that are not finite or absurd")
    assert len(state.state_hash) == 16


# ---- other files -------------------------------------------------------------------------------

DEF = """# critical constants
304.1
7377300.0
0.22
3
1
# group
rigid
3
0 O_co2 0 0 1.16
1 C_co2 0 0 0
2 O_co2 0 0 -1.16
# bonds
0 2 0 0 0 0 0 0 0 0 0 0 0 0 0
0 1 RIGID_BOND
1 2 RIGID_BOND
0
"""
MOLECULE = {
    "CriticalTemperature": 304.1, "CriticalPressure": 7377300, "AcentricFactor": 0.22,
    "Type": "rigid", "Bonds": [[0, 1], [1, 2]],
    "pseudoAtoms": [["O_co2", [0, 0, 1.16]], ["C_co2", [0, 0, 0]], ["O_co2", [0, 0, -1.16]]],
}  # fmt: skip
CHAIN = {
    "name": "propane", "bonds": 1.54, "bends": [62500.0, 114.0], "molar_mass": 44.1,
    "critical_temperature": 369.89, "critical_pressure": 42.512, "acentric_factor": 0.1521,
    "beads": [
        {"label": "CH3_sp3", "epsilon": 98.0, "sigma": 3.75},
        {"label": "CH2_sp3", "epsilon": 46.0, "sigma": 3.95},
        {"label": "CH3_sp3", "epsilon": 98.0, "sigma": 3.75},
    ],
}  # fmt: skip
FIELD = {
    "PseudoAtoms": [{"name": "O", "charge": -0.5}, {"name": "C", "charge": 0}],
    "SelfInteractions": [
        {"name": "O", "type": "lennard-jones", "parameters": [79.0, 3.05]},
        {"name": "C", "type": "lennard-jones", "parameters": [27.0, 2.8]},
    ],
    "BinaryInteractions": [{"names": ["O", "C"], "parameters": [20.0, 3.0]}],
    "MixingRule": "Lorentz-Berthelot", "TruncationMethod": "truncated", "TailCorrections": True,
}  # fmt: skip
LABELS = ForceField(
    {"O_co2": (79.0, 3.05), "C_co2": (27.0, 2.8), "CH3_sp3": (98.0, 3.75), "CH2_sp3": (46.0, 3.95)},
    {"O_co2": -0.35, "C_co2": 0.7},
)
FIELD_DEF = """# general rule for shifted vs truncated
shifted
# general rule tailcorrections
no
# number of defined interactions
3
# type interaction
O_ lennard-jones 53.0 3.3
C_co2 lennard-jones 27.0 2.8
He none
# mixing rule
Lorentz-Berthelot
"""
PSEUDO_DEF = """#number of pseudo atoms
2
#type print as chem oxidation mass charge polarization B-factor radii connectivity
O_ yes O O 0 15.9994 -0.5 0.0 1.0 0.5 2 0 absolute 0
C_co2 yes C C 0 12.0 0.7 0.0 1.0 0.72 0 1 relative 0
"""
CIF = """data_x
_cell_length_a 9.0
_cell_length_b 9.5(2)
_cell_length_c 10
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'P m m m'
loop_
_symmetry_equiv_pos_as_xyz
'x,y,z'
'-x,-y,z'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
_atom_site_charge
O1 O 0.25 0.5 0.75 1 -1.0
Si1 Si 0 0 0 1 2.0
"""


def species(path: Path) -> None:
    for one in read_species(path, LABELS):
        for name in ("positions", "charges", "epsilon", "sigma"):
            value = getattr(one, name, None)
            assert value is None or np.isfinite(np.asarray(value, dtype=float)).all(), name


def force_field(path: Path) -> None:
    field = ForceField.read(path)
    assert all(np.isfinite(law).all() for law in field.parameters.values() if law)


def framework(path: Path) -> None:
    read = read_framework(path, right_angles=False)
    assert np.isfinite(read.fractional).all() and np.isfinite(read.mass)
    assert all(0 < edge < np.inf for edge in read.cell)


def frame(path: Path) -> None:
    assert np.isfinite(read_frame(path, dimensions=2, mixtures=True).positions).all()


def records(path: Path) -> None:
    checkpoint.read_records(path, 3)


TEXTS: dict[str, tuple[str, str, Callable[[Path], None]]] = {
    "molecule.def": (DEF, "damaged.def", species),
    "molecule.json": (json.dumps(MOLECULE), "damaged.json", species),
    "chain.json": (json.dumps(CHAIN), "damaged.json", species),
    "force_field.json": (json.dumps(FIELD), "damaged.json", force_field),
    "force_field.def": (FIELD_DEF, "force_field_mixing_rules.def", force_field),
    "pseudo_atoms.def": (PSEUDO_DEF, "pseudo_atoms.def", force_field),
    "framework.cif": (CIF, "damaged.cif", framework),
}


def texts(name: str, folder: Path) -> Callable[[int], tuple[str, Callable[[], object]]]:
    text, file, read = TEXTS[name]
    path = folder / file
    if name.endswith(".def") and read is force_field:  # a folder with both files
        (folder / "force_field_mixing_rules.def").write_text(FIELD_DEF)
        (folder / "pseudo_atoms.def").write_text(PSEUDO_DEF)

    def case(number: int) -> tuple[str, Callable[[], object]]:
        if number < 0:
            path.write_text(text)
            return "the whole file", load
        source = json_case(number, text) if name.endswith(".json") and number % 3 == 0 else None
        if source is None and number % 2:
            _, data = next(damaged(text.encode(), 1, seed=number))
            source = data.decode("latin-1")
        elif source is None:
            _, source = next(iter_words(text, number))
        path.write_text(source, encoding="latin-1")
        return file, load

    def load() -> None:
        read(folder if read is force_field and file.endswith(".def") else path)

    return case


def json_case(number: int, text: str) -> str:
    random = np.random.default_rng((8, number))
    tree = json.loads(text)
    mutate_header(random, tree)
    return json.dumps(tree)


def iter_words(text: str, number: int) -> Any:
    every = list(damaged_words(text, 6, seed=number))
    return iter(every[number % 6 :])


def binary(name: str, folder: Path) -> Callable[[int], tuple[str, Callable[[], object]]]:
    if name == "frame.gsd":
        with FrameWriter(folder / "whole", overwrite=True) as trajectory:
            trajectory.write(make_frame(np.zeros((1, 2)), (9.0, 9.0), 1))
            trajectory.write(make_frame(np.array([[1.0, 2.0]]), (9.0, 9.0), 2))
    else:
        checkpoint.write_records(folder / "whole", np.ones((5, 3)), sweeps=5)
    whole, read = (folder / "whole").read_bytes(), frame if name == "frame.gsd" else records

    def case(number: int) -> tuple[str, Callable[[], object]]:
        if number < 0:
            return "the whole file", lambda: read(folder / "whole")
        every = list(damaged(whole, 7, seed=number))
        label, data = every[number % 7]
        (folder / name).write_bytes(data)
        return label, lambda: read(folder / name)

    return case


TARGETS = {
    **dict.fromkeys(CHECKPOINTS, checkpoints),
    **dict.fromkeys(TEXTS, texts),
    **dict.fromkeys(("frame.gsd", "records"), binary),
}


def main(target: str, first: int, count: int, folder: Path) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    case = TARGETS[target](target, folder)
    case(-1)[1]()  # the whole file is read
    refused = wrong = 0
    for number in range(first, first + count):
        label, load = case(number)
        print(f"case {number}: {label!r}"[:300], flush=True)
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            load()
        except MemoryError:  # documented, as the next ones
            refused += 1
        except (ValueError, OSError) as error:
            refused += 1
            if not str(error) or "\n" in str(error) or not str(error).isprintable():
                print(f"  WRONG: {type(error).__name__} with the message {str(error)!r}")
                wrong += 1
        except BaseException as error:
            wrong += 1
            print(f"  WRONG: {type(error).__name__}: {error}", flush=True)
            if count == 1:
                raise
        faulthandler.cancel_dump_traceback_later()
    print(f"end: {count} cases, {refused} refused, {wrong} wrong", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
