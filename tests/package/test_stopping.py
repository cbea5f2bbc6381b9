"""Runs that end at a target error: the coverage of their errors, and the queue of systems."""

from __future__ import annotations

import math
import sys
from functools import partial
from pathlib import Path

import numpy as np
import processes
import pytest
from commands import MPIEXEC
from lammps_host import needs_lammps
from machine import on_gpu
from processes import on_ranks, start, until, with_support
from replicas_program import fluid
from scipy.signal import lfilter

from manymove import Adsorption, Electrolyte, HardDisks, Replicas, Salt
from manymove.analysis import estimate, stopping
from manymove.analysis.stopping import correlation_times, decisions, is_reached, share_of_mean

RUNS, LENGTH, PHI = 250, 2048, 0.95
# Least and largest fractions of the intervals of one and of two standard errors that contain the
# mean, nominally 68 and 95 %. The seeds are fixed. With others, 250 intervals with the nominal
# probabilities would leave the bounds in 3e-5 of all runs of the tests.
BOUNDS = ((0.56, 0.80), (0.88, 1.0))
# Mean of 1 / r over the unit cube, in whose center r = 0.
CUBE = 2.380077


def within_bounds(averages, mean: float) -> list[bool]:
    off = np.array([abs(each.value - mean) / each.error for each in averages])
    shares = [(off < k).mean() for k in (1, 2)]
    return [low <= share <= high for share, (low, high) in zip(shares, BOUNDS, strict=True)]


@pytest.mark.parametrize("x", [0.1, 1, 4, 10, 100])
def test_correlation_times_follow_from_the_share(x):
    share = 2 / x * (1 - (1 - math.exp(-x)) / x)
    assert correlation_times(share) == pytest.approx(x, rel=1e-9)


def test_correlation_times_of_the_limits():
    assert correlation_times(0.0) == math.inf and correlation_times(1.0) == 0


@pytest.mark.parametrize(
    ("means", "variance", "share"),
    [([1, 3], 4.0, 0.5), ([1, 3], 0.0, math.inf), ([2, 2], 0.0, 0.0), ([2, 2], 4.0, 0.0)],
)
def test_the_share_is_a_ratio_of_variances(means, variance, share):
    assert share_of_mean(np.array(means), variance) == share


def stopped_series(target: float):
    """The averages of autoregressive series with mean 1 that end at the target error."""
    random = np.random.default_rng(7)
    for _ in range(RUNS):
        noise = random.normal(size=LENGTH) * math.sqrt(1 - PHI**2)
        noise[0] = random.normal()
        series = 1 + 0.1 * lfilter([1], [1, -PHI], noise)
        for end in decisions(0, LENGTH):
            if end >= 20 and is_reached(series[:end], target):
                break
        yield estimate(series[:end])


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_errors_of_series_that_end_at_a_target_error_contain_the_mean(share, monkeypatch):
    """With fewer correlation times, or without the condition, the same bounds are missed."""
    target = 0.1 * math.sqrt((1 + PHI) / (1 - PHI) / (share * LENGTH))
    assert within_bounds(stopped_series(target), 1.0) == [True, True]
    for fewer in (20, 0):
        monkeypatch.setattr(stopping, "_TIMES", fewer)
        assert within_bounds(stopped_series(target), 1.0) == [False, False]


def ideal_ions(**place) -> Electrolyte:
    """Eight ions that hardly interact."""
    salt = Salt.of(8, (1, -1), (0.01, 0.01))
    return Electrolyte.random(salt, (100.0, 100.0, 100.0), bjerrum_length=0.01, **place)


def test_errors_of_ions_that_end_at_a_target_error_contain_the_exact_energy(monkeypatch):
    """The energy of an ideal gas of N ions is -N / 2 pairs of opposite charges."""
    exact = -8 / 2 * 0.01 * CUBE / 100

    def averages():
        many = Replicas(ideal_ions, RUNS, seed=3, device="cpu")
        reached = many.run_until(4000, equilibrate=100, target_error=0.07)
        assert np.mean(reached) > 0.9 and np.mean(many.elapsed) < 3000
        assert len({*many.elapsed}) > 5
        return many.map(lambda one: one.energy_average)

    assert within_bounds(averages(), exact) == [True, True]


def test_independent_records_need_fifty_and_a_small_error():
    random = np.random.default_rng(1)
    values = 10 + random.normal(size=4000)
    assert not is_reached(values[:45], 1.0)
    assert is_reached(values[:80], 0.02)
    assert not is_reached(values, 0.001)
    assert not is_reached(np.full(100, 3.0), 0.1)
    assert decisions(10, 13) == [11, 12, 13]
    assert decisions(0, 128) == [*range(2, 129, 2)]
    assert decisions(0.5, 128.5)[::63] == [2.5, 128.5]
    assert decisions(100, 1700, 500) == [500, 1000, 1500, 1700]


def disks(**place) -> HardDisks:
    one = HardDisks.random(64, 0.3 + 0.02 * (place["seed"] % 5), **place)
    one.sample_pressure(every=1, record=40)
    return one


RUN = {"n": 30_000, "equilibrate": 300, "target_error": 0.03}


def found(many: Replicas) -> tuple:
    averages = many.map(lambda one: repr(one.pressure_average))
    return many.elapsed, many.state_hash, averages


@pytest.fixture(scope="module")
def whole() -> tuple:
    many = Replicas(disks, 7, seed=1, device="cpu", threads=1)
    reached = many.run_until(**RUN)
    assert all(reached) and len({*many.elapsed}) > 2
    assert max(many.elapsed) < many.simulations[0]._end_of(RUN["n"])
    assert many.run_until(**RUN) == reached
    return reached, *found(many)


def test_a_queue_of_more_systems_than_threads_ends_as_each_alone(whole):
    many = Replicas(disks, 7, seed=1, device="cpu", threads=3)
    reached = many.run_until(**RUN)
    assert (reached, *found(many)) == whole
    for index in (0, 6):
        one = Replicas(disks, 1, seed=1 + index, device="cpu")
        assert one.run_until(**RUN) == [True]
        assert one.elapsed == [whole[1][index]]


@on_gpu
def test_systems_that_share_launches_end_as_each_alone(whole):
    many = Replicas(disks, 7, seed=1, device="cuda")
    reached = many.run_until(**RUN)
    assert (reached, *found(many)) == whole


def test_a_system_that_does_not_reach_the_target_ends_at_the_maximum_length():
    many = Replicas(disks, 2, seed=1, device="cpu")
    assert many.run_until(2000, equilibrate=100, target_error=1e-5) == [False, False]
    assert many.elapsed == [one._end_of(2000) for one in many.simulations]
    plain = Replicas(disks, 2, seed=1, device="cpu")
    assert plain.run_until(2000, equilibrate=100) is None
    assert plain.state_hash == many.state_hash


@needs_lammps
def test_fluids_end_at_a_target_error_of_the_pressure():
    runs = [Replicas(fluid, 2, seed=1, device="cpu") for _ in range(3)]
    for many, target in zip(runs, (None, 1e-9, 0.05), strict=True):
        reached = many.run_until(4000, equilibrate=500, target_error=target)
        assert reached == {None: None, 1e-9: [False] * 2, 0.05: [True] * 2}[target]
    assert runs[0].state_hash == runs[1].state_hash
    records = [many.map(lambda one: one.records) for many in runs]
    np.testing.assert_array_equal(records[0], records[1])
    for whole, short in zip(records[0], records[2], strict=True):
        assert 50 <= len(short) < len(whole)
        np.testing.assert_array_equal(whole[: len(short)], short)


def test_systems_of_adsorbates_end_at_a_target_error():
    make = partial(Adsorption, "MFI", [0], systems=16, fugacity=1.0, method="plj")
    many = Replicas(make, 2, seed=1, device="cpu")
    reached = many.run_until(200_000, equilibrate=20_000, target_error=0.1)
    assert reached == [True, True] and max(many.elapsed) < 200_000
    for loading in many.map(lambda one: one.loading):
        assert loading[0].error <= 0.1 * loading[0].value
    single = Replicas(partial(make, systems=1), 1, seed=1, device="cpu")
    assert single.run_until(2000, target_error=0.5) == [False]  # which has no error


PROGRAM = """
import sys
from pathlib import Path
from manymove import Replicas
from test_stopping import RUN, disks, found
folder, comm = Path(sys.argv[1]), None
if "ranks" in sys.argv:
    from mpi4py.MPI import COMM_WORLD as comm
if (folder / "replicas.json").exists():
    many = Replicas.load(folder, comm=comm, device="cpu")
else:
    many = Replicas(disks, 7, seed=1, comm=comm, device="cpu", threads=2)
reached = many.run_until(**RUN, folder=folder, every=0.02)
if comm is None or comm.rank == 0:
    print((reached, *found(many)))
else:
    found(many)
"""


def environment() -> dict[str, str]:
    here = str(Path(__file__).parent)
    env = with_support()
    return {**env, "PYTHONPATH": f"{here}:{env['PYTHONPATH']}"}


def test_a_queue_that_is_killed_ends_as_an_uninterrupted_one(whole, tmp_path):
    command = [sys.executable, "-c", PROGRAM, tmp_path / "killed"]
    state = tmp_path / "killed" / "replica-2.state"
    for _ in range(2):
        first = state.stat().st_mtime_ns if state.exists() else 0
        job = start(command, env=environment())
        until(lambda: state.exists() and state.stat().st_mtime_ns > first, job)  # noqa: B023
        job.kill()
        job.communicate()
    ended = processes.run(command, env=environment())
    assert ended.stdout.strip() == repr(whole), ended.stderr


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
def test_two_ranks_share_a_queue(whole, tmp_path):
    pytest.importorskip("mpi4py")
    command = [*on_ranks(2), sys.executable, "-m", "mpi4py", "-c", PROGRAM, tmp_path, "ranks"]
    ended = processes.run(command, env=environment())
    assert ended.stdout.strip() == repr(whole), ended.stderr


def test_bad_targets_and_systems_are_refused_before_a_run():
    many = Replicas(disks, 2, seed=1, device="cpu")
    for target, kind in (
        (0, ValueError),
        (-1, ValueError),
        (math.inf, ValueError),
        ("a", TypeError),
    ):
        with pytest.raises(kind, match="target_error must be"):
            many.run_until(100, target_error=target)
    many.simulations[1].sample_pressure(None)
    with pytest.raises(RuntimeError, match="replica 1: nothing sampled: call sample_pressure"):
        many.run_until(100, target_error=0.1)
    assert many.elapsed == [0, 0]
