"""LAMMPS' fixes npt, nph and press/berendsen in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import pytest
from dpd_comparisons import (
    assert_named,
    assert_ranks_of_lammps,
    assert_restart_continues,
    assert_same_bits,
    assert_steps_of_lammps,
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

NVE = "fix move all nve\n"
NPT = "fix p all npt temp 1.0 1.0 0.2 iso 20.0 20.0 0.5\n"
PRESS = "fix p all press/berendsen iso 20.0 30.0 0.1 modulus 20\n"
SCRIPTS = {
    "npt": two_types() + fluid() + NPT,
    "aniso, ramps, drag": two_types()
    + fluid()
    + "fix p all npt temp 1.0 1.5 0.2 x 20 25 0.5 y 10 10 0.4 drag 0.2 fixedpoint 0 1 2 mtk no\n",
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
    + PRESS.replace("iso 20.0 30.0 0.1", "aniso 20 20 0.1 30 30 0.1 10 10 0.2")
    + "fix a all ave/time 1 2 2 c_thermo_press\n",
}
TABLE = THERMO.replace("press", "press vol lx ly lz xlo zhi econserve")
COLUMNS = ("Volume", "Press", "Lx", "Ly", "Lz", "Xlo", "Zhi")


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_few_steps_are_those_of_the_host(name, precision, device, tmp_path):
    assert_steps_of_lammps(SCRIPTS[name], precision, device, tmp_path, table=TABLE)


@pytest.mark.parametrize("name", ["npt", "berendsen"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_several_ranks(ranks, name, device, tmp_path):
    if device == "cuda":
        pytest.skip("a box that changes on several GPUs is refused by name")
    assert_ranks_of_lammps(SCRIPTS[name], ranks, device, tmp_path, "thermo 10\nrun 20\n")


@pytest.mark.parametrize("name", ["npt", "berendsen"])
def test_restart_continues(name, device, tmp_path):
    rest = NPT if name == "npt" else NVE + PRESS
    resumed, again = assert_restart_continues(SCRIPTS[name], rest, device, tmp_path, TABLE)
    for column in COLUMNS:
        assert resumed.thermo()[column][-1] == pytest.approx(again.thermo()[column][-1], rel=1e-6)
