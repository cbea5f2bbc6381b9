"""Waste-recycling Monte Carlo of adsorbates in a rigid framework, as an updater of HOOMD-blue."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from hoomd.logging import log

from manymove import _core, arguments
from manymove.adsorption.averages import MULTIPLE, Pooled
from manymove.adsorption.input import TRIALS, direction_of
from manymove.errors import PlaceError
from manymove.hoomd.action import EngineAction, number_or_variant, setting, value_at

Particles = dict[str, np.ndarray]  # arrays of HOOMD-blue by their names
_METHODS = ("pmc", "plj", *MULTIPLE)
# The engine's constants are for angstrom and kelvin: sigma and kT become these.
_SIGMA, _KT = 3.5, 300.0
_BARRIER = 20.0  # kT
_DEFAULTS = {"max_displacement": 0.17, "grid_spacing": 0.055}  # in diameters


def refuse_others(kind: str, unavailable: Iterable[str]) -> None:
    """Refuse arguments that a class does not have."""
    for name in unavailable:
        if name in ("fugacity", "exchange", *TRIALS):
            raise ValueError(
                f"{name} is for manymove.Adsorption: a simulation in HOOMD-blue has a fixed number "
                "of particles"
            )
        raise TypeError(f"{kind} has no argument {name}")


def _checked_law(name: str, law: Any) -> tuple[float, float]:
    """Check a pair (epsilon, sigma)."""
    try:
        epsilon, sigma = (arguments.number(name, value) for value in law)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be two numbers, epsilon and sigma, got {law!r}") from None
    if not (0 <= epsilon < math.inf and 0 < sigma < math.inf):
        raise ValueError(
            f"{name} must be finite, epsilon not negative and sigma positive, got {law!r}"
        )
    return epsilon, sigma


class WasteRecyclingUpdater(EngineAction):
    """The common base of `WasteRecyclingMC` and `RigidWasteRecyclingMC`, not for separate use."""

    __module__ = "manymove.hoomd"
    _made_with: tuple[Any, ...]
    _columns: tuple[str, ...] = ("typeid", "position", "image")  # of HOOMD-blue's particles

    # ---- settings --------------------------------------------------------------------------------

    kT: Any = setting("kT", "Thermal energy, a number or a variant.")
    cutoff: float = setting("cutoff", "Cutoff radius of all interactions.")
    method: str = setting("method", "Method of the steps.")
    proposals: int = setting("proposals", "Number of states per step.")
    steps: int = setting("steps", "Number of steps per call.")
    max_displacement: float = setting(
        "max_displacement", "Maximum trial displacement along each axis; None sets the default."
    )
    grid_spacing: float = setting(
        "grid_spacing", "Spacing of the grid of framework energies; None sets the default."
    )
    bins: int = setting("bins", "Number of bins of the profile.")

    def _setting(self, name: str) -> Any:
        value = super()._setting(name)
        if value is None and name in _DEFAULTS:
            return _DEFAULTS[name] * self._size(self._settings)
        return value

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        arguments.one_of("method", settings["method"], _METHODS)
        found = {"kT": number_or_variant("kT", settings["kT"])}
        for name in ("cutoff", *_DEFAULTS):
            if name == "cutoff" or settings[name] is not None:
                found[name] = arguments.positive_and_finite(name, settings[name])
        direction_of(settings["profile"])
        return {
            **settings,
            **found,
            "steps": arguments.count("steps", settings["steps"]),
            "bins": arguments.count("bins", settings["bins"], most=1024),
            "proposals": arguments.count("proposals", settings["proposals"]),
        }

    @abstractmethod
    def _size(self, settings: dict[str, Any]) -> float:
        """The diameter of which the defaults are multiples."""

    def _derive(self, kT: float) -> None:
        """Compute what an engine needs from the settings."""
        self._length, self._energy = _SIGMA / self._size(self._settings), _KT / kT
        self._method = method = self.method
        profile = self._settings["profile"]
        self._fixed: dict[str, Any] = {
            "cells": (1, 1, 1),
            "temperature": _KT,
            "cutoff": self.cutoff * self._length,
            "method": "mdp" if method == "mdp-dj" else method,
            "moments": method == "mdp-dj",
            "proposals": self.proposals,
            "systems": 1,
            "max_displacement": self.max_displacement * self._length,
            "exchange": 0.0,
            "cubic": True,
            "double_precision": False,
            "barrier": _BARRIER * _KT,
            "hill": _BARRIER * _KT,
            "direction": direction_of(profile),
            "bins": 0 if profile is None else self.bins,
            "groups": 1,
        }

    def _points(self, lengths: np.ndarray) -> tuple[int, ...]:
        """Points of the grid of framework energies along each axis."""
        points = tuple(max(4, math.ceil(length / self.grid_spacing)) for length in lengths)
        if math.prod(points) >= 2**31 - 1:
            raise ValueError(
                f"with grid_spacing {self.grid_spacing:g} the grid of the framework's energy has "
                "more than 2^31 points: use a wider spacing"
            )
        return points

    def _law(self, law: tuple[float, float] | None) -> tuple[float, float]:
        epsilon, sigma = law or (0.0, 1 / self._length)
        return epsilon * self._energy, sigma * self._length

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def act(self, timestep: int) -> None:
        """Make `steps` steps and move the particles of the simulation.

        Args:
            timestep: time step of the simulation.
        """
        self._meet()
        with self._collective():
            made_with, particles = self._present(timestep), self._particles()
            if self._engine is None or self._outdated or self._made_with != made_with:
                self._begin_with(particles, made_with, timestep)
            started = time.perf_counter()
            tags, moved = self._of_engine(lambda: self._move(particles))
            self._write(tags, **moved)
            self._seconds += time.perf_counter() - started

    def _begin(self, timestep: int) -> None:
        made_with = self._present(timestep)
        self._begin_with(self._particles(), made_with, timestep)

    def _begin_with(self, particles: Particles, made_with: tuple[Any, ...], timestep: int) -> None:
        if self._engine is not None:
            self._retire()
        self._derive(made_with[0])
        self._make_engine_by(lambda: self._make(particles, timestep))
        self._made_with, self._outdated = made_with, False

    @abstractmethod
    def _make(self, particles: Particles, timestep: int) -> None:
        """Compute the grid of framework energies and make the engine."""

    @abstractmethod
    def _move(self, particles: Particles) -> tuple[np.ndarray, Particles]:
        """Make the steps, and return the tags of the particles that may have moved, and their new
        values."""

    def _set(self, changes: dict[str, Any]) -> None:
        super()._set(changes)
        self._outdated |= changes.keys() != {"steps"}

    def _present(self, timestep: int) -> tuple[float, int | None]:
        """kT and the seed with which an engine is made."""
        self._together(self._edges)  # refuses tags with gaps, among others
        return self._together(lambda: value_at("kT", self.kT, timestep)), self._simulation.seed

    # ---- loggable --------------------------------------------------------------------------------

    @log(requires_run=True)
    def energy(self) -> float:
        """float: mean energy since the averages were reset, by the estimator of the method; NaN
        before the first step."""
        return self._of_engine(lambda: self._mean(lambda averages: averages.energy_average.value))

    @log(requires_run=True)
    def energy_plain(self) -> float:
        """float: mean energy of the states after each step since the averages were reset; NaN
        before the first step."""
        return self._of_engine(lambda: self._mean(lambda averages: averages.energy_plain.value))

    @log(requires_run=True)
    def potential_energy(self) -> float:
        """float: potential energy of the present configuration, including the framework."""
        return self._of_engine(lambda: float(self._engine.energies()[0])) / self._energy

    @log(category="sequence", requires_run=True)
    def profile(self) -> tuple[float, ...]:
        """(float, ...): probability P of each bin along the direction, of all species together;
        NaN before the first step, and a single NaN without a profile."""

        def found() -> tuple[float, ...]:
            bins = self._fixed["bins"]
            if not bins or not self._engine.counters[6]:
                return (math.nan,) * max(bins, 1)  # HDF5Log fails if an array is empty
            return tuple(self._averages().profile.probability)

        return self._of_engine(found)

    @log(category="sequence", requires_run=True)
    def translate_moves(self) -> tuple[int, int]:
        """(int, int): steps that moved a particle and steps that did not, since attaching."""
        steps, _, accepted = self._moves()
        return accepted, steps - accepted

    @log(requires_run=True)
    def mps(self) -> float:
        """float: trial states per second of wall time; 0 before the first step."""
        states = self._moves()[1]
        return self._of_engine(lambda: states / self._seconds if self._seconds else 0.0)

    def reset_averages(self) -> None:
        """Reset the averages, for example after the equilibration.

        Raises:
            RuntimeError: the updater is not attached to a simulation.
        """
        if self._engine is None:
            raise RuntimeError("there are no averages before the simulation runs")
        self._of_engine(lambda: self._engine.reset_averages())

    # ---- the engine ------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self._seconds = 0.0
        self._past = (0, 0, 0)
        self._made_with = ()
        self._outdated = False  # whether a setting has changed since the engine was made

    def _retire(self) -> None:
        self._past, self._engine = self._moves(), None

    def _moves(self) -> tuple[int, ...]:
        """Steps, trial states and accepted moves of all engines since attaching."""
        if self._engine is None:
            return self._past
        now = self._of_engine(lambda: self._engine.counters[:3])
        return tuple(n + m for n, m in zip(self._past, now, strict=True))

    @property
    def _attached(self) -> bool:
        """Whether there is an engine; there is none if the particles were refused."""
        return super()._attached and self._engine is not None

    def _averages(self) -> Pooled:
        about = {"method": self._method}
        return Pooled([(self._parameters, about, self._engine.snapshot())])

    def _mean(self, value: Any) -> float:
        return value(self._averages()) / self._energy if self._engine.counters[6] else math.nan

    def _particles(self) -> Particles:
        """HOOMD-blue's arrays in the order of the tags, on every rank."""
        return dict(zip(self._columns, self._by_tag(*self._columns), strict=True))

    def _check_framework(self, positions: np.ndarray, *kinds: np.ndarray) -> None:
        """Refuse a box or fixed particles that have changed. kinds: types, and charges if they have
        an effect."""
        if not np.array_equal(positions[self._rigid_tags], self._rigid) or not np.array_equal(
            self._shape(), self._box
        ):
            raise ValueError("the framework or the box has changed; both must stay as they are")
        for now, known in zip(kinds, self._rigid_kinds, strict=True):
            if not np.array_equal(now[self._rigid_tags], known):
                raise ValueError(
                    "the charges or types of the framework have changed; they must stay as they are"
                )

    def _check_widths(self, widths: np.ndarray) -> None:
        """Refuse a box that is too narrow, in the simulation's unit of length."""
        for axis, wide in zip("xyz", widths, strict=True):
            if wide < 2 * self.cutoff * (1 - 1e-12):
                raise ValueError(
                    f"the box is {wide:g} wide along {axis}, less than twice the cutoff of "
                    f"{self.cutoff:g}: use a larger box or a shorter cutoff"
                )

    def _shape(self) -> np.ndarray:
        """Edges of the box, (3,)."""
        return np.array(self._edges())

    def _inward(self, positions: np.ndarray) -> np.ndarray:
        """Positions in the box of the engine, from 0 to L, in its unit of length."""
        return np.ascontiguousarray((positions + self._box / 2) * self._length)

    @contextmanager
    def _naming_particles(self) -> Iterator[None]:
        """Replace the engine's indices of molecules in errors by tags."""
        try:
            yield
        except PlaceError as error:
            where = "in a pocket" if error.in_pocket else "on a hill"
            raise ValueError(
                f"the particle with tag {self._tags[error.molecule]} is {where} of the framework's "
                "energy, which particles cannot leave or reach"
            ) from None


class WasteRecyclingMC(WasteRecyclingUpdater):
    """Waste-recycling Monte Carlo of the particles of one type among fixed ones.

    It is to be wrapped in a `hoomd.update.CustomUpdater`. Each particle is either an adsorbate,
    which moves, or belongs to the rigid framework, which must not move. Interactions are
    Lennard-Jones potentials, shifted to zero at the cutoff. The updater computes them by itself and
    needs no pair force of HOOMD-blue. Each call makes `steps` steps with `proposals` states for one
    particle each. Lengths and energies are in the simulation's units. Particles are identified by
    their tags, and their image flags follow the nearest image of the previous position.

    Method: J. Kim, J. M. Rodgers, M. Athènes, B. Smit, J. Chem. Theory Comput. 7, 3208 (2011).

    ::

        methane = manymove.hoomd.WasteRecyclingMC(
            adsorbate="C", epsilon=148, sigma=3.73, framework={"O": (115, 3.47), "Si": None},
            kT=300, cutoff=12,
        )
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(10), methane)
        )

    Args:
        adsorbate: name of the particle type that moves.
        epsilon, sigma: Lennard-Jones parameters of two adsorbates.
        framework: (epsilon, sigma) of the adsorbate with each other type, or None for no
            interaction.
        kT: thermal energy, a number or a `hoomd.variant.Variant`.
        cutoff: cutoff radius of all interactions, at most half the box.
        method: method of the steps, "pmc", "plj", "mup", "mdp" or "mdp-dj" (see
            `manymove.Adsorption`).
        proposals: number of states per step of the last three methods, a power of two from 32 to
            512.
        steps: number of steps per call.
        max_displacement: maximum trial displacement along each axis; default 0.17 sigma.
        grid_spacing: spacing of the grid of framework energies; default 0.055 sigma.
        profile: direction of the profile, "x", "y", "z" or Miller indices of the box; default no
            profile.
        bins: number of bins of the profile.
        threads: number of threads of an engine on a CPU device; default all cores.
        unavailable: arguments of open systems, which are refused with the reason.

    All settings except `threads` and `profile` may be changed between runs, or during a run by
    another action. After a change of a setting other than `steps`, or of the value of the variant
    `kT`, the next step computes the grid of framework energies again and resets the averages.
    The particles may be spread over several MPI ranks; see `EngineAction`.

    Raises:
        ValueError: an argument is bad, or, when the simulation runs, the box is tilted or
            two-dimensional, a type has no parameters, an adsorbate is in a blocked pocket or at a
            framework energy above 20 kT, or the framework has moved or has other types.
        ImportError, RuntimeError: on several MPI ranks, as for `EngineAction`.
    """

    __module__ = "manymove.hoomd"

    def __init__(
        self,
        adsorbate: str,
        epsilon: float,
        sigma: float,
        framework: Mapping[str, tuple[float, float] | None],
        kT: Any,
        cutoff: float,
        *,
        method: str = "mdp",
        proposals: int = 64,
        steps: int = 100,
        max_displacement: float | None = None,
        grid_spacing: float | None = None,
        profile: str | tuple[int, int, int] | None = None,
        bins: int = 100,
        threads: int | None = None,
        **unavailable: Any,
    ) -> None:
        super().__init__(threads)
        refuse_others(type(self).__name__, unavailable)
        self._settings = self._checked(
            {
                "adsorbate": adsorbate, "epsilon": epsilon, "sigma": sigma, "framework": framework,
                "kT": kT, "cutoff": cutoff, "method": method, "proposals": proposals,
                "steps": steps, "max_displacement": max_displacement, "grid_spacing": grid_spacing,
                "profile": profile, "bins": bins,
            }
        )  # fmt: skip

    adsorbate: str = setting("adsorbate", "Name of the particle type that moves.")
    epsilon: float = setting("epsilon", "Depth of the potential of two adsorbates.")
    sigma: float = setting("sigma", "Diameter of the potential of two adsorbates.")
    framework: Mapping[str, tuple[float, float] | None] = setting(
        "framework", "(epsilon, sigma) of the adsorbate with each other type, or None."
    )

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        adsorbate, framework = settings["adsorbate"], settings["framework"]
        if not isinstance(adsorbate, str):
            raise TypeError(f"adsorbate must be the name of a particle type, got {adsorbate!r}")
        epsilon, sigma = _checked_law("epsilon and sigma", (settings["epsilon"], settings["sigma"]))
        if not isinstance(framework, Mapping):
            raise TypeError(f"framework must be a dictionary of particle types, got {framework!r}")
        framework = {
            name: law and _checked_law(f"framework[{name!r}]", law)
            for name, law in framework.items()
        }
        if adsorbate in framework:
            raise ValueError(f'type "{adsorbate}" cannot be both adsorbate and framework')
        own = {"epsilon": epsilon, "sigma": sigma, "framework": framework}
        return super()._checked({**settings, **own})

    def _size(self, settings: dict[str, Any]) -> float:
        return settings["sigma"]

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def _make(self, particles: Particles, timestep: int) -> None:
        self._box = self._shape()
        self._check_widths(self._box)
        if not self.max_displacement < self._box.min() / 2:
            raise ValueError(
                f"max_displacement must be below half the box, {self._box.min() / 2:g}, got "
                f"{self.max_displacement:g}"
            )
        types, positions = particles["typeid"], particles["position"].astype(np.float64)
        names = self._simulation.state.particle_types
        for kind in np.unique(types):
            if names[kind] != self.adsorbate and names[kind] not in self.framework:
                raise ValueError(f'type "{names[kind]}" has no parameters: give them in framework')
        moving = types == (names.index(self.adsorbate) if self.adsorbate in names else -1)
        if not moving.any() or moving.all():
            raise ValueError(f'both adsorbates ("{self.adsorbate}") and a framework are needed')
        self._tags, self._rigid_tags = np.flatnonzero(moving), np.flatnonzero(~moving)
        self._rigid = positions[~moving]
        self._rigid_kinds: tuple[np.ndarray, ...] = (types[~moving],)
        kinds = sorted(self.framework)
        seed = (self._simulation.seed or 0) + (timestep << 16)
        self._parameters = {
            **self._fixed,
            "pairs": [self._law((self.epsilon, self.sigma))],
            "cell": tuple(self._box * self._length),
            "fractional": list(np.ravel(self._rigid / self._box + 0.5)),
            "kind": [kinds.index(names[k]) for k in types[~moving]],
            "species": [
                {
                    "molecules": int(moving.sum()),
                    "capacity": int(moving.sum()),
                    "activity": 0.0,
                    "with_framework": [self._law(self.framework[name]) for name in kinds],
                }
            ],
            "grid": self._points(self._box),
            "seed": seed % 2**64,
        }
        self._known = positions[moving]
        with self._naming_particles():
            self._engine = _core.Adsorption.from_positions(
                self._inward(self._known), self._parameters, self._device, self._threads
            )

    def _move(self, particles: Particles) -> tuple[np.ndarray, Particles]:
        stored = particles["position"]
        positions = stored.astype(np.float64)
        self._check_framework(positions, particles["typeid"])
        now = positions[self._tags]
        if not np.array_equal(now, self._known):
            with self._naming_particles():
                self._engine.set_positions(self._inward(now))
        self._engine.run(self.steps, True)
        sites = self._engine.snapshot()["sites"].reshape(-1, 3)
        went = sites * (self._box * 2.0**-32) - self._box / 2
        crossed = np.rint((went - now) / self._box).astype(np.int32)
        moved = {
            "position": went.astype(stored.dtype),
            "image": particles["image"][self._tags] - crossed,
        }
        self._known = moved["position"].astype(np.float64)
        return self._tags, moved
