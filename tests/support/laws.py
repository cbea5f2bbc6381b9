# SPDX-License-Identifier: BSD-3-Clause
"""The common statistics of the tests: whether counts follow a law."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

# Rate of each single comparison with a law; a test states how many comparisons it makes.
FALSE_ALARM = 1e-6


def another(*values: Any) -> Any:
    """Parameters of a case that only `make test-rest` runs."""
    return pytest.param(*values, marks=pytest.mark.thorough)


def each_once(*lists: Iterable[Any]) -> list[Any]:
    """The parameters of all combinations of the values of some lists. `make test` has each value of
    each list in one of them at least, and `make test-rest` has the other combinations."""
    values = [list(each) for each in lists]
    most = max(map(len, values))
    first = [[k % len(each) for each in values] for k in range(most)]
    combinations = itertools.product(*(range(len(each)) for each in values))
    return [
        (pytest.param if list(picked) in first else another)(
            *(each[k] for each, k in zip(values, picked, strict=True))
        )
        for picked in combinations
    ]


def chi_square_tail(x: float, degrees: int) -> float:
    """Probability that chi-square with so many degrees of freedom exceeds x (exact finite sum)."""
    half = x / 2
    if half <= 0:
        return 1.0
    total = math.erfc(math.sqrt(half)) if degrees % 2 else 0.0
    for k in range(degrees // 2):
        power = k + 0.5 * (degrees % 2)
        total += math.exp(power * math.log(half) - half - math.lgamma(power + 1))
    return total


def normal_tail(z: float) -> float:
    """Probability that a normal variable is farther from its mean than |z| standard deviations."""
    return math.erfc(abs(z) / math.sqrt(2))


def chi_square(counts: np.ndarray, law: np.ndarray, law_samples: float = math.inf) -> float:
    """The p-value of counts under a law, given as weights, perhaps a histogram of its own.

    Bins with fewer than thirty expected counts are put together.

    Args:
        counts: independent observations per bin.
        law: expected weights per bin, which are normalized here.
        law_samples: number of samples from which the law was counted; infinite if it is exact.
    """
    counts, law = np.ravel(counts).astype(float), np.ravel(law).astype(float)
    assert not counts[law == 0].any(), "counts where the law forbids them"
    expected = counts.sum() * law / law.sum()
    rare = expected < 30
    if rare.any() and rare.sum() > (law == 0).sum():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    else:
        counts, expected = counts[~rare], expected[~rare]
    variance = expected * (1 + counts.sum() / law_samples)
    return chi_square_tail(float(((counts - expected) ** 2 / variance).sum()), len(counts) - 1)


def symmetry(counts: np.ndarray, least: int) -> float:
    """The p-value of n_ij = n_ji for all pairs of states with thirty transitions or more, of which
    there have to be `least`."""
    i, j = np.triu_indices(len(counts), 1)
    forth, back = counts[i, j], counts[j, i]
    often = forth + back >= 30
    assert often.sum() >= least
    forth, back = forth[often], back[often]
    return chi_square_tail(float(((forth - back) ** 2 / (forth + back)).sum()), int(often.sum()))


def assert_follows(counts: Any, law: Any, law_samples: float = math.inf) -> None:
    """Assert that counts follow a law, with the false-alarm rate `FALSE_ALARM`."""
    p = chi_square(counts, law, law_samples)
    assert p > FALSE_ALARM, f"p = {p:.2g}\ncounts\n{counts}\nexpected\n{law}"


def assert_binomial(count: int, trials: int, probability: float, comparisons: int = 1) -> None:
    """A binomial count, in the normal approximation; the false alarm of all comparisons together
    is `FALSE_ALARM`."""
    z = (count - trials * probability) / math.sqrt(trials * probability * (1 - probability))
    p = normal_tail(z)
    assert p * comparisons > FALSE_ALARM, f"{count} of {trials}, expected {probability}: z = {z}"
