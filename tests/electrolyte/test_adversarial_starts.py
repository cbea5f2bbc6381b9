"""The decisions of the brush where trials depend on each other the most."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from electrolytes import dense, trivalent
from machine import on_gpu

from manymove import Electrolyte, Ions, Sphere
from manymove.analysis.ions import Species

FEW, MANY = 416, 12_800


def crowd(ions: int, spacing: float, **options: Any) -> Electrolyte:
    """A small crystal of a 3:-1 salt in a corner of a large cell, the trivalent ions first."""
    side = math.ceil(ions ** (1 / 3))
    lattice = np.array(list(itertools.product(range(side), repeat=3)), float)[:ions]
    if "boundary" in options:
        options["box"] = 3 * (2.2 * side * spacing,)
    else:
        options["box"] = Sphere(side * spacing * math.sqrt(3) / 2)
    return Electrolyte(
        (lattice - side / 2) * spacing,
        ions=Ions(
            (np.arange(ions) >= ions // 4).astype(np.int32), [Species(3, 5.0), Species(-1, 5.0)]
        ),
        bjerrum_length=7.117,
        seed=11,
        precision="double",
        **options,
    )


def dilute(ions: int, **options: Any) -> Electrolyte:
    return trivalent(ions, precision="double", **options)


CASES = {
    "ions at contact": lambda n, **o: crowd(n, 5.0005, max_displacement=2.0, **o),
    "long moves": lambda n, **o: crowd(n, 5.0005, max_displacement=25.0, **o),
    "charges in a corner": lambda n, **o: crowd(n, 5.5, max_displacement=6.0, **o),
    "hard cores": lambda n, **o: dense(n, max_displacement=1.0, precision="double", **o),
    "at the wall": lambda n, **o: dilute(n, max_displacement=80.0, **o),
    "nearest images": lambda n, **o: crowd(
        n, 5.2, boundary="nearest_image", max_displacement=4.0, **o
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_adversarial_starts_make_the_serial_chain(case):
    serial = CASES[case](FEW, method="serial", device="cpu", threads=1)
    brush = CASES[case](FEW, method="brush", device="cpu", threads=2)
    for sweeps in (1, 2):
        serial.run(sweeps)
        brush.run(sweeps)
        assert brush.state_hash == serial.state_hash
    assert 0 < brush.accepted_moves < brush.trial_moves


@on_gpu
@pytest.mark.parametrize("case", CASES)
def test_a_gpu_makes_the_chain_of_the_cpu(case):
    cpu = CASES[case](MANY, device="cpu")
    gpu = CASES[case](MANY, device="cuda")
    cpu.run(2)
    gpu.run(2)
    assert gpu.state_hash == cpu.state_hash
    assert gpu.energy == pytest.approx(cpu.energy, rel=1e-12)
