"""The evaluation of the start-up flow: Eq. 10 of the paper, the fit and its chi-square."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from documents import ROOT, module_of
from laws import chi_square_tail

SCRIPT = ROOT / "examples/papers/dpd/figure_10.py"
FORCE, D, VISCOSITY = 0.02, 7.0, 0.3


@pytest.fixture
def transient(monkeypatch):
    return module_of(SCRIPT, monkeypatch)


def eq_10(z: np.ndarray, t: float) -> np.ndarray:
    """As printed, with z from the middle of the channel."""
    u = FORCE * D**2 / (8 * VISCOSITY) * (1 - (2 * z / D) ** 2)
    for n in range(400):
        odd = 2 * n + 1
        u -= (
            (4 * (-1) ** n * FORCE * D**2 / (VISCOSITY * np.pi**3 * odd**3))
            * np.cos(odd * np.pi * z / D)
            * np.exp(-(odd**2) * np.pi**2 * VISCOSITY * t / D**2)
        )
    return u


@pytest.mark.parametrize("time", [0.5, 3.0, 20.0, 1000.0])
def test_the_profile_is_equation_10(transient, time):
    z = np.linspace(0, D, 29)
    lower = transient.velocity(z, np.array([time]), FORCE, D, VISCOSITY, 0.0)
    assert lower == pytest.approx(eq_10(z - D / 2, time), abs=1e-6)
    upper = transient.velocity(z + D, np.array([time]), FORCE, D, VISCOSITY, 0.0)
    assert upper == pytest.approx(-lower, abs=1e-12)


def test_slabs_and_windows_are_averages(transient):
    fine, times = (np.arange(1000) + 0.5) / 1000 + 2, np.array([1.0, 1.5, 4.0])
    slab = transient.velocity(np.array([2.5]), times, FORCE, D, VISCOSITY, 1.0)
    expected = [transient.velocity(fine, t[None], FORCE, D, VISCOSITY, 0.0).mean() for t in times]
    assert slab[0] == pytest.approx(np.mean(expected), rel=1e-6)


def comparison(transient, runs: int, wrong: float = 0.0):
    """Profiles with independent noise in each slab, perhaps with a term that Eq. 10 has not."""
    rng = np.random.default_rng(5)
    options = SimpleNamespace(force=FORCE, half=D, slab=0.5)
    z, times = np.arange(28) * 0.5 + 0.25, [2.0, 5.0, 20.0, 60.0]
    profiles = np.array(
        [transient.velocity(z, transient.sampled_times(t), FORCE, D, VISCOSITY, 0.5) for t in times]
    )
    profiles = profiles + wrong * np.sin(3 * np.pi * z / D)
    profiles = profiles + rng.normal(scale=0.02, size=(runs, len(times), z.size))
    profiles -= profiles.mean(axis=2, keepdims=True)
    return transient.Comparison(profiles, z, times, options)


def test_the_fit_finds_the_viscosity_and_chi_square_agrees(transient):
    # Each chi-square and the sum: false alarms of 1e-4 and less.
    found = comparison(transient, 12)
    viscosity, error = found.fit()
    assert error < 0.01
    assert abs(viscosity - VISCOSITY) < 5 * error
    values = found.chi_square(viscosity)
    degrees = int(found.real.sum())
    assert degrees == 27
    assert all(chi_square_tail(x, degrees) > 1e-4 for x in values)
    assert chi_square_tail(4 * 27 + (4 * 27 - values.sum()), 4 * 27) > 1e-4


def test_chi_square_sees_what_equation_10_has_not(transient):
    found = comparison(transient, 12, wrong=0.02)
    assert chi_square_tail(found.chi_square(found.fit()[0]).sum(), 4 * 27) < 1e-6


def test_a_profile_is_read_as_lammps_writes_it(transient, tmp_path):
    text = "# Chunk-averaged data\n# Timestep\n# Chunk\n"
    for step in (50, 100, 150):
        text += f"{step} 2 10\n  1 0.5 5 {step / 100} 5.0\n  2 1.5 5 {-step / 100} 5.0\n"
    (tmp_path / "profile").write_text(text)
    steps, z, velocities = transient.read_profile(tmp_path / "profile")
    assert (steps == [50, 100, 150]).all() and (z == [0.5, 1.5]).all()
    # t = 1 - 0.5 to 1 + 0.5 in steps of 0.01: the records at 100 and 150
    assert transient.window(steps, velocities, 1.0) == pytest.approx([1.25, -1.25])
