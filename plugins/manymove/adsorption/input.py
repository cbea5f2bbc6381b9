"""Conversion and validation of the arguments of `manymove.Adsorption`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from manymove import arguments
from manymove.adsorption.chains import Chain
from manymove.adsorption.frameworks import Framework, read_framework
from manymove.adsorption.gas import BOLTZMANN
from manymove.adsorption.molecule_files import Species
from manymove.adsorption.rigid import empty_framework
from manymove.errors import ParameterError
from manymove.settings import (
    EnergyGrid,
    Group,
    Interactions,
    Molecules,
    ProfileAxis,
    Steps,
    Supercell,
)

METHODS = ("metropolis", "pmc", "plj", "mup", "mdp", "mdp-dj")
OPEN_METHODS = ("metropolis", "plj")  # those with insertions and deletions
SPACING = {"linear": 0.08, "cubic": 0.2}  # angstrom
# Settings of trials and of the moves that use them, with their defaults.
TRIALS = {
    "trial_positions": 1, "trial_orientations": 1, "reinsertion": 0.0, "identity_change": 0.0,
    "regrowth": 0.0,
}  # fmt: skip
MOST_TRIALS = 1024
BARRIER = 20  # kT: pockets behind higher barriers are blocked, no molecule starts higher


def known_method(method: str) -> str:
    """Return the method; raise ValueError if it is unknown."""
    return arguments.one_of("method", method, METHODS)


def barrier_of(barrier: float | str | None, temperature: float) -> float | None:
    """The barrier in kelvin; "auto" is 20 T."""
    if barrier == "auto":
        return BARRIER * temperature
    return None if barrier is None else arguments.number("barrier", barrier)


def given_framework(framework: Any) -> Framework:
    """The framework, read from its file if it is not a `Framework`, or an empty box."""
    if isinstance(framework, Supercell):
        framework = framework.framework
    if isinstance(framework, (str, PathLike)):
        return read_framework(framework)
    return framework if isinstance(framework, Framework) else empty_framework(framework)


_GROUPS: dict[str, tuple[type[Group], dict[str, str]]] = {  # argument: group, options of it
    "grid": (EnergyGrid, {"grid_spacing": "spacing"}),
    "interactions": (Interactions, {}),
    "method": (Steps, {}),
    "molecules": (Molecules, {"molecules": "number"}),
    "profile": (ProfileAxis, {"profile": "direction"}),
}


def arguments_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `manymove.Adsorption` from its parameters by the names of the options."""
    rest = dict(options)
    for argument, (group, names) in _GROUPS.items():
        keys = {names.get(key, key): key for key in rest}
        given = {name: rest.pop(keys[name]) for name in group.declared if name in keys}
        made = group(**given) if given else None
        if given.get("direction", given):
            rest[argument] = made
    if (cells := rest.pop("cells", None)) is not None:
        rest["framework"] = Supercell(rest["framework"], cells)
    return rest


def cells_of(
    cells: Sequence[int] | None, framework: Framework, cutoff: float
) -> tuple[int, int, int]:
    """The number of unit cells along each axis."""
    if cells is None:  # an empty box is one cell, as long as it is
        cells = framework.cells_for(cutoff) if framework.elements else (1, 1, 1)
    if np.shape(cells) != (3,):
        raise ParameterError("cells", f"must be three integers, got {cells!r}")
    a, b, c = (arguments.integer("cells", n) for n in cells)
    if not all(0 < n <= 1000 for n in (a, b, c)):
        got = ", ".join(str(n) if n < 10**9 else "more than 10^9" for n in (a, b, c))
        raise ParameterError(
            "cells",
            f"must be from 1 to 1000 along each axis, got {got} (for a cutoff of {cutoff:g})",
        )
    return a, b, c


def grid_points(
    cell: tuple[float, float, float], spacing: float | Sequence[float] | None, interpolation: str
) -> tuple[int, ...]:
    """Points of the grid along each edge of the unit cell."""
    wanted = SPACING[interpolation] if spacing is None else spacing
    spacings = list(wanted) if isinstance(wanted, Sequence) else 3 * [wanted]
    if len(spacings) != 3 or not all(0 < h < math.inf for h in spacings):
        raise ParameterError("grid_spacing", f"must be positive and finite, got {spacing}")
    if not all(edge / h < 2**31 for edge, h in zip(cell, spacings, strict=True)):
        raise ValueError(f"grid_spacing {spacing} makes more than 2^31 points")
    return tuple(max(4, math.ceil(edge / h - 1e-9)) for edge, h in zip(cell, spacings, strict=True))


def as_list(value: Any, species: Sequence[Species], name: str) -> list[Any]:
    """One value for each species; a single value stands for a list of one."""
    values = list(value) if isinstance(value, (Sequence, np.ndarray)) else [value]
    if not species:
        raise ValueError("there must be at least one adsorbate")
    if len(values) != len(species):
        raise ParameterError(
            name, f"needs one number for each of {len(species)} adsorbates, got {len(values)}"
        )
    return values


def per_species(name: str, value: Any, species: Sequence[Species]) -> list[int]:
    """A number of molecules for each species."""
    values = as_list(value, species, name)
    for number in values:
        if arguments.integer(name, number) >= 2**31:
            raise ParameterError(name, f"must be below 2**31, got {number}")
    return [int(number) for number in values]


def fugacities_of(value: Any, species: Sequence[Species]) -> list[float]:
    """The fugacity of each species in bar."""
    fugacities = [float(f) for f in as_list(value, species, "fugacity")]
    if any(not 0 < f < math.inf for f in fugacities):
        raise ParameterError("fugacity", f"must be positive and finite, got {value}")
    return fugacities


def gas_of(
    fugacity: Any,
    capacity: Any,
    exchange: float,
    method: str,
    species: Sequence[Species],
    counts: list[int],
) -> tuple[list[float], list[int]]:
    """The fugacity of each species in bar, 0 for closed systems, and the number of its molecules
    for which the engine has memory at first; the engine estimates it where it is 0."""
    if fugacity is None:
        if capacity is not None:
            raise ParameterError("capacity", "is for open systems: give a fugacity")
        return [0.0] * len(species), counts
    fugacities = fugacities_of(fugacity, species)
    if method not in OPEN_METHODS:
        raise ValueError(f"open systems need one of the methods {' and '.join(OPEN_METHODS)}")
    if not 0 < exchange < 1:
        raise ParameterError("exchange", f"must lie between 0 and 1, got {exchange}")
    if capacity is None:
        return fugacities, [0] * len(species)
    rooms = per_species("capacity", capacity, species)
    if min(rooms) < 1:
        raise ParameterError("capacity", f"must be positive, got {capacity}")
    return fugacities, [max(room, count) for room, count in zip(rooms, counts, strict=True)]


def start_of(
    positions: Any, orientations: Any, molecules: tuple[int, int], rigid: bool
) -> list[np.ndarray]:
    """Initial positions and, if they are given, orientations as arrays with a row per molecule.
    `molecules` is (systems, molecules of each)."""
    start = [positions] if orientations is None else [positions, orientations]
    if orientations is not None and not rigid:
        raise ValueError("orientations are for molecules of several sites or with charges")
    arrays = [np.ascontiguousarray(values, dtype=np.float64) for values in start]
    for values, name, width in zip(arrays, ("positions", "orientations"), (3, 4), strict=False):
        if values.shape != (*molecules, width):
            raise ParameterError(
                name,
                f"must have shape ({molecules[0]}, {molecules[1]}, {width}), got {values.shape}",
            )
    return [values.reshape(-1, values.shape[-1]) for values in arrays]


def activity_of(fugacity: float, volume: float, temperature: float) -> float:
    """beta f V, the mean number of molecules of an ideal gas, from bar, angstrom^3 and kelvin."""
    return fugacity * 1e5 * volume * 1e-30 / (BOLTZMANN * temperature)


def has_trials(trials: Mapping[str, Any]) -> bool:
    """Whether a setting of trials differs from its default."""
    return any(trials.get(name) not in (None, default) for name, default in TRIALS.items())


def trials_of(
    positions: int,
    orientations: int,
    reinsertion: float,
    identity_change: float,
    regrowth: float = 0.0,
    *,
    method: str,
    exchange: float | None,
    species: int,
    chains: bool = False,
) -> dict[str, Any]:
    """The settings of `TRIALS` for the engine. `exchange` is None for closed systems."""
    trials = {
        "trial_positions": arguments.count("trial_positions", positions, most=MOST_TRIALS),
        "trial_orientations": arguments.count("trial_orientations", orientations, MOST_TRIALS),
        "reinsertion": float(reinsertion),
        "identity_change": float(identity_change),
        "regrowth": float(regrowth),
    }
    for name in ("reinsertion", "identity_change", "regrowth"):
        if not 0 <= trials[name] < 1:
            raise ParameterError(name, f"must be in [0, 1), got {trials[name]}")
    if not has_trials(trials):
        return trials
    given = next(name for name in TRIALS if trials[name] != TRIALS[name])
    if method not in OPEN_METHODS:
        raise ParameterError(given, f"needs one of the methods {' and '.join(OPEN_METHODS)}")
    # Orientations of a chain are trials of one bead after the other.
    if not chains and (positions + 1) * orientations > MOST_TRIALS:
        raise ValueError(
            f"(trial_positions + 1) times trial_orientations must be at most {MOST_TRIALS}, got "
            f"{positions} and {orientations}"
        )
    if identity_change and (exchange is None or species < 2):
        raise ParameterError("identity_change", "needs a fugacity and several adsorbates")
    if exchange is None and not reinsertion:
        # Partial regrowths have trials of orientations alone.
        unused = given if not regrowth else "trial_positions" if positions != 1 else ""
        if unused:
            raise ParameterError(unused, "needs a fugacity or reinsertion: the systems are closed")
    all_shares = (exchange or 0.0) + reinsertion + identity_change + regrowth
    if all_shares >= 1:
        which = ["exchange", "reinsertion", "identity_change", *["regrowth"] * bool(regrowth)]
        raise ParameterError(
            which, f"must leave some steps for other moves: their sum is {all_shares:g}"
        )
    return trials


def check_chains(
    chains: Sequence[Chain], method: str, regrowth: float, reinsertion: float, fugacity: Any,
    positions: Any,
) -> None:  # fmt: skip
    """Raise ValueError for settings that chains do not support, or that need a chain."""
    if not chains:
        if regrowth:
            raise ParameterError("regrowth", "is for chains, and no adsorbate is one")
        return
    name = chains[0].name
    if method not in OPEN_METHODS:
        which = " or ".join(f'"{one}"' for one in OPEN_METHODS)
        raise ValueError(f'{name} is a chain, which needs the method {which}, not "{method}"')
    if positions is not None:
        raise ValueError(
            f"{name} is a chain: positions cannot be given, only random ones or a checkpoint"
        )
    stiff = [one.name for one in chains if len(one.beads) > 2]
    if stiff and not regrowth and not reinsertion and fugacity is None:
        raise ValueError(
            f"{stiff[0]} would keep its shape: give regrowth, reinsertion or a fugacity"
        )


def direction_of(profile: str | tuple[int, int, int] | None) -> tuple[int, int, int]:
    """Miller indices of the direction of a profile."""
    if profile is None:
        return (0, 0, 1)
    if isinstance(profile, str):
        if profile not in ("x", "y", "z"):
            raise ParameterError(
                "profile", f'must be "x", "y", "z" or Miller indices, got "{profile}"'
            )
        return int(profile == "x"), int(profile == "y"), int(profile == "z")
    indices = tuple(profile)
    if len(indices) != 3 or not all(isinstance(i, Integral) and abs(i) < 100 for i in indices):
        raise ParameterError("profile", f"must be three Miller indices below 100, got {profile}")
    if not any(indices):
        raise ParameterError("profile", "must not be (0, 0, 0)")
    h, k, l = map(int, indices)  # noqa: E741
    return h, k, l
