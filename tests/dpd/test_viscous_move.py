"""LAMMPS' fixes viscous and move in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import numpy as np
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
    pick,
    resident,
    state,
    system,
    two_types,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

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


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_few_steps_are_those_of_the_host(name, precision, device, tmp_path):
    script = SCRIPTS[name].replace("double", precision)
    end = THERMO + "thermo 4\nrun 8\nrun 4\n" + END
    host = run_lammps(script + end, tmp_path)
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, TOLERANCE[precision])


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", ["viscous of a group, with forces", "move"])
def test_several_ranks(name, ranks, device, tmp_path):
    end = THERMO + "thermo 20\nrun 40\n" + END
    host = run_lammps(SCRIPTS[name] + end, tmp_path, ranks)
    ours = run_lammps(SCRIPTS[name] + resident(device) + end, tmp_path, ranks)
    assert STAYS in ours.output
    assert_close(state(ours), state(host), 1e-8)


def test_an_inclusion_keeps_its_shape_and_its_velocity(device, tmp_path):
    script = SCRIPTS["move"] + resident(device)
    start, end = (run_lammps(script + f"run {steps}\n" + END, tmp_path) for steps in (0, 1000))
    inclusion = pick(start, "id")[:, 0] <= 100
    moved = (pick(end, "xu", "yu", "zu") - pick(start, "xu", "yu", "zu"))[inclusion]
    assert np.abs(moved - 1000 * 0.01 * np.array([0.7, -0.2, 1.1])).max() < 1e-10
    assert (pick(end, "vx", "vy", "vz")[inclusion] == [0.7, -0.2, 1.1]).all()


def test_stresses_of_particles_sum_to_the_pressure(device, tmp_path):
    script = SCRIPTS["move"] + resident(device)
    script += "compute s all stress/atom NULL virial\ncompute sum all reduce sum c_s[1] c_s[5]\n"
    script += (
        "compute v all pressure NULL virial\nthermo_style custom step c_v[1] c_v[5] c_sum[*] vol\n"
    )
    script += "thermo_modify format float %.16g norm no\nthermo 5\nrun 10\n"
    table = run_lammps(script, tmp_path).thermo()
    for pressure, stress in (("c_v[1]", "c_sum[1]"), ("c_v[5]", "c_sum[2]")):
        expected = -table[stress] / table["Volume"]
        assert table[pressure] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_restart_continues(device, tmp_path):
    script = SCRIPTS["move"] + resident(device) + THERMO
    whole = run_lammps(script + "restart 8 half\nrun 16\n", tmp_path)
    laws = SCRIPTS["move"][SCRIPTS["move"].index("group inclusion") :]
    resumed = run_lammps(
        f"read_restart {whole.directory / 'half'}.8\ncomm_modify vel yes\n"
        f"special_bonds lj 0.0 0.5 1.0\n{resident(device)}{THERMO}{laws}run 8\n{END}",
        tmp_path,
    )
    again = run_lammps(script + "run 8\nrun 8\n" + END, tmp_path)
    assert_stays(resumed)
    assert_close(state(resumed), state(again), 1e-9)


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


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("reason", OTHERS)
def test_what_is_not_served_is_named(reason, ranks, tmp_path):
    script = OTHERS[reason] + resident("cpu") + "run 2\n"
    output = run_lammps(script, tmp_path, ranks=ranks).output
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
