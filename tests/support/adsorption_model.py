"""A small framework and what is exact in it, for the tests of adsorption."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from flat_settings import of_adsorption
from machine import on_gpu, runnable_simd_levels

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


class Contract:
    """Tests of adsorbates whose moves have several trials. A module derives a class from this one,
    which says how such systems are made, what they are compared by, and after how many steps."""

    steps, part = 900, 400
    state: Callable[[Adsorption], tuple] = staticmethod(state)

    @staticmethod
    def made(steps: int, **settings: Any) -> Adsorption:
        """Open systems of two species with small capacities after some steps."""
        raise NotImplementedError

    @pytest.mark.parametrize("method", ["metropolis", "plj"])
    def test_capacity_threads_and_pieces_leave_no_trace(self, method):
        made = partial(self.made, method=method)
        large, small = (made(self.steps, capacity=[n, n]) for n in (60, 1))
        assert small.capacity != large.capacity
        assert self.state(small) == self.state(large)
        pieces = made(self.part, threads=1)
        pieces.run(self.steps - self.part)
        assert self.state(pieces) == self.state(large)

    def test_checkpoints_continue_to_the_same_bits(self, tmp_path, device):
        whole, part = (self.made(steps, device=device) for steps in (self.steps, self.part))
        part.save(tmp_path / "state")
        again = Adsorption.load(tmp_path / "state", device=device)
        assert again.resolved_settings == part.resolved_settings
        assert again.ideal_weights == part.ideal_weights
        again.run(self.steps - self.part)
        assert self.state(again) == self.state(whole)
        assert again.loading_from_insertions == whole.loading_from_insertions

    def test_an_interrupted_run_is_between_two_steps(self):
        def stop(a: Adsorption) -> None:
            if a.steps > 200:
                raise KeyboardInterrupt

        a = self.made(0)
        with pytest.raises(KeyboardInterrupt):
            a.run(10**6, [(1, stop)])
        assert self.state(a) == self.state(self.made(a.steps))

    def test_simd_levels_give_the_same_bits(self, monkeypatch):
        states = set()
        for level in runnable_simd_levels():
            monkeypatch.setenv("MANYMOVE_SIMD", level)
            states.add(self.state(self.made(200)))
        assert len(states) == 1

    @on_gpu
    @pytest.mark.parametrize("precision", ["mixed", "double"])
    def test_a_gpu_decides_as_a_cpu(self, precision):
        both = [
            self.made(self.steps, device=where, precision=precision) for where in ("cpu", "cuda")
        ]
        assert self.state(both[0]) == self.state(both[1])
        assert both[0].identity_change_acceptance > 0
        tests = [a.insert_test_molecules(20).value for a in both]
        assert tests[0] == tests[1]
