# SPDX-License-Identifier: BSD-3-Clause
"""`manymove disks` and `manymove spheres` with --fugacity and --fields.

Comparisons with a standard error allow five of them, over fixed seeds.
"""

from __future__ import annotations

import json
import math

import gsd.hoomd
import numpy as np
import pytest
from commands import COMMAND, assert_mistake, summary_of
from hard_commands import run_hard as run
from processes import run as run_processes

from manymove import HardDisks, HardSpheres, cli
from manymove.fields import HardWall, HarmonicWall, Linear, Plane, Sphere, from_json

START = ["--particles", 300, "--equilibrate", 200, "--frames", 3, "--seed", 3]
OPEN = [*START, "--packing-fraction", 0.15, "--fugacity", 1.2]
WHERE = ["--device", "cpu", "--threads", 1, "--quiet"]
CAVITY = [{"kind": "HardWall", "surface": {"kind": "Sphere", "radius": 4.5}}]
FLOOR = {"kind": "Plane", "normal": [0, 0, 1], "origin": [0, 0, -4]}
SOFT = {"kind": "HarmonicWall", "surface": FLOOR, "stiffness": 30, "range": 1.5}


def written(folder, fields):
    path = folder / "fields.json"
    path.write_text(json.dumps(fields))
    return path


def carnahan_starling(phi):
    """Fugacity and P* of hard spheres."""
    excess = (8 * phi - 9 * phi**2 + 3 * phi**3) / (1 - phi) ** 3
    ratio = (1 + phi + phi**2 - phi**3) / (1 - phi) ** 3
    return 6 / math.pi * phi * math.exp(excess), 6 / math.pi * phi * ratio


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fugacity")
    assert run(folder, *OPEN, "--sweeps", 3000) == 0
    return folder


def test_spheres_have_the_density_and_the_pressure_of_carnahan_and_starling(finished, capsys):
    summary = summary_of(finished)
    density, error = summary["density"], summary["density_error"]
    low, high = (math.pi / 6 * (density + sign * 5 * error) for sign in (-1, 1))
    assert carnahan_starling(low)[0] < 1.2 < carnahan_starling(high)[0]
    assert error < 0.01 * density
    expected = carnahan_starling(math.pi / 6 * density)[1]
    assert abs(summary["pressure"] - expected) < 5 * summary["pressure_error"] < 0.25 * expected
    volume = math.prod(summary["box"])
    assert volume == pytest.approx(300 * math.pi / 6 / 0.15)
    assert summary["mean_particles"] == pytest.approx(density * volume)
    assert summary["replicas"][0]["density"] == density
    assert 0.1 < summary["insertion_acceptance"] < 0.5 and summary["deletion_trials"] > 1e4
    state = HardSpheres.load(finished / "checkpoint-0.state", device="cpu", threads=1)
    assert state.state_hash == summary["replicas"][0]["state_hash"]
    assert state.density_average.value == pytest.approx(density)
    assert state.pressure_average.value == pytest.approx(summary["pressure"])
    records = np.loadtxt(finished / "density.csv", delimiter=",", skiprows=1)
    assert records[:, 2].mean() == pytest.approx(density, abs=1e-7)
    with gsd.hoomd.open(finished / "trajectory.gsd") as frames:
        assert len({frame.particles.N for frame in frames}) > 1
    assert cli.run(["spheres", "--resume", "--output", str(finished)]) == 0
    out = capsys.readouterr().out
    assert "from 300, at fugacity z* 1.2" in out
    assert all(name in out for name in ("density rho*", "mean number", "trial insertions"))


def test_a_resumed_run_is_that_of_one_go(finished, tmp_path, capsys):
    assert run(tmp_path, *OPEN, "--sweeps", 700) == 0
    assert run(tmp_path, "--resume", "--sweeps", 3000) == 0
    whole, resumed = summary_of(finished), summary_of(tmp_path)
    assert resumed["replicas"][0]["state_hash"] == whole["replicas"][0]["state_hash"]
    assert resumed["density"] == pytest.approx(whole["density"], abs=2 * whole["density_error"])
    (tmp_path / "options.json").unlink()
    other = ["--resume", "--sweeps", 3000, "--replicas", 1, "--fugacity", 1.3]
    assert run(tmp_path, *OPEN, *other) == 2
    assert "--fugacity" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "D"), [("disks", 2), ("spheres", 3)])
def test_a_cavity_fills_to_the_density_of_an_ideal_gas(command, D, tmp_path):
    """The cavity has half a particle on average, so that the repulsion is less than an error. The
    profile ends at the wall."""
    path, volume = written(tmp_path, CAVITY), {2: math.pi * 16, 3: math.pi * 4**3 * 4 / 3}[D]
    z = 0.5 / volume
    given = [*START, "--packing-fraction", 0.2, "--start", "empty", "--sweeps", 60_000]
    folder = tmp_path / "run"
    assert run(folder, *given, "--fugacity", z, "--fields", path, command=command) == 0
    summary = summary_of(folder)
    found, error = summary["mean_particles"], summary["mean_particles_error"]
    assert abs(found - 0.5) < 5 * error < 0.15
    assert summary["pressure"] is None and summary["wall_pressures"] == [None, None]
    assert summary["field_energy"] == 0 and summary["fields"] == str(path)
    x, density, _ = np.loadtxt(folder / "profile.csv", delimiter=",", skiprows=1).T
    assert not density[abs(x) > 4.03].any()
    assert density.mean() * math.prod(summary["box"]) == pytest.approx(found)
    assert min(summary["box"]) > 9  # the whole cavity
    kind = {2: HardDisks, 3: HardSpheres}[D]
    state = kind.load(folder / "checkpoint-0.state", device="cpu", threads=1)
    assert state.fields == (HardWall(Sphere(4.5, (0.0,) * D), 0.5),)
    assert state.density_average.value * math.prod(state.box) == pytest.approx(found)


def test_a_slit_has_the_pressure_on_its_walls(tmp_path):
    """The difference of both pressures is the weight of the mean number of spheres; a run with
    other units has the same trajectory."""
    words = ["--walls", "z", "--gravity", 1.0, "--fugacity", 0.3, "--sweeps", 8000]
    given = [*START, "--packing-fraction", 0.15, *words]
    assert run(tmp_path / "one", *given) == 0
    summary = summary_of(tmp_path / "one")
    lower, upper = summary["wall_pressures"]
    assert summary["pressure"] == lower
    weight = summary["mean_particles"] / math.prod(summary["box"][:2])
    error = math.hypot(*summary["wall_pressures_error"])
    assert abs(lower - upper - weight) < 5 * error < 0.7 * weight
    scaled = HardSpheres.load(tmp_path / "one" / "checkpoint-0.state", device="cpu", threads=1)
    start = HardSpheres(2 * scaled.positions, [2 * x for x in scaled.box], 2.0, seed=1)
    plain = HardSpheres(scaled.positions, scaled.box, seed=1)
    hashes = []
    for name, each in (("plain", plain), ("scaled", start)):
        each.write_gsd(tmp_path / f"{name}.gsd")
        folder = tmp_path / name
        of_file = ["--input", tmp_path / f"{name}.gsd", "--equilibrate", 0]
        assert run(folder, *of_file, *words[:-1], 200) == 0
        hashes.append(summary_of(folder)["state_hash"])
    assert hashes[0] == hashes[1]
    state = HardSpheres.load(tmp_path / "scaled" / "checkpoint-0.state", device="cpu", threads=1)
    assert state.fugacity == pytest.approx(0.3 / 8)


def test_the_energy_in_fields_of_a_file_is_measured(tmp_path, capsys):
    """The number of spheres on a soft floor is constant. The records have the energy, too, and
    --resume reads the file again."""
    path = written(tmp_path, [SOFT, {"kind": "Linear", "strength": 0.4}])
    expected = HarmonicWall(Plane((0.0, 0.0, 1.0), (0.0, 0.0, -4.0)), 30, 1.5)
    assert from_json(path) == (expected, Linear(0.4))
    given = [*START, "--start", "fcc", "--particles", 256, "--packing-fraction", 0.2]
    folder = tmp_path / "run"
    assert run(folder, *given, "--fields", path, "--sweeps", 500) == 0
    summary = summary_of(folder)
    state = HardSpheres.load(folder / "checkpoint-0.state", device="cpu", threads=1)
    assert state.fields[0] == expected
    records = np.loadtxt(folder / "field_energy.csv", delimiter=",", skiprows=1)
    assert records[:, 2].mean() == pytest.approx(summary["field_energy"], abs=1e-7)
    assert summary["field_energy"] == pytest.approx(state._profile.values[:, 2].mean())
    assert summary["pressure"] is None and (folder / "profile.csv").is_file()
    assert run(folder, "--resume", "--sweeps", 600) == 0
    written(tmp_path, [SOFT])
    assert run(folder, "--resume", "--sweeps", 700) == 2
    assert "holds other fields than --walls, --gravity, --fields" in capsys.readouterr().err


def test_ranks_share_an_open_system(mpiexec, tmp_path):
    path = written(tmp_path, [{"kind": "Linear", "strength": 0.01}])
    words = [*OPEN, "--particles", 2000, "--sweeps", 60, "--tile", 5, "--replicas", 1]
    for name, further in (("plain", []), ("fields", ["--fields", path])):
        one, two = tmp_path / f"{name}-one", tmp_path / f"{name}-two"
        assert run(one, *words, *further) == 0
        where = [*WHERE, "--output", two, "--decompose"]
        done = run_processes([*mpiexec, *COMMAND, "spheres", *words, *further, *where], timeout=120)
        assert done.returncode == 0, done.stderr
        alone, shared = summary_of(one), summary_of(two)
        assert alone["replicas"][0]["state_hash"] == shared["replicas"][0]["state_hash"]
        assert alone["density"] == shared["density"] and alone["pressure"] == shared["pressure"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fugacity", 0], "--fugacity is 0.0; it must be positive and finite"),
        (["--fugacity", "inf"], "--fugacity is inf; it must be positive and finite"),
        (["--fugacity", "much"], "'--fugacity': Input should be a valid number"),
        (["--fugacity", 1, "--pressure", 1], "--fugacity cannot be combined with --pressure"),
        (["--fugacity", 1, "--springs", 1], "--fugacity cannot be combined with --springs"),
        (["--fugacity", 1, "--diameters", "1,2"], "--fugacity cannot be combined with --diam"),
        (["--start", "empty"], "--start empty needs --fugacity"),
        (["--fugacity", 1, "--equation-of-state"], "--fugacity measures another quantity"),
    ],
)
@pytest.mark.parametrize("command", ["disks", "spheres"])
def test_mistakes_are_named(command, options, message, tmp_path, capsys):
    packing = [] if "--equation-of-state" in options else ["--packing-fraction", 0.2]
    folder = tmp_path / "new"
    made = run(folder, *START, *packing, *options, command=command)
    assert_mistake(made, message, folder, capsys)


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ("{", [], "fields.json: Expecting property name"),
        ("[]", [], "fields.json: the list has no field"),
        ('[{"kind": "Wall"}]', [], "{'kind': 'Wall'} needs a kind, which is HardWall, Harmon"),
        ("[3]", [], "3 needs a kind, which is"),
        ('[{"kind": "Linear"}]', [], "Linear: missing 1 required positional argument: 'str"),
        ('[{"kind": "Linear", "strong": 1}]', [], "Linear: got an unexpected keyword argument"),
        ('{"kind": "Sphere", "radius": 3}', [], "Sphere is a surface; it belongs to a wall"),
        ('{"kind": "HardWall", "surface": 3}', [], "3 needs a kind, which is"),
        (
            '{"kind": "HardWall", "surface": {"kind": "Sphere", "radius": -3}}',
            [],
            "radius must be positive and finite, got -3",
        ),
        (
            '{"kind": "HardWall", "surface": {"kind": "Sphere", "radius": 3, "inside": "no"}}',
            [],
            "Sphere: inside must be True or False, got 'no'",
        ),
        ('{"kind": "Linear", "strength": 1, "direction": [1]}', [], "direction must be two or th"),
        (
            '{"kind": "Linear", "strength": 1}',
            ["--equation-of-state"],
            "but --fields measures another quantity",
        ),
        (
            '{"kind": "Linear", "strength": 1}',
            ["--packing-fraction", 0.2, "--pressure", 1],
            "--fields cannot be combined with --pressure",
        ),
    ],
)
def test_mistakes_in_a_file_of_fields_are_named(fields, options, message, tmp_path, capsys):
    path = tmp_path / "fields.json"
    path.write_text(fields)
    assert run(tmp_path / "new", *START, *options, "--fields", path) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_particles_outside_of_a_cavity_are_named(tmp_path, capsys):
    path = written(tmp_path, CAVITY)
    assert run(tmp_path / "new", *START, "--packing-fraction", 0.2, "--fields", path) == 2
    assert "is in a wall by" in capsys.readouterr().err
