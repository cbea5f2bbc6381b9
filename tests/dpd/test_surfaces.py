"""LAMMPS' fixes indent, wall/region, wall/harmonic, wall/lj93 and wall/lj126 in the engine of
`run_style manymove/verlet`."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_comparisons import MOVED, Contract, assert_steps_of_lammps
from dpd_scripts import BONDS, END, assert_stays, fluid, one_type, pick, resident, system
from lammps_host import THERMO, needs_lammps, run_lammps

pytestmark = needs_lammps

ENERGY = "fix_modify s energy yes\n"
TABLE = THERMO.replace("press", "press f_s f_s[1]")


def closed(axes: str) -> str:
    """A box with reflecting walls across some axes, and periodic along the others."""
    kinds = " ".join("f" if a in axes else "p" for a in "xyz")
    faces = " ".join(f"{a}lo EDGE {a}hi EDGE" for a in axes)
    return system(before=f"boundary {kinds}") + fluid() + f"fix r all wall/reflect {faces}\n"


SCRIPTS = {
    "indent sphere": system() + fluid() + "fix s all indent 50.0 sphere 3.5 3.5 3.5 2.0\n",
    "indent sphere across a face": system()
    + fluid()
    + BONDS
    + f"fix s all indent 50.0 sphere 6.9 0.1 8.0 1.5\n{ENERGY}",
    "indent moving sphere of a group": system()
    + fluid()
    + "group t type 1\nvariable z equal 6.5-0.04*step\nvariable r equal 1.0+0.01*step\n"
    + "fix s t indent 50.0 sphere 3.5 3.5 v_z v_r\nfix a all addforce 0.1 0.2 0.0\n",
    "indent cylinder, inside": system()
    + fluid()
    + "fix s all indent 80.0 cylinder y 3.5 3.5 2.5 side in\n",
    "indent plane": closed("z") + "fix s all indent 60.0 plane z 1.5 lo\n",
    "indent moving plane": closed("xz")
    + "variable x equal 7.5-0.05*step\nfix s all indent 60.0 plane x v_x hi\n",
    "indent before setforce": system()
    + fluid()
    + "fix s all indent 50.0 sphere 3.5 3.5 3.5 2.0\n"
    + "group h id <= 200\nfix f h setforce 0.0 NULL 0.1\n",
    "wall/harmonic": closed("z")
    + f"fix s all wall/harmonic zlo -0.01 40.0 1.0 1.5 zhi 7.01 30.0 1.0 1.0\n{ENERGY}",
    "moving wall": closed("z")
    + "variable z equal -0.3+0.004*step\n"
    + f"fix s all wall/harmonic zlo v_z 40.0 1.0 1.5 zhi EDGE 30.0 1.0 1.0 units box\n{ENERGY}",
    "wall/lj93": closed("x") + "fix s all wall/lj93 xlo -0.8 1.0 0.9 2.5 xhi 7.8 1.2 1.0 2.0\n",
    "wall/lj126": closed("yz") + "fix s all wall/lj126 ylo -0.8 1.0 0.9 2.5 zhi 7.8 1.2 1.0 2.0\n",
    "wall/region sphere": closed("xyz")
    + "region s sphere 3.5 3.5 3.5 6.2\nfix s all wall/region s harmonic 30.0 1.0 2.5\n",
    "wall/region cylinder": closed("xy")
    + "region s cylinder z 3.5 3.5 5.5 INF INF\nfix s all wall/region s lj93 1.0 1.0 2.5\n"
    + "fix_modify s energy yes virial yes\n",
    "wall/region cylinder with ends": closed("xyz")
    + "region s cylinder x 3.5 3.5 5.5 -0.9 7.7\nfix s all wall/region s lj126 1.0 0.9 2.5\n",
    "wall/region block": closed("xyz")
    + "region s block -0.8 7.8 -0.7 7.8 -0.8 7.9\nfix s all wall/region s lj93 1.0 0.9 2.0\n",
    "indent in two dimensions": system("block 0 9 0 8 -0.5 0.5", 300, "dimension 2")
    + fluid()
    + "set group all z 0.0\nvelocity all set NULL NULL 0.0\nfix flat all enforce2d\n"
    + "fix s all indent 40.0 cylinder z 4.5 4.0 2.0\n",
}


def test_an_indenter_empties_its_place(device, tmp_path):
    script = system() + fluid() + "fix s all indent 1000.0 sphere 3.5 3.5 3.5 2.0\n"
    run = run_lammps(script + resident(device) + "run 500\n" + END, tmp_path)
    assert_stays(run)
    places = pick(run, "xu", "yu", "zu") - 3.5
    nearest = np.linalg.norm(places - 7.0 * np.rint(places / 7.0), axis=1).min()
    assert 1.6 < nearest < 2.0


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_particle_behind_a_wall_ends_the_run(precision, device, tmp_path):
    """LAMMPS ends with an error in the same step."""
    script = one_type(
        "create_atoms 1 single 4 4 2.0",
        before="boundary p p f",
        pair=f"0.0 1.0 7 precision {precision}",
    )
    script += "fix s all wall/lj93 zlo 1.0 1e-9 0.01 0.5\nset atom 1 vz -50.0\n" + resident(device)
    assert "was lost" in run_lammps(script + "run 10\n", tmp_path, fails=True).output


NVE = "fix nve all nve\n"
BEHIND = {
    "a limited speed": "fix nve all nve/limit 0.1\nfix s all wall/lj93 zlo 1.0 1e-9 0.01 0.5\n",
    "a force that is replaced": f"{NVE}fix s all wall/lj93 zlo 1.0 1e-9 0.01 0.5\n"
    + "fix f all setforce 0.0 0.0 0.0\n",
    "no integration": "group m id 2\nfix nve m nve\nvariable z equal 1.0+0.5*step\n"
    + "group w id 1\nfix s w wall/lj93 zlo v_z 1e-9 0.01 0.5 units box\n",
}


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("name", BEHIND)
def test_nothing_hides_a_particle_behind_a_wall(name, precision, device, tmp_path):
    script = one_type(
        "create_atoms 1 single 4 4 2.0\ncreate_atoms 1 single 1 1 6.0",
        before="boundary p p f",
        pair=f"0.0 1.0 7 precision {precision}",
    )
    assert NVE in script
    script = script.replace(NVE, BEHIND[name]) + "set atom 1 vz -50.0\n" + resident(device)
    run = run_lammps(script + "run 20\n", tmp_path, fails=True)
    assert "particle 1 was lost" in run.output


def test_mixed_precision_of_distances_in_a_high_box(device, tmp_path):
    """Positions are rounded to 5e-7, and distances from a wall no more than that."""
    speeds = []
    for precision in ("double", "mixed"):
        script = one_type(
            "region in block 0 8 0 8 0.85 2.4\ncreate_atoms 1 random 300 11 in",
            box="block 0 8 0 8 0 1000",
            before="boundary p p f",
            pair=f"0.0 1.0 7 precision {precision}",
            law="0.0 0.0",
            timestep=1e-4,
        )
        script += "fix s all wall/lj126 zlo 0.0 1.0 1.0 2.5\n" + resident(device)
        speeds.append(pick(run_lammps(script + "run 1\n" + END, tmp_path), "vz"))
    assert 1e-9 < abs(speeds[0] - speeds[1]).max() < 1e-6


def between(region: str, box: str, walls: str, axes: str) -> str:
    kinds = " ".join("f" if a in axes else "p" for a in "xyz")
    return (
        one_type(
            f"region in {region}\ncreate_atoms 1 random 60 11 in",
            box=box,
            before=f"boundary {kinds}",
            law="2.0 4.5",
            timestep=0.001,
        )
        + walls
    )


NARROW = {
    "a slit": between(
        "block 0 8 0 8 0.9 2.1",
        "block 0 8 0 8 0 3",
        "fix s all wall/lj93 zlo -0.2 1.0 0.9 6.0 zhi 3.2 1.0 0.9 6.0\n",
        "z",
    ),
    "a part of the box": between(
        "block 6 7.5 0 8 1 7",
        "block 0 8 0 8 0 8",
        "fix s all wall/harmonic xlo 5.0 10 1 0.5 xhi 8.0 10 1 0.5 zlo 0.0 10 1 0.5 "
        "zhi 8.0 10 1 0.5\n",
        "xz",
    ),
    "a flat cylinder": between(
        "cylinder z 4 4 2 3.6 4.4",
        "block 0 8 0 8 0 8",
        "region w cylinder z 4 4 3 2.5 5.5\nfix s all wall/region w lj126 0.1 0.8 5.5\n",
        "z",
    ),
}


@pytest.mark.parametrize("name", NARROW)
def test_surfaces_that_are_close_together(name, device, tmp_path):
    """The place where a surface is checked is in front of the others."""
    assert_steps_of_lammps(NARROW[name], "double", device, tmp_path, "thermo 5\nrun 10\n")


FLUID = system() + fluid()
OTHERS = {
    "fix s indent that is not a sphere": FLUID
    + "fix s all indent 10.0 cone z 3.5 3.5 1.0 2.0 1.0 3.0\n",
    "fix s indent with a variable that depends": FLUID
    + "variable z equal ke\nfix s all indent 10.0 sphere 3.5 3.5 v_z 1.0\n",
    "fix s indent after fix setforce for the same atoms": FLUID
    + "group h id <= 200\nfix f h setforce 0.0 NULL 0.1\n"
    + "fix s all indent 10.0 sphere 3.5 3.5 3.5 1.0\n",
    "fix s wall/harmonic with a variable other than its position": closed("z")
    + "variable k equal 40.0\nfix s all wall/harmonic zlo -0.1 v_k 1.0 1.5\n",
    "fix s wall/harmonic with a variable that depends on more": closed("z")
    + "variable z equal -0.1-0.0001*ke\nfix s all wall/harmonic zlo v_z 40.0 1.0 1.5\n",
    "fix s wall/region that is not lj93, lj126 or harmonic": closed("xyz")
    + "region s block -1 8 -1 8 -1 8\nfix s all wall/region s morse 1.0 2.0 1.0 2.0\n",
    "fix s wall/region with a region that is not a block": closed("xyz")
    + "region s cone z 3.5 3.5 9.0 9.5 -1 8\nfix s all wall/region s harmonic 1.0 1.0 0.5\n",
    "fix s wall/region with a region that moves": closed("xyz")
    + "region s sphere 3.5 3.5 3.5 0.1 side out\n"
    + "fix s all wall/region s harmonic 1.0 1.0 0.001\n",
    "fix s wall/region with a region that is wider than the box": FLUID
    + "region s sphere 3.5 3.5 3.5 6.5\nfix s all wall/region s harmonic 1.0 1.0 1.0\n",
    "a surface needs an upright box": system("prism 0 7 0 7.5 0 7 2 1 -1.5")
    + fluid()
    + "fix s all indent 10.0 sphere 3.5 3.5 3.5 1.0\n",
    "a plane needs a box that is not periodic along z": FLUID
    + "fix s all indent 10.0 plane z 1.0 lo\n",
    "at most 6 surfaces are possible, got 7": FLUID
    + "".join(f"fix s{k} all indent 10.0 sphere {k} 3.5 3.5 0.4\n" for k in range(7)),
}


MOVING = SCRIPTS["indent moving sphere of a group"]


class TestSurfaces(Contract):
    scripts = forces = SCRIPTS
    ranks = ["indent moving sphere of a group", "moving wall", "wall/region block"]
    restarts = {
        "indent moving sphere of a group": "fix nve all nve\n"
        + MOVING[MOVING.index("group t") :].replace("group t type 1\n", "")
    }
    output, refused = ["indent moving sphere of a group"], OTHERS
    table, factor, runs_on_ranks, unchanged = TABLE, 20, "thermo 20\nrun 40\n", MOVED

    def still(self, name, folder):
        script = SCRIPTS[name].replace("timestep 0.01", "timestep 1e-15")
        return script.replace("manymove/dpd 1.0", "manymove/dpd 0.0")
