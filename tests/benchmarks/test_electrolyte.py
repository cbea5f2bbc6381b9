# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks electrolyte`: methods and precisions."""

from __future__ import annotations

import json

import pytest

from benchmarks.cli import run as bench


def test_times_what_it_says(tmp_path, capsys):
    file = tmp_path / "speed.json"
    arguments = ["--sizes", "128", "--device", "cpu", "--threads", "1", "--seconds", "0.01"]
    arguments += ["--methods", "brush,serial", "--equilibrate", "2", "--json", str(file)]
    assert bench(["electrolyte", *arguments]) == 0
    report = json.loads(file.read_text())
    assert [(r["method"], r["precision"]) for r in report["results"]] == [
        ("brush", "mixed"),
        ("brush", "double"),
        ("serial", "mixed"),
        ("serial", "double"),
    ]
    for r in report["results"]:
        assert r["lowest"] <= r["seconds_per_sweep"] <= r["highest"]
        assert 0 < r["acceptance"] <= r["evaluated_share"] <= 1
        rate = r["evaluated_share"] * 128**2 / r["seconds_per_sweep"]
        assert r["pair_terms_per_second"] == pytest.approx(rate)
    assert "brush, mixed, 1 thread" in capsys.readouterr().out


def test_refuses_too_few_repeats(capsys):
    assert bench(["electrolyte", "--repeats", "2"]) == 2
    assert "--repeats is 2" in capsys.readouterr().err
