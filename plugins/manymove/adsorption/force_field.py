"""Force fields: parameters by label, mixing rules, and what happens at the cutoff."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from manymove import arguments, files

Law = tuple[float, float]
MIXING = ("lorentz-berthelot", "geometric")
POTENTIALS = ("shifted", "truncated", "tail")
NONE = (0.0, 1.0)  # no interaction


class OfFile(ValueError):
    """An error that names its file already."""

    def __init__(self, text: str) -> None:
        super().__init__(files.printable(text))


@dataclass(frozen=True)
class ForceField:
    """Lennard-Jones parameters and charges by label, and the conventions of the potential.

    A label of the framework is looked up as it is, then without its number ("Si12" as "Si"), then
    as the element.

    Attributes:
        parameters: (epsilon in kelvin, sigma in angstrom) by label, of framework atoms and of sites
            of molecules, or None for no interaction. Sites of molecules that are not listed keep
            their own parameters.
        charges: charge in units of the elementary charge by label. Framework atoms and sites that
            are not listed keep the charges of the CIF file or of the molecule.
        pairs: {(label, label): (epsilon, sigma)} of pairs that do not follow the mixing rule; None
            for no interaction.
        mixing: "lorentz-berthelot" or "geometric".
        potential: "shifted" (zero at the cutoff), "truncated" (not shifted), or "tail" (truncated,
            with corrections for the average energy beyond the cutoff).
        uncharged: labels that a file of RASPA lists with the charge 0. A site of a molecule with
            such a label has no charge. A framework atom has the charge of its CIF file, and none
            if the file has no charges, because such files list the atoms of all frameworks.
        masses: mass in g/mol by label, for the molar masses of molecules from RASPA's files.

    Raises:
        ValueError: a number or a name is out of range.
    """

    parameters: Mapping[str, Law | None] = field(default_factory=dict)
    charges: Mapping[str, float] = field(default_factory=dict)
    pairs: Mapping[tuple[str, str], Law | None] = field(default_factory=dict)
    mixing: str = "lorentz-berthelot"
    potential: str = "shifted"
    uncharged: Collection[str] = ()
    masses: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, known in (("mixing", MIXING), ("potential", POTENTIALS)):
            arguments.one_of(name, getattr(self, name), known)
        laws: dict[Any, Law | None] = {**self.parameters, **self.pairs}
        for label, law in laws.items():
            if law is not None and not (0 <= law[0] < math.inf and 0 < law[1] < math.inf):
                raise ValueError(
                    f"{label}: epsilon must be at least 0 and sigma positive, got {law[0]} K and "
                    f"{law[1]} angstrom"
                )
        for label, charge in self.charges.items():
            if not math.isfinite(charge):
                raise ValueError(f"{label}: charge must be finite, got {charge}")

    def law_of_atom(self, label: str, element: str) -> Law:
        """Parameters (epsilon in kelvin, sigma in angstrom) of an atom of the framework, with
        epsilon 0 for none.

        Args:
            label: label of the atom, which is looked up first.
            element: symbol of its element.

        Raises:
            ValueError: the force field has neither the label nor the element.
        """
        for name in names_of(label, element):
            if name in self.parameters:
                return self.parameters[name] or NONE
        raise ValueError(
            f"the force field has no parameters for {label} ({element}) of the framework: choose "
            "another force field, for example TraPPE-zeo for a zeolite of silica, or give it "
            "(epsilon, sigma), or None for no interaction"
        )

    def charge_of_site(self, label: str) -> float | None:
        """Charge of a site of a molecule with this label, in elementary charges; None if the force
        field does not have the label."""
        return self.charges.get(label, 0.0 if label in self.uncharged else None)

    def given(self, labels: tuple[str, str]) -> Law | None:
        """Parameters of two labels in `pairs`, whatever their order; None if they are not there."""
        for pair in (labels, (labels[1], labels[0])):
            if pair in self.pairs:
                law = self.pairs[pair] or NONE
                return (float(law[0]), float(law[1]))
        return None

    def mixed(self, labels: tuple[str, str], a: Law, b: Law) -> Law:
        """Parameters (epsilon in kelvin, sigma in angstrom) of a pair of labels: those in `pairs`,
        otherwise by the mixing rule.

        Args:
            labels: the two labels.
            a, b: parameters of each label alone.
        """
        given = self.given(labels)
        if given is not None:
            return given
        if a[0] == 0 or b[0] == 0:
            return NONE
        geometric = self.mixing == "geometric"
        sigma = math.sqrt(a[1] * b[1]) if geometric else 0.5 * (a[1] + b[1])
        return (math.sqrt(a[0] * b[0]), sigma)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> ForceField:
        """Read a force field of RASPA, or one of the package.

        Args:
            path: "TraPPE-zeo", RASPA3's `force_field.json`, or a folder with RASPA2's
                `force_field_mixing_rules.def`, `pseudo_atoms.def` and, if present,
                `force_field.def`.

        Raises:
            OSError: a file cannot be read.
            ValueError: a file cannot be parsed, or has potentials other than Lennard-Jones.
        """
        if str(path) in SHIPPED_FORCE_FIELDS:
            return SHIPPED_FORCE_FIELDS[str(path)]
        path = Path(path)
        if not path.exists():
            raise FileNotFoundError(
                f"no force field {path}: expected {', '.join(SHIPPED_FORCE_FIELDS)}, a file of "
                "RASPA3 or a folder of RASPA2"
            )
        program = "RASPA2" if path.is_dir() else "RASPA3"
        try:
            if path.is_dir():
                return _from_raspa2(path)
            return _from_raspa3(json.loads(path.read_text()), str(path))
        except OfFile:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise OfFile(f"{path} is not a force field of {program}: {error!r}") from None


# TraPPE-zeo: P. Bai, M. Tsapatsis, J. I. Siepmann, J. Phys. Chem. C 117, 24375 (2013).
TRAPPE_ZEO = ForceField(
    {"O": (53.0, 3.30), "Si": (22.0, 2.30)}, {"O": -0.75, "Si": 1.50}, potential="tail"
)
SHIPPED_FORCE_FIELDS = {"TraPPE-zeo": TRAPPE_ZEO}


def of_options(
    path: str | os.PathLike[str] | None, potential: str | None, mixing: str | None
) -> ForceField | None:
    """The force field of the options of the command, whose conventions replace those of the file;
    None without options.

    Raises:
        OSError, ValueError: an error of `ForceField.read`, or of its arguments.
    """
    found = None if path is None else ForceField.read(path)
    given = {"potential": potential, "mixing": mixing}
    given = {name: value for name, value in given.items() if value is not None}
    return replace(found or ForceField(), **given) if given else found


def names_of(label: str, element: str) -> list[str]:
    """The names under which a force field may have an atom, the most specific first."""
    return [label, re.sub(r"[_\d]*$", "", label), element]


# ---- RASPA3 --------------------------------------------------------------------------------------

_RULES = {
    "lorentz-berthelot": "lorentz-berthelot",
    "jorgensen": "geometric",
    "geometric": "geometric",
}


def _from_raspa3(d: Mapping[str, Any], source: str) -> ForceField:
    parameters, pairs = {}, {}
    charges, uncharged = _split(
        {atom["name"]: float(atom.get("charge", 0.0)) for atom in d.get("PseudoAtoms", [])}
    )
    for entry in d.get("SelfInteractions", []):
        _refuse_type(entry, source)
        parameters[entry["name"]] = _law(entry["parameters"])
    for entry in d.get("BinaryInteractions", []):
        _refuse_type(entry, source)
        first, second = entry["names"]
        pairs[first, second] = _law(entry["parameters"])
    shifted = str(d.get("TruncationMethod", "shifted")).lower() == "shifted"
    tail = bool(d.get("TailCorrections", False))
    return ForceField(
        parameters,
        charges,
        pairs,
        _rule(str(d.get("MixingRule", "Lorentz-Berthelot")), source),
        _potential(shifted, tail, source),
        uncharged,
        {a["name"]: float(a["mass"]) for a in d.get("PseudoAtoms", []) if "mass" in a},
    )


def _split(charges: Mapping[str, float]) -> tuple[dict[str, float], frozenset[str]]:
    """The charges that are not zero, and the labels of the others."""
    kept = {label: q for label, q in charges.items() if q}
    return kept, frozenset(charges.keys() - kept.keys())


def _refuse_type(entry: Mapping[str, Any], source: str) -> None:
    kind = str(entry.get("type", "lennard-jones")).lower()
    if kind not in ("lennard-jones", "none"):
        raise OfFile(f"{source}: {entry.get('name', entry.get('names'))} has the potential "
                     f"{kind}; only lennard-jones is possible")  # fmt: skip


def _law(parameters: Any) -> Law | None:
    epsilon, sigma = (float(x) for x in list(parameters)[:2])
    return (epsilon, sigma) if epsilon else None


def _rule(name: str, source: str) -> str:
    if name.lower() not in _RULES:
        raise OfFile(f'{source}: unknown mixing rule "{name}"')
    return _RULES[name.lower()]


def _potential(shifted: bool, tail: bool, source: str) -> str:
    if shifted and tail:
        raise OfFile(f"{source}: potentials are either shifted or have tail corrections")
    return "shifted" if shifted else "tail" if tail else "truncated"


# ---- RASPA2 --------------------------------------------------------------------------------------


def words_of(path: Path) -> Iterator[list[str]]:
    """The words of each line that is neither empty nor a comment."""
    for line in path.read_text(errors="replace").splitlines():
        words = line.split("#")[0].split("//")[0].split()
        if words:
            yield words


def _kind(name: str) -> str:
    """The name of a potential, which RASPA2's files write in two ways (LENNARD_JONES)."""
    return name.lower().replace("_", "-")


def _from_raspa2(folder: Path) -> ForceField:
    path = folder / "force_field_mixing_rules.def"
    lines = list(words_of(path))
    try:
        shifted = lines[0][0].lower() == "shifted"
        tail = lines[1][0].lower() == "yes"
        count = int(lines[2][0])
        parameters: dict[str, Law | None] = {}
        for words in lines[3 : 3 + count]:
            kind = _kind(words[1])
            if kind not in ("lennard-jones", "none"):
                raise OfFile(
                    f"{path}: {words[0]} has the potential {kind}; only lennard-jones is possible"
                )
            parameters[words[0].rstrip("_")] = _law(words[2:4]) if kind != "none" else None
        rule = _rule(lines[3 + count][0], str(path))
    except OfFile:
        raise
    except (IndexError, ValueError) as error:
        raise OfFile(f"{path} is not a file of mixing rules of RASPA2: {error}") from None
    charges, uncharged = _split(_raspa2_column(folder / "pseudo_atoms.def", 6))
    return ForceField(
        parameters,
        charges,
        _raspa2_pairs(folder / "force_field.def"),
        rule,
        _potential(shifted, tail, str(path)),
        uncharged,
        _raspa2_column(folder / "pseudo_atoms.def", 5),
    )


def _raspa2_column(path: Path, column: int) -> dict[str, float]:
    """A column of numbers of pseudo_atoms.def by label: 5 has masses, 6 charges."""
    if not path.is_file():
        return {}
    lines = list(words_of(path))
    try:
        rows = lines[1 : 1 + int(lines[0][0])]
        return {row[0]: float(row[column]) for row in rows}
    except (IndexError, ValueError) as error:
        raise OfFile(f"{path} is not a list of pseudo-atoms of RASPA2: {error}") from None


def _raspa2_pairs(path: Path) -> dict[tuple[str, str], Law]:
    """The pairs of force_field.def, which has numbers of rules to overwrite, of interactions and of
    mixing rules, each followed by that many lines."""
    if not path.is_file():
        return {}
    lines = list(words_of(path))
    try:
        at = 1 + int(lines[0][0])
        if at > 1:
            raise ValueError(
                "rules by pair of shifted potentials are not possible: leave the rules out"
            )
        pairs = {}
        for words in lines[at + 1 : at + 1 + int(lines[at][0])]:
            kind = _kind(words[2])
            if kind not in ("lennard-jones", "none"):
                raise ValueError(f"the potential {words[2]} is not possible, only lennard-jones")
            law = _law(words[3:5]) if kind != "none" else None
            pairs[words[0], words[1]] = law or NONE
        return pairs
    except (IndexError, ValueError) as error:
        raise OfFile(f"{path} is not a file of interactions of RASPA2: {error}") from None
