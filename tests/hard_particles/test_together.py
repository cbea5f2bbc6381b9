"""Small systems that share launches on a GPU: each has the trajectory of its run alone."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Barrier

import numpy as np
import pytest
from laws import another
from machine import on_gpu

from manymove import (
    ConstantPressure,
    HardDisks,
    HardSpheres,
    Mixture,
    Replicas,
    Swaps,
    _core,
    load,
)
from manymove.hard_particles import job
from manymove.hard_particles.replica import Replica
from manymove.hard_particles.settings import DiskSettings
from manymove.jobs.world import World

DISKS = [(100, 0.5), (1000, 0.3), (4096, 0.7), (333, 0.65), (10_000, 0.6)]
SPHERES = [(100, 0.3), (1000, 0.2), (4096, 0.5), (333, 0.45), (8000, 0.4)]


def equal(N):
    return 1.0


def by_particle(N):
    return np.linspace(0.7, 1.0, N)


def additive_types(N):
    return Mixture(np.arange(N) % 3, [[1, 0.9, 0.85], [0.9, 0.8, 0.75], [0.85, 0.75, 0.7]])


def other_contacts(N):
    return Mixture(np.arange(N) % 2, [[1, 0.95], [0.95, 0.8]])


def at_pressure(i):
    return {"pressure": ConstantPressure(3.0 + i, every=1 + i % 3)}


def with_edges(i):
    return {"pressure": ConstantPressure(3.0 + i, mode="length", every=5 + i % 3)}


def with_swaps(i):
    return {"swaps": Swaps(2, every=1 + i % 3)}


def with_both(i):
    return at_pressure(i) | with_swaps(i + 1)


# A class, its diameters and its other moves, for each law of contact and number of dimensions.
CLASSES = (HardDisks, HardSpheres)
KINDS = {
    f"{cls.__name__}-{diameter.__name__}": (cls, diameter, lambda i: {})
    for cls in CLASSES
    for diameter in (equal, by_particle, additive_types, other_contacts)
}
KINDS |= {
    f"{cls.__name__}-{diameter.__name__}-{moves.__name__}": (cls, diameter, moves)
    for cls in CLASSES
    for diameter, moves in [
        *((each, at_pressure) for each in (equal, by_particle, additive_types, other_contacts)),
        (equal, with_edges),
        (by_particle, with_swaps),
        (by_particle, with_both),
    ]
}
FEW = [
    "HardDisks-equal",
    "HardSpheres-equal",
    "HardSpheres-other_contacts",
    "HardDisks-equal-at_pressure",
    "HardSpheres-by_particle-with_both",
]


def maker(kind, i):
    cls, diameter, moves = KINDS[kind]
    sizes = DISKS if cls is HardDisks else SPHERES
    N, packing_fraction = sizes[i % len(sizes)]
    return partial(cls.random, N, packing_fraction, diameter=diameter(N), **moves(i))


def make(kind, i):
    return maker(kind, i)(seed=5 + i, device="cuda")


def sample(system, i):
    if system.constant_pressure is not None:
        system.sample_volume(record=2 + i % 5)
    elif i % 3:
        system.sample_pressure(every=1 + i % 4, record=(1 + i % 4) * (1 + i % 7))


def results(system):
    rows = system.to_dataframe().to_numpy() if system._samplings else None
    counts = (system.cycles, system.trial_moves, system.accepted_moves)
    moves = (*system._engine.volume_counters, *system._engine.swap_counters)
    return system.state_hash, (*counts, *moves), rows


def alone(kind, i, cycles):
    system = make(kind, i)
    sample(system, i)
    for each in cycles:
        system.run_cycles(each)
    return results(system)


def same(found, expected):
    assert found[:2] == expected[:2]
    if expected[2] is None:
        assert found[2] is None
    else:
        np.testing.assert_array_equal(found[2], expected[2])


def in_group(kinds, task):
    """Results of task(system, i) of systems in a group, in threads of their own."""
    group = _core.EngineGroup()
    systems = [make(kind, i) for i, kind in enumerate(kinds)]
    for i, system in enumerate(systems):
        assert system._join(group)
        sample(system, i)
    with ThreadPoolExecutor(len(kinds)) as pool:
        return list(pool.map(task, systems, range(len(kinds))))


@on_gpu
@pytest.mark.parametrize(
    "kinds",
    [
        *((pytest.param if kind in FEW else another)([kind] * 5) for kind in KINDS),
        *([kind] * 64 for kind in (*FEW[:2], *FEW[3:])),
        FEW[:1] * 2,
        list(KINDS) * 2,
    ],
    ids=lambda kinds: f"{len(kinds)}-{kinds[0] if len(set(kinds)) == 1 else 'of all'}",
)
def test_systems_of_a_group_have_the_trajectories_of_their_runs_alone(kinds):
    count = len(kinds)
    cycles = [[37 + 3 * i, 1, 90 - i] for i in range(count)]

    def task(system, i):
        for each in cycles[i]:
            system.run_cycles(each)
        return results(system)

    for i, found in enumerate(in_group(kinds, task)):
        same(found, alone(kinds[i], i, cycles[i]))


@on_gpu
@pytest.mark.parametrize("kind", FEW[:3])
def test_a_full_ring_of_rows_is_fetched(kind):
    def task(system, i):
        system.sample_pressure(every=1, record=1)
        system.run_cycles(2500)
        return results(system)

    for i, found in enumerate(in_group([kind] * 3, task)):
        same(found, task(make(kind, i), i))


@on_gpu
@pytest.mark.parametrize("kind", FEW)
def test_a_system_may_save_fail_leave_or_vanish(kind, tmp_path):
    def task(system, i):
        system.run_cycles(20)
        if i == 0:
            system.save(tmp_path / "system.state")
        elif i == 1:
            with pytest.raises(ValueError, match="cycles"):
                system.run_cycles(-1)
        elif i == 2:
            system._join(None)
        elif i == 3:
            del system
            return None
        system.run_cycles(50 + i)
        return results(system)

    for i, found in enumerate(in_group([kind] * 6, task)):
        if found:
            same(found, alone(kind, i, [20, 50 + i]))
    system = load(tmp_path / "system.state", device="cuda")
    system.run_cycles(50)
    assert system.state_hash == alone(kind, 0, [20, 50])[0]


@on_gpu
@pytest.mark.parametrize("kind", FEW)
def test_an_error_of_a_callback_ends_that_replica(kind):
    replicas = Replicas(maker(kind, 1), 8, seed=1, device="cuda")

    def fail(system):
        if system.seed == 2:
            raise ValueError("of this one")

    with pytest.raises(ValueError, match="replica 1: of this one"):
        replicas.run(1e9, [(100, fail)])
    replicas.run(10)


def record(system):
    if system.constant_pressure is None:
        system.sample_pressure(every=2, record=10)
    else:
        system.sample_volume(record=10)


def check_shared(replicas):
    """All replicas make cycles at the same time, although a GPU has fewer seats."""
    meeting, met = Barrier(len(replicas), timeout=60), set()

    def meet(system):
        if system.seed not in met:
            met.add(system.seed)
            meeting.wait()

    replicas.run(100, [(1, meet)])


@on_gpu
@pytest.mark.parametrize("kind", FEW)
def test_replicas_that_are_interrupted_continue_with_the_results_of_whole_runs(kind):
    replicas = Replicas([maker(kind, i) for i in range(6)], seed=5, device="cuda")

    def interrupt(system):
        if system.seed == 7 and system.cycles == 100:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        replicas.run_until(200_000, [(100, interrupt)])
    cycles = replicas.map(lambda system: system.cycles)
    replicas.run_until(200_000)
    assert replicas.map(lambda system: system.cycles) != cycles
    for i, found in enumerate(replicas.map(results)):
        system = make(kind, i)
        system.run_until(200_000)
        same(found, results(system))


@on_gpu
@pytest.mark.parametrize(
    "kind, count",
    [
        *((pytest.param if kind in FEW else another)(kind, 4) for kind in KINDS),
        *((kind, 40) for kind in FEW[:2]),
    ],
)
def test_replicas_share_launches_and_have_the_results_of_runs_alone(kind, count):
    replicas = Replicas([maker(kind, i) for i in range(count)], seed=5, device="cuda")
    check_shared(replicas)
    replicas.map(record)
    replicas.run(300)
    for i, found in enumerate(replicas.map(results)):
        system = make(kind, i)
        system.run(100)
        record(system)
        system.run(300)
        same(found, results(system))


@on_gpu
@pytest.mark.parametrize("kind, N", [("HardDisks-equal", 200_000), ("HardSpheres-equal", 100_000)])
def test_few_replicas_and_a_system_that_fills_the_device_run_alone(kind, N):
    few = Replicas(maker(kind, 1), 3, seed=1, device="cuda")
    assert few._team._group is None
    cls = KINDS[kind][0]
    large = cls.random(N, 0.4, seed=1, device="cuda")
    assert not large._join(_core.EngineGroup())


def test_a_box_that_outgrows_its_lattice_ends_that_system_alone(device):
    group = _core.EngineGroup()
    pressures = [1e-6, 5.0, 5.0]
    make = lambda pressure: HardDisks.random(  # noqa: E731
        100, 0.3, pressure=ConstantPressure(pressure, repeats=50), seed=1, device=device
    )
    systems = [make(pressure) for pressure in pressures]
    assert [system._join(group) for system in systems] == 3 * [device == "cuda"]

    def task(system):
        try:
            system.run_cycles(500)
        except RuntimeError as error:
            return str(error)
        return system.state_hash

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(task, systems))
    assert "too large" in found[0]
    assert found == [task(make(pressure)) for pressure in pressures]


@on_gpu
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


@on_gpu
def test_the_points_of_a_scan_share_launches(tmp_path, monkeypatch):
    fractions, course = (0.3, 0.4, 0.5, 0.6, 0.7), Replica._course
    meeting = Barrier(4 * len(fractions), timeout=60)

    def of_all(self, engine):
        meeting.wait()  # more than a GPU has seats
        course(self, engine)

    points = [
        DiskSettings(
            particles=500, packing_fraction=phi, replicas=4, sweeps=200, equilibrate=30, seed=5,
            device="cuda", output=tmp_path / f"scan/{phi}", quiet=True,
        )
        for phi in fractions
    ]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(Replica, "_course", of_all)
        scan, complete = job.run_equation_of_state(points, tmp_path / "scan", World())
    assert complete
    for point, found in zip(points, scan["runs"], strict=True):
        output = tmp_path / f"{point.packing_fraction}"
        alone, _ = job.run(replace(point, output=output), World())
        for key in ("replicas", "state_hash", "pressure", "pressure_error"):
            assert alone[key] == found[key]
