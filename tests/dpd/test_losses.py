"""Particles that leave through open faces with `thermo_modify lost ignore` or `warn`: the host
makes the steps in which they leave."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_comparisons import Contract, assert_ranks_of_lammps, assert_steps_of_lammps
from dpd_scripts import (
    END,
    THROWN,
    assert_close,
    assert_stays,
    fluid,
    one_type,
    resident,
    state,
    two_types,
)
from lammps_host import THERMO, needs_lammps, run_lammps

pytestmark = needs_lammps

# LAMMPS deletes what is outside when it builds its lists.
OFTEN = "neigh_modify every 1 delay 0 check no\n"
NVE = "fix move all nve\n"
TABLE = THERMO.replace("press", "press atoms") + "thermo_modify lost ignore\n"


def open_box(faces: str = "p p f", more: str = "", temperature: float = 0.0, **settings) -> str:
    script = two_types(before=f"boundary {faces}", **settings)
    return script + fluid(temperature=temperature) + NVE + OFTEN + more


SCRIPTS = {
    "slab": open_box(),
    "droplet": open_box("f f f"),
    "open above": open_box(more="fix w all wall/reflect zlo EDGE\nfix g all addforce 0 0 v_up\n")
    .replace("fix move", "variable up equal 0.1*step\nfix move"),
    "soft walls": open_box(more="fix w all wall/harmonic zlo EDGE 5 0 1 zhi EDGE 5 0 1\n"),
    "thermostat": open_box(more="fix t all temp/berendsen 1.0 1.5 0.1\n"),
    "nvt": open_box(more="fix n all nvt temp 1.0 1.0 0.2\n").replace(NVE, ""),
    "adapt": open_box(more="variable a equal 20+0.2*step\n"
    "fix a all adapt 3 pair manymove/dpd a 1 1 v_a\n"),
    "deposit": open_box(
        more="region top block 0 7 0 7 5 6\nfix in all deposit 5 1 9 49 region top near 0.1\n"
    ),
}  # fmt: skip


ZLO = "thermo_modify lost ignore or warn with the open face zlo"
SLAB = open_box() + "thermo_modify lost ignore\n"


class TestLosses(Contract):
    scripts = {**SCRIPTS, "hot": open_box(temperature=1.0)}
    steps, precisions = SCRIPTS, ("double",)
    restarts, threads, bits = {"slab": NVE + OFTEN}, ["hot"], ["hot"]
    refused = {
        f"{ZLO} with fix langevin": SLAB + "fix l all langevin 1 1 1 7\n",
        f"{ZLO} and neigh_modify once": SLAB + "neigh_modify once yes\n",
        "fix l rigid with an open face and thermo_modify lost ignore or warn": SLAB.replace(
            NVE, "group body id 1:3\ngroup rest subtract all body\nfix move rest nve\n"
        )
        + "fix l body rigid single\n",
        f"{ZLO} and lost/bond ignore or warn": SLAB.replace(
            "pair_style", "bond_style harmonic\nbond_coeff * 1 1\npair_style", 1
        )
        + "thermo_modify lost ignore lost/bond ignore\n",
        f"{ZLO} with a thermostat of compute_modify": SLAB
        + "fix t all temp/berendsen 1 1 1\ncompute_modify t_temp dynamic/dof yes\n",
    }
    table, columns, factor, runs = TABLE, ("Atoms", "Press"), 10.0, "thermo 5\nrun 20\nrun 12\n"
    bits_after = 60


@pytest.mark.parametrize("name", SCRIPTS)
def test_particles_leave_in_several_steps(name, device, tmp_path):
    script = SCRIPTS[name] + resident(device) + TABLE + "thermo 5\nrun 20\nrun 12\n"
    assert (np.diff(run_lammps(script, tmp_path).thermo()["Atoms"]) < 0).sum() > 2


def test_steps_at_temperature_zero_are_those_of_lammps_to_twelve_digits(device, tmp_path):
    end = TABLE + "thermo 4\nrun 12\n"
    script = open_box(timestep=0.002)
    assert_steps_of_lammps(script, "double", device, tmp_path, end, "", 0.01)


@pytest.mark.parametrize("grid", ["1 1 2", "2 1 2"])
def test_ranks(grid, device, tmp_path):
    script = open_box("f p f").replace("boundary", f"processors {grid}\nboundary")
    ranks = int(np.prod([int(n) for n in grid.split()]))
    runs = "thermo_modify lost ignore\nthermo 5\nrun 30\n"
    assert_ranks_of_lammps(script, ranks, device, tmp_path, runs)


def test_output_changes_the_trajectory_by_rounding_alone(device, tmp_path):
    # Where a particle has left, the others continue from the copy of the host, whose positions have
    # 53 bits.
    script = open_box() + resident(device) + TABLE
    rare, often = (
        state(run_lammps(script + f"thermo {every}\nrun 40\n" + END, tmp_path)) for every in (40, 7)
    )
    assert_close(often, rare, 1e-11)


THROWN_OUT = one_type(THROWN, law="0.0 0.0", before="boundary p p f", timestep=0.1)


@pytest.mark.parametrize("word", ["ignore", "warn"])
def test_the_others_remain(word, device, tmp_path):
    script = THROWN_OUT + f"thermo_modify lost {word}\nthermo 5\n" + resident(device)
    run = run_lammps(script + "run 20\n", tmp_path)
    assert "on 1 procs for 20 steps with 1 atoms" in run.output
    assert ("WARNING: Lost atoms: original 2 current 1" in run.output) == (word == "warn")


def test_all_may_leave(device, tmp_path):
    script = THROWN_OUT + "set atom 2 vz -12\nthermo_modify lost ignore\n" + resident(device)
    run = run_lammps(script + "run 20\nrun 20\n", tmp_path)
    assert run.output.count("for 20 steps with 0 atoms") == 2
    assert_stays(run)


def test_an_error_remains_an_error(device, tmp_path):
    run = run_lammps(THROWN_OUT + resident(device) + "run 20\n", tmp_path, fails=True)
    assert "Lost atoms: particle 1 was lost before step" in run.output
