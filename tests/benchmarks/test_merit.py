"""The merit of the loading of other programs: `python -m benchmarks adsorption --merit`."""

from __future__ import annotations

import json
import math
import sys

import numpy as np
import pytest

from benchmarks import graspa, open_systems, raspa
from benchmarks.cli import run as bench
from benchmarks.series import Series
from manymove.adsorption import CO2, TRAPPE_ZEO, Framework, read_framework

# Prints what gRASPA prints, for numbers of molecules that alternate between 4 and 6.
PROGRAM = """#!{python}
import pathlib, shutil
words = dict(line.split(maxsplit=1) for line in open("simulation.input"))
shutil.copytree(".", "{kept}", dirs_exist_ok=True)
first, cycles = (int(words[f"NumberOf{{kind}}Cycles"]) for kind in ("Initialization", "Production"))
folder = pathlib.Path("Output")
folder.mkdir()
with open(folder / "System_0.data", "w") as file:
    for name, count in (("INITIALIZATION", first), ("PRODUCTION", cycles)):
        for k in range(count):
            n = 4 + 2 * (k * 7 % 11 > 5)
            print(f"{{name}} Cycle: {{k}}, {{n}} Adsorbate Molecules, Total Energy: 1.0", file=file)
        print(f"Insertion Performed:   {{8 * count}}", file=file)
        print(f"Insertion Accepted:    {{count}}", file=file)
        print(f"Deletion Performed:    {{8 * count}}", file=file)
        print(f"Deletion Accepted:     {{3 * count}}", file=file)
    print("Work took", 0.001 * (first + cycles), "seconds", file=file)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "graspa"
    path.write_text(PROGRAM.format(python=sys.executable, kept=tmp_path / "kept"))
    path.chmod(0o755)
    monkeypatch.setenv(graspa.PROGRAM, str(path))
    monkeypatch.setattr(raspa, "module", lambda: None)
    return path


def test_the_error_of_a_series_is_that_of_its_autocorrelation_time():
    """An autoregressive series has tau = 1 / (1 - a) - 1 / 2 (in values); with this seed the
    estimate is within 10 % of it. The relative error of such an estimate is about 4 %."""
    random, a, n = np.random.default_rng(5), 0.9, 40000
    values = np.empty(n)
    values[0] = 0.0
    for k, kick in enumerate(random.normal(size=n - 1)):
        values[k + 1] = a * values[k] + kick
    series = Series(50 + values, np.full(n, 20.0), 4.0, 0.2)
    error = math.sqrt((1 + a) / (1 - a) / (1 - a**2) / n)
    assert series.loading.error == pytest.approx(error, rel=0.1)
    assert abs(series.loading.value - 50) < 5 * error
    row = series.row("peer", "cpu")
    assert row["figure_of_merit"] == pytest.approx(1 / (4.0 * series.loading.error**2))
    assert row["steps_per_second"] == 20 * n / 4.0
    assert row["merit_per_step"] == pytest.approx(row["figure_of_merit"] / row["steps_per_second"])
    assert not row["warnings"]
    short = Series(series.numbers[:100], series.steps[:100], 1.0, 0.2).row("p", "cpu")
    assert short["warnings"][0].startswith("short: the run of p has")


def test_cycles_weigh_as_many_steps_as_they_have():
    numbers = np.array([30.0, 20.0] * 10)
    series = Series(numbers, np.maximum(20, numbers), 1.0, math.nan)
    assert series.loading.value == pytest.approx((30 * 30 + 20 * 20) / 50)


def test_a_run_that_exchanges_nothing_has_no_merit(program, tmp_path, capsys):
    row = Series(np.full(30, 4.0), np.full(30, 20.0), 1.0, 0.0).row("p", "cpu")
    assert row["loading_molecules"] == 4 and math.isnan(row["figure_of_merit"])
    assert row["warnings"] == [
        "no merit: the run of p has no error of its loading: the series is constant"
    ]
    program.write_text(program.read_text().replace("4 + 2 * (k * 7 % 11 > 5)", "4"))
    path = tmp_path / "merit.json"
    options = ["--fugacity", "1", "--trial-positions", "4", "--merit", "0.3", "--json", str(path)]
    assert bench([*WORDS, *options]) == 0
    assert "warning: no merit: the run of gRASPA 10 x 10" in capsys.readouterr().out
    assert [row["variant"] for row in json.loads(path.read_text())["results"][1:]] == [
        "gRASPA 10 x 10",
        "gRASPA 64 x 10",
    ]


def test_the_best_merit_is_that_of_a_row_that_has_one(monkeypatch, program, tmp_path):
    results = open_systems.Timed.result
    rows = []

    def result(timed):
        rows.append(results(timed))
        if len(rows) == 1:
            rows[0]["figure_of_merit"] = math.nan
        return rows[-1]

    monkeypatch.setattr(open_systems.Timed, "result", result)
    path = tmp_path / "merit.json"
    options = ["--fugacity", "1", "--trial-positions", "2,4", "--merit", "0.1"]
    assert bench([*WORDS, *options, "--json", str(path)]) == 0
    peer = json.loads(path.read_text())["results"][2]
    assert peer["merit_ratio"] == pytest.approx(
        rows[1]["figure_of_merit"] / peer["figure_of_merit"]
    )


def test_graspa_gets_the_system_of_our_engine(program, tmp_path):
    framework = read_framework("LTA")
    series = graspa.series(
        graspa.program(), framework=framework, molecule=CO2, force_field=TRAPPE_ZEO,
        cells=(1, 1, 2), temperature=298.0, fugacity=1.5, cutoff=12.0, molecules=7, exchange=0.6,
        reinsertion=0.1, trials=(10, 5), seconds=0.5, seed=3,
    )  # fmt: skip
    assert series.acceptance == pytest.approx(0.25)
    cycles = len(series.numbers)
    assert cycles == 500 and series.seconds == pytest.approx(0.5)  # 1 ms for each cycle
    assert series.loading.value == pytest.approx(4 + 2 * 5 / 11, rel=0.01)
    folder = tmp_path / "kept"
    words = dict(line.split(maxsplit=1) for line in (folder / "simulation.input").open())
    assert words["Pressure"].strip() == "150000.0" and words["UnitCells"].split() == list("0112")
    shares = [float(words[f"{kind}Probability"])
              for kind in ("Translation", "Rotation", "Reinsertion", "Swap")]  # fmt: skip
    assert shares == pytest.approx([0.15, 0.15, 0.1, 0.6])
    assert words["NumberOfTrialOrientations"].strip() == "5"
    atoms = [line.split() for line in (folder / "framework.cif").read_text().splitlines()]
    atoms = [row for row in atoms if len(row) == 6]
    assert len(atoms) == len(framework.elements)
    assert sum(float(row[5]) for row in atoms) == pytest.approx(0, abs=1e-9)
    definition = (folder / "guest.def").read_text()
    assert "1 C_co2 0.0000000000 0.0000000000 0.0000000000" in definition
    rules = (folder / "force_field_mixing_rules.def").read_text()
    assert "O_co2 lennard-jones 79.00000000 3.05000000" in rules
    assert "C_co2 yes C C 0 14.0 0.70000000 0.0" in (folder / "pseudo_atoms.def").read_text()


def test_a_program_without_a_measurement_is_an_error(tmp_path, monkeypatch):
    with pytest.raises(RuntimeError, match=r"printed no measurement(.|\n)*no such device"):
        graspa.read_output("", 0, "no such device")
    monkeypatch.setenv(graspa.PROGRAM, str(tmp_path / "absent"))
    with pytest.raises(ValueError, match="which is not a file"):
        graspa.program()
    monkeypatch.delenv(graspa.PROGRAM)
    assert graspa.program() is None
    skewed = Framework("skewed", (9.0, 9.0, 9.0), np.zeros((1, 3)), ("Si",), 28.0,
                       tilt=(1.0, 0.0, 0.0))  # fmt: skip
    with pytest.raises(ValueError, match="right angles"):
        graspa._cif(skewed, TRAPPE_ZEO)


WORDS = ["adsorption", "--framework", "LTA", "--adsorbate", "CO2", "--methods", "plj",
         "--systems", "40", "--molecules", "2", "--grid-spacing", "0.6", "--device", "cpu",
         "--threads", "2", "--equilibrate", "20", "--seconds", "0.02"]  # fmt: skip


def test_the_command_compares_the_merits(program, tmp_path, capsys):
    path = tmp_path / "merit.json"
    options = ["--fugacity", "1", "--trial-positions", "4", "--merit", "0.3", "--json", str(path)]
    assert bench([*WORDS, *options]) == 0
    content = json.loads(path.read_text())
    assert content["potential"] == "truncated" and content["merit"] == 0.3
    ours, *peers = content["results"]
    assert [row["variant"] for row in peers] == ["gRASPA 10 x 10", "gRASPA 64 x 10"]
    printed = capsys.readouterr().out
    for row in peers:
        assert row["merit_ratio"] == pytest.approx(ours["figure_of_merit"] / row["figure_of_merit"])
        assert f"1 / {row['merit_ratio']:.3g} of ours" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--merit", "1"], "--merit needs --fugacity"),
        (["--merit", "0", "--fugacity", "1"], "--merit must be positive, got 0"),
        (["--merit", "1", "--fugacity", "1"], "--merit needs raspalib, or gRASPA's path"),
        (["--merit", "1", "--fugacity", "1", "--adsorbate", "methane"], "needs a rigid molecule"),
        (["--merit", "1", "--ranks", "1", "--adsorbate", "methane"], "--merit needs --fugacity"),
    ],
)  # fmt: skip
def test_bad_options_are_refused_by_name(options, message, monkeypatch, capsys):
    monkeypatch.setattr(raspa, "module", lambda: None)
    monkeypatch.delenv(graspa.PROGRAM, raising=False)
    assert bench([*WORDS, *options]) == 2
    assert message in capsys.readouterr().err
