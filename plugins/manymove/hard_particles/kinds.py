# SPDX-License-Identifier: BSD-3-Clause
"""What distinguishes the jobs of `manymove disks` and `manymove spheres`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from manymove.analysis import reference, sphere_reference
from manymove.analysis.notation import Estimate
from manymove.hard_particles import packing
from manymove.hard_particles.compression import check_random, random_configuration
from manymove.hard_particles.crystals import check_crystal, crystal
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.sizes import Sizes
from manymove.hard_particles.spheres import HardSpheres

Start = tuple[np.ndarray, tuple[float, ...]]


@dataclass(frozen=True)
class Kind:
    """Hard disks or hard spheres.

    Attributes:
        particles: name of the particles and of the command.
        dimensions: number of dimensions.
        make: class of the particles.
        starts: names of the starts with particles; mixtures take the first.
        order: name of the slow quantity of equal particles at constant volume.
    """

    particles: str
    dimensions: int
    make: type[HardDisks] | type[HardSpheres]
    starts: tuple[str, ...]
    order: str


DISKS = Kind("disks", 2, HardDisks, ("random", "hexagonal", "square"), "psi_6")
SPHERES = Kind("spheres", 3, HardSpheres, ("random", "fcc", "hcp", "bcc"), "density modes")


def check_start(kind: Kind, start: str, packing_fraction: float, mixed: bool) -> None:
    """Refuse a start that does not exist, or a packing fraction that is too high for it.

    Raises:
        ValueError: the start is unknown, is not one of a mixture, or cannot be so dense.
    """
    if start == "empty":
        return
    if start not in kind.starts:
        *others, last = kind.starts
        raise ValueError(f"--start is {start}; it must be {', '.join(others)} or {last}")
    if start != "random" and mixed:
        raise ValueError(f"--start {start} is for equal {kind.particles}; mixtures start random")
    if start == "random" and (kind is SPHERES or mixed):
        check_random(kind.dimensions, packing_fraction)
    elif kind is SPHERES:
        check_crystal(start, packing_fraction)
    else:
        packing.check_density(start, packing_fraction)


def make_start(
    kind: Kind,
    start: str,
    N: int,
    packing_fraction: float,
    given: Sizes,
    seed: int,
    interrupted: Callable[[], bool],
    shape: tuple[float, ...] | None = None,
    **place: Any,
) -> Start:
    """Positions and box for `--start`. Equal particles have the diameter 1. The box of a random or
    an empty start has edges in the ratios of the shape (default equal)."""
    D = kind.dimensions
    if start == "empty":
        volume = N * math.pi / (2 * D) * given.mean(D) ** D / packing_fraction
        ratios = np.array(shape or (1.0,) * D)
        edges = ratios * (volume / ratios.prod()) ** (1 / D)
        return np.empty((0, D)), tuple(edges.tolist())
    if start == "random":
        shape = shape or (1.0,) * D
        if kind is SPHERES or given.mixed:
            options = {"seed": seed, "interrupted": interrupted, **place}
            return random_configuration(kind.make, N, packing_fraction, given, shape, **options)
        return packing.random_packing(
            N,
            packing_fraction,
            seed=seed,
            aspect_ratios=(shape[0], shape[-1]),
            interrupted=interrupted,
        )
    if kind is SPHERES:
        return crystal(start, N, packing_fraction)
    lattice = {"hexagonal": packing.hexagonal_packing, "square": packing.square_packing}
    return lattice[start](N, packing_fraction)


def literature_pressure(
    kind: Kind, N: int, packing_fraction: float, start: str | None, given: Sizes
) -> Estimate | None:
    """P* in the literature; the error of an equation of state of mixtures is unknown."""
    if given.mixed:
        if not given.additive:
            return None
        found = sphere_reference.mixture_pressure(
            packing_fraction, given.of_each(N), kind.dimensions
        )
        return None if found is None else Estimate(found, math.nan)
    if kind is SPHERES:
        return sphere_reference.literature_pressure(packing_fraction, start)
    return reference.literature_pressure(N, packing_fraction)
