# SPDX-License-Identifier: BSD-3-Clause
"""The script that runs the matrix of hosts, with programs that stand in for them."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest
import recorded
from documents import ROOT, module_of


@pytest.fixture
def matrix(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return module_of(ROOT / "tests/hosts/run.py", monkeypatch)


@pytest.fixture
def hosts(matrix: ModuleType, tmp_path: Path):
    return matrix.Hosts(tmp_path / "build", "", tmp_path)


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("said", "name", "options"),
    [
        ("mpiexec (OpenRTE) 4.1.4", "Open MPI 4.1.4", " --allow-run-as-root --oversubscribe"),
        (
            "mpiexec (Open MPI) 6.0.0rc2",
            "Open MPI 6.0.0rc2",
            " --allow-run-as-root --oversubscribe",
        ),
        ("HYDRA build details:\n    Version:           5.0.2", "MPICH 5.0.2", ""),
    ],
)
def test_the_mpi_of_an_environment_is_named(said, name, options, hosts, tmp_path):
    mpiexec = program(tmp_path, "mpiexec", f"echo '{said}'")
    assert hosts.launcher(tmp_path) == (f"{mpiexec}{options}", name)


@pytest.mark.parametrize(
    ("two_ranks", "expected", "failed"),
    [
        ("result 1", "1 and 2 ranks, equal results", False),
        ("result 2", "results differ", True),
        ("none", "failed on 2", True),
        ("result 1; exit 3", "failed on 2", True),
    ],
)
def test_results_must_be_equal(two_ranks, expected, failed, matrix, hosts, tmp_path):
    one = program(tmp_path, "one", "echo result 1")
    mpiexec = program(tmp_path, "mpiexec", f"echo {two_ranks}")
    part = matrix.Part((), "", r"result (\d)")
    assert hosts.scripted("x", part, str(one), str(mpiexec), tmp_path) == expected
    assert hosts.summary("hosts") == failed


def test_a_folder_with_other_files_is_left_alone(matrix, hosts, tmp_path):
    matrix.Hosts(hosts.folder, "", None)  # of an earlier run
    (tmp_path / "other").mkdir()
    file = program(tmp_path / "other", "file", "echo")
    with pytest.raises(FileExistsError, match="other has other files"):
        matrix.Hosts(tmp_path / "other", "", None)
    assert file.exists()


def test_without_mpi_one_rank_is_run(matrix, hosts, tmp_path):
    one = program(tmp_path, "one", "echo result 1")
    part = matrix.Part((), "", r"result (\d)")
    assert hosts.scripted("x", part, str(one), "", tmp_path) == "1 rank"


def test_counts_have_no_times(matrix, hosts, tmp_path):
    step = hosts.step("x", "echo '== 3 failed, 12 passed, 1 skipped in 3.21s (0:00:03) =='; exit 1")
    assert matrix.counted(step) == "3 failed, 12 passed, 1 skipped"
    assert matrix.counted(hosts.step("x", "exit 4")) == "failed to start"


def test_what_is_no_host_fails_by_name(matrix, hosts, tmp_path):
    matrix.run_lammps(hosts, program(tmp_path, "lmp", "echo hello"), tmp_path)
    matrix.run_hoomd(hosts, program(tmp_path, "python", "exit 1"))
    no_lammps, no_hoomd = hosts.lines
    assert no_lammps.built.endswith("lmp is no LAMMPS")
    assert no_hoomd.built.endswith("python imports no HOOMD-blue")
    assert hosts.summary("hosts") == 1


def test_a_lammps_that_loads_no_plugins_fails_by_name(matrix, hosts, tmp_path):
    lmp = program(tmp_path, "lmp", 'test "$1" = -h && echo "Simulator - 1 Jan 2027"')
    matrix.run_lammps(hosts, lmp, tmp_path)
    assert hosts.lines[0].version == "1 Jan 2027"
    assert hosts.lines[0].built == "this LAMMPS has no package PLUGIN"
    assert hosts.summary("hosts") == 1


@pytest.mark.parametrize("shim", [False, True])
def test_an_interpreter_that_does_not_run_is_named_and_does_not_fail(
    shim, matrix, hosts, tmp_path, monkeypatch
):
    if shim:  # of a version manager that has other versions only
        program(tmp_path, "python3.99", "exit 127")
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    matrix.run_packages(hosts, matrix.Row("files", ("gsd",), "python3.99"))
    assert hosts.lines[0].built == "no python3.99 on this machine"
    assert hosts.summary("hosts") == 0


def test_a_record_keeps_other_lines(matrix, tmp_path):
    record, line = tmp_path / "hosts.json", matrix.Line
    matrix.write(
        record, [line("files", "gsd 4"), line("LAMMPS", "1", mpi="MPICH", tests="2 failed")]
    )
    matrix.write(record, [line("LAMMPS", "1", mpi="MPICH", tests="2 passed")])
    matrix.write(record, [line("LAMMPS", "1", mpi="Open MPI")])
    lines = json.loads(record.read_text())["lines"]
    assert [(one["version"], one["mpi"]) for one in lines] == [
        ("gsd 4", "-"), ("1", "MPICH"), ("1", "Open MPI")
    ]  # fmt: skip
    assert lines[1]["tests"] == "2 passed"


def test_each_part_names_files_that_exist(matrix):
    for part in matrix.PARTS.values():
        assert part.tests and all((ROOT / test).exists() for test in part.tests)
    assert {row.part for row in matrix.ROWS} < set(matrix.PARTS)


def test_the_newest_record_is_the_table_of_the_page(matrix, monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "RESULTS", tmp_path)
    page = tmp_path / "page.md"
    assert recorded.written("<!--=hosts--><!--/-->", page) == "<!--=hosts--><!--/-->"
    for day, tests in (("01", "1 passed"), ("02", "2 passed")):
        record = tmp_path / f"2026-01-{day}-hosts.json"
        matrix.write(record, [matrix.Line("LAMMPS", "1", built="yes", tests=tests)])
    matrix.write(record, [matrix.Line("files", "gsd 9", built="no such package")])
    table = recorded.written("<!--=hosts--><!--/-->", page)
    assert "([record](2026-01-02-hosts.json))" in table
    assert re.findall(r"^\| (?:LAMMPS|files) .*", table, re.MULTILINE) == [
        f"| LAMMPS | 1 | - | - | - | CPU | 2 passed | - | {date.today().isoformat()} |",
        f"| files | gsd 9 | - | - | - | CPU | no such package | - | {date.today().isoformat()} |",
    ]
    assert recorded.written(table, page) == table
