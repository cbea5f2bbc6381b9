"""Pressure of hard disks and spheres, and of their mixtures, from the pair distances near contact.

Method: Anderson, Jankowski, Grubb, Engel, Glotzer, "Massively parallel Monte Carlo for
many-particle simulations on GPUs", section 4: the pair distribution function is fitted near contact
by a polynomial and extrapolated to contact (Eqs. 4-6). Here the polynomial is integrated over each
bin, which is their Eq. 6 to all orders, and the contact value is a linear functional of the counts,
so that averages and errors of records belong to the pressure itself.

Distances of pairs are in units of their contact distance, and P* = beta P d^D in D dimensions. A
mixture has d^D = mean of d_i^D, so that the packing fraction determines rho d^D as for equal sizes.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.polynomial import Polynomial

# Chosen with examples/papers/mpmc/equation_6.py: on model distributions with the slope and the
# curvature of hard disks between 0.698 and 0.718 the contact value is wrong by 3e-6 (relative) at
# most; its counting noise is 17.8 / sqrt(pairs per diameter at contact).
DELTA_R = 2.0**-10
BINS = 77
DEGREE = 4


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
    if degree < 0 or bins <= degree:
        raise ValueError(f"a polynomial of degree {degree} needs more than {bins} bins")
    if not (math.isfinite(delta_r) and delta_r > 0):
        raise ValueError(f"delta_r is {delta_r}; it must be positive")
    extent = bins * delta_r
    # r^(D - 1) as a function of u = (r - 1) / extent
    shell = Polynomial([1.0, extent]) ** (dimensions - 1)
    edges = np.linspace(0.0, 1.0, bins + 1)
    area = np.diff(shell.integ()(edges))
    basis = [np.polynomial.Legendre.basis(k, domain=[0, 1]) for k in range(degree + 1)]
    polynomials = [b.convert(kind=Polynomial) for b in basis]
    design = np.column_stack([np.diff((shell * p).integ()(edges)) / area for p in polynomials])
    at_contact = np.array([p(0.0) for p in polynomials])
    return (at_contact @ np.linalg.pinv(design)) / (area * extent)


def pressure_weights(
    bins: int,
    delta_r: float,
    degree: int,
    *,
    N: int,
    packing_fraction: float,
    dimensions: int = 2,
) -> tuple[float, np.ndarray]:
    """P* as a linear functional of a pair histogram: P* = constant + weights @ counts / samples.

    From the virial theorem in D dimensions, beta P V = N + n(1) / D, where n(s) ds is the mean
    number of pairs (each counted once) with a distance in [s, s + ds) contact distances; with n(r)
    = pi N rho r g(r) this is Eq. 4 in two dimensions. It holds for every mixture, because all
    contact distances grow in the same proportion when the box shrinks.

    Args:
        bins, delta_r, degree, dimensions: see `contact_weights`.
        N: number of particles.
        packing_fraction: packing fraction, N pi d^2 / (4 V) for disks.

    Returns:
        constant, and weights float64 (bins,).

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
) -> np.ndarray:
    """P* of one histogram, float64 (), or of each of K histograms, float64 (K,).

    Args:
        counts: (bins,) or (K, bins), pairs (each counted once) per bin from contact on.
        samples: configurations that each histogram was accumulated over.
        N: number of particles.
        packing_fraction: packing fraction, N pi d^2 / (4 V) for disks.
        delta_r: width of a bin in contact distances.
        degree: of the polynomial fitted.
        dimensions: number of dimensions, 2 or 3.

    Raises:
        ValueError: as `pressure_weights`, or samples that is not positive.
    """
    counts = np.asarray(counts, dtype=np.float64)
    if not samples > 0:
        raise ValueError(f"samples is {samples}; it must be positive")
    constant, weights = pressure_weights(
        counts.shape[-1],
        delta_r,
        degree,
        N=N,
        packing_fraction=packing_fraction,
        dimensions=dimensions,
    )
    return constant + counts @ weights / samples
