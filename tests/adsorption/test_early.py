# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose target error is tested early (`--early`), with records that become longer."""

from __future__ import annotations

import json

import pytest
from commands import summary_of
from screenings import OF_ISOTHERM, write

from manymove import Adsorption, cli
from manymove.checkpoint import read_records

pytestmark = pytest.mark.filterwarnings("ignore:.*too few bonded neighbors:UserWarning")
POINT = "pressure_1"
RESULTS = ("state_hash", "steps", "loading_molecules", "test_molecules_loading", "energy_K",
           "relaxation_time", "warnings")  # fmt: skip


@pytest.fixture
def words(tmp_path):
    """Options of a run of 100 steps, of which none ends earlier."""
    framework = write(tmp_path / "cifs", "wide", 10.0)
    more = ["--target-error", "1e-9", "--isotherm", "1", "--early", "--framework", str(framework)]
    return ["adsorption", *OF_ISOTHERM, *more]


def found(output):
    """Number of comparisons, the records, and the results of the summary."""
    held = Adsorption.load(output / POINT / "checkpoint-0.state", device="cpu")
    records, _ = read_records(output / POINT / "checkpoint-0.records", columns=3)
    summary = json.loads((output / POINT / "summary.json").read_text())
    return held.comparisons, records.tolist(), [summary[name] for name in RESULTS]


@pytest.mark.parametrize("compared", [True, False])
def test_records_become_longer_and_an_interrupted_run_has_the_same(
    compared, words, tmp_path, monkeypatch
):
    """The records have one step up to step 40, two up to step 80, and then four."""
    assert cli.run([*words, "--output", str(tmp_path / "whole")]) == 0
    comparisons, records, summary = found(tmp_path / "whole")
    assert comparisons == 40 + 20 + 5
    assert [row[0] for row in records] == [*range(4, 101, 4)]
    compare = Adsorption._compare
    for stop in (20, 39, 40, 42, 80, 84):

        def interrupted(a, steps, tests, at=stop, **options):
            if not compared and a.samples + sum(steps) == at:
                a.core.run(sum(steps), True)
                raise KeyboardInterrupt
            seconds = compare(a, steps, tests, **options)
            if a.samples == at:
                raise KeyboardInterrupt
            return seconds

        output = tmp_path / f"cut {stop}"
        with monkeypatch.context() as patch:
            patch.setattr(Adsorption, "_compare", interrupted)
            assert cli.run([*words, "--output", str(output)]) == 130
        assert cli.run(["adsorption", "--resume", "--quiet", "--output", str(output)]) == 0
        assert repr(found(output)) == repr((comparisons, records, summary))  # some are NaN


def test_a_run_may_end_after_a_fiftieth_of_its_length(words, tmp_path):
    steps = []
    for early in (True, False):
        options = [word for word in words if early or word != "--early"]
        options[options.index("1e-9")] = "0.5"
        options += ["--steps", "2000", "--output", str(tmp_path / str(early))]
        assert cli.run(options) == 0
        (point,) = summary_of(tmp_path / str(early))["runs"]
        assert point["target_reached"]
        steps.append(point["steps"])
    assert 40 <= steps[0] < 200 <= steps[1]


def test_a_run_that_has_seen_no_molecule_does_not_end_early(words, tmp_path):
    words[words.index("1", words.index("1e-9"))] = "1e-9"  # the pressure
    words[words.index("1e-9")] = "0.02"
    assert cli.run([*words, "--steps", "1000", "--output", str(tmp_path)]) == 0
    (point,) = summary_of(tmp_path)["runs"]
    assert point["loading_molecules"] == [0] == point["loading_error_molecules"]
    assert point["test_molecules_loading"][0] > 0
    assert (point["steps"], point["target_reached"]) == (1000, False)
    assert any("target error not reached" in one for one in point["warnings"])


def test_pores_without_a_place_are_a_result(tmp_path, words):
    """All energies are zero, so that they have no relaxation time."""
    words[words.index("1e-9")] = "0.02"
    words += ["--framework", str(write(tmp_path / "cifs", "full", 3.0)), "--barrier", "none"]
    assert cli.run([*words, "--output", str(tmp_path / "out")]) == 0
    (point,) = summary_of(tmp_path / "out")["runs"]
    assert point["target_reached"] and point["steps"] < 100
    assert (point["loading_molecules"], point["test_molecules_loading"]) == ([0.0], [0.0])
    assert (point["equilibrated"], point["warnings"]) == (True, [])


def test_the_end_is_tested_also_in_a_run_that_is_resumed_there(words, tmp_path):
    """90 steps are no multiple of the last records of four steps."""
    found = []
    assert cli.run([*words, "--steps", "90", "--output", str(tmp_path)]) == 0
    for _ in range(2):
        (point,) = summary_of(tmp_path)["runs"]
        found.append((point["target_reached"], point["warnings"]))
        assert cli.run(["adsorption", "--resume", "--quiet", "--output", str(tmp_path)]) == 0
    assert found[0] == found[1]
    assert found[0][0] is False


def test_early_needs_a_target_error(words, capsys):
    while "--target-error" in words:
        at = words.index("--target-error")
        del words[at : at + 2]
    assert cli.run(words) == 2
    assert "--early needs --target-error" in capsys.readouterr().err
