# SPDX-License-Identifier: BSD-3-Clause
"""The equations of state that results are compared with, against independent sources."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manymove.analysis.pressure import BINS, DEGREE, DELTA_R, contact_weights, pressure_weights
from manymove.analysis.reference import virial_pressure
from manymove.analysis.sphere_reference import (
    CLOSE_PACKED,
    fluid_factor,
    literature_pressure,
    mixture_pressure,
    published,
    solid_factor,
)

# B_n / v^(n - 1) with the volume v of a sphere: exact to B_4, then N. Clisby and B. M. McCoy, J.
# Stat. Phys. 122, 15 (2006).
VIRIAL = (1, 4, 10, 18.364768, 28.2245, 39.8155, 53.3444, 68.538, 85.8128, 105.775)


def carnahan_starling_factor(phi):
    """N. F. Carnahan and K. E. Starling, J. Chem. Phys. 51, 635 (1969)."""
    return (1 + phi + phi**2 - phi**3) / (1 - phi) ** 3


def test_the_fluid_has_the_virial_coefficients_of_hard_spheres():
    phi = 0.08
    virial = sum(b * phi**n for n, b in enumerate(VIRIAL))
    assert fluid_factor(phi) == pytest.approx(virial, rel=2e-7)
    for packing_fraction in (0.1, 0.3, 0.49):
        assert carnahan_starling_factor(packing_fraction) == pytest.approx(
            fluid_factor(packing_fraction), rel=3e-3
        )


def test_the_fluid_agrees_with_molecular_dynamics():
    """J. J. Erpenbeck and W. W. Wood, J. Stat. Phys. 35, 321 (1984), at V / V0 of close packing."""
    for volume, factor in ((1.6, 10.193), (1.7, 8.6003), (2, 5.8502), (3, 3.0313)):
        assert fluid_factor(CLOSE_PACKED / volume) == pytest.approx(factor, rel=5e-4)


def test_fluid_and_crystal_coexist_at_the_published_pressure():
    """At 11.57 both equations have packing fractions within 0.002 of the coexisting ones."""
    table = published()["coexistence"]
    pressure = table["pressure"][0]
    for factor, packing_fraction in ((fluid_factor, 0.494), (solid_factor, 0.545)):
        near = np.linspace(packing_fraction - 0.01, packing_fraction + 0.01, 1001)
        pressures = [6 * phi / math.pi * factor(phi) for phi in near]
        assert abs(np.interp(pressure, pressures, near) - packing_fraction) < 0.003


def test_the_crystal_diverges_at_close_packing_as_free_volume_does():
    """Z (1 - phi / phi_cp) goes to 3."""
    for kind in ("fcc", "hcp"):
        z = 1 - 1e-6
        assert solid_factor(z * CLOSE_PACKED, kind) * (1 - z) == pytest.approx(3, rel=1e-5)


@pytest.mark.parametrize(
    ("packing_fraction", "start", "factor"),
    [
        (0.4, "random", fluid_factor),
        (0.4, "fcc", fluid_factor),  # it melts
        (0.52, "random", fluid_factor),
        (0.53, "fcc", solid_factor),
        (0.6, "fcc", solid_factor),
        (0.6, None, solid_factor),
        (0.52, None, None),
        (0.58, "random", None),
        (0.6, "bcc", None),
        (0.745, "fcc", None),
    ],
)
def test_the_start_tells_the_phase(packing_fraction, start, factor):
    found = literature_pressure(packing_fraction, start)
    if factor is None:
        assert found is None
    else:
        assert found.value == pytest.approx(
            6 * packing_fraction / math.pi * factor(packing_fraction)
        )
        assert 0 < found.error <= 1e-3 * found.value


def test_mixtures_of_equal_particles_are_none():
    assert mixture_pressure(0.4, np.full(9, 2.5), 3) / 2.5**0 == pytest.approx(
        6 * 0.4 / math.pi * carnahan_starling_factor(0.4)
    )
    assert mixture_pressure(0.4, np.full(9, 2.5), 2) == pytest.approx(virial_pressure(0.4).value)
    assert mixture_pressure(0.7, np.array([1, 1.4]), 2) is None


def test_mixtures_have_the_exact_second_virial_coefficients():
    """beta P / rho - 1 = rho sum of x_a x_b B_ab at low density, with B_ab = (S_D / 2 D)
    sigma_ab^D."""
    d, x = np.array([1.0, 2.3]), np.array([0.7, 0.3])
    sigma = (d[:, None] + d) / 2
    for D, shell in ((2, 2 * math.pi), (3, 4 * math.pi)):
        phi = 1e-4
        mean = (x * d**D).sum()
        rho = phi * 2 * D / math.pi / mean
        second = (x[:, None] * x * shell / (2 * D) * sigma**D).sum()
        found = mixture_pressure(phi, np.repeat(d, [7, 3]), D)
        assert found / (rho * mean) - 1 == pytest.approx(rho * second, rel=1e-3)


def test_the_contact_value_of_spheres_is_exact_for_polynomials():
    """Counts of a pair distribution r^2 times a polynomial of degree 4."""
    edges = 1 + np.arange(BINS + 1) * DELTA_R
    coefficients = (3.0, -20.0, 70.0, -200.0, 300.0)
    counts = np.zeros(BINS)
    for power, c in enumerate(coefficients):  # integrals of r^2 (r - 1)^power
        t = edges - 1
        whole = t ** (power + 1) / (power + 1) + 2 * t ** (power + 2) / (power + 2)
        counts += c * np.diff(whole + t ** (power + 3) / (power + 3))
    weights = contact_weights(BINS, DELTA_R, DEGREE, 3)
    assert weights @ counts == pytest.approx(3.0, rel=1e-9)
    assert contact_weights(BINS, DELTA_R, DEGREE) @ counts == pytest.approx(3.0, rel=1e-5)


def test_the_pressure_of_spheres_is_that_of_their_contact_value():
    """Z = 1 + 4 phi g(d), with n(1) = 2 pi N rho d^3 g(d) pairs per diameter."""
    N, phi, contact = 100, 0.4, 5.1
    counts = np.zeros(BINS)
    edges = 1 + np.arange(BINS + 1) * DELTA_R
    rho = 6 * phi / math.pi
    counts += 2 * math.pi * N * rho * contact * np.diff(edges**3) / 3
    constant, weights = pressure_weights(
        BINS, DELTA_R, DEGREE, N=N, packing_fraction=phi, dimensions=3
    )
    assert constant == pytest.approx(rho)
    assert constant + weights @ counts == pytest.approx(rho * (1 + 4 * phi * contact), rel=1e-9)
