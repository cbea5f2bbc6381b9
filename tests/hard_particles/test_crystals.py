# SPDX-License-Identifier: BSD-3-Clause
"""Crystals of hard spheres, and the sites from which random packings grow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manymove import bcc_packing, fcc_packing, hcp_packing
from manymove.hard_particles.crystals import CRYSTALS, simple_sites

PACKINGS = {"fcc": fcc_packing, "hcp": hcp_packing, "bcc": bcc_packing}


def neighbors(positions, box):
    """Distances of each particle to all others, nearest images, sorted, (N, N - 1)."""
    vectors = positions[:, None] - positions[None]
    vectors -= np.rint(vectors / np.array(box)) * np.array(box)
    return np.sort(np.sqrt((vectors**2).sum(axis=2)), axis=1)[:, 1:]


@pytest.mark.parametrize(
    ("kind", "N", "packing_fraction", "first", "second"),
    [
        ("fcc", 256, 0.55, 12, math.sqrt(2)),
        ("fcc", 4 * 3 * 4 * 4, 0.7404, 12, math.sqrt(2)),
        ("hcp", 360, 0.55, 12, math.sqrt(2)),
        ("bcc", 128, 0.6, 8, 2 / math.sqrt(3)),
    ],
)
def test_a_crystal_has_its_packing_fraction_and_its_neighbors(
    kind, N, packing_fraction, first, second
):
    """Each sphere has the same number of nearest neighbors at the same distance, and the second
    shell is where it is in the crystal."""
    diameter = 0.37
    positions, box = PACKINGS[kind](N, packing_fraction, diameter=diameter)
    assert N * math.pi * diameter**3 / (6 * math.prod(box)) == pytest.approx(packing_fraction)
    assert positions.shape == (N, 3)
    assert (np.abs(positions) < np.array(box) / 2).all()
    assert max(box) / min(box) <= 2
    distances = neighbors(positions, box)
    nearest = distances[0, 0]
    assert nearest >= diameter
    assert nearest / diameter == pytest.approx(
        (CRYSTALS[kind].densest / packing_fraction) ** (1 / 3)
    )
    assert np.allclose(distances[:, :first], nearest)
    assert np.allclose(distances[:, first], second * nearest)


def test_fcc_and_hcp_differ_in_the_third_shell():
    """HCP has two neighbors at sqrt(8 / 3), FCC has none."""
    for kind, expected in (("fcc", 0), ("hcp", 2)):
        positions, box = PACKINGS[kind](432 if kind == "hcp" else 500, 0.5)
        distances = neighbors(positions, box)
        at = np.isclose(distances, math.sqrt(8 / 3) * distances[0, 0])
        assert (at.sum(axis=1) == expected).all()


@pytest.mark.parametrize("kind", PACKINGS)
def test_touching_spheres_do_not_overlap(kind):
    positions, box = PACKINGS[kind](108 if kind == "fcc" else 128, CRYSTALS[kind].densest)
    assert neighbors(positions, box).min() >= 1


@pytest.mark.parametrize(
    ("kind", "N", "packing_fraction", "message"),
    [
        ("fcc", 255, 0.5, r"255 spheres fill no FCC crystal in a box .*; 256 do"),
        ("hcp", 6, 0.5, "6 spheres fill no HCP crystal"),
        ("bcc", 2 * 997, 0.5, "fill no BCC crystal"),
        ("fcc", 0, 0.5, "N must be from 1 to .*, got 0"),
        ("fcc", 256, 0.7406, "FCC crystal of touching spheres has 0.7404805"),
        ("bcc", 128, 0.6803, "BCC crystal of touching spheres has 0.6801748"),
        ("hcp", 128, 0.0, "packing_fraction must be positive, got 0.0"),
        ("fcc", 256, math.nan, "must be positive"),
    ],
)
def test_crystals_that_do_not_exist_are_refused(kind, N, packing_fraction, message):
    with pytest.raises(ValueError, match=message):
        PACKINGS[kind](N, packing_fraction)


def test_a_crystal_needs_a_diameter():
    with pytest.raises(ValueError, match=r"diameter must be positive and finite, got -1\.0"):
        fcc_packing(256, 0.5, diameter=-1.0)
    with pytest.raises(TypeError, match="diameter must be a number"):
        fcc_packing(256, 0.5, diameter=np.ones(256))


@pytest.mark.parametrize(
    ("N", "box"), [(1, (1.0, 1.0, 1.0)), (1000, (10.0, 10.0, 10.0)), (777, (3.0, 9.0)),
                   (1234, (5.0, 10.0, 20.0))],
)  # fmt: skip
def test_there_are_enough_sites_and_not_many_more(N, box):
    found = simple_sites(N, box)
    assert N <= len(found) <= N * 1.4 + 3
    assert len(np.unique(found, axis=0)) == len(found)
    assert (np.abs(found) < np.array(box) / 2).all()
