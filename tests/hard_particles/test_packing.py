"""Starts: disks do not overlap, have the packing fraction asked for, and are repeatable."""

import math

import numpy as np
import pytest

from manymove import HardSpheres, _core, random_sphere_packing, replicate
from manymove.hard_particles import copies
from manymove.hard_particles.packing import hexagonal_packing, random_packing, square_packing


def closest_pair(positions, box):
    """Smallest distance of two different disks, periodic images included, by brute force."""
    closest = math.inf
    for i in range(len(positions) - 1):
        d = positions[i + 1 :] - positions[i]
        d -= np.rint(d / box) * box
        closest = min(closest, (d**2).sum(axis=1).min())
    return math.sqrt(closest)


def packing_fraction(N, box, diameter=1.0):
    return N * math.pi * diameter**2 / (4 * box[0] * box[1])


def assert_inside(positions, box):
    assert positions.dtype == np.float64
    assert (positions >= -np.array(box) / 2).all()
    assert (positions < np.array(box) / 2).all()


@pytest.mark.parametrize(
    ("N", "phi"), [(1, 0.5), (2, 0.7), (7, 0.6), (100, 0.72), (1000, 0.3), (3000, 0.72)]
)
@pytest.mark.parametrize("aspect_ratio", [1.0, 0.5])
def test_random_packing_has_no_overlap(N, phi, aspect_ratio):
    if (N, aspect_ratio) in [(1, 0.5), (2, 0.5), (7, 0.5)]:
        phi = 0.3
    positions, box = random_packing(N, phi, seed=1, aspect_ratios=(1.0, aspect_ratio))
    assert positions.shape == (N, 2)
    assert_inside(positions, box)
    assert packing_fraction(N, box) == pytest.approx(phi, rel=1e-12)
    assert box[1] / box[0] == pytest.approx(aspect_ratio, rel=1e-12)
    assert closest_pair(positions, box) >= 1.0 + 1e-4


def test_random_packing_scales_with_the_diameter():
    positions, box = random_packing(200, 0.7, seed=3, diameter=0.25)
    assert packing_fraction(200, box, 0.25) == pytest.approx(0.7, rel=1e-12)
    assert closest_pair(positions, box) >= 0.25


def test_random_packing_is_a_function_of_the_seed():
    first, _ = random_packing(500, 0.7, seed=1)
    again, _ = random_packing(500, 0.7, seed=1)
    other, _ = random_packing(500, 0.7, seed=2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_random_packing_is_disordered_and_even():
    """No hexagonal or square order, and density waves far below those of independent points."""
    N = 10_000
    positions, box = random_packing(N, 0.7, seed=1)
    for k in range(1, 4):
        waves = [np.exp(2j * np.pi * k * positions[:, a] / box[a]).sum() for a in (0, 1)]
        assert max(abs(w) ** 2 / N for w in waves) < 0.1
    # Bragg peaks of a square grid of one disk per site
    peak = np.exp(2j * np.pi * 100 * positions[:, 0] / box[0]).sum()
    assert abs(peak) ** 2 / N < 0.01 * N


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"N": 0, "packing_fraction": 0.5}, "N must be from 1 to .*, got 0"),
        ({"N": 10, "packing_fraction": 0.0}, "packing_fraction must be positive, got 0.0"),
        ({"N": 10, "packing_fraction": math.nan}, "packing_fraction must be positive, got nan"),
        ({"N": 10, "packing_fraction": 0.73}, "go up to 0.72"),
        (
            {"N": 10, "packing_fraction": 0.5, "diameter": -1.0},
            "diameter must be positive and finite, got -1.0",
        ),
        (
            {"N": 10, "packing_fraction": 0.5, "aspect_ratios": (1.0, 0.0)},
            "aspect_ratios must be positive",
        ),
        (
            {"N": 10, "packing_fraction": 0.5, "aspect_ratios": (0.0, 1.0)},
            r"aspect_ratios must be positive and finite, got 0\.0",
        ),
        (
            {"N": 10, "packing_fraction": 0.5, "aspect_ratios": (1.0, 1.0, 1.0)},
            "aspect_ratios must be 2 numbers",
        ),
        ({"N": 10, "packing_fraction": 0.5, "aspect_ratios": (1.0, 100.0)}, "narrower than a disk"),
        # the densest packing of three disks in a square torus has 3 pi (2 - sqrt 3) / 4 = 0.631
        ({"N": 3, "packing_fraction": 0.7}, "found no packing of 3 disks"),
    ],
)
def test_random_packing_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        random_packing(seed=1, **arguments)


def test_random_packing_can_be_given_up():
    with pytest.raises(KeyboardInterrupt):
        random_packing(5000, 0.72, seed=1, interrupted=lambda: True)


@pytest.mark.parametrize("N", [1, 4, 12, 1024, 1056])
def test_square_packing_up_to_touching_disks(N):
    for phi in (0.5, math.pi / 4):
        positions, box = square_packing(N, phi)
        assert_inside(positions, box)
        assert packing_fraction(N, box) == pytest.approx(phi, rel=1e-9)
        assert N == 1 or closest_pair(positions, box) >= 1.0


@pytest.mark.parametrize("N", [2, 12, 1024, 1056])
def test_hexagonal_packing_up_to_touching_disks(N):
    for phi in (0.72, math.pi / (2 * math.sqrt(3))):
        positions, box = hexagonal_packing(N, phi)
        assert_inside(positions, box)
        assert packing_fraction(N, box) == pytest.approx(phi, rel=1e-9)
        assert closest_pair(positions, box) >= 1.0
        assert 0.5 - 1e-9 <= box[1] / box[0] <= 2 + 1e-9


@pytest.mark.parametrize(
    ("packing", "N", "phi", "message"),
    [
        (square_packing, 100, 0.79, "square lattice of touching disks has 0.7853982"),
        (hexagonal_packing, 100, 0.91, "hexagonal lattice of touching disks has 0.9068997"),
        (square_packing, 10007, 0.7, "10007 disks fill no square lattice"),
        (hexagonal_packing, 1, 0.7, "1 disks fill no hexagonal lattice"),
        (hexagonal_packing, -5, 0.7, "N must be from 1 to .*, got -5"),
    ],
)
def test_lattices_refuse(packing, N, phi, message):
    with pytest.raises(ValueError, match=message):
        packing(N, phi)


def test_large_packings_of_spheres_are_copies_of_a_smaller_one(monkeypatch):
    monkeypatch.setattr(copies, "_FEWEST_IN_A_COPY", 60)
    positions, box = random_sphere_packing(512, 0.4, seed=1, device="cpu")
    assert positions.shape == (512, 3)
    assert 512 * math.pi / 6 / math.prod(box) == pytest.approx(0.4)
    spheres = HardSpheres(positions, box, seed=1, device="cpu", threads=1)
    assert spheres.repaired["count"] == 0 and spheres.max_overlap() == 0
    first = spheres.positions[:64]
    shifts = spheres.positions.reshape(8, 64, 3) - first
    edges = np.array(box) / 2
    assert np.allclose(shifts, np.rint(shifts / edges) * edges, atol=1e-5)


def test_copies_lie_side_by_side():
    positions, box = replicate([[-1.5, 0.0], [1.0, 0.5]], (4.0, 2.0), (3, 1))
    assert box == (12.0, 2.0)
    assert positions.tolist() == [
        [-5.5, 0.0], [-3.0, 0.5], [-1.5, 0.0], [1.0, 0.5], [2.5, 0.0], [5.0, 0.5],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="copies must be positive"):
        replicate(positions, box, (0, 1))
    with pytest.raises(ValueError, match="do not fit together"):
        replicate(positions, box, (1, 1, 1))


def test_relax_overlaps_mends_float32_rounding_by_moves_of_its_size():
    positions, box = hexagonal_packing(10_000, 0.9)
    generator = np.random.default_rng(1)
    positions += generator.normal(scale=2e-3, size=positions.shape)
    _core.relax_overlaps(positions, box, 1.0, 10_000)
    # touching pairs on a coarse grid, as a large box in float32 makes them
    rounded = np.round(positions / 3e-5) * 3e-5
    mended = rounded.copy()
    _, depth = _core.relax_overlaps(mended, box, 1.0, 1000)
    assert depth == 0.0
    move = mended - rounded
    move -= np.rint(move / box) * box
    assert np.abs(move).max() < 2e-4
    assert closest_pair(mended[:2000], box) >= 1.0


def test_relax_overlaps_leaves_a_valid_configuration_alone():
    positions, box = random_packing(1000, 0.7, seed=1)
    before = positions.copy()
    assert _core.relax_overlaps(positions, box, 1.0, 100) == (0, 0.0)
    assert np.array_equal(positions, before)


def test_relax_overlaps_reports_what_is_left():
    positions = np.array([[0.0, 0.0], [0.5, 0.0]])
    assert _core.relax_overlaps(positions, (10.0, 10.0), 1.0, 0) == (0, pytest.approx(0.5))


def test_relax_overlaps_separates_coincident_disks():
    positions = np.zeros((5, 2))
    _, depth = _core.relax_overlaps(positions, (10.0, 10.0), 1.0, 10_000)
    assert depth == 0.0
    assert closest_pair(positions, (10.0, 10.0)) >= 1.0


@pytest.mark.parametrize(
    ("positions", "box", "diameter"),
    [
        (np.zeros((2, 2)), (0.5, 10.0), 1.0),
        (np.zeros((2, 2)), (10.0, 10.0), 0.0),
        (np.array([[math.nan, 0.0]]), (10.0, 10.0), 1.0),
        (np.zeros((2, 2)), (math.inf, 10.0), 1.0),
    ],
)
def test_relax_overlaps_refuses(positions, box, diameter):
    with pytest.raises(ValueError, match="relax_overlaps"):
        _core.relax_overlaps(positions, box, diameter, 10)
