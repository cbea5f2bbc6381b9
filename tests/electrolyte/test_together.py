"""Small electrolytes that share launches on a GPU: each has the chain of its run alone."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import numpy as np
import pytest
from electrolytes import dense, trivalent
from laws import another
from machine import GPU

from manymove import Replicas, _core, load

pytestmark = GPU
SIZES = [100, 2048, 260, 64, 4096, 12]


def ions(kind, i, seed=3, device="cuda", **options):
    """System i of a kind."""
    kinds = {
        "cell": partial(trivalent, SIZES[i % 6]),
        "periodic": partial(trivalent, SIZES[i % 6], periodic=True),
        "ewald": partial(trivalent, SIZES[i % 6], periodic=True, surrounding="conductor"),
        "vacuum": partial(trivalent, SIZES[i % 6], periodic=True, surrounding="vacuum"),
        "dense": partial(dense, SIZES[i % 6]),
    }
    more = {} if kind == "dense" else {"seed": seed + i}
    return kinds[kind](device=device, **more, **options)


KINDS = ["cell", "periodic", "ewald", "vacuum", "dense"]


def results(system):
    return system.state_hash, system.sweeps, system.accepted_moves, system.energy


def in_group(systems, task):
    """Results of task(system, i) of systems in a group, in threads of their own."""
    group = _core.EngineGroup()
    assert all([system._join(group) for system in systems])
    with ThreadPoolExecutor(len(systems)) as pool:
        return list(pool.map(task, systems, range(len(systems))))


def advance(sweeps, system, i):
    for each in sweeps[i]:
        system.run(each)
    return results(system)


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [another(1), 6])
def test_systems_of_a_group_have_the_chains_of_their_runs_alone(kind, count, precision):
    sweeps = [[1, 20 + 7 * i, 300] for i in range(count)]
    systems = [ions(kind, i, precision=precision) for i in range(count)]
    found = in_group(systems, partial(advance, sweeps))
    for i, result in enumerate(found):
        alone = ions(kind, i, precision=precision)
        assert result == advance(sweeps, alone, i)
        assert alone.max_overlap() == 0


def test_systems_of_all_kinds_in_both_precisions_share_a_group():
    kinds = [(kind, p) for kind in KINDS for p in ("mixed", "double")] * 4
    sweeps = [[10 + i, 40] for i in range(len(kinds))]
    systems = [ions(kind, i, precision=p) for i, (kind, p) in enumerate(kinds)]
    found = in_group(systems, partial(advance, sweeps))
    for i, (kind, p) in enumerate(kinds):
        assert found[i] == advance(sweeps, ions(kind, i, precision=p), i)


def test_a_group_makes_the_chain_of_a_cpu():
    sweeps = [[5, 30]] * 3
    systems = [ions("cell", i, precision="double") for i in range(3)]
    found = in_group(systems, partial(advance, sweeps))
    for i in range(3):
        cpu = ions("cell", i, precision="double", device="cpu")
        cpu.run(35)
        assert found[i][0] == cpu.state_hash


def test_a_system_may_save_fail_leave_or_vanish(tmp_path):
    def task(system, i):
        system.run(20)
        if i == 0:
            system.save(tmp_path / "system.state")
        elif i == 1:
            with pytest.raises(ValueError, match="sweeps"):
                system.run(-1)
        elif i == 2:
            system._join(None)
        elif i == 3:
            return None
        system.run(50 + i)
        return results(system)

    for i, found in enumerate(in_group([ions("cell", i) for i in range(6)], task)):
        if found:
            assert found == advance([[20, 50 + i]] * 6, ions("cell", i), i)
    system = load(tmp_path / "system.state", device="cuda")
    system.run(50)
    assert system.state_hash == advance([[20, 50]], ions("cell", 0), 0)[0]


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_a_chain_of_sixteen_threads_per_ion_takes_eight_in_a_group(precision):
    sizes = [12_300, 14_000, 16_384]
    systems = [trivalent(N, device="cuda", precision=precision) for N in sizes]
    assert [system.threads_per_particle for system in systems] == [16, 16, 16]
    found = in_group(systems, partial(advance, [[1, 20]] * 3))
    for N, result in zip(sizes, found, strict=True):
        alone = trivalent(N, device="cuda", precision=precision)
        assert result == advance([[1, 20]], alone, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "reduction"},
        {"method": "tree"},
        {"threads_per_particle": 4},
        {"threads_per_particle": 16},
    ],
)
def test_other_methods_run_alone(options):
    system = trivalent(512, device="cuda", precision="double", **options)
    assert not system._join(_core.EngineGroup())


def test_a_large_system_runs_alone():
    assert not trivalent(20_000, device="cuda")._join(_core.EngineGroup())


@pytest.mark.parametrize("kind", ["cell", "periodic"])
def test_replicas_share_launches_and_have_the_results_of_runs_alone(kind):
    makes = [partial(make_replica, kind, i) for i in range(20)]
    replicas = Replicas(makes, seed=3, device="cuda")
    meeting, met = Barrier(len(replicas), timeout=60), set()

    def meet(system):
        if system.seed not in met:  # a GPU has fewer seats
            met.add(system.seed)
            meeting.wait()

    replicas.run(30, [(1, meet)])
    replicas.map(lambda system: system.sample_pair_correlations(bin_width=0.5, every=10))
    replicas.run(70)
    tables = replicas.map(lambda system: np.array(system.pair_correlations.counts))
    for i, found in enumerate(replicas.map(results)):
        system = make_replica(kind, i, seed=3 + i, device="cuda")
        system.run(30)
        system.sample_pair_correlations(bin_width=0.5, every=10)
        system.run(70)
        assert found == results(system)
        np.testing.assert_array_equal(tables[i], system.pair_correlations.counts)


def make_replica(kind, i, *, seed, device, threads=None):
    return ions(kind, i, seed=seed - i, device=device)


def test_replicas_that_are_interrupted_continue_with_the_results_of_whole_runs():
    replicas = Replicas([partial(make_replica, "cell", i) for i in range(6)], seed=3, device="cuda")

    def interrupt(system):
        if system.seed == 5 and system.sweeps == 100:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        replicas.run_until(20_000, [(100, interrupt)])
    assert max(replicas.map(lambda system: system.sweeps)) < 20_000
    replicas.run_until(20_000)
    for i, found in enumerate(replicas.map(results)):
        system = ions("cell", i)
        system.run_until(20_000)
        assert found == results(system)
