# SPDX-License-Identifier: BSD-3-Clause
"""`manymove disks` and `manymove spheres` with --walls, --gravity and --springs."""

from __future__ import annotations

import math
import os
import signal

import numpy as np
import pytest
from commands import COMMAND, assert_mistake, summary_of
from hard_commands import run_hard as run
from processes import run as run_processes

from manymove import HardDisks, HardSpheres, cli
from manymove.fields import Linear, Springs

START = ["--particles", 300, "--equilibrate", 150, "--frames", 3, "--seed", 3]
FLUID = [*START, "--packing-fraction", 0.2, "--walls", "z", "--gravity", 0.4]
WHERE = ["--device", "cpu", "--threads", 1, "--quiet"]


def table(folder, name="profile"):
    return np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of 3000 sweeps."""
    folder = tmp_path_factory.mktemp("fields")
    assert run(folder, *FLUID, "--sweeps", 3000) == 0
    return folder


def test_the_walls_carry_the_particles(finished):
    """The difference of the pressures is the weight on the area; 5 standard errors."""
    summary = summary_of(finished)
    state = HardSpheres.load(finished / "checkpoint-0.state", device="cpu", threads=1)
    assert state.state_hash == summary["replicas"][0]["state_hash"]
    box = np.array(summary["box"])
    assert box == pytest.approx((300 * math.pi / 6 / 0.2) ** (1 / 3))
    assert state.packing_fraction == pytest.approx(0.2)
    assert state.fields[2] == Linear(0.4, (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
    lower, upper = state.wall_pressures
    assert [*lower] == [summary["pressure"], summary["pressure_error"]]
    assert summary["wall_pressures"] == [lower.value, upper.value]
    assert summary["wall_pressures_error"] == [lower.error, upper.error]
    weight = 300 * 0.4 / (box[0] * box[1])
    assert abs((lower - upper).value - weight) < 5 * (lower - upper).error < 0.7 * weight
    assert summary["field_energy"] == pytest.approx(state._profile.values[:, 2].mean())
    assert summary["field_energy"] < -3 * summary["field_energy_error"] < 0
    assert table(finished) == pytest.approx(state.density_profile, rel=1e-6)
    records = table(finished, "pressure")
    assert records[:, 2] == pytest.approx(state._profile.values[:, 0], abs=1e-8)
    assert summary["literature_pressure"] is None and summary["paper_pressure"] is None


def test_a_resumed_run_is_that_of_one_go(finished, tmp_path, capsys):
    assert run(tmp_path, *FLUID, "--sweeps", 700) == 0
    assert run(tmp_path, "--resume", "--sweeps", 3000, "--gravity", 0.4) == 0
    whole, resumed = summary_of(finished), summary_of(tmp_path)
    assert resumed["replicas"][0]["state_hash"] == whole["replicas"][0]["state_hash"]
    # The records of the shorter run are joined to longer ones.
    assert resumed["pressure"] == pytest.approx(whole["pressure"], abs=whole["pressure_error"])
    joined, profile = table(tmp_path), table(finished)
    assert joined[:, 1].mean() == pytest.approx(profile[:, 1].mean())
    assert run(tmp_path, "--resume", "--gravity", 0.5) == 2
    assert "--gravity 0.4, not 0.5" in capsys.readouterr().err
    (tmp_path / "options.json").unlink()
    other = ["--resume", "--sweeps", 3000, "--replicas", 1, "--springs", 1]
    assert run(tmp_path, *FLUID, *other) == 2
    assert "holds other fields than --walls, --gravity, --fields" in capsys.readouterr().err


def test_a_stopped_run_has_the_records_of_one_go(finished, tmp_path, monkeypatch):
    """Stopped in the middle of a record."""
    run_piece = HardSpheres._run_piece

    def stopped(self, cycles):
        run_piece(self, cycles)
        if self.cycles > 100:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(HardSpheres, "_run_piece", stopped)
        assert run(tmp_path, *FLUID, "--sweeps", 3000) == 130
    one = HardSpheres.load(tmp_path / "checkpoint-0.state", device="cpu", threads=1)
    assert 100 < one.cycles < 150
    assert run(tmp_path, "--resume") == 0
    assert np.array_equal(table(tmp_path), table(finished))
    assert summary_of(tmp_path)["pressure"] == summary_of(finished)["pressure"]


def test_the_table_names_both_walls(finished, capsys):
    assert cli.run(["spheres", "--resume", "--output", str(finished)]) == 0
    lines = dict(
        line.split("  ", 1) for line in capsys.readouterr().out.splitlines() if "  " in line
    )
    assert {"pressure P* on the lower wall", "on the upper wall", "energy in fields"} <= {*lines}
    assert lines["energy in fields"].endswith("kT per particle")


def test_springs_have_the_displacement_of_an_oscillator(tmp_path, capsys):
    """Disks in a dilute lattice, whose springs keep them apart: 2 / k, within 5 errors."""
    given = ["--start", "square", "--packing-fraction", 0.2, "--springs", 200, "--sweeps", 2000]
    assert run(tmp_path, *START, "--particles", 289, *given, command="disks") == 0
    summary = summary_of(tmp_path)
    assert summary["pressure"] is None and "wall_pressures_error" in summary
    value, error = summary["squared_displacement"], summary["squared_displacement_error"]
    assert abs(value - 2 / 200) < 5 * error < 0.1 * value
    assert summary["replicas"][0]["squared_displacement"] == value
    assert table(tmp_path, "squared_displacement")[:, 2].mean() == pytest.approx(value)
    state = HardDisks.load(tmp_path / "checkpoint-0.state", device="cpu", threads=1)
    (springs,) = state.fields
    assert isinstance(springs, Springs) and springs.stiffness == 200
    assert summary["field_energy"] == pytest.approx(100 * value)
    assert not (tmp_path / "profile.csv").exists()


def test_a_slit_of_a_mixture_has_the_asked_width(tmp_path):
    """Lengths are in the unit of the diameters; the smaller disks come closer to the walls."""
    given = ["--diameters", "2,1", "--packing-fraction", 0.3, "--wall-distance", 9, "--walls", "x"]
    assert run(tmp_path, *START, *given, "--sweeps", 400, "--replicas", 2, command="disks") == 0
    summary = summary_of(tmp_path)
    assert summary["box"][0] == pytest.approx(9)
    assert summary["pressure"] == pytest.approx(np.mean(summary["wall_pressures"]))
    places, density, _ = table(tmp_path).T
    assert (density[abs(places) > 4.03] == 0).all()
    assert (density[(abs(places) > 3.6) & (abs(places) < 3.95)] > 0).all()
    assert len({each["state_hash"] for each in summary["replicas"]}) == 2
    state = HardDisks.load(tmp_path / "checkpoint-0.state", device="cpu", threads=1)
    assert state.packing_fraction == pytest.approx(0.3)


def test_the_box_of_a_file_has_its_walls(tmp_path):
    """Lengths of options are in the diameters of the file."""
    box, diameter = (6.0, 6.0, 8.0), 0.5
    axis = np.arange(6) * 0.9 - 2.25
    places = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    HardSpheres(places, box, diameter, seed=1, device="cpu").write_gsd(tmp_path / "start.gsd")
    given = ["--input", tmp_path / "start.gsd", "--equilibrate", 20, "--sweeps", 20]
    folder = tmp_path / "run"
    assert run(folder, *given, "--walls", "z", "--gravity", 1.0, "--springs", 2.0) == 0
    state = HardSpheres.load(folder / "checkpoint-0.state", device="cpu", threads=1)
    lower, upper, gravity, springs = state.fields
    assert (lower.surface.origin[2], upper.surface.origin[2]) == (-4.0, 4.0)
    assert (gravity.strength, springs.stiffness) == (2.0, 8.0)
    assert springs.points == pytest.approx(places, abs=1e-6)


def test_several_densities_between_walls(tmp_path):
    """Also of so few disks that the default packing fraction would be too high for them."""
    fractions = ["--equation-of-state", "--packing-fractions", "0.2,0.3", "--sweeps", 600]
    assert run(tmp_path, *START, *fractions, "--walls", "y", command="disks") == 0
    summary = summary_of(tmp_path)
    low, high = summary["pressure"]
    assert 0 < low < high
    assert {"profile.csv"} < {path.name for path in (tmp_path / "packing_fraction_0.3").iterdir()}


def test_ranks_share_the_system(mpiexec, tmp_path):
    """Also with springs, whose points all ranks need."""
    words = [*FLUID, "--particles", 2000, "--springs", 0.01, "--sweeps", 60, "--tile", 5]
    words += ["--replicas", 1]
    assert run(tmp_path / "one", *words) == 0
    where = [*WHERE, "--output", tmp_path / "two", "--decompose"]
    done = run_processes([*mpiexec, *COMMAND, "spheres", *words, *where], timeout=120)
    assert done.returncode == 0, done.stderr
    one, two = (summary_of(tmp_path / name) for name in ("one", "two"))
    assert one["replicas"][0]["state_hash"] == two["replicas"][0]["state_hash"]
    assert one["pressure"] == two["pressure"] and one["field_energy"] == two["field_energy"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--walls", "w"], "--walls is w; it must be one of x, y"),
        (["--walls", "xy"], "--walls is xy; it must be one of x, y"),
        (["--gravity", 1], "--gravity needs --walls"),
        (["--wall-distance", 9], "--wall-distance needs --walls"),
        (["--walls", "x", "--gravity", "nan"], "--gravity is nan; it must be finite"),
        (["--walls", "x", "--gravity", "-1"], "--gravity is -1.0; it must be finite and"),
        (["--walls", "x", "--gravity", "much"], "'--gravity': Input should be a valid number"),
        (["--walls", "x", "--wall-distance", 0], "--wall-distance is 0.0; it must be positive"),
        (["--walls", "x", "--wall-distance", 2.5], "--walls are 2.5 apart"),
        (["--walls", "x", "--particles", 1], "raise --wall-distance or --particles"),
        (["--springs", -1], "--springs is -1.0; it must be positive"),
        (["--walls", "x", "--pressure", 1], "--walls cannot be combined with --pressure"),
        (["--springs", 1, "--pressure", 1], "--springs cannot be combined with --pressure"),
        (
            ["--walls", "x", "--diameters", "1,1.1", "--swap-rounds", 2],
            "--walls cannot be combined with --swap-rounds",
        ),
        (
            ["--walls", "x", "--packing-fraction", 0.6, "--wall-distance", 5],
            "0.6 is too high for --walls",
        ),
        (["--springs", 1, "--equation-of-state"], "--equation-of-state measures the pressure"),
    ],
)
@pytest.mark.parametrize("command", ["disks", "spheres"])
def test_mistakes_are_named(command, options, message, tmp_path, capsys):
    packing = [] if "--equation-of-state" in options else ["--packing-fraction", 0.2]
    folder = tmp_path / "new"
    made = run(folder, *START, *packing, *options, command=command)
    assert_mistake(made, message, folder, capsys)


def test_crystals_and_files_have_no_walls_at_a_distance(tmp_path, capsys):
    assert run(tmp_path / "new", *START, "--start", "fcc", "--walls", "z") == 2
    assert "--walls needs --start random or --input; --start is fcc" in capsys.readouterr().err
    box = (6.0, 6.0, 6.0)
    HardSpheres([[0.0, 0.0, -3.0]], box, 1.0, seed=1, device="cpu").write_gsd(tmp_path / "a.gsd")
    given = ["--input", tmp_path / "a.gsd", "--walls", "z"]
    assert run(tmp_path / "new", *given, "--wall-distance", 6) == 2
    assert "--wall-distance is not for --input, which has a box" in capsys.readouterr().err
    assert run(tmp_path / "new", *given) == 2
    assert "particle 0 is in a wall" in capsys.readouterr().err
