# SPDX-License-Identifier: BSD-3-Clause
"""Species of adsorbates from files: molecules of RASPA2 and RASPA3, and files of this package."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from manymove.adsorption.adsorbates import Adsorbate
from manymove.adsorption.chains import SHIPPED_CHAINS, Chain, chain_of, shipped_chain
from manymove.adsorption.force_field import NONE, ForceField, OfFile, words_of
from manymove.adsorption.molecules import SHIPPED_MOLECULES, Molecule, Site

Species = Adsorbate | Molecule | Chain
Source = str | os.PathLike[str]
PASCAL = 1e-5  # bar
# Keys of RASPA3 with potentials that change the shape of a molecule, in lower case.
_INTERNAL = (
    "ureybradleys", "bends", "inversionbends", "outofplanebends", "torsions", "impropertorsions",
    "bondbonds", "bondbends", "bondtorsions", "bendbends", "bendtorsions",
)  # fmt: skip
_FIXED = ("fixed", "rigid", "fixed_bond", "rigid_bond")


@dataclass(frozen=True)
class _Shape:
    """The contents of a molecule file of RASPA, which has neither parameters nor charges."""

    atoms: Sequence[tuple[str, tuple[float, ...]]]  # label and position
    gas: tuple[float, float, float]  # critical temperature, critical pressure in Pa, acentric f.


def read_molecule(source: Source, force_field: ForceField | None = None) -> Molecule | Chain:
    """Read a rigid molecule or a chain from a file, or one of the molecules of the package.

    Args:
        source: name of a shipped molecule ("CO2", "N2", "CH4", "C2H6" or "H2O"; of a chain
            "ethane", "propane", "n-butane", "n-pentane" or "n-hexane"), or the path of a
            molecule file of RASPA3 (JSON), of RASPA2 (.def), or of this package (JSON with the
            attributes of `Molecule`, and those of `Site` for each of its `sites`, or with those of
            `Chain`, and those of `Bead` for each of its `beads`).
        force_field: parameters and charges of the labels. Files of RASPA need it, because they
            contain positions only.

    Returns:
        the molecule. Its name is the file's name without the extension unless the file has one.
        The positions of a file of RASPA are shifted so that their mean is the center.

    Raises:
        FileNotFoundError: there is neither a shipped molecule of this name nor such a file.
        OSError: the file cannot be read.
        ValueError: the file cannot be parsed, the molecule of a file of RASPA is flexible, a
            molecule is charged or has too many sites, or the force field lacks a label.
    """
    if str(source) in SHIPPED_MOLECULES:
        return SHIPPED_MOLECULES[str(source)]
    if str(source) in SHIPPED_CHAINS:
        return shipped_chain(str(source))
    found = read_species(source, force_field)
    if len(found) != 1 or not isinstance(found[0], (Molecule, Chain)):
        raise ValueError(f"{source} does not have exactly one molecule with sites")
    return found[0]


def species_of(given: Any, force_field: ForceField | None) -> list[Species]:
    """The species of an argument `adsorbates`: an object, a name, a path, or a list of these."""
    several = isinstance(given, Sequence) and not isinstance(given, str)
    found: list[Species] = []
    for one in given if several else [given]:
        if isinstance(one, (Adsorbate, Molecule, Chain)):
            found.append(one)
        elif str(one) in SHIPPED_MOLECULES:
            found.append(SHIPPED_MOLECULES[str(one)])
        elif str(one) in SHIPPED_CHAINS:
            found.append(shipped_chain(str(one)))
        elif isinstance(one, (str, os.PathLike)):
            found.extend(read_species(one, force_field))
        else:
            raise TypeError(f"adsorbates must be Adsorbate, Molecule, Chain or paths, got {one!r}")
    return found


def read_species(source: Source, force_field: ForceField | None = None) -> list[Species]:
    """Read all species of a file.

    Args:
        source: path of a file as for `read_molecule`, or of a JSON file with the attributes of
            `Adsorbate`, `Molecule` or `Chain`, or with a list of such objects.
        force_field: as for `read_molecule`.

    Raises:
        as `read_molecule`.
    """
    path = Path(source)
    if path.is_dir() or not path.exists():
        raise FileNotFoundError(
            f"no molecule {source}: expected {', '.join([*SHIPPED_MOLECULES, *SHIPPED_CHAINS])} or "
            "the path of a file"
        )
    if path.suffix == ".def":
        return [_with_parameters(path, _from_raspa2(path), force_field)]
    try:
        contents = json.loads(path.read_text("utf-8-sig"))
        if isinstance(contents, dict) and any(key.lower() == "pseudoatoms" for key in contents):
            return [_with_parameters(path, _from_raspa3(path, contents), force_field)]
        entries = contents if isinstance(contents, list) else [contents]
        return [_species(entry, path.stem, force_field) for entry in entries]
    except OfFile:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
        raise OfFile(f"{path} does not list adsorbates: {error}; expected {EXPECTED}") from None


EXPECTED = (
    '{"name": "CH4", "epsilon": 148.0, "sigma": 3.73, '
    '"framework": {"O": [115.0, 3.47], "Si": null}}, {"name": "CO2", "sites": [{"label": "C_co2", '
    '"position": [0, 0, 0], "epsilon": 27.0, "sigma": 2.8, "charge": 0.7}]}, or a list of these'
)


# ---- files of this package -----------------------------------------------------------------------


def _species(entry: Any, name: str, field: ForceField | None) -> Species:
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} is not an object with names and values")
    if "beads" in entry:
        return chain_of(entry, name)
    if "sites" not in entry:
        return _adsorbate(entry)
    _known(entry, Molecule, {"name"})
    sites = []
    for one in entry["sites"]:
        if not isinstance(one, dict):
            raise ValueError(f"the site {one!r} is not an object with names and values")
        _known(one, Site)
        label = one["label"]
        if field is None or field.law_of_site(label) is None:
            for key in ("epsilon", "sigma"):
                if key not in one:
                    raise ValueError(
                        f'site {label}: "{key}" is missing, and the force field does not have it'
                    )
        sites.append(Site(**{**one, "position": tuple(one["position"])}))
    return Molecule(**{"name": name, **entry, "sites": tuple(sites)})


def _adsorbate(entry: dict[str, Any]) -> Adsorbate:
    _known(entry, Adsorbate)
    laws = {e: None if law is None else tuple(law) for e, law in entry["framework"].items()}
    for element, law in laws.items():
        if law is not None and len(law) != 2:
            raise ValueError(f'"framework" needs epsilon and sigma with {element}, or null')
    return Adsorbate(**{**entry, "framework": laws})


def _known(entry: Mapping[str, Any], kind: Any, optional: set[str] | None = None) -> None:
    """Refuse unknown and missing attributes of a class."""
    known = fields(kind)
    for name in entry:
        if name not in {f.name for f in known}:
            raise ValueError(f'unknown "{name}"')
    for f in known:
        if f.default is MISSING and f.name not in entry and f.name not in (optional or ()):
            raise ValueError(f'"{f.name}" is missing')


# ---- files of RASPA ------------------------------------------------------------------------------


def _with_parameters(path: Path, shape: _Shape, field: ForceField | None) -> Molecule:
    """The molecule of a shape, with the parameters and charges of a force field."""
    if field is None:
        raise OfFile(
            f"{path} has neither Lennard-Jones parameters nor charges: give a force field, which "
            "has them by label"
        )
    positions = np.array([x for _, x in shape.atoms])
    positions -= positions.mean(axis=0)
    labels = [label for label, _ in shape.atoms]
    laws = {}
    for label in labels:
        rule = field.match(label)
        if rule is None or field.charge_of_site(label) is None:
            what = "parameters" if rule is None else "charge"
            raise OfFile(f"{path}: the force field has no {what} for the site {label}")
        laws[label] = rule.law or NONE
    temperature, pressure, acentric = shape.gas
    gas: list[Any] = [None] * 3
    if temperature and pressure:
        gas = [temperature, pressure * PASCAL, acentric]
    masses = [field.masses.get(label, 0.0) for label in labels]
    try:
        sites = [
            Site(label, (x, y, z), *laws[label], field.charge_of_site(label) or 0.0)
            for label, (x, y, z) in zip(labels, positions.tolist(), strict=True)
        ]  # fmt: skip
        return Molecule(path.stem, sites, gas[0], gas[1], gas[2], math.fsum(masses) or None)
    except ValueError as error:
        raise OfFile(f"{path}: {error}") from None


def _flexible(path: Path, why: str) -> OfFile:
    return OfFile(
        f"{path}: the molecule is flexible ({why}); flexible molecules are linear chains with "
        "bonds of fixed length, from files of this package"
    )


def _from_raspa3(path: Path, contents: Mapping[str, Any]) -> _Shape:
    d = {key.lower(): value for key, value in contents.items()}
    kind = d.get("type")
    if kind is not None and str(kind).lower() != "rigid":
        raise _flexible(path, f'"Type" is "{kind}"')
    if kind is None:  # the potentials of a rigid molecule have no effect
        for key in _INTERNAL:
            if d.get(key):
                raise _flexible(path, f'it has "{key}", and no "Type" that says "rigid"')
        for bond in d.get("bonds", []):
            # [[0, 1], "HARMONIC", [96500.0, 1.54]], or [0, 1] without a potential
            if isinstance(bond[0], list) and str(bond[1]).lower() not in _FIXED:
                raise _flexible(path, f"it has bonds of the kind {bond[1]}")
    try:
        atoms = [(label, tuple(float(v) for v in x)) for label, x in d["pseudoatoms"]]
        if not all(isinstance(label, str) and len(x) == 3 for label, x in atoms) or not atoms:
            raise ValueError("a pseudo-atom is a label and three coordinates")
        keys = ("criticaltemperature", "criticalpressure", "acentricfactor")
        temperature, pressure, acentric = (float(d.get(key) or 0.0) for key in keys)
    except (TypeError, ValueError) as error:
        raise OfFile(f"{path} is not a molecule file of RASPA3: {error}") from None
    return _Shape(atoms, (temperature, pressure, acentric))


def _from_raspa2(path: Path) -> _Shape:
    """The critical constants, the number of atoms and of groups; then for each group its kind, its
    number of atoms, and a line of number, label and position for each atom."""
    lines = list(words_of(path))
    try:
        temperature, pressure, acentric = (float(lines[k][0]) for k in range(3))
        atoms, groups = int(lines[3][0]), int(lines[4][0])
        kind, count = lines[5][0].lower(), int(lines[6][0])
        if kind not in ("rigid", "flexible"):
            raise ValueError(f'a group is "rigid" or "flexible", got "{lines[5][0]}"')
        if groups != 1:
            raise _flexible(path, f"it has {groups} groups")
        if count != atoms or atoms < 1:
            raise ValueError(f"there are {atoms} atoms, and {count} in the group")
        if kind == "flexible" and atoms > 1:
            raise _flexible(path, 'its group is "flexible"')
        found = []
        for index, row in enumerate(lines[7 : 7 + atoms]):
            if int(row[0]) != index:
                raise ValueError(f"atom {index} has the number {row[0]}")
            place = row[2:5] if atoms > 1 or len(row) >= 5 else ["0", "0", "0"]
            x = tuple(float(word) for word in place)
            if len(x) != 3:
                raise ValueError(f"atom {index} has {len(x)} coordinates")
            found.append((row[1], x))
        if len(found) != atoms:
            raise ValueError(f"the file has {len(found)} of {atoms} atoms")
    except OfFile:
        raise
    except (IndexError, ValueError) as error:
        raise OfFile(f"{path} is not a molecule file of RASPA2: {error}") from None
    return _Shape(found, (temperature, pressure, acentric))
