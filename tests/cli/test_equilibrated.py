"""A run that is shorter than its relaxation says so, wherever its numbers are shown."""

from __future__ import annotations

import re

import numpy as np
import pytest
from commands import SMALL, summary_of
from lammps_host import needs_lammps

from manymove import Estimate, cli
from manymove.analysis.autocorrelation import relaxation_time
from manymove.analysis.notation import with_error
from manymove.analysis.reference import virial_pressure
from manymove.hard_particles.freezing import known_relaxation
from manymove.hard_particles.job import relaxation_of
from manymove.jobs import report

COMMANDS = [pytest.param(name, marks=needs_lammps if name == "dpd" else ()) for name in SMALL]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (9.2004, 0.008, "9.200(8)"),
        (9.1704, 0.00013, "9.17040(13)"),
        (9.17090, 0.0001, "9.1709(1)"),
        (-123456.7, 234.0, "-123457(234)"),
        (115.66, 0.2, "115.7(2)"),
        (0.5, 0.0996, "0.5(1)"),
        (1.0, None, "1(?)"),
        (2.5, float("nan"), "2.5(?)"),
    ],
)
def test_numbers_are_printed_with_the_error_of_their_last_digit(value, error, text):
    assert with_error(value, error) == text


def series(tau, n, seed=1):
    """With the autocorrelation exp(-t / tau)."""
    random, keep = np.random.default_rng(seed), np.exp(-1 / tau)
    values = [random.normal()]
    for _ in range(n - 1):
        values.append(keep * values[-1] + np.sqrt(1 - keep**2) * random.normal())
    return np.array(values)


def test_the_relaxation_time_of_a_long_series_is_right():
    found = [relaxation_time([series(20, 20000, seed)], 3.0) for seed in range(4)]
    assert np.mean(found) == pytest.approx(60, rel=0.15)
    assert relaxation_time([np.ones(50)], 1.0) is None
    assert relaxation_time([series(2, 10)], 1.0) is None


@pytest.mark.parametrize("mean", [None, 0.0])
def test_a_series_shorter_than_its_relaxation_is_recognized(mean):
    """Of 200 series that are half a relaxation time long one in ten may pass (those that drift are
    recognized by that); no long one may raise a false alarm."""
    times = [relaxation_time([series(200, 100, seed)], 1.0, mean=mean) for seed in range(200)]
    assert sum(100 >= report.ENOUGH * time for time in times) <= 20
    times = [relaxation_time([series(0.3, 100, seed)], 1.0, mean=mean) for seed in range(200)]
    assert max(times) < 100 / report.ENOUGH


def test_warnings_and_status():
    times, drift = {"E": 1.0}, Estimate(1.0, 0.1)
    drifting = report.equilibration(100, "sweeps", times, [("E", drift, "")], True)
    assert drifting["equilibrated"] is False and "raise --equilibrate" in drifting["warnings"][0]
    steady = Estimate(0.1, 0.1)
    good = report.equilibration(100, "sweeps", times, [("E", steady, "")], True)
    assert good["equilibrated"] and report.status(good | {"complete": True}) == "ok"
    few = report.equilibration(100, "sweeps", {"E": None}, [], False)
    assert few["equilibrated"] is None and report.status(few) == "too few records"
    short = report.equilibration(100, "sweeps", {"E": 1.0}, [], False)
    assert report.status(short) == "error not converged"


def test_known_times_are_those_of_the_benchmarks():
    assert known_relaxation(4096, 0.698) == pytest.approx(1.6e5)
    assert known_relaxation(65536, 0.698) == pytest.approx(7e5, rel=0.1)
    assert known_relaxation(256, 0.71) == pytest.approx(4e4)  # 32 times 1e4 were too few
    assert known_relaxation(4096, 0.65) is None


@pytest.mark.parametrize("name", COMMANDS)
def test_every_summary_says_whether_it_is_equilibrated(name, tmp_path, capsys):
    options = [*SMALL[name].split(), "--device", "cpu", "--output", str(tmp_path)]
    assert cli.run([name, *options]) == 0
    summary = summary_of(tmp_path)
    assert not summary["equilibrated"] and summary["warnings"]
    assert summary["warnings"][0] in capsys.readouterr().out


def test_disks_shorter_than_their_relaxation_say_so(tmp_path, capsys):
    options = "--particles 1024 --sweeps 2000 --equilibrate 500 --seed 1 --device cpu"
    options += f" --packing-fractions 0.5,0.698 --equation-of-state --output {tmp_path}"
    assert cli.run(["disks", *options.split()]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^0\.6980 .* not equilibrated", printed, re.MULTILINE), printed
    dilute, dense = summary_of(tmp_path)["runs"]
    assert dilute["equilibrated"] and dilute["relaxation_time"] < 100
    assert not dense["equilibrated"]
    assert "relaxation times of psi_6" in " ".join(dense["warnings"])
    assert summary_of(tmp_path)["status"][1].startswith("not equilibrated")


def test_slow_modes_do_not_make_a_pressure_wrong(tmp_path, capsys):
    """Density modes of a dilute fluid diffuse through the box in 1,600 sweeps. The run does not
    sample them, and says so, but its pressure agrees with the literature within four standard
    errors: one false alarm in 16,000 seeds."""
    options = "--particles 1000 --packing-fraction 0.1 --sweeps 3000 --equilibrate 500 --seed 1"
    assert cli.run(["spheres", *options.split(), "--device", "cpu", "--output", str(tmp_path)]) == 0
    printed, summary = capsys.readouterr().out, summary_of(tmp_path)
    assert summary["warnings"] == [] and summary["equilibrated"]
    assert summary["relaxation_time"] < 50
    modes = summary["slow_modes"]["density modes"]
    assert modes["relaxation_time"] > 150 and not modes["resolved"]
    assert re.search(
        r"^slow modes +the relaxation time of density modes is .* sweeps", printed, re.MULTILINE
    )
    literature, uncertainty = summary["literature_pressure"]
    error = np.hypot(summary["pressure_error"], uncertainty)
    assert summary["pressure"] == pytest.approx(literature, abs=4 * error)


@pytest.mark.pictures
def test_points_that_are_not_equilibrated_are_hollow(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    from manymove.hard_particles import plots

    faces = []
    errorbar = Axes.errorbar

    def drawn(self, *args, **options):
        if options.get("color") == "k":
            faces.append(options["mfc"])
        return errorbar(self, *args, **options)

    monkeypatch.setattr(Axes, "errorbar", drawn)
    points = [(0.5, 3.0, 0.1, True), (0.7, 9.0, 0.1, False)]
    plots.equation_of_state(tmp_path / "a.png", points, 100)
    assert faces == ["k", "none"]


def test_the_virial_series_is_that_of_the_dilute_gas():
    assert virial_pressure(0.65) is None
    value, error = virial_pressure(0.01)
    assert value == pytest.approx(0.04 / np.pi * (1 + 0.02 + 0.782004 * 0.02**2), rel=1e-5)
    assert error < 1e-5
    value, error = virial_pressure(0.5)
    assert value == pytest.approx(2.6141, abs=2e-4) and error < 2e-4


def test_a_short_equation_of_state_agrees_with_the_literature(tmp_path, capsys):
    """What `make demo` does, smaller; 4 standard errors: one false alarm in 8,000 seeds."""
    options = "--particles 1024 --sweeps 5000 --equilibrate 1000 --seed 1 --device cpu"
    options += f" --equation-of-state --packing-fractions 0.3,0.5 --output {tmp_path}"
    assert cli.run(["disks", *options.split()]) == 0
    assert "literature" in capsys.readouterr().out
    for run in summary_of(tmp_path)["runs"]:
        literature, uncertainty = run["literature_pressure"]
        error = np.hypot(run["pressure_error"], uncertainty)
        assert run["pressure"] == pytest.approx(literature, abs=4 * error)
        assert run["warnings"] == []


def test_the_relaxation_of_a_longer_run_is_that_of_its_own_steps():
    """64 values, and after a resumption 60 that are 15 times as far apart. Values interpolated
    between these would count as correlated."""
    noise = np.random.default_rng(5).normal(size=(124, 2))
    sweeps = np.r_[1:65, 76 : 76 + 15 * 60 : 15].astype(float)
    course = np.column_stack((sweeps, noise))
    of_one_run = course[(sweeps - 1) % 15 == 0]
    assert len(of_one_run) == 65
    assert relaxation_of([course]) == pytest.approx(relaxation_of([of_one_run]), rel=1e-9)
