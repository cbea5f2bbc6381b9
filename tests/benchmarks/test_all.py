"""`python -m benchmarks all`: every benchmark, ours beside the best peer."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import bench_all_parts
import pytest

from benchmarks import suite
from benchmarks.cli import run as bench
from benchmarks.process import report_of
from manymove.bench import harness


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(suite, "PARTS", bench_all_parts.PARTS)
    monkeypatch.setattr(suite, "WORKER", [sys.executable, str(Path(bench_all_parts.__file__))])


def run(tmp_path, parts, *more):
    """The report of parts that take no time."""
    file = tmp_path / "new" / "all.json"
    arguments = ["--parts", parts, "--device", "cpu", "--seconds", 0.5, "--json", file, *more]
    assert bench(["all", *map(str, arguments)]) == 0
    return json.loads(file.read_text())


def test_summary_sets_the_best_of_ours_beside_the_best_peer():
    rows = [*bench_all_parts.ROWS[10], *bench_all_parts.ROWS[99]]
    first, second = suite.summarize(bench_all_parts.PARTS["disks"], rows)
    assert (first["size"], first["ours"]["variant"], first["ours"]["rate"]) == (10, "cuda:0", 90.0)
    assert first["ours"]["spread"] == pytest.approx(0.25)
    assert first["peer"] == {
        "variant": rows[3]["variant"],
        "rate": 30.0,
        "spread": 0.0,
        "warnings": [],
    }
    assert first["ratio"] == 3.0
    assert second["size"] == 99 and "peer" not in second and "ratio" not in second


def test_command_writes_table_file_and_picture(small, tmp_path, capfd):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "all.png"
    report = run(tmp_path, "disks,hoomd", "--plot", picture)
    output = capfd.readouterr().out
    assert "left out: bench hoomd needs HOOMD-blue" in output
    assert "3 times HPMC (HOOMD-blue 7), nselect 16" in output
    assert report["absent"] == {"hoomd": "bench hoomd needs HOOMD-blue"}
    assert report["failures"] == {}
    assert [row["size"] for row in report["summary"]] == [10, 99]
    rows = bench_all_parts.ROWS
    assert report["benchmarks"]["disks"]["results"] == rows[10] + rows[99]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_an_interrupt_while_a_process_starts_ends_it(monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        report_of([sys.executable, "-c", "import time; time.sleep(60)"], 60)
    assert [process.poll() for process in started] == [-signal.SIGTERM]


def test_a_part_that_hangs_ends_in_time_and_keeps_what_it_has(small, tmp_path):
    began = time.monotonic()
    report = run(tmp_path, "dpd,disks", "--limit", 4)
    assert time.monotonic() - began < 60
    assert report["failures"] == {"dpd": ["dpd, 99: not done after 4 s"]}
    assert report["benchmarks"]["dpd"]["done"] == [10]
    assert [row["size"] for row in report["summary"]] == [10, 10, 99]


def test_a_part_that_crashes_goes_on_without_peers(small, tmp_path):
    report = run(tmp_path, "electrolyte,disks")
    assert report["failures"] == {
        "electrolyte": ["electrolyte, 99: the process ended with exit code -6"]
    }
    assert report["benchmarks"]["electrolyte"]["done"] == [10, 99]
    assert [row["size"] for row in report["summary"]] == [10, 99, 10, 99]


def test_an_error_of_one_part_is_not_that_of_the_others(small, tmp_path):
    report = run(tmp_path, "adsorption,disks")
    assert report["failures"] == {"adsorption": 2 * ["adsorption, 10: no fluid"]}
    assert report["benchmarks"].keys() == {"disks"}


def test_nothing_at_all_is_an_error(small, capsys):
    assert bench(["all", "--parts", "hoomd", "--device", "cpu"]) == 2
    assert "nothing was measured: bench hoomd needs HOOMD-blue" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repeats", "2"], "a spread needs at least 3"),
        (["--limit", "0"], "--limit is 0; it must be positive (seconds)"),
        (["--parts", "disks,balls"], '--parts has "balls"; there are disks, spheres, hoomd, dpd'),
    ],
)
def test_what_cannot_be_is_refused(arguments, message, capsys):
    assert bench(["all", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_parts_pass_on_what_benchmarks_take(monkeypatch):
    """No benchmark's signature has changed: its checks are reached."""
    common = {"device": "cpu", "repeats": 2, "seconds": 1.0, "seed": 1}
    for part in suite.PARTS.values():
        for size in {*part.gpu_sizes, *part.cpu_sizes}:
            with pytest.raises(ValueError, match="a spread needs at least 3"):
                part.run(size=size, **common)


def test_runs_shorter_than_a_cycle_are_timed_until_one_is_done():
    cycles = iter([0, 0, 7] * 100)  # trial moves of successive calls

    def run(sweeps):
        moves = next(cycles)
        return moves, moves // 2

    variant = harness.Variant("cycles", run, {})
    harness.time_in_turn([variant], repeats=3, seconds=1e-9)
    assert all(rate > 0 for rate in variant.rates) and variant.trial_moves == 21


@pytest.mark.parametrize("words", ["disks --sizes 64", "electrolyte --sizes 128 --precision mixed"])
def test_each_benchmark_has_its_picture(words, tmp_path):
    pytest.importorskip("matplotlib")
    few = "--device cpu --threads 1 --seconds 0.01 --equilibrate 2 --plot"
    picture = tmp_path / "speed.png"
    assert bench([*words.split(), *few.split(), str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_pictures_of_ranks_are_those_of_scaling(tmp_path, capsys):
    for name in ("disks", "adsorption --methods mdp"):
        command = [*name.split(), "--ranks", "1", "--plot", str(tmp_path / "a.png")]
        assert bench(command) == 2
        assert "without" in capsys.readouterr().err
