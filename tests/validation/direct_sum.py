"""Energies of rigid molecules in a framework by direct sums over atoms and waves, in NumPy.

The sums are written from their equations (docs/theory/molecules.md) and share nothing with the
engine but the parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# e^2 / (4 pi epsilon_0 k_B angstrom) in kelvin.
COULOMB = 1.602176634e-19**2 / (4 * math.pi * 8.8541878128e-12 * 1.380649e-23 * 1e-10)
ALPHA, REACH, LONGEST = 0.36, 14.0, 3.8  # a split that neglects 1e-12
_erfc = np.vectorize(math.erfc, otypes=[float])


def half_of_waves(edges: Array, longest: float) -> Array:
    """Numbers of the waves up to a length, one of each pair k and -k."""
    most = [int(longest * np.linalg.norm(edge) / (2 * math.pi)) for edge in edges]
    n = np.stack(np.meshgrid(*[np.arange(-m, m + 1) for m in most], indexing="ij"), axis=-1)
    n = n.reshape(-1, 3)[len(n.reshape(-1, 3)) // 2 + 1 :]
    k = n @ (2 * math.pi * np.linalg.inv(edges).T)
    return n[(k**2).sum(axis=1) <= longest**2]


def factors(k: Array, places: Array, charges: Array) -> NDArray[np.complex128]:
    """Structure factors."""
    if not len(places):
        return np.zeros(len(k), dtype=complex)
    some = np.array_split(k, 1 + len(k) * len(places) // 2_000_000)
    return np.concatenate([np.exp(1j * part @ places.T) @ charges for part in some])


@dataclass
class Solid:
    """A periodic framework: edges (rows), atoms, and the parameters of pairs.

    Attributes:
        edges: edges of the unit cell.
        places: positions of its atoms.
        charges: their charges.
        kinds: their kinds.
        laws: (epsilon, sigma) by type of site and kind of atom, (types, kinds, 2).
        cutoff: cutoff of the Lennard-Jones potential, which is shifted there if `shifted`.
    """

    edges: Array
    places: Array
    charges: Array
    kinds: NDArray[np.int64]
    laws: Array
    cutoff: float
    shifted: bool

    def __post_init__(self) -> None:
        inverse = np.linalg.inv(self.edges)
        wide = 1 / np.linalg.norm(inverse, axis=0)
        reach = [math.ceil(REACH / w) + 1 for w in wide]
        n = np.stack(np.meshgrid(*[np.arange(-r, r + 1) for r in reach], indexing="ij"), axis=-1)
        inside = (self.places @ inverse) % 1.0
        f = (inside[:, None] + n.reshape(-1, 3)).reshape(-1, 3)
        margin = REACH / wide
        near = ((f > -margin) & (f < 1 + margin)).all(axis=1)
        copies = n.size // 3
        self._images = f[near] @ self.edges
        self._charge = np.repeat(self.charges, copies)[near]
        self._kind = np.repeat(self.kinds, copies)[near]
        k = half_of_waves(self.edges, LONGEST) @ (2 * math.pi * inverse.T)
        squares = (k**2).sum(axis=1)
        volume = abs(np.linalg.det(self.edges))
        self._k = k
        self._amplitudes = (
            8 * math.pi / volume * np.exp(-squares / (4 * ALPHA**2)) / squares
            * factors(k, self.places, self.charges)
        )  # fmt: skip

    def energy(self, sites: Array, types: list[int], charges: Array) -> tuple[float, float]:
        """Lennard-Jones and Coulomb energy in kelvin of a molecule."""
        inverse = np.linalg.inv(self.edges)
        lennard_jones = coulomb = 0.0
        for x, t, q in zip(sites, types, charges, strict=True):
            f = x @ inverse
            d = np.linalg.norm(self._images - (f - np.floor(f)) @ self.edges, axis=1)
            near = d < self.cutoff
            epsilon, sigma = self.laws[t, self._kind[near]].T
            sixth = (sigma / d[near]) ** 6
            lennard_jones += (4 * epsilon * (sixth**2 - sixth)).sum()
            if self.shifted:
                sixth = (sigma / self.cutoff) ** 6
                lennard_jones -= (4 * epsilon * (sixth**2 - sixth)).sum()
            if q:
                near = d < REACH
                coulomb += q * (self._charge[near] * _erfc(ALPHA * d[near]) / d[near]).sum()
                coulomb += q * (np.exp(-1j * self._k @ x) * self._amplitudes).real.sum()
        return lennard_jones, COULOMB * coulomb


def ewald(
    edges: Array, sites: Array, charges: Array, molecules: NDArray[np.int64], split: float,
    reach: float, n: Array, rest: NDArray[np.complex128] | None = None,
) -> float:  # fmt: skip
    """Coulomb energy in kelvin of sites that do not interact within a molecule (a framework, whose
    molecule is -1, has no energy of its own), with the waves n of a half of the reciprocal
    lattice. `rest` are the framework's structure factors, if they are known."""
    inverse = np.linalg.inv(edges)
    guest, solid = molecules >= 0, molecules < 0
    total = 0.0
    for i in np.flatnonzero(guest):
        later = np.arange(len(sites)) > i
        other = solid | (later & (molecules != molecules[i]))
        f = (sites[other] - sites[i]) @ inverse
        d = np.linalg.norm((f - np.rint(f)) @ edges, axis=1)
        near = d < reach
        pairs = charges[other][near] * _erfc(split * d[near]) / d[near]
        total += charges[i] * pairs.sum() - split / math.sqrt(math.pi) * charges[i] ** 2
        own = later & (molecules == molecules[i])
        d = np.linalg.norm(sites[own] - sites[i], axis=1)
        total -= charges[i] * (charges[own] * (1 - _erfc(split * d)) / d).sum()
    k = n @ (2 * math.pi * inverse.T)
    squares = (k**2).sum(axis=1)
    weights = 4 * math.pi / abs(np.linalg.det(edges)) * np.exp(-squares / (4 * split**2)) / squares
    own_factors = factors(k, sites[guest], charges[guest])
    if rest is None:
        rest = factors(k, sites[solid], charges[solid])
    cross = 2 * (rest * own_factors.conj()).real
    return COULOMB * (total + float((weights * (np.abs(own_factors) ** 2 + cross)).sum()))
