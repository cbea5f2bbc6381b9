# SPDX-License-Identifier: BSD-3-Clause
"""Massively parallel Monte Carlo (MPMC) of hard spheres and their mixtures in three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from manymove import arguments
from manymove.checkpoint import PathLike
from manymove.hard_particles import sizes
from manymove.hard_particles.crystals import crystal
from manymove.hard_particles.particles import HardParticles


class HardSpheres(HardParticles):
    """Hard spheres in a periodic box, moved by checkerboard Monte Carlo in three dimensions.

    The box is divided into cells at least a diameter wide, the cells form eight sets, and all cells
    of a set are updated at the same time. A *cycle* consists of `rounds` passes over the sets and a
    random shift of the grid. A *sweep* is N trial moves, one per sphere on average. The trajectory
    is a function of the input and the seed, the same on every CPU and GPU. The algorithm is that of
    J. A. Anderson et al., J. Comput. Phys. 254, 27 (2013), in three dimensions.

    Equal spheres have a `diameter`. Mixtures have either `diameters` of the spheres, or `types`
    with a table of `contacts`, which gives partial contact values as well.

    Args:
        positions: centers of the spheres, (N, 3), in [-L/2, L/2]: a float32 or float64 array, a
            list of points, or an object with DLPack or ``__cuda_array_interface__``, which is read
            after the work of the CUDA stream that it names. A C-contiguous float64 array in host
            memory is not copied; arrays on a device must be C-contiguous.
        box: edges (Lx, Ly, Lz), at least three diameters each (of the largest spheres); the origin
            is at the center.
        diameter: diameter d of equal spheres, in the unit of the positions (default 1).
        diameters: diameters of the spheres of a mixture, (N,). Two spheres are in contact at the
            mean of their diameters.
        types: type of each sphere of a mixture with `contacts`, integers (N,) from 0.
        contacts: contact distances of the pairs of types, (T, T). They need not be additive.
        max_displacement: maximum trial displacement along each axis, in the unit of the positions;
            moves are uniform in a cube. Default 0.12 d, or 0.12 of the largest contact distance of
            a mixture. Smaller values are faster near freezing and in crystals. The value is rounded
            to eight significant bits.
        moves_per_cell: number of trial moves per visit of a cell, n_m. Default 8.
        rounds: number of passes over the eight sets in a cycle. Default 4.
        tile: maximum width of a tile in cells, or one width for each axis. A GPU block or a CPU
            thread works on one tile during a cycle, and the first column, row and layer of the tile
            are frozen for that cycle. The default follows from N.
        cell_width: desired width of a cell, from the largest contact distance (default) to below
            4/3 of it.
        seed: seed of the random number generator, an integer in [0, 2**64).
        first_cycle: value of `cycles` at the start. Random numbers belong to a seed and a cycle. A
            run that continues from positions instead of a checkpoint should therefore start with
            the `cycles` at which the last run ended.
        device: "auto" (a GPU if there is one), "cpu", "cuda" or "cuda:<index>".
        threads: number of threads of the CPU engine; default all cores.
        repair_depth: depth in contact distances up to which overlaps in the input are repaired by
            pushing spheres apart, and reported in `repaired`. float32 files of large boxes have
            such overlaps.
        pressure: constant pressure P* = beta P d^3, where d is `diameter`; then the volume
            of the box changes between cycles. Default constant volume.
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
        swap_rounds: number of rounds of swap moves for each set of cells, in which pairs of spheres
            exchange their `diameters` if there is room. Default none. A tile must have at least
            four cells along an axis. At constant pressure a box may shrink until no tile has four;
            then there are no swap moves, and `swap_trials` stays the same.
        swap_range: largest difference of the diameters of a pair. Default any.
        swap_every: number of cycles between swap moves. Default 1.
        comm: a communicator of mpi4py, for instance ``MPI.COMM_WORLD``, whose ranks share the
            system in slabs along z. Each rank uses the GPU of its rank on the machine, or its part
            of the cores (docs/theory/hard_spheres.md, section 10). The trajectory is that of one
            rank, bit for bit. Only the `positions` of rank 0 are read; other ranks may pass None.
        timeout: time in seconds after which a silent rank is an error (default the environment
            variable MANYMOVE_TIMEOUT, or 60). Time for which the job is suspended does not count.

    With `comm`, all ranks must have the same settings, the sizes by particle included, and make
    the same calls in the same order. Runs, `save`, `load`, `positions`, `state_hash`,
    `density_modes()`, `max_overlap()` and the first `sample_pressure` are collective. Counters,
    `acceptance` and sampled quantities are known on every rank. An error of one rank in a
    collective call is raised on all ranks; ``python -m mpi4py script`` ends all ranks after an
    error elsewhere.

    Raises:
        OverlapError: (a ValueError) two spheres overlap by more than `repair_depth`, or cannot be
            pushed apart; the message names the worst pair and its depth.
        ValueError: a bad box, diameter, position (outside, NaN), shape, setting or device.
        TypeError: positions are neither a list nor an array of float32 or float64; comm is not a
            communicator.
        RankLost: (a RuntimeError, on all ranks) a rank is silent or has failed,
            or the ranks do not make the same calls. The object cannot be used afterwards.
        MemoryError: the device does not have enough memory.

    An object may be used by one thread at a time, and not in a forked process. Any other use raises
    a RuntimeError.
    """

    _KIND = "hard spheres"
    _DIMENSIONS = 3

    def __init__(
        self,
        positions: Any,
        box: tuple[float, float, float],
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
        settings = dict(locals())
        self._keep(box, sizes.read(diameter, diameters, types, contacts), settings)
        self._settle(device, threads, comm, timeout)
        self._begin(lambda: arguments.positions(positions))

    @property
    def box(self) -> tuple[float, float, float]:
        """Edges (Lx, Ly, Lz) of the box."""
        return self._edges()

    # ---- starts ----------------------------------------------------------------------------------

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
        aspect_ratios: tuple[float, float, float] = (1.0, 1.0, 1.0),
        **options: Any,
    ) -> HardSpheres:
        """Create spheres at random positions without overlaps, which have to be equilibrated.

        Small spheres on random sites of a simple cubic lattice melt and then grow in steps of 2 %
        at most. Each step pushes the new overlaps apart and is followed by 20 to 50 sweeps of Monte
        Carlo.

        Args:
            N: number of spheres.
            packing_fraction: packing fraction, up to 0.60.
            seed: seed of the positions and of the trajectory.
            diameter, diameters, types, contacts: sizes of the spheres, as for the class.
            aspect_ratios: ratios of the edges of the box.
            options: the other arguments of the class.

        Raises:
            ValueError: the packing fraction is too high (`fcc` makes crystals), or an error of the
                class.
        """
        given = sizes.read(diameter, diameters, types, contacts)
        return cls._grown(N, packing_fraction, given, aspect_ratios, seed, options)

    @classmethod
    def fcc(
        cls, N: int, packing_fraction: float, *, seed: int, diameter: float = 1.0, **options: Any
    ) -> HardSpheres:
        """Create a face-centered cubic crystal, whose unit cell has four spheres.

        Args:
            N: number of spheres, four times a product of three numbers of similar size.
            packing_fraction: packing fraction N pi d^3 / (6 Lx Ly Lz), up to 0.7405.
            seed: seed of the trajectory.
            diameter: diameter of the spheres.
            options: the other arguments of the class.

        Raises:
            ValueError: an error of `manymove.fcc_packing` or of the class.
        """
        return cls._crystal("fcc", N, packing_fraction, diameter, seed, options)

    @classmethod
    def hcp(
        cls, N: int, packing_fraction: float, *, seed: int, diameter: float = 1.0, **options: Any
    ) -> HardSpheres:
        """Create a hexagonal close-packed crystal, whose orthorhombic cell has four spheres.

        Args:
            N: number of spheres, four times a product of three numbers of similar size.
            packing_fraction: packing fraction N pi d^3 / (6 Lx Ly Lz), up to 0.7405.
            seed: seed of the trajectory.
            diameter: diameter of the spheres.
            options: the other arguments of the class.

        Raises:
            ValueError: an error of `manymove.hcp_packing` or of the class.
        """
        return cls._crystal("hcp", N, packing_fraction, diameter, seed, options)

    @classmethod
    def bcc(
        cls, N: int, packing_fraction: float, *, seed: int, diameter: float = 1.0, **options: Any
    ) -> HardSpheres:
        """Create a body-centered cubic crystal, whose unit cell has two spheres.

        Hard spheres are mechanically unstable in this crystal.

        Args:
            N: number of spheres, twice a product of three numbers of similar size.
            packing_fraction: packing fraction N pi d^3 / (6 Lx Ly Lz), up to 0.6802.
            seed: seed of the trajectory.
            diameter: diameter of the spheres.
            options: the other arguments of the class.

        Raises:
            ValueError: an error of `manymove.bcc_packing` or of the class.
        """
        return cls._crystal("bcc", N, packing_fraction, diameter, seed, options)

    @classmethod
    def _crystal(
        cls,
        kind: str,
        N: int,
        packing_fraction: float,
        diameter: float,
        seed: int,
        options: dict[str, Any],
    ) -> HardSpheres:
        positions, box = crystal(kind, N, packing_fraction, diameter)
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
    ) -> HardSpheres:
        """Create the spheres of a frame of a GSD file, in a rectangular box.

        Several types with one diameter each become `types` with the means of their diameters as
        `contacts`, unless the file has a table of a `TrajectoryWriter`. Otherwise different
        diameters become `diameters`.

        Args:
            path: path of a file with the schema of HOOMD-blue.
            frame: index of the frame; negative numbers count from the end.
            seed: seed of the trajectory.
            diameter: diameter of all spheres; by default the sizes are those of the file.
            options: the other arguments of the class.

        Raises:
            FileNotFoundError, ValueError: an error of `manymove.io.read_frame` or of the class.
        """
        return cls._of_file(path, frame, diameter, seed, options)
