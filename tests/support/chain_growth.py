"""Chains of beads: ideal ones in NumPy, and growth in a system so small that all sets of trials can
be enumerated. The equations of docs/theory/open_systems.md, without a line of the engine."""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict

import numpy as np
from trial_chain import Balance

from manymove.adsorption import Chain

# ---- ideal chains --------------------------------------------------------------------------------


def torsion_energy(law, phi: np.ndarray) -> np.ndarray:
    c0, c1, c2, c3 = law
    return c0 + c1 * (1 + np.cos(phi)) + c2 * (1 - np.cos(2 * phi)) + c3 * (1 + np.cos(3 * phi))


def bend_energy(law, theta: np.ndarray) -> np.ndarray:
    return 0.5 * law[0] * (theta - math.radians(law[1])) ** 2


def torsion_density(law, temperature: float, phi: np.ndarray) -> np.ndarray:
    return np.exp(-torsion_energy(law, phi) / temperature)


def bend_density(law, temperature: float, theta: np.ndarray) -> np.ndarray:
    return np.sin(theta) * np.exp(-bend_energy(law, theta) / temperature)


def expected_shares(density, edges: np.ndarray) -> np.ndarray:
    """Probabilities of the bins between edges, by 2000 points in each."""
    u = (np.arange(2000) + 0.5) / 2000
    parts = [density(a + (b - a) * u).mean() * (b - a) for a, b in itertools.pairwise(edges)]
    return np.array(parts) / sum(parts)


def _draws(random, density, high: float, count: int) -> np.ndarray:
    x = (np.arange(20000) + 0.5) * high / 20000
    sums = np.cumsum(density(x))
    return np.interp(random.random(count), sums / sums[-1], x)


def ideal_chains(chain: Chain, temperature: float, count: int, seed: int) -> np.ndarray:
    """Positions (count, beads, 3) from the first bead, with bends and torsions of the ideal chain
    without its Lennard-Jones energy, randomly rotated."""
    random = np.random.default_rng(seed)
    q = random.normal(size=(count, 3, 3))
    e, u = _unit(q[:, 0]), q[:, 1]
    u = _unit(u - (u * e).sum(-1, keepdims=True) * e)
    places = [np.zeros((count, 3))]
    for k, bond in enumerate(chain.bonds):
        if k:
            law = chain.bends[k - 1]
            theta = _draws(
                random, lambda x, law=law: bend_density(law, temperature, x), math.pi, count
            )
            phi = 2 * math.pi * random.random(count)
            if k > 1:
                law = chain.torsions[k - 2]
                phi = _draws(random, lambda x, law=law: torsion_density(law, temperature, x),
                             2 * math.pi, count)  # fmt: skip
            side = np.cos(phi)[:, None] * u + np.sin(phi)[:, None] * np.cross(e, u)
            new = -np.cos(theta)[:, None] * e + np.sin(theta)[:, None] * side
            u = _unit(-e + (e * new).sum(-1, keepdims=True) * new)
            e = new
        places.append(places[-1] + bond * e)
    return np.stack(places, axis=1)


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def bends_of(x: np.ndarray) -> np.ndarray:
    """Bending angles (..., beads - 2) of positions (..., beads, 3)."""
    b = _unit(np.diff(x, axis=-2))
    return np.arccos(np.clip(-(b[..., 1:, :] * b[..., :-1, :]).sum(-1), -1, 1))


def torsions_of(x: np.ndarray) -> np.ndarray:
    """Torsions (..., beads - 3) in (-pi, pi]; pi is trans."""
    b = np.diff(x, axis=-2)
    m, n = np.cross(b[..., :-2, :], b[..., 1:-1, :]), np.cross(b[..., 1:-1, :], b[..., 2:, :])
    y = (np.cross(m, n) * _unit(b[..., 1:-1, :])).sum(-1)
    return np.arctan2(y, (m * n).sum(-1))


def own_energy(chain: Chain, x: np.ndarray, shift_at: float | None) -> np.ndarray:
    """Lennard-Jones energy of beads that are four or more bonds apart, shifted at a cutoff."""
    total = np.zeros(x.shape[:-2])
    for i, j in itertools.combinations(range(len(chain.beads)), 2):
        if j - i >= 4:
            r2 = ((x[..., i, :] - x[..., j, :]) ** 2).sum(-1)
            total += lennard_jones(chain, i, j, r2, shift_at)
    return total


def lennard_jones(chain: Chain, i: int, j: int, r2: np.ndarray, shift_at: float | None):
    a, b = chain.beads[i], chain.beads[j]
    epsilon, sigma = math.sqrt(a.epsilon * b.epsilon), 0.5 * (a.sigma + b.sigma)
    q = (sigma**2 / r2) ** 3
    edge = 0.0 if shift_at is None else (sigma / shift_at) ** 6
    u = 4 * epsilon * (q * (q - 1) - edge * (edge - 1))
    return u if shift_at is None else np.where(r2 < shift_at**2, u, 0.0)


def bonded_energies(chain: Chain, x: np.ndarray) -> np.ndarray:
    """Energy of bends and torsions of positions (..., beads, 3)."""
    total = np.zeros(x.shape[:-2])
    for k, law in enumerate(chain.bends):
        total += bend_energy(law, bends_of(x)[..., k])
    for k, law in enumerate(chain.torsions):
        total += torsion_energy(law, torsions_of(x)[..., k])
    return total


# ---- enumerated growth ---------------------------------------------------------------------------

PLACES, MOST = 2, 2  # on a ring; most molecules
BEADS = (3, 2)  # of the two species
TRIALS = 2  # of the middle bead and of each other one
STAY = 0.7  # probability that the two bonds of a chain of three beads have the same direction


class GrowingChains(Balance):
    """A chain has a place of its middle bead and a direction (0 or 1) of each bond away from it. A
    bead is that many steps farther on the ring than its neighbor. The directions of the two bonds
    of a chain of three are correlated, as by a bend, and its ends interact, as far beads do.

    Args:
        with_old: the beads that are there are among the trials of an old chain.
        with_ideal: the activity is relative to the ideal chain's weight.
    """

    def __init__(self, with_old: bool = True, with_ideal: bool = True):
        random = np.random.default_rng(11)
        self.field = random.normal(size=(2, 3, PLACES))
        pairs = 0.6 * random.normal(size=(2, 3, PLACES, 2, 3, PLACES))
        self.pair = pairs + pairs.transpose(3, 4, 5, 0, 1, 2)
        self.ends = 0.5 + random.normal(size=(PLACES, PLACES))
        self.activity, self.with_old = (1.9, 0.8), with_old
        every = [
            (kind, place, *turns)
            for kind in (0, 1)
            for place in range(PLACES)
            for turns in itertools.product((0, 1), repeat=BEADS[kind] - 1)
        ]
        self.ideal = [
            sum(self.bonded(c) * math.exp(-self.inner(c)) for c in every if c[0] == kind)
            for kind in (0, 1)
        ]
        self.true_ideal = self.ideal
        if not with_ideal:
            self.ideal = [1.0, 1.0]
        self.states = [
            s for n in range(MOST + 1) for s in itertools.combinations_with_replacement(every, n)
        ]

    # A chain of three beads: (0, place of bead 1, direction to bead 2, direction to bead 0); of two
    # beads: (1, place of bead 1, direction to bead 0).
    @staticmethod
    def beads(c):
        """Places of the beads in the order of growth: (number, place)."""
        if c[0] == 0:
            return [(1, c[1]), (2, (c[1] + c[2]) % PLACES), (0, (c[1] + c[3]) % PLACES)]
        return [(1, c[1]), (0, (c[1] + c[2]) % PLACES)]

    @staticmethod
    def bonded(c):
        """Probability of the ideal chain without the interaction of its ends."""
        p = 1 / PLACES / 2
        return p * (STAY if c[2] == c[3] else 1 - STAY) if c[0] == 0 else p

    def inner(self, c):
        return self.ends[self.beads(c)[1][1], self.beads(c)[2][1]] if c[0] == 0 else 0.0

    def bead_energy(self, kind, bead, place, others):
        u = self.field[kind, bead, place]
        for other in others:
            u += sum(self.pair[kind, bead, place, other[0], b, x] for b, x in self.beads(other))
        return u

    def energy(self, c, others):
        return sum(self.bead_energy(c[0], b, x, others) for b, x in self.beads(c)) + self.inner(c)

    def probability(self, s):
        p = 1.0
        for i, c in enumerate(s):
            p *= math.exp(-self.energy(c, s[:i])) * self.bonded(c)
            p *= self.activity[c[0]] / self.true_ideal[c[0]]
        for c in set(s):
            p /= math.factorial(s.count(c))
        return p

    # ---- growth: all sets of trials and choices ----

    def options(self, kind, part):
        """The next values of a chain, each with its probability, and the bead that they place."""
        if len(part) == 1:
            return [(x, 1 / PLACES) for x in range(PLACES)]
        if len(part) == 2:
            return [(0, 0.5), (1, 0.5)]
        return [(d, STAY if d == part[2] else 1 - STAY) for d in (0, 1)]

    def trial_energy(self, part, others):
        """Energy of the last bead of a part of a chain."""
        kind, at = part[0], len(part) - 2
        full = (*part, *[0] * (BEADS[kind] + 1 - len(part)))
        bead, place = self.beads(full)[at]
        u = self.bead_energy(kind, bead, place, others)
        return u + (self.inner(full) if kind == 0 and at == 2 else 0.0)

    @functools.cache  # noqa: B019
    def grown(self, part, others):
        """{(chain, weight): probability} of a growth from a part of it."""
        kind, found = part[0], defaultdict(float)
        if len(part) == BEADS[kind] + 1:
            return {(part, 1.0): 1.0}
        for trials in itertools.product(self.options(kind, part), repeat=TRIALS):
            chance = math.prod(p for _, p in trials)
            w = [math.exp(-self.trial_energy((*part, x), others)) for x, _ in trials]
            for (x, _), own in zip(trials, w, strict=True):
                for (c, rest), p in self.grown((*part, x), others).items():
                    weight = round(rest * sum(w) / TRIALS, 13)
                    found[c, weight] += chance * own / sum(w) * p
        return found

    @functools.cache  # noqa: B019
    def retraced(self, chain, kept, others):
        """{weight: probability} of an old chain of which the first `kept` values stay."""
        if kept == len(chain):
            return {1.0: 1.0}
        found = defaultdict(float)
        part = chain[:kept]
        for trials in itertools.product(self.options(chain[0], part), repeat=TRIALS - 1):
            chance = math.prod(p for _, p in trials)
            values = [chain[kept], *(x for x, _ in trials)]
            w = [math.exp(-self.trial_energy((*part, x), others)) for x in values]
            if not self.with_old:
                w = w[1:]
            for rest, p in self.retraced(chain, kept + 1, others).items():
                found[round(rest * sum(w) / len(w), 13)] += chance * p
        return found

    # ---- moves: probabilities of other states ----

    def exchange(self, s):
        to = defaultdict(float)
        for kind in (0, 1):
            n, z = sum(c[0] == kind for c in s), self.activity[kind] / self.ideal[kind]
            for (c, w), p in self.grown((kind,), s).items() if len(s) < MOST else ():
                to[tuple(sorted((*s, c)))] += 0.25 * p * min(1, z * w / (n + 1))
            for i, old in enumerate(s):
                others = s[:i] + s[i + 1 :]
                if old[0] == kind:
                    for w, p in self.retraced(old, 1, others).items():
                        to[others] += 0.25 / n * p * min(1, n / (z * w))
        return to

    def _moved(self, s, part_of):
        """part_of(chain): (probability, chain in an order in which it grows, values that stay)."""
        to = defaultdict(float)
        for i, old in enumerate(s):
            others = s[:i] + s[i + 1 :]
            for chance, chain, kept, back in part_of(old):
                before = self.retraced(chain, kept, others)
                for (c, w), p in self.grown(chain[:kept], others).items():
                    new = tuple(sorted((*others, back(c))))
                    for w_old, q in before.items():
                        to[new] += chance / len(s) * p * q * min(1, w / w_old)
        return to

    def reinsertion(self, s):
        return self._moved(s, lambda c: [(1.0, c, 1, lambda x: x)])

    def regrowth(self, s):
        """The last bead grows again: of a chain of three beads bead 0."""
        return self._moved(s, lambda c: [(1.0, c, len(c) - 1, lambda x: x)])

    def identity(self, s):
        """At the place of the middle bead, which has one trial."""
        to = defaultdict(float)
        for i, old in enumerate(s):
            a, b = old[0], 1 - old[0]
            n, m = (sum(c[0] == kind for c in s) for kind in (a, b))
            za, zb = (self.activity[k] / self.ideal[k] for k in (a, b))
            others = s[:i] + s[i + 1 :]
            first = [math.exp(-self.trial_energy((k, old[1]), others)) for k in (a, b)]
            for w_old, q in self.retraced(old, 2, others).items():
                for (c, w), p in self.grown((b, old[1]), others).items():
                    ratio = zb * n * w * first[1] / (za * (m + 1) * w_old * first[0])
                    to[tuple(sorted((*others, c)))] += 0.5 / n * p * q * min(1, ratio)
        return to
