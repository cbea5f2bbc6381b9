# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks spheres`: the table and the file."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from benchmarks.cli import run as bench
from benchmarks.disk_variants import BALL_TO_CUBE
from benchmarks.relaxation import crossing
from manymove.analysis import self_intermediate_scattering


def test_rates_and_decorrelation_are_measured(tmp_path, capsys):
    file = tmp_path / "spheres.json"
    words = ["--sizes", "512", "--device", "cpu", "--threads", "1,2", "--seconds", "0.05"]
    words += ["--equilibrate", "20", "--decorrelation", "400", "--json", str(file)]
    assert bench(["spheres", *words]) == 0
    printed = capsys.readouterr().out
    assert "spheres" in printed.splitlines()[0] and "density modes decorrelate in" in printed
    found = json.loads(file.read_text())
    assert found["packing_fraction"] == 0.5
    ours = [row for row in found["results"] if not row["variant"].startswith("HPMC")]
    assert [row["threads"] for row in ours] == [1, 2]
    assert all(row["trial_moves_per_second"] > 1e4 for row in ours)
    assert 0 < ours[0]["acceptance"] < 1
    assert ours[0]["decorrelation_sweeps"] > 0
    assert ours[0]["decorrelation_of"] == "density modes"
    assert "relaxes in" in printed
    chosen = [row for row in found["results"] if "relaxation_sweeps" in row]
    assert ours[0] in chosen and ours[1] not in chosen
    for row in chosen:
        (_, before), (last, after) = row["relaxation_curve"][-2:]
        assert after <= math.exp(-1) < before and 0 < row["relaxation_sweeps"] <= last
        assert row["relaxation_seconds"] == pytest.approx(
            row["relaxation_sweeps"] * 512 / row["trial_moves_per_second"]
        )


def test_a_mixture_is_timed_next_to_one_size(tmp_path, capsys):
    file = tmp_path / "spheres.json"
    words = ["spheres", "--sizes", "512", "--device", "cpu", "--threads", "1"]
    words += ["--seconds", "0.02", "--mixture-ratio"]
    assert bench([*words, "0.7", "--json", str(file)]) == 0
    assert "times one size" in capsys.readouterr().out
    rows = json.loads(file.read_text())["results"]
    assert rows[-1]["variant"] == "cpu, 1 thread, mixture with the ratio 0.7"
    ratio = rows[-1]["trial_moves_per_second"] / rows[0]["trial_moves_per_second"]
    assert rows[-1]["ratio_to_one_size"] == pytest.approx(ratio)
    assert 0.05 < rows[-1]["acceptance"] < 0.3
    assert bench([*words, "0.3"]) == 2
    assert "--mixture-ratio must be from 0.4 to 1" in capsys.readouterr().err
    assert bench([*words, "0.3", "--ranks", "1"]) == 2
    assert "--mixture-ratio must be from 0.4 to 1" in capsys.readouterr().err


def test_the_relaxation_time_is_where_an_exponential_is_1_over_e():
    curve = [(t, math.exp(-t / 700)) for t in (0.0, 600.0, 760.0)]
    assert crossing(curve[:2]) is None
    assert crossing(curve) == pytest.approx(700)
    assert crossing([(0.0, 1.0), (10.0, -0.2)]) == pytest.approx(10 * (1 - math.exp(-1)) / 1.2)


def test_the_scattering_function_of_gaussian_displacements():
    g = np.random.default_rng(1)
    box = (7.0, 8.0, 9.0)
    start = g.uniform(-0.5, 0.5, (40000, 3)) * box
    u = g.normal(scale=0.2, size=start.shape)
    there = start + u
    there -= box * np.rint(there / box)
    k = 2 * math.pi
    expected = math.exp(-(k**2) * 3 * 0.2**2 / 6)
    found = self_intermediate_scattering(start, there, box, k)
    assert found == pytest.approx(np.cos(k * u).mean(), abs=1e-12)
    assert found == pytest.approx(expected, abs=5 / math.sqrt(u.size))
    with pytest.raises(ValueError, match="shapes"):
        self_intermediate_scattering(start, there[1:], box, k)


def test_moves_of_hpmc_have_the_same_mean_square():
    """Uniform in a ball of radius R: D R^2 / (D + 2); in a cube of half edge 1: D / 3."""
    for D, ratio in BALL_TO_CUBE.items():
        assert D * ratio**2 / (D + 2) == pytest.approx(D / 3)
