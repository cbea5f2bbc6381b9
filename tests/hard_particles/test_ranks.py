"""Hard disks that MPI ranks share: the trajectory of one rank, bit for bit, on any number of them.

Nothing here is statistical: whatever one rank samples right, several do.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import processes
import pytest
import ranks_program
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from documents import SUPPORT
from machine import on_gpu
from processes import Job, on_ranks, run_together

from manymove import HardDisks, _core, cli
from manymove.jobs.ranks import Ranks

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
PROGRAM = "ranks_program.py"
SMALL = "disks --particles 3000 --sweeps 300 --equilibrate 50 --frames 3 --threads 1".split()
SMALL += ["--device", "cpu", "--quiet"]


def found(ranks: int, task: str, folder: Path, **environment: str) -> list:
    return processes.found(PROGRAM, ranks, task, folder, fails=False, **environment)


def manymove(ranks: int, *arguments: object) -> subprocess.CompletedProcess:
    return processes.run([*on_ranks(ranks), *COMMAND, *arguments])


def assert_same_trajectories(many: list, device: str) -> None:
    for name in ranks_program.CASES:
        one = ranks_program.trajectory(name, device)
        assert one["overlap"] == 0
        psi6 = one.pop("psi6")
        for rank in many:
            assert rank[name].pop("psi6") == pytest.approx(psi6, abs=1e-12)
            assert rank[name] == one, name


TASKS = ("trajectories", "mixed", "save", "interrupt", "errors")


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory) -> tuple[dict[str, list], Path]:
    """What two ranks find in one job, by task, and its folder."""
    folder = tmp_path_factory.mktemp("two")
    return processes.found_together(PROGRAM, 2, TASKS, folder, fails=False), folder


def test_the_trajectory_is_that_of_one_rank(two_ranks):
    assert_same_trajectories(two_ranks[0]["trajectories"], "cpu")


@pytest.mark.parametrize("ranks", [4])
def test_the_trajectory_of_more_ranks_is_that_of_one_rank(ranks, tmp_path):
    assert_same_trajectories(found(ranks, "trajectories", tmp_path), "cpu")


@on_gpu
@pytest.mark.parametrize("transport", ["auto", "host", "peer", "shared", "nccl"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_trajectory_is_that_of_one_gpu(ranks, transport, tmp_path):
    if transport == "nccl" and len(_core.cuda_devices()) < ranks:
        pytest.skip("NCCL needs a GPU for each rank")
    settings = {"RANKS_DEVICE": "cuda", "MANYMOVE_TRANSPORT": transport}
    assert_same_trajectories(found(ranks, "trajectories", tmp_path, **settings), "cuda")


@on_gpu
def test_a_transport_that_does_not_exist(tmp_path):
    settings = {"RANKS_DEVICE": "cuda", "MANYMOVE_TRANSPORT": "tcp"}
    with pytest.raises(AssertionError, match="MANYMOVE_TRANSPORT is tcp; it must be auto, peer"):
        found(2, "trajectories", tmp_path, **settings)


@on_gpu
def test_mpi_takes_memory_of_gpus_or_refuses_it(tmp_path):
    """It depends on the MPI of mpi4py. PyPI's MPI is not CUDA-aware."""
    settings = {"RANKS_DEVICE": "cuda", "MANYMOVE_TRANSPORT": "mpi"}
    try:
        every = found(2, "trajectories", tmp_path, **settings)
    except AssertionError as error:
        assert "transport mpi cannot serve: MPI does not report that it is CUDA-aware" in str(error)
    else:
        assert_same_trajectories(every, "cuda")


@on_gpu
def test_a_lost_rank_ends_the_run_of_the_other_gpu(tmp_path):
    settings = {"MANYMOVE_TIMEOUT": "2", "MANYMOVE_TRANSPORT": "peer"}
    every = found(2, "asleep_on_gpu", tmp_path, **settings)
    assert every[0] == every[1]
    assert "rank 1 of 2 has been silent for 2 s" in every[0]


def test_ranks_on_cpus_and_gpus_are_not_mixed(two_ranks):
    for text in two_ranks[0]["mixed"]:
        assert "some ranks are to run on CPUs and others on CUDA devices" in text


def test_a_checkpoint_of_two_ranks_goes_on_on_any_number(two_ranks):
    results, folder = two_ranks
    alone = ranks_program.small()
    alone.run_cycles(50)
    alone.save(folder / "alone.state")
    alone.run_cycles(50)
    assert results["save"] == 2 * [alone.state_hash]
    assert found(3, "load", folder) == 3 * [2 * [alone.state_hash]]
    again = HardDisks.load(folder / "ranks.state", "cpu", 1, None)  # without names
    again.run_cycles(50)
    assert again.state_hash == alone.state_hash


def test_an_interrupt_on_one_rank_stops_all_at_one_cycle(two_ranks):
    first, second = two_ranks[0]["interrupt"]
    assert first == second
    stopped, end, _ = first
    assert 20 < stopped < 10**6 and end == stopped + 10


def test_an_error_is_one_of_all_ranks(two_ranks):
    first, second = two_ranks[0]["errors"]
    assert first == second
    texts = {
        "too many": "the box is too small for 2 ranks: strips of whole tiles and at "
        "least 19 rows of cells, of 36 rows in 2 rows of tiles, allow 1",
        "other settings": "ValueError: the ranks of comm have different settings",
        "overlap": "OverlapError: disks 1 and 41 overlap by 0.15",
        "no points": "ValueError: positions must be a list of points",
        "no file": "FileNotFoundError",
        "no communicator": "TypeError: comm must be a communicator of mpi4py, got 7",
        "timeout": "ParameterError: timeout must be positive and finite, got 0.0",
        "damaged": "is no checkpoint of hard disks",
        "tune": "ValueError: tune works on one rank",
        "no folder": "FileNotFoundError",
        "callback": "ZeroDivisionError: on one rank",
        "device": "CUDA",
    }
    assert first.keys() == texts.keys() | {"goes on"}
    for name, text in texts.items():
        assert text in first[name], name


def test_a_rank_that_leaves_ends_the_run(tmp_path):
    Job([*on_ranks(2), sys.executable, SUPPORT / PROGRAM, "lost", tmp_path]).failure(100)
    left = tmp_path / "lost-0.json"  # mpiexec may have been faster than the timeout
    if left.exists():
        assert "RankLost after True: rank 1 of 2 has been silent for 3 s" in left.read_text()


def test_one_rank_needs_no_other():
    class Alone:
        rank, size = 0, 1
        Iallreduce = None

    assert Ranks.of(None) is None and Ranks.of(Alone()) is None
    assert ranks_program.small(Alone()).ranks == 1


# ---- manymove disks --decompose ------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run([*COMMAND, *SMALL, "--output", folder], check=True, env=CLEAN)
    return folder


def assert_same_results(folder: Path, alone: Path, ranks: int) -> None:
    here, there = summary_of(folder), summary_of(alone)
    assert here["complete"] and (here["ranks"], here["decomposed"]) == (ranks, True)
    for key in ("state_hash", "trial_moves", "sweeps"):
        assert here[key] == there[key], key
    # Records of a resumed run are fitted in other groups, which may change their last bits.
    assert here["pressure"] == pytest.approx(there["pressure"], rel=1e-12)
    records = [np.loadtxt(f / "pressure.csv", delimiter=",", skiprows=1) for f in (folder, alone)]
    assert records[0][:, 2] == pytest.approx(records[1][:, 2], abs=2e-8)


def test_the_command_decomposed_gives_the_results_of_one_rank(alone, tmp_path):
    assert manymove(2, *SMALL, "--output", tmp_path, "--decompose").returncode == 0
    assert_same_results(tmp_path, alone, 2)


def test_a_killed_rank_ends_the_job_and_others_resume_it(alone, tmp_path):
    arguments = [*SMALL, "--output", tmp_path, "--decompose"]
    job = Job([*on_ranks(2), *COMMAND, *arguments, "--checkpoint-every", "0.05"])
    job.until(lambda: (tmp_path / "checkpoint-0.state").exists())
    job.send(signal.SIGKILL, last_only=True)
    job.failure()
    end = manymove(3, *arguments, "--resume")
    assert end.returncode == 0, end.stderr
    assert_same_results(tmp_path, alone, 3)


def test_the_tile_that_an_error_names_has_room_for_the_ranks(tmp_path):
    small = "disks --particles 600 --packing-fraction 0.6 --sweeps 30 --equilibrate 10".split()
    small += ["--device", "cpu", "--threads", "1", "--quiet", "--output"]
    end = manymove(3, *small, tmp_path / "wide", "--decompose")
    assert end.returncode == 2
    tile = re.search(r"--tile must be narrower, for example (\d+): .*allow 2$", end.stderr, re.M)[1]
    assert manymove(3, *small, tmp_path / "divided", "--decompose", "--tile", tile).returncode == 0
    assert cli.run([*small, str(tmp_path / "alone"), "--tile", tile]) == 0
    divided, alone = summary_of(tmp_path / "divided"), summary_of(tmp_path / "alone")
    assert divided["tile"] == alone["tile"] == int(tile)
    assert divided["state_hash"] == alone["state_hash"]


def test_the_command_tells_what_cannot_be(tmp_path):
    commands = (
        [*SMALL, "--output", tmp_path, "--decompose", "--replicas", "2"],
        ["disks", "--particles", 60, "--output", tmp_path, "--decompose"],
        [*SMALL, "--output", tmp_path / "none", "--decompose", "--resume"],
    )
    codes, (replicas, narrow, resumed) = zip(*run_together(2, commands), strict=True)
    assert codes == (2, 2, 2)
    assert "--decompose shares one system; --replicas is 2" in replicas
    assert "the box is too small for 2 ranks" in narrow
    assert "--tile" not in narrow  # because no tile would do
    assert "--resume: no checkpoint" in resumed
