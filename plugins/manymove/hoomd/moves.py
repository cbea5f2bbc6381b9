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


def box_moves(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Check the settings of `box_moves` and fill in the defaults."""
    if value is None:
        return None
    _dictionary("box_moves", value)
    _refuse_others("box_moves", value, ("betaP", "volume", "length"))
    if "betaP" not in value:
        raise ValueError("box_moves must have betaP")
    if value.get("length") is not None:
        if value.get("volume") is not None:
            raise ValueError("box_moves has either volume or length: give one of them")
        length = _dictionary("box_moves['length']", value["length"])
        _refuse_others("box_moves['length']", length, ("delta",))
        longest = length.get("delta")
        if isinstance(longest, Iterable) and not isinstance(longest, str):
            longest = _of_edges("box_moves['length']['delta']", longest)
        elif longest is not None:
            longest = _positive("box_moves['length']['delta']", longest)
        return {
            "betaP": pressure(value["betaP"]),
            "length": {"delta": longest},
        }
    volume = _dictionary("box_moves['volume']", value.get("volume") or {})
    _refuse_others("box_moves['volume']", volume, ("mode", "delta"))
    mode = volume.get("mode", "ln")
    if mode not in ("ln", "standard"):
        raise ValueError(f"box_moves['volume']['mode'] must be 'ln' or 'standard', got {mode!r}")
    delta = volume.get("delta")
    if delta is not None:
        delta = _positive("box_moves['volume']['delta']", delta)
    return {
        "betaP": pressure(value["betaP"]),
        "volume": {"mode": mode, "delta": delta},
    }


def mode_and_delta(
    moves: Mapping[str, Any], dimensions: int
) -> tuple[str, float | tuple[float, ...] | None]:
    """The coordinate of the trial changes in the words of `manymove.HardSpheres`, and their
    maximum, or that of each edge. In two dimensions that of z has no meaning."""
    if "length" in moves:
        delta = moves["length"]["delta"]
        if not isinstance(delta, tuple):
            return "length", delta
        if len(delta) < dimensions or not any(delta[:dimensions]):
            raise ValueError(f"box_moves['length']['delta'] does not fit the box: {delta!r}")
        return "length", delta[:dimensions]
    return moves["volume"]["mode"], moves["volume"]["delta"]


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
