# SPDX-License-Identifier: BSD-3-Clause
"""Every field of an engine's snapshot survives the way to a dictionary and back."""

from __future__ import annotations

import numpy as np
import pytest
from hard_disks import lattice

from manymove import HardDisks, HardSpheres

BOX = (10.0, 10.0)
CUBE = np.stack(np.meshgrid(*3 * [np.arange(-2, 2) * 1.3 + 0.65], indexing="ij"), -1).reshape(-1, 3)
SIZES = {"diameter": np.linspace(0.8, 1.0, 64)}
MAKE = {
    "equal disks": lambda: HardDisks(lattice(8, 8, BOX), BOX, seed=2, device="cpu"),
    "mixture": lambda: HardDisks(lattice(8, 8, BOX), BOX, seed=2, device="cpu", **SIZES),
    "constant pressure": lambda: HardSpheres(CUBE, 3 * (5.2,), seed=2, device="cpu", pressure=4),
    "swap moves": lambda: HardSpheres(CUBE, 3 * (5.2,), seed=2, device="cpu", swaps=2, **SIZES),
}
NAMES = {
    "equal disks": {"cells", "ids"},
    "mixture": {"places", "volume", "extent"},
    "constant pressure": {"places", "volume", "extent"},
    "swap moves": {"places", "volume", "extent", "diameters", "swaps"},
}


@pytest.mark.parametrize("name", MAKE)
def test_every_field_survives(name):
    one = MAKE[name]()
    one.run_cycles(7)
    snapshot = one.core.snapshot()
    assert snapshot.keys() == NAMES[name] | {"counters", "origin"}
    parameters, *place = one._where()
    if "diameters" in snapshot:
        parameters = {**parameters, "diameters": snapshot["diameters"]}
    again = type(one.core).from_snapshot(snapshot, one.N, parameters, *place).snapshot()
    assert again.keys() == snapshot.keys()
    for key, value in snapshot.items():
        assert np.array_equal(again[key], value), key
        assert key == "volume" or np.any(np.asarray(value) != 0), key
