# SPDX-License-Identifier: BSD-3-Clause
"""What the engine of spheres and mixtures leaves in the arrays of a host program."""

from __future__ import annotations

import numpy as np
import pytest
from hard_spheres import make, sites

from manymove import _core


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_host_program_gets_positions_and_images(dimensions, real):
    """Arrays as HOOMD-blue has them, in any order, in a box of three cells. Single precision has
    no other test."""
    box = (4.5, 4.7, 4.9)[:dimensions]
    positions = sites(box)
    N = len(positions)
    rng = np.random.default_rng(1)
    diameters = rng.uniform(1.0, 1.4, N)
    particles = make((positions, box), seed=3, diameters=diameters, max_displacement=0.5)
    tag = rng.permutation(N).astype(np.uint32)
    index = np.argsort(tag).astype(np.uint32)
    theirs = np.full((N, 4), 7.0, dtype=real)
    theirs[index, :dimensions] = positions
    image = np.zeros((N, 3), dtype=np.int32)
    arrays = (theirs.ctypes.data, real == np.float64, image.ctypes.data, index.ctypes.data)
    where = (*arrays, tag.ctypes.data)
    engine = particles.core
    assert not engine.same_positions(*where)
    engine.write_positions(*where)
    unwrapped = theirs[index, :dimensions] + image[index, :dimensions] * np.array(box)
    for _ in range(300):
        assert engine.same_positions(*where)
        engine.enqueue(engine.cycles_between_writes, *where)
        exact = particles.positions
        np.testing.assert_array_equal(theirs[index, :dimensions], exact.astype(real))
        assert (np.abs(theirs[:, :dimensions]) <= np.array(box) / 2).all()
        now = theirs[index, :dimensions] + image[index, :dimensions] * np.array(box)
        assert (np.abs(now - unwrapped) < np.array(box) / 2).all()
        unwrapped = now
    assert np.abs(image[:, :dimensions]).max() > 0 and (image[:, dimensions:] == 0).all()
    assert (theirs[:, dimensions:] == 7).all()
    for component in range(4):  # the fourth is HOOMD-blue's type
        before = theirs[3, component]
        theirs[3, component] = np.nextafter(before, real(0))
        assert not engine.same_positions(*where)
        theirs[3, component] = before
        assert engine.same_positions(*where)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_overlaps_are_counted(dimensions):
    """Against all pairs, among random particles, in boxes of few cells and of many."""
    rng = np.random.default_rng(2)
    for edge, N in ((4.3, 12), (20.0, 300)):
        positions = rng.uniform(-edge / 2, edge / 2, (N, dimensions))
        diameters = rng.uniform(1.0, 1.4, N)
        i, j = np.triu_indices(N, 1)
        vectors = positions[i] - positions[j]
        vectors -= np.rint(vectors / edge) * edge
        expected = (np.sqrt((vectors**2).sum(1)) < (diameters[i] + diameters[j]) / 2).sum()
        assert expected > 0
        found = _core.HardSpheres.count_overlaps(positions, [edge] * dimensions, diameters)
        assert found == expected
