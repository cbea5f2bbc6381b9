"""Pair styles of LAMMPS in hybrid styles with those of DPD, in the engine of
`run_style manymove/verlet`."""

from __future__ import annotations

import pytest
from dpd_comparisons import Contract, assert_same_state, assert_steps_of_lammps
from dpd_scripts import END, assert_same_steps, assert_stays, one_type, resident
from dpd_tables import force_tables
from lammps_host import THERMO, needs_lammps, run_lammps

pytestmark = needs_lammps

# A lattice: random places are too close for these potentials.
LATTICE = """
units lj
atom_style bond
comm_modify vel yes
BEFORE
lattice sc 0.7
region box BOX
create_box 2 box bond/types 1 extra/bond/per/atom 2 extra/special/per/atom 10
create_atoms 1 box
set group all type/fraction 2 0.5 77
displace_atoms all random 0.15 0.15 0.15 12
mass 1 1.0
mass 2 2.0
velocity all create 1.3 13 loop geom
timestep 0.002
neighbor 0.4 bin
fix nve all nve
"""


def lattice(box: str = "block 0 7 0 7 0 7", before: str = "") -> str:
    return LATTICE.replace("BOX", box).replace("BEFORE", before)


DPD = "manymove/dpd 0.0 1.0 4711 precision double"
TSTAT = "manymove/dpd/tstat 1.0 1.0 1.2 4711 precision double"
LJ = """
pair_coeff 1 1 lj/cut 1.0 1.0
pair_coeff 1 2 lj/cut 0.7 1.05 1.3
pair_coeff 2 2 lj/cut 1.5 0.9 1.1
"""
KINDS = {
    "lj/cut": f"pair_style hybrid/overlay lj/cut 2.2 {DPD}\n{LJ}"
    "pair_coeff * * manymove/dpd 2.0 4.5\n",
    "lj/cut, shifted": f"pair_style hybrid/overlay lj/cut 1.12246 {TSTAT}\npair_modify shift yes\n"
    f"{LJ}pair_coeff * * manymove/dpd/tstat 4.5\n",
    "lj/cut, mixed": f"pair_style hybrid/overlay {TSTAT} lj/cut 2.5\npair_modify shift yes mix "
    "arithmetic\npair_coeff 1 1 lj/cut 1.0 1.0\npair_coeff 2 2 lj/cut 0.5 0.8\n"
    "pair_coeff 1 2 lj/cut 0.8 0.9\npair_coeff * * manymove/dpd/tstat 4.5\n",
    "morse": f"pair_style hybrid/overlay morse 1.9 {DPD}\npair_modify shift yes\n"
    "pair_coeff * * morse 2.0 4.0 1.1\npair_coeff 1 2 morse 5.0 3.0 1.0 1.5\n"
    "pair_coeff * * manymove/dpd 5.0 4.5\n",
    "soft": f"pair_style hybrid/overlay soft 1.4 {DPD}\npair_coeff * * soft 20.0\n"
    "pair_coeff 1 2 soft 30.0 1.1\npair_coeff * * manymove/dpd 5.0 4.5\n",
    "hybrid": f"pair_style hybrid lj/cut 1.5 {DPD} soft 1.2\npair_coeff 1 1 lj/cut 1.0 1.0\n"
    "pair_coeff 1 2 soft 25.0\npair_coeff 2 2 manymove/dpd 25.0 4.5 1.3\n",
    "table linear": f"{force_tables()}pair_style hybrid/overlay table linear 700 {DPD}\n"
    "pair_coeff * * table forces.table ATTRACTIVE\npair_coeff 2 2 table forces.table SOFT 1.3\n"
    "pair_coeff * * manymove/dpd 5.0 4.5\n",
    "table spline": f"{force_tables()}pair_style hybrid/overlay table spline 200 {TSTAT}\n"
    "pair_coeff * * table forces.table ATTRACTIVE 1.7\npair_coeff 1 2 table forces.table SOFT\n"
    "pair_coeff * * manymove/dpd/tstat 4.5\n",
    "some types": f"pair_style hybrid/overlay lj/cut 2.0 {DPD} morse 1.7\n"
    "pair_coeff 1 1 lj/cut 1.0 1.0\npair_coeff 1 2 morse 3.0 3.0 1.0\n"
    "pair_coeff * * manymove/dpd 5.0 4.5\n",
}
BONDS = """
bond_style fene
bond_coeff 1 30.0 1.5 1.0 1.0
special_bonds fene
create_bonds many all all 1 0.8 0.95
special_bonds lj FACTORS
"""
SCRIPTS = {name: lattice() + laws for name, laws in KINDS.items()} | {
    "one type": lattice()
    .replace("create_box 2", "create_box 1")
    .replace("set group all type/fraction 2 0.5 77\n", "")
    .replace("mass 2 2.0\n", "")
    + f"pair_style hybrid/overlay lj/cut 1.9 {DPD}\npair_modify shift yes\n"
    + "pair_coeff * * lj/cut 1.0 1.0\npair_coeff * * manymove/dpd 2.0 4.5\n",
    "triclinic": lattice("prism 0 7 0 7 0 7 2 1 -1.5") + KINDS["lj/cut"],
    "melt": lattice() + KINDS["lj/cut, shifted"] + BONDS.replace("FACTORS", "0 1 1"),
    "special bonds": lattice() + KINDS["lj/cut"] + BONDS.replace("FACTORS", "0.3 0.7 1"),
    "excluded": lattice() + KINDS["lj/cut"] + "neigh_modify exclude type 1 2\n",
}


def rest(name: str) -> str:
    """What restart files lack: coefficients of hybrid styles, special neighbors, fixes."""
    laws = KINDS["lj/cut, shifted" if name == "melt" else name].split("pair_style", 1)[1]
    laws = (force_tables() if "table" in name else "") + laws.split("\n", 1)[1]
    special = "special_bonds lj 0 1 1\n" if name == "melt" else ""
    return f"{laws}{special}neighbor 0.4 bin\ntimestep 0.002\nfix nve all nve\n"


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", ["melt", "hybrid", "morse", "table linear"])
def test_potentials_on_several_ranks(name, ranks, device, tmp_path):
    # A lattice has other atom IDs on several ranks.
    start = run_lammps(SCRIPTS[name] + "run 0\nwrite_restart start\n", tmp_path).directory / "start"
    script = f"read_restart {start}\ncomm_modify vel yes\n" + rest(name) + resident(device)
    script += "velocity all ramp vx -4 4 y 0 7 sum yes\n" + THERMO + "thermo 15\nrun 30\n" + END
    one, many = (run_lammps(script, tmp_path, ranks=n) for n in (1, ranks))
    assert_same_state(many, one, ("PotEng", "Press", "Pxy"))


def test_coefficients_of_potentials_change(device, tmp_path):
    script = SCRIPTS["lj/cut"] + "variable e equal 1.0+0.05*step\n"
    script += "fix a all adapt 2 pair lj/cut epsilon 1 1 v_e\n"
    assert_steps_of_lammps(script, "double", device, tmp_path, "thermo 5\nrun 10\n", factor=10)


def test_other_coefficients_change_beside_a_table(device, tmp_path):
    script = SCRIPTS["table linear"] + "variable e equal 5.0+0.5*step\n"
    script += "fix a all adapt 1 pair manymove/dpd a 1 1 v_e\n"
    assert_steps_of_lammps(script, "double", device, tmp_path, "thermo 5\nrun 10\n", factor=10)


def test_a_melt_has_the_temperature_of_its_thermostat(device, tmp_path):
    """A network in the manner of Kremer and Grest, at T = 1."""
    laws = KINDS["lj/cut, shifted"].replace("1.0 1.0 1.2 4711", "1.0 1.0 1.8 4711")
    script = lattice() + laws + BONDS.replace("FACTORS", "0 1 1") + resident(device)
    script += "timestep 0.005\nrun 1000\nfix t all ave/time 5 400 2000 c_thermo_temp\n"
    script += "thermo_style custom step temp f_t\nrun 3000\n"
    run = run_lammps(script, tmp_path)
    # 343 particles, so that T of a state has a standard deviation of sqrt(2 / (3 N)) = 0.044; the
    # average of 10 time units, several times the correlation time, has one below 0.02.
    assert run.thermo()["f_t"][-1] == pytest.approx(1.0, abs=0.06)


OTHERS = {
    "pair_style hybrid/overlay with gauss": f"pair_style hybrid/overlay gauss 1.0 {DPD}\n"
    "pair_coeff * * gauss -5.0 2.0\npair_coeff * * manymove/dpd 5.0 4.5\n",
    "pair_style table lookup or bitmap": f"{force_tables()}pair_style hybrid/overlay table lookup "
    f"500 {DPD}\n"
    "pair_coeff * * table forces.table SOFT\npair_coeff * * manymove/dpd 5.0 4.5\n",
    "pair_style hybrid/overlay with two instances of lj/cut": "pair_style hybrid/overlay lj/cut "
    f"1.5 lj/cut 1.2 {DPD}\npair_coeff * * lj/cut 1 1.0 1.0\npair_coeff * * lj/cut 2 1.0 0.9\n"
    "pair_coeff * * manymove/dpd 5.0 4.5\n",
    "pair_style hybrid/overlay with two potentials of types 1 2": "pair_style hybrid/overlay "
    f"lj/cut 1.5 morse 1.2 {DPD}\npair_coeff * * lj/cut 1.0 1.0\n"
    "pair_coeff 1 2 morse 1.0 3.0 1.0\npair_coeff * * manymove/dpd 5.0 4.5\n",
    "pair_style hybrid/overlay with pair_modify special": KINDS["lj/cut"]
    + "special_bonds lj 0.2 0.5 0.7\npair_modify pair lj/cut special lj 0.3 0.5 0.7\n",
    "compute c pair with pair_style hybrid/overlay": KINDS["lj/cut"]
    + "compute c all pair lj/cut\n",
    "compute pressure pair/hybrid with pair_style hybrid/overlay": KINDS["lj/cut"]
    + "compute c all pressure NULL pair/hybrid lj/cut\n",
    "bond_style quartic, whose bonds break": KINDS["lj/cut"]
    + "special_bonds lj 1 1 1\nbond_style quartic\nbond_coeff 1 1200 -0.55 0.25 1.3 34.68\n",
    "potentials of pairs cannot be combined with transverse": "pair_style hybrid/overlay lj/cut "
    "1.2 manymove/dpd/ext 0.0 1.0 4711 precision double\npair_coeff * * lj/cut 1.0 1.0\n"
    "pair_coeff * * manymove/dpd/ext 5.0 4.5 3.0 1.0 1.0\n",
}


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_particles_closer_than_a_table_begins_end_the_run(precision, device, tmp_path):
    script = one_type("create_atoms 1 single 4 4 4\ncreate_atoms 1 single 5.4 4 4", timestep=0.02)
    script += KINDS["table linear"].replace("double", precision).replace("pair_coeff 2 2", "#")
    script += "set atom 2 vx -60.0\n" + resident(device) + "run 3\n"
    assert "was lost before step 2" in run_lammps(script, tmp_path, fails=True).output
    last = script.replace("run 3", "run 1")
    assert "was lost in step 1" in run_lammps(last, tmp_path, fails=True).output
    assert "fix nve all nve\n" in script
    script = script.replace("all nve\n", "all nve/limit 0.6\n").replace("vx -60.0", "vx -600.0")
    script = script.replace("timestep 0.02", "timestep 0.002").replace("run 3", "run 9")
    assert "was lost before step" in run_lammps(script, tmp_path, fails=True).output


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_limited_speed_separates_particles_at_nearly_one_place(precision, tmp_path):
    """Their force is infinite in float32, except on GPUs, which sum integers."""
    script = one_type("create_atoms 1 single 4 4 4\ncreate_atoms 1 single 4.0002 4 4")
    script += "pair_style hybrid/overlay manymove/dpd 0.0 1.0 4711 precision double lj/cut 1.12\n"
    script += "pair_coeff * * manymove/dpd 0.0 0.0\npair_coeff * * lj/cut 1.0 1.0\n"
    script = script.replace("double", precision).replace("all nve\n", "all nve/limit 0.05\n")
    end = THERMO + "run 3\n" + END
    ours = run_lammps(script + resident("cpu") + end, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, run_lammps(script + end, tmp_path), 1e-6)


class TestPotentials(Contract):
    scripts = forces = SCRIPTS
    restarts, threads = {"melt": rest("melt")}, ["melt"]
    refused = {reason: lattice() + script for reason, script in OTHERS.items()}
    runs, factor = "thermo 3\nrun 6\n", 10
    instead, bits_after = "Pair forces are computed on cpu", 300

    def still(self, name, folder):
        script = SCRIPTS[name].replace("timestep 0.002", "timestep 1e-15")
        return script.replace("tstat 1.0 1.0", "tstat 0.0 0.0")
