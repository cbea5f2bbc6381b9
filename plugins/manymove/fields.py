# SPDX-License-Identifier: BSD-3-Clause
"""External fields of hard particles: walls, a linear field, and springs to given points.

Energies are in units of kT, and lengths in the unit of the positions. Coordinates are those of
particles in the box, from -L/2 to L/2 along each axis, without periodic images except for springs.
A point or a direction has as many components as the box has edges.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from manymove import arguments
from manymove.checkpoint import PathLike
from manymove.errors import ParameterError
from manymove.settings import Group

__all__ = ["Cylinder", "HardWall", "HarmonicWall", "LJ93Wall", "Linear", "Plane", "Sphere",
           "Springs", "from_json"]  # fmt: skip

ARRAYS = ("field_values", "field_points")


def _point(name: str, value: Any) -> tuple[float, ...]:
    """A check of a point or a direction."""
    found = np.asarray(value, dtype=np.float64)
    if found.shape not in ((2,), (3,)) or not np.isfinite(found).all():
        raise ParameterError(name, f"must be two or three finite numbers, got {value!r}")
    return tuple(found.tolist())


def _strengths(name: str, value: Any) -> float | np.ndarray:
    """A check of a number, or of one for each particle."""
    if np.ndim(value) == 0:
        return arguments.number(name, value)
    found = np.ascontiguousarray(value, dtype=np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ParameterError(name, "must be a finite number, or one for each particle")
    return found


def _points(name: str, value: Any) -> np.ndarray:
    """A check of points of the particles."""
    found = np.ascontiguousarray(value, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] not in (2, 3) or not np.isfinite(found).all():
        raise ParameterError(name, "must be finite coordinates, (N, D)")
    return found


def _flag(name: str, value: Any) -> bool:
    """A check of True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _three(point: Sequence[float] | None) -> list[float]:
    """A point with the third coordinate that it has in two dimensions."""
    return [*(point or ()), 0.0, 0.0, 0.0][:3]


# ---- surfaces ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plane(Group):
    """A plane, or a line in two dimensions.

    Args:
        normal: direction from the plane to the particles, of any length.
        origin: a point of the plane (default the center of the box).
    """

    normal: Annotated[tuple[float, ...], _point]
    origin: Annotated[tuple[float, ...] | None, _point] = None

    def _parameters(self) -> dict[str, Any]:
        return {"shape": "plane", "direction": _three(self.normal), "origin": _three(self.origin)}


@dataclass(frozen=True)
class Sphere(Group):
    """A sphere, or a circle in two dimensions.

    Args:
        radius: radius of the sphere.
        origin: its center (default that of the box).
        inside: whether the particles are inside.
    """

    radius: Annotated[float, arguments.positive_and_finite]
    origin: Annotated[tuple[float, ...] | None, _point] = None
    inside: Annotated[bool, _flag] = True

    def _parameters(self) -> dict[str, Any]:
        return {
            "shape": "sphere",
            "radius": self.radius,
            "inside": self.inside,
            "origin": _three(self.origin),
        }


@dataclass(frozen=True)
class Cylinder(Group):
    """An infinite cylinder, in three dimensions.

    Args:
        radius: radius of the cylinder.
        axis: direction of its axis, of any length.
        origin: a point of the axis (default the center of the box).
        inside: whether the particles are inside.
    """

    radius: Annotated[float, arguments.positive_and_finite]
    axis: Annotated[tuple[float, ...], _point] = (0.0, 0.0, 1.0)
    origin: Annotated[tuple[float, ...] | None, _point] = None
    inside: Annotated[bool, _flag] = True

    def _parameters(self) -> dict[str, Any]:
        return {
            "shape": "cylinder",
            "radius": self.radius,
            "inside": self.inside,
            "direction": _three(self.axis),
            "origin": _three(self.origin),
        }


Surface = Plane | Sphere | Cylinder


def _surface(name: str, value: Any) -> Surface:
    if not isinstance(value, (Plane, Sphere, Cylinder)):
        raise TypeError(f"{name} must be a Plane, a Sphere or a Cylinder, got {value!r}")
    return value


# ---- fields --------------------------------------------------------------------------------------

# Parameters of the engine that a field does not set.
_PLAIN = {
    "shape": "plane",
    "inside": True,
    "origin": [0.0, 0.0, 0.0],
    "direction": [0.0, 0.0, 1.0],
    "radius": 0.0,
    "length": 0.0,
    "cutoff": 0.0,
}


# Parameters of the engine, the strength or distance, and the points of the particles.
Described = tuple[dict[str, Any], Any, np.ndarray | None]


class Field(ABC):
    """The common base of the fields."""

    @abstractmethod
    def _described(self, radii: Any, dimensions: int) -> Described:
        """The parameters of the engine for the field."""


@dataclass(frozen=True)
class HardWall(Group, Field):
    """A hard wall, whose surface no particle may touch.

    Args:
        surface: surface of the wall, a `Plane`, a `Sphere` or a `Cylinder`.
        distance: least distance of a center from the surface, a number or one for each particle
            (default half the diameter of the particle).
    """

    surface: Annotated[Surface, _surface]
    distance: Annotated[float | np.ndarray | None, _strengths] = None

    def _described(self, radii: Any, dimensions: int) -> Described:
        distance = radii if self.distance is None else self.distance
        return {"kind": "wall", **self.surface._parameters()}, distance, None


@dataclass(frozen=True)
class HarmonicWall(Group, Field):
    """A soft wall, with the energy k (b - s)^2 / 2 at distances s < b of a center.

    Args:
        surface: surface from which the distance is counted, a `Plane`, a `Sphere` or a `Cylinder`.
        stiffness: k in kT per squared length, a number or one for each particle.
        range: b, at which the energy begins.
    """

    surface: Annotated[Surface, _surface]
    stiffness: Annotated[float | np.ndarray, _strengths]
    range: Annotated[float, arguments.positive_and_finite]

    def _described(self, radii: Any, dimensions: int) -> Described:
        given = {"kind": "harmonic_wall", "length": self.range, **self.surface._parameters()}
        return given, self.stiffness, None


@dataclass(frozen=True)
class LJ93Wall(Group, Field):
    """A soft wall with the energy of a half-space of Lennard-Jones particles, epsilon (2/15
    (sigma/s)^9 - (sigma/s)^3) at distances s of a center, cut off and shifted to zero there.

    Args:
        surface: surface of the wall, a `Plane`, a `Sphere` or a `Cylinder`.
        epsilon: strength in kT, a number or one for each particle.
        sigma: length of the law.
        cutoff: distance beyond which the energy is zero.
    """

    surface: Annotated[Surface, _surface]
    epsilon: Annotated[float | np.ndarray, _strengths]
    sigma: Annotated[float, arguments.positive_and_finite]
    cutoff: Annotated[float, arguments.positive_and_finite]

    def _described(self, radii: Any, dimensions: int) -> Described:
        given = {"kind": "lj93_wall", "length": self.sigma, "cutoff": self.cutoff}
        return given | self.surface._parameters(), self.epsilon, None


@dataclass(frozen=True)
class Linear(Group, Field):
    """A linear field, such as gravity: the energy is proportional to a coordinate.

    The energy jumps where particles cross the face of the periodic box. Two walls prevent this.

    Args:
        strength: energy in kT per unit of length, a number or one for each particle.
        direction: direction in which the energy grows, of any length (default the last axis of the
            box).
        origin: a point where the energy is zero (default the center of the box).
    """

    strength: Annotated[float | np.ndarray, _strengths]
    direction: Annotated[tuple[float, ...] | None, _point] = None
    origin: Annotated[tuple[float, ...] | None, _point] = None

    def _described(self, radii: Any, dimensions: int) -> Described:
        last = (*(dimensions - 1) * (0.0,), 1.0)
        given = {"direction": _three(self.direction or last), "origin": _three(self.origin)}
        return {"kind": "linear", **given}, self.strength, None


@dataclass(frozen=True)
class Springs(Group, Field):
    """Harmonic springs to points: the energy is k r^2 / 2 at the distance r of a particle from its
    point, in the nearest image.

    Args:
        stiffness: k in kT per squared length, a number or one for each particle.
        points: a point for each particle, in the box or a periodic image of it, (N, D).
    """

    stiffness: Annotated[float | np.ndarray, _strengths]
    points: Annotated[np.ndarray, _points]

    def _described(self, radii: Any, dimensions: int) -> Described:
        return {"kind": "springs"}, self.stiffness, self.points


# ---- files ---------------------------------------------------------------------------------------

_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (HardWall, HarmonicWall, LJ93Wall, Linear, Springs, Plane, Sphere, Cylinder)
}


def from_json(path: PathLike) -> tuple[Field, ...]:
    """Read the fields of a JSON file, which is a list of objects. An object has the name of a class
    of this module as its "kind", and the arguments of the class. A surface is such an object.

    Args:
        path: path of the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not JSON, or has something that is not a field.
    """
    try:
        listed = json.loads(Path(path).read_text("utf-8-sig"))
        fields = [_made(each) for each in (listed if isinstance(listed, list) else [listed])]
        for each in fields:
            if not isinstance(each, Field):
                raise ValueError(f"{type(each).__name__} is a surface; it belongs to a wall")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    return tuple(fields)


def _made(given: Any) -> Any:
    """The field or the surface of an object in a JSON file."""
    values = dict(given) if isinstance(given, dict) else {}
    kind = values.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"{given!r} needs a kind, which is {', '.join(_KINDS)}")
    try:
        return _KINDS[kind](**{n: _made(v) if n == "surface" else v for n, v in values.items()})
    except TypeError as error:  # an unknown or a missing argument
        raise ValueError(f"{kind}: {str(error).removeprefix(f'{kind}.__init__() ')}") from error


# ---- what the engine and checkpoints have --------------------------------------------------------


def _check_dimensions(field: Field, dimensions: int) -> None:
    """Refuse points and directions of other dimensions than those of the box."""
    for part in (field, getattr(field, "surface", field)):
        for name, value in vars(part).items():
            components = len(value) if isinstance(value, tuple) else dimensions
            components = value.shape[1] if np.ndim(value) == 2 else components
            if components != dimensions:
                raise ParameterError(
                    name, f"must have {dimensions} components, as the box has, got {components}"
                )


def read(
    given: Any, radii: Any, dimensions: int
) -> tuple[tuple[Field, ...], dict[str, Any], dict[str, np.ndarray | None]]:
    """The fields, and what the engine has of them: parameters, and arrays of the particles.

    Args:
        given: argument of the class.
        radii: radius of all particles, or of each.
        dimensions: number of edges of the box.

    Raises:
        TypeError: something is not a field.
        ValueError: a point or a direction has other dimensions than the box.
    """
    if given is not None and not isinstance(given, (Field, Iterable)):
        raise TypeError(f"fields must be objects of manymove.fields, got {given!r}")
    fields = () if given is None else (given,) if isinstance(given, Field) else tuple(given)
    listed, values, points = [], [], []
    for each in fields:
        if not isinstance(each, Field):
            raise TypeError(f"fields must be objects of manymove.fields, got {each!r}")
        _check_dimensions(each, dimensions)
        parameters, strength, places = each._described(radii, dimensions)
        by_particle = np.ndim(strength) == 1
        listed.append(
            {
                **_PLAIN,
                **parameters,
                "value": 0.0 if by_particle else float(strength),
                "by_particle": by_particle,
            }
        )
        if by_particle:
            values.append(strength)
        if places is not None:
            points.append(places.ravel())
    arrays = {
        name: np.concatenate(parts) if parts else None
        for name, parts in zip(ARRAYS, (values, points), strict=True)
    }
    return fields, {"fields": listed} if listed else {}, arrays


def of_checkpoint(
    parameters: dict[str, Any], arrays: dict[str, np.ndarray | None], dimensions: int
) -> tuple[Field, ...]:
    """The fields of the parameters and the arrays that `read` returned."""
    listed = parameters.get("fields", [])
    by_particle = sum(each["by_particle"] for each in listed)
    springs = sum(each["kind"] == "springs" for each in listed)
    values, points = arrays["field_values"], arrays["field_points"]
    strengths = iter([] if values is None else values.reshape(by_particle, -1))
    places = iter([] if points is None else points.reshape(springs, -1, dimensions))
    return tuple(
        _field(each, next(strengths) if each["by_particle"] else each["value"], places, dimensions)
        for each in listed
    )


def _field(given: dict[str, Any], strength: Any, places: Any, dimensions: int) -> Field:
    direction, origin = (tuple(given[name][:dimensions]) for name in ("direction", "origin"))
    if given["kind"] == "springs":
        return Springs(strength, next(places))
    if given["kind"] == "linear":
        return Linear(strength, direction, origin)
    surface: Surface
    if given["shape"] == "plane":
        surface = Plane(direction, origin)
    elif given["shape"] == "sphere":
        surface = Sphere(given["radius"], origin, given["inside"])
    else:
        surface = Cylinder(given["radius"], direction, origin, given["inside"])
    if given["kind"] == "wall":
        return HardWall(surface, strength)
    if given["kind"] == "harmonic_wall":
        return HarmonicWall(surface, strength, given["length"])
    return LJ93Wall(surface, strength, given["length"], given["cutoff"])
