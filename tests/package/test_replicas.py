"""Replicas of all classes on threads and ranks: each has the results of the same run alone."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import processes
import pytest
import replicas_program
from commands import CLEAN, COMMAND, MPIEXEC, summary_of
from lammps_host import needs_lammps
from processes import LIMITED, Job, on_ranks, start, until, with_support
from replicas_program import CASES, COUNT, EQUILIBRATE, HERE, LENGTH, SEED, disks, fail

import manymove
from manymove import Adsorption, Electrolyte, Estimate, HardDisks, Replicas, Salt
from manymove.analysis import pool
from manymove.io import read_frame

pytest.importorskip("pandas")
# One system of adsorbates has no error.
pytestmark = pytest.mark.filterwarnings("ignore:the error of the")

NAMES = [pytest.param(name, marks=needs_lammps if name == "fluid" else ()) for name in CASES]


def alone(name: str, index: int):
    """The run of a replica in one piece."""
    one = CASES[name][0](seed=SEED + index, device="cpu", threads=1)
    if isinstance(one, Adsorption):
        one.equilibrate(EQUILIBRATE)
    else:
        one.run(EQUILIBRATE)
        one.reset_averages()
    if isinstance(one, HardDisks):
        one.run_until(LENGTH)
    else:
        one.run(LENGTH - EQUILIBRATE)
    return one


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", NAMES)
def test_replicas_on_threads_are_simulations_alone(name, threads, tmp_path):
    found = replicas_program.run(name, None, tmp_path / "run", threads=threads)
    runs = [alone(name, index) for index in range(COUNT)]
    assert found["hashes"] == [one.state_hash for one in runs]
    assert len({*found["hashes"]}) == COUNT
    assert found["elapsed"] == [one.elapsed for one in runs]
    averages = [getattr(one, CASES[name][1]) for one in runs]
    assert found["each"] == repr(averages)
    if isinstance(averages[0], list):
        averages = [one for (one,) in averages]
        assert found["average"] == repr([pool(averages)])
    else:
        assert found["average"] == repr(pool(averages))
    again = Replicas.load(tmp_path / "run", device="cpu")
    assert manymove.load(tmp_path / "run" / "replica-1.state", "cpu").seed == SEED + 1
    table = again.to_dataframe()
    assert list(table.columns[:2]) == ["replica", "seed"]
    assert (table.seed - table.replica == SEED).all() and table.replica.nunique() == COUNT


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
@needs_lammps
def test_replicas_on_ranks_are_those_of_one_process(tmp_path):
    pytest.importorskip("mpi4py")
    names = [*CASES]
    here = {name: replicas_program.run(name, None, tmp_path / f"one-{name}") for name in names}
    ranks = processes.found("replicas_program.py", 2, "-".join(names), tmp_path, fails=False)
    assert ranks == [here, here]


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
def test_a_fault_on_one_rank_ends_the_runs_of_all(tmp_path):
    pytest.importorskip("mpi4py")
    zero, one = processes.found("replicas_program.py", 2, "faults", tmp_path, fails=False)
    assert zero["callback"] == one["callback"] == "RuntimeError: replica 1: nothing works today"
    assert zero["interrupted"] == one["interrupted"] == "KeyboardInterrupt: "
    assert zero["waiting"] == one["waiting"] == "KeyboardInterrupt: "
    assert "replica 1: packing_fraction is 0.95" in zero["input"]
    assert one["input"] == zero["input"].replace("RuntimeError", "ValueError")
    assert zero["kinds"] == one["kinds"]
    assert "simulations of one class, got HardDisks, Electrolyte" in zero["kinds"]
    assert zero["goes on"] == one["goes on"] == [True] * COUNT


def test_replicas_are_those_of_the_command(tmp_path):
    output = tmp_path / "command"
    options = "--ions 40 --sweeps 60 --equilibrate 20 --replicas 3 --seed 5 --device cpu"
    options += " --debye-length 30 --bjerrum-length 7 --geometry periodic --quiet"
    assert (
        processes.run([*COMMAND, "electrolyte", *options.split(), "--output", output]).returncode
        == 0
    )
    summary = summary_of(output)
    salt = Salt.of(40, tuple(summary["valences"]), tuple(summary["diameters_angstrom"]))
    make = partial(
        Electrolyte.random, salt, tuple(summary["box_angstrom"]), bjerrum_length=7.0,
        method=summary["method"],
    )  # fmt: skip
    replicas = Replicas(make, 3, **HERE)
    replicas.run_until(80, equilibrate=20)
    assert replicas.state_hash == summary["state_hash"]
    average = replicas.average(lambda one: one.energy_average / one.N)
    # The command adds the changes of the energy from another start.
    assert average.value == pytest.approx(summary["energy_per_ion_kT"], rel=1e-6)
    assert average.error == pytest.approx(summary["energy_per_ion_error_kT"], rel=1e-4)


def test_replicas_of_a_simulation_start_from_its_configuration():
    one = HardDisks.random(300, 0.6, seed=1, device="cpu")
    one.run(100)
    replicas = Replicas(one, 4, **HERE)
    for each in replicas.simulations:
        assert np.allclose(each.positions, one.positions, atol=1e-6)
    replicas.run(50)
    assert len({*replicas.map(lambda each: each.state_hash)}) == 4
    assert replicas.indices == [0, 1, 2, 3] and len(replicas) == 4
    assert repr(replicas) == "<Replicas: 4 of HardDisks, ranks = 1>"
    scan = [partial(HardDisks.random, 200, fraction) for fraction in (0.3, 0.5, 0.6)]
    found = Replicas(scan, **HERE).map(lambda each: each.packing_fraction)
    assert found == pytest.approx([0.3, 0.5, 0.6])


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_copies_are_refused_with_the_remedy(duplicate):
    fluids = [partial(HardDisks.random, 64, packing_fraction=0.3, pressure=p) for p in (1.0, 1.1)]
    replicas = Replicas(fluids, seed=1, device="cpu")
    for one in (replicas, manymove.ReplicaExchange(replicas, every=1, seed=1)):
        with pytest.raises(TypeError, match="cannot be copied or pickled: use save"):
            duplicate(one)


def test_devices_are_taken_in_turn():
    places = []

    def make(**place):
        places.append(place)
        return disks(**{**place, "device": "cpu"})

    Replicas(make, 5, seed=1, device=["cpu", "auto"], threads=2)
    found = {place["seed"]: (place["device"], place["threads"]) for place in places}
    assert found == {1 + i: (("cpu", "auto")[i % 2], 1) for i in range(5)}


PROGRAM = """
import sys
from pathlib import Path
from manymove import Replicas
from replicas_program import CASES, COUNT, EQUILIBRATE, HERE
name, folder, length, comm = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), None
if "ranks" in sys.argv:
    from mpi4py.MPI import COMM_WORLD as comm
if (folder / "replicas.json").exists():
    replicas = Replicas.load(folder, comm=comm, device="cpu")
else:
    replicas = Replicas(CASES[name][0], COUNT, comm=comm, **HERE)
replicas.run_until(length, equilibrate=EQUILIBRATE, folder=folder, every=0.02)
print(replicas.state_hash, repr(replicas.average(CASES[name][1])))
"""


def killed(command: list[object], folder: Path, moment: int) -> bool:
    """Kill a run after its next checkpoint. False if it had ended before."""
    state = folder / "replica-2.state"
    first = state.stat().st_mtime_ns if state.exists() else 0
    job = start(command, env=with_support())
    try:
        until(lambda: (folder / "replicas.json").exists(), job)  # afterwards the run begins
        until(lambda: state.stat().st_mtime_ns > first, job)
    except AssertionError:
        assert job.returncode == 0  # `until` says what a failed run printed
        return False
    threading.Event().wait(0.05)
    job.send_signal(moment)
    text, _ = job.communicate(timeout=60)
    if job.returncode == 0:
        return False
    assert moment == signal.SIGKILL or "KeyboardInterrupt" in text
    return True


@pytest.mark.parametrize("name", NAMES)
def test_a_killed_run_ends_as_an_uninterrupted_one(name, tmp_path):
    length = {"disks": 60_000, "ions": 10_000, "gas": 400_000, "fluid": 10_000}[name]
    for attempt in range(4):  # twice as long where the machine was too fast for the two signals
        folder = tmp_path / f"killed-{attempt}"
        command = [sys.executable, "-c", PROGRAM, name, folder, length << attempt]
        if all(killed(command, folder, moment) for moment in (signal.SIGTERM, signal.SIGKILL)):
            break
    else:
        pytest.fail("the run ended before each signal")
    ended = processes.run(command, env=with_support())
    command[-2] = tmp_path / "whole"
    whole = processes.run(command, env=with_support())
    assert whole.returncode == 0, whole.stderr
    assert ended.stdout == whole.stdout != "", ended.stderr


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rank_that_is_lost_ends_the_job_and_any_number_of_ranks_continues(number, tmp_path):
    pytest.importorskip("mpi4py")
    length = 60_000
    program = [sys.executable, "-m", "mpi4py", "-c", PROGRAM, "disks"]
    whole = processes.run([*program, tmp_path / "whole", length], env=with_support())
    folder = tmp_path / "lost"
    command = [*on_ranks(2), *program, folder, length, "ranks"]
    job = Job(command, env=with_support({**CLEAN, **LIMITED}))
    job.until(lambda: (folder / "replicas.json").exists())
    job.send(number, last_only=True)
    text = job.failure()
    if number == signal.SIGSTOP:
        assert "rank 1 of 2 has been silent for 2 s" in text
    ended = processes.run([*program, folder, length], env=with_support())
    assert ended.stdout == whole.stdout != "", ended.stderr


def test_ctrl_c_leaves_states_from_which_the_run_goes_on(tmp_path):
    replicas = Replicas(disks, COUNT, **HERE)
    threading.Timer(0.5, partial(os.kill, os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        replicas.run_until(10**9, folder=tmp_path)
    done = replicas.elapsed
    again = Replicas.load(tmp_path, device="cpu")
    assert again.elapsed == done and again.state_hash == replicas.state_hash
    end = max(one.sweeps_per_cycle * (one.cycles + 5) for one in replicas.simulations)
    for each in (replicas, again):
        each.run_until(end)
    assert again.state_hash == replicas.state_hash and len({*again.elapsed}) == 1


def test_an_error_of_one_replica_is_that_of_all():
    replicas = Replicas(disks, COUNT, **HERE)
    with pytest.raises(RuntimeError, match="replica 1: nothing works today") as error:
        replicas.run(10**9, [(20, fail)])
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    before = replicas.elapsed
    replicas.run(100)
    assert all(a < b for a, b in zip(before, replicas.elapsed, strict=True))


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"count": None}, ValueError, "count must be the number of replicas, got None"),
        ({"count": 0}, ValueError, "count must be positive and below 2..31, got 0"),
        ({"count": 2.5}, TypeError, "count must be an integer, got 2.5"),
        ({"make": []}, ValueError, "make must have an item for each replica, got none"),
        ({"make": [disks, disks]}, ValueError, "count must be the length 2 of make, got 3"),
        (
            {"make": 7},
            TypeError,
            "replica 0: make must be a function that returns a simulation, or a simulation, got 7",
        ),
        ({"make": object}, TypeError, "replica 0: make must be a function .*<class 'object'>"),
        (
            {"make": lambda seed, **place: disks(seed=1, **place)},
            ValueError,
            r"make must use its seed; the replicas have the seeds \[1, 1, 1\]",
        ),
        (
            {"make": lambda **place: 7},
            TypeError,
            "make must return a simulation of manymove, got 7",
        ),
        ({"seed": 1.5}, TypeError, "seed must be an integer, got 1.5"),
        ({"seed": 2**64 - 2}, ValueError, r"replica 2: seed must be in \[0, 2\*\*64\)"),
        ({"threads": 0}, ValueError, "threads must be positive"),
        ({"device": []}, TypeError, "device must be a string or a sequence of strings"),
        ({"device": "tpu"}, ValueError, 'replica .: unknown device "tpu"'),
        ({"comm": 3}, TypeError, "comm must be a communicator of mpi4py, got 3"),
    ],
)
def test_bad_arguments_are_refused(given, kind, message):
    with pytest.raises(kind, match=message):
        Replicas(**{"make": disks, "count": 3, **HERE, **given})


def test_one_wrong_system_of_many_is_named_and_nothing_starts(tmp_path):
    made = []

    def make(packing_fraction, **place):
        made.append(HardDisks.random(100, packing_fraction, **place))
        return made[-1]

    fractions = [0.5, 0.6, 1.2, 0.65]
    with pytest.raises(ValueError, match=r"replica 2: packing_fraction is 1\.2; random"):
        Replicas([partial(make, phi) for phi in fractions], **HERE)
    assert made and {one.cycles for one in made} == {0}


def test_bad_calls_are_refused(tmp_path):
    replicas = Replicas(disks, 2, **HERE)
    for call, kind, message in (
        (lambda: replicas.run(-1), ValueError, "n must be finite and not negative, got -1"),
        (lambda: replicas.run("long"), TypeError, "n must be a number, got 'long'"),
        (lambda: replicas.run(1, [(0, print)]), ValueError, "every must be positive"),
        (lambda: replicas.run(1, every=-1), ValueError, "every must not be negative"),
        (
            lambda: replicas.run_until(10, equilibrate=11),
            ValueError,
            "equilibrate must be from 0 to n = 10, got 11",
        ),
        (lambda: replicas.average("pressur"), AttributeError, "replica .: .*pressur"),
        (lambda: replicas.average("cycles"), TypeError, "must be an Estimate.*'cycles' is 0"),
        (lambda: replicas.average("pressure_average"), RuntimeError, "replica .: no pressure"),
        (lambda: Replicas.load(tmp_path), FileNotFoundError, "replicas.json is missing"),
    ):
        with pytest.raises(kind, match=message):
            call()
    with pytest.raises(AttributeError):
        replicas.simulations = []
    assert replicas.elapsed == [0, 0]
    replicas.save(tmp_path)
    other = Replicas(disks, 1, **HERE)
    for write in (other.save, lambda folder: other.run(1, folder=folder)):
        with pytest.raises(FileExistsError, match="has other replicas: load them"):
            write(tmp_path)
    other.save(tmp_path, overwrite=True)
    with pytest.raises(FileNotFoundError, match="replica 1: "):  # one of two
        (tmp_path / "replica-1.state").unlink()
        (tmp_path / "replicas.json").write_text('{"replicas": 2}')
        Replicas.load(tmp_path)
    replicas = Replicas(disks, 2, **HERE)
    replicas.save(tmp_path, overwrite=True)
    state = tmp_path / "replica-1.state"
    state.write_bytes(state.read_bytes()[:-100])
    with pytest.raises(ValueError, match="replica 1: "):
        Replicas.load(tmp_path)
    (tmp_path / "replicas.json").write_text('{"replicas": -1}')
    with pytest.raises(ValueError, match=r"replicas.json is damaged: replicas must be positive"):
        Replicas.load(tmp_path)


def test_each_replica_writes_its_own_trajectory(tmp_path):
    replicas = Replicas(disks, 2, **HERE)
    replicas.write_gsd(tmp_path / "run", every=5)
    replicas.run_until(200)
    replicas.write_gsd(None)
    hashes = replicas.map(lambda one: one.state_hash)
    replicas.write_gsd(tmp_path / "end")
    for index, one in enumerate(replicas.simulations):
        assert read_frame(tmp_path / "run" / f"replica-{index}.gsd").step % 5 == 0
        end = read_frame(tmp_path / "end" / f"replica-{index}.gsd")
        assert end.step == one.elapsed
        assert np.allclose(end.positions, one.positions, atol=1e-5)
    plain = Replicas(disks, 2, **HERE)
    plain.run_until(200)
    assert plain.map(lambda one: one.state_hash) == hashes
    with pytest.raises(ValueError, match=r"replica .: every must be positive"):
        replicas.write_gsd(tmp_path, every=0)


def test_averages_of_lists_and_dictionaries_are_pooled_item_by_item():
    replicas = Replicas(disks, 2, **HERE)
    low, high = Estimate(1.0, 0.3), Estimate(2.0, 0.4)
    found = replicas.average(lambda one: {"a": [low if one.seed == SEED else high]})
    assert found == {"a": [pool([low, high])]}
