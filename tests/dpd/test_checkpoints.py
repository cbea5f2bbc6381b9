# SPDX-License-Identifier: BSD-3-Clause
"""Restart files of `manymove dpd`: when they are written, and that time has no influence."""

from __future__ import annotations

import json
import re
import signal
import time

import pytest
from commands import COMMAND, summary_of
from lammps_host import needs_lammps
from processes import start, until

from manymove import cli
from manymove.dpd import replica

SMALL = ["--particles", "300", "--equilibrate", "100", "--precision", "double", "--quiet"]


def dpd_command(output, *options) -> int:
    return cli.run(["dpd", *SMALL, "--device", "cpu", "--output", str(output), *map(str, options)])


def steps_of(output) -> list[int]:
    return sorted(int(path.stem.removeprefix("checkpoint-")) for path in output.glob("*.restart"))


def commands(output) -> str:
    return (output / "restart.in").read_text()


def test_a_file_is_due_after_so_many_seconds(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(replica.time, "monotonic", lambda: now[0])
    restarts = replica.Restarts(tmp_path, 600, 0)
    assert "write_restart" in commands(tmp_path)  # the first one as soon as possible
    (tmp_path / "checkpoint-40.restart").touch()
    assert restarts.follow(False) and commands(tmp_path) == "\n"
    now[0] += 599
    assert restarts.follow(False) and commands(tmp_path) == "\n"
    now[0] += 2
    assert restarts.follow(False) and "write_restart" in commands(tmp_path)
    assert restarts.follow(True) and commands(tmp_path).endswith("quit 1\n")
    now[0] += 6
    assert not restarts.follow(True)  # LAMMPS has had its time


@pytest.mark.parametrize(
    ("particles", "steps", "every"),
    [(300, 1000, 100), (300, 10**6, 50000), (10**6, 10**6, 20000), (10**7, 10**6, 2000)],
)
def test_where_files_are_possible_follows_from_the_settings(particles, steps, every):
    settings = replica.Settings(particles=particles, steps=steps, equilibrate=0)
    assert settings.checkpoint_steps == every


@needs_lammps
def test_neither_files_nor_threads_change_the_trajectory(tmp_path):
    for name, options in {
        "often": ["--checkpoint-every", 0, "--threads", 1],
        "once": ["--threads", 3],
        "old": ["--checkpoint-steps", 100, "--threads", 1],
    }.items():
        assert dpd_command(tmp_path / name, "--steps", 500, *options) == 0
    assert steps_of(tmp_path / "often") == steps_of(tmp_path / "old") == [500, 600]
    assert steps_of(tmp_path / "once")[-1] == 600  # always at the end
    first = (tmp_path / "often" / "final.data").read_bytes()
    for name in ("once", "old"):
        assert (tmp_path / name / "final.data").read_bytes() == first


@needs_lammps
def test_threads_of_ranks_do_not_change_the_trajectory(tmp_path):
    for threads in (1, 4):
        options = ["--steps", 100, "--ranks", 2, "--threads", threads]
        assert dpd_command(tmp_path / str(threads), *options) == 0
    script = (tmp_path / "4" / "in.dpd").read_text()
    assert re.search(r"precision double threads 2$", script, re.MULTILINE)
    assert summary_of(tmp_path / "4")["threads"] == 4
    one, four = (tmp_path / name / "final.data" for name in ("1", "4"))
    assert one.read_bytes() == four.read_bytes()


@needs_lammps
def test_an_interrupt_waits_for_the_next_file(tmp_path):
    options = [*SMALL, "--steps", "2000000", "--checkpoint-every", "3600", "--device", "cpu"]
    command = [*COMMAND, "dpd", *options, "--checkpoint-steps", "1000", "--output", tmp_path]
    process = start(command)
    try:
        # LAMMPS writes files until it is no longer asked for them; none is due for an hour then.
        seen = {"steps": [], "at": time.monotonic()}

        def settled() -> bool:
            now = steps_of(tmp_path)
            if now != seen["steps"]:
                seen.update(steps=now, at=time.monotonic())
            return bool(now) and commands(tmp_path) == "\n" and time.monotonic() > seen["at"] + 1

        until(settled, process, 120)
        first = seen["steps"][-1]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    finally:
        process.kill()
        process.communicate()
    last, summary = steps_of(tmp_path)[-1], summary_of(tmp_path)
    assert last > first and last == summary["equilibration_steps"] + summary["steps"]


@needs_lammps
def test_the_folder_of_an_earlier_release_is_continued(tmp_path):
    """Its options have neither --checkpoint-every nor threads of the whole command."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for output, steps in ((whole, 400), (cut, 200)):
        assert dpd_command(output, "--steps", steps, "--checkpoint-steps", 100) == 0
    options = json.loads((cut / "options.json").read_text())
    assert options.pop("checkpoint_every") == 0 and options["checkpoint_steps"] == 100
    (cut / "options.json").write_text(json.dumps(options | {"threads": 1}))
    resume = ["dpd", "--resume", "--quiet", "--output", str(cut), "--steps", "400"]
    assert cli.run([*resume, "--checkpoint-every", "60"]) == 0
    assert (whole / "final.data").read_bytes() == (cut / "final.data").read_bytes()


def test_the_old_option_is_hidden(capsys):
    assert cli.run(["dpd", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--checkpoint-every" in text and "--checkpoint-steps" not in text
