"""Ewald's sum in NumPy, written from its equations, for the tests of rigid molecules."""

from __future__ import annotations

import math

import numpy as np

# e^2 / (4 pi epsilon_0 k_B angstrom) in kelvin.
COULOMB = 1.602176634e-19**2 / (4 * math.pi * 8.8541878128e-12 * 1.380649e-23 * 1e-10)
_erfc = np.vectorize(math.erfc, otypes=[float])


def waves_of(edges: np.ndarray, longest: float) -> tuple[np.ndarray, np.ndarray]:
    """All waves up to a length, without zero, and their squares."""
    most = [int(longest * np.linalg.norm(edge) / (2 * math.pi)) for edge in edges]
    n = np.stack(np.meshgrid(*[np.arange(-m, m + 1) for m in most], indexing="ij"), axis=-1)
    k = n.reshape(-1, 3) @ (2 * math.pi * np.linalg.inv(edges).T)
    squares = (k**2).sum(axis=1)
    kept = (squares > 0) & (squares <= longest**2)
    return k[kept], squares[kept]


def lennard_jones(r, epsilon, sigma):
    return 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)


def ewald_energy(places, charges, molecules, laws, edges, cutoff, alpha, longest, shifted) -> float:
    """Energy in kelvin of sites that interact with the sites of other molecules. laws: (epsilon,
    sigma) of each site, mixed by Lorentz and Berthelot."""
    inverse = np.linalg.inv(edges)
    total = -COULOMB * alpha / math.sqrt(math.pi) * (charges**2).sum()
    for i in range(len(places) - 1):
        d = places[i + 1 :] - places[i]
        own = molecules[i + 1 :] == molecules[i]
        qq = charges[i] * charges[i + 1 :]
        inside = np.linalg.norm(d[own], axis=1)
        total -= COULOMB * (qq[own] * (1 - _erfc(alpha * inside)) / inside).sum()
        f = d @ inverse
        r = np.linalg.norm((f - np.rint(f)) @ edges, axis=1)
        near = ~own & (r < cutoff)
        if not near.any():
            continue
        epsilon = np.sqrt(laws[i, 0] * laws[i + 1 :, 0])[near]
        sigma = 0.5 * (laws[i, 1] + laws[i + 1 :, 1])[near]
        total += COULOMB * (qq[near] * _erfc(alpha * r[near]) / r[near]).sum()
        total += lennard_jones(r[near], epsilon, sigma).sum()
        if shifted:
            total -= lennard_jones(cutoff, epsilon, sigma).sum()
    k, squares = waves_of(edges, longest)
    for some in np.array_split(np.arange(len(k)), 1 + len(k) // 4000):
        factors = np.abs(np.exp(1j * k[some] @ places.T) @ charges) ** 2
        weights = np.exp(-squares[some] / (4 * alpha**2)) / squares[some]
        total += COULOMB * 2 * math.pi / abs(np.linalg.det(edges)) * (weights @ factors)
    return float(total)


def framework_energy(x, site, framework, laws, charges, cutoff) -> float:
    """Energy of a site of a molecule at x in a periodic framework with parameters and charges by
    element, shifted at the cutoff; with another split than the engine's."""
    alpha, reach, longest = 0.8, 8.0, 10.0
    edges = framework.edges
    n = np.stack(np.meshgrid(*3 * [np.arange(-3, 4)], indexing="ij"), axis=-1).reshape(-1, 3)
    total = 0.0
    for u, e in zip(framework.fractional, framework.elements, strict=True):
        r = np.linalg.norm((u + n) @ edges - x, axis=1)
        real = _erfc(alpha * r[r < reach]) / r[r < reach]
        total += COULOMB * site.charge * charges[e] * real.sum()
        law = (math.sqrt(laws[e][0] * site.epsilon), (laws[e][1] + site.sigma) / 2)
        total += (lennard_jones(r[r < cutoff], *law) - lennard_jones(cutoff, *law)).sum()
    k, squares = waves_of(edges, longest)
    q = [charges[e] for e in framework.elements]
    factor = np.exp(1j * k @ (framework.fractional @ edges - x).T).real @ q
    weights = np.exp(-squares / (4 * alpha**2)) / squares
    strength = COULOMB * site.charge * 4 * math.pi / abs(np.linalg.det(edges))
    return total + float(strength * (weights @ factor))
