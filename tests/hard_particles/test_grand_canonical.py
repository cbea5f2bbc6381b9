"""Insertions and deletions at given fugacities: grand partition sums, and equations of state.

Comparisons of histograms have the false-alarm rate of `laws.FALSE_ALARM` each over seeds, which are
fixed, and comparisons with a standard error allow five of them.
"""

from __future__ import annotations

import itertools
import math
import os
import signal
from threading import Timer

import numpy as np
import pytest
from hard_spheres import assert_valid, make
from laws import another, assert_follows, each_once
from machine import on_gpu

from manymove import GrandCanonical, HardDisks, HardSpheres, Mixture, Replicas
from manymove.analysis import WidomInsertions
from manymove.analysis.blocking import estimate
from manymove.analysis.insertions import fit
from manymove.analysis.pressure import BINS, DEGREE, DELTA_R, pressure_weights
from manymove.fields import HardWall, Linear, Plane, Springs
from manymove.steps import Step

BOXES = {2: (4.0, 3.9), 3: (3.8, 4.0, 3.9)}
NOTHING = np.empty((0, 3))
TABLE = [[1.0, 0.6], [0.6, 0.5]]  # not additive
WELLS = [Step([[1.25, 0.9], [0.9, 0.7]], [[-0.5, -0.8], [-0.8, 0.5]])]


def walls(D: int) -> list:
    """A floor and a ceiling across the last axis, and gravity."""
    up, height = np.eye(D)[-1], BOXES[D][-1] / 2
    planes = Plane(up, -height * up), Plane(-up, height * up)
    return [*(HardWall(plane, distance=0.35) for plane in planes), Linear(0.9)]


SYSTEMS = {
    "plain": {},
    "steps": {"steps": [Step(1.25, -1.1), Step(1.1, 0.7)]},
    "fields": {"fields": True},
    "all": {"fields": True, "steps": [Step(1.25, -1.1)]},
}


def weight_of(counts: tuple[int, ...], D: int, contacts, steps=(), fields=False) -> float:
    """The integral of exp(-U / kT) over the positions of so many particles of each type, divided by
    the volume for each, from random points."""
    n, box, points = sum(counts), np.array(BOXES[D]), 200_000
    r = np.random.default_rng(5).uniform(-0.5, 0.5, (points, n, D)) * box
    types = np.repeat(np.arange(len(counts)), counts)
    boltzmann = np.ones(points)
    for i, j in itertools.combinations(range(n), 2):
        d = r[:, i] - r[:, j]
        d -= np.rint(d / box) * box
        away = np.sqrt((d**2).sum(axis=1))
        boltzmann[away < np.asarray(contacts)[types[i], types[j]]] = 0
        for step in steps:
            shape = (len(counts),) * 2
            reach, energy = (
                np.broadcast_to(table, shape)[types[i], types[j]]
                for table in (step.range, step.energy)
            )
            boltzmann[away < reach] *= math.exp(-energy)
    if fields:
        h = r[:, :, -1]
        inside = (np.abs(h) <= box[-1] / 2 - 0.35).all(axis=1)
        boltzmann *= np.where(inside, np.exp(-0.9 * h.sum(axis=1)), 0)
    return float(boltzmann.mean())


@pytest.mark.parametrize(("D", "name"), each_once([2, 3], SYSTEMS))
def test_numbers_of_particles_follow_the_grand_partition_sum(device, D, name):
    """The probability of N is z^N Z_N / N!, by integration; one comparison."""
    given, volume = SYSTEMS[name], math.prod(BOXES[D])
    z = 1.6 / volume
    law = [1.0]
    for n in range(1, 8):
        share = weight_of((n,), D, [[1.0]], **given)
        law.append((z * volume) ** n / math.factorial(n) * share)
    settings = {**given, "fields": walls(D)} if "fields" in given else given
    system = make((NOTHING[:, :D], BOXES[D]), device, fugacity=z, **settings)
    system.run_cycles(100)
    numbers: list[int] = []
    system.run_cycles(64_000, [(16, lambda one: numbers.append(one.N))])
    counts = np.bincount(numbers, minlength=40)
    assert_follows(counts[: len(law)], law)
    assert counts[len(law) :].sum() < 30


@pytest.mark.parametrize(("D", "steps"), each_once([2, 3], [(), tuple(WELLS)]))
def test_compositions_follow_the_grand_partition_sum(device, D, steps):
    """Two types that come and go; one comparison."""
    volume = math.prod(BOXES[D])
    z = 0.8 / volume, 1.1 / volume
    compositions = [(a, b) for a in range(4) for b in range(5) if a + b < 6]
    law = [
        math.prod((z[k] * volume) ** n[k] / math.factorial(n[k]) for k in range(2))
        * weight_of(n, D, TABLE, steps)
        for n in compositions
    ]
    empty = NOTHING[:, :D], BOXES[D]
    system = make(empty, device, types=[], contacts=TABLE, steps=steps, fugacity=z)
    system.run_cycles(100)
    found: list[tuple[int, ...]] = []

    def read(one):
        found.append(tuple(np.bincount(one.types, minlength=2).tolist()))

    system.run_cycles(64_000, [(16, read)])
    assert_follows([found.count(n) for n in compositions], law)
    assert sum(n not in compositions for n in found) < 100


def test_a_type_without_fugacity_keeps_its_particles(device):
    """One large sphere with small ones that come and go: their law in its presence; one
    comparison."""
    box, volume = BOXES[3], math.prod(BOXES[3])
    z = 1.5 / volume
    law = [(z * volume) ** n / math.factorial(n) * weight_of((1, n), 3, TABLE) for n in range(7)]
    start = np.zeros((1, 3)), box
    system = make(start, device, types=[0], contacts=TABLE, fugacity={1: z})
    assert system.fugacity == (0.0, z)
    types: list[np.ndarray] = []
    system.run_cycles(48_000, [(16, lambda one: types.append(one.types))])
    assert all((each == 0).sum() == 1 for each in types)
    counts = np.bincount([len(each) - 1 for each in types], minlength=40)
    assert_follows(counts[: len(law)], law)


@pytest.mark.parametrize("D", [2, 3])
def test_dilute_particles_are_an_ideal_gas(device, D):
    """N follows the Poisson distribution of the mean z V, but for the excluded volume, which is
    less than a tenth of the statistical error; one comparison."""
    box = (30.0, 31.0) if D == 2 else (12.0, 11.0, 13.0)
    mean = 0.4
    system = make((NOTHING[:, :D], box), device, fugacity=mean / math.prod(box))
    system.run_cycles(50)
    numbers: list[int] = []
    system.run_cycles(3000, [(1, lambda one: numbers.append(one.N))])
    counts = np.bincount(numbers, minlength=60)
    law = [mean**n / math.factorial(n) for n in range(15)]
    assert_follows(counts[:15], law)
    assert not counts[15:].any()


def excess_of_carnahan_and_starling(phi: float) -> float:
    return (8 * phi - 9 * phi**2 + 3 * phi**3) / (1 - phi) ** 3


@pytest.mark.parametrize("phi", [another(0.2), 0.3])
def test_spheres_have_the_density_of_carnahan_and_starling(device, phi):
    """The packing fraction at the chemical potential of the equation of state, whose own error is
    0.1 % there; the pressure by the virial theorem; and <N> / z V is the share of the volume where
    another sphere has room, by test insertions at the same time."""
    z = 6 * phi / math.pi * math.exp(excess_of_carnahan_and_starling(phi))
    spheres = make((NOTHING, (8.0, 8.0, 8.0)), device, fugacity=z)
    spheres.run_cycles(400)
    numbers, rooms, random = [], [], np.random.default_rng(3)
    box = np.array(spheres.box)

    def read(one):
        numbers.append(one.N)
        places = random.uniform(-0.5, 0.5, (1000, 3)) * box
        rooms.append(fit(places, one.positions, np.ones(one.N), box).mean())

    spheres.sample_pressure(every=1e-9, record=60)
    spheres.run_cycles(3000, [(4, read)])
    found = estimate(np.array(numbers)) * (math.pi / 6 / 512)
    assert found.error < 3e-3 * phi
    assert abs(found.value - phi) < 5 * found.error + 1e-3 * phi
    pressure = spheres.pressure_average
    expected = 6 * phi / math.pi * (1 + phi + phi**2 - phi**3) / (1 - phi) ** 3
    assert pressure.error < 0.02 * expected
    assert abs(pressure.value - expected) < 5 * pressure.error + 3e-3 * expected
    room = estimate(np.array(rooms) - np.array(numbers) / (z * 512))
    assert abs(room.value) < 5 * room.error
    assert room.error < 0.1 * np.mean(rooms)
    assert_valid(spheres)


def test_disks_have_the_density_at_their_chemical_potential(device):
    """The chemical potential of canonical disks by test insertions is that of the grand-canonical
    ones of the same density: a coarse check, beside the exact ones of small systems."""
    canonical = HardDisks.random(200, 0.3, seed=3, device=device)
    widom = WidomInsertions(5000, seed=4)
    canonical.run(200)
    canonical.run(600, [(2, widom)])
    rho = 200 / math.prod(canonical.box)
    mu = widom.excess_chemical_potential
    system = make((canonical.positions, canonical.box), device, fugacity=rho * math.exp(mu.value))
    numbers: list[int] = []
    system.run_cycles(100)
    system.run_cycles(1500, [(1, lambda one: numbers.append(one.N))])
    found = estimate(np.array(numbers)) / math.prod(canonical.box)
    # d rho / d mu is below rho in a fluid.
    error = math.hypot(found.error, rho * mu.error)
    assert error < 0.03 * rho
    assert abs(found.value - rho) < 5 * error + 0.002 * rho  # of the canonical system's finite size


def test_particles_in_gravity_follow_the_barometric_law(device):
    """Heights between two walls, at a low density; one comparison."""
    height, gravity, z = 8.0, 0.7, 0.006
    box, up = (9.0, 9.0, height + 1.4), np.array([0.0, 0.0, 1.0])
    planes = Plane(up, -height / 2 * up), Plane(-up, height / 2 * up)
    fields = [
        *(HardWall(plane, distance=0.0) for plane in planes),
        Linear(gravity, origin=-height / 2 * up),
    ]
    system = make((NOTHING, box), device, fugacity=z, fields=fields)
    heights: list[float] = []
    samples = 4000
    system.run_cycles(
        2 * samples, [(2, lambda one: heights.extend(one.positions[:, 2] + height / 2))]
    )
    edges = np.linspace(0, height, 9)
    law = z * 81 / gravity * np.diff(-np.exp(-gravity * edges)) * samples
    counts = np.histogram(heights, edges)[0]
    assert_follows(counts, law)
    # The density is z exp(-u), less 2 B_2 z^2 exp(-2 u), which is 1 % of all.
    assert abs(counts.sum() - law.sum()) < 5 * math.sqrt(law.sum()) + 0.01 * law.sum()


def crowd(device="cpu", D=3, sizes="table", **settings):
    """A fluid of many cells and tiles."""
    box = (9.0, 10.0, 11.0) if D == 3 else (20.0, 23.0)
    given = {
        "one": {"fugacity": 6.0, "steps": Step(1.25, -0.5)},
        "table": {
            "types": [], "contacts": TABLE, "fugacity": (1.5, 2.5), "steps": WELLS,
            "fields": Linear(0.05),
        },
        "plain": {"fugacity": 20.0},
    }[sizes]  # fmt: skip
    tile = {"tile": 5 if D == 3 else 7}
    return make((NOTHING[:, :D], box), device, **tile, **given, **settings)


@pytest.mark.parametrize(("D", "sizes"), each_once([2, 3], ["one", "table", "plain"]))
def test_particles_do_not_overlap_and_fill_all_cells(device, D, sizes):
    system = crowd(device, D, sizes)
    for _ in range(3):
        system.run_cycles(12)
        assert_valid(system)
    assert system.N > 50
    assert 0 < system.insertion_acceptance < 1
    accepted = [
        round(trials * share)
        for trials, share in (
            (system.insertion_trials, system.insertion_acceptance),
            (system.deletion_trials, system.deletion_acceptance),
        )
    ]
    assert accepted[0] - accepted[1] == system.N
    in_half = system.positions[:, 0] > 0
    assert 0.3 < in_half.mean() < 0.7


def test_enormous_fugacities_leave_no_room_but_do_not_overflow_cells(device):
    disks = make((NOTHING[:, :2], (12.0, 13.0)), device, fugacity=1e100, seed=4)
    disks.run_cycles(300)
    assert_valid(disks)
    assert 0.55 < disks.packing_fraction < 0.9069
    assert disks.deletion_acceptance == 0


@pytest.mark.parametrize(("D", "sizes"), each_once([2, 3], ["one", "table", "plain"]))
def test_a_resumed_run_is_the_same(device, D, sizes, tmp_path):
    whole, part = (crowd(device, D, sizes) for _ in range(2))
    for k in range(4):
        whole.run_cycles(7)
        part.run_cycles(7)
        part.save(tmp_path / "state")
        part = type(whole).load(tmp_path / "state", device=device, threads=1 + k % 2)
        assert part.state_hash == whole.state_hash
        np.testing.assert_array_equal(part.positions, whole.positions)
        np.testing.assert_array_equal(part.types, whole.types)
        assert part.insertion_trials == whole.insertion_trials > 0
        assert part.deletion_acceptance == whole.deletion_acceptance
        assert part.fugacity == whole.fugacity
        assert part.sweeps == whole.sweeps
    again = part.replace(seed=9)
    assert again.N == part.N and again.fugacity == part.fugacity


def test_neither_threads_nor_pieces_of_a_run_change_it():
    one = crowd(threads=1)
    one.run_cycles(40)
    for threads, pieces in ((2, 1), (3, 8)):
        other = crowd(threads=threads)
        for _ in range(pieces):
            other.run_cycles(40 // pieces)
        assert other.state_hash == one.state_hash
        np.testing.assert_array_equal(other.positions, one.positions)


def test_every_and_attempts_say_how_often_a_cell_is_visited():
    trials = {}
    for every, attempts in ((1, 4), (3, 4), (1, 8)):
        system = crowd(sizes="plain", insertion_every=every, insertion_attempts=attempts)
        system.run_cycles(6)
        trials[every, attempts] = system.insertion_trials + system.deletion_trials
        assert (system.insertion_every, system.insertion_attempts) == (every, attempts)
    assert trials[1, 4] == 3 * trials[3, 4]
    assert trials[1, 8] == 2 * trials[1, 4]


def test_frames_have_the_present_particles(tmp_path):
    system = crowd(sizes="plain")
    system.write_gsd(tmp_path / "course.gsd", 5)
    system.run_cycles(20)
    mixture = crowd(sizes="table")  # empty in the first frame
    mixture.write_gsd(tmp_path / "mixture.gsd")
    mixture.run_cycles(5)
    mixture.write_gsd(tmp_path / "mixture.gsd")
    assert HardSpheres.from_gsd(tmp_path / "mixture.gsd", seed=1, device="cpu").N == mixture.N
    options = {"seed": 1, "device": "cpu"}
    lone = Mixture([1], TABLE)
    HardSpheres([[0, 0, 0]], (6.0, 6.0, 6.0), lone, **options).write_gsd(tmp_path / "lone")
    lone = HardSpheres.from_gsd(tmp_path / "lone", fugacity=[1, 1], **options)
    assert lone.types.tolist() == [1] and np.array_equal(lone.contacts, TABLE)
    HardSpheres(NOTHING, (6.0, 6.0, 6.0), 1.1, fugacity=1, **options).write_gsd(tmp_path / "plain")
    for name, fugacity, contacts in (("mixture.gsd", [1, 1], TABLE), ("plain", 1, [[1.1]])):
        empty = HardSpheres.from_gsd(tmp_path / name, 0, fugacity=fugacity, **options)
        assert empty.N == 0 and np.array_equal(empty._contact_table, contacts)
        with pytest.raises(ValueError, match="no particles"):
            HardSpheres.from_gsd(tmp_path / name, 0, **options)
    last = HardSpheres.from_gsd(tmp_path / "course.gsd", seed=1, device="cpu")
    first = HardSpheres.from_gsd(tmp_path / "course.gsd", 0, seed=1, device="cpu")
    assert last.N == system.N > first.N


def test_ctrl_c_leaves_a_state_that_continues(tmp_path):
    system = crowd()
    Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        system.run_cycles(10**7)
    assert len(system.types) == system.N > 0
    system.save(tmp_path / "state")
    again = HardSpheres.load(tmp_path / "state", "cpu", 1)
    for one in (system, again):
        one.run_cycles(3)
    assert again.state_hash == system.state_hash


def test_replicas_have_numbers_of_their_own():
    def make_one(*, seed, **place):
        return HardSpheres(NOTHING, (6.0, 6.0, 6.0), seed=seed, fugacity=0.5, **place)

    replicas = Replicas([make_one] * 3, seed=4, device="cpu", threads=2)
    replicas.run(200)
    numbers = replicas.map(lambda one: one.N)
    assert len(set(numbers)) > 1 and min(numbers) > 10


def test_the_pressure_is_the_mean_of_the_virial_over_all_samples(device, tmp_path):
    """With the number of particles of each sample; a resumed run has the same records."""
    whole, part = (crowd(device, sizes="plain") for _ in range(2))
    expected, numbers = [], []

    def read(one):
        numbers.append(one.N)
        constant, weights = pressure_weights(
            BINS, DELTA_R, DEGREE, N=one.N, packing_fraction=one.packing_fraction, dimensions=3
        )
        expected.append(constant + weights @ one.core.contact_histogram(DELTA_R, BINS))

    for one in (whole, part):
        one.run_cycles(6)
        cycle = one.sweeps_per_cycle
        one.sample_pressure(every=2 * cycle, record=8 * cycle)
    whole.run_cycles(26, [(2, read)])
    for cycles in (3, 12, 11):
        part.run_cycles(cycles)
        part.save(tmp_path / "state")
        part = HardSpheres.load(tmp_path / "state", device=device)
    assert whole.pressure_sweeps / cycle == pytest.approx([16, 24, 32])
    means = np.mean(np.reshape(expected[1:], (3, 4)), axis=1)
    assert whole.pressure_records == pytest.approx(means, rel=1e-9)
    assert whole.number_records == pytest.approx(np.mean(np.reshape(numbers[1:], (3, 4)), axis=1))
    mean = estimate(whole.number_records) / math.prod(whole.box)
    assert [*whole.density_average] == [*mean]
    np.testing.assert_array_equal(part.pressure_records, whole.pressure_records)
    whole.reset_averages()
    assert not len(whole.pressure_records)
    whole.sample_pressure(None)
    whole.run_cycles(2)
    assert not len(whole.core.take_volumes()[0])


@pytest.mark.parametrize("steps", [None, [Step(1.25, -0.5), Step(1.1, 0.4)]])
def test_the_pressure_is_that_of_a_constant_number_where_nothing_is_exchanged(device, steps):
    """The steps' terms belong to the sums of pairs as in runs with a constant number."""
    start = HardSpheres.random(300, 0.25, seed=2, device="cpu")
    rare = GrandCanonical(1.0, every=10**6)
    fixed, free = (
        make((start.positions, start.box), device, steps=steps, fugacity=fugacity)
        for fugacity in (None, rare)
    )
    for one in (fixed, free):
        one.sample_pressure(every=1e-9, record=5 * one.sweeps_per_cycle)
        one.run_cycles(20)
    assert free.N == 300 and len(free.pressure_records) == 4
    assert free.pressure_records == pytest.approx(fixed.pressure_records, rel=1e-12)


def test_a_constant_number_is_the_default():
    spheres = HardSpheres.random(64, 0.2, seed=1, device="cpu", fugacity=None)
    plain = HardSpheres.random(64, 0.2, seed=1, device="cpu")
    for one in (spheres, plain):
        one.run_cycles(10)
    assert spheres.fugacity is None and np.isnan(spheres.insertion_acceptance)
    assert spheres.state_hash == plain.state_hash


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"pressure": 1.0}, "constant pressure"),
        ({"diameter": [1.0, 1.0]}, "diameters by particle"),
        ({"pinned": [True, False]}, "pinned particles"),
        ({"fields": Springs(1.0, np.zeros((2, 3)))}, "springs"),
        ({"fields": Linear(np.ones(2))}, "fields that have a strength or distance for each"),
        ({"fugacity": -1.0}, "must not be negative"),
        ({"fugacity": 1e300}, "from 1e-200 to 1e200"),
        ({"fugacity": math.nan}, "fugacity"),
        ({"fugacity": [1.0, 1.0]}, "one for each of 1 types, got 2"),
        ({"fugacity": {1: 1.0}}, "has type 1, must be from 0 to 0"),
        ({"insertion_attempts": 0}, "attempts must be from 1 to 1000"),
    ],
)
def test_what_cannot_be_combined_is_named(settings, text):
    given = {"fugacity": 1.0, **settings}
    with pytest.raises(ValueError, match=text):
        make((np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0]]), (5.0, 5.0, 5.0)), **given)


def test_swap_moves_need_a_constant_number():
    with pytest.raises(ValueError, match="fugacity cannot be combined with swap moves"):
        make(
            (np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0]]), (5.0, 5.0, 5.0)),
            diameters=[1.0, 0.9], swap_rounds=2, fugacity=1.0,
        )  # fmt: skip


def test_walls_of_a_mixture_need_one_distance():
    plane = Plane((0.0, 0.0, 1.0), (0.0, 0.0, -2.0))
    sizes = Mixture([0, 1], TABLE)
    start = np.array([[0.0, 0.0, 0.0], [1.5, 0.0, 0.0]])
    with pytest.raises(ValueError, match="distance for each particle: give one for all"):
        HardSpheres(start, (5, 5, 5), sizes, seed=1, fugacity=(1, 1), fields=HardWall(plane))


@pytest.mark.parametrize("fugacity", [None, 0.0, [None], {}])
def test_without_fugacity_there_must_be_particles(fugacity):
    with pytest.raises(ValueError, match="at least one particle, unless particles are"):
        make((NOTHING, (5.0, 5.0, 5.0)), fugacity=fugacity)


def test_a_box_may_be_empty():
    system = make((NOTHING, (5.0, 5.0, 5.0)), fugacity=GrandCanonical(1.0, every=100))
    assert system.N == 0 and system.positions.shape == (0, 3)
    assert system.max_overlap() == 0 and not len(system.field_energies)
    assert (system.density_modes() == 0).all()


def test_other_methods_say_that_they_need_a_constant_number():
    system = crowd(sizes="plain")
    with pytest.raises(RuntimeError, match="in units of its mean diameter, which changes"):
        crowd().sample_pressure(every=1)
    system.sample_pressure(every=1)
    with pytest.raises(RuntimeError, match="contact values need a constant number"):
        _ = system.contact_values
    with pytest.raises(RuntimeError, match="no record is finished"):
        _ = system.density_average
    with pytest.raises(RuntimeError, match="nothing sampled"):
        _ = crowd(sizes="plain").density_average
    with pytest.raises(RuntimeError, match="the number of particles is constant: use N"):
        _ = HardSpheres.random(64, 0.2, seed=1, device="cpu").number_records
    with pytest.raises(ValueError, match="a constant number of particles"):
        system.tune()


@on_gpu
@pytest.mark.parametrize("sizes", ["one", "table", "plain"])
@pytest.mark.parametrize("D", [2, 3])
def test_cpu_and_gpu_make_the_same_trajectory(D, sizes):
    runs = [crowd(device, D, sizes) for device in ("cpu", "cuda")]
    for _ in range(5):
        for run in runs:
            run.run_cycles(10)
        assert runs[0].state_hash == runs[1].state_hash
        np.testing.assert_array_equal(runs[0].positions, runs[1].positions)


@pytest.mark.parametrize("sizes", [another("plain"), "table"])
def test_energies_of_the_present_particles(device, sizes):
    system = crowd(device, sizes=sizes)
    system.run_cycles(10)
    assert system.step_energies.shape == system.field_energies.shape == (system.N,)
