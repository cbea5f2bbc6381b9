"""Input scripts in the manner of LAMMPS' examples: what stays in the engine of
`run_style manymove/verlet`, and what takes only its pair forces from there."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_chains import chain_data, chains
from dpd_comparisons import Contract
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
    with_energies,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from laws import another, each_once
from machine import on_gpu

pytestmark = needs_lammps

PAIRED = "and positions, velocities and forces are copied in every step"

# Two types in a box with fixed faces along x.
OPEN = system(before="boundary f p p") + fluid()
WALL = "region w block INF 1 INF INF INF INF\ngroup w region w\nvelocity w set 0 0 0\n"
SPHERES = (
    system().replace("atom_style bond", "atom_style sphere").replace(" bond/types 2", "#") + fluid()
)
SPHERES = re.sub(r"mass . .*\n", "", SPHERES).replace(
    "velocity all create", "BEFORE\nvelocity all create"
)
SPHERES = SPHERES.replace(
    "BEFORE",
    "set type 1 diameter 0.5 mass 1.0\nset type 2 diameter 0.7 mass 2.0\nset atom 1*100 mass 3.0",
)

RESIDENT = {
    "reflecting walls": OPEN + "fix r all wall/reflect xlo EDGE xhi 6.9\n",
    "reflecting walls of groups": OPEN
    + "group t type 1\nfix r all wall/reflect xlo EDGE xhi EDGE\nfix s t wall/reflect xhi 6.7\n",
    "frozen wall": OPEN + WALL + "fix z w setforce 0 0 0\nfix r all wall/reflect xlo 0 xhi EDGE\n",
    "set and added forces": system()
    + fluid()
    + "region r block 1 3 INF INF INF INF\ngroup t type 1\n"
    + "fix a all addforce 0.2 0 0\nfix s t setforce NULL 1.5 NULL region r\n"
    + "fix b all addforce 0 0.1 0\n",
    "limited steps": OPEN.replace("fix nve all nve", "fix nve all nve/limit 0.015")
    + "fix r all wall/reflect xlo EDGE xhi EDGE\n",
    "limits for a group": system().replace(
        "fix nve all nve", "group t type 1\ngroup u type 2\nfix l t nve/limit 0.01\nfix nve u nve"
    )
    + fluid(),
    "excluded types": system() + fluid() + "neigh_modify exclude type 1 2\n",
    "excluded groups": system()
    + fluid()
    + "group a id <= 300\ngroup b id 200:600\nneigh_modify exclude group a b\n"
    + "neigh_modify exclude group a a\n",
    "frozen and excluded": OPEN.replace("fix nve all nve", "")
    + WALL
    + "group m subtract all w\nneigh_modify exclude group w w\nfix nve m nve\n"
    + "fix r all wall/reflect xlo EDGE xhi EDGE\n",
    "spheres": SPHERES,
    "excluded spheres": SPHERES + "neigh_modify exclude type 1 1\n",
    "internal energies": with_energies(),
    "hybrid atoms": (system() + fluid()).replace("atom_style bond", "atom_style hybrid bond sphere")
    + "set atom 1*100 mass 3.0\n",
    "forces from variables": system()
    + fluid()
    + "variable k index 0.3\nvariable w equal 2*PI/7\nvariable f equal v_k*sin(v_w*step)\n"
    + "region r block 1 5 INF INF INF INF\ngroup t type 1\nvariable r equal ramp(0,1.5e0)\n"
    + "fix a all addforce v_f 0.1 v_r region r\nfix s t setforce NULL NULL v_f\n",
    "friction": system()
    + fluid()
    + "group t id <= 700\nfix l t langevin 0 0 0.5 7 scale 2 3\nfix a all addforce 0.2 0 0\n"
    + "fix s all langevin 0 0 0.9 8\n",
    "friction of spheres": SPHERES + "fix l all langevin 0 0 0.5 7 scale 2 3\n",
    "adapted": system()
    + fluid()
    + "variable f equal 20+step\nfix a all adapt 3 pair manymove/dpd a 1 1 v_f "
    "pair manymove/dpd gamma 2 2 v_f\n",
    "adapted bonds": system()
    + fluid()
    + BONDS.replace("manymove/harmonic", "harmonic")
    + "variable f equal 20+step\nfix a all adapt 2 bond harmonic k 1 v_f\n",
    "adapted in every step": system()
    + fluid()
    + "variable f equal 20+step\nfix a all adapt 1 pair manymove/dpd a * * v_f\n",
}


class TestResident(Contract):
    scripts = output = RESIDENT
    kinds, factor, runs, bits_after = staticmethod(each_once), 3, "thermo 4\nrun 10\n", 100
    looks = ("thermo 40\n", "thermo 1\n")


@pytest.mark.parametrize(
    "name", [another("frozen wall"), "limited steps", another("excluded groups"), "spheres"]
)
def test_what_stays_in_the_engine_on_several_ranks(name, device, tmp_path):
    script = RESIDENT[name] + resident(device) + THERMO
    start = run_lammps(script + "write_restart start\n", tmp_path)
    again = [
        line
        for line in script.splitlines()
        if line.startswith(("fix", "neigh_modify", "run_style", "thermo", "group", "timestep"))
    ]
    script = f"read_restart {start.directory / 'start'}\ncomm_modify vel yes\n" + "\n".join(
        line for line in again if not line.startswith("group")
    )
    runs = [run_lammps(script + "\nrun 20\n" + END, tmp_path, ranks) for ranks in (1, 2, 4)]
    for run in runs:
        assert_stays(run)
        assert_close(state(run), state(runs[0]), 1e-9)
        assert run.thermo()["Press"] == pytest.approx(runs[0].thermo()["Press"], rel=1e-9)


def test_the_limit_of_steps_holds(device, tmp_path):
    script = RESIDENT["limited steps"] + resident(device) + "run 5\n" + END
    run = run_lammps(script, tmp_path)
    speed = np.linalg.norm(pick(run, "vx", "vy", "vz"), axis=1)
    assert speed.max() == pytest.approx(0.015 / 0.01, rel=1e-12)


# ---- pair forces from the engine ----

TSTAT = """
pair_style hybrid/overlay gauss 1.1 manymove/dpd 1.0 1.0 4711 precision double
pair_coeff * * gauss -20.0 3.0
pair_coeff * * manymove/dpd 0.0 4.5
"""
SOME_PAIRS = """
pair_style hybrid manymove/dpd 1.0 1.0 4711 precision double gauss 1.0
pair_coeff 1 1 manymove/dpd 25.0 4.5
pair_coeff 1 2 gauss -10.0 3.0
pair_coeff 2 2 manymove/dpd 15.0 4.5 0.9
"""
TWO = """
pair_style hybrid/overlay manymove/dpd 1.0 1.0 4711 precision double manymove/dpd 1.0 0.8 99 &
  precision double
pair_coeff * * manymove/dpd 1 25.0 4.5
pair_coeff 1 2 manymove/dpd 2 10.0 3.0
"""
WITHOUT_NVE = system().replace("fix nve all nve", "")

# By the first word that the warning has.
PAIRS_ONLY = {
    "fix l langevin with zero yes": system() + fluid() + "fix l all langevin 1 1 1 7 zero yes\n",
    "fix l langevin with tally yes": system() + fluid() + "fix l all langevin 1 1 1 7 tally yes\n",
    "fix l langevin after fix setforce for the same atoms": system()
    + fluid()
    + "group t type 1\nfix s t setforce 0 NULL NULL\nfix l all langevin 1 1 1 7\n",
    "fix n nvt": WITHOUT_NVE + fluid() + "fix n all nvt temp 1.0 1.2 1.0\n",
    "fix a addforce with a variable by atom": system()
    + fluid()
    + "variable f atom x*step*0.1\nfix a all addforce v_f 0 0\n",
    "fix a addforce with every": system() + fluid() + "fix a all addforce 1 0 0 every 2\n",
    "fix s setforce with a variable that depends on more than the step": system()
    + fluid()
    + "variable t equal temp\nvariable f equal step*0.01*v_t\nfix s all setforce v_f NULL NULL\n",
    "fix a addforce with a variable that depends on more": system()
    + fluid()
    + "variable f equal random(0,1,3)\nfix a all addforce v_f 0 0\n",
    "fix w wall/reflect with a variable": OPEN
    + "variable x equal 6.95-0.001*step\nfix w all wall/reflect xlo EDGE xhi v_x\n",
    "fix i indent": system() + fluid() + "fix i all indent 10.0 cone z 3.5 3.5 1.0 2.0 1.0 3.0\n",
    "fix a addforce in a region that is not a fixed block": system()
    + fluid()
    + "region r sphere 3 3 3 2\nfix a all addforce 1 0 0 region r\n",
    "outside of a block": system()
    + fluid()
    + "region r block 1 2 1 2 1 2 side out\nfix a all addforce 1 0 0 region r\n",
    "moving block": system()
    + fluid()
    + "variable v equal vdisplace(0,0.1)\nregion r block 1 2 1 2 1 2 move v_v NULL NULL\n"
    + "fix a all addforce 1 0 0 region r\n",
    "at most 8 body forces are possible, got 9": system()
    + fluid()
    + "\n".join(f"fix f{k} all addforce 0.01 0 0" for k in range(9))
    + "\n",
    "fix a adapt with masses by particle": SPHERES.replace(
        "atom_style sphere", "atom_style sphere 1"
    )
    + "variable f equal 0.5+0.01*step\nfix a all adapt 5 atom diameter v_f mass yes\n",
    "fix s spring/self": system() + fluid() + "fix s all spring/self 3.0\n",
    "dynamic group g": system() + fluid() + "group g dynamic all every 5\n",
    "pair_style hybrid/overlay": system() + TSTAT,
    "pair_style hybrid": system() + SOME_PAIRS,
    "two of them": system() + TWO,
    "fix nve twice": system() + fluid() + "fix two all nve\n",
    "newton off": system(before="newton off") + fluid() + "fix s all spring/self 3.0\n",
    "triclinic": system("prism 0 7 0 7.5 0 7 2 1 -1.5") + TSTAT,
    "two dimensions": system("block 0 9 0 8 -0.5 0.5", 300, "dimension 2")
    + fluid()
    + "set group all z 0.0\nvelocity all set NULL NULL 0.0\nfix flat all enforce2d\n"
    + "fix l all langevin 1.0 1.0 1.0 7\n",
    "excluded": system() + fluid() + "fix s all spring/self 3.0\nneigh_modify exclude type 1 2\n",
}


def assert_pairs(run) -> None:
    """Assert that the pair forces came from the engine, and the run was LAMMPS' otherwise."""
    assert STAYS not in run.output
    (warning,) = (line for line in run.output.splitlines() if WARNING in line)
    assert PAIRED in warning, warning


@pytest.mark.parametrize(("name", "precision"), each_once(PAIRS_ONLY, ["double", "mixed"]))
def test_pair_forces_of_the_engine_in_the_host_run(name, precision, device, tmp_path):
    script = PAIRS_ONLY[name].replace("double", precision)
    end = THERMO + "thermo 4\nrun 10\n" + END
    host = run_lammps(script + end, tmp_path)
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert_pairs(ours)
    if re.match("fix|dynamic|pair_style|at most", name):
        assert f"on the device: {name}" in ours.output
    assert_same_steps(ours, host, TOLERANCE[precision])


@on_gpu
@pytest.mark.parametrize("name", PAIRS_ONLY)
def test_pair_forces_of_cpu_and_gpu_have_the_same_bits(name, tmp_path):
    cpu, cuda = (
        run_lammps(PAIRS_ONLY[name] + resident(device) + "run 60\n" + END, tmp_path)
        for device in ("cpu", "cuda")
    )
    assert_pairs(cuda)
    assert (state(cuda) == state(cpu)).all()


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "name", ["fix s spring/self", "pair_style hybrid/overlay", "pair_style hybrid"]
)
def test_pair_forces_of_the_engine_on_several_ranks(name, ranks, device, tmp_path):
    script = PAIRS_ONLY[name]
    end = "velocity all ramp vx -6 6 y 0 7 sum yes\n" + THERMO + "run 40\n" + END
    host = run_lammps(script + end, tmp_path, ranks)
    ours = run_lammps(script + resident(device) + end, tmp_path, ranks)
    assert_pairs(ours)
    assert_close(state(ours), state(host), 1e-8)
    assert ours.thermo()["Pxy"] == pytest.approx(host.thermo()["Pxy"], rel=1e-7)


def test_pair_forces_of_the_engine_in_runs_that_follow_each_other(device, tmp_path):
    more = THERMO + "run 4\nrun 3 pre no\nminimize 0 0 2 2\ntimestep 0.005\nrun 5\nrun 0\nrun 2\n"
    script = PAIRS_ONLY["pair_style hybrid/overlay"]
    host = run_lammps(script + more + END, tmp_path)
    ours = run_lammps(script + resident(device) + more + END, tmp_path)
    assert_pairs(ours)
    assert_close(state(ours), state(host), 1e-9)


def test_energies_and_stresses_of_particles_in_the_host_run(device, tmp_path):
    script = PAIRS_ONLY["pair_style hybrid/overlay"]
    look = "compute e all pe/atom pair\ncompute s all stress/atom NULL virial\n"
    look += "compute sum all reduce sum c_e c_s[1] c_s[4]\n"
    look += "thermo_style custom step pe pxx pxy c_sum[*]\nthermo_modify format float %.16g\n"
    end = look + "thermo 3\nrun 7\n" + END
    host = run_lammps(script + end, tmp_path)
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert_pairs(ours)
    for name, values in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(values, rel=1e-9, abs=1e-9), name


def test_charges_with_pppm(device, tmp_path):
    # LAMMPS' dpd/coul/slater/long as two styles.
    data = chain_data(tmp_path, charged=True)
    script = chains(
        data,
        pair="hybrid/overlay manymove/dpd 1.0 1.0 4711 precision double coul/slater/long 0.25 2.0",
        law="manymove/dpd 25.0 4.5\npair_coeff * * coul/slater/long",
    )
    script = script.replace("timestep", "kspace_style pppm 1e-4\ntimestep")
    end = THERMO.replace("press", "press ecoul elong ebond eangle") + "thermo 4\nrun 8\n" + END
    host = run_lammps(script + end, tmp_path)
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, 1e-4)


def test_an_engine_is_left_at_the_end_of_a_run(tmp_path):
    # The next runs are LAMMPS' own.
    script = PAIRS_ONLY["fix s spring/self"] + THERMO
    host = run_lammps(script + "run 4\nrun 4\n" + END, tmp_path)
    ours = run_lammps(script + resident("cpu") + "run 4\nrun_style verlet\nrun 4\n" + END, tmp_path)
    assert_close(state(ours), state(host), 1e-10)


# ---- what runs on the host ----

HOST = {
    "fix d deform": system() + fluid() + "fix d all deform 1 x scale 1.01\n",
    "pair_style dpd": system() + "pair_style dpd 1.0 1.0 5\npair_coeff * * 25.0 4.5\n",
    "shrink-wrapped boundary": system() + fluid() + "change_box all boundary s p p\n",
    "neigh_modify exclude molecule": system().replace("atom_style bond", "atom_style molecular")
    + fluid()
    + "neigh_modify exclude molecule/intra all\n",
}


@pytest.mark.parametrize("name", HOST)
def test_what_no_engine_can_do_runs_on_the_host(name, tmp_path):
    end = THERMO + "run 4\nrun 2\n" + END
    host = run_lammps(HOST[name] + end, tmp_path)
    ours = run_lammps(HOST[name] + resident("cpu") + end, tmp_path)
    (warning,) = (line for line in ours.output.splitlines() if WARNING in line)
    assert f"on the device: {name}" in warning
    assert "Every step of this run goes through the host" in warning
    assert STAYS not in ours.output
    assert (state(ours) == state(host)).all()


def test_the_warning_names_an_alternative(tmp_path):
    for script, text in (
        (PAIRS_ONLY["fix n nvt"], "fix n nvt (instead: fix nve; the pair style is a thermostat)"),
        (HOST["pair_style dpd"], "pair_style dpd (instead: pair_style manymove/dpd)"),
        (PAIRS_ONLY["dynamic group g"], "dynamic group g (instead: a static group)"),
        (
            system() + TSTAT.replace("manymove/dpd", "dpd").replace("precision double", ""),
            "pair_style hybrid/overlay with gauss, dpd (instead of dpd: manymove/dpd)",
        ),
        (
            chains(
                chain_data(tmp_path, charged=True),
                pair="dpd/coul/slater/long 1.0 1.0 4711 0.25 2.0",
                law="25.0 4.5 yes",
            ).replace("timestep", "kspace_style pppm 1e-4\ntimestep"),
            "pair_style dpd/coul/slater/long (instead: pair_style manymove/dpd/coul/slater/long)",
        ),
    ):
        assert text in run_lammps(script + resident("cpu") + "run 1\n", tmp_path).output
