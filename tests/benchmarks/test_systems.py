# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks systems`: the table and the file."""

from __future__ import annotations

import json

import pytest

from benchmarks.cli import run as bench

SMALL = ["--particles", "256", "--device", "cpu", "--threads", "2", "--equilibrate", "10"]


@pytest.mark.parametrize("kind", [[], ["--spheres"], ["--ions"]])
def test_systems_are_timed_together_and_one_after_the_other(kind, tmp_path):
    file = tmp_path / "systems.json"
    words = [*SMALL, *kind, "--systems", "1,3", "--seconds", "0.05", "--json", str(file)]
    assert bench(["systems", *words]) == 0
    found = json.loads(file.read_text())
    fractions = {"": 0.698, "--spheres": 0.5, "--ions": None}
    assert found.get("packing_fraction") == fractions["".join(kind)]
    rows = [(row["systems"], row["particles"], row["variant"]) for row in found["results"]]
    names = "together", "one after the other"
    assert rows == [(count, 256, name) for count in (1, 3) for name in names]
    assert all(row["trial_moves_per_second"] > 1e4 for row in found["results"])
    assert all(0 < row["acceptance"] < 1 for row in found["results"])


def test_ions_have_no_packing_fraction(capsys):
    assert bench(["systems", *SMALL, "--ions", "--packing-fraction", "0.5"]) == 2
    assert "--ions cannot be combined with" in capsys.readouterr().err


def test_a_picture_is_refused(tmp_path, capsys):
    assert bench(["systems", *SMALL, "--plot", str(tmp_path / "systems.png")]) == 2
    assert "--plot does not go with this benchmark" in capsys.readouterr().err
