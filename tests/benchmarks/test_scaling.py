"""`python -m benchmarks scaling`: speed on one, two, ... ranks, and the efficiency."""

import json
import os
import signal
import sys
import time

import pytest
from commands import BENCHMARKS, MPIEXEC
from processes import start, until

from benchmarks import scaling as bench_scaling
from benchmarks.cli import run as bench
from benchmarks.dpd_ranks import grid
from manymove.lammps import host

SMALL = ["--device", "cpu", "--seconds", "0.01"]
SIZES = {"disks": 2500, "spheres": 500, "component": 2500, "dpd": 600}
SIZES |= {"mixture": 500, "bonded": 600, "sheared": 600, "charged": 900}
SIZES |= {"electrolyte": 512, "tree": 512, "adsorption": 3}


def scaling(*arguments):
    return bench(["scaling", *SMALL, *map(str, arguments)])


def needs(algorithm):
    if algorithm in ("disks", "spheres", "mixture", "component", "adsorption"):
        pytest.importorskip("mpi4py")
        if MPIEXEC is None:
            pytest.skip("no mpiexec")
    if algorithm == "component":
        pytest.importorskip("hoomd.manymove")
    if algorithm in ("dpd", "bonded", "sheared", "charged") and host.missing():
        pytest.skip(host.missing())


@pytest.fixture
def coarse(monkeypatch):
    """Grids of adsorbates that take no time."""
    whole = bench_scaling.Plan.bench

    def words(plan, ranks, *words):
        more = ["--grid-spacing", 0.5] if words[0] == "adsorption" else []
        return whole(plan, ranks, *words, *more)

    monkeypatch.setattr(bench_scaling.Plan, "bench", words)


@pytest.mark.parametrize("algorithm", bench_scaling.ALGORITHMS)
def test_weak_scaling_has_a_point_for_each_number_of_ranks(
    algorithm, coarse, tmp_path, capfd, monkeypatch
):
    needs(algorithm)
    monkeypatch.setenv("MALLOC_PERTURB_", "165")  # glibc: allocated memory does not start as zeros
    size, file = SIZES[algorithm], tmp_path / "new" / "scaling.json"
    arguments = ["--algorithms", algorithm, "--weak", "--sizes", size, "--ranks", "2,1"]
    assert scaling(*arguments, "--json", file) == 0
    report = json.loads(file.read_text())
    one, two = report["results"]
    assert report["failures"] == [] and report["ranks"] == [1, 2]
    # An ion feels all others: as many pairs a rank are sqrt(2) times the ions, a multiple of four.
    sizes = [512, 724] if algorithm == "electrolyte" else [size, 2 * size]
    for row, ranks, in_all in zip((one, two), (1, 2), sizes, strict=True):
        assert (row["algorithm"], row["scaling"]) == (algorithm, "weak")
        assert (row["ranks"], row["size"]) == (ranks, in_all)
        assert 0 < row["lowest"] <= row["rate"] <= row["highest"]
        assert row["efficiency"] == pytest.approx(row["rate"] / one["rate"] / ranks)
    assert one["curve"] == two["curve"] and f"{size:,}" in one["curve"]
    assert f"{two['efficiency']:.1%}" in capfd.readouterr().out


def test_strong_scaling_keeps_the_size(tmp_path):
    file = tmp_path / "scaling.json"
    arguments = ["--algorithms", "electrolyte", "--strong", "--sizes", "512", "--ranks", "1,2"]
    assert scaling(*arguments, "--json", file) == 0
    rows = json.loads(file.read_text())["results"]
    assert [row["size"] for row in rows] == [512, 512]
    assert [row["measured"]["threads"] for row in rows] == [1, 2]
    assert {row["curve"] for row in rows} == {"512 ions in all"}


def test_ranks_divide_the_systems_of_strong_scaling():
    needs("adsorption")
    plan = bench_scaling.Plan([1, 2], False, [MPIEXEC], "auto", 3, 0.01, 1, time.monotonic() + 90)
    words = "adsorption --device cpu --threads 1 --molecules 3 --systems 5 --methods pmc --ranks 2"
    words += " --equilibrate 5 --grid-spacing 0.5"
    (row,) = plan.run("systems", plan.bench(2, *words.split()))
    assert (row["systems"], row["ranks"], row["scaling"]) == (5, 2, "strong")
    assert plan.failures == []


def test_what_needs_more_gpus_than_there_are_is_listed(monkeypatch, tmp_path, capsys):
    # Two GPUs that do not exist, and measurements that are known.
    monkeypatch.setattr(bench_scaling._core, "cuda_devices", lambda: [{"name": "none"}] * 2)
    found = {"ions": 1, "pair_terms_per_second": 1.0, "warnings": []}
    found |= {"seconds_per_sweep": 2.0, "lowest": 1.9, "highest": 2.1}
    monkeypatch.setattr(
        bench_scaling, "report_of", lambda command, left: ({"results": [dict(found)]}, "")
    )
    file = tmp_path / "scaling.json"
    words = ["scaling", "--algorithms", "tree", "--strong", "--device", "cuda"]
    assert bench([*words, "--json", str(file)]) == 0
    report = json.loads(file.read_text())
    assert [row["ranks"] for row in report["results"]] == report["ranks"] == [1, 2]
    gaps = [(gap["ranks"], gap["size"], gap["why"]) for gap in report["not_run"]]
    assert gaps == [(4, 1_048_576, "needs 4 GPUs"), (8, 1_048_576, "needs 8 GPUs")]
    capsys.readouterr()
    assert scaling("--read", file) == 0
    assert "not run: tree, strong, 1,048,576 in all, 8 ranks" in capsys.readouterr().out
    more = tmp_path / "more.json"
    assert bench([*words, "--ranks", "2,4", "--json", str(more)]) == 0
    (gap,) = json.loads(more.read_text())["not_run"]
    assert (gap["ranks"], gap["why"]) == (4, "needs 4 GPUs")
    assert bench([*words, "--ranks", "4"]) == 2
    assert "there are 2 GPUs" in capsys.readouterr().err


@pytest.mark.parametrize("algorithm", ["electrolyte", "tree"])
def test_points_for_which_no_time_is_left_are_listed_with_their_sizes(algorithm):
    sizes = {1: 512, 2: 724 if algorithm == "electrolyte" else 1024}
    plan = bench_scaling.Plan([1, 2], False, [], "auto", 3, 0.01, 1, time.monotonic() - 1)
    rows = bench_scaling._curve(plan, algorithm, True, 512)
    gaps = bench_scaling._gaps(plan, algorithm, "weak", 512, rows)
    assert {gap["ranks"]: gap["size"] for gap in gaps} == sizes
    assert {gap["why"] for gap in gaps} == {"no time was left"}


def test_what_needs_no_launcher_is_measured_without_one(monkeypatch, tmp_path):
    monkeypatch.setattr(bench_scaling, "_launcher", list)
    file = tmp_path / "scaling.json"
    words = ["--algorithms", "disks,electrolyte", "--strong", "--ranks", "1,2", "--json", file]
    assert scaling(*words, "--limit", 60) == 0
    report = json.loads(file.read_text())
    assert {row["algorithm"] for row in report["results"]} == {"electrolyte"}
    gaps = [(gap["algorithm"], gap["ranks"], gap["why"]) for gap in report["not_run"]]
    assert gaps == [("disks", 1, "no mpiexec"), ("disks", 2, "no mpiexec")]
    assert scaling("--algorithms", "disks", "--strong", "--ranks", "1,2") == 2


def test_no_results_without_a_failure_are_an_error(monkeypatch, capsys):
    monkeypatch.setattr(bench_scaling, "report_of", lambda command, left: ({"results": []}, ""))
    assert scaling("--algorithms", "tree", "--strong", "--ranks", "1") == 2
    assert "nothing was measured: no results" in capsys.readouterr().err


def row(ranks, rate, kind="weak", algorithm="dpd"):
    return {
        "algorithm": algorithm, "scaling": kind, "curve": "1 particle", "ranks": ranks,
        "size": ranks, "rate": rate, "lowest": 0.9 * rate, "highest": rate, "unit": "MPS",
        "efficiency": rate / ranks / 10.0,
    }  # fmt: skip


def test_recorded_files_are_shown_and_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    for name, rows in (
        ("a.json", [row(1, 10.0), row(2, 18.0)]),
        ("b.json", [row(1, 10.0, "strong", "disks")]),
    ):
        (tmp_path / name).write_text(json.dumps({"results": rows}))
    files = ["--read", tmp_path / "a.json", "--read", tmp_path / "b.json"]
    assert scaling(*files, "--plot", tmp_path / "p" / "s.png") == 0
    output = capsys.readouterr().out
    assert "90.0%" in output and "disks" in output
    assert (tmp_path / "p" / "s.png").read_bytes().startswith(b"\x89PNG")
    (tmp_path / "a.json").write_text('{"results": [{"variant": "of another benchmark"}]}')
    assert scaling(*files) == 2
    assert "a.json is not a file of python -m benchmarks scaling" in capsys.readouterr().err


def test_what_fails_or_hangs_leaves_a_gap(tmp_path, capsys):
    """The launcher is at fault here: it says no, or nothing at all."""
    words = ["--algorithms", "disks,electrolyte", "--weak", "--ranks", "2"]
    file = tmp_path / "scaling.json"
    assert scaling(*words, "--launcher", "false", "--limit", 60, "--json", file) == 0
    report = json.loads(file.read_text())
    assert [row["algorithm"] for row in report["results"]] == ["electrolyte"]
    assert report["failures"] == ["disks, 16384 a rank: the process ended with exit code 1"]
    assert report["not_run"] == [
        {
            "algorithm": "disks",
            "scaling": "weak",
            "size": 32768,
            "ranks": 2,
            "why": "the process ended with exit code 1",
        }
    ]
    shown = "not run: disks, weak, 32,768 in all, 2 ranks: the process ended"
    assert shown in capsys.readouterr().out
    words[1] = "disks"
    assert scaling(*words, "--launcher", "true", "--limit", 60) == 2
    assert "disks, 16384 a rank: the process wrote no results" in capsys.readouterr().err
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nsleep 100\n")
    sleeper.chmod(0o755)
    began = time.monotonic()
    file.unlink()
    assert scaling(*words, "--launcher", sleeper, "--limit", 5, "--json", file) == 2
    assert "nothing was measured: disks, 16384 a rank: not done" in capsys.readouterr().err
    assert time.monotonic() - began < 30
    (failure,) = json.loads(file.read_text())["failures"]
    assert failure.startswith("disks, 16384 a rank: not done after")


def test_what_is_terminated_leaves_nothing_running(tmp_path):
    sleeper, told = tmp_path / "sleeper", tmp_path / "pid"
    sleeper.write_text(f"#!/bin/sh\necho $$ > {told}.new\nmv {told}.new {told}\nsleep 100\n")
    sleeper.chmod(0o755)
    words = ["scaling", *SMALL, "--algorithms", "disks", "--weak", "--ranks", "2"]
    job = start([*BENCHMARKS, *words, "--launcher", sleeper])
    until(told.exists, job)
    job.terminate()
    assert job.wait(timeout=30) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_a_point_of_two_curves_is_measured_once(tmp_path):
    count = tmp_path / "count"
    program = "import sys, pathlib\nwith open(sys.argv[1], 'a') as f: f.write('x')\n"
    program += """pathlib.Path(sys.argv[2]).write_text('{"results": [{"n": 1}]}')"""
    plan = bench_scaling.Plan([1], False, [], "auto", 3, 0.1, 1, time.monotonic() + 60)
    command = [sys.executable, "-c", program, str(count)]
    assert plan.run("a", command) == plan.run("b", command) == [{"n": 1}]
    assert count.read_text() == "x"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repeats", "2"], "a spread needs at least 3"),
        (["--algorithms", "disks,balls"], '--algorithms has "balls"; there are disks, spheres'),
        (["--sizes", "100"], "--sizes is 100; it needs positive numbers, one of --algorithms"),
        (["--algorithms", "dpd", "--sizes", "100"], "and either --weak or --strong"),
        (["--limit", "0"], "--limit is 0; it must be positive"),
        (["--ranks", "0,1"], "--ranks is 0,1; it must be positive"),
        (["--device", "tpu"], "--device is tpu; it must be auto, cpu or cuda"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message, capsys):
    assert scaling(*arguments) == 2
    assert message in capsys.readouterr().err


def test_ranks_that_no_mpirun_started_are_refused(capsys):
    assert bench(["adsorption", "--ranks", "1,2", "--methods", "mdp"]) == 2
    assert "the number of ranks that mpirun started" in capsys.readouterr().err
    assert bench(["adsorption", "--weak"]) == 2
    assert "--ranks and --weak go with one of --methods" in capsys.readouterr().err
    assert bench(["adsorption", "--weak", "--adsorbate", "CO2"]) == 2
    assert "--ranks and --weak time methane: leave out --adsorbate" in capsys.readouterr().err


def test_none_of_something_is_not_the_default(capsys):
    words = ["--device", "cpu", "--ranks", "1"]
    assert bench(["disks", *words, "--threads", "0"]) == 2
    assert "threads must be positive" in capsys.readouterr().err
    words += ["--methods", "pmc", "--grid-spacing", "0.5", "--systems", "0"]
    assert bench(["adsorption", *words]) == 2
    assert "--systems is 0, fewer than the 1 ranks" in capsys.readouterr().err


def test_boxes_of_ranks_are_near_to_cubes():
    assert [grid(n) for n in (1, 2, 4, 6, 8, 12)] == [
        (1, 1, 1), (1, 1, 2), (1, 2, 2), (1, 2, 3), (2, 2, 2), (2, 2, 3),
    ]  # fmt: skip
