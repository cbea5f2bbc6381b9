"""Random numbers and weights of DPD: moments, distribution, independence, symmetry.

Each statistical comparison has a probability of a false alarm of `FALSE_ALARM`; seeds are fixed.
"""

from __future__ import annotations

import importlib.util
import math
import shutil

import numpy as np
import pytest
from documents import ROOT
from laws import FALSE_ALARM, assert_follows, normal_tail
from machine import runnable_simd_levels

from manymove import _core

SAMPLES = 1 << 21


def pairs(seed: int, step: int, tag_i, tag_j) -> np.ndarray:
    """The plugin's noise, float64."""
    tags = np.broadcast_arrays(np.asarray(tag_i, np.uint32), np.asarray(tag_j, np.uint32))
    return _core.dpd.noise(seed, step, *(np.ascontiguousarray(t) for t in tags)).astype(float)


@pytest.fixture(scope="module")
def tea(tmp_path_factory):
    """The paper's generator, which examples/papers/dpd/figure_9.py compiles."""
    folder = ROOT / "examples/papers/dpd"
    if not folder.exists() or shutil.which("c++") is None:
        pytest.skip("there is no example or no compiler")
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location("figure_9", folder / "figure_9.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Tea(str(tmp_path_factory.mktemp("tea")))


@pytest.fixture
def tea_pairs(tea):
    """The paper's noise for particles at thermal velocities, float64."""
    velocity = np.random.default_rng(7).normal(size=(1 << 16, 3))

    def noise(seed: int, step: int, tag_i, tag_j) -> np.ndarray:
        signatures = tea.signatures(seed, step, np.arange(1 << 16, dtype=np.uint32), velocity)
        tags = np.broadcast_arrays(np.asarray(tag_i), np.asarray(tag_j))
        return tea.noise(seed, step, *(np.ascontiguousarray(signatures[t]) for t in tags)).astype(
            float
        )

    return noise


@pytest.fixture(params=["Philox", "TEA"])
def noise(request):
    return pairs if request.param == "Philox" else request.getfixturevalue("tea_pairs")


def assert_mean(values: np.ndarray, mean: float, variance: float) -> None:
    """The mean of independent values, in the normal approximation."""
    z = (values.mean() - mean) / math.sqrt(variance / values.size)
    assert normal_tail(z) > FALSE_ALARM, z


def neighbouring_tags() -> tuple[np.ndarray, np.ndarray]:
    """Pairs as a lattice of consecutive tags makes them: the least random input there is."""
    i = np.arange(SAMPLES, dtype=np.uint32) // 32
    return i, i + 1 + np.arange(SAMPLES, dtype=np.uint32) % 32


def test_moments_are_those_of_a_normal_variable(noise):
    i, j = neighbouring_tags()
    x = noise(4711, 1000, i % 65536, j % 65536)
    # Moments and their variances: <x^2n> = (2n - 1)!!
    assert_mean(x, 0, 1)
    assert_mean(x**2, 1, 2)
    assert_mean(x**3, 0, 15)
    assert_mean(x**4, 3, 96)
    assert_mean(x**6, 15, 10395 - 225)


def test_values_follow_the_normal_distribution(noise):
    i, j = neighbouring_tags()
    x = noise(1, 3, i % 65536, j % 65536)
    edges = np.array([math.sqrt(2) * k / 16 for k in range(-72, 73)])
    cdf = np.array([0.5 * math.erfc(-e / math.sqrt(2)) for e in edges])
    law = np.diff(np.concatenate([[0], cdf, [1]]))
    counts = np.diff(np.concatenate([[0], np.searchsorted(np.sort(x), edges), [x.size]]))
    assert_follows(counts, law)


def test_symmetric_in_the_particles(noise):
    i, j = (t % 65536 for t in neighbouring_tags())
    assert (noise(5, 6, i, j) == noise(5, 6, j, i)).all()


@pytest.mark.parametrize("lag", [1, 2, 1000, 1 << 32])
def test_steps_are_independent(noise, lag):
    i, j = (t % 65536 for t in neighbouring_tags())
    x, y = noise(9, 17, i, j), noise(9, 17 + lag, i, j)
    assert_mean(x * y, 0, 1)
    assert_mean((x**2 - 1) * (y**2 - 1), 0, 4)


def test_seeds_are_independent(noise):
    i, j = (t % 65536 for t in neighbouring_tags())
    for other in (2, 3, 1 << 31):
        assert_mean(noise(1, 5, i, j) * noise(other, 5, i, j), 0, 1)
    # Seeds and steps are not interchangeable.
    assert_mean(noise(1, 2, i, j) * noise(2, 1, i, j), 0, 1)


def test_pairs_are_independent(noise):
    i = np.arange(SAMPLES, dtype=np.uint32) % 65000
    k = np.arange(SAMPLES, dtype=np.uint32) // 65000
    x = noise(3, 1, i, i + 1 + k)
    for other in (noise(3, 1, i, i + 2 + k), noise(3, 1, i + 1, i + 1 + k + 1)):
        assert_mean(x * other, 0, 1)
        assert_mean((x**2 - 1) * (other**2 - 1), 0, 4)


def test_a_particles_kicks_add_up_like_independent_ones(noise):
    # The sum over 30 partners of tag i has a variance of 30 in every group of tags.
    i = np.repeat(np.arange(60000, dtype=np.uint32), 30)
    j = i + 1 + np.tile(np.arange(30, dtype=np.uint32), 60000)
    total = noise(8, 4, i, j).reshape(-1, 30).sum(axis=1)
    assert_mean(total, 0, 30)
    assert_mean(total**2, 30, 2 * 30**2)
    for k in range(0, 16):  # tags with bit k set
        some = total[(np.arange(60000) >> k & 1) == 1]
        assert_mean(some**2, 30, 2 * 30**2)


def test_every_simd_level_draws_the_same_bits(monkeypatch):
    i, j = (t[:100003] for t in neighbouring_tags())
    results = []
    for level in runnable_simd_levels():
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        results.append(pairs(2, 1 << 40, i, j))
    for other in results[1:]:
        assert (other == results[0]).all()


def test_extremes_of_the_random_words():
    # The largest value a word can make is sqrt(62 ln 2).
    i, j = neighbouring_tags()
    x = pairs(4, 4, i, j)
    assert np.isfinite(x).all()
    assert 4.5 < np.abs(x).max() < math.sqrt(62 * math.log(2))


@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 6.0])
@pytest.mark.parametrize(("kind", "tolerance"), [(np.float64, 4e-15), (np.float32, 3e-6)])
def test_power(exponent, kind, tolerance):
    base = np.concatenate([np.linspace(0.001, 1, 40001), np.logspace(-6, 0, 5001)]).astype(kind)
    result = _core.dpd.power(base, exponent)
    exact = base.astype(float) ** exponent
    assert np.abs(result / exact - 1).max() < tolerance
    assert _core.dpd.power(np.array([1], kind), exponent)[0] == pytest.approx(1, rel=2e-7)
    assert _core.dpd.power(np.array([0], kind), exponent)[0] == 0
