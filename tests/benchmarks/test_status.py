# SPDX-License-Identifier: BSD-3-Clause
"""Tables and pictures of benchmarks show warnings as tables of runs do."""

from __future__ import annotations

import json
import re

import bench_all_parts
import numpy as np
import pytest
from documents import ROOT
from lammps_host import needs_lammps

from benchmarks import adsorption, dpd, scaling, suite
from benchmarks.cli import run as bench
from manymove.bench import harness, status

ADSORPTION = (
    "adsorption --framework LTA --molecules 4 --methods pmc --systems 8 --grid-spacing 0.5 "
    "--threads 1 --equilibrate 50 --no-raspa"
)
BENCHMARKS = [
    "disks --sizes 64 --threads 1 --equilibrate 2",
    "electrolyte --sizes 64 --threads 1 --equilibrate 2 --precision mixed",
    ADSORPTION,
    pytest.param(
        "dpd --sizes 800 --equilibrate 600 --ranks 1 --precision mixed", marks=needs_lammps
    ),
    "scaling --algorithms electrolyte --weak --sizes 64 --ranks 1",
]


def measured(words, tmp_path):
    file = tmp_path / "speed.json"
    options = f"--device cpu --json {file}"
    assert bench([*words.split(), *options.split()]) == 0
    return json.loads(file.read_text())["results"]


@pytest.mark.parametrize("words", BENCHMARKS)
def test_a_timing_that_is_too_short_says_so(words, tmp_path, capfd):
    rows = measured(f"{words} --seconds 0.001", tmp_path)
    printed = capfd.readouterr().out
    for row in rows:
        assert "timing too short" in status.status(row)
        assert any("raise --seconds" in text for text in row["warnings"])
    table, _, below = printed.partition("warning: ")
    assert "status" in table and table.count("timing too short") >= len(rows)
    assert "0.2 s are needed: raise --seconds" in below


def test_a_timing_that_is_long_enough_is_ok(tmp_path, capfd):
    rows = measured(f"{BENCHMARKS[0]} --seconds 1.2", tmp_path)
    assert [row["warnings"] for row in rows if "threads" in row] == [[]]
    assert " ok" in capfd.readouterr().out


def test_a_decorrelation_time_of_a_short_run_says_so(tmp_path, capfd):
    words = "disks --sizes 1024 --threads 1 --equilibrate 200 --seconds 0.4 --decorrelation 300"
    row = measured(words, tmp_path)[0]
    assert status.status(row) == "not equilibrated"
    assert "relaxation times of psi_6" in row["warnings"][0]
    assert "raise --decorrelation" in capfd.readouterr().out


def test_energies_that_drift_are_told():
    class Engine:
        method, systems, samples = "pmc", 16, 0

        @property
        def snapshot(self):
            return None, None, {"sums": np.concatenate((self.sums, np.zeros(16)))}

    random = np.random.default_rng(1)
    for slope, drifts in ((0.0, False), (-1.0, True)):
        engine = Engine()
        engine.sums = np.zeros(16)
        timed = adsorption.Timed(engine, harness.Variant("", lambda n: (n, n), {}), 0.0)
        for look in range(4):
            engine.samples += 100
            engine.sums = engine.sums + 100 * (slope * look + 0.1 * random.normal(size=16))
            timed.look()
        assert bool(timed._drift()) == drifts
        assert all("the energy of pmc changes by -2.0" in text for text in timed._drift())


def test_a_hot_fluid_is_told():
    assert dpd._hot(1.05) == []
    assert "the temperature is 1.2 instead of 1" in dpd._hot(1.2)[0]


@pytest.fixture
def hollow(monkeypatch):
    """The points that are drawn hollow: pairs of x and y."""
    axes = pytest.importorskip("matplotlib.axes")
    drawn = []
    plot = axes.Axes.plot

    def recorded(self, *args, **options):
        if options.get("mfc") == "white":
            drawn.extend(zip(*args[:2], strict=True))
        return plot(self, *args, **options)

    monkeypatch.setattr(axes.Axes, "plot", recorded)
    return drawn


SHORT = status.of_timing(0.01)


def test_speeds_that_are_not_reliable_are_hollow(hollow, tmp_path):
    rows = [dict(row) for row in bench_all_parts.ROWS[10]]
    rows[1]["warnings"] = SHORT
    summary = suite.summarize(bench_all_parts.PARTS["disks"], rows)
    assert status.status(summary[0]) == "timing too short"
    suite.plot(tmp_path / "all.png", summary)
    assert hollow == [(10, 90.0)]


def test_speeds_of_dpd_that_are_not_reliable_are_hollow(hollow, tmp_path):
    rows = [
        {"variant": "ours", "density": 3.0, "cutoff": 1.0, "particles": n, "warnings": warnings,
         "million_particle_steps_per_second": 2.0 * n}
        for n, warnings in ((100, []), (200, SHORT))
    ]  # fmt: skip
    dpd.plot(tmp_path / "dpd.png", rows)
    assert hollow == [(200, 400.0)]


def test_efficiencies_that_are_not_reliable_are_hollow(hollow, tmp_path, capsys):
    about = {"algorithm": "dpd", "scaling": "weak", "curve": "a", "unit": "MPS"}
    rows = [
        {**about, "ranks": n, "size": n, "rate": 10.0 * n, "lowest": 9.0 * n, "highest": 11.0 * n,
         "efficiency": 1.0, "warnings": warnings}
        for n, warnings in ((1, []), (2, SHORT))
    ]  # fmt: skip
    old = {k: v for k, v in rows[0].items() if k != "warnings"} | {"ranks": 4}
    file = tmp_path / "scaling.json"
    file.write_text(json.dumps({"results": [*rows, old]}))
    scaling.read([file], tmp_path / "scaling.png")
    assert hollow == [(2, 20.0), (2, 1.0)]
    printed = capsys.readouterr().out
    for word in (" ok ", "timing too short", "not recorded", "raise --seconds"):
        assert word in printed


def test_the_picture_of_scaling_is_not_replaced(tmp_path, capsys):
    (tmp_path / "scaling.json").write_text('{"results": []}')
    (tmp_path / "old.png").write_text("old")
    words = f"--read {tmp_path}/scaling.json --plot {tmp_path}/old.png"
    assert bench(["scaling", *words.split()]) == 2
    assert "old.png holds results: remove it, or choose another name" in capsys.readouterr().err
    assert (tmp_path / "old.png").read_text() == "old"


# ---- speeds of methods with several proposals --------------------------------------------------


def test_the_fastest_is_not_the_one_with_the_most_proposals():
    """A step of mdp tries 63 states: mdp has more trial states per second, but fewer steps."""
    rows = [
        {"molecules": 32, "method": method, "device": "cpu", "precision": "mixed",
         "steps_per_second": steps, "trial_states_per_second": states, "lowest": states,
         "highest": states, "warnings": []}
        for method, steps, states in (("pmc", 10.0, 10.0), ("mdp", 1.0, 63.0), ("RASPA3", 2.0, 2.0))
    ]  # fmt: skip
    (entry,) = suite.summarize(suite.PARTS["adsorption"], rows)
    assert entry["ours"]["rate"] == 10 and entry["ratio"] == 5 and entry["unit"] == "steps/s"


def test_adsorbates_are_counted_in_steps(tmp_path, capsys):
    words = ADSORPTION.replace("pmc", "metropolis,mdp") + " --proposals 32 --seconds 0.01"
    serial, mdp = measured(words, tmp_path)
    ratio = mdp["trial_states_per_second"] / 31 / serial["trial_states_per_second"]
    assert mdp["ratio_to_serial"] == pytest.approx(ratio)
    assert f"{mdp['steps_per_second']:>9.3g}" in capsys.readouterr().out
    assert scaling.ALGORITHMS["adsorption"].unit == "steps/s"


def test_scaling_of_adsorbates_is_counted_in_steps(monkeypatch):
    row = {"systems": 5, "proposals": 64, "trial_states_per_second": 630.0, "lowest": 63.0,
           "highest": 6300.0}  # fmt: skip
    plan = scaling.Plan([1], False, [], "auto", 3, 0.1, 1, 0.0)
    monkeypatch.setattr(scaling.Plan, "run", lambda *_: [row])
    (found,) = scaling.ALGORITHMS["adsorption"].run(plan, True, 5)
    assert [found[key] for key in ("rate", "lowest", "highest")] == [10.0, 1.0, 100.0]


def test_no_page_counts_the_states_of_several_proposals():
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md"), ROOT / "README.md"]
    if not (ROOT / "docs").is_dir():
        pytest.skip("there is no documentation beside the tests")
    wrong = re.compile(r"states/s\b|states per second|states a second", re.IGNORECASE)
    assert [str(page) for page in pages if wrong.search(page.read_text())] == []
