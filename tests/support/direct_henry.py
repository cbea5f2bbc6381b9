"""Henry coefficients of rigid molecules in a framework by direct sums over all atoms, in NumPy.

The sums are written from their equations (docs/theory/molecules.md) and share nothing with the
engine. Only the waves of Ewald's sum are interpolated, by splines of order five. Poses are drawn
where the Boltzmann factors are large: the unit cell is divided into voxels, and the share of each
voxel follows from the poses that it had before. Each batch of poses has fixed shares, and a pose
counts with the inverse of its probability, so that the mean of each batch is unbiased.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter, uniform_filter
from scipy.spatial import cKDTree
from scipy.special import erfc

BOLTZMANN, AVOGADRO = 1.380649e-23, 6.02214076e23
# e^2 / (4 pi epsilon_0 k_B angstrom) in kelvin.
COULOMB = 1.602176634e-19**2 / (4 * math.pi * 8.8541878128e-12 * BOLTZMANN * 1e-10)
REACH = 6.5  # angstrom: of the real-space part of Ewald's sum
ALPHA = 3.6 / REACH
LONGEST = 2 * ALPHA * 3.6  # 1 / angstrom: of the wave numbers
PHASE = 1.0  # largest phase of a wave between two points of its mesh
VOXEL = 0.6  # angstrom: smallest edge of a voxel
UNIFORM = 0.1  # share of poses that are uniform in the cell


@dataclass(frozen=True)
class Solid:
    """A rigid periodic framework.

    Attributes:
        edges: edges of the unit cell in angstrom as rows, (3, 3).
        fractional: fractional coordinates of its atoms, (M, 3).
        elements: their elements, (M,).
        charges: their charges in elementary charges, (M,).
        mass: mass of the unit cell in g/mol.
    """

    edges: np.ndarray
    fractional: np.ndarray
    elements: Sequence[str]
    charges: np.ndarray
    mass: float

    @property
    def volume(self) -> float:
        return abs(float(np.linalg.det(self.edges)))


@dataclass(frozen=True)
class Guest:
    """A rigid molecule: positions (sites, 3), (epsilon, sigma) and charges of its sites."""

    places: np.ndarray
    laws: np.ndarray
    charges: np.ndarray


class Energy:
    """The energy of poses in kelvin. Parameters mix by the Lorentz-Berthelot rules.

    Args:
        solid, guest: the framework and the molecule.
        laws: (epsilon in kelvin, sigma in angstrom) by element.
        cutoff: cutoff radius of the Lennard-Jones potential in angstrom.
        potential: "truncated", "shifted" or "tail", which has the average energy of the framework
            beyond the cutoff.
    """

    def __init__(
        self, solid: Solid, guest: Guest, laws: Mapping[str, tuple[float, float]], cutoff: float,
        potential: str,
    ) -> None:  # fmt: skip
        self.solid, self.guest, self.cutoff, self.potential = solid, guest, cutoff, potential
        of_atoms = np.array([laws[e] for e in solid.elements])
        epsilon = np.sqrt(np.outer(guest.laws[:, 0], of_atoms[:, 0]))
        sigma = (guest.laws[:, 1][:, None] + of_atoms[:, 1]) / 2
        self.wells, self.sixths = 4 * epsilon, sigma**6
        ratio = sigma / cutoff
        self.at_cutoff = self.wells * (ratio**12 - ratio**6)
        tails = 16 * math.pi / solid.volume * epsilon * sigma**3 * (ratio**9 / 9 - ratio**3 / 3)
        self.tail = float(tails.sum()) if potential == "tail" else 0.0
        self.charged = bool(np.any(guest.charges) and np.any(solid.charges))
        self._reach = 0.0  # of the images of the atoms
        if self.charged:
            self._waves()

    def _waves(self) -> None:
        """Ewald's waves of the framework on a mesh, as coefficients of splines."""
        solid = self.solid
        lengths = np.linalg.norm(solid.edges, axis=1)
        self.points = np.ceil(LONGEST * lengths / PHASE).astype(int)
        most = (LONGEST * lengths / (2 * math.pi)).astype(int)
        n = [np.arange(-m, m + 1) for m in most]
        numbers = np.stack(np.meshgrid(*n, indexing="ij"), axis=-1)
        squares = ((numbers @ (2 * math.pi * np.linalg.inv(solid.edges).T)) ** 2).sum(axis=-1)
        factor = np.zeros(squares.shape, dtype=complex)
        for part in np.array_split(np.arange(len(solid.charges)), 1 + len(solid.charges) // 64):
            pairs = zip(n, solid.fractional[part].T, strict=True)
            a, b, c = (np.exp(-2j * math.pi * np.outer(k, u)) for k, u in pairs)
            factor += np.einsum("xm,ym,zm->xyz", a * solid.charges[part], b, c, optimize=True)
        kept = (squares > 0) & (squares <= LONGEST**2)
        squares = np.where(kept, squares, 1.0)
        scale = 4 * math.pi / solid.volume * np.exp(-squares / (4 * ALPHA**2)) / squares
        mesh = np.zeros(self.points, dtype=complex)
        mesh[np.ix_(*[k % p for k, p in zip(n, self.points, strict=True)])] = np.where(
            kept, scale * factor, 0
        )
        potential = np.fft.ifftn(mesh).real * mesh.size
        self.spline = spline_filter(potential, order=5, mode="grid-wrap")

    def _waves_at(self, fractional: np.ndarray) -> np.ndarray:
        """The part of the potential that Ewald's waves have."""
        places = (fractional * self.points).T
        return map_coordinates(self.spline, places, order=5, mode="grid-wrap", prefilter=False)

    def of(self, places: np.ndarray, center: np.ndarray, radius: float) -> np.ndarray:
        """Energies of poses (poses, sites, 3) whose sites are within `radius` of a point, without
        Ewald's waves."""
        atoms, kinds = self._near(center, radius + max(self.cutoff, REACH))
        energies = np.full(len(places), self.tail)
        for s, q in enumerate(self.guest.charges):
            x = places[:, s] - center
            squares = (x**2).sum(axis=1)[:, None] + (atoms**2).sum(axis=1) - 2 * x @ atoms.T
            squares = np.maximum(squares, 1e-2)
            inverse = 1 / squares
            sixth = self.sixths[s, kinds] * (inverse * inverse * inverse)
            pairs = self.wells[s, kinds] * (sixth * sixth - sixth)
            if self.potential == "shifted":
                pairs -= self.at_cutoff[s, kinds]
            pairs *= squares < self.cutoff**2
            energies += pairs.sum(axis=1)
            if q and self.charged:
                pose, atom = np.nonzero(squares < REACH**2)
                r = np.sqrt(squares[pose, atom])
                each = COULOMB * q * self.solid.charges[kinds[atom]] * erfc(ALPHA * r) / r
                energies += np.bincount(pose, each, minlength=len(places))
        return energies

    def _near(self, center: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
        """Vectors from a point of the unit cell to the atoms within a distance, and the numbers of
        these atoms."""
        if reach > self._reach:
            inverse = np.linalg.inv(self.solid.edges)
            margin = reach * np.linalg.norm(inverse, axis=0)
            n = [np.arange(-math.ceil(m), math.ceil(m) + 1) for m in margin]
            shifts = np.stack(np.meshgrid(*n, indexing="ij"), -1).reshape(-1, 3)
            f = (self.solid.fractional % 1.0)[:, None] + shifts
            near = ((f > -margin) & (f < 1 + margin)).all(axis=-1)
            self._images, self._kinds = f[near] @ self.solid.edges, np.nonzero(near)[0]
            self._tree, self._reach = cKDTree(self._images), reach
        found = self._tree.query_ball_point(center, reach)
        return self._images[found] - center, self._kinds[found]

    def waves(self, places: np.ndarray) -> np.ndarray:
        """Ewald's waves of the framework at the sites of poses (poses, sites, 3)."""
        inverse = np.linalg.inv(self.solid.edges)
        energies = np.zeros(len(places))
        for s, q in enumerate(self.guest.charges):
            if q:
                energies += COULOMB * q * self._waves_at(places[:, s] @ inverse)
        return energies


def turned(rng: np.random.Generator, places: np.ndarray, number: int) -> np.ndarray:
    """Sites in uniformly random orientations, (number, sites, 3)."""
    q, r = np.linalg.qr(rng.normal(size=(number, 3, 3)))
    q *= np.sign(np.einsum("nii->ni", r))[:, None, :]
    q[:, :, 0] *= np.linalg.det(q)[:, None]  # a rotation, without inversion
    return np.einsum("nij,sj->nsi", q, places)


class Voxels:
    """Batches of poses by voxels of the unit cell."""

    def __init__(self, energy: Energy, temperature: float, seed: int, number: int) -> None:
        self.energy, self.temperature = energy, temperature
        self.rng = np.random.default_rng(seed)
        edge = max(VOXEL, (energy.solid.volume / number) ** (1 / 3))
        self.shape = np.ceil(np.linalg.norm(energy.solid.edges, axis=1) / edge).astype(int)
        self.number = int(self.shape.prod())
        corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        corners = corners / self.shape @ energy.solid.edges
        reach = np.linalg.norm(energy.guest.places, axis=1).max()
        self.radius = float(np.linalg.norm(corners, axis=1).max() + reach)
        self.squares, self.poses = np.zeros(self.number), np.zeros(self.number)

    def factors(self, voxels: np.ndarray) -> np.ndarray:
        """Boltzmann factors of a random pose in each voxel of a sorted list."""
        solid, guest = self.energy.solid, self.energy.guest
        corner = np.array(np.unravel_index(voxels, self.shape)).T
        inside = (corner + self.rng.random((len(voxels), 3))) / self.shape
        places = (inside @ solid.edges)[:, None] + turned(self.rng, guest.places, len(voxels))
        energies = np.empty(len(voxels))
        ends = np.append(np.flatnonzero(np.diff(voxels)) + 1, len(voxels))
        first = 0
        for end in ends:
            for part in np.array_split(np.arange(first, end), 1 + (end - first) // 256):
                middle = (corner[first] + 0.5) / self.shape @ solid.edges
                energies[part] = self.energy.of(places[part], middle, self.radius)
            first = end
        open_ = energies < 100 * self.temperature
        if self.energy.charged and open_.any():
            energies[open_] += self.energy.waves(places[open_])
        factors = np.exp(-np.minimum(energies, 600 * self.temperature) / self.temperature)
        np.add.at(self.squares, voxels, factors**2)
        np.add.at(self.poses, voxels, 1)
        return factors

    def shares(self) -> np.ndarray:
        """The probability of each voxel: a part by its own poses, and one by its neighbors'."""
        rms = np.sqrt(self.squares / np.maximum(self.poses, 1)).reshape(self.shape)
        around = uniform_filter(self.squares.reshape(self.shape), 3, mode="wrap")
        around /= uniform_filter(self.poses.reshape(self.shape), 3, mode="wrap")
        rms = (rms + np.sqrt(np.maximum(around, 0))).reshape(-1)
        return UNIFORM / self.number + (1 - UNIFORM) * rms / rms.sum()

    def batch(self, poses: int) -> np.ndarray:
        """The weighted Boltzmann factors of a batch."""
        shares = self.shares()
        voxels = np.sort(self.rng.choice(self.number, size=poses, p=shares))
        return self.factors(voxels) / (shares[voxels] * self.number)


def henry(
    energy: Energy, temperature: float, *, error: float = 0.004, poses: int = 40_000,
    most: int = 40, voxels: int = 8000, seed: int = 1,
) -> tuple[float, float]:  # fmt: skip
    """Henry coefficient in mol/(kg Pa) and its relative standard error.

    Args:
        energy: energy of a pose.
        temperature: temperature in kelvin.
        error: wanted relative standard error. The number of batches follows from a pilot, because
            a run that stops at its own error is biased.
        poses, most: number of poses of a batch, and the largest number of batches.
        voxels: approximate number of voxels of the unit cell.
        seed: seed of the random numbers.
    """
    cells = Voxels(energy, temperature, seed, voxels)
    for _ in range(4):
        cells.factors(np.arange(cells.number))
    for _ in range(2):  # these improve the shares, and give the number of batches
        pilot = cells.batch(poses)
    wanted = (pilot.std() / pilot.mean() / error) ** 2 / poses
    factors = np.concatenate([cells.batch(poses) for _ in range(min(most, math.ceil(wanted)))])
    mean = float(factors.mean())
    spread = float(factors.std() / mean / math.sqrt(len(factors)))
    mass = energy.solid.mass / AVOGADRO * 1e-3
    unit = energy.solid.volume * 1e-30 / (BOLTZMANN * temperature * AVOGADRO * mass)
    return mean * unit, spread


def quadrature(energy: Energy, temperature: float, spacing: float) -> float:
    """Henry coefficient in mol/(kg Pa) of a molecule of one site without charges, by the sum over a
    mesh. It has no statistical error, and converges faster than any power of the spacing once this
    resolves the wells, because the Boltzmann factor is smooth and periodic.

    Args:
        energy: energy of a pose.
        temperature: temperature in kelvin.
        spacing: largest spacing of the mesh along the edges in angstrom.
    """
    solid, block = energy.solid, 8
    points = np.ceil(np.linalg.norm(solid.edges, axis=1) / spacing).astype(int)
    corners = [np.arange(0, count, block) for count in points]
    reach = np.linalg.norm(block / points @ np.abs(solid.edges))
    total = 0.0
    for corner in np.stack(np.meshgrid(*corners, indexing="ij"), -1).reshape(-1, 3):
        axes = [np.arange(c, min(c + block, n)) / n for c, n in zip(corner, points, strict=True)]
        inside = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3) @ solid.edges
        found = energy.of(inside[:, None], inside.mean(axis=0), float(reach))
        total += float(np.exp(-np.minimum(found / temperature, 600)).sum())
    mass = solid.mass / AVOGADRO * 1e-3
    unit = solid.volume * 1e-30 / (BOLTZMANN * temperature * AVOGADRO * mass)
    return total / int(points.prod()) * unit
