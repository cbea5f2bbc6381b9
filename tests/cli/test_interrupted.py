"""Ctrl-C in every command: one line that says how to continue, and a state to continue from."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import signal
import subprocess
import termios

import numpy as np
import pytest
from commands import CLEAN, COMMAND, SMALL, interrupted_after, summary_of
from lammps_host import needs_lammps
from laws import another
from processes import start, until

from manymove import cli, runs

LONG = {
    "disks": "--particles 1024 --sweeps 10000000 --equilibrate 1",
    "electrolyte": "--ions 256 --sweeps 10000000 --equilibrate 1",
    "adsorption": SMALL["adsorption"].replace("--steps 4", "--steps 1000000000"),
    "dpd": "--particles 300 --steps 100000 --equilibrate 10",
}
ABOUT = re.compile("framework [A-Z]")  # the parameters of the atoms, before a run of adsorbates
COMMANDS = [pytest.param(name, marks=needs_lammps if name == "dpd" else ()) for name in LONG]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_interrupt_is_one_line_that_says_how_to_continue(name, tmp_path):
    output = tmp_path / "run"
    options = ["--device", "cpu", "--threads", "1", "--output", str(output)]
    options += [] if name == "dpd" else ["--checkpoint-every", "0.1"]
    process = start([*COMMAND, name, *LONG[name].split(), *options], stderr=subprocess.PIPE)
    until(lambda: any(output.glob("checkpoint-*")), process, 120)
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, ""), error
    *before, last = error.splitlines()
    assert last.startswith("manymove: stopped early") and all(map(ABOUT.match, before)), error
    again = re.search(r"continues: manymove (.*)", last)
    assert again, error
    stopped = summary_of(output)
    length = "sweeps" if "sweeps" in stopped else "steps"
    assert stopped["complete"] is False
    enough = int(stopped[length]) + 100
    words = [*shlex.split(again.group(1)), f"--{length}", str(enough), "--quiet"]
    assert cli.run(words) == 0
    assert summary_of(output)["complete"] and summary_of(output)[length] >= enough


EQUILIBRATING = {
    "disks": ("--particles 256 --packing-fraction 0.5 --sweeps 100", "sweeps"),
    "electrolyte": ("--ions 64 --sweeps 10", "sweeps"),
    "adsorption": (SMALL["adsorption"].replace(" --equilibrate 4", " --method plj"), "steps"),
}


@pytest.mark.parametrize("name", EQUILIBRATING)
def test_the_equilibration_can_be_made_longer_but_not_shorter_than_it_is(
    name, tmp_path, monkeypatch, capsys
):
    """The displacements of plj are adapted in the equilibration."""
    monkeypatch.setattr(runs, "_PIECE", 0)  # seconds
    options, unit = EQUILIBRATING[name]
    words = [name, *options.split(), "--device", "cpu", "--threads", "1", "--quiet"]
    cut = [name, "--resume", "--quiet", "--output", str(tmp_path / "cut")]
    with interrupted_after(8):
        given = [*words, "--output", str(tmp_path / "cut"), "--equilibrate", "1000"]
        assert cli.run(given) == 130
    assert 2 < summary_of(tmp_path / "cut")[f"equilibration_{unit}"] < 1000
    capsys.readouterr()
    assert cli.run([*cut, "--equilibrate", "2"]) == 2
    message = f"--equilibrate is 2, but the run in {tmp_path / 'cut'} has equilibrated for "
    error = capsys.readouterr().err
    assert message in error and f" {unit} already: --resume needs at least as many" in error
    assert cli.run([*cut, "--equilibrate", "1500"]) == 0
    assert cli.run([*words, "--output", str(tmp_path / "whole"), "--equilibrate", "1500"]) == 0
    whole, end = summary_of(tmp_path / "whole"), summary_of(tmp_path / "cut")
    assert end["state_hash"] == whole["state_hash"]
    assert end[f"equilibration_{unit}"] == whole[f"equilibration_{unit}"]
    assert cli.run([*cut, "--equilibrate", "1600"]) == 2
    assert "has --equilibrate 1500, not 1600" in capsys.readouterr().err


def test_a_run_whose_terminal_is_closed_leaves_a_state_to_continue_from(tmp_path):
    """The terminal is gone, so that nothing can be printed either."""
    words = [*COMMAND, "disks", *LONG["disks"].split(), "--device", "cpu", "--threads", "1"]

    def control() -> None:  # the session, which then gets SIGHUP; nohup has this signal ignored
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    terminal, child = os.openpty()
    process = subprocess.Popen(
        [*map(str, words), "--output", str(tmp_path)],
        stdin=child, stdout=child, stderr=child, env=CLEAN, start_new_session=True,
        preexec_fn=control,
    )  # fmt: skip
    os.close(child)
    until(lambda: (tmp_path / "trajectory.gsd").exists(), process)
    os.close(terminal)
    process.wait(timeout=60)
    stopped = summary_of(tmp_path)
    assert stopped["complete"] is False
    assert (tmp_path / "checkpoint-0.state").exists()
    enough = int(stopped["sweeps"]) + 100
    words = ["disks", "--resume", "--output", str(tmp_path), "--sweeps", str(enough), "--quiet"]
    assert cli.run(words) == 0
    assert summary_of(tmp_path)["sweeps"] >= enough


@needs_lammps
@pytest.mark.parametrize(("ranks", "precision"), [another(1, "double"), (2, "double")])
def test_a_fluid_that_is_resumed_has_the_same_bits(ranks, precision, tmp_path):
    """After an interrupt during the equilibration, and after the end of a shorter run."""
    options = "--particles 1500 --equilibrate 800 --device cpu --quiet"
    common = ["dpd", *options.split(), "--precision", precision, "--ranks", str(ranks)]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    assert cli.run([*common, "--steps", "200", "--output", str(whole)]) == 0
    process = start([*COMMAND, *common, "--steps", "100", "--output", cut])
    until(lambda: any(cut.glob("checkpoint-*")), process, 120, interval=0.002)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert summary_of(cut)["equilibration_steps"] < 800
    assert cli.run(["dpd", "--resume", "--quiet", "--output", str(cut)]) == 0
    assert summary_of(cut)["steps"] == 100
    resumed = ["dpd", "--resume", "--steps", "200", "--quiet", "--output", str(cut)]
    assert cli.run(resumed) == 0
    assert (whole / "final.data").read_bytes() == (cut / "final.data").read_bytes()
    one, other = (np.loadtxt(f / "thermo.csv", delimiter=",", skiprows=1) for f in (whole, cut))
    assert other == pytest.approx(one, rel=1e-8)  # sums over ranks may be of another order
    assert summary_of(cut)["pressure"] == pytest.approx(summary_of(whole)["pressure"], rel=1e-8)
