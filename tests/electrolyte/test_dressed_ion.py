"""The dressed-ion analysis, on integral-equation correlations whose far field is known."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest

from manymove.analysis import (
    IntegralEquation,
    charge_density,
    continue_pair_correlations,
    dressed_ion,
    dressed_ions,
    hypernetted_chain,
    potential_of_mean_force,
)
from manymove.analysis.ions import debye_length
from manymove.analysis.pair_correlations import PairCorrelations

BJERRUM, DIAMETER, BARE = 7.117, 7.5, (3.0, -1.0)
DENSITY = 1 / (4 * math.pi * BJERRUM * 3 * 28.53**2)  # ions; the mean of z^2 is 3
DENSITIES = np.array([DENSITY / 4, 3 * DENSITY / 4])


@functools.cache
def solution() -> IntegralEquation:
    """The 3:-1 salt of the paper in the hypernetted-chain approximation, points 0.5 A apart."""
    return hypernetted_chain(DENSITIES, BARE, DIAMETER, BJERRUM, points_per_diameter=15)


def measured(noise=0.0, offset=0.0, seed=0, bare=BARE, screened=1.0) -> PairCorrelations:
    """As if it were counted; noise in units of sqrt(counts), of 1e10 r^2 pairs and the like."""
    known = solution()
    r, g = known.r, 1 + screened * known.h
    random = np.random.default_rng(seed)
    pairs = [(0, 0), (0, 1), (1, 1)]
    ideal = np.outer([1.0, 6.0, 9.0], r**2) * 3e5
    sizes = np.sqrt(np.maximum(g, 1e-9) / ideal)
    blocks = [
        g * (1 + offset) + noise * math.sqrt(20) * sizes * random.normal(size=g.shape)
        for _ in range(20)
    ]
    mean = np.mean(blocks, axis=0)
    return PairCorrelations(
        r, mean, pairs, mean * ideal, ideal, DENSITIES, DENSITIES * 1e9, bare, np.array(blocks)
    )


def test_the_far_field_is_that_of_the_pole():
    """h_ab r e^(kR r) tends to -z_a z_b l_B eps / eps_R. Eq. 8 is an identity."""
    known, found = solution(), solution().screening()
    at = int(np.searchsorted(known.r, 12 * found.debye_length))
    far = known.r[at] * math.exp(known.r[at] / found.debye_length)
    z = found.valences
    for h, (a, b) in zip(known.h, ((0, 0), (0, 1), (1, 1)), strict=True):
        expected = -z[a] * z[b] * BJERRUM / found.permittivity
        assert h[at] * far == pytest.approx(expected, rel=1e-3)
    assert (28.53 / found.debye_length) ** 2 == pytest.approx((z[0] - z[1]) / 4, rel=1e-6)


def test_weak_coupling_has_the_limiting_law_of_the_screening_length():
    """(kR / kappa)^2 - 1 = (kappa l_B ln 3 / 4) (sum n z^3 / sum n z^2)^2 to leading order
    (docs/theory/coulomb.md, section 6); the next is a twentieth of it here."""
    bjerrum, n = 0.005, np.array([0.25, 0.75])
    n = n / (4 * math.pi * bjerrum * 3)  # a Debye length of 1
    found = hypernetted_chain(n, BARE, 0.02, bjerrum, points_per_diameter=1).screening()
    expected = bjerrum * math.log(3) / 4 * 2**2
    assert found.debye_length**-2 - 1 == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("distance", [10.0, 30.0, 60.0])
def test_correlations_continue_from_any_distance(distance):
    known = solution()
    again = continue_pair_correlations(known.r, 1 + known.h, DENSITIES, BARE, BJERRUM, distance)
    assert np.abs(again.h - known.h).max() < 1e-6
    assert again.screening().debye_length == pytest.approx(known.screening().debye_length, 1e-5)


@pytest.mark.parametrize(
    "r, distance, message",
    [(np.arange(8) + 1.0, 4.0, "begin at 0"), (np.arange(8) + 0.5, 9.0, "is known up to 7.5")],
)
def test_correlations_that_cannot_be_continued_are_refused(r, distance, message):
    with pytest.raises(ValueError, match=message):
        continue_pair_correlations(r, np.ones((3, 8)), DENSITIES, BARE, BJERRUM, distance)


def test_what_has_no_solution_is_refused():
    with pytest.raises(ValueError, match="no solution"):
        hypernetted_chain(DENSITIES, BARE, DIAMETER, 20 * BJERRUM, points_per_diameter=8)


def test_counted_densities_need_not_be_exactly_neutral():
    counted = (1.001 * DENSITIES[0], DENSITIES[1])
    found = hypernetted_chain(counted, BARE, DIAMETER, BJERRUM, points_per_diameter=15)
    expected = solution().screening().debye_length
    assert found.screening().debye_length == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("densities", "valences", "diameter", "message"),
    [
        ([0.1], [1.0, -1.0], 4.0, "densities must be two positive numbers"),
        ([0.1, -0.1], [1.0, 1.0], 4.0, "densities must be two positive numbers"),
        ([math.nan, 0.1], [1.0, -1.0], 4.0, "densities must be two positive numbers"),
        ([0.1, 0.1], [1.0, 1.0], 4.0, "valences must be two numbers of neutral species"),
        ([0.1, 0.1], [1.0, -1.0], 0.0, "diameter must be positive and finite"),
    ],
)
def test_a_mixture_without_an_integral_equation_is_refused(densities, valences, diameter, message):
    with pytest.raises(ValueError, match=message):
        hypernetted_chain(densities, valences, diameter, BJERRUM)


@pytest.mark.parametrize("offset", [0.0, 1e-4])
def test_parameters_come_back(offset):
    found, known = dressed_ions(measured(offset=offset), BJERRUM), solution().screening()
    assert found.debye_length == pytest.approx(known.debye_length, rel=1e-3)
    assert found.pole_debye_length == pytest.approx(known.debye_length, rel=1e-4)
    assert found.bare_debye_length == pytest.approx(28.53)
    for got, pole, z in zip(found.valences, found.pole_valences, known.valences, strict=True):
        assert got == pytest.approx((z, z), rel=2e-3)
        assert pole == pytest.approx(z, rel=1e-3)
    assert found.permittivity == pytest.approx(2 * (known.permittivity,), rel=2e-3)
    assert found.pole_permittivity == pytest.approx(known.permittivity, rel=1e-3)
    assert found.screening_ratio == pytest.approx(found.charge_ratio, rel=2e-3)
    assert 0.5 < found.curvature < 2.5  # what one exponential alone is wrong by, in angstrom


@pytest.mark.pictures
def test_pictures_of_the_far_field(tmp_path):
    pytest.importorskip("matplotlib")
    from manymove.electrolyte import plots

    found = dressed_ions(measured(), BJERRUM)
    for draw in (plots.far_field, plots.valences):
        draw(tmp_path / "picture.png", measured(), found, "3:-1 electrolyte")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    # The straight lines are what the charge densities tend to.
    known = measured()
    rho = charge_density(known.g, DENSITIES, BARE)
    at = int(np.searchsorted(known.r, 250))
    for species in (0, 1):
        line = plots.asymptote(found, species, known.r[at])
        assert math.log(abs(known.r[at] * rho[species, at])) == pytest.approx(line, abs=0.02)


def test_errors_cover_the_truth():
    """Of five data sets the squared deviations over the errors have a mean of about one, less for
    the fit, whose errors contain the choice of its window; above 5 with a probability of 1e-4."""
    known = solution().screening().debye_length
    pulls, poles = [], []
    for seed in range(5):
        found = dressed_ions(measured(noise=1.0, seed=seed), BJERRUM)
        pulls.append((found.debye_length - known) / found.debye_length_error)
        poles.append((found.pole_debye_length - known) / found.pole_debye_length_error)
        assert found.pole_debye_length_error < found.debye_length_error < 2
        assert 0.7 < found.pole_chi_square < 1.4
    assert 0.05 < np.mean(np.square(pulls)) < 5
    assert 0.1 < np.mean(np.square(poles)) < 5


def test_the_choice_of_the_window_has_no_error_where_no_other_can_be_fitted():
    def fit_of(window):
        def fit(g):
            raise ValueError("no screened far field")

        return fit

    r = np.arange(0.5, 100)
    error = dressed_ion._window_error(
        fit_of, r, (50, 90), None, None, np.ones((3, 100)), np.ones(9)
    )
    assert np.isnan(error).all()  # not 0, which would say that it does not matter


def test_charge_around_an_ion_has_the_opposite_sign_and_screens_it():
    correlations = measured()
    rho = charge_density(correlations.g, DENSITIES, BARE)
    near = (correlations.r > 2 * DIAMETER) & (correlations.r < 300)
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
        ({"correlations": measured(bare=(1.0, 1.0))}, "opposite charge"),
        ({"correlations": measured(noise=1.0, screened=0.0)}, "no screened far field"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        dressed_ions(**({"correlations": measured(), "bjerrum_length": BJERRUM} | arguments))


@pytest.mark.filterwarnings("error")
def test_a_tail_without_a_pair_is_refused():
    run = measured()
    counts = np.where((run.r > 150) & (np.arange(3)[:, None] == 0), 0, run.counts)
    with pytest.raises(ValueError, match="in the tail: run longer"):
        dressed_ions(dataclasses.replace(run, counts=counts), BJERRUM, tail=160.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_of_few_blocks_the_errors_are_unknown(blocks):
    run = measured(noise=1e-3)
    found = dressed_ions(dataclasses.replace(run, blocks=run.blocks[:blocks]), BJERRUM)
    assert math.isnan(found.debye_length_error)
