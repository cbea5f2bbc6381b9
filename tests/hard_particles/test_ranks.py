"""Hard disks, spheres and mixtures that MPI ranks share: the trajectory of one rank, bit for bit,
on any number of them.

Nothing here is statistical: whatever one rank samples right, several do.
"""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

import numpy as np
import processes
import pytest
import rank_tasks
import ranks_program
import sphere_ranks_program
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from laws import another
from machine import on_gpu
from processes import Job, on_ranks, run_together

from manymove import HardDisks, HardSpheres, _core, cli
from manymove.jobs.ranks import Ranks

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
PROGRAMS = {"disks": ranks_program, "spheres": sphere_ranks_program}
SMALL = {
    "disks": "disks --particles 3000 --sweeps 300 --equilibrate 50 --frames 3",
    "spheres": "spheres --particles 4000 --packing-fraction 0.55 --sweeps 20 --equilibrate 5 "
    "--frames 2 --start fcc",
    "mixture": "disks --particles 1500 --packing-fraction 0.5 --diameters 1,0.6 --sweeps 60 "
    "--equilibrate 20 --frames 2",
}
SMALL = {name: f"{words} --threads 1 --device cpu --quiet".split() for name, words in SMALL.items()}


def found(kind: str, ranks: int, task: str, folder: Path, **environment: str) -> list:
    program = f"{PROGRAMS[kind].__name__}.py"
    return processes.found(program, ranks, task, folder, fails=False, **environment)


def manymove(ranks: int, *arguments: object) -> subprocess.CompletedProcess:
    return processes.run([*on_ranks(ranks), *COMMAND, *arguments])


def assert_same_trajectories(kind: str, many: list, device: str) -> None:
    for name in PROGRAMS[kind].CASES:
        one = PROGRAMS[kind].trajectory(name, device)
        assert one["overlap"] == 0
        assert one.get("grids", True), name
        psi6 = one.pop("psi6", None)
        for rank in many:
            assert rank[name].pop("psi6", None) == pytest.approx(psi6, abs=1e-12)
            assert rank[name] == one, name


TASKS = {
    "disks": ("trajectories", "mixed", "save", "interrupt", "errors"),
    "spheres": ("trajectories", "save", "tuned", "starts", "interrupt", "errors"),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Where two ranks of each kind find what they find."""
    every = {kind: tmp_path_factory.mktemp(kind) for kind in PROGRAMS}
    sphere_ranks_program.system(3, "one").save(every["spheres"] / "alone.state")
    return every


@pytest.fixture(scope="module")
def two_ranks(folders) -> dict[str, dict[str, list]]:
    """What two ranks of each kind find in one job, by task."""
    return {
        kind: processes.found_together(
            f"{program.__name__}.py", 2, TASKS[kind], folders[kind], fails=False
        )
        for kind, program in PROGRAMS.items()
    }


kinds = pytest.mark.parametrize("kind", PROGRAMS)


@kinds
def test_the_trajectory_is_that_of_one_rank(kind, two_ranks):
    assert_same_trajectories(kind, two_ranks[kind]["trajectories"], "cpu")


@kinds
@pytest.mark.parametrize("ranks", [4])
def test_the_trajectory_of_more_ranks_is_that_of_one_rank(kind, ranks, tmp_path):
    assert_same_trajectories(kind, found(kind, ranks, "trajectories", tmp_path), "cpu")


@on_gpu
@kinds
@pytest.mark.parametrize("transport", ["auto", "host", "peer", "shared", "nccl"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_trajectory_is_that_of_one_gpu(kind, ranks, transport, tmp_path):
    if transport == "nccl" and len(_core.cuda_devices()) < ranks:
        pytest.skip("NCCL needs a GPU for each rank")
    settings = {"RANKS_DEVICE": "cuda", "MANYMOVE_TRANSPORT": transport}
    every = found(kind, ranks, "trajectories", tmp_path, **settings)
    for device in ("cuda", "cpu") if kind == "spheres" else ("cuda",):
        assert_same_trajectories(kind, every, device)


@on_gpu
def test_a_transport_that_does_not_exist(tmp_path):
    settings = {"RANKS_DEVICE": "cuda", "MANYMOVE_TRANSPORT": "tcp"}
    with pytest.raises(AssertionError, match="MANYMOVE_TRANSPORT is tcp; it must be auto, peer"):
        found("disks", 2, "trajectories", tmp_path, **settings)


@on_gpu
def test_mpi_takes_memory_of_gpus_or_refuses_it(tmp_path):
    """It depends on the MPI of mpi4py. PyPI's MPI is not CUDA-aware."""
    settings = {"RANKS_DEVICE": "cuda", "MANYMOVE_TRANSPORT": "mpi"}
    try:
        every = found("disks", 2, "trajectories", tmp_path, **settings)
    except AssertionError as error:
        assert "transport mpi cannot serve: MPI does not report that it is CUDA-aware" in str(error)
    else:
        assert_same_trajectories("disks", every, "cuda")


@on_gpu
def test_a_lost_rank_ends_the_run_of_the_other_gpu(tmp_path):
    settings = {"MANYMOVE_TIMEOUT": "2", "MANYMOVE_TRANSPORT": "peer"}
    every = found("disks", 2, "asleep_on_gpu", tmp_path, **settings)
    assert every[0] == every[1]
    assert "rank 1 of 2 has been silent for 2 s" in every[0]


def test_ranks_on_cpus_and_gpus_are_not_mixed(two_ranks):
    for text in two_ranks["disks"]["mixed"]:
        assert "some ranks are to run on CPUs and others on CUDA devices" in text


def test_a_checkpoint_of_disks_continues_on_any_number_of_ranks(two_ranks, folders):
    results, folder = two_ranks["disks"], folders["disks"]
    alone = ranks_program.small()
    alone.run_cycles(50)
    alone.save(folder / "alone.state")
    alone.run_cycles(50)
    assert results["save"] == 2 * [alone.state_hash]
    assert found("disks", 3, "load", folder) == 3 * [2 * [alone.state_hash]]
    again = HardDisks.load(folder / "ranks.state", "cpu", 1, None)  # without names
    again.run_cycles(50)
    assert again.state_hash == alone.state_hash


def test_a_checkpoint_of_spheres_continues_on_any_number_of_ranks(two_ranks, folders):
    results, folder, hashes = two_ranks["spheres"], folders["spheres"], []
    for name, (sizes, settings) in sphere_ranks_program.SAVED.items():
        alone = sphere_ranks_program.system(3, sizes, **settings)
        alone.run_cycles(20)
        alone.save(folder / f"alone-{name}.state")
        alone.run_cycles(20)
        hashes.append(alone.state_hash)
    assert results["save"] == 2 * [hashes]
    assert found("spheres", 3, "load", folder) == 3 * [
        [hash_ for hash_ in hashes for _ in range(2)]
    ]
    for name, state_hash in zip(sphere_ranks_program.SAVED, hashes, strict=True):
        again = HardSpheres.load(folder / f"ranks-{name}.state", "cpu", 1)
        again.run_cycles(20)
        assert again.state_hash == state_hash
    assert np.array_equal(again.diameters, alone.diameters)


def test_ranks_tune_the_volume_as_one(two_ranks, tmp_path):
    assert two_ranks["spheres"]["tuned"] == 2 * [sphere_ranks_program.tuned(None, tmp_path)]


def test_the_first_rank_makes_a_random_start_for_all(two_ranks, tmp_path):
    assert two_ranks["spheres"]["starts"] == 2 * [sphere_ranks_program.starts(None, tmp_path)]


@kinds
def test_an_interrupt_on_one_rank_stops_all_at_one_cycle(kind, two_ranks):
    rank_tasks.assert_interrupted_together(two_ranks[kind]["interrupt"])


TEXTS = {
    "disks": {
        "too many": "the box is too small for 2 ranks: strips of whole tiles and at "
        "least 19 rows of cells, of 36 rows in 2 rows of tiles, allow 1",
        "overlap": "OverlapError: disks 1 and 41 overlap by 0.15",
        "no points": "ValueError: positions must be a list of points",
        "no communicator": "TypeError: comm must be a communicator of mpi4py, got 7",
        "timeout": "ParameterError: timeout must be positive and finite, got 0.0",
        "damaged": "is no checkpoint of hard disks",
        "no folder": "FileNotFoundError",
    },
    "spheres": {
        "too many": "the box is too small for 2 ranks: slabs of whole tiles and at "
        "least 11 layers of cells",
        "overlap": "OverlapError: particles ",
        "other kind": "hard disks",
    },
}
OF_BOTH = {
    "other settings": "ValueError: the ranks of comm have different settings",
    "no file": "FileNotFoundError",
    "tune": "ValueError: tune works on one rank",
    "callback": "ZeroDivisionError: on one rank",
    "device": "CUDA",
}


@kinds
def test_an_error_is_one_of_all_ranks(kind, two_ranks):
    errors = two_ranks[kind]["errors"]
    rank_tasks.assert_errors(errors, {**TEXTS[kind], **OF_BOTH}, "continues")
    disks = kind == "disks"
    alone = ranks_program.small() if disks else sphere_ranks_program.system(3, "additive")
    cycles, state_hash = errors[0]["continues"]
    alone.run_cycles(cycles)
    assert alone.state_hash == state_hash


def test_a_rank_that_leaves_ends_the_run(tmp_path):
    rank_tasks.assert_a_lost_rank_ends_the_run("ranks_program.py", tmp_path)


def test_one_rank_needs_no_other():
    alone = rank_tasks.Alone()
    assert Ranks.of(None) is None and Ranks.of(alone) is None
    assert ranks_program.small(alone).ranks == 1
    positions, box = np.zeros((1, 3)), (4.0, 4.0, 4.0)
    assert HardSpheres(positions, box, seed=1, comm=alone).ranks == 1
    with pytest.raises(TypeError, match="comm must be a communicator of mpi4py, got 7"):
        HardSpheres(positions, box, seed=1, comm=7)
    with pytest.raises(TypeError, match="comm must be a communicator"):
        HardDisks(positions[:, :2], box[:2], diameter=[1.0], seed=1, comm=7)


# ---- the option --decompose ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, Path]:
    """The folders of the results of one rank."""
    folders = {name: tmp_path_factory.mktemp("alone") for name in SMALL}
    for name, folder in folders.items():
        subprocess.run([*COMMAND, *SMALL[name], "--output", folder], check=True, env=CLEAN)
    return folders


def assert_same_results(folder: Path, alone: Path, ranks: int) -> None:
    here, there = summary_of(folder), summary_of(alone)
    assert here["complete"] and (here["ranks"], here["decomposed"]) == (ranks, True)
    for key in ("state_hash", "trial_moves", "sweeps"):
        assert here[key] == there[key], key
    # Records of a resumed run are fitted in other groups, which may change their last bits.
    assert here["pressure"] == pytest.approx(there["pressure"], rel=1e-12)
    records = [np.loadtxt(f / "pressure.csv", delimiter=",", skiprows=1) for f in (folder, alone)]
    assert records[0][:, 2] == pytest.approx(records[1][:, 2], abs=2e-8)


@pytest.mark.parametrize("name", ["disks", "spheres"])
def test_the_command_decomposed_gives_the_results_of_one_rank(name, alone, tmp_path):
    end = manymove(2, *SMALL[name], "--output", tmp_path, "--decompose")
    assert end.returncode == 0, end.stderr
    assert_same_results(tmp_path, alone[name], 2)


@pytest.mark.parametrize("name", ["disks", "mixture"])
def test_a_killed_rank_ends_the_job_and_others_resume_it(name, alone, tmp_path):
    arguments = [*SMALL[name], "--output", tmp_path, "--decompose"]
    job = Job([*on_ranks(2), *COMMAND, *arguments, "--checkpoint-every", "0.05"])
    job.until(lambda: (tmp_path / "checkpoint-0.state").exists())
    job.send(signal.SIGKILL, last_only=True)
    job.failure()
    end = manymove(3, *arguments, "--resume")
    assert end.returncode == 0, end.stderr
    assert_same_results(tmp_path, alone[name], 3)


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
        [*SMALL["disks"], "--output", tmp_path, "--decompose", "--replicas", "2"],
        ["disks", "--particles", 60, "--output", tmp_path, "--decompose"],
        [*SMALL["disks"], "--output", tmp_path / "none", "--decompose", "--resume"],
    )
    codes, (replicas, narrow, resumed) = zip(*run_together(2, commands), strict=True)
    assert codes == (2, 2, 2)
    assert "--decompose shares one system; --replicas is 2" in replicas
    assert "the box is too small for 2 ranks" in narrow
    assert "--tile" not in narrow  # because no tile would do
    assert "--resume: no checkpoint" in resumed
