"""Commands whose replicas end at `--target-error`."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from commands import COMMAND, MPIEXEC, summary_of
from processes import on_ranks, run, start, until

from manymove import cli

POINTS = ("0.2", "0.3", "0.4")
FRESH = {"target": None, "target_reached": None}
needs_ranks = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")


def scan(folder: Path, *more: object, target: float = 0.02) -> list[str]:
    words = (
        "disks", "--equation-of-state", "--packing-fractions", ",".join(POINTS), "--particles", 64,
        "--sweeps", 30_000, "--equilibrate", 300, "--replicas", 2, "--target-error", target,
        "--device", "cpu", "--quiet", "--output", folder, *more,
    )  # fmt: skip
    return [*map(str, words)]


def content(folder: Path) -> list[object]:
    """What must not depend on threads, ranks and interruptions."""
    keys = (
        "state_hash",
        "sweeps",
        "pressure",
        "pressure_error",
        "complete",
        "target_reached",
    )
    runs = summary_of(folder)["runs"]
    tables = [(folder / f"packing_fraction_{p}" / "pressure.csv").read_bytes() for p in POINTS]
    replicas = [[r["sweeps"] for r in each["replicas"]] for each in runs]
    return [[[each[key] for key in keys] for each in runs], replicas, tables]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    assert cli.run(scan(folder, "--threads", 1)) == 0
    runs = summary_of(folder)["runs"]
    assert all(r["target_reached"] and r["target"] == 0.02 for r in runs)
    assert all(100 < r["sweeps"] < 29_000 for r in runs)
    assert len({r["sweeps"] for each in runs for r in each["replicas"]}) > 2
    # Each replica has sqrt(2) times the error of their mean.
    assert all(r["pressure_error"] < 0.021 * r["pressure"] for r in runs)
    return folder


def test_a_scan_on_more_threads_ends_at_the_same_cycles(whole, tmp_path):
    assert cli.run(scan(tmp_path, "--threads", 3)) == 0
    assert content(tmp_path) == content(whole)


@needs_ranks
def test_two_ranks_end_at_the_same_cycles(whole, tmp_path):
    pytest.importorskip("mpi4py")
    end = run([*on_ranks(2), *COMMAND, *scan(tmp_path, "--threads", 2)])
    assert end.returncode == 0, end.stderr
    assert content(tmp_path) == content(whole)


@needs_ranks
def test_ranks_that_divide_a_system_end_at_the_same_cycle(tmp_path):
    pytest.importorskip("mpi4py")
    words = [
        "disks", "--particles", "3000", "--packing-fraction", "0.2", "--sweeps", "2000",
        "--target-error", "0.02", "--device", "cpu", "--quiet", "--output",
    ]  # fmt: skip
    assert cli.run([*words, str(tmp_path / "one")]) == 0
    end = run([*on_ranks(2), *COMMAND, *words, tmp_path / "two", "--decompose", "--threads", "1"])
    assert end.returncode == 0, end.stderr
    one, two = (summary_of(tmp_path / name) for name in ("one", "two"))
    assert one["sweeps"] < 1900 and one["target_reached"]
    assert [one[k] for k in ("state_hash", "sweeps")] == [two[k] for k in ("state_hash", "sweeps")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_scan_that_is_ended_and_resumed_ends_at_the_same_cycles(number, whole, tmp_path):
    command = scan(tmp_path, "--threads", 1, "--checkpoint-every", 0.02)
    states = lambda: [*tmp_path.glob("packing_fraction_*/checkpoint-*.state")]  # noqa: E731
    for count in (1, 3):
        job = start([*COMMAND, *command])
        until(lambda: len(states()) >= count, job, interval=0.005)  # noqa: B023
        job.send_signal(number)
        job.communicate()
        command = ["disks", "--resume", "--quiet", "--output", str(tmp_path)]
    assert len(states()) < 6
    assert cli.run(command) == 0
    assert content(tmp_path) == content(whole)
    before = content(tmp_path)
    assert cli.run(command) == 0  # nothing is left to do
    assert content(tmp_path) == before


def test_what_ends_at_the_maximum_length_is_reported(tmp_path, capfd):
    few = scan(tmp_path, "--sweeps", 500, target=0.0001)
    few.remove("--quiet")
    assert cli.run(few) == 0
    text = "target error not reached: the run has ended at its maximum length (2 of 2 replicas)"
    summary = summary_of(tmp_path)
    for each in summary["runs"]:
        assert text in each["warnings"] and each["target_reached"] is False
    assert all("target error not reached" in status for status in summary["status"])
    assert text in capfd.readouterr().out


def test_ions_end_at_a_target_error_also_after_a_kill(tmp_path):
    def command(name, *more):
        return [
            "electrolyte", "--ions", "40", "--valences", "1,-1", "--sweeps", "20000",
            "--replicas", "3", "--device", "cpu", "--target-error", "0.01", "--geometry",
            "periodic", "--quiet", "--threads", "1", "--output", str(tmp_path / name), *more,
        ]  # fmt: skip

    assert cli.run(command("whole")) == 0
    job = start([*COMMAND, *command("killed", "--checkpoint-every", "0.02")])
    until(lambda: (tmp_path / "killed" / "checkpoint-1.state").exists(), job, interval=0.005)
    job.kill()
    job.communicate()
    assert (
        cli.run(["electrolyte", "--resume", "--quiet", "--output", str(tmp_path / "killed")]) == 0
    )
    one, two = (summary_of(tmp_path / name) for name in ("whole", "killed"))
    assert one["target_reached"] and 100 < one["sweeps"] < 19_000
    assert [r["sweeps"] for r in one["replicas"]] == [r["sweeps"] for r in two["replicas"]]
    assert one["state_hash"] == two["state_hash"]
    assert one["energy_per_ion_error_kT"] < 0.015 * abs(one["energy_per_ion_kT"])


def test_the_points_of_an_isotherm_end_at_a_target_error(tmp_path):
    words = [
        "adsorption", "--isotherm", "0.01,0.02", "--systems", "64", "--steps", "40000",
        "--equilibrate", "1000", "--target-error", "0.05", "--device", "cpu", "--quiet",
    ]  # fmt: skip
    assert cli.run([*words, "--output", str(tmp_path / "whole")]) == 0
    job = start([*COMMAND, *words, "--checkpoint-every", "0.05", "--output", tmp_path / "killed"])
    second = tmp_path / "killed" / "pressure_0.02" / "checkpoint-0.state"
    until(second.exists, job, interval=0.005)
    job.kill()
    job.communicate()
    assert cli.run(["adsorption", "--resume", "--quiet", "--output", str(tmp_path / "killed")]) == 0
    one, two = (summary_of(tmp_path / name)["runs"] for name in ("whole", "killed"))
    for a, b in zip(one, two, strict=True):
        assert a["target_reached"] and 4000 <= a["steps"] < 40_000
        assert a["steps"] == b["steps"] and a["state_hash"] == b["state_hash"]
        assert a["loading_error_molecules"][0] <= 0.05 * a["loading_molecules"][0]


def test_a_run_without_a_target_error_has_none(tmp_path):
    words = ["disks", "--particles", "64", "--packing-fraction", "0.3", "--sweeps", "100"]
    assert cli.run([*words, "--device", "cpu", "--quiet", "--output", str(tmp_path)]) == 0
    assert FRESH.items() <= summary_of(tmp_path).items()


def test_few_systems_of_adsorbates_have_no_target_error(tmp_path, capsys):
    words = "adsorption --systems 9 --steps 100 --target-error 0.1 --device cpu --output"
    assert cli.run([*words.split(), str(tmp_path / "run")]) == 2
    assert "at least 10 systems in each part" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["disks", "spheres", "electrolyte", "adsorption"])
def test_a_wrong_target_error_is_refused(command, capfd):
    assert cli.run([command, "--target-error", "0"]) == 2
    assert "--target-error is 0.0; it must be positive" in capfd.readouterr().err
