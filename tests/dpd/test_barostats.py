"""LAMMPS' fixes npt, nph and press/berendsen in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import pytest
from dpd_comparisons import MOVED, Contract
from dpd_scripts import (
    BONDS,
    END,
    STAYS,
    TOLERANCE,
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

NVE = "fix move all nve\n"
NPT = "fix p all npt temp 1.0 1.0 0.2 iso 20.0 20.0 0.5\n"
PRESS = "fix p all press/berendsen iso 20.0 30.0 0.1 modulus 20\n"
SCRIPTS = {
    "npt": two_types() + fluid() + NPT,
    "aniso, ramps, drag": two_types()
    + fluid()
    + "fix p all npt temp 1.0 1.5 0.2 x 20 25 0.5 y 10 10 0.4 drag 0.2 fixedpoint 0 1 2 mtk no\n",
    "berendsen, 2 % a step": two_types()
    + fluid()
    + NVE
    + "fix p all press/berendsen iso 90.0 90.0 0.1 modulus 100\n",
    "couple": two_types() + fluid() + NPT.replace("iso", "couple xy aniso"),
    "nph with langevin": two_types()
    + fluid()
    + BONDS
    + "fix l all langevin 0.0 0.0 3.0 7\nfix p all nph iso 25.0 25.0 0.3 pchain 0\n",
    "berendsen": two_types() + fluid() + NVE + PRESS,
    "berendsen, thermostat": two_types()
    + fluid()
    + NVE
    + "fix t all temp/berendsen 1.2 1.2 0.1\n"
    + PRESS.replace("iso 20.0 30.0 0.1", "x 20 20 0.1 y 30 30 0.1 z 10 10 0.2")
    + "fix a all ave/time 1 2 2 c_thermo_press\n",
}
TABLE = THERMO.replace("press", "press vol lx ly lz xlo zhi econserve")


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_box_that_changes_much(precision, device, tmp_path):
    """The box loses a fifth of its length, and lists of the engine have all pairs: LAMMPS finds the
    same forces at the same places. Cells along an edge, and parts of ranks, become other ones."""
    press = "fix p all nph iso 150.0 150.0 0.3 ptemp 1.0\n"
    # Without friction and noise, so that the forces of a step are those of its end.
    script = (
        two_types("block 0 9 0 9 0 9", atoms=1400)
        + f"""
pair_style manymove/dpd 0.0 1.0 4711 precision {precision}
pair_coeff 1 1 25.0 0.0
pair_coeff 1 2 40.0 0.0 1.2
pair_coeff 2 2 15.0 0.0 0.9
"""
    )
    script += press + resident(device) + "thermo_style custom step lx pe\n"
    script += "thermo_modify norm no format float %.16g\n"
    run = run_lammps(script + "run 100\nrun_style verlet\nrun 0\n", tmp_path, 2)
    ours, host = run.thermo(0), run.thermo()
    assert STAYS in run.output
    assert ours["Lx"][-1] < 7.5
    tolerance = 1e-11 if precision == "double" else 1e-5
    assert ours["PotEng"][-1] == pytest.approx(host["PotEng"][0], rel=tolerance)


@pytest.mark.parametrize(("name", "ranks"), [("npt", 1), ("npt", 2), ("berendsen", 2)])
def test_the_pressure_becomes_its_target(name, ranks, device, tmp_path):
    """The average over 10 time units; a state has a standard deviation of about 1.5."""
    script = SCRIPTS[name].replace("20.0 30.0", "20.0 20.0").replace("20.0 20.0", "12.0 12.0")
    script += resident(device) + "run 1000\n"
    script += "fix a all ave/time 1 1000 1000 c_thermo_press\n"
    script += "thermo_style custom step temp f_a vol\nrun 1000\n"
    run = run_lammps(script, tmp_path, ranks)
    assert_stays(run)
    assert run.thermo()["f_a"][-1] == pytest.approx(12.0, abs=0.5)
    assert run.thermo()["Volume"][-1] > 1.05 * 7**3


OTHERS = {
    "fix p npt with a tilted box": two_types("prism 0 7 0 7 0 7 1 0 0") + fluid() + NPT,
    "fix p npt with a face that is not periodic": two_types(before="boundary p p f")
    + fluid()
    + "fix w all wall/reflect zlo EDGE zhi EDGE\n"
    + NPT.replace("iso 20.0 20.0 0.5", "x 20 20 0.5"),
    "fix p npt with dilate": two_types() + fluid() + "group o type 1\n" + NPT[:-1] + " dilate o\n",
    "fix p nph with another temperature or pressure than its own": two_types()
    + fluid()
    + "fix p all nph iso 20 20 0.5 ptemp 1\ncompute t all temp/com\nfix_modify p temp t\n",
    "fix p npt with another temperature or pressure than its own": two_types()
    + fluid()
    + NPT
    + "compute_modify p_temp dynamic/dof yes\n",
    "fix p press/berendsen after fix a ave/time": two_types()
    + fluid()
    + NVE
    + "fix a all ave/time 1 2 2 c_thermo_press\n"
    + PRESS,
    "fix q press/berendsen with more than one barostat": two_types()
    + fluid()
    + "fix p all nph x 20 20 0.5 ptemp 1\nfix q all press/berendsen y 20 20 0.1\n",
    "a box that changes cannot be combined with": two_types()
    + fluid()
    + NPT
    + "region r block 1 3 1 3 1 3\nfix a all addforce 0.1 0 0 region r\n",
}


class TestBarostats(Contract):
    scripts = {**SCRIPTS, "constant": two_types() + fluid() + NVE + PRESS.replace("30.0", "20.0")}
    steps, bits = SCRIPTS, ()  # CPU and GPU agree to rounding
    ranks = output = ["npt", "berendsen"]
    restarts = {"npt": NPT, "constant": NVE + PRESS.replace("30.0", "20.0")}
    threads = ["npt", "berendsen, thermostat"]
    stresses, stresses_on = ["npt", "nph with langevin", "berendsen, thermostat"], (1, 2)
    refused = OTHERS
    table, unchanged = TABLE, MOVED
    columns = ("Volume", "Press", "Lx", "Ly", "Lz", "Xlo", "Zhi")


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_box_that_becomes_too_narrow_is_an_error(ranks, device, tmp_path):
    script = two_types("block 0 3 0 9 0 9", atoms=240) + fluid() + NVE
    script += "fix p all press/berendsen x 900 900 0.1 modulus 900\n" + resident(device)
    output = run_lammps(script + "run 200\n", tmp_path, ranks, fails=True).output
    assert "wide along x, less than twice the largest cutoff" in output


@on_gpu
def test_the_way_that_ghosts_take_does_not_change_a_bit(tmp_path):
    script = SCRIPTS["berendsen, 2 % a step"].replace("double", "mixed")
    first, *others = (
        run_lammps(script + resident("cuda", way) + TABLE + "run 40\n" + END, tmp_path, ranks=2)
        for way in ("overlap no", *(f"transport {name}" for name in ("host", "peer", "shared")))
    )
    for run in (first, *others):
        assert_stays(run)
        assert (state(run) == state(first)).all()
        assert run.thermo()["Lx"][-1] == first.thermo()["Lx"][-1]


@on_gpu
@pytest.mark.parametrize("name", SCRIPTS)
def test_cpu_and_gpu_agree_to_rounding(name, tmp_path):
    """The box follows the virial, whose addends CPU and GPU take in different orders."""
    cpu, cuda = (
        run_lammps(SCRIPTS[name] + resident(device) + TABLE + "thermo 5\nrun 15\n" + END, tmp_path)
        for device in ("cpu", "cuda")
    )
    assert_stays(cuda)
    assert_same_steps(cuda, cpu, TOLERANCE["double"])
