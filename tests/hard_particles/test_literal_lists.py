# SPDX-License-Identifier: BSD-3-Clause
"""examples/papers/mpmc/table_1_lists.py, the algorithm of the paper as it is written, against the
engine: two programs that share neither cells nor moves have the same pressure."""

from __future__ import annotations

import json
import math
import shutil
import sys

import pytest
from documents import ROOT
from processes import run

from manymove import HardDisks

SCRIPT = ROOT / "examples/papers/mpmc/table_1_lists.py"
if not SCRIPT.exists() or shutil.which("c++") is None:
    pytest.skip("there is no example or no compiler", allow_module_level=True)
pytest.importorskip("matplotlib")


@pytest.mark.pictures  # its program imports matplotlib
def test_the_pressure_is_that_of_the_engine(tmp_path):
    words = "--disks 64 --packing-fractions 0.6 --variants both neither --total 512 --device cpu "
    words += "--equilibrate 1000 --relax 500 --piece 1500 --error 0 --seconds 2"
    done = run([sys.executable, SCRIPT, *words.split(), "--output", tmp_path], timeout=200)
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "summary.json").read_text())["results"]
    assert [row["shuffled"] for row in rows] == ["both", "neither"]
    engine = HardDisks.random(64, 0.6, seed=3, device="cpu", threads=1)
    engine.run(2000)
    engine.sample_pressure(every=14, record=200)
    engine.run(100_000)
    for row in rows:
        error = math.hypot(row["pressure_error"], engine.pressure_average.error)
        assert error < 0.1
        assert abs(row["pressure"] - engine.pressure_average.value) < 4 * error
        assert row["systems"] == 8 and 0.2 < row["acceptance"] < 0.6
