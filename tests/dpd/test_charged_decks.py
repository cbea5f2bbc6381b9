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
read_data DATA
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
read_data DATA
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
read_data DATA
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
read_data DATA
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

# Water and octanol, with an anionic surfactant and its sodium ions, as a public tool for partition
# coefficients writes them: only pairs of charged types have "yes".
PARTITION = """
units lj
boundary p p p
atom_style full
read_data DATA
mass * 1.0
velocity all create 1.0 92894 mom yes rot yes dist gaussian
neighbor 0.5 bin
neigh_modify every 1 delay 0 one 4000
comm_modify vel yes
bond_style harmonic
bond_coeff 1 150.0 0.39
bond_coeff 2 150.0 0.49
angle_style harmonic
angle_coeff 1 5.0 180.0
pair_style DPD/coul/slater/long 0 1.0 92894 0.25 3.0 TAIL
kspace_style pppm 1.0e-04
pair_coeff 1 1 25.0 3.0
pair_coeff 1 2 45.0 3.0
pair_coeff 1 3 23.0 3.0
pair_coeff 1 4 25.0 3.0
pair_coeff 1 5 17.9 3.0
pair_coeff 2 2 22.0 3.0
pair_coeff 2 3 26.0 3.0
pair_coeff 2 4 45.0 3.0
pair_coeff 2 5 28.5 3.0
pair_coeff 3 3 14.0 3.0
pair_coeff 3 4 23.0 3.0
pair_coeff 3 5 17.9 3.0
pair_coeff 4 4 25.0 3.0 yes
pair_coeff 4 5 25.0 3.0 yes
pair_coeff 5 5 25.0 3.0 yes
fix 1 all nve
timestep 0.01
thermo_modify lost ignore lost/bond ignore
"""

# A charged sheet of clay across the periodic box, a modifier with a charged head, and a polymer, as
# in relax_mmt_mod_poly_coul of https://github.com/ansko/dpd_tools_cpp: points, whose style comes
# first, a cutoff that is not 1, and a thermostat of all atoms.
CLAY = """
units lj
comm_modify vel yes
newton on
special_bonds lj/coul 1 1 1
atom_style full
bond_style harmonic
neighbor 3 bin
neigh_modify delay 0 every 1 check no page 500000 one 50000
read_data DATA
mass * 1
pair_style hybrid/overlay coul/cut 7 DPD 0 2.0 419084618 TAIL
pair_coeff 1 1 DPD 0 5
pair_coeff 1 2*4 DPD 100 5
pair_coeff 2*4 2*4 DPD 10 5
pair_coeff * * coul/cut
bond_coeff 1 1000 2
bond_coeff 2 1000 2.8284271247461903
bond_coeff 3 10 3.4641016151377544
velocity all create 1.0 17
timestep 0.01
fix 1 all nvt temp 1 1 10000
"""

# Two such sheets with heavy modifiers, as in relax_tactoid_coul of
# https://github.com/ansko/dpd_tools, without its barostat, which needs the host.
TACTOID = """
units lj
comm_modify vel yes
newton on
special_bonds lj/coul 1 1 1
atom_style full
bond_style harmonic
neighbor 3 bin
neigh_modify delay 0 every 1 check no page 500000 one 50000
read_data DATA
mass 1 1.1
mass 2 20
mass 3*4 105
pair_style hybrid/overlay coul/cut 5 DPD 0 1 419084618 TAIL
pair_coeff * * DPD 1 5
pair_coeff * * coul/cut
bond_coeff 1 1000 2
bond_coeff 2 1000 2.8284271247461903
bond_coeff 3 100 2
velocity all create 1.0 17
timestep 0.001
fix 1 all nve
"""

DECKS = {
    "partition": PARTITION,
    "clay": CLAY,
    "tactoid": TACTOID,
    "ionic fluid": IONIC_FLUID,
    "bulk": BULK,
    "chains": CHAINS,
    "walls": WALLS,
    "surfactant": SURFACTANT,
    "brush": BRUSH,
    "electroosmosis": ELECTROOSMOSIS,
}
CHAIN_COUNT, EDGE, WATER = 12, 7.0, 700


def written(
    edge: float,
    atoms: list[tuple],
    bonds: list[tuple],
    angles: list[tuple],
    types: tuple[int, int],
    coefficients: str = "",
) -> str:
    """A data file of atoms (molecule, type, charge, place) and of bonds and angles (type, numbers).
    types: numbers of the types of atoms and bonds."""
    lines = [
        "molecules\n", f"{len(atoms)} atoms", f"{len(bonds)} bonds", f"{len(angles)} angles",
        f"{types[0]} atom types", f"{types[1]} bond types", f"{int(bool(angles))} angle types",
        *(f"0 {edge} {a}lo {a}hi" for a in "xyz"), coefficients, "\nAtoms\n",
        *(
            f"{k} {m} {kind} {q} " + " ".join(f"{x:.15g}" for x in place)
            for k, (m, kind, q, place) in enumerate(atoms, 1)
        ),
    ]  # fmt: skip
    for name, terms in (("Bonds", bonds), ("Angles", angles)):
        if terms:
            lines += [f"\n{name}\n"]
            lines += [" ".join(map(str, (k, *term))) for k, term in enumerate(terms, 1)]
    return "\n".join(lines) + "\n"


def direction(random: np.random.Generator) -> np.ndarray:
    step = random.normal(size=3)
    return step / (step**2).sum() ** 0.5


OF_CHAINS = """
Masses

1 1
2 1
3 1
4 1

Bond Coeffs

1 100 0.5

Angle Coeffs

1 5 150
"""


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
                bonds.append((1, number - 1, number))
            if bead > 1:
                angles.append((1, number - 2, number - 1, number))
            # A mirror keeps chains inside the box.
            place = place + 0.6 * direction(random)
            place = EDGE - 0.5 - abs(EDGE - 1 - abs(place - 0.5))
    for kind, charge, count in ((2, 1, -CHAIN_COUNT * sum(beads)), (3, 0, WATER)):
        atoms += [(0, kind, charge, random.uniform(0.1, EDGE - 0.1, 3)) for _ in range(count)]
    return written(EDGE, atoms, bonds, angles, (4, 1), OF_CHAINS)


def partition(random: np.random.Generator) -> str:
    """Water (type 1) below octanol (2 and 3), surfactants (4 and 2) across, sodium (5) in water."""
    atoms, bonds, angles = [], [], []
    molecule = 0

    def add(beads: str, low: float, high: float) -> None:
        nonlocal molecule
        molecule += 1
        place = random.uniform((0, 0, low), (EDGE, EDGE, high))
        for bead, kind in enumerate(map(int, beads)):
            atoms.append((molecule, kind, {4: -1, 5: 1}.get(kind, 0), place % EDGE))
            number, place = len(atoms), place + 0.4 * direction(random)
            if bead:
                bonds.append((1 if kind == 2 else 2, number - 1, number))
            if bead > 1:
                angles.append((1, number - 2, number - 1, number))

    for beads, count, low, high in (
        ("1", 480, 0, EDGE / 2), ("223", 160, EDGE / 2, EDGE), ("42222", 20, 2.5, 4.5),
        ("5", 20, 0, EDGE / 2),
    ):  # fmt: skip
        for _ in range(count):
            add(beads, low, high)
    return written(EDGE, atoms, bonds, angles, (5, 2))


def clay(random: np.random.Generator, edge: float, sheets: int, beads: int) -> str:
    """Sheets of clay (type 1) with edges and diagonals as bonds, of which each eighth bead is
    negative; as many modifiers, with a head (2) and a tail (3); chains of a polymer (4)."""
    atoms, bonds = [], []
    side = round(edge / 2)

    def at(sheet: int, x: int, y: int) -> int:
        return (sheet * side + y % side) * side + x % side + 1

    for sheet in range(sheets):
        for k in range(side**2):
            x, y = k % side, k // side
            place = (x * edge / side, y * edge / side, (sheet + 0.5) * edge / sheets)
            atoms.append((sheet + 1, 1, -(k % 8 == 0), place))
            here, right = at(sheet, x, y), at(sheet, x + 1, y)
            above, across = at(sheet, x, y + 1), at(sheet, x + 1, y + 1)
            bonds += [(1, here, right), (1, here, above), (2, here, across), (2, right, above)]
    heads = -sum(charge for _, _, charge, _ in atoms)
    for molecule in range(sheets + 1, sheets + 1 + heads + beads // 10):
        place = random.uniform(0, edge, 3)
        kinds = (2, 3, 3) if molecule <= sheets + heads else 10 * (4,)
        for bead, kind in enumerate(kinds):
            atoms.append((molecule, kind, int(kind == 2), place % edge))
            if bead:
                bonds.append((3, len(atoms) - 1, len(atoms)))
            place = place + 1.8 * direction(random)
    return written(edge, atoms, bonds, [], (4, 3))


DATA = {
    "partition": partition,
    "clay": lambda random: clay(random, 15.0, 1, 1800),
    "tactoid": lambda random: clay(random, 12.0, 2, 1000),
    "surfactant": lambda random: chains(random, (-1, 0, 0, 0, 0), False),
    "brush": lambda random: chains(random, (0, *7 * [-1]), True),
}


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        *((name, 1) for name in DECKS),
        *((n, 2) for n in ("partition", "clay", "surfactant", "brush", "electroosmosis")),
    ],
)
def test_scripts_with_charges_stay_and_have_lammps_steps(name, ranks, device, tmp_path):
    path = tmp_path / "data"
    data = DATA.get(name, lambda random: chains(random, 8 * (-1,), False))
    path.write_text(data(np.random.default_rng(5)))
    script = DECKS[name].replace("DATA", str(path))
    theirs = script.replace("DPD", "dpd").replace("TAIL", "")
    theirs = run_lammps(theirs + OUTPUT + END, tmp_path, ranks=ranks)
    ours = script.replace("DPD", "manymove/dpd").replace("TAIL", "precision double")
    ours = run_lammps(ours + resident(device) + OUTPUT + END, tmp_path, ranks=ranks)
    assert_stays(ours)
    assert_same_steps(ours, theirs, 1e-5)
    assert abs(theirs.thermo()["E_coul"]).max() > 0.1
    assert abs(pick(theirs, "fx", "fy", "fz")).max() > 1
