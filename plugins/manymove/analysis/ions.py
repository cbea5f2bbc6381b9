"""Species of ions, salts, and initial configurations of charged hard spheres."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng  # a Ctrl-C during its first import would be lost

from manymove import arguments

AVOGADRO_PER_LITER = 6.02214076e-4  # ions per cubic angstrom at 1 mol/l (SI, exact)


@dataclass(frozen=True)
class Species:
    """A species of ions.

    Attributes:
        valence: charge in elementary charges, not 0.
        diameter: diameter of the hard core in angstrom. The contact distance of two ions is the
            mean of their diameters.

    Raises:
        ValueError: the valence is 0, the diameter is not positive, or one of them is not finite.
    """

    valence: float
    diameter: float

    def __post_init__(self) -> None:
        valence = arguments.number("valence", self.valence)
        if valence == 0 or not math.isfinite(valence):
            raise ValueError(f"a species has valence {valence:g}; it must be finite and not 0")
        diameter = arguments.number("diameter", self.diameter)
        if not 0 < diameter < math.inf:
            raise ValueError(f"a species has diameter {diameter:g}; it must be positive and finite")


@dataclass(frozen=True)
class Salt:
    """A neutral mixture of two species of opposite charge.

    Attributes:
        species: the two species, in the order of the given valences.
        counts: number of ions of each species.
    """

    species: tuple[Species, Species]
    counts: tuple[int, int]

    @classmethod
    def of(cls, ions: int, valences: tuple[int, int], diameters: tuple[float, float]) -> Salt:
        """Create the salt with a total number of ions.

        Args:
            ions: number of ions of both species together.
            valences: valences of the two species, of opposite sign.
            diameters: diameters of the two species in angstrom.

        Raises:
            ValueError: the valences have the same sign, or the number of ions cannot be neutral.
            TypeError: the number of ions or a valence is not an integer.
        """
        for name, pair in (("valences", valences), ("diameters", diameters)):
            if np.shape(pair) != (2,):
                raise ValueError(f"{name} must be a pair, one for each species, got {pair!r}")
        ions = arguments.count("ions", ions, 2**30)
        first, second = (arguments.integer("valences", valence) for valence in valences)
        if not first * second < 0:
            raise ValueError(f"valences {first} and {second}: one must be positive, one negative")
        common = math.gcd(abs(first), abs(second))
        per_unit = (abs(second) // common, abs(first) // common)
        units, rest = divmod(ions, sum(per_unit))
        if rest:
            raise ValueError(
                f"{ions} ions of valences {first} and {second} are not neutral: "
                f"their number must be a multiple of {sum(per_unit)}"
            )
        one, other = (Species(z, d) for z, d in zip((first, second), diameters, strict=True))
        return cls((one, other), (units * per_unit[0], units * per_unit[1]))

    @property
    def mean_square_valence(self) -> float:
        """Mean of the squared valence z^2 over all ions."""
        weights = zip(self.species, self.counts, strict=True)
        return sum(s.valence**2 * n for s, n in weights) / sum(self.counts)

    def density(self, debye_length: float, bjerrum_length: float) -> float:
        """Number of ions per cubic angstrom at a bare Debye length (Eq. 5 of Liang, Xing and Li).

        Args:
            debye_length: bare Debye length in angstrom.
            bjerrum_length: Bjerrum length in angstrom.

        Raises:
            ValueError: a length is not positive.
        """
        arguments.positive_and_finite("debye_length", debye_length)
        arguments.positive_and_finite("bjerrum_length", bjerrum_length)
        return 1 / (4 * math.pi * bjerrum_length * self.mean_square_valence * debye_length**2)

    def density_at(self, concentration: float) -> float:
        """Number of ions per cubic angstrom at a concentration of formula units in mol/l.

        Raises:
            ValueError: the concentration is not positive.
        """
        arguments.positive_and_finite("concentration", concentration)
        units = math.gcd(*self.counts)
        return concentration * AVOGADRO_PER_LITER * sum(self.counts) / units


def debye_length(
    densities: Sequence[float] | np.ndarray, valences: Sequence[float] | np.ndarray, bjerrum: float
) -> float:
    """Bare Debye length 1 / kappa with kappa^2 = 4 pi l_B sum n z^2 (Eq. 5 of Liang, Xing and Li).

    Args:
        densities: number of ions of each species per cubic angstrom.
        valences: valence of each species.
        bjerrum: Bjerrum length l_B = beta e^2 / (4 pi epsilon), in angstrom.

    Returns:
        the length in angstrom.
    """
    strength = sum(n * z * z for n, z in zip(densities, valences, strict=True))
    return 1 / math.sqrt(4 * math.pi * bjerrum * strength)


def random_sphere(ions: int, radius: float, diameter: float, seed: int) -> np.ndarray:
    """Random positions of ions without overlaps in a sphere.

    Random sites of a face-centered cubic lattice are chosen and displaced at random as far as no
    overlaps can occur.

    Args:
        ions: number of ions.
        radius: radius of the sphere that contains all centers, in angstrom.
        diameter: minimum distance of two centers in angstrom.
        seed: seed of the random number generator.

    Returns:
        centers in angstrom, float64 (ions, 3).

    Raises:
        ValueError: the lattice has fewer sites than ions in the sphere.
    """
    if ions > 1 and diameter > 2 * radius:
        raise ValueError(
            f"too dense: two ions at least {diameter:.6g} apart have no room in a sphere of radius "
            f"{radius:.6g}"
        )
    random = default_rng(seed)
    least = diameter * (1 + 1e-6) + 8 * radius / 2**23  # room for the engine's rounding

    def sites(spacing: float) -> np.ndarray:
        edge = math.sqrt(2) * spacing
        n = math.ceil(radius / edge) + 1
        grid = np.stack(np.meshgrid(*3 * [np.arange(-n, n)], indexing="ij"), -1).reshape(-1, 3)
        basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]) + 0.2137
        points = ((grid[:, None, :] + basis) * edge).reshape(-1, 3)
        return points[(points**2).sum(axis=1) <= radius**2]

    # Twice as many sites as ions where there is room, or as many as there can be.
    spacing = (math.sqrt(2) * 4 / 3 * math.pi * radius**3 / (2 * ions)) ** (1 / 3)
    spacing = max(least, min(spacing, radius))
    points = sites(spacing)
    while len(points) < ions and spacing > least:
        spacing = max(least, 0.97 * spacing)
        points = sites(spacing)
    if len(points) < ions:
        raise ValueError(
            f"too dense: a sphere of radius {radius:.6g} has no room for {ions} ions at least "
            f"{diameter:.6g} apart (found {len(points)} sites)"
        )
    chosen = points[random.permutation(len(points))[:ions]]
    shaken = chosen + _shake(random, ions, spacing - least)
    outside = (shaken**2).sum(axis=1) > radius**2
    shaken[outside] = chosen[outside]
    return shaken


def random_box(ions: int, box: tuple[float, ...], diameter: float, seed: int) -> np.ndarray:
    """Random positions of ions without overlaps in a periodic box, as `random_sphere`.

    Args:
        ions: number of ions.
        box: edges (Lx, Ly, Lz) in angstrom.
        diameter: minimum distance of two centers in angstrom.
        seed: seed of the random number generator.

    Returns:
        centers in angstrom, float64 (ions, 3), in [-L/2, L/2).

    Raises:
        ValueError: the lattice has fewer sites than ions in the box.
    """
    random = default_rng(seed)
    edges = np.array(box, dtype=float)
    least = diameter * (1 + 1e-6) + 8 * edges.max() / 2**24
    most = np.floor(edges / (math.sqrt(2) * least)).astype(int)
    if 4 * most.prod() < ions:
        raise ValueError(
            f"too dense: a box of edges {box} has no room for {ions} ions at least "
            f"{diameter:.6g} apart ({4 * most.prod()} sites)"
        )
    cells = most
    wanted = edges * (2 * ions / 4 / edges.prod()) ** (1 / 3)  # twice as many sites as ions
    if (np.ceil(wanted) <= most).all():
        cells = np.maximum(1, np.ceil(wanted).astype(int))
    grid = np.stack(np.meshgrid(*map(np.arange, cells), indexing="ij"), -1).reshape(-1, 3)
    basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    points = ((grid[:, None, :] + basis + 0.25) / cells - 0.5).reshape(-1, 3) * edges
    chosen = points[random.permutation(len(points))[:ions]]
    cell = edges / cells
    spacing = min(math.hypot(cell[a], cell[b]) / 2 for a, b in ((0, 1), (0, 2), (1, 2)))
    spacing = min(spacing, cell.min())
    shaken = chosen + _shake(random, ions, spacing - least)
    return shaken - np.floor(shaken / edges + 0.5) * edges


def _shake(random: Generator, ions: int, gap: float) -> np.ndarray:
    """Vectors shorter than half the gap, uniform in a ball."""
    directions = random.normal(size=(ions, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return directions * (0.49 * max(0.0, gap) * random.random(ions) ** (1 / 3))[:, None]
