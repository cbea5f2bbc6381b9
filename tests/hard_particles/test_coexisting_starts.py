# SPDX-License-Identifier: BSD-3-Clause
"""The starts of examples/papers/mpmc/table_2.py with a crystal beside a random packing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from documents import ROOT
from programs_of_papers import module_of

from manymove import HardDisks

FILE = ROOT / "examples/papers/mpmc/table_2.py"
if not FILE.exists():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)
pytest.importorskip("matplotlib")
N, PHI = 32768, 0.71


@pytest.mark.parametrize("solid", [0.2, 0.5, 0.8])
def test_crystal_and_random_packing_have_their_areas_and_densities(solid):
    """A crystalline disk, a stripe, and a liquid disk. Global psi_6 is 1 in the crystal and about
    0 in the random packing. The packing fractions of the parts differ by 2.3 %, and a part with
    5,000 disks shows its own within 0.5 %."""
    positions, (edge, height) = module_of(FILE).coexistence(N, PHI, solid, 1)
    disks = HardDisks(positions, (edge, height), seed=1, device="cpu")
    assert disks.N == N and edge == height and disks.max_overlap() == 0
    assert disks.packing_fraction == pytest.approx(PHI, rel=1e-12)
    assert abs(disks.psi6()) == pytest.approx(solid, abs=0.03)
    if solid == 0.5:
        inside, area = np.abs(positions[:, 0]) < 0.24 * edge, 0.48 * edge**2
    else:
        radius = 0.95 * edge * math.sqrt(0.2 / math.pi)
        inside, area = np.hypot(*positions.T) < radius, math.pi * radius**2
    expected = PHI - 0.016 * solid if solid == 0.8 else PHI + 0.016 * (1 - solid)
    assert inside.sum() * math.pi / (4 * area) == pytest.approx(expected, rel=0.006)


def test_the_ends_of_the_scale_are_the_random_packing_and_the_crystal():
    table = module_of(FILE)
    for start, expected in (
        ("random", HardDisks.random(N, PHI, seed=3, device="cpu")),
        ("crystal", HardDisks(*table.crystal(N, PHI, 3), seed=3, device="cpu")),
    ):
        made = table.start_of(start, N, PHI, 3, "cpu", None)
        assert made.state_hash == expected.state_hash
