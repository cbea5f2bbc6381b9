# SPDX-License-Identifier: BSD-3-Clause
"""Two processes never write into one output folder, and a lock ends with its process."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time

import pytest
from commands import COMMAND, MPIEXEC, SMALL, summary_of
from lammps_host import needs_lammps
from processes import SOON, run, start, until

from manymove import cli
from manymove.jobs import folder_lock

COMMANDS = [pytest.param(name, marks=needs_lammps if name == "dpd" else ()) for name in SMALL]
HOLD = """
import os, subprocess, sys, time
from pathlib import Path
from manymove.jobs import folder_lock
folder_lock.hold(Path(sys.argv[1]))
if "fork" in sys.argv and os.fork() == 0:
    time.sleep(100)
if "program" in sys.argv:
    with folder_lock.shared() as locks:
        subprocess.Popen(["sleep", "100"], pass_fds=locks, preexec_fn=lambda: None)
print("held", flush=True)
time.sleep(100)
"""


@pytest.fixture(autouse=True)
def released():
    yield
    folder_lock.release()


@pytest.fixture
def holder(tmp_path):
    """A process that holds the folder."""
    process = hold(tmp_path)
    yield process
    process.kill()
    process.communicate()


def hold(folder, *more):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder, *more], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout.readline() == b"held\n"
    return process


def refusal(folder, pid, host=None):
    return f"{folder} is in use by process {pid} on {host or platform.node()} (since 2"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_touches_the_folder_of_another_process(name, tmp_path, holder, capfd):
    for file in ("summary.json", "checkpoint-0.state"):
        (tmp_path / file).write_text("of the other one")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    words = [name, *SMALL[name].split(), "--device", "cpu", "--quiet", "--output", str(tmp_path)]
    for more in ([], ["--overwrite"]):
        assert cli.run([*words, *more]) == 2
        error = capfd.readouterr().err
        assert error.count("\n") == 1 and refusal(tmp_path, holder.pid) in error
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_overwrite_keeps_the_point_of_a_running_job(tmp_path, capfd):
    """An equation of state does not remove the folder of one of its points while that runs."""
    point = tmp_path / "packing_fraction_0.5"
    holder = hold(point)
    (point / "summary.json").write_text("of the other one")
    words = ["disks", "--equation-of-state", "--packing-fractions", "0.5", "--particles", "64"]
    assert cli.run([*words, "--device", "cpu", "--overwrite", "--output", str(tmp_path)]) == 2
    assert refusal(point, holder.pid) in capfd.readouterr().err
    assert (point / "summary.json").read_text() == "of the other one"
    holder.kill()
    holder.communicate()


def test_a_killed_run_is_resumed_at_once_and_only_once(tmp_path, capfd):
    words = ["disks", "--particles", "64", "--sweeps", "100000000", "--device", "cpu"]
    words += ["--equilibrate", "1", "--quiet", "--checkpoint-every", "0.05"]
    first = start([*COMMAND, *words, "--output", tmp_path])
    saved = set()  # the second file is of the run, also if the first one is of the equilibration

    def has_saved_twice() -> bool:
        saved.update(file.stat().st_mtime_ns for file in tmp_path.glob("checkpoint-0.state"))
        return len(saved) > 1

    until(has_saved_twice, first)
    resume = ["disks", "--resume", "--quiet", "--output", str(tmp_path)]
    assert cli.run(resume) == 2
    assert refusal(tmp_path, first.pid) in capfd.readouterr().err
    first.kill()
    first.wait()
    (tmp_path / "checkpoint-0.state.0123456789abcdef.partial").write_bytes(b"cut by the kill")
    second = start([*COMMAND, *resume])
    lock = tmp_path / folder_lock.LOCK_FILE
    until(lambda: json.loads(lock.read_text() or "{}").get("pid") == second.pid, second)
    assert cli.run(resume) == 2
    assert refusal(tmp_path, second.pid) in capfd.readouterr().err
    saved.clear()  # the killed run has left the first file
    until(has_saved_twice, second)
    second.send_signal(signal.SIGTERM)
    second.communicate()
    assert summary_of(tmp_path)["sweeps"] > 0
    assert not [p.name for p in tmp_path.iterdir() if p.suffix in (".partial", ".lock")]


def test_the_lock_of_a_killed_process_is_not_held_by_its_children(tmp_path):
    holder = hold(tmp_path, "fork")
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    began = time.monotonic()
    folder_lock.hold(tmp_path)
    assert time.monotonic() - began < SOON
    os.killpg(holder.pid, signal.SIGKILL)  # the child


def test_a_program_of_a_killed_process_keeps_the_folder_until_it_ends(tmp_path, monkeypatch):
    holder = hold(tmp_path, "program")
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    with monkeypatch.context() as patch:
        patch.setattr(folder_lock, "_ENDING", 0.1)
        with pytest.raises(OSError, match=f"in use by process {holder.pid}"):
            folder_lock.hold(tmp_path)
    threading.Timer(0.3, os.killpg, (holder.pid, signal.SIGKILL)).start()
    folder_lock.hold(tmp_path)


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
def test_all_ranks_end_with_the_error_of_the_first(tmp_path, holder):
    pytest.importorskip("mpi4py")
    words = ["disks", "--particles", "64", "--sweeps", "2", "--device", "cpu", "--overwrite"]
    done = run([MPIEXEC, "-n", 2, *COMMAND, *words, "--output", tmp_path])
    assert done.returncode == 2
    assert done.stderr.count(refusal(tmp_path, holder.pid)) == 1


@pytest.fixture(params=["another host", "a file system without locks"])
def far(request, tmp_path, monkeypatch):
    """A lock about which the kernel says nothing: its file."""
    machine = folder_lock._machine()
    if request.param == "another host":
        machine = "another"
    else:

        def flock(*_):
            raise OSError(errno.ENOLCK, "no locks")

        monkeypatch.setattr(fcntl, "flock", flock)
    path = tmp_path / folder_lock.LOCK_FILE
    told = {"host": "node7", "pid": 42, "since": "2026-01-01 00:00:00", "machine": machine}
    path.write_text(json.dumps(told))
    return path


def test_a_lock_from_elsewhere_counts_while_its_time_advances(far, tmp_path, monkeypatch, capfd):
    stop = threading.Event()

    def beat():
        while not stop.wait(0.1):
            os.utime(far)

    monkeypatch.setattr(folder_lock, "_PAUSE", 0.05)
    thread = threading.Thread(target=beat)
    thread.start()
    with pytest.raises(OSError, match="in use by process 42 on node7"):
        folder_lock.hold(tmp_path)
    stop.set()
    thread.join()
    monkeypatch.setattr(folder_lock, "_SILENT", 0.3)
    monkeypatch.setattr(folder_lock, "_SILENT_WAIT", 0.1)
    folder_lock.hold(tmp_path)
    assert json.loads(far.read_text())["pid"] == os.getpid()
    said = capfd.readouterr().err
    assert said.count("was in use by process") == 1 and said.count("\n") == 1
    assert "waiting up to 0.3 s to see whether this process has ended" in said


def test_a_lock_from_elsewhere_that_is_old_yields_at_once(far, tmp_path):
    os.utime(far, (time.time() - 61,) * 2)
    began = time.monotonic()
    folder_lock.hold(tmp_path)
    assert time.monotonic() - began < SOON


def test_the_holder_sets_the_time_of_its_lock(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_lock, "_BEAT", 0.02)
    folder_lock.hold(tmp_path)
    path = tmp_path / folder_lock.LOCK_FILE
    first = path.stat().st_mtime_ns
    deadline = time.monotonic() + 10
    while path.stat().st_mtime_ns == first:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_released_folder_has_no_traces(tmp_path):
    folder_lock.hold(tmp_path / "a" / "b")
    (tmp_path / "c").mkdir()
    folder_lock.hold(tmp_path / "c")
    folder_lock.release()
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert not any((tmp_path / "c").iterdir())


def test_the_words_of_a_lock_do_not_control_the_terminal(tmp_path, holder):
    told = {"host": "\x1b[2J", "pid": "1\n2", "since": "now"}
    (tmp_path / folder_lock.LOCK_FILE).write_text(json.dumps(told))
    with pytest.raises(OSError, match="is in use by process") as caught:
        folder_lock.hold(tmp_path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", ["", "[" * 4000, "damaged"])
def test_a_lock_whose_words_are_lost_still_counts(text, tmp_path, holder, monkeypatch):
    (tmp_path / folder_lock.LOCK_FILE).write_text(text)
    monkeypatch.setattr(folder_lock, "_ENDING", 0.1)
    with pytest.raises(OSError, match="is in use by a process: wait until it ends"):
        folder_lock.hold(tmp_path)


def test_a_planted_link_is_not_followed(tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / folder_lock.LOCK_FILE).symlink_to(tmp_path / "victim")
    with pytest.raises(OSError, match=folder_lock.LOCK_FILE):
        folder_lock.hold(tmp_path)
    assert (tmp_path / "victim").read_text() == "mine"


def test_a_full_disk_is_named_by_its_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*manymove\.lock'"):
        folder_lock.hold(tmp_path)
