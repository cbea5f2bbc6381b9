"""LAMMPS' fix nvt in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import pytest
from dpd_scripts import (
    BONDS,
    END,
    STAYS,
    TOLERANCE,
    WARNING,
    assert_close,
    assert_same_steps,
    assert_stays,
    fluid,
    resident,
    state,
    two_types,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

NVT = "fix n all nvt temp 1.0 1.0 0.2\n"
SCRIPTS = {
    "nvt": two_types() + fluid() + NVT,
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
    script = script.replace("double", precision)
    end = TABLE + "thermo 4\nrun 8\nrun 4\n" + END
    host = run_lammps(script + end, tmp_path)
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, TOLERANCE[precision])


@pytest.mark.parametrize("ranks", [2, 4])
def test_several_ranks(ranks, device, tmp_path):
    end = TABLE + "thermo 10\nrun 20\n" + END
    host = run_lammps(SCRIPTS["nvt"] + end, tmp_path, ranks)
    ours = run_lammps(SCRIPTS["nvt"] + resident(device) + end, tmp_path, ranks)
    assert STAYS in ours.output
    assert_close(state(ours), state(host), 1e-8)


def test_restart_continues(device, tmp_path):
    script = SCRIPTS["nvt"] + resident(device) + TABLE
    whole = run_lammps(script + "restart 8 half\nrun 16\n", tmp_path)
    resumed = run_lammps(
        f"read_restart {whole.directory / 'half'}.8\ncomm_modify vel yes\n"
        f"{resident(device)}{TABLE}{NVT}run 8\n{END}",
        tmp_path,
    )
    again = run_lammps(script + "run 8\nrun 8\n" + END, tmp_path)
    assert_stays(resumed)
    assert_close(state(resumed), state(again), 1e-9)
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
    "fix p npt": two_types() + fluid() + "fix p all npt temp 1.0 1.0 0.2 iso 20.0 20.0 2.0\n",
}


@pytest.mark.parametrize("reason", OTHERS)
def test_what_is_not_served_is_named(reason, tmp_path):
    output = run_lammps(OTHERS[reason] + resident("cpu") + "run 2\n", tmp_path).output
    (warning,) = (line for line in output.splitlines() if WARNING in line)
    assert f"on the device: {reason}" in warning


@on_gpu
@pytest.mark.parametrize("name", SCRIPTS)
def test_cpu_and_gpu_give_the_same_bits(name, tmp_path):
    cpu, cuda = (
        run_lammps(SCRIPTS[name] + resident(device) + "run 200\n" + END, tmp_path)
        for device in ("cpu", "cuda")
    )
    assert_stays(cuda)
    assert (state(cuda) == state(cpu)).all()
