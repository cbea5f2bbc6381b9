# SPDX-License-Identifier: BSD-3-Clause
"""Free energies from equations of state, and coexistence: published equations of state and exact
loops."""

from __future__ import annotations

import json
import math
from importlib.resources import files

import numpy as np
import pytest

from manymove import Estimate
from manymove.analysis import (
    CrystalBranch,
    FluidBranch,
    coexistence,
    maxwell_construction,
    virial_pressure,
)
from manymove.analysis.sphere_reference import fluid_factor, published, solid_factor

FLUID = np.array([0.12, 0.2, 0.28, 0.34, 0.39, 0.43, 0.46, 0.48, 0.495, 0.505])
CRYSTAL = np.array([0.53, 0.54, 0.55, 0.56, 0.575])
START = 1.04086 * math.pi / 6


def pressures(phi, factor):
    return np.array([6 * x / math.pi * factor(x) for x in phi])


def fluid(relative_error=1e-4, **options):
    P = pressures(FLUID, fluid_factor)
    return FluidBranch(FLUID, P, relative_error * P, **options)


def crystal(relative_error=1e-4, error=2e-4, **options):
    P = pressures(CRYSTAL, solid_factor)
    given = {"start": START, "start_free_energy": Estimate(4.9590, error)} | options
    return CrystalBranch(CRYSTAL, P, relative_error * P, **given)


def integral(function, low, high, steps=20_000):
    x = low + (np.arange(steps) + 0.5) / steps * (high - low)
    return sum(map(function, x.tolist())) * (high - low) / steps


@pytest.mark.parametrize("phi", [0.25, 0.4, 0.4917])
def test_the_free_energy_of_the_fluid_is_that_of_its_equation_of_state(phi):
    excess = integral(lambda x: (fluid_factor(x) - 1) / x, 0, phi)
    exact = math.log(6 * phi / math.pi) - 1 + excess
    assert fluid().free_energy(phi) == pytest.approx(exact, abs=4e-4)
    assert fluid().pressure(phi) == pytest.approx(6 * phi / math.pi * fluid_factor(phi), rel=3e-4)
    assert fluid().chemical_potential(phi) == pytest.approx(exact + fluid_factor(phi), abs=2e-3)


def test_the_free_energy_of_disks():
    phi = np.linspace(0.1, 0.6, 8)
    P = np.array([virial_pressure(x).value for x in phi])
    found = FluidBranch(phi, P, 1e-4 * P, dimensions=2)

    def excess(x):
        return (virial_pressure(x).value / (4 * x / math.pi) - 1) / x if x > 1e-3 else 2.0

    exact = math.log(4 * 0.5 / math.pi) - 1 + integral(excess, 0, 0.5, 2000)
    assert found.free_energy(0.5) == pytest.approx(exact, abs=1e-3)


def test_the_correction_is_that_of_the_fluctuations_of_the_number():
    """The excess free energy of N particles is larger by ln(S) / (2 N), S = 1 / (d beta P / d rho):
    its derivative is the correction of the pressure."""
    P, N = pressures(FLUID, fluid_factor), 100
    more = (FluidBranch(FLUID, P, 1e-4 * P, N=N)._factors - P / (6 * FLUID / math.pi))[5]

    def compressibility(phi, h=1e-4):
        up, down = pressures([phi + h, phi - h], fluid_factor)
        return math.log(2 * h * 6 / math.pi / (up - down))

    slope = (compressibility(FLUID[5] + 1e-3) - compressibility(FLUID[5] - 1e-3)) / 2e-3
    assert more == pytest.approx(-FLUID[5] * slope / (2 * N), rel=0.02)


def test_a_crystal_of_few_particles_has_a_center_of_mass():
    """Z of 32 and 108 FCC spheres at a packing fraction of 0.545 (20,000 sweeps each) differ by ten
    errors, and corrected ones by less than three times the 0.023 of 4.5 errors."""
    Z = np.array([10.853, 11.084])
    corrected = [
        CrystalBranch._correction(None, np.array([factor]), N)[0] + factor
        for factor, N in zip(Z, (32, 108), strict=True)
    ]
    assert corrected == pytest.approx([11.171, 11.178], abs=1e-3)
    few, many = crystal(N=100), crystal()
    assert few._factors == pytest.approx(many._factors + (many._factors - 1) / 99)


def test_published_equations_of_state_coexist_at_the_published_pressure():
    """Kolafa et al. and Speedy with the free energy of Vega and Noya: 11.57 within 0.01, and the
    densities 0.9389 and 1.0376 within the three digits of the crystal's equation of state."""
    found = coexistence(fluid(), crystal())
    exact = published()["coexistence"]["pressure"][0]
    assert found.pressure.value == pytest.approx(exact, abs=0.01)
    densities = [6 * each.value / math.pi for each in found.packing_fractions]
    assert densities == pytest.approx([0.9389, 1.0376], abs=1e-3)
    for branch, phi in zip((fluid(), crystal()), found.packing_fractions, strict=True):
        assert branch.pressure(phi.value) == pytest.approx(found.pressure.value)
        assert branch.chemical_potential(phi.value) == pytest.approx(found.chemical_potential.value)


@pytest.mark.parametrize("end", [0.492, 0.495, 0.497, 0.499, 0.5])
def test_a_fluid_ends_near_freezing(end):
    """The pressure at which the fluid ends is in its range for every rounding."""
    phi = np.array([0.25, 0.35, 0.42, 0.46, 0.48, end])
    P = pressures(phi, fluid_factor)
    found = coexistence(FluidBranch(phi, P, 1e-5 * P), crystal(1e-5))
    assert found.pressure.value == pytest.approx(11.57, abs=0.02)


def test_errors_follow_from_those_of_the_data():
    """The error of the free energy of the crystal alone is that of the pressure times the change of
    the volume per particle."""
    found = coexistence(fluid(1e-9), crystal(1e-9, 1e-3))
    low, high = (6 * each.value / math.pi for each in found.packing_fractions)
    assert found.pressure.error == pytest.approx(1e-3 / (1 / low - 1 / high), rel=0.2)
    twice = coexistence(fluid(1e-9), crystal(1e-9, 2e-3))
    assert twice.pressure.error == pytest.approx(2 * found.pressure.error, rel=1e-3)
    assert coexistence(fluid(4e-4), crystal(4e-4)).pressure.error > 0.003


def test_chi_squared_is_that_of_the_deviations():
    rng = np.random.default_rng(1)
    P = pressures(FLUID, fluid_factor)
    found = FluidBranch(FLUID, P + 0.01 * rng.normal(size=len(P)), np.full(len(P), 0.01))
    assert 0.2 < found.chi_squared < 2.5  # 8 degrees of freedom, 0.8 % outside
    assert math.isnan(FluidBranch(FLUID[:2], P[:2], P[:2]).chi_squared)


# ---- loops ----


def loop(volumes):
    """A cubic loop around P* = 9 and the volume 1.4, whose phases are 0.02 away."""
    x = (volumes - 1.4) / 0.02
    return 9 + 0.1 * (x - x**3)


def test_equal_areas_of_a_cubic():
    volumes = np.linspace(1.375, 1.425, 8)
    found = maxwell_construction(1 / volumes, loop(volumes), np.full(8, 1e-3), degree=3)
    assert found.pressure.value == pytest.approx(9, abs=1e-9)
    low, high = found.packing_fractions
    assert (1 / low.value, 1 / high.value) == pytest.approx((1.42, 1.38))
    assert found.chemical_potential is None
    assert found.chi_squared == pytest.approx(0, abs=1e-9)
    assert 1e-4 < found.pressure.error < 1e-3


def test_published_loop_of_disks():
    """Table 2 of Anderson et al. (2013), 2^20 disks: P* = 9.185, phases at 0.700 and 0.716."""
    table = json.loads(files("manymove").joinpath("data/hard_disks.json").read_text())
    values, errors = np.array(table["MPMC"]["1048576"]).T
    found = maxwell_construction(table["packing_fractions"], values, errors)
    assert found.pressure.value == pytest.approx(9.185, abs=5e-4)
    assert [each.value for each in found.packing_fractions] == pytest.approx(
        [0.700, 0.716], abs=5e-4
    )
    assert found.pressure.error < 5e-4
    assert math.isnan(found.chi_squared)  # six pressures determine six coefficients
    cubic = maxwell_construction(table["packing_fractions"], values, errors, degree=3)
    assert 30 < cubic.chi_squared  # which these pressures exclude


# ---- bad input ----


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fluid(terms=11), "pressures must be at least 11 for a fit, got 10"),
        (lambda: fluid(dimensions=4), "dimensions must be 2 or 3, got 4"),
        (lambda: fluid(0.0), "errors must be positive numbers"),
        (lambda: FluidBranch([0.1, 0.2], [1.0], [1.0]), "a value and an error for each density"),
        (lambda: fluid().at_pressure(20), "a pressure of 20 is not between .* of the fluid"),
        (lambda: crystal().at_pressure(1), "is not between .* of the crystal"),
        (lambda: coexistence(fluid(), crystal(error=1.0)), "the errors of the data are too large"),
        (
            lambda: coexistence(fluid(), FluidBranch(CRYSTAL, CRYSTAL, CRYSTAL)),
            "do not have the same chemical potential",
        ),
        (lambda: fluid(terms=0), "terms must be"),
        (lambda: fluid(N=1), "N must be at least 2"),
        (lambda: FluidBranch([0.5] * 5, [9.0] * 5, [1.0] * 5), "got 1 packing fractions"),
        (lambda: FluidBranch([0.3, 0.8, 1.0], *2 * [[1, 2, 3]]), "must be less than 0.740"),
        (lambda: FluidBranch([0.3, 0.8, 0.95], *2 * [[1, 2, 3]], dimensions=2), "less than 0.9069"),
        (lambda: fluid().free_energy(0.9), "positive and at most 0.505, the range of the fluid"),
        (lambda: fluid().free_energy(-0.1), "the range of the fluid, got -0.1"),
        (lambda: crystal().free_energy(0.6), "from 0.53 to 0.575, the range of the crystal"),
        (lambda: crystal(start=0.6), "start must be from 0.53 to 0.575"),
        (lambda: crystal(start_free_energy=5.0), "start_free_energy must be an Estimate"),
        (lambda: coexistence(fluid(dimensions=2), crystal()), "dimensions of fluid and crystal"),
        (
            lambda: FluidBranch(FLUID, FLUID[::-1], 1e-3 * FLUID, terms=2).at_pressure(0.3),
            "does not increase with density",
        ),
        (lambda: maxwell_construction([1, 2], [1.0], [1.0]), "an error for each density"),
        (lambda: maxwell_construction(FLUID, FLUID, FLUID, degree=2), "degree must be from 3 to 9"),
        (
            lambda: maxwell_construction([0.7, 0.7, 0.71, 0.72], [9.0] * 4, [0.1] * 4, degree=3),
            "degree must be from 3 to 2, got 3",
        ),
        (lambda: maxwell_construction(FLUID, FLUID, 0 * FLUID), "must be positive numbers"),
        (lambda: maxwell_construction(FLUID, 20 - 1 / FLUID, 1e-6 * FLUID), "have no loop"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
