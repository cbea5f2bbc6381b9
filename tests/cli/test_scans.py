"""The points of a scan and their replicas run at the same time: each is its run alone, also if the
scan is killed or stopped and resumed, and on several ranks."""

from __future__ import annotations

import json
import signal
import threading
import time
from pathlib import Path

import gsd.hoomd
import numpy as np
import pytest
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from processes import LIMITED, SOON, Job, on_ranks, run, start, until

from manymove import cli
from manymove.hard_particles import job
from manymove.hard_particles.job import run_equation_of_state
from manymove.hard_particles.replica import Replica
from manymove.hard_particles.settings import DiskSettings
from manymove.jobs import limits
from manymove.jobs.progress import MovesBar
from manymove.jobs.world import World

POINTS = {"disks": ("0.5", "0.6", "0.65"), "spheres": ("0.2", "0.3", "0.4")}
OF_A_SESSION = {
    "seconds", "trial_moves_per_second", "threads", "device_name", "date", "ranks"
}  # fmt: skip
needs_ranks = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")


def words(command: str, folder: Path, sweeps: int = 200, particles: int = 150) -> list[str]:
    return [
        command, "--particles", str(particles), "--sweeps", str(sweeps), "--equilibrate", "20",
        "--frames", "3", "--device", "cpu", "--quiet", "--output", str(folder),
    ]  # fmt: skip


def scan(command: str) -> list[str]:
    return ["--equation-of-state", "--packing-fractions", ",".join(POINTS[command])]


def content(folder: Path) -> dict:
    """The results of one run without what depends on the session."""
    of_files = {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.suffix in (".csv", ".gsd", ".state", ".records")
    }
    summary = summary_of(folder)
    return of_files | {key: v for key, v in summary.items() if key not in OF_A_SESSION}


def same_points(one: Path, other: Path) -> None:
    """Whether two scans have the same trajectories and pressures."""
    scans = [summary_of(folder) for folder in (one, other)]
    for a, b in zip(*(each["runs"] for each in scans), strict=True):
        for key in ("packing_fraction", "state_hash", "sweeps", "trial_moves", "accepted_moves"):
            assert a[key] == b[key], key
        hashes = [[r["state_hash"] for r in each["replicas"]] for each in (a, b)]
        assert hashes[0] == hashes[1] and None not in hashes[0]
        assert a["pressure"] == b["pressure"]
    for point in POINTS["disks"]:
        for name in ("trajectory.gsd", "trajectory-1.gsd"):
            steps = [
                gsd.hoomd.open(folder / f"packing_fraction_{point}" / name)
                for folder in (one, other)
            ]
            for a, b in zip(*steps, strict=True):
                assert a.configuration.step == b.configuration.step
                np.testing.assert_array_equal(a.particles.position, b.particles.position)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    options = [*words("disks", folder, 20_000), *scan("disks"), "--replicas", "2"]
    assert cli.run([*options, "--threads", "2"]) == 0
    return folder


@pytest.mark.parametrize("threads", [1, 3, 8])
@pytest.mark.parametrize("command", POINTS)
def test_each_point_of_a_scan_is_its_run_alone(command, threads, tmp_path):
    more = ["--replicas", "2", "--threads", str(threads)]
    assert cli.run([*words(command, tmp_path / "scan"), *scan(command), *more]) == 0
    for point in POINTS[command]:
        alone = [*words(command, tmp_path / point), "--packing-fraction", point]
        assert cli.run([*alone, "--replicas", "2", "--threads", "1"]) == 0
        of_scan = content(tmp_path / "scan" / f"packing_fraction_{point}")
        assert of_scan == content(tmp_path / point)
    hashes = {run["state_hash"] for run in summary_of(tmp_path / "scan")["runs"]}
    assert len(hashes) == len(POINTS[command])


def test_the_files_of_a_point_are_written_when_it_has_ended(tmp_path, monkeypatch):
    course, waited = Replica._course, []

    def wait(self, engine):
        if self._settings.packing_fraction == 0.65:
            first = tmp_path / "packing_fraction_0.5"
            end = time.monotonic() + SOON
            while not all((first / n).exists() for n in ("summary.json", "pressure.csv")):
                assert time.monotonic() < end
                time.sleep(0.01)
            waited.append(self._index)
        course(self, engine)

    monkeypatch.setattr(Replica, "_course", wait)
    more = ["--replicas", "2", "--threads", "2"]
    assert cli.run([*words("disks", tmp_path), *scan("disks"), *more]) == 0
    assert sorted(waited) == [0, 1]


@pytest.mark.parametrize("large", [False, True])
def test_systems_that_may_not_fit_into_memory_together_run_in_turn(large, tmp_path, monkeypatch):
    course, lock, now, most = Replica._course, threading.Lock(), 0, 0

    def count(self, engine):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        course(self, engine)
        time.sleep(0.1)
        with lock:
            now -= 1

    monkeypatch.setattr(Replica, "_course", count)
    points = [
        DiskSettings(
            particles=100, packing_fraction=phi, replicas=2, sweeps=50, device="cpu", threads=4,
            quiet=True, output=tmp_path / str(phi), equilibrate=0,
        )
        for phi in (0.4, 0.5)
    ]  # fmt: skip
    if large:
        memory = 15 * points[0].memory
        monkeypatch.setattr(limits, "memory_of_this_machine", lambda: memory)
    _, complete = run_equation_of_state(points, tmp_path, World())
    assert complete and (most == 1 if large else most > 1)


def states(folder: Path) -> list[Path]:
    return [*folder.glob("packing_fraction_*/checkpoint-*.state")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_scan_that_is_ended_twice_continues_every_point(number, whole, tmp_path):
    """When it is ended first, some of its points have not begun."""
    begin = [*words("disks", tmp_path, 20_000), *scan("disks"), "--replicas", "2"]
    command = [*begin, "--threads", "2", "--checkpoint-every", "0.02"]
    resume = ["disks", "--resume", "--quiet", "--output", str(tmp_path)]
    for count in (1, 3):
        job = start([*COMMAND, *command])
        until(lambda: len(states(tmp_path)) >= count, job, interval=0.005)  # noqa: B023
        job.send_signal(number)
        job.communicate(timeout=SOON)
        assert job.returncode == (130 if number == signal.SIGINT else -number)
        assert len(states(tmp_path)) < 6
        command = [*resume, "--threads", "2"]
    if number == signal.SIGINT:
        runs = summary_of(tmp_path)["runs"]
        assert not runs[-1]["complete"] and runs[-1]["state_hash"] is None
    assert cli.run([*resume, "--threads", "3"]) == 0
    same_points(whole, tmp_path)
    assert summary_of(tmp_path)["complete"]


def test_ctrl_c_stops_all_running_points_with_checkpoints(tmp_path):
    begin = [*words("disks", tmp_path, 10**8), *scan("disks"), "--threads", "3"]
    job = start([*COMMAND, *begin])
    files = [tmp_path / f"packing_fraction_{point}" for point in POINTS["disks"]]
    until(lambda: all((f / "trajectory.gsd").exists() for f in files), job)
    assert states(tmp_path) == []
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=SOON)
    assert job.returncode == 130 and len(states(tmp_path)) == 3
    runs = summary_of(tmp_path)["runs"]
    assert all(r["state_hash"] and r["sweeps"] > 0 and not r["complete"] for r in runs)


def test_replicas_that_waited_when_a_run_was_stopped_begin_when_it_is_resumed(tmp_path):
    folders = [tmp_path / name for name in ("stopped", "not")]
    alone = ["--packing-fraction", "0.5", "--replicas", "4", "--threads", "1"]
    job = start([*COMMAND, *words("disks", folders[0], 20_000), *alone])
    until(lambda: (folders[0] / "trajectory.gsd").exists(), job)
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=SOON)
    assert [r["state_hash"] is None for r in summary_of(folders[0])["replicas"]][1:] == [True] * 3
    assert cli.run(["disks", "--resume", "--quiet", "--output", str(folders[0])]) == 0
    assert cli.run([*words("disks", folders[1], 20_000), *alone]) == 0
    assert summary_of(folders[0])["state_hash"] == summary_of(folders[1])["state_hash"]


def test_an_error_of_one_point_is_named_and_stops_the_others(tmp_path, monkeypatch, capfd):
    course, running = Replica._course, threading.Barrier(4, timeout=SOON)

    def fail(self, engine):
        running.wait()
        if (self._settings.packing_fraction, self._index) == (0.6, 1):
            raise OSError("the disk is full")
        course(self, engine)

    monkeypatch.setattr(Replica, "_course", fail)
    begin = [*words("disks", tmp_path, 10**8), *scan("disks"), "--replicas", "2"]
    assert cli.run([*begin, "--threads", "4"]) == 2
    error = capfd.readouterr().err
    assert error == "manymove: error: packing_fraction_0.6, replica 1: the disk is full\n"
    assert len(states(tmp_path)) == 3


def test_an_interrupt_of_one_replica_keeps_the_places_of_all_results(tmp_path, monkeypatch):
    course = Replica._course

    def interrupt(self, engine):
        if self._settings.packing_fraction == 0.6:
            engine.run(20)
            raise KeyboardInterrupt
        course(self, engine)

    monkeypatch.setattr(Replica, "_course", interrupt)
    assert cli.run([*words("disks", tmp_path), *scan("disks"), "--threads", "1"]) == 130
    runs = summary_of(tmp_path)["runs"]
    assert [f"{r['packing_fraction']:g}" for r in runs] == [*POINTS["disks"]]
    assert [r["complete"] for r in runs] == [True, False, False]
    assert [r["state_hash"] is None for r in runs] == [False, False, True]
    assert len(states(tmp_path)) == 2


def test_a_stopped_scan_in_turn_leaves_later_points_as_they_were(tmp_path, monkeypatch):
    """The second run is stopped in its first point."""
    monkeypatch.setattr(limits, "memory_of_this_machine", lambda: 1e5)
    assert cli.run([*words("disks", tmp_path), *scan("disks"), "--threads", "2"]) == 0
    later = [
        path
        for point in POINTS["disks"][1:]
        for path in (tmp_path / f"packing_fraction_{point}").iterdir()
        if not path.name.startswith(".")
    ]
    before = [(path.stat().st_mtime_ns, path.read_bytes()) for path in later]
    whole = summary_of(tmp_path)

    def stop(self, engine):
        self._stop.request()
        self._check_stop()

    course = Replica._course
    monkeypatch.setattr(Replica, "_course", stop)
    resume = ["disks", "--resume", "--quiet", "--output", str(tmp_path), "--sweeps"]
    assert cli.run([*resume, "300"]) == 130
    assert [(path.stat().st_mtime_ns, path.read_bytes()) for path in later] == before
    runs = summary_of(tmp_path)["runs"]
    assert [r["complete"] for r in runs] == [False] * 3
    for key in ("state_hash", "pressure", "sweeps"):
        assert [r[key] for r in runs[1:]] == [r[key] for r in whole["runs"][1:]]
    monkeypatch.setattr(Replica, "_course", course)
    assert cli.run([*resume, "300"]) == 0
    assert cli.run([*words("disks", tmp_path / "longer", 300), *scan("disks")]) == 0
    hashes = [
        [r["state_hash"] for r in summary_of(f)["runs"]] for f in (tmp_path, tmp_path / "longer")
    ]
    assert hashes[0] == hashes[1]


def test_pictures_of_a_point_do_not_hold_up_progress(tmp_path, monkeypatch):
    drawing, shown = threading.Event(), threading.Event()
    show, course = MovesBar.show, Replica._course

    def draw(settings, measured):
        if settings.packing_fraction == 0.5:
            drawing.set()
            assert shown.wait(SOON)

    def count(self, moves):
        if drawing.is_set():
            shown.set()
        show(self, moves)

    def wait(self, engine):  # so that other points run when the first one is drawn
        if self._settings.packing_fraction == 0.65:
            assert shown.wait(SOON)
        course(self, engine)

    monkeypatch.setattr(job, "_write_pictures", draw)
    monkeypatch.setattr(MovesBar, "show", count)
    monkeypatch.setattr(Replica, "_course", wait)
    assert cli.run([*words("disks", tmp_path), *scan("disks"), "--threads", "2"]) == 0


def test_an_error_of_a_picture_ends_the_scan(tmp_path, monkeypatch, capfd):
    def draw(settings, measured):
        raise OSError("no space for pictures")

    monkeypatch.setattr(job, "_write_pictures", draw)
    assert cli.run([*words("disks", tmp_path), *scan("disks"), "--threads", "2"]) == 2
    assert "no space for pictures" in capfd.readouterr().err


@needs_ranks
def test_two_ranks_share_a_scan(whole, tmp_path):
    pytest.importorskip("mpi4py")
    begin = [*words("disks", tmp_path, 20_000), *scan("disks"), "--replicas", "2"]
    end = run([*on_ranks(2), *COMMAND, *begin, "--threads", "2"])
    assert end.returncode == 0, end.stderr
    same_points(whole, tmp_path)
    assert {each["ranks"] for each in summary_of(tmp_path)["runs"]} == {2}


@needs_ranks
def test_a_scan_of_two_ranks_that_is_killed_continues_on_one(whole, tmp_path):
    pytest.importorskip("mpi4py")
    begin = [*words("disks", tmp_path, 20_000), *scan("disks"), "--replicas", "2"]
    command = [*on_ranks(2), *COMMAND, *begin, "--threads", "2", "--checkpoint-every", "0.02"]
    job = Job(command, env={**CLEAN, **LIMITED})
    job.until(lambda: len(states(tmp_path)) >= 2)
    job.send(signal.SIGKILL, last_only=True)
    job.failure()
    assert cli.run(["disks", "--resume", "--quiet", "--output", str(tmp_path)]) == 0
    same_points(whole, tmp_path)


@needs_ranks
def test_ranks_that_divide_each_system_make_the_points_in_turn(tmp_path):
    pytest.importorskip("mpi4py")
    begin = words("disks", tmp_path / "divided", 200, 3000)
    end = run([*on_ranks(2), *COMMAND, *begin, *scan("disks"), "--decompose", "--threads", "1"])
    assert end.returncode == 0, end.stderr
    assert cli.run([*words("disks", tmp_path / "one", 200, 3000), *scan("disks")]) == 0
    hashes = [
        [
            each["state_hash"]
            for each in json.loads((tmp_path / f / "summary.json").read_text())["runs"]
        ]
        for f in ("divided", "one")
    ]
    assert hashes[0] == hashes[1] and len({*hashes[0]}) == 3
