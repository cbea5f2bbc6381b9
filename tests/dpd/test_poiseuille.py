# SPDX-License-Identifier: BSD-3-Clause
"""Viscosity from double Poiseuille flow: its error, and warnings if the flow is not stationary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from documents import ROOT, module_of

from manymove.analysis import DoublePoiseuille

SCRIPT = ROOT / "examples/papers/dpd/viscosity.py"
ROUTES = ROOT / "examples" / "dpd_viscosity" / "viscosity.py"
ETA = 2.09
FLOW = DoublePoiseuille(6.0, 6.0, 0.055, 0.5, 4608, settled=60.0, length=100.0)
ODD = np.arange(1, 400, 2)


@pytest.fixture
def script(monkeypatch):
    return module_of(SCRIPT, monkeypatch)


def mean_velocity(flow: DoublePoiseuille, begin: float, end: float) -> float:
    """Mean velocity of a half, averaged over a time, of a flow that starts at rest."""
    times = flow.relaxation_time(ETA) / ODD**2
    developed = times / (end - begin) * (np.exp(-begin / times) - np.exp(-end / times))
    stationary = flow.viscosity(ETA)  # the relation is its own inverse
    return stationary * float((96 / (np.pi * ODD) ** 4 * (1 - developed)).sum())


def test_the_error_is_that_of_fluctuating_modes():
    """Langevin equations of the odd modes. The standard deviation of 1,000 runs has an error of 2.2
    %: within 9 %, one false alarm in 20,000 seeds."""
    rng, step, runs = np.random.default_rng(3), 0.1, 1000
    times = FLOW.relaxation_time(ETA) / ODD[:8, None] ** 2
    variance = 8 / (np.pi * ODD[:8, None]) ** 2 * FLOW.temperature / FLOW.particles
    keep = np.exp(-step / times)
    modes = rng.normal(size=(8, runs)) * np.sqrt(variance)
    total = np.zeros(runs)
    for _ in range(1000):
        modes = keep * modes + rng.normal(size=(8, runs)) * np.sqrt(variance * (1 - keep**2))
        total += modes.sum(axis=0) / 1000
    found = np.std([FLOW.viscosity(FLOW.viscosity(ETA) + noise) for noise in total])
    # The run is 9.5 relaxation times long, which makes the exact variance 10 % smaller.
    tau = FLOW.relaxation_time(ETA) / FLOW.length
    assert found == pytest.approx(FLOW.error(ETA) * np.sqrt(1 - tau), rel=0.09)


@pytest.mark.parametrize("settled", [0.0, 0.2, 1.0, 5.0, 10.0, 20.0, 40.0])
@pytest.mark.parametrize("length", [0.2, 1.0, 5.0, 20.0, 60.0, 200.0])
def test_a_flow_that_is_not_stationary_is_named(settled, length):
    """Whatever is shortened, a viscosity that is wrong by more than two errors has a warning."""
    flow = replace(FLOW, settled=settled, length=length)
    ends = settled, settled + length / 2, settled + length
    value = flow.viscosity(mean_velocity(flow, ends[0], ends[2]))
    first, second = (flow.viscosity(mean_velocity(flow, *ends[k : k + 2])) for k in (0, 1))
    error = flow.error(value)
    warnings = flow.warnings(value, error, 1, second - first)
    if abs(value - ETA) > 2 * error or length < 50:
        assert warnings


def test_a_stationary_flow_has_no_warning():
    assert FLOW.warnings(ETA, FLOW.error(ETA) / np.sqrt(10), 10, 0.0) == []
    assert FLOW.warnings(ETA, FLOW.error(ETA), 1, 3 * FLOW.error(ETA)) == []
    (drifting,) = FLOW.warnings(ETA, FLOW.error(ETA), 1, 9 * FLOW.error(ETA))
    assert drifting.startswith("the flow was not stationary: the viscosity changes by")


def test_a_flow_against_the_forces_has_no_error_and_a_warning():
    assert np.isnan(FLOW.error(-3.0))
    assert "not along the forces" in FLOW.warnings(-3.0, np.nan, 1, 0.0)[0]


def profile_file(path, velocity) -> None:
    """A file of `fix ave/chunk` with 24 slabs; the velocity is a function of record and place."""
    text = "# Chunk-averaged data for fix flow\n# Timestep Chunks\n# Chunk Coord1 Ncount vz d\n"
    for record in range(10):
        text += f"{60100 + 100 * record} 24 4608\n"
        for slab in range(24):
            x = 0.25 + 0.5 * slab
            text += f"  {slab + 1} {x} {180 + slab} {velocity(record, x)} 6.0\n"
    path.write_text(text)


def test_the_script_gives_an_error_and_warnings(script, tmp_path):
    """One run has an error, too, and a flow that still grows is named."""

    def velocity(record, x):
        return (0.3 + 0.02 * record) * (1 if x < 6 else -1)

    profile_file(tmp_path / "profile", velocity)
    x, velocities = script.read_profiles(tmp_path / "profile")
    assert velocities.shape == (3, 24) and velocities[:, 0] == pytest.approx([0.39, 0.34, 0.44])
    found = script.viscosities(FLOW, x, velocities)
    assert found == pytest.approx([FLOW.viscosity(v) for v in (0.39, 0.34, 0.44)])
    report = script.evaluate(FLOW, [found])
    assert report["viscosity"] == found[0] and 0 < report["error"] < 0.05
    assert ["not stationary" in text for text in report["warnings"]] == [True]
    several = script.evaluate(FLOW, [[2.0] * 3, [2.1] * 3, [2.3] * 3])
    assert several["error"] == pytest.approx(np.std([2.0, 2.1, 2.3], ddof=1) / np.sqrt(3))


def test_the_routes_warn_too(monkeypatch):
    routes = module_of(ROUTES, monkeypatch)
    noise = np.random.default_rng(2).normal(size=4096)
    value, error, warnings = routes.of_stress(0.8 + 0.1 * noise)
    assert abs(value - 0.8) < 5 * error and error < 0.003 and warnings == []
    rising = routes.of_stress(0.8 + 0.05 * (np.arange(4096) >= 2048) + 0.1 * noise)
    assert "not stationary: the viscosity changes by 0.05" in rising[2][-1]
    flow = DoublePoiseuille(3.0, 8.0, 0.04, 1.0, 3072, settled=40.0, length=400.0)
    y = np.linspace(0.4, 15.6, 20)
    shape = np.where(y < 8, y * (8 - y), -(y - 8) * (16 - y)) * 3 * 0.04 / 2 / 0.87
    for growth, expected in ((0.0, 0), (0.5, 1)):
        blocks = shape * (1 + growth * np.arange(10)[:, None] / 10)
        value, error, warnings = routes.of_profiles(flow, blocks, 0.87)
        assert error >= flow.error(value) > 0 and len(warnings) == expected, warnings
    short = replace(flow, length=10.0)
    assert "relaxation times" in routes.of_profiles(short, np.array([shape] * 10), 0.87)[2][0]
    late = np.linspace(0, 1, 101) * (1 + 0.01 * noise[:10, None])  # rises in the whole window
    found = routes.mean_of_runs([{"integrals": late, "temperature": 1.0}])
    assert "still changes by 0.5" in found["warnings"][0]
