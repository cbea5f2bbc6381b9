"""Replica exchange (docs/theory/replica_exchange.md): exact averages of small systems, and runs
that do not depend on threads, ranks and stops.

Means are compared with exact ones within five standard errors, which another seed exceeds with a
probability below 1e-5 each. Seeds are fixed, so that a test that passes once always passes.
"""

from __future__ import annotations

import json
import math
import os
import signal
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import processes
import pytest
from commands import MPIEXEC
from lammps_host import needs_lammps

from manymove import (
    Adsorbate,
    Adsorption,
    ConstantPressure,
    DPDFluid,
    Electrolyte,
    HardDisks,
    HardSpheres,
    Interactions,
    Molecules,
    ReplicaExchange,
    Replicas,
    Salt,
    Swaps,
)
from manymove.adsorption.gas import BOLTZMANN
from manymove.analysis import estimate
from manymove.steps import Step

HERE = {"seed": 3, "device": "cpu", "threads": 2}
PRESSURES = (0.15, 0.25, 0.4)
LENGTHS = (5.0, 15.0, 25.0)
FUGACITIES = (1.0, 2.0, 4.0)
EDGES_APART = [ConstantPressure(P, "length") for P in (5.0, 5.2, 5.4)]
IDEAL = Adsorbate("ideal", 0.0, 1.0, {})


def disks(pressures=PRESSURES, N=2, fractions=(0.03, 0.04, 0.05), **options):
    """Disks whose lattices differ, because their boxes of the start do."""
    starts = [
        partial(HardDisks.random, N, phi, pressure=P)
        for P, phi in zip(pressures, fractions, strict=True)
    ]
    replicas = Replicas(starts, **{**HERE, **options})
    replicas.map(lambda one: one.sample_volume(record=200))
    return replicas


def ions(lengths=LENGTHS, precision="mixed", **options):
    salt, box = Salt.of(2, (1, -1), (4.0, 4.0)), (20.0, 20.0, 20.0)
    make = partial(Electrolyte.random, salt, box, precision=precision)
    starts = [partial(make, bjerrum_length=length) for length in lengths]
    return Replicas(starts, **{**HERE, **options})


def gas(fugacities=FUGACITIES, method="metropolis", **options):
    """Systems that begin with room for different numbers of molecules."""
    make = partial(Adsorption, (30.0,) * 3, adsorbates=IDEAL, method=method, systems=16)
    starts = [
        partial(make, molecules=Molecules(0, room), fugacity=f)
        for f, room in zip(fugacities, (8, 24, 16), strict=True)
    ]
    return Replicas(starts, **{**HERE, **options})


def mixture(method="metropolis", **options):
    make = partial(
        Adsorption, (24.0,) * 3, [2, 1], adsorbates=["CO2", "N2"], method=method,
        interactions=Interactions(cutoff=8.0), systems=4,
    )  # fmt: skip
    starts = [partial(make, fugacity=[f, 4.0]) for f in FUGACITIES]
    return Replicas(starts, **{**HERE, **options})


# ---- distributions -------------------------------------------------------------------------------


def mean_fraction(pressure):
    """Mean packing fraction of two disks: the weight is V (V - pi) exp(-P V), with V >= 9."""
    V = np.linspace(9, 9 + 60 / pressure, 200_001)
    weight = V * (V - math.pi) * np.exp(-pressure * (V - 9))
    return 2 * math.pi / 4 * (weight / V).sum() / weight.sum()


def off_by(exchange):
    """Deviations of the mean packing fractions from the exact ones, in standard errors."""
    found = exchange.replicas.map(lambda one: estimate(one.packing_fraction_records))
    exact = map(mean_fraction, PRESSURES)
    return [abs(one.value - mean) / one.error for one, mean in zip(found, exact, strict=True)]


def test_two_disks_have_the_exact_packing_fractions():
    exchange = ReplicaExchange(disks(), 10)
    exchange.run_until(12_000)
    assert max(off_by(exchange)) < 5
    assert (exchange.acceptance > 0.3).all() and (exchange.round_trips > 20).all()


def test_the_wrong_sign_of_the_exponent_is_noticed(monkeypatch):
    exchange = ReplicaExchange(disks(), 10)
    monkeypatch.setattr(exchange, "_fields", -exchange._fields)
    exchange.run_until(12_000)
    assert max(off_by(exchange)) > 10


def test_two_ions_have_the_exact_energies():
    """The distance vector has the weight exp(l_B / r) in the cube, beyond contact."""
    exchange = ReplicaExchange(ions(), 10)
    exchange.run_until(15_000, equilibrate=1000)
    x = (np.arange(200) + 0.5) / 200 * 10  # an octant of the cube
    r = np.sqrt(x[:, None, None] ** 2 + x[:, None] ** 2 + x**2).reshape(-1)
    r = r[r > 4]
    for length, one in zip(LENGTHS, exchange.replicas.simulations, strict=True):
        weight = np.exp(length / r)
        mean = one.energy_average
        assert abs(mean.value + length * (weight / r).sum() / weight.sum()) < 5 * mean.error
        assert abs(one.energy_drift()) < 1e-5
        assert len(one.energy_records) == 14_000
    assert (exchange.acceptance > 0.1).all() and (exchange.round_trips > 10).all()


def test_an_ideal_gas_has_poissons_distribution():
    exchange = ReplicaExchange(gas(), 20)
    counts = [[], [], []]
    exchange.run_until(2000)
    order = [one.seed for one in exchange.replicas.simulations]
    exchange.run(
        20_000, [(20, lambda one: counts[order.index(one.seed)].append(one.counts[:, 0].copy()))]
    )
    for fugacity, numbers in zip(FUGACITIES, counts, strict=True):
        mean = fugacity * 1e5 * 27_000e-30 / (BOLTZMANN * 300)
        found = np.array(numbers, dtype=float)
        for values, exact in ((found, mean), ((found - mean) ** 2, mean)):
            of_systems = values.mean(axis=0)
            error = of_systems.std(ddof=1) / math.sqrt(len(of_systems))
            assert abs(of_systems.mean() - exact) < 5 * error
    assert (exchange.acceptance > 0.3).all() and exchange.round_trips.sum() > 100
    assert exchange.attempts.tolist() == [550 * 16, 550 * 16]


def test_pairs_are_accepted_with_their_probability():
    """min(1, exp((P_0 - P_1) (V_0 - V_1))), within five errors of 10,000 decisions."""
    exchange = ReplicaExchange(disks(), 1)
    for volumes, expected in (((20.0, 25.0), 1.0), ((25.0, 20.0), math.exp(-0.5))):
        V = np.array([[[volume]] for volume in (*volumes, 1.0)])
        accepted = 0
        for exchange._done in range(10_000):
            accepted += int(exchange._decide(0, V)[0])
        assert abs(accepted / 10_000 - expected) <= 5 * math.sqrt(
            expected * (1 - expected) / 10_000
        )


# ---- reproducibility -----------------------------------------------------------------------------


def polydisperse(pressures=(5.0, 5.5, 6.0), **options):
    sizes = np.linspace(0.8, 1.2, 64)
    make = partial(HardSpheres.random, 64, 0.3, diameter=sizes, swaps=Swaps(4))
    starts = [partial(make, pressure=ConstantPressure(P)) for P in pressures]
    replicas = Replicas(starts, **{**HERE, **options})
    replicas.map(lambda one: one.sample_volume(record=20))
    return replicas


CASES = {
    "disks": (disks, lambda one: one.volume_records),
    "edges": (
        lambda **options: disks(
            [ConstantPressure(P, "length") for P in (5.0, 5.2, 5.4)],
            64,
            (0.4, 0.41, 0.42),
            **options,
        ),
        lambda one: one.volume_records,
    ),
    "swaps": (polydisperse, lambda one: one.volume_records),
    "ions": (ions, lambda one: one.energy_records),
    "gas": (gas, lambda one: one.loading),
    "mixture": (mixture, lambda one: one.loading),
}
# What has the same bits on all devices.
ON_ALL_DEVICES = {
    "ions": {"precision": "double"},
    "gas": {"method": "plj"},
    "mixture": {"method": "plj"},
}


def results(name, exchange):
    return [
        repr(exchange.replicas.map(CASES[name][1])),
        exchange.replicas.state_hash,
        exchange.acceptance.tolist(),
        exchange.round_trips.tolist(),
        exchange.configurations.tolist(),
    ]


@pytest.mark.filterwarnings("ignore:the error of the")
@pytest.mark.parametrize("name", CASES)
def test_threads_and_stops_change_nothing(name, tmp_path):
    make = CASES[name][0]
    whole = ReplicaExchange(make(), 10)
    whole.run_until(400, equilibrate=100)
    assert (whole.acceptance > 0).all()
    parts = ReplicaExchange(make(threads=1), 10)
    parts.run_until(100, equilibrate=100, folder=tmp_path)
    parts.run(130, folder=tmp_path, save_every=0)
    loaded = ReplicaExchange.load(tmp_path, device="cpu", threads=1)
    assert loaded.exchanges == 23 and loaded.every == 10 and loaded.seed == 3
    loaded.run_until(400, equilibrate=100, folder=tmp_path)
    assert results(name, loaded) == results(name, whole)
    loaded.run_until(400, folder=tmp_path)  # has been done
    assert results(name, loaded) == results(name, whole)


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:the error of the")
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_has_the_results_of_a_cpu(name, tmp_path):
    make = partial(CASES[name][0], **ON_ALL_DEVICES.get(name, {}))
    runs = [ReplicaExchange(make(device=device), 10) for device in ("cpu", "cuda")]
    for run in runs:
        run.run_until(200, equilibrate=50)
    cpu, cuda = (results(name, run) for run in runs)
    assert cuda == cpu
    runs[1].save(tmp_path)
    again = ReplicaExchange.load(tmp_path, device="cuda")
    assert results(name, again) == cuda


def test_every_configuration_is_kept():
    """Exchanges permute the configurations: the diameters of each are those of its start."""
    exchange = ReplicaExchange(polydisperse(), 3)
    exchange.run(90)
    assert sorted(exchange.configurations) == [0, 1, 2]
    for one in exchange.replicas.simulations:
        assert one.max_overlap() == 0
        assert np.allclose(np.sort(one.diameters), np.linspace(0.8, 1.2, 64))
    assert exchange.replicas.map(lambda one: one.constant_pressure) == pytest.approx(
        [5.0, 5.5, 6.0]
    )
    assert exchange.replicas.map(lambda one: one.seed) == [3, 4, 5]


def test_energies_move_with_the_molecules():
    exchange = ReplicaExchange(mixture(), 10)
    exchange.run(200)
    assert (exchange.acceptance > 0).all() and exchange.parameters.shape == (3, 2)
    for one in exchange.replicas.simulations:
        assert np.allclose(one._engine.snapshot()["energies"], one.energies, atol=0.02)


def test_an_interrupted_run_is_completed(tmp_path, monkeypatch):
    whole = ReplicaExchange(disks(), 50)
    whole.run_until(20_000)
    exchange = ReplicaExchange(disks(), 50)
    bare = ReplicaExchange._exchange

    def interrupted(self):
        bare(self)
        if self.exchanges == 100:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(ReplicaExchange, "_exchange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            exchange.run_until(20_000, folder=tmp_path)
    assert 100 <= exchange.exchanges < 400
    loaded = ReplicaExchange.load(tmp_path, device="cpu")
    assert loaded.replicas.state_hash == exchange.replicas.state_hash
    for each in (exchange, loaded):
        each.run_until(20_000)
        assert results("disks", each) == results("disks", whole)


def test_a_signal_does_not_divide_an_exchange(monkeypatch):
    """It comes while the first replica adopts a configuration, and between two calls."""
    whole = ReplicaExchange(disks(), 10)
    whole.run_until(400)
    for name in ("adopt", "quantities"):
        exchange = ReplicaExchange(disks(), 10)
        ensemble, calls = exchange._ensemble, []

        bare = getattr(ensemble, name)

        def interrupted(*given, of=bare, calls=calls):
            calls.append(os.kill(os.getpid(), signal.SIGINT) if len(calls) == 4 else None)
            return of(*given)

        monkeypatch.setattr(ensemble, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            exchange.run_until(400)
        assert exchange.exchanges < 40
        exchange.run_until(400)
        assert results("disks", exchange) == results("disks", whole)


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
def test_ranks_have_the_results_of_one_process(tmp_path):
    pytest.importorskip("mpi4py")
    ranks = processes.found("exchange_program.py", 2, "run", tmp_path, fails=False)
    exchange = ReplicaExchange(disks(), 10)
    exchange.run_until(400, equilibrate=100)
    assert ranks == 2 * [results("disks", exchange)]
    loaded = ReplicaExchange.load(tmp_path / "checkpoint", device="cpu")
    assert results("disks", loaded) == results("disks", exchange)


@pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")
@pytest.mark.parametrize("which", ["one", "other", "both"])
def test_a_signal_to_ranks_ends_all_of_them(which, tmp_path):
    pytest.importorskip("mpi4py")
    ranks = processes.found("exchange_program.py", 2, which, tmp_path, fails=False)
    exchange = ReplicaExchange(disks(), 10)
    exchange.run_until(400, equilibrate=100)
    assert ranks == 2 * [results("disks", exchange)]


# ---- warnings and errors -------------------------------------------------------------------------


def test_state_points_that_are_too_far_apart_are_named():
    exchange = ReplicaExchange(disks((1.0, 9.0), 64, (0.3, 0.5)), 1)
    with pytest.warns(UserWarning, match=r"replicas 0 and 1 \(pressure 1 and 9\) accept 0.0% of"):
        exchange.run(200)
    exchange.reset_averages()
    assert exchange.attempts.tolist() == [0] and np.isnan(exchange.acceptance[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exchange.run(100)


@pytest.mark.parametrize(
    ("replicas", "problem"),
    [
        (
            lambda: Replicas(partial(HardDisks.random, 9, 0.3), 2, **HERE),
            "replica 0: the volume is",
        ),
        (lambda: disks((1.0,), fractions=(0.1,)), "replicas must be at least two, got 1"),
        (lambda: disks((1.0, 2.0, 2.0)), "replica 2: pressure is 2 after 2, and must ascend"),
        (lambda: disks((1.0, 2.0, 1.5)), "replica 2: pressure is 1.5 after 2, and must"),
        (
            lambda: Replicas(
                [partial(HardDisks.random, N, 0.3, pressure=N) for N in (20, 21)], **HERE
            ),
            "replica 1: N is 21, and that of replica 0 is 20",
        ),
        (
            lambda: Replicas(
                [
                    partial(HardDisks.random, 20, 0.3, pressure=P, steps=Step(1.2, -P))
                    for P in (1.0, 1.1)
                ],
                **HERE,
            ),
            "replica 1: steps is",
        ),
        (
            lambda: Replicas(
                [
                    partial(HardDisks.random, 20, 0.3, pressure=P, aspect_ratios=(1, P))
                    for P in (1.0, 1.1)
                ],
                **HERE,
            ),
            "replica 1: shape of the box is",
        ),
        (
            lambda: Replicas(
                [
                    partial(
                        Electrolyte.random,
                        Salt.of(2, (1, -1), (4.0, d)),
                        (30.0,) * 3,
                        bjerrum_length=d,
                    )
                    for d in (4.0, 5.0)
                ],
                **HERE,
            ),
            "replica 1: species is",
        ),
        (
            lambda: Replicas(
                partial(Adsorption, (30.0,) * 3, 3, adsorbates=IDEAL, method="metropolis"),
                2,
                **HERE,
            ),
            "replica 0: the systems are closed: give a fugacity",
        ),
    ],
)
def test_replicas_that_cannot_exchange_are_named(replicas, problem):
    with pytest.raises(ValueError, match=problem):
        ReplicaExchange(replicas(), 10)


def test_bad_arguments_are_named(tmp_path):
    replicas = disks()
    with pytest.raises(TypeError, match=r"replicas must be a manymove\.Replicas"):
        ReplicaExchange([*replicas.simulations], 10)
    for every in (0, -3):
        with pytest.raises(ValueError, match="every must be"):
            ReplicaExchange(replicas, every)
    exchange = ReplicaExchange(replicas, 10)
    with pytest.raises(ValueError, match="n must be a multiple of every = 10, got 15"):
        exchange.run(15)
    with pytest.raises(ValueError, match="equilibrate must be at most n = 20, got 30"):
        exchange.run_until(20, equilibrate=30)
    with pytest.raises(AttributeError):
        exchange.every = 5
    with pytest.raises(FileNotFoundError, match="has no exchange"):
        ReplicaExchange.load(tmp_path)
    exchange.save(tmp_path)
    with pytest.raises(FileExistsError, match="has another exchange"):
        ReplicaExchange(disks(), 10).save(tmp_path)
    contents = Path(tmp_path / "exchange.json")
    held = json.loads(contents.read_text())
    for change in ({"labels": [[0], [0], [1]]}, {"trips": [[1]]}, {"every": "x"}, {"states": "x"}):
        contents.write_text(json.dumps({**held, **change}))
        with pytest.raises(ValueError, match=r"exchange\.json is damaged"):
            ReplicaExchange.load(tmp_path, device="cpu")
    replicas.simulations[1].run_cycles(11)
    with pytest.raises(RuntimeError, match="replica 1: it was run without the exchange"):
        exchange.run(10)


def test_a_failed_callback_ends_the_run_in_a_valid_state():
    exchange = ReplicaExchange(disks(), 10)

    def fail(one):
        if one.seed == 4:
            raise ValueError("nothing works today")

    with pytest.raises(ValueError, match="replica 1: nothing works today"):
        exchange.run(20, [(7, fail)])
    exchange.run_until(400, equilibrate=100)
    whole = ReplicaExchange(disks(), 10)
    whole.run_until(400, equilibrate=100)
    assert results("disks", exchange) == results("disks", whole)


def test_attempts_of_pairs_alternate():
    exchange = ReplicaExchange(disks(), 10)
    exchange.run(40)
    assert exchange.attempts.tolist() == [2, 2]
    assert (
        repr(exchange) == "<ReplicaExchange: 3 of HardDisks, pressure, every = 10, exchanges = 4>"
    )
    assert exchange.parameters.tolist() == pytest.approx(PRESSURES)


@needs_lammps
def test_fluids_of_dissipative_particles_cannot_exchange():
    fluids = Replicas(partial(DPDFluid.random, 375, 3.0), 2, **HERE)
    with pytest.raises(TypeError, match="replicas of DPDFluid cannot exchange"):
        ReplicaExchange(fluids, 10)
