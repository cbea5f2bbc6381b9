# SPDX-License-Identifier: BSD-3-Clause
"""Massively parallel Monte Carlo (MPMC) of hard spheres and their mixtures in three dimensions."""

from __future__ import annotations

from typing import Any

from manymove.hard_particles import sizes
from manymove.hard_particles.crystals import crystal
from manymove.hard_particles.particles import HardParticles


class HardSpheres(HardParticles):
    """Hard spheres in a periodic box, moved by checkerboard Monte Carlo in three dimensions.

    The box is divided into cells at least a diameter wide, the cells form eight sets, and all cells
    of a set are updated at the same time. A *cycle* consists of `rounds` passes over the sets and a
    random shift of the grid. A *sweep* is N trial moves, one per sphere on average. The trajectory
    is a function of the input and the seed, the same on every CPU and GPU. The algorithm
    extends J. A. Anderson et al., J. Comput. Phys. 254, 27 (2013), to three dimensions.

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
        diameter: Any = 1.0,
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
            diameter: sizes of the spheres, as for the class.
            aspect_ratios: ratios of the edges of the box.
            options: the other arguments of the class.

        Raises:
            ValueError: the packing fraction is too high (`fcc` makes crystals), or an error of the
                class.
        """
        given = sizes.read(diameter)
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
            N, packing_fraction, seed, diameter, options: as for `fcc`, whose errors are the same.
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
            packing_fraction: packing fraction, up to 0.6802.
            seed, diameter, options: as for `fcc`, whose errors are the same.
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
