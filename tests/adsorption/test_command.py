"""`manymove adsorption`: files, resuming, one line per mistake."""

from __future__ import annotations

import csv
import gc
import json
import re
import signal
import time

import numpy as np
import pytest
from adsorption_model import agrees
from commands import COMMAND, interrupted_after, summary_of
from documents import ROOT
from processes import run, start, until

from manymove import Adsorption, EnergyGrid, Interactions, cli
from manymove.adsorption.adsorbates import METHANE
from manymove.adsorption.molecule_files import read_species
from manymove.adsorption.occupancy import filling_systems, systems_of_multiprocessor
from manymove.analysis.notation import with_error
from manymove.jobs import folder_lock

SMALL = [
    "--framework", "LTA", "--molecules", "4", "--systems", "20", "--steps", "300",
    "--equilibrate", "300", "--interpolation", "cubic", "--grid-spacing", "0.6",
    "--device", "cpu", "--threads", "2", "--quiet",
]  # fmt: skip
KEYS = {
    "energy_K", "energy_error_K", "energy_mc_K", "b_star", "acceptance", "steps_per_second",
    "trial_states_per_second", "method", "device", "seed", "state_hash", "version",
}  # fmt: skip


def adsorption(*arguments) -> int:
    return cli.run(["adsorption", *map(str, arguments)])


@pytest.mark.pictures
def test_run_leaves_its_files(tmp_path):
    assert adsorption(*SMALL, "--method", "mdp-dj", "--profile", "z", "--output", tmp_path) == 0
    s = summary_of(tmp_path)
    assert s.keys() >= KEYS
    assert (s["steps"], s["equilibration_steps"], s["systems"]) == (300, 300, 20)
    assert s["complete"] is True and s["b_star"] > 0 and s["molecules_on_hills"] == 0
    records = np.loadtxt(tmp_path / "energy.csv", delimiter=",", skiprows=1)
    assert records[-1, 0] == 300
    assert records[:, 1].mean() == pytest.approx(s["energy_mc_K"], rel=1e-6)
    profile = np.loadtxt(tmp_path / "profile.csv", delimiter=",", skiprows=1)
    assert profile.shape == (100, 5) and profile[:, 1].sum() == pytest.approx(1)
    assert records[:, 2].mean() == pytest.approx(s["energy_wrmc_K"], rel=1e-6)
    for picture in ("energy.png", "profile.png"):
        assert (tmp_path / picture).stat().st_size > 5000


def test_it_stops_within_a_second_while_it_fills_the_grid(tmp_path):
    words = ["--framework", "MFI", "--molecules", "4", "--systems", "20", "--steps", "100"]
    words += ["--cutoff", "20", "--grid-spacing", "0.06", "--threads", "1", "--device", "cpu"]
    job = start([*COMMAND, "adsorption", *words, "--output", str(tmp_path)])
    until((tmp_path / folder_lock.LOCK_FILE).exists, job)
    time.sleep(1)
    assert job.poll() is None
    began = time.monotonic()
    job.send_signal(signal.SIGTERM)
    job.communicate()
    assert time.monotonic() - began < 10  # the grid takes a minute, and this machine may be busy
    assert job.returncode == 130 and not (tmp_path / "summary.json").exists()


def test_one_proposal_leaves_no_waste(tmp_path):
    assert adsorption(*SMALL, "--method", "pmc", "--output", tmp_path) == 0
    records = np.loadtxt(tmp_path / "energy.csv", delimiter=",", skiprows=1)
    assert np.isfinite(records[:, 1]).all() and np.isnan(records[:, 2]).all()
    assert "energy_wrmc_K" not in summary_of(tmp_path)


@pytest.mark.pictures
def test_isotherm_has_a_row_for_each_pressure(tmp_path, capsys):
    arguments = [word for word in SMALL if word != "--quiet"]
    assert adsorption(*arguments, "--method", "plj", "--isotherm", "0.5,5", "--steps", 4000,
                      "--molecules", 0, "--output", tmp_path) == 0  # fmt: skip
    s = summary_of(tmp_path)
    (low,), (high,) = s["loading_mol_per_kg"]
    assert 0 < low < high
    assert s["runs"][1]["fugacity_bar"][0] == pytest.approx(5 * 0.99, rel=0.005)
    assert "loading (mol/kg)" in capsys.readouterr().out
    assert (tmp_path / "isotherm.png").exists() and (tmp_path / "pressure_5").is_dir()


def test_adsorbates_come_from_a_file(tmp_path):
    path = tmp_path / "species.json"
    laws = {"O": [100.0, 3.3], "Si": None}
    path.write_text(json.dumps([{"name": n, "epsilon": 120, "sigma": 3.4, "framework": laws}
                                for n in ("one", "two")]))  # fmt: skip
    assert adsorption(*SMALL, "--molecules", "2,1", "--adsorbates", path, "--output", tmp_path) == 0
    s = summary_of(tmp_path)
    assert s["adsorbates"] == ["one", "two"] and s["molecules"] == [2, 1]


def test_ranks_share_the_systems(mpiexec, tmp_path):
    words = ["adsorption", *SMALL, "--steps", 1000, "--output", tmp_path / "two"]
    done = run([*mpiexec, *COMMAND, *words], timeout=120)
    assert done.returncode == 0, done.stderr
    assert adsorption(*SMALL, "--steps", 1000, "--output", tmp_path / "one") == 0
    two, one = summary_of(tmp_path / "two"), summary_of(tmp_path / "one")
    assert two["ranks"] == 2 and two["trial_states"] == one["trial_states"]
    assert agrees(two["energy_K"], two["energy_error_K"], one["energy_K"], one["energy_error_K"])


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("options", [[], ["--isotherm", "1,20"]])
def test_a_part_of_the_ranks_without_a_checkpoint_starts_again(lost, options, mpiexec, tmp_path):
    """As after a kill before the first checkpoint of a rank, on fewer ranks than before."""
    words = [*(OPEN if options else SMALL), *options, "--steps", 300, "--equilibrate", 100]
    done = run([*mpiexec, *COMMAND, "adsorption", *words, "--output", tmp_path], timeout=120)
    assert done.returncode == 0, done.stderr
    whole = summary_of(tmp_path)
    folder = tmp_path / "pressure_20" if options else tmp_path
    for path in [*folder.glob(f"checkpoint-{lost}.*"), folder / "summary.json"]:
        path.unlink()
    assert adsorption(*words, "--output", tmp_path, "--resume") == 0
    for a, b in zip(*(s.get("runs", [s]) for s in (whole, summary_of(tmp_path))), strict=True):
        assert a["state_hash"] == b["state_hash"]
        assert a["trial_states"] == b["trial_states"]


def test_resume_refuses_other_settings(tmp_path, capsys):
    laws = {"epsilon": 148.0, "sigma": 3.73, "framework": {"O": [115.0, 3.47], "Si": None}}
    strong = {"O": [120.0, 3.47], "Si": None}
    other, harder, stickier = (tmp_path / f"{n}.json" for n in ("other", "harder", "stickier"))
    other.write_text(json.dumps({"name": "argon", **laws}))
    harder.write_text(json.dumps({"name": "CH4", **laws, "epsilon": 150.0}))
    stickier.write_text(json.dumps({"name": "CH4", **laws, "framework": strong}))
    assert adsorption(*SMALL, "--output", tmp_path) == 0
    for option, value, message in (
        ("--seed", "5", "--seed 1, not 5"),
        ("--steps", "100", "--steps is 100, but the run in "),
        ("--temperature", "350", "--temperature 300.0, not 350.0"),
        ("--molecules", "5", "--molecules 4, not 5"),
        ("--proposals", "128", "--proposals 64, not 128"),
        ("--profile", "z", "--profile None, not z"),
        ("--isotherm", "1", "has no --isotherm, which needs a new run"),
        ("--interpolation", "linear", "--interpolation cubic, not linear"),
        ("--precision", "double", "--precision mixed, not double"),
        ("--cells", "3,3,3", "--cells [1, 1, 1], not [3, 3, 3]"),
        ("--cutoff", "10", "--cutoff 12.0, not 10.0"),
        ("--grid-spacing", "0.5", ", not 0.5"),
        ("--barrier", "none", "--barrier auto, not none"),
        ("--barrier", "5000", "--barrier auto, not 5000"),
        ("--max-displacement", "0.5", "--max-displacement 0.65, not 0.5"),
        ("--equilibrate", "400", "--equilibrate 300, not 400"),
        ("--adsorbates", other, "--adsorbates ['CH4'], not ['argon']"),
        ("--adsorbates", harder, "--adsorbates (epsilon, sigma) [[148.0, 3.73], "),
        ("--adsorbates", stickier, "(epsilon, sigma) [[148.0, 3.73], [115.0, 3.47], "),
    ):
        assert adsorption(*SMALL, "--output", tmp_path, "--resume", option, value) == 2
        assert message in capsys.readouterr().err


def test_number_of_systems_that_fill_a_device(tmp_path):
    assert filling_systems("metropolis", 32, "cpu") == 16
    assert filling_systems("mdp", 32, "cpu", threads=2) == 128
    h100 = (9, 0)
    assert systems_of_multiprocessor("mdp", 128, "mixed", h100) == 32
    assert [systems_of_multiprocessor("pmc", n, "mixed", h100) for n in (32, 64, 128, 149)] == [
        512, 288, 128, 128,
    ]  # fmt: skip
    assert systems_of_multiprocessor("pmc", 200, "mixed", h100) == 512
    with pytest.raises(ValueError, match="method must be"):
        filling_systems("mcmc", 32)
    with pytest.raises(ValueError, match="positive"):
        filling_systems("pmc", 0)
    assert adsorption(*SMALL, "--systems", "auto", "--output", tmp_path) == 0
    assert summary_of(tmp_path)["systems"] == 128


# ---- isotherms -----------------------------------------------------------------------------------

OPEN = [word for word in SMALL if word not in ("--molecules", "4")]
DENSE = [*OPEN, "--steps", "1500", "--equilibrate", "300", "--isotherm"]


def isotherm_rows(folder) -> list[dict[str, str]]:
    with open(folder / "isotherm.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_isotherm_implies_its_method_and_refuses_others(tmp_path, capsys):
    assert adsorption(*DENSE, "1", "--steps", 10, "--output", tmp_path) == 0
    (run,) = summary_of(tmp_path)["runs"]
    assert run["method"] == "plj" and run["molecules"] == [0]
    for words, message in (
        (["--method", "mdp"], "--method is mdp; --isotherm needs insertions"),
        (["--capacity", "1,2"], "capacity needs one number for each of 1 adsorbates"),
    ):
        assert adsorption(*DENSE, "1", *words, "--output", tmp_path / "other") == 2
        assert message in capsys.readouterr().err
    assert adsorption(*SMALL, "--capacity", "9", "--output", tmp_path / "closed") == 2
    assert "--capacity is for --isotherm" in capsys.readouterr().err


def test_points_of_an_isotherm_go_on_from_each_other(tmp_path):
    """The second point begins with the final molecules of the first one, also without equilibration
    steps."""
    assert adsorption(*DENSE, "20,21", "--equilibrate", 0, "--output", tmp_path) == 0
    first, second = (
        np.loadtxt(tmp_path / f"pressure_{p}/energy.csv", delimiter=",", skiprows=1)[:, 1]
        for p in (20, 21)
    )
    assert abs(first[0]) < 0.1 * abs(first[-1])
    assert second[0] == pytest.approx(first[-1], rel=0.05)
    runs = summary_of(tmp_path)["runs"]
    assert [r["equilibration_steps"] for r in runs] == [0, 0]
    assert all(0 < r["acceptance"] < 1 and r["trial_states"] < 20 * 1500 for r in runs)


def test_an_isotherm_says_whether_it_is_equilibrated(tmp_path, capsys):
    """A dense point without equilibration steps is not; with them both sides agree."""
    words = [word for word in DENSE if word != "--quiet"]
    words[-1:] = ["--grid-spacing", "0.4", words[-1]]
    found = {}
    for folder, equilibrate in (("cold", 0), ("relaxed", 1000)):
        output = tmp_path / folder
        assert adsorption(*words, "30", "--steps", 6000, "--systems", 60, "--equilibrate",
                          equilibrate, "--output", output) == 0  # fmt: skip
        table = capsys.readouterr().out
        (run,), (row,) = summary_of(output)["runs"], isotherm_rows(output)
        found[folder] = run
        n, test = run["loading_molecules"][0], run["test_molecules_loading"][0]
        assert float(row["loading_molecules"]) == pytest.approx(n, rel=1e-6)
        assert float(row["test_molecules_loading"]) == pytest.approx(test, rel=1e-6)
        assert row["status"] == ("ok" if folder == "relaxed" else "not equilibrated")
        assert f"  {row['status']}\n" in table
        for key, value in (("loading_error_molecules", n), ("test_molecules_loading_error", test)):
            assert with_error(value, run[key][0]) in table
        assert ("not equilibrated: the loading differs" in table) == (folder == "cold")
    cold, relaxed = found["cold"], found["relaxed"]
    assert (cold["equilibrated"], relaxed["equilibrated"]) == (False, True)
    assert cold["test_molecules_loading"][0] > cold["loading_molecules"][0]
    (fugacity,) = relaxed["fugacity_bar"]
    full = Adsorption(
        "LTA",
        50,
        method="plj",
        fugacity=fugacity,
        systems=60,
        interactions=Interactions(grid=EnergyGrid(spacing=0.4)),
        seed=99,
        device="cpu",
        threads=2,
    )
    full.equilibrate(20000)
    full.run(10000)
    value, error = relaxed["loading_molecules"][0], relaxed["loading_error_molecules"][0]
    assert agrees(value, error, full.loading[0].value, full.loading[0].error)
    value, error = cold["loading_molecules"][0], cold["loading_error_molecules"][0]
    assert not agrees(value, error, full.loading[0].value, full.loading[0].error)
    assert relaxed["equilibration_steps"] in [1000 * (2**k - 1) for k in range(1, 7)]


def test_an_isotherm_resumes_where_it_was_stopped(tmp_path, capsys):
    """Also if the next point had not begun, or had no checkpoint yet when it was killed."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert adsorption(*DENSE, "1,20", "--output", whole) == 0
    assert adsorption(*DENSE, "1", "--output", parts) == 0
    (parts / "pressure_20").mkdir()
    (parts / "pressure_20" / "checkpoint-0.records").write_bytes(b"incomplete")
    assert adsorption(*DENSE, "1,20", "--output", parts, "--resume") == 0
    for a, b in zip(*(summary_of(folder)["runs"] for folder in (whole, parts)), strict=True):
        assert a["state_hash"] == b["state_hash"]
        assert a["test_molecules_loading"] == b["test_molecules_loading"]
        assert a["equilibration_steps"] == b["equilibration_steps"]
    assert adsorption("--resume", "--output", whole / "pressure_1") == 2
    assert f"pressure_1 is a part of the isotherm in {whole}" in capsys.readouterr().err


@pytest.mark.pictures
def test_the_table_of_an_isotherm_is_written_after_each_point(tmp_path, monkeypatch):
    from manymove.adsorption import job

    original = job.run

    def run(settings, world, *grids):
        if settings.pressure == 20:
            raise RuntimeError("the second point fails")
        return original(settings, world, *grids)

    monkeypatch.setattr(job, "run", run)
    assert adsorption(*DENSE, "1,20", "--steps", 10, "--output", tmp_path) == 2
    (row,), summary = isotherm_rows(tmp_path), summary_of(tmp_path)
    assert row["pressure_bar"] == "1" and summary["pressure_bar"] == [1.0]
    assert not summary["complete"]
    assert (tmp_path / "isotherm.png").exists()
    monkeypatch.undo()
    assert adsorption("--resume", "--output", tmp_path, "--quiet") == 0
    assert [row["pressure_bar"] for row in isotherm_rows(tmp_path)] == ["1", "20"]
    assert summary_of(tmp_path)["complete"]


def test_points_continue_in_memory_as_from_a_checkpoint(tmp_path, monkeypatch):
    from manymove.adsorption.replica import Replica

    load, loaded = Adsorption.load, []

    def counted(path, *given, **named):
        loaded.append(path)
        return load(path, *given, **named)

    monkeypatch.setattr(Adsorption, "load", counted)
    assert adsorption(*DENSE, "1,20,5", "--steps", 10, "--output", tmp_path / "memory") == 0
    assert not loaded
    monkeypatch.setattr(Replica, "_ended", lambda self, state: Adsorption.load(state, "cpu", 1))
    assert adsorption(*DENSE, "1,20,5", "--steps", 10, "--output", tmp_path / "files") == 0
    assert len(loaded) == 2
    one, other = (summary_of(tmp_path / name)["runs"] for name in ("memory", "files"))
    for point, same in zip(one, other, strict=True):
        assert point["state_hash"] == same["state_hash"] is not None
        assert point["loading_molecules"] == same["loading_molecules"]
    held = [(tmp_path / name / "pressure_20" / "checkpoint-0.state").read_bytes()
            for name in ("memory", "files")]  # fmt: skip
    assert held[0] == held[1]


def test_one_point_at_a_time_is_in_memory(tmp_path, monkeypatch):
    load, alive = Adsorption.load, []

    def counted(path, *given, **named):
        gc.collect()
        alive.append(sum(isinstance(one, Adsorption) for one in gc.get_objects()) - before)
        return load(path, *given, **named)

    monkeypatch.setattr(Adsorption, "load", counted)
    words = (*DENSE, "1,20", "--systems", 4, "--output", tmp_path, "--device", "auto")
    gc.collect()
    before = sum(isinstance(one, Adsorption) for one in gc.get_objects())
    assert adsorption(*words, "--steps", 10) == 0
    assert not alive
    assert cli.run(["adsorption", "--resume", "--steps", "20", "--quiet", "--output",
                    str(tmp_path)]) == 0  # fmt: skip
    assert alive == [0, 0]


def test_a_resumed_isotherm_keeps_the_rows_that_it_has_not_come_to_again(tmp_path, monkeypatch):
    from manymove.adsorption import job

    assert adsorption(*DENSE, "1,20", "--steps", 10, "--output", tmp_path) == 0
    rows = isotherm_rows(tmp_path)
    original = job.run

    def run(settings, world, *grids):
        if settings.pressure == 20:
            raise RuntimeError("the second point fails")
        return original(settings, world, *grids)

    monkeypatch.setattr(job, "run", run)
    assert adsorption("--resume", "--output", tmp_path, "--quiet") == 2
    assert isotherm_rows(tmp_path) == rows
    assert summary_of(tmp_path)["pressure_bar"] == [1, 20]
    assert not summary_of(tmp_path)["complete"]


def test_an_isotherm_that_is_stopped_while_it_equilibrates_is_continued(tmp_path, monkeypatch):
    """The loading of comparisons, before the first step of the averages."""
    from manymove import runs

    monkeypatch.setattr(runs, "_PIECE", 0)
    words = [*DENSE, "1", "--steps", 10, "--equilibrate", 200]
    with interrupted_after(20):
        assert adsorption(*words, "--output", tmp_path / "cut") == 130
    (point,) = summary_of(tmp_path / "cut")["runs"]
    assert point["steps"] == 0 and point["equilibration_steps"] > 0 and not point["complete"]
    assert adsorption("--resume", "--output", tmp_path / "cut", "--quiet") == 0
    assert adsorption(*words, "--output", tmp_path / "whole") == 0
    assert isotherm_rows(tmp_path / "cut") == isotherm_rows(tmp_path / "whole")


def test_progress_names_the_pressure_and_is_about_all_points(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("manymove.jobs.progress.LINE_EVERY", 0.0)
    words = [word for word in DENSE if word != "--quiet"]
    assert adsorption(*words, "1,5,20", "--steps", 20_000, "--output", tmp_path) == 0
    printed = capsys.readouterr().err
    found = re.findall(r"LTA, plj, (\d+) bar \(point (\d) of 3\): (\d+)%.* left", printed)
    assert {(p, k) for p, k, _ in found} == {("1", "1"), ("5", "2"), ("20", "3")}
    for _, k, percent in found:
        assert 100 * (int(k) - 1) / 3 - 1 <= int(percent) <= 100 * int(k) / 3 + 1


def test_a_pressure_without_a_fugacity_is_one_error(tmp_path, capsys):
    assert adsorption(*DENSE, "1e-300", "--output", tmp_path) == 2
    assert capsys.readouterr().err == (
        "manymove: error: --isotherm: CH4: no fugacity at 1e-300 bar and 300 K: the equation of "
        "state needs a positive temperature and a pressure from 1e-100 to 10000 bar "
        "(1 bar is 10^5 Pa)\n"
    )


def test_isotherm_of_a_mixture(tmp_path):
    laws = {"O": [100.0, 3.3], "Si": None}
    gas = {"epsilon": 120, "sigma": 3.4, "framework": laws, "critical_temperature": 150.0,
           "critical_pressure": 49.0, "acentric_factor": 0.0}  # fmt: skip
    path = tmp_path / "species.json"
    path.write_text(json.dumps([{"name": n, **gas} for n in ("one", "two")]))
    words = [*DENSE, "2,10", "--adsorbates", path, "--steps", 1000]
    for folder, more in (("estimated", []), ("given", ["--capacity", "1,1"])):
        assert adsorption(*words, *more, "--output", tmp_path / folder) == 0
        rows = isotherm_rows(tmp_path / folder)
        assert [(r["pressure_bar"], r["adsorbate"]) for r in rows] == [
            ("2", "one"), ("2", "two"), ("10", "one"), ("10", "two"),
        ]  # fmt: skip
    one, other = (summary_of(tmp_path / folder)["runs"] for folder in ("estimated", "given"))
    assert [r["state_hash"] for r in one] == [r["state_hash"] for r in other]


@pytest.mark.pictures
def test_points_that_are_not_equilibrated_are_hollow(tmp_path, monkeypatch):
    plots = pytest.importorskip("manymove.adsorption.plots")
    drawn = []
    original = plots.new_figure

    def new_figure(*size):
        figure, axes = original(*size)
        drawn.append(axes)
        return figure, axes

    monkeypatch.setattr(plots, "new_figure", new_figure)
    summary = {
        "framework": "LTA", "adsorbates": ["CH4"], "pressure_bar": [1.0, 2.0, 3.0],
        "runs": [{"temperature_K": 300.0}],
        "loading_mol_per_kg": [[1.0], [2.0], [2.5]],
        "status": ["ok", "not equilibrated", "loading not compared"],
        "loading_error_mol_per_kg": [[0.1], [0.1], [0.1]],
    }  # fmt: skip
    plots.isotherm(tmp_path / "isotherm.png", summary)
    hollow = [line for line in drawn[0].lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_xdata()) for line in hollow] == [[2.0, 3.0], []]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"name": "a", "epsilon": 1, "sigma": 3}, '"framework" is missing'),
        ({"name": "a", "epsilon": 1, "sigma": 3, "framework": {}, "mass": 4}, 'unknown "mass"'),
        ({"name": "a", "epsilon": 1, "sigma": 3, "framework": {"O": [1]}}, "and sigma with O"),
        ("methane", "'methane' is not an object"),
    ],
)
def test_adsorbates_that_cannot_be_read_are_told_the_format(entry, message, tmp_path, capsys):
    path = tmp_path / "species.json"
    path.write_text(json.dumps(entry))
    assert adsorption(*SMALL, "--adsorbates", path, "--output", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert message in error and '"framework": {"O": [115.0, 3.47], "Si": null}' in error


def test_the_cubic_grid_is_the_default(tmp_path):
    words = [word for word in SMALL if word not in ("--interpolation", "cubic")]
    assert adsorption(*words, "--steps", 1, "--equilibrate", 0, "--output", tmp_path) == 0
    assert (
        Adsorption.load(tmp_path / "checkpoint-0.state").resolved_settings["interpolation"]
        == "cubic"
    )
    a = Adsorption(
        "LTA",
        1,
        systems=1,
        seed=1,
        interactions=Interactions(grid=EnergyGrid(spacing=0.5)),
        device="cpu",
        threads=1,
    )
    assert a.resolved_settings["interpolation"] == "cubic"


def test_the_linear_grid_is_still_there(tmp_path):
    words = [*SMALL, "--interpolation", "linear", "--steps", 1, "--equilibrate", 0]
    assert adsorption(*words, "--output", tmp_path) == 0
    assert (
        Adsorption.load(tmp_path / "checkpoint-0.state").resolved_settings["interpolation"]
        == "linear"
    )


def test_the_documented_file_of_adsorbates_can_be_read(tmp_path):
    page = ROOT / "docs/guides/frameworks.md"
    if not page.is_file():
        pytest.skip("there is no documentation beside the tests")
    text = page.read_text().partition("## Molecules on the command line")[2]
    section = text.partition("\n## ")[0]
    path = tmp_path / "species.json"
    path.write_text(re.search(r"```json\n(.*?)```", section, re.DOTALL).group(1))
    species = read_species(path)
    assert [s.name for s in species] == ["CH4", "krypton"]
    assert species[0] == METHANE
    keys = {key for entry in json.loads(path.read_text()) for key in entry}
    assert all(f"`{key}`" in section for key in keys)


def test_a_coarse_grid_and_a_liquid_are_warnings(tmp_path, capsys):
    words = [*SMALL[:-1], "--isotherm", "1", "--temperature", "25", "--steps", "20"]
    words += ["--equilibrate", "20", "--systems", "4", "--grid-spacing", "0.8", "--molecules", "0"]
    assert adsorption(*words, "--output", tmp_path) == 0
    (point,) = summary_of(tmp_path)["runs"]
    assert point["grid_error_K_per_molecule"] > 2.5
    out = capsys.readouterr().out
    assert "coarse energy grid: interpolation changes the energy of a molecule by" in out
    assert "liquid outside: at 1 bar and 25 K the equation of state gives a liquid of" in out
    assert point["warnings"][-1].endswith("--isotherm is in bar and --temperature in kelvin")
