# SPDX-License-Identifier: BSD-3-Clause
"""Rigid molecules on the command line: files, charges, Henry coefficients, trajectories, ranks and
interruptions."""

from __future__ import annotations

import json
import signal
import time

import gsd.hoomd
import numpy as np
import pytest
from adsorption_model import agrees, cif
from commands import COMMAND, summary_of
from machine import on_gpu
from processes import run

from manymove import Adsorption, EnergyGrid, Interactions, cli
from manymove.adsorption import CO2, TRAPPE_ZEO
from manymove.adsorption.replica import Replica

pytestmark = pytest.mark.filterwarnings("ignore:.*looks like water")  # the framework's oxygen

SITES = [["O_co2", [0, 0, 1.16]], ["C_co2", [0, 0, 0]], ["O_co2", [0, 0, -1.16]]]
FIELD = {
    "PseudoAtoms": [
        {"name": "C_co2", "charge": 0.7}, {"name": "O_co2", "charge": -0.35},
        {"name": "Si", "charge": 1.5, "framework": True},
        {"name": "O", "charge": -0.75, "framework": True},
    ],
    "SelfInteractions": [
        {"name": "C_co2", "parameters": [27.0, 2.80]},
        {"name": "O_co2", "parameters": [79.0, 3.05]},
        {"name": "Si", "parameters": [22.0, 2.30]}, {"name": "O", "parameters": [53.0, 3.30]},
    ],
    "TruncationMethod": "truncated", "TailCorrections": True,
}  # fmt: skip
ATOMS = """O1 O 0.1 0.2 0.3
O2 O 0.6 0.1 0.8
O3 O 0.4 0.7 0.2
O4 O 0.9 0.8 0.65
Si1 Si 0.5 0.5 0.5
Si2 Si 0.1 0.6 0.9"""
SMALL = [
    "--molecules", "3", "--systems", "10", "--steps", "60", "--cutoff", "4", "--barrier", "none",
    "--equilibrate", "20", "--grid-spacing", "0.5", "--device", "cpu", "--threads", "2", "--quiet",
]  # fmt: skip
ZEO = ["--adsorbates", "CO2", "--force-field", "TraPPE-zeo"]


@pytest.fixture(autouse=True)
def in_folder_with_framework(tmp_path, monkeypatch):
    """A working directory with a framework of six atoms, the default of these tests."""
    (tmp_path / "small.cif").write_text(cif(ATOMS, (8.5, 9.0, 10.0), occupancy=False))
    monkeypatch.chdir(tmp_path)


def adsorption(*arguments) -> int:
    return cli.run(["adsorption", "--framework", "small.cif", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    (tmp_path / "CO2.json").write_text(json.dumps({"Type": "rigid", "pseudoAtoms": SITES}))
    (tmp_path / "field.json").write_text(json.dumps(FIELD))
    (tmp_path / "charges.txt").write_text("Si 0.1\nO -0.05\n")
    return tmp_path


def test_files_of_raspa_make_the_run_of_the_shipped_molecule(files):
    own = ["--adsorbates", files / "CO2.json", "--force-field", files / "field.json"]
    more = ["--framework-charges", files / "charges.txt", "--ewald", "0.3,1.9", "--henry", 150]
    assert adsorption(*SMALL, *own, *more, "--output", files / "a") == 0
    assert adsorption(*SMALL, *ZEO, "--framework-charges", "Si=0.1,O=-0.05", "--ewald", "0.3,1.9",
                      "--henry", 150, "--output", files / "b") == 0  # fmt: skip
    a, b = summary_of(files / "a"), summary_of(files / "b")
    assert a["complete"] and b["complete"]
    for key in ("state_hash", "energy_K", "adsorbates", "henry_mol_per_kg_Pa"):
        assert a[key] == b[key]
    alone = Adsorption(
        "small.cif",
        1,
        adsorbates=CO2,
        interactions=Interactions(
            cutoff=4.0,
            force_field=TRAPPE_ZEO,
            ewald=(0.3, 1.9),
            framework_charges={"O": -0.05, "Si": 0.1},
            grid=EnergyGrid(spacing=0.5, barrier=None),
        ),
        systems=10,
        seed=5,
        device="cpu",
    )
    coefficient, heat = alone.henry(2000)
    (k,), (error,) = a["henry_mol_per_kg_Pa"], a["henry_error_mol_per_kg_Pa"]
    assert agrees(k, error, coefficient.value, coefficient.error)
    (q,), (error,) = a["henry_heat_kJ_per_mol"], a["henry_heat_error_kJ_per_mol"]
    assert agrees(q, error, heat.value, heat.error)


def test_the_table_has_henry_coefficients(tmp_path, capsys):
    words = [word for word in SMALL if word != "--quiet"]
    assert adsorption(*words, *ZEO, "--henry", 100, "--steps", 5, "--output", tmp_path) == 0
    table = capsys.readouterr().out
    assert "Henry, CO2" in table and "mol/(kg Pa), heat" in table


def test_conventions_of_the_options_replace_those_of_the_file(files):
    for name, words, potential in (
        ("tail", [], "tail"),
        ("shifted", ["--potential", "shifted", "--mixing", "geometric"], "shifted"),
    ):
        assert adsorption(*SMALL, *ZEO, *words, "--steps", 2, "--output", files / name) == 0
        a = Adsorption.load(files / name / "checkpoint-0.state", device="cpu")
        assert a.resolved_settings["potential"] == potential
    pairs = a.resolved_settings["rigid"]["pairs"]
    assert pairs[1][1] == pytest.approx((3.05 * 2.80) ** 0.5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--adsorbates", "CO2"], "the force field has no parameters for"),
        (["--adsorbates", "CO3", "--force-field", "TraPPE-zeo"], "--adsorbates: no molecule CO3"),
        ([*ZEO, "--force-field", "none"], "--force-field: no force field none: expected TraPPE-ze"),
        ([*ZEO, "--potential", "cut"], '--force-field: potential must be "shifted"'),
        ([*ZEO, "--framework-charges", "cif"], '"cif", but small has no charges'),
        ([*ZEO, "--framework-charges", "O=x"], "--framework-charges: 'O=x' is neither cif"),
        ([*ZEO, "--framework-charges", "O=-1,Si=1"], "net charge of"),
        ([*ZEO, "--framework-charges", "O=-1,Si=1,O=-2"], "O=-2': O is given twice"),
        ([*ZEO, "--ewald", "0.3"], "--ewald is '0.3'; it must be two numbers"),
        ([*ZEO, "--ewald", "0.3,0.01"], "below the smallest wave number"),
        ([*ZEO, "--henry", "-1"], "--henry is -1; it must be at least 0"),
        ([*ZEO, "--isotherm", "1", "--henry", "10"], "--henry cannot be combined with --isotherm"),
        ([*ZEO, "--isotherm", "1", "--frames", "2"], "--frames cannot be combined with --isotherm"),
    ],
)
def test_bad_options_are_named(words, message, tmp_path, capsys):
    assert adsorption(*SMALL, *words, "--output", tmp_path / "out") == 2
    assert message in capsys.readouterr().err


def test_trajectories_have_the_framework_and_whole_molecules(tmp_path):
    assert adsorption(*SMALL, *ZEO, "--frames", 3, "--output", tmp_path) == 0
    a = Adsorption.load(tmp_path / "checkpoint-0.state", device="cpu")
    with gsd.hoomd.open(str(tmp_path / "trajectory.gsd")) as trajectory:
        assert [f.configuration.step for f in trajectory] == [40, 60, 80]
        assert float(trajectory[-1].log["manymove/energy_K"][0]) == a.energies[0]
        frame = trajectory[-1]
    p, cells = frame.particles, int(np.prod(a.cells))
    atoms = cells * len(a.framework.elements)
    assert (p.N, p.types) == (atoms + 9, ["CO2.C_co2", "CO2.O_co2", "O", "Si"])
    assert p.charge.sum() == pytest.approx(0, abs=1e-4) and p.charge[atoms + 1] == np.float32(0.7)
    assert frame.configuration.box[:3] == pytest.approx(a.box, rel=1e-6)
    whole = p.position + p.image * np.array(a.box) + np.array(a.box) / 2
    assert whole[atoms:].reshape(3, 3, 3) == pytest.approx(a.site_positions()[0], abs=1e-4)
    unit = a.framework.fractional @ a.framework.edges
    near = whole[:atoms, None] - unit
    near -= np.rint(near / np.diag(a.framework.edges)) * np.diag(a.framework.edges)
    assert np.abs(near).max(axis=2).min(axis=1).max() < 1e-4
    assert frame.bonds.group.tolist()[:2] == [[atoms, atoms + 1], [atoms, atoms + 2]]


def test_trajectories_of_open_systems_and_single_sites(tmp_path):
    a = Adsorption(
        "small.cif",
        2,
        method="plj",
        fugacity=500.0,
        systems=2,
        seed=1,
        interactions=Interactions(cutoff=4.0, grid=EnergyGrid(spacing=0.6, barrier=None)),
        device="cpu",
        threads=1,
    )
    a.write_gsd(tmp_path / "a.gsd", every=300, system=1)
    a.run(600)
    with gsd.hoomd.open(str(tmp_path / "a.gsd")) as trajectory:
        last = trajectory[-1].particles
    atoms = int(np.prod(a.cells)) * len(a.framework.elements)
    assert last.N == atoms + a.counts[1, 0] and last.types == ["CH4", "O", "Si"]
    with pytest.raises(ValueError, match="system must be from 0 to 1, got 2"):
        a.write_gsd(tmp_path / "b.gsd", system=2)


@pytest.fixture
def interrupted_at(monkeypatch):
    """A function that sends SIGINT to this process at a call of the callback of runs, counted from
    a number of test molecules."""
    original, calls = Replica._pause, []

    def start(number: int, inserted: int = 0) -> None:
        calls.clear()

        def pause(self, engine):
            if self._inserted >= inserted:
                calls.append(1)
            if len(calls) == number:
                signal.raise_signal(signal.SIGINT)
                while not self._stop.requested:  # the main thread handles signals
                    time.sleep(0.001)
            original(self, engine)

        monkeypatch.setattr(Replica, "_pause", pause)

    return start


def test_an_interrupted_run_resumes_to_the_same_bits(tmp_path, interrupted_at):
    """Ctrl-C in the steps and while test molecules are inserted; the trajectory continues, too."""
    words = [*SMALL, *ZEO, "--frames", 6, "--steps", 300, "--henry", 800]
    assert adsorption(*words, "--output", tmp_path / "whole") == 0
    parts = tmp_path / "parts"
    for when, extra in (((30,), []), ((3,), ["--resume"]), ((2, 1), ["--resume"])):
        interrupted_at(*when)
        assert adsorption(*words, *extra, "--output", parts) == 130
        summary = summary_of(parts)
        assert not summary["complete"] and "henry_mol_per_kg_Pa" not in summary
    assert summary["steps"] == 300
    interrupted_at(0)
    assert adsorption(*words, "--resume", "--output", parts) == 0
    whole, resumed = summary_of(tmp_path / "whole"), summary_of(parts)
    for key in ("state_hash", "energy_K", "henry_mol_per_kg_Pa", "henry_error_mol_per_kg_Pa"):
        assert whole[key] == resumed[key]
    frames = []
    for folder in (tmp_path / "whole", parts):
        with gsd.hoomd.open(str(folder / "trajectory.gsd")) as trajectory:
            frames.append([(f.configuration.step, f.particles.position.tobytes())
                           for f in trajectory])  # fmt: skip
    assert frames[0] == frames[1] and len(frames[0]) == 6


def test_resume_refuses_other_molecules(files, capsys):
    own = ["--adsorbates", files / "CO2.json", "--force-field", files / "field.json"]
    words = [*SMALL, *own, "--framework-charges", files / "charges.txt", "--output", files / "out"]
    assert adsorption(*words) == 0
    for option, value, message in (
        ("--ewald", "0.3,1.9", "--ewald"),
        ("--potential", "shifted", "--potential"),
        ("--adsorbates", "CO2", "--adsorbates"),
        ("--henry", "10", "--henry 0, not 10"),
    ):
        assert adsorption(*words, "--resume", option, value) == 2
        assert message in capsys.readouterr().err
    # Files of the same names with other contents.
    for name, text, message in (
        ("charges.txt", "Si 0.2\nO -0.1\n", "--framework-charges"),
        ("CO2.json", json.dumps({"Type": "rigid", "pseudoAtoms": SITES}).replace("1.16", "1.15"),
         "--adsorbates (sites)"),
        ("field.json", json.dumps(FIELD).replace("79.0", "80.0"), "--force-field (epsilon, sigma)"),
        ("field.json", json.dumps(FIELD).replace("-0.35", "-0.3").replace("0.7}", "0.6}"),
         "--force-field (charges)"),
    ):  # fmt: skip
        before = (files / name).read_text()
        (files / name).write_text(text)
        assert adsorption(*words, "--resume") == 2
        assert message in capsys.readouterr().err
        (files / name).write_text(before)
    assert adsorption(*words, "--resume", "--steps", 70) == 0


def test_resume_compares_the_conventions_of_single_sites(tmp_path, capsys):
    """Without the file of options, from the checkpoint alone."""
    path = tmp_path / "two.json"
    laws = {"O": [100.0, 3.0], "Si": None}
    path.write_text(json.dumps([{"name": n, "epsilon": e, "sigma": s, "framework": laws}
                                for n, e, s in (("one", 120, 3.0), ("two", 60, 2.0))]))  # fmt: skip
    words = [*SMALL, "--adsorbates", path, "--molecules", "1,1", "--output", tmp_path / "out"]
    own = ["--mixing", "geometric", "--potential", "truncated"]
    assert adsorption(*words, *own) == 0
    options = tmp_path / "out/options.json"
    for other, message in (
        (own[:2], "--potential truncated, not shifted"),
        (own[2:], "--adsorbates (epsilon, sigma)"),
        (own, None),
    ):
        options.unlink(missing_ok=True)
        assert adsorption(*words, *other, "--resume") == (2 if message else 0)
        assert (message or "") in capsys.readouterr().err


@pytest.mark.thorough
def test_ranks_share_the_systems_and_any_rank_continues_them(mpiexec, tmp_path):
    words = ["adsorption", "--framework", "small.cif", *SMALL, *ZEO, "--henry", 500]
    two = [*words, "--steps", 400, "--output", tmp_path / "two"]
    done = run([*mpiexec, *COMMAND, *map(str, two)], timeout=120)
    assert done.returncode == 0, done.stderr
    assert cli.run([*map(str, words), "--steps", "400", "--output", str(tmp_path / "one")]) == 0
    a, b = summary_of(tmp_path / "two"), summary_of(tmp_path / "one")
    assert a["ranks"] == 2 and a["trial_states"] == b["trial_states"]
    assert agrees(a["energy_K"], a["energy_error_K"], b["energy_K"], b["energy_error_K"])
    (k,), (error,) = a["henry_mol_per_kg_Pa"], a["henry_error_mol_per_kg_Pa"]
    (other,), (other_error,) = b["henry_mol_per_kg_Pa"], b["henry_error_mol_per_kg_Pa"]
    assert agrees(k, error, other, other_error)
    assert cli.run([*map(str, words), "--steps", "410", "--output", str(tmp_path / "two"),
                    "--resume"]) == 0  # fmt: skip
    assert summary_of(tmp_path / "two")["steps"] == 410


@on_gpu
@pytest.mark.parametrize("method", ["plj", "mdp"])
def test_a_gpu_makes_the_run_of_the_cpu_and_continues_it(method, tmp_path):
    words = [*SMALL, *ZEO, "--method", method, "--steps", 200, "--henry", 100]
    for name, device in (("cpu", "cpu"), ("gpu", "cuda")):
        assert adsorption(*words, "--device", device, "--output", tmp_path / name) == 0
    one, other = summary_of(tmp_path / "cpu"), summary_of(tmp_path / "gpu")
    assert one["state_hash"] == other["state_hash"]
    assert one["henry_mol_per_kg_Pa"] == other["henry_mol_per_kg_Pa"]
    for name, device in (("cpu", "cuda"), ("gpu", "cpu")):
        words = [*words, "--steps", 300, "--device", device, "--resume"]
        assert adsorption(*words, "--output", tmp_path / name) == 0
    one, other = summary_of(tmp_path / "cpu"), summary_of(tmp_path / "gpu")
    assert one["state_hash"] == other["state_hash"] and one["steps"] == 300


@on_gpu
def test_ranks_on_a_gpu_make_the_runs_of_ranks_on_the_cpu(mpiexec, tmp_path):
    words = ["adsorption", "--framework", "small.cif", *SMALL, *ZEO, "--frames", 2]
    hashes = []
    for device in ("cpu", "cuda:0"):
        output = tmp_path / device[:3]
        two = [*words, "--device", device, "--output", output]
        done = run([*mpiexec, *COMMAND, *map(str, two)], timeout=120)
        assert done.returncode == 0, done.stderr
        hashes.append(summary_of(output)["state_hash"])
    assert hashes[0] == hashes[1]


def test_isotherms_of_molecules(tmp_path):
    words = ["--isotherm", "1,20", "--molecules", "0", "--steps", 200, "--equilibrate", 10]
    assert adsorption(*SMALL, *ZEO, *words, "--output", tmp_path) == 0
    (low,), (high,) = summary_of(tmp_path)["loading_mol_per_kg"]
    assert 0 <= low < high
