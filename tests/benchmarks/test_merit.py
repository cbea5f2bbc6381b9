"""The merit of the loading of other programs: `python -m benchmarks adsorption --merit`."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import graspa, kups, open_systems, raspa
from benchmarks.cli import run as bench
from benchmarks.series import Series
from manymove.adsorption import CO2, TRAPPE_ZEO, ForceField, Framework, read_framework

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

# Stands for a Python with kUPS: it writes the report of kups_run.py.
KUPS = """#!{python}
import json, pathlib, shutil, sys
option, program, system, report = sys.argv[1:]
assert option == "-P" and program.endswith("kups_run.py") and pathlib.Path(program).is_file()
shutil.copytree(pathlib.Path(system).parent, "{kept}", dirs_exist_ok=True)
given = json.loads(open(system).read())
systems = given["systems"]
numbers = [
    [4.0 + 2 * ((7 * k + 3 * j) % 11 > 5) + j % 2 for j in range(systems)] for k in range(110)
]
content = dict(numbers=numbers, seconds=given["seconds"], acceptance=0.25, device="gpu",
               version="1.0.8", jax="0.11.2", start_seconds=3.0, compile_seconds=40.0)
open(report, "w").write(json.dumps(content))
"""


@pytest.fixture
def python(tmp_path, monkeypatch):
    path = tmp_path / "python-with-kups"
    path.write_text(KUPS.format(python=sys.executable, kept=tmp_path / "kept"))
    path.chmod(0o755)
    monkeypatch.setenv(kups.PYTHON, str(path))
    return path


@pytest.fixture(autouse=True)
def no_other_program(monkeypatch):
    """A test has only the programs that it makes, whatever is installed."""
    monkeypatch.setattr(raspa, "module", lambda: None)
    monkeypatch.setattr(kups, "installed", lambda: False)
    monkeypatch.delenv(kups.PYTHON, raising=False)
    monkeypatch.delenv(graspa.PROGRAM, raising=False)


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "graspa"
    path.write_text(PROGRAM.format(python=sys.executable, kept=tmp_path / "kept"))
    path.chmod(0o755)
    monkeypatch.setenv(graspa.PROGRAM, str(path))
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
    (series,) = graspa.series(
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


def test_several_processes_have_the_merit_of_their_mean(program, tmp_path):
    path = tmp_path / "merit.json"
    options = ["--fugacity", "1", "--trial-positions", "4", "--merit", "0.3", "--json", str(path)]
    assert bench([*WORDS, *options, "--peers", "graspa", "--graspa-processes", "3"]) == 0
    ours, *peers = json.loads(path.read_text())["results"]
    for row in peers:
        assert row["variant"].endswith("x 10, 3 processes") and row["systems"] == 3
        # Each process has 1 ms for a cycle, and the same numbers of molecules.
        assert row["measured_seconds"] == pytest.approx(0.3)
        assert row["steps_per_second"] == pytest.approx(3 * 20 / 1e-3)
        alone = Series(np.array([4 + 2 * (k * 7 % 11 > 5) for k in range(300)], dtype=float),
                       np.full(300, 20.0), 0.3, 0.25)  # fmt: skip
        assert row["loadings_of_processes_molecules"] == pytest.approx([alone.loading.value] * 3)
        error = alone.loading.error / math.sqrt(3)
        assert row["loading_error_molecules"] == pytest.approx(error)
        assert row["figure_of_merit"] == pytest.approx(1 / (error**2 * 0.3))
        assert row["merit_ratio"] == pytest.approx(ours["figure_of_merit"] / row["figure_of_merit"])


@pytest.mark.filterwarnings("ignore:.*of the force field, not the:UserWarning")
def test_graspa_gets_the_charges_of_the_atoms():
    framework = replace(read_framework("LTA"), charges=np.linspace(-1, 1, 576))
    framework = replace(framework, charges=framework.charges[: len(framework.elements)])
    text = graspa.cif(framework, ForceField.read("UFF"))
    rows = [line.split() for line in text.splitlines() if len(line.split()) == 6]
    assert [float(row[5]) for row in rows] == pytest.approx(framework.charges, abs=1e-6)
    text = graspa.cif(framework, ForceField.read("UFF"), "zero")
    rows = [line.split() for line in text.splitlines() if len(line.split()) == 6]
    assert {row[5] for row in rows} == {"0.000000"}
    text = graspa.cif(framework, TRAPPE_ZEO)  # whose charges take precedence
    rows = [line.split() for line in text.splitlines() if len(line.split()) == 6]
    assert {row[5] for row in rows} == {"-0.750000", "1.500000"}


def test_the_programs_get_the_force_field_and_charges_of_the_command(program, python, tmp_path):
    options = ["--fugacity", "1", "--trial-positions", "4", "--merit", "0.3", "--force-field"]
    more = ["UFF", "--framework-charges", "zero", "--peers"]
    for peer in ("graspa", "kups"):
        assert bench([*WORDS, *options, *more, peer]) == 0
        text = (tmp_path / "kept/framework.cif").read_text()
        rows = [line.split() for line in text.splitlines() if len(line.split()) == 6]
        assert rows and {row[5] for row in rows} == {"0.000000"}
    rules = (tmp_path / "kept/force_field_mixing_rules.def").read_text().splitlines()
    epsilon, sigma = ForceField.read("UFF").law_of_atom("Si", "Si")
    assert f"Si lennard-jones {epsilon:.8f} {sigma:.8f}" in rules
    given = json.loads((tmp_path / "kept/system.json").read_text())
    assert given["laws"]["Si"] == pytest.approx([epsilon, sigma])


def test_raspa_is_refused_with_other_charges_than_those_of_the_force_field(monkeypatch, capsys):
    monkeypatch.setattr(raspa, "module", lambda: raspa)  # as if it were installed
    options = ["--fugacity", "1", "--merit", "0.3", "--peers", "raspa"]
    assert bench([*WORDS, *options, "--framework-charges", "zero"]) == 2
    assert "RASPA3 is run with the charges of the force field" in capsys.readouterr().err
    framework = read_framework("LTA")
    raspa.refuse_other_charges(framework, CO2, TRAPPE_ZEO, None)
    raspa.refuse_other_charges(framework, CO2, TRAPPE_ZEO, {"O": -0.75, "Si": 1.5})
    raspa.refuse_other_charges(framework, CO2, ForceField.read("UFF"), None)  # no charges at all
    charged = replace(framework, charges=np.tile([0.5, -0.5], len(framework.elements) // 2))
    with pytest.raises(ValueError, match="and the framework has others"):
        raspa.refuse_other_charges(charged, CO2, ForceField.read("UFF"), None)


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
        graspa.cif(skewed, TRAPPE_ZEO)


def test_kups_gets_the_system_of_our_engine(python, tmp_path):
    framework = read_framework("LTA")
    system = {
        "framework": framework, "molecule": CO2, "cells": (1, 1, 2), "temperature": 298.0,
        "fugacity": 1.5, "cutoff": 12.0, "molecules": 7, "room": 250, "exchange": 0.6,
        "reinsertion": 0.1, "systems": 24, "seconds": 2.0, "seed": 3,
    }  # fmt: skip
    force_field = replace(TRAPPE_ZEO, potential="truncated")
    batch = kups.batch(kups.python(), force_field=force_field, **system)
    assert batch.numbers.shape == (110, 24) and batch.steps == 250
    row = batch.row()
    assert row["variant"] == "kUPS 1.0.8, 24 systems" and row["systems"] == 24
    assert row["steps_per_second"] == 24 * 250 * 110 / 2.0
    assert row["loading_molecules"] == pytest.approx(4 + 2 * 5 / 11 + 0.5)
    merit = 1 / (row["loading_error_molecules"] ** 2 * 2.0)
    assert row["figure_of_merit"] == pytest.approx(merit)
    steps = row["steps_per_second"]
    assert row["merit_per_step"] == pytest.approx(merit / steps)
    assert (row["start_seconds"], row["compile_seconds"], row["device"]) == (3.0, 40.0, "gpu")
    given = json.loads((tmp_path / "kept/system.json").read_text())
    assert given["shares"] == pytest.approx(
        {"translation": 0.15, "rotation": 0.15, "reinsertion": 0.1, "exchange": 0.6}
    )
    assert given["fugacity"] == 1.5 and given["cells"] == [1, 1, 2] and given["room"] == 243
    assert given["laws"]["O_co2"] == [79.0, 3.05] and given["laws"]["O"] == [53.0, 3.3]
    assert [site["charge"] for site in given["sites"]] == [-0.35, 0.7, -0.35]
    atoms = (tmp_path / "kept/framework.cif").read_text().splitlines()
    labels = {row.split()[0] for row in atoms if len(row.split()) == 6}
    assert labels == {"Si", "O"}
    with pytest.raises(ValueError, match="truncated potential"):
        kups.batch(kups.python(), force_field=TRAPPE_ZEO, **system)


def test_the_error_of_systems_that_share_their_moves():
    """In a step all systems try an insertion, or all try a deletion. The mean over 128 runs of
    the squared error is the variance of their averages within 30 %, whose own relative error is
    12 %; independent systems would have a tenth of it."""
    random, runs, count, cycles, steps = np.random.default_rng(7), 128, 40, 60, 20
    n = np.full((runs, count), 20.0)
    numbers, accepted, tried = [], 0, 0
    for cycle in range(cycles + 20):
        for _ in range(steps):
            inserts = random.random((runs, 1)) < 0.5
            chance = np.where(inserts, 0.3 * (1.5 - n / 40), 0.3 * n / 20)
            moved = random.random(n.shape) < chance
            n += np.where(moved, np.where(inserts, 1.0, -1.0), 0.0)
            accepted, tried = accepted + moved.sum(), tried + moved.size
        if cycle >= 20:
            numbers.append(n.copy())
    series, a = np.array(numbers), accepted / tried  # (cycles, runs, count)
    batches = [kups.Batch(series[:, k], steps, 1.0, a, {}) for k in range(runs)]
    averages = np.array([batch.loading.value for batch in batches])
    squared = np.mean([batch.loading.error**2 for batch in batches])
    assert squared == pytest.approx(averages.var(ddof=1), rel=0.3)
    naive = series.mean(axis=0).var(axis=1, ddof=1).mean() / count
    assert squared > 8 * naive
    alone = kups.Batch(series[:, 0, :1], steps, 1.0, a, {})
    assert alone.loading == alone.series.loading


def test_a_drifting_run_of_kups_is_named():
    numbers = np.arange(40.0)[:, None] / 10 + np.linspace(0, 1, 20)
    about = {"version": "1.0.8", "device": "gpu"}
    warnings = kups.Batch(numbers, 200, 1.0, 0.01, about).row()["warnings"]
    assert warnings[0].startswith("not equilibrated: the loading of kUPS 1.0.8, 20 systems changes")


def test_kups_without_a_measurement_is_an_error(python, tmp_path, monkeypatch, capsys):
    python.write_text("#!/bin/sh\necho no such device >&2\nexit 1\n")
    options = ["--fugacity", "1", "--merit", "0.3", "--peers", "kups"]
    assert bench([*WORDS, *options]) != 0
    assert "kUPS printed no measurement" in (error := capsys.readouterr().err)
    assert "no such device" in error
    monkeypatch.setenv(kups.PYTHON, str(tmp_path / "absent"))
    with pytest.raises(ValueError, match="which is not a file"):
        kups.python()
    monkeypatch.delenv(kups.PYTHON)
    assert kups.python() is None
    monkeypatch.setattr(kups, "installed", lambda: True)
    assert kups.python() == sys.executable


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


def test_the_command_measures_both_programs(program, python, tmp_path):
    path = tmp_path / "merit.json"
    options = ["--fugacity", "1", "--trial-positions", "4", "--merit", "0.3", "--json", str(path)]
    more = ["--peers", "kups,graspa", "--kups-systems", "1,20", "--kups-seconds", "0.7"]
    assert bench([*WORDS, *options, *more]) == 0
    ours, *peers = json.loads(path.read_text())["results"]
    assert [row["variant"].partition(",")[0] for row in peers] == [
        "gRASPA 10 x 10", "gRASPA 64 x 10", "kUPS 1.0.8", "kUPS 1.0.8",
    ]  # fmt: skip
    assert [row["systems"] for row in peers[2:]] == [1, 20]
    for row in peers[2:]:
        assert row["measured_seconds"] == 0.7 and row["compile_seconds"] == 40.0
        assert row["merit_ratio"] == pytest.approx(ours["figure_of_merit"] / row["figure_of_merit"])
    capacity = ours["capacity"][0]
    given = json.loads((tmp_path / "kept/system.json").read_text())
    assert given["room"] == capacity - 2 and given["cutoff"] == 12.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--merit", "1"], "--merit needs --fugacity"),
        (["--merit", "0", "--fugacity", "1"], "--merit must be positive, got 0"),
        (["--merit", "1", "--fugacity", "1"], "needs another program. gRASPA: set MANYMOVE_GRASPA"),
        (["--merit", "1", "--fugacity", "1", "--peers", "kups"],
         "--peers: kUPS is not installed: install it with `pip install kups[cuda]`, or set "),
        (["--merit", "1", "--fugacity", "1", "--peers", "raspa2"], '--peers has "raspa2"'),
        (["--peers", "kups", "--fugacity", "1"], "--peers, --kups-systems, --kups-secon"),
        (["--graspa-processes", "3", "--fugacity", "1"], "--graspa-processes need --merit"),
        (["--merit", "1", "--fugacity", "1", "--graspa-processes", "0"], "must be at least 1, got"),
        (["--fugacity", "1", "--adsorbate", "methane", "--force-field", "UFF"], "--force-field is"),
        (["--adsorbate", "methane", "--framework-charges", "zero"], "--framework-charges is for m"),
        (["--raspa", "--force-field", "UFF"], "--raspa is run with the force field TraPPE-zeo"),
        (["--raspa", "--framework-charges", "zero"], "leave out --force-field and --framework-ch"),
        (["--merit", "1", "--fugacity", "1", "--kups-systems", "0"], "--kups-systems must be at"),
        (["--merit", "1", "--fugacity", "1", "--kups-seconds", "0"], "--kups-seconds must be posi"),
        (["--merit", "1", "--fugacity", "1", "--adsorbate", "methane"], "needs a rigid molecule"),
        (["--merit", "1", "--ranks", "1", "--adsorbate", "methane"], "--merit needs --fugacity"),
    ],
)  # fmt: skip
def test_bad_options_are_refused_by_name(options, message, capsys):
    assert bench([*WORDS, *options]) == 2
    assert message in capsys.readouterr().err
