# SPDX-License-Identifier: BSD-3-Clause
"""Bad input of the engine of hard spheres and mixtures: errors name what is wrong."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sphere_engines import engine, positions_of, resumed, sites

BOX = (9.0, 9.0, 9.0)
THREE = np.array([[-3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [3.0, 3.0, 0.0]])


@pytest.mark.parametrize(
    ("positions", "box", "message"),
    [
        (THREE[:, :2], BOX, r"positions must have shape \(N, 3\)"),
        (THREE, BOX[:2], r"positions must have shape \(N, 2\)"),
        (THREE.ravel(), BOX, r"positions must have shape \(N, 3\)"),
        (np.zeros((0, 3)), BOX, "positions must hold at least one particle"),
        (THREE * [1, 1, np.nan], BOX, "position of particle 0 is not finite"),
        ([[-3.0] * 3, [0.0] * 3, [3, np.inf, 0]], BOX, "position of particle 2 is not finite"),
        (THREE - [0, 0, 4.6], BOX, r"particle 0 is outside the box: z = -4\.6, .* 4\.5"),
        (THREE, (9.0,), "box must have two or three edges, got 1"),
        (THREE, (9.0, np.nan, 9.0), "box must be positive and finite, got nan"),
        (THREE, (9.0, 9.0, 0.0), "box must be positive and finite, got 0"),
        (THREE, (9.0, 2.9, 9.0), r"edge y is 2\.9, three times the largest .* are 3"),
        (THREE, (9.0, 9.0, 40000.0), "box edge z holds more than 30000 cells"),
        (THREE, (2000.0, 2000.0, 2000.0), "the box holds 8000000000 cells, more than 1e9"),
    ],
)
def test_bad_positions_and_boxes_are_refused(device, positions, box, message):
    with pytest.raises(ValueError, match=message):
        engine(positions, box, device)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"diameter": 0.0}, "diameter must be positive and finite, got 0"),
        ({"diameters": [1.0, 1.0]}, "one for each of 3 particles, got 2"),
        ({"diameters": [1.0, 0.5, np.nan]}, "diameter of particle 2 must be .* finite, got nan"),
        ({"diameters": [1.0, -0.5, 1.0]}, r"diameter of particle 1 must be positive .* -0\.5"),
        ({"diameters": [4.0, 0.1, 0.1]}, "edge x is 9, three times the largest .* are 12"),
        ({"diameters": [1.0] * 3, "types": [0] * 3, "contacts": [[1.0]]}, "not both"),
        ({"types": [0, 0], "contacts": [[1.0]]}, "one for each of 3 particles, got 2"),
        ({"types": [0, 0, 0]}, "contacts must be a table of T by T .* got 0 values"),
        ({"contacts": [[1.0]]}, "types must be one for each of 3 particles, got 0"),
        ({"types": [0] * 3, "contacts": [[1.0, 1.0]]}, "contacts must be square"),
        ({"types": [0] * 3, "contacts": np.ones((65, 65))}, "T from 1 to 64, got 4225 values"),
        ({"types": [0, 2, 1], "contacts": np.ones((2, 2))}, "particle 1 is 2, .* from 0 to 1"),
        ({"types": [0, 1, -1], "contacts": np.ones((2, 2))}, "particle 2 is -1, .* from 0 to 1"),
        (
            {"types": [0, 1, 1], "contacts": [[1, 0.75], [0.5, 1]]},
            r"symmetric: \[0\]\[1\] is 0\.75, \[1\]\[0\] is 0\.5",
        ),
        (
            {"types": [0, 1, 1], "contacts": [[1, -0.75], [-0.75, 1]]},
            r"contacts\[0\]\[1\] must be positive and finite, got -0\.75",
        ),
        ({"cell_width": 0.99}, r"cell_width must be at least .* 1 and below 1\.333.*, got 0\.99"),
        ({"cell_width": 1.34}, r"below 1\.333.*, got 1\.34"),
        ({"max_displacement": -0.1}, "max_displacement must be positive and at most the cell"),
        ({"max_displacement": 1.1}, "at most the cell width 1, got 1"),
        ({"max_displacement": np.nan}, "max_displacement must be positive"),
        ({"moves_per_cell": -1}, "moves_per_cell must be from 1 to 1024, got -1"),
        ({"moves_per_cell": 1025}, "moves_per_cell must be from 1 to 1024, got 1025"),
        ({"rounds": 17}, "rounds must be from 1 to 16, got 17"),
        ({"tile": 1}, "tile must be from 2 to 16 cells, got 1"),
        ({"tile": 17}, "tile must be from 2 to 16 cells, got 17"),
        ({"tile": (4, 1, 5)}, "tile must be from 2 to 16 cells, got 1"),
        ({"tile": (0, 4, 5)}, "tile must be from 2 to 16 cells, got 0"),
        ({"tile": (4, 5)}, "tile must have one width or 3, got 2"),
    ],
)
def test_bad_settings_are_refused(device, settings, message):
    with pytest.raises(ValueError, match=message):
        engine(THREE, BOX, device, **settings)


def test_cells_with_room_for_too_many_small_particles_are_refused(device):
    """The bound is sqrt(2) (8 + 1)^3 = 1030 where cells have eight times the smallest diameter."""
    start = sites(BOX, 11)
    diameters = np.append(np.full(len(start) - 1, 0.1), 0.8)
    message = r"as the largest contact distance 0\.8 has room for \d+ .* at most 1024 are supported"
    engine(start, BOX, device, diameters=np.maximum(diameters, 0.105))
    with pytest.raises(ValueError, match=message):
        engine(start, BOX, device, diameters=diameters)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("diameters", np.ones((3, 1)), "diameters must be .* one dimension"),
        ("types", np.zeros((1, 3), dtype=np.int32), "types must be .* one dimension"),
        ("contacts", np.ones(4), "contacts must be .* two dimensions"),
    ],
)
def test_arrays_of_the_wrong_dimension_are_refused(name, value, message):
    with pytest.raises(TypeError, match=message):
        engine(THREE, BOX, **{name: value})


def test_more_tiles_than_random_numbers_are_refused():
    """Tiles of two cells in a box of three by many: more numbers of cells than 32 bits."""
    with pytest.raises(ValueError, match="tiles of 2 cells are too many in this box"):
        engine(np.zeros((10**6, 3)), (3.0, 18_000.0, 18_000.0), tile=2)


@pytest.mark.parametrize(
    ("settings", "depth"),
    [
        ({}, 0.2),
        ({"diameters": [2, 1, 2]}, 0.6),
        ({"types": [0, 0, 1], "contacts": [[1, 1.6], [1.6, 1]]}, 0.5),
    ],
)
def test_an_overlap_names_the_pair_and_its_depth(device, settings, depth):
    """Across the border of the box; the depth is in contact distances of the pair."""
    start = np.array([[-4.4, 0, 0], [0, 0, 0], [3.8, 0, 0]])
    message = (
        r"particles 0 and 2 overlap by (\S+) contact distances, more than repair_depth = 0.0001"
    )
    with pytest.raises(ValueError, match=message) as error:
        engine(start, BOX, device, **settings)
    assert float(re.search(message, str(error.value))[1]) == pytest.approx(depth, abs=2e-6)


def test_a_heap_of_particles_is_refused_by_name(device):
    """More in a cell than fit, where no table of pairs is made."""
    with pytest.raises(ValueError, match=r"particles . and . overlap by 1 contact distances"):
        engine(np.zeros((40, 3)), BOX, device)


def test_shallow_overlaps_are_repaired_and_told(device):
    pairs = np.concatenate([sites(BOX, 4)] * 2)
    pairs[64:, 0] += 0.75 * (1 - 5e-5)
    d = np.repeat([1.0, 0.5], 64)
    spheres = engine(pairs, BOX, device, diameters=d)
    count, depth = spheres.repair
    assert count == 64
    assert depth == pytest.approx(5e-5, rel=0.05)
    assert spheres.max_overlap() < 1e-9
    assert np.abs(positions_of(spheres) - pairs).max() < 1e-4
    with pytest.raises(ValueError, match="more than repair_depth = 1e-05"):
        engine(pairs, BOX, device, diameters=d, repair_depth=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: {**s, "places": s["places"][:-1]}, "coordinates, expected 3"),
        (lambda s: {**s, "places": s["places"] + 1}, "particle 0 is not on the integer grid"),
        (lambda s: {**s, "places": -s["places"]}, "particle 0 is not on the integer grid"),
        (lambda s: {**s, "origin": (1, 0, 0)}, "the grid's origin is not in the box"),
        (lambda s: {**s, "origin": (0, 0, 10**9)}, "the grid's origin is not in the box"),
        (lambda s: {**s, "places": s["places"] * 0 + 1}, "a cell holds more particles than fit"),
    ],
)
def test_damaged_snapshots_are_refused(device, change, message):
    box = (4.4, 4.4, 4.4)
    snapshot = engine(sites(box, 4), box, device).snapshot()
    with pytest.raises(ValueError, match=message):
        resumed(change(snapshot), box, device, particles=64)
