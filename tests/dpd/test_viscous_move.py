"""LAMMPS' fixes viscous and move in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import numpy as np
from dpd_comparisons import Contract
from dpd_scripts import BONDS, END, fluid, pick, resident, system, two_types
from lammps_host import needs_lammps, run_lammps

pytestmark = needs_lammps

GROUPS = "group inclusion id <= 100\ngroup others subtract all inclusion\n"
MOVE = GROUPS + "fix nve others nve\nfix m inclusion move linear 0.7 -0.2 1.1 units box\n"
SCRIPTS = {
    "viscous": system() + fluid() + "fix f all viscous 1.5 scale 2 0.4\n",
    "viscous of a group, with forces": system()
    + fluid()
    + "group t type 1\nfix f t viscous 2.5\nfix a all addforce 0.1 0.2 0.0\n"
    + "fix l all langevin 0.0 0.0 3.0 7\n",
    "viscous before setforce": system()
    + fluid()
    + "fix f all viscous 2.5\ngroup h id <= 200\nfix s h setforce 0.0 NULL 0.1\n",
    "viscous and a ramp": system()
    + fluid()
    + "variable r equal 0.02*step\nfix f all viscous 2.5\nfix a all addforce v_r 0.0 0.0\n",
    "move": two_types() + fluid() + BONDS + MOVE,
    "move with forces": two_types()
    + fluid()
    + MOVE
    + "variable r equal 0.02*step\nfix a all addforce v_r 0.0 0.1\nfix f all viscous 0.5\n",
    "move in two dimensions": two_types("block 0 9 0 8 -0.5 0.5", 300, "dimension 2")
    + fluid()
    + "set group all z 0.0\nvelocity all set NULL NULL 0.0\nfix flat all enforce2d\n"
    + MOVE.replace("1.1", "0.0"),
    "move and a thermostat of the host": two_types()
    + fluid()
    + MOVE
    + "fix t all temp/berendsen 1.0 1.0 0.5\n",
    "move in a tilted box": two_types("prism 0 7 0 7.5 0 7 2 1 -1.5") + fluid() + MOVE,
}


def test_an_inclusion_keeps_its_shape_and_its_velocity(device, tmp_path):
    script = SCRIPTS["move"] + resident(device)
    start, end = (run_lammps(script + f"run {steps}\n" + END, tmp_path) for steps in (0, 1000))
    inclusion = pick(start, "id")[:, 0] <= 100
    moved = (pick(end, "xu", "yu", "zu") - pick(start, "xu", "yu", "zu"))[inclusion]
    assert np.abs(moved - 1000 * 0.01 * np.array([0.7, -0.2, 1.1])).max() < 1e-10
    assert (pick(end, "vx", "vy", "vz")[inclusion] == [0.7, -0.2, 1.1]).all()


OTHERS = {
    "fix m move that is not linear along all three axes": two_types()
    + fluid()
    + MOVE.replace("linear 0.7 -0.2 1.1", "linear 0.7 NULL 1.1"),
    "fix w move that is not linear along all three axes": two_types()
    + fluid()
    + MOVE.replace("fix m", "fix w").replace("linear 0.7 -0.2 1.1", "wiggle 0.5 0 0 3.0"),
    "fix r move that is not linear along all three axes": two_types()
    + fluid()
    + MOVE.replace("fix m", "fix r").replace("linear 0.7 -0.2 1.1", "rotate 3 3 3 0 0 1 10"),
    "fix m move with a wall for the same atoms": two_types(before="boundary f p p")
    + fluid()
    + MOVE.replace("linear 0.7", "linear 0.0")
    + "fix w all wall/reflect xlo EDGE xhi EDGE\n",
    "fix f viscous after fix setforce for the same atoms": system()
    + fluid()
    + "group h id <= 200\nfix s h setforce 0.0 NULL 0.1\nfix f all viscous 2.5\n",
}


class TestViscousAndMove(Contract):
    scripts, ranks = SCRIPTS, ["viscous of a group, with forces", "move"]
    restarts = {
        "move": "special_bonds lj 0.0 0.5 1.0\n"
        + SCRIPTS["move"][SCRIPTS["move"].index("group inclusion") :]
    }
    sums, refused, refused_on = ["move"], OTHERS, (1, 2)
    runs_on_ranks = "thermo 20\nrun 40\n"
