"""External fields of the integrators, which are objects of `hoomd.hpmc.external`."""

from __future__ import annotations

import hoomd
import numpy as np

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
    """Refuse what is none of the external potentials that the integrators have."""
    kinds = {f"{kind.__module__}.{kind.__name__}" for kind in type(potential).__mro__}
    if kinds.isdisjoint(_KINDS):
        raise TypeError(
            f"{name}: hoomd.manymove has the WallPotential, Linear and Harmonic of "
            f"hoomd.hpmc.external, got {potential!r}"
        )


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
