# SPDX-License-Identifier: BSD-3-Clause
"""Settings of box moves and swap moves; the component for HOOMD-blue has a copy of this file."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any


def _positive(name: str, value: Any) -> float:
    try:
        value = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return value


def _dictionary(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a dictionary, got {value!r}")
    return value


def _of_edges(name: str, value: Iterable[Any]) -> tuple[float, ...]:
    found = tuple(value)
    if len(found) not in (2, 3) or all(each == 0 for each in found):
        raise ValueError(f"{name} must have a number for each edge, one of them not 0: {value!r}")
    return tuple(0.0 if each == 0 else _positive(name, each) for each in found)


def count(name: str, value: Any, most: int) -> int:
    """Check an integer from 1 to most."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if not 1 <= value <= most:
        raise ValueError(f"{name} must be from 1 to {most}, got {value}")
    return value


def _refuse_others(name: str, value: Mapping[str, Any], known: tuple[str, ...]) -> None:
    unknown = [key for key in value if key not in known]
    if unknown:
        raise ValueError(
            f"{name}[{unknown[0]!r}] is not supported; the settings are {', '.join(known)}"
        )


def pressure(value: Any, timestep: int | None = None) -> Any:
    """Check the pressure of box moves: a number, or a variant of HOOMD-blue, whose value at a time
    step is returned if that is given."""
    name = "box_moves['betaP']"
    if not callable(value):
        return _positive(name, value)
    return value if timestep is None else _positive(name, value(timestep))


KINDS = {
    "volume": ("weight", "mode", "delta"),
    "length": ("weight", "delta"),
    "aspect": ("weight", "delta"),
}
# How a script names the maximum of a kind, of which the engine writes.
NAMES = {f"box_{kind}_delta": f"box_moves[{kind!r}]['delta']" for kind in KINDS}


def _kind(name: str, value: Any) -> dict[str, Any]:
    """Check the settings of one kind of box moves and fill in the defaults."""
    path = f"box_moves[{name!r}]"
    given = _dictionary(path, value)
    _refuse_others(path, given, KINDS[name])
    weight = given.get("weight", 1)
    found: dict[str, Any] = {
        "weight": 0.0 if weight == 0 else _positive(f"{path}['weight']", weight)
    }
    if name == "volume":
        found["mode"] = mode = given.get("mode", "ln")
        if mode not in ("ln", "standard"):
            raise ValueError(f"{path}['mode'] must be 'ln' or 'standard', got {mode!r}")
    delta = given.get("delta")
    if name == "length" and isinstance(delta, Iterable) and not isinstance(delta, str):
        found["delta"] = _of_edges(f"{path}['delta']", delta)
    else:
        found["delta"] = None if delta is None else _positive(f"{path}['delta']", delta)
    return found


def box_moves(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Check the settings of `box_moves` and fill in the defaults."""
    if value is None:
        return None
    _dictionary("box_moves", value)
    if "shear" in value:
        raise ValueError("box_moves['shear'] is not supported: boxes are rectangular")
    _refuse_others("box_moves", value, ("betaP", *KINDS))
    if "betaP" not in value:
        raise ValueError("box_moves must have betaP")
    given = {name: each for name in KINDS if (each := value.get(name)) is not None}
    found = {name: _kind(name, each) for name, each in (given or {"volume": {}}).items()}
    kinds = {name: each for name, each in found.items() if each["weight"]}
    if not kinds:
        raise ValueError("box_moves has no kind of moves whose weight is positive")
    if len(kinds) == 1 and "aspect" not in kinds:
        for each in kinds.values():
            del each["weight"]  # which has no meaning
    elif kinds.get("volume", {}).get("mode") == "standard":
        raise ValueError(
            "box_moves['volume']['mode'] must be 'ln' with other kinds of moves, got 'standard': "
            "both sample the same boxes"
        )
    return {"betaP": pressure(value["betaP"]), **kinds}


def kinds(moves: Mapping[str, Any], dimensions: int) -> dict[str, Any]:
    """The arguments of `manymove.ConstantPressure` for these box moves, except the pressure. In two
    dimensions the maximum change of z has no meaning."""
    found = {name: moves[name] for name in KINDS if name in moves}
    deltas = {name: each["delta"] for name, each in found.items()}
    if isinstance(delta := deltas.get("length"), tuple):
        if len(delta) < dimensions or not any(delta[:dimensions]):
            raise ValueError(f"box_moves['length']['delta'] does not fit the box: {delta!r}")
        deltas["length"] = delta[:dimensions]
    weights = {name: each["weight"] for name, each in found.items() if "weight" in each}
    if weights:
        given = {name: each for name, each in deltas.items() if each is not None}
        return {"weights": weights, "delta": given or None}
    ((name, one),) = found.items()
    return {"mode": one.get("mode", name), "delta": deltas[name]}


def swap(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Check the settings of `swap` and fill in the defaults."""
    if value is None:
        return None
    if dataclasses.is_dataclass(value):  # `manymove.Swaps`, which has the same names
        value = dataclasses.asdict(value)
    _dictionary("swap", value)
    _refuse_others("swap", value, ("rounds", "range", "every"))
    if "rounds" not in value:
        raise ValueError("swap must have rounds")
    largest = value.get("range")
    return {
        "rounds": count("swap['rounds']", value["rounds"], 1000),
        "range": None if largest is None else _positive("swap['range']", largest),
        "every": count("swap['every']", value.get("every", 1), 2**31 - 1),
    }
