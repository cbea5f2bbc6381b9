# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks systems --hpmc`: HPMC in simultaneous processes."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import simultaneous_variants

from benchmarks.cli import run as bench
from benchmarks.hpmc_processes import _run_for, timed
from benchmarks.simultaneous import Processes, summed

SYSTEMS = ["systems", "--particles", "256", "--device", "cpu", "--threads", "1", "--systems", "1"]
SYSTEMS += ["--equilibrate", "10", "--seconds", "0.05"]


def times(folder: Path, what: str, process: int) -> list[tuple[float, ...]]:
    lines = (folder / f"{what}.{process}").read_text().splitlines()
    return [tuple(float(word) for word in line.split()) for line in lines]


def test_processes_start_one_after_the_other_and_run_at_the_same_time(tmp_path):
    with Processes(partial(simultaneous_variants.recorded, tmp_path), 3) as processes:
        made = sorted(times(tmp_path, "make", k)[0] for k in range(3))
        assert all(before[1] <= after[0] for before, after in pairwise(made))
        trials, accepted = summed(processes.call(_run_for, 0, 0.3))
        calls = [times(tmp_path, "none", k) for k in range(3)]
        assert max(each[0][0] for each in calls) < min(each[-1][1] for each in calls)
        for each in calls:
            # The time begins before the first call, and ends after the record of the last one.
            assert 0.25 <= each[-1][1] - each[0][0] < 1.0
        assert (trials > sum(map(len, calls)), accepted) == (True, 0)  # calls become longer
        trials, accepted = summed(processes.call(_run_for, 1, 0.01))
        assert trials == accepted > 0
        started = processes._started
    assert not any(process.is_alive() for process in started)


def test_each_variant_is_timed_in_all_processes(tmp_path):
    with Processes(partial(simultaneous_variants.recorded, tmp_path), 2) as processes:
        variants = timed(processes, 3, 0.05)
    assert [variant.name for variant in variants] == ["none", "all"]
    assert [variant.settings for variant in variants] == 2 * [{"process": 0}]
    for variant, acceptance in zip(variants, (0, 1), strict=True):
        assert len(variant.rates) == 3
        assert all(seconds >= 0.05 for seconds in variant.times)
        assert variant.accepted_moves == acceptance * variant.trial_moves
        moves = [rate * seconds for rate, seconds in zip(variant.rates, variant.times, strict=True)]
        assert sum(moves) == pytest.approx(variant.trial_moves)


def test_an_error_of_a_process_is_raised():
    with pytest.raises(ValueError, match="no such system"):
        Processes(simultaneous_variants.wrong, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (simultaneous_variants.lost, "one of 2 processes ended with exit code 3"),
        (simultaneous_variants.failing, "ZeroDivisionError: integer division"),
    ],
)
def test_a_process_that_fails_in_a_run_is_told(make, message):
    with Processes(make, 2) as processes:
        with pytest.raises(RuntimeError, match=message):
            processes.call(_run_for, 0, 0.01)
        started = processes._started
    assert not any(process.is_alive() for process in started)


@pytest.mark.parametrize("before", [None, "theirs"])
def test_the_environment_is_that_of_the_processes_only(before, monkeypatch):
    name = "OF_THE_PROCESSES"
    monkeypatch.delenv(name, raising=False)
    if before is not None:
        monkeypatch.setenv(name, before)
    with Processes(simultaneous_variants.of_environment, 1, {name: "ours"}) as processes:
        (variant,) = timed(processes, 1, 0.01)
    assert variant.name == "ours"
    assert os.environ.get(name) == before


def test_at_least_one_process_is_needed():
    with pytest.raises(ValueError, match="the number of processes must be positive, got 0"):
        Processes(simultaneous_variants.wrong, 0)


@pytest.mark.parametrize("other", [["--ions"], ["--pressure", "8"], ["--swaps", "2"]])
def test_hpmc_has_disks_and_spheres_of_one_size_at_constant_volume(other, capsys):
    assert bench([*SYSTEMS, *other, "--hpmc", "2"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "--hpmc cannot be combined with --ions, --pressure and --swaps" in printed.err


def test_the_number_of_processes_is_positive(capsys):
    assert bench([*SYSTEMS, "--hpmc", "2,0"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "--hpmc is 0; the number of processes must be positive" in printed.err


def test_hoomd_that_is_not_installed_is_told_before_the_first_run(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hoomd", None)
    assert bench([*SYSTEMS, "--hpmc", "2"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "--hpmc needs HOOMD-blue, which is not installed here" in printed.err


def test_without_the_option_no_process_starts(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "hoomd", None)
    file = tmp_path / "systems.json"
    assert bench([*SYSTEMS, "--json", str(file)]) == 0
    names = [row["variant"] for row in json.loads(file.read_text())["results"]]
    assert not [name for name in names if "HPMC" in name]


@pytest.mark.parametrize("kind, nselect", [([], (8, 16, 32, 64)), (["--spheres"], (4, 8, 16, 32))])
def test_hpmc_runs_in_simultaneous_processes(kind, nselect, tmp_path, capfd):
    hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    if not hoomd.version.hpmc_built:
        pytest.skip("HOOMD-blue without HPMC")
    file = tmp_path / "systems.json"
    assert bench([*SYSTEMS, *kind, "--hpmc", "1,2", "--json", str(file)]) == 0
    rows = json.loads(file.read_text())["results"]
    ours = rows[0]
    peers = [row for row in rows if row["variant"].startswith("HPMC")]
    names = [(count, f"HPMC, nselect {n}") for count in (1, 2) for n in nselect]
    assert [(row["systems"], row["variant"]) for row in peers] == names
    for row in peers:
        assert row["processes"] == row["systems"]
        assert row["particles"] == 256
        assert row["program"].startswith(f"HPMC (HOOMD-blue {hoomd.version.version}), nselect ")
        assert row["lowest"] <= row["trial_moves_per_second"] <= row["highest"]
        assert row["trial_moves_per_second"] > 1e4
        # The same particles; HPMC's moves have the same mean square.
        assert row["acceptance"] == pytest.approx(ours["acceptance"], abs=0.06)
    assert "HPMC, nselect" in capfd.readouterr().out
