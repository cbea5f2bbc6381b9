"""Hard disks by checkerboard Monte Carlo, as an updater of a HOOMD-blue simulation."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hoomd.logging import log

from manymove import _core, arguments, hard_particles
from manymove.analysis.pressure import BINS, DELTA_R, pressure_from_histogram
from manymove.hoomd.action import EngineAction

_MOST_ROUNDS = 4  # in a cycle; with n_m = 4 at most 16 trial moves between two shifts


class HardDisksUpdater(EngineAction):
    """Massively parallel Monte Carlo of hard disks: `manymove.HardDisks` in HOOMD-blue.

    A *sweep* of this class is one pass over the four checkerboard sets: `nselect` trial moves in
    every active cell that contains a disk. This is about 3.6 trial moves per disk with the defaults
    at a packing fraction of 0.7. All particles of all types are disks of one diameter. With the
    same positions, seed and settings the trajectory is that of `manymove.HardDisks` and of the
    component `hoomd.manymove`, bit for bit, on every CPU and GPU.

    The engine reads and writes the arrays of HOOMD-blue's local snapshots in place, in host memory
    on a CPU device and in GPU memory on a GPU device. Image flags follow the particles. A new
    engine is made from HOOMD-blue's positions if others have moved a particle, or if the box, the
    number of particles, the seed or a setting has changed. This rounds the positions to the
    engine's lattice (by 1e-7 of a cell) and repairs overlaps. Random numbers belong to the seed and
    the time step, so that no engine repeats those of its predecessor.

    Method: J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, J. Comput. Phys.
    254, 27 (2013).

    Example::

        simulation = hoomd.Simulation(device=hoomd.device.auto_select(), seed=1)
        simulation.create_state_from_gsd("disks.gsd")
        disks = manymove.hoomd.HardDisksUpdater(diameter=1.0)
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), disks)
        )
        logger = hoomd.logging.Logger(categories=["scalar", "sequence"])
        logger.add(disks, quantities=["pressure", "translate_moves"])
        simulation.run(1000)

    Positions that a GSD file has rounded to float32 may overlap by their rounding error, which
    `repair_depth` allows. Loggable quantities are those of the state at the time of reading, also
    if others have changed it. If there are overlaps deeper than `repair_depth`, `pressure` and
    `state_hash` raise the error of the next step.

    Args:
        diameter: diameter of the disks in HOOMD-blue's unit of length.
        d: maximum trial displacement along each axis; moves are uniform in a square. It is at most
            the width of a cell, which is slightly more than a diameter, and is rounded to eight
            significant bits. Default 0.16 diameters, also if `diameter` is changed later.
        nselect: number of trial moves per visit of a cell, from 1 to 1024.
        sweeps_per_step: number of sweeps in a step of HOOMD-blue. The number of sweeps between two
            random shifts of the grid is the largest divisor of this number that is at most four.
        repair_depth: depth in diameters up to which overlaps are repaired by pushing disks apart,
            and reported in `repaired`, when positions are read from HOOMD-blue.
        threads: number of threads of the engine on a CPU device; default all cores. If several
            simulations share a machine, for example one per MPI rank, each should have its share.

    All settings except `threads` may be changed between runs, or during a run by another action;
    `threads` can be set until the simulation runs.

    Raises:
        ValueError: an argument is out of range. When the simulation runs: the box is not
            two-dimensional, is tilted or below three diameters; disks overlap by more than
            `repair_depth` (a `manymove.OverlapError`, which names the pair and its depth);
            a particle is outside the box or not at z = 0; `d` is above the width of a cell;
            particles are spread over several MPI ranks; manymove was compiled without CUDA for a
            GPU device.
        TypeError: `nselect` or `sweeps_per_step` is not an integer.
    """

    __module__ = "manymove.hoomd"
    _dimensions = 2

    def __init__(
        self,
        diameter: float,
        d: float | None = None,
        nselect: int = 4,
        sweeps_per_step: int = 4,
        repair_depth: float = 1e-4,
        threads: int | None = None,
    ) -> None:
        super().__init__(threads)
        self.diameter = diameter
        self.d = d
        self.nselect = nselect
        self.sweeps_per_step = sweeps_per_step
        self.repair_depth = repair_depth

    def __repr__(self) -> str:
        return (
            f"<HardDisksUpdater: diameter = {self.diameter:g}, d = {self.d:g}, nselect = "
            f"{self.nselect}, sweeps_per_step = {self.sweeps_per_step}>"
        )

    # ---- settings --------------------------------------------------------------------------------

    @property
    def diameter(self) -> float:
        """Diameter of the disks in HOOMD-blue's unit of length."""
        return self._diameter

    @diameter.setter
    def diameter(self, value: float) -> None:
        self._diameter = arguments.positive_and_finite("diameter", value)

    @property
    def d(self) -> float:
        """Maximum trial displacement along each axis, in HOOMD-blue's unit of length; None sets the
        default."""
        return 0.16 * self.diameter if self._d is None else self._d

    @d.setter
    def d(self, value: float | None) -> None:
        self._d = None if value is None else arguments.positive_and_finite("d", value)

    @property
    def nselect(self) -> int:
        """Number of trial moves per visit of a cell."""
        return self._nselect

    @nselect.setter
    def nselect(self, value: int) -> None:
        self._nselect = arguments.count("nselect", value, most=1024)

    @property
    def sweeps_per_step(self) -> int:
        """Number of passes over the four checkerboard sets in a step of HOOMD-blue."""
        return self._sweeps_per_step

    @sweeps_per_step.setter
    def sweeps_per_step(self, value: int) -> None:
        self._sweeps_per_step = arguments.count("sweeps_per_step", value, most=10**6)

    @property
    def repair_depth(self) -> float:
        """Depth in diameters up to which overlaps are repaired."""
        return self._repair_depth

    @repair_depth.setter
    def repair_depth(self, value: float) -> None:
        value = float(value)
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"repair_depth must be finite and not negative, got {value}")
        self._repair_depth = value

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def act(self, timestep: int) -> None:
        """Make the sweeps of a step.

        Args:
            timestep: time step of the simulation.
        """
        self._notice_a_new_run()
        with self._following(timestep) as particles:
            engine, cycles = self._engine.core, self.sweeps_per_step // self._rounds
            while cycles > 0:
                some = min(cycles, engine.cycles_between_writes)
                engine.enqueue(some, **particles)
                cycles -= some
        self._run_seconds = time.perf_counter() - self._run_started

    def _begin(self, timestep: int) -> None:
        with self._following(timestep):
            pass

    # ---- loggable --------------------------------------------------------------------------------

    @log(category="sequence", requires_run=True)
    def translate_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial moves since the start of the last run."""
        trial, accepted = self._moves_of_this_run()
        return accepted, trial - accepted

    @log(requires_run=True)
    def mps(self) -> float:
        """float: trial moves per second of wall time in the last run; 0 before its first step."""
        started = time.perf_counter()
        trial, _ = self._moves_of_this_run()  # waits for a GPU that has not finished
        if self._run_seconds == 0:
            return 0.0
        self._run_seconds += time.perf_counter() - started
        return trial / self._run_seconds

    @log(category="string", requires_run=True)
    def state_hash(self) -> str:
        """str: 16 hexadecimal digits from all positions and counters; the same on every machine."""
        with self._following(self._simulation.timestep):
            return self._engine.state_hash

    @log(requires_run=True)
    def overlaps(self) -> int:
        """int: pairs of disks that overlap in HOOMD-blue's positions: 0 after every step, but for
        the rounding of a HOOMD-blue in single precision."""
        return _core.count_overlaps(self._positions(), self._edges(), self.diameter)

    @log(requires_run=True)
    def pressure(self) -> float:
        """float: P* = beta P d^2 of the present configuration, from the pair distances near contact
        (section 4 of the paper). One configuration is a noisy estimate: average over many."""
        with self._following(self._simulation.timestep):
            disks = self._engine
            counts = disks.core.contact_histogram(DELTA_R, BINS)
            return float(pressure_from_histogram(counts, 1, disks.N, disks.packing_fraction))

    @log(requires_run=True)
    def betaP(self) -> float:
        """float: beta P, in 1 / length^2; `pressure` over the square of the diameter."""
        return self.pressure / self.diameter**2

    @property
    def repaired(self) -> dict[str, Any]:
        """Overlaps repaired when positions were last read from HOOMD-blue: their `count`, and the
        `depth` of the deepest in diameters."""
        if self._engine is None:
            return {"count": 0, "depth": 0.0}
        return self._engine.repaired

    # ---- the engine ------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self._made_with: dict[str, Any] | None = None
        self._run_first_step: int | None = None
        self._run_moves: tuple[int, int] = (0, 0)  # of all engines when the run began
        self._run_started = self._run_seconds = 0.0

    @property
    def _rounds(self) -> int:
        """Number of sweeps between two shifts of the grid."""
        sweeps = self.sweeps_per_step
        return next(n for n in range(_MOST_ROUNDS, 0, -1) if sweeps % n == 0)

    @contextmanager
    def _following(self, timestep: int) -> Iterator[dict[str, Any]]:
        """Addresses of HOOMD-blue's arrays, with an engine that has the present particles."""
        present = self._present()
        if present == self._made_with and self._simulation.state.N_particles == self._engine.N:
            with self._where("tag") as particles:
                if self._engine.core.same_positions(**particles):
                    yield particles
                    return
        self._make(present, timestep)
        with self._where("tag") as particles:
            self._engine.core.write_positions(**particles)
            yield particles

    def _present(self) -> dict[str, Any]:
        """The arguments of an engine for the present state, except the positions."""
        return {
            "box": self._edges(),
            "diameter": self.diameter,
            "max_displacement": self.d,
            "moves_per_cell": self.nselect,
            "rounds": self._rounds,
            "repair_depth": self.repair_depth,
            "seed": self._simulation.seed or 0,
            "device": self._device,
            "threads": self._threads,
        }

    def _make(self, present: dict[str, Any], timestep: int) -> None:
        if self._engine is not None:
            self._retire()
            self._made_with = None
        # A step has fewer cycles than 2**20, so that no random number is used twice.
        first_cycle = max(timestep << 20, self._past_step)
        positions = self._positions()
        self._engine = hard_particles.HardDisks(positions, first_cycle=first_cycle, **present)
        self._made_with = present

    def _positions(self) -> np.ndarray:
        """HOOMD-blue's positions in host memory, float (N, 2), by tag."""
        (positions,) = self._by_tag("position")
        off = np.flatnonzero(positions[:, 2])
        if off.size:
            raise ValueError(
                "manymove.hoomd needs z = 0 in a two-dimensional box: the particle with tag "
                f"{off[0]} has z = {positions[off[0], 2]}"
            )
        return np.ascontiguousarray(positions[:, :2])

    # ---- counting --------------------------------------------------------------------------------

    def _notice_a_new_run(self) -> None:
        """Count from zero when a run has started.

        HOOMD-blue does not notify its updaters, but each run that makes steps has another first
        step.
        """
        first_step = self._simulation.initial_timestep
        if first_step != self._run_first_step:
            self._run_first_step = first_step
            self._run_moves = self._moves()
            self._run_started, self._run_seconds = time.perf_counter(), 0.0

    def _moves_of_this_run(self) -> tuple[int, int]:
        """Trial and accepted moves since the start of the last run."""
        self._notice_a_new_run()
        return tuple(n - m for n, m in zip(self._moves(), self._run_moves, strict=True))
