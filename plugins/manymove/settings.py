# SPDX-License-Identifier: BSD-3-Clause
"""Settings of the simulation classes: small groups of parameters, each of which is declared once.

The docstring has the sentence of a parameter, and the field its type, its check and its default.
The documentation, the checks, and the options of the commands with their help follow from them.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from manymove import arguments
from manymove.analysis.ions import Species
from manymove.errors import ParameterError

LARGEST = 1e15  # of a number of a fluid of dissipative particles
MOST_TYPES = 64
VOLUME_MODES = ("ln", "standard", "length")
BOX_MOVES = ("volume", "length", "aspect")
SURROUNDINGS = ("conductor", "vacuum")


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
    check: Callable[[str, Any], Any] | None
    optional: bool


G = TypeVar("G", bound="Group")


class Group:
    """The base of all groups of parameters, which are frozen dataclasses."""

    declared: ClassVar[dict[str, Parameter]] = {}

    def __init_subclass__(cls) -> None:
        cls.declared = cls.declared | _declared(cls)

    def __post_init__(self) -> None:
        for name, value in _checked(self.declared, vars(self)).items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_options(cls: type[G], options: Mapping[str, Any], prefix: str = "") -> G | None:
        """The group from the options of a command, whose names have this prefix; None if none of
        them is given.

        Raises:
            ParameterError: a value is out of range, or an option needs another one.
        """
        values = {name: options.get(prefix + name) for name in cls.declared}
        given = {name: v for name, v in values.items() if v != getattr(cls, name, None)}
        needed = next(name for name in cls.declared)
        if given and needed not in given and not hasattr(cls, needed):
            flag = f"--{prefix}{needed}".replace("_", "-")
            raise ParameterError(prefix + next(iter(given)), f"needs {flag}")
        try:
            return cls(**given) if given else None
        except ParameterError as error:
            names = [prefix + name for name in error.parameters]
            raise ParameterError(names, error.problem) from None


def declare(kind: type) -> None:
    """Let a class check the keyword arguments that its `__init__` declares, and let its docstring
    describe all arguments."""
    if "__init__" in vars(kind):
        bare = kind.__init__  # type: ignore[misc]
        declared, parameters = _declared(bare), inspect.signature(bare).parameters.values()
        names = [each.name for each in parameters]
        takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)

        @functools.wraps(bare)
        def __init__(self: Any, *values: Any, **others: Any) -> None:
            for name in others:
                if name not in names and not takes_any:
                    near = difflib.get_close_matches(name, names, 1)
                    hint = f"; the nearest name is {near[0]}" if near else ""
                    what = f"{type(self).__name__} got an unexpected keyword argument {name!r}"
                    raise TypeError(what + hint)
            bare(self, *values, **{**others, **_checked(declared, others)})

        kind.__init__ = __init__  # type: ignore[misc]
    _, args, described = inspect.cleandoc(kind.__init__.__doc__ or "").partition("Args:\n")  # type: ignore[misc]
    text, raises, rest = inspect.cleandoc(kind.__doc__ or "").partition("Raises:\n")
    if args and raises:
        kind.__doc__ = f"{text}{args}{described}\n\n{raises}{rest}"


def type_hints(owner: Any) -> dict[str, Any]:
    """The annotations of a class or function with their checks. Python 3.10 makes an `Optional` of
    the annotation of a parameter that is None by default, and its check is an argument of that."""

    def bare(hint: Any) -> Any:
        annotated = [each for each in get_args(hint) if get_origin(each) is Annotated]
        return annotated[0] if get_origin(hint) is Union and annotated else hint

    return {name: bare(hint) for name, hint in get_type_hints(owner, include_extras=True).items()}


def _declared(owner: Any) -> dict[str, Parameter]:
    """The declarations of a class or function: sentences in its docstring, and checks in its
    annotations, which keep the types alone."""
    hints = type_hints(owner)
    _, _, described = inspect.cleandoc(owner.__doc__ or "").partition("Args:\n")
    described, *_ = re.split(r"\n(?=\S)", described)  # without the next section
    sentences = sentences_of(described)
    # `python -OO` discards the docstrings; the checks remain.
    checked = [name for name, hint in hints.items() if get_origin(hint) is Annotated]
    found = {}
    for name in dict.fromkeys([*sentences, *checked]):
        kind, *checks = get_args(hints[name]) if name in checked else (hints[name],)
        owner.__annotations__[name] = kind
        found[name] = Parameter(
            sentences.get(name, ""), checks[0] if checks else None, type(None) in get_args(kind)
        )
    return found


def sentences_of(described: str) -> dict[str, str]:
    """The sentences of the parameters in a section of a docstring."""
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", described, re.MULTILINE)
    return {name: text[0].upper() + " ".join(text.split())[1:] for name, text in found}


def _checked(declared: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values that have been given for declared parameters, in the right types."""
    found = {}
    for name, value in given.items():
        if (parameter := declared.get(name)) and parameter.check:
            skip = parameter.optional and value is None
            found[name] = value if skip else parameter.check(name, value)
    return found


def one_of(*words: str) -> Callable[[str, Any], str]:
    """A check that a value is one of these words."""
    return lambda name, value: arguments.one_of(name, value, words)


def group(kind: Any, alone: bool = False) -> Callable[[str, Any], Any]:
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
    if kinds.ndim != 1 or (kinds.size and kinds.dtype.kind not in "iu"):
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


Seed = Annotated[int, arguments.uint64]


# ---- hard particles ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mixture(Group):
    """Sizes of a mixture of hard particles by their types.

    Args:
        types: type of each particle, integers (N,) from 0.
        contacts: contact distances of the pairs of types, (T, T). They need not be additive.
    """

    types: Annotated[np.ndarray, _types]
    contacts: Annotated[np.ndarray, _table]

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds, most = self.types, len(self.contacts)
        if kinds.size and (kinds.min() < 0 or kinds.max() >= most):
            wrong = int(np.argmax((kinds < 0) | (kinds >= most)))
            raise ParameterError(
                "types", f"must be from 0 to {most - 1}, got {kinds[wrong]} of particle {wrong}"
            )
        object.__setattr__(self, "types", kinds.astype(np.int32))


@dataclass(frozen=True)
class ConstantPressure(Group):
    """Constant pressure: trial changes of the volume, or of several kinds, between cycles.

    Args:
        pressure: imposed pressure P* = beta P d^D in D dimensions, where d is the diameter, or d^D
            its mean over a mixture.
        mode: coordinate in which trial changes are uniform: "ln" for ln V, "standard" for V, or
            "length" for the length of one edge at a time, which needs a search over all pairs on
            the host.
        delta: maximum trial change of ln V, of V or of an edge (default from N and the pressure).
            In the mode "length" it may be one number for each edge, 0 for a fixed edge; it applies
            to the initial edges and grows in proportion to the edge. With `weights` it is a
            dictionary of the maxima of the kinds; that of "aspect" is the maximum relative change
            of an edge.
        repeats: number of trial changes at a time (default 10, which need one search over the
            pairs, or 1 in the mode "length" and with `weights`).
        every: number of cycles between trial changes.
        weights: relative probabilities of several kinds of trial changes, a dictionary with the
            keys "volume" (all edges by one factor, uniform in ln V), "length" (one edge) and
            "aspect" (one edge, and the others inversely, at constant volume). Each trial draws its
            kind (default one kind, that of `mode`).
    """

    pressure: Annotated[float, arguments.positive_and_finite]
    mode: Annotated[str, one_of(*VOLUME_MODES)] = "ln"
    delta: float | Sequence[float] | Mapping[str, float | Sequence[float]] | None = None
    repeats: Annotated[int | None, arguments.count] = None
    every: Annotated[int, arguments.count] = 1
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is not None:
            object.__setattr__(self, "weights", self._kinds())
            object.__setattr__(self, "delta", self._maxima())
        elif isinstance(self.delta, Mapping):
            raise ParameterError("delta", "must be a number or a sequence without weights")
        elif self.delta is not None:
            object.__setattr__(self, "delta", _maximum("delta", self.delta, self.mode == "length"))

    def _kinds(self) -> dict[str, float]:
        """The kinds of trial changes that have a weight."""
        weights: Any = self.weights
        if not isinstance(weights, Mapping):
            raise TypeError(f"weights must be a dictionary, got {weights!r}")
        for name in weights:
            arguments.one_of("a key of weights", name, BOX_MOVES)
        if self.mode != "ln":
            raise ParameterError("mode", f"must be left to its default with weights: {self.mode!r}")
        found = {name: arguments.not_negative("weights", each) for name, each in weights.items()}
        if not all(map(math.isfinite, found.values())) or not any(found.values()):
            raise ParameterError("weights", f"must be finite, and one of them positive: {found}")
        return {name: each for name, each in found.items() if each}

    def _maxima(self) -> dict[str, Any] | None:
        """The maximum of each kind that has one."""
        if self.delta is None:
            return None
        if not isinstance(self.delta, Mapping):
            raise ParameterError("delta", "must be a dictionary of the kinds with weights")
        for name in self.delta:
            if name not in self.weights:  # type: ignore[operator]
                raise ParameterError("delta", f"is given for {name!r}, which has no weight")
        return {
            name: _maximum("delta", each, name == "length") for name, each in self.delta.items()
        }


def _maximum(name: str, value: Any, of_edges: bool) -> float | tuple[float, ...]:
    """Check a maximum trial change: a number, or of edges one for each."""
    if np.ndim(value) == 0:
        return arguments.positive(name, value)
    if not of_edges:
        raise ParameterError(name, 'must be a number unless the mode is "length"')
    delta = tuple(arguments.not_negative(name, each) for each in value)
    if not all(map(math.isfinite, delta)):
        raise ParameterError(name, f"must be finite, got {delta}")
    if not any(delta):
        raise ParameterError(name, "is 0 for all edges; at least one must be positive")
    return delta


@dataclass(frozen=True)
class Swaps(Group):
    """Swap moves, in which pairs of particles exchange their diameters, or their types if they are
    a `Mixture`. With steps the change of the energy is part of the decision.

    A tile must have at least four cells along an axis. At constant pressure a box may shrink until
    no tile has four; then there are no swap moves, and `swap_trials` stays the same.

    Args:
        rounds: number of rounds of swap moves for each set of cells, in which pairs of particles
            exchange their diameters if there is room (default no swap moves).
        range: largest difference of the diameters of a pair in swap moves (default any); not for
            types.
        every: number of cycles between swap moves.
    """

    rounds: Annotated[int, partial(arguments.count, most=1000)]
    range: Annotated[float | None, arguments.positive_and_finite] = None
    every: Annotated[int, arguments.count] = 1


def _fugacities(name: str, value: Any) -> float | tuple[float, ...] | dict[int, float]:
    """A check of a fugacity, or of one for each type, where None stands for zero."""

    def one(each: Any) -> float:
        return arguments.not_negative(name, 0.0 if each is None else each)

    if isinstance(value, Mapping):
        return {arguments.integer(name, kind): one(each) for kind, each in value.items()}
    if np.ndim(value) == 0:
        return one(value)
    return tuple(map(one, value))


@dataclass(frozen=True)
class GrandCanonical(Group):
    """Insertions and deletions of particles at given chemical potentials mu.

    Args:
        fugacity: z = exp(mu / kT) / Lambda^D in D dimensions, in 1 / length^D with the unit of the
            positions, where Lambda is the thermal wavelength; the density of an ideal gas at mu. A
            number, or for types one value for each or a dictionary by type. Types with the fugacity
            0 or None, or without an entry, keep their number; without any fugacity above 0 N is
            constant.
        attempts: number of trial insertions and deletions in each visit of a cell.
        every: number of cycles between two visits.
    """

    fugacity: Annotated[float | Sequence[float | None] | Mapping[int, float | None], _fugacities]
    attempts: Annotated[int, partial(arguments.count, most=1000)] = 4
    every: Annotated[int, partial(arguments.count, most=10**9)] = 1


@dataclass(frozen=True)
class Grid(Group):
    """Grid of cells of hard particles, and the trial moves in a cell.

    Args:
        moves_per_cell: number of trial moves per visit of a cell, n_m (default 4 for equal disks at
            constant area, otherwise 8).
        rounds: number of passes over the sets of cells in a cycle, between two shifts of the grid
            (default 4, or 1 at constant pressure).
        tile: maximum width of a tile in cells, or except for equal disks at constant area one width
            for each axis (default from N and the box). A GPU block or a CPU thread works on one
            tile during a cycle; narrower tiles allow more ranks.
        cell_width: desired width of a cell, from the largest contact distance or range of a step
            (default) to below 4/3 of it, or below sqrt(2) of it for equal disks at constant area.
    """

    moves_per_cell: Annotated[int | None, arguments.count] = None
    rounds: Annotated[int | None, arguments.count] = None
    tile: Annotated[int | tuple[int, ...] | None, widths, tuple[int, ...] | None] = None
    cell_width: Annotated[float | None, arguments.positive] = None


@dataclass(frozen=True)
class Start(Group):
    """Start of hard particles from given positions.

    Args:
        first_cycle: value of `cycles` at the start. Random numbers belong to a seed and a cycle,
            therefore a run that continues from positions instead of a checkpoint should begin with
            the `cycles` at which the last run ended.
        repair_depth: depth in contact distances up to which overlaps of the input with particles
            and hard walls are repaired by pushing particles apart, and reported in `repaired`.
            float32 files of large boxes have such overlaps.
    """

    first_cycle: Annotated[int, arguments.uint64] = 0
    repair_depth: Annotated[float, arguments.not_negative] = 1e-4


@dataclass(frozen=True)
class Ranks(Group):
    """MPI ranks that share a system.

    Args:
        comm: communicator of mpi4py, for instance ``MPI.COMM_WORLD``. Each rank uses the GPU of its
            rank on the machine, or its part of the cores.
        timeout: time in seconds after which a silent rank is an error (default the environment
            variable MANYMOVE_TIMEOUT, or 60). Time for which the job is suspended does not count.
    """

    comm: Any
    timeout: Annotated[float | None, arguments.positive_and_finite] = None


# ---- ions ----------------------------------------------------------------------------------------


def _indices(name: str, value: Any) -> np.ndarray:
    """Check the indices of the species of ions."""
    array = np.asarray(value)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"{name} must be integers of shape (N,), got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Ions(Group):
    """Species of ions, and the species of each ion.

    Args:
        types: index of the species of each ion, integers (N,).
        species: species of ions; the system must be neutral.
    """

    types: Annotated[np.ndarray, _indices]
    species: Annotated[Sequence[Species], lambda name, value: tuple(value)]

    def __post_init__(self) -> None:
        super().__post_init__()
        types, count = self.types, len(self.species)
        if types.size and not (types.min() >= 0 and types.max() < count):
            raise ValueError(
                f"types must be from 0 to {count - 1}, the species given, got {types.min()} to "
                f"{types.max()}"
            )


@dataclass(frozen=True)
class Sphere(Group):
    """A spherical cell around the origin, whose hard wall keeps all centers inside.

    Args:
        radius: radius of the cell in angstrom.
    """

    radius: Annotated[float, arguments.positive]


@dataclass(frozen=True, eq=False)
class Ewald(Group):
    """Energy of all periodic images of a box, as in Ewald's sum.

    The pair potential is exact to 1e-10 / L ("mixed": 2e-6 / L) for the longest edge L, which may
    be twice as long as the shortest. A trial move takes several times as long as with nearest
    images, and longer in other boxes than in a cube (docs/theory/coulomb.md, section 7).

    Args:
        surrounding: medium around the images: "conductor" (also known as tin foil) or "vacuum", in
            which the dipole moment M of the ions has the energy 2 pi l_B M^2 / (3 V) with unwrapped
            coordinates.
        images: image flags of the ions in a vacuum: the number of boxes that each ion has crossed
            along each axis, integers (N, 3) (default 0).
    """

    surrounding: Annotated[str, one_of(*SURROUNDINGS)] = SURROUNDINGS[0]
    images: Any = None


@dataclass(frozen=True)
class Displacements(Group):
    """Trial displacements of two sizes, between which each trial move chooses at random.

    Args:
        short: maximum displacement of short moves in angstrom.
        short_fraction: share of short moves among the trial moves.
        long: maximum displacement of the other moves in angstrom (default radius / 3 or L / 6).
    """

    short: Annotated[float, arguments.positive]
    short_fraction: Annotated[float, arguments.number]
    long: Annotated[float | None, arguments.positive] = None


@dataclass(frozen=True)
class Brush(Group):
    """The method "brush" with a number of GPU threads.

    Args:
        threads_per_particle: number of GPU threads per trial, eta: 1, 2, 4, 8 or 16 (Table 1; the
            default of the method follows from N).
    """

    threads_per_particle: Annotated[int, arguments.count]


# ---- dissipative particles -----------------------------------------------------------------------


def bounded(name: str, value: Any, bound: Callable[[str, Any], Any] = arguments.number) -> float:
    """Check a number of a fluid, which also has another bound, so that forces and their sums are
    finite."""
    value = arguments.number(name, bound(name, value))
    if not abs(value) <= LARGEST:
        raise ParameterError(name, f"must be at most {LARGEST:g} in magnitude, got {value}")
    return value


not_negative = partial(bounded, bound=arguments.not_negative)
positive = partial(bounded, bound=arguments.positive)


@dataclass(frozen=True)
class Forces(Group):
    """Forces of dissipative particles in LAMMPS' lj units.

    Args:
        a: maximum repulsion a, a force in reduced units (Eq. 3).
        gamma: friction coefficient, a force divided by a velocity (Eq. 4).
        cutoff: cutoff radius in reduced units, the range r_c of the forces.
        weight_exponent: exponent s of the weight functions (Eq. 8).
    """

    a: Annotated[float, bounded] = 25.0
    gamma: Annotated[float, not_negative] = 4.5
    cutoff: Annotated[float, positive] = 1.0
    weight_exponent: Annotated[float, not_negative] = 1.0


@dataclass(frozen=True)
class Electrostatics(Group):
    """Forces between the charges of dissipative particles, in LAMMPS' lj units. A charge q has the
    density q exp(-2 r / smearing) / (pi smearing^3) at the distance r from its particle.

    Args:
        coupling: energy of two point charges of 1 at the distance 1; it is the Bjerrum length at
            the temperature 1.
        smearing: decay length of the density of a charge.
        cutoff: cutoff radius of the short-range part of the forces, which is a sum over pairs.
        accuracy: root mean square error of the long-range forces in reduced units, as LAMMPS
            estimates it. Below 1e-6 it needs `precision="double"`.
    """

    coupling: Annotated[float, positive] = 1.0
    smearing: Annotated[float, positive] = 0.25
    cutoff: Annotated[float, positive] = 3.0
    accuracy: Annotated[float, positive] = 1e-4


# ---- adsorbates ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Supercell(Group):
    """A framework with a number of unit cells along each axis.

    Args:
        framework: framework, as for the class: a name, a path or a `Framework`.
        cells: number of unit cells along each axis.
    """

    framework: Any
    cells: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Molecules(Group):
    """Numbers of molecules, and the start of closed systems from given positions.

    Args:
        number: number of molecules of each species in a system, one number per species. With a
            fugacity these are the initial numbers.
        capacity: initial number of molecules for which an open system has memory, one number per
            species (default an estimate from the volume of the pores). It grows when a system needs
            more, and does not influence the trajectory.
        positions: initial positions in angstrom, float64 (systems, molecules, 3), species by
            species, in [0, L) (default random positions).
        orientations: initial orientations of rigid molecules as unit quaternions (w, x, y, z),
            float64 (systems, molecules, 4) (default not rotated, if positions are given).
    """

    number: int | Sequence[int]
    capacity: int | Sequence[int] | None = None
    positions: Any = None
    orientations: Any = None


@dataclass(frozen=True)
class EnergyGrid(Group):
    """Grid of the energies of the framework, and the barrier around its pockets.

    Args:
        spacing: maximum spacing of the grid in angstrom; one number, or one for each axis (default
            0.2 for cubic and 0.08 for linear interpolation).
        interpolation: interpolation on the grid: cubic (a tricubic spline of asinh(E / 8000 K)), or
            linear, which needs a far finer grid.
        barrier: energy barrier in kelvin. Regions that molecules can leave only over higher
            framework energies are blocked for all methods, and molecules start below the barrier
            (default "auto", 20 T). With None no region is blocked.
    """

    spacing: float | Sequence[float] | None = None
    interpolation: Annotated[str, one_of("linear", "cubic")] = "cubic"
    barrier: float | str | None = "auto"


@dataclass(frozen=True, eq=False)
class Interactions(Group):
    """Interactions of molecules with each other and with the framework.

    Args:
        cutoff: cutoff radius of all potentials between sites in angstrom.
        force_field: a `ForceField`, or the path of one of RASPA's, see `ForceField.read` (default
            mixing by the Lorentz-Berthelot rules, and potentials that are shifted to zero at the
            cutoff, Eq. 1).
        cross: {(name, name): (epsilon, sigma)} for pairs of adsorbates, or of labels of the sites
            of molecules, in kelvin and angstrom (default the mixing rule).
        ewald: (alpha, k_max) of Ewald's sum of the molecules in 1/angstrom: the damping of the
            real-space part, and the largest wave number (default (3.2, 20.5) / cutoff, which
            neglects 6e-6 of the energy of two charges at the cutoff).
        framework_charges: charges of the framework: {label: charge}, the path of a text file with a
            label and its charge on each line, "cif", or "zero" to neglect them (default those of
            the force field, or of the CIF file).
        grid: grid of framework energies (default EnergyGrid()).
        precision: "mixed" (float32 energies, float64 sums) or "double".
    """

    cutoff: Annotated[float, arguments.positive_and_finite] = 12.0
    force_field: Any = None
    cross: Mapping[tuple[str, str], tuple[float, float]] | None = None
    ewald: tuple[float, float] | None = None
    framework_charges: Any = None
    grid: Annotated[EnergyGrid | None, group(EnergyGrid)] = None
    precision: Annotated[str, one_of(*arguments.PRECISIONS)] = "mixed"


@dataclass(frozen=True)
class Steps(Group):
    """Steps of adsorbates: the method, and the moves among which each step chooses.

    Args:
        method: method of the steps, as for the class.
        proposals: number of states per step of the methods "mup" and "mdp", N_prop, including the
            old state; a power of two from 32 to 512 (default 64).
        max_displacement: maximum trial displacement along each axis in angstrom. Rotations are so
            large that they move the outermost site about as far (default 0.65, which `equilibrate`
            adapts for methods with one proposal).
        exchange: share of insertions and deletions among the steps of an open system.
        reinsertion: share of reinsertions among the steps, which move a molecule to a trial
            anywhere in the box (methods "metropolis" and "plj").
        identity_change: share of identity changes among the steps of an open system of several
            species, in which a molecule becomes one of another species.
        regrowth: share of partial regrowths of chains among the steps, in which one end of a
            molecule, up to the middle bead, grows again (default 0.2 for chains).
        trial_positions: number of positions of the center that an insertion tries. A deletion
            considers equally many, and a reinsertion equally many besides the present one. One of
            the trials is chosen by its Rosenbluth weight (configurational bias); more trials
            increase the share of accepted insertions, see `docs/theory/open_systems.md`. With
            "auto", which needs a fugacity, `equilibrate_loading` chooses the number.
        trial_orientations: number of orientations that are tried at each position. (trial_positions
            + 1) times trial_orientations must be at most 1024. Molecules of one site have one
            orientation. "auto" is as for trial_positions. For chains it is the number of trials of
            each bead after the first one; the product is not limited, and 8 to 32 are recommended
            for both.
    """

    method: str = "mdp"
    proposals: Annotated[int | None, arguments.count] = None
    max_displacement: Annotated[float | None, arguments.positive] = None
    exchange: float = 0.5
    reinsertion: float = 0.0
    identity_change: float = 0.0
    regrowth: float | None = None
    trial_positions: Annotated[int | str, partial(arguments.count_or_auto, most=1024)] = 1
    trial_orientations: Annotated[int | str, partial(arguments.count_or_auto, most=1024)] = 1


@dataclass(frozen=True)
class ProfileAxis(Group):
    """Direction and bins of the profile of the probability P.

    Args:
        direction: direction of the profile: "x", "y", "z" or Miller indices (h, k, l).
        bins: number of bins of the profile in one unit cell (a period).
    """

    direction: str | tuple[int, int, int]
    bins: Annotated[int, partial(arguments.count, most=1024)] = 100
