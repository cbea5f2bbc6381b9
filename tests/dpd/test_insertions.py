"""LAMMPS' fixes deposit, evaporate and balance with the engine of `run_style manymove/verlet`. The
host makes the steps in which they act, and the engine all others."""

from __future__ import annotations

import pytest
from dpd_comparisons import (
    Contract,
    assert_named,
    assert_ranks_of_lammps,
    assert_steps_of_lammps,
)
from dpd_scripts import assert_stays, fluid, resident, two_types
from lammps_host import THERMO, needs_lammps, run_lammps

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
# Temperatures of the output count the atoms in each step; the thermostat's does not.
SCRIPTS["dynamic output"] = SCRIPTS["both"] + "compute_modify thermo_temp dynamic/dof yes\n"
TABLE = THERMO.replace("press", "press atoms")
RUNS = "thermo 2\nrun 8\nrun 5\n"
# LAMMPS compares positions with a region as they were wrapped when it last built its lists.
OFTEN = "neigh_modify every 1 delay 0 check no\n"


class TestInsertions(Contract):
    scripts = SCRIPTS
    restarts, threads = {"deposit": NVE + TOP + DEPOSIT}, ["both"]
    refused = {
        "fix in deposit in a box that changes": two_types()
        + fluid()
        + TOP
        + DEPOSIT
        + "fix p all npt temp 1.0 1.0 0.2 iso 20.0 20.0 0.5\n",
        "fix in deposit with fix langevin": two_types()
        + fluid()
        + NVE
        + TOP
        + DEPOSIT
        + "fix l all langevin 1.0 1.0 1.0 7\n",
    }
    table, columns, runs, bits_after = TABLE, ("Atoms", "Press"), RUNS, 12


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


def test_commands_between_runs(device, tmp_path):
    """delete_atoms and create_atoms in a loop: each run has the atoms that there are."""
    script = two_types() + fluid() + NVE + resident(device) + TABLE
    script += "variable k loop 3\nlabel again\nrun 4\nregion r$k block 0 7 0 7 0 0.$k\n"
    script += "delete_atoms region r$k\ncreate_atoms 1 random 5 9$k NULL\nnext k\njump SELF again\n"
    run = run_lammps(script + "run 4\n", tmp_path)
    assert_stays(run)
    assert 0 < run.thermo()["Atoms"][-1] < 1028


EVAPORATE = "region low block INF INF INF INF 0 2\nfix out all evaporate 4 3 low 49\n"
THERMOSTATS = {
    "nvt": "fix t all nvt temp 1.0 1.0 0.2\n",
    "temp/berendsen": NVE + "fix t all temp/berendsen 2.0 2.0 0.1\n",
    "temp/rescale": NVE + "fix t all temp/rescale 5 2.0 2.0 0.01 1.0\n",
}


@pytest.mark.parametrize("name", THERMOSTATS)
@pytest.mark.parametrize("acts", [EVAPORATE, TOP + DEPOSIT], ids=["evaporate", "deposit"])
def test_a_thermostat_that_recounts_atoms_is_named(acts, name, tmp_path):
    script = two_types(before=UNSORTED) + fluid() + THERMOSTATS[name]
    script += "compute_modify t_temp dynamic/dof yes\n" + acts
    fix = "fix out evaporate" if acts == EVAPORATE else "fix in deposit"
    reason = f"{fix} with a thermostat of compute_modify dynamic/dof yes"
    assert_named(script, reason, tmp_path)


GROUPS = """
group plus id 1:50
group minus id 51:100
group ions union plus minus
group neutral subtract all ions
set group plus charge 1.0
set group minus charge -1.0
region low block INF INF INF INF 0 3
region left block 0 3 INF INF INF INF
group left region left
"""
LONG = "kspace_style pppm 1e-3\n"


def ions(mesh: str = LONG) -> str:
    """A hundred charges among particles; without a mesh they have no long-range part."""
    law = "coul/slater/long" if mesh else "coul/slater/cut"
    return (
        two_types(before=UNSORTED + "\nprocessors * 1 1").replace(
            "atom_style bond", "atom_style full"
        )
        + GROUPS
        + f"pair_style hybrid/overlay manymove/dpd 1.0 1.0 4711 precision double {law} 0.25 2.5\n"
        + f"pair_coeff * * manymove/dpd 25.0 4.5\npair_coeff * * {law}\n"
        + mesh
        + NVE
        + OFTEN
    )


OF_IONS = "fix out ions evaporate 2 1 low 49\n"
MOLECULE = """# a pair of ions

2 atoms

Coords

1 0 0 0
2 0.5 0 0

Types

1 1
2 2

Charges

1 1.0
2 -1.0
"""


@pytest.mark.parametrize("group", ["ions", "left"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_deleted_charges_with_a_long_range_part_are_named(group, ranks, tmp_path):
    """Only one of two ranks has atoms of the group on the left."""
    script = ions() + OF_IONS.replace("ions", group)
    assert_named(script, "fix out evaporate with charges", tmp_path, ranks)


@pytest.mark.parametrize(
    ("mesh", "fix"),
    [
        (LONG, OF_IONS.replace("ions", "neutral")),
        (LONG, TOP + DEPOSIT),
        ("", OF_IONS),
    ],
    ids=["neutral atoms", "inserted atoms", "without a long-range part"],
)
def test_what_leaves_no_net_charge_stays(mesh, fix, device, tmp_path):
    # LAMMPS' erfc has an error of 1.5e-7.
    assert_steps_of_lammps(ions(mesh) + fix, "double", device, tmp_path, RUNS, TABLE, 1e4)


def test_molecules_that_may_have_charges_are_named(tmp_path):
    (tmp_path / "pair").write_text(MOLECULE)
    script = ions() + f"molecule m {tmp_path / 'pair'}\n"
    script += TOP + "fix in all deposit 3 0 4 49 region top near 0.1 mol m\n"
    assert_named(script, "fix in deposit with charges", tmp_path)
