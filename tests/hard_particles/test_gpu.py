"""Hard disks on a GPU: arrays that live there. Needs CuPy."""

from __future__ import annotations

import numpy as np
import pytest
from machine import GPU

from manymove import HardDisks, Start
from manymove.hard_particles import random_packing

pytestmark = GPU


class OnlyCudaArrayInterface:
    """What Numba's device arrays and older libraries offer."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positions_on_the_device_are_those_on_the_host(device, dtype):
    cupy = pytest.importorskip("cupy")
    positions, box = random_packing(1000, 0.6, seed=1)
    positions = positions.astype(dtype)
    hashes = set()
    for given in (
        positions,
        cupy.asarray(positions),
        OnlyCudaArrayInterface(cupy.asarray(positions)),
    ):
        disks = HardDisks(given, box, seed=1, device=device, start=Start(repair_depth=1e-3))
        disks.run(20)
        hashes.add(disks.state_hash)
    assert len(hashes) == 1


def test_device_array_that_is_not_contiguous_is_refused():
    cupy = pytest.importorskip("cupy")
    positions, box = random_packing(100, 0.5, seed=1)
    transposed = cupy.asarray(np.ascontiguousarray(positions.T)).T
    with pytest.raises(ValueError, match="C-contiguous"):
        HardDisks(transposed, box, seed=1)
