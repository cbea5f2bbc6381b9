# SPDX-License-Identifier: BSD-3-Clause
"""`manymove vapor-liquid`: results, interruptions and bad options."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from commands import arguments, summary_of
from hard_commands import (
    assert_bad_options,
    assert_damage_is_refused,
    finished,
    stopped_after_systems,
)
from hard_commands import result_of_systems as result

from manymove import Estimate
from manymove.analysis import MultipleHistograms, VaporLiquid, vapor_liquid
from manymove.cli import run
from manymove.hard_particles import systems
from manymove.hard_particles import vapor_liquid as job

SMALL = (
    "--edge 4.6 --sweeps 800 --equilibrate 100 --temperatures 1.1,1.05 "
    "--scan-fugacities 0.01,0.03,0.045,0.05,0.056"
)
NAMES = ("fugacity", "pressure", "vapor_density", "liquid_density")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return finished("vapor-liquid", SMALL, tmp_path_factory.mktemp("vapor_liquid") / "whole")


def test_vapor_and_liquid(whole):
    """The pressures of large boxes are exp(3.5211 - 7.1939 / T), a fit in the program etomica to
    data of Singh, Kofke and Errington (J. Chem. Phys. 119, 3405, 2003). This small box has about
    12 % more. One jackknife in 16,000 is wrong by more than 7 errors."""
    summary, found = result(whole)
    assert summary["temperatures"] == [1.05, 1.1] and len(found) == 5 + 2 * 3
    for index, T in enumerate(summary["temperatures"]):
        of = {name: [summary[n][index] for n in (name, f"{name}_error")] for name in NAMES}
        published = math.exp(3.5211 - 7.1939 / T)
        value, error = of["pressure"]
        assert published - 7 * error < value < 1.2 * published + 7 * error and error < 0.1 * value
        assert 0.02 < of["vapor_density"][0] < 0.1 and 0.5 < of["liquid_density"][0] < 0.65
    assert summary["pressure"][0] < summary["pressure"][1]
    # The critical point of these data as etomica quotes it.
    for name, published in (("temperature", 1.2172), ("density", 0.3079)):
        value, error = (summary[f"critical_{name}{end}"] for end in ("", "_error"))
        assert abs(value - published) < 7 * error < 0.5 * published


def test_the_results_are_those_of_the_stored_records(whole):
    """The function of Python with the runs of the file, in units of the depth of the well."""
    summary, found = result(whole)
    runs = job._runs(found)
    assert [run.temperature for run in runs] == summary["runs"]["temperature"]
    assert all((run.numbers >= 0).all() and (run.energies <= 0).all() for run in runs)
    assert [float(run.numbers.mean()) for run in runs] == pytest.approx(summary["runs"]["N"])
    for index, row in enumerate(vapor_liquid(runs, 4.6**3, [1.05, 1.1])):
        estimates = row.fugacity, row.pressure, *row.densities
        for name, each in zip(NAMES, estimates, strict=True):
            assert [*each] == [summary[name][index], summary[f"{name}_error"][index]]
        # An empty box has the weight 1 in the partition function of the vapor. The number of
        # particles between the phases counts half there, which is rare.
        p = MultipleHistograms(runs, 4.6**3).distribution(row.fugacity.value, row.temperature)
        vapor = p[: round(p @ np.arange(len(p)))].sum()
        pressure = row.temperature * math.log(vapor / p[0]) / 4.6**3
        assert row.pressure.value == pytest.approx(pressure, rel=1e-3)
    # Runs below the scan are of one phase, on its side of coexistence.
    cold = {name: each["options"]["fugacity"] for name, each in found.items() if " 1.05" in name}
    assert cold["vapor 1.05"] < summary["fugacity"][0] < cold["liquid 1.05"]


def test_rungs_lead_to_cold_temperatures():
    """They are the same for other temperatures that are not lower."""
    for temperatures, count in (((1.0, 1.07), 4), ((1.01, 1.2), 4), ((1.2,), 0), ((0.9,), 6)):
        settings = job.VaporLiquidSettings(temperatures=temperatures)
        assert settings.rungs == count and settings.scan[0] == 1.2
        assert [settings.rung(k) for k in range(3)] == [1.15, 1.1, 1.05]


def test_further_temperatures_and_fugacities_are_added(whole, tmp_path):
    """The finished runs are kept, those of lower temperatures also if they are not needed."""
    folder = tmp_path / "more"
    folder.mkdir()
    for name in ("options.json", systems.FILE):
        (folder / name).write_bytes((whole / name).read_bytes())
    resumed = ["vapor-liquid", "--resume", "--quiet", "--output", str(folder)]
    more = ["--temperatures", "1.12,1.0", "--scan-fugacities", "0.01,0.02,0.03,0.045,0.05,0.056"]
    assert run([*resumed, *more]) == 0
    summary, found = result(folder)
    assert summary["temperatures"] == [1.0, 1.12]
    before = result(whole)[1]
    assert {name: found[name] for name in before} == before
    assert {*found} - {*before} == {"scan 0.02", "vapor 1.0", "liquid 1.0"}
    assert len({each["options"]["seed"] for each in found.values()}) == len(found)
    assert run([*resumed, "--temperatures", "1.05,1.1"]) == 0
    assert len(summary_of(folder)["runs"]["N"]) == len(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--scan-fugacities 0.01,0.03,0.045,0.05", "has the result of scan 0.056: give"),
        ("--scan-temperature 1.19", "has --scan-temperature 1.2, not 1.19"),
        ("--edge 5", "has --edge 4.6, not 5.0"),
    ],
)
def test_a_refused_resume_leaves_the_folder_as_it_is(options, message, whole, capsys):
    before = {path.name: path.read_bytes() for path in whole.iterdir() if path.suffix == ".json"}
    assert json.loads(before["options.json"])["scan_temperature"] == 1.2
    resumed = ["vapor-liquid", "--resume", "--quiet", "--output", str(whole)]
    assert run([*resumed, *options.split()]) == 2
    assert message in capsys.readouterr().err
    assert all((whole / name).read_bytes() == content for name, content in before.items())


def test_close_fugacities_are_different_systems(tmp_path):
    options = SMALL.replace("800", "100").replace("0.01,", "0.01,0.010000001,")
    run(arguments("vapor-liquid", options, tmp_path / "close"))
    found = json.loads((tmp_path / "close" / systems.FILE).read_text())
    assert {"scan 0.01", "scan 0.010000001"} < {*found}


def test_unknown_errors_have_a_warning(whole, monkeypatch, capsys):
    unknown = [Estimate(0.02, math.nan)] * 4
    row = VaporLiquid(1.05, unknown[0], unknown[1], (unknown[2], unknown[3]))
    monkeypatch.setattr(job, "vapor_liquid", lambda *_, **__: [row])
    assert run(["vapor-liquid", "--resume", "--output", str(whole)]) == 0
    summary = summary_of(whole)
    assert summary["pressure_error"] == [None] and summary["pressure"] == [0.02]
    assert "no errors at 1.05: without a tenth of the records" in summary["warnings"][-1]
    assert "0.02(?)" in capsys.readouterr().out
    monkeypatch.undo()
    assert run(["vapor-liquid", "--resume", "--quiet", "--output", str(whole)]) == 0


def test_a_stopped_run_is_resumed(whole, tmp_path, capsys):
    """Also if it is stopped between the temperatures."""
    folder = tmp_path / "stopped"
    resumed = ["vapor-liquid", "--resume", "--quiet", "--output", str(folder)]
    with stopped_after_systems(3, 8) as done:
        assert run(arguments("vapor-liquid", SMALL, folder)) == 130
        assert f"manymove vapor-liquid --resume --output {folder}" in capsys.readouterr().err
        assert run(resumed) == 130
    assert done == [*range(1, 9)] and not (folder / "summary.json").exists()
    assert run(resumed) == 0
    assert result(folder) == result(whole)


def test_the_table(whole, capsys):
    assert run(["vapor-liquid", "--resume", "--output", str(whole)]) == 0
    out = capsys.readouterr().out
    title, _, *rows = out[out.index("square well") :].splitlines()
    summary = summary_of(whole)
    assert title == "square well of range 1.5 d, box of edge 4.6 d"
    assert [float(line.split()[0]) for line in rows[:2]] == [1.05, 1.1]
    shown = Estimate(summary["pressure"][0], summary["pressure_error"][0])
    assert rows[0].split()[3] == str(shown)
    assert [line for line in rows if line.startswith("warning")] == [
        f"warning: {text}" for text in summary["warnings"]
    ]


BAD = [
    ("--temperatures 1.0,1.3", "--scan-temperature is 1.2; it must be at least 1.3"),
    ("--temperatures 0,1", "--temperatures is 0.0; it must be positive"),
    ("--temperatures 1,1", "a value occurs twice"),
    ("--scan-fugacities 0.1,-1", "--scan-fugacities is -1.0; it must be positive"),
    ("--range 1", "--range is 1.0; it must be more than a diameter"),
    ("--range 1.4", "give --scan-temperature and --scan-fugacities, because their defaults are"),
    ("--range 1.4 --scan-temperature 1", "give --scan-temperature and --scan-fugacities"),
    ("--range 0", "--range is 0.0; it must be positive"),
    ("--edge 4", "--edge is 4.0; it must be at least three times the range"),
    ("--sweeps 10", "--sweeps is 10; it must be at least 100"),
    ("--resume", "--resume: no run in"),
    ("--device cuda:77", "CUDA"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[options for options, _ in BAD])
def test_bad_options(options, message, tmp_path, capsys, monkeypatch):
    assert_bad_options(f"vapor-liquid {options}", message, tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--scan-fugacities 0.01,0.056", "--scan-fugacities have no states in common"),
        ("--scan-fugacities 0.05,0.056", "--scan-fugacities have no records without"),
    ],
)
def test_scans_with_gaps_are_refused(options, message, tmp_path, capsys):
    folder = tmp_path / "gap"
    given = f"{SMALL.partition(' --scan')[0].replace('800', '200')} {options}"
    assert run(arguments("vapor-liquid", given, folder)) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("content", ['{"a": 1}', '{"a": {"records": ["1 x"], "options": {}}}'])
def test_a_damaged_file_is_refused(content, whole, tmp_path, capsys):
    assert_damage_is_refused("vapor-liquid", content, whole, tmp_path, capsys)
