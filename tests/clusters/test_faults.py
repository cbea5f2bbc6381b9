# SPDX-License-Identifier: BSD-3-Clause
"""What fails on a cluster is an error of all ranks soon, or the run continues; nothing hangs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cluster import Cluster, fixture_of, lammps_on, mpi_of
from commands import COMMAND, summary_of
from dpd_scripts import fluid, resident, system
from lammps_host import needs_lammps

LIMIT = 4  # seconds, MANYMOVE_TIMEOUT
SOON = 30  # seconds on a busy machine, below the default of 60
COMMON = "--device cpu --threads 1 --quiet --frames 1 --equilibrate 5".split()
COMMON += ["--checkpoint-every", "0.1"]
LONG = {
    "shared disks": "disks --particles 3000 --sweeps 100000000 --decompose",
    "replicas": "disks --particles 300 --sweeps 100000000 --replicas 4",
}
SHORT = {
    "shared disks": "disks --particles 3000 --sweeps 1000 --decompose",
    "replicas": "disks --particles 300 --sweeps 15000 --replicas 4",
}
# Ranks with replicas wait for each other when they have done their own.
UNTIL_THEY_WAIT = {"shared disks": LONG["shared disks"], "replicas": SHORT["replicas"]}
PYTHON = os.path.basename(sys.executable)

cluster = fixture_of(2)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The state at the end of a short job, on one process."""

    @cache
    def state_hash(kind: str) -> str:
        folder = tmp_path_factory.mktemp("undisturbed")
        words = [*COMMAND, *SHORT[kind].split(), *COMMON, "--output", str(folder)]
        subprocess.run(words, check=True, timeout=100)
        return summary_of(folder)["state_hash"]

    return state_hash


class Job:
    """A program with two ranks on each of two hosts."""

    def __init__(self, cluster: Cluster, words: list[str], environment: dict, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.process = cluster.start(words, environment, cwd=cluster.folder)

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def ranks(self) -> list[int]:
        """On both hosts."""
        return [pid for host in self.cluster.hosts for pid in host.processes(self.name)]

    def ends(self, seconds: float = LIMIT + SOON) -> str:
        """What it printed. The ranks end within so many seconds, and so does the launcher."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None or self.ranks():  # the launcher comes before the ranks
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        left = {pid: self.host_of(pid) for pid in self.ranks()}
        try:
            output = self.process.communicate(timeout=max(1, deadline - time.monotonic()))[0]
        except subprocess.TimeoutExpired:
            self.cluster.end()
            self.process.kill()
            output = self.process.communicate()[0]
            raise AssertionError(f"still there: {left}\n{output}") from None
        assert not left, output
        return output

    def host_of(self, pid: int) -> str:
        return next(h.name for h in self.cluster.hosts if pid in h.processes(self.name))


def command(cluster: Cluster, program: list[str], **environment: str) -> Job:
    limited = {"MANYMOVE_TIMEOUT": str(LIMIT), **environment}
    words, everything = mpi_of("MPICH").on(cluster, 2, **limited)
    return Job(cluster, [*words, *program], everything, PYTHON)


def disks(cluster: Cluster, kind: str, folder: Path, options: str, **environment: str) -> Job:
    """A command, once each replica has a checkpoint."""
    words = [*COMMAND, *options.split(), *COMMON, "--output", str(folder)]
    job = command(cluster, words, **environment)
    number = 1 if kind == "shared disks" else 4
    job.until(lambda: len(list(folder.glob("checkpoint-*.state"))) == number)
    return job


@pytest.mark.parametrize("kind", UNTIL_THEY_WAIT)
def test_a_cable_that_stays_disconnected(kind, cluster, tmp_path):
    job = disks(cluster, kind, tmp_path, UNTIL_THEY_WAIT[kind])
    cluster.hosts[1].plug(False)
    said = job.ends()
    assert job.process.returncode != 0
    assert f"ranks 2, 3 of 4 have been silent for {LIMIT} s (MANYMOVE_TIMEOUT)" in said


@pytest.mark.parametrize("kind", SHORT)
def test_a_cable_that_is_connected_again(kind, cluster, tmp_path, undisturbed):
    job = disks(cluster, kind, tmp_path, SHORT[kind], MANYMOVE_TIMEOUT="60")
    cluster.hosts[1].plug(False)
    time.sleep(2)
    cluster.hosts[1].plug(True)
    said = job.ends(240)
    assert job.process.returncode == 0, said
    assert summary_of(tmp_path)["state_hash"] == undisturbed(kind)


@pytest.mark.parametrize("kind", LONG)
def test_a_killed_rank(kind, cluster, tmp_path):
    job = disks(cluster, kind, tmp_path, LONG[kind])
    cluster.hosts[1].signal(signal.SIGKILL, PYTHON, last_only=True)
    job.ends()
    assert job.process.returncode != 0


@pytest.mark.parametrize("kind", UNTIL_THEY_WAIT)
def test_a_rank_that_stays_stopped(kind, cluster, tmp_path):
    job = disks(cluster, kind, tmp_path, UNTIL_THEY_WAIT[kind])
    cluster.hosts[1].signal(signal.SIGSTOP, PYTHON, last_only=True)
    said = job.ends()
    assert job.process.returncode != 0
    assert f"rank 3 of 4 has been silent for {LIMIT} s (MANYMOVE_TIMEOUT)" in said


@pytest.mark.parametrize("kind", SHORT)
def test_a_host_that_pauses(kind, cluster, tmp_path, undisturbed):
    """All its processes stop for less than the limit, as when it lacks memory."""
    job = disks(cluster, kind, tmp_path, SHORT[kind], MANYMOVE_TIMEOUT="60")
    cluster.hosts[1].signal(signal.SIGSTOP)
    time.sleep(3)
    cluster.hosts[1].signal(signal.SIGCONT)
    said = job.ends(240)
    assert job.process.returncode == 0, said
    assert summary_of(tmp_path)["state_hash"] == undisturbed(kind)


def test_a_host_that_stays_paused(cluster, tmp_path):
    """Processes of the other host end; its own end when it is woken."""
    job = disks(cluster, "shared disks", tmp_path, LONG["shared disks"])
    first, second = cluster.hosts
    second.signal(signal.SIGSTOP)
    first.gone(PYTHON, LIMIT + SOON)
    second.signal(signal.SIGCONT)
    said = job.ends()
    assert f"ranks 2, 3 of 4 have been silent for {LIMIT} s (MANYMOVE_TIMEOUT)" in said


def test_a_full_disk_on_one_host(cluster, tmp_path):
    cluster.hosts[1](f"mount -t tmpfs -o size=16k tmpfs {tmp_path}")
    words = [*COMMAND, *LONG["replicas"].split(), *COMMON, "--output", str(tmp_path)]
    job = command(cluster, words)
    said = job.ends()
    assert job.process.returncode != 0
    assert "manymove: error:" in said and "No space left on device" in said
    # The ranks of the other host have written their checkpoints.
    assert {f.name for f in tmp_path.glob("checkpoint-*.state")} == {
        "checkpoint-0.state",
        "checkpoint-1.state",
    }


def test_clocks_that_differ(cluster, tmp_path, undisturbed):
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("Debian's package faketime is not installed")
    words = [*COMMAND, *SHORT["shared disks"].split(), *COMMON, "--output", str(tmp_path)]
    on_second = f"LD_PRELOAD={found[0]} FAKETIME='-3 days' exec \"$@\""
    choice = f'test "$(hostname)" != node2 || {on_second}; exec "$@"'
    job = command(cluster, ["sh", "-c", choice, "sh", *words])
    said = job.ends(240)
    assert job.process.returncode == 0, said
    assert summary_of(tmp_path)["state_hash"] == undisturbed("shared disks")


# ---- LAMMPS --------------------------------------------------------------------------------------


def lammps(cluster: Cluster, more: str) -> Job:
    script = system("block 0 6 0 6 0 6", 648) + fluid("mixed") + more
    words, environment = lammps_on(cluster, 2, script, "log", MANYMOVE_TIMEOUT=str(LIMIT))
    job = Job(cluster, words, environment, "lmp")
    log = cluster.folder / "log"
    job.until(lambda: log.exists() and re.search("^ +100 ", log.read_text(), re.MULTILINE))
    return job


# Output after step 100 comes at step 100,000: until then LAMMPS makes no sums over the ranks, for
# which it waits without a limit.
RUN = (
    "variable s equal logfreq(100,1,1000000)\nthermo v_s\nthermo_modify flush yes\nrun 100000000\n"
)


@needs_lammps
def test_lammps_and_a_cable(cluster):
    job = lammps(cluster, resident("cpu") + RUN)
    cluster.hosts[1].plug(False)
    said = job.ends()
    assert job.process.returncode != 0
    assert f"ranks 2, 3 of 4 have been silent for {LIMIT} s (MANYMOVE_TIMEOUT)" in said


@needs_lammps
def test_lammps_and_a_paused_host(cluster):
    job = lammps(cluster, resident("cpu") + RUN)
    first, second = cluster.hosts
    second.signal(signal.SIGSTOP)
    first.gone("lmp", LIMIT + SOON)
    second.signal(signal.SIGCONT)
    assert f"ranks 2, 3 of 4 have been silent for {LIMIT} s (MANYMOVE_TIMEOUT)" in job.ends()


@needs_lammps
@pytest.mark.parametrize("style", ["", resident("cpu")], ids=["verlet", "manymove"])
def test_lammps_and_a_killed_rank(style, cluster):
    job = lammps(cluster, style + RUN)
    cluster.hosts[1].signal(signal.SIGKILL, "lmp", last_only=True)
    job.ends()
    assert job.process.returncode != 0


# ---- the waits of LAMMPS itself ------------------------------------------------------------------

OFTEN = """
thermo 1
thermo_modify flush yes
run 100000000
"""


@needs_lammps
def test_lammps_waits_for_a_host_that_is_disconnected(cluster):
    job = lammps(cluster, OFTEN)
    cluster.hosts[1].plug(False)
    said = job.ends(LIMIT + SOON)
    assert job.process.returncode != 0
    assert re.search(r"rank 0 \(node1\) has waited in MPI_\w+ and not heard of rank 2", said), said


@needs_lammps
def test_lammps_waits_for_a_rank_that_is_stopped(cluster):
    job = lammps(cluster, OFTEN)
    cluster.hosts[1].signal(signal.SIGSTOP, "lmp", last_only=True)
    said = job.ends(LIMIT + SOON)
    assert re.search(r"has waited in MPI_\w+ and not heard of rank 3 \(node2\)", said), said


@needs_lammps
def test_lammps_that_is_suspended_as_a_whole_continues(cluster):
    job = lammps(cluster, OFTEN.replace("100000000", "150"))
    for number, seconds in ((signal.SIGSTOP, 2 * LIMIT + 2), (signal.SIGCONT, 0)):
        for where in cluster.hosts:
            where.signal(number)
        time.sleep(seconds)
    said = job.ends(240)
    assert job.process.returncode == 0, said
