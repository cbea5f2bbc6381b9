# SPDX-License-Identifier: BSD-3-Clause
"""Charges of the atoms of a framework: from its CIF file, a force field, or a list of labels."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manymove.adsorption.adsorbates import COULOMB
from manymove.adsorption.force_field import ForceField, Law, names_of, words_of
from manymove.adsorption.frameworks import Framework
from manymove.errors import ParameterError
from manymove.warned import warn

Given = Mapping[str, float] | str | os.PathLike[str] | None
CIF, ZERO = "cif", "zero"
# Methods that compute charges. None is available; docs/guides/frameworks.md has the reasons.
_COMPUTED = ("qeq", "eqeq", "pqeq", "mepo", "pacmof", "pacman", "repeat", "ddec", "ddec6")
_CENTER = 15 / 8  # in 1 / angstrom: the finite value that replaces 1 / r at the center of an atom
_OTHER = 0.01  # e: smaller differences of charges are due to rounding


def charges_of_framework(
    framework: Framework, field: ForceField, given: Given = None
) -> list[float] | None:
    """Charges of the framework's atoms.

    Args:
        framework: the framework, which may have charges of its own.
        field: force field, whose charges take precedence over those of the framework.
        given: the argument `framework_charges` of `manymove.Adsorption`, which takes precedence
            over both.

    Returns:
        the charge of each atom, or None if there are no charges. Charges of a CIF file or of a file
        of RASPA that are all zero count as none, because many programs write such columns without
        having computed charges.

    Raises:
        OSError: a file cannot be read.
        ValueError: an atom has no charge although others have, or a label is not in the framework.

    Warns:
        UserWarning: the force field replaces a charge of the framework by another one.
    """
    own = None if framework.charges is None else [float(q) for q in framework.charges]
    if isinstance(given, str) and given == ZERO:
        return [0.0] * len(framework.elements)
    if isinstance(given, str) and given == CIF:
        if not any(own or ()):
            what = "no charges" if own is None else "charges that are all zero"
            raise ParameterError(
                "framework_charges",
                f'is "cif", but {framework.name} has {what}: give them by label, or "zero"',
            )
        return own
    labels = framework.labels or framework.elements
    atoms = list(zip(labels, framework.elements, strict=True))
    if given is not None:
        found = _given_charges(framework, atoms, given)
        own = None
    else:
        listed = {kind: field.charge_of_atom(*kind, has_own=True) for kind in set(atoms)}
        known = listed if own else {kind: field.charge_of_atom(*kind) for kind in listed}
        found = [known[kind] for kind in atoms]
        if not any(own or ()) and not any(found) and all(q is None for q in listed.values()):
            return None
    if own is None:
        for label, charge in zip(labels, found, strict=True):
            if charge is None:
                raise ValueError(f"framework {framework.name}: no charge of {label}")
    for label, charge, other in zip(labels, found, own or (), strict=False):
        if charge is not None and abs(charge - other) > _OTHER:
            warn(
                f"framework {framework.name}: {label} has the charge {charge:g} of the force "
                f"field, not the {other:g} of the CIF file; to use the charges of the file, give "
                'framework_charges="cif" (--framework-charges cif)',
                stacklevel=2,
            )
            break
    return [float(own[k] if q is None and own else q or 0.0) for k, q in enumerate(found)]


def _given_charges(
    framework: Framework,
    atoms: Sequence[tuple[str, str]],
    given: Mapping[str, float] | str | os.PathLike[str],
) -> list[float | None]:
    """The charge of each atom (label, element) in `framework_charges`; None if it is not listed."""
    table = dict(given) if isinstance(given, Mapping) else read_charges(given)
    names = [names_of(*atom) for atom in atoms]
    for label, charge in table.items():
        if not any(label in known for known in names):
            raise ValueError(f"framework_charges has {label}, which is not in {framework.name}")
        if not math.isfinite(charge):
            raise ValueError(
                f"framework_charges: the charge of {label} must be finite, got {charge}"
            )
    return [next((table[name] for name in known if name in table), None) for known in names]


def tell_bare_charges(
    framework: Framework,
    kinds: Sequence[int],
    charges: Sequence[float],
    types: Sequence[Mapping[str, Any]],
    laws: Sequence[Sequence[Law]],
    bodies: Sequence[Sequence[tuple[int, tuple[float, float, float]]]],
) -> None:
    """Warn if a charged site of a molecule can fall into a framework atom of opposite charge.

    This happens if the two have no Lennard-Jones interaction and no neighbor of either keeps them
    apart, as oxygen does for silicon in a zeolite. All averages are then those of molecules that
    are trapped in these atoms. The neighbors of both are taken to be as far from each other as they
    can be.

    Args:
        framework, kinds, charges: the framework, and the kind and the charge of each atom.
        types, laws: the types of sites, and their (epsilon, sigma) with each kind.
        bodies: type and position of the sites of each molecule.
    """
    found: dict[str, None] = {}
    # Of types with atoms, of which a box of a host program may have none.
    parameters = [np.array([row[k] for k in kinds]).reshape(-1, 2).T for row in laws]
    for body in bodies:
        for t, x in body:
            epsilon = parameters[t][0]
            wells = -_CENTER * COULOMB * types[t]["charge"] * np.asarray(charges)
            for atom in np.flatnonzero((epsilon == 0) & (wells > 0)):
                d = np.delete(framework.fractional - framework.fractional[atom], atom, axis=0)
                r = np.linalg.norm((d - np.rint(d)) @ framework.edges, axis=1)
                wall = 0.0
                for other, y in body:
                    away = math.dist(x, y)
                    epsilons, sigmas = np.delete(parameters[other], atom, axis=1)
                    wall += _repulsion(epsilons, sigmas, r + away)
                    if away > 0:
                        wall += _repulsion(*laws[other][kinds[int(atom)]], away)
                if wall < wells[atom]:
                    found[f"{types[t]['label']} and {framework.elements[atom]}"] = None
    if found:
        warn(
            f"framework {framework.name}: {', '.join(found)} have opposite charges but no "
            "Lennard-Jones interaction, so that molecules fall into these atoms: give the force "
            "field parameters for them",
            stacklevel=2,
        )


def _repulsion(epsilon: Any, sigma: Any, r: Any) -> float:
    """Sum of the repulsive parts of Lennard-Jones energies at distances r, in kelvin."""
    return float(np.sum(4 * np.asarray(epsilon) * (np.asarray(sigma) / r) ** 12))


def charges_of_option(given: str | None) -> Given:
    """The argument `framework_charges` from the option of the command: "cif", "zero", a list such
    as O=-0.75,Si=1.5, or the path of a file, which is read.

    Raises:
        OSError: the file cannot be read.
        ValueError: the list or the file has something else, or the list has a label twice.
    """
    if given in (None, CIF, ZERO):
        return given
    if "=" not in given or Path(given).is_file():
        return read_charges(given)
    pairs = [pair.split("=") for pair in given.split(",")]
    try:
        table = {label: float(charge) for label, charge in pairs}
    except ValueError:
        raise ValueError(
            f"{given!r} is neither cif, nor zero, nor a path, nor a list such as O=-0.75,Si=1.5"
        ) from None
    if len(table) < len(pairs):
        twice = next(label for k, (label, _) in enumerate(pairs) if label in dict(pairs[:k]))
        raise ValueError(f"{given!r}: {twice} is given twice")
    return table


def read_charges(path: str | os.PathLike[str]) -> dict[str, float]:
    """Read charges by label from a text file, a line "label charge" for each label; what follows a
    "#" is a comment.

    Raises:
        OSError: the file cannot be read.
        ValueError: a line is not a label and a charge, a label occurs twice with different
            charges, or the path is the name of a method that computes charges.
    """
    if str(path).lower() in _COMPUTED and not Path(path).exists():
        raise ValueError(
            f"charges by {path} are not computed here: let another program compute them, and give "
            "its CIF file with a column _atom_site_charge, or a text file with a label and its "
            "charge on each line"
        )
    table: dict[str, float] = {}
    for words in words_of(Path(path)):
        try:
            label, charge = words[0], float(words[1])
            if len(words) != 2:
                raise ValueError
        except (IndexError, ValueError):
            raise ValueError(
                f'{path}: the line "{" ".join(words)}" is not a label and its charge'
            ) from None
        if table.setdefault(label, charge) != charge:
            raise ValueError(f"{path}: {label} has two charges")
    if not table:
        raise ValueError(f"{path} has no charges")
    return table
