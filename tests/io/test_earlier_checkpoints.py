# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of format 1 of an earlier commit, and the hashes to which it continued them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from damage import change_checkpoint
from lammps_host import needs_lammps

import manymove

FOLDER = Path(__file__).parent / "checkpoints"
EXPECTED = json.loads((FOLDER / "hashes.json").read_text())


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=needs_lammps if n == "dpd" else ()) for n in sorted(EXPECTED)]
)
def test_they_continue_to_the_same_state(name):
    """20 cycles of hard particles, 20 sweeps of ions, 20 steps of the others."""
    of_class = getattr(manymove, EXPECTED[name]["class"])
    one = of_class.load(FOLDER / f"{name}.checkpoint", device="cpu")
    (one.run_cycles if hasattr(one, "run_cycles") else one.run)(20)
    assert one.state_hash == EXPECTED[name]["hash"]


def test_averages_that_lack_sums_are_refused(tmp_path):
    """Averages of a run that an even earlier version began."""
    path = tmp_path / "old.checkpoint"
    lose = lambda _, header: header.update(lacks=["trials", "heats"])  # noqa: E731
    change_checkpoint(FOLDER / "rigid_molecules.checkpoint", lose, path)
    with pytest.raises(ValueError, match="its averages lack trials, heats, because an earlier"):
        manymove.Adsorption.load(path, device="cpu")
