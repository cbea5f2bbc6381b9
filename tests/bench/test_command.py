# SPDX-License-Identifier: BSD-3-Clause
"""`manymove bench`: the speed of the engines, its table and its file."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest
from commands import CLEAN, COMMAND
from lammps_host import needs_lammps
from processes import start

from manymove import cli
from manymove.bench import engines
from manymove.cli.bench import ALGORITHMS

SIZES = {"disks": 256, "spheres": 512, "electrolyte": 64, "adsorption": 4}
SIZES |= {"dpd": 800}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_lammps if name == "dpd" else ()) for name in SIZES]
)
def test_each_algorithm_is_timed(name, tmp_path, capsys):
    file = tmp_path / "new" / "speed.json"
    words = f"{name} --sizes {SIZES[name]} --device cpu --seconds 0.01 --json {file}"
    assert cli.run(["bench", *words.split()]) == 0
    report = json.loads(file.read_text())
    assert report.keys() >= {"date", "version", "commit", "cpu", "driver", "results"}
    (row,) = report["results"]
    assert (row["algorithm"], row["size"], row["repeats"]) == (name, SIZES[name], 3)
    assert 0 < row["lowest"] <= row["rate"] <= row["highest"]
    assert 0 < row["acceptance"] <= 1 and row["device"] == "cpu"
    printed = capsys.readouterr().out
    assert f"[{row['unit']}]" in printed and "timing too short" in printed
    assert "0.2 s are needed: raise --seconds" in printed


def test_the_command_names_all_algorithms():
    assert tuple(engines.ALGORITHMS) == ALGORITHMS == tuple(SIZES)


def test_all_are_timed_and_what_cannot_run_is_left_out(monkeypatch, capsys):
    small = {
        name: engines.Algorithm([SIZES[name]], [SIZES[name]], "1/s", engines.ALGORITHMS[name].make)
        for name in ("disks", "electrolyte")
    }

    def fails(size, device):
        raise RuntimeError("no LAMMPS")

    monkeypatch.setattr(
        engines, "ALGORITHMS", small | {"dpd": engines.Algorithm([8, 9], [8, 9], "1/s", fails)}
    )
    assert cli.run("bench --device cpu --seconds 0.01".split()) == 0
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines()[1:3]] == list(small)
    assert printed.count("left out: dpd: no LAMMPS\n") == 1
    assert cli.run("bench dpd --device cpu".split()) == 2
    assert "no LAMMPS" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("disks --repeats 2", "--repeats is 2"),
        ("disks --seconds 0", "--seconds must be positive"),
        ("disks --sizes many", "--sizes is 'many'"),
        ("dpt", 'there is no algorithm "dpt"; there are disks, spheres, electrolyte, adsor'),
        ("disks dpd --sizes 64", "--sizes is 64; it needs a single algorithm"),
        ("--sizes 64,128", "--sizes is 64,128; it needs a single algorithm"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(words, message, capsys):
    assert cli.run(["bench", *words.split()]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_results_are_not_replaced(tmp_path, capfd):
    (tmp_path / "old").write_text("old")
    assert cli.run(["bench", "disks", "--json", str(tmp_path / "old")]) == 2
    assert "old holds results: remove it, or choose another name" in capfd.readouterr().err
    assert (tmp_path / "old").read_text() == "old"


def test_an_interrupt_is_one_line():
    process = start(
        [*COMMAND, "bench", "disks", "--device", "cpu", "--seconds", "5"],
        env=CLEAN | {"PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()  # a title: it has begun
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "manymove: interrupted\n")
