"""The example of counterions around a rod: its theory, its estimates, and a short run."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
from documents import ROOT, module_of
from lammps_host import needs_lammps

HERE = ROOT / "examples" / "counterions"
if not HERE.exists():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)


@pytest.fixture
def counterions(monkeypatch):
    """The module of the example."""
    pytest.importorskip("matplotlib")
    return module_of(HERE / "counterions.py", monkeypatch)


@pytest.mark.parametrize("core", [0.5, 0.9])
@pytest.mark.parametrize("xi", [2.0, 3.0])
def test_the_inflection_of_poisson_and_boltzmann_is_at_mannings_fraction(counterions, xi, core):
    """R. M. Fuoss, A. Katchalsky, S. Lifson, Proc. Natl. Acad. Sci. 37, 579 (1951) solved the
    equation: P = 1 - (1 - g tan(g ln(r / r_M))) / xi outside of the core, with r_M where P is
    1 - 1 / xi and g tan(g ln(R / r_M)) = 1 at the radius R of the cell."""
    radius = 7.0
    r, fraction = counterions.poisson_boltzmann(xi, radius, lambda r: (r > core).astype(float))
    assert fraction[-1] == pytest.approx(1, abs=1e-6)
    assert (fraction[r < core] == 0).all()
    slope = np.gradient(fraction, np.log(r))
    outside = (r > 1.05 * core) & (r < 0.95 * radius)
    at = r[outside][np.argmin(slope[outside])]
    assert np.interp(at, r, fraction) == pytest.approx(1 - 1 / xi, abs=0.01)
    there = np.interp(1 - 1 / xi, fraction, r)
    # g from the charge at the core, where P is 0.
    low, high = 1e-3, np.pi
    for _ in range(60):
        g = (low + high) / 2
        phase = np.arctan((xi - 1) / g) + np.arctan(1 / g)
        low, high = (g, high) if phase > g * np.log(radius / core) else (low, g)
    expected = 1 - (1 - g * np.tan(g * np.log(r / there))) / xi
    inside = (r > 1.1 * core) & (r < 0.999 * radius)
    assert fraction[inside] == pytest.approx(expected[inside], abs=4e-3)


def test_the_inflection_is_found_in_noise(counterions):
    r, fraction = counterions.poisson_boltzmann(2.0, 6.77, lambda r: (r > 0.7).astype(float))
    edges = np.linspace(0, 6, counterions.RINGS + 1)
    exact = np.interp(edges[1:], r, fraction)
    layers = np.ones(counterions.RINGS)
    at, there = counterions.inflection(edges, exact, layers)
    assert there == pytest.approx(0.5, abs=0.01)
    assert at == pytest.approx(np.interp(0.5, fraction, r), rel=0.05)
    rng = np.random.default_rng(1)
    noise = np.cumsum(rng.normal(size=(10, counterions.RINGS)) * 2e-4, axis=1)
    value, error = counterions.jackknife(
        lambda mean: counterions.inflection(edges, mean, layers)[1], exact + noise
    )
    assert 0 < error < 0.03 and abs(value - there) < 5 * error


def test_layers_of_particles_do_not_move_the_inflection(counterions):
    def layers(r):
        return (r > 0.7) * (1 + 0.2 * np.cos(2.5 * r))

    r, fraction = counterions.poisson_boltzmann(3.0, 6.77, layers)
    edges = np.linspace(0, 6, counterions.RINGS + 1)
    exact = np.interp(edges[1:], r, fraction)
    density = layers((edges[1:] + edges[:-1]) / 2)
    plain = counterions.inflection(edges, exact, np.ones(counterions.RINGS))[1]
    there = counterions.inflection(edges, exact, density)[1]
    assert there == pytest.approx(2 / 3, abs=0.01)
    assert abs(plain - 2 / 3) > 0.02


def test_the_jackknife_of_a_mean_is_its_standard_error(counterions):
    blocks = np.random.default_rng(2).normal(size=(12, 3))
    value, error = counterions.jackknife(lambda mean: mean[0], blocks)
    assert value == pytest.approx(blocks[:, 0].mean())
    assert error == pytest.approx(blocks[:, 0].std(ddof=1) / np.sqrt(12))


@needs_lammps
def test_a_short_run_keeps_all_charges_in_the_engine(counterions, tmp_path):
    options = argparse.Namespace(
        output=tmp_path, edge=6.5, height=7.0, bjerrum=0.5, settle=100, steps=1000,
        device="cpu", threads=1, seed=3,
    )  # fmt: skip
    found = counterions.measure(options, 2.0)
    log = (tmp_path / "xi_2" / "log").read_text()
    assert "the particles are on" in log and "cannot keep" not in log
    assert found["pairs"] == 28 and "28 settings made for charge" in log
    assert 0.5 < found["within"][-1] <= 1
    assert (np.diff(found["within"]) >= 0).all() and found["within"][0] < 0.05
    ions = counterions.numbers(tmp_path / "xi_2" / "ions")
    assert ions.shape == (counterions.BLOCKS, counterions.RINGS)
    assert (ions.sum(axis=1) <= 28).all()
