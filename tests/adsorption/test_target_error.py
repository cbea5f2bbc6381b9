# SPDX-License-Identifier: BSD-3-Clause
"""Coverage of the errors of systems that end at a target error.

Systems are series with the autocorrelation exp(-t / tau) and a known mean. The rule is the one of
the engine's averages, at the records of `manymove adsorption`.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.signal import lfilter

from manymove.adsorption import averages
from manymove.adsorption.averages import Averages, Comparison
from manymove.analysis import stopping

RUNS, LENGTH, RECORDS, FIRST = 250, 2000, 200, 20
MANY = 1000  # records of a run of the maximum length in a screening
SPREAD = 0.5  # standard deviation of a state over the mean, which is one
ROWS = (averages._PLAIN, averages._OF_SPECIES, averages._NUMBER)
SQUARED = (averages._SQUARED, averages._NUMBER_SQUARED)


class Series:
    """The engine's sums over the first `samples` states of all systems, whose mean was smaller by
    the deviation at the start, a number of steps before."""

    def __init__(
        self, tau: float, systems: int, random: np.random.Generator, before: float = math.inf,
        deviation: float = 1.0,
    ) -> None:  # fmt: skip
        memory = math.exp(-1 / tau)
        noise = random.normal(size=(systems, LENGTH)) * math.sqrt(1 - memory**2)
        noise[:, 0] = random.normal(size=systems)
        states = 1 + SPREAD * lfilter([1], [1, -memory], noise, axis=1)
        states -= deviation * np.exp(-(before + np.arange(LENGTH)) / tau)
        self._states = states
        self._sums = np.cumsum(states, axis=1), np.cumsum(states**2, axis=1)
        self.samples = 0

    @property
    def counters(self) -> tuple[int, ...]:
        return (0, 0, 0, 0, 0, 0, self.samples)

    @property
    def present(self) -> np.ndarray:
        return self._states[:, self.samples - 1]

    def sums(self) -> np.ndarray:
        found = np.zeros((averages._SUMS, len(self._sums[0])))
        found[list(ROWS)], found[list(SQUARED)] = (sums[:, self.samples - 1] for sums in self._sums)
        return found.ravel()


def ended(
    tau: float, systems: int, target: float, random: np.random.Generator, records: int,
    before: float = math.inf, parts: int = 1, deviation: float = 1.0,
) -> Averages:  # fmt: skip
    """Averages of a run that has ended at a target error, or after all steps; of one of several
    parts of the systems."""
    run = Averages()
    run._engine = Series(tau, systems, random, before, deviation)
    run._parameters = {"systems": systems, "exchange": 0.5, "species": [{}]}
    run._about, run._comparison = (
        {"method": "plj"},
        Comparison(np.zeros((2, 1, systems)), np.zeros(1)),
    )
    if deviation < 1:
        run._about["start"] = 1 - deviation + SPREAD * random.normal(size=(systems, 1))
    for record in range(1, records + 1):
        run._engine.samples = record * LENGTH // records
        run._comparison.moments += 1
        run._comparison.spread += run._engine.present.var(ddof=1)
        run._comparison.sums[0] += run._engine.present
        if record >= FIRST and run._systems_reach(target, before, parts):
            break
    return run


def target_of(tau: float, systems: int, share: float) -> float:
    """The error of a run with this share of the longest length."""
    memory = math.exp(-1 / tau)
    states = share * LENGTH * systems * (1 - memory) / (1 + memory)  # independent ones
    return SPREAD / math.sqrt(states)


def stopped(
    tau: float, systems: int, share: float, records: int = RECORDS
) -> tuple[np.ndarray, np.ndarray]:
    """Deviations of the loading in standard errors, and lengths of runs. By the target a run should
    have this share of its longest length."""
    random = np.random.default_rng(2)
    target = target_of(tau, systems, share)
    runs = [ended(tau, systems, target, random, records) for _ in range(RUNS)]
    loadings = [run.loading[0] for run in runs]
    deviations = np.array([abs(each.value - 1) / each.error for each in loadings])
    return deviations, np.array([run._engine.samples for run in runs])


@pytest.mark.parametrize(("share", "records"), [(0.2, RECORDS), (0.5, RECORDS), (0.03, MANY)])
@pytest.mark.parametrize("tau", [5.0, 20.0])
@pytest.mark.parametrize(("systems", "nominal"), [(10, (0.657, 0.923)), (64, (0.679, 0.950))])
def test_errors_of_runs_that_end_at_a_target_error_contain_the_mean(
    systems, nominal, tau, share, records
):
    """The nominal coverage of one and two standard errors is that of Student's t. Of 250 runs, the
    share within them has a standard error of 3.0 % and 1.7 %, and the bounds are 4 of these below
    the nominal value. The stopping rule lowers the coverage by 2 % at most: with another seed, a
    comparison fails in one of 500 cases at most. Errors that were 30 % too small would fail."""
    deviations, lengths = stopped(tau, systems, share, records)
    assert (lengths < LENGTH).mean() > 0.9 and len({*lengths}) > 5
    bounds = [p - 4 * math.sqrt(p * (1 - p) / RUNS) for p in nominal]
    assert [(deviations < n).mean() > bound for n, bound in zip((1, 2), bounds, strict=True)] == [
        True,
        True,
    ]
    small = deviations / 0.7
    assert not all((small < n).mean() > bound for n, bound in zip((1, 2), bounds, strict=True))


@pytest.mark.parametrize("deviation", [1.0, 0.2])
@pytest.mark.parametrize(("times", "parts"), [(0, 1), (2, 1), (4, 1), (0, 16)])
@pytest.mark.parametrize("tau", [5.0, 20.0])
def test_what_is_left_of_the_start_is_below_the_target(tau, times, parts, deviation, monkeypatch):
    """All systems start too low, some correlation times before the average. The rule bounds what is
    left of it by a third of the target, up to the error of the correlation time; half of it was
    found at most. The mean of 100 runs has a standard error of a tenth of the target, so that with
    another seed a comparison fails in one of 2,000 cases."""
    random, target = np.random.default_rng(3), target_of(tau, 64, 0.05)

    def left(rule) -> float:
        monkeypatch.setattr(averages, "are_long_enough", rule)
        runs = [
            ended(tau, 64, target, random, MANY, times * tau, parts, deviation) for _ in range(100)
        ]
        return 1 - float(np.mean([run.loading[0].value for run in runs]))

    rule = averages.are_long_enough
    assert left(rule) < 0.85 * target
    if times == 0 and deviation == 1:
        assert left(lambda *a: rule(*a[:2], math.inf, *a[3:])) > 2 * target


@pytest.mark.parametrize("systems", [10, 32, 64])
def test_the_number_of_correlation_times_is_a_lower_bound(systems):
    """In runs of one to eight correlation times of each system, the bound is above the length in
    16 % of all cases. The share of 500 runs has a standard error of 1.6 %, so that with another
    seed one of 30,000 comparisons fails. An estimate that is no bound is above in about half of
    all cases."""
    random, tau = np.random.default_rng(4), 50.0
    runs = [Series(tau, systems, random) for _ in range(500)]
    for times in (1, 2, 4, 8):
        found = []
        for run in runs:
            states = run._states[:, : int(times * tau)]
            spread = float(states.var(axis=0, ddof=1).mean())
            share = stopping.share_of_mean(states.mean(axis=1), spread)
            found.append([stopping.correlation_times(share, n) for n in (systems, math.inf)])
        low, plain = (np.array(found).T > times).mean(axis=1)
        assert low < 0.225 and plain > 0.35


class Constant:
    """The engine's sums over 2,000 states, with a mean of each row for each system."""

    counters = (0, 0, 0, 0, 0, 0, LENGTH)

    def __init__(self, rows: dict[int, np.ndarray]) -> None:
        self._sums = np.zeros((averages._SUMS, 32))
        for row, values in rows.items():
            self._sums[row] = LENGTH * values

    def sums(self) -> np.ndarray:
        return self._sums.ravel()


@pytest.mark.parametrize("kinds", [1, 2])
def test_a_species_that_was_never_there_is_no_result(kinds):
    """The last species has no molecules. In a mixture the loading of the first one is known."""
    run, value = Averages(), 5 + 0.01 * np.random.default_rng(1).normal(size=32)
    first = {averages._OF_SPECIES: value, averages._PLAIN: value, averages._NUMBER: value}
    first |= dict.fromkeys(SQUARED, value**2 + 1)
    run._engine = Constant(first if kinds == 2 else {})
    run._parameters = {"systems": 32, "exchange": 0.5, "species": [{}] * kinds}
    run._about = {"method": "plj"}
    run._comparison = Comparison(np.zeros((2, kinds, 32)), np.zeros(kinds))
    assert not run._systems_reach(0.02, 10_000)
    run._comparison.moments = 20
    run._comparison.sums[1, :-1] = 5
    # No test molecule of the last species found a place.
    assert run._systems_reach(0.02, 10_000)
    assert kinds == 2 or run._systems_reach(0.02, 0)
    run._comparison.sums[1, -1, 3] = 1e-9
    assert not run._systems_reach(0.02, 10_000)


@pytest.mark.parametrize(
    ("rare", "weight", "agrees"),
    [(3, 480.0, None), (32, 45.0, False), (32, 101.0, True), (3, 3000.0, None), (20, 400.0, False)],
)
def test_rare_large_weights_of_test_molecules_decide_only_upwards(rare, weight, agrees):
    """The loading is 100 in each of 32 systems. In the first ones test molecules find a place."""
    run, random = Averages(), np.random.default_rng(1)
    run._engine, run._parameters = Constant({}), {"systems": 32, "exchange": 0.5, "species": [{}]}
    run._engine.counters = (0,) * 7
    tests = np.where(np.arange(32) < rare, weight, 0) + random.normal(size=32)
    sums = np.array([[100 + random.normal(size=32)], [tests]])
    run._comparison = Comparison(sums, np.ones(1), moments=1)
    assert run.loading_agrees() is agrees


def test_numbers_that_never_change_have_no_error():
    run, four = Averages(), np.full(32, 4.0)
    run._engine = Constant({averages._OF_SPECIES: four, averages._NUMBER: four,
                            averages._NUMBER_SQUARED: four**2})  # fmt: skip
    run._parameters = {"systems": 32, "exchange": 0.5, "species": [{}]}
    run._about, run._comparison = {"method": "plj"}, Comparison(np.zeros((2, 1, 32)), np.zeros(1))
    assert run.loading[0].error == 0
    assert not run._systems_reach(0.02, 10_000)
