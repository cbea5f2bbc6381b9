# SPDX-License-Identifier: BSD-3-Clause
"""Free energies of crystals of hard particles from springs whose free energy is known.

The springs have the energy k u^2 / 2 at the displacement u of a particle from its site. A path of
decreasing k leads from independent oscillators to the crystal (Frenkel and Ladd, J. Chem. Phys. 81,
3188, 1984). docs/theory/free_energies.md has the derivation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any

import numpy as np

from manymove import arguments
from manymove.analysis.notation import Estimate
from manymove.errors import ParameterError
from manymove.fields import Springs
from manymove.hard_particles.simulation import HardDisks
from manymove.hard_particles.spheres import HardSpheres
from manymove.hard_particles.systems import System, average, simulated
from manymove.settings import Grid
from manymove.tables import Record

REFERENCES = ("molecule", "crystal")

# With more points, the center of mass leaves the box at the smallest spring constant.
POINTS = (6, 32)

_OVERLAPS = 0.05  # expected number of overlapping pairs at the largest spring constant
_WIDTHS = 6.0  # of the displacements in half the shortest edge, which the springs hardly reach
_SAMPLES = 4000  # of the displacements of independent oscillators
_MOST = 16_384  # particles, because the distances of all pairs of sites are computed
_PAIRS = 1 << 22  # of particles in a piece of an array


@dataclass(frozen=True, repr=False, eq=False)
class EinsteinCrystal(Record):
    """A path from independent oscillators to a crystal of equal hard particles.

    With the reference "molecule" the first particle is pinned to its site, and the others are on
    springs (Einstein molecule; Vega and Noya, J. Chem. Phys. 127, 154113, 2007). With "crystal" all
    particles are on springs, and displacements are those relative to the center of mass, which is
    independent of them (Einstein crystal; Polson et al., J. Chem. Phys. 112, 5339, 2000). Both give
    the same free energy for every number of particles. The integrand of "crystal" varies less.

    Attributes:
        sites: sites of the crystal, (N, D), in the unit of the diameter.
        box: edges of the periodic box, (D,).
        reference: "molecule" or "crystal".
        points: number of spring constants (Gauss-Legendre points), 6 to 32.
        basis: number of sites in the primitive cell of the crystal (default 1; an HCP crystal has
            2).

    Raises:
        ValueError: the particles touch, or an argument is out of range.
    """

    sites: np.ndarray
    box: tuple[float, ...]
    reference: str = "crystal"
    points: int = 12
    basis: int = 1

    def __post_init__(self) -> None:
        sites = np.ascontiguousarray(self.sites, dtype=np.float64)
        if sites.ndim != 2 or sites.shape[1] not in (2, 3) or not np.isfinite(sites).all():
            raise ParameterError("sites", "must be finite coordinates, (N, D)")
        object.__setattr__(self, "sites", sites)
        object.__setattr__(self, "box", arguments.edges(self.box, sites.shape[1]))
        if self.reference not in REFERENCES:
            raise ParameterError("reference", f"must be {' or '.join(REFERENCES)}")
        low, high = POINTS
        if not low <= arguments.integer("points", self.points) <= high:
            raise ParameterError("points", f"must be from {low} to {high}, got {self.points}")
        arguments.count("basis", self.basis)
        if not 2 <= self.N <= _MOST:
            raise ParameterError("N", f"must be from 2 to {_MOST}, got {self.N}")
        if not self._shells[0] > 1 + 1e-6:
            raise ParameterError(
                "packing_fraction",
                f"leaves a distance of {self._shells[0]:.7g} diameters between neighbors; it must "
                "be more than 1",
            )

    @property
    def N(self) -> int:
        """Number of particles."""
        return len(self.sites)

    @property
    def D(self) -> int:
        """Number of dimensions."""
        return len(self.box)

    @property
    def volume(self) -> float:
        """Volume (area) of the box."""
        return math.prod(self.box)

    def _separations(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Indices (i, j) with i < j and distances of pairs of sites, in pieces."""
        rows, edges = max(1, _PAIRS // self.N), np.array(self.box)
        for first in range(0, self.N, rows):
            apart = self.sites[first : first + rows, None] - self.sites
            apart -= np.rint(apart / edges) * edges
            distances = np.sqrt((apart**2).sum(axis=2))
            i, j = np.triu_indices(len(apart), first + 1, self.N)
            yield np.stack([i + first, j]), distances[i, j]

    @cached_property
    def _shells(self) -> tuple[float, float]:
        """The distance of nearest neighbors, and the number of nearest neighbors of a particle."""
        nearest = min(d.min(initial=math.inf) for _, d in self._separations())
        bonds = sum((d < nearest * (1 + 1e-6)).sum() for _, d in self._separations())
        return float(nearest), 2 * float(bonds) / self.N

    @cached_property
    def stiffness(self) -> float:
        """The largest spring constant in kT per squared diameter. Independent oscillators have
        about 0.05 overlaps there."""
        gap, neighbors = self._shells[0] - 1, self._shells[1]
        share = min(0.25, 2 * _OVERLAPS / (self.N * neighbors))
        of_gap = 2 * (NormalDist().inv_cdf(1 - share) / gap) ** 2
        return max(of_gap, (2 * _WIDTHS / min(self.box)) ** 2)

    @cached_property
    def _scale(self) -> float:
        """Spring constant k_0 below which the hard particles determine the displacements. Those
        relative to a pinned particle contain the displacement of all others together."""
        scale = self.D / (2 * (self._shells[0] - 1) ** 2)
        return scale / self.N if self.reference == "molecule" else scale

    @cached_property
    def spring_constants(self) -> np.ndarray:
        """Spring constants of the simulations, float64 (points,), the Gauss-Legendre points of the
        variable ln(k + k_0)."""
        return self._quadrature[0]

    @cached_property
    def _quadrature(self) -> tuple[np.ndarray, np.ndarray]:
        """Spring constants, and weights of an integral over them."""
        low, high = math.log(self._scale), math.log(self.stiffness + self._scale)
        x, weights = np.polynomial.legendre.leggauss(self.points)
        shifted = np.exp(low + (high - low) * (x + 1) / 2)
        return shifted - self._scale, weights * shifted * (high - low) / 2

    # ---- simulations -----------------------------------------------------------------------------

    def simulation(self, spring_constant: float, **options: Any) -> HardDisks | HardSpheres:
        """The particles on springs.

        Args:
            spring_constant: k in kT per squared diameter.
            options: seed, device and threads of the class.

        Raises:
            ValueError: the spring constant is not positive and finite.
        """
        arguments.positive_and_finite("spring_constant", spring_constant)
        kind = HardDisks if self.D == 2 else HardSpheres
        pinned = np.arange(self.N) == 0 if self.reference == "molecule" else None
        step = min(0.75 * (self._shells[0] - 1), 1.5 / math.sqrt(spring_constant), 0.5)
        # In short cycles, displacements are read as often as they change.
        return kind(
            self.sites, self.box, max_displacement=step, pinned=pinned, grid=Grid(rounds=1),
            fields=Springs(spring_constant, self.sites), **options,
        )  # fmt: skip

    def systems(self, prefix: str = "", group: int = 0, **about: float) -> list[System]:
        """The systems at all spring constants, whose `displacement` is measured.

        Args:
            prefix: beginning of their names.
            group: their group.
            about: further parameters of the systems.
        """
        return [
            System(
                f"{prefix}spring {index}",
                partial(self.simulation, k),
                self.N,
                {**about, "spring_constant": k},
                lambda one: self.displacement(one.positions),
                group,
            )
            for index, k in enumerate(self.spring_constants.tolist())
        ]

    def displacement(self, positions: np.ndarray) -> float:
        """Sum of the squared displacements of the reference for positions (N, D), in squared
        diameters."""
        away, edges = np.asarray(positions) - self.sites, np.array(self.box)
        if self.reference == "crystal":
            away -= away[0].copy()  # so that no face of the box is between the particles
        away -= np.rint(away / edges) * edges
        if self.reference == "crystal":
            away -= away.mean(axis=0)
        return float((away**2).sum())

    # ---- terms of F / (N kT) ---------------------------------------------------------------------

    def ideal(self) -> float:
        """Free energy of the oscillators without overlaps, F / (N kT) with a thermal wavelength of
        a diameter."""
        N, D = self.N, self.D
        states = math.log(self.basis * self.volume / N)
        states += D * (N - 1) / 2 * math.log(2 * math.pi / self.stiffness)
        if self.reference == "crystal":
            states += D / 2 * math.log(N)
        return -states / N

    def hardness(self, samples: int, seed: int) -> Estimate:
        """Free energy F / (N kT) of the condition that no oscillators overlap at the largest spring
        constant, -ln(p) / N. p is the share of independent Gaussian displacements without overlaps.

        Args:
            samples: number of displacements of all particles.
            seed: seed of the random number generator.

        Raises:
            ValueError: the oscillators overlap in all samples, or an argument is out of range.
        """
        arguments.count("samples", samples)
        width = 1 / math.sqrt(self.stiffness)
        # Displacements of a pair add up to more than 9 of their widths once in 1e17 cases.
        reach = 1 + 9 * math.sqrt(2) * width
        found = [pairs[:, d < reach] for pairs, d in self._separations()]
        i, j = np.concatenate(found, axis=1)
        random, edges = np.random.default_rng(seed), np.array(self.box)
        free = 0
        for _ in range(samples):
            places = self.sites + random.normal(0, width, self.sites.shape)
            if self.reference == "molecule":
                places[0] = self.sites[0]
            apart = places[i] - places[j]
            apart -= np.rint(apart / edges) * edges
            free += bool(((apart**2).sum(axis=1) >= 1).all())
        if not free:
            raise ValueError("all of the sampled displacements of the oscillators overlap")
        share = free / samples
        # One occurrence of each kind is added, so that the error is not zero if all samples are
        # free of overlaps.
        likely = (free + 1) / (samples + 2)
        error = math.sqrt((1 - likely) / (likely * samples))
        return Estimate(-math.log(share) / self.N, error / self.N)

    def release(self, displacements: Sequence[Estimate]) -> Estimate:
        """Change of F / (N kT) from the largest spring constant to none.

        Args:
            displacements: mean of `displacement` at each of the `spring_constants`.
        """
        terms = [
            weight / 2 * each
            for weight, each in zip(self._quadrature[1].tolist(), displacements, strict=True)
        ]
        return (0 - sum(terms[1:], terms[0])) / self.N

    def terms(self, displacements: Sequence[Estimate], *, seed: int) -> dict[str, Estimate]:
        """The terms of F / (N kT): `ideal`, `hardness`, `release`, and their sum `free_energy`.

        Args:
            displacements: mean of `displacement` at each of the `spring_constants`.
            seed: seed of the 4,000 displacements of `hardness`.
        """
        found = {
            "ideal": Estimate(self.ideal(), 0.0),
            "hardness": self.hardness(_SAMPLES, seed),
            "release": self.release(displacements),
        }
        return {**found, "free_energy": found["ideal"] + found["hardness"] + found["release"]}

    def measure(
        self, sweeps: float, *, equilibrate: float, seed: int, **place: Any
    ) -> dict[str, Estimate]:
        """Simulate the particles at all spring constants at the same time.

        Args:
            sweeps: length of each run in sweeps.
            equilibrate: length of the equilibration before it in sweeps.
            seed: seed of the first run; each following run has the next integer.
            place: device and threads of `Replicas`.

        Returns:
            the `terms`; `converged` of an estimate tells whether its error is reliable.

        Raises:
            KeyboardInterrupt: Ctrl-C. `manymove free-energy` keeps the finished runs.
        """
        systems = self.systems()
        seeds = range(arguments.integer("seed", seed), seed + len(systems))
        found = simulated(dict(zip(seeds, systems, strict=True)), sweeps, equilibrate, **place)
        return self.terms([average(found[each.name]) for each in systems], seed=seed)


def extrapolated(
    sizes: Sequence[int], free_energies: Sequence[Estimate], dimensions: int = 3
) -> tuple[Estimate, float, float]:
    """F / (N kT) for infinitely many particles.

    F / (N kT) + (D / 2 - 1) ln(N) / N is a straight line in 1/N, because the longest waves of the
    crystal are missing in a finite box (Polson et al., J. Chem. Phys. 112, 5339, 2000).

    Args:
        sizes: numbers of particles, two or more different ones.
        free_energies: F / (N kT) of each.
        dimensions: D, 2 or 3.

    Returns:
        the value at 1/N = 0 with its error, the slope of the line, and chi^2 per degree of freedom
        (NaN for two sizes).

    Raises:
        ValueError: there are fewer than two sizes, a size occurs twice, a free energy has no finite
            positive error, or `dimensions` is out of range.
    """
    if dimensions not in (2, 3):
        raise ParameterError("dimensions", f"must be 2 or 3, got {dimensions}")
    if len(sizes) != len(free_energies):
        raise ParameterError("free_energies", "must have an estimate for each size")
    if len(set(sizes)) != len(sizes) or len(sizes) < 2 or not min(sizes) > 1:
        raise ParameterError("sizes", f"must be two or more different ones, got {[*sizes]}")
    if not all(math.isfinite(f.value) and 0 < f.error < math.inf for f in free_energies):
        raise ParameterError("free_energies", "must be finite and have positive errors")
    N, errors = np.array(sizes, dtype=float), np.array([f.error for f in free_energies])
    y = np.array([f.value for f in free_energies]) + (dimensions / 2 - 1) * np.log(N) / N
    design = np.stack([np.ones_like(N), 1 / N], axis=1) / errors[:, None]
    covariance = np.linalg.inv(design.T @ design)
    fit = covariance @ design.T @ (y / errors)
    squares, freedom = float(((design @ fit - y / errors) ** 2).sum()), len(N) - 2
    converged = all(each.converged for each in free_energies)
    value = Estimate(float(fit[0]), math.sqrt(covariance[0, 0]), converged)
    return value, float(fit[1]), squares / freedom if freedom else math.nan
