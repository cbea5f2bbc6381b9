# SPDX-License-Identifier: BSD-3-Clause
"""`manymove disks` and `manymove spheres` with --pressure: results, resuming, and mistakes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from commands import interrupted_after, summary_of
from hard_commands import run_hard as run
from laws import another

from manymove import HardSpheres, runs
from manymove.analysis.sphere_reference import literature_pressure
from manymove.hard_particles.replica import Replica

START = ["--particles", 216, "--packing-fraction", 0.3, "--equilibrate", 1000]


def test_the_pressure_of_a_packing_fraction_returns_it(tmp_path):
    """Five standard errors and 1/N: a false alarm in a million seeds; the seed is fixed."""
    pressure = literature_pressure(0.3, "random").value
    assert run(tmp_path, *START, "--pressure", pressure, "--sweeps", 40_000) == 0
    summary = summary_of(tmp_path)
    found, error = summary["mean_packing_fraction"], summary["mean_packing_fraction_error"]
    assert 0 < error < 2e-3
    assert abs(found - 0.3) < 5 * error + 0.3 / 216
    assert summary["pressure"] == pytest.approx(pressure)
    assert summary["max_overlap"] < 1e-6


@pytest.mark.parametrize("options", [["--volume-delta", 0.12], ["--tune-volume"]])
def test_two_disks_have_the_density_of_integration(tmp_path, options):
    """The density of V is V^2 exp(-P V) (1 - pi / V) from the smallest box, of three diameters.
    Five standard errors, twice: a false alarm in a million seeds; the seed is fixed."""
    start = ["--particles", 2, "--packing-fraction", 0.1, "--pressure", 0.2, *options]
    start += ["--max-displacement", 0.6, "--equilibrate", 4000, "--sweeps", 200_000]
    assert run(tmp_path, *start, command="disks") == 0
    summary = summary_of(tmp_path)
    V = np.linspace(9, 250, 100_001)
    weight = V * (V - math.pi) * np.exp(-0.2 * V)
    exact = 2 * math.pi / 4 * (weight / V).sum() / weight.sum()
    error = summary["mean_packing_fraction_error"]
    assert 0 < error < 1e-3
    assert abs(summary["mean_packing_fraction"] - exact) < 5 * error
    assert (summary["volume_delta"] == 0.12) == (options[0] == "--volume-delta")


def test_tuning_reaches_its_acceptance_and_makes_a_start_denser_sooner(tmp_path):
    """Far from equilibrium the default step is too small: its acceptance is above 0.6, and the
    packing fraction falls behind by more than a tenth. With tuning the acceptance after the tenth
    part is that of 500 trials with 0.3, within a factor of 1.5 (more than six standard errors)."""
    start = ["--particles", 216, "--packing-fraction", 0.2, "--pressure", 8, "--sweeps", 1000]
    start += ["--equilibrate", 1500]
    assert run(tmp_path / "default", *start) == 0
    assert run(tmp_path / "tuned", *start, "--tune-volume") == 0
    default, tuned = (summary_of(tmp_path / name) for name in ("default", "tuned"))
    assert default["volume_acceptance"] > 0.6
    assert tuned["volume_delta"] > 2 * default["volume_delta"]
    assert tuned["mean_packing_fraction"] > 1.1 * default["mean_packing_fraction"]
    assert (tuned["volume_tuned"], default["volume_tuned"]) == (True, False)
    states = [
        HardSpheres.load(tmp_path / name / "checkpoint-0.state", device="cpu", threads=1)
        for name in ("default", "tuned")
    ]
    before = np.array([state._engine.volume_counters for state in states])
    for state in states:
        state.run(1000)
    after = np.array([state._engine.volume_counters for state in states])
    trials, accepted = (after - before).T
    assert trials.min() > 500
    assert 0.2 < accepted[1] / trials[1] < 0.45 < accepted[0] / trials[0]


def test_a_tuned_run_that_is_interrupted_again_and_again_is_that_of_one_go(tmp_path, monkeypatch):
    """Interruptions are at all places of the equilibration, also between the end of a part and its
    tuning. Once the last state is damaged, so that the records know a tuning that it does not."""
    options = ["--particles", 216, "--packing-fraction", 0.3, "--pressure", 6, "--tune-volume"]
    options += ["--volume-delta", 0.004, "--equilibrate", 200, "--sweeps", 100]
    assert run(tmp_path / "whole", *options) == 0
    part, starts = tmp_path / "part", 0
    monkeypatch.setattr(runs, "_PIECE", 0)  # seconds, of about a cycle
    code = None
    while code != 0:
        with interrupted_after(4 + 3 * starts, Replica):
            code = run(part, *(["--resume"] if starts else options))
        assert code in (0, 130)
        starts += 1
        if starts == 5:
            assert (part / "checkpoint-0.state.previous").exists()
            (part / "checkpoint-0.state").write_bytes(b"damaged")
    assert starts > 6
    assert summary_of(part)["sweeps"] == summary_of(tmp_path / "whole")["sweeps"]
    for key in ("state_hash", "volume_delta", "volume_trials", "volume_acceptance"):
        assert summary_of(part)[key] == summary_of(tmp_path / "whole")[key], key
    assert summary_of(part)["volume_delta"] != 0.004


def test_the_equilibration_of_a_tuned_run_cannot_be_changed(tmp_path, monkeypatch, capsys):
    """Its tenths, after which the volume moves are adjusted, would be those of two lengths."""
    monkeypatch.setattr(runs, "_PIECE", 0)  # seconds, of about a cycle
    options = ["--particles", 216, "--packing-fraction", 0.3, "--pressure", 6, "--tune-volume"]
    with interrupted_after(12, Replica):
        assert run(tmp_path, *options, "--equilibrate", 400, "--sweeps", 100) == 130
    assert 0 < summary_of(tmp_path)["equilibration_sweeps"] < 400
    capsys.readouterr()
    for equilibrate in (10, 200, 800):
        assert run(tmp_path, "--resume", "--equilibrate", equilibrate) == 2
        error = capsys.readouterr().err
        assert "has --equilibrate 400, which cannot change with --tune-volume" in error
        assert error.count("\n") == 1
    assert run(tmp_path, "--resume") == 0
    assert run(tmp_path, "--resume", "--equilibrate", 800) == 2
    assert "has --equilibrate 400, not 800" in capsys.readouterr().err


def test_no_record_is_lost_or_there_twice_if_the_last_state_is_damaged(tmp_path, monkeypatch):
    """While the box grows the sweeps of a cycle change, and with them the sweeps of a record."""
    monkeypatch.setattr(runs, "_PIECE", 0)  # seconds, of about a cycle
    pauses = itertools.count()
    monkeypatch.setattr(Replica, "_is_due", lambda self: next(pauses) == 50)
    options = ["--particles", 300, "--packing-fraction", 0.4, "--pressure", 0.5]
    options += ["--equilibrate", 0]
    assert run(tmp_path, *options, "--sweeps", 500) == 0
    whole = (tmp_path / "packing_fraction.csv").read_text()
    before = HardSpheres.load(tmp_path / "checkpoint-0.state.previous", device="cpu")
    count = len(whole.splitlines()) - 1
    assert 0 < before.cycles < count  # a record is a cycle
    (tmp_path / "checkpoint-0.state").write_bytes(b"damaged")
    assert run(tmp_path, "--resume") == 0
    assert (tmp_path / "packing_fraction.csv").read_text() == whole


@pytest.mark.parametrize(
    ("command", "apart"),
    [("disks", []), another("spheres", []), another("spheres", ["--edges-apart"])],
)
def test_a_resumed_run_is_that_of_one_go(tmp_path, command, apart):
    whole, part = tmp_path / "whole", tmp_path / "part"
    options = [*START, "--pressure", 2.0, *apart]
    assert run(whole, *options, "--sweeps", 4000, command=command) == 0
    assert run(part, *options, "--sweeps", 1500, command=command) == 0
    assert run(part, "--resume", "--sweeps", 4000, command=command) == 0
    for key in ("state_hash", "box", "max_overlap"):
        assert summary_of(part)[key] == summary_of(whole)[key]
    assert (len(set(summary_of(whole)["box"])) > 1) == bool(apart)
    assert summary_of(whole)["mean_packing_fraction"] != pytest.approx(0.3, rel=1e-3)


def test_a_start_that_is_far_from_the_pressure_is_named(tmp_path, capsys):
    """A box that grows without limit, and one that has hardly begun to shrink after a run."""
    start = ["--particles", 64, "--sweeps", 5000, "--equilibrate", 0, "--packing-fraction"]
    assert run(tmp_path / "gas", *start, 0.02, "--pressure", 1e-6) == 2
    said = capsys.readouterr().err
    assert "--packing-fraction 0.02 of the start is too far from that of --pressure 1e-06" in said
    assert run(tmp_path / "dense", *start, 0.3, "--pressure", 1e8) == 0
    summary = summary_of(tmp_path / "dense")
    assert summary["equilibrated"] is False
    assert any("relaxation times of the packing fraction" in text for text in summary["warnings"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pressure", 0], "--pressure is 0"),
        (["--pressure", -1], "--pressure is -1"),
        (["--pressure", "nan"], "--pressure is nan"),
        (["--edges-apart"], "--edges-apart needs --pressure"),
        (["--pressure", 2, "--equation-of-state"], "--equation-of-state measures it"),
        (["--volume-delta", 0.1], "--volume-delta needs --pressure"),
        (["--tune-volume"], "--tune-volume needs --pressure"),
        (["--tune-volume", "--pressure", 2, "--equilibrate", 0], "--equilibrate is 0"),
        (["--pressure", 2, "--volume-delta", 0], "--volume-delta is 0; it must be positive"),
        (["--pressure", 2, "--volume-delta", "nan"], "--volume-delta is nan; it must be positive"),
        (["--pressure", 2, "--volume-delta", 9], "--volume-delta must be positive and at most"),
        (["--pressure", 2, "--volume-delta", "0.1,0.1"], "one number without --edges-apart"),
        (["--pressure", 2, "--edges-apart", "--volume-delta", "0.1,0.1"], "one number or 3"),
        (["--pressure", 2, "--edges-apart", "--volume-delta", "0,0,0"], "it must be positive and"),
        (["--pressure", 2, "--edges-apart", "--volume-delta", "1.1"], "at most 1 diameters"),
    ],
)
def test_mistakes_are_named(tmp_path, capsys, options, message):
    assert run(tmp_path / "new", *START, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new" / "summary.json").exists()


def test_edges_with_a_step_of_zero_are_fixed_and_lengths_are_in_diameters(tmp_path, capsys):
    options = ["--particles", 125, "--packing-fraction", 0.3, "--pressure", 2, "--edges-apart"]
    options += ["--diameters", 2, "--fractions", 1, "--equilibrate", 0, "--sweeps", 200]
    assert run(tmp_path, *options, "--volume-delta", "0,0,0.02") == 0
    summary = summary_of(tmp_path)
    assert summary["volume_delta"] == pytest.approx([0, 0, 0.04])
    x, y, z = summary["box"]
    assert x == y != z
    assert run(tmp_path, "--resume", "--volume-delta", "0,0,0.03") == 2
    assert "has --volume-delta 0.0,0.0,0.02, not 0.0,0.0,0.03" in capsys.readouterr().err


def test_a_resumed_run_keeps_its_volume_moves(tmp_path, capsys):
    """With the options of the folder, and with another state, which is compared with them."""
    start = ["--particles", 64, "--packing-fraction", 0.3, "--pressure", 2, "--sweeps", 50]
    start += ["--equilibrate", 50]
    assert run(tmp_path / "plain", *start) == 0
    assert run(tmp_path / "step", *start, "--volume-delta", 0.01) == 0
    assert run(tmp_path / "tuned", *start, "--tune-volume") == 0
    assert run(tmp_path / "step", "--resume", "--volume-delta", 0.01, "--sweeps", 60) == 0
    capsys.readouterr()
    for name, option, message in (
        ("step", ["--volume-delta", 0.02], "has --volume-delta 0.01, not 0.02"),
        ("plain", ["--volume-delta", 0.02], "has --volume-delta 0."),
        ("tuned", ["--volume-delta", 0.02], "has --volume-delta the default, not 0.02"),
        ("plain", ["--tune-volume"], "has --tune-volume False, not True"),
    ):
        assert run(tmp_path / name, "--resume", *option, "--sweeps", 80) == 2
        assert message in capsys.readouterr().err
    for state in (tmp_path / "tuned").glob("checkpoint*"):
        state.replace(tmp_path / "plain" / state.name)
    assert run(tmp_path / "plain", "--resume", "--sweeps", 80) == 2
    assert "has --tune-volume True, not False" in capsys.readouterr().err


def test_a_resumed_run_keeps_its_edges(tmp_path, capsys):
    options = [*START, "--pressure", 2.0, "--sweeps", 1500]
    assert run(tmp_path / "apart", *options, "--edges-apart") == 0
    assert run(tmp_path / "together", *options) == 0
    for state in (tmp_path / "apart").glob("checkpoint*"):
        state.replace(tmp_path / "together" / state.name)
    assert run(tmp_path / "together", "--resume", "--sweeps", 4000) == 2
    assert "has --edges-apart True, not False" in capsys.readouterr().err
