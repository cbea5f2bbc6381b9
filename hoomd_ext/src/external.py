"""External fields and steps of the integrators, which are objects of `hoomd.hpmc.external` and
`hoomd.hpmc.pair`."""

from __future__ import annotations

import itertools

import hoomd
import numpy as np
from hoomd.data.typeconverter import RequiredArg
from hoomd.error import IncompleteSpecificationError

# Classes are compared by name, because a HOOMD-blue without HPMC does not have them. Potentials of
# hoomd.md have the same attributes and other energies.
_KINDS = frozenset(
    f"hoomd.hpmc.external.{name}"
    for name in ("wall.WallPotential", "linear.Linear", "field.Harmonic")
)
_PLAIN = {
    "shape": "plane",
    "inside": True,
    "origin": [0.0, 0.0, 0.0],
    "direction": [0.0, 0.0, 1.0],
    "radius": 0.0,
    "strengths": [],
    "points": [],
}


def described(potentials, types, dimensions):
    """The fields of potentials as the C++ object has them, for these particle types."""
    return [field for each in potentials for field in _fields(each, types, dimensions)]


def check(name, potential):
    """The potential, if it is one of the external potentials that the integrators have."""
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(potential).__mro__}
    if kinds.isdisjoint(_KINDS):
        raise TypeError(
            f"{name}: hoomd.manymove has the WallPotential, Linear and Harmonic of "
            f"hoomd.hpmc.external, got {potential!r}"
        )
    return potential


def check_pair(potential):
    """The potential, if it is one of the pair potentials that the integrators have."""
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(potential).__mro__}
    if "hoomd.hpmc.pair.step.Step" not in kinds:
        raise TypeError(
            f"pair_potentials: hoomd.manymove has the Step of hoomd.hpmc.pair, got {potential!r}"
        )
    return potential


def steps(potentials, diameters):
    """The steps of pair potentials as the C++ object has them: ranges and energies of all pairs of
    types, whose energies add up.

    Args:
        potentials: objects of `hoomd.hpmc.pair.Step`.
        diameters: diameter of each particle type, by its name.
    """
    pairs = list(itertools.product(diameters, repeat=2))
    found = []
    for potential in potentials:
        tables = [_of_pair(potential, pair, diameters) for pair in pairs]
        for k in range(max(map(len, tables))):
            each = [table[k] if k < len(table) else (1.0, 0.0) for table in tables]
            found.append(([one[0] for one in each], [one[1] for one in each]))
    return found


def _of_pair(potential, pair, diameters):
    """Ranges and energies of a pair of types. Values inside the contact distance are never met."""
    params = potential.params[pair]
    if params is None:
        return []
    if params is RequiredArg:
        raise IncompleteSpecificationError(
            f"pair_potentials: Step.params[{pair}] is missing: set it, or set it to None"
        )
    energies = [*map(float, params["epsilon"]), 0.0]
    if len(params["r"]) + 1 != len(energies):
        raise ValueError(f"pair_potentials: Step.params[{pair}] must have as many r as epsilon")
    if list(params["r"]) != sorted(set(params["r"])):
        raise ValueError(f"pair_potentials: Step.params[{pair}] must have ascending r")
    contact = sum(diameters[name] for name in pair) / 2
    return [
        (float(r), energies[k] - energies[k + 1]) for k, r in enumerate(params["r"]) if r > contact
    ]


def _fields(potential, types, dimensions):
    if hasattr(potential, "walls"):
        return [{**_PLAIN, "kind": "wall", **_wall(each)} for each in potential.walls]
    if hasattr(potential, "alpha"):
        return [
            {
                **_PLAIN,
                "kind": "linear",
                "origin": list(map(float, potential.plane_origin)),
                "direction": list(map(float, potential.plane_normal)),
                "strengths": [float(potential.alpha[name]) for name in types],
            }
        ]
    if _constant("k_rotational", potential.k_rotational) != 0:
        raise ValueError("Harmonic.k_rotational must be 0: these particles have no orientation")
    points = np.asarray(potential.reference_positions, dtype=np.float64)[:, :dimensions]
    stiffness = _constant("k_translational", potential.k_translational)
    return [
        {
            **_PLAIN,
            "kind": "springs",
            "strengths": len(types) * [stiffness],
            "points": points.ravel().tolist(),
        }
    ]


def _wall(wall):
    found = {"origin": list(map(float, wall.origin))}
    if isinstance(wall, hoomd.wall.Plane):
        return {**found, "shape": "plane", "direction": list(map(float, wall.normal))}
    found |= {"radius": float(wall.radius), "inside": bool(wall.inside)}
    if isinstance(wall, hoomd.wall.Sphere):
        return {**found, "shape": "sphere"}
    return {**found, "shape": "cylinder", "direction": list(map(float, wall.axis))}


def _constant(name, value):
    """A number, or the number of a constant variant."""
    if isinstance(value, hoomd.variant.Constant):
        return float(value(0))
    if callable(value):
        raise ValueError(f"Harmonic.{name} must be constant: assign another number between runs")
    return float(value)
