"""A rank that dies or fails ends the whole job within a minute, and others can go on.

Disks that ranks share are in test_harddisk_ranks.py.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from dpd_decks import fluid, resident, system
from lammps_host import needs_lammps

from manymove.lammps import host

LONG = {
    "disks": "--particles 300 --sweeps 100000000 --equilibrate 5 --frames 1",
    "electrolyte": "--ions 64 --debye-length 28.53 --sweeps 5000000 --equilibrate 5",
    "adsorption": "--molecules 2 --systems 4 --steps 50000000 --equilibrate 5 --grid-spacing 0.5 "
    "--method pmc",
}
SHORT = {
    "disks": "--particles 300 --sweeps 400 --equilibrate 5 --frames 1 --replicas 2",
    "electrolyte": "--ions 64 --debye-length 28.53 --sweeps 60 --equilibrate 5 --replicas 2 "
    "--precision double",
    "adsorption": "--molecules 2 --systems 5 --steps 600 --equilibrate 50 --grid-spacing 0.5 "
    "--method pmc",
}
WAIT = 60  # seconds


def arguments(command: str, options: str, folder: Path) -> list[str]:
    return [command, *options.split(), "--device", "cpu", "--threads", "1", "--quiet",
            "--output", str(folder)]  # fmt: skip


def start(launcher: list[str], words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*launcher, *words],
        env=CLEAN,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ranks_of(launcher: int, name: bytes) -> list[int]:
    """The processes of a job: those of this name below the launcher, in the order of their start,
    without what they have started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            parents[int(entry.name)] = (int(fields[1]), words[0].endswith(name))

    def below(pid: int) -> bool:
        while pid in parents and pid != launcher:
            pid = parents[pid][0]
        return pid == launcher

    return sorted(pid for pid, (_, named) in parents.items() if named and below(pid))


def until(condition, job: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert job.poll() is None, job.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ends(job: subprocess.Popen[str]) -> str:
    """What it said; it ends in time and with an error."""
    began = time.monotonic()
    try:
        said, _ = job.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired:
        job.kill()
        raise
    assert time.monotonic() - began < WAIT
    assert job.returncode != 0
    return said


@pytest.fixture
def mpiexec() -> list[str]:
    pytest.importorskip("mpi4py")
    return [MPIEXEC or pytest.skip("no mpiexec"), "-n", "2"]


@pytest.mark.parametrize("command", LONG)
def test_a_killed_rank_ends_the_job(command, mpiexec, tmp_path):
    words = [*arguments(command, LONG[command], tmp_path), "--checkpoint-every", "0.1"]
    job = start(mpiexec, [*COMMAND, *words])
    until(lambda: len(list(tmp_path.glob("checkpoint-*.state"))) == 2, job)
    os.kill(ranks_of(job.pid, os.path.basename(sys.executable).encode())[-1], signal.SIGKILL)
    ends(job)


@needs_lammps
@pytest.mark.parametrize("more", ["", resident("cpu")], ids=["pair style", "resident"])
def test_a_killed_rank_ends_lammps(more, tmp_path):
    deck = system("block 0 6 0 6 0 6", 600) + fluid("mixed") + more
    deck += "thermo 1\nthermo_modify flush yes\nrun 1000000\n"
    (tmp_path / "in").write_text(deck)
    log = tmp_path / "log"
    *launcher, lmp = host.command(2)
    job = subprocess.Popen(
        [*launcher, lmp, "-in", str(tmp_path / "in"), "-log", str(log), "-nocite"],
        env=host.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    until(lambda: log.exists() and re.search(r"^ +5 ", log.read_text(), re.MULTILINE), job)
    os.kill(ranks_of(job.pid, b"lmp")[-1], signal.SIGKILL)
    ends(job)


@pytest.mark.parametrize("command", LONG)
def test_an_error_on_one_rank_ends_the_others_soon(command, mpiexec, tmp_path):
    """Not only when they have done their own, which is long here."""
    (tmp_path / "checkpoint-1.state").mkdir()  # rank 1 cannot write there
    words = [*arguments(command, LONG[command], tmp_path), "--checkpoint-every", "0.1"]
    said = ends(start(mpiexec, [*COMMAND, *words]))
    assert "manymove: error:" in said and "checkpoint-1" in said
    assert (tmp_path / "checkpoint-0.state").is_file()


@pytest.mark.parametrize("command", SHORT)
def test_checkpoints_of_two_ranks_go_on_in_one_process(command, mpiexec, tmp_path):
    options = SHORT[command]

    def run(folder: str, launcher: list[str], options: str) -> dict:
        words = [*COMMAND, *arguments(command, options, tmp_path / folder)]
        done = subprocess.run(
            [*launcher, *words], env=CLEAN, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stderr
        return summary_of(tmp_path / folder)

    whole = run("whole", mpiexec, options)
    for more in ("400", "60", "600"):
        options = options.replace(f"s {more} ", f"s {int(more) // 2} ", 1)
    run("cut", mpiexec, options)
    resumed = run("cut", [], f"{SHORT[command]} --resume")
    assert (whole["ranks"], resumed["ranks"]) == (2, 1)
    for key in {"state_hash", "pressure", "energy_per_ion_kT", "energy_K"} & whole.keys():
        expected = whole[key]
        if isinstance(expected, float):
            expected = pytest.approx(expected, rel=1e-12)
        assert resumed[key] == expected
