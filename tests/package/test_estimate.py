# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with errors: arithmetic, comparison, and formats."""

from __future__ import annotations

import json
import math
import operator
import pickle

import numpy as np
import pytest

from manymove import Estimate

A, B = Estimate(9.2004, 0.008), Estimate(2.0, 0.1)


@pytest.mark.parametrize("apply", ["add", "sub", "mul", "truediv", "pow"])
@pytest.mark.parametrize(("a", "b"), [(A, B), (A, 3), (3, A), (B, 0.5), (2.5, B), (A, A)])
def test_errors_propagate_to_first_order(apply, a, b):
    """The variance is the sum of the squares of numerical derivatives times the errors."""
    function = getattr(operator, apply)
    found = function(a, b)
    x, y, h = float(a), float(b), 1e-6
    slopes = (
        (function(x + h, y) - function(x - h, y)) / (2 * h),
        (function(x, y + h) - function(x, y - h)) / (2 * h),
    )
    errors = [getattr(one, "error", 0.0) for one in (a, b)]
    assert found.value == function(x, y)
    assert found.error == pytest.approx(math.hypot(*np.multiply(slopes, errors)), rel=1e-6)


def test_errors_of_random_numbers_are_those_that_arithmetic_finds():
    """The spread of f(x, y) over 100,000 seeded pairs, to 2 %: nine standard errors."""
    x, y = np.random.default_rng(1).normal((9.2, 2.0), (0.05, 0.01), (100_000, 2)).T
    found = (Estimate(9.2, 0.05) - 1) / Estimate(2.0, 0.01) ** 2
    assert np.std((x - 1) / y**2) == pytest.approx(found.error, rel=0.02)


def test_arithmetic_keeps_what_is_known_of_the_error():
    bound = Estimate(1.0, 0.1, converged=False)
    assert not (A + bound).converged and not (2 * bound).converged and (A + B).converged
    assert math.isnan((A + Estimate(1.0, math.nan)).error)
    assert (Estimate(0.0, 0.1) * Estimate(math.inf, 0.0)).converged
    assert sum([A, B]) == A + B
    assert (-A, +A, abs(-A)) == (Estimate(-9.2004, 0.008), A, A)
    assert np.float64(2) * A == 2 * A
    assert list(np.array([1, 2]) * A) == [A, 2 * A]
    with pytest.raises(TypeError, match="Estimate"):
        _ = A + "1"


def test_comparison_is_by_value_and_equality_by_both():
    assert A > B and A >= 9.2004 and B < 9 and B <= A and max(A, B) is A
    assert A == Estimate(9.2004, 0.008) and A != Estimate(9.2004, 0.009) and A != 9.2004
    assert Estimate(2, 0) == 2 and hash(Estimate(2, 0)) == hash(2)
    assert {A: 1}[Estimate(9.2004, 0.008)] == 1 and A != "A"
    with pytest.raises(TypeError):
        _ = A < "1"


def test_values_are_floats_and_errors_are_not_negative():
    exact = Estimate(2, np.float32(0.5))
    assert type(float(exact)) is float and exact < 3 and 1 / exact == Estimate(0.5, 0.125)
    assert json.dumps(exact, default=Estimate.to_dict).startswith('{"value": 2.0, "error": 0.5')
    with pytest.raises(ValueError, match=r"error must not be negative, got -0\.1"):
        Estimate(1.0, -0.1)


def test_an_estimate_is_a_number_a_pair_and_json():
    value, error = A
    assert (value, error) == (9.2004, 0.008) and float(A) == 9.2004
    assert math.sqrt(A) == math.sqrt(9.2004)
    assert np.array([A, B], float).tolist() == [9.2004, 2.0]
    text = json.dumps({"P": A, "Q": Estimate(1.5, math.nan)}, default=Estimate.to_dict)
    again = {name: Estimate(**found) for name, found in json.loads(text).items()}
    assert again["P"] == A and math.isnan(again["Q"].error)
    assert pickle.loads(pickle.dumps(A)) == A


@pytest.mark.parametrize(
    ("specification", "text"),
    [
        ("", "9.200(8)"),
        (".2f", "9.20(1)"),
        (".4f", "9.2004(80)"),
        (".0f", "9(0)"),
        (".2e", "9.20(1)e+00"),
        (".3g", "9.20(1)"),
        (".3", "9.20(1)"),
        (".1%", "920.0(8)%"),
        ("+.1f", "+9.2(0)"),
        ("12", "    9.200(8)"),
        ("*<10.2f", "9.20(1)***"),
    ],
)
def test_formats_are_those_of_floats(specification, text):
    assert f"{A:{specification}}" == text


def test_formats_of_large_and_small_numbers():
    assert f"{Estimate(1234567.8, 1200):,.0f}" == "1,234,568(1200)"
    assert f"{Estimate(2.5e-9, 1e-10):.3g}" == "2.50(10)e-09"
    assert f"{Estimate(2.5, math.nan):.2f}" == "2.50(?)"
    with pytest.raises(ValueError, match="invalid format specification 'd' for an Estimate"):
        f"{A:d}"


def test_round_keeps_the_digits_of_the_notation():
    assert round(A) == Estimate(9.2, 0.008)
    assert round(A, 2) == Estimate(9.2, 0.01)
    assert round(Estimate(1234.5, 200), -2) == Estimate(1200, 200)
    exact = Estimate(1 / 3, 0.0)
    assert round(exact) is exact


def test_an_estimate_is_printed_with_the_error_of_its_last_digit():
    assert str(Estimate(9.2004, 0.008)) == "9.200(8)"
    assert str(Estimate(2.5, float("nan"))) == "2.5(?)"


def test_small_numbers_have_an_exponent():
    assert str(Estimate(4.568e-7, 6e-10)) == "4.568(6)e-07"
    assert str(Estimate(-2.4e-5, 1.04e-5)) == "-2(1)e-05"
    assert str(Estimate(1e-9, 3e-5)) == "0(3)e-05"
    assert str(Estimate(2.5e-4, 1e-5)) == "0.00025(1)"
    assert str(Estimate(3e-120, 1e-121)) == "3.0(1)e-120"
    assert str(Estimate(5e-324, 5e-324)) == "4.94066e-324(0)"  # beyond the normal numbers
