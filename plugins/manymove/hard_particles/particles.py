# SPDX-License-Identifier: BSD-3-Clause
"""The common base of `HardDisks` and `HardSpheres`: runs, pressure, checkpoints and tuning."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np

from manymove import arguments, devices
from manymove import fields as external_fields
from manymove import steps as pair_steps
from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.analysis.pressure import BINS, steps_of_pairs
from manymove.checkpoint import PathLike
from manymove.errors import ParameterError
from manymove.hard_particles import constant_pressure, grand_canonical, sizes
from manymove.hard_particles import swaps as swap_moves
from manymove.hard_particles import tuning as _tuning
from manymove.hard_particles.compression import random_configuration
from manymove.hard_particles.constant_pressure import BOX_STATE, VolumeMoves
from manymove.hard_particles.cycles import expected_sweeps
from manymove.hard_particles.freezing import relaxations
from manymove.hard_particles.grand_canonical import Insertions
from manymove.hard_particles.profiles import ProfileSampling, default_bins
from manymove.hard_particles.sampling import (
    OpenPressureSampling,
    PressureSampling,
    Sampling,
    VolumeSampling,
    restored,
)
from manymove.hard_particles.shared import SharedParticles
from manymove.hard_particles.sizes import Sizes, of_frame
from manymove.hard_particles.swaps import SwapMoves
from manymove.hard_particles.tuning import Tuning
from manymove.runs import Callbacks, Course, checked
from manymove.settings import (
    ConstantPressure,
    GrandCanonical,
    Grid,
    Seed,
    Start,
    Swaps,
    group,
)
from manymove.simulation import counter, parameter
from manymove.tables import dataframe

if TYPE_CHECKING:
    import pandas

P = TypeVar("P", bound="HardParticles")

_LARGEST_RATIO = 4  # of sizes, for the extrapolation to contact
# Relative error of the pressure: half the spacing of 2 units, times the weight 25 / extent that the
# fit gives to contact.
_OF_SPACING = 25
# Pairs of a disk that a sample counts at most: a disk has six neighbors, and a pair counts once.
_PAIRS = 3


def _mask(pinned: Any) -> np.ndarray | None:
    """The mask of pinned particles as the engine has it; None if no particle is pinned."""
    if pinned is None:
        return None
    mask = np.asarray(pinned)
    if mask.ndim != 1 or not (mask.dtype == bool or np.isin(mask, (0, 1)).all()):
        raise ParameterError("pinned", "must be a mask (N,) of True and False")
    return mask.astype(np.uint8) if mask.any() else None


class HardParticles(VolumeMoves, SwapMoves, Insertions, SharedParticles):
    """Hard particles in a periodic box, moved by checkerboard Monte Carlo; a base class that is not
    for separate use."""

    _COUNTER = "cycles"

    def __init__(
        self,
        positions: Any,
        box: tuple[float, ...],
        diameter: Any = 1.0,
        *,
        seed: Seed,
        max_displacement: Annotated[float | None, arguments.positive] = None,
        pressure: Annotated[
            float | ConstantPressure | None, group(ConstantPressure, alone=True)
        ] = None,
        swaps: Annotated[int | Swaps | None, group(Swaps, alone=True)] = None,
        fugacity: Annotated[
            float | Sequence[float | None] | Mapping[int, float | None] | GrandCanonical | None,
            group(GrandCanonical, alone=True),
        ] = None,
        grid: Annotated[Grid | None, group(Grid)] = None,
        start: Annotated[Start | None, group(Start)] = None,
        pinned: Any = None,
        fields: Any = None,
        steps: Any = None,
        comm: Any = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        """Create particles at positions.

        Args:
            positions: centers of the particles, (N, D), in [-L/2, L/2]: a float32 or float64 array,
                a list of points, or an object with DLPack or ``__cuda_array_interface__``, which is
                read after the work of the CUDA stream that it names. A C-contiguous float64 array
                in host memory is not copied; arrays on a device must be C-contiguous.
            box: edges, D numbers, at least three times the largest contact distance each; the
                origin is at the center.
            diameter: diameter d of equal particles in the unit of the positions; or the diameters
                of the particles of a mixture, (N,), which are in contact at the mean of two; or a
                `Mixture` of types, which gives partial contact values as well.
            seed: seed of the random number generator, an integer in [0, 2**64).
            max_displacement: maximum trial displacement along each axis, in the unit of the
                positions; moves are uniform in a square or a cube (default 0.16 d for equal disks
                at constant area, otherwise 0.12 of the largest contact distance). Smaller values
                are faster near freezing and in crystals. The value is rounded to eight significant
                bits.
            pressure: imposed pressure P* = beta P d^D in D dimensions, or a `ConstantPressure`;
                then the box changes between cycles (default constant volume).
            swaps: number of rounds of swap moves of the diameters, or the types, of a mixture for
                each set of cells, or a `Swaps` (default no swap moves).
            fugacity: z = exp(mu / kT) / Lambda^D in 1 / length^D, for a mixture one value for each
                type, or a `GrandCanonical`; then particles are inserted and deleted between cycles,
                and N changes (default a constant number of particles). The positions may then be
                an empty array (0, D). This cannot be combined with diameters by particle, pinned
                particles, springs, fields with a value for each particle, constant pressure, or
                swap moves.
            grid: cells and trial moves in a cell, a `Grid`.
            start: first cycle and repair of overlaps, a `Start`.
            pinned: particles that never move, a mask (N,), with which the others collide (default
                none). Their trial moves count as rejected. Two of them must be at least 1e-5
                contact distances farther apart than contact, so that they do not overlap after
                rounding. This cannot be combined with constant pressure or swap moves.
            fields: external fields of `manymove.fields`, one or a sequence of up to eight, whose
                energies add up (default none). A particle must be at least 1e-5 contact distances
                farther from a hard wall than it may be, so that it does not touch the wall after
                rounding. This cannot be combined with constant pressure or swap moves.
            steps: square wells and shoulders of the energies of pairs, one `manymove.steps.Step` or
                a sequence of up to eight, whose energies add up (default none). The edges of the
                box must then be at least three times the largest range each. This cannot be
                combined with diameters by particle.
            comm: communicator of mpi4py, for instance ``MPI.COMM_WORLD``, or `Ranks`, which share
                the system in strips along y or slabs along z. The trajectory equals that of one
                rank, bit for bit. Only the `positions` of rank 0 are read; other ranks may pass
                None (default one rank).
            device: "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:<index>".
            threads: number of threads of the CPU engine (default all cores).
        """
        D, self._sizes = self._DIMENSIONS, sizes.read(diameter)
        self._pinned = _mask(pinned)
        self._fields, of_fields, self._of_fields = external_fields.read(
            fields, self._sizes.radii, D
        )
        self._steps, of_steps = pair_steps.read(steps, self._sizes.kinds)
        grid, start = grid or Grid(), start or Start()
        self._parameters: dict[str, Any] = constant_pressure.read(
            pressure,  # type: ignore[arg-type]
            self._sizes,
            D,
        )
        self._parameters |= swap_moves.read(swaps, self._sizes)  # type: ignore[arg-type]
        self._parameters |= grand_canonical.read(fugacity, self._sizes)  # type: ignore[arg-type]
        contacts = self._sizes.contacts
        self._parameters |= of_fields | of_steps
        self._parameters |= {
            "box": arguments.edges(box, D),
            "diameter": self._sizes.diameter,
            **(
                {"contacts": None if contacts is None else contacts.tolist()}
                if self._general
                else {}
            ),
            "max_displacement": max_displacement or 0.0,
            "cell_width": grid.cell_width or 0.0,
            "moves_per_cell": grid.moves_per_cell or 0,
            "rounds": grid.rounds or 0,
            "tile": (
                arguments.counts_or_default("tile", grid.tile, D)
                if self._general
                else arguments.count_or_default("tile", grid.tile)
            ),
            "seed": seed,
            "first_cycle": start.first_cycle,
            "repair_depth": start.repair_depth,
        }
        self._settle(device, threads, comm)
        self._begin(lambda: arguments.positions(positions))

    @classmethod
    def _grown(
        cls: type[P],
        N: int,
        packing_fraction: float,
        given: Sizes,
        shape: tuple[float, ...],
        seed: int,
        options: dict[str, Any],
    ) -> P:
        """Particles at random positions, which have grown between short runs of Monte Carlo.

        Args:
            given: sizes of the particles.
            shape: ratios of the edges of the box.
            options: the other arguments of the class.
        """
        place = {name: options[name] for name in ("device", "threads") if name in options}
        positions, box = cls._on_first(
            lambda: random_configuration(
                cls, N, packing_fraction, given, shape, seed=seed, **place
            ),
            options,
        )
        return cls(positions, box, given.given, seed=seed, **options)

    @classmethod
    def from_gsd(
        cls: type[P],
        path: PathLike,
        frame: int = -1,
        *,
        seed: int,
        diameter: Any = None,
        **options: Any,
    ) -> P:
        """Create the particles of a frame of a GSD file, in a rectangular box of the dimensions of
        the class.

        Several types with one diameter each become a `Mixture` with the means of their diameters as
        contacts, unless the file has the table of `write_gsd`. Otherwise different
        diameters become those of the particles.

        Args:
            path: path of a file with the schema of HOOMD-blue.
            frame: index of the frame; negative numbers count from the end.
            seed: seed of the trajectory.
            diameter: sizes of the particles, as for the class; by default those of the file.
            options: the other arguments of the class.

        Raises:
            FileNotFoundError, ValueError: an error of `manymove.io.read_frame` or of the class.
        """
        from manymove.io import read_frame

        empty = options.get("fugacity") is not None
        found = read_frame(path, frame, dimensions=cls._DIMENSIONS, mixtures=True, empty=empty)
        given = of_frame(found).given if diameter is None else diameter
        return cls(found.positions, found.box, given, seed=seed, **options)

    @property
    def _general(self) -> bool:  # type: ignore[override]
        """Whether these are not equal disks at constant volume, for which the engine has a policy
        of its own."""
        return (
            self._DIMENSIONS == 3
            or self._sizes.mixed
            or self._pinned is not None
            or not {"fields", "steps", "fugacities", "gibbs"}.isdisjoint(self._parameters)
            or self._parameters.get("beta_pressure", 0)
        ) != 0

    @property
    def _grid(self) -> dict[str, Any]:  # type: ignore[override]
        """The grid of the engine, which changes with the volume."""
        return self._engine.grid

    def _where(self) -> tuple[dict[str, Any], str, int]:
        parameters, device, threads = super()._where()
        if self._general:
            arrays = self._by_particle
            parameters = {**parameters, **arrays, "contacts": self._sizes.contacts}
        return parameters, device, threads

    @property
    def _by_particle(self) -> dict[str, np.ndarray | None]:
        """What the engine and a checkpoint have of each particle, besides its position."""
        given = self._sizes
        sizes_of_each = {"diameters": given.diameters, "types": given.types}
        return {**sizes_of_each, "pinned": self._pinned, **self._of_fields}

    def _adopt(self, engine: Any) -> None:
        super()._adopt(engine)
        self._repaired = engine.repair
        self._sweeps_per_cycle = expected_sweeps(
            self._grid, self.box, self.diameter, max(1, self.N)
        )
        self._goal = self._cycles_done * self._sweeps_per_cycle  # sweeps requested so far
        self._sampling: PressureSampling | None = None
        self._volumes: VolumeSampling | None = None
        self._profile: ProfileSampling | None = None

    # ---- running ---------------------------------------------------------------------------------

    def run(self, sweeps: float, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run for a number of sweeps, rounded to whole cycles of `sweeps_per_cycle` sweeps.

        The number of cycles depends on N and the settings only, and not on the positions or the
        present box, because a run that ended after a number of trial moves would end in some
        configurations more often than in others. The number of sweeps made, `sweeps`, differs
        from the requested number by a few percent, and by more if the box changes much. The
        next call compensates for the rounding, so that many short runs add up to a long one.

        Args:
            sweeps: number of sweeps of N trial moves each, at least 0.
            callbacks: pairs (every, function). A function is called with this object whenever
                `cycles` is a multiple of `every`. Callbacks do not affect the trajectory.
                Several ranks must all give the same intervals, and call the functions together.
            progress: show a progress bar in cycles. Several ranks must all ask for it; the first
                shows it.

        Raises:
            ValueError: sweeps is negative or not finite, or `every` is not positive.
            TypeError: callbacks are not pairs of an integer and a function.
            KeyboardInterrupt: Ctrl-C, within a second; the state is that after a whole cycle.
        """
        sweeps = arguments.number("sweeps", sweeps)
        if not (math.isfinite(sweeps) and sweeps >= 0):
            raise ParameterError("sweeps", f"must be finite and not negative, got {sweeps}")
        self._run_to(self._goal + sweeps, callbacks, progress)

    def run_until(
        self, sweeps: float, callbacks: Callbacks = (), *, progress: bool = False
    ) -> None:
        """Run up to the cycle at which `run(sweeps)` of a new object ends.

        A run that is interrupted and continued ends at the same cycle as an uninterrupted one. The
        method returns at once if more cycles have been done already.

        Args:
            sweeps: number of sweeps of N trial moves each, counted from the first cycle.
            callbacks, progress: as in `run`.

        Raises:
            ValueError: sweeps is not finite, or an error of `run`.
            TypeError, KeyboardInterrupt: as in `run`.
        """
        sweeps = arguments.number("sweeps", sweeps)
        if not math.isfinite(sweeps):
            raise ParameterError("sweeps", f"must be finite, got {sweeps}")
        if sweeps > self._cycles_done * self._sweeps_per_cycle:
            self._run_to(sweeps, callbacks, progress)

    def _run_to(self, goal: float, callbacks: Callbacks, progress: bool) -> None:
        if goal > arguments.LONGEST:
            raise ParameterError("sweeps", f"must be at most 10**15, got {goal:g}")
        cycles = max(0, self._cycles_in(goal) - self._cycles_done)
        self.run_cycles(cycles, callbacks, progress=progress)
        self._goal = goal

    def _end_of(self, n: float) -> int:
        return self._parameters["first_cycle"] + self._cycles_in(n)

    def _end_after(self, n: float) -> int:
        return self._end_of(self._goal + n)

    def _cycles_in(self, sweeps: float) -> int:
        """Number of cycles in which these sweeps are expected."""
        return round(sweeps / self._sweeps_per_cycle)

    @property
    def _cycles_done(self) -> int:
        """Number of cycles since `first_cycle`."""
        return self.cycles - self._parameters["first_cycle"]

    def run_cycles(self, cycles: int, callbacks: Callbacks = (), *, progress: bool = False) -> None:
        """Run a number of cycles, each with a shift of the grid and `rounds` passes over the sets.

        Args:
            cycles: number of cycles, at least 0.
            callbacks, progress: as in `run`.

        Raises:
            TypeError: cycles is not an integer, or an error of `run`.
            ValueError: cycles is negative, or an error of `run`.
            KeyboardInterrupt: as in `run`.
        """
        cycles = arguments.steps("cycles", cycles)
        try:
            with self._running(cycles, callbacks, progress) as course:
                course.run(cycles, self._run_piece, self._piece_of_all)
        finally:
            self._goal = self._cycles_done * self._sweeps_per_cycle

    @contextmanager
    def _running(self, length: float, callbacks: Callbacks, progress: bool) -> Iterator[Course]:
        profile = self._profile
        own = [] if profile is None else [(profile.every, profile.take)]
        # Own calls come first, because a callback may save the samples.
        with super()._running(length, [*own, *checked(callbacks)], progress) as course:
            yield course

    def _join(self, group: Any) -> bool:
        return bool(self._engine.join(group))

    def _run_piece(self, cycles: int) -> None:
        try:
            self._engine.run(cycles)
        finally:  # also after Ctrl-C
            if self.fugacity is not None or self.swap_rounds:
                self._follow_types()
        for sampling in self._samplings:
            sampling.collect()

    def _follow_types(self) -> None:
        """Read the types of the particles, which may have changed."""
        if self._sizes.types is not None:
            self._sizes = replace(self._sizes, types=self._engine.types())

    @property
    def _in_gibbs_ensemble(self) -> bool:
        return "gibbs" in self._parameters

    @property
    def _box_changes(self) -> bool:
        return self.constant_pressure is not None or self._in_gibbs_ensemble

    @property
    def _samplings(self) -> list[Sampling]:
        every = self._sampling, self._volumes, self._profile
        return [each for each in every if each is not None]

    def reset_averages(self) -> None:
        for sampling in self._samplings:
            sampling.reset(self.cycles)

    # ---- properties ------------------------------------------------------------------------------

    cycles: int = counter(
        0, "Number of cycles done, each with one shift of the grid, counted from `first_cycle`."
    )
    max_displacement: float = parameter(
        "max_displacement", "Maximum trial displacement along each axis, as realized.", "_grid"
    )
    moves_per_cell: int = parameter(
        "moves_per_cell", "Number of trial moves per visit of a cell, n_m.", "_grid"
    )
    rounds: int = parameter(
        "rounds", "Number of passes over the sets of cells between two shifts of the grid.", "_grid"
    )
    tile: int | tuple[int, ...] = parameter(
        "tile", "Maximum width of a tile in cells, or one width for each axis.", "_grid"
    )
    cells: tuple[int, ...] = parameter("cells", "Number of cells along each axis.", "_grid")

    def _edges(self) -> Any:
        """Edges of the box, which changes at constant pressure."""
        fixed = self._parameters["box"]
        return self._engine.grid["box"] if self._box_changes else fixed

    @property
    def diameter(self) -> float:
        """Diameter of the particles; for a mixture that of a particle with their mean area, or mean
        volume in three dimensions."""
        return self._sizes.mean(self._DIMENSIONS)

    @property
    def diameters(self) -> np.ndarray:
        """Diameter of each particle, float64 (N,). The diameter of a type is the contact distance
        of two particles of the type."""
        if self._swaps_diameters:
            with self._on_all_ranks():
                return self._engine.diameters()
        return self._sizes.of_each(self.N)

    @property
    def types(self) -> np.ndarray:
        """Type of each particle, int32 (N,); zeros unless `types` were given."""
        given = self._sizes.types
        return np.zeros(self.N, dtype=np.int32) if given is None else given.copy()

    @property
    def pinned(self) -> np.ndarray:
        """Whether each particle is pinned, bool (N,)."""
        mask = self._pinned
        return np.zeros(self.N, dtype=bool) if mask is None else mask.astype(bool)

    @property
    def fields(self) -> tuple[external_fields.Field, ...]:
        """External fields, empty without them."""
        return self._fields

    @property
    def field_energies(self) -> np.ndarray:
        """Energy of each particle in all external fields in kT, float64 (N,)."""
        with self._on_all_ranks():
            return self._engine.field_energies()

    @property
    def steps(self) -> tuple[pair_steps.Step, ...]:
        """Steps of the energies of pairs, empty without them."""
        return self._steps

    @property
    def step_energies(self) -> np.ndarray:
        """Energy of each particle in the steps of all its pairs in kT, float64 (N,). Half their sum
        is the energy of the system, in which each pair counts once."""
        with self._on_all_ranks():
            return self._engine.step_energies()

    @property
    def contacts(self) -> np.ndarray | None:
        """Table of the contact distances of pairs of types, float64 (T, T); None if only diameters
        were given."""
        table = self._sizes.contacts
        return None if table is None else table.copy()

    @property
    def mixed(self) -> bool:
        """Whether the particles have different sizes."""
        return self._sizes.mixed

    @property
    def packing_fraction(self) -> float:
        """Part of the box that the particles cover, N pi d^2 / (4 Lx Ly) or N pi d^3 / (6 Lx Ly Lz)
        with the `diameter` d."""
        return self._packing_fraction_of(self.N)

    def _packing_fraction_of(self, N: int) -> float:
        D = self._DIMENSIONS
        return N * math.pi * self.diameter**D / (2 * D * math.prod(self.box))

    @property
    def sweeps(self) -> float:
        """Number of sweeps done: trial moves per particle, not counting visits of empty cells. With
        a `fugacity` it is the number of cycles times `sweeps_per_cycle`."""
        if self.fugacity is not None or self._in_gibbs_ensemble:
            return self._cycles_done * self._sweeps_per_cycle
        return self.trial_moves / self.N

    @property
    def sweeps_per_cycle(self) -> float:
        """Expected number of sweeps in a cycle, with which `run` and the sampling methods convert
        sweeps to cycles. It follows from N, the sizes and the grid of the start, and stays the same
        when the box or N changes."""
        return self._sweeps_per_cycle

    @property
    def _mean_cycle(self) -> float:
        """Mean number of sweeps in a cycle so far, which changes during the run."""
        return self.sweeps / max(1, self._cycles_done)

    @property
    def positions(self) -> np.ndarray:
        """Centers of the particles, float64 (N, D), in the order of the input, in [-L/2, L/2)."""
        with self._on_all_ranks():
            return self._engine.positions().reshape(self.N, self._DIMENSIONS)

    @property
    def points(self) -> np.ndarray:
        """`positions` as float32 (N, 3), where z is 0 for disks. With `box` they are a system of
        freud, which takes the object itself."""
        points = np.zeros((self.N, 3), dtype=np.float32)
        points[:, : self._DIMENSIONS] = self.positions
        return points

    @property
    def device_positions(self) -> Any:
        """Copy of `positions` in the memory of the device, float64 (N, D), for libraries that take
        DLPack, such as ``cupy.from_dlpack`` and ``torch.from_dlpack``. The GPU writes it, without
        the host. On a CPU it is in the memory of the host.

        Raises:
            RuntimeError: several ranks share the system.
        """
        if self._ranks:
            raise RuntimeError("positions on a device need a single rank: use positions")
        return self._engine.device_positions(devices.first_index(self._device))

    @property
    def repaired(self) -> dict[str, Any]:
        """Repaired overlaps of the input: their `count`, and the `depth` of the deepest in contact
        distances."""
        count, depth = self._repaired
        return {"count": count, "depth": depth}

    def max_overlap(self) -> float:
        """Depth of the deepest overlap in contact distances, from `positions` in float64; 0 without
        overlaps."""
        return self._engine.max_overlap()

    def density_modes(self) -> np.ndarray:
        """Fourier components of the density with the longest wavelengths, complex128 (D,).

        Component a is the sum of exp(2 pi i x_a / L_a) over all particles, divided by the root of
        N. These modes relax by diffusion through the box, more slowly than other properties of a
        fluid.
        """
        phases = self.positions * (2 * np.pi / np.array(self.box))
        return np.exp(1j * phases).sum(axis=0) / math.sqrt(max(1, self.N))

    # ---- pressure --------------------------------------------------------------------------------

    def sample_pressure(self, every: float | None, record: float | None = None) -> None:
        """Sample the pair distances near contact in the following runs (section 4).

        Args:
            every: number of sweeps between two samples, rounded to whole cycles of
                `sweeps_per_cycle` sweeps (about 14 for disks with the default settings); None stops
                sampling.
            record: number of sweeps per record, rounded to a whole number of samples; default ten
                samples. A record of equal disks has at most 2**32 / (3 N) samples, because its
                counts are 32-bit integers.

        The pressure follows from the pairs up to 1.075 contact distances, or up to smaller ones
        where there is less room between neighbors. The distance follows from the packing fraction
        of equal particles. In mixtures and with a `fugacity` it follows from the configuration at
        the first call, which should therefore come after the equilibration. In mixtures whose sizes
        differ by more than a factor of 4, the pair density varies too much there. The contact value
        of the largest particles was wrong by 1e-4 at a ratio of 4, 2e-3 at 6, and 1e-2 at 8 in a
        model in three dimensions. A UserWarning says so, and another one if neighbors are so close
        that the spacing of positions, about 1e-6 diameters, matters. With steps, the pressure has a
        term for each range, which follows from the pairs within 0.075 contact distances on both
        sides of it.

        Raises:
            ValueError: a number is not positive or not below 1e15.
            RuntimeError: the pressure is constant, or there are external fields, in which it
                differs from place to place, or a mixture has a fugacity.
        """
        self._refuse_at_constant_pressure()
        self._refuse_changing_diameter()
        if self._fields:
            raise RuntimeError(
                "the pressure differs from place to place in external fields: use sample_profile"
            )
        found = self._cycles_and_samples(every, record)
        bins = None if self._sampling is None else self._sampling.settings["bins"]
        self._sampling = None
        ratio = self._sizes.largest() / self._sizes.smallest()
        if every is not None and ratio > _LARGEST_RATIO:
            warnings.warn(
                f"the sizes differ by a factor of {ratio:.3g}; beyond {_LARGEST_RATIO} the contact "
                "values of the largest particles, and the pressure, are biased",
                stacklevel=2,
            )
        if found is None:
            self._engine.set_sampling(0.0, 0, 0, 0)
            if self.fugacity is not None:
                self._engine.set_volume_sampling(0)
            return
        cycles, samples = found
        if not self._general:  # whose counts are 32-bit integers
            samples = max(1, min(samples, (2**32 - 1) // (_PAIRS * self.N)))
        self._sampling = self._sampling_of_pressure(cycles, samples, bins)
        extent = BINS / self._sampling.settings["bins"] * self._sizes.smallest()
        wrong = _OF_SPACING * self._grid["unit"] / extent
        if wrong > 0.01:
            warnings.warn(
                f"neighbors are so close that the spacing of positions matters; the pressure may "
                f"be wrong by {wrong:.0%}",
                stacklevel=2,
            )

    def _refuse_changing_diameter(self) -> None:
        if self.fugacity is not None and self.mixed:
            raise RuntimeError(
                "the pressure of a mixture is in units of its mean diameter, which changes as "
                "particles come and go: use positions"
            )

    def _cycles_and_samples(
        self, every: float | None, record: float | None
    ) -> tuple[int, int] | None:
        """Number of cycles between two samples and of samples in a record; None for no samples."""
        for name, value in (("every", every), ("record", record)):
            if value is not None and not 0 < arguments.number(name, value) < 1e15:
                raise ParameterError(name, f"must be positive and below 1e15 sweeps, got {value}")
        if every is None:
            return None
        cycles = max(1, self._cycles_in(every))
        samples = 10 if record is None else round(record / self._sweeps_per_cycle / cycles)
        return cycles, max(1, samples)

    def _sampling_of_pressure(
        self, every: int, samples: int, bins: int | None = None
    ) -> PressureSampling:
        kind = PressureSampling if self.fugacity is None else OpenPressureSampling
        N = self.N if self.fugacity is None else 1
        return kind(
            self._engine,
            every,
            samples,
            bins,
            N,
            self._packing_fraction_of(N),
            self._DIMENSIONS,
            steps_of_pairs([(s.range, s.energy) for s in self._steps], self._contact_table),
            self.fugacity is None and self._sizes.smallest() == self._sizes.largest(),
            self.cycles,
        )

    def _refuse_at_constant_pressure(self) -> None:
        if self.constant_pressure is not None:
            raise RuntimeError("the pressure is constant: sample the volume with sample_volume")
        if self._in_gibbs_ensemble:
            raise RuntimeError("the volume changes: sample the pressures of the GibbsEnsemble")

    def _collected(self) -> PressureSampling:
        if self._sampling is None:
            self._refuse_at_constant_pressure()
            raise RuntimeError("nothing sampled: call sample_pressure(every=...) and run")
        self._sampling.collect()
        return self._sampling

    @property
    def pressure_records(self) -> np.ndarray:
        """Pressure P* = beta P d^D of each finished record, float64 (K,)."""
        return self._collected().values[:, 0]

    @property
    def pressure_sweeps(self) -> np.ndarray:
        """Number of sweeps at the end of each record, float64 (K,)."""
        return self._pressure_cycles * self._mean_cycle

    @property
    def _pressure_cycles(self) -> np.ndarray:
        """Number of cycles at the end of each record of the pressure."""
        return self._collected().cycles - self._parameters["first_cycle"]

    @property
    def pair_histogram(self) -> np.ndarray:
        """Histogram of the pair distances from contact, uint64 (77,), in bins of 2**-10 contact
        distances (`manymove.analysis.bin_width` in dense systems), summed over all finished
        records; (T (T + 1) / 2, 77) for T types, with the pairs of types in the order (0, 0), (0,
        1), ... (1, 1)."""
        found = self._collected().histogram[: len(self.pairs_of_types)]
        return found.sum(axis=0) if self._sizes.contacts is None else found.copy()

    @property
    def pressure_average(self) -> Estimate:
        """Pressure P* = beta P d^D with its standard error by blocking of the records (section 4).

        At packing fractions of equal disks from 0.695 to 0.722 the blocking error of most runs is
        too small, because the pressure follows psi_6, which relaxes very slowly. There it is
        multiplied by a factor of up to 3 (see docs/benchmarks/hard_disks_physics.md).

        Raises:
            RuntimeError: no record is finished.
        """
        records = self.pressure_records
        if not len(records):
            raise RuntimeError("no pressure record is finished: run longer")
        return self._average(records, self._collected().length, self.packing_fraction)

    def _average(self, records: np.ndarray, cycles: int, packing_fraction: float) -> Estimate:
        """Mean of records of this number of cycles, whose error contains the relaxations of equal
        disks near freezing."""
        if self._DIMENSIONS == 3 or self.mixed or self._steps or self._fields:
            return estimate(records)
        sweeps = len(records) * cycles * self._sweeps_per_cycle
        constant_pressure = self.constant_pressure is not None
        return estimate(records, relaxations(sweeps, self.N, packing_fraction, constant_pressure))

    @property
    def _measured(self) -> np.ndarray:
        if self.constant_pressure is not None:
            return self.packing_fraction_records
        return self.pressure_records

    def _average_of(self, records: np.ndarray) -> Estimate:
        phi = self.packing_fraction if self.constant_pressure is None else float(records.mean())
        return self._average(records, self._samplings[0].length, phi)

    @property
    def pairs_of_types(self) -> list[tuple[int, int]]:
        """Pairs of types (a, b) with a <= b, in the order of histograms and contact values."""
        return list(itertools.combinations_with_replacement(range(self._sizes.kinds), 2))

    @property
    def _contact_table(self) -> np.ndarray:
        """Contact distances of the pairs of types, (T, T)."""
        return np.array([[self.diameter]]) if self.contacts is None else self.contacts

    @property
    def contact_value_records(self) -> np.ndarray:
        """Values at contact of the partial pair distribution functions of each finished record,
        float64 (K, T (T + 1) / 2), in the order of `pairs_of_types`; NaN for a type without
        particles.

        Raises:
            RuntimeError: each particle has a diameter instead of a type, or N changes.
        """
        if self._sizes.diameters is not None:
            raise RuntimeError("contact values need types: give a Mixture as diameter")
        if self.fugacity is not None:
            raise RuntimeError("contact values need a constant number of particles")
        found = self._collected().values[:, 1:]
        T, D = self._sizes.kinds, self._DIMENSIONS
        counts = np.bincount(self.types, minlength=T).astype(float)
        table = self._contact_table
        a, b = np.array(self.pairs_of_types).T
        pairs = counts[a] * counts[b] * np.where(a == b, 0.5, 1.0)
        shells = (2 * math.pi if D == 2 else 4 * math.pi) * table[a, b] ** D
        with np.errstate(divide="ignore", invalid="ignore"):
            return found * (math.prod(self.box) / (pairs * shells))

    @property
    def contact_values(self) -> dict[tuple[int, int], Estimate]:
        """Values at contact of the partial pair distribution functions, g_ab(sigma_ab), with their
        standard errors, by the types (a, b) with a <= b.

        They are normalized by the densities of all particles of a type, so that the pressure is
        beta P = rho + (S_D / 2 D) sum over a and b of rho_a rho_b sigma_ab^D g_ab(sigma_ab), with
        S_2 = 2 pi and S_3 = 4 pi.

        Raises:
            RuntimeError: no record is finished, or each particle has a diameter instead of a
                type.
        """
        records = self.contact_value_records
        if not len(records):
            raise RuntimeError("no pressure record is finished: run longer")
        return dict(zip(self.pairs_of_types, map(estimate, records.T), strict=True))

    def to_dataframe(self) -> pandas.DataFrame:
        """Records as a table of pandas. The columns are the number of `sweeps` at the end of each
        record and its `pressure` P*; with types also the contact values `contact_value_00`,
        `contact_value_01`, ... of the pairs of types. At constant pressure they are `sweeps`,
        `volume` and `packing_fraction`.

        Raises:
            ImportError: pandas is not installed.
            RuntimeError: nothing is sampled.
        """
        if self.constant_pressure is not None:
            return dataframe(
                {
                    "sweeps": self.volume_sweeps,
                    "volume": self.volume_records,
                    "packing_fraction": self.packing_fraction_records,
                }
            )
        columns = {"sweeps": self.pressure_sweeps, "pressure": self.pressure_records}
        if self.contacts is not None:
            values = zip(self.pairs_of_types, self.contact_value_records.T, strict=True)
            columns |= {f"contact_value_{a}{b}": column for (a, b), column in values}
        return dataframe(columns)

    # ---- profiles --------------------------------------------------------------------------------

    def sample_profile(
        self,
        every: float | None,
        record: float | None = None,
        *,
        axis: int | None = None,
        bins: int | None = None,
    ) -> None:
        """Sample the density along an axis, and the pressure on hard walls across it, in the
        following runs. Each sample copies the positions to the host.

        Args:
            every: number of sweeps between two samples, rounded to whole cycles of
                `sweeps_per_cycle` sweeps; None stops sampling.
            record: number of sweeps per record, rounded to a whole number of samples; default ten
                samples.
            axis: number of the axis, from 0 (default the last one).
            bins: number of bins along the edge of the box (default a twentieth of a `diameter`
                each, and at most 1000).

        Raises:
            ValueError: a number is out of range.
            RuntimeError: the box changes at constant pressure or in a `GibbsEnsemble`, or a mixture
                has a fugacity.
        """
        if self.constant_pressure is not None:
            raise RuntimeError("the pressure is constant: a profile needs a constant box")
        if self._in_gibbs_ensemble:
            raise RuntimeError("the volume changes: a profile needs a constant box")
        self._refuse_changing_diameter()
        D = self._DIMENSIONS
        axis = arguments.index("axis", D - 1 if axis is None else axis, D)
        if bins is None:
            bins = default_bins(self.box[axis], self.diameter)
        found = self._cycles_and_samples(every, record)
        bins = arguments.count("bins", bins)
        self._profile = None if found is None else self._sampling_of_profile(*found, axis + 1, bins)

    def _sampling_of_profile(
        self, every: int, samples: int, axis: int, bins: int
    ) -> ProfileSampling:
        return ProfileSampling(self, every, samples, axis, bins, self.cycles)

    def _profile_records(self) -> np.ndarray:
        if self._profile is None:
            raise RuntimeError("nothing sampled: call sample_profile(every=...) and run")
        self._profile.collect()
        if not len(self._profile.values):
            raise RuntimeError("no record of the profile is finished: run longer")
        return self._profile.values

    @property
    def density_profile(self) -> np.ndarray:
        """Coordinate at the center of each bin, number of particles per volume there, and its
        standard error by blocking of the records, float64 (bins, 3), in the unit of the positions.

        Raises:
            RuntimeError: no record is finished.
        """
        found = [[*estimate(column)] for column in self._profile_records()[:, 3:].T]
        edges = self._profile.edges  # type: ignore[union-attr]
        return np.column_stack([(edges[1:] + edges[:-1]) / 2, found])

    @property
    def wall_pressures(self) -> tuple[Estimate, Estimate]:
        """Pressure P* = beta P d^D on the hard walls below and above the particles across the axis
        of the profile, from the densities of centers at contact (contact theorem); NaN where there
        is no hard wall. A polynomial of the fourth degree is fitted to the density within 0.2
        `diameter` of contact.

        Raises:
            RuntimeError: no record is finished.
        """
        lower, upper = self._profile_records()[:, :2].T
        return estimate(lower), estimate(upper)

    # ---- checkpoints -----------------------------------------------------------------------------

    def _contents(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        chosen = ["max_displacement", "moves_per_cell", "rounds", "tile"]  # for the defaults
        if self.constant_pressure is not None:
            chosen += ["volume_delta", "box_deltas"] if self._box_weights else ["volume_delta"]
            chosen += ["volume_repeats", "volume_every"]
        header = {
            "parameters": {
                **self._parameters,
                **{name: self._grid[name] for name in chosen},
                "cell_width": self._parameters["cell_width"]
                or pair_steps.reach(self._steps, self._sizes.largest()),
            },
            "particles": self.N,
            "origin": state["origin"][: self._DIMENSIONS],
            **(
                {}
                if not self._box_changes
                else {name: state[name] for name in BOX_STATE if name in state}
            ),
            # A callback saves before the end of a run.
            "goal": (
                self._cycles_done * self._sweeps_per_cycle if self._is_running else self._goal
            ),
            "sweeps_per_cycle": self._sweeps_per_cycle,
        }
        each: dict[str, Any] = self._by_particle
        if self._sampling is not None:
            header["pressure_sampling"], samples = self._sampling.state()
            each |= samples
        if self._volumes is not None:
            header["volume_sampling"], samples = self._volumes.state()
            each |= samples
        if self._profile is not None:
            header["profile_sampling"], samples = self._profile.state()
            each |= samples
        arrays = {name: v for name, v in {**each, **state}.items() if isinstance(v, np.ndarray)}
        for name in {"swaps", "insertions"} & state.keys():
            header[name] = state[name]
        return header, arrays

    def _present(self) -> dict[str, Any]:
        diameter = self.diameters if self._swaps_diameters else self._sizes.given
        pinned = None if self._pinned is None else self.pinned
        return {
            "positions": self.positions, "box": self.box, "diameter": diameter, "pinned": pinned,
            "fields": self._fields, "steps": self._steps,
        }  # fmt: skip

    def _continued(self) -> dict[str, Any]:
        return {"start": Start(self.cycles, self._parameters["repair_depth"])}

    def _frame(self, step: int | None = None, log: Mapping[str, Any] | None = None) -> Any:
        from manymove.io import make_frame

        typed = self._sizes.types is not None
        return make_frame(
            self.positions,
            self.box,
            self.cycles if step is None else step,
            diameters=self.diameters if self.mixed else self.diameter,
            types=self._sizes.types,
            contacts=self._sizes.contacts if typed else None,
            log=log,
        )

    def _proceed(self, run: dict[str, Any]) -> None:
        if "sweeps_per_cycle" in run:
            self._sweeps_per_cycle = run["sweeps_per_cycle"]
        elif self._cycles_done:  # an earlier version counted the sweeps that were made
            self._sweeps_per_cycle = self._mean_cycle
        self._goal = self._cycles_done * self._sweeps_per_cycle
        # What is farther away is the end of a run during which a callback has saved.
        if abs(run["goal"] - self._goal) <= self._sweeps_per_cycle:
            self._goal = run["goal"]
        if "samples" in run:
            pressure, volume, profile = run["samples"].values()
            names, arrays = ("every", "samples"), run["arrays"]
            of_pressure = (*names, *(n for n in ("bins",) if n in (pressure or {})))
            self._sampling = restored(pressure, self._sampling_of_pressure, of_pressure, arrays)
            self._volumes = restored(volume, self._sampling_of_volume, ("record",), arrays)
            of_profile = (*names, "axis", "bins")
            self._profile = restored(profile, self._sampling_of_profile, of_profile, arrays)

    # ---- tuning ----------------------------------------------------------------------------------

    def slow_quantities(self) -> np.ndarray:
        """Quantities that relax slowly, complex128 (K,), whose autocorrelation time `tune` finds:
        the global psi_6 of equal disks, otherwise `density_modes`."""
        return self.density_modes()

    def _with(self: P, max_displacement: float, moves_per_cell: int, per_shift: int) -> P:
        """A simulation of the same particles with other settings."""
        p = self._parameters
        rounds = min(16, max(1, per_shift // moves_per_cell))
        return type(self)(
            self.positions,
            p["box"],
            self._sizes.given,
            max_displacement=max_displacement,
            grid=Grid(moves_per_cell, rounds, self.tile, p["cell_width"] or None),
            seed=p["seed"],
            start=Start(repair_depth=p["repair_depth"]),
            pinned=self._pinned,
            fields=self._fields,
            steps=self._steps,
            device=self._device,
            threads=self._threads or None,
        )

    def tune(
        self,
        max_displacements: Iterable[float] = (0.08, 0.12, 0.16, 0.2, 0.26),
        moves_per_cell: Iterable[int] = (4, 8, 16),
        *,
        sweeps: float = 20000,
        every: float | None = None,
    ) -> list[Tuning]:
        """Find and adopt the displacement and n_m that decorrelate fastest in wall time (section
        3.3), before a production run.

        As in the paper: displacements are compared at the present n_m, then values of n_m at the
        best displacement, each by the autocorrelation time of a slow quantity: the global psi_6 of
        equal disks, otherwise `density_modes`. `rounds` follows n_m, so that a particle has about
        as many trial moves between two shifts as before. The particles keep their positions; the
        counters start from zero.

        Args:
            max_displacements: values of the maximum displacement in diameters.
            moves_per_cell: values of n_m.
            sweeps: number of sweeps for each setting; at least fifty autocorrelation times are
                needed for a reliable result.
            every: number of sweeps between two values of the slow quantity; default a thousandth
                of `sweeps`.

        Returns:
            All settings, the adopted one first.

        Raises:
            ValueError: a value is missing or out of range, or several ranks share the system,
                the pressure is constant, there are swap moves, or N changes.
        """
        if self.constant_pressure is not None:
            raise ValueError("tune works at constant volume, with another object")
        if self.swap_rounds:
            raise ValueError("tune works without swap moves, with another object")
        if self.fugacity is not None:
            raise ValueError("tune works with a constant number of particles, with another object")
        if self._in_gibbs_ensemble:
            raise ValueError("tune works before the GibbsEnsemble is made, with its simulations")
        if self._ranks is not None:
            raise ValueError("tune works on one rank: tune a smaller system, then divide")
        chosen, tried = _tuning.tune(
            self, self._with, max_displacements, moves_per_cell, sweeps, every
        )
        self._parameters, self._given = chosen._parameters, chosen._given
        self._adopt(chosen.core)
        return tried
