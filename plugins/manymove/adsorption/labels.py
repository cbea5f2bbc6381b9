# SPDX-License-Identifier: BSD-3-Clause
"""Parameters and charges of each label of a framework from a force field, and warnings if several
rules could apply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from manymove.adsorption.adsorbates import Adsorbate
from manymove.adsorption.force_field import NONE, ForceField, Law, Match
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.molecule_files import Species
from manymove.warned import warn

_MOST_NAMED = 5  # number of labels that a line names


def framework_atoms(
    labels: Sequence[str],
    elements: Sequence[str],
    species: Sequence[Species],
    field: ForceField,
    charges: Sequence[float] | None,
) -> list[dict[str, Any]]:
    """The parameters and the charge of each label of a framework.

    Args:
        labels, elements: label and element of each atom.
        species: the adsorbates. An `Adsorbate` has parameters of its own for each element.
        field: the force field.
        charges: charge of each atom, or None.

    Returns:
        an entry for each label and charge: `label`, `element`, `atoms` (their number in the unit
        cell), `rule` (the name in the force field; None if the atoms need no parameters),
        `epsilon_K`, `sigma_angstrom` (None for no interaction) and `charge_e` (None without
        charges). If the force field has pairs of the atom and a site of an adsorbate, the entry
        `pairs` has their (epsilon, sigma) by the label of the site. If all adsorbates are of the
        class `Adsorbate`, an entry for each element and adsorbate, which also has the name of the
        `adsorbate` and the parameters of the two.
    """
    sites = dict.fromkeys(site.label for one in species for site in getattr(one, "sites", ()))
    count = Counter(zip(labels, elements, charges or len(labels) * [None], strict=True))
    single = [one for one in species if isinstance(one, Adsorbate)]
    rows = []
    for (label, element, charge), atoms in count.items():
        for one in single if len(single) == len(species) else [None]:
            if one is None:
                found = field.match(label, element)
            else:
                found = Match(element, element, one.framework.get(element))
            law = None if found is None or (found.law or NONE)[0] == 0 else found.law
            given = {site: field.given_with_atom(site, label, element) for site in sites}
            pairs = {site: list(pair) for site, pair in given.items() if pair is not None}
            rows.append({
                "label": label, "element": element, "atoms": atoms,
                "rule": None if found is None else found.rule,
                "epsilon_K": None if law is None else float(law[0]),
                "sigma_angstrom": None if law is None else float(law[1]),
                "charge_e": None if charge is None else float(charge),
                **({"pairs": pairs} if pairs else {}),
                **({} if one is None else {"adsorbate": one.name}),
            })  # fmt: skip
    return rows


def lines_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for all labels that follow one rule, such as "Si1, Si2 (16 atoms): 22 K and
    2.3 angstrom by the rule Si, 1.5 e"."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        adsorbate = row.get("adsorbate")
        of = "" if row["rule"] is None else f" by the rule {row['rule']}"
        of = of if adsorbate is None else f" with {adsorbate}"
        pairs = tuple((site, tuple(law)) for site, law in row.get("pairs", {}).items())
        key = (row["element"], of, row["epsilon_K"], row["sigma_angstrom"], pairs)
        groups.setdefault(key, []).append(row)
    lines = []
    for (_, of, epsilon, sigma, pairs), members in groups.items():
        names = _some([row["label"] for row in members])
        law = "no interaction" if epsilon is None else f"{epsilon:g} K and {sigma:g} angstrom"
        laws = [f"{law}{of}"] if of or not pairs else []
        laws += [f"{_numbers(pair)} with {site}" for site, pair in pairs]
        atoms = sum(row["atoms"] for row in members)
        text = f"{names} ({atoms} atom{'s' if atoms != 1 else ''}): {', '.join(laws)}"
        charges = [row["charge_e"] for row in members if row["charge_e"] is not None]
        if charges:
            low, high = f"{min(charges):g}", f"{max(charges):g}"
            text += f", {low} e" if low == high else f", {low} to {high} e"
        lines.append(text)
    return lines


def tell_rules(framework: Framework, species: Sequence[Species], field: ForceField) -> None:
    """Warn of labels for which several rules of a file of RASPA could apply, and of atoms that have
    the parameters of something else.

    Warns:
        UserWarning: two rules match and have other parameters; the rule without the label's number
            has other parameters; or the rule belongs to another element or to a molecule.
    """
    doubts: dict[tuple[str, str], list[str]] = {}
    labels = framework.labels or framework.elements
    for label, element in sorted(set(zip(labels, framework.elements, strict=True))):
        if (found := field.match(label, element)) is not None:
            for why in _doubts(field, found, element):
                doubts.setdefault((_rule(found), why), []).append(label)
    for label in sorted({site.label for one in species for site in getattr(one, "sites", ())}):
        found = field.match(label)
        if found is not None and label in found.others:
            why = f" because its line comes after {label} itself"
            doubts[_rule(found), why] = [f"the site {label}"]
    if doubts:
        each = "; ".join(
            f"the rule {rule} applies to {_some(names)}{why}"
            for (rule, why), names in doubts.items()
        )
        warn(f"framework {framework.name}: {each}", stacklevel=2)


def _doubts(field: ForceField, found: Match, element: str) -> Iterable[str]:
    if found.rule in field.guests:
        yield ", although the file marks it as not part of a framework"
    others = [rule for rule in found.others if not _of_another(rule, element)]
    if others:
        which = " and ".join(f"{rule} ({_numbers(field.parameters[rule])})" for rule in others)
        yield f" because it is the last one that matches; {which} matches as well"
    if _of_another(found.rule, element):
        yield f", although the element is {element}"
    if field.matching == "raspa2":
        short = replace(field, matching="raspa2-without-numbers").match(found.name, element)
        if short is not None and short.rule not in (found.rule, *found.others):
            if (short.law or NONE) != (found.law or NONE):
                yield (
                    f"; without the number of the label the rule {_rule(short)} would apply, as in "
                    "RASPA2 with RemoveAtomNumberCodeFromLabel (remove_atom_number_code=True, "
                    "--remove-atom-number-code)"
                )


def _of_another(rule: str, element: str) -> bool:
    """Whether a rule for all labels with some first letters is meant for another element. For
    example, "C_" is not meant for copper."""
    stem = rule[:-1].lower()
    return rule.endswith("_") and stem != element.lower() and element.lower().startswith(stem)


def _rule(found: Match) -> str:
    return f"{found.rule} ({_numbers(found.law)})"


def _numbers(law: Law | None) -> str:
    return "none" if law is None or law[0] == 0 else f"{law[0]:g} K, {law[1]:g} angstrom"


def _some(names: Sequence[str]) -> str:
    names = list(dict.fromkeys(names))
    rest = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
