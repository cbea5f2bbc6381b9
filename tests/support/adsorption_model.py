"""A small framework and what is exact in it, for the tests of adsorption."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from flat_settings import of_adsorption

from manymove import Adsorption
from manymove.adsorption.adsorbates import Adsorbate
from manymove.adsorption.frameworks import Framework

CUTOFF = 4.0
GAS = Adsorbate("Ar", epsilon=120.0, sigma=3.0, framework={"O": (160.0, 2.6), "Si": None})


def small_framework() -> Framework:
    """Four atoms that feel the adsorbate and one that does not, in a cell of 8.5 x 9 x 10."""
    fractional = np.array(
        [[0.1, 0.2, 0.3], [0.6, 0.1, 0.8], [0.4, 0.7, 0.2], [0.9, 0.8, 0.65], [0.5, 0.5, 0.5]]
    )
    return Framework("small", (8.5, 9.0, 10.0), fractional, ("O", "O", "O", "O", "Si"), 92.0)


def make(method: str = "mdp", molecules: int = 1, **settings: Any) -> Adsorption:
    """One unit cell of the small framework on a coarse spline."""
    defaults: dict[str, Any] = dict(
        adsorbates=GAS, cutoff=CUTOFF, systems=64, interpolation="cubic", grid_spacing=0.25,
        threads=2,
    )  # fmt: skip
    settings = {**defaults, **settings}
    return molecules_in(small_framework(), molecules, method=method, **settings)


def molecules_in(where: Any, molecules: Any, adsorbates: Any, **settings: Any) -> Adsorption:
    """Molecules in a framework, which has no blocked pockets, or in an empty box."""
    defaults: dict[str, Any] = dict(barrier=None, seed=1, device="cpu")
    if isinstance(where, tuple):
        defaults["cells"] = (1, 1, 1)
    settings = {**defaults, **settings}
    return Adsorption(
        **of_adsorption(framework=where, molecules=molecules, adsorbates=adsorbates, **settings)
    )


def places(box: tuple[float, float, float], points: int) -> np.ndarray:
    """Cell centers of a regular lattice over the box, (points**3, 3), z fastest."""
    u = (np.arange(points) + 0.5) / points
    return np.stack(np.meshgrid(u, u, u, indexing="ij"), axis=-1).reshape(-1, 3) * np.array(box)


def field(adsorption: Adsorption, xyz: np.ndarray) -> np.ndarray:
    """Framework energies, from the same interpolation as the trajectory's."""
    return adsorption._engine.framework_energies(np.ascontiguousarray(xyz), 0, False)


def pair_energy(squared: np.ndarray, law: Adsorbate = GAS, cutoff: float = CUTOFF) -> np.ndarray:
    """Eq. 1, shifted, from squared distances."""
    q6, edge6 = (law.sigma**2 / squared) ** 3, (law.sigma / cutoff) ** 6
    u = 4 * law.epsilon * (q6 * (q6 - 1) - edge6 * (edge6 - 1))
    return np.where(squared < cutoff**2, u, 0.0)


def nearest(vectors: np.ndarray, box: tuple[float, float, float]) -> np.ndarray:
    """Squared lengths of the nearest images."""
    edges = np.array(box)
    return ((vectors - np.rint(vectors / edges) * edges) ** 2).sum(axis=-1)


def agrees(value: float, error: float, exact: float, exact_error: float = 0.0) -> bool:
    """Within five joint standard errors.

    Errors over few systems follow Student's t: with another seed the probability of a false alarm
    is 1.6e-4 for 16 systems, 4.9e-6 for 64, 1.9e-6 for 128 and 1.1e-6 for 256. Seeds are fixed.
    """
    return abs(value - exact) < 5 * np.hypot(error, exact_error)


def is_poisson(counts: np.ndarray, mean: float) -> bool:
    """Whether independent counts have a Poisson distribution of this mean, which is about four. One
    false alarm in 1e6: chi squared of nine degrees of freedom."""
    found = np.bincount(counts, minlength=12)
    found = np.array([*found[:9], found[9:].sum()])
    shares = [math.exp(-mean) * mean**k / math.factorial(k) for k in range(9)]
    expected = len(counts) * np.array([*shares, 1 - sum(shares)])
    return np.sum((found - expected) ** 2 / expected) < 46.2


def state(a: Adsorption) -> tuple:
    """Trajectory and averages, exactly."""
    snapshot = a._engine.snapshot()
    return (a.state_hash, *(snapshot[n].tobytes() for n in ("energies", "sums", "profile")))


def cif(
    atoms: str,
    edges: Sequence[float] = (9, 9, 9),
    angles: Sequence[float] = (90, 90, 90),
    symmetry: str = "_symmetry_space_group_name_H-M 'P 1'\n",
    occupancy: bool = True,
) -> str:
    """A CIF file: a line of label, element, three fractions and the occupancy per atom."""
    names = ("length_a", "length_b", "length_c", "angle_alpha", "angle_beta", "angle_gamma")
    cell = (f"_cell_{name} {x}\n" for name, x in zip(names, (*edges, *angles), strict=True))
    columns = ["label", "type_symbol", "fract_x", "fract_y", "fract_z", "occupancy"]
    table = "".join(f"_atom_site_{name}\n" for name in columns[: 6 if occupancy else 5])
    return f"data_test\n{''.join(cell)}{symmetry}loop_\n{table}{atoms.rstrip()}\n"
