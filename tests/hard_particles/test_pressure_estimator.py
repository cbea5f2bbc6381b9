"""The pressure estimator of section 4: exact where it should be, its errors what they claim."""

import math

import numpy as np
import pytest

from manymove import Estimate
from manymove.analysis import (
    BINS,
    DEGREE,
    DELTA_R,
    autocorrelation_time,
    blocking_error,
    drift,
    estimate,
    pool,
    pressure_from_histogram,
    pressure_weights,
    published_pressure,
)
from manymove.analysis.blocking import block_length
from manymove.analysis.pressure import contact_weights
from manymove.analysis.reference import published

SLOPES = (-6.5, -7.3, -8.0)  # d ln g / dr at contact between packing fractions 0.698 and 0.718


def expected_counts(g, bins=BINS, delta_r=DELTA_R):
    """Integrals of r g(r) over the bins, by Gauss's rule, exact to rounding for smooth g."""
    nodes, weights = np.polynomial.legendre.leggauss(10)
    r = 1 + (np.arange(bins)[:, None] + (nodes + 1) / 2) * delta_r
    return (r * g(r) * weights).sum(axis=1) * delta_r / 2


def test_polynomials_up_to_the_degree_are_extrapolated_exactly():
    g = np.polynomial.Polynomial([2.0, -3.0, 5.0, 40.0, -200.0])
    counts = expected_counts(lambda r: g(r - 1))
    assert contact_weights(BINS, DELTA_R, 4) @ counts == pytest.approx(2.0, rel=1e-10)


def test_ideal_gas_has_the_pressure_of_its_pairs():
    """g = 1 everywhere: P* = 4 phi / pi (1 + 2 phi), Eq. 4."""
    N, phi = 1000, 0.3
    pairs_per_radius = N * 4 * phi  # n(r) / r = pi N rho
    counts = pairs_per_radius * expected_counts(lambda r: np.ones_like(r))
    expected = 4 * phi / math.pi * (1 + 2 * phi)
    assert pressure_from_histogram(counts, 1, N, phi) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("curvature", [-2.0, 0.0, 2.0])
def test_systematic_error_on_a_model_distribution(slope, curvature):
    counts = expected_counts(lambda r: np.exp(slope * (r - 1) + curvature * (r - 1) ** 2))
    assert contact_weights(BINS, DELTA_R, DEGREE) @ counts == pytest.approx(1.0, abs=1e-5)


def test_weights_and_histogram_agree_for_several_records():
    counts = np.random.default_rng(1).integers(0, 1000, (3, BINS))
    constant, weights = pressure_weights(BINS, DELTA_R, DEGREE, N=100, packing_fraction=0.7)
    pressures = pressure_from_histogram(counts, 50, 100, 0.7)
    assert pressures == pytest.approx(constant + counts @ weights / 50)


@pytest.mark.parametrize(
    ("bins", "delta_r", "degree", "message"),
    [(4, 0.01, 4, "needs more than 4 bins"), (10, 0.0, 2, "delta_r"), (10, 0.01, -1, "degree -1")],
)
def test_weights_refuse(bins, delta_r, degree, message):
    with pytest.raises(ValueError, match=message):
        contact_weights(bins, delta_r, degree)


def test_histogram_refuses_no_samples():
    with pytest.raises(ValueError, match="samples is 0"):
        pressure_from_histogram(np.zeros(BINS), 0, 100, 0.7)


def autoregressive(n, tau, generator):
    """Gaussian series with correlation exp(-t / tau)."""
    a = math.exp(-1 / tau)
    noise = generator.normal(size=n)
    x = np.empty(n)
    x[0] = noise[0] / math.sqrt(1 - a * a)
    for i in range(1, n):
        x[i] = a * x[i - 1] + noise[i]
    return x


def test_blocking_finds_the_error_of_a_correlated_series():
    """Over 100 seeded series the mean estimate is within 15 % of the truth.

    One estimate scatters by about 25 %, their mean by 2.5 %: a false alarm, were the seed another,
    has a probability below 1e-6.
    """
    generator = np.random.default_rng(5)
    tau, n = 10.0, 4096
    a = math.exp(-1 / tau)
    truth = 1 / (1 - a) / math.sqrt(n)
    results = [blocking_error(autoregressive(n, tau, generator)) for _ in range(100)]
    assert np.mean([error for error, _ in results]) == pytest.approx(truth, rel=0.15)
    assert all(plateau for _, plateau in results)


@pytest.mark.parametrize(("relaxations", "alone"), [(2, 0.4), (8, 0.2), (34, 0.05)])
def test_errors_contain_a_slow_part_that_a_run_does_not_show(relaxations, alone):
    """A fast part, and a slow part of known relaxation time whose variance is 1 / 30 of the fast.

    Of 300 seeded runs, whose mean is known, at most 10 % are off by more than two errors. The share
    is about 5 % with a standard error of 1.3 %: with another seed, a comparison fails in one of
    10,000 cases. With the blocking error alone the share is larger than `alone`.
    """
    generator = np.random.default_rng(1)
    n, tau = 512, 512 / relaxations
    scale = math.sqrt((1 - math.exp(-2 / tau)) / 30)
    runs = [
        generator.normal(size=n) + scale * autoregressive(n, tau, generator) for _ in range(300)
    ]
    assert np.mean([abs(e.value) > 2 * e.error for e in (estimate(r) for r in runs)]) > alone
    corrected = [estimate(run, relaxations) for run in runs]
    assert np.mean([abs(e.value) > 2 * e.error for e in corrected]) < 0.1


def test_blocks_of_another_quantity_show_what_noise_hides():
    """Noise, and a slow part whose variance is 1 / 100 of the noise, in 60 seeded series.

    With blocks as long as those of the slow part alone, the mean estimate is within 15 % of the
    truth; without them it is below two thirds. One estimate scatters by about 18 %, their mean by
    2.3 %: a false alarm, were the seed another, has a probability below 1e-4.
    """
    generator = np.random.default_rng(3)
    tau, n = 200.0, 2**15
    a = math.exp(-1 / tau)
    scale = 0.1 * math.sqrt(1 - a * a)
    truth = math.sqrt((scale / (1 - a)) ** 2 + 1) / math.sqrt(n)
    alone, together = [], []
    for _ in range(60):
        slow = scale * autoregressive(n, tau, generator)
        records = slow + generator.normal(size=n)
        block = block_length(slow)
        assert block > 2 * tau
        alone.append(estimate(records).error)
        found = estimate(records, block=block)
        assert found.converged and found.value == records.mean()
        together.append(found.error)
    assert np.mean(together) == pytest.approx(truth, rel=0.15)
    assert np.mean(alone) < truth * 2 / 3
    assert not estimate(records, block=n).converged


def test_blocking_says_when_a_series_is_too_short():
    generator = np.random.default_rng(1)
    assert not blocking_error(autoregressive(64, 1000.0, generator))[1]
    assert math.isnan(blocking_error(np.ones(1))[0])
    # Nothing has fluctuated, which is no evidence that nothing does.
    assert blocking_error(np.ones(100)) == (0.0, False)


def test_estimate_and_pool():
    records = np.random.default_rng(1).normal(9.0, 0.1, 256)
    one = estimate(records)
    assert one.value == pytest.approx(records.mean())
    assert pool([one]) == one
    replicas = [Estimate(v, 0.01) for v in (9.0, 9.1, 9.2, 9.3)]
    pooled = pool(replicas)
    assert pooled.value == pytest.approx(9.15)
    assert pooled.error == pytest.approx(np.std([9.0, 9.1, 9.2, 9.3], ddof=1) / 2)
    assert pool(replicas[:2]).error == pytest.approx(0.01 / math.sqrt(2))
    with pytest.raises(ValueError, match="no run"):
        pool([])
    with pytest.raises(ValueError, match="no record"):
        estimate(np.array([]))


def test_drift_sees_a_run_that_relaxes():
    """Seeded; a steady series exceeds three errors with a probability of 0.3 %."""
    noise = np.random.default_rng(1).normal(0.0, 0.1, (2, 512))
    change, error = drift(list(noise))
    assert abs(change) < 3 * error
    assert error == pytest.approx(0.1 * math.sqrt(2 / 256 / 2), rel=0.5)
    relaxing = noise + np.exp(-np.arange(512) / 200)
    change, error = drift(list(relaxing))
    assert change < -3 * error
    assert math.isnan(drift([np.ones(3)]).value)
    assert math.isnan(drift([]).value)


def test_autocorrelation_time_of_a_known_process():
    """Within 30 % for 2000 autocorrelation times, of which one estimate scatters by about 6 %."""
    generator = np.random.default_rng(2)
    real, imaginary = (autoregressive(20_000, 10.0, generator) for _ in range(2))
    assert autocorrelation_time(real, 0.5) == pytest.approx(5.0, rel=0.3)
    assert autocorrelation_time(real + 1j * imaginary) == pytest.approx(10.0, rel=0.3)


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (np.ones(5), "10 values or more"),
        (np.ones(50), "constant"),
        (np.array([math.nan] * 20), "not finite"),
    ],
)
def test_autocorrelation_time_refuses(series, message):
    with pytest.raises(ValueError, match=message):
        autocorrelation_time(series)


def test_published_pressures_are_shipped():
    assert published_pressure(65536, 0.698) == Estimate(9.1709, 0.0001)
    assert published_pressure(1048576, 0.718) == Estimate(9.1951, 0.0004)
    assert published_pressure(1000, 0.698) is None
    assert published_pressure(65536, 0.7) is None
    assert "Table 2" in published()["citation"]
