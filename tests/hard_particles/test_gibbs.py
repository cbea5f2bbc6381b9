# SPDX-License-Identifier: BSD-3-Clause
"""The Gibbs ensemble: partition functions of a few particles, and vapor and liquid.

Comparisons of histograms have the false-alarm rate of `laws.FALSE_ALARM` each over seeds, which are
fixed, and comparisons with a standard error allow five of them.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import signal

import numpy as np
import pytest
from hard_spheres import assert_valid, make
from laws import assert_follows, each_once

from manymove import (
    GibbsEnsemble,
    GrandCanonical,
    Grid,
    HardDisks,
    HardSpheres,
    Mixture,
    Swaps,
)
from manymove.analysis import WidomInsertions
from manymove.analysis.blocking import block_length, estimate
from manymove.fields import HardWall, Plane
from manymove.steps import Step

RANGE = 1.15
WELL = Step(RANGE, -1.2)
TABLE = [[1.0, 0.7], [0.7, 0.6]]  # not additive
WELLS = Step([[1.2, 0.9], [0.9, 0.8]], [[-0.5, -1.0], [-1.0, 0.7]])
FIRST = {2: (3.9, 4.2), 3: (3.9, 4.0, 3.7)}
SECOND = {2: (4.5, 3.8), 3: (4.2, 3.8, 4.1)}


def apart(n: int, box: tuple[float, ...]) -> np.ndarray:
    """Positions of so many particles, up to four, far from each other."""
    corners = np.array(list(itertools.product((-1, 1), repeat=len(box))))[:n]
    return corners * np.array(box) / 4


def boxes(D: int, n: tuple[int, int], device: str, **settings) -> list:
    both = zip(n, (FIRST[D], SECOND[D]), strict=True)
    return [make((apart(k, box), box), device, **settings) for k, box in both]


def boltzmann_mean(types: np.ndarray, box, contacts, steps) -> float:
    """The mean of exp(-U / kT) over random positions of particles of these types."""
    points, D = 400_000, len(box)
    r = np.random.default_rng(3).uniform(-0.5, 0.5, (points, len(types), D)) * np.array(box)
    weights = np.ones(points)
    shape = np.shape(contacts)
    for i, j in itertools.combinations(range(len(types)), 2):
        d = r[:, i] - r[:, j]
        d -= np.rint(d / box) * box
        away = np.sqrt((d**2).sum(axis=1))
        pair = types[i], types[j]
        weights[away < np.asarray(contacts)[pair]] = 0
        for step in steps:
            reach, energy = (np.broadcast_to(x, shape)[pair] for x in (step.range, step.energy))
            weights[away < reach] *= math.exp(-energy)
    return float(weights.mean())


def shares(D: int, steps) -> list:
    """Functions of the volume: the mean Boltzmann factors q_n of n = 0 to 3 equal particles, which
    are polynomials in 1 / V because clusters do not reach around the box."""
    ball = math.pi if D == 2 else 4 / 3 * math.pi
    pair = -ball + sum((math.exp(-s.energy) - 1) * ball * (s.range**D - 1) for s in steps)
    box = (4.0,) * D
    V = math.prod(box)
    three = boltzmann_mean(np.zeros(3, dtype=int), box, [[1.0]], steps)
    cluster = (three - 1 - 3 * pair / V) * V**2
    return [
        lambda V: np.ones_like(V),
        lambda V: np.ones_like(V),
        lambda V: 1 + pair / V,
        lambda V: 1 + 3 * pair / V + cluster / V**2,
    ]


@pytest.mark.parametrize(("D", "steps"), each_once([2, 3], [(WELL,), ()]))
def test_numbers_and_volumes_follow_the_partition_function(device, D, steps):
    """Three particles: the weight of n particles in the volume V is 3! / (n! (3 - n)!) times
    V^n q_n(V) (V' ^ (3 - n)) q_(3 - n)(V') with V' = total - V; one comparison of n and V
    together."""
    system = GibbsEnsemble(
        *boxes(D, (2, 1), device, steps=list(steps)),
        seed=5,
        transfers=2,
        volume_trials=2,
        volume_delta=0.5,
    )
    total, q = system.volume, shares(D, steps)
    assert total == pytest.approx(math.prod(FIRST[D]) + math.prod(SECOND[D]), rel=1e-5)
    # Edges are at least three ranges long.
    reach = 3 * (RANGE if steps else 1.0)
    least, most = (math.prod(box) * (reach / min(box)) ** D for box in (FIRST[D], SECOND[D]))
    edges = np.linspace(least, total - most, 7)
    fine = np.linspace(least, total - most, 6 * 50 + 1)
    V = (fine[1:] + fine[:-1]) / 2
    law = [
        math.comb(3, n) * V**n * q[n](V) * (total - V) ** (3 - n) * q[3 - n](total - V)
        for n in range(4)
    ]
    law = np.array(law).reshape(4, 6, 50).sum(axis=2)
    system.run(100)
    system.reset_averages()
    system.run(20_000)
    numbers = system.number_records[::5, 0, 0]
    volumes = system.volume_records[::5, 0]
    counts, *_ = np.histogram2d(numbers, volumes, bins=(np.arange(5) - 0.5, edges))
    assert counts.sum() == len(numbers)
    assert_follows(counts.ravel(), law.ravel())


@pytest.mark.parametrize("D", [2, 3])
def test_fugacities_follow_the_partition_function(device, D):
    """Two particles in constant volumes: 1 / z in a box is the mean of V q_(n + 1) / (q_n (n + 1)),
    by integration."""
    system = GibbsEnsemble(
        *boxes(D, (1, 1), device, steps=[WELL]), seed=8, transfers=4, volume_trials=0
    )
    q = shares(D, [WELL])
    system.run(10_000)
    V = system.volume_records[0]
    assert (system.volume_records == V).all()
    weights = np.array(
        [math.comb(2, n) * V[0] ** n * q[n](V[0]) * V[1] ** (2 - n) * q[2 - n](V[1])
         for n in range(3)]
    )  # fmt: skip
    for k, of_box in enumerate(system.fugacities):
        n = np.arange(3) if k == 0 else 2 - np.arange(3)
        inverse = [V[k] / (m + 1) * q[m + 1](V[k]) / q[m](V[k]) for m in n]
        expected = weights.sum() / (weights @ inverse)
        assert abs(of_box[0].value - expected) < 5 * of_box[0].error + 2e-3 * expected


def test_compositions_follow_the_partition_function(device):
    """A mixture in constant volumes; one comparison."""
    types = [[0, 1], [1]]
    start = [
        make(
            (apart(len(kinds), box), box), device, types=kinds, contacts=TABLE, steps=[WELLS]
        )
        for kinds, box in zip(types, (FIRST[3], SECOND[3]), strict=True)
    ]  # fmt: skip
    system = GibbsEnsemble(*start, seed=3, transfers=3, volume_trials=0)
    V = [math.prod(box) for box in (FIRST[3], SECOND[3])]
    compositions = list(itertools.product(range(2), range(3)))

    def q(n: tuple[int, int], box) -> float:
        return boltzmann_mean(np.repeat([0, 1], n), box, TABLE, [WELLS]) if sum(n) else 1.0

    law = [
        math.comb(2, b) * V[0] ** (a + b) * V[1] ** (3 - a - b)
        * q((a, b), FIRST[3]) * q((1 - a, 2 - b), SECOND[3])
        for a, b in compositions
    ]  # fmt: skip
    system.run(20_000)
    found = system.number_records
    assert (found.sum(axis=1) == (1, 2)).all()
    pairs = [tuple(n) for n in found[::4, 0].tolist()]
    assert_follows([pairs.count(n) for n in compositions], law)


@pytest.mark.parametrize("kind", [HardDisks, HardSpheres])
def test_particles_and_volume_are_conserved(device, kind):
    D = kind._DIMENSIONS
    steps = Step(1.5, -0.8)
    start = [kind.random(n, 0.2, seed=n, device=device, threads=1, steps=steps) for n in (150, 250)]
    before = [one.state_hash for one in start]
    system = GibbsEnsemble(*start, seed=1, transfers=200)
    system.run(60)
    assert (system.number_records.sum(axis=(1, 2)) == 400).all()
    np.testing.assert_allclose(system.volume_records.sum(axis=1), system.volume, rtol=1e-12)
    for one, volume in zip(system.boxes, system.volume_records[-1], strict=True):
        assert_valid(one)
        assert one.volume == pytest.approx(volume, rel=1e-5)
        edges = np.array(one.box) / volume ** (1 / D)
        assert edges == pytest.approx(np.array([edges[0]] * D), rel=1e-5)
    assert 0 < system.transfer_acceptance < 1
    assert 0 < system.volume_acceptance < 1
    assert len(set(system.number_records[:, 0, 0])) > 5
    assert [one.state_hash for one in start] == before  # the simulations are not changed


def fluid(device: str, threads: int = 1) -> GibbsEnsemble:
    mixture = [Mixture(types=np.arange(n) % 2, contacts=TABLE) for n in (70, 90)]
    start = [
        HardSpheres.random(
            len(one.types), 0.15, seed=4, diameter=one, steps=WELLS, device=device, threads=threads
        )
        for one in mixture
    ]
    return GibbsEnsemble(*start, seed=9, every=2, transfers=60, volume_trials=2)


HASH = "1dcb856d15be01cc3f2fba8108c11a43"


def test_threads_and_devices_have_the_same_trajectory(device):
    """The hash is that of the CPU engine."""
    one, three = fluid(device), fluid(device, 3)
    one.run(20)
    three.run(20)
    assert one.state_hash == three.state_hash == HASH
    assert (one.number_records == three.number_records).all()


def test_a_checkpoint_continues_with_the_same_bits(device, tmp_path):
    whole, part = fluid(device), fluid(device)
    for one in (whole, part):
        one.sample_pressure(4)
    whole.run(24)
    part.run(6)
    part.save(tmp_path / "state")
    part.run(4)
    part.save(tmp_path / "state")
    found = GibbsEnsemble.load(tmp_path / "state", device, 1)
    assert found.cycles == 10
    found.run_until(24)
    assert found.state_hash == whole.state_hash
    for name in ("number_records", "volume_records", "pressure_records"):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert found.fugacities == whole.fugacities
    found.save(tmp_path / "state")
    with pytest.raises(FileExistsError, match="another ensemble"):
        whole.save(tmp_path / "state")


def test_ctrl_c_stops_after_an_exchange(device, monkeypatch):
    """Also if it comes while the systems exchange particles and volume."""
    whole, part = fluid(device), fluid(device)
    whole.run(12)
    exchange = GibbsEnsemble._exchange

    def interrupted(self, *numbers):
        os.kill(os.getpid(), signal.SIGINT)
        return exchange(self, *numbers)

    with monkeypatch.context() as patch:
        patch.setattr(GibbsEnsemble, "_exchange", interrupted)
        for cycles in (2, 4):
            with pytest.raises(KeyboardInterrupt):
                part.run(12)
            assert part.cycles == cycles
    part.run(8)
    assert part.state_hash == whole.state_hash
    np.testing.assert_array_equal(part.number_records, whole.number_records)


def test_nothing_continues_after_a_failed_exchange(monkeypatch, tmp_path):
    def fails(*_):
        raise MemoryError

    system = fluid("cpu")
    with monkeypatch.context() as patch:
        patch.setattr(GibbsEnsemble, "_exchange", fails)
        with pytest.raises(MemoryError):
            system.run(2)
    for task in (lambda: system.run(2), lambda: system.save(tmp_path)):
        with pytest.raises(RuntimeError, match="load the last checkpoint"):
            task()
    assert not list(tmp_path.iterdir())


def test_damaged_checkpoints_are_refused(tmp_path):
    system = fluid("cpu")
    system.save(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"gibbs\.json"):
        GibbsEnsemble.load(tmp_path / "states-0")
    contents = tmp_path / "gibbs.json"
    contents.write_text(json.dumps({"states": "../states-0"}))
    with pytest.raises(ValueError, match="damaged"):
        GibbsEnsemble.load(tmp_path)
    contents.write_text(json.dumps({"states": "states-0"}))
    (tmp_path / "states-0" / "second.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"second\.npz"):
        GibbsEnsemble.load(tmp_path)


def test_a_box_may_become_empty(device):
    """Two hard spheres are apart or together, in nearly the shares of an ideal gas."""
    system = GibbsEnsemble(*boxes(3, (1, 1), device), seed=2, transfers=3)
    system.run(400)
    numbers = system.number_records[:, 0, 0]
    assert set(numbers) == {0, 1, 2}
    assert {one.N for one in system.boxes} in ({0, 2}, {1})


def test_vapor_and_liquid_are_in_equilibrium(device):
    """The square well of range 1.5 at T* = 1.05: both boxes have the same fugacity and pressure,
    with the densities of the multiple histograms of docs/tutorials/vapor_liquid.md."""
    steps = Step(1.5, -1 / 1.05)
    start = [
        HardSpheres.random(n, phi, seed=n, device=device, threads=1, steps=steps)
        for n, phi in ((250, 0.31), (100, 0.03))
    ]
    system = GibbsEnsemble(*start, seed=1, every=2, transfers=400)
    system.tune_volume(60)
    assert 0.15 < system.volume_acceptance < 0.5
    system.sample_pressure(2)
    system.run(2400)
    liquid, vapor = system.densities
    assert abs(vapor.value - 0.0457) < 5 * vapor.error
    assert abs(liquid.value - 0.6192) < 5 * liquid.error
    z = system.fugacities
    assert abs(z[0][0].value - z[1][0].value) < 5 * math.hypot(z[0][0].error, z[1][0].error)
    P = system.pressures
    assert abs(P[0].value - P[1].value) < 5 * math.hypot(P[0].error, P[1].error)
    assert abs(P[1].value * 1.05 - 0.0358) < 5 * P[1].error


def test_errors_of_pressures_and_fugacities_contain_slow_densities():
    """Records with noise, and with a slow part that only the densities show: the errors are those
    of blocks as long as the densities need, also with a sample of the pressure at every fourth
    exchange."""
    system = GibbsEnsemble(*boxes(3, (2, 1), "cpu"), seed=1)
    K, generator = 2**13, np.random.default_rng(2)
    slow = np.repeat(generator.normal(size=(K // 256, 2)), 256, axis=0)
    noise = generator.normal(size=(K, 2))
    held = {
        "numbers": np.full((K, 2, 1), 100),
        "volumes": 200 + slow,
        "trials": np.full((K, 2, 1), 50),
        "sums": (50 + slow + 8 * noise)[:, :, None],
        "pressures": (1 + 0.02 * slow + 0.2 * noise)[::4],
    }
    system._records = {name: list(values) for name, values in held.items()}
    block = max(map(block_length, system.density_records.T))
    assert block > 256
    for k in range(2):
        pressure, (fugacity,) = system.pressures[k], system.fugacities[k]
        assert pressure == estimate(system.pressure_records[:, k], block=block // 4)
        assert pressure.error > estimate(system.pressure_records[:, k]).error
        sums = held["sums"][:, k, 0] / 50
        assert [*fugacity] == [*(1 / estimate(sums, block=block))]
        assert fugacity.error > (1 / estimate(sums)).error


PLAIN = {"seed": 1, "threads": 1, "device": "cpu"}


def sphere(**settings) -> HardSpheres:
    return HardSpheres([[0.0, 0, 0], [2, 0, 0]], (6, 6, 6), **{**PLAIN, **settings})


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"pressure": 1.0}, "a constant pressure"),
        ({"fugacity": GrandCanonical(0.1)}, "a fugacity"),
        ({"diameter": [1.0, 0.9], "swaps": Swaps(1)}, "swap moves"),
        ({"fields": HardWall(Plane((0, 0, 1), (0, 0, -3.0)))}, "external fields"),
        ({"pinned": [True, False]}, "pinned particles"),
        ({"diameter": [1.0, 0.9]}, "diameters by particle"),
    ],
)
def test_features_of_a_constant_number_of_particles_are_refused(settings, text):
    with pytest.raises(ValueError, match=f"second cannot have {text}"):
        GibbsEnsemble(sphere(), sphere(**settings), seed=1)


def test_boxes_of_different_particles_are_refused():
    with pytest.raises(ValueError, match="second must have the diameter"):
        GibbsEnsemble(sphere(), sphere(diameter=0.9), seed=1)
    with pytest.raises(ValueError, match="second must have the steps"):
        GibbsEnsemble(sphere(), sphere(steps=Step(1.5, -1)), seed=1)
    disks = HardDisks([[0.0, 0]], (6, 6), **PLAIN)
    with pytest.raises(TypeError, match="of one class"):
        GibbsEnsemble(sphere(), disks, seed=1)
    with pytest.raises(TypeError, match="second must be a HardDisks or HardSpheres"):
        GibbsEnsemble(sphere(), "liquid", seed=1)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"every": 0}, "every must be"),
        ({"transfers": -1}, "transfers must not be negative"),
        ({"volume_trials": 1001}, "volume_trials must be at most 1000"),
        ({"volume_delta": 0.0}, "volume_delta must be positive"),
        ({"seed": 2**64 - 1}, "seed must be below"),
    ],
)
def test_numbers_out_of_range_are_refused(settings, text):
    with pytest.raises(ValueError, match=text):
        GibbsEnsemble(sphere(), sphere(), **{"seed": 1, **settings})


def test_lengths_of_runs_are_multiples_of_the_interval():
    system = GibbsEnsemble(sphere(), sphere(), seed=1, every=2)
    with pytest.raises(ValueError, match="multiples of 2"):
        system.run(3)
    with pytest.raises(ValueError, match="multiple of 2"):
        system.sample_pressure(3)
    with pytest.raises(ValueError, match="acceptance must be between 0 and 1"):
        system.tune_volume(2, 1.0)
    with pytest.raises(ValueError, match="volume_trials is 0"):
        GibbsEnsemble(sphere(), sphere(), seed=1, volume_trials=0).tune_volume(2)
    with pytest.raises(RuntimeError, match="nothing is recorded"):
        _ = system.densities
    called = []
    system.run(8, [(4, lambda one: called.append(one.cycles))])
    assert called == [4, 8]


def test_boxes_refuse_what_a_changing_box_does_not_have():
    one, _ = GibbsEnsemble(sphere(), sphere(), seed=1).boxes
    with pytest.raises(RuntimeError, match="pressures of the GibbsEnsemble"):
        one.sample_pressure(1)
    with pytest.raises(RuntimeError, match="a profile needs a constant box"):
        one.sample_profile(1)
    with pytest.raises(ValueError, match="before the GibbsEnsemble is made"):
        one.tune()
    with pytest.raises(RuntimeError, match="the volume is exchanged: the GibbsEnsemble has its"):
        one.sample_volume(1)
    with pytest.raises(RuntimeError, match="the volume is exchanged"):
        _ = one.compressibility
    with pytest.raises(RuntimeError, match="not possible with the exchanges of a GibbsEnsemble"):
        WidomInsertions(10, seed=1)(one)
    with pytest.raises(ValueError, match="cell_width must be left to its default where the volume"):
        GibbsEnsemble(sphere(grid=Grid(cell_width=1.2)), sphere(), seed=1)
    plain = one.replace(seed=4)
    plain.run_cycles(2)  # an ordinary simulation
    plain.sample_pressure(1)
