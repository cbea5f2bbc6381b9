"""LAMMPS' fix nvt in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import pytest
from dpd_comparisons import Contract, assert_steps_of_lammps
from dpd_scripts import BONDS, assert_stays, fluid, resident, two_types
from lammps_host import THERMO, needs_lammps, run_lammps

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


class TestThermostat(Contract):
    scripts, ranks, restarts, stresses = SCRIPTS, ["nvt"], {"nvt": NVT}, ["nvt", "triclinic"]
    refused = {
        "fix n nvt": two_types() + fluid() + NVT.replace("1.0 1.0 0.2", "1.0 1.5 0.2"),
        "fix g nvt": two_types()
        + fluid()
        + "group t type 1\nfix g t nvt temp 1.0 1.0 0.2\ngroup u type 2\nfix nve u nve\n",
    }
    table = THERMO.replace("press", "press econserve")
    columns = ("PotEng", "Press", "Econserve")

    def test_a_few_steps_are_those_of_the_host(self, name, precision, device, tmp_path):
        # Fix langevin draws other random numbers than LAMMPS.
        script = SCRIPTS[name].replace("langevin 1.0 1.0", "langevin 0.0 0.0")
        assert_steps_of_lammps(script, precision, device, tmp_path, table=self.table)
