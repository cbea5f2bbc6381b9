# SPDX-License-Identifier: BSD-3-Clause
"""`manymove spheres`, mixtures in both commands of hard particles, and the mistakes of users."""

from __future__ import annotations

import json
import math
import re

import gsd.hoomd
import numpy as np
import pytest
from commands import summary_of

from manymove import HardSpheres, cli
from manymove.hard_particles.mixtures import table_of

SMALL = ["--particles", "256", "--sweeps", "400", "--equilibrate", "100", "--device", "cpu"]
MIXTURE = ["--diameters", "1,1.4", "--fractions", "0.75,0.25"]


def spheres(*arguments, name="spheres"):
    return cli.run([name, *map(str, arguments)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spheres")
    assert spheres(*SMALL, "--output", folder, "--quiet", "--frames", 3) == 0
    return folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixture")
    words = [*SMALL, *MIXTURE, "--packing-fraction", 0.45, "--output", folder, "--quiet"]
    assert spheres(*words) == 0
    return folder


def test_tiles_are_those_of_the_option(tmp_path, capsys):
    start = [*SMALL[:4], *SMALL[6:], "--quiet", "--packing-fraction", 0.3, "--output", tmp_path]
    assert spheres(*start, "--tile", "5,4,3") == 0
    summary = summary_of(tmp_path)
    assert summary["tile"] == [5, 4, 3]
    alone = HardSpheres.load(tmp_path / "checkpoint-0.state", device="cpu")
    assert alone.tile == (5, 4, 3)
    per_cycle = alone.sweeps_per_cycle
    alone.run_cycles(math.ceil(5000 / per_cycle) + math.ceil(500 / per_cycle) - alone.cycles)
    assert spheres("--resume", "--output", tmp_path, "--quiet", "--sweeps", 500) == 0
    assert summary_of(tmp_path)["state_hash"] == alone.state_hash
    # Neither the options nor, without them, the state allow other tiles.
    assert spheres("--resume", "--output", tmp_path, "--tile", 5) == 2
    assert "options.json has --tile 5,4,3, not 5" in capsys.readouterr().err
    (tmp_path / "options.json").unlink()
    assert spheres("--resume", *start, "--tile", 5) == 2
    assert "has --tile (5, 4, 3), not (5, 5, 5)" in capsys.readouterr().err


def test_summary_has_what_was_asked_for(finished):
    summary = summary_of(finished)
    assert summary["N"] == 256 and len(summary["box"]) == 3
    assert summary["packing_fraction"] == 0.49
    assert summary["complete"] is True
    assert 400 <= summary["sweeps"] < 440  # whole cycles
    assert re.fullmatch("[0-9a-f]{16}", summary["state_hash"])
    value, error = summary["pressure"], summary["pressure_error"]
    literature = summary["literature_pressure"]
    assert literature[0] == pytest.approx(11.39, abs=0.01)
    assert abs(value - literature[0]) < 8 * error + 0.3  # far too short to be at equilibrium
    assert summary["max_overlap"] < 1e-6
    assert summary["contact_values"] == [] and summary["contacts"] is None
    assert summary["pressure_error_factor"] == 1 and summary["near_freezing"] is False


def test_files_and_pictures_are_written(finished, mixed):
    for folder, kinds in ((finished, ["A"]), (mixed, ["A", "B"])):
        with gsd.hoomd.open(str(folder / "trajectory.gsd"), "r") as trajectory:
            assert trajectory[0].configuration.dimensions == 3
            assert trajectory[0].particles.types == kinds
        records = np.loadtxt(folder / "pressure.csv", delimiter=",", skiprows=1)
        assert records[:, 2].mean() == pytest.approx(summary_of(folder)["pressure"], rel=1e-6)
        pytest.importorskip("matplotlib")
        for name in ("configuration.png", "pressure.png"):
            assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_a_mixture_has_contact_values_and_an_approximate_equation_of_state(mixed):
    summary = summary_of(mixed)
    assert summary["contacts"] == [[1, 1.2], [1.2, 1.4]]
    assert summary["diameter"] == pytest.approx((0.75 + 0.25 * 1.4**3) ** (1 / 3))
    assert [entry["types"] for entry in summary["contact_values"]] == [[0, 0], [0, 1], [1, 1]]
    assert all(entry["value"] > 1 for entry in summary["contact_values"])
    value, error = summary["literature_pressure"]
    assert error is None
    assert summary["pressure"] == pytest.approx(value, rel=0.1)
    with gsd.hoomd.open(str(mixed / "trajectory.gsd"), "r") as trajectory:
        assert np.bincount(trajectory[0].particles.typeid).tolist() == [192, 64]


def test_the_table_is_printed(tmp_path, capsys):
    assert spheres(*SMALL, *MIXTURE, "--output", tmp_path) == 0
    printed = capsys.readouterr().out
    for word in ("spheres ", "pressure P*", "value 0-1", "literature, P*", "moves/s", "state hash"):
        assert word in printed


@pytest.mark.parametrize("mixture", [False, True])
def test_resume_ends_where_one_run_ends(finished, mixed, tmp_path, mixture):
    more = [*MIXTURE, "--packing-fraction", 0.45] if mixture else []
    words = [*SMALL, *more, "--output", tmp_path, "--quiet", "--sweeps"]
    assert spheres(*words, 100) == 0
    assert spheres("--resume", "--output", tmp_path, "--quiet", "--sweeps", 400) == 0
    ends = summary_of(mixed if mixture else finished)
    summary = summary_of(tmp_path)
    assert summary["state_hash"] == ends["state_hash"]
    assert len(summary["contact_values"]) == len(ends["contact_values"])
    assert spheres(*words, 500, "--resume", "--packing-fraction", 0.3) == 2


@pytest.mark.parametrize("kind", ["fcc", "hcp", "bcc"])
def test_crystals_are_starts(kind, tmp_path):
    N = 250 if kind == "bcc" else 500 if kind == "fcc" else 360
    words = ["--start", kind, "--particles", N, "--packing-fraction", 0.57, "--sweeps", 20]
    few = ["--equilibrate", 5, "--device", "cpu", "--output", tmp_path, "--quiet"]
    assert spheres(*words, *few) == 0
    summary = summary_of(tmp_path)
    assert summary["start"] == kind
    assert (summary["literature_pressure"] is None) == (kind == "bcc")


@pytest.mark.parametrize("fixture", ["finished", "mixed"])
def test_input_takes_the_spheres_of_a_file(request, fixture, tmp_path, capsys):
    folder = request.getfixturevalue(fixture)
    path = folder / "trajectory.gsd"
    words = ["--input", path, "--sweeps", 50, "--equilibrate", 0, "--device", "cpu"]
    assert spheres(*words, "--output", tmp_path, "--quiet") == 0
    summary, first = summary_of(tmp_path), summary_of(folder)
    assert summary["N"] == 256
    assert summary["packing_fraction"] == pytest.approx(first["packing_fraction"], rel=1e-9)
    assert summary["diameter"] == pytest.approx(first["diameter"], rel=1e-12)
    assert len(summary["contact_values"]) == len(first["contact_values"])
    assert spheres("--input", path, *MIXTURE, "--output", tmp_path / "b") == 2
    assert "leave out --fractions" in capsys.readouterr().err
    kept = ["--input", path, *MIXTURE[:2], "--output", tmp_path / "b"]
    assert spheres(*kept) == 2
    one = (
        "has the sizes of the particles" if fixture == "mixed" else "has particles of the types A;"
    )
    assert f"--input {one}" in capsys.readouterr().err
    assert spheres("--input", path, name="disks") == 2
    assert "3-dimensional; disks need a two-dimensional box" in capsys.readouterr().err


def test_types_of_a_file_without_diameters_have_those_of_the_options(mixed, tmp_path):
    with gsd.hoomd.open(mixed / "trajectory.gsd") as trajectory:
        frame = trajectory[-1]
    frame.particles.diameter, frame.log = None, {}  # as HOOMD-blue writes it
    with gsd.hoomd.open(tmp_path / "typed.gsd", "w") as file:
        file.append(frame)
    few = ["--sweeps", 10, "--equilibrate", 0, "--device", "cpu", "--quiet", "--output"]
    words = ["--input", tmp_path / "typed.gsd", *MIXTURE[:2], *few, tmp_path / "out"]
    assert spheres(*words) == 0
    summary, first = summary_of(tmp_path / "out"), summary_of(mixed)
    assert summary["packing_fraction"] == pytest.approx(first["packing_fraction"], rel=1e-6)
    assert len(summary["contact_values"]) == 3
    assert spheres("--resume", "--sweeps", 20, "--quiet", "--output", tmp_path / "out") == 0


@pytest.mark.pictures
def test_equation_of_state(tmp_path, capsys):
    words = ["--equation-of-state", "--packing-fractions", "0.2,0.3,0.4", *SMALL]
    assert spheres(*words, "--sweeps", 100, "--output", tmp_path) == 0
    summary = summary_of(tmp_path)
    assert summary["packing_fractions"] == [0.2, 0.3, 0.4]
    assert summary["pressure"] == sorted(summary["pressure"])
    assert "Kolafa" in summary["paper"]
    assert "0.3000" in capsys.readouterr().out
    pytest.importorskip("matplotlib")
    assert (tmp_path / "equation_of_state.png").is_file()


def test_disks_can_be_a_mixture(tmp_path):
    words = [*SMALL, "--contacts", "1,1.25,1.4", "--packing-fraction", 0.6, "--output", tmp_path]
    assert spheres(*words, "--quiet", name="disks") == 0
    summary = summary_of(tmp_path)
    assert summary["contacts"] == [[1, 1.25], [1.25, 1.4]]
    assert summary["psi6"] is None
    assert summary["literature_pressure"] is None  # not additive
    assert len(summary["box"]) == 2 and len(summary["contact_values"]) == 3
    again = ["--resume", "--output", tmp_path, "--sweeps", 500, "--quiet"]
    assert spheres(*again, name="disks") == 0
    stored = json.loads((tmp_path / "options.json").read_text())
    assert stored["contacts"] == [1, 1.25, 1.4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--start", "hexagonal"], "--start is hexagonal; it must be random, fcc, hcp or bcc"),
        (["--packing-fraction", 0.61], "random packings go up to 0.6"),
        (["--start", "fcc", "--packing-fraction", 0.75, "--particles", 256], "FCC crystal"),
        (["--start", "fcc", "--particles", 255], "255 spheres fill no FCC crystal"),
        (["--start", "fcc", "--particles", 256, *MIXTURE], "--start fcc is for equal spheres"),
        (["--diameters", "1,1.4", "--contacts", "1,1,1"], "give either --diameters or --contacts"),
        (["--fractions", "0.5,0.5"], "--fractions is for a mixture"),
        (["--diameters", "1,-1.4"], "--diameters is 1,-1.4; all values must be positive"),
        (["--contacts", "1,1.2"], "--contacts has 2 values; it must have one for each pair"),
        ([*MIXTURE[:2], "--fractions", "1,2,3"], "--fractions is 1,2,3; it must be 2 positive"),
        ([*MIXTURE[:2], "--fractions", "0.7,0.7"], "is 0.7,0.7; the sum must be 1, it is 1.4"),
        (["--packing-fractions", "0.2"], "--packing-fractions is for --equation-of-state"),
        (["--particles", 10**12], "this takes about"),
    ],
)
def test_mistakes_have_one_line(words, message, tmp_path, capsys):
    assert spheres(*words, "--device", "cpu", "--output", tmp_path / "new") == 2
    errors = capsys.readouterr().err
    assert message in errors and len(errors.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_tables_of_contacts():
    assert table_of(None, None, None) is None
    assert table_of((1, 2), None, None) == ((1, 1.5), (1.5, 2))
    assert table_of(None, (1, 1, 2), (1, 2, 3, 4, 5, 6)) == ((1, 2, 3), (2, 4, 5), (3, 5, 6))


def test_a_type_without_particles_is_refused(tmp_path, capsys):
    words = ["--diameters", "1,1.4", "--fractions", "0.999,0.001", "--particles", "100"]
    assert spheres(*words, "--output", tmp_path / "none") == 2
    assert "--fractions leaves no particle of type 1: --particles is 100" in capsys.readouterr().err


def test_resuming_with_other_sizes_is_refused(mixed, capsys):
    words = [*SMALL, "--diameters", "1,1.3", "--packing-fraction", 0.45, "--output", mixed]
    assert spheres(*words, "--resume") == 2
    assert "--diameters" in capsys.readouterr().err


def test_equal_particles_do_not_resume_as_a_mixture(finished, capsys):
    assert spheres(*SMALL, *MIXTURE, "--output", finished, "--resume") == 2
    assert "holds other sizes than --diameters" in capsys.readouterr().err


def test_a_mixture_of_disks_from_a_file_is_not_judged_as_equal_disks(tmp_path):
    words = ["--particles", 200, "--sweeps", 50, "--equilibrate", 20, "--device", "cpu", "--quiet"]
    start = [*words, *MIXTURE, "--packing-fraction", 0.7, "--output", tmp_path / "start"]
    assert spheres(*start, name="disks") == 0
    file = tmp_path / "start/trajectory.gsd"
    again = ["--input", file, *words[2:], "--output", tmp_path / "again"]
    assert spheres(*again, name="disks") == 0
    summary = summary_of(tmp_path / "again")
    assert summary["near_freezing"] is False and summary["pressure_error_factor"] == 1
    assert summary["contacts"] == pytest.approx(np.array([[1, 1.2], [1.2, 1.4]]), rel=1e-6)
