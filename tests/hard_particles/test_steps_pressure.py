# SPDX-License-Identifier: BSD-3-Clause
"""Pressure and constant pressure of particles with steps of the energies of pairs.

Comparisons of histograms have the false-alarm rate of `laws.FALSE_ALARM` each, over seeds, which
are fixed. Ranks make the trajectory of one in test_ranks.py.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hard_spheres import assert_valid, make, sites
from laws import another, assert_follows
from machine import on_gpu
from numpy.polynomial import Polynomial

from manymove import ConstantPressure
from manymove.analysis.pressure import BINS, DEGREE, DELTA_R, pressure_from_histogram, step_weights
from manymove.steps import Step

STAIRS = [Step(1.15, -0.9), Step(1.5, 0.7), Step(1.3, -0.8)]
NARROW = [Step(1.03, 2.0), Step(1.5, -0.5)]  # a shoulder that ends within the bins at contact


def ball(radius: Any, D: int) -> Any:
    return math.pi * radius**2 if D == 2 else 4 * math.pi / 3 * radius**3


def energy(steps: list[Step], r: float) -> float:
    return sum(step.energy for step in steps if r < step.range)


def excluded(steps: list[Step], D: int) -> float:
    """The integral of 1 - exp(-u) over the vectors of a pair, 2 B_2."""
    edges = sorted({1.0, *(step.range for step in steps)})
    return ball(1.0, D) + sum(
        (1 - math.exp(-energy(steps, (low + high) / 2))) * (ball(high, D) - ball(low, D))
        for low, high in itertools.pairwise(edges)
    )


def third_virial(steps: list[Step]) -> float:
    """B_3 of spheres, -1/3 of the integral of f(r) (f * f)(r) over r. Mayer's f is a sum of balls,
    of which two have a lens in common."""
    edges = sorted({1.0, *(step.range for step in steps)})
    inner = [
        -1.0,
        *(math.exp(-energy(steps, (a + b) / 2)) - 1 for a, b in itertools.pairwise(edges)),
    ]
    balls = {R: f - g for R, f, g in zip(edges, inner, [*inner[1:], 0.0], strict=True)}
    r = np.linspace(0, edges[-1], 400_001)
    r = (r[1:] + r[:-1]) / 2

    def lens(a: float, b: float) -> np.ndarray:
        common = (a + b - r) ** 2 * (r**2 + 2 * r * (a + b) - 3 * (a - b) ** 2)
        within = np.where(r < abs(a - b), ball(min(a, b), 3), math.pi * common / (12 * r))
        return np.where(r < a + b, within, 0.0)

    chain = sum(x * y * lens(a, b) for a, x in balls.items() for b, y in balls.items())
    f = sum(x * (r < a) for a, x in balls.items())
    return -float((4 * math.pi * r**2 * f * chain).sum() * (r[1] - r[0])) / 3


def test_the_third_virial_coefficient_of_hard_spheres_is_5_pi_squared_over_18():
    assert third_virial([Step(1.5, 0.0)]) == pytest.approx(5 * math.pi**2 / 18, rel=1e-5)


@pytest.mark.parametrize("D", [2, 3])
@pytest.mark.parametrize(
    "steps",
    [
        ((1.5, -1.0), (1.53, 0.5)),  # a range within the bins of another
        ((1.02, -3.0), (1.3, 0.0)),  # a narrow well, and no step
        ((1.5, -4.0), (1.5, 6.0), (1.04, 60.0)),  # two at one range, and a hard core
        ((1.0005, -8.0), (1.4, -2.0), (1.3995, 3.0)),  # thinner than a bin
    ],
)
def test_the_estimate_of_a_cubic_is_exact(steps, D):
    """The density of pairs is r^(D - 1) y(r) exp(-u(r)) with a cubic y, which is continuous."""
    y = Polynomial([1.3, -0.8, 0.5, -0.2])(Polynomial([-1, 1]))
    density = (Polynomial([0, 1]) ** (D - 1) * y).integ()

    def boltzmann(r: float) -> float:
        return math.exp(-sum(value for reach, value in steps if r < reach))

    def count(low: float, high: float) -> float:
        low, high = (max(each, 1.0) for each in (low, high))
        parts = [low, *sorted(reach for reach, _ in steps if low < reach < high), high]
        return sum(
            boltzmann((a + b) / 2) * (density(b) - density(a)) for a, b in itertools.pairwise(parts)
        )

    d, bins = DELTA_R, np.arange(BINS)
    counts = [[count(1 + k * d, 1 + (k + 1) * d) for k in bins]]
    wanted = y(1.0) * boltzmann(1.0)
    for reach in dict(steps):
        wanted += reach**D * y(reach) * (boltzmann(reach + 1e-9) - boltzmann(reach - 1e-9))
    for reach, _ in steps:
        counts.append([count(reach - (k + 1) * d, reach - k * d) for k in bins])
        counts.append([count(reach + k * d, reach + (k + 1) * d) for k in bins])
    weights = step_weights(BINS, DELTA_R, DEGREE, D, steps)
    assert float((weights * counts).sum()) == pytest.approx(wanted, rel=1e-9)


def crowd(
    device: str = "cpu", D: int = 3, sizes: str = "table", spacing: float = 1.25, **settings: Any
) -> Any:
    """Particles on a lattice with steps."""
    per_edge = 8 if D == 3 else 20
    N, box = per_edge**D, tuple((spacing + 0.03 * a) * per_edge for a in range(D))
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
    return make((sites(box, per_edge), box), device, **{**given, **settings})


@pytest.mark.parametrize("sizes", ["one", "table"])
@pytest.mark.parametrize("D", [2, 3])
def test_histograms_are_those_of_all_pairs(device, D, sizes):
    particles = crowd(device, D, sizes)
    particles.run_cycles(40)
    width, bins, box = 0.01, 7, np.array(particles.box)
    i, j = np.triu_indices(particles.N, 1)
    vectors = particles.positions[i] - particles.positions[j]
    r = np.sqrt(((vectors - np.rint(vectors / box) * box) ** 2).sum(axis=1))
    a, b = np.sort([particles.types[i], particles.types[j]], axis=0)
    contacts = np.array([[1.0]]) if sizes == "one" else particles.contacts
    T = len(contacts)
    kinds = a * T - a * (a - 1) // 2 + b - a
    expected, doubtful = [], 0

    def add(away: np.ndarray) -> None:
        nonlocal doubtful
        at = away / contacts[a, b] / width
        sure = np.abs(at - np.rint(at)) > 1e-5 / width  # exported positions are rounded
        doubtful += (~sure).sum()
        counts = np.zeros((T * (T + 1) // 2, bins), dtype=int)
        here = sure & (at > 0) & (at < bins)
        np.add.at(counts, (kinds[here], at[here].astype(int)), 1)
        expected.append(counts)

    add(r - contacts[a, b])
    for step in particles.steps:
        ranges, values = (np.broadcast_to(t, (T, T))[a, b] for t in (step.range, step.energy))
        for side in (ranges - r, r - ranges):
            add(np.where(values != 0, side, -1.0))
    found = particles.core.contact_histogram(width, bins).reshape(np.shape(expected))
    assert np.sum(expected[1:]) > 100
    assert (found >= expected).all()
    assert found.sum() - np.sum(expected) <= doubtful


BOXES = {2: (4.5, 5.1), 3: (4.6, 4.9, 5.3)}


def two(device: str, box: tuple[float, ...], **settings: Any) -> Any:
    places = np.array([[0.7, 0.1, 0.2], [-0.7, -0.2, 0.0]])[:, : len(box)]
    return make((places, box), device, max_displacement=0.9, **settings)


@pytest.mark.parametrize(
    ("D", "steps"),
    [(2, [Step(1.4, -1.5)]), (3, STAIRS), another(3, [Step(1.4, -1.5)]), (2, NARROW),
     another(2, STAIRS), another(3, NARROW)],
)  # fmt: skip
def test_two_particles_have_the_pressure_of_their_partition_function(device, D, steps):
    """Z = V (V - 2 B_2) in boxes of at least three ranges, and beta P = 1 / V + 1 / (V - 2 B_2).
    The error is below 2.5 %; the terms of contact and of a range are 10 % and more."""
    pair = two(device, BOXES[D], steps=steps)
    pair.run_cycles(100)
    pair.sample_pressure(every=5 * pair.sweeps_per_cycle, record=1000 * pair.sweeps_per_cycle)
    pair.run_cycles(500_000)
    V = math.prod(pair.box)
    exact = 1 / V + 1 / (V - excluded(steps, D))
    found = pair.pressure_average
    assert found.error < 0.025 * exact
    assert abs(found.value - exact) < 4.5 * found.error


@pytest.mark.thorough
def test_dilute_spheres_have_the_virial_coefficients_of_the_square_well():
    """Of the range 1.5 and the depth 1/2, at the density 0.12, where B_3 adds 4 % to the pressure.
    The error is below 13 % of B_3 = 2.49, and a fourth coefficient of 2.7 would add as much."""
    well, density, per_edge = [Step(1.5, -0.5)], 0.12, 12
    B2, B3 = excluded(well, 3) / 2, third_virial(well)
    box = 3 * ((per_edge**3 / density) ** (1 / 3),)
    fluid = make((sites(box, per_edge), box), "cpu", steps=well, threads=None, max_displacement=1.0)
    fluid.run_cycles(200)
    fluid.sample_pressure(every=1e-9, record=100 * fluid.sweeps_per_cycle)
    fluid.run_cycles(5000)
    found = fluid.pressure_average
    third = (found.value / density - 1 - B2 * density) / density**2
    error = found.error / density**3
    assert error < 0.13 * B3
    assert abs(third - B3) < 4.5 * error


DEEP = {
    2: [Step(1.15, -0.9), Step(1.5, 0.7), Step(1.3, -3.0)],
    3: [Step(1.2, 1.0), Step(1.5, -3.5)],
}
MODES: dict[str, dict[str, Any]] = {
    "ln": {"delta": 0.06},
    "standard": {"mode": "standard", "delta": 1.5},
    "length": {"mode": "length", "delta": 0.7},
    "several": {
        "weights": {"volume": 1, "length": 1, "aspect": 1},
        "delta": {"volume": 0.3, "length": 0.6, "aspect": 0.2},
    },
}

COARSE: dict[str, dict[str, Any]] = {  # for hundreds of particles
    "ln": {"delta": 0.01},
    "standard": {"mode": "standard", "delta": 2.0},
    "length": {"mode": "length", "delta": 0.08, "repeats": 2},
    "several": {
        "weights": {"volume": 1, "length": 1, "aspect": 1},
        "delta": {"volume": 0.02, "length": 0.08, "aspect": 0.02},
        "repeats": 2,
    },
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("D", [2, 3])
def test_the_box_of_two_particles_follows_its_law(device, D, mode):
    """The weight of a box with edges of at least three ranges is V (V - 2 B_2) exp(-beta P V). With
    these wells the pair is bound in about half of the volumes."""
    steps, least, beta_pressure = DEEP[D], 4.5, 3 / 4.5**D
    pressure = ConstantPressure(beta_pressure, **MODES[mode])
    pair = two(device, D * (4.9,), steps=steps, pressure=pressure)
    pair.run_cycles(200)
    boxes = np.empty((6000, D))
    for k in range(len(boxes)):
        pair.run_cycles(40)
        boxes[k] = pair.box
    assert (boxes >= least * (1 - 2e-6)).all()
    b = excluded(steps, D)
    if mode in ("ln", "standard"):
        v = least**D + np.linspace(0, 40 / beta_pressure, 400_001)
        values, law = boxes.prod(axis=1), v * (v - b) * np.exp(-beta_pressure * v)
    else:  # of the first edge x, with the others integrated: their product A has the weight of_area
        v = np.linspace(least, least + 40 / (beta_pressure * least ** (D - 1)), 20_001)[:, None]
        areas = least ** (D - 1) + np.linspace(0, 40 / (beta_pressure * least), 2001)
        of_area = 1.0 if D == 2 else np.log(areas / least**2)
        V = v * areas
        weights = of_area * V * (V - b) * np.exp(-beta_pressure * V)
        law = (weights[:, 1:] + weights[:, :-1]).sum(axis=1)
        v, values = v[:, 0], boxes[:, 0]
    cumulated = np.cumsum(law) / law.sum()
    edges = np.interp(np.linspace(0, 1, 13)[1:-1], cumulated, v)
    assert_follows(np.histogram(values, [0, *edges, np.inf])[0], np.ones(12))


@pytest.mark.parametrize("mode", ["standard", another("ln")])
def test_the_density_at_the_pressure_of_constant_volume_is_that_of_constant_volume(mode):
    """Of disks with a well and a shoulder, within 4.5 joint standard errors, which are below 1 %;
    the difference by the size of the system is below 0.3 %."""
    box, steps = (22.4, 22.4), [Step(1.3, -0.5), Step(1.5, 0.3)]
    nvt = make((sites(box, 16), box), steps=steps)
    nvt.run(2000)
    nvt.sample_pressure(every=2, record=60)
    nvt.run(60_000)
    imposed = nvt.pressure_average
    npt = nvt.replace(pressure=ConstantPressure(imposed.value, **COARSE[mode]))
    npt.run(2000)
    npt.sample_volume(record=60)
    npt.run(60_000)
    found = npt.packing_fraction_average
    density = npt.N / npt.volume_records.mean()
    of_pressure = imposed.error * npt.compressibility.value / density  # d ln phi
    joint = math.hypot(found.error / found.value, of_pressure)
    assert joint < 0.01
    assert abs(found.value / nvt.packing_fraction - 1) < 4.5 * joint + 0.003


UNLIKE: dict[str, Any] = {
    "types": [0, 1],
    "contacts": [[1.1, 1.0], [1.0, 0.4]],
    "steps": [
        Step([[1.2, 1.3], [1.3, 1.2]], [[9.0, -2.5], [-2.5, 9.0]]),
        Step([[1.5, 1.5], [1.5, 1.5]], [[-9.0, 0.4], [0.4, 0.0]]),
    ],
}


@pytest.mark.parametrize("volume", [None, "ln", "several"])
def test_two_unlike_particles_have_the_steps_of_their_pair(device, volume):
    """Pressure and mean volume are those of the pair alone, within 4.5 standard errors. Those of
    100 blocks are the errors of the volume."""
    b, D = excluded([Step(1.3, -2.5), Step(1.5, 0.4)], 2), 2
    if volume is None:
        pair = two(device, BOXES[D], **UNLIKE)
        pair.sample_pressure(every=5 * pair.sweeps_per_cycle, record=1000 * pair.sweeps_per_cycle)
        pair.run_cycles(500_000)
        V, d = math.prod(pair.box), pair.diameter
        found, exact = pair.pressure_average, (1 / V + 1 / (V - b)) * d**D
        assert found.error < 0.03 * exact
        assert abs(found.value - exact) < 4.5 * found.error
        return
    beta_pressure = 3 / 4.5**D
    start = two(device, D * (4.9,), **UNLIKE)
    imposed = beta_pressure * start.diameter**D
    pair = start.replace(pressure=ConstantPressure(imposed, **MODES[volume]))
    pair.run_cycles(200)
    volumes = np.empty(60_000)
    for k in range(len(volumes)):
        pair.run_cycles(4)
        volumes[k] = pair.volume
    v = np.linspace(4.5, 4.5 + 200 / (4.5 * beta_pressure), 4001)
    V = v**D if volume == "ln" else np.multiply.outer(v, v)
    # Of a square dV; of a rectangle the two edges.
    law = V * (V - b) * np.exp(-beta_pressure * V) * (v if volume == "ln" else 1.0)
    blocks = volumes.reshape(100, -1).mean(axis=1)
    error = blocks.std(ddof=1) / 10
    exact = (law * V).sum() / law.sum()
    assert error < 0.015 * exact
    assert abs(volumes.mean() - exact) < 4.5 * error


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", ["one", "table"])
def test_a_box_that_grows_changes_its_cells_and_keeps_its_energies(device, sizes, mode):
    spacing, reach = (1.12, 1.5) if sizes == "one" else (1.27, 1.7)
    pressure = ConstantPressure(0.2, **COARSE[mode])
    particles = crowd(device, 3, sizes, spacing, pressure=pressure, steps=Step(reach, 0.3))
    cells, volume = particles.cells, particles.volume
    particles.run_cycles(300)
    assert particles.volume > 1.02 * volume
    assert particles.cells != cells
    widths = np.divide(particles.box, particles.cells)
    assert widths.min() >= reach * (1 - 1e-9)
    assert_valid(particles)
    again = particles.replace(pressure=None)  # from positions in float64
    assert again.step_energies == pytest.approx(particles.step_energies, abs=1e-7)


@pytest.mark.parametrize("mode", ["ln", "several"])
def test_a_run_at_constant_pressure_continues_from_a_checkpoint(device, mode, tmp_path):
    pressure = ConstantPressure(4.0, **COARSE[mode])
    whole, half = (crowd(device, pressure=pressure) for _ in range(2))
    whole.run_cycles(40)
    half.run_cycles(20)
    half.save(tmp_path / "state")
    loaded = type(half).load(tmp_path / "state", device=device, threads=1)
    loaded.run_cycles(20)
    assert loaded.state_hash == whole.state_hash
    assert (loaded.step_energies == whole.step_energies).all()


def test_a_record_of_the_pressure_continues_from_a_checkpoint(tmp_path):
    whole, half = (crowd() for _ in range(2))
    for each in (whole, half):
        each.sample_pressure(every=1e-9, record=8 * each.sweeps_per_cycle)
    whole.run_cycles(24)
    half.run_cycles(13)
    half.save(tmp_path / "state")
    loaded = type(half).load(tmp_path / "state", device="cpu", threads=1)
    loaded.run_cycles(11)
    assert (loaded.pressure_records == whole.pressure_records).all()
    assert (loaded.contact_value_records == whole.contact_value_records).all()
    assert loaded.pair_histogram.shape == (3, BINS)
    assert len(loaded.to_dataframe()) == 3


@on_gpu
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", ["one", "table"])
@pytest.mark.parametrize("D", [2, 3])
def test_cpu_and_gpu_make_the_same_trajectory_at_constant_pressure(D, sizes, mode):
    pressure = ConstantPressure(6.0, **COARSE[mode])
    runs = [crowd(device, D, sizes, pressure=pressure) for device in ("cpu", "cuda")]
    for run in runs:
        run.run_cycles(60)
    assert runs[0].state_hash == runs[1].state_hash
    assert runs[0].volume == runs[1].volume


@on_gpu
@pytest.mark.parametrize("sizes", ["one", "table"])
@pytest.mark.parametrize("D", [2, 3])
def test_cpu_and_gpu_sample_the_same_pressures(D, sizes):
    runs = [crowd(device, D, sizes) for device in ("cpu", "cuda")]
    for run in runs:
        run.sample_pressure(every=1e-9, record=5 * run.sweeps_per_cycle)
        run.run_cycles(20)
    assert (runs[0].pressure_records == runs[1].pressure_records).all()


def test_the_pressure_of_a_histogram_is_that_of_its_records():
    particles = crowd("cpu", 3, "one")
    particles.sample_pressure(every=1e-9, record=1e-9)
    particles.run_cycles(1)
    counts = particles.core.contact_histogram(DELTA_R, BINS)
    steps = (tuple((step.range, step.energy) for step in STAIRS),)
    found = pressure_from_histogram(
        counts, 1, particles.N, particles.packing_fraction, dimensions=3, steps=steps
    )
    assert found == pytest.approx(particles.pressure_records[0], rel=1e-12)
