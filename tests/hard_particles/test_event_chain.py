# SPDX-License-Identifier: BSD-3-Clause
"""examples/papers/mpmc/event_chain.cpp: exact pressures, and the pressure of the engine."""

from __future__ import annotations

import math
import shutil

import numpy as np
import pytest
from documents import ROOT
from programs_of_papers import module_of

from manymove import HardDisks
from manymove.analysis import estimate

FOLDER = ROOT / "examples/papers/mpmc"
if not FOLDER.exists() or shutil.which("c++") is None:
    pytest.skip("there is no example or no compiler", allow_module_level=True)


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    """A function that makes EventChains."""
    module = module_of(FOLDER / "event_chain.py")
    function = module_of(FOLDER / "programs.py").compiled(
        "event_chain", str(tmp_path_factory.mktemp("event_chain"))
    )
    return lambda positions, edge, length, seed: module.EventChains(
        np.array(positions, dtype=float), edge, length, seed, function
    )


def test_a_disk_alone_has_the_pressure_of_an_ideal_gas(chains):
    alone = chains([[0, 0]], 3.5, 1.7, 1)
    assert alone.run(100) == pytest.approx(1 / 3.5**2, rel=1e-12)
    assert alone.contacts == 0 and not np.allclose(alone.positions, 0)


def test_two_disks_have_the_exact_pressure(chains):
    """Their relative position is uniform in the area V - pi, so that P V / (2 kT) is
    (1 + V / (V - pi)) / 2. A false alarm is less likely than 1e-4."""
    edge = 3.5
    found = estimate(chains([[0, 0], [1.7, 1.7]], edge, 2.0, 1).run(300_000, records=64))
    exact = (1 + edge**2 / (edge**2 - math.pi)) / edge**2
    assert found.error < 1e-4
    assert abs(found.value - exact) < 4 * found.error


@pytest.mark.parametrize("length", [1.0, 16.0])
def test_the_pressure_is_that_of_the_engine(chains, length):
    """256 disks at 0.5, for short and for long chains, which end in another direction each."""
    disks = HardDisks.random(256, 0.5, seed=1, device="cpu", threads=1)
    disks.run(3000)
    moved = chains(disks.positions, disks.box[0], length, 1)
    moved.run(20)
    found = estimate(moved.run(600, records=64))
    disks.sample_pressure(every=14, record=100)
    disks.run(60_000)
    expected = disks.pressure_average
    error = math.hypot(found.error, expected.error)
    assert error < 0.03
    assert abs(found.value - expected.value) < 4 * error
    end = HardDisks(moved.positions, disks.box, seed=1, device="cpu", threads=1)
    assert end.max_overlap() == 0


def test_chains_go_on_where_they_ended(chains):
    start = HardDisks.random(64, 0.6, seed=2, device="cpu", threads=1)
    one, other = (chains(start.positions, start.box[0], 2.0, 3) for _ in range(2))
    together = one.run(1, records=2)
    apart = np.concatenate([other.run(0.5), other.run(0.5)])  # short, as chains are chaotic
    assert one.chains == other.chains and one.contacts == other.contacts
    assert apart == pytest.approx(together, rel=1e-6)


def test_a_box_without_three_cells_is_refused(chains):
    with pytest.raises(ValueError, match=r"the edge of the box is 2\.9"):
        chains([[0, 0]], 2.9, 1.0, 1)
