# SPDX-License-Identifier: BSD-3-Clause
"""The engine of hard spheres and mixtures at the level of its binding, and a model of its own.

`Model` makes the cycles that docs/theory/hard_spheres.md describes, in Python's integers and
without a list of neighbors, an estimate or a tile in local storage, for comparison bit for bit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from manymove import _core

DEFAULTS = {
    "diameter": 1.0,
    "diameters": None,
    "types": None,
    "contacts": None,
    "max_displacement": 0.0,
    "cell_width": 0.0,
    "moves_per_cell": 0,
    "rounds": 0,
    "tile": 0,
    "seed": 1,
    "first_cycle": 0,
    "repair_depth": 1e-4,
}


def parameters(box: Iterable[float], count: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Parameters as the binding takes them. Disks of one size have a table of one type, because
    without it they are moved by the policy of equal disks."""
    known = {**DEFAULTS, "box": [float(edge) for edge in box], **settings}
    if len(known["box"]) == 2 and known["diameters"] is None and known["types"] is None:
        known |= {"types": np.zeros(count), "contacts": [[known["diameter"]]], "diameter": None}
    for name, kind in (("diameters", float), ("types", np.int32), ("contacts", float)):
        if known[name] is not None:
            known[name] = np.ascontiguousarray(known[name], dtype=kind)
    return known


def first(device: str) -> str:
    """The first device of a kind, in the words of the engines."""
    return "cuda:0" if device == "cuda" else device


def engine(positions: Any, box: Any, device: str = "cpu", threads: int = 1, **settings: Any):
    """An engine from positions."""
    return _core.HardParticles.from_positions(
        np.ascontiguousarray(positions, dtype=float),
        parameters(box, len(positions), settings),
        first(device),
        threads,
    )


def resumed(snapshot: dict, box: Any, device: str = "cpu", threads: int = 1, **settings: Any):
    """An engine from a snapshot."""
    particles = settings.pop("particles", len(snapshot["places"]) // len(box))
    return _core.HardParticles.from_snapshot(
        snapshot, particles, parameters(box, particles, settings), first(device), threads
    )


def positions_of(spheres: Any) -> np.ndarray:
    """Positions, (N, D)."""
    return spheres.positions().reshape(spheres.particles, -1)


def sites(box: Any, per_edge: Any = 3) -> np.ndarray:
    """Sites of a lattice that fills a box, (product of per_edge, D)."""
    counts = np.broadcast_to(per_edge, len(box))
    axes = [((np.arange(n) + 0.5) / n - 0.5) * edge for n, edge in zip(counts, box, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(box))


def contact_table(count: int, settings: dict[str, Any]) -> np.ndarray:
    """Contact distances of all pairs of particles, (N, N)."""
    if settings.get("contacts") is not None:
        types = np.asarray(settings["types"])
        return np.asarray(settings["contacts"], dtype=float)[np.ix_(types, types)]
    d = settings.get("diameters")
    d = np.full(count, settings.get("diameter", 1.0)) if d is None else np.asarray(d, dtype=float)
    return (d[:, None] + d) / 2


def scaled_distances(positions: np.ndarray, box: Any, table: np.ndarray, reach: float):
    """Pairs closer than `reach` contact distances, every periodic image, by brute force.

    Returns the distances in contact distances and the indices of the two particles.
    """
    edges = np.asarray(box, dtype=float)
    images = np.array(list(itertools.product((-1, 0, 1), repeat=len(edges)))) * edges
    found = []
    for i in range(len(positions) - 1):
        vectors = positions[i + 1 :] - positions[i]
        vectors -= np.rint(vectors / edges) * edges
        for image in images:
            s = np.sqrt(((vectors + image) ** 2).sum(axis=1)) / table[i, i + 1 :]
            found += [(s[k], i, i + 1 + k) for k in np.flatnonzero(s < reach)]
    distances, i, j = zip(*found, strict=True) if found else ((), (), ())
    return np.array(distances), np.array(i, dtype=int), np.array(j, dtype=int)


# ---- a model of the engine ---------------------------------------------------------------------

_LAST = 0xFFFFFFFF


def _philox(counter: list[int], seed: int) -> list[int]:
    """Philox 4x32-10."""
    a, b, c, d = counter
    k0, k1 = seed & _LAST, seed >> 32
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ k0, q & _LAST, p >> 32 ^ d ^ k1, p & _LAST
        k0, k1 = (k0 + 0x9E3779B9) & _LAST, (k1 + 0xBB67AE85) & _LAST
    return [a, b, c, d]


def _even(x: float) -> int:
    """The nearest even integer, ties to a multiple of four."""
    return 2 * round(x / 2)


class Model:
    """A system on the engine's integers, from an engine's snapshot and grid."""

    def __init__(self, spheres: Any, box: Any, settings: dict[str, Any]):
        snapshot, grid = spheres.snapshot(), spheres.grid
        self.D = len(box)
        self.seed = settings.get("seed", 1)
        self.cycle, self.trial_moves, self.accepted_moves = snapshot["counters"]
        self.origin = list(snapshot["origin"][: self.D])
        self.places = snapshot["places"].reshape(-1, self.D).tolist()
        self.cells, self.tiles = grid["cells"], grid["tiles"]
        tile = grid["tile"]
        widths = (tile,) * self.D if isinstance(tile, int) else tile
        self.plane = math.prod(width + 1 for width in widths)
        self.moves, self.rounds = grid["moves_per_cell"], grid["rounds"]
        self.half = [round(w / grid["unit"] / 4) * 2 for w in grid["cell_width"]]
        self.extent = [2 * h * n for h, n in zip(self.half, self.cells, strict=True)]
        self.step = grid["max_displacement"] / grid["unit"] / 16383.5
        self.step = round(self.step * 2**13) / 2**13
        N, unit = len(self.places), grid["unit"]
        self.squares = (contact_table(N, settings) / unit) ** 2
        types = np.asarray(settings.get("types", np.zeros(N)), dtype=int)
        # Of each step the squared ranges of all pairs, and their energies in units of 2**-32 kT.
        self.steps = [
            (
                (np.reshape(step["ranges"], 2 * (number,))[np.ix_(types, types)] / unit) ** 2,
                np.rint(2.0**32 * np.reshape(step["energies"], 2 * (number,)))[
                    np.ix_(types, types)
                ],
            )
            for step in settings.get("steps", [])
            for number in [math.isqrt(len(step["ranges"]))]
        ]

    def words(self, where: int, purpose: int, round_: int, call: int) -> list[int]:
        number = purpose << 28 | round_ << 16 | call
        return _philox([where, self.cycle & _LAST, self.cycle >> 32, number], self.seed)

    def shift(self) -> None:
        for a in range(self.D):
            word = self.words(0, 2, 0, a)
            even = (word[0] << 32 | word[1]) * (self.extent[a] // 2) >> 64
            self.origin[a] = (self.origin[a] + 2 * even) % self.extent[a]

    def order(self, round_: int) -> list[int]:
        word = self.words(0, 3, round_, 0) + self.words(0, 3, round_, 1)
        order = list(range(2**self.D))
        for i in range(len(order) - 1, 0, -1):
            j = word[i - 1] * (i + 1) >> 32
            order[i], order[j] = order[j], order[i]
        return order

    def displacements(self, where: int, round_: int) -> tuple[list[list[int]], int]:
        """The displacements of all moves of a visit, and the word that chooses the particle."""
        by: list[list[int]] = []
        each = 3 if self.D == 2 else 2  # moves of a call
        for call in range(-(-self.moves // each)):
            word = self.words(where, 0, round_, call)
            if call == 0:
                choice = word[3]
            halves = [
                half
                for w in word[:3]
                for half in (w >> 8 & 0x7FFF, (w << 15 | w >> 17) >> 8 & 0x7FFF)
            ]
            value = [_even((k - 16383.5) * self.step) for k in halves]
            if self.D == 2:
                by += [value[0:2], value[2:4], value[4:6]]
            else:
                by += [value[0:2] + value[4:5], value[2:4] + value[5:6]]
        return by[: self.moves], choice

    def squares_from(self, i: int, place: list[int]) -> Iterator[tuple[int, int]]:
        """The other particles, and their squared distances from a place of particle i."""
        for j, other in enumerate(self.places):
            square = 0
            for a in range(self.D):
                d = (place[a] - other[a]) % self.extent[a]
                square += min(d, self.extent[a] - d) ** 2
            if j != i:
                yield j, square

    def is_free(self, i: int, place: list[int]) -> bool:
        return all(square >= self.squares[i, j] for j, square in self.squares_from(i, place))

    def energy(self, i: int, place: list[int]) -> int:
        """The energy of particle i at a place in the steps, in units of 2**-32 kT."""
        return sum(
            int(energies[i, j])
            for j, square in self.squares_from(i, place)
            for ranges, energies in self.steps
            if square < ranges[i, j]
        )

    def allowed(self, i: int, to: list[int], where: int, round_: int, move: int) -> bool:
        """Whether the energies accept a move, with a random word of 64 bits."""
        if not self.steps:
            return True
        rise = (self.energy(i, to) - self.energy(i, self.places[i])) / 2**32
        if not 0 < rise <= 45:
            return rise <= 0
        upper, lower = (self.words(where, 8, round_, c + move // 4)[move % 4] for c in (0, 0x8000))
        return (upper << 32 | lower) < 2.0**64 * math.exp(-rise)

    def visit(self, where: int, round_: int, low: list[int], members: list[int]) -> None:
        by, choice = self.displacements(where, round_)
        i = members[choice * len(members) >> 32]
        for number, move in enumerate(by):
            self.trial_moves += 1
            to = [(x + d) % e for x, d, e in zip(self.places[i], move, self.extent, strict=True)]
            inside = all(
                (x + d - o) % e // (2 * h) == c
                for x, d, o, e, h, c in zip(
                    self.places[i], move, self.origin, self.extent, self.half, low, strict=True
                )
            )
            if inside and self.is_free(i, to) and self.allowed(i, to, where, round_, number):
                self.places[i] = to
                self.accepted_moves += 1

    def run(self, cycles: int) -> None:
        for _ in range(cycles):
            self.shift()
            members: dict[tuple[int, ...], list[int]] = {}
            for i, place in enumerate(self.places):
                cell = tuple(
                    (x - o) % e // (2 * h)
                    for x, o, e, h in zip(place, self.origin, self.extent, self.half, strict=True)
                )
                members.setdefault(cell, []).append(i)
            visits: list[list[Any]] = [[] for _ in range(2**self.D)]
            for cell, here in members.items():
                tile, index, tiles, stride, number = 0, 0, 1, 1, 0
                active = True
                for a, (c, n, t) in enumerate(zip(cell, self.cells, self.tiles, strict=True)):
                    cuts = [k * n // t for k in range(t + 1)]
                    at = max(k for k in range(t) if cuts[k] <= c)
                    tile, tiles = tile + at * tiles, tiles * t
                    local, size = c - cuts[at], cuts[at + 1] - cuts[at]
                    index, stride = index + local * stride, stride * (size + 1)
                    number |= (local & 1) << a
                    active = active and local > 0
                if active:
                    visits[number].append((tile * self.plane + index, list(cell), here))
            for round_ in range(self.rounds):
                for number in self.order(round_):
                    for where, cell, here in visits[number]:
                        self.visit(where, round_, cell, here)
            self.cycle += 1

    def counters(self) -> tuple[int, int, int]:
        return self.cycle, self.trial_moves, self.accepted_moves


def closest(positions: np.ndarray, box: Any, table: np.ndarray) -> float:
    """The smallest distance in contact distances, by brute force; infinite without neighbors."""
    return float(min(scaled_distances(positions, box, table, 1.5)[0], default=math.inf))
