# SPDX-License-Identifier: BSD-3-Clause
"""Random packings of hard spheres and mixtures: particles that grow between runs of Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from manymove import arguments
from manymove.errors import OverlapError, ParameterError
from manymove.hard_particles.crystals import simple_sites
from manymove.hard_particles.sizes import Sizes
from manymove.settings import Start

MAX_RANDOM = {2: 0.72, 3: 0.60}  # packing fraction, by the number of dimensions
_MELTS = {2: 0.30, 3: 0.20}  # packing fraction at which a lattice melts at once
_JAMMED = {2: 0.84, 3: 0.64}  # packing fraction of random packings of equal particles
# Packings are left with this gap, so that rounding to float32 (GSD) makes no overlap in boxes of
# up to some thousand diameters.
_GAP = 2e-4
_GROWTH = 0.02  # of the diameters in a step, at most
_SHARE = 40  # a step closes 1 / _SHARE of the gap to random close packing
_REPAIR = 0.04  # depth of overlaps after a step, at most; also how far pushes look for neighbors
_FAILURES = 10  # failed steps after which the search ends with an error
_MELTING_SWEEPS = 200
_SWEEPS = (20, 50)  # after a step, below and above this part of the density of close packing:
_DENSE = 0.8


def random_configuration(
    make: type[Any],
    N: int,
    packing_fraction: float,
    given: Sizes,
    shape: tuple[float, ...],
    *,
    seed: int,
    interrupted: Callable[[], bool] | None = None,
    **place: Any,
) -> tuple[np.ndarray, tuple[float, ...]]:
    """Random configuration of particles of any sizes without overlaps.

    The particles start as small ones on random sites of a simple lattice, which melts within a
    short run of Monte Carlo. Then they grow in steps of 2 % at most, which are shorter near random
    close packing. Each step pushes the few new overlaps apart and is followed by 20 to 50 sweeps of
    Monte Carlo, which open the gaps for the next step. The configuration has to be equilibrated; it
    is not a sample of the ensemble.

    Args:
        make: class of the particles.
        N: number of particles.
        packing_fraction: packing fraction, up to 0.60 in three dimensions and 0.72 in two.
        given: sizes of the particles.
        shape: ratios of the edges of the box.
        seed: seed of the random numbers.
        interrupted: function that is called between steps; if it returns True, the search ends.
        place: device and threads of the Monte Carlo, which do not affect the result.

    Returns:
        positions, float64 (N, D) in [-L/2, L/2), and the box.

    Raises:
        ValueError: an argument is out of range, or no packing was found.
        KeyboardInterrupt: `interrupted` returned True.
    """
    D = make._DIMENSIONS
    ratios = arguments.aspect_ratios(shape, D)
    check_random(D, arguments.number("packing_fraction", packing_fraction))
    seed = arguments.uint64("seed", seed)
    if arguments.integer("N", N) < 1:
        raise ParameterError("N", f"must be at least 1, got {N}")
    if given.count not in (None, N):
        raise ParameterError("N", f"is {N}, but there are sizes of {given.count} particles")
    volume = float((given.of_each(N) ** D).sum()) * math.pi / (2 * D) / packing_fraction
    box = tuple(ratio * (volume / math.prod(ratios)) ** (1 / D) for ratio in ratios)
    needed = 3 * given.largest()
    for axis, edge in zip("xyz", box, strict=False):
        if edge < needed:
            raise ValueError(
                f"box too small for the checkerboard: edge {axis} is {edge:.6g} with N = {N}, "
                f"which is below three contact distances, {needed:.6g}: use more particles"
            )
    sites = simple_sites(N, box)
    spacing = min(box[a] / len(np.unique(sites[:, a])) for a in range(D))
    positions = np.random.default_rng(seed).permutation(sites)[:N]
    final = 1 + _GAP
    free = min(spacing / given.largest(), (_MELTS[D] / packing_fraction) ** (1 / D))
    factor = min(final, free * (1 - 1e-9))

    cycles = failures = 0  # cycles are counted on, so that no random number is used twice

    def run(positions: np.ndarray, factor: float, sweeps: float, depth: float) -> np.ndarray:
        """Monte Carlo of particles of this size, whose overlaps are pushed apart."""
        nonlocal cycles
        if interrupted is not None and interrupted():
            raise KeyboardInterrupt
        reach = min(0.15, 0.5 * _gap_to_jamming(D, packing_fraction, factor))
        options = {
            "diameter": given.scaled(factor).given,
            "max_displacement": reach * factor * given.smallest(),
            "seed": seed,
            "start": Start(cycles, depth),
        }
        particles = make(positions, box, **options, **place)
        particles.run(sweeps)
        cycles = particles.cycles
        return particles.positions

    try:
        positions = run(positions, factor, _MELTING_SWEEPS, 0.0)
    except OverlapError:  # neighbors on the sites touch, up to the rounding to the grid
        factor *= 1 - 1e-5
        positions = run(positions, factor, _MELTING_SWEEPS, 0.0)
    while factor < final:
        gap = _gap_to_jamming(D, packing_fraction, factor)
        larger = min(final, factor * (1 + min(_GROWTH, gap / _SHARE)))
        dense = bool(packing_fraction * factor**D > _DENSE * _JAMMED[D])
        try:
            positions = run(positions, larger, _SWEEPS[dense], _REPAIR)
            factor = larger
        except OverlapError:
            failures += 1
            if failures == _FAILURES:
                raise ValueError(
                    f"found no packing of {N} particles at packing fraction {packing_fraction} in "
                    f"a periodic box of {' x '.join(f'{edge:.6g}' for edge in box)}: it may not "
                    "exist for so few particles or for such sizes"
                ) from None
            positions = run(positions, factor, 2 * _SWEEPS[1], 0.0)
    return positions, box


def _gap_to_jamming(dimensions: int, packing_fraction: float, factor: float) -> float:
    """Relative growth from this size up to random close packing, at least a hundredth."""
    jammed = (_JAMMED[dimensions] / packing_fraction) ** (1 / dimensions)
    return max(0.01, jammed / factor - 1)


def check_random(dimensions: int, packing_fraction: float) -> None:
    """Refuse a packing fraction that is too high for random packings.

    Raises:
        ValueError: the packing fraction is too high, or not positive.
    """
    if not packing_fraction > 0:
        raise ParameterError("packing_fraction", f"must be positive, got {packing_fraction}")
    most = MAX_RANDOM[dimensions]
    if packing_fraction > most:
        raise ParameterError(
            "packing_fraction",
            f"is {packing_fraction}; random packings go up to {most}, start "
            "denser systems from a crystal",
        )
