# SPDX-License-Identifier: BSD-3-Clause
"""`manymove disks` and `manymove spheres` with --step-ranges: results, resuming, and mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from commands import summary_of
from hard_commands import run_hard as run

from manymove import HardSpheres
from manymove.steps import Step

WELL = ["--step-ranges", "1.3,1.5", "--step-energies", "-0.8,0.3"]
START = ["--particles", 300, "--equilibrate", 60, "--frames", 3, "--seed", 3]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of 200 sweeps."""
    folder = tmp_path_factory.mktemp("steps")
    assert run(folder, *START, "--packing-fraction", 0.2, *WELL, "--sweeps", 200) == 0
    return folder


def test_the_pressure_is_that_of_the_class(finished):
    """In the same run, with the same start, and without values of hard spheres."""
    summary = summary_of(finished)
    state = HardSpheres.load(finished / "checkpoint-0.state", device="cpu", threads=1)
    assert state.steps == (Step(1.3, -0.8), Step(1.5, 0.3))
    assert state.state_hash == summary["replicas"][0]["state_hash"]
    records = np.loadtxt(finished / "pressure.csv", delimiter=",", skiprows=1)
    assert summary["pressure"] == pytest.approx(state.pressure_records.mean())
    assert records[:, 2] == pytest.approx(state.pressure_records, abs=1e-8)
    assert summary["literature_pressure"] is None and summary["paper_pressure"] is None


def test_a_resumed_run_is_that_of_one_go(finished, tmp_path, capsys):
    options = [*START, "--packing-fraction", 0.2, *WELL]
    assert run(tmp_path, *options, "--sweeps", 70) == 0
    assert run(tmp_path, "--resume", "--sweeps", 200, *WELL) == 0
    whole, resumed = summary_of(finished), summary_of(tmp_path)
    assert resumed["replicas"][0]["state_hash"] == whole["replicas"][0]["state_hash"]
    assert resumed["pressure"] == whole["pressure"]
    assert run(tmp_path, "--resume", "--step-ranges", "1.3,1.4") == 2
    assert "--step-ranges 1.3,1.5, not 1.3,1.4" in capsys.readouterr().err
    (tmp_path / "options.json").unlink()
    other = ["--resume", "--sweeps", 200, "--replicas", 1]
    assert run(tmp_path, *options, *other, "--step-energies", "-0.8,0.4") == 2
    assert "holds other steps than --step-ranges" in capsys.readouterr().err


def test_steps_of_a_mixture_are_for_its_pairs_of_types(tmp_path):
    ranges, energies = "1.3,1.4,1.6,1.5,1.6,1.8", "0,-1,0,0.2,0.3,0"
    assert run(
        tmp_path, *START, "--packing-fraction", 0.2, "--diameters", "1,1.2", "--sweeps", 20,
        "--step-ranges", ranges, "--step-energies", energies, "--pressure", 0.8,
    ) == 0  # fmt: skip
    state = HardSpheres.load(tmp_path / "checkpoint-0.state", device="cpu", threads=1)
    assert np.array_equal(state.steps[0].range, [[1.3, 1.4], [1.4, 1.6]])
    assert np.array_equal(state.steps[0].energy, [[0, -1], [-1, 0]])
    assert np.array_equal(state.steps[1].energy, [[0.2, 0.3], [0.3, 0]])
    assert state.constant_pressure == pytest.approx(0.8)
    assert summary_of(tmp_path)["volume_trials"] > 0


def test_the_start_of_a_file_has_ranges_in_its_diameters(tmp_path):
    box, diameter = 3 * (12.0,), 0.5
    axis = np.arange(6) * 2.0 - 5
    places = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    HardSpheres(places, box, diameter, seed=1, device="cpu").write_gsd(tmp_path / "start.gsd")
    folder = tmp_path / "run"
    given = ["--input", tmp_path / "start.gsd", "--equilibrate", 5, "--sweeps", 5]
    assert run(folder, *given, "--step-ranges", 1.5, "--step-energies", -1) == 0
    state = HardSpheres.load(folder / "checkpoint-0.state", device="cpu", threads=1)
    assert state.steps == (Step(0.75, -1.0),)


@pytest.mark.parametrize("command", ["disks", "spheres"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--step-ranges", 1.5], "--step-ranges and --step-energies belong together"),
        (["--step-energies", -1], "--step-ranges and --step-energies belong together"),
        (["--step-ranges", "1.5,1.4", "--step-energies", -1], "--step-ranges has 2 numbers and"),
        (["--step-ranges", -1.5, "--step-energies", -1], "--step-ranges must be positive"),
        (["--step-ranges", 0.9, "--step-energies", -1], "ranges above the contact distance"),
        (["--step-ranges", 1.5, "--step-energies", 2000], "at most 1000 kT in magnitude"),
        (["--step-ranges", 90, "--step-energies", -1], "three times the largest range"),
        (["--step-ranges", "wide", "--step-energies", -1], "must be numbers separated by commas"),
        (
            ["--diameters", "1,2", "--step-ranges", "1.5", "--step-energies", "1"],
            "as many, each 3 for the pairs of 2 types",
        ),
        (
            ["--diameters", "1,1.1", "--step-ranges", "1.5,1.5,1.5", "--step-energies", "1,1,1",
             "--swap-rounds", 2],
            "--step-ranges cannot be combined with --swap-rounds",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_named(command, options, message, tmp_path, capsys):
    assert run(tmp_path / "new", *START, "--packing-fraction", 0.2, *options, command=command) == 2
    assert message in capsys.readouterr().err
