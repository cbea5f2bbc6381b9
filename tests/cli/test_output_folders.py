"""Results are never replaced silently, and `--resume` knows the options of the run."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import SMALL, summary_of
from lammps_host import needs_lammps

from manymove import cli
from manymove.io import FrameWriter, make_frame
from manymove.jobs.output_folder import results_in

COMMANDS = [pytest.param(name, marks=needs_lammps if name == "dpd" else ()) for name in SMALL]


def run(name, output, *options):
    few = [] if "--resume" in options else SMALL[name].split()
    words = [name, *few, "--device", "cpu", "--quiet", "--output", str(output)]
    return cli.run([*words, *map(str, options)])


@pytest.mark.parametrize("name", COMMANDS)
def test_results_are_replaced_only_if_that_is_said(name, tmp_path, capfd):
    assert run(name, tmp_path) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(name, tmp_path, "--seed", 2) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and f"{tmp_path} holds results (" in error
    for way in ("--resume", "--overwrite", "another --output"):
        assert way in error
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / "notes.txt").write_text("mine")
    assert run(name, tmp_path, "--seed", 2, "--overwrite") == 0
    assert summary_of(tmp_path)["seed"] == 2
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert run(name, tmp_path, "--overwrite", "--resume") == 2
    assert "give one" in capfd.readouterr().err


PERIODIC = "--geometry periodic --valences 1,-1 --diameter 4.25 --concentration 0.1"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("spheres", ["--particles", 300, "--packing-fraction", 0.1, "--pressure", 1]),
        ("electrolyte", ["--structure-factors", *PERIODIC.split()]),
    ],
)
def test_every_file_of_a_command_is_known(name, options, tmp_path, monkeypatch):
    """Otherwise `--overwrite` leaves files of the earlier run next to those of the new one."""
    monkeypatch.undo()  # with pictures
    longer = ["--sweeps", 40, "--equilibrate", 20]
    assert run(name, tmp_path, *options, *longer) == 0
    assert set(results_in(tmp_path)) == set(tmp_path.iterdir())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_default_folder_is_that_of_the_command(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.run([name, *SMALL[name].split(), "--device", "cpu", "--quiet"]) == 0
    assert (tmp_path / "out" / name / "summary.json").is_file()


@pytest.mark.parametrize(
    "line",
    [
        "disks --input none.gsd",
        "disks --max-displacement -1",
        "disks --packing-fraction 0.8",
        "disks --equation-of-state --packing-fractions 0.8",
        "disks --resume",
        "electrolyte --debye-length 1.0",
        "electrolyte --resume",
        "adsorption --framework FAU",
        "adsorption --isotherm 1 --method plj --framework FAU",
        "adsorption --method mcmc",
        "dpd --particles 10",
        "dpd --resume",
    ],
)
def test_a_failed_check_leaves_no_folder(line, tmp_path):
    name, *options = line.split()
    words = [*SMALL[name].split(), "--device", "cpu", "--quiet", "--output", str(tmp_path / "a/b")]
    assert cli.run([name, *words, *options]) == 2
    assert not (tmp_path / "a").exists()


def test_runs_in_turn_are_protected_and_resumed(tmp_path, capfd):
    states = ["--equation-of-state", "--packing-fractions", "0.5,0.6"]
    assert run("disks", tmp_path, *states) == 0
    (tmp_path / "summary.json").unlink()
    assert run("disks", tmp_path, *states) == 2
    assert "packing_fraction_0.5/" in capfd.readouterr().err
    second = tmp_path / "packing_fraction_0.6"
    summary = json.loads((second / "summary.json").read_text())
    for path in second.iterdir():  # as if it had not begun
        path.unlink()
    # A kill while the first checkpoint was written, and Ctrl-C before the first sweep.
    (second / "checkpoint-0.state.partial").write_bytes(b"incomplete")
    summary["replicas"][0]["state_hash"] = None
    (second / "summary.json").write_text(json.dumps({**summary, "state_hash": None}))
    assert run("disks", tmp_path, "--resume", "--sweeps", 4) == 0
    assert summary_of(tmp_path)["packing_fractions"] == [0.5, 0.6]
    assert [each["sweeps"] >= 4 for each in summary_of(tmp_path)["runs"]] == [True, True]


@pytest.mark.parametrize("name", ["disks", "electrolyte", "adsorption"])
def test_resume_takes_the_options_of_the_run(name, tmp_path, capfd):
    length = "--steps" if name == "adsorption" else "--sweeps"
    options = ["--seed", 7, "--max-displacement", 0.1]
    assert run(name, tmp_path / "whole", *options, length, 8) == 0
    assert run(name, tmp_path / "two", *options) == 0
    assert run(name, tmp_path / "two", "--resume", length, 8, "--threads", 1) == 0
    one, other = summary_of(tmp_path / "whole"), summary_of(tmp_path / "two")
    assert one["state_hash"] == other["state_hash"] and other["seed"] == 7
    # The length is that of the last session.
    assert json.loads((tmp_path / "two/options.json").read_text())[length[2:]] == 8
    assert run(name, tmp_path / "two", "--resume", "--seed", 1) == 2
    assert "options.json has --seed 7, not 1" in capfd.readouterr().err


@pytest.mark.parametrize("name", ["dpd", "electrolyte", "adsorption"])
def test_resume_refuses_the_run_of_another_command(name, tmp_path, capfd):
    assert run("disks", tmp_path) == 0
    assert run(name, tmp_path, "--resume") == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "options.json is from another command, which has --" in error
    assert error.count("--") <= 4  # a few names are enough


def test_the_densities_of_an_equation_of_state_are_checked_before_the_first_run(tmp_path, capfd):
    words = ["--equation-of-state", "--packing-fractions", "0.3,0.8"]
    assert run("disks", tmp_path / "a", *words) == 2
    error = "--packing-fractions, item 1 is 0.8; random packings go up to 0.72"
    assert error in capfd.readouterr().err
    assert not (tmp_path / "a").exists()


def test_a_trajectory_is_replaced_only_if_that_is_said(tmp_path):
    path = tmp_path / "a.gsd"
    with FrameWriter(path) as trajectory:
        trajectory.write(make_frame(np.zeros((2, 2)), (5.0, 5.0), 1))
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True replaces it"):
        FrameWriter(path)
    assert path.read_bytes() == before
    with FrameWriter(path, overwrite=True) as trajectory:
        assert trajectory.last_step == -1
