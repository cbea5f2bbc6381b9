"""Massively parallel Monte Carlo (MPMC) of hard disks.

Method: J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, "Massively parallel
Monte Carlo for many-particle simulations on GPUs", J. Comput. Phys. 254, 27 (2013). Sections,
equations and tables below are that paper's; docs/theory/hard_disks.md has the proof for the
schedule used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manymove import arguments
from manymove.checkpoint import PathLike
from manymove.hard_particles import sizes
from manymove.hard_particles.packing import random_packing
from manymove.hard_particles.particles import HardParticles

_NEIGHBOR_REACH = 1.5  # diameters; the first shell, for psi6


class HardDisks(HardParticles):
    """Hard disks in a periodic box, moved by checkerboard Monte Carlo.

    The box is divided into cells at least a diameter wide, the cells form four sets, and all cells
    of a set are updated at the same time (Algorithm 1). A *cycle* consists of `rounds` passes over
    the sets and a random shift of the grid. A *sweep* is N trial moves, one per disk on average.
    The trajectory is a function of the input and the seed, the same on every CPU and GPU.
    Algorithms, sections and tables are those of J. A. Anderson et al., J. Comput. Phys. 254, 27
    (2013).

    Args:
        positions: centers of the disks, (N, 2), in [-L/2, L/2]: a float32 or float64 array, a list
            of pairs, or an object with DLPack or ``__cuda_array_interface__``, which is read after
            the work of the CUDA stream that it names. A C-contiguous float64 array in host memory
            is not copied; arrays on a device must be C-contiguous.
        box: edges (Lx, Ly), at least three diameters each; the origin is at the center.
        diameter: diameter d of equal disks, in the unit of the positions (default 1).
        diameters: diameters of the disks of a mixture, (N,). Two disks are in contact at the mean
            of their diameters.
        types: type of each disk of a mixture with `contacts`, integers (N,) from 0.
        contacts: contact distances of the pairs of types, (T, T). They need not be additive.
        max_displacement: maximum trial displacement along each axis, in the unit of the positions;
            moves are uniform in a square. Default 0.16 d; 0.12 d at constant pressure, and 0.12 of
            the largest contact distance of a mixture. The value is rounded to eight significant
            bits.
        moves_per_cell: number of trial moves per visit of a cell, n_m. Default 4, or 8 for a
            mixture and at constant pressure.
        rounds: number of passes over the four sets in a cycle. Default 4; with n_m = 4 a disk makes
            at most 16 trial moves between two shifts.
        tile: maximum width of a tile in cells, or for a mixture one width for each axis. A GPU
            block or a CPU thread works on one tile during a cycle, and the first column and row of
            the tile are frozen for that cycle. The default follows from N and the box; for disks of
            one size it is 17 to 35 and suits an H100.
        cell_width: desired width of a cell, from d (default) to below sqrt(2) d. For a mixture it
            is from the largest contact distance (default) to below 4/3 of it.
        seed: seed of the random number generator, an integer in [0, 2**64).
        first_cycle: value of `cycles` at the start. Random numbers belong to a seed and a cycle. A
            run that continues from positions instead of a checkpoint should therefore start with
            the `cycles` at which the last run ended.
        device: "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:<index>".
        threads: number of threads of the CPU engine; default all cores.
        repair_depth: depth in diameters up to which overlaps in the input are repaired by pushing
            disks apart, and reported in `repaired`. float32 files of large boxes have such
            overlaps.
        pressure: constant pressure P* = beta P d^2, where d is `diameter`; then the area
            of the box changes between cycles. Default constant area.
        volume_mode: "ln" for trial changes uniform in ln V, "standard" for V, or "length" for
            changes of one edge at a time, uniform in its length. In this mode each trial needs
            a search over all pairs on the host.
        volume_delta: maximum trial change of ln V, V or an edge; the default follows from the
            pressure. In the mode "length" it may be a sequence of one number per edge, 0 for a
            fixed edge. The maximum applies to the initial edges and grows in proportion to the
            edge.
        volume_repeats: number of trial changes at a time. Default 10, which need one search over
            the pairs; with edges apart 1.
        volume_every: number of cycles between trial changes. Default 1. At constant pressure the
            default of `rounds` is 1.
        swap_rounds: number of rounds of swap moves for each set of cells, in which pairs of disks
            exchange their `diameters` if there is room. Default none. A tile must have at least
            four cells along an axis. At constant pressure a box may shrink until no tile has four;
            then there are no swap moves, and `swap_trials` stays the same.
        swap_range: largest difference of the diameters of a pair. Default any.
        swap_every: number of cycles between swap moves. Default 1.
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

    Mixtures have the engine of `HardSpheres` in two dimensions, without `psi6()`.

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

    An object may be used by one thread at a time, and not in a forked process. Any other use raises
    a RuntimeError.
    """

    _KIND = "hard disks"
    _DIMENSIONS = 2

    def __init__(
        self,
        positions: Any,
        box: tuple[float, float],
        diameter: float = 1.0,
        *,
        diameters: Any = None,
        types: Any = None,
        contacts: Any = None,
        max_displacement: float | None = None,
        moves_per_cell: int | None = None,
        rounds: int | None = None,
        tile: int | Sequence[int] | None = None,
        cell_width: float | None = None,
        seed: int,
        first_cycle: int = 0,
        device: str = "auto",
        threads: int | None = None,
        repair_depth: float = 1e-4,
        pressure: float | None = None,
        volume_mode: str = "ln",
        volume_delta: float | Sequence[float] | None = None,
        volume_repeats: int | None = None,
        volume_every: int | None = None,
        swap_rounds: int | None = None,
        swap_range: float | None = None,
        swap_every: int | None = None,
        comm: Any = None,
        timeout: float | None = None,
    ) -> None:
        self._keep(box, sizes.read(diameter, diameters, types, contacts), dict(locals()))
        self._settle(device, threads, comm, timeout)
        self._begin(lambda: arguments.positions(positions))

    @classmethod
    def random(
        cls,
        N: int,
        packing_fraction: float,
        *,
        seed: int,
        diameter: float = 1.0,
        diameters: Any = None,
        types: Any = None,
        contacts: Any = None,
        aspect_ratio: float = 1.0,
        **options: Any,
    ) -> HardDisks:
        """Create disks at random positions without overlaps, which have to be equilibrated.

        Equal disks are pushed apart (`random_packing`). A mixture grows from smaller disks between
        short runs of Monte Carlo.

        Args:
            N: number of disks.
            packing_fraction: packing fraction N pi d^2 / (4 Lx Ly), up to 0.72.
            seed: seed of the positions and of the trajectory.
            diameter, diameters, types, contacts: sizes of the disks, as for the class.
            aspect_ratio: aspect ratio Ly / Lx of the box.
            options: the other arguments of the class.

        Raises:
            ValueError: the packing fraction is too high (`hexagonal_packing` makes crystals), or an
                error of the class.
        """
        given = sizes.read(diameter, diameters, types, contacts)
        if given.mixed:
            shape = (1.0, aspect_ratio)
            return cls._grown(N, packing_fraction, given, shape, seed, options)
        positions, box = cls._on_first(
            lambda: random_packing(
                N, packing_fraction, seed=seed, diameter=diameter, aspect_ratio=aspect_ratio
            ),
            options,
        )
        return cls(positions, box, diameter, seed=seed, **options)  # type: ignore[arg-type]

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
            diameter: diameter of all disks; by default the sizes are those of the file.
            options: the other arguments of the class.

        Raises:
            FileNotFoundError, ValueError: an error of `manymove.io.read_frame` or of the class.
        """
        return cls._of_file(path, frame, diameter, seed, options)

    # ---- properties ------------------------------------------------------------------------------

    @property
    def box(self) -> tuple[float, float]:
        """Edges (Lx, Ly) of the box."""
        return self._edges()

    def psi6(self) -> complex:
        """Global bond-orientational order psi_6: the mean over all disks of the average of
        exp(6 i theta) over the neighbors within 1.5 diameters.

        Raises:
            RuntimeError: the disks are a mixture.
        """
        if self._general:
            raise RuntimeError(
                "psi6 is the order of equal disks at constant volume, and these are "
                + ("a mixture" if self.mixed else "at constant pressure")
            )
        return complex(*self._engine.bond_order(_NEIGHBOR_REACH * self.diameter))

    def slow_quantities(self) -> np.ndarray:
        return super().slow_quantities() if self._general else np.array([self.psi6()])
