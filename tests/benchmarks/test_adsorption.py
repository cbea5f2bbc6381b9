# SPDX-License-Identifier: BSD-3-Clause
"""`python -m benchmarks adsorption`: methods, RASPA3, open systems, and mistakes."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from adsorption_model import nearest, pair_energy

from benchmarks import adsorption, raspa
from benchmarks.cli import run as bench
from manymove import Adsorption, EnergyGrid, Interactions
from manymove.adsorption.adsorbates import METHANE
from manymove.adsorption.frameworks import read_framework
from manymove.adsorption.gas import GAS_CONSTANT
from manymove.bench import status


def test_benchmark_times_and_weighs_the_methods(tmp_path, capsys):
    arguments = [
        "--framework", "LTA", "--molecules", "4", "--methods", "metropolis,pmc,mdp-dj",
        "--systems", "16", "--interpolation", "cubic", "--grid-spacing", "0.5", "--device", "cpu",
        "--threads", "2", "--seconds", "0.05", "--equilibrate", "100", "--no-raspa",
    ]  # fmt: skip
    assert bench(["adsorption", *arguments, "--json", str(tmp_path / "b.json")]) == 0
    report = json.loads((tmp_path / "b.json").read_text())
    assert [r["method"] for r in report["results"]] == ["metropolis", "pmc", "mdp-dj"]
    for r in report["results"]:
        assert r["trial_states_per_second"] > 1e4 and r["figure_of_merit"] > 0
    assert report["results"][0]["ratio_to_serial"] == 1
    assert report["results"][0]["device_name"].endswith("1 thread)")
    assert "times serial" in capsys.readouterr().out


def test_benchmark_runs_raspa_where_it_is_installed(tmp_path, monkeypatch):
    arguments = ["--framework", "MFI", "--molecules", "4", "--methods", "metropolis", "--systems",
                 "2", "--interpolation", "cubic", "--grid-spacing", "0.5", "--device", "cpu",
                 "--seconds", "0.05", "--equilibrate", "10"]  # fmt: skip

    def methods() -> list[str]:
        path = tmp_path / "b.json"
        assert bench(["adsorption", *arguments, "--json", str(path)]) == 0
        text = path.read_text()
        path.unlink()
        return [r["method"] for r in json.loads(text)["results"]]

    monkeypatch.setitem(sys.modules, "raspalib", None)
    assert methods() == ["metropolis"]
    monkeypatch.delitem(sys.modules, "raspalib")
    pytest.importorskip("raspalib", exc_type=ImportError)
    assert methods() == ["metropolis", "RASPA3"]
    arguments += ["--adsorbate", "CO2"]
    assert methods() == ["metropolis", "RASPA3"]


def test_the_adsorbate_of_the_benchmark_is_known_or_refused(capsys):
    assert bench(["adsorption", "--adsorbate", "krypton", "--device", "cpu"]) == 2
    assert "methane, CO2, N2" in capsys.readouterr().err


def test_raspa_has_the_same_force_field():
    """Its energy of molecules in the same places is that of the sum over the atoms."""
    raspalib = pytest.importorskip("raspalib", exc_type=ImportError)
    moves = raspalib.MCMoveProbabilities(translation_probability=1.0)
    system = raspa.methane_system(raspalib, read_framework("MFI"), 3, moves)
    places = np.array([atom.position for atom in system.atom_data[-3:]])
    a = Adsorption(
        "MFI",
        3,
        method="plj",
        systems=1,
        interactions=Interactions(
            precision="double", grid=EnergyGrid(interpolation="cubic", barrier=None)
        ),
        seed=1,
        device="cpu",
        threads=1,
    )
    field = a.core.framework_energies(np.ascontiguousarray(places % a.box), 0, True).sum()
    pairs = sum(
        pair_energy(nearest(places[i] - places[j], a.box), METHANE, 12.0)
        for i in range(3) for j in range(i)
    )  # fmt: skip
    theirs = system.compute_total_energies().potential_energy() * 10 / GAS_CONSTANT  # 10 J/mol
    assert theirs == pytest.approx(float(field + pairs), rel=1e-6)


def test_the_benchmark_has_chains(tmp_path, capsys):
    words = ["adsorption", "--framework", "LTA", "--adsorbate", "propane", "--molecules",
             "2", "--methods", "plj", "--systems", "8", "--grid-spacing", "0.6", "--device", "cpu",
             "--equilibrate", "10", "--seconds", "0.02", "--fugacity", "1", "--trial-positions",
             "4", "--trial-orientations", "4"]  # fmt: skip
    path = tmp_path / "open.json"
    assert bench([*words, "--json", str(path)]) == 0
    (row,) = json.loads(path.read_text())["results"]
    assert row["steps_per_second"] > 0
    assert bench([*words, "--merit", "1"]) == 2
    assert "--merit is for methane and rigid molecules; propane is" in capsys.readouterr().err


def test_the_benchmark_measures_the_merit_of_the_loading(tmp_path, capsys):
    words = ["adsorption", "--framework", "LTA", "--molecules", "4", "--methods", "plj",
             "--systems", "40", "--grid-spacing", "0.5", "--device", "cpu", "--threads", "2",
             "--equilibrate", "40", "--seconds", "0.05", "--fugacity", "1"]  # fmt: skip
    path = tmp_path / "open.json"
    assert bench([*words, "--trial-positions", "1,4", "--json", str(path)]) == 0
    rows = json.loads(path.read_text())["results"]
    assert [row["trial_positions"] for row in rows] == [1, 4]
    for row in rows:
        error, seconds = row["loading_error_molecules"], row["measured_seconds"]
        assert row["figure_of_merit"] == pytest.approx(1 / (error**2 * seconds))
    error = rows[1]["loading_optimal_error_molecules"]
    assert rows[1]["optimal_merit"] == pytest.approx(1 / (error**2 * rows[1]["measured_seconds"]))
    assert bench([*words, "--methods", "mdp"]) == 2
    assert "--fugacity needs one of --methods" in capsys.readouterr().err
    assert bench([*words[:-2], "--trial-positions", "2"]) == 2
    assert "need --fugacity" in capsys.readouterr().err
    for option, name in (
        ("--cpu", "--cpu"), ("--raspa", "--raspa"), ("--proposals 32,64", "--proposals"),
        ("--molecules 4,8", "--molecules with several values"),
        ("--ranks 1 --temperature 310", "--temperature"),
        ("--ranks 1 --exchange 0.4", "--exchange"),
        ("--weak --reinsertion 0.1", "--reinsertion"), ("--weak --raspa", "--raspa"),
    ):  # fmt: skip
        assert bench([*words, *option.split()]) == 2
        assert f"{name} cannot be combined with" in capsys.readouterr().err


def test_methods_that_are_not_equilibrated_are_marked():
    energies = {"mdp": (-282248.0, 4.0), "pmc": (-282105.0, 3.0), "plj": (-282240.0, 5.0)}
    rows = [
        {"method": m, "energy_K": e, "energy_error_K": d, "warnings": []}
        for m, (e, d) in energies.items()
    ]
    rows.append({"method": "RASPA3", "warnings": []})
    adsorption._mark_unrelaxed(rows)
    assert list(map(status.status, rows)) == ["ok", "not equilibrated", "ok", "ok"]
    assert "the energy of pmc is 143(5) K above that of mdp" in rows[1]["warnings"][0]
