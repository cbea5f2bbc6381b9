"""The dressed-ion analysis on correlations made up from known parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manymove.analysis import charge_density, dressed_ions, potential_of_mean_force
from manymove.ions import debye_length
from manymove.pair_correlations import PairCorrelations

BJERRUM, BARE = 7.117, (3.0, -1.0)
DRESSED, PERMITTIVITY = (4.125, -0.884), 1.08
DENSITY = 1 / (4 * math.pi * BJERRUM * 3 * 28.53**2)  # ions; the mean of z^2 is 3
DENSITIES = np.array([DENSITY / 4, 3 * DENSITY / 4])
# Poisson's equation ties kR to the valences: kR^2 = 4 pi l_B sum n z0 z, which is Eq. 8.
KAPPA = math.sqrt(4 * math.pi * BJERRUM * float((DENSITIES * BARE * np.array(DRESSED)).sum()))


def made_up(strength=1e-3, noise=0.0, offset=0.0, seed=0, bare=BARE) -> PairCorrelations:
    """g = 1 + h, h the far field at every distance; weak, for the theory is linear."""
    r = (np.arange(1600) + 0.5) * 0.25
    far = BJERRUM / PERMITTIVITY * np.exp(-KAPPA * r) / r * strength
    random = np.random.default_rng(seed)
    pairs = [(0, 0), (0, 1), (1, 1)]
    ideal = np.outer([1.0, 6.0, 9.0], r**2) * 1e10
    g = np.array([np.exp(-DRESSED[a] * DRESSED[b] * far) for a, b in pairs]) * (1 + offset)
    counts = ideal * g + noise * np.sqrt(ideal) * random.normal(size=g.shape)
    blocks = np.array(
        [g + noise * np.sqrt(16 / ideal) * random.normal(size=g.shape) for _ in range(16)]
    )
    return PairCorrelations(
        r, counts / ideal, pairs, counts, ideal, DENSITIES, DENSITIES * 1e9, bare, blocks
    )


@pytest.mark.parametrize("offset", [0.0, 1e-7])
def test_parameters_come_back(offset):
    """Valences scale with the root of the made-up strength, the permittivity does not."""
    strength = 1e-3
    found = dressed_ions(made_up(strength, offset=offset), BJERRUM)
    assert found.debye_length == pytest.approx(1 / KAPPA, rel=2e-4)
    assert found.bare_debye_length == pytest.approx(28.53)
    for got, way in zip(found.valences, DRESSED, strict=True):
        # U is strength times as large, and rho with it: their ratio, Eq. 17, stays.
        assert got == pytest.approx((way, way), rel=1e-3)
    assert found.permittivity == pytest.approx(2 * (PERMITTIVITY / strength,), rel=1e-3)
    assert found.screening_ratio == pytest.approx(found.charge_ratio, rel=1e-3)


def test_the_papers_numbers_fulfil_equation_8():
    assert (28.53 * KAPPA) ** 2 == pytest.approx((4.125 + 0.884) / 4, rel=1e-12)
    assert 1 / KAPPA == pytest.approx(25.57, abs=0.1)


def test_errors_cover_the_truth():
    """Ten data sets: the squared deviations over the errors have a mean of about one."""
    pulls = []
    for seed in range(10):
        found = dressed_ions(made_up(1.0, noise=0.5, seed=seed), BJERRUM, window=(60, 140))
        reference = dressed_ions(made_up(1.0), BJERRUM, window=(60, 140))
        pulls.append((found.debye_length - reference.debye_length) / found.debye_length_error)
    assert 0.3 < np.mean(np.square(pulls)) < 3


def test_charge_around_an_ion_has_the_opposite_sign_and_screens_it():
    correlations = made_up(1e-3)
    rho = charge_density(correlations.g, DENSITIES, BARE)
    near = correlations.r < 300
    assert (rho[0, near] < 0).all()
    assert (rho[1, near] > 0).all()


def test_potential_of_mean_force():
    assert potential_of_mean_force(np.array([1.0, math.e, 0.0])) == pytest.approx(
        np.array([0.0, -1.0, math.inf])
    )


def test_bare_debye_length_is_equation_5():
    assert debye_length(DENSITIES, BARE, BJERRUM) == pytest.approx(28.53)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"window": (10.0, 11.0)}, "bins of data"),
        ({"correlations": []}, "no pair correlations"),
        ({"correlations": made_up(bare=(1.0, 1.0))}, "opposite charge"),
        ({"correlations": made_up(0.0, noise=1.0)}, "no screened far field"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        dressed_ions(**({"correlations": made_up(), "bjerrum_length": BJERRUM} | arguments))
