# SPDX-License-Identifier: BSD-3-Clause
"""`manymove free-energy` and `manymove coexistence`: results, interruptions and bad options."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import time

import numpy as np
import pytest
from commands import CLEAN, COMMAND, arguments, summary_of
from hard_commands import (
    assert_bad_options,
    assert_damage_is_refused,
    finished,
    stopped_after_systems,
)
from hard_commands import result_of_systems as result

from manymove import EinsteinCrystal, Estimate, hcp_packing
from manymove.analysis.sphere_reference import fluid_factor, solid_factor
from manymove.cli import run
from manymove.hard_particles import systems

CRYSTAL = "--particles 32,108 --sweeps 300 --equilibrate 100 --points 6"
PRESSURES = (
    "--particles 108 --sweeps 8000 --equilibrate 300 --fluid 0.2,0.35,0.45,0.49,0.52 "
    "--solid 0.52,0.55,0.6"
)
LOOP = {
    "packing_fractions": [0.698, 0.702, 0.706, 0.71, 0.714, 0.718],
    "pressure": [9.16934, 9.1882, 9.1859, 9.1842, 9.1819, 9.1951],
    "pressure_error": [4e-5, 3e-4, 3e-4, 3e-4, 4e-4, 4e-4],
}


ANCHOR = {
    "crystal": "fcc",
    "packing_fraction": 0.544993,
    "free_energy": 4.9590,
    "free_energy_error": 2e-4,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return finished("free-energy", CRYSTAL, tmp_path_factory.mktemp("free_energy") / "whole")


def test_the_summary_has_all_terms(whole):
    summary, found = result(whole)
    assert summary["complete"] and summary["density"] == pytest.approx(1.04086, abs=1e-5)
    assert [row["N"] for row in summary["sizes"]] == [32, 108]
    for row in summary["sizes"]:
        terms = [row[name] for name in ("ideal", "hardness", "release")]
        assert row["free_energy"] == pytest.approx(sum(terms))
        errors = [row[f"{name}_error"] for name in ("ideal", "hardness", "release")]
        assert row["free_energy_error"] == pytest.approx(math.hypot(*errors))
        assert len(row["spring_constants"]) == len(row["squared_displacement"]) == 6
        assert abs(row["free_energy"] - 4.9) < 0.5
    assert summary["free_energy_error"] > row["free_energy_error"] and len(found) == 12
    assert len({each["state_hash"] for each in found.values()}) == 12
    assert [row["converged"] for row in summary["sizes"]] == [
        all(each["converged"] for name, each in found.items() if name.startswith(f"{N} "))
        for N in (32, 108)
    ]
    assert summary["reference"] == "crystal"
    assert summary["converged"] == all(row["converged"] for row in summary["sizes"])
    line = "the straight line in 1/N has as many coefficients as there are sizes"
    assert summary["warnings"][-1] == f"{line}: more numbers of particles"


def test_an_hcp_crystal_has_two_sites_in_its_cell(tmp_path):
    options = "--crystal hcp --particles 96 --sweeps 100 --equilibrate 20 --points 6"
    assert run(arguments("free-energy", options, tmp_path / "hcp")) == 0
    summary = summary_of(tmp_path / "hcp")
    path = EinsteinCrystal(*hcp_packing(96, summary["packing_fraction"]), points=6, basis=2)
    assert summary["sizes"][0]["ideal"] == pytest.approx(path.ideal())
    assert summary["free_energy"] is summary["converged"] is None


@pytest.mark.parametrize(("shift", "warned"), [(0.0, False), (0.05, True)])
def test_sizes_that_are_not_on_a_line_have_a_warning(shift, warned):
    from manymove.hard_particles.free_energy import _infinite

    values = [5 - 7 / N - math.log(N) / (2 * N) for N in (108, 256, 500)]
    values[1] += shift
    rows = [
        {"N": N, "free_energy": value, "free_energy_error": 3e-3, "converged": converged}
        for N, value, converged in zip((108, 256, 500), values, (True, False, True), strict=True)
    ]
    found, texts = _infinite(rows)
    assert found["converged"] is False and (found["chi_squared"] > 4) is warned
    assert [text[:44] for text in texts] == [
        "the straight line in 1/N does not fit: chi^2"
    ] * warned


def test_threads_do_not_change_the_results(whole, tmp_path):
    given = arguments("free-energy", CRYSTAL, tmp_path / "two")
    given[given.index("--threads") + 1] = "2"
    assert run(given) == 0
    assert result(tmp_path / "two") == result(whole)


def test_a_stopped_run_is_resumed(whole, tmp_path, capsys):
    folder = tmp_path / "stopped"
    with stopped_after_systems(3) as done:
        assert run(arguments("free-energy", CRYSTAL, folder)) == 130
    assert f"manymove free-energy --resume --output {folder}" in capsys.readouterr().err
    assert not (folder / "summary.json").exists() and done == [1, 2, 3]
    assert run(["free-energy", "--resume", "--quiet", "--output", str(folder)]) == 0
    assert result(folder) == result(whole)


@pytest.mark.waits
@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_is_resumed(whole, signal_, tmp_path):
    folder = tmp_path / "killed"
    command = [*COMMAND, *arguments("free-energy", CRYSTAL, folder)]
    process = subprocess.Popen(command, env=CLEAN, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not (folder / systems.FILE).exists() and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(signal_)
    process.communicate(timeout=60)
    assert process.returncode in (130 if signal_ == signal.SIGINT else -signal_, 0)
    assert run(["free-energy", "--resume", "--quiet", "--output", str(folder)]) == 0
    assert result(folder) == result(whole)


def test_the_table(whole, capsys):
    command = ["free-energy", "--resume", "--output", str(whole)]
    assert run(command) == 0
    out = capsys.readouterr().out
    title, _, _, *rows = out[out.index("FCC crystal") :].splitlines()
    assert "packing fraction 0.544993 (rho d^3 = 1.04086)" in title
    assert [line.split()[0] for line in rows[:3]] == ["32", "108", "infinite"]
    warned = summary_of(whole)["warnings"]
    assert [line for line in rows if line.startswith("warning")] == [
        f"warning: {t}" for t in warned
    ]


# ---- coexistence ----


@pytest.fixture
def anchor(tmp_path):
    """A file as `free-energy` writes it, with the published value."""
    path = tmp_path / "anchor.json"
    path.write_text(json.dumps(ANCHOR))
    return path


def of_equations_of_state(systems, *_):
    """Pressures of published equations of state, which coexist at 11.57."""
    found = {}
    for one in systems:
        phase, phi = one.name.split()
        factor = fluid_factor if phase == "fluid" else solid_factor
        pressure = 6 * float(phi) / math.pi * factor(float(phi))
        found[one.name] = Estimate(pressure, 1e-4 * pressure).to_dict()
    return found


def test_fluid_and_crystal(anchor, tmp_path):
    """One seed in 5,000 is farther from the published pressure than 3.7 errors."""
    folder = tmp_path / "both"
    options = f"{PRESSURES} --free-energy {anchor}"
    assert run(arguments("coexistence", options, folder)) == 0
    summary, found = result(folder)
    assert len(found) == 8 and summary["N"] == 108
    assert summary["pressure"] == pytest.approx(11.57, abs=3.7 * summary["pressure_error"])
    assert 0.05 < summary["pressure_error"] < 0.8
    assert summary["freezing"] == pytest.approx(0.492, abs=0.02)
    assert summary["melting"] == pytest.approx(0.543, abs=0.02)
    assert summary["crystal"]["packing_fractions"] == [0.52, 0.55, 0.6]
    for name in ("fluid", "crystal"):
        branch = summary[name]
        assert all(0 < each < 0.5 for each in branch["pressure_error"])
        assert branch["fit"][0][0] >= branch["packing_fractions"][0]
    few = "the equation of state of the crystal has as many coefficients as there are pressures"
    assert summary["crystal"]["chi_squared"] is None
    assert f"{few}: more densities" in summary["warnings"]


def test_further_densities_are_added(anchor, tmp_path, capsys):
    """The finished systems are kept, and each new one has a seed of its own."""
    folder = tmp_path / "both"
    options = PRESSURES.replace("8000", "400") + f" --free-energy {anchor}"
    run(arguments("coexistence", options, folder))
    path = folder / systems.FILE
    before = json.loads(path.read_text())
    more = ["--fluid", "0.2,0.3,0.35,0.4,0.45,0.49,0.52", "--solid", "0.52,0.55,0.58,0.6"]
    resumed = ["coexistence", "--resume", "--quiet", "--output", str(folder)]
    run([*resumed, *more])
    after = json.loads(path.read_text())
    assert [*after] == [*before, "fluid 0.3", "fluid 0.4", "crystal 0.58"]
    assert {name: after[name] for name in before} == before
    seeds = [after[name]["options"]["seed"] for name in [*after][-3:]]
    assert seeds == [1 + 5, 1 + 6, 1 + 1000 + 3]
    assert len(summary_of(folder)["fluid"]["pressure"]) == 7
    capsys.readouterr()
    stored = (folder / "options.json").read_text()
    assert run([*resumed, "--fluid", "0.2,0.3,0.35,0.4,0.45"]) == 2
    assert "has the result of fluid 0.49: give" in capsys.readouterr().err
    assert (folder / "options.json").read_text() == stored


def test_a_loop(tmp_path, capsys):
    path = tmp_path / "loop.json"
    path.write_text(json.dumps(LOOP))
    command = ["coexistence", "--loop", str(path), "--output", str(tmp_path / "out")]
    assert run(command) == 0
    summary = summary_of(tmp_path / "out")
    assert summary["pressure"] == pytest.approx(9.185, abs=5e-4) and summary["loop"] == LOOP
    assert "pressure P*        9.1850" in capsys.readouterr().out
    assert run([*command[:2], str(path), "--resume", *command[3:]]) == 0
    assert run(command) == 2 and "holds results" in capsys.readouterr().err


def test_the_free_energy_is_measured_without_a_file(anchor, tmp_path, monkeypatch):
    """With the default options of `free-energy`, and the seed and device of the command."""
    from manymove.hard_particles import coexistence

    asked = []

    def measured(settings):
        asked.append(settings)
        return json.loads(anchor.read_text())

    monkeypatch.setattr(coexistence.free_energy, "run", measured)
    monkeypatch.setattr(coexistence, "measured", of_equations_of_state)
    folder = tmp_path / "both"
    assert run(arguments("coexistence", "--particles 32000 --seed 3", folder)) == 0
    summary = summary_of(folder)
    assert summary["pressure"] == pytest.approx(11.5727, abs=0.01)
    assert (summary["freezing"], summary["melting"]) == pytest.approx((0.4917, 0.5433), abs=3e-4)
    (settings,) = asked
    assert settings.output == folder / "free_energy" and settings.seed == 3
    assert settings.particles == (108, 256, 500) and settings.device == "cpu"


def test_an_anchor_is_a_number_and_passes_its_warnings_on(tmp_path, monkeypatch):
    from manymove.hard_particles import coexistence

    monkeypatch.setattr(coexistence, "measured", of_equations_of_state)
    path = tmp_path / "anchor.json"
    path.write_text(json.dumps({**ANCHOR, "free_energy": 5, "warnings": ["too short"]}))
    folder = tmp_path / "both"
    options = f"--particles 32000 --free-energy {path}"
    assert run(arguments("coexistence", options, folder)) == 0
    summary = summary_of(folder)
    assert summary["free_energy"] == [5.0, 2e-4] and summary["dimensions"] == 3
    assert summary["warnings"] == ["free energy: too short"]


def test_an_equation_of_state_that_does_not_fit_has_a_warning(anchor, tmp_path, monkeypatch):
    """Pressures of the fluid with a scatter of 1 % and errors of 1e-4."""
    from manymove.hard_particles import coexistence

    random = np.random.default_rng(1)

    def scattered(systems, *_):
        return {
            name: {**each, "value": each["value"] * (1 + 0.01 * float(random.normal()))}
            if name.startswith("fluid")
            else each
            for name, each in of_equations_of_state(systems).items()
        }

    monkeypatch.setattr(coexistence, "measured", scattered)
    folder = tmp_path / "both"
    options = f"--particles 32000 --free-energy {anchor}"
    assert run(arguments("coexistence", options, folder)) == 0
    (warning,) = summary_of(folder)["warnings"]
    assert "the equation of state of the fluid does not fit: chi^2" in warning


def test_a_loop_needs_no_device(tmp_path):
    path = tmp_path / "loop.json"
    path.write_text(json.dumps(LOOP))
    command = ["coexistence", "--loop", str(path), "--output", str(tmp_path / "out")]
    assert run([*command, "--device", "cuda:77"]) == 0


def test_pressures_are_kept_if_the_phases_do_not_meet(tmp_path, monkeypatch, capsys):
    from manymove.hard_particles import coexistence

    monkeypatch.setattr(coexistence, "measured", of_equations_of_state)
    path = tmp_path / "anchor.json"
    path.write_text(json.dumps({**ANCHOR, "free_energy": 9.0}))
    folder = tmp_path / "both"
    options = f"--particles 32000 --free-energy {path}"
    assert run(arguments("coexistence", options, folder)) == 2
    assert "do not have the same chemical potential" in capsys.readouterr().err
    summary = summary_of(folder)
    assert not summary["complete"] and len(summary["fluid"]["pressure"]) == 8


def test_a_loop_is_for_new_runs_only(tmp_path, capsys):
    folder, path = tmp_path / "both", tmp_path / "loop.json"
    folder.mkdir()
    path.write_text(json.dumps(LOOP))
    (folder / "options.json").write_text(json.dumps({"loop": None, "free_energy": None}))
    for option in ("--loop", "--free-energy"):
        command = ["coexistence", "--resume", option, str(path), "--output", str(folder)]
        assert run(command) == 2
        assert f"has no {option}, which needs a new run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("D", "given"),
    [
        (2, {}),
        (3, {"dimensions": 3}),
        (3, {"runs": [{"box": [9, 9, 9]}]}),
        (2, {"runs": [{"N": 3}]}),
        (2, {"runs": {"N": 3}}),
    ],
)
def test_densities_of_a_loop(D, given, tmp_path, capsys):
    path = tmp_path / "loop.json"
    path.write_text(json.dumps({**LOOP, **given}))
    assert run(["coexistence", "--loop", str(path), "--output", str(tmp_path / "out")]) == 0
    freezing = summary_of(tmp_path / "out")["freezing"]
    out = capsys.readouterr().out
    assert f"densities rho d^{D}  {2 * D / math.pi * freezing:.4f}" in out
    assert "as many coefficients as there are pressures" in out


def test_results_of_other_options_are_refused(tmp_path):
    """Also from Python, where no options are stored."""
    from manymove.hard_particles.free_energy import FreeEnergySettings
    from manymove.hard_particles.free_energy import run as job

    given = {"particles": (32,), "points": 6, "sweeps": 100, "equilibrate": 10, "quiet": True}
    given |= {"output": tmp_path / "out", "device": "cpu", "threads": 1}
    job(FreeEnergySettings(**given))
    for change in ({"packing_fraction": 0.6}, {"seed": 2}, {"sweeps": 200}):
        with pytest.raises(ValueError, match="results of other options: 32 particles, spring 0"):
            job(FreeEnergySettings(**{**given, **change}, resume=True))


@pytest.mark.parametrize("particles", [(), (108, 108), (108, 108, 32)])
def test_numbers_of_particles_are_different(particles):
    from manymove.hard_particles.free_energy import FreeEnergySettings

    with pytest.raises(ValueError, match="--particles must be different numbers"):
        FreeEnergySettings(particles=particles)


def test_a_gpu_runs_one_number_of_particles_at_a_time(monkeypatch):
    from manymove.hard_particles.free_energy import FreeEnergySettings

    some = [systems.System(f"{i}", None, N, {}) for i, N in enumerate((32, 32, 108, 108, 108))]
    monkeypatch.setattr(systems, "on_gpu", lambda device: True)
    batches = systems._batches(some, FreeEnergySettings(device="cpu"))
    assert [[each.N for each in batch] for batch in batches] == [[32, 32], [108, 108, 108]]


BAD = [
    ("free-energy --particles 100", "100 spheres fill no FCC crystal"),
    ("free-energy --particles 4", "the box must be at least three diameters wide"),
    ("free-energy --particles 32,32", "a value occurs twice"),
    ("free-energy --packing-fraction 0.75", "the FCC crystal of touching spheres has 0.740"),
    ("free-energy --packing-fraction 0.74048048", "leaves a distance of 1"),
    ("free-energy --packing-fraction 0.1", "--packing-fraction is 0.1; it must be at least 0.5"),
    ("free-energy --seed 99999999999999999999", "it must be in [0, 9223372036854775808)"),
    ("free-energy --crystal bcc", "--crystal is bcc; it must be fcc or hcp"),
    ("free-energy --reference atom", "--reference is atom; it must be molecule or crystal"),
    ("free-energy --points 1", "--points is 1; it must be at least 6"),
    ("free-energy --points 33", "--points must be from 6 to 32, got 33"),
    ("free-energy --sweeps 99999999999999", "trial moves take about 3.2e+02 years"),
    ("free-energy --sweeps 1", "--sweeps is 1; it must be at least 100"),
    ("free-energy --resume", "--resume: no run in"),
    ("free-energy --device cuda:77", "CUDA"),
    ("coexistence --particles 100", "100 spheres fill no FCC crystal"),
    ("coexistence --fluid 0.1,0.2,0.3", "--fluid has 3 values; it must have at least 4"),
    ("coexistence --solid 0.5,0.6", "--solid has 2 values; it must have at least 3"),
    ("coexistence --fluid 0.1,0.2,0.3,0.7", "--fluid has 0.7; it must be positive and at most 0.5"),
    ("coexistence --solid 0.2,0.55,0.6", "--solid is 0.2; it must be at least 0.5"),
    ("coexistence --solid 0.55,0.56,0.6", "it must contain 0.544993"),
    ("coexistence --solid 0.5,0.6,0.75", "the FCC crystal of touching spheres has 0.740"),
    ("coexistence --loop none.json", "--loop: none.json: No such file"),
    ("coexistence --loop none.json --free-energy none", "--loop has both phases"),
    ("coexistence --free-energy none", "--free-energy: none: No such file"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[options for options, _ in BAD])
def test_bad_options(options, message, tmp_path, capsys, monkeypatch):
    assert_bad_options(options, message, tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--loop", "[1]", "is not a summary"),
        ("--loop", '{"pressure": [1, 2, 3, 4]}', "must have lists of at least four numbers"),
        ("--loop", "{", "--loop: "),
        ("--loop", json.dumps({**LOOP, "complete": False}), "a run that was stopped early"),
        (
            "--loop",
            json.dumps({**LOOP, "pressure_error": [4e-5, 3e-4, None, 3e-4, 4e-4, 4e-4]}),
            "has no pressure with an error at 0.706",
        ),
        ("--loop", json.dumps({**LOOP, "dimensions": "2"}), "must be 2 or 3, got '2'"),
        (
            "--loop",
            json.dumps({**LOOP, "packing_fractions": [0.7, 0.7, 0.7, 0.71, 0.71, 0.72]}),
            "at least four different packing fractions, got 3",
        ),
        ("--free-energy", json.dumps({**ANCHOR, "packing_fraction": 0.65}), "must contain 0.65"),
        ("--free-energy", '{"crystal": "hcp", "free_energy": 4.9}', "has no free energy"),
        ("--free-energy", '{"crystal": "fcc", "free_energy": null}', "has no free energy"),
    ],
)
def test_bad_files(option, content, message, tmp_path, capsys):
    path = tmp_path / "given.json"
    path.write_text(content)
    assert run(["coexistence", option, str(path), "--output", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", ['{"a": 1', '{"a": {"value": 1}}', '{"a": 1}', "[1]"])
def test_a_damaged_file_is_refused(content, whole, tmp_path, capsys):
    assert_damage_is_refused("free-energy", content, whole, tmp_path, capsys)
