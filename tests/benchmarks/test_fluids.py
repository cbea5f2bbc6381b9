# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks fluids`: fluids that share a device in each way."""

from __future__ import annotations

import json

import pytest
from lammps_host import needs_lammps

from benchmarks.cli import run as bench

pytestmark = [needs_lammps, pytest.mark.thorough]
SMALL = ["--particles", "300", "--device", "cpu", "--seconds", "0.01"]


def test_fluids_run_in_each_way(tmp_path):
    file = tmp_path / "fluids.json"
    words = [*SMALL, "--systems", "1,2", "--json", str(file)]
    assert bench(["fluids", *words]) == 0
    rows = json.loads(file.read_text())["results"]
    ways = "replicas", "partition", "processes"  # mps is for GPUs
    found = [(row["systems"], row["variant"]) for row in rows]
    assert found == [(n, way) for n in (1, 2) for way in ways]
    assert all(row["steps"] >= 500 for row in rows)
    assert all(1e-3 < row["million_particle_steps_per_second"] < 1e3 for row in rows)


def test_a_way_that_is_not_there_is_an_error(capsys):
    assert bench(["fluids", *SMALL, "--ways", "threads"]) == 2
    assert "--ways is threads; it must be one of replicas, partition" in capsys.readouterr().err


def test_lammps_that_fails_is_told_with_its_log(capsys):
    words = [*SMALL, "--systems", "1", "--skin", "0.3", "--ways", "processes"]
    assert bench(["fluids", *words, "--precision", "half"]) == 2
    assert "precision" in capsys.readouterr().err
