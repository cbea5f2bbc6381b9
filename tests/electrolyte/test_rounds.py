"""Decisions in rounds (GPU) and in order (CPU) where trials depend on each other the most."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from electrolytes import dense, trivalent

from manymove import Electrolyte
from manymove.analysis.ions import Species

SIDE = 12
IONS = 416


def crowd(spacing: float, *, sorted_charges: bool = True, **options: Any) -> Electrolyte:
    """A small crystal of a 3:-1 salt in a corner of a large cell, the trivalent ions first."""
    lattice = np.array(list(itertools.product(range(SIDE), repeat=3)), float)[:IONS]
    positions = (lattice - SIDE / 2) * spacing
    species = np.arange(IONS) % 4 > 0
    if sorted_charges:
        species.sort()
    kinds = [Species(3, 5.0), Species(-1, 5.0)]
    if options.pop("periodic", False):
        options["box"] = 3 * (2.2 * SIDE * spacing,)
    else:
        options["radius"] = SIDE * spacing * math.sqrt(3) / 2
    return Electrolyte(
        positions,
        species.astype(np.int32),
        kinds,
        bjerrum_length=7.117,
        seed=11,
        precision="double",
        **options,
    )


CASES = {
    "ions at contact": lambda **o: crowd(5.0, max_displacement=2.0, **o),
    "ions at contact, long moves": lambda **o: crowd(5.0, max_displacement=25.0, **o),
    "charges in a corner": lambda **o: crowd(5.5, max_displacement=6.0, **o),
    "strong coupling": lambda **o: dense(400, max_displacement=1.0, precision="double", **o),
    "moves of the radius": lambda **o: trivalent(
        600, max_displacement=250.0, precision="double", **o
    ),
    "nearest images": lambda **o: crowd(
        5.2, periodic=True, boundary="nearest_image", max_displacement=4.0, **o
    ),
    "Ewald": lambda **o: crowd(5.2, periodic=True, boundary="ewald", max_displacement=4.0, **o),
    "a vacuum around": lambda **o: crowd(
        5.2,
        periodic=True,
        boundary="ewald",
        surrounding="vacuum",
        max_displacement=30.0,
        **o,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_adversarial_starts_make_the_serial_chain(case, device):
    serial = CASES[case](method="serial", device="cpu", threads=1)
    brush = CASES[case](method="brush", device=device)
    for sweeps in (1, 2):
        serial.run(sweeps)
        brush.run(sweeps)
        assert brush.state_hash == serial.state_hash
    assert 0 < brush.accepted_moves < brush.trial_moves
