"""Massively parallel Monte Carlo (MPMC) of hard disks.

Method: J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, "Massively parallel
Monte Carlo for many-particle simulations on GPUs", J. Comput. Phys. 254, 27 (2013). Sections,
equations and tables below are that paper's; docs/theory/hard_disks.md has the proof for the
schedule used here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
    Algorithms, sections and tables are numbered as in J. A. Anderson et al., J. Comput. Phys. 254,
    27 (2013).

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

    @classmethod
    def random(
        cls,
        N: int,
        packing_fraction: float,
        *,
        seed: int,
        diameter: Any = 1.0,
        aspect_ratios: tuple[float, float] = (1.0, 1.0),
        **options: Any,
    ) -> HardDisks:
        """Create disks at random positions without overlaps, which have to be equilibrated.

        Equal disks are pushed apart (`random_packing`). A mixture grows from smaller disks between
        short runs of Monte Carlo.

        Args:
            N: number of disks.
            packing_fraction: packing fraction N pi d^2 / (4 Lx Ly), up to 0.72.
            seed: seed of the positions and of the trajectory.
            diameter: sizes of the disks, as for the class.
            aspect_ratios: ratios of the edges of the box.
            options: the other arguments of the class.

        Raises:
            ValueError: the packing fraction is too high (`hexagonal_packing` makes crystals), or an
                error of the class.
        """
        given = sizes.read(diameter)
        if given.mixed:
            return cls._grown(N, packing_fraction, given, aspect_ratios, seed, options)
        positions, box = cls._on_first(
            lambda: random_packing(
                N, packing_fraction, seed=seed, diameter=diameter, aspect_ratios=aspect_ratios
            ),
            options,
        )
        return cls(positions, box, diameter, seed=seed, **options)

    # ---- properties ------------------------------------------------------------------------------

    @property
    def box(self) -> tuple[float, float]:
        """Edges (Lx, Ly) of the box."""
        return self._edges()

    def psi6(self) -> complex:
        """Global bond-orientational order psi_6: the mean over all disks of the average of
        exp(6 i theta) over the neighbors within 1.5 diameters.

        Raises:
            RuntimeError: the disks are a mixture or at constant pressure, some are pinned, or there
                are external fields, steps or a fugacity.
        """
        if self._general:
            raise RuntimeError(
                "psi6 is the order of equal disks at constant volume, and these are "
                + (
                    "a mixture"
                    if self.mixed
                    else "at constant pressure, partly pinned, in fields, with steps or a fugacity"
                )
            )
        return complex(*self._engine.bond_order(_NEIGHBOR_REACH * self.diameter))

    def slow_quantities(self) -> np.ndarray:
        return super().slow_quantities() if self._general else np.array([self.psi6()])
