"""Pressure of hard disks and spheres, and of their mixtures, from the pair distances near contact.

Method: Anderson, Jankowski, Grubb, Engel, Glotzer, "Massively parallel Monte Carlo for
many-particle simulations on GPUs", section 4: the pair distribution function is fitted near contact
by a polynomial and extrapolated to contact (Eqs. 4-6). Here the polynomial is integrated over each
bin, which is their Eq. 6 to all orders, and the contact value is a linear functional of the counts,
so that averages and errors of records belong to the pressure itself.

Steps of the energies of pairs add a term for each range, to whose sides the same polynomial is
fitted: the pair distribution function times the exponential of the energy is continuous there.

Distances of pairs are in units of their contact distance, and P* = beta P d^D in D dimensions. A
mixture has d^D = mean of d_i^D, so that the packing fraction determines rho d^D as for equal sizes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

# The steps of the energies of a pair: range in contact distances, and energy in kT.
PairSteps = tuple[tuple[float, float], ...]

# Chosen with examples/papers/mpmc/equation_6.py: on model distributions with the slope and the
# curvature of hard disks between 0.698 and 0.718 the contact value is wrong by 3e-6 (relative) at
# most; its counting noise is 17.8 / sqrt(pairs per diameter at contact).
DELTA_R = 2.0**-10
BINS = 77
DEGREE = 4
# Extent of the bins in units of the gap between neighbors of a perfect crystal. In the FCC crystal
# the pressure was wrong by 2 % with an extent of 2.5 gaps, and by 40 % with 10 gaps.
_REACH = 1.6
# Bins that follow from a configuration are halved as long as the mean distance of the pairs in them
# from contact is less than this share of their extent. With an extent of two gaps it is 0.43 in FCC
# crystals, and 0.45 in fluids that freeze.
_MEAN = 0.44
_DENSEST = {2: math.pi / (2 * math.sqrt(3)), 3: math.pi / (3 * math.sqrt(2))}


def bin_width(
    packing_fraction: float,
    dimensions: int,
    count: Callable[[float, int], np.ndarray] | None = None,
) -> float:
    """Width of the bins of pair distances in contact distances: `DELTA_R`, which is halved in
    dense systems until the polynomial fits the pairs of neighbors.

    Args:
        packing_fraction: packing fraction of the particles.
        dimensions: number of dimensions, 2 or 3.
        count: function of the width and the number of bins that returns the counts of pairs of a
            configuration, (bins,) or (K, bins). It is for particles whose densest packing is not
            known, and whose bins follow from the mean distance of the pairs.
    """
    width = DELTA_R
    if count is None and packing_fraction > 0:
        gap = (_DENSEST[dimensions] / packing_fraction) ** (1 / dimensions) - 1
        while BINS * width > _REACH * gap and width > 2.0**-20:
            width /= 2
    while count is not None and width > 2.0**-20:
        counts = np.reshape(count(width, BINS), (-1, BINS)).sum(axis=0)
        pairs = max(1, counts.sum())
        mean = counts @ (np.arange(BINS) + 0.5) / (BINS * pairs)
        if not pairs > 1 or mean + 2 * math.sqrt(1 / 12 / pairs) > _MEAN:
            break
        width /= 2
    return width


@functools.cache
def contact_weights(bins: int, delta_r: float, degree: int, dimensions: int = 2) -> np.ndarray:
    """Weights w such that sum(w * counts) estimates the density of pair distances at contact.

    counts[i] is the number of pairs with a distance in [1 + i delta_r, 1 + (i + 1) delta_r). The
    density of pair distances is taken as r^(D - 1) times a polynomial in r - 1, which is
    proportional to g(r). It is fitted to counts / integral of r^(D - 1) over the bin by unweighted
    least squares.

    Args:
        bins: number of bins, more than `degree`.
        delta_r: width of a bin in contact distances.
        degree: of the polynomial.
        dimensions: number of dimensions D, 2 or 3.

    Returns:
        float64 (bins,), in 1 / diameter.

    Raises:
        ValueError: too few bins, or a width or degree out of range.
    """
    return _weights_at(1.0, 1, bins, delta_r, degree, dimensions, ())[0]


def _weights_at(
    distance: float,
    sides: int,
    bins: int,
    delta_r: float,
    degree: int,
    dimensions: int,
    steps: PairSteps,
) -> tuple[np.ndarray, float, float]:
    """Weights of counts such that their sum estimates y(distance), where the density of pairs is
    r^(D - 1) y(r) exp(-u(r)) beyond contact and y the polynomial, which does not see the steps of
    u. The bins above the distance follow those below it, if there are two `sides`.

    The squares that are summed have the weights exp(-u), in inverse proportion to the variance of
    an estimate of y.

    Returns:
        the weights, (sides * bins,), and exp(-u) just above and just below the distance. u counts
        from its lowest value in these bins.
    """
    if degree < 0 or bins <= degree:
        raise ValueError(f"a polynomial of degree {degree} needs more than {bins} bins")
    if not (math.isfinite(delta_r) and delta_r > 0):
        raise ValueError(f"delta_r is {delta_r}; it must be positive")
    extent = bins * delta_r
    # r^(D - 1) as a function of x = (r - distance) / extent
    shell = Polynomial([distance, extent]) ** (dimensions - 1)
    edges = np.linspace(0.0, 1.0, bins + 1)
    if sides == 2:
        edges = np.concatenate([-edges[:0:-1], edges])
    area = np.diff(shell.integ()(edges))
    # In each part, between the edges of bins, the ranges and contact, u is constant.
    jumps = [(reach - distance) / extent for reach in (1.0, *(reach for reach, _ in steps))]
    within = [x for x in jumps if edges[0] < x < 1]
    ends = np.unique(np.concatenate([edges, within]))
    middles = (ends[1:] + ends[:-1]) / 2
    u = sum((np.where(middles < x, value, 0.0) for x, (_, value) in zip(jumps[1:], steps,
            strict=True)), np.where(middles < jumps[0], np.inf, 0.0))  # fmt: skip
    u -= u.min()
    first = np.searchsorted(ends, edges[:-1])  # part of each bin

    def of_bins(p: Polynomial) -> np.ndarray:
        return np.add.reduceat(np.diff(p.integ()(ends)) * np.exp(-u), first)

    basis = [
        np.polynomial.Legendre.basis(k, domain=[edges[0], 1]).convert(kind=Polynomial)
        for k in range(degree + 1)
    ]
    pairs = of_bins(shell)  # 0 below contact
    root = np.sqrt(pairs / area)
    mean = np.column_stack([of_bins(shell * p) for p in basis])
    mean = np.divide(mean, pairs[:, None], out=np.zeros(mean.shape), where=pairs[:, None] > 0)
    here = np.array([p(0.0) for p in basis])
    solved = here @ np.linalg.pinv(mean * root[:, None])
    weights = np.divide(solved, root, out=np.zeros(len(root)), where=root > 0) / (area * extent)
    at = np.searchsorted(ends, 0.0)
    return weights, math.exp(-u[at]), math.exp(-u[at - 1]) if sides == 2 else 0.0


@functools.cache
def step_weights(
    bins: int, delta_r: float, degree: int, dimensions: int, steps: PairSteps
) -> np.ndarray:
    """Weights w of the histograms of a pair of types such that sum(w * counts) estimates
    sum_s s [n(s+) - n(s-)] over contact, where n(s-) is 0, and the ranges of the steps.

    Args:
        bins, delta_r, degree, dimensions: see `contact_weights`.
        steps: range in contact distances and energy in kT of each of K steps; those with the energy
            0 are none.

    Returns:
        float64 (1 + 2 K, bins): of the distances from contact on, and for each step of those below
        its range and of those above it, both counted from the range on. Row 0 alone estimates the
        density of pair distances at contact.
    """
    settings = bins, delta_r, degree, dimensions, steps
    weights = np.zeros((1 + 2 * len(steps), bins))
    at_contact, above, _ = _weights_at(1.0, 1, *settings)
    weights[0] = at_contact * above
    ranges: set[float] = set()
    for k, (reach, energy) in enumerate(steps):
        # Steps at one range make a single jump.
        if energy == 0 or reach in ranges:
            continue
        ranges.add(reach)
        at_range, above, below = _weights_at(reach, 2, *settings)
        jump = at_range * (reach**dimensions * (above - below))
        weights[1 + 2 * k], weights[2 + 2 * k] = jump[:bins][::-1], jump[bins:]
    return weights


def steps_of_pairs(steps: Iterable[tuple[Any, Any]], contacts: np.ndarray) -> tuple[PairSteps, ...]:
    """The steps of each pair of types (0, 0), (0, 1), ... (1, 1), ..., of which those with the
    energy 0 are none. As in the engine, steps without any energy are left out.

    Args:
        steps: range and energy of each step, numbers or tables of the pairs of types, (T, T).
        contacts: contact distances of the pairs of types, (T, T).
    """
    shape = contacts.shape
    tables = [
        (np.broadcast_to(reach, shape) / contacts, np.broadcast_to(energy, shape))
        for reach, energy in steps if np.any(energy)
    ]  # fmt: skip
    return tuple(
        tuple((float(ranges[a, b]), float(values[a, b])) for ranges, values in tables)
        for a, b in zip(*np.triu_indices(len(contacts)), strict=True)
    )


def pressure_weights(
    bins: int,
    delta_r: float,
    degree: int,
    *,
    N: int,
    packing_fraction: float,
    dimensions: int = 2,
    steps: tuple[PairSteps, ...] = (),
) -> tuple[float, np.ndarray]:
    """P* as a linear functional of a pair histogram: P* = constant + weights @ counts / samples.

    From the virial theorem in D dimensions, beta P V = N + n(1) / D, where n(s) ds is the mean
    number of pairs (each counted once) with a distance in [s, s + ds) contact distances; with n(r)
    = pi N rho r g(r) this is Eq. 4 in two dimensions. It holds for every mixture, because all
    contact distances grow in the same proportion when the box shrinks. Steps add s [n(s+) - n(s-)]
    to n(1) for each of their ranges s (docs/theory/step_potentials.md, section 6).

    Args:
        bins, delta_r, degree, dimensions: see `contact_weights`.
        N: number of particles.
        packing_fraction: packing fraction, N pi d^2 / (4 V) for disks.
        steps: for each pair of types the range in contact distances and the energy in kT of each
            step, the same number of steps for all pairs, as in `steps_of_pairs` (default no steps).

    Returns:
        constant, and weights float64 (bins,); with steps those of all histograms of the engine,
        (bins of all,), [1 + 2 steps][pairs of types][bins].

    Raises:
        ValueError: as `contact_weights`, or no particles, or a packing fraction that is not
            positive.
    """
    if N < 1 or not packing_fraction > 0:
        raise ValueError(
            "N must be at least 1 and the packing fraction positive, got "
            f"{N} and {packing_fraction}"
        )
    per_particle = 2 * dimensions * packing_fraction / math.pi / N
    if any(steps):
        of_pairs = [step_weights(bins, delta_r, degree, dimensions, pair) for pair in steps]
        weights = np.stack(of_pairs, axis=1).ravel()
    else:
        weights = contact_weights(bins, delta_r, degree, dimensions)
    return per_particle * N, per_particle / dimensions * weights


def pressure_from_histogram(
    counts: np.ndarray,
    samples: float,
    N: int,
    packing_fraction: float,
    delta_r: float = DELTA_R,
    degree: int = DEGREE,
    dimensions: int = 2,
    steps: tuple[PairSteps, ...] = (),
) -> np.ndarray:
    """P* of one histogram, float64 (), or of each of K histograms, float64 (K,).

    Args:
        counts: (bins,) or (K, bins), pairs (each counted once) per bin from contact on; with
            `steps` the histograms of the engine, (bins of all,) or (K, bins of all).
        samples: configurations that each histogram was accumulated over.
        N: number of particles.
        packing_fraction: packing fraction, N pi d^2 / (4 V) for disks.
        delta_r: width of a bin in contact distances.
        degree: of the polynomial fitted.
        dimensions: number of dimensions, 2 or 3.
        steps: see `pressure_weights`.

    Raises:
        ValueError: as `pressure_weights`, or samples that is not positive.
    """
    counts = np.asarray(counts, dtype=np.float64)
    if not samples > 0:
        raise ValueError(f"samples is {samples}; it must be positive")
    histograms = sum(1 + 2 * len(each) for each in steps if each) or 1
    constant, weights = pressure_weights(
        counts.shape[-1] // histograms,
        delta_r,
        degree,
        N=N,
        packing_fraction=packing_fraction,
        dimensions=dimensions,
        steps=steps,
    )
    return constant + counts @ weights / samples
