# SPDX-License-Identifier: BSD-3-Clause
"""The options of `python -m benchmarks`: their help, their lists, their examples, mistakes."""

from __future__ import annotations

import re
import signal
import subprocess

import numpy as np
import pytest
import typer
from commands import BENCHMARKS, CLEAN
from help_texts import Helpful
from processes import start

from benchmarks.cli import app
from benchmarks.cli import run as bench
from benchmarks.texts import SHARED, TEXTS
from manymove import HardDisks, HardSpheres


class TestHelp(Helpful):
    program, run = "python -m benchmarks", staticmethod(bench)
    commands = typer.main.get_command(app).commands
    flags = ("--help",)
    foreign = {
        "disks": "sphere volume Lz density",
        "spheres": "disk psi_6 d^2",
        "electrolyte": "disk particles framework",
        "dpd": "disk angstrom kelvin psi_6",
        "adsorption": "disk ions sphere reduced",
    }


def test_every_help_text_is_that_of_an_option():
    used = {f"{name}.{option.opts[0][2:].replace('-', '_')}" for name, option in TestHelp.options}
    names = {each.partition(".")[2] for each in used}
    assert set(TEXTS) <= used | names and set(SHARED.split()) <= names


@pytest.mark.parametrize(
    ("name", "kind", "pattern"),
    [
        ("disks", HardDisks, r"([\d.]+)\)"),
        ("hoomd", HardDisks, r"([\d.]+) of disks"),
        ("spheres", HardSpheres, r"([\d.]+)\)"),
        ("hoomd", HardSpheres, r"([\d.]+) of spheres"),
    ],
)
def test_the_defaults_of_hard_particles_in_the_help_are_those_of_the_engines(name, kind, pattern):
    axes = 2 if kind is HardDisks else 3
    engine = kind(np.zeros((1, axes)), axes * (8.0,), seed=1, device="cpu", threads=1)
    texts = TestHelp.help_of(name)
    shown = float(re.search(rf"\(default .*?{pattern}", texts["--max-displacement"])[1])
    assert engine.max_displacement == pytest.approx(shown, rel=0.01)
    if name != "hoomd":
        shown = int(re.search(r"\(default (\d+)\)", texts["--moves-per-cell"])[1])
        assert engine.moves_per_cell == shown


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ("disks --sizes 1024 4096 --threads 1,2 --weak", "sizes", (1024, 4096)),
        ("disks --sizes 256 --sizes 64", "sizes", (64,)),
        ("electrolyte --methods brush serial", "methods", ("brush", "serial")),
        ("electrolyte --precision double", "precision", ("double",)),
        ("dpd", "density", None),
        ("dpd", "cutoff", (1.0,)),
    ],
)
def test_lists_are_separated_by_commas_or_spaces(line, name, expected):
    assert TestHelp.parsed(f"python -m benchmarks {line}")[name] == expected


@pytest.mark.parametrize("words", ["a.json b.json", "a.json,b.json", "a.json --read b.json"])
def test_files_may_be_repeated(words):
    read = TestHelp.parsed(f"python -m benchmarks scaling --read {words}")["read"]
    assert [path.name for path in read] == ["a.json", "b.json"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("electrolyte --precision mixed mixed", "is 'mixed,mixed'; a value occurs twice"),
        ("disks --sizes --weak", "--sizes is '--weak'"),
        ("dpt", "dpd"),
        ("disks --size 64", "did you mean --sizes?"),
    ],
)
def test_mistakes_are_one_line(line, message, capsys):
    assert bench(line.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("benchmarks: error: ") and error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_results_are_not_replaced(option, tmp_path, capfd):
    (tmp_path / "old").write_text("old")
    assert bench(["disks", option, str(tmp_path / "old")]) == 2
    assert "old holds results: remove it, or choose another name" in capfd.readouterr().err
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.parametrize("name", ["dpd", "electrolyte", "scaling"])
def test_several_ranks_of_a_command_for_one_process_are_refused(name, monkeypatch, capsys):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "4")
    assert bench([name]) == 2
    assert f"python -m benchmarks {name} is for one process, but mpirun or srun has started 4" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["disks", "electrolyte", "all"])
def test_an_interrupt_is_one_line(name):
    process = start(
        [*BENCHMARKS, name, "--device", "cpu", "--seconds", "5"],
        env=CLEAN | {"PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()  # a title: it has begun
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "benchmarks: interrupted\n")
