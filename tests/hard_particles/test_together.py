"""Small systems that share launches on a GPU: each has the trajectory of its run alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier

import numpy as np
import pytest
from machine import GPU

from manymove import HardDisks, Replicas, _core, load
from manymove.hard_particles import job
from manymove.hard_particles.replica import Replica
from manymove.hard_particles.settings import DiskSettings
from manymove.jobs.world import World

pytestmark = GPU
KINDS = [(100, 0.5), (1000, 0.3), (4096, 0.7), (333, 0.65), (10_000, 0.6)]


def make(i, seed=5):
    N, packing_fraction = KINDS[i % len(KINDS)]
    return HardDisks.random(N, packing_fraction, seed=seed + i, device="cuda")


def sample(disks, i):
    if i % 3:
        disks.sample_pressure(every=1 + i % 4, record=(1 + i % 4) * (1 + i % 7))


def results(disks):
    rows = None if disks._sampling is None else disks.to_dataframe().to_numpy()
    return disks.state_hash, (disks.cycles, disks.trial_moves, disks.accepted_moves), rows


def alone(i, cycles):
    disks = make(i)
    sample(disks, i)
    for each in cycles:
        disks.run_cycles(each)
    return results(disks)


def same(found, expected):
    assert found[:2] == expected[:2]
    if expected[2] is None:
        assert found[2] is None
    else:
        np.testing.assert_array_equal(found[2], expected[2])


def in_group(count, task):
    """Results of task(disks, i) of disks in a group, in threads of their own."""
    group = _core.HardParticlesGroup()
    all_disks = [make(i) for i in range(count)]
    for i, disks in enumerate(all_disks):
        assert disks._join(group)
        sample(disks, i)
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(task, all_disks, range(count)))


@pytest.mark.parametrize("count", [2, 5, 64])
def test_systems_of_a_group_have_the_trajectories_of_their_runs_alone(count):
    cycles = [[37 + 3 * i, 1, 90 - i] for i in range(count)]

    def task(disks, i):
        for each in cycles[i]:
            disks.run_cycles(each)
        return results(disks)

    for i, found in enumerate(in_group(count, task)):
        same(found, alone(i, cycles[i]))


def test_a_full_ring_of_rows_is_fetched():
    def task(disks, i):
        disks.sample_pressure(every=1, record=1)
        disks.run_cycles(2500)
        return results(disks)

    for i, found in enumerate(in_group(3, task)):
        same(found, task(make(i), i))


def test_a_system_may_save_fail_leave_or_vanish(tmp_path):
    def task(disks, i):
        disks.run_cycles(20)
        if i == 0:
            disks.save(tmp_path / "disks.state")
        elif i == 1:
            with pytest.raises(ValueError, match="cycles"):
                disks.run_cycles(-1)
        elif i == 2:
            disks._join(None)
        elif i == 3:
            del disks
            return None
        disks.run_cycles(50 + i)
        return results(disks)

    for i, found in enumerate(in_group(6, task)):
        if found:
            same(found, alone(i, [20, 50 + i]))
    disks = load(tmp_path / "disks.state", device="cuda")
    disks.run_cycles(50)
    assert disks.state_hash == alone(0, [20, 50])[0]


def test_an_error_of_a_callback_ends_that_replica():
    replicas = Replicas(partial(HardDisks.random, 1000, 0.5), 8, seed=1, device="cuda")

    def fail(disks):
        if disks.seed == 2:
            raise ValueError("of this one")

    with pytest.raises(ValueError, match="replica 1: of this one"):
        replicas.run(1e9, [(100, fail)])
    replicas.run(10)


def check_shared(replicas):
    """All replicas make cycles at the same time, although a GPU has fewer seats."""
    meeting, met = Barrier(len(replicas), timeout=60), set()

    def meet(disks):
        if disks.seed not in met:
            met.add(disks.seed)
            meeting.wait()

    replicas.run(100, [(1, meet)])


@pytest.mark.parametrize("count", [4, 40])
def test_replicas_share_launches_and_have_the_results_of_runs_alone(count):
    makes = [partial(HardDisks.random, *KINDS[i % len(KINDS)]) for i in range(count)]
    replicas = Replicas(makes, seed=5, device="cuda")
    check_shared(replicas)
    replicas.map(lambda disks: disks.sample_pressure(every=2, record=10))
    replicas.run(300)
    for i, found in enumerate(replicas.map(results)):
        disks = make(i)
        disks.run(100)
        disks.sample_pressure(every=2, record=10)
        disks.run(300)
        same(found, results(disks))


def test_few_replicas_and_a_system_that_fills_the_device_run_alone():
    few = Replicas(partial(HardDisks.random, 1000, 0.5), 3, seed=1, device="cuda")
    assert few._team._group is None
    large = HardDisks.random(200_000, 0.5, seed=1, device="cuda")
    assert not large._join(_core.HardParticlesGroup())


def test_replicas_of_a_command_share_launches(tmp_path, monkeypatch):
    count, course = 20, Replica._course
    meeting = Barrier(count, timeout=60)

    def of_all(self, engine):
        meeting.wait()  # more than a GPU has seats
        course(self, engine)

    monkeypatch.setattr(Replica, "_course", of_all)
    settings = DiskSettings(
        particles=500, packing_fraction=0.6, replicas=count, sweeps=200, equilibrate=30, seed=5,
        device="cuda", output=tmp_path / "many", quiet=True,
    )  # fmt: skip
    summary, complete = job.run(settings, World())
    assert complete
    monkeypatch.undo()
    few, _ = job.run(replace(settings, replicas=3, output=tmp_path / "few"), World())
    assert few["replicas"] == summary["replicas"][:3]
