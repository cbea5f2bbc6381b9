# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks disks` and `hoomd`: variants, tables, files, and mistakes."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.cli import run as bench


def test_times_every_variant(tmp_path, capsys):
    results = tmp_path / "bench.json"
    arguments = ["--sizes", "256", "--device", "cpu", "--threads", "1,2", "--seconds", "0.05"]
    assert bench(["disks", *arguments, "--equilibrate", "10", "--json", str(results)]) == 0
    report = json.loads(results.read_text())
    assert report.keys() >= {"date", "version", "commit", "cpu", "driver", "results"}
    ours = [row for row in report["results"] if row["device"] == "cpu"]
    assert [row["threads"] for row in ours[:2]] == [1, 2]
    for row in report["results"]:
        assert row["repeats"] == 3
        assert row["lowest"] <= row["trial_moves_per_second"] <= row["highest"]
        assert 0 < row["acceptance"] < 1
    assert "moves/s" in capsys.readouterr().out


def test_measures_the_decorrelation_when_asked(tmp_path):
    results = tmp_path / "bench.json"
    arguments = ["--sizes", "64", "--device", "cpu", "--seconds", "0.02", "--equilibrate", "10"]
    arguments += ["--decorrelation", "2000", "--json", str(results)]
    assert bench(["disks", *arguments]) == 0
    row = json.loads(results.read_text())["results"][0]
    assert row["decorrelation_sweeps"] > 0
    assert row["decorrelation_seconds"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--repeats", "2"], "--repeats is 2"),
        (["--seconds", "0"], "--seconds must be positive"),
        (["--sizes", "many"], "--sizes is 'many'"),
        (["--threads", "1,1"], "occurs twice"),
    ],
)
def test_refuses(capsys, arguments, message):
    assert bench(["disks", *arguments]) == 2
    assert message in capsys.readouterr().err


HOOMD = ["hoomd", "--sizes", "256", "--device", "cpu", "--threads", "1"]
HOOMD += ["--seconds", "0.02", "--equilibrate", "10"]


@pytest.mark.parametrize("options, nselect", [([], (8, 16, 32)), (["--spheres"], (4, 8, 16))])
def test_hoomd_times_what_is_installed(options, nselect, tmp_path, capsys):
    hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    results = tmp_path / "bench.json"
    assert bench([*HOOMD, *options, "--json", str(results)]) == 0
    report = json.loads(results.read_text())
    rows = report["results"]
    names = [row["variant"] for row in rows]
    expected = ["standalone, cpu, 1 thread"]
    if "component" not in report["absent"]:
        expected += [f"hoomd.manymove, {n} sweeps a step" for n in (16, 4)]
    expected.append("manymove.hoomd, 16 sweeps a step")
    if hoomd.version.hpmc_built:
        release = hoomd.version.version
        expected += [f"HPMC (HOOMD-blue {release}), nselect {n}, 1 rank" for n in nselect]
        assert 1 in [row["ratio_to_hpmc"] for row in rows[-3:]]  # at its best
    assert names == expected
    assert rows[0]["ratio_to_standalone"] == 1
    for row in rows:
        assert row["lowest"] <= row["trial_moves_per_second"] <= row["highest"]
        # The same particles; HPMC's moves have the same mean square.
        assert row["acceptance"] == pytest.approx(rows[0]["acceptance"], abs=0.05)
    printed = capsys.readouterr().out
    assert all(name in printed for name in names)
    assert printed.count("left out: ") == len(report["absent"])


def test_hoomd_leaves_out_what_is_not_installed(monkeypatch, tmp_path, capsys):
    pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    monkeypatch.setitem(sys.modules, "hoomd.manymove", None)
    monkeypatch.setitem(sys.modules, "hoomd.hpmc", None)
    results = tmp_path / "bench.json"
    assert bench([*HOOMD, "--json", str(results)]) == 0
    report = json.loads(results.read_text())
    assert [row["variant"].partition(",")[0] for row in report["results"]] == [
        "standalone",
        "manymove.hoomd",
    ]
    assert report["absent"].keys() == {"component", "hpmc"}
    printed = capsys.readouterr().out
    assert "left out: hoomd.manymove is not installed (see hoomd_ext/README.md)\n" in printed
    assert "left out: this HOOMD-blue has no hpmc\n" in printed


def test_hoomd_measures_the_decorrelation_when_asked(tmp_path):
    pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
    results = tmp_path / "bench.json"
    arguments = [*HOOMD, "--sizes", "64", "--decorrelation", "2000"]
    assert bench([*arguments, "--json", str(results)]) == 0
    rows = json.loads(results.read_text())["results"]
    assert rows[0]["decorrelation_seconds"] > 0
    hpmc = [row for row in rows if row["variant"].startswith("HPMC")]
    assert sum("decorrelation_seconds" in row for row in hpmc) == bool(hpmc)


def test_hoomd_that_is_not_installed_is_told(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hoomd", None)
    assert bench(HOOMD) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "the benchmark hoomd needs HOOMD-blue, which is not installed here" in printed.err


def test_hoomd_refuses(capsys):
    assert bench([*HOOMD, "--repeats", "2"]) == 2
    assert "--repeats is 2" in capsys.readouterr().err
