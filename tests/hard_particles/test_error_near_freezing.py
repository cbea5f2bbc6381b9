# SPDX-License-Identifier: BSD-3-Clause
"""Errors near freezing contain the relaxations that a run is too short to show."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from commands import summary_of

from manymove import HardDisks, cli
from manymove.analysis.pressure import blocking_error
from manymove.hard_particles.job import error_factor, known_relaxation
from manymove.hard_particles.packing import random_packing


def test_the_factor_is_that_of_the_relaxations_that_are_missing():
    tau = known_relaxation(4096, 0.70)
    assert error_factor(4096, 0.70, 16000) == 3
    assert error_factor(4096, 0.70, 20 * tau) == pytest.approx(np.sqrt(2))
    assert error_factor(4096, 0.70, 2000 * tau) == pytest.approx(1, abs=0.01)
    assert error_factor(4096, 0.65, 100) == 1
    assert error_factor(4096, 0.70, 0) == 1


def test_errors_of_short_runs_are_honest():
    """20 consecutive runs of 20,000 sweeps. The reference pressure 8.86(2) is from 1.2e7 sweeps;
    the seed fixes all numbers."""
    positions, box = random_packing(256, 0.70, seed=1)
    disks = HardDisks(positions, box, seed=1, device="cpu", threads=1)
    disks.run(50_000)
    disks.sample_pressure(every=1, record=100)
    disks.run(20 * 20_000)
    runs = np.array_split(disks.pressure_records, 20)
    deviations = np.array([abs(run.mean() - 8.86) / blocking_error(run)[0] for run in runs])
    assert np.mean(deviations > 2) > 0.3  # of the blocking error alone
    factor = error_factor(256, 0.70, 20_000)
    assert np.mean(deviations > 2 * factor) < 0.1
    assert np.sqrt(np.mean((deviations / factor) ** 2)) == pytest.approx(1, abs=0.4)


def test_tables_and_summaries_have_the_factor(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    options = "--particles 64 --sweeps 400 --equilibrate 100 --device cpu".split()
    for fraction, factor in (("0.5", 1.0), ("0.7", 3.0)):
        folder = tmp_path / fraction
        words = ["--packing-fraction", fraction, "--output", str(folder)]
        assert cli.run(["disks", *options, *words]) == 0
        summary = summary_of(folder)
        assert summary["pressure_error_factor"] == factor
        records = np.loadtxt(folder / "pressure.csv", delimiter=",", skiprows=1)[:, 2]
        error = factor * blocking_error(records)[0]
        assert summary["pressure_error"] == pytest.approx(error, rel=1e-4)
        assert summary["replicas"][0]["pressure_error"] == pytest.approx(error, rel=1e-4)
        told = re.search(r"the blocking error is multiplied by 3,", capsys.readouterr().out)
        assert bool(told) == (factor > 1)
