"""LAMMPS' fix nvt in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import pytest
from dpd_comparisons import (
    assert_named,
    assert_ranks_of_lammps,
    assert_restart_continues,
    assert_same_bits,
    assert_steps_of_lammps,
    assert_stresses_of_lammps,
)
from dpd_scripts import (
    BONDS,
    assert_stays,
    fluid,
    resident,
    two_types,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

NVT = "fix n all nvt temp 1.0 1.0 0.2\n"
SCRIPTS = {
    "nvt": two_types() + fluid() + NVT,
    # The first half step is driven by rounding errors alone.
    "at the temperature of the thermostat": two_types().replace("create 1.3", "create 1.0")
    + fluid()
    + NVT.replace("0.2", "1000"),
    "chain of one": two_types() + fluid() + NVT.replace("0.2", "0.2 tchain 1"),
    "with bonds and forces": two_types()
    + fluid()
    + BONDS
    + "fix l all langevin 1.0 1.0 3.0 7\nfix a all addforce 0.1 0.0 0.2\n"
    + NVT,
    "triclinic": two_types("prism 0 7 0 7.5 0 7 2 1 -1.5") + fluid() + NVT,
    "walls": two_types(before="boundary f p p")
    + fluid()
    + NVT
    + "fix r all wall/reflect xlo EDGE xhi EDGE\n",
}
TABLE = THERMO.replace("press", "press econserve")


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_few_steps_are_those_of_the_host(name, precision, device, tmp_path):
    if "langevin" in SCRIPTS[name]:  # draws other random numbers than LAMMPS
        script = SCRIPTS[name].replace("langevin 1.0 1.0", "langevin 0.0 0.0")
    else:
        script = SCRIPTS[name]
    assert_steps_of_lammps(script, precision, device, tmp_path, table=TABLE)


@pytest.mark.parametrize("name", ["nvt", "triclinic"])
def test_stresses_of_particles(name, device, tmp_path):
    assert_stresses_of_lammps(SCRIPTS[name], device, tmp_path, TABLE)


@pytest.mark.parametrize("ranks", [2, 4])
def test_several_ranks(ranks, device, tmp_path):
    assert_ranks_of_lammps(SCRIPTS["nvt"], ranks, device, tmp_path, "thermo 10\nrun 20\n")


def test_restart_continues(device, tmp_path):
    resumed, again = assert_restart_continues(SCRIPTS["nvt"], NVT, device, tmp_path, TABLE)
    assert resumed.thermo()["Econserve"][-1] == pytest.approx(again.thermo()["Econserve"][-1])


def test_it_is_a_thermostat(device, tmp_path):
    """Friction without noise cools the fluid, and fix nvt heats it as much. A state has a standard
    deviation of T of 0.026, and the average of 10 time units one below 0.01."""
    laws = fluid(temperature=0.0).replace("4.5", "0.05").replace("3.0 1.2", "0.05 1.2")
    script = two_types() + laws.replace("6.0", "0.05") + NVT + resident(device)
    script += "run 1000\nfix t all ave/time 5 200 1000 c_thermo_temp\n"
    script += "thermo_style custom step temp f_t\nrun 1000\n"
    run = run_lammps(script, tmp_path)
    assert_stays(run)
    assert run.thermo()["f_t"][-1] == pytest.approx(1.0, abs=0.03)


OTHERS = {
    "fix n nvt": two_types() + fluid() + NVT.replace("1.0 1.0 0.2", "1.0 1.5 0.2"),
    "fix g nvt": two_types()
    + fluid()
    + "group t type 1\nfix g t nvt temp 1.0 1.0 0.2\ngroup u type 2\nfix nve u nve\n",
}


@pytest.mark.parametrize("reason", OTHERS)
def test_what_is_not_served_is_named(reason, tmp_path):
    assert_named(OTHERS[reason], reason, tmp_path)


@on_gpu
@pytest.mark.parametrize("name", SCRIPTS)
def test_cpu_and_gpu_give_the_same_bits(name, tmp_path):
    assert_same_bits(SCRIPTS[name], tmp_path, 200, TABLE)
