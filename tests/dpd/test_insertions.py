"""LAMMPS' fixes deposit, evaporate and balance with the engine of `run_style manymove/verlet`. The
host makes the steps in which they act, and the engine all others."""

from __future__ import annotations

import pytest
from dpd_comparisons import (
    assert_named,
    assert_ranks_of_lammps,
    assert_restart_continues,
    assert_same_bits,
    assert_steps_of_lammps,
    assert_threads_do_not_count,
)
from dpd_scripts import assert_stays, fluid, resident, two_types
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

NVE = "fix move all nve\n"
DEPOSIT = "fix in all deposit 3 1 4 49 region top near 0.1 vz -1 -1\n"
TOP = "region top block 0 7 0 7 5 6\n"
# The fix chooses atoms by their places in LAMMPS' arrays.
UNSORTED = "atom_modify sort 0 0.0"
SCRIPTS = {
    "evaporate": two_types(before=UNSORTED) + fluid() + NVE + "region r block INF INF INF INF 0 2\n"
    "fix out all evaporate 4 3 r 49\n",
    "deposit": two_types() + fluid() + NVE + TOP + DEPOSIT,
    "both": two_types(before=UNSORTED)
    + fluid()
    + "fix n all nvt temp 1.0 1.0 0.2\nfix a all addforce 0.1 0 0\n"
    + TOP
    + DEPOSIT
    + "region all block INF INF INF INF 5 6\nfix out all evaporate 5 2 all 49\n",
}
TABLE = THERMO.replace("press", "press atoms")
RUNS = "thermo 2\nrun 8\nrun 5\n"
# LAMMPS compares positions with a region as they were wrapped when it last built its lists.
OFTEN = "neigh_modify every 1 delay 0 check no\n"


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_few_steps_are_those_of_the_host(name, precision, device, tmp_path):
    assert_steps_of_lammps(SCRIPTS[name], precision, device, tmp_path, RUNS, TABLE)


@pytest.mark.parametrize("name", SCRIPTS)
def test_after_particles_have_crossed_the_box(name, device, tmp_path):
    assert_steps_of_lammps(
        SCRIPTS[name] + OFTEN, "double", device, tmp_path, "thermo 8\nrun 40\n", TABLE, 100.0
    )


def test_several_ranks(device, tmp_path):
    assert_ranks_of_lammps(SCRIPTS["deposit"], 2, device, tmp_path, RUNS)
    run = run_lammps(SCRIPTS["both"] + resident(device) + TABLE + RUNS, tmp_path, 2)
    assert_stays(run)
    assert run.thermo()["Atoms"][-1] == 1028 + 3 - 2 * 2


@pytest.mark.parametrize("ranks", [2, 4])
def test_balance(ranks, device, tmp_path):
    # Half of the box is empty, so that sub-domains change.
    half = "region half block 0 3.5 0 7 0 7\n"
    script = (
        two_types(before=half).replace("12 NULL", "12 half").replace("514 11 NULL", "514 11 half")
    )
    script += fluid() + NVE + "fix b all balance 5 1.0 shift x 10 1.05\n"
    assert_ranks_of_lammps(script, ranks, device, tmp_path, RUNS + "print 'imbalance $(f_b)'\n")


def test_restart_continues(device, tmp_path):
    assert_restart_continues(SCRIPTS["deposit"], NVE + TOP + DEPOSIT, device, tmp_path, TABLE)


def test_threads_do_not_count(tmp_path):
    assert_threads_do_not_count(SCRIPTS["both"], tmp_path, TABLE, ("Atoms", "Press"))


def test_commands_between_runs(device, tmp_path):
    """delete_atoms and create_atoms in a loop: each run has the atoms that there are."""
    script = two_types() + fluid() + NVE + resident(device) + TABLE
    script += "variable k loop 3\nlabel again\nrun 4\nregion r$k block 0 7 0 7 0 0.$k\n"
    script += "delete_atoms region r$k\ncreate_atoms 1 random 5 9$k NULL\nnext k\njump SELF again\n"
    run = run_lammps(script + "run 4\n", tmp_path)
    assert_stays(run)
    assert 0 < run.thermo()["Atoms"][-1] < 1028


def test_what_is_not_served_is_named(tmp_path):
    script = two_types() + fluid() + TOP + DEPOSIT
    script += "fix p all npt temp 1.0 1.0 0.2 iso 20.0 20.0 0.5\n"
    assert_named(script, "fix in deposit in a box that changes", tmp_path)
    script = two_types() + fluid() + NVE + TOP + DEPOSIT
    script += "fix l all langevin 1.0 1.0 1.0 7\n"
    assert_named(script, "fix in deposit with fix langevin", tmp_path)


@on_gpu
@pytest.mark.parametrize("name", SCRIPTS)
def test_cpu_and_gpu_give_the_same_bits(name, tmp_path):
    assert_same_bits(SCRIPTS[name], tmp_path, 12, TABLE)
