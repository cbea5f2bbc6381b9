"""The scripts of the examples: a quick run of each, and the figures from recorded files."""

from __future__ import annotations

import json
import math
import os
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from documents import ROOT
from processes import run

from manymove.lammps import host

EXAMPLES = ROOT / "examples"
if not EXAMPLES.is_dir():
    pytest.skip("there are no examples beside the tests", allow_module_level=True)
pytest.importorskip("matplotlib")

RESULTS = ROOT / "docs/benchmarks/results"
# Every file with a main program; the others are modules of these.
SCRIPTS = sorted(
    str(path.relative_to(EXAMPLES))
    for path in [*EXAMPLES.glob("*/*.py"), *EXAMPLES.glob("papers/*/*.py")]
    if "__main__" in path.read_text()
)
# Script: how it draws, with the names of recorded files.
FIGURES = {
    "bilayer/bilayer.py": "dpd-bilayer",
    "charge_renormalization/energies.py": "cpu-electrolyte-energies",
    "counterions/counterions.py": "cpu-counterions",
    "dpd_viscosity/in_hoomd.py": "cpu-hoomd-dpd-viscosity",
    "dpd_viscosity/viscosity.py": "cpu-dpd-viscosities",
    "hard_spheres/binary_disks.py": "cpu-binary-disks",
    "hard_spheres/coexistence.py": "cpu-spheres-coexistence",
    "hard_spheres/free_energy.py": "cpu-spheres-free-energy",
    "hard_spheres/equation_of_state.py": "h100-spheres-equation-of-state",
    "hard_disks/rank_scaling.py": "h200x4-disks-ranks",
    "hard_spheres/constant_pressure.py": "cpu-constant-pressure",
    "hard_spheres/crystallization.py": "h100-spheres-crystallization",
    "hard_spheres/interface_velocity.py": "spheres-interface-velocity",
    "hard_spheres/swap_moves.py": "swap-moves",
    "hard_spheres/vapor_liquid.py": "cpu-spheres-vapor-liquid",
    "hard_spheres/wetting.py": "cpu-spheres-wetting",
    "hoomd_bilayer/run.py": "cpu-hoomd-bilayer",
    "hoomd_hard_spheres/run.py": "cpu-hoomd-spheres",
    "n_butane_in_mfi/run.py": "cpu-n-butane-in-mfi",
    "methane_in_mfi/isotherm.py": "cpu-adsorption-isotherm",
}


def text_of(path: Path, seen: set[Path]) -> str:
    """Text of a script and of the modules of its folder that it imports."""
    seen.add(path)
    text = path.read_text()
    for name in re.findall(r"^ *(?:from|import) (\w+)", text, re.MULTILINE):
        module = path.with_name(f"{name}.py")
        if module.exists() and module not in seen:
            text += text_of(module, seen)
    return text


def missing(script: str) -> str | None:
    """What the script needs and is not installed."""
    text = text_of(EXAMPLES / script, set())
    if "manymove.lammps" in text and (reason := host.missing()):
        return reason
    if "scipy" in text and find_spec("scipy") is None:
        return "scipy is not installed"
    if "import hoomd" in text and find_spec("hoomd") is None:
        return "HOOMD-blue is not installed"
    if "import h5py" in text and find_spec("h5py") is None:
        return "h5py is not installed"
    if "mpiexec" in text and (shutil.which("mpiexec") is None or find_spec("mpi4py") is None):
        return "no MPI is installed"
    return None


@pytest.fixture
def main_of(tmp_path, monkeypatch, capsys) -> Callable[[str, list[object]], tuple[object, str]]:
    """Runs a script in this process, which has imported what it needs, in the folder of the test.
    Returns its exit code and its standard error."""

    def run_here(script: str, words: list[object]) -> tuple[object, str]:
        path, before = EXAMPLES / script, set(sys.modules)
        capsys.readouterr()
        code: object = 0
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setenv("MPLBACKEND", "Agg")
            patch.syspath_prepend(path.parent)
            patch.setattr(sys, "argv", [str(path), *map(str, words)])
            try:
                runpy.run_path(str(path), run_name="__main__")
            except SystemExit as end:
                code = end.code or 0
        for name in set(sys.modules) - before:  # other folders have modules of the same names
            if str(EXAMPLES) in (getattr(sys.modules[name], "__file__", None) or ""):
                del sys.modules[name]
        return code, capsys.readouterr().err

    return run_here


def start(script: str, words: list[str], folder: Path) -> None:
    command = [sys.executable, EXAMPLES / script, *words]
    done = run(command, cwd=folder, env={**os.environ, "MPLBACKEND": "Agg"}, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_quick_run_leaves_a_summary_and_a_picture(script, tmp_path):
    if reason := missing(script):
        pytest.skip(reason)
    start(script, ["--quick", "--output", "here"], tmp_path)
    record = json.loads((tmp_path / "here/summary.json").read_text())
    assert {"machine", "date", "commit"} <= record.keys()
    assert (tmp_path / "here/picture.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_results_of_an_earlier_run_are_replaced_only_with_overwrite(tmp_path):
    """Several scripts have the same default folder, such as out/table_2."""
    script, words = "papers/mpmc/equation_6.py", ["--quick", "--output", "here"]
    (tmp_path / "here").mkdir()
    (tmp_path / "here/summary.json").write_text("of hours")
    command = [sys.executable, EXAMPLES / script, *words]
    done = run(command, cwd=tmp_path, env=os.environ, timeout=60)
    assert done.returncode == 2
    assert "here holds the results of an earlier run (summary.json): --overwrite" in done.stderr
    assert (tmp_path / "here/summary.json").read_text() == "of hours"
    (tmp_path / "file").write_text("")
    done = run([*command[:-1], "file"], cwd=tmp_path, env=os.environ, timeout=60)
    assert done.returncode == 2 and "Not a directory: '--output file'" in done.stderr
    start(script, [*words, "--overwrite"], tmp_path)
    assert "overwrite" not in json.loads((tmp_path / "here/summary.json").read_text())


BAD = [
    ("papers/mpmc/table_1_lists.py", "--piece 3", "--piece is 3; it must be a multiple of 4, and"),
    ("papers/mpmc/table_1_lists.py", "--packing-fractions 0", "--packing-fractions has 0; it"),
    ("papers/mpmc/table_1_engine.py", "--replicas 0", "--replicas is 0; it must be at least 1"),
    ("papers/mpmc/section_3_3.py", "--particles -1", ""),
    ("papers/mpmc/equation_6.py", "--ranges 0", ""),
    ("hard_spheres/crystallization.py", "--points 0", "--points is 0; it must be at least 1"),
    ("hard_spheres/vapor_liquid.py", "--temperatures 1.3", "--scan-temperature is 1.2; it must"),
    ("hard_spheres/wetting.py", "--densities 0.2 0.3 0.95", "--densities must be positive and at"),
    ("hard_spheres/wetting.py", "--densities 0.2 0.3 0.2", "--densities must be at least 3"),
    ("hard_spheres/wetting.py", "--width 9", "--width is 9; it must be at least 12"),
    ("hard_spheres/interface_velocity.py", "--seeds 0", "--seeds is 0; it must be at least 1"),
    ("dpd_viscosity/in_hoomd.py", "--runs 1", "--runs is 1; it must be at least 2"),
    ("hoomd_hard_disks/run.py", "--period 0", "--period is 0; it must be at least 1"),
    ("papers/brush/figure_12.py", "--ions 7", ""),
    ("papers/wrmc/figure_9.py", "--device none", ""),
    ("papers/wrmc/appendix_b.py", "--proposals 1", "--proposals is 1; it must be at least 2"),
]


@pytest.fixture
def refused(main_of) -> Callable[[str, list[str]], str]:
    """The error of a script, which is one line after those of argparse."""

    def error_of(script: str, words: list[str]) -> str:
        code, error = main_of(script, [*words, "--output", "here"])
        assert code == 2, error[-2000:]
        last = error.splitlines()[-1]
        assert last.startswith(f"{Path(script).name}: error: ") and "Traceback" not in error
        return last

    return error_of


@pytest.mark.parametrize(("script", "words", "message"), BAD)
def test_bad_input_is_one_line(script, words, message, refused):
    assert message in refused(script, ["--quick", *words.split()])


@pytest.mark.parametrize("script", ["dpd/momentum.py", "papers/wrmc/table_2.py"])
def test_files_that_are_not_summaries_are_refused(script, tmp_path, refused):
    file = tmp_path / "file.json"
    for text, message in (
        (None, "No such file"), ("{no", "is not a summary: "), ("[]", "is not a summary"),
        ("{}", "is not a summary of this script: no '"),
    ):  # fmt: skip
        if text is not None:
            file.write_text(text)
        error = refused(script, ["--draw", str(file)])
        assert str(file) in error and message in error


def test_frames_of_drops_need_not_begin_where_the_measurement_does(tmp_path):
    if reason := missing("sessile_drop/drop.py"):
        pytest.skip(reason)
    options = "--walls -15 --edge 20 --width 8 --settle 330 --steps 200 --frame 40".split()
    (tmp_path / "here").mkdir()
    (tmp_path / "here/frame.520.dump").write_text("of another run")
    start("sessile_drop/drop.py", [*options, "--output", "here"], tmp_path)
    (drop,) = json.loads((tmp_path / "here/summary.json").read_text())["drops"]
    assert 120 < drop["contact_angle"] < 175


@pytest.mark.parametrize(
    "script",
    [
        "dpd_viscosity/in_hoomd.py", "hoomd_bilayer/run.py", "hoomd_hard_disks/run.py",
        "hoomd_hard_spheres/run.py",
    ],
)  # fmt: skip
def test_a_module_that_is_not_installed_is_named(script, tmp_path):
    hide = "import runpy, sys; sys.modules['hoomd'] = None; sys.argv = sys.argv[1:]; "
    go = "runpy.run_path(sys.argv[0], run_name='__main__')"
    done = run([sys.executable, "-c", hide + go, EXAMPLES / script, "--quick"], cwd=tmp_path)
    assert done.returncode == 2 and "this run needs hoomd, which is not installed" in done.stderr


@pytest.mark.parametrize("script", FIGURES)
def test_a_figure_is_drawn_from_its_record(script, tmp_path, main_of):
    record = next(RESULTS.glob(f"2026-??-??-{FIGURES[script]}.json"))
    code, error = main_of(script, ["--output", tmp_path, "--draw", record])
    assert code == 0, error
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


RECORDED = [script for script in SCRIPTS if (EXAMPLES / script).with_suffix(".json").exists()]


@pytest.mark.parametrize("script", RECORDED)
def test_a_record_beside_its_script_is_drawn(script, tmp_path, main_of):
    record = (EXAMPLES / script).with_suffix(".json")
    code, error = main_of(script, ["--output", tmp_path, "--draw", record])
    assert code == 0, error
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_interfaces_are_at_rest_at_the_zero_of_the_line_through_their_velocities(tmp_path):
    """Velocities 1e-5 (P - 11.5) plus and minus 6e-7 for two seeds at four pressures. Their
    variance about the line is 8 (6e-7)^2 / 6, so that the error of the zero, in the middle of the
    pressures, is 0.06 / sqrt(6) = 0.024."""
    area, spheres, phis = 100.0, 2000, (0.54, 0.49)
    v_s, v_f = (math.pi / 6 / phi for phi in phis)
    rows = []
    for seed, sign in ((1, 1), (2, -1)):
        for pressure in (11.2, 11.4, 11.6, 11.8):
            velocity = 1e-5 * (pressure - 11.5) + sign * 6e-7
            sweeps = [10_000 * k for k in range(9)]
            shares = [0.45 + velocity * t * 2 * area / (v_s * spheres) for t in sweeps]
            rows.append(
                {
                    "pressure": pressure, "seed": seed, "spheres": spheres, "area": area,
                    "packing_fractions": phis, "sweeps_done": sweeps, "volume_sweeps": sweeps[1:],
                    "crystalline": [0.3, *shares[1:]],
                    "volumes": [spheres * (v_f + x * (v_s - v_f)) for x in shares[1:]],
                }
            )  # fmt: skip
    (tmp_path / "summary.json").write_text(json.dumps({"results": rows}))
    script = EXAMPLES / "hard_spheres/interface_velocity.py"
    words = ["--output", "drawn", "--draw", "summary.json"]
    env = {**os.environ, "MPLBACKEND": "Agg"}
    done = run([sys.executable, script, *words], cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("P* of coexistence 11.50(2), slope 10.0(11)e-6 d/sweep, 8 runs") == 2


def test_the_surface_tension_of_a_known_adsorption():
    """Adsorptions pi/4 + a rho + b rho^2 in units of rho^2, whose integral over P is a sum over
    small intervals. Their errors of 1e-9 leave those of the densities, dP / 2."""
    script = runpy.run_path(str(EXAMPLES / "hard_spheres/wetting.py"))
    densities, pressure = [0.2, 0.4, 0.6, 0.8], script["pressure"]

    def reduced(rho: float) -> float:
        return math.pi / 4 - 0.3 * rho - 0.1 * rho**2

    rows = [
        {"density": [rho, 1e-3], "reduced_adsorption": [reduced(rho), 1e-9]} for rho in densities
    ]
    found, squares = script["surface_tensions"](rows)
    n = 2000
    for rho, tension in zip(densities, found, strict=True):
        middles = [rho * (k + 0.5) / n for k in range(n)]
        steps = [pressure(x + rho / 2 / n) - pressure(x - rho / 2 / n) for x in middles]
        integral = sum(reduced(x) * x * step for x, step in zip(middles, steps, strict=True))
        assert tension.value == pytest.approx(pressure(rho) / 2 - integral, rel=1e-5)
        assert tension.error == pytest.approx(script["slope"](rho) * 1e-3 / 2, rel=1e-3)
    assert squares < 1e-6
    # At low density, gamma of scaled-particle theory and of Henderson and Plischke is exact to
    # second order: rho / 2 + (B_2 / 2 - pi / 8) rho^2.
    for name in ("scaled_particle", "henderson_plischke"):
        second = (script[name](1e-4) - 0.5e-4) / 1e-8
        assert second == pytest.approx(math.pi / 3 - math.pi / 8, rel=1e-3)
