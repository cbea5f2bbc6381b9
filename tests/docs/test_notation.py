# SPDX-License-Identifier: BSD-3-Clause
"""Numbers and their errors have one notation, 9.200(8). `make lint` checks pages and sources."""

from __future__ import annotations

from manymove.adsorption.averages import Estimate


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
