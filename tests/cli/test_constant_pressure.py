# SPDX-License-Identifier: BSD-3-Clause
"""`manymove disks` and `manymove spheres` with --pressure: results, resuming, and mistakes."""

from __future__ import annotations

import pytest
from commands import summary_of

from manymove import cli
from manymove.analysis.sphere_reference import literature_pressure

START = ["--particles", 216, "--packing-fraction", 0.3, "--equilibrate", 1000]
WHERE = ["--device", "cpu", "--threads", 1, "--quiet"]


def run(folder, *options, command="spheres"):
    return cli.run([command, *map(str, (*options, *WHERE, "--output", folder))])


def test_the_pressure_of_a_packing_fraction_returns_it(tmp_path):
    """Five standard errors and 1/N: a false alarm in a million seeds; the seed is fixed."""
    pressure = literature_pressure(0.3, "random")[0]
    assert run(tmp_path, *START, "--pressure", pressure, "--sweeps", 40_000) == 0
    summary = summary_of(tmp_path)
    found, error = summary["mean_packing_fraction"], summary["mean_packing_fraction_error"]
    assert 0 < error < 2e-3
    assert abs(found - 0.3) < 5 * error + 0.3 / 216
    assert summary["pressure"] == pytest.approx(pressure)
    assert summary["max_overlap"] < 1e-6


@pytest.mark.parametrize(
    ("command", "apart"), [("disks", []), ("spheres", []), ("spheres", ["--edges-apart"])]
)
def test_a_resumed_run_is_that_of_one_go(tmp_path, command, apart):
    whole, part = tmp_path / "whole", tmp_path / "part"
    options = [*START, "--pressure", 2.0, *apart]
    assert run(whole, *options, "--sweeps", 4000, command=command) == 0
    assert run(part, *options, "--sweeps", 1500, command=command) == 0
    assert run(part, "--resume", "--sweeps", 4000, command=command) == 0
    for key in ("state_hash", "box", "max_overlap"):
        assert summary_of(part)[key] == summary_of(whole)[key]
    assert (len(set(summary_of(whole)["box"])) > 1) == bool(apart)
    assert summary_of(whole)["mean_packing_fraction"] != pytest.approx(0.3, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pressure", 0], "--pressure is 0"),
        (["--pressure", -1], "--pressure is -1"),
        (["--pressure", "nan"], "--pressure is nan"),
        (["--edges-apart"], "--edges-apart needs --pressure"),
        (["--pressure", 2, "--equation-of-state"], "--equation-of-state measures it"),
    ],
)
def test_mistakes_are_named(tmp_path, capsys, options, message):
    assert run(tmp_path / "new", *START, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "new" / "summary.json").exists()


def test_a_resumed_run_keeps_its_edges(tmp_path, capsys):
    options = [*START, "--pressure", 2.0, "--sweeps", 1500]
    assert run(tmp_path / "apart", *options, "--edges-apart") == 0
    assert run(tmp_path / "together", *options) == 0
    for state in (tmp_path / "apart").glob("checkpoint*"):
        state.replace(tmp_path / "together" / state.name)
    assert run(tmp_path / "together", "--resume", "--sweeps", 4000) == 2
    assert "was written with edges that change apart" in capsys.readouterr().err
