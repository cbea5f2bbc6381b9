# SPDX-License-Identifier: BSD-3-Clause
"""Settings of the four classes: small groups of parameters, each of which is declared once.

The type, the default, the sentence and the check of a parameter stand on its field. The signature,
the documentation, the options of the commands and their help follow from them.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

import numpy as np

from manymove import arguments
from manymove.errors import ParameterError

MOST_TYPES = 64
VOLUME_MODES = ("ln", "standard", "length")


@dataclass(frozen=True)
class Parameter:
    """The declaration of a parameter.

    Attributes:
        text: a sentence with the quantity, its unit, and its default if that is not a value.
        check: function of the name and the value that returns the value in the right type, or
            raises a ValueError or a TypeError.
        optional: whether None stands for a default and is not checked, which the type says.
    """

    text: str
    check: Callable[[str, Any], Any] | None = None
    optional: bool = False


class Group:
    """The base of all groups of parameters, which are frozen dataclasses."""

    declared: ClassVar[dict[str, Parameter]] = {}

    def __init_subclass__(cls) -> None:
        own = _declared(cls)
        cls.declared = cls.declared | own
        defaults = {name: getattr(cls, name, None) for name in own}
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\nArgs:\n{_lines(own, defaults)}"

    def __post_init__(self) -> None:
        for name, value in _checked(self.declared, vars(self)).items():
            object.__setattr__(self, name, value)


def declare(kind: type) -> None:
    """Document the keyword arguments of a class whose `__init__` declares them, and check them."""
    if "__init__" in vars(kind):
        bare = kind.__init__  # type: ignore[misc]
        declared = _declared(bare)

        @functools.wraps(bare)
        def __init__(self: Any, *values: Any, **others: Any) -> None:
            bare(self, *values, **{**others, **_checked(declared, others)})

        __init__.declared = declared  # type: ignore[attr-defined]
        kind.__init__ = __init__  # type: ignore[misc]
    text, raises, rest = inspect.cleandoc(kind.__doc__ or "").partition("\nRaises:\n")
    declared = getattr(kind.__init__, "declared", {})  # type: ignore[misc]
    if declared and raises:
        signature = inspect.signature(kind.__init__)  # type: ignore[misc]
        defaults = {name: signature.parameters[name].default for name in declared}
        kind.__doc__ = f"{text}\nArgs:\n{_lines(declared, defaults)}\n{raises}{rest}"


def _declared(owner: Any) -> dict[str, Parameter]:
    """The declarations in the annotations of a class or function, which keep the types alone."""
    hints = get_type_hints(owner, include_extras=True)
    own = [name for name in owner.__annotations__ if get_origin(hints[name]) is Annotated]
    types = {name: get_args(hints[name])[0] for name in own}
    owner.__annotations__ |= types
    return {
        name: replace(get_args(hints[name])[1], optional=type(None) in get_args(types[name]))
        for name in own
    }


def _checked(declared: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values that have been given for declared parameters, in the right types."""
    found = {}
    for name, value in given.items():
        if (parameter := declared.get(name)) and parameter.check:
            skip = parameter.optional and value is None
            found[name] = value if skip else parameter.check(name, value)
    return found


def _lines(declared: Mapping[str, Parameter], defaults: Mapping[str, Any]) -> str:
    """The lines of parameters in a docstring; their sentences end with defaults that are values."""
    lines = []
    for name, parameter in declared.items():
        default, text = defaults[name], parameter.text
        if default not in (None, inspect.Parameter.empty) and "(default " not in text:
            text = f"{text.rstrip('.')} (default {default!r})."
        lines.append(f"    {name}: {text}")
    return "\n".join(lines)


def one_of(*words: str) -> Callable[[str, Any], str]:
    """A check that a value is one of these words."""
    return lambda name, value: arguments.one_of(name, value, words)


def group(kind: type[Group], alone: bool = False) -> Callable[[str, Any], Any]:
    """A check that a value is a group of parameters, or the first parameter of the group alone."""

    def check(name: str, value: Any) -> Any:
        if alone and not isinstance(value, Group):
            value = kind(value)
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be a manymove.{kind.__name__}, got {value!r}")
        return value

    return check


def lengths(name: str, value: Any, dimensions: int = 1) -> np.ndarray:
    """Check an array of lengths, float64."""
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(name, f"must be numbers: {error}") from None
    if found.ndim != dimensions or not found.size:
        shape = {1: "(N,)", 2: "(T, T)"}[dimensions]
        raise ParameterError(name, f"must have shape {shape}, got {found.shape}")
    bad = ~(np.isfinite(found) & (found > 0))
    if bad.any():
        where = np.argwhere(bad)[0].tolist()
        raise ParameterError(
            name, f"must be positive and finite, got {found[tuple(where)]} at {where}"
        )
    return found


def _table(name: str, value: Any) -> np.ndarray:
    """Check the contact distances of pairs of types."""
    table = lengths(name, value, 2)
    if table.shape[0] != table.shape[1]:
        raise ParameterError(name, f"must be a symmetric table (T, T), got shape {table.shape}")
    for i, j in np.argwhere(table != table.T)[:1]:
        raise ParameterError(
            name,
            f"must be a symmetric table (T, T), got {table[i, j]} for types {i}-{j} and "
            f"{table[j, i]} for {j}-{i}",
        )
    if len(table) > MOST_TYPES:
        raise ParameterError(name, f"must have at most {MOST_TYPES} types, got {len(table)}")
    return table


def _types(name: str, value: Any) -> np.ndarray:
    """Check the types of particles."""
    kinds = np.asarray(value)
    if kinds.ndim != 1 or kinds.dtype.kind not in "iu" or not kinds.size:
        raise ParameterError(
            name,
            "must be integers (N,), from 0 to the number of types less one, got "
            f"{kinds.dtype} of shape {kinds.shape}",
        )
    return kinds


def widths(name: str, value: Any) -> int | tuple[int, ...]:
    """Check a width in cells, or one width for each axis."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return arguments.counts_or_default(name, value, len(value))
    return arguments.count(name, value)


# Parameters of all classes.
Seed = Annotated[
    int,
    Parameter("Seed of the random number generator, an integer in [0, 2**64).", arguments.uint64),
]
Device = Annotated[
    str, Parameter('Device: "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:<index>".')
]
Threads = Annotated[
    int | None,
    Parameter("Number of threads of the CPU engine (default all cores)."),
]


# ---- hard particles ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mixture(Group):
    """Sizes of a mixture of hard particles by their types."""

    types: Annotated[np.ndarray, Parameter("Type of each particle, integers (N,) from 0.", _types)]
    contacts: Annotated[
        np.ndarray,
        Parameter(
            "Contact distances of the pairs of types, (T, T). They need not be additive.", _table
        ),
    ]

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds, most = self.types, len(self.contacts)
        if kinds.min() < 0 or kinds.max() >= most:
            wrong = int(np.argmax((kinds < 0) | (kinds >= most)))
            raise ParameterError(
                "types", f"must be from 0 to {most - 1}, got {kinds[wrong]} of particle {wrong}"
            )
        object.__setattr__(self, "types", kinds.astype(np.int32))


@dataclass(frozen=True)
class ConstantPressure(Group):
    """Constant pressure: trial changes of the volume between cycles."""

    pressure: Annotated[
        float,
        Parameter(
            "Imposed pressure P* = beta P d^D in D dimensions, where d is the diameter, or d^D its "
            "mean over a mixture.",
            arguments.positive_and_finite,
        ),
    ]
    mode: Annotated[
        str,
        Parameter(
            'Coordinate in which trial changes are uniform: "ln" for ln V, "standard" for V, or '
            '"length" for the length of one edge at a time, which needs a search over all pairs on '
            "the host.",
            one_of(*VOLUME_MODES),
        ),
    ] = "ln"
    delta: Annotated[
        float | Sequence[float] | None,
        Parameter(
            "Maximum trial change of ln V, of V or of an edge (default from N and the pressure). "
            'In the mode "length" it may be one number for each edge, 0 for a fixed edge; it '
            "applies to the initial edges and grows in proportion to the edge."
        ),
    ] = None
    repeats: Annotated[
        int | None,
        Parameter(
            "Number of trial changes at a time (default 10, which need one search over the pairs, "
            'or 1 in the mode "length").',
            arguments.count,
        ),
    ] = None
    every: Annotated[int, Parameter("Number of cycles between trial changes.", arguments.count)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.delta is None:
            return
        if np.ndim(self.delta) == 0:
            delta: Any = arguments.positive("delta", self.delta)  # type: ignore[arg-type]
        elif self.mode != "length":
            raise ParameterError("delta", 'must be a number unless the mode is "length"')
        else:
            delta = tuple(arguments.not_negative("delta", each) for each in self.delta)  # type: ignore[union-attr]
            if not all(map(math.isfinite, delta)):
                raise ParameterError("delta", f"must be finite, got {delta}")
            if not any(delta):
                raise ParameterError("delta", "is 0 for all edges; at least one must be positive")
        object.__setattr__(self, "delta", delta)


@dataclass(frozen=True)
class Swaps(Group):
    """Swap moves, in which pairs of particles exchange their diameters if there is room.

    A tile must have at least four cells along an axis. At constant pressure a box may shrink until
    no tile has four; then there are no swap moves, and `swap_trials` stays the same.
    """

    rounds: Annotated[
        int,
        Parameter(
            "Number of rounds of swap moves for each set of cells, in which pairs of particles "
            "exchange their diameters if there is room (default no swap moves).",
            partial(arguments.count, most=1000),
        ),
    ]
    range: Annotated[
        float | None,
        Parameter(
            "Largest difference of the diameters of a pair in swap moves (default any).",
            arguments.positive_and_finite,
        ),
    ] = None
    every: Annotated[int, Parameter("Number of cycles between swap moves.", arguments.count)] = 1


@dataclass(frozen=True)
class Grid(Group):
    """Grid of cells of hard particles, and the trial moves in a cell."""

    moves_per_cell: Annotated[
        int | None,
        Parameter(
            "Number of trial moves per visit of a cell, n_m (default 4 for equal disks at constant "
            "area, otherwise 8).",
            arguments.count,
        ),
    ] = None
    rounds: Annotated[
        int | None,
        Parameter(
            "Number of passes over the sets of cells in a cycle, between two shifts of the grid "
            "(default 4, or 1 at constant pressure).",
            arguments.count,
        ),
    ] = None
    tile: Annotated[
        int | tuple[int, ...] | None,
        Parameter(
            "Maximum width of a tile in cells, or except for equal disks at constant area one "
            "width for each axis (default from N and the box). A GPU block or a CPU thread works "
            "on one tile during a cycle; narrower tiles allow more ranks.",
            widths,
        ),
    ] = None
    cell_width: Annotated[
        float | None,
        Parameter(
            "Desired width of a cell, from the largest contact distance (default) to below 4/3 of "
            "it, or below sqrt(2) of it for equal disks at constant area.",
            arguments.positive,
        ),
    ] = None


@dataclass(frozen=True)
class Start(Group):
    """Start of hard particles from given positions."""

    first_cycle: Annotated[
        int,
        Parameter(
            "Value of `cycles` at the start. Random numbers belong to a seed and a cycle, "
            "therefore a run that continues from positions instead of a checkpoint should begin "
            "with the `cycles` at which the last run ended.",
            arguments.uint64,
        ),
    ] = 0
    repair_depth: Annotated[
        float,
        Parameter(
            "Depth in contact distances up to which overlaps of the input are repaired by pushing "
            "particles apart, and reported in `repaired`. float32 files of large boxes have such "
            "overlaps.",
            arguments.not_negative,
        ),
    ] = 1e-4


@dataclass(frozen=True)
class Ranks(Group):
    """MPI ranks that share a system."""

    comm: Annotated[
        Any,
        Parameter(
            "Communicator of mpi4py, for instance ``MPI.COMM_WORLD``. Each rank uses the GPU of "
            "its rank on the machine, or its part of the cores."
        ),
    ]
    timeout: Annotated[
        float | None,
        Parameter(
            "Time in seconds after which a silent rank is an error (default the environment "
            "variable MANYMOVE_TIMEOUT, or 60). Time for which the job is suspended does not "
            "count.",
            arguments.positive_and_finite,
        ),
    ] = None
