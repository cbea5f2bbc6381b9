"""Parameters of the engine for adsorbates, from molecules and force fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manymove.adsorption.adsorbates import Adsorbate, mixed_laws
from manymove.adsorption.chains import NO_LAWS, Chain
from manymove.adsorption.charges import Given, charges_of_framework, tell_bare_charges
from manymove.adsorption.force_field import NONE, ForceField, Law
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.labels import framework_atoms, tell_rules
from manymove.adsorption.molecule_files import Species
from manymove.errors import ParameterError
from manymove.warned import warn

_SCREENED = 3.2  # alpha times the cutoff: erfc is 6e-6
_NET = 1e-3  # e per unit cell: charges of files are rounded


class Unchecked(Framework):
    """A box without atoms, or with atoms that need no checks."""

    def __post_init__(self) -> None:
        pass


def empty_framework(box: Sequence[float] | None) -> Framework:
    """A box without atoms.

    Raises:
        ValueError: the box is missing or not three positive lengths, or six numbers with tilts.
    """
    try:
        numbers = [] if box is None or isinstance(box, str) else [float(x) for x in box]
    except (TypeError, ValueError):  # a number
        numbers = []
    if len(numbers) not in (3, 6) or not all(map(math.isfinite, numbers)) or min(numbers[:3]) <= 0:
        raise ValueError(
            f"without a framework, box must be three lengths in angstrom, or six numbers with the "
            f"tilts b_x, c_x, c_y, got {box}"
        )
    x, y, z, xy, xz, yz = [*numbers, 0.0, 0.0, 0.0][:6]
    return Unchecked("empty", (x, y, z), np.zeros((0, 3)), (), 0.0, (xy, xz, yz))


def framework_of(*values: Any) -> Framework:
    """The framework of a checkpoint, from its attributes."""
    return Framework(*values) if len(values[3]) else Unchecked(*values)


def restored(rigid: dict[str, Any]) -> dict[str, Any]:
    """The parameters of rigid molecules from a checkpoint, with tuples where there were tuples."""
    chains = [
        {**laws, "bends": [tuple(bend) for bend in laws["bends"]]}
        for laws in rigid.get("chains", [])
    ]
    return {
        **rigid,
        "types": [
            {**t, "with_framework": [tuple(law) for law in t["with_framework"]]}
            for t in rigid["types"]
        ],
        "pairs": [tuple(law) for law in rigid["pairs"]],
        "bodies": [[(t, tuple(x)) for t, x in body] for body in rigid["bodies"]],
        "tilt": tuple(rigid["tilt"]),
        **({"chains": chains} if chains else {}),
    }


def ewald_of(ewald: tuple[float, float] | None, cutoff: float) -> tuple[float, float]:
    """Ewald's alpha and largest wave number in 1 / angstrom, by default those that neglect 6e-6 of
    the Coulomb energy of two charges at the cutoff."""
    if ewald is None:
        return _SCREENED / cutoff, 2 * _SCREENED**2 / cutoff
    numbers = tuple(float(x) for x in ewald)
    if len(numbers) != 2 or not all(0 < x < math.inf for x in numbers):
        raise ParameterError("ewald", f"must be (alpha, k_max), both positive, got {ewald}")
    if numbers[0] * cutoff > 7:
        raise ParameterError(
            "ewald",
            f"has alpha = {numbers[0]:g}, more than 7 / cutoff: the pairs within the cutoff would "
            "not interact",
        )
    return numbers


def _smallest_wave(edges: np.ndarray) -> float:
    """The smallest wave number of a box in 1 / angstrom; its edges are the rows."""
    n = np.stack(np.meshgrid(*3 * [np.arange(-2, 3)], indexing="ij"), -1).reshape(-1, 3)
    lengths = 2 * math.pi * np.linalg.norm(n @ np.linalg.inv(edges).T, axis=1)
    return float(lengths[n.any(axis=1)].min())


def settled(
    framework: Framework,
    species: Sequence[Species],
    cross: Mapping[tuple[str, str], Law],
    force_field: ForceField | None,
    ewald: tuple[float, float] | None,
    cutoff: float,
    cells: Sequence[int] = (1, 1, 1),
    framework_charges: Given = None,
    *,
    biased: bool = False,
) -> dict[str, Any]:
    """The part of the engine's parameters that follows from the force field: `kind`, `pairs`, the
    `with_framework` of each species, `shifted`, and, where it is needed, `rigid`. Moves with
    trials (`biased`) need it also for single sites. `framework_atoms` is information for the user.

    Raises:
        ValueError: parameters are missing, or the framework is charged.
    """
    field = force_field or ForceField()
    single = all(isinstance(b, Adsorbate) for b in species)  # these have their own parameters
    for name in ("parameters", "charges", "pairs"):
        if single and getattr(field, name):
            raise ValueError(
                f"force_field: {name} are for molecules; an Adsorbate has parameters of its own "
                "(its framework= and cross=)"
            )
    types, bodies = _types(species, field)
    chains = chains_of(species, types, bodies)
    labels = framework.labels or framework.elements
    kinds = sorted(set(zip(labels, framework.elements, strict=True)))
    if single:  # they have parameters for elements
        kinds = sorted({(e, e) for e in framework.elements})
        labels = framework.elements
    of_atom = {kind: index for index, kind in enumerate(kinds)}
    atoms = [of_atom[pair] for pair in zip(labels, framework.elements, strict=True)]
    with_framework = [[_with_atom(t, kind, field) for kind in kinds] for t in types]
    if single and field.mixing == "lorentz-berthelot":
        pairs = mixed_laws([b for b in species if isinstance(b, Adsorbate)], cross)
    else:
        known = [t["label"] for t in types]
        for name in (name for names in cross for name in names):
            if name not in known:
                raise ValueError(
                    f'cross has "{name}", which is neither an Adsorbate nor a label of sites '
                    f"({', '.join(known)})"
                )
        pairs = [_pair(a, b, field, cross) for a in types for b in types]
    shifted, tail = field.potential == "shifted", field.potential == "tail"
    charged = any(t["charge"] for t in types)
    if framework_charges is not None and not charged:
        raise ParameterError("framework_charges", "has no effect: the molecules have no charges")
    if ewald is not None and not charged:
        raise ParameterError("ewald", "has no effect: the molecules have no charges")
    charges = charges_of_framework(framework, field, framework_charges) if charged else None
    if charged and charges is None and len(framework.elements):
        polar = next(
            b.name for b, body in zip(species, bodies, strict=True)
            if any(types[t]["charge"] for t, _ in body)
        )  # fmt: skip
        what = "no charges" if framework.charges is None else "charges that are all zero"
        raise ValueError(
            f"framework {framework.name} has {what}, but {polar} has charges: give those of the "
            "framework in the CIF file, in the force field, or by label with framework_charges "
            '(--framework-charges O=-0.75,Si=1.5 or a file); framework_charges="zero" '
            "(--framework-charges zero) neglects them"
        )
    if charges is not None and abs(sum(charges)) > _NET:
        raise ValueError(
            f"framework {framework.name} has a net charge of {sum(charges):.6g} e per unit cell; "
            "it must be neutral"
        )
    if charges is not None:
        tell_bare_charges(framework, atoms, charges, types, with_framework, bodies)
    if not single:
        tell_rules(framework, species, field)
    if field.cutoff not in (None, cutoff):
        warn(
            f"the file of the force field has the cutoff {field.cutoff:g} angstrom, but the run "
            f"has the cutoff {cutoff:g}",
            stacklevel=2,
        )
    result: dict[str, Any] = {"kind": atoms, "shifted": shifted}
    result["framework_atoms"] = framework_atoms(labels, framework.elements, species, field, charges)
    simple = all(len(body) == 1 for body in bodies) and not charged and not any(framework.tilt)
    simple = simple and not chains
    if simple and not tail and not biased and len(framework.elements):
        order = [body[0][0] for body in bodies]
        n = len(types)
        result["pairs"] = [pairs[a * n + b] for a in order for b in order]
        result["with_framework"] = [with_framework[t] for t in order]
        return result
    alpha, waves = ewald_of(ewald, cutoff)
    if charged and (least := _smallest_wave(np.diag(cells) @ framework.edges)) > waves:
        raise ValueError(
            f"ewald: k_max is {waves:g} / angstrom, below the smallest wave number of the box, "
            f"{least:.4g}: there would be no sum over waves"
        )
    result["labels"] = [t["label"] for t in types]
    result["pairs"] = []
    result["with_framework"] = [[] for _ in species]
    result["rigid"] = {
        "types": [
            {"charge": float(t["charge"]), "with_framework": laws}
            for t, laws in zip(types, with_framework, strict=True)
        ],
        "pairs": pairs,
        "bodies": bodies,
        "tilt": tuple(float(x) for x in framework.tilt),
        "framework_charge": charges or [],
        "tail": tail,
        "alpha": alpha,
        "wave_cutoff": waves,
        **({"chains": chains} if chains else {}),
    }
    return result


def chains_of(
    species: Sequence[Species], types: Sequence[Mapping[str, Any]], bodies: Sequence[Sequence[Any]]
) -> list[dict[str, list[Any]]]:
    """The bonds, bends and torsions of each species if there is a chain among them.

    Raises:
        ValueError: there are rigid molecules of several sites or charges besides chains.
    """
    if not any(isinstance(b, Chain) for b in species):
        return []
    for b, body in zip(species, bodies, strict=True):
        for t, _ in body:
            if types[t]["charge"]:
                raise ValueError(
                    f"{b.name}: the site {types[t]['label']} has a charge; chains and "
                    "mixtures with chains must not have charges"
                )
        if len(body) > 1 and not isinstance(b, Chain):
            raise ValueError(
                f"{b.name} is a rigid molecule of several sites, which cannot be mixed with "
                "chains; define it as a Chain if it is linear and has no charges"
            )
    return [b.laws if isinstance(b, Chain) else NO_LAWS for b in species]


def _types(
    species: Sequence[Species], field: ForceField
) -> tuple[list[dict[str, Any]], list[list[tuple[int, tuple[float, float, float]]]]]:
    """Types of sites, and (type, position) of each species' sites."""
    types: list[dict[str, Any]] = []
    bodies = []
    for b in species:
        if isinstance(b, Adsorbate):
            types.append({"label": b.name, "law": (b.epsilon, b.sigma), "charge": 0.0, "own": b})
            bodies.append([(len(types) - 1, (0.0, 0.0, 0.0))])
            continue
        body = []
        for site in b.sites:
            law = field.law_of_site(site.label) or (site.epsilon, site.sigma)
            given = field.charge_of_site(site.label)
            charge = site.charge if given is None else given
            new = {"label": site.label, "law": law, "charge": float(charge), "own": None}
            if new not in types:
                types.append(new)
            body.append((types.index(new), site.position))
        net = math.fsum(types[t]["charge"] for t, _ in body)
        if abs(net) > 1e-9 and not isinstance(b, Chain):  # chains_of refuses any charge
            raise ValueError(f"{b.name} has a net charge of {net:g} e; it must be neutral")
        bodies.append(body)
    return types, bodies


def _with_atom(t: Mapping[str, Any], kind: tuple[str, str], field: ForceField) -> Law:
    label, element = kind
    if t["own"] is not None:
        return t["own"].with_element(element)
    if (given := field.given_with_atom(t["label"], label, element)) is not None:
        return given
    if t["law"][0] == 0:
        return NONE
    return field.mixed((t["label"], label), t["law"], field.law_of_atom(label, element))


def _pair(
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    field: ForceField,
    cross: Mapping[tuple[str, str], Law],
) -> Law:
    names = (a["label"], b["label"])
    given = cross.get(names) or cross.get((names[1], names[0]))
    return (given[0], given[1]) if given else field.mixed(names, a["law"], b["law"])
