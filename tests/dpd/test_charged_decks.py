"""Input scripts with charges as in LAMMPS' examples and as users write them. With the styles of
manymove the particles stay in the engine, and steps agree with those of LAMMPS' own styles. The
temperature is 0, because the random numbers differ."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_scripts import END, assert_same_steps, assert_stays, pick, resident
from lammps_host import needs_lammps, run_lammps

pytestmark = needs_lammps

OUTPUT = """
thermo_style custom step temp press pe evdwl ecoul elong pxx pyy pzz pxy pxz pyz
thermo_modify format float %.16g norm no
thermo 5
run 20
"""

# examples/PACKAGES/dpd-basic/dpd_coul_slater_long of LAMMPS' sources, from a random start.
IONIC_FLUID = """
units lj
boundary p p p
atom_style full
bond_style none
newton on
comm_modify vel yes
region box block 0 5 0 5 0 5
create_box 3 box
create_atoms 1 random 283 11 box
create_atoms 2 random 46 12 box
create_atoms 3 random 46 13 box
set type 2 charge 1
set type 3 charge -1
mass * 1
pair_style DPD/coul/slater/long 0.0 1.0 165412 0.25 2.0 TAIL
kspace_style pppm 1e-04
pair_coeff 1 1 78 4.5 no 1
pair_coeff 1 2 78 4.5 no 1
pair_coeff 1 3 78 4.5 no 1
pair_coeff 2 2 78 4.5 yes 1
pair_coeff 2 3 78 4.5 yes 1
pair_coeff 3 3 78 4.5 yes 1
neighbor 1.0 bin
neigh_modify every 1 delay 0 check yes
velocity all create 1.0 17
timestep 0.001
fix 1 all nve
"""

# examples/PACKAGES/slater: section IV of J. Chem. Phys. 125, 224107 (2006).
BULK = """
boundary p p p
units lj
atom_style charge
region box block 0.0 10.0 0.0 10.0 0.0 10.0
create_box 3 box
create_atoms 1 random 2804 100 box
create_atoms 2 random 98 200 box
create_atoms 3 random 98 300 box
set type 2 charge -1.0
set type 3 charge 1.0
comm_modify mode single vel yes
mass * 1.0
pair_style hybrid/overlay DPD 0.0 1.0 245455 TAIL coul/slater/long 0.929 3.0
pair_coeff * * DPD 25.0 4.5
pair_coeff * * coul/slater/long
kspace_style ewald 0.00001
dielectric 1.0
neighbor 2.0 bin
neigh_modify every 1 delay 0 check no once no
velocity all create 1.0 17
timestep 0.005
fix 2 all nve
"""

# A polyelectrolyte with counterions, with atom_style full, pair coefficients of neutral beads
# without "yes", and the default special_bonds, whose factors of 0 leave out the forces of bonded
# charges.
CHAINS = """
units lj
atom_style full
neighbor 0.5 bin
neigh_modify every 1 delay 0
bond_style harmonic
angle_style harmonic
read_data chains.data
comm_modify vel yes
pair_style DPD/coul/slater/long 0 1.0 92894 0.25 3.0 TAIL
pair_coeff * * 25.00 1.0
kspace_style pppm 1.0e-04
pair_coeff 1 1 25.00 1.0 yes
pair_coeff 1 2 25.00 1.0 yes
pair_coeff 2 2 25.00 1.0 yes
pair_coeff 1 3 27.50 1.0
velocity all create 1.0 4928459 dist gaussian
fix 1 all nve
timestep 0.01
dump 1 all custom 10 dump.lammpstrj id type q x y z
"""

# The same chains between walls, with charges cut off.
WALLS = """
units lj
boundary p p f
atom_style full
bond_style harmonic
angle_style harmonic
read_data chains.data
comm_modify vel yes
special_bonds lj 1 1 1 coul 0 0.5 1
pair_style hybrid/overlay DPD 0 1.0 92894 TAIL coul/slater/cut 0.25 3.0
pair_coeff * * DPD 25.00 4.5
pair_coeff 1*2 1*2 coul/slater/cut
velocity all create 1.0 4928459
fix walls all wall/reflect zlo EDGE zhi EDGE
fix 1 all nve
timestep 0.005
"""

# An ionic surfactant: a charged head, four beads of a tail that repels water, and counterions.
SURFACTANT = """
units lj
atom_style full
bond_style harmonic
angle_style harmonic
read_data chains.data
comm_modify mode single vel yes
neigh_modify delay 0 every 1
special_bonds lj 1 1 1 coul 1 1 1
pair_style hybrid/overlay DPD 0 1.0 92894 TAIL coul/slater/long 0.67 3.0
pair_coeff * * DPD 25.0 4.5
pair_coeff 1*3 4 DPD 80.0 4.5
pair_coeff 1*2 1*2 coul/slater/long
kspace_style pppm 1e-4
dielectric 0.6
velocity all create 1.0 4928459
fix 1 all nve
timestep 0.005
"""

# A polyelectrolyte brush with counterions between walls. The grafted ends are frozen.
BRUSH = """
units lj
boundary p p f
atom_style full
bond_style harmonic
angle_style harmonic
read_data chains.data
comm_modify mode single vel yes
special_bonds lj 1 1 1 coul 1 1 1
group mobile type 1 2 3
pair_style hybrid/overlay DPD 0 1.0 92894 TAIL coul/slater/long 0.25 2.5
pair_coeff * * DPD 25.0 4.5
pair_coeff 1*2 1*2 coul/slater/long
kspace_style pppm 1e-4
kspace_modify slab 3.0
velocity mobile create 1.0 4928459
fix walls mobile wall/reflect zlo EDGE zhi EDGE
fix 1 mobile nve
timestep 0.005
"""

# Electroosmotic flow: counterions in a field, which acts on them alone, between charged walls of
# frozen beads.
ELECTROOSMOSIS = """
units lj
boundary p p f
atom_style charge
region box block 0 6 0 6 0 8
create_box 3 box
region lower block INF INF INF INF 0.2 0.8
region upper block INF INF INF INF 7.2 7.8
region middle block INF INF INF INF 0.8 7.2
create_atoms 3 random 60 11 lower
create_atoms 3 random 60 12 upper
create_atoms 1 random 560 13 middle
create_atoms 2 random 60 14 middle
set type 2 charge 1.0
set type 3 charge -0.5
group ions type 2
group mobile type 1 2
mass * 1.0
comm_modify mode single vel yes
pair_style hybrid/overlay DPD 0 1.0 92894 TAIL coul/slater/long 0.25 2.5
pair_coeff * * DPD 25.0 4.5
pair_coeff 2*3 2*3 coul/slater/long
kspace_style pppm 1e-4
kspace_modify slab 3.0
velocity mobile create 1.0 4928459
fix field ions addforce 0.3 0.0 0.0
fix walls mobile wall/reflect zlo EDGE zhi EDGE
fix 1 mobile nve
timestep 0.005
"""

DECKS = {
    "ionic fluid": IONIC_FLUID,
    "bulk": BULK,
    "chains": CHAINS,
    "walls": WALLS,
    "surfactant": SURFACTANT,
    "brush": BRUSH,
    "electroosmosis": ELECTROOSMOSIS,
}
# Charges of the beads of a chain, of type 1, or 4 if they are neutral.
BEADS = {"surfactant": (-1, 0, 0, 0, 0), "brush": (0, *7 * [-1])}
CHAIN_COUNT, EDGE, WATER = 12, 7.0, 700


def chains(random: np.random.Generator, beads: tuple[int, ...], grafted: bool) -> str:
    """A data file of chains with negative beads, counterions and water. grafted: chains begin next
    to the lower wall."""
    atoms, bonds, angles = [], [], []
    for chain in range(CHAIN_COUNT):
        place = random.uniform(0.5, EDGE - 0.5, 3)
        if grafted:
            place[2] = 0.2
        for bead, charge in enumerate(beads):
            atoms.append((chain + 1, 1 if charge else 4, charge, place))
            number = len(atoms)
            if bead:
                bonds.append((number - 1, number))
            if bead > 1:
                angles.append((number - 2, number - 1, number))
            step = random.normal(size=3)
            place = place + 0.6 * step / (step**2).sum() ** 0.5
            # A mirror keeps chains inside the box.
            place = EDGE - 0.5 - abs(EDGE - 1 - abs(place - 0.5))
    for kind, charge, count in ((2, 1, -CHAIN_COUNT * sum(beads)), (3, 0, WATER)):
        atoms += [(0, kind, charge, random.uniform(0.1, EDGE - 0.1, 3)) for _ in range(count)]
    lines = [
        "chains\n", f"{len(atoms)} atoms", f"{len(bonds)} bonds", f"{len(angles)} angles",
        "4 atom types", "1 bond types", "1 angle types",
        *(f"0 {EDGE} {a}lo {a}hi" for a in "xyz"),
        "\nMasses\n", "1 1", "2 1", "3 1", "4 1", "\nBond Coeffs\n", "1 100 0.5",
        "\nAngle Coeffs\n", "1 5 150", "\nAtoms\n",
        *(
            f"{k} {m} {kind} {q} " + " ".join(f"{x:.15g}" for x in place)
            for k, (m, kind, q, place) in enumerate(atoms, 1)
        ),
        "\nBonds\n", *(f"{k} 1 {i} {j}" for k, (i, j) in enumerate(bonds, 1)),
        "\nAngles\n", *(f"{k} 1 {i} {j} {m}" for k, (i, j, m) in enumerate(angles, 1)),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("name", "ranks"),
    [*((name, 1) for name in DECKS), *((n, 2) for n in ("surfactant", "brush", "electroosmosis"))],
)
def test_scripts_with_charges_stay_and_have_lammps_steps(name, ranks, device, tmp_path):
    path = tmp_path / "chains.data"
    beads = BEADS.get(name, (-1,) * 8)
    path.write_text(chains(np.random.default_rng(5), beads, name == "brush"))
    script = DECKS[name].replace("chains.data", str(path))
    theirs = script.replace("DPD", "dpd").replace("TAIL", "")
    theirs = run_lammps(theirs + OUTPUT + END, tmp_path, ranks=ranks)
    ours = script.replace("DPD", "manymove/dpd").replace("TAIL", "precision double")
    ours = run_lammps(ours + resident(device) + OUTPUT + END, tmp_path, ranks=ranks)
    assert_stays(ours)
    assert_same_steps(ours, theirs, 1e-5)
    assert abs(theirs.thermo()["E_coul"]).max() > 0.1
    assert abs(pick(theirs, "fx", "fy", "fz")).max() > 1
