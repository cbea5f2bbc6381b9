# SPDX-License-Identifier: BSD-3-Clause
"""Steps of the energies of pairs: square wells and shoulders follow the Boltzmann law.

Comparisons of histograms have the false-alarm rate of `laws.FALSE_ALARM` each over seeds, which are
fixed. The trajectory of small systems is compared with a model in test_spheres_engine.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hard_spheres import assert_valid, make, sample, sites
from laws import another, assert_binomial, assert_follows
from machine import on_gpu

from manymove import HardDisks, HardSpheres
from manymove.fields import HardWall, Linear, Sphere
from manymove.steps import Step

BOXES = {2: (4.5, 5.1), 3: (4.6, 4.9, 5.3)}
STAIRS = [Step(1.15, -0.9), Step(1.5, 0.7), Step(1.3, -0.8)]


def away(places: np.ndarray, box: tuple[float, ...]) -> np.ndarray:
    """Distances of the pairs (0, 1), (0, 2), ..., (1, 2), ... of each sample, nearest images."""
    i, j = np.triu_indices(places.shape[1], 1)
    vectors = places[:, j] - places[:, i]
    vectors -= np.rint(vectors / np.array(box)) * box
    return np.sqrt((vectors**2).sum(axis=2))


def ball(radius: float | np.ndarray, D: int) -> float | np.ndarray:
    return math.pi * radius**2 if D == 2 else 4 * math.pi / 3 * radius**3


def energies(particles: HardSpheres | HardDisks) -> np.ndarray:
    """Energy of each particle with all others, from all pairs."""
    r, box, types = particles.positions, np.array(particles.box), particles.types
    d = r[:, None] - r
    d -= np.rint(d / box) * box
    distance = np.sqrt((d**2).sum(axis=2))
    np.fill_diagonal(distance, np.inf)
    total = np.zeros(len(r))
    for step in particles.steps:
        number = len(particles.contacts) if particles.contacts is not None else 1
        ranges, values = (
            np.broadcast_to(table, (number, number))[np.ix_(types, types)]
            for table in (step.range, step.energy)
        )
        total += np.where(distance < ranges, values, 0).sum(axis=1)
    return total


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("steps", [STAIRS, Step(1.4, -1.5), another(Step(1.5, 2.0))])
def test_two_particles_are_in_each_shell_as_often_as_its_weight_says(device, dimensions, steps):
    """The probability of a shell is its volume times exp(-u), by the volumes of balls; a comparison
    for each system over shells that end at the ranges and in between."""
    box = BOXES[dimensions]
    start = np.array([[0.6, 0.0, 0.0], [-0.6, 0.1, 0.2]])[:, :dimensions]
    pair = make((start, box), device, max_displacement=0.8, steps=steps)
    pair.run_cycles(300)
    found = away(sample(pair, 12_000, 25), box)[:, 0]
    given = [steps] if isinstance(steps, Step) else steps
    edges = np.unique([1.0, 1.08, 1.22, 1.45, 2.0, *(step.range for step in given)])
    volumes = np.diff(np.append(ball(edges, dimensions), math.prod(box)))
    middles = edges + 0.01
    weights = volumes * np.exp(-sum(s.energy * (middles < s.range) for s in given))
    assert_follows(np.histogram(found, bins=np.append(edges, np.inf))[0], weights)


def test_the_second_virial_coefficient_is_that_of_the_square_well(device):
    """Z / V^2 = 1 - 2 B_2 / V for two particles, of which the share outside of the well is
    (1 - v / V) V^2 / Z; with B_2 = 2 pi / 3 (1 - (lambda^3 - 1) (e^epsilon - 1)). The error of B_2
    is below 5 %."""
    box, reach, depth = BOXES[3], 1.5, 1.2
    start = np.array([[0.9, 0.0, 0.0], [-0.9, 0.1, 0.2]])
    pair = make((start, box), device, max_displacement=1.2, steps=Step(reach, -depth), seed=4)
    pair.run_cycles(300)
    samples = 20_000
    outside = int((away(sample(pair, samples, 25), box)[:, 0] >= reach).sum())
    V, v = math.prod(box), ball(reach, 3)
    virial = 2 * math.pi / 3 * (1 - (reach**3 - 1) * (math.exp(depth) - 1))
    share = (1 - v / V) / (1 - 2 * virial / V)
    assert_binomial(outside, samples, share)
    found = V / 2 * (1 - (1 - v / V) / (outside / samples))
    error = V / 2 * (1 - v / V) / share**2 * math.sqrt(share * (1 - share) / samples)
    assert error < 0.05 * abs(virial)
    assert abs(found - virial) < 5 * error


def crowd(device: str = "cpu", dimensions: int = 3, sizes: str = "table", **settings):
    """Particles on a lattice with steps."""
    per_edge = 9 if dimensions == 3 else 24
    N, box = per_edge**dimensions, tuple((1.2 + 0.03 * a) * per_edge for a in range(dimensions))
    given = {
        "one": {"steps": STAIRS},
        "table": {
            "types": np.arange(N) % 2,
            "contacts": [[1.0, 0.55], [0.55, 0.8]],
            "steps": [
                Step([[1.4, 1.1], [1.1, 1.2]], [[-0.4, 0.9], [0.9, 0.0]]),
                Step(1.7, [[0.1, -0.6], [-0.6, -0.2]]),
            ],
        },
    }[sizes]
    return make((sites(box, per_edge), box), device, **given, **settings)


@pytest.mark.parametrize("sizes", ["one", "table"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_energies_are_the_sums_over_all_pairs(device, dimensions, sizes):
    particles = crowd(device, dimensions, sizes)
    for cycles in (0, 1, 60):
        particles.run_cycles(cycles)
        assert particles.step_energies == pytest.approx(energies(particles), abs=1e-7)
        assert len(np.unique(particles.step_energies)) > (1 if cycles else 0)
    assert_valid(particles)


def serial(r: np.ndarray, box: float, step: Step, sweeps: int, seed: int) -> np.ndarray:
    """Energies after each sweep of a Monte Carlo simulation that moves one sphere at a time."""
    random, N, found = np.random.default_rng(seed), len(r), np.empty(sweeps)

    def squares(i: int, place: np.ndarray) -> np.ndarray:
        d = r - place
        d -= np.rint(d / box) * box
        all_of_them = (d * d).sum(axis=1)
        all_of_them[i] = np.inf
        return all_of_them

    pairs = sum((squares(i, r[i]) < step.range**2).sum() for i in range(N)) // 2
    for sweep in range(sweeps):
        by = random.uniform(-0.15, 0.15, (N, 3))
        for i, move, word in zip(
            random.integers(N, size=N), by, random.uniform(size=N), strict=True
        ):
            there = squares(i, r[i] + move)
            if there.min() < 1:
                continue
            change = int((there < step.range**2).sum() - (squares(i, r[i]) < step.range**2).sum())
            if word < math.exp(-change * step.energy):
                r[i] += move
                pairs += change
        found[sweep] = step.energy * pairs
    return found


@pytest.mark.thorough
def test_500_square_well_spheres_have_the_energy_of_a_serial_simulation():
    """At the density 0.5 and the depth 1 / 1.5 kT. Errors are those of 12 blocks; the means agree
    within 4.5 of their combined errors, which are below 0.7 %."""
    step, box = Step(1.5, -1 / 1.5), 10.0
    start = np.concatenate([sites(3 * (box,), 5) + shift for shift in (
        (0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0))]) - 0.5  # fmt: skip
    spheres = make((start, 3 * (box,)), "cpu", steps=step)
    spheres.run(300)
    ours = np.empty(3000)
    for k in range(len(ours)):
        spheres.run_cycles(1)
        ours[k] = spheres.step_energies.sum() / 2
    theirs = serial(start.copy(), box, step, 700, 3)[100:]
    means, errors = zip(*(
        (blocks.mean(), blocks.mean(axis=1).std(ddof=1) / math.sqrt(12))
        for blocks in (ours.reshape(12, -1), theirs.reshape(12, -1))
    ), strict=True)  # fmt: skip
    error = math.hypot(*errors)
    assert error < 7e-3 * abs(means[1])
    assert abs(means[0] - means[1]) < 4.5 * error


def test_a_shoulder_without_energy_is_no_shoulder():
    """It is dropped and counts for no limit, and its cells are as wide as without steps."""
    box = (8.0, 8.0, 8.0)
    table = {"types": np.zeros(216, dtype=int), "contacts": [[1.0]]}
    runs = [make((sites(box, 6), box), **table, steps=s) for s in (None, 9 * [Step(2.5, 0.0)])]
    for run in runs:
        run.run_cycles(20)
    assert runs[0].state_hash == runs[1].state_hash
    assert not runs[1].step_energies.any()


def test_steps_and_fields_act_together(device):
    """Two disks in a well, a linear field and a hard circle: a comparison with random pairs over
    the distance and the height of the first one."""
    box, step = BOXES[2], Step(1.4, -1.1)
    fields = [HardWall(Sphere(2.0)), Linear([0.8, -0.5], (0.0, 1.0))]
    start = np.array([[0.6, 0.0], [-0.6, 0.0]])
    pair = make((start, box), device, max_displacement=0.8, steps=step, fields=fields)
    pair.run_cycles(300)
    places = sample(pair, 8000, 30)
    random = np.random.default_rng(4)
    trial = random.uniform(-0.5, 0.5, (3_000_000, 2, 2)) * box
    distance = away(trial, box)[:, 0]
    legal = (distance >= 1) & ((trial**2).sum(axis=2) <= 1.5**2).all(axis=1)
    trial, distance = trial[legal], distance[legal]
    weight = np.exp(1.1 * (distance < 1.4) - 0.8 * trial[:, 0, 1] + 0.5 * trial[:, 1, 1])
    kept = random.uniform(size=len(trial)) < weight / weight.max()
    bins = [[1.0, 1.15, 1.4, 1.8, 9.0], np.linspace(-1.5, 1.5, 5)]
    law = np.histogram2d(distance[kept], trial[kept, 0, 1], bins=bins)[0]
    found = np.histogram2d(away(places, box)[:, 0], places[:, 0, 1], bins=bins)[0]
    assert_follows(found, law, law_samples=kept.sum())


@on_gpu
@pytest.mark.parametrize("sizes", ["one", "table"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_cpu_and_gpu_make_the_same_trajectory_with_steps(dimensions, sizes):
    runs = [crowd(device, dimensions, sizes) for device in ("cpu", "cuda")]
    for run in runs:
        run.run_cycles(60)
    assert runs[0].state_hash == runs[1].state_hash
    assert (runs[0].step_energies == runs[1].step_energies).all()


@on_gpu
@pytest.mark.parametrize("fields", [None, Linear(0.02, (1.0, 0.0, 0.0))])
def test_large_systems_with_steps_make_the_same_trajectory_on_cpu_and_gpu(fields):
    """With the kernels for many tiles."""
    box, steps = (80.0, 80.0, 80.0), [Step(1.5, -0.6), Step(1.2, 0.4)]
    runs = [
        make((sites(box, 66), box), device, steps=steps, fields=fields, threads=None)
        for device in ("cpu", "cuda")
    ]
    for run in runs:
        run.run_cycles(10)
    assert runs[0].state_hash == runs[1].state_hash


@pytest.mark.parametrize("sizes", ["one", "table"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_run_continues_from_a_checkpoint(device, dimensions, sizes, tmp_path):
    whole, half = (crowd(device, dimensions, sizes) for _ in range(2))
    whole.run_cycles(30)
    half.run_cycles(15)
    half.save(tmp_path / "state")
    loaded = type(half).load(tmp_path / "state", device=device, threads=1)
    assert loaded.steps == half.steps
    assert (loaded.step_energies == half.step_energies).all()
    loaded.run_cycles(15)
    assert loaded.state_hash == whole.state_hash
    other = loaded.replace(seed=9)
    assert other.steps == loaded.steps
    other.run_cycles(1)
    assert_valid(other)
    assert other.step_energies == pytest.approx(energies(other), abs=1e-7)


def test_pinned_particles_have_energies_but_stay(device):
    box = (6.0, 6.0)
    places, pinned = sites(box, 5), np.arange(25) % 4 == 0
    disks = make((places, box), device, steps=Step(1.5, -1.0), pinned=pinned)
    before = disks.positions[pinned]
    disks.run_cycles(40)
    assert (disks.positions[pinned] == before).all()
    assert disks.step_energies == pytest.approx(energies(disks), abs=1e-7)


def test_float32_positions_of_a_wide_range_are_repaired():
    """The lattice of the coordinates is in proportion to the range."""
    box = (18.0, 18.0, 18.0)
    places = sites(box, 17)
    near = places[:2].copy()
    near[1] = near[0] + np.array([0, 0, 1 - 3e-6])
    spheres = HardSpheres(
        np.concatenate([near, places[2:]]), box, seed=1, steps=Step(5.9, 0.01), device="cpu"
    )
    assert spheres.repaired["count"] == 1
    assert spheres.max_overlap() == 0


MIXED = np.linspace(0.8, 1.0, 27)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"diameter": MIXED}, "steps cannot be combined with diameters by particle"),
        ({"steps": 9 * [Step(1.2, 1.0)]}, "steps must have at most 8 steps in all, got 9"),
        ({"steps": Step(0.9, 1.0)}, "must have ranges above the contact distance 1, got 0.9"),
        ({"steps": Step(1.0, 1.0)}, "must have ranges above the contact distance 1, got 1"),
        ({"steps": Step(1.2, 1001.0)}, "at most 1000 kT in magnitude in each step, got 1001"),
        ({"steps": Step(2.6, 1.0)}, "three times the largest range of an energy are 7.8"),
        (
            {"steps": Step([[1.2, 1.3], [1.3, 1.4]], 1.0)},
            r"range must be a number or a table of 1 by 1 for pairs of types, got .* \(2, 2\)",
        ),
    ],
)
def test_what_steps_do_not_have_is_refused(options, message):
    box = (5.0, 5.0, 5.0)
    with pytest.raises(ValueError, match=message):
        HardSpheres(
            sites(box), box, **{"steps": Step(1.2, -1.0), "seed": 1, "device": "cpu"} | options
        )


def test_tables_are_for_the_types():
    def of(step: Step) -> HardSpheres:
        types = {"types": np.arange(27) % 2, "contacts": [[1.0, 0.9], [0.9, 0.8]]}
        return make((sites((5.0,) * 3), (5.0,) * 3), steps=step, **types)

    with pytest.raises(ValueError, match="energy must be a number or a table of 2 by 2"):
        of(Step(1.2, np.zeros((3, 3))))
    with pytest.raises(ValueError, match=r"must have symmetric energies: \[1\]\[0\] is 2, .* is 1"):
        of(Step(1.2, [[0, 1], [2, 0]]))
    with pytest.raises(ValueError, match="must have symmetric ranges"):
        of(Step([[1.1, 1.2], [1.3, 1.4]], -1.0))


@pytest.mark.parametrize("given", [(-1.2, 1.0), (0.0, 1.0), (math.nan, 1.0), (1.2, math.inf)])
def test_bad_numbers_are_refused(given):
    with pytest.raises(ValueError, match="must be"):
        Step(*given)


@pytest.mark.parametrize("bad", ["1.5", "abc", True, None, [[True]], [["1.5"]]])
def test_what_is_no_number_is_refused_by_the_name_of_the_argument(bad):
    for name in ("range", "energy"):
        with pytest.raises(TypeError, match=f"^{name} must be a number or a table of numbers"):
            Step(**{"range": 1.5, "energy": -1.0} | {name: bad})


@pytest.mark.parametrize("bad", [[[1.2], [1.3, 1.4]], [[]], [], [1.2], [[1.2, 1.3]]])
def test_a_table_that_is_not_square_is_refused(bad):
    for name in ("range", "energy"):
        with pytest.raises(ValueError, match=f"^{name} must be a finite number or a square table"):
            Step(**{"range": 1.5, "energy": -1.0} | {name: bad})


def test_a_checkpoint_has_tables_of_equal_numbers_as_numbers(tmp_path):
    """A table of one type, and one that says nothing, are the numbers in them."""
    types = {"types": np.arange(27) % 2, "contacts": [[1.0, 0.9], [0.9, 0.8]]}
    given = [Step(2 * [2 * [1.5]], -1.0), Step(1.3, [[0.0, -1.0], [-1.0, 0.0]]), Step(1.4, 0.0)]
    saved = make((sites((5.0,) * 3), (5.0,) * 3), steps=given, **types)
    assert saved.steps == (Step(1.5, -1.0), *given[1:])
    saved.save(tmp_path / "state")
    assert type(saved).load(tmp_path / "state", device="cpu").steps == saved.steps


def test_a_few_small_particles_with_a_wide_range_have_room():
    """The narrowest tile has room for millions of particles of their size."""
    box = (12.0, 12.0, 12.0)
    types = {"types": np.arange(27) % 2, "contacts": [[1.0, 0.55], [0.55, 0.1]]}
    few = make((sites(box), box), steps=Step(3.9, -0.1), **types)
    few.run_cycles(20)
    assert few.step_energies == pytest.approx(energies(few), abs=1e-7)


def test_what_is_not_a_step_is_refused():
    with pytest.raises(TypeError, match=r"steps must be objects of manymove\.steps"):
        HardDisks(np.zeros((1, 2)), (9.0, 9.0), seed=1, steps=(1.5, -1.0))
