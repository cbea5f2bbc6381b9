"""The command line: the main job end to end, its files, and one line for each mistake."""

import os
import re
import signal
import subprocess
import sys
import time
import types

import gsd.hoomd
import numpy as np
import pytest
from commands import COMMAND, summary_of
from processes import SOON, run, start, until

from manymove import cli
from manymove.jobs import world as replicas
from manymove.jobs.world import World

KEYS = {
    "pressure",
    "pressure_error",
    "packing_fraction",
    "N",
    "sweeps",
    "trial_moves",
    "acceptance",
    "trial_moves_per_second",
    "device",
    "seed",
    "state_hash",
    "version",
}
SMALL = ["--particles", "256", "--sweeps", "300", "--equilibrate", "100", "--device", "cpu"]


def disks(*arguments):
    return cli.run(["disks", *map(str, arguments)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disks")
    assert disks(*SMALL, "--output", folder, "--quiet", "--frames", 3) == 0
    return folder


def test_summary_has_what_was_asked_for(finished):
    summary = summary_of(finished)
    assert summary.keys() >= KEYS
    assert summary["N"] == 256
    assert summary["packing_fraction"] == 0.698
    assert summary["seed"] == 1
    assert summary["complete"] is True
    assert 300 <= summary["sweeps"] < 330  # whole cycles
    assert summary["trial_moves"] == pytest.approx(400 * 256, rel=0.03)
    assert 0 < summary["acceptance"] < 1
    assert re.fullmatch("[0-9a-f]{16}", summary["state_hash"])
    assert 7 < summary["pressure"] < 13  # far too short to be at equilibrium
    assert summary["max_overlap"] < 1e-6


@pytest.mark.parametrize(("sweeps", "equilibrate"), [(5, 5), (5, 0), (1, 10)])
def test_runs_shorter_than_a_cycle_have_one(sweeps, equilibrate, tmp_path):
    few = ["--particles", 1024, "--sweeps", sweeps, "--equilibrate", equilibrate]
    assert disks(*few, "--device", "cpu", "--output", tmp_path, "--quiet") == 0
    summary = summary_of(tmp_path)
    assert sweeps <= summary["sweeps"] < sweeps + 20
    assert equilibrate <= summary["equilibration_sweeps"] < equilibrate + 20
    whole = (summary["sweeps"] + summary["equilibration_sweeps"]) * 1024
    assert summary["trial_moves"] == pytest.approx(whole)


def test_trajectory_and_pictures_are_written(finished):
    with gsd.hoomd.open(str(finished / "trajectory.gsd"), "r") as trajectory:
        steps = [frame.configuration.step for frame in trajectory]
        assert trajectory[0].particles.N == 256
    assert len(steps) == 3
    assert steps == sorted(steps)
    records = np.loadtxt(finished / "pressure.csv", delimiter=",", skiprows=1)
    assert records[:, 2].mean() == pytest.approx(summary_of(finished)["pressure"], rel=1e-6)
    pytest.importorskip("matplotlib")
    pytest.importorskip("freud")
    for name in ("configuration.png", "pressure.png"):
        assert (finished / name).read_bytes().startswith(b"\x89PNG")


def test_resume_ends_where_one_run_ends(finished, tmp_path):
    shorter = [*SMALL, "--output", tmp_path, "--quiet", "--sweeps"]
    assert disks(*shorter, 100) == 0
    assert disks(*shorter, 300, "--resume") == 0
    assert summary_of(tmp_path)["state_hash"] == summary_of(finished)["state_hash"]


@pytest.mark.parametrize("constant", [(), ("--pressure", 5)])
def test_records_have_the_same_weight_after_a_longer_run(tmp_path, constant):
    """Its records are longer than those of the run that it resumes, which are joined."""
    few = ["--particles", 64, "--packing-fraction", 0.4, "--equilibrate", 100, "--device", "cpu"]
    name = "packing_fraction.csv" if constant else "pressure.csv"
    rows = []
    for more in (["--sweeps", 3000], ["--sweeps", 30000, "--resume"]):
        assert disks(*few, *constant, *more, "--output", tmp_path, "--quiet") == 0
        rows.append(np.loadtxt(tmp_path / name, delimiter=",", skiprows=1)[:, 1:])
    shorter, longer = rows
    assert len(shorter) > 200 and len(longer) < 600
    steps = np.diff(longer[:, 0])
    # The record that the first run has begun is left out, because the new ones are longer.
    assert steps.max() < 2 * np.median(steps)
    # A record is the mean of those that were joined.
    joined = round(np.median(steps) / np.median(np.diff(shorter[:, 0])))
    first = len(shorter) % joined
    assert joined > 2
    assert longer[0, 1] == pytest.approx(shorter[first : first + joined, 1].mean(), rel=1e-7)


@pytest.mark.parametrize("option, value", [("--input", "trajectory.gsd"), ("--pressure", 9)])
def test_a_resumed_run_refuses_another_start_or_ensemble(finished, option, value, capsys):
    assert disks("--resume", "--output", finished, option, value) == 2
    assert f"has no {option}, which needs a new run" in capsys.readouterr().err
    assert summary_of(finished)["input"] is None


def test_records_that_are_missing_are_named(tmp_path, capsys):
    few = ["--particles", 64, "--sweeps", 50, "--equilibrate", 50, "--device", "cpu"]
    assert disks(*few, "--packing-fraction", 0.3, "--output", tmp_path, "--quiet") == 0
    (tmp_path / "checkpoint-0.records").unlink()
    assert disks("--resume", "--output", tmp_path, "--sweeps", 100) == 2
    message = f"{tmp_path}/checkpoint-0.records, the records of the run, is missing"
    assert message in capsys.readouterr().err


def test_replicas_are_pooled(finished, tmp_path):
    assert disks(*SMALL, "--output", tmp_path, "--quiet", "--replicas", 3) == 0
    summary = summary_of(tmp_path)
    replicas = summary["replicas"]
    assert [r["seed"] for r in replicas] == [1, 2, 3]
    assert replicas[0]["state_hash"] == summary_of(finished)["state_hash"]
    assert len({r["state_hash"] for r in replicas}) == 3
    assert summary["pressure"] == pytest.approx(np.mean([r["pressure"] for r in replicas]))
    assert (tmp_path / "trajectory-2.gsd").is_file()


@pytest.mark.pictures
def test_equation_of_state(tmp_path, capsys):
    arguments = ["--particles", 256, "--sweeps", 100, "--equilibrate", 50, "--device", "cpu"]
    arguments += ["--equation-of-state", "--packing-fractions", "0.5,0.6,0.65"]
    assert disks(*arguments, "--output", tmp_path, "--quiet") == 0
    summary = summary_of(tmp_path)
    assert summary["packing_fractions"] == [0.5, 0.6, 0.65]
    assert summary["pressure"] == sorted(summary["pressure"])
    part = tmp_path / "packing_fraction_0.6"
    assert (part / "summary.json").is_file()
    assert disks("--resume", "--output", part) == 2
    assert f"{part} is a part of the equation of state in {tmp_path}" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    assert (tmp_path / "equation_of_state.png").is_file()


def test_input_that_contradicts_the_options_is_refused(finished, tmp_path, capsys):
    start = finished / "trajectory.gsd"
    assert disks("--input", start, "--particles", 99, "--output", tmp_path) == 2
    assert "--particles is 99, but" in capsys.readouterr().err
    assert disks("--input", start, "--packing-fraction", 0.5, "--output", tmp_path) == 2
    assert "--packing-fraction is 0.5, but" in capsys.readouterr().err


def test_the_input_is_not_overwritten(finished, capsys):
    start = finished / "trajectory.gsd"
    before = start.read_bytes()
    assert disks("--input", start, "--output", finished) == 2
    assert "would be replaced" in capsys.readouterr().err
    assert start.read_bytes() == before


def test_resume_refuses_another_system(finished, capsys):
    assert disks(*SMALL, "--output", finished, "--resume", "--packing-fraction", 0.6) == 2
    assert "has --packing-fraction 0.698, not 0.6" in capsys.readouterr().err
    assert disks(*SMALL, "--output", finished, "--resume", "--seed", 99) == 2
    assert "not 99" in capsys.readouterr().err
    assert disks(*SMALL, "--output", finished, "--resume", "--max-displacement", 0.3) == 2
    assert "has --max-displacement 0.160559, not 0.3" in capsys.readouterr().err
    assert disks(*SMALL, "--output", finished, "--resume", "--equilibrate", 200) == 2
    assert "has --equilibrate 100, not 200" in capsys.readouterr().err
    assert disks(*SMALL, "--output", finished, "--resume", "--sweeps", 150) == 2
    assert "--sweeps is 150, but the run in" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_made(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert disks(*SMALL, "--output", tmp_path / "file" / "out") == 2
    assert "Not a directory" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_interrupt_keeps_what_was_done(tmp_path):
    arguments = ["disks", "--particles", 4096, "--sweeps", 10_000_000, "--equilibrate", 10]
    command = [*COMMAND, *arguments, "--device", "cpu", "--output", tmp_path]
    process = start(command, stderr=subprocess.PIPE)
    until(lambda: (tmp_path / "trajectory.gsd").exists(), process)  # the measurement has begun
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    output, errors = process.communicate(timeout=30)
    assert time.monotonic() - began < SOON  # 1 s on an idle machine
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert output == "" and errors.count("\n") == 1
    assert f"manymove disks --resume --output {tmp_path}" in errors
    summary = summary_of(tmp_path)
    assert summary["complete"] is False
    assert 0 < summary["sweeps"] < 10_000_000
    assert (tmp_path / "checkpoint-0.state").is_file()


def test_help_version_and_info(capsys):
    assert cli.run([]) == 0
    assert "disks" in capsys.readouterr().out
    assert cli.run(["--version"]) == 0
    assert re.match(r"manymove \d", capsys.readouterr().out)
    assert cli.run(["info"]) == 0
    assert "compiler" in capsys.readouterr().out


def test_ranks_pool_their_replicas(finished, mpiexec, tmp_path):
    words = ["disks", *SMALL, "--output", str(tmp_path), "--quiet"]
    run([*mpiexec, *COMMAND, *words], check=True, timeout=120)
    summary = summary_of(tmp_path)
    assert summary["ranks"] == 2
    assert [r["seed"] for r in summary["replicas"]] == [1, 2]
    assert summary["replicas"][0]["state_hash"] == summary_of(finished)["state_hash"]


LAUNCHED = {  # what tells rank 0 of 4, or only that there are ranks
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "0"},
    "MPICH": {"PMI_RANK": "0", "PMI_SIZE": "4"},
    "MVAPICH": {"MV2_COMM_WORLD_RANK": "0", "MV2_COMM_WORLD_SIZE": "4"},
    "srun": {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4"},
    "PMIx": {"PMIX_RANK": "0"},
}


class Communicator:
    """The part of an mpi4py communicator and of a channel that a rank needs to join the others."""

    def __init__(self, size):
        self.rank, self.size = size - 1, size

    def all(self, item):
        return [item] * self.size


@pytest.fixture
def launched(monkeypatch):
    """Makes this process look like one of a launcher's, with an mpi4py that sees `size` ranks."""
    for name in {name for variables in LAUNCHED.values() for name in variables}:
        monkeypatch.delenv(name, raising=False)

    def launch(variables, size):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        mpi = types.SimpleNamespace(COMM_WORLD=Communicator(size))
        monkeypatch.setattr(replicas, "Channel", lambda communicator, purpose: communicator)
        module = types.SimpleNamespace(MPI=mpi) if size else None
        monkeypatch.setitem(sys.modules, "mpi4py", module)

    return launch


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_launched_processes_join_the_others(launched, launcher):
    launched(LAUNCHED[launcher], 4)
    world = World.connect()
    assert (world.rank, world.size) == (3, 4)


@pytest.mark.parametrize("gpus", [0, 1, 2, 4])
def test_gpus_are_dealt_out_by_the_rank_on_the_machine(gpus, monkeypatch):
    monkeypatch.setattr(replicas._core, "cuda_devices", lambda: gpus * [{"name": "a GPU"}])
    for rank in range(4):
        world = World(rank=4 + rank, size=8, local_rank=rank)
        for wanted in ("auto", "cuda"):
            assert world.device(wanted) == (f"cuda:{rank % gpus}" if gpus else wanted)
        assert world.device("cpu") == "cpu" and world.device("cuda:0") == "cuda:0"
    assert World().device("auto") == "auto"


@pytest.mark.parametrize(
    "variables",
    [{}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, {"PMI_RANK": "0", "PMI_SIZE": "1"}],
    ids=["no launcher", "Slurm's batch script", "one rank"],
)
def test_single_processes_need_no_mpi(launched, variables):
    launched(variables, 0)
    assert World.connect().size == 1


@pytest.mark.parametrize("launcher", LAUNCHED)
def test_mpirun_without_mpi4py_is_told(launched, launcher, capsys, tmp_path):
    launched(LAUNCHED[launcher], 0)
    assert disks(*SMALL, "--output", tmp_path) == 2
    assert "needs mpi4py" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["dpd", "bench disks"])
def test_several_ranks_of_a_command_for_one_process_are_refused(launched, command, capsys):
    launched(LAUNCHED["MPICH"], 4)
    assert cli.run(command.split()) == 2
    assert (
        f"manymove {command.split()[0]} is for one process, but mpirun or srun has started 4"
        in (capsys.readouterr().err)
    )


@pytest.mark.parametrize("launcher", ["Open MPI", "MPICH", "MVAPICH", "srun"])
def test_ranks_that_do_not_see_each_other_are_refused(launched, launcher, capsys, tmp_path):
    """They would all write the same files."""
    launched(LAUNCHED[launcher], 1)
    assert disks(*SMALL, "--output", tmp_path) == 2
    assert "with 4 ranks, but mpi4py sees one" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_ranks_under_pmix_that_do_not_see_each_other_are_refused(launched):
    launched({"PMIX_RANK": "2"}, 1)
    with pytest.raises(RuntimeError, match="PMIX_RANK = 2, but mpi4py sees one"):
        World.connect()


def test_replicas_that_share_a_device_have_the_results_of_runs_alone(device, tmp_path):
    count, options = 5, [*SMALL[:-1], device, "--quiet", "--frames", 2]
    together = tmp_path / "together"
    assert disks(*options, "--output", together, "--replicas", count, "--seed", 3) == 0
    summary = summary_of(together)
    for index, found in enumerate(summary["replicas"]):
        alone = tmp_path / f"alone-{index}"
        assert disks(*options, "--output", alone, "--seed", 3 + index) == 0
        assert summary_of(alone)["replicas"] == [{**found, "replica": 0}]
        frames = "trajectory.gsd" if index == 0 else f"trajectory-{index}.gsd"
        with (
            gsd.hoomd.open(together / frames) as ours,
            gsd.hoomd.open(alone / "trajectory.gsd") as theirs,
        ):
            assert len(ours) == len(theirs) == 2
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one.particles.position, other.particles.position)
