"""A job that is suspended as a whole continues; a rank that is silent alone is an error of all
ranks that names it; an error of one rank is one of all, with the same message.

The protocol itself is tested in simulated time in tests/cxx/test_watchdog.cpp.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import processes
import pytest
import silent_program
from commands import CLEAN, COMMAND, MPIEXEC, arguments, summary_of
from dpd_scripts import fluid, resident, system
from lammps_host import check_suspension, needs_lammps, start_lammps
from machine import limits_address_space
from processes import LIMIT, LIMITED, SOON, Job, on_ranks

from manymove.devices import usable_cores
from manymove.lammps import host

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
MEMORY = 650_000  # kilobytes; the ranks need 450,000 to 550,000 before, with what LAMMPS loads


# They take some seconds, so that there is time to stop them.
JOBS = {
    "decomposed disks": "disks --particles 3000 --sweeps 6000 --equilibrate 5 --frames 1 "
    "--decompose",
    "disks": "disks --particles 1000 --sweeps 15000 --equilibrate 5 --frames 1 --replicas 2",
    "electrolyte": "electrolyte --ions 64 --debye-length 28.53 --sweeps 3000 --equilibrate 5 "
    "--replicas 2",
    "adsorption": "adsorption --molecules 2 --systems 4 --steps 600000 --equilibrate 5 "
    "--grid-spacing 0.5 --method pmc",
}


def found(ranks: int, task: str, folder: Path) -> list:
    return processes.found("silent_program.py", ranks, task, folder, **LIMITED)


def command(ranks: int, job: str, folder: Path) -> Job:
    name, options = JOBS[job].split(" ", 1)
    words = [*arguments(name, options, folder), "--checkpoint-every", "0.1"]
    return Job([*on_ranks(ranks), *COMMAND, *words], env={**CLEAN, **LIMITED})


def checkpoints(job: str, folder: Path) -> Callable[[], bool]:
    number = 1 if "decompose" in JOBS[job] else 2
    return lambda: len(list(folder.glob("checkpoint-*.state"))) == number


@pytest.mark.parametrize("job", JOBS)
def test_a_job_that_was_suspended_continues(job, tmp_path):
    hashes = []
    for folder, suspended in ((tmp_path / "suspended", True), (tmp_path / "not", False)):
        run = command(2, job, folder)
        if suspended:
            run.until(checkpoints(job, folder))
            run.suspend()
        run.success()
        hashes.append(summary_of(folder)["state_hash"])
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("job", JOBS)
def test_a_rank_that_is_stopped_alone_is_named(job, tmp_path):
    run = command(2, job, tmp_path)
    run.until(checkpoints(job, tmp_path))
    run.send(signal.SIGSTOP, last_only=True)
    said = run.failure(LIMIT + SOON + 20 * ("decompose" not in JOBS[job]))  # after its own replica
    assert f"error: rank 1 of 2 has been silent for {LIMIT} s (MANYMOVE_TIMEOUT)" in said


@needs_lammps
@limits_address_space
def test_memory_that_one_rank_of_lammps_does_not_get(tmp_path):
    script = system("block 0 4 0 4 0 4", 32000) + fluid("mixed") + resident("cpu")
    (tmp_path / "in").write_text(script + "neigh_modify one 10000\nrun 1\n")
    *launcher, lmp = host.command(2)
    little = f'test "{processes.RANK}" = 0 || ulimit -v {MEMORY}; exec "$@"'
    words = [*launcher, "sh", "-c", little, "sh", lmp, "-in", "in", "-nocite"]
    end = processes.run(words, cwd=tmp_path, env=host.environment())
    assert end.returncode != 0
    text = end.stdout + end.stderr
    assert re.search(r"ERROR.*on cpu: rank 1 of 2: out of memory for \d+ atoms", text), text


def lammps(ranks: int, folder: Path, steps: int, thermo: str = "thermo 100\n") -> Job:
    script = system("block 0 6 0 6 0 6", 600) + fluid("mixed") + resident("cpu")
    script += f"{thermo}thermo_modify flush yes\nrun {steps}\n"
    return start_lammps(script, folder, ranks, 100, **LIMITED)


@needs_lammps
@pytest.mark.parametrize("ranks", [2, 3])
def test_lammps_that_was_suspended_continues(ranks, tmp_path):
    # Ranks that share a core wait for one another most of the time.
    steps = 4000 if len(usable_cores()) >= ranks else 1000
    check_suspension(lambda name: lammps(ranks, tmp_path / name, steps), steps // 100 + 1)


@needs_lammps
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_of_lammps_that_is_stopped_alone_is_named(ranks, tmp_path):
    # Output needs sums over the ranks, for which LAMMPS waits without a watchdog. After that of
    # step 100, for which lammps() waits, the next is at 100,000.
    once = "variable s equal logfreq(100,1,1000000)\nthermo v_s\n"
    job = lammps(ranks, tmp_path, 10**8, once)
    job.send(signal.SIGSTOP, last_only=True)
    said = job.failure(LIMIT + SOON)
    assert f"rank {ranks - 1} of {ranks} has been silent for {LIMIT} s (MANYMOVE_TIMEOUT)" in said


# ---- what the ranks' program catches -------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_that_wakes_ends_with_the_error_of_the_others(ranks, tmp_path):
    every = found(ranks, "asleep", tmp_path)
    text = f"RankLost: rank {ranks - 1} of {ranks} has been silent for {LIMIT} s (MANYMOVE_TIMEOUT)"
    assert every[0]["found"].startswith(text)
    for rank in every:
        assert rank["found"] == every[0]["found"]
        assert rank["again"][0] == every[0]["found"]
        assert LIMIT <= rank["seconds"] < LIMIT + SOON
    assert every[0]["again"][1] == every[0]["found"]  # one rank did not answer: no new start


def test_an_error_of_one_rank_is_one_of_all(tmp_path):
    first, second = found(2, "one_fails", tmp_path)
    assert first == second
    for name in silent_program.CALLS:
        assert first[name].startswith("RankLost: rank 1 of 2: "), first
        assert f"MemoryError: no memory in {name} of rank 1" in first[name]
        assert first[f"{name} again"] == first[name]


def test_of_two_errors_at_once_all_raise_that_of_the_lowest_rank(tmp_path):
    every = found(4, "two_fail", tmp_path)
    assert all(rank == every[0] for rank in every)
    for name in silent_program.CALLS:
        # The second to fail may have heard of the first.
        assert re.match(rf"RankLost: rank [12] of 4: .*no memory in {name}", every[0][name], re.S)
    for rank, (text, others) in enumerate(found(3, "tasks_fail", tmp_path)):
        assert text == "ValueError: wrong on rank 1", rank
        assert others == [0, 1, 2]


def test_a_start_that_fails_on_one_rank_fails_on_all(tmp_path):
    first, second = found(2, "start_fails", tmp_path)
    assert first == second
    assert "no memory for the strip" in first["found"]


def test_ranks_that_wait_for_one_another_are_told_so(tmp_path):
    every = found(2, "mismatch", tmp_path)
    for rank in every:
        assert rank["found"] == every[0]["found"]
        assert "all 2 ranks have waited for one another" in rank["found"]
        assert rank["seconds"] < 2 * LIMIT + SOON


def test_a_rank_that_computes_for_long_is_waited_for(tmp_path):
    assert found(2, "long_task", tmp_path) == [[None, True]] * 2


def test_a_task_of_the_first_rank_may_take_long(tmp_path):
    expected = [0, "ValueError: wrong on rank 0", [0, 1]]
    assert found(2, "long_task_of_the_first", tmp_path) == [expected] * 2


def test_an_interrupt_ends_the_wait_for_another_rank(tmp_path):
    first, second = found(2, "interrupted_wait", tmp_path)
    assert first["found"].startswith("KeyboardInterrupt") and first["seconds"] < 6
    assert second["found"].startswith("RankLost: rank 0 of 2: KeyboardInterrupt")


@pytest.mark.parametrize("value", ["0", "-3", "soon", "nan"])
def test_a_limit_that_is_no_positive_number_is_refused(value):
    command = [sys.executable, "-c", "from manymove import _core; _core.timeout()"]
    end = processes.run(command, env={**CLEAN, "MANYMOVE_TIMEOUT": value})
    assert f'ValueError: MANYMOVE_TIMEOUT is "{value}"' in end.stderr
