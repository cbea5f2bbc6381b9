"""Force fields: parameters by label, mixing rules, and what happens at the cutoff."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from manymove import arguments, files
from manymove.adsorption.gas import GAS_CONSTANT
from manymove.errors import ParameterError

Law = tuple[float, float]
MIXING = ("lorentz-berthelot", "geometric")
POTENTIALS = ("shifted", "truncated", "tail")
MATCHING = ("names", "elements", "raspa2", "raspa2-without-numbers")
NONE = (0.0, 1.0)  # no interaction
_KCAL = 4184 / GAS_CONSTANT  # 1 kcal/mol in kelvin


class OfFile(ValueError):
    """An error that names its file already."""

    def __init__(self, text: str) -> None:
        super().__init__(files.printable(text))


@dataclass(frozen=True)
class Match:
    """The rule of a force field for a label.

    Attributes:
        name: the name that was looked up: the label, or a shorter form of it.
        rule: key of `ForceField.parameters`, for example ``C_``.
        law: its parameters, or None for no interaction.
        others: rules that also match the name, but have other parameters.
    """

    name: str
    rule: str
    law: Law | None
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class ForceField:
    """Lennard-Jones parameters and charges by label, and the conventions of the potential.

    A label of the framework is looked up as it is, then up to its first digit ("Si12" as "Si"),
    then as the element.

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
        matching: "names" (see above); or "raspa2", the rules of RASPA2's files: a name in
            `parameters` and `pairs` that ends with an underscore matches every label that begins
            with the text before it. Names are not case-sensitive, and the last rule that matches
            applies. A framework label that no rule matches is looked up without its number,
            then as the element. "raspa2-without-numbers" looks framework labels up without their
            numbers from the start, as RASPA2 does with RemoveAtomNumberCodeFromLabel. "elements"
            looks framework atoms up by their element alone; sites of molecules keep their own
            parameters and charges.
        guests: labels that a file of RASPA3 marks as not part of a framework, for a warning.
        cutoff: cutoff radius in angstrom that a file of RASPA3 has, for a warning, or None.

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
    matching: str = "names"
    guests: Collection[str] = ()
    cutoff: float | None = None

    def __post_init__(self) -> None:
        for name, known in (("mixing", MIXING), ("potential", POTENTIALS), ("matching", MATCHING)):
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

    # ---- labels ----------------------------------------------------------------------------------

    def names_of(self, label: str, element: str) -> list[str]:
        """The names under which an atom of the framework is looked up, in this order."""
        if self.matching == "elements":
            return [element]
        if self.matching == "names":
            return names_of(label, element)
        bare = _without_number(label) or element
        if self.matching == "raspa2":
            return [label, bare, element]
        return [bare, element]

    def match(self, label: str, element: str | None = None) -> Match | None:
        """The rule for a label; None if there is none.

        Args:
            label: label of an atom of the framework, or of a site of a molecule.
            element: symbol of the element of an atom of the framework; None for a site.
        """
        if element is None and self.matching == "elements":
            return None
        for name in [label] if element is None else self.names_of(label, element):
            rules = [name] if name in self.parameters else []
            if self._of_raspa2:
                rules = [rule for rule in self.parameters if self._applies(rule, name)]
            if rules:
                laws = {rule: self.parameters[rule] or NONE for rule in rules}
                others = (rule for rule in rules if laws[rule] != laws[rules[-1]])
                return Match(name, rules[-1], self.parameters[rules[-1]], tuple(others))
        return None

    def _applies(self, rule: str, name: str) -> bool:
        if not self._of_raspa2:
            return rule == name
        rule, name = rule.lower(), name.lower()
        return name.startswith(rule[:-1]) if rule.endswith("_") else rule == name

    def law_of_atom(self, label: str, element: str) -> Law:
        """Parameters (epsilon in kelvin, sigma in angstrom) of an atom of the framework, with
        epsilon 0 for none.

        Args:
            label: label of the atom, which is looked up first.
            element: symbol of its element.

        Raises:
            ValueError: the force field has neither the label nor the element.
        """
        if (found := self.match(label, element)) is not None:
            return found.law or NONE
        names = self.names_of(label, element)
        sites = [a for a, b in self.pairs if any(self._applies(b, name) for name in names)]
        only = f" other than pairs with {', '.join(sites)}" if sites else ""
        raise ValueError(
            f"the force field has no parameters for {label} ({element}) of the framework{only}: "
            "choose another one, for example UFF (--force-field UFF), or TRAPPE_ZEO (--force-field "
            "TraPPE-zeo) for a zeolite of silica, or give it (epsilon, sigma), or None for no "
            "interaction"
        )

    def law_of_site(self, label: str) -> Law | None:
        """Parameters of a site of a molecule, with epsilon 0 for none; None if the force field does
        not list the label itself, so that the site keeps its own parameters."""
        listed = self._spelled(label) in {self._spelled(rule) for rule in self.parameters}
        found = self.match(label) if listed else None
        return None if found is None else found.law or NONE

    def charge_of_site(self, label: str) -> float | None:
        """Charge of a site of a molecule with this label, in elementary charges; None if the force
        field does not have the label."""
        return None if self.matching == "elements" else self._charges.get(self._spelled(label))

    def charge_of_atom(self, label: str, element: str, *, has_own: bool = False) -> float | None:
        """Charge of an atom of the framework in elementary charges; None if the force field does
        not have it. An atom that has a charge of its own (`has_own`) keeps it if a file lists it
        with the charge 0 or, by RASPA2's rules, if the force field lacks its exact label."""
        names = self.names_of(label, element)
        names = names[:1] if has_own and self._of_raspa2 else names
        key = next((each for each in map(self._spelled, names) if each in self._charges), None)
        if key is None or (has_own and key not in map(self._spelled, self.charges)):
            return None
        return self._charges[key]

    @cached_property
    def _charges(self) -> dict[str, float]:
        listed = {**dict.fromkeys(self.uncharged, 0.0), **self.charges}
        return {self._spelled(label): float(charge) for label, charge in listed.items()}

    def _spelled(self, label: str) -> str:
        return label.lower() if self._of_raspa2 else label

    @property
    def _of_raspa2(self) -> bool:
        return self.matching.startswith("raspa2")

    # ---- pairs -----------------------------------------------------------------------------------

    def given(self, labels: tuple[str, str]) -> Law | None:
        """Parameters of two labels in `pairs`, whatever their order; None if they are not there."""
        for pair in reversed(list(self.pairs)):  # the last one applies
            for a, b in (pair, pair[::-1]):
                if self._applies(a, labels[0]) and self._applies(b, labels[1]):
                    law = self.pairs[pair] or NONE
                    return (float(law[0]), float(law[1]))
        return None

    def given_with_atom(self, site: str, label: str, element: str) -> Law | None:
        """The same for a site and an atom of the framework."""
        names = self.names_of(label, element)
        if (found := self.match(label, element)) is not None:
            names = names[: names.index(found.name) + 1]
        given = (self.given((site, name)) for name in names)
        return next((law for law in given if law is not None), None)

    def mixed(self, labels: tuple[str, str], a: Law, b: Law) -> Law:
        """Parameters (epsilon in kelvin, sigma in angstrom) of a pair of labels: those in `pairs`,
        otherwise by the mixing rule.

        Args:
            labels: the two labels.
            a, b: parameters of each label alone.
        """
        given = self.given(labels)
        return _mixed(a, b, self.mixing) if given is None else given

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, remove_atom_number_code: bool = False
    ) -> ForceField:
        """Read a force field of RASPA, or one of the package.

        Args:
            path: name of a shipped force field ("TraPPE-zeo", "UFF", "Dreiding-UFF" or
                "Garcia-Sanchez"), RASPA3's `force_field.json`, or a folder with RASPA2's
                `force_field_mixing_rules.def`, `pseudo_atoms.def` and, if present,
                `force_field.def`.
            remove_atom_number_code: for a folder of RASPA2, look labels of the framework up without
                their numbers, as RASPA2 does with "RemoveAtomNumberCodeFromLabel yes".

        Raises:
            OSError: a file cannot be read.
            ValueError: a file cannot be parsed, or has potentials other than Lennard-Jones.
        """
        if remove_atom_number_code and not Path(path).is_dir():
            raise ParameterError(
                "remove_atom_number_code", f"is for a folder of RASPA2, not for {path}"
            )
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
                return _from_raspa2(path, remove_atom_number_code)
            return _from_raspa3(json.loads(path.read_text("utf-8-sig")), str(path))
        except OfFile:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise OfFile(f"{path} is not a force field of {program}: {error!r}") from None


# TraPPE-zeo: P. Bai, M. Tsapatsis, J. I. Siepmann, J. Phys. Chem. C 117, 24375 (2013).
TRAPPE_ZEO = ForceField(
    {"O": (53.0, 3.30), "Si": (22.0, 2.30)}, {"O": -0.75, "Si": 1.50}, potential="tail"
)


def _of_elements(*names: str) -> ForceField:
    """Lennard-Jones parameters of elements from tables of the package; later tables replace earlier
    ones. The tables have the distance x = 2^(1/6) sigma and the depth D of the minimum."""
    laws: dict[str, Law | None] = {}
    for name in names:
        text = resources.files("manymove").joinpath("data", f"{name}.json").read_text()
        for element, (x, depth) in json.loads(text)["parameters"].items():
            laws[element] = (depth * _KCAL, x * 2 ** (-1 / 6))
    laws["D"] = laws["H"]  # deuterium
    return ForceField(laws, potential="tail", matching="elements")


# The tables name their papers. UFF itself mixes both parameters geometrically; with the adsorbates
# of TraPPE, and in most work on metal-organic frameworks, the Lorentz-Berthelot rules are used.
UFF = _of_elements("UFF")
DREIDING_UFF = _of_elements("UFF", "Dreiding")
# A. Garcia-Sanchez et al., J. Phys. Chem. C 113, 8814 (2009): CO2 (the molecule CO2_GARCIA_SANCHEZ)
# in zeolites with sodium, by pairs. "Oa" is oxygen next to aluminum.
GARCIA_SANCHEZ = ForceField(
    {"Si": None, "Al": None},
    {"Si": 0.78598, "Al": 0.48598, "O": -0.39299, "Oa": -0.41384, "Na": 0.3834},
    {
        ("C_co2_gs", "O"): (37.595, 3.511), ("O_co2_gs", "O"): (78.98, 3.237),
        ("C_co2_gs", "Na"): (362.292, 3.32), ("O_co2_gs", "Na"): (200.831, 2.758),
    },
)  # fmt: skip
SHIPPED_FORCE_FIELDS = {
    "TraPPE-zeo": TRAPPE_ZEO, "UFF": UFF, "Dreiding-UFF": DREIDING_UFF,
    "Garcia-Sanchez": GARCIA_SANCHEZ,
}  # fmt: skip


def of_options(
    path: str | os.PathLike[str] | None,
    potential: str | None,
    mixing: str | None,
    remove_atom_number_code: bool = False,
) -> ForceField | None:
    """The force field of the options of the command, whose conventions replace those of the file;
    None without options.

    Raises:
        OSError, ValueError: an error of `ForceField.read`, or of its arguments.
    """
    if path is None and remove_atom_number_code:
        raise ValueError("--remove-atom-number-code is for a folder of RASPA2: give such a folder")
    found = None
    if path is not None:
        found = ForceField.read(path, remove_atom_number_code=remove_atom_number_code)
    options = {"potential": potential, "mixing": mixing}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return replace(found or ForceField(), **given) if given else found


def names_of(label: str, element: str) -> list[str]:
    """The names under which a table may have an atom, the most specific first: its label, the first
    part of the label without digits, and its element."""
    bare = re.search(r"[^\d\s]+", label)
    return [label, bare[0].rstrip("_") if bare else element, element]


def _without_number(label: str) -> str:
    """RASPA2's short form of a label: the letters before the first number or underscore, with the
    oxidation state ("Cu2+_1" as "Cu2+")."""
    return re.match(r"[A-Za-z]*(?:\d[+-])*", label.partition("_")[0])[0]  # type: ignore[index]


def _mixed(a: Law, b: Law, rule: str) -> Law:
    if a[0] == 0 or b[0] == 0:
        return NONE
    sigma = math.sqrt(a[1] * b[1]) if rule == "geometric" else 0.5 * (a[1] + b[1])
    return (math.sqrt(a[0] * b[0]), sigma)


# ---- RASPA3 --------------------------------------------------------------------------------------

_RULES = {
    "lorentz-berthelot": "lorentz-berthelot",
    "lorentzberthelot": "lorentz-berthelot",
    "jorgensen": "geometric",
    "geometric": "geometric",
}
# Keys with cutoffs of the Lennard-Jones potential, and those that this package does not have.
_CUTOFFS = ("cutoff", "cutoffvdw", "cutoffframeworkvdw", "cutoffmoleculevdw")
_OF_PAIRS = (
    "shiftedpotentialpairs", "truncatedpotentialpairs", "tailcorrectionpairs",
    "notailcorrectionpairs",
)  # fmt: skip


def _from_raspa3(contents: Mapping[str, Any], source: str) -> ForceField:
    d = {key.lower(): value for key, value in contents.items()}
    parameters, pairs = {}, {}
    atoms: dict[str, Mapping[str, Any]] = {}
    for atom in d.get("pseudoatoms", []):
        atoms.setdefault(atom["name"], atom)  # RASPA3 finds the first of several
    for entry in d.get("selfinteractions", []):
        parameters[entry["name"]] = _law_of_entry(entry, source)
    for entry in d.get("binaryinteractions", []):
        first, second = entry["names"]
        pairs[first, second] = _law_of_entry(entry, source)
    if key := next((key for key in _OF_PAIRS if d.get(key)), None):
        raise OfFile(f"{source}: potentials by pair ({key}) are not supported: leave them out")
    if str(d.get("chargemethod", "ewald")).lower() != "ewald":
        raise OfFile(f'{source}: ChargeMethod is "{d["chargemethod"]}"; only Ewald is supported')
    truncation = _one_of(d.get("truncationmethod", "truncated"), ("shifted", "truncated"), source)
    charges, uncharged = _split(
        {name: float(atom.get("charge", 0.0)) for name, atom in atoms.items()}
    )
    marked = any(atom.get("framework") for atom in atoms.values())
    return ForceField(
        parameters,
        charges,
        pairs,
        _rule(str(d.get("mixingrule", "Lorentz-Berthelot")), source),
        _potential(truncation == "shifted", bool(d.get("tailcorrections", False)), source),
        uncharged,
        {name: float(atom["mass"]) for name, atom in atoms.items() if "mass" in atom},
        guests=frozenset(n for n, atom in atoms.items() if marked and not atom.get("framework")),
        cutoff=_cutoff([d[key] for key in _CUTOFFS if key in d], source),
    )


def _one_of(word: Any, known: tuple[str, ...], source: str) -> str:
    if str(word).lower() not in known:
        raise OfFile(f'{source}: "{word}" is neither {" nor ".join(known)}')
    return str(word).lower()


def _cutoff(given: list[Any], source: str) -> float | None:
    """The cutoff of a file; None if RASPA3 chooses it."""
    found = {float(value) for value in given if str(value).lower() != "auto"}
    if len(found) > 1:
        raise OfFile(f"{source} has several cutoffs ({', '.join(f'{x:g}' for x in sorted(found))} "
                     "angstrom); only one is supported")  # fmt: skip
    return found.pop() if found else None


def _split(charges: Mapping[str, float]) -> tuple[dict[str, float], frozenset[str]]:
    """The charges that are not zero, and the labels of the others."""
    kept = {label: q for label, q in charges.items() if q}
    return kept, frozenset(charges.keys() - kept.keys())


def _law_of_entry(entry: Mapping[str, Any], source: str) -> Law | None:
    kind = _kind(str(entry.get("type", "lennard-jones")))
    if kind not in _KINDS:
        raise OfFile(f"{source}: {entry.get('name', entry.get('names'))} has the potential "
                     f"{kind}; only lennard-jones is possible")  # fmt: skip
    return _law(entry["parameters"]) if kind == "lennard-jones" else None


def _law(parameters: Any) -> Law | None:
    epsilon, sigma = (float(x) for x in list(parameters)[:2])
    return (epsilon, sigma) if epsilon else None


def _rule(name: str, source: str) -> str:
    if _kind(name) not in _RULES:
        raise OfFile(f'{source}: unknown mixing rule "{name}"')
    return _RULES[_kind(name)]


_KINDS = ("lennard-jones", "none", "zero-potential")


def _kind(name: str) -> str:
    """The name of a potential or a rule, which RASPA's files spell in two ways (LENNARD_JONES)."""
    return name.lower().replace("_", "-")


def _potential(shifted: bool, tail: bool, source: str) -> str:
    if shifted and tail:
        raise OfFile(f"{source}: potentials are either shifted or have tail corrections")
    return "shifted" if shifted else "tail" if tail else "truncated"


# ---- RASPA2 --------------------------------------------------------------------------------------


def words_of(path: Path) -> Iterator[list[str]]:
    """The words of each line that is neither empty nor a comment."""
    for line in path.read_text("utf-8-sig", "replace").splitlines():
        words = line.split("#")[0].split("//")[0].split()
        if words:
            yield words


def _from_raspa2(folder: Path, without_numbers: bool) -> ForceField:
    path = folder / "force_field_mixing_rules.def"
    lines = list(words_of(path))
    try:
        shifted = _one_of(lines[0][0], ("shifted", "truncated"), str(path)) == "shifted"
        tail = _one_of(lines[1][0], ("yes", "no"), str(path)) == "yes"
        count = int(lines[2][0])
        parameters: dict[str, Law | None] = {}
        for words in lines[3 : 3 + count]:
            kind = _kind(words[1])
            if kind not in _KINDS:
                raise OfFile(
                    f"{path}: {words[0]} has the potential {kind}; only lennard-jones is possible"
                )
            parameters.pop(words[0], None)  # the place of the later line counts
            parameters[words[0]] = _law(words[2:4]) if kind == "lennard-jones" else None
        rule = _rule(lines[3 + count][0], str(path))
    except OfFile:
        raise
    except (IndexError, ValueError) as error:
        raise OfFile(f"{path} is not a file of mixing rules of RASPA2: {error}") from None
    charges, uncharged = _split(_raspa2_column(folder / "pseudo_atoms.def", 6))
    found = ForceField(
        parameters,
        charges,
        {},
        rule,
        _potential(shifted, tail, str(path)),
        uncharged,
        _raspa2_column(folder / "pseudo_atoms.def", 5),
        "raspa2-without-numbers" if without_numbers else "raspa2",
    )
    return replace(found, pairs=_raspa2_pairs(folder / "force_field.def", found))


def _raspa2_column(path: Path, column: int) -> dict[str, float]:
    """A column of numbers of pseudo_atoms.def by label: 5 has masses, 6 charges."""
    if not path.is_file():
        return {}
    lines = list(words_of(path))
    try:
        rows = lines[1 : 1 + int(lines[0][0])]
        found: dict[str, tuple[str, float]] = {}
        for row in rows:  # RASPA2 finds the first of several, in upper or lower case
            found.setdefault(row[0].lower(), (row[0], float(row[column])))
        return dict(found.values())
    except (IndexError, ValueError) as error:
        raise OfFile(f"{path} is not a list of pseudo-atoms of RASPA2: {error}") from None


def _raspa2_pairs(path: Path, field: ForceField) -> dict[tuple[str, str], Law | None]:
    """The pairs of force_field.def, which has numbers of rules to overwrite, of interactions and of
    mixing rules, each followed by that many lines."""
    if not path.is_file():
        return {}
    lines = list(words_of(path))
    try:
        if int(lines[0][0]) > 0:
            raise ValueError(
                "rules by pair of shifted potentials are not possible: leave the rules out"
            )
        pairs: dict[tuple[str, str], Law | None] = {}
        end = 2 + int(lines[1][0])
        for words in lines[2:end]:
            kind = _kind(words[2])
            if kind not in _KINDS:
                raise ValueError(f"the potential {words[2]} is not possible, only lennard-jones")
            pairs.pop((words[0], words[1]), None)  # the place of the later line counts
            pairs[words[0], words[1]] = _law(words[3:5]) if kind == "lennard-jones" else None
        rows = lines[end + 1 : end + 1 + int(lines[end][0])] if len(lines) > end else []
        for first, second, rule in (row[:3] for row in rows):
            if _RULES.get(_kind(rule)) != "lorentz-berthelot":  # the only one that RASPA2 reads
                raise ValueError(f"the mixing rule {rule} of a pair is not supported")
            laws = []
            for label in (first, second):
                if (match := field.match(label)) is None:
                    raise ValueError(f"{label} has a mixing rule, but no parameters")
                laws.append(match.law or NONE)
            pairs.pop((first, second), None)
            pairs[first, second] = _mixed(laws[0], laws[1], "lorentz-berthelot")
        return pairs
    except (IndexError, ValueError) as error:
        raise OfFile(f"{path} is not a file of interactions of RASPA2: {error}") from None
