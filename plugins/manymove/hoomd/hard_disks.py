"""Hard disks by checkerboard Monte Carlo, as an updater of a HOOMD-blue simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hoomd.logging import log

import manymove
from manymove import _core, arguments
from manymove.analysis.pressure import BINS, DELTA_R, pressure_from_histogram
from manymove.hoomd.action import EngineAction

_MOST_ROUNDS = 4  # of a cycle; with n_m = 4 that makes at most 16 trial moves between two shifts


class HardDisks(EngineAction):
    """Massively parallel Monte Carlo of hard disks: `manymove.HardDisks` in HOOMD-blue.

    A *sweep* here is one pass over the four checkerboard sets: `nselect` trial moves in every
    active cell that holds a disk, about 3.6 trial moves per disk with the defaults at a packing
    fraction of 0.7. All particles, of whatever type, are disks of one diameter. The trajectory is
    that of `manymove.HardDisks` and of the component `hoomd.manymove` with the same positions, seed
    and settings, on every CPU and GPU, bit for bit.

    Example::

        simulation = hoomd.Simulation(device=hoomd.device.auto_select(), seed=1)
        simulation.create_state_from_gsd("disks.gsd")
        disks = manymove.hoomd.HardDisks(diameter=1.0)
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), disks)
        )
        logger = hoomd.logging.Logger(categories=["scalar", "sequence"])
        logger.add(disks, quantities=["pressure", "translate_moves"])
        simulation.run(1000)

    Positions that a GSD file has rounded to float32 may overlap by their rounding; `repair_depth`
    is about these. Loggable quantities are those of the state when they are read, whoever changed
    it last; overlaps deeper than `repair_depth` make `pressure` and `state_hash` raise, as the next
    step would.

    Args:
        diameter: d, positive.
        d: trial moves are uniform in a square from -d to d along each axis, at most a cell's width,
            which is a diameter and a little more. Default 0.16 diameters, also when `diameter` is
            changed later. Kept to eight significant bits.
        nselect: trial moves of a cell's disks per visit, from 1 to 1024.
        sweeps_per_step: sweeps in a step of HOOMD-blue. The grid of cells is shifted at random once
            in as many sweeps as the largest divisor of this number that is at most four.
        repair_depth: overlaps up to this depth, in diameters, are mended by pushing disks apart and
            reported in `repaired`, whenever positions are taken over from HOOMD-blue.
        threads: of the engine on a CPU device; default all cores. Where several simulations share a
            machine, one per MPI rank for instance, each should have its part.

    All but `threads` may be set between runs, or during one by another action.

    Raises:
        ValueError: an argument is out of range. When the simulation runs: the box is not
            two-dimensional, is tilted or below three diameters; disks overlap by more than
            `repair_depth` (a `manymove.harddisk.OverlapError`, which names the pair and its depth);
            a particle is outside the box; `d` is above the width of a cell; particles are spread
            over several MPI ranks; on a GPU device, manymove was compiled without CUDA.
        TypeError: a number of something is not an integer.
    """

    __module__ = "manymove.hoomd"

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

    # ---- settings --------------------------------------------------------------------------------

    @property
    def diameter(self) -> float:
        """Of the disks, in HOOMD-blue's unit of length."""
        return self._diameter

    @diameter.setter
    def diameter(self, value: float) -> None:
        self._diameter = arguments.positive_and_finite("diameter", value)

    @property
    def d(self) -> float:
        """Largest displacement of a trial move along an axis; None sets the default."""
        return 0.16 * self.diameter if self._d is None else self._d

    @d.setter
    def d(self, value: float | None) -> None:
        self._d = None if value is None else arguments.positive_and_finite("d", value)

    @property
    def nselect(self) -> int:
        """Trial moves of a cell's disks per visit."""
        return self._nselect

    @nselect.setter
    def nselect(self, value: int) -> None:
        self._nselect = arguments.count("nselect", value, most=1024)

    @property
    def sweeps_per_step(self) -> int:
        """Passes over the four checkerboard sets in a step of HOOMD-blue."""
        return self._sweeps_per_step

    @sweeps_per_step.setter
    def sweeps_per_step(self, value: int) -> None:
        self._sweeps_per_step = arguments.count("sweeps_per_step", value, most=10**6)

    @property
    def repair_depth(self) -> float:
        """Depth, in diameters, up to which overlaps are mended."""
        return self._repair_depth

    @repair_depth.setter
    def repair_depth(self, value: float) -> None:
        value = float(value)
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"repair_depth must be finite and not negative, got {value}")
        self._repair_depth = value

    # ---- what the base asks for ------------------------------------------------------------------

    @property
    def _rounds(self) -> int:
        sweeps = self.sweeps_per_step
        return next(n for n in range(_MOST_ROUNDS, 0, -1) if sweeps % n == 0)

    @property
    def _cycles_per_step(self) -> int:
        return self.sweeps_per_step // self._rounds

    @property
    def _settings(self) -> dict[str, Any]:
        return {
            "diameter": self.diameter,
            "max_displacement": self.d,
            "moves_per_cell": self.nselect,
            "rounds": self._rounds,
            "repair_depth": self.repair_depth,
        }

    def _make_engine(
        self, positions: np.ndarray, box: tuple[float, float], **settings: Any
    ) -> manymove.HardDisks:
        return manymove.HardDisks(positions, box, **settings)

    # ---- loggable --------------------------------------------------------------------------------

    @log(requires_run=True)
    def overlaps(self) -> int:
        """int: pairs of disks that overlap in HOOMD-blue's positions: 0 after every step, but for
        the rounding of a HOOMD-blue in single precision."""
        self._present()  # refuses what has no such overlaps
        box = self._simulation.state.box
        return _core.count_overlaps(self._positions(), (box.Lx, box.Ly), self.diameter)

    @log(requires_run=True)
    def pressure(self) -> float:
        """float: P* = beta P d^2 of the present configuration, from the pair distances near contact
        (section 4 of the paper). One configuration is a noisy estimate: average over many."""
        with self._following(self._simulation.timestep):
            disks = self._engine
            counts = disks._engine.contact_histogram(DELTA_R, BINS)
            return float(pressure_from_histogram(counts, 1, disks.N, disks.packing_fraction))

    @log(requires_run=True)
    def betaP(self) -> float:
        """float: beta P, in 1 / length^2; `pressure` over the square of the diameter."""
        return self.pressure / self.diameter**2

    @property
    def repaired(self) -> dict[str, Any]:
        """Overlaps mended when positions were last taken over from HOOMD-blue: their `count`, and
        the `depth` of the deepest in diameters."""
        if self._engine is None:
            return {"count": 0, "depth": 0.0}
        return self._engine.repaired
