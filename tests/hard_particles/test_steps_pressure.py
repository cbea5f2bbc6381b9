# SPDX-License-Identifier: BSD-3-Clause
"""Pressure and constant pressure of particles with steps of the energies of pairs.

Comparisons of histograms have the false-alarm rate of `laws.FALSE_ALARM` each, over seeds, which
are fixed. Ranks make the trajectory of one in test_sphere_ranks.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hard_spheres import assert_valid, make, sites
from laws import another, assert_follows
from machine import on_gpu
from numpy.polynomial import Polynomial

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
        for low, high in zip(edges[:-1], edges[1:], strict=True)
    )


def third_virial(steps: list[Step]) -> float:
    """B_3 of spheres, -1/3 of the integral of f(r) (f * f)(r) over r. Mayer's f is a sum of balls,
    of which two have a lens in common."""
    edges = sorted({1.0, *(step.range for step in steps)})
    inner = [-1.0, *(math.exp(-energy(steps, (a + b) / 2)) - 1 for a, b in zip(edges, edges[1:]))]
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
            boltzmann((a + b) / 2) * (density(b) - density(a))
            for a, b in zip(parts[:-1], parts[1:], strict=True)
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


def crowd(device: str = "cpu", D: int = 3, sizes: str = "table", **settings: Any) -> Any:
    """Particles on a lattice with steps."""
    per_edge = 8 if D == 3 else 20
    N, box = per_edge**D, tuple((1.25 + 0.03 * a) * per_edge for a in range(D))
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
            add(np.where(values != 0, side, np.inf))
    found = particles.core.contact_histogram(width, bins).reshape(np.shape(expected))
    assert np.sum(expected[1:]) > 100
    assert (found >= expected).all()
    assert found.sum() - np.sum(expected) <= doubtful


BOXES = {2: (4.5, 5.1), 3: (4.6, 4.9, 5.3)}


def few(N: int, device: str, box: tuple[float, ...], **settings: Any) -> Any:
    corners = np.array([[0.7, 0.1, 0.2], [-0.7, -0.2, 0.0], [0.1, 1.3, -0.9]])
    return make((corners[:N, : len(box)], box), device, max_displacement=0.9, **settings)


@pytest.mark.parametrize(
    ("D", "steps"),
    [(2, [Step(1.4, -1.5)]), (3, STAIRS), another(3, [Step(1.4, -1.5)]), (2, NARROW),
     another(2, STAIRS), another(3, NARROW)],
)  # fmt: skip
def test_two_particles_have_the_pressure_of_their_partition_function(device, D, steps):
    """Z = V (V - 2 B_2) in boxes of at least three ranges, and beta P = 1 / V + 1 / (V - 2 B_2).
    The virial is wrong by less than 4.5 standard errors, which are below 15 % of it."""
    pair = few(2, device, BOXES[D], steps=steps)
    pair.run_cycles(100)
    pair.sample_pressure(every=5 * pair.sweeps_per_cycle, record=1000 * pair.sweeps_per_cycle)
    pair.run_cycles(150_000)
    V = math.prod(pair.box)
    exact = 1 / V + 1 / (V - excluded(steps, D))
    found = pair.pressure_average
    assert found.error < 0.15 * abs(exact - 2 / V)
    assert abs(found.value - exact) < 4.5 * found.error


def test_three_spheres_have_the_third_virial_coefficient_of_the_square_well():
    """Z = V^3 - 6 B_2 V^2 + 12 B_2^2 V - 3 B_3 V for three particles, so that the pressure and B_2
    give B_3. The well has the range 1.5 and the depth 1; its B_3 is known within 10 %."""
    well = [Step(1.5, -1.0)]
    B2, B3 = excluded(well, 3) / 2, third_virial(well)
    box = (4.5, 4.5, 4.5)
    trio = few(3, "cpu", box, steps=well)
    trio.run_cycles(100)
    trio.sample_pressure(every=5 * trio.sweeps_per_cycle, record=1000 * trio.sweeps_per_cycle)
    trio.run_cycles(400_000)
    V = math.prod(box)

    def pressure(third: float) -> float:
        Z = V**3 - 6 * B2 * V**2 + 12 * B2**2 * V - 3 * third * V
        return (3 * V**2 - 12 * B2 * V + 12 * B2**2 - 3 * third) / Z

    found, slope = trio.pressure_average, pressure(B3 + 1) - pressure(B3)
    third = B3 + (found.value - pressure(B3)) / slope
    error = found.error / abs(slope)
    assert error < 0.1 * abs(B3)
    assert abs(third - B3) < 4.5 * error


DEEP = {2: [Step(1.15, -0.9), Step(1.5, 0.7), Step(1.3, -3.0)], 3: [Step(1.2, 1.0), Step(1.5, -3.5)]}
MODES: dict[str, dict[str, Any]] = {
    "ln": {"volume_mode": "ln", "volume_delta": 0.06},
    "standard": {"volume_mode": "standard", "volume_delta": 1.5},
    "length": {"volume_mode": "length", "volume_delta": 0.7},
    "several": {
        "volume_weights": {"volume": 1, "length": 1, "aspect": 1},
        "volume_delta": {"volume": 0.3, "length": 0.6, "aspect": 0.2},
    },
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("D", [2, 3])
def test_the_box_of_two_particles_follows_its_law(device, D, mode):
    """The weight of a box with edges of at least three ranges is V (V - 2 B_2) exp(-beta P V). With
    these wells the pair is bound in about half of the volumes."""
    steps, least, beta_pressure = DEEP[D], 4.5, 3 / 4.5**D
    pair = few(2, device, D * (4.9,), steps=steps, pressure=beta_pressure, **MODES[mode])
    pair.run_cycles(200)
    boxes = np.empty((6000, D))
    for k in range(len(boxes)):
        pair.run_cycles(40)
        boxes[k] = pair.box
    assert (boxes >= least * (1 - 1e-9)).all()
    b = excluded(steps, D)
    if mode in ("ln", "standard"):
        v = least**D + np.linspace(0, 40 / beta_pressure, 400_001)
        values, law = boxes.prod(axis=1), v * (v - b) * np.exp(-beta_pressure * v)
    else:  # of the first edge, with the others integrated: area A for a volume of x A
        v = np.linspace(least, least + 60, 400_001)
        areas = least ** (D - 1) + np.linspace(0, 900, 20_001)
        of_area = np.ones(len(areas)) if D == 2 else np.log(areas / least**2)
        law = np.zeros(len(v))
        for area, share in zip(areas[::20], of_area[::20], strict=True):
            law += share * v * area * (v * area - b) * np.exp(-beta_pressure * v * area)
        values = boxes[:, 0]
    cumulated = np.cumsum(law) / law.sum()
    edges = np.interp(np.linspace(0, 1, 13)[1:-1], cumulated, v)
    assert_follows(np.histogram(values, [0, *edges, np.inf])[0], np.ones(12))


@pytest.mark.parametrize(("D", "mode"), [(3, "ln"), (2, "length"), another(3, "several")])
def test_the_pressure_at_the_mean_volume_is_the_imposed_one(D, mode):
    """For a mixture with wells and shoulders, within 4.5 joint standard errors, which are below
    1.5 % of the pressure."""
    imposed = 1.2 if D == 3 else 1.8
    settings = {k: v for k, v in MODES[mode].items() if k != "volume_delta"}
    npt = crowd("cpu", D, "table", pressure=imposed, **settings, threads=None)
    npt.tune_volume(400)
    npt.run(1500)
    npt.sample_volume(record=40)
    npt.run(8000)
    mean, error = npt.volume_records.mean(), npt.packing_fraction_average
    compressibility = npt.compressibility.value  # N (<V^2> - <V>^2) / <V>^2 = d ln V / d beta P * rho
    scale = (mean / npt.volume) ** (1 / D)
    edges = tuple(np.array(npt.box) * scale)
    nvt = make(
        (sites(edges, round(npt.N ** (1 / D))), edges), "cpu", threads=None,
        types=npt.types, contacts=npt.contacts, steps=npt.steps,
    )  # fmt: skip
    nvt.run(1000)
    nvt.sample_pressure(every=10, record=100)
    nvt.run(8000)
    found = nvt.pressure_average
    d = npt.diameter**D
    of_volume = error.error / error.value * npt.N / mean * d / compressibility
    joint = math.hypot(found.error, of_volume)
    assert joint < 0.015 * imposed
    assert abs(found.value - imposed) < 4.5 * joint


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", ["one", "table"])
def test_a_box_that_shrinks_changes_its_cells_and_keeps_its_energies(device, sizes, mode):
    settings = {k: v for k, v in MODES[mode].items() if k != "volume_delta"}
    particles = crowd(device, 3, sizes, pressure=8.0, **settings)
    cells, volume = particles.cells, particles.volume
    particles.run_cycles(300)
    assert particles.volume < 0.9 * volume
    assert particles.cells != cells
    assert min(particles.cell_widths) >= (1.5 if sizes == "one" else 1.7) * (1 - 1e-9)
    assert_valid(particles)
    again = particles.replace(pressure=None)  # from positions in float64
    assert again.step_energies == pytest.approx(particles.step_energies, abs=1e-7)


def test_steps_without_effect_leave_the_volume_as_it_is_without_them(device):
    """A shoulder that no pair meets in a crystal, whose decisions have energies of 0."""
    box = (12.0, 12.0, 12.0)
    runs = [
        make((sites(box, 10), box), device, pressure=20.0, rounds=1, types=np.zeros(1000, int),
             contacts=[[1.0]], steps=steps)
        for steps in (None, Step(1.0 + 1e-9, -5.0))
    ]  # fmt: skip
    for run in runs:
        run.run_cycles(30)
    assert runs[0].volume == pytest.approx(runs[1].volume, rel=1e-3)
    assert runs[0].volume_acceptance > 0.1


@pytest.mark.parametrize("mode", ["ln", "several"])
def test_a_run_at_constant_pressure_continues_from_a_checkpoint(device, mode, tmp_path):
    settings = {k: v for k, v in MODES[mode].items() if k != "volume_delta"}
    whole, half = (crowd(device, pressure=4.0, **settings) for _ in range(2))
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
    settings = {k: v for k, v in MODES[mode].items() if k != "volume_delta"}
    runs = [crowd(device, D, sizes, pressure=6.0, **settings) for device in ("cpu", "cuda")]
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
