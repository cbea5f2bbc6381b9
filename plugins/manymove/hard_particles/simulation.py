"""Massively parallel Monte Carlo (MPMC) of hard disks.

Method: J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, "Massively parallel
Monte Carlo for many-particle simulations on GPUs", J. Comput. Phys. 254, 27 (2013). Sections,
equations and tables below are that paper's; docs/theory/hard_disks.md has the proof for the
schedule used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from manymove import _core, _renamed, arguments
from manymove.analysis.pressure import PressureEstimate, estimate
from manymove.checkpoint import PathLike
from manymove.hard_particles import tuning as _tuning
from manymove.hard_particles.checkpoints import read_checkpoint
from manymove.hard_particles.packing import random_packing
from manymove.hard_particles.sampling import PressureSampling
from manymove.hard_particles.tuning import Tuning
from manymove.jobs.ranks import Ranks
from manymove.simulation import Callback, MonteCarlo, counter, parameter

OverlapError = _core.OverlapError

_NEIGHBOR_REACH = 1.5  # diameters; the first shell, for psi6


class HardDisks(MonteCarlo):
    """Hard disks of one diameter in a periodic box, moved by checkerboard Monte Carlo.

    The box is divided into cells at least a diameter wide, the cells form four sets, and all cells
    of a set are updated at the same time (Algorithm 1). A *cycle* consists of `rounds` passes over
    the sets and a random shift of the grid. A *sweep* is N trial moves, one per disk on average.
    The trajectory is a function of the input and the seed, the same on every CPU and GPU.

    Args:
        positions: centers of the disks, (N, 2), in [-L/2, L/2]: a float32 or float64 array, a list
            of pairs, or an object with DLPack or ``__cuda_array_interface__``, which is read after
            the work of the CUDA stream that it names. A C-contiguous float64 array in host memory
            is not copied; arrays on a device must be C-contiguous.
        box: edges (Lx, Ly), at least three diameters each; the origin is at the center.
        diameter: diameter d of the disks.
        max_displacement: maximum trial displacement along each axis; moves are uniform in a square.
            Default 0.16 d. The value is rounded to eight significant bits.
        moves_per_cell: number of trial moves per visit of a cell, n_m. Default 4.
        rounds: number of passes over the four sets in a cycle. Default 4; with n_m = 4 a disk makes
            at most 16 trial moves between two shifts.
        tile: maximum width of a tile in cells. A GPU block or a CPU thread works on one tile during
            a cycle, and the first column and row of the tile are frozen for that cycle. The default
            follows from N.
        cell_width: desired width of a cell, from d to below sqrt(2) d. Default d.
        seed: seed of the random number generator, an integer in [0, 2**64).
        first_cycle: value of `cycles` at the start. Random numbers belong to a seed and a cycle. A
            run that continues from positions instead of a checkpoint should therefore start with
            the `cycles` at which the last run ended.
        device: "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:<index>".
        threads: number of threads of the CPU engine; default all cores.
        shuffle_particles: False makes the sampling incorrect (Table 1); for the ablation only.
        shuffle_sets: False violates detailed balance (section 2.4); for the ablation only.
        shift_along_axis: shift the grid as in the paper, along one axis by less than half a cell,
            instead of by any vector. The sampling is correct, too, but decorrelates more slowly.
            Cell lists keep more of their order, which Table 1 is about.
        repair_depth: depth in diameters up to which overlaps in the input are repaired by pushing
            disks apart, and reported in `repaired`. float32 files of large boxes have such
            overlaps.
        comm: a communicator of mpi4py, for instance ``MPI.COMM_WORLD``, whose ranks share the
            system in strips along y. Each rank uses the GPU of its rank on the machine, or its part
            of the cores (docs/theory/hard_disks.md, section 9). The trajectory is that of one rank,
            bit for bit. Only the `positions` of rank 0 are read; other ranks may pass None.
        timeout: time in seconds after which a silent rank is an error (default the environment
            variable MANYMOVE_TIMEOUT, or 60). Time for which the job is suspended does not count.

    With `comm`, all ranks must have the same settings and make the same calls in the same order.
    Runs, `save`, `load`, `positions`, `state_hash`, `psi6()`, `max_overlap()` and the first
    `sample_pressure` are collective. Counters, `acceptance` and sampled quantities are known on
    every rank. An error of one rank in a collective call is raised on all ranks;
    ``python -m mpi4py script`` ends all ranks after an error elsewhere.

    Raises:
        OverlapError: (a ValueError) two disks overlap by more than `repair_depth`, or cannot be
            pushed apart; the message names the worst pair and its depth (or one of the worst, where
            hundreds of disks overlap).
        ValueError: a bad box, diameter, position (outside, NaN), shape, setting or device.
        TypeError: positions are neither a list nor an array of float32 or float64; comm is not a
            communicator.
        RankLost: (a RuntimeError, on all ranks) a rank is silent or has failed,
            or the ranks do not make the same calls. The object cannot be used afterwards.
        MemoryError: the device does not have enough memory.

    An object must not be used by several threads at the same time; different objects may be.
    """

    _KIND = "hard disks"
    _COUNTER = "cycles"

    def __init__(
        self,
        positions: Any,
        box: tuple[float, float],
        diameter: float = 1.0,
        *,
        max_displacement: float | None = None,
        moves_per_cell: int | None = None,
        rounds: int | None = None,
        tile: int | None = None,
        cell_width: float | None = None,
        seed: int,
        first_cycle: int = 0,
        device: str = "auto",
        threads: int | None = None,
        shuffle_particles: bool = True,
        shuffle_sets: bool = True,
        shift_along_axis: bool = False,
        repair_depth: float = 1e-4,
        comm: Any = None,
        timeout: float | None = None,
    ) -> None:
        self._parameters: dict[str, Any] = {
            "box": arguments.edges(box, 2),
            "diameter": float(diameter),
            "max_displacement": arguments.positive_or_default("max_displacement", max_displacement),
            "moves_per_cell": arguments.count_or_default("moves_per_cell", moves_per_cell),
            "rounds": arguments.count_or_default("rounds", rounds),
            "tile": arguments.count_or_default("tile", tile),
            "cell_width": arguments.positive_or_default("cell_width", cell_width),
            "shuffle_particles": bool(shuffle_particles),
            "shuffle_sets": bool(shuffle_sets),
            "shift_along_axis": bool(shift_along_axis),
            "seed": arguments.uint64("seed", seed),
            "first_cycle": arguments.uint64("first_cycle", first_cycle),
            "repair_depth": arguments.not_negative("repair_depth", repair_depth),
        }
        self._settle(device, threads, comm, timeout)
        read, make = arguments.positions, _core.HardDisks
        if self._ranks is None:
            self._adopt(make.from_positions(read(positions), *self._where()))
        else:
            with self._ranks.collective():
                self._divide(lambda: make.first_snapshot(read(positions), self._parameters))

    @classmethod
    def random(
        cls,
        N: int,
        packing_fraction: float,
        *,
        seed: int,
        diameter: float = 1.0,
        aspect_ratio: float = 1.0,
        **options: Any,
    ) -> HardDisks:
        """Create disks at random positions without overlaps, which have to be equilibrated.

        Args:
            N: number of disks.
            packing_fraction: packing fraction N pi d^2 / (4 Lx Ly), up to 0.72.
            seed: seed of the positions and of the trajectory.
            diameter: diameter of the disks.
            aspect_ratio: aspect ratio Ly / Lx of the box.
            options: the other arguments of the class.

        Raises:
            ValueError: the packing fraction is too high (`hexagonal_packing` makes crystals), or an
                error of the class.
        """
        positions, box = random_packing(
            N, packing_fraction, seed=seed, diameter=diameter, aspect_ratio=aspect_ratio
        )
        return cls(positions, box, diameter, seed=seed, **options)

    @classmethod
    def from_gsd(
        cls,
        path: PathLike,
        frame: int = -1,
        *,
        seed: int,
        diameter: float | None = None,
        **options: Any,
    ) -> HardDisks:
        """Create the disks of a frame of a GSD file, in a rectangular two-dimensional box.

        Args:
            path: path of a file with the schema of HOOMD-blue.
            frame: index of the frame; negative numbers count from the end.
            seed: seed of the trajectory.
            diameter: diameter of the disks; by default that of the file.
            options: the other arguments of the class.

        Raises:
            FileNotFoundError, ValueError: an error of `manymove.io.read_frame` or of the class.
        """
        from manymove.io import read_frame

        found = read_frame(path, frame)
        return cls(found.positions, found.box, diameter or found.diameter, seed=seed, **options)

    def _settle(
        self, device: str, threads: int | None, comm: Any = None, timeout: float | None = None
    ) -> None:
        """Find the other ranks, and choose the device and the threads of this rank."""
        self._ranks = Ranks.of(comm, timeout)
        if self._ranks is not None:
            self._quiet = self._ranks.rank > 0
            device = self._ranks.world.device(device)
            if threads is None:
                threads = self._ranks.world.cores
        super()._settle(device, threads)

    def _divide(self, whole: Callable[[], tuple[dict[str, Any], int, tuple[int, float]]]) -> None:
        """Distribute the system of rank 0, which is given by a snapshot, the number of disks, and
        the number and depth of repaired overlaps."""
        ranks = self._ranks
        settings = ranks.all(self._parameters)
        if any(other != settings[0] for other in settings):
            raise ranks.all_raise(ValueError("the ranks of comm have different settings"))
        snapshot, *rest = ranks.together(
            lambda: whole() if ranks.rank == 0 else (None, 0, None), patient=True
        )
        particles, repaired = ranks.first(rest)
        make = _core.HardDisks.of_ranks
        self._adopt(make(snapshot, particles, *self._where(), ranks.core, ranks.transport))
        self._repaired = repaired

    def _adopt(self, engine: _core.HardDisks) -> None:
        super()._adopt(engine)
        self._repaired = engine.repair
        self._grid = engine.grid
        self._goal = self.trial_moves / self.N  # sweeps requested so far
        self._per_cycle = 0.0  # trial moves, as last measured
        self._last_cycle = 0
        self._sampling: PressureSampling | None = None

    # ---- running ---------------------------------------------------------------------------------

    def run(self, sweeps: float, callback: Callback = None, *, progress: bool = False) -> None:
        """Run for a number of sweeps, rounded to whole cycles.

        The next call compensates for the rounding, so that many short runs add up to a long one.

        Args:
            sweeps: number of sweeps of N trial moves each, at least 0.
            callback: function that is called with this object about every 0.1 s and at the end.
            progress: show a progress bar. Several ranks must all ask for it; the first shows it.

        Raises:
            ValueError: sweeps is negative or not finite.
            KeyboardInterrupt: Ctrl-C, within a second; the state is that after a whole cycle.
        """
        if not (math.isfinite(sweeps) and sweeps >= 0):
            raise ValueError(f"sweeps must be finite and not negative, got {sweeps}")
        self._goal += sweeps
        self._run_to(self._goal, callback, progress)

    def run_until(
        self, sweeps: float, callback: Callback = None, *, progress: bool = False
    ) -> None:
        """Run until `self.sweeps` is as close to `sweeps` as whole cycles allow.

        A run that is interrupted and continued ends at the same cycle as an uninterrupted one. The
        method returns at once if `self.sweeps` is larger already.

        Args:
            sweeps: number of sweeps of N trial moves each, counted from the first cycle.
            callback, progress: as in `run`.

        Raises:
            ValueError: sweeps is not finite.
            KeyboardInterrupt: as in `run`.
        """
        if not math.isfinite(sweeps):
            raise ValueError(f"sweeps must be finite, got {sweeps}")
        if sweeps > self.sweeps:
            self._goal = sweeps
        self._run_to(sweeps, callback, progress)

    def _run_to(self, sweeps: float, callback: Callback, progress: bool) -> None:
        try:
            with self._watched("sweeps", sweeps - self.sweeps, callback, progress) as watch:
                while (missing := sweeps * self.N - self.trial_moves) > 0.5 * self._cycle_moves():
                    known = self._per_cycle > 0
                    cycles = int((0.95 if known else 0.8) * missing / self._cycle_moves()) - 2
                    self._run_cycles(max(1, cycles), watch)
        except BaseException:
            self._goal = self.sweeps
            raise

    def _cycle_moves(self) -> float:
        """Number of trial moves in the last cycle if it ran alone, else in an average cycle; an
        estimate before the first cycle."""
        if self._last_cycle:
            return self._last_cycle
        if self._per_cycle:
            return self._per_cycle
        g = self._grid
        active = math.prod(c - t for c, t in zip(g["cells"], g["tiles"], strict=True))
        return max(1.0, active * self._engine.occupied() * g["rounds"] * g["moves_per_cell"])

    def run_cycles(self, cycles: int, callback: Callback = None, *, progress: bool = False) -> None:
        """Run a number of cycles, each with a shift of the grid and `rounds` passes over the sets.

        Args:
            cycles: number of cycles, at least 0.
            callback, progress: as in `run`.

        Raises:
            TypeError: cycles is not an integer.
            ValueError: cycles is negative.
            KeyboardInterrupt: as in `run`.
        """
        cycles = arguments.steps("cycles", cycles)
        try:
            with self._watched("cycles", cycles, callback, progress) as watch:
                self._run_cycles(cycles, watch)
        finally:
            self._goal = self.sweeps

    def _run_cycles(self, cycles: int, callback: Callback) -> None:
        before, ranks = self.trial_moves, self._ranks
        with (
            ranks.collective() if ranks else nullcontext(),
            ranks.interrupts() if ranks else nullcontext() as check_interrupt,
        ):
            for done in self._pieces(cycles, self._engine.run, ranks.first if ranks else int):
                self._per_cycle = (self.trial_moves - before) / done
                self._last_cycle = self.trial_moves - before if cycles == 1 else 0
                if callback is not None and ranks:
                    ranks.together(lambda: callback(self))
                elif callback is not None:
                    callback(self)
                if ranks:
                    check_interrupt()

    # ---- properties ------------------------------------------------------------------------------

    cycles: int = counter(
        0, "Number of cycles done, each with one shift of the grid, counted from `first_cycle`."
    )
    cycle = _renamed.Attribute("cycles")
    box: tuple[float, float] = parameter("box", "Edges (Lx, Ly) of the box.")
    diameter: float = parameter("diameter", "Diameter of the disks.")
    max_displacement: float = parameter(
        "max_displacement", "Maximum trial displacement along each axis, as realized.", "_grid"
    )
    moves_per_cell: int = parameter(
        "moves_per_cell", "Number of trial moves per visit of a cell, n_m.", "_grid"
    )
    rounds: int = parameter(
        "rounds", "Number of passes over the four sets between two shifts of the grid.", "_grid"
    )
    tile: int = parameter("tile", "Maximum width of a tile in cells.", "_grid")
    cells: tuple[int, int] = parameter("cells", "Number of cells along x and y.", "_grid")

    @property
    def packing_fraction(self) -> float:
        """Packing fraction N pi d^2 / (4 Lx Ly)."""
        lx, ly = self.box
        return self.N * math.pi * self.diameter**2 / (4 * lx * ly)

    @property
    def ranks(self) -> int:
        """Number of ranks that share the system; 1 without `comm`."""
        return self._ranks.size if self._ranks else 1

    @property
    def sweeps(self) -> float:
        """Number of sweeps done: trial moves per disk, not counting visits of empty cells."""
        return self.trial_moves / self.N

    @property
    def positions(self) -> np.ndarray:
        """Centers of the disks, float64 (N, 2), in the order of the input, in [-L/2, L/2)."""
        with self._ranks.collective() if self._ranks else nullcontext():
            return self._engine.positions().reshape(self.N, 2)

    @property
    def repaired(self) -> dict[str, Any]:
        """Repaired overlaps of the input: their `count`, and the `depth` of the deepest in
        diameters."""
        count, depth = self._repaired
        return {"count": count, "depth": depth}

    def max_overlap(self) -> float:
        """Depth of the deepest overlap in diameters, from `positions` in float64; 0 without
        overlaps."""
        return self._engine.max_overlap()

    def psi6(self) -> complex:
        """Global bond-orientational order psi_6: the mean over all disks of the average of
        exp(6 i theta) over the neighbors within 1.5 diameters."""
        return complex(*self._engine.bond_order(_NEIGHBOR_REACH * self.diameter))

    # ---- pressure --------------------------------------------------------------------------------

    def sample_pressure(self, every: float | None, record: float | None = None) -> None:
        """Sample the pair distances near contact in the following runs (section 4).

        Args:
            every: number of sweeps between two samples, rounded to whole cycles of about 14 sweeps
                (with the default settings); None stops sampling.
            record: number of sweeps per record, rounded to a whole number of samples; default ten
                samples. A record has at most 2**32 / (3 N) samples, because its counts are 32-bit
                integers.

        Raises:
            ValueError: a number is not positive or not below 1e15.
        """
        for name, value in (("every", every), ("record", record)):
            if value is not None and not 0 < value < 1e15:
                raise ValueError(f"{name} must be positive and below 1e15 sweeps, got {value}")
        self._sampling = None
        if every is None:
            self._engine.set_sampling(0.0, 0, 0, 0)
            return
        sweeps_per_cycle = (self._per_cycle or self._cycle_moves()) / self.N
        cycles = max(1, round(every / sweeps_per_cycle))
        samples = 10 if record is None else round(record / sweeps_per_cycle / cycles)
        # No bin has more pairs than 3 N, six neighbors a disk.
        samples = max(1, min(samples, (2**32 - 1) // (3 * self.N)))
        self._sampling = PressureSampling(
            self._engine, cycles, samples, self.N, self.packing_fraction
        )

    def _collected(self) -> PressureSampling:
        if self._sampling is None:
            raise RuntimeError("nothing sampled: call sample_pressure(every=...) and run")
        self._sampling.collect()
        return self._sampling

    @property
    def pressure_records(self) -> np.ndarray:
        """Pressure P* = beta P d^2 of each finished record, float64 (K,)."""
        return self._collected().records

    @property
    def pressure_sweeps(self) -> np.ndarray:
        """Number of sweeps at the end of each record, float64 (K,)."""
        first = self._parameters["first_cycle"]
        cycles = self._collected().cycles - first
        return cycles * (self.sweeps / max(1, self.cycles - first))

    @property
    def pair_histogram(self) -> np.ndarray:
        """Histogram of the pair distances from contact, uint64 (77,), in bins of 2**-10 diameters,
        summed over all finished records."""
        return self._collected().histogram.copy()

    @property
    def pressure(self) -> PressureEstimate:
        """Pressure P* = beta P d^2 with its standard error by blocking of the records (section 4).

        At packing fractions from 0.695 to 0.722 this error is too small for most runs. The command
        `manymove disks` therefore multiplies it by a factor.

        Raises:
            RuntimeError: no record is finished.
        """
        records = self.pressure_records
        if not len(records):
            raise RuntimeError("no pressure record is finished: run longer")
        return estimate(records)

    # ---- checkpoints -----------------------------------------------------------------------------

    def save(self, path: PathLike, *, keep_previous: bool = False) -> None:
        ranks = self._ranks
        if ranks is None:
            super().save(path, keep_previous=keep_previous)
            return
        with ranks.collective():
            whole = self._engine.snapshot()
            ranks.together(
                lambda: ranks.rank or self._write(Path(path), whole, keep_previous), patient=True
            )

    @classmethod
    def load(
        cls,
        path: PathLike,
        device: str = "auto",
        threads: int | None = None,
        comm: Any = None,
        timeout: float | None = None,
    ) -> HardDisks:
        """Create disks from a checkpoint of any number of ranks. The trajectory continues with the
        same bits on all devices and ranks. Arguments and errors are those of the class, and:

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a checkpoint of hard disks, or it is damaged.
        """
        return cls._loaded(path, device, threads, comm, timeout)

    def _contents(self, state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        chosen = ("max_displacement", "moves_per_cell", "rounds", "tile")  # for the defaults
        header = {
            "parameters": {
                **self._parameters,
                **{name: self._grid[name] for name in chosen},
                "cell_width": self._parameters["cell_width"] or self.diameter,
            },
            "particles": self.N,
            "origin": state["origin"],
            "goal": self._goal,
            "per_cycle": self._per_cycle,
            "last_cycle": self._last_cycle,
        }
        return header, {"cells": state["cells"], "ids": state["ids"]}

    def _restore(self, path: PathLike) -> None:
        ranks = self._ranks
        if ranks is None:
            state, particles, self._parameters, run = read_checkpoint(path, self._KIND)
            self._adopt(_core.HardDisks.from_snapshot(state, particles, *self._where()))
        else:
            read = ranks.together(
                lambda: read_checkpoint(path, self._KIND) if ranks.rank == 0 else None, patient=True
            )
            self._parameters, run = ranks.first(read and read[2:])

            def whole() -> tuple[dict[str, Any], int, tuple[int, float]]:
                _core.HardDisks.check_snapshot(*read[:3])
                return *read[:2], (0, 0.0)

            with ranks.collective():
                self._divide(whole)
        self._goal, self._per_cycle = run["goal"], run["per_cycle"]
        self._last_cycle = run["last_cycle"]

    # ---- tuning ----------------------------------------------------------------------------------

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
        best displacement, each by the autocorrelation time of the global psi_6. `rounds` follows
        n_m, so that a disk has about as many trial moves between two shifts as before. The disks
        keep their positions; the counters start from zero.

        Args:
            max_displacements: values of the maximum displacement in diameters.
            moves_per_cell: values of n_m.
            sweeps: number of sweeps for each setting; at least fifty autocorrelation times are
                needed for a reliable result.
            every: number of sweeps between two values of psi_6; default a thousandth of `sweeps`.

        Returns:
            All settings, the adopted one first.

        Raises:
            ValueError: a value is missing or out of range, or several ranks share the system.
        """
        if self._ranks is not None:
            raise ValueError("tune works on one rank: tune a smaller system, then divide")
        chosen, tried = _tuning.tune(
            self, self._with, max_displacements, moves_per_cell, sweeps, every
        )
        self._parameters = chosen._parameters
        self._adopt(chosen._engine)
        return tried

    def _with(self, max_displacement: float, moves_per_cell: int, per_shift: int) -> HardDisks:
        """A simulation of the same disks with other settings."""
        settings = {
            **self._parameters,
            "max_displacement": max_displacement,
            "moves_per_cell": moves_per_cell,
            "rounds": min(16, max(1, per_shift // moves_per_cell)),
            "tile": self.tile,
            "cell_width": self._parameters["cell_width"] or None,
            "first_cycle": 0,
        }
        return HardDisks(
            self.positions, **settings, device=self._device, threads=self._threads or None
        )
