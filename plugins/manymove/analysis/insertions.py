# SPDX-License-Identifier: BSD-3-Clause
"""Chemical potentials of hard particles from test insertions."""

from __future__ import annotations

import itertools
import math
from threading import Lock
from typing import Any

import numpy as np

from manymove import arguments
from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.errors import ParameterError

_DISTANCES = 1 << 21  # in a piece of an array


class WidomInsertions:
    """The excess chemical potential of hard particles by test insertions (Widom, J. Chem. Phys. 39,
    2808, 1963).

    It is mu_ex = -kT ln(p), where p is the probability that a particle at a random place of the box
    overlaps with no other particle. The object is a callback of `HardDisks.run` and
    `HardSpheres.run` at constant volume; each call makes test insertions and records their share
    without overlaps. An object belongs to one simulation, which is recognized by its seed, N and
    box; `Replicas` need an object for each.

    Args:
        trials: number of test insertions of a call.
        seed: seed of the random places.
        diameter: diameter of the inserted particle, in the unit of the positions (default that of
            equal particles).
        type: type of the inserted particle in a `Mixture` of types, instead of a diameter.

    Raises:
        TypeError: an argument is not a number, or `trials`, `seed` or `type` is not an integer.
        ValueError: an argument is out of range.
    """

    def __init__(
        self,
        trials: int = 10_000,
        *,
        seed: int,
        diameter: float | None = None,
        type: int | None = None,
    ) -> None:
        self._trials = arguments.count("trials", trials)
        self._random = np.random.default_rng(arguments.uint64("seed", seed))
        if diameter is not None and type is not None:
            raise ParameterError("diameter", "and type cannot both be given")
        if diameter is not None and not 0 <= arguments.number("diameter", diameter) < math.inf:
            raise ParameterError("diameter", f"must be finite and not negative, got {diameter}")
        self._diameter = diameter
        self._type = None if type is None else arguments.integer("type", type)
        self._shares: list[float] = []
        self._lock = Lock()
        self._simulation: tuple[Any, ...] | None = None

    def __call__(self, particles: Any) -> None:
        """Make the test insertions in the present configuration of a simulation.

        Raises:
            RuntimeError: the particles have external fields, steps, pinned particles or constant
                pressure, or are a box of a `GibbsEnsemble`, which has its fugacities; or another
                simulation was recorded before.
            ValueError: the particles are a mixture, and neither `diameter` nor `type` fits it.
        """
        if not hasattr(particles, "pinned"):
            raise TypeError(f"particles must be HardDisks or HardSpheres, got {particles!r}")
        for name, found in (
            ("external fields", particles.fields),
            ("steps", particles.steps),
            ("pinned particles", particles.pinned.any()),
            ("constant pressure", particles.constant_pressure is not None),
            ("the exchanges of a GibbsEnsemble", particles._in_gibbs_ensemble),
        ):
            if found:
                raise RuntimeError(f"test insertions are not possible with {name}")
        N = particles.N if particles.fugacity is None else None
        simulation = particles.seed, N, tuple(particles.box)
        with self._lock:
            if self._simulation not in (None, simulation):
                raise RuntimeError("WidomInsertions belong to one simulation: make one for each")
            self._simulation = simulation
        box = np.array(particles.box)
        places = self._random.uniform(-0.5, 0.5, (self._trials, len(box))) * box
        free = fit(places, particles.positions, self._contacts(particles), box)
        self._shares.append(float(free.mean()))

    def _contacts(self, particles: Any) -> np.ndarray:
        """Contact distance of the inserted particle with each other one, (N,)."""
        table = particles.contacts
        if table is not None:
            if self._type is None or not 0 <= self._type < len(table):
                raise ParameterError(
                    "type", f"must be a type of the mixture, from 0 to {len(table) - 1}"
                )
            return np.asarray(table)[self._type][particles.types]
        if self._type is not None:
            raise ParameterError("type", "is for a Mixture of types: give a diameter")
        if particles.mixed and self._diameter is None:
            raise ParameterError("diameter", "must be given for a mixture")
        inserted = particles.diameter if self._diameter is None else self._diameter
        return (inserted + np.asarray(particles.diameters)) / 2

    @property
    def records(self) -> np.ndarray:
        """Share of the insertions without overlaps in each call, float64 (n,)."""
        return np.array(self._shares)

    @property
    def probability(self) -> Estimate:
        """Probability of an insertion without overlaps.

        Raises:
            RuntimeError: nothing was inserted.
        """
        if not self._shares:
            raise RuntimeError("nothing inserted: run with the object as a callback")
        return estimate(self.records)

    @property
    def excess_chemical_potential(self) -> Estimate:
        """mu_ex / kT. It is that of infinitely many particles up to corrections of order 1/N.

        Raises:
            RuntimeError: nothing was inserted, or every insertion has overlaps.
        """
        share = self.probability
        if not share.value:
            raise RuntimeError("every insertion has overlaps: more trials, or a smaller density")
        return Estimate(-math.log(share.value), share.error / share.value, share.converged)


def fit(
    places: np.ndarray, positions: np.ndarray, contacts: np.ndarray, box: np.ndarray
) -> np.ndarray:
    """Whether a particle at each place overlaps with no particle, bool (M,).

    Args:
        places: places in the box, (M, D).
        positions: positions of the particles in the box, (N, D).
        contacts: contact distance of the inserted particle with each of them, (N,).
        box: edges of the periodic box, (D,).
    """
    if not len(positions):
        return np.ones(len(places), dtype=bool)
    D, reach = len(box), float(contacts.max())
    most = max(1, round((2 * len(positions)) ** (1 / D)))  # cells along an axis
    counts = np.array([min(most, max(1, int(edge / reach))) if reach else 1 for edge in box])
    table = _members(_cells(positions, counts, box), counts)
    steps = [(-1, 0, 1) if count > 2 else range(count) for count in counts]
    offsets = np.array([*itertools.product(*steps)])
    free = np.empty(len(places), dtype=bool)
    length = max(1, _DISTANCES // (len(offsets) * table.shape[1]))
    for first in range(0, len(places), length):
        some = places[first : first + length]
        cells = (_cells(some, counts, box)[:, None] + offsets) % counts
        near = table[np.ravel_multi_index(tuple(np.moveaxis(cells, -1, 0)), counts)]
        near = near.reshape(len(some), -1)  # with -1 for places without a particle
        apart = some[:, None] - positions[near]
        apart -= np.rint(apart / box) * box
        overlap = ((apart**2).sum(axis=2) < contacts[near] ** 2) & (near >= 0)
        free[first : first + length] = ~overlap.any(axis=1)
    return free


def _cells(points: np.ndarray, counts: np.ndarray, box: np.ndarray) -> np.ndarray:
    """The cell of each point, (n, D)."""
    return np.clip(np.floor((points / box + 0.5) * counts).astype(int), 0, counts - 1)


def _members(cells: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Indices of the particles in each cell, (cells, most), with -1 where there are fewer."""
    index = np.ravel_multi_index(tuple(cells.T), counts)
    held = np.bincount(index, minlength=int(counts.prod()))
    table = np.full((len(held), max(1, int(held.max()))), -1)
    order = np.argsort(index, kind="stable")
    ranks = np.arange(len(index)) - np.repeat(np.cumsum(held) - held, held)
    table[index[order], ranks] = order
    return table
