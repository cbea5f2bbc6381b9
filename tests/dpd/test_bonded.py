"""LAMMPS' own bonds and angles in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import re

import pytest
from dpd_chains import ANGLES, STYLES, chain_data, chains
from dpd_comparisons import Contract, assert_named, assert_same_state, assert_steps_of_lammps
from dpd_scripts import END, assert_close, one_type, pick, resident, state
from dpd_tables import force_tables
from lammps_host import THERMO, needs_lammps, run_lammps

pytestmark = needs_lammps

KINDS = [
    ("harmonic", "harmonic"),
    ("harmonic", "cosine"),
    ("harmonic", "zero"),
    ("fene", "zero"),
    ("fene", "harmonic"),
    ("harmonic", "cosine/squared"),
    ("harmonic", "cosine/delta"),
    ("table linear", "harmonic"),
    ("table spline", "zero"),
    ("zero", "cosine"),
    ("hybrid", "hybrid"),
    ("hybrid zero", "hybrid zero"),
    ("zero", "zero"),
]
BONDED = THERMO.replace("press", "press ebond eangle")
ON_CPU = "Pair forces are computed on cpu"


class TestChains(Contract):
    scripts = {f"{bond}, {angle}": (bond, angle) for bond, angle in KINDS}
    forces = bits = [*scripts][:-1]
    chains = ["fene, harmonic", "harmonic, cosine", "table spline, zero", "hybrid, hybrid zero"]
    # Restart files have no coefficients of hybrid styles.
    restarts = {
        name: "special_bonds lj 0 0.5 1\nfix nve all nve\n"
        + (STYLES["hybrid"] + ANGLES["hybrid"]) * (name == "hybrid, hybrid")
        for name in ("fene, harmonic", "hybrid, hybrid")
    }
    threads, output, sums = ["fene, harmonic"], ["fene, cosine"], ["harmonic, harmonic"]
    refused = {
        "bond_style morse": "bond_style morse\nbond_coeff * 5.0 2.0 0.5\n",
        "angle_style fourier/simple": "angle_style fourier/simple\nangle_coeff * 5.0 1 1\n",
        "bond_style hybrid with morse": "bond_style hybrid morse harmonic\n"
        "bond_coeff 1 morse 5.0 2.0 0.5\nbond_coeff 2 harmonic 5.0 0.5\n",
        "compute e bond with bond_style hybrid": "bond_style hybrid harmonic\n"
        "bond_coeff * harmonic 5.0 0.5\ncompute e all bond\n",
    }
    table, columns = BONDED, ("E_bond", "E_angle", "Press")
    digits, runs, instead = 5e-14, "thermo 3\nrun 6\n", ON_CPU
    bits_after = 300

    def script(self, name, folder, **settings):
        return chains(chain_data(folder), *self.scripts.get(name, name.split(", ")), **settings)

    def still(self, name, folder):
        return self.script(name, folder, law="0.0 0.0").replace("0.005", "1e-15")

    def test_what_is_not_served_is_named(self, name, ranks, tmp_path):
        script = self.script("harmonic, harmonic", tmp_path) + self.refused[name]
        assert self.instead in assert_named(script, name, tmp_path)


@pytest.mark.parametrize("factors", ["0 0 0", "0 0.3 0.7", "0.5 0 1", "1 1 0.2"])
def test_special_bonds_with_angles(factors, device, tmp_path):
    script = chains(chain_data(tmp_path), special=f"special_bonds lj {factors}")
    assert_steps_of_lammps(script, "double", device, tmp_path, "thermo 3\nrun 6\n", BONDED)


def test_lists_of_hybrid_styles_are_those_of_the_present_step(tmp_path):
    """The dump lets LAMMPS build lists after the last step of the engine; the next run is of the
    host, and is not set up."""
    script = chains(chain_data(tmp_path), "hybrid", "hybrid")
    after = "dump d all custom 40 d id x\nrun 40\ncompute e all bond\nrun 3 pre no\n"
    host, ours = (
        run_lammps(script + style + BONDED + after + END, tmp_path)
        for style in ("", resident("cpu"))
    )
    assert "compute e bond with bond_style hybrid" in ours.output
    assert_close(state(ours), state(host), 1e-8)


PAIR = one_type(
    "create_atoms 1 single 3.0 4 4\ncreate_atoms 1 single LENGTH 4 4",
    before="atom_style bond",
    bonds="bond/types 1 extra/bond/per/atom 1 extra/special/per/atom 2",
    law="0.0 0.0",
    skin=3.0,
    timestep=1e-9,
)
PAIR += "bond_style fene\nbond_coeff 1 30.0 1.0 1.0 0.5\nspecial_bonds lj 0 1 1\n"
PAIR += "create_bonds single/bond 1 1 2\n"


@pytest.mark.parametrize("length", [1.2, 1.9])
def test_a_stretched_fene_bond_is_a_warning(length, device, tmp_path):
    # 0.1 is the least argument of the logarithm.
    script = PAIR.replace("LENGTH", str(3 + length)) + THERMO
    host = run_lammps(script + "run 3\n" + END, tmp_path)
    ours = run_lammps(script + resident(device) + "run 3\n" + END, tmp_path)
    assert "manymove/verlet: FENE bond too long before step 3: a bond of atom 2" in ours.output
    assert_close(state(ours), state(host), 1e-13)
    assert abs(pick(ours, "fx")).max() == pytest.approx(length * 30 / 0.1)


def test_a_broken_fene_bond_is_an_error(device, tmp_path):
    script = PAIR.replace("LENGTH", "4.9").replace("timestep 1e-09", "timestep 0.01")
    script += "set atom 2 vx 20\n" + resident(device)
    run = run_lammps(script + "run 10\n", tmp_path, fails=True)
    assert "bad FENE bond: a bond of particle 2 was longer than twice" in run.output


@pytest.mark.parametrize("velocity", [50, -50])
def test_a_bond_outside_of_its_table_is_an_error(velocity, device, tmp_path):
    fene = PAIR[PAIR.index("bond_style") : PAIR.index("special_bonds")]
    table = force_tables() + "bond_style table linear 500\nbond_coeff 1 forces.table SHORT\n"
    script = PAIR.replace(fene, table).replace("LENGTH", "4.7").replace("1e-09", "0.01")
    script += f"set atom 2 vx {velocity} vy 0.5\n" + resident(device) + "run 80\n"
    output = run_lammps(script, tmp_path, fails=True).output
    assert "bad bond: a bond of particle 2 was outside of its table before step" in output


TRIMER = """trimer

3 atoms
2 bonds
1 angles

Coords

1 0.0 0.0 0.0
2 0.7 0.0 0.0
3 1.3 0.35 0.0

Types

1 1
2 1
3 1

Bonds

1 1 1 2
2 1 2 3

Angles

1 1 1 2 3
"""
TRIMERS = """
pair_style manymove/dpd 1.0 1.0 4711 precision double
pair_coeff * * 25.0 4.5
bond_style harmonic
bond_coeff 1 50.0 0.7
angle_style harmonic
angle_coeff 1 5.0 150.0
neighbor 0.3 bin
timestep 0.01
fix nve all nve
"""


@pytest.fixture(scope="module")
def trimers(tmp_path_factory):
    """Restart file of 1,000 stiff trimers at random places."""
    folder = tmp_path_factory.mktemp("trimers")
    (folder / "trimer").write_text(TRIMER)
    script = f"""
units lj
atom_style angle
comm_modify vel yes
region box block 0 10 0 10 0 10
create_box 1 box bond/types 1 angle/types 1 extra/bond/per/atom 2 extra/angle/per/atom 1 &
  extra/special/per/atom 2
molecule trimer {folder / "trimer"}
create_atoms 0 random 1000 771 NULL mol trimer 772
mass 1 1.0
velocity all create 1.0 13 loop geom
{TRIMERS}
write_restart start
"""
    return run_lammps(script, folder).directory / "start"


# The ends of an angle are farther apart than cutoff and skin.
@pytest.mark.parametrize("cutoff", ["", "cutoff 2.2"])
def test_ranks_know_the_ends_of_wide_angles(cutoff, trimers, device, tmp_path):
    start = f"comm_modify vel yes {cutoff}\nread_restart {trimers}\n{TRIMERS}{resident(device)}"
    script = start + BONDED + "thermo 10\nrun 20\n" + END
    one, many = run_lammps(script, tmp_path), run_lammps(script, tmp_path, ranks=2)
    assert_same_state(many, one, ("E_bond", "E_angle", "Press", "Pxy"))


def test_an_angle_beyond_the_reach_of_a_rank_is_an_error(device, tmp_path):
    # The ends fly apart, one on each rank. Twice the cutoff and skin is allowed.
    script = one_type(
        "create_atoms 1 single 7.8 4 4\ncreate_atoms 1 single 7.9 4 4\n"
        "create_atoms 1 single 8.2 4 4\nset atom 1 vx -1.0\nset atom 3 vx 1.0",
        box="block 0 16 0 8 0 8",
        law="0.0 0.0",
        before="atom_style angle\nprocessors 2 1 1",
        skin=0.2,
        timestep=0.05,
        bonds="angle/types 1 extra/angle/per/atom 1 extra/special/per/atom 2",
    )
    script += "angle_style cosine\nangle_coeff 1 0.0\ncreate_bonds single/angle 1 1 2 3\n"
    run = run_lammps(script + resident(device) + "run 90\n", tmp_path, ranks=2, fails=True)
    text = r"an angle of particle [13] reaches farther at step (\d+) than 2.4, the distance"
    found = re.search(text, run.output)
    assert found and int(found[1]) > 44, run.output


def test_styles_of_this_page_exist():
    assert {bond for bond, _ in KINDS} == set(STYLES)
    assert {angle for _, angle in KINDS} == set(ANGLES)
