# SPDX-License-Identifier: BSD-3-Clause
"""Errors near freezing contain the relaxations that a run is too short to show."""

from __future__ import annotations

import re

import numpy as np
import pytest
from commands import summary_of

from manymove import HardDisks, cli
from manymove.analysis.blocking import blocking_error, error_factor
from manymove.hard_particles.freezing import relaxations
from manymove.hard_particles.packing import random_packing


def test_the_factor_is_that_of_the_relaxations_that_are_missing():
    assert error_factor(relaxations(16000, 4096, 0.70)) == 3
    assert error_factor(20) == pytest.approx(np.sqrt(2))
    assert error_factor(2000) == pytest.approx(1, abs=0.01)
    assert error_factor(relaxations(100, 4096, 0.65)) == 1


def test_errors_of_short_runs_are_honest():
    """20 consecutive runs of 20,000 sweeps. The reference pressure 8.86(2) is from 1.2e7 sweeps;
    the seed fixes all numbers."""
    positions, box = random_packing(256, 0.70, seed=1)
    disks = HardDisks(positions, box, seed=1, device="cpu", threads=1)
    disks.run(50_000)
    deviations = []
    for _ in range(20):
        disks.sample_pressure(every=1, record=100)
        disks.run(20_000)
        found = disks.pressure_average - 8.86
        deviations.append(abs(found.value) / found.error)
    factor = error_factor(relaxations(20_000, 256, 0.70))
    assert np.mean(np.array(deviations) * factor > 2) > 0.3  # of the blocking error alone
    assert np.mean(np.array(deviations) > 2) < 0.1
    assert np.sqrt(np.mean(np.square(deviations))) == pytest.approx(1, abs=0.4)


@pytest.mark.filterwarnings("ignore:the error of the mean packing fraction")
@pytest.mark.parametrize(
    ("N", "packing_fraction", "factor"),
    [(64, 0.5, 1), (64, 0.7, 3), (64, 0.67, 3), (256, 0.67, 1), (256, 0.68, 3)],
)
def test_constant_pressure_has_the_same_estimator(N, packing_fraction, factor):
    """The mean packing fraction decides whether the disks are near freezing. It fluctuates, so that
    a small system may be near freezing although its mean in a short run is lower."""
    disks = HardDisks.random(N, packing_fraction, pressure=9.0, seed=1, device="cpu", threads=1)
    disks.sample_volume(10)
    # Records of runs without moves of the volume, which would leave the range of densities.
    noise = np.random.default_rng(1).normal(1, 1e-4, (100, 3))
    samples = disks._volumes
    samples.values, samples.cycles = disks.volume * noise, np.arange(100.0)
    samples.values[:, 2] = noise[:, 2] / disks.volume
    error = blocking_error(disks.packing_fraction_records)[0]
    assert disks.packing_fraction_average.error == pytest.approx(factor * error, rel=1e-12)
    assert disks._average_of(disks.packing_fraction_records).error == (
        disks.packing_fraction_average.error
    )


def test_tables_and_summaries_have_the_factor(tmp_path, capsys):
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


@pytest.mark.parametrize(("pressure", "factor"), [("7", 1.0), ("8.6", 3.0)])
def test_summaries_at_constant_pressure_have_the_factor(pressure, factor, tmp_path):
    """With 64 disks from 0.695 - 0.26 / 8 = 0.6625 on; at constant volume from 0.695 on."""
    options = "--particles 64 --packing-fraction 0.67 --sweeps 1000 --equilibrate 500 --device cpu"
    words = [*options.split(), "--pressure", pressure, "--output", str(tmp_path)]
    assert cli.run(["disks", *words]) == 0
    summary = summary_of(tmp_path)
    mean = summary["mean_packing_fraction"]
    assert mean < 0.695 and (mean > 0.6625) == (factor > 1)
    assert summary["mean_packing_fraction_error_factor"] == factor
    assert summary["near_freezing"] is (factor > 1)
    told = any("psi_6 as tabulated near freezing" in line for line in summary["warnings"])
    assert told == (factor > 1)
