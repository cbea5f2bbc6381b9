"""Hard spheres and mixtures that MPI ranks share: the trajectory of one rank, bit for bit, on any
number of them. What they have in common with disks is tested in test_ranks.py."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import numpy as np
import processes
import pytest
import sphere_ranks_program
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from laws import another
from machine import on_gpu
from processes import Job, on_ranks

from manymove import HardDisks, HardSpheres, _core, cli

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
PROGRAM = "sphere_ranks_program.py"
SMALL = "spheres --particles 4000 --packing-fraction 0.55 --sweeps 20 --equilibrate 5".split()
SMALL += "--frames 2 --threads 1 --device cpu --quiet --start fcc".split()
MIXTURE = "disks --particles 1500 --packing-fraction 0.5 --diameters 1,0.6 --sweeps 60".split()
MIXTURE += "--equilibrate 20 --frames 2 --threads 1 --device cpu --quiet".split()


def found(ranks: int, task: str, folder: Path, **environment: str) -> list:
    return processes.found(PROGRAM, ranks, task, folder, fails=False, **environment)


def manymove(ranks: int, *arguments: object) -> subprocess.CompletedProcess:
    return processes.run([*on_ranks(ranks), *COMMAND, *arguments])


def assert_same_trajectories(many: list, device: str) -> None:
    for name in sphere_ranks_program.CASES:
        one = sphere_ranks_program.trajectory(name, device)
        assert one["overlap"] == 0
        assert one.get("grids", True), name
        for rank in many:
            assert rank[name] == one, name


TASKS = ("trajectories", "save", "tuned", "starts", "interrupt", "errors")


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory) -> tuple[dict[str, list], Path]:
    """What two ranks find in one job, by task, and its folder."""
    folder = tmp_path_factory.mktemp("two")
    sphere_ranks_program.system(3, "one").save(folder / "alone.state")
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
    every = found(ranks, "trajectories", tmp_path, **settings)
    assert_same_trajectories(every, "cuda")
    assert_same_trajectories(every, "cpu")


def test_a_checkpoint_of_two_ranks_continues_on_any_number(two_ranks):
    (results, folder), hashes = two_ranks, []
    for name, (sizes, settings) in sphere_ranks_program.SAVED.items():
        alone = sphere_ranks_program.system(3, sizes, **settings)
        alone.run_cycles(20)
        alone.save(folder / f"alone-{name}.state")
        alone.run_cycles(20)
        hashes.append(alone.state_hash)
    assert results["save"] == 2 * [hashes]
    assert found(3, "load", folder) == 3 * [[hash_ for hash_ in hashes for _ in range(2)]]
    for name, state_hash in zip(sphere_ranks_program.SAVED, hashes, strict=True):
        again = HardSpheres.load(folder / f"ranks-{name}.state", "cpu", 1)
        again.run_cycles(20)
        assert again.state_hash == state_hash
    assert np.array_equal(again.diameters, alone.diameters)


def test_ranks_tune_the_volume_as_one(two_ranks, tmp_path):
    assert two_ranks[0]["tuned"] == 2 * [sphere_ranks_program.tuned(None, tmp_path)]


def test_the_first_rank_makes_a_random_start_for_all(two_ranks, tmp_path):
    assert two_ranks[0]["starts"] == 2 * [sphere_ranks_program.starts(None, tmp_path)]


def test_an_interrupt_on_one_rank_stops_all_at_one_cycle(two_ranks):
    first, second = two_ranks[0]["interrupt"]
    assert first == second
    stopped, end, _ = first
    assert 20 < stopped < 10**6 and end == stopped + 10


def test_an_error_is_one_of_all_ranks(two_ranks):
    first, second = two_ranks[0]["errors"]
    assert first == second
    texts = {
        "too many": "the box is too small for 2 ranks: slabs of whole tiles and at "
        "least 11 layers of cells",
        "other sizes": "ValueError: the ranks of comm have different settings",
        "overlap": "OverlapError: particles ",
        "device": "CUDA",
        "no file": "FileNotFoundError",
        "other kind": "hard disks",
        "tune": "ValueError: tune works on one rank",
        "callback": "ZeroDivisionError: on one rank",
    }
    assert first.keys() == texts.keys() | {"continues"}
    for name, text in texts.items():
        assert text in first[name], (name, first[name])
    alone = sphere_ranks_program.system(3, "additive")
    cycles, state_hash = first["continues"]
    alone.run_cycles(cycles)
    assert alone.state_hash == state_hash


# ---- manymove spheres --decompose ----------------------------------------------------------------


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, dict]:
    """What one rank finds."""
    found = {}
    for words in (SMALL, MIXTURE):
        folder = tmp_path_factory.mktemp("alone")
        subprocess.run([*COMMAND, *words, "--output", folder], check=True, env=CLEAN)
        found[words[0]] = summary_of(folder)
    return found


def test_the_command_decomposed_gives_the_results_of_one_rank(alone, tmp_path):
    end = manymove(2, *SMALL, "--output", tmp_path, "--decompose")
    assert end.returncode == 0, end.stderr
    here, there = summary_of(tmp_path), alone["spheres"]
    assert here["complete"] and (here["ranks"], here["decomposed"]) == (2, True)
    for key in ("state_hash", "trial_moves", "sweeps", "pressure"):
        assert here[key] == there[key], key


@pytest.mark.parametrize(
    "volume", [["--tune-volume"], another(["--edges-apart", "--volume-delta", "0.01,0.02"])]
)
def test_constant_pressure_and_swap_moves_decomposed_are_those_of_one_rank(volume, tmp_path):
    words = "disks --particles 900 --packing-fraction 0.4 --diameters 1,0.7 --sweeps 40".split()
    words += "--equilibrate 10 --frames 2 --threads 1 --device cpu --quiet".split()
    words += ["--pressure", 4, "--swap-rounds", 2, *volume]
    assert cli.run([*map(str, words), "--output", str(tmp_path / "1")]) == 0
    words += ["--output", tmp_path / "2", "--decompose"]
    ends = [manymove(3, *words, "--sweeps", 15), manymove(2, *words, "--resume")]
    assert [end.returncode for end in ends] == [0, 0], ends
    one, two = (summary_of(tmp_path / name) for name in "12")
    keys = "state_hash mean_packing_fraction swap_trials swap_acceptance box volume_delta"
    for key in keys.split():
        assert one[key] == two[key], key
    assert one["swap_trials"] > 0 and two["decomposed"]


def test_a_killed_rank_ends_the_job_of_a_mixture_and_others_resume_it(alone, tmp_path):
    arguments = [*MIXTURE, "--output", tmp_path, "--decompose"]
    job = Job([*on_ranks(2), *COMMAND, *arguments, "--checkpoint-every", "0.05"])
    job.until(lambda: (tmp_path / "checkpoint-0.state").exists())
    job.send(signal.SIGKILL, last_only=True)
    job.failure()
    end = manymove(3, *arguments, "--resume")
    assert end.returncode == 0, end.stderr
    assert summary_of(tmp_path)["state_hash"] == alone["disks"]["state_hash"]


def test_one_rank_needs_no_other():
    class Alone:
        rank, size = 0, 1
        Iallreduce = None

    positions, box = np.zeros((1, 3)), (4.0, 4.0, 4.0)
    assert HardSpheres(positions, box, seed=1, comm=Alone()).ranks == 1
    with pytest.raises(TypeError, match="comm must be a communicator of mpi4py, got 7"):
        HardSpheres(positions, box, seed=1, comm=7)
    with pytest.raises(TypeError, match="comm must be a communicator"):
        HardDisks(positions[:, :2], box[:2], diameter=[1.0], seed=1, comm=7)
