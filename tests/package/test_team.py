"""Threads and seats of replicas, with simulations that only say whether they share launches."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref
from contextlib import nullcontext
from functools import partial
from threading import Barrier, Lock
from time import sleep

import pytest

from manymove import Replicas
from manymove.jobs import limits, team
from manymove.jobs.progress import StopRequest
from manymove.jobs.world import World

COUNT, SEATS = 40, 16


class One:
    """A simulation that may share launches."""

    _longer = 1.0

    def __init__(self, shares=True):
        self.shares, self.joined = shares, None

    def _join(self, group):
        self.joined = group
        return self.shares and group is not None


@pytest.fixture
def of_gpu(monkeypatch):
    """A team of replicas on a device that it takes for a GPU."""
    monkeypatch.setattr(team, "on_gpu", lambda device: True)
    monkeypatch.setattr(team._core, "EngineGroup", object)

    def make(count=COUNT):
        return team.Team(World(), range(count), "cuda:0", None)

    return make


@pytest.mark.parametrize("seated", [False, True])
def test_more_replicas_run_at_a_time_if_they_share_launches(of_gpu, seated):
    one, simulations, meeting = of_gpu(), [One() for _ in range(COUNT)], Barrier(COUNT, timeout=30)

    def task(slot):
        with one.seats if seated else nullcontext():
            with one.sharing(simulations[slot], seated=seated):
                meeting.wait()
                assert simulations[slot].joined is not None
        return slot

    for _ in range(2):
        assert one.run(task, StopRequest(), together=True) == [*range(COUNT)]
    assert one.seats._value == SEATS
    assert {(each.joined, each._longer) for each in simulations} == {(None, 1.0)}


@pytest.mark.parametrize("seated", [False, True])
def test_others_wait_for_a_seat(of_gpu, seated):
    one, lock, now, most = of_gpu(), Lock(), 0, 0

    def task(slot):
        nonlocal now, most
        with one.seats if seated else nullcontext():
            with one.sharing(One(shares=False), seated=seated):
                with lock:
                    now += 1
                    most = max(most, now)
                sleep(0.01)
                with lock:
                    now -= 1

    one.run(task, StopRequest(), together=True)
    assert 1 < most <= SEATS and one.seats._value == SEATS


@pytest.mark.parametrize("shares", [False, True])
def test_the_first_error_ends_the_others(of_gpu, shares):
    one, begun, lock, stop = of_gpu(1000), [], Lock(), StopRequest()

    def task(slot):
        with one.sharing(One(shares), seated=False):
            stop.check()
            with lock:
                begun.append(slot)
                fails = len(begun) == 4
            if fails:
                raise OSError("the disk is full")
            while not stop.requested:
                sleep(0.001)

    with pytest.raises(OSError, match="the disk is full"):
        one.run(task, stop, together=True)
    assert one.seats._value == SEATS
    assert shares or len(begun) <= SEATS + 1  # one may take the seat of the one that fails
    assert one.run(lambda slot: slot, StopRequest()) == [*range(1000)]


def test_few_replicas_and_those_of_a_cpu_do_not_share_launches(of_gpu, monkeypatch):
    assert of_gpu(3)._group is None and of_gpu(4)._group is not None
    monkeypatch.setattr(team, "on_gpu", lambda device: False)
    assert of_gpu()._group is None


def test_threads_are_kept_until_the_team_is_gone():
    before, seen = threading.active_count(), []
    one = team.Team(World(), range(6), "cpu", 3)

    def task(slot):
        seen.append(threading.get_ident())
        sleep(0.01)

    for _ in range(3):
        one.run(task, StopRequest())
    assert len({*seen}) <= 3 and len(seen) == 18
    del one
    gc.collect()
    for _ in range(500):
        if threading.active_count() <= before:
            break
        sleep(0.01)
    assert threading.active_count() <= before


def test_a_task_may_run_tasks_itself():
    one = team.Team(World(), range(3), "cpu", 1)

    def task(slot):
        return one.run(lambda other: (slot, other), StopRequest())[slot]

    assert one.run(task, StopRequest()) == [(0, 0), (1, 1), (2, 2)]


def test_no_thread_keeps_a_task_after_a_run(of_gpu):
    one, simulation = of_gpu(200), One()
    known = weakref.ref(simulation)
    one.run(partial(lambda simulation, slot: simulation.shares, simulation), StopRequest())
    del simulation
    assert known() is None


@pytest.mark.parametrize("seated", [False, True])
@pytest.mark.parametrize("first", [None, OSError("the disk is full")])
def test_an_error_at_the_end_of_sharing_leaves_the_seats_right(of_gpu, seated, first):
    class Failing(One):
        def _join(self, group):
            if group is None:
                raise RuntimeError("of the device")
            return True

    one, simulation = of_gpu(), Failing()
    with pytest.raises(RuntimeError if first is None else OSError):
        with one.seats if seated else nullcontext():
            with one.sharing(simulation, seated=seated):
                if first:
                    raise first
    assert one.seats._value == SEATS and simulation._longer == 1.0


@pytest.mark.parametrize("files, most", [(1024, 480), (300, 118), (70, SEATS), (1 << 20, 1000)])
def test_replicas_at_a_time_have_few_enough_open_files(of_gpu, monkeypatch, files, most):
    monkeypatch.setattr(team.resource, "getrlimit", lambda which: (files, files))
    assert of_gpu(1000)._together == most


class Slow(One):
    """A simulation whose pieces take 0.1 s."""

    _COUNTER, elapsed, first = "sweeps", 0, None

    def _end_after(self, n):
        return n

    def run(self, n, calls):
        while self.elapsed < n:
            sleep(0.1)
            self.elapsed += 1
            if self.elapsed == 2 and self.first.acquire(blocking=False):
                os.kill(os.getpid(), signal.SIGTERM)
            self._after_piece(self)


def test_replicas_that_wait_for_a_seat_end_at_once(of_gpu, monkeypatch):
    monkeypatch.setattr(Slow, "first", Lock())
    replicas, count = object.__new__(Replicas), 300
    replicas._settle(count, None, "cuda:0", None)
    replicas._simulations = [Slow(shares=False) for _ in range(count)]
    with pytest.raises(KeyboardInterrupt):
        replicas.run(1e6)
    assert 1 <= sum(each.elapsed > 0 for each in replicas._simulations) <= SEATS
    assert replicas._team.seats._value == SEATS


def test_the_memory_of_a_gpu_limits_systems_that_run_together(monkeypatch):
    gpus = [{"memory": 2.0}, {"memory": 1.0}]
    monkeypatch.setattr(limits._core, "cuda_devices", lambda: gpus)
    assert limits.memory_of("cpu") == limits.memory_of_this_machine() > 2
    assert [limits.memory_of(name) for name in ("auto", "cuda", "cuda:0", "cuda:1")] == [2, 2, 2, 1]
    # A GPU that does not exist is the error of the engine.
    assert limits.memory_of("cuda:2") == limits.memory_of_this_machine()
