# SPDX-License-Identifier: BSD-3-Clause
"""What the engine of spheres and mixtures leaves in the arrays of a host program."""

from __future__ import annotations

import numpy as np
import pytest
from hard_spheres import make, sites

from manymove import _core


class Arrays:
    """A host program's arrays as HOOMD-blue has them, in a random order, on the engine's device."""

    def __init__(self, device, positions, real):
        self.xp = np if device == "cpu" else pytest.importorskip("cupy")
        N, dimensions = positions.shape
        tag = np.random.default_rng(1).permutation(N).astype(np.uint32)
        self.order = np.argsort(tag)
        position = np.full((N, 4), 7.0, dtype=real)
        position[self.order, :dimensions] = positions
        self.position = self.xp.asarray(position)
        self.image = self.xp.zeros((N, 3), dtype=np.int32)
        self.index = self.xp.asarray(self.order.astype(np.uint32))
        self.tag = self.xp.asarray(tag)

    def where(self):
        def address(array):
            return array.ctypes.data if self.xp is np else array.data.ptr

        names = ("position", "image", "index", "tag")
        addresses = {name: address(getattr(self, name)) for name in names}
        return {**addresses, "double_precision": self.position.dtype == np.float64}

    def by_tag(self):
        """Positions and images in host memory, in the order of the tags."""
        both = (self.position, self.image)
        if self.xp is not np:
            both = tuple(self.xp.asnumpy(array) for array in both)
        return tuple(array[self.order] for array in both)


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_a_host_program_gets_positions_and_images(device, dimensions, real):
    """In a box of three cells. Single precision has no other test."""
    box = (4.5, 4.7, 4.9)[:dimensions]
    edges = np.array(box)
    positions = sites(box)
    diameters = np.random.default_rng(2).uniform(1.0, 1.4, len(positions))
    particles = make((positions, box), device, seed=3, diameters=diameters, max_displacement=0.5)
    arrays = Arrays(device, positions, real)
    where = arrays.where()
    engine = particles.core
    assert not engine.same_positions(**where)
    engine.write_positions(**where)
    theirs, image = arrays.by_tag()
    unwrapped = theirs[:, :dimensions] + image[:, :dimensions] * edges
    for _ in range(300):
        assert engine.same_positions(**where)
        engine.enqueue(engine.cycles_between_writes, **where)
        theirs, image = arrays.by_tag()
        np.testing.assert_array_equal(theirs[:, :dimensions], particles.positions.astype(real))
        assert (np.abs(theirs[:, :dimensions]) <= edges / 2).all()
        now = theirs[:, :dimensions] + image[:, :dimensions] * edges
        assert (np.abs(now - unwrapped) < edges / 2).all()
        unwrapped = now
    assert np.abs(image[:, :dimensions]).max() > 0 and (image[:, dimensions:] == 0).all()
    assert (theirs[:, dimensions:] == 7).all()
    for component in range(4):  # the fourth is HOOMD-blue's type
        before = arrays.position[3, component].copy()
        arrays.position[3, component] *= 1 + 1e-6
        assert not engine.same_positions(**where)
        arrays.position[3, component] = before
        assert engine.same_positions(**where)


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
        found = _core.count_overlaps(positions, [edge] * dimensions, diameters)
        assert found == expected
