# SPDX-License-Identifier: BSD-3-Clause
"""The settings of `manymove disks` and `manymove spheres`, and their checks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from manymove import steps as pair_steps
from manymove.errors import ParameterError
from manymove.fields import Field, HardWall, Linear, Plane, Springs, from_json
from manymove.hard_particles.kinds import DISKS, SPHERES, Kind, check_start
from manymove.hard_particles.sizes import Sizes
from manymove.jobs import limits, replica
from manymove.jobs.options import flag_of, least, of_option, positive
from manymove.settings import ConstantPressure, GrandCanonical, Swaps
from manymove.steps import Step

_ROOM = 2e-4  # of a diameter between both walls, so that rounding leaves particles outside


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Measurement):
    """The settings of a job. Those under the title of a group are options of the command.

    System:
        input: GSD file whose last frame is the initial configuration (default none).
        step_ranges: Ranges of the square wells and shoulders around the particles, in diameters. In
            a mixture they have the unit of --diameters or of --input, and a step has a number for
            each pair of types 0-0, 0-1, ... 1-1; those of the next step follow (default none).
        step_energies: Energies of pairs closer than the ranges, in kT, in the same order; a well
            has a negative energy, and the energies of several steps add up (default none).
        walls: Axis, x, y or z, across which hard walls are at both faces of the box. Then the
            pressure on the walls is measured, from the density at contact, and the density profile
            along the axis is written (default none).
        wall_distance: Distance of the walls in diameters, for a mixture in the unit of --diameters
            (default that of a cubic box).
        gravity: Weight of a particle in kT per diameter, for a mixture per unit of --diameters, at
            least 0, toward the lower one of --walls, on which the pressure is then measured
            (default none).
        fields: JSON file of external fields, walls of any shape among them, with lengths in the
            unit of the positions: diameters, or the unit of --diameters or --input. Without
            --fugacity and --walls, the energy in the fields is measured (default none).
        fugacity: Fugacity z = exp(mu / kT) / Lambda^D of equal particles in 1 / d^D, at which
            particles are inserted and deleted and their density is measured. Then --particles and
            --packing-fraction are those of the start (default a constant number of particles).
        springs: Stiffness of harmonic springs from each particle to its initial position, in kT per
            squared diameter, for a mixture per squared unit of --diameters. Without --walls, the
            mean squared displacement is measured instead of the pressure (default none).

    Moves:
        edges_apart: Change the edges of the box one at a time with --pressure (default together).
        tune_volume: Adjust --volume-delta during the equilibration until about 30 % of the trial
            changes are accepted. The measurement keeps the last value (default not adjusted).

    Run:
        decompose: Divide one system among the MPI ranks.
        exchange_every: Number of cycles between exchanges of configurations between neighbors of
            --pressures, which helps them to equilibrate (default no exchanges).

    Files:
        frames: Number of frames of the trajectory, equally spaced.

    Attributes:
        mixture: contact distances of the pairs of types of a mixture, a row for each type.
        fractions: number fractions of the types.
        swaps: swap moves; None without them.
    """

    kind: ClassVar[Kind]
    particles: Annotated[int, least(1)]
    packing_fraction: float
    replicas: Annotated[int, least(1)]
    input: Path | None = None
    start: str = "random"
    pressure: float | None = None
    mixture: tuple[tuple[float, ...], ...] | None = None
    fractions: tuple[float, ...] | None = None
    step_ranges: tuple[float, ...] | None = None
    step_energies: tuple[float, ...] | None = None
    walls: str | None = None
    wall_distance: Annotated[float | None, positive] = None
    gravity: float | None = None
    fields: Path | None = None
    fugacity: Annotated[float | None, positive] = None
    springs: Annotated[float | None, positive] = None
    max_displacement: float | None = None
    edges_apart: bool = False
    volume_delta: tuple[float, ...] | None = None
    tune_volume: bool = False
    moves_per_cell: int | None = None
    tile: tuple[int, ...] | None = None
    swaps: Swaps | None = None
    sweeps: Annotated[int, least(1)] = 20000
    equilibrate: Annotated[int, least(0)] = 5000
    decompose: bool = False
    exchange_every: Annotated[int | None, least(1)] = None
    frames: Annotated[int, least(1)] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sweeps > 10**15:
            raise ValueError(f"--sweeps is {self.sweeps}; it must be at most 10**15")
        if not 0 < self.packing_fraction < 1:
            raise ValueError(
                f"--packing-fraction is {self.packing_fraction}; it lies between 0 and 1"
            )
        self._check_fields()
        if self.input is None and not self.resume:
            between_walls = self._of_start()[0]
            try:
                check_start(self.kind, self.start, between_walls, self.mixture is not None)
            except ParameterError:
                if self.walls is None:
                    raise
                raise ValueError(
                    f"--packing-fraction {self.packing_fraction:.4g} is too high for --walls: the "
                    f"random start of the centers between them would have {between_walls:.4g}"
                ) from None
        limits.refuse(
            f"--particles {self.particles}, --packing-fraction {self.packing_fraction:.4g} and "
            f"--sweeps {self.sweeps}",
            self.memory,
            float(self.particles) * (self.sweeps + self.equilibrate) * self.replicas,
            "trial moves",
            self.device,
        )
        if self.input is not None and not self.resume:
            trajectories = self.output.resolve() / "trajectory*.gsd"
            if self.input.resolve().match(str(trajectories)):
                raise ValueError(
                    f"--input {self.input} would be replaced by the new trajectory: "
                    "choose another --output"
                )
        if self.swaps is not None and self.input is None:
            self.exchangeable(self._of_types())
        if self.tile is not None and self.input is None:
            self.tile_for(self._of_types())
        if self.mixture is not None and self.input is None:
            missing = np.flatnonzero(np.bincount(self._types(), minlength=len(self.mixture)) == 0)
            if missing.size:
                raise ValueError(
                    f"--fractions leaves no particle of type {missing[0]}: --particles is "
                    f"{self.particles}"
                )
        if self.pressure is not None and not 0 < self.pressure < math.inf:
            raise ValueError(f"--pressure is {self.pressure}; it must be positive and finite")
        self._check_volume_moves()
        self._check_steps()
        if self.decompose and self.replicas > 1:
            raise ValueError(f"--decompose shares one system; --replicas is {self.replicas}")
        if self.exchange_every is not None:
            self._check_exchange()

    def _check_steps(self) -> None:
        """Refuse ranges without energies, swap moves of particles with steps, and tables that these
        types cannot have."""
        if (self.step_ranges is None) != (self.step_energies is None):
            raise ValueError("--step-ranges and --step-energies belong together: one is missing")
        if self.step_ranges and self.swaps is not None:
            raise ValueError(
                "--step-ranges cannot be combined with --swap-rounds: swap moves exchange "
                "diameters, and steps belong to types"
            )
        if self.input is None:
            self.steps_for(self._of_types())

    def steps_for(self, given: Sizes) -> tuple[Step, ...]:
        """The steps of particles of these sizes, in the unit of their positions.

        Raises:
            ValueError: these particles cannot have them.
        """
        ranges, energies = self.step_ranges or (), self.step_energies or ()
        if not ranges and not energies:
            return ()
        types = given.kinds
        pairs = np.triu_indices(types)
        if len(ranges) != len(energies) or len(ranges) % len(pairs[0]):
            of_pairs = f", each {len(pairs[0])} for the pairs of {types} types" if types > 1 else ""
            raise ValueError(
                f"--step-ranges has {len(ranges)} numbers and --step-energies {len(energies)}; "
                f"they must be as many{of_pairs}"
            )
        if ranges and given.diameters is not None:
            raise ValueError(
                "--step-ranges needs particles of one size or a mixture of types, and those of "
                "--input have diameters of their own"
            )
        unit = given.diameter or 1.0

        def tables(flat: tuple[float, ...], factor: float) -> list[Any]:
            found = np.zeros((len(flat) // len(pairs[0]), types, types))
            found[:, pairs[0], pairs[1]] = np.reshape(flat, (len(found), -1)) * factor
            return [table + np.triu(table, 1).T for table in found]

        both = zip(tables(ranges, unit), tables(energies, 1.0), strict=True)
        try:
            return pair_steps.read([Step(*each) for each in both], types)[0]
        except ParameterError as error:
            names = {"range": "--step-ranges", "energy": "--step-energies"}
            raise ValueError(error.with_names(names)) from None

    @property
    def in_fields(self) -> bool:
        """Whether there are external fields."""
        given = (self.walls, self.gravity, self.fields, self.springs)
        return any(each is not None for each in given)

    @cached_property
    def of_file(self) -> tuple[Field, ...]:
        """The fields of `fields`."""
        if self.fields is None:
            return ()
        with of_option("--fields"):
            return from_json(self.fields)

    @property
    def is_special(self) -> bool:
        """Whether there are fields, steps or a fugacity, for which there are no published
        values."""
        return self.in_fields or bool(self.step_ranges) or self.fugacity is not None

    @property
    def axis(self) -> int:
        """The axis of `walls`, or the last one."""
        return "xyz".index(self.walls) if self.walls else self.kind.dimensions - 1

    @property
    def has_profile(self) -> bool:
        """Whether the density along the axis is a result."""
        return self.walls is not None or self.fields is not None

    @property
    def measured(self) -> str:
        """Name of the measured quantity."""
        if self.pressure is not None:
            return "packing fraction"
        if self.fugacity is not None:
            return "density"
        if self.walls or not self.in_fields:
            return "pressure"
        return "squared displacement" if self.fields is None else "field energy"

    def _check_fields(self) -> None:
        """Refuse walls that the box does not have, and options that do not go with fields or a
        fugacity."""
        axes = "xyz"[: self.kind.dimensions]
        if self.walls is not None and (len(self.walls) != 1 or self.walls not in axes):
            raise ValueError(f"--walls is {self.walls}; it must be one of {', '.join(axes)}")
        for name in ("wall_distance", "gravity"):
            if getattr(self, name) is not None and self.walls is None:
                raise ValueError(f"{flag_of(name)} needs --walls")
        if self.gravity is not None and not 0 <= self.gravity < math.inf:
            raise ValueError(f"--gravity is {self.gravity}; it must be finite and not negative")
        of_constant_box = ("walls", "springs", "fields", "fugacity")
        given = [name for name in of_constant_box if getattr(self, name) is not None]
        others = {"pressure": self.pressure is not None, "swap-rounds": self.swaps is not None}
        if self.fugacity is not None:
            others |= {"springs": self.springs is not None, "diameters": self.mixture is not None}
        for name in (name for name, is_given in others.items() if given and is_given):
            raise ValueError(f"--{given[-1]} cannot be combined with --{name}")
        if self.start == "empty" and self.fugacity is None:
            raise ValueError("--start empty needs --fugacity")
        if self.walls and self.input is None and self.start not in ("random", "empty"):
            raise ValueError(f"--walls needs --start random or --input; --start is {self.start}")
        if self.wall_distance is not None and self.input is not None:
            raise ValueError("--wall-distance is not for --input, which has a box")
        _ = self.of_file  # read once, so that errors come before the run

    def _of_start(self) -> tuple[float, tuple[float, ...] | None, float]:
        """Packing fraction and ratios of the edges of the periodic box of a random start, and what
        is added to the edge between the walls: all centers are then in reach of contact at most.
        The ratios are None for the shape of the start."""
        if self.walls is None:
            return self.packing_fraction, None, 0.0
        D, given = self.kind.dimensions, self._of_types()
        volume = self.particles * math.pi / (2 * D) * given.mean(D) ** D / self.packing_fraction
        distance = self.wall_distance or volume ** (1 / D)
        if distance < 3 * given.largest():
            raise ValueError(
                f"--walls are {distance:.6g} apart, and must be at least three times the largest "
                "diameter apart: raise --wall-distance or --particles"
            )
        room = given.largest() * (1 + _ROOM)
        edges = D * [(volume / distance) ** (1 / (D - 1))]
        edges[self.axis] = distance - room
        return self.packing_fraction * distance / edges[self.axis], tuple(edges), room

    def fields_for(
        self, given: Sizes, box: tuple[float, ...], points: np.ndarray | None
    ) -> list[Field] | None:
        """The fields of particles of these sizes in a box, with springs to these points."""
        unit = given.diameter or 1.0
        found: list[Field] = []
        if self.walls is not None:
            up = np.eye(self.kind.dimensions)[self.axis]
            for side in (1, -1):
                origin = -side * box[self.axis] / 2 * up
                found.append(HardWall(Plane(tuple(side * up), tuple(origin))))
            if self.gravity is not None:
                found.append(Linear(self.gravity / unit, tuple(up)))
        found += self.of_file
        if self.springs is not None:
            found.append(Springs(self.springs / unit**2, points))  # type: ignore[arg-type]
        return found or None

    def fugacity_for(self, given: Sizes) -> GrandCanonical | None:
        """The fugacity of particles of these sizes, in the unit of their positions.

        Raises:
            ValueError: these particles have different sizes.
        """
        if self.fugacity is None:
            return None
        if given.mixed:
            raise ValueError("--fugacity needs equal particles, and those of --input are a mixture")
        return GrandCanonical(self.fugacity / (given.diameter or 1.0) ** self.kind.dimensions)

    def _check_exchange(self) -> None:
        """Refuse options that a run with exchanges does not have."""
        others = {
            "replicas": self.replicas > 1,
            "decompose": self.decompose,
            "tune-volume": self.tune_volume,
            "target-error": self.target_error is not None,
        }
        for name in (name for name, given in others.items() if given):
            raise ValueError(
                f"--{name} is not for --exchange-every, which has one replica of each pressure, of "
                "one length and with a constant step of the volume"
            )

    @property
    def memory(self) -> float:
        """Least number of bytes of the particles and, for a dilute system, of the cells."""
        D, types = self.kind.dimensions, self.mixture or ((1.0,),)
        shares = np.array(self.fractions or len(types) * (1.0,))
        mean = float(shares @ np.diagonal(types) ** D / shares.sum())
        volume = self.particles * np.pi / (2 * D) * mean / self.packing_fraction
        # A cell is about the largest contact distance wide. It has four slots, or eight for
        # spheres, each with the coordinates and the index of a particle.
        slots = volume / np.max(types) ** D * 4 * (D - 1)
        return 100.0 * self.particles + 4.0 * (D + 1) * slots

    def _check_volume_moves(self) -> None:
        """Refuse options of constant pressure without --pressure, and invalid maximum changes."""
        if self.pressure is None:
            for name in ("edges_apart", "volume_delta", "tune_volume"):
                if getattr(self, name):
                    raise ValueError(f"--{name.replace('_', '-')} needs --pressure")
        if self.tune_volume and self.equilibrate == 0:
            raise ValueError("--tune-volume needs an equilibration; --equilibrate is 0")
        if self.input is None:
            self.volume_delta_for(self._of_types())

    def constant_pressure_for(self, given: Sizes) -> ConstantPressure | None:
        """The constant pressure of particles of these sizes."""
        if self.pressure is None:
            return None
        mode = "length" if self.edges_apart else "ln"
        return ConstantPressure(self.pressure, mode, self.volume_delta_for(given))

    def volume_delta_for(self, given: Sizes) -> float | tuple[float, ...] | None:
        """The maximum trial change of ln V or of the edges, for particles of these sizes.

        Raises:
            ValueError: these particles cannot have it.
        """
        deltas, axes = self.volume_delta, self.kind.dimensions
        if deltas is None:
            return None
        text = ",".join(f"{each:g}" for each in deltas)
        if not self.edges_apart:
            if len(deltas) > 1:
                raise ValueError(
                    f"--volume-delta is {text}; it must be one number without --edges-apart"
                )
            if not 0 < deltas[0] < math.inf:
                raise ValueError(f"--volume-delta is {text}; it must be positive and finite")
            return deltas[0]
        if len(deltas) not in (1, axes):
            raise ValueError(
                f"--volume-delta is {text}; it must be one number or {axes}, one for each edge"
            )
        diameter = given.mean(axes)
        most = given.largest() / diameter  # the engine's limit is the largest contact distance
        if not (all(0 <= each <= most for each in deltas) and any(deltas)):
            raise ValueError(
                f"--volume-delta is {text}; it must be positive and at most {most:.4g} diameters, "
                "or 0 for an edge that is fixed"
            )
        return (
            tuple(each * diameter for each in deltas) if len(deltas) > 1 else deltas[0] * diameter
        )

    def exchangeable(self, given: Sizes) -> Sizes:
        """The sizes in the form that swap moves need, if there are any.

        Raises:
            ValueError: swap moves are not for these sizes.
        """
        if self.swaps is None:
            return given
        try:
            return given.by_particle()
        except ValueError as error:
            raise ValueError(f"--swap-rounds: {error}") from None

    def tile_for(self, given: Sizes) -> int | tuple[int, ...] | None:
        """The width of a tile, or one for each axis, for particles of these sizes.

        Raises:
            ValueError: the number of widths, or a width, is not one that these particles can have.
        """
        widths, axes = self.tile, self.kind.dimensions
        if widths is None:
            return None
        for width in widths:
            least(1)("--tile", width)
        if len(widths) == 1:
            return widths[0]
        text = ",".join(map(str, widths))
        if self.kind is DISKS and self.pressure is None and not given.mixed:
            raise ValueError(f"--tile is {text}; tiles of equal disks have one width")
        if len(widths) != axes:
            raise ValueError(f"--tile is {text}; it must be one width or {axes}, one for each axis")
        return widths

    def _types(self) -> np.ndarray:
        """The type of each particle of a mixture."""
        kinds = len(self.mixture or ())
        shares = np.cumsum(self.fractions or kinds * (1 / kinds,))
        ends = np.rint(shares / shares[-1] * self.particles).astype(int)
        return np.repeat(np.arange(kinds, dtype=np.int32), np.diff(ends, prepend=0))

    def _of_types(self) -> Sizes:
        if self.mixture is None:
            return Sizes(diameter=1.0)
        return Sizes(types=self._types(), contacts=np.array(self.mixture))

    @property
    def sizes(self) -> Sizes:
        """The sizes of the particles without `--input`, in the unit of the options."""
        return self.exchangeable(self._of_types())


@dataclass(frozen=True, kw_only=True)
class DiskSettings(Settings):
    """The settings of a job of `manymove disks`.

    System:
        start: Initial configuration without --input: random, hexagonal, square or, with
            --fugacity, empty.
        pressure: Constant pressure, P* = beta P d^2, at which the area changes and the packing
            fraction is measured, beginning at --packing-fraction (default constant area).

    Moves:
        max_displacement: Maximum trial displacement along each axis, in diameters (default 0.16;
            with --pressure 0.12, and in a mixture 0.12 of the largest contact distance).
        volume_delta: Maximum trial change of ln V with --pressure, where V is the area of the box.
            With --edges-apart it is the maximum trial change of an edge in units of the diameter:
            one number, or one for each edge with 0 for a fixed edge (default from N, the pressure
            and the start).
        moves_per_cell: Number of trial moves per visit of a cell, n_m (default 4, or 8 for mixtures
            and with --pressure).
        tile: Maximum width of a tile in cells, from 3 to 41, or for mixtures and with --pressure
            from 2 to 16, one width or one for each axis (default from N and the box). Narrower
            tiles allow more ranks with --decompose.

    Run:
        sweeps: Length of the measurement in sweeps of N trial moves each, rounded up to whole
            cycles of about 14 sweeps.
    """

    kind: ClassVar[Kind] = DISKS
    output: Path = Path("out/disks")


@dataclass(frozen=True, kw_only=True)
class SphereSettings(Settings):
    """The settings of a job of `manymove spheres`.

    System:
        start: Initial configuration without --input: random, fcc, hcp, bcc or, with --fugacity,
            empty.
        pressure: Constant pressure, P* = beta P d^3, at which the volume changes and the packing
            fraction is measured, beginning at --packing-fraction (default constant volume).

    Moves:
        max_displacement: Maximum trial displacement along each axis, in diameters (default 0.12, or
            in a mixture 0.12 of the largest contact distance; less is faster near freezing and in
            crystals).
        volume_delta: Maximum trial change of ln V with --pressure. With --edges-apart it is the
            maximum trial change of an edge in units of the diameter: one number, or one for each
            edge with 0 for a fixed edge (default from N, the pressure and the start).
        moves_per_cell: Number of trial moves per visit of a cell, n_m (default 8).
        tile: Maximum width of a tile in cells, from 2 to 16, one width or one for each axis
            (default from N and the box). Narrower tiles allow more ranks with --decompose.

    Run:
        sweeps: Length of the measurement in sweeps of N trial moves each, rounded up to whole
            cycles.
    """

    kind: ClassVar[Kind] = SPHERES
    output: Path = Path("out/spheres")
