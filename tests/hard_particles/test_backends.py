"""One trajectory, bit for bit, whatever computes it: threads, SIMD levels, CPU or GPU."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flat_settings import of_hard_particles
from hard_disks import lattice
from machine import on_gpu, runnable_simd_levels

from manymove import Grid, HardDisks
from manymove.hard_particles import hexagonal_packing, random_packing, square_packing

LEVELS = runnable_simd_levels()


def random(N, packing_fraction, aspect_ratio=1.0):
    return random_packing(N, packing_fraction, seed=1, aspect_ratios=(1.0, aspect_ratio))


CONFIGURATIONS = {
    "defaults": (lambda: random(1000, 0.698), {}),
    "large": (lambda: random(9000, 0.72), {"rounds": 16, "tile": 33}),
    "one disk": (lambda: (np.zeros((1, 2)), (3.0, 3.0)), {"max_displacement": 0.5}),
    "three disks": (lambda: (lattice(3, 1, (3.1, 3.4)), (3.1, 3.4)), {"max_displacement": 1.0}),
    "dilute": (lambda: random(500, 0.1, 0.5), {"moves_per_cell": 1, "max_displacement": 0.9}),
    "n_m 3": (lambda: random(700, 0.3), {"moves_per_cell": 3, "rounds": 1, "tile": 5}),
    "n_m 7": (lambda: random(900, 0.5, 0.7), {"moves_per_cell": 7, "cell_width": 1.2, "tile": 8}),
    "n_m 8": (lambda: random(1200, 0.72), {"moves_per_cell": 8, "cell_width": 1.4, "tile": 41}),
    "n_m 12": (lambda: random(800, 0.7), {"moves_per_cell": 12, "cell_width": 1.3, "rounds": 2}),
    "n_m 18": (lambda: random(800, 0.7), {"moves_per_cell": 18, "rounds": 2}),
    "smallest tiles": (lambda: random(300, 0.6, 0.4), {"tile": 3, "cell_width": 1.1}),
    "hexagonal 0.9": (lambda: hexagonal_packing(1056, 0.9), {"max_displacement": 0.01}),
    "hexagonal 0.72": (lambda: hexagonal_packing(1056, 0.72), {"cell_width": 1.4, "rounds": 3}),
    "square 0.78": (lambda: square_packing(1024, 0.78), {"max_displacement": 0.02, "tile": 17}),
}


def trajectory(positions, box, cycles=40, device="cpu", threads=1, **settings):
    """What must agree bit for bit, and psi_6, which need not."""
    disks = HardDisks(
        positions,
        box,
        device=device,
        threads=threads,
        **of_hard_particles(**{"seed": 1, **settings}),
    )
    disks.sample_pressure(every=1e-9, record=1e-9)  # each cycle
    disks.run_cycles(cycles)
    assert disks.accepted_moves > 0
    return (
        disks.state_hash,
        disks.positions.tobytes(),
        disks.trial_moves,
        disks.accepted_moves,
        disks.pair_histogram.tobytes(),
        disks.pressure_records.tobytes(),
        disks.max_overlap(),
    ), disks.psi6()


def random_configuration(number):
    """A start and settings drawn from all that are allowed."""
    g = np.random.default_rng(number)
    N = int(g.integers(20, 600))
    start = random(N, g.uniform(0.1, 0.7), g.uniform(0.8, 1.0))
    settings = {
        "moves_per_cell": int(g.integers(1, 20)),
        "rounds": int(g.integers(1, 7)),
        "tile": int(g.integers(3, 30)),
        "cell_width": g.uniform(1.0, 1.41),
        "max_displacement": g.uniform(0.01, 0.9),
        "seed": int(g.integers(2**63)),
    }
    return start, settings


def case(name):
    """A named configuration, or a random one by its number."""
    if isinstance(name, int):
        (positions, box), settings = random_configuration(name)
    else:
        make, settings = CONFIGURATIONS[name]
        positions, box = make()
    return positions, box, settings


@pytest.mark.parametrize("name", [*CONFIGURATIONS, *range(12)])
def test_threads_and_simd_levels_make_no_difference(name, monkeypatch):
    positions, box, settings = case(name)
    expected, psi6 = trajectory(positions, box, **settings)
    for threads in (2, 3):
        assert trajectory(positions, box, threads=threads, **settings) == (expected, psi6)
    for level in LEVELS:
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        assert trajectory(positions, box, **settings) == (expected, psi6)


@on_gpu
@pytest.mark.parametrize("name", [*CONFIGURATIONS, *range(40)])
def test_cpu_and_gpu_make_the_same_decisions(name):
    positions, box, settings = case(name)
    expected, psi6 = trajectory(positions, box, **settings)
    found, psi6_found = trajectory(positions, box, device="cuda", **settings)
    assert found == expected
    assert psi6_found == pytest.approx(psi6, abs=1e-12)


@on_gpu
@pytest.mark.parametrize("name", [*CONFIGURATIONS, *range(12)])
def test_cycles_without_samples_are_those_of_the_cpu(name):
    """Without samples the blocks of a cycle start while those of the former one end."""
    positions, box, settings = case(name)
    found = []
    for device, parts in (("cpu", [75]), ("cuda", [75]), ("cuda", [2, 31, 1, 41])):
        disks = HardDisks(
            positions, box, device=device, threads=1, **of_hard_particles(**{"seed": 1, **settings})
        )
        for cycles in parts:
            disks.run_cycles(cycles)
        found.append(
            (
                disks.state_hash,
                disks.positions.tobytes(),
                disks.trial_moves,
                disks.accepted_moves,
            )
        )
    assert found[1] == found[0]
    assert found[2] == found[0]


@on_gpu
@pytest.mark.parametrize(("tile", "cycles"), [(6, 70), (9, 70), (21, 70), (33, 40)])
def test_many_tiles_make_the_cycles_of_the_cpu(tile, cycles):
    """From 81 tiles to more than a GPU has at once."""
    positions, box = random(65536, 0.6)
    hashes = set()
    for device in ("cpu", "cuda"):
        disks = HardDisks(positions, box, seed=2, device=device, grid=Grid(tile=tile))
        disks.run_cycles(cycles)
        hashes.add(disks.state_hash)
    assert len(hashes) == 1


@pytest.mark.parametrize("cell_width", [1.0, 1.4])
def test_decisions_near_contact_do_not_depend_on_rounding(device, cell_width, monkeypatch):
    """At packing fraction 0.9 with moves of a thousandth of the free path most pairs are near
    contact, so that float32 estimates leave many decisions to the exact predicate."""
    positions, box = hexagonal_packing(480, 0.9068)
    settings = {"max_displacement": 2e-5, "cell_width": cell_width, "cycles": 1500}
    hashes = {trajectory(positions, box, device=device, **settings)[0][0]}
    for level in LEVELS:
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        hashes.add(trajectory(positions, box, **settings)[0][0])
    assert len(hashes) == 1


GOLDEN = [
    (lattice(8, 8, (10.0, 10.0)), (10.0, 10.0), {}, "a1e7f4a28f30eeff"),
    (
        lattice(7, 5, (10.5, 6.6)),
        (10.5, 6.6),
        {"moves_per_cell": 3, "rounds": 2, "tile": 5, "cell_width": 1.3, "max_displacement": 0.4},
        "d9c5926d2ab3bab7",
    ),
]


@pytest.mark.parametrize(("positions", "box", "settings", "expected"), GOLDEN)
def test_the_trajectory_is_the_one_it_was(device, positions, box, settings, expected):
    """Pinned: a change here changes every seeded result and the meaning of old checkpoints."""
    disks = HardDisks(
        positions, box, seed=12345, device=device, threads=1, **of_hard_particles(**settings)
    )
    disks.run_cycles(200)
    assert disks.state_hash == expected


def test_the_seed_decides_the_trajectory(device):
    positions, box = random(200, 0.6)
    seeds = (0, 1, 2**32, 2**63, 2**64 - 1, 1)
    hashes = [trajectory(positions, box, seed=seed, device=device)[0][0] for seed in seeds]
    assert hashes[1] == hashes[5]
    assert len(set(hashes)) == 5


def test_the_hash_sees_positions_identities_and_counters(device):
    positions, box = lattice(4, 4, (8.0, 8.0)), (8.0, 8.0)

    def hash_of(start):
        return HardDisks(start, box, seed=1, device=device, threads=1)

    first = hash_of(positions)
    moved = positions.copy()
    moved[3, 0] += 1e-5
    assert hash_of(moved).state_hash != first.state_hash
    assert hash_of(positions[::-1].copy()).state_hash != first.state_hash
    assert hash_of(positions).state_hash == first.state_hash
    assert len(first.state_hash) == 16
    assert math.isnan(first.acceptance)


def test_the_simd_level_can_be_chosen_and_must_exist(monkeypatch):
    positions, box = lattice(4, 4, (8.0, 8.0)), (8.0, 8.0)
    monkeypatch.setenv("MANYMOVE_SIMD", LEVELS[0])
    assert LEVELS[0] in HardDisks(positions, box, seed=1, device="cpu", threads=1).device_name
    monkeypatch.setenv("MANYMOVE_SIMD", "sse9")
    with pytest.raises(RuntimeError, match="MANYMOVE_SIMD=sse9 is not among"):
        HardDisks(positions, box, seed=1, device="cpu", threads=1)
