# SPDX-License-Identifier: BSD-3-Clause
"""The engine of hard spheres and mixtures: one trajectory, bit for bit, whatever computes it.

The trajectory is that of a model in Python's integers; threads, SIMD levels, CPU or GPU, snapshots
and output make no difference to it.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from laws import another
from machine import on_gpu, runnable_simd_levels
from sphere_engines import (
    Model,
    closest,
    contact_table,
    engine,
    positions_of,
    resumed,
    scaled_distances,
    sites,
)

LEVELS = runnable_simd_levels()
BINARY = [[1.0, 0.75], [0.75, 0.5]]
UNLIKE = [[0.7, 1.0, 0.5], [1.0, 0.6, 0.8], [0.5, 0.8, 0.4]]  # not additive


def step(ranges, energies):
    """A step as the binding takes it."""
    return {"ranges": np.ravel(ranges).tolist(), "energies": np.ravel(energies).tolist()}


WELL = [step(1.3, -0.8)]
STAIRS = [step(1.1, -1.0 / 3), step(1.6, 0.25), step(1.35, 1.7)]
OF_TYPES = [
    step(
        [[1.3, 1.1, 0.9], [1.1, 0.65, 1.0], [0.9, 1.0, 0.9]],
        [[-1.0, 0.5, 0.0], [0.5, 2.0, -3.0], [0.0, -3.0, 1.0]],
    ),
    step(
        [[0.8, 1.05, 1.2], [1.05, 1.5, 1.0], [1.2, 1.0, 0.6]],
        [[0.7, -2.0, 1.0], [-2.0, 0.0, 0.0], [1.0, 0.0, -1.0]],
    ),
]


def cubic(per_edge, gap, dimensions=3, **settings):
    """A lattice of particles whose neighbors are `gap` largest contact distances from contact."""
    edge = per_edge * (1 + gap)
    return sites((edge,) * dimensions, per_edge), (edge,) * dimensions, settings


def on_lattice(box, per_edge, **settings):
    return sites(box, per_edge), box, settings


def random_mixture(number):
    """A start and settings drawn from all that are allowed."""
    g = np.random.default_rng(number)
    D = int(g.integers(2, 4))
    box = tuple(g.uniform(3, 6.5, D))
    per_edge = np.floor(box).astype(int)
    start = sites(box, per_edge)
    start = start[g.permutation(len(start))[: int(g.integers(2, min(50, len(start)) + 1))]]
    kinds = ({}, {"diameters": g.uniform(0.2, 1, len(start))})
    types = {"types": g.integers(0, 3, len(start)), "contacts": UNLIKE}
    settings = {
        **(*kinds, types)[int(g.integers(3))],
        "max_displacement": g.uniform(0.01, 0.9),
        "moves_per_cell": int(g.integers(1, 40)),
        "rounds": int(g.integers(1, 5)),
        "tile": int(g.integers(2, 17)),
        "seed": int(g.integers(2**63)),
    }
    return start, box, settings


def small_among_large():
    """A sphere of diameter 1 among some of diameter 0.15."""
    box = (3.0, 3.0, 3.2)
    small = sites(box, 9)
    small = small[np.linalg.norm(small, axis=1) > 0.6][::8]
    start = np.concatenate([small, np.zeros((1, 3))])
    return start, box, {"diameters": np.append(np.full(len(small), 0.15), 1.0), "seed": 5}


def crowded(per_edge):
    """Several particles in a cell: one of eight has the diameter 1, the others 0.45."""
    box = (0.74 * per_edge,) * 3
    odd = (np.indices((per_edge,) * 3) % 2).any(axis=0).ravel()
    diameters = np.where(odd, 0.45, 1.0)
    return sites(box, per_edge), box, {"diameters": diameters, "moves_per_cell": 5}


def dimers(dimensions, apart=1.0, **settings):
    """Pairs in random directions, 1e-7 from contact or from a multiple of it; moves are of a few
    units, so that the float32 estimate leaves most decisions to exact arithmetic."""
    box = (9.3,) * dimensions
    g = np.random.default_rng(8)
    first = sites(box)
    count = 2 * len(first)
    directions = g.normal(size=first.shape)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    start = np.concatenate([first, first])
    contact = np.diag(contact_table(count, settings), len(first))
    start[len(first) :] += directions * contact[:, None] * apart * (1 + 1e-7)
    start -= np.rint(start / box) * box
    return start, box, {"max_displacement": 4e-6, "repair_depth": 1e-5, "rounds": 9, **settings}


SYSTEMS = {
    "dimers": lambda: dimers(3),
    "dimers of two sizes": lambda: dimers(3, diameters=np.repeat([1.0, 0.3], 27), tile=4),
    "dimers of disks": lambda: dimers(2, types=np.arange(18) % 3, contacts=UNLIKE),
    "spheres": lambda: cubic(4, 0.05),
    "small tiles": lambda: cubic(5, 0.05, tile=2, rounds=3),
    "uneven tiles": lambda: cubic(5, 0.04, diameters=np.linspace(0.4, 1.0, 125), tile=(3, 2, 5)),
    "three cells per edge": lambda: on_lattice((3.1, 3.2, 3.9), 3, tile=2, max_displacement=0.2),
    "near contact": lambda: cubic(4, 1e-5, max_displacement=2e-5, moves_per_cell=9),
    "one sphere": lambda: (np.zeros((1, 3)), (3.0, 3.0, 3.0), {"max_displacement": 1.0}),
    "wide cells": lambda: cubic(4, 0.02, cell_width=1.32, moves_per_cell=33),
    "additive": lambda: cubic(4, 0.02, diameters=np.linspace(0.3, 1.0, 64)),
    "three types": lambda: cubic(4, 0.03, types=np.arange(64) % 3, contacts=UNLIKE),
    "disks": lambda: cubic(7, 0.05, 2, tile=3),
    "disks near contact": lambda: cubic(7, 1e-5, 2, diameters=np.ones(49), max_displacement=3e-5),
    "additive disks": lambda: cubic(6, 0.02, 2, diameters=np.geomspace(0.3, 1, 36), tile=2),
    "two types of disks": lambda: cubic(
        6, 0.03, 2, types=np.arange(36) % 2, contacts=BINARY, moves_per_cell=2, rounds=16
    ),
    "small among large": small_among_large,
    "a square well": lambda: cubic(5, 0.05, steps=WELL, moves_per_cell=21),
    "steps of disks": lambda: cubic(6, 0.1, 2, steps=STAIRS, tile=2),
    "steps of types": lambda: cubic(
        4, 0.06, types=np.arange(64) % 3, contacts=UNLIKE, steps=OF_TYPES
    ),
    "dimers at the end of a well": lambda: dimers(3, 1.3, steps=WELL),
    "dimers of disks at the end of a shoulder": lambda: dimers(2, 1.6, steps=STAIRS),
}


# Larger systems, of many tiles.
LARGE = {
    "3375 spheres": lambda: cubic(15, 0.03, tile=4),
    "a thousand in one tile": lambda: cubic(10, 0.04, tile=16),
    "polydisperse": lambda: cubic(12, 0.02, diameters=np.linspace(0.45, 1, 12**3), tile=5),
    "polydisperse in uneven tiles": lambda: cubic(
        12, 0.02, diameters=np.linspace(0.45, 1, 12**3), tile=(6, 4, 5)
    ),
    "polydisperse in tiles of two": lambda: cubic(
        16, 0.02, diameters=np.linspace(0.5, 1, 16**3), tile=2, rounds=1
    ),
    # For the orders of tiles on a GPU, and the kernels for two and three tiles a multiprocessor.
    "216 uneven tiles": lambda: cubic(17, 0.02, diameters=np.linspace(0.6, 1, 17**3), tile=3),
    "324 uneven tiles": lambda: cubic(
        17, 0.03, types=np.arange(17**3) % 2, contacts=BINARY, tile=(3, 3, 2)
    ),
    "324 uneven tiles of one size": lambda: cubic(17, 0.03, tile=(3, 3, 2)),
    "seven of eight small": lambda: crowded(10),
    "three types in tiles of two": lambda: cubic(
        12, 0.03, types=np.arange(12**3) % 3, contacts=UNLIKE, tile=2
    ),
    "2500 disks of two types": lambda: cubic(
        50, 0.04, 2, types=np.arange(2500) % 2, contacts=BINARY, tile=7
    ),
    "a slab": lambda: on_lattice((30.0, 3.3, 16.0), (28, 3, 15)),
    "3375 spheres with wells": lambda: cubic(15, 0.05, steps=WELL, tile=4),
    "1728 spheres of three types with steps": lambda: cubic(
        12, 0.03, types=np.arange(12**3) % 3, contacts=UNLIKE, steps=OF_TYPES
    ),
    "1600 disks with steps": lambda: cubic(40, 0.06, 2, steps=STAIRS, tile=5),
    "a wide range": lambda: cubic(10, 0.05, steps=[step(2.9, -0.05), step(1.2, -0.5)]),
}


def case(name):
    """A named system, or a random one by its number."""
    return random_mixture(name) if isinstance(name, int) else {**SYSTEMS, **LARGE}[name]()


def trajectory(start, box, settings, cycles=30, device="cpu", threads=1):
    """What must agree bit for bit."""
    spheres = engine(start, box, device, threads, **settings)
    spheres.set_sampling(0.003, 25, 2, 6)
    spheres.run(cycles)
    rows, ends = spheres.take_rows()
    return (
        spheres.state_hash(),
        spheres.counters,
        spheres.positions().tobytes(),
        spheres.snapshot()["places"].tobytes(),
        spheres.contact_histogram(0.01, 80).tobytes(),
        rows.tobytes(),
        ends.tolist(),
        spheres.max_overlap(),
        spheres.step_energies().tobytes(),
    )


# ---- one trajectory ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SYSTEMS, *range(8), *map(another, range(8, 25))])
def test_the_trajectory_is_that_of_the_model(device, name):
    """Random numbers, shifts, sets, frozen borders, the choice of particles and every decision."""
    start, box, settings = case(name)
    spheres = engine(start, box, device, **settings)
    model = Model(spheres, box, settings)
    for cycles in (1, 2, 5):
        spheres.run(cycles)
        model.run(cycles)
        assert spheres.counters == model.counters()
        places = spheres.snapshot()["places"].reshape(-1, len(box))
        assert np.array_equal(places, model.places)
    assert tuple(model.origin) == spheres.snapshot()["origin"][: len(box)]
    if name in SYSTEMS and name != "one sphere":
        assert 0 < spheres.counters[2] < spheres.counters[1]


@pytest.mark.parametrize("name", [*SYSTEMS, *LARGE, *range(10)])
def test_threads_and_simd_levels_make_no_difference(name, monkeypatch):
    start, box, settings = case(name)
    expected = trajectory(start, box, settings)
    for threads in (2, 5):
        assert trajectory(start, box, settings, threads=threads) == expected
    for level in LEVELS:
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        assert trajectory(start, box, settings) == expected


@on_gpu
@pytest.mark.parametrize("name", [*SYSTEMS, *LARGE, *range(40)])
def test_cpu_and_gpu_make_the_same_decisions(name):
    start, box, settings = case(name)
    expected = trajectory(start, box, settings)
    assert trajectory(start, box, settings, device="cuda") == expected


def test_the_seed_and_the_first_cycle_decide_the_trajectory(device):
    start, box, _ = cubic(4, 0.1)
    seeds = (0, 1, 2**32, 2**63, 2**64 - 1, 1)
    hashes = []
    for seed in seeds:
        spheres = engine(start, box, device, seed=seed)
        spheres.run(5)
        hashes.append(spheres.state_hash())
    assert hashes[1] == hashes[5]
    assert len(set(hashes)) == 5
    later = engine(start, box, device, first_cycle=2**33 + 1)
    later.run(5)
    assert later.counters[0] == 2**33 + 6
    assert not np.array_equal(later.positions(), spheres.positions())


def test_the_hash_sees_positions_indices_and_counters(device):
    start, box, _ = cubic(4, 0.1)
    first = engine(start, box, device)
    moved = start.copy()
    moved[3, 2] += 1e-5
    assert engine(moved, box, device).state_hash() != first.state_hash()
    assert engine(start[::-1], box, device).state_hash() != first.state_hash()
    assert engine(start, box, device).state_hash() == first.state_hash()
    assert engine(start, box, device, first_cycle=1).state_hash() != first.state_hash()


# ---- snapshots ---------------------------------------------------------------------------------


def crossing(device):
    """The devices from and to which a snapshot goes."""
    return [("cpu", "cpu")] if device == "cpu" else [("cpu", "cuda"), ("cuda", "cpu")]


@pytest.mark.parametrize(
    "name", ["spheres", "small tiles", "uneven tiles", "three types", "polydisperse", "disks"]
)
def test_a_snapshot_continues_bit_for_bit(device, name):
    """With another number of threads and, on a GPU, on the other backend."""
    start, box, settings = case(name)
    for before, after in crossing(device):
        whole = engine(start, box, before, **settings)
        whole.run(17)
        snapshot = whole.snapshot()
        again = resumed(snapshot, box, after, 3, **settings)
        assert again.state_hash() == whole.state_hash()
        for spheres in (whole, again):
            spheres.set_sampling(0.01, 10, 1, 4)
            spheres.run(19)
        assert again.counters == whole.counters
        assert again.state_hash() == whole.state_hash()
        for mine, theirs in zip(again.take_rows(), whole.take_rows(), strict=True):
            assert np.array_equal(mine, theirs)


def test_rows_of_a_resumed_run_are_those_of_the_run(device):
    """Intervals are counted from cycle 0; a first row that would be incomplete is dropped."""
    start, box, settings = cubic(5, 0.05)
    whole = engine(start, box, device, **settings)
    whole.set_sampling(0.02, 20, 2, 6)
    whole.run(14)
    snapshot = whole.snapshot()
    whole.run(22)
    rows, ends = whole.take_rows()
    assert ends.tolist() == [6, 12, 18, 24, 30, 36]
    again = resumed(snapshot, box, device, **settings)
    again.set_sampling(0.02, 20, 2, 6)
    again.run(22)
    late_rows, late_ends = again.take_rows()
    assert late_ends.tolist() == [24, 30, 36]
    assert np.array_equal(late_rows, rows[-60:])
    assert len(whole.take_rows()[1]) == 0


def test_runs_may_be_divided_and_output_leaves_no_trace(device):
    start, box, settings = case("three types")
    whole, parts = (engine(start, box, device, **settings) for _ in range(2))
    whole.run(20)
    parts.set_sampling(0.02, 20, 1, 2)
    for cycles in (0, 1, 2, 17):
        parts.run(cycles)
        parts.contact_histogram(0.1, 10)
        parts.positions()
        parts.max_overlap()
    assert parts.state_hash() == whole.state_hash()


# ---- invariants --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        ("three cells per edge", 20_000),
        ("small among large", 3000),
        ("near contact", 3000),
        ("additive disks", 10_000),
        ("three types", 5000),
        ("polydisperse", 200),
    ],
)
def test_long_runs_lose_no_particle_and_make_no_overlap(device, name, cycles):
    start, box, settings = case(name)
    spheres = engine(start, box, device, 2, **settings)
    spheres.run(cycles)
    positions = positions_of(spheres)
    half = np.array(box) / 2
    assert (positions >= -half).all() and (positions < half).all()
    assert closest(positions, box, contact_table(len(start), settings)) > 1 - 1e-6
    assert spheres.max_overlap() < 1e-6
    places = spheres.snapshot()["places"]
    assert len(places) == start.size and (places % 2 == 1).all() and (places >= 0).all()
    moved = positions - start
    moved -= np.rint(moved / np.array(box)) * np.array(box)
    assert (np.abs(moved) > 1e-7).any(axis=1).all()  # and all have moved


def test_a_particle_keeps_its_index_and_its_step(device):
    """With one trial move per cycle, a row of the positions moves by max_displacement at most along
    an axis; within any cycle by less than a cell."""
    start, box, settings = case("three types")
    one = engine(start, box, device, **{**settings, "moves_per_cell": 1, "rounds": 1})
    many = engine(start, box, device, **{**settings, "moves_per_cell": 20, "rounds": 4})
    for spheres, reach in ((one, one.grid["max_displacement"]), (many, many.grid["cell_width"])):
        for _ in range(30):
            before = positions_of(spheres)
            spheres.run(1)
            step = positions_of(spheres) - before
            step -= np.rint(step / np.array(box)) * np.array(box)
            assert (np.abs(step) <= np.array(reach) + 2 * spheres.grid["unit"]).all()


# ---- how many particles a cell holds -----------------------------------------------------------


CORNERS = sites((2.0, 2.0, 2.0), 2)  # at +-0.5


@pytest.mark.parametrize(
    ("cluster", "edge", "slots", "settings"),
    [
        (CORNERS * 1.0001, 1.001, 8, {}),
        (np.append(CORNERS * 1.1548, np.zeros((1, 3)), axis=0), 1.156, 9, {}),
        (sites((1.5015,) * 3), 1.002, 38, {"diameters": [0.5] * 27 + [1.0] * 7}),
        (
            np.concatenate([CORNERS * 1.0001, CORNERS * 1.0001 + 0.0002]),
            1.001,
            22,
            {"types": [0] * 8 + [1] * 8 + [0] * 7, "contacts": [[1, 1e-4], [1e-4, 1]]},
        ),
    ],
    ids=["eight", "nine", "27 of half the size", "eight of each type"],
)
def test_a_cell_has_room_for_the_densest_cluster(device, cluster, edge, slots, settings):
    """In the middle cell of three per edge; seven other particles are half a box away."""
    box = (3 * edge,) * 3
    others = 1.5 * edge * np.array(list(itertools.product((0, 1), repeat=3)))[1:] - 1e-6
    start = np.concatenate([cluster, others])
    spheres = engine(start, box, device, max_displacement=1e-4, **settings)
    assert spheres.grid["cells"] == (3, 3, 3)
    assert spheres.grid["slots"] == min(slots, len(start)) >= len(cluster)
    spheres.run(200)
    assert spheres.max_overlap() < 1e-6
    assert len(spheres.snapshot()["places"]) == start.size


def test_two_dimensional_cells_hold_four_disks(device):
    """At the corners of a cell of width 1.1."""
    start = np.concatenate([sites((2.0, 2.0), 2) * 1.0001, [[1.65, 0], [0, 1.65], [1.65, 1.65]]])
    disks = engine(start - 1e-6, (3.3, 3.3), device, max_displacement=1e-3)
    assert disks.grid["cells"] == (3, 3)
    assert disks.grid["slots"] == 4
    disks.run(500)
    assert disks.max_overlap() < 1e-6


# ---- contact -----------------------------------------------------------------------------------


H = 986_894  # half a cell's width: the largest, which cubes have
UNITS = (6.0 * H,) * 3  # in this box the unit of length is that of the integers


@pytest.mark.parametrize(
    "settings",
    [
        {"diameter": 7.0 * 242_858},
        {"diameters": [2.0 * H, 14.0 * 242_858 - 2 * H]},
        {"types": [0, 1], "contacts": [[2.0 * H, 7.0 * 242_858], [7.0 * 242_858, 2.0 * H]]},
    ],
    ids=["one size", "additive", "table"],
)
def test_particles_may_touch_and_not_be_a_unit_nearer(device, settings):
    """(2, 3, 6) has the length 7: the distance of the two is their contact distance exactly."""
    lone = engine([[0.0] * 3, [2.9 * H] * 3], UNITS, device, **settings)
    assert lone.grid["unit"] == 1.0
    snapshot = lone.snapshot()
    first = np.array([H + 1, 3 * H + 1, 5 * H + 1])
    apart = 242_858 * np.array([2, 3, 6])
    for signs in ((1, 1, 1), (-1, 1, -1), (1, -1, -1)):
        second = (first + apart * signs) % (6 * H)
        places = np.concatenate([first, second])
        touching = resumed({**snapshot, "places": places}, UNITS, device, **settings)
        assert touching.max_overlap() < 1e-15
        for axis in range(3):
            nearer = places.copy()
            nearer[3 + axis] = (nearer[3 + axis] - 2 * signs[axis]) % (6 * H)
            with pytest.raises(ValueError, match="checkpoint: particles 0 and 1 overlap"):
                resumed({**snapshot, "places": nearer}, UNITS, device, **settings)


# ---- histograms --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["spheres", "three cells per edge", "three types", "additive", "additive disks"]
)
@pytest.mark.parametrize(("bin_width", "bins"), [(0.004, 20), (0.1, 10), (0.5, 2)])
def test_histograms_are_those_of_brute_force(device, name, bin_width, bins):
    """From contact to twice the contact distance, two cells and several images away; for each pair
    of types."""
    start, box, settings = case(name)
    spheres = engine(start, box, device, **settings)
    spheres.run(30)
    positions = positions_of(spheres)
    s, i, j = scaled_distances(
        positions, box, contact_table(len(start), settings), 1 + bin_width * bins
    )
    types = np.asarray(settings.get("types", np.zeros(len(start), dtype=int)))
    a, b = np.sort([types[i], types[j]], axis=0)
    T = int(types.max()) + 1
    kinds = a * T - a * (a - 1) // 2 + b - a
    near = (s - 1) / bin_width
    # Positions are exported with the box's own edges: leave out what is on the edge of a bin.
    sure = np.abs(near - np.rint(near)) > 1e-5 / bin_width
    expected = np.zeros((T * (T + 1) // 2, bins), dtype=int)
    np.add.at(expected, (kinds[sure], near[sure].astype(int)), 1)
    found = spheres.contact_histogram(bin_width, bins).reshape(expected.shape)
    assert expected.sum() > (20 if bin_width > 0.01 else 0)
    assert (found >= expected).all()
    assert found.sum() - expected.sum() <= (~sure).sum()


def test_a_row_is_the_sum_of_the_histograms_of_its_samples(device):
    start, box, settings = case("three types")
    sampled, looked_at = (engine(start, box, device, **settings) for _ in range(2))
    sampled.set_sampling(0.02, 30, 3, 6)
    sampled.run(12)
    rows, ends = sampled.take_rows()
    assert ends.tolist() == [6, 12]
    expected = []
    for _ in range(4):
        looked_at.run(3)
        expected.append(looked_at.contact_histogram(0.02, 30))
    assert np.array_equal(rows.reshape(2, -1), np.add(expected[::2], expected[1::2]))
