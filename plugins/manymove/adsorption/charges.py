# SPDX-License-Identifier: BSD-3-Clause
"""Charges of the atoms of a framework: from its CIF file, a force field, or a list of labels."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path

from manymove.adsorption.force_field import ForceField, names_of, words_of
from manymove.adsorption.frameworks import Framework

Given = Mapping[str, float] | str | os.PathLike[str] | None
CIF = "cif"


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
        the charge of each atom, or None if none of these has any.

    Raises:
        OSError: a file cannot be read.
        ValueError: an atom has no charge although others have, or a label is not in the framework.
    """
    own = None if framework.charges is None else [float(q) for q in framework.charges]
    if isinstance(given, str) and given == CIF:
        if own is None:
            raise ValueError(f'framework_charges is "cif", but {framework.name} has no charges')
        return own
    labels = framework.labels or framework.elements
    names = [names_of(*pair) for pair in zip(labels, framework.elements, strict=True)]
    if given is not None:
        table = dict(given) if isinstance(given, Mapping) else read_charges(given)
        for label, charge in table.items():
            if not any(label in known for known in names):
                raise ValueError(f"framework_charges has {label}, which is not in {framework.name}")
            if not math.isfinite(charge):
                raise ValueError(f"framework_charges: the charge of {label} must be finite")
        found = [next((table[n] for n in known if n in table), None) for known in names]
        own = None
    else:
        found = [next((field.charges[n] for n in k if n in field.charges), None) for k in names]
        if own is None and any(q is not None for q in found):
            # A file of RASPA that has some atoms with and some without charges.
            listed = [any(n in field.uncharged for n in known) for known in names]
            found = [0.0 if q is None and z else q for q, z in zip(found, listed, strict=True)]
    if own is None:
        if all(q is None for q in found):
            return None
        for label, charge in zip(labels, found, strict=True):
            if charge is None:
                raise ValueError(f"framework {framework.name}: no charge of {label}")
    return [float(own[k] if q is None and own else q or 0.0) for k, q in enumerate(found)]


def charges_of_option(given: str | None) -> Given:
    """The argument `framework_charges` from the option of the command: "cif", a list such as
    O=-0.75,Si=1.5, or the path of a file, which is read.

    Raises:
        OSError: the file cannot be read.
        ValueError: the list or the file has something else, or the list has a label twice.
    """
    if given is None or given == CIF:
        return given
    if "=" not in given or Path(given).is_file():
        return read_charges(given)
    pairs = [pair.split("=") for pair in given.split(",")]
    try:
        table = {label: float(charge) for label, charge in pairs}
    except ValueError:
        raise ValueError(
            f"{given!r} is neither cif, nor a path, nor a list such as O=-0.75,Si=1.5"
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
        ValueError: a line is something else, or a label occurs twice with different charges.
    """
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
