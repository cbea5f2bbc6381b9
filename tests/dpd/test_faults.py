"""Faults of GPUs and silent ranks under `run_style manymove/verlet` end the run with an error.

Two ranks share one GPU, or have one each where there are two.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from documents import SUPPORT
from dpd_scripts import END, fluid, resident, state, system
from lammps_host import Run, needs_lammps, run_lammps, start_lammps
from machine import on_gpu
from processes import Job

from manymove import _core
from manymove.lammps import host

pytestmark = needs_lammps

TIMEOUT = 8  # seconds, MANYMOVE_TIMEOUT: more than a busy GPU takes to start
LIMITS = {"MANYMOVE_TIMEOUT": str(TIMEOUT)}
TRANSPORTS = ["host", "shared", "peer"]


@pytest.fixture(params=[pytest.param(n, marks=pytest.mark.gpu, id=f"GPUs: {n}") for n in (1, 2)])
def gpus(request: pytest.FixtureRequest) -> dict[str, str]:
    """Environment variables with which LAMMPS sees this number of GPUs."""
    if len(_core.cuda_devices()) < request.param:
        pytest.skip(f"fewer than {request.param} CUDA devices")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0,1").split(",")
    return {"CUDA_VISIBLE_DEVICES": ",".join(visible[: request.param])}


def script(ranks: int, transport: str, atoms: int = 3000, width: float = 10) -> str:
    way = f"transport {transport}" if ranks > 1 else ""
    box = f"block 0 {width} 0 {width} 0 {width}"
    return system(box, atoms) + fluid("mixed") + resident("cuda", way)


def faults(
    text: str, fault: str, rank: int, ranks: int, gpus: dict[str, str], folder: Path
) -> dict[int, tuple[float, str]]:
    """Seconds until the error and the error, by rank."""
    (folder / "in").write_text(text)
    program = [sys.executable, SUPPORT / "dpd_fault_program.py", folder / "in", fault, rank, 10**9]
    job = Job([*host.command(ranks)[:-1], *program], env={**host.environment(), **gpus})
    output = job.failure(120)
    said = re.findall(r"rank (\d+) after ([\d.]+) s: (.*)", output)
    assert len(said) == ranks, output
    return {int(r): (float(seconds), error) for r, seconds, error in said}


@on_gpu
def test_a_fault_of_the_gpu_ends_a_run(tmp_path):
    ((seconds, error),) = faults(script(1, ""), "trap", 0, 1, {}, tmp_path).values()
    assert seconds < 10
    assert re.search("CUDA: .*unspecified launch failure", error), error


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_fault_of_one_gpu_is_told_by_every_rank(transport, rank, gpus, tmp_path):
    # Where two ranks share a GPU, the fault of one process may end the other's context as well.
    errors = faults(script(2, transport), "trap", rank, 2, gpus, tmp_path)
    assert max(seconds for seconds, _ in errors.values()) < 15
    assert len({error for _, error in errors.values()}) == 1, errors
    error = errors[0][1]
    assert re.search(r"rank \d of 2: CUDA: ", error), error
    if gpus["CUDA_VISIBLE_DEVICES"].count(","):
        assert f"rank {rank} of 2: CUDA: " in error


@pytest.mark.whole_gpu
def test_memory_that_one_rank_lacks_is_an_error_of_all(gpus, tmp_path):
    text = script(2, "auto", atoms=400_000, width=51)
    errors = faults(text, "full", 1, 2, gpus, tmp_path)
    (error,) = {error for _, error in errors.values()}
    assert re.search("out of memory|has no .* MB left", error), error


def test_a_particle_that_one_rank_refuses_is_an_error_of_all(device, tmp_path):
    text = system() + fluid() + "variable most atom 1e308*10\nset atom 7 vx v_most\n"
    run = run_lammps(text + resident(device) + "run 4\n", tmp_path, ranks=2, fails=True)
    assert re.search(
        r"ERROR: Run style manymove/verlet on .*: the velocity of particle 7 is not finite",
        run.output,
    )
    assert "ERROR on proc" not in run.output


# ---- silence and suspension ----


def long_script(transport: str, steps: int) -> str:
    text = script(2, transport) + "thermo 50\nthermo_modify flush yes\n"
    return f"{text}run {steps}\n{END}"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_rank_that_is_stopped_is_named(transport, gpus, tmp_path):
    job = start_lammps(long_script(transport, 100_000_000), tmp_path, 2, 200, **LIMITS, **gpus)
    job.send(signal.SIGSTOP, last_only=True)
    said = job.failure()
    silent = rf"rank [01] of 2 has been silent for {TIMEOUT} s \(MANYMOVE_TIMEOUT\)"
    assert re.search(silent, said), said


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_job_that_is_stopped_for_longer_than_the_limit_goes_on(transport, gpus, tmp_path):
    shared = "," not in gpus["CUDA_VISIBLE_DEVICES"] and transport != "host"
    text = long_script(transport, 2000 if shared else 20_000)  # ranks that share a GPU take turns
    whole, stopped = (
        start_lammps(text, tmp_path / name, 2, 200, **LIMITS, **gpus)
        for name in ("whole", "stopped")
    )
    stopped.suspend(3 * TIMEOUT + 1)
    runs = []
    for name, job in (("stopped", stopped), ("whole", whole)):
        runs.append(Run(job.success(200), tmp_path / name))
    assert (state(runs[0]) == state(runs[1])).all()
