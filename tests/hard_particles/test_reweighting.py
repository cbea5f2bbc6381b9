# SPDX-License-Identifier: BSD-3-Clause
"""Multiple histograms and coexistence: exact lattice gases, the ideal gas, a serial reference.

Errors of a jackknife over ten blocks follow Student's distribution with nine degrees of freedom:
one comparison in 16,000 is farther away than 7 errors. Seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from manymove import GrandCanonical, Grid, HardSpheres
from manymove.analysis import (
    GrandRun,
    MultipleHistograms,
    critical_point,
    estimate,
    vapor_liquid,
)
from manymove.steps import Step

JACKKNIFE = 7.0
SIGMAS = 4.5
STATES = [(0.3, 0.5), (1.0, 0.5), (2.0, 0.5), (1.0, 0.6), (1.0, 0.8)]  # z / z_c, and T


class LatticeGas:
    """All configurations of a periodic lattice with an energy of -1 for each pair of neighbors.
    Exchanging particles and holes leaves the weights unchanged at the fugacity exp(-2 / T)."""

    def __init__(self, edge: int) -> None:
        sites = edge**2
        filled = (np.arange(1 << sites)[:, None] >> np.arange(sites)) & 1
        filled = filled.reshape(-1, edge, edge)
        self.volume = float(sites)
        self.numbers = filled.sum(axis=(1, 2))
        neighbors = filled * (np.roll(filled, 1, axis=1) + np.roll(filled, 1, axis=2))
        self.energies = -neighbors.sum(axis=(1, 2)).astype(float)

    def weights(self, z: float, T: float) -> np.ndarray:
        return z**self.numbers * np.exp(-self.energies / T)

    def exact(self, T: float) -> list[float]:
        """Fugacity, pressure and densities of coexistence."""
        z = math.exp(-2 / T)
        weights = self.weights(z, T)
        low = np.clip(0.5 - (self.numbers - self.volume / 2), 0, 1) * weights
        density = (low @ self.numbers) / low.sum() / self.volume
        return [z, T * math.log(weights.sum() / 2) / self.volume, density, 1 - density]

    def runs(self, random: np.random.Generator | None = None, n: int = 4000) -> list[GrandRun]:
        """Runs with the exact weights of all configurations, or with samples of them."""
        found = []
        for factor, T in STATES:
            z = factor * math.exp(-2 / T)
            p = self.weights(z, T)
            if random is None:
                found.append(GrandRun(z, T, self.numbers, self.energies, 1000 * p / p.sum()))
            else:
                chosen = random.choice(len(p), size=n, p=p / p.sum())
                found.append(GrandRun(z, T, self.numbers[chosen], self.energies[chosen]))
        return found


@pytest.mark.parametrize("edge", [3, 4])
def test_exact_weights_give_all_other_states(edge):
    gas = LatticeGas(edge)
    histograms = MultipleHistograms(gas.runs(), gas.volume)
    for z, T in ((0.02, 0.5), (0.05, 0.55), (0.2, 0.7)):
        weights = gas.weights(z, T)
        exact = np.bincount(gas.numbers, weights) / weights.sum()
        assert histograms.distribution(z, T) == pytest.approx(exact, abs=1e-12)
        assert histograms.pressure(z, T) == pytest.approx(T * math.log(weights.sum()) / gas.volume)
    for T in (0.45, 0.5):
        assert histograms.coexistence(T) == pytest.approx(gas.exact(T), rel=1e-9)


def test_an_ideal_gas_has_the_pressure_of_its_fugacity():
    """One run extrapolates to others: Xi = exp(z V) and a distribution of Poisson."""
    volume, N = 10.0, np.arange(60)
    logs = np.array([math.lgamma(n + 1) for n in N])
    gas = MultipleHistograms(
        [GrandRun(0.5, 1.0, N, np.zeros(60), np.exp(N * math.log(5) - 5 - logs))], volume
    )
    for z in (0.2, 0.5, 0.9):
        exact = np.exp(N * math.log(z * volume) - z * volume - logs)
        assert gas.distribution(z, 3.0) == pytest.approx(exact, abs=1e-12)
        assert gas.pressure(z, 3.0) == pytest.approx(3 * z)
    with pytest.raises(ValueError, match="temperature is 1, where the number of particles has"):
        gas.coexistence(1.0)


def test_samples_coexist_at_the_exact_state_with_the_errors_of_repetitions():
    """The mean of the jackknife's errors of 40 data sets is the spread of their values within 40 %,
    3.5 times its error. The fugacity of an exactly symmetric sample would have no error."""
    gas, random, temperatures = LatticeGas(3), np.random.default_rng(5), (0.45, 0.5)
    values, errors = [], []
    for _ in range(40):
        rows = vapor_liquid(gas.runs(random, 1000), gas.volume, temperatures)
        found = [(row.fugacity, row.pressure, *row.densities) for row in rows]
        values.append([[each.value for each in row] for row in found])
        errors.append([[each.error for each in row] for row in found])
    exact = np.array([gas.exact(T) for T in temperatures])
    apart = abs(np.array(values) - exact) / np.array(errors)
    assert (apart < JACKKNIFE).all()
    spread, given = np.std(values, axis=0, ddof=1), np.sqrt(np.mean(np.square(errors), axis=0))
    assert given / spread == pytest.approx(np.ones_like(exact), abs=0.4)
    mean_apart = abs(np.mean(values, axis=0) - exact) / (spread / math.sqrt(40))
    assert (mean_apart < SIGMAS).all()


def test_the_critical_point_has_the_ratio_of_isings_class():
    """The ratio of exact moments at the temperature that is found, where particles and holes are
    alike; samples find it within their errors."""
    gas = LatticeGas(4)
    T, density = MultipleHistograms(gas.runs(), gas.volume).critical_point()
    weights, m = gas.weights(math.exp(-2 / T), T), gas.numbers - gas.volume / 2
    weights /= weights.sum()
    assert (weights @ m**2) ** 2 / (weights @ m**4) == pytest.approx(0.6236, abs=1e-9)
    assert density == pytest.approx(0.5, abs=1e-4)
    found = critical_point(gas.runs(np.random.default_rng(4)), gas.volume)
    assert abs(found.temperature.value - T) < JACKKNIFE * found.temperature.error < 0.2
    assert abs(found.density.value - 0.5) < JACKKNIFE * found.density.error < 0.1


def test_far_fugacities_are_joined():
    """In a lattice gas in which all pairs attract each other, particles and holes coexist at a
    known fugacity. Newton's method alone does not find the free energies of these runs."""
    sites, T, random = 200, 0.93, np.random.default_rng(1)
    N = np.arange(sites + 1)
    states = np.array([-math.lgamma(n + 1) - math.lgamma(sites - n + 1) for n in N])
    energies, at = -2.0 * N**2 / sites, math.exp(-2 / T)
    runs = []
    for factor in (0.02, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97, 1, 1.03, 1.1, 1.3):
        terms = states + N * math.log(factor * at) - energies / T
        p = np.exp(terms - terms.max())
        n = random.choice(N, size=20_000, p=p / p.sum())
        runs.append(GrandRun(factor * at, T, n, energies[n]))
    found = MultipleHistograms(runs, float(sites)).distribution(at, T)
    assert found @ N[: len(found)] == pytest.approx(sites / 2, abs=1)


def test_errors_are_unknown_if_a_block_connects_the_phases():
    """A single record without particles."""
    gas = LatticeGas(3)
    runs = gas.runs(np.random.default_rng(1))
    assert all(math.isfinite(each.pressure.error) for each in vapor_liquid(runs, 9.0, [0.5]))
    for index, run in enumerate(runs):
        weights = (run.numbers > 0).astype(float)
        weights[np.argmin(run.numbers)] = index == 0
        runs[index] = GrandRun(run.fugacity, run.temperature, run.numbers, run.energies, weights)
    (row,) = vapor_liquid(runs, 9.0, [0.5])
    assert math.isnan(row.pressure.error) and math.isnan(row.densities[0].error)
    assert row.pressure.value > 0


def serial(edge: float, z: float, T: float, reach: float, steps: int, seed: int) -> np.ndarray:
    """Numbers of particles and pairs in the well after each of many trial insertions, deletions and
    moves, one after the other."""
    random = np.random.default_rng(seed)
    r = np.empty((0, 3))
    pairs, records = 0, []

    def bonds(place: np.ndarray, others: np.ndarray) -> int:
        """Number of particles in the well, or -1 with an overlap."""
        away = others - place
        away -= edge * np.rint(away / edge)
        squares = (away**2).sum(axis=1)
        return -1 if (squares < 1).any() else int((squares < reach**2).sum())

    for _ in range(steps):
        kind, N = random.integers(3), len(r)
        if kind == 0:
            place = random.uniform(0, edge, 3)
            more = bonds(place, r)
            if more >= 0 and random.random() < z * edge**3 / (N + 1) * math.exp(more / T):
                r, pairs = np.vstack([r, place]), pairs + more
        elif N:
            one = random.integers(N)
            others = np.delete(r, one, axis=0)
            before = bonds(r[one], others)
            if kind == 1:
                if random.random() < N / (z * edge**3) * math.exp(-before / T):
                    r, pairs = others, pairs - before
            else:
                place = r[one] + random.uniform(-0.4, 0.4, 3)
                after = bonds(place, others)
                if after >= 0 and random.random() < math.exp((after - before) / T):
                    r[one], pairs = place, pairs + after - before
        records.append((len(r), pairs))
    return np.array(records, dtype=float)


def test_the_engine_has_the_averages_of_a_serial_chain():
    """Numbers of particles and pairs in a small box, in a gas and near condensation; they differ by
    more than 4.5 joint errors for one seed in 150,000."""
    edge, T, reach = 4.6, 1.25, 1.5
    for z in (0.02, 0.045):
        reference = serial(edge, z, T, reach, 60_000, seed=1)[6000:]
        spheres = HardSpheres(
            np.empty((0, 3)), (edge, edge, edge), seed=2, max_displacement=0.4,
            fugacity=GrandCanonical(z, attempts=4), steps=Step(reach, -1 / T), grid=Grid(rounds=1),
        )  # fmt: skip
        found = []
        spheres.run_cycles(500)
        spheres.run_cycles(
            6000, [(1, lambda one, of=found: of.append((one.N, -one.step_energies.sum() / 2 * T)))]
        )
        for ours, theirs in zip(np.array(found).T, reference.T, strict=True):
            one, other = estimate(ours), estimate(theirs)
            joint = math.hypot(one.error, other.error)
            assert abs(one.value - other.value) < SIGMAS * joint
            assert joint < 0.15 * other.value


def test_the_virial_has_the_pressure_of_the_grand_partition_function():
    """Of the same run, within 4.5 joint errors. The terms of contact and of the range are five and
    nine of them."""
    edge, z, T = 4.6, 0.025, 1.25
    spheres = HardSpheres(
        np.empty((0, 3)), (edge, edge, edge), seed=2, max_displacement=0.4,
        fugacity=GrandCanonical(z, attempts=8), steps=Step(1.5, -1 / T), grid=Grid(rounds=1),
    )  # fmt: skip
    spheres.run_cycles(500)
    spheres.sample_pressure(every=1e-9, record=100 * spheres.sweeps_per_cycle)
    found: list[tuple[int, int]] = []
    spheres.run_cycles(
        40_000, [(4, lambda one: found.append((one.N, round(one.step_energies.sum() / 2 * T))))]
    )
    numbers, energies = np.array(found).T

    def pressure(part: slice | np.ndarray) -> float:
        part_of_run = GrandRun(z, T, numbers[part], energies[part])
        return MultipleHistograms([part_of_run], edge**3).pressure(z, T) / T

    blocks = [pressure(part) for part in np.array_split(np.arange(len(found)), 10)]
    virial, expected = spheres.pressure_average, pressure(slice(None))
    joint = math.hypot(virial.error, np.std(blocks, ddof=1) / math.sqrt(10))
    assert joint < 0.04 * expected
    assert abs(virial.value - expected) < SIGMAS * joint


GAS = LatticeGas(3)


def run(factor: float = 1.0, T: float = 0.5) -> GrandRun:
    p = GAS.weights(factor * math.exp(-2 / T), T)
    return GrandRun(factor * math.exp(-2 / T), T, GAS.numbers, GAS.energies, p / p.sum())


def some(numbers: list[int], z: float = 0.1) -> GrandRun:
    return GrandRun(z, 1.0, np.array(numbers), np.zeros(len(numbers)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultipleHistograms([], 1.0), "runs must be at least one"),
        (lambda: MultipleHistograms([run()], 0.0), "volume must be positive"),
        (lambda: MultipleHistograms([some([1, 2])], 1.0), "have no records without particles"),
        (lambda: MultipleHistograms([some([0, 1]), some([7, 8], 9.0)], 1.0), "no states in common"),
        (lambda: MultipleHistograms([run()], 9.0).coexistence(math.nan), "temperature must be"),
        (lambda: MultipleHistograms([run()], 9.0).coexistence(5.0), "temperature is 5, where"),
        (
            lambda: MultipleHistograms([some([0] * 9 + [1, 8] + [9] * 9)], 9.0).coexistence(1.0),
            "runs have no records with 2 particles",
        ),
        (lambda: MultipleHistograms([run()], 9.0).critical_point(), "no critical point near thei"),
        (lambda: critical_point([run()], 9.0, blocks=1), "blocks must be at least 2, got 1"),
        (lambda: GrandRun(0.0, 1.0, np.zeros(2, int), np.zeros(2)), "fugacity must be positive"),
        (lambda: GrandRun(1.0, -1.0, np.zeros(2, int), np.zeros(2)), "temperature must be"),
        (lambda: GrandRun(1.0, 1.0, np.zeros(2), np.zeros(2)), "numbers must be integers"),
        (lambda: GrandRun(1.0, 1.0, np.zeros(0, int), np.zeros(0)), "numbers must be integers"),
        (lambda: GrandRun(1.0, 1.0, np.zeros(2, int), np.zeros(3)), "energies must be one"),
        (lambda: GrandRun(1.0, 1.0, np.zeros(1, int), np.array([math.inf])), "must be finite"),
        (lambda: vapor_liquid([run()], 9.0, [0.5], blocks=1), "blocks must be at least 2, got 1"),
        (lambda: vapor_liquid([some([0, 9])], 9.0, [0.5]), "runs must have at least 10 records"),
    ],
)  # fmt: skip
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
