# SPDX-License-Identifier: BSD-3-Clause
"""The program serial_proposals.cpp: trial moves of the paper and of its Appendix B on one core.

The program is compiled with the C++ compiler that the environment variable CXX names (default
c++). It shares nothing with the engine.
"""

from __future__ import annotations

import ctypes
import math
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manymove import script
from manymove.adsorption import METHANE as METHANE_OF_THE_PAPER
from manymove.adsorption import TRAPPE_ZEO, Framework, read_framework, read_molecule

SOURCE = Path(__file__).with_suffix(".cpp")
SCHEMES = ("metropolis", "walks", "naive", "gaussian", "corrected", "biased")


class Species(NamedTuple):
    """A molecule of serial_proposals.cpp.

    Attributes:
        types: type of each bead, 0 or 1, at most four beads.
        laws: (epsilon in kelvin, sigma in angstrom) of two beads of each type.
        framework: for each type, (epsilon, sigma) with each element of the framework.
        chain: bond in angstrom, bend in kelvin/rad^2 and radian, and torsion in kelvin.
    """

    types: tuple[int, ...]
    laws: tuple[tuple[float, float], ...]
    framework: tuple[dict[str, tuple[float, float]], ...]
    chain: tuple[float, tuple[float, float], tuple[float, ...]] = (1.0, (1.0, 1.0), (0.0,) * 4)


def mixed(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Lorentz-Berthelot rules."""
    return math.sqrt(a[0] * b[0]), 0.5 * (a[1] + b[1])


def _methane() -> Species:
    m = METHANE_OF_THE_PAPER
    laws = {element: m.with_element(element) for element in ("O", "Si")}
    return Species((0,), ((m.epsilon, m.sigma),), (laws,))


def _butane() -> Species:
    """n-Butane of TraPPE-UA in a framework of TraPPE-zeo."""
    chain = read_molecule("n-butane")
    end, middle = ((bead.epsilon, bead.sigma) for bead in chain.beads[:2])
    atoms = {element: TRAPPE_ZEO.parameters[element] for element in ("O", "Si")}
    framework = tuple({e: mixed(law, atom) for e, atom in atoms.items()} for law in (end, middle))
    stiffness, angle = chain.bends[0]
    internal = (chain.bonds[0], (stiffness, math.radians(angle)), chain.torsions[0])
    return Species((0, 1, 1, 0), (end, middle), framework, internal)


METHANE, BUTANE = _methane(), _butane()


class Setup(ctypes.Structure):
    """Setup in serial_proposals.cpp."""

    _fields_ = (
        *[(name, ctypes.c_int32) for name in ("scheme", "proposals", "molecules", "beads")],
        ("type", ctypes.c_int32 * 4), ("nodes", ctypes.c_int32 * 3), ("images", ctypes.c_int32 * 3),
        ("cell", ctypes.c_double * 3),
        *[(name, ctypes.c_double) for name in ("temperature", "cutoff", "displacement")],
        ("pair", ctypes.c_double * 8), ("bond", ctypes.c_double), ("bend", ctypes.c_double * 2),
        ("torsion", ctypes.c_double * 4),
        *[(name, ctypes.c_uint64) for name in ("seed", "stream", "equilibrate", "steps")],
    )  # fmt: skip


def about(origin: float, means: np.ndarray, origins: np.ndarray) -> np.ndarray:
    """Means (3, systems) of E, (E - origin)^2 and the jump as those about a common origin, with
    E - origin in place of E."""
    energy, squared, jump = means
    shift = origins - origin
    return np.array([energy - origin, squared + 2 * shift * (energy - origins) + shift**2, jump])


@cache
def compiled() -> ctypes.CDLL:
    """The program, which is compiled by the first call."""
    with tempfile.TemporaryDirectory() as folder:
        program = script.compiled(SOURCE, folder)
    program.serial_proposals.restype = ctypes.c_char_p
    program.serial_exact_energy.restype = ctypes.c_double
    return program


class Serial:
    """The program with the energies of a species in a framework.

    Args:
        species: the molecules.
        framework: framework with right angles (default MFI).
        spacing: largest spacing of the linear grid of framework energies in angstrom.
        images: number of unit cells of the box.
        cutoff: cutoff radius in angstrom; potentials are shifted to zero there.
        temperature: temperature in kelvin.
        threads: number of systems that run at the same time.
        nodes: number of nodes of the grid along each edge of the unit cell instead of `spacing`.
    """

    def __init__(
        self, species: Species, framework: Framework | None = None, spacing: float = 0.16,
        images: tuple[int, int, int] = (2, 2, 2), cutoff: float = 12.0, temperature: float = 300.0,
        threads: int = 1, nodes: tuple[int, int, int] | None = None,
    ) -> None:  # fmt: skip
        self.species, self.framework = species, framework or read_framework("MFI")
        cell = np.array(self.framework.cell)
        types = len(species.laws)
        pairs = [mixed(species.laws[min(a, types - 1)], species.laws[min(b, types - 1)])
                 for a in range(2) for b in range(2)]  # fmt: skip
        bond, bend, torsion = species.chain
        self._setup = Setup(
            0, 2, 1, len(species.types), (*species.types, *(4 - len(species.types)) * (0,)),
            nodes or tuple(math.ceil(edge / spacing) for edge in cell), images, tuple(cell),
            temperature, cutoff, 0.65, tuple(np.ravel(pairs)), bond, bend, tuple(torsion),
        )  # fmt: skip
        self._threads = threads
        self._library = compiled()
        self._grid = self._filled()

    def _filled(self) -> np.ndarray:
        cell, setup = np.array(self.framework.cell), self._setup
        places = np.asarray(self.framework.fractional) % 1.0 * cell
        reach = [range(-math.ceil(setup.cutoff / e), math.ceil(setup.cutoff / e) + 1)
                 for e in cell]  # fmt: skip
        shifts = np.stack(np.meshgrid(*reach, indexing="ij"), -1).reshape(-1, 3) * cell
        atoms = (places[:, None] + shifts).reshape(-1, 3)
        elements = np.repeat(np.array(self.framework.elements), len(shifts))
        near = ((atoms > -setup.cutoff) & (atoms < cell + setup.cutoff)).all(axis=1)
        grid = np.empty((len(self.species.laws), *setup.nodes))
        for kind, laws in enumerate(self.species.framework):
            acting = near & np.isin(elements, [e for e, law in laws.items() if law[0] > 0])
            some = np.ascontiguousarray(atoms[acting])
            own = np.ascontiguousarray([laws[e] for e in elements[acting]], dtype=float)

            def fill(i: int, kind: int = kind, some: Any = some, own: Any = own) -> None:
                self._library.serial_grid_plane(
                    ctypes.byref(setup), i, len(some), *map(_pointer, (some, own, grid[kind, i]))
                )

            with ThreadPoolExecutor(max(self._threads, os.cpu_count() or 1)) as pool:
                list(pool.map(fill, range(setup.nodes[0])))
        return grid

    def exact_energy(self) -> float:
        """Mean energy of one single-site molecule in kelvin on this grid, by integration."""
        return self._library.serial_exact_energy(ctypes.byref(self._setup), _pointer(self._grid))

    def energy_of_nodes(self) -> float:
        """Mean energy of one single-site molecule in kelvin from the nodes of the grid alone, where
        nothing is interpolated: the rectangle rule for a periodic function."""
        energies = self._grid[0]
        weights = np.exp(-(energies - energies.min()) / self._setup.temperature)
        return float((energies * weights).sum() / weights.sum())

    def run(
        self, start: np.ndarray, scheme: str, proposals: int, displacement: float, steps: int,
        seed: int, equilibrate: int | None = None,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Run systems from positions (systems, molecules, 3), or (systems, molecules, beads, 3).

        Args:
            start: positions of the beads in angstrom.
            scheme: one of SCHEMES.
            proposals: number of states of a step, with the old one; of "biased" without it.
            displacement: maximum of a step along each axis, or standard deviation of the Gaussian
                schemes, in angstrom.
            steps: number of measured steps of each system.
            seed: seed of the random numbers.
            equilibrate: number of steps before (default a quarter of the measured ones).

        Returns:
            arrays with a value for each system: `recycled` and `plain` mean energies in kelvin,
            `acceptance` and `evaluations` of energies in a step, the `first` energy, before the
            measured steps, and the `moments` and
            `plain_moments` (3, systems) of E, E^2 and half the squared jump about a common origin.
        """
        systems, molecules = start.shape[:2]
        sites = np.ascontiguousarray(start, dtype=np.float64).reshape(systems, -1)
        results = np.zeros((systems, 9))

        def one(k: int) -> None:
            setup = Setup.from_buffer_copy(self._setup)
            setup.scheme, setup.proposals = SCHEMES.index(scheme), proposals
            setup.molecules, setup.displacement = molecules, displacement
            setup.seed, setup.stream, setup.steps = seed, k, steps
            setup.equilibrate = steps // 4 if equilibrate is None else equilibrate
            if wrong := self._library.serial_proposals(
                ctypes.byref(setup), *map(_pointer, (self._grid, sites[k], results[k]))
            ):
                raise ValueError(wrong.decode())

        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(one, range(systems)))
        origins = results[:, 8]
        return {
            "recycled": results[:, 0], "plain": results[:, 3], "acceptance": results[:, 6],
            "evaluations": results[:, 7], "first": origins,
            "moments": about(origins.mean(), results[:, 0:3].T, origins),
            "plain_moments": about(origins.mean(), results[:, 3:6].T, origins),
        }  # fmt: skip


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean over the systems with its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
