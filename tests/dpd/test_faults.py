"""Faults of GPUs and silent ranks under `run_style manymove/verlet` end the run with an error.

Two ranks share one GPU, or have one each where there are two.
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
from documents import SUPPORT
from dpd_decks import END, fluid, resident, state, system
from lammps_host import Run, needs_lammps, run_lammps
from processes import ranks_of

from manymove import _core
from manymove.lammps import host

pytestmark = needs_lammps

PROGRAM = SUPPORT / "dpd_fault_program.py"
TIMEOUT = 8  # seconds, MANYMOVE_TIMEOUT: more than a busy GPU takes to start
TRANSPORTS = ["host", "shared", "peer"]


@pytest.fixture(params=[pytest.param(n, marks=pytest.mark.gpu, id=f"GPUs: {n}") for n in (1, 2)])
def gpus(request: pytest.FixtureRequest) -> dict[str, str]:
    """Environment variables with which LAMMPS sees this number of GPUs."""
    if len(_core.cuda_devices()) < request.param:
        pytest.skip(f"fewer than {request.param} CUDA devices")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1").split(",")
    return {"CUDA_VISIBLE_DEVICES": ",".join(visible[: request.param])}


def deck(ranks: int, transport: str, atoms: int = 3000, width: float = 10) -> str:
    way = f"transport {transport}" if ranks > 1 else ""
    box = f"block 0 {width} 0 {width} 0 {width}"
    return system(box, atoms) + fluid("mixed") + resident("cuda", way)


def faults(
    text: str, fault: str, rank: int, ranks: int, gpus: dict[str, str], folder: Path
) -> dict[int, tuple[float, str]]:
    """Seconds until the error and the error, by rank."""
    (folder / "in").write_text(text)
    launcher = host.command(ranks)[:-1]
    done = subprocess.run(
        [*launcher, sys.executable, PROGRAM, folder / "in", fault, str(rank), "1000000000"],
        env={**host.environment(), **gpus},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0, done.stdout
    said = re.findall(r"rank (\d+) after ([\d.]+) s: (.*)", done.stdout)
    assert len(said) == ranks, done.stdout
    return {int(r): (float(seconds), error) for r, seconds, error in said}


@pytest.mark.gpu
@pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")
def test_a_fault_of_the_gpu_ends_a_run(tmp_path):
    ((seconds, error),) = faults(deck(1, ""), "trap", 0, 1, {}, tmp_path).values()
    assert seconds < 10
    assert re.search("CUDA: .*unspecified launch failure", error), error


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_fault_of_one_gpu_is_told_by_every_rank(transport, rank, gpus, tmp_path):
    # Where two ranks share a GPU, the fault of one process may end the other's context as well.
    errors = faults(deck(2, transport), "trap", rank, 2, gpus, tmp_path)
    assert max(seconds for seconds, _ in errors.values()) < 15
    assert len({error for _, error in errors.values()}) == 1, errors
    error = errors[0][1]
    assert re.search(r"rank \d of 2: CUDA: ", error), error
    if gpus["CUDA_VISIBLE_DEVICES"].count(","):
        assert f"rank {rank} of 2: CUDA: " in error


@pytest.mark.whole_gpu
def test_memory_that_one_rank_lacks_is_an_error_of_all(gpus, tmp_path):
    text = deck(2, "auto", atoms=400_000, width=51)
    errors = faults(text, "full", 1, 2, gpus, tmp_path)
    (error,) = {error for _, error in errors.values()}
    assert re.search("out of memory|has no .* MB left", error), error


def test_a_particle_that_one_rank_refuses_is_an_error_of_all(device, tmp_path):
    text = system() + fluid() + "variable most atom 1e308*10\nset atom 7 vx v_most\n"
    run = run_lammps(text + resident(device) + "run 4\n", tmp_path, ranks=2, fails=True)
    assert re.search(r"ERROR: Run style manymove/verlet on .*: particle 7 at ", run.output)
    assert "ERROR on proc" not in run.output


# ---- silence and suspension ----


class Job:
    """LAMMPS on two ranks, and its log as it grows."""

    def __init__(self, text: str, gpus: dict[str, str], folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.log = folder / "log"
        (folder / "in").write_text(text)
        self.process = subprocess.Popen(
            [*host.command(2), "-in", "in", "-log", "log", "-nocite"],
            cwd=folder,
            env={**host.environment(), **gpus, "MANYMOVE_TIMEOUT": str(TIMEOUT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def until_it_runs(self) -> list[int]:
        """Returns the processes of the ranks."""
        deadline = time.monotonic() + 60
        while not (self.log.exists() and re.search(r"^ +200 ", self.log.read_text(), re.MULTILINE)):
            assert self.process.poll() is None, self.process.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return ranks_of(self.process.pid, b"lmp")

    def is_done(self) -> bool:
        return "Loop time" in self.log.read_text()


def long_deck(transport: str, steps: int) -> str:
    text = deck(2, transport) + "thermo 50\nthermo_modify flush yes\n"
    return f"{text}run {steps}\n{END}"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_rank_that_is_stopped_is_named(transport, gpus, tmp_path):
    job = Job(long_deck(transport, 100_000_000), gpus, tmp_path / "job")
    ranks = job.until_it_runs()
    os.kill(ranks[1], signal.SIGSTOP)
    try:
        said, _ = job.process.communicate(timeout=60)
    finally:
        job.process.kill()
        for pid in ranks:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    assert job.process.returncode != 0
    silent = rf"rank [01] of 2 has been silent for {TIMEOUT} s \(MANYMOVE_TIMEOUT\)"
    assert re.search(silent, said), said


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_job_that_is_stopped_for_longer_than_the_limit_goes_on(transport, gpus, tmp_path):
    shared = "," not in gpus["CUDA_VISIBLE_DEVICES"] and transport != "host"
    text = long_deck(transport, 2000 if shared else 20_000)  # ranks that share a GPU take turns
    stopped, whole = (Job(text, gpus, tmp_path / name) for name in ("stopped", "whole"))
    ranks = stopped.until_it_runs()
    for pid in ranks:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3 * TIMEOUT + 1)
    assert not stopped.is_done()
    for pid in ranks:
        os.kill(pid, signal.SIGCONT)
    runs = []
    for job in (stopped, whole):
        said, _ = job.process.communicate(timeout=200)
        assert job.process.returncode == 0, said
        runs.append(Run(said, job.folder))
    assert (state(runs[0]) == state(runs[1])).all()
