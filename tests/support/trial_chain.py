"""Moves with trials in a system so small that all sets of trials can be enumerated: the equations
of docs/theory/open_systems.md, without a line of the engine."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np

PLACES, TURNS, KINDS, MOST = 3, 2, 2, 2  # most molecules
POSITIONS, ORIENTATIONS = 2, 2  # trials
POSES = list(itertools.product(range(PLACES), range(TURNS)))


class Balance:
    """Detailed balance of a Markov chain with `states`, `probability(state)`, which needs no norm,
    and its moves: move(state) is {new state: probability}."""

    def violation(self, move: str) -> float:
        """Largest |pi(a) p(a to b) - pi(b) p(b to a)| over the sum of pi."""
        flow = {}
        for s in self.states:
            for new, p in getattr(self, move)(s).items():
                flow[s, new] = self.probability(s) * p
        total = sum(map(self.probability, self.states))
        return max(abs(p - flow.get((b, a), 0.0)) for (a, b), p in flow.items()) / total


class Chain(Balance):
    """States are multisets of (species, place, orientation).

    Args:
        with_old: the molecule that is there is among the trials of a deletion.
        with_rest: the acceptance has the part of the energy that the weights leave out.
    """

    def __init__(self, with_old: bool = True, with_rest: bool = True):
        random = np.random.default_rng(4)
        of = (KINDS, PLACES, TURNS)
        self.field, self.rest_field = random.normal(size=of), 0.5 * random.normal(size=of)
        pairs = random.normal(size=(2, *of, *of))
        self.pair, self.rest_pair = pairs + pairs.transpose(0, 4, 5, 6, 1, 2, 3)
        self.activity = (1.7, 0.6)
        self.with_old, self.with_rest = with_old, with_rest
        every = [(b, *pose) for b in range(KINDS) for pose in POSES]
        self.states = [
            s for n in range(MOST + 1) for s in itertools.combinations_with_replacement(every, n)
        ]

    def bias(self, one, others):
        return self.field[one] + sum(self.pair[(*one, *other)] for other in others)

    def rest(self, one, others):
        if not self.with_rest:
            return 0.0
        return self.true_rest(one, others)

    def true_rest(self, one, others):
        return self.rest_field[one] + sum(self.rest_pair[(*one, *other)] for other in others)

    def probability(self, s):
        energy = sum(self.bias(one, s[:i]) + self.true_rest(one, s[:i]) for i, one in enumerate(s))
        p = math.exp(-energy)
        for b in range(KINDS):
            p *= (self.activity[b] / len(POSES)) ** sum(one[0] == b for one in s)
        for one in set(s):
            p /= math.factorial(s.count(one))
        return p

    # ---- sets of trials, each as likely as another ----

    def anywhere(self, kind, positions, old=None):
        """Sets of positions, each with orientations; the first trial is `old` if there is one."""
        places = range(PLACES)
        for where in itertools.product(*[places] * (positions - (old is not None))):
            where = where if old is None else (old[1], *where)
            free = positions * ORIENTATIONS - (old is not None)
            for turns in itertools.product(range(TURNS), repeat=free):
                turns = turns if old is None else (old[2], *turns)
                yield [(kind, where[i // ORIENTATIONS], t) for i, t in enumerate(turns)]

    def here(self, kind, place, old=None):
        free = POSITIONS * ORIENTATIONS - (old is not None)
        for turns in itertools.product(range(TURNS), repeat=free):
            turns = turns if old is None else (old[2], *turns)
            yield [(kind, place, t) for t in turns]

    def weights(self, trials, others):
        return np.exp([-self.bias(one, others) for one in trials])

    def old_mean(self, w):
        return w.mean() if self.with_old else w[1:].mean()

    # ---- moves: probabilities of other states ----

    def exchange(self, s):
        to = defaultdict(float)
        for kind in range(KINDS):
            n, z = sum(one[0] == kind for one in s), self.activity[kind]
            sets = list(self.anywhere(kind, POSITIONS))
            for trials in sets if len(s) < MOST else ():
                w = self.weights(trials, s)
                for one, chance in zip(trials, w / w.sum(), strict=True):
                    accept = min(1, z * w.mean() / (n + 1) * math.exp(-self.rest(one, s)))
                    new = tuple(sorted((*s, one)))
                    to[new] += 0.5 / KINDS / len(sets) * chance * accept
            for i, old in enumerate(s):
                if old[0] != kind:
                    continue
                others = s[:i] + s[i + 1 :]
                sets_of_old = list(self.anywhere(kind, POSITIONS, old))
                for trials in sets_of_old:
                    w = self.old_mean(self.weights(trials, others))
                    accept = min(1, n / (z * w) * math.exp(self.rest(old, others)))
                    to[others] += 0.5 / KINDS / n / len(sets_of_old) * accept
        return to

    def reinsertion(self, s):
        to = defaultdict(float)
        for i, old in enumerate(s):
            others = s[:i] + s[i + 1 :]
            sets = list(self.anywhere(old[0], POSITIONS + 1, old))
            for trials in sets:
                w = self.weights(trials, others)
                for one, chance in zip(trials, w / w.sum(), strict=True):
                    change = self.rest(one, others) - self.rest(old, others)
                    new = tuple(sorted((*others, one)))
                    to[new] += chance * min(1, math.exp(-change)) / len(s) / len(sets)
        return to

    def identity(self, s):
        to = defaultdict(float)
        for i, old in enumerate(s):
            a, b = old[0], 1 - old[0]
            n, m = (sum(one[0] == kind for one in s) for kind in (a, b))
            others = s[:i] + s[i + 1 :]
            before, after = list(self.here(a, old[1], old)), list(self.here(b, old[1]))
            for old_trials, trials in itertools.product(before, after):
                w_old = self.old_mean(self.weights(old_trials, others))
                w = self.weights(trials, others)
                for one, chance in zip(trials, w / w.sum(), strict=True):
                    change = self.rest(one, others) - self.rest(old, others)
                    ratio = self.activity[b] * w.mean() * n / (self.activity[a] * w_old * (m + 1))
                    new = tuple(sorted((*others, one)))
                    accept = min(1, ratio * math.exp(-change))
                    to[new] += chance * accept / KINDS / n / len(before) / len(after)
        return to
