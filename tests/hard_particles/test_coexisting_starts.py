# SPDX-License-Identifier: BSD-3-Clause
"""The script examples/papers/mpmc/table_2.py: starts with a crystal beside a random packing, and
runs that continue elsewhere."""

from __future__ import annotations

import argparse
import itertools
import math

import numpy as np
import pytest
from documents import ROOT
from programs_of_papers import module_of

from manymove import HardDisks, script

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


def test_packing_fractions_apart_and_moved_give_the_results_of_one_run(tmp_path, monkeypatch):
    """Only parts.json and states move to the next folder, as to another machine."""
    table = module_of(FILE)
    common = {
        "particles": 256, "starts": ["random", "crystal"], "excess": 0.1, "replicas": 1,
        "sweeps": 300.0, "equilibrate": 100.0, "piece": 50.0, "every": 5.0, "device": "cpu",
        "overwrite": False,
    }  # fmt: skip

    def run(folder, phis, seed, minutes=None):
        options = {"output": folder, "packing_fractions": phis, "seed": seed, "minutes": minutes}
        folder.mkdir(exist_ok=True)
        return table.run(argparse.Namespace(**common, **options))

    whole = run(tmp_path / "whole", [0.698, 0.71], 1)
    monkeypatch.setattr(script, "monotonic", itertools.count().__next__)  # a part takes a second
    reports, calls = [], 0
    for phi, seed in ((0.71, 3), (0.698, 1)):
        for calls in itertools.count(1):
            folder = tmp_path / f"{phi}-{calls}"
            try:
                reports.append(run(folder, [phi], seed, 2.5 / 60))
                break
            except SystemExit:
                moved = tmp_path / f"{phi}-{calls + 1}"
                moved.mkdir()
                for name in ("parts.json", "states"):
                    (folder / name).rename(moved / name)
    assert calls == 4  # 8 parts, 2 in a call
    (report,) = table.together(reports)
    by_packing_fraction = sorted(report["results"], key=lambda run: run["packing_fraction"])
    assert by_packing_fraction == whole["results"]
    assert table.rows(report) == whole["rows"]
    other = {**whole, "excess": 0.2}
    assert table.together([whole, other]) == [whole, other]
