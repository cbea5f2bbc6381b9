"""Forces of DPD in LAMMPS: with the laws of the paper, as LAMMPS' own styles, on any ranks."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from dpd_scripts import assert_close, one_type, plain_fluid, two_types
from lammps_host import DUMP, THERMO, Run, needs_lammps, run_lammps
from laws import another
from machine import runnable_simd_levels

from manymove import _core

pytestmark = needs_lammps

END = THERMO + DUMP + "fix nve all nve\nrun 0\n"
BONDED = "bond/types 1 extra/bond/per/atom 40 extra/special/per/atom 400"
system = partial(two_types, atoms=1000, bonds=BONDED)


def overlay(style: str, temperature: float = 0.0, tail: str = "") -> str:
    return f"""
pair_style hybrid/overlay {style} {temperature} 1.0 4711 {tail} soft 0.9
pair_coeff 1 1 {style} 25.0 4.5
pair_coeff 1 2 soft 3.0
pair_coeff 2 2 {style} 15.0 6.0 0.9
pair_coeff 2 2 soft 7.0
"""


BONDS = """
bond_style harmonic
bond_coeff 1 20.0 0.5
special_bonds lj 0 1 1
create_bonds many all all 1 0.1 0.25
special_bonds lj 0.3 0.5 0.7
"""

EXPONENTS = """
pair_style manymove/dpd 1.0 1.0 4711 weight_exponent 0.5 precision double
pair_coeff 1 1 25.0 4.5
pair_coeff 1 2 40.0 3.0 1.2 weight_exponent 1.5
pair_coeff 2 2 15.0 6.0 0.9
"""

SETUPS = {
    "orthogonal": (system(), plain_fluid, ""),
    "triclinic": (system("prism 0 7 0 6.5 0 6 2 1 -1.5"), plain_fluid, ""),
    "two dimensions": (
        system("block 0 15 0 15 -0.5 0.5", before="dimension 2"),
        plain_fluid,
        "fix 2 all enforce2d",
    ),
    "newton off": (system(before="newton off"), plain_fluid, ""),
    "open boundaries": (system(before="boundary f p s"), plain_fluid, ""),
    "fractional special_bonds": (system(atoms=600), plain_fluid, BONDS),
    "hybrid/overlay": (system(), overlay, ""),
    "deformed": (
        system("prism 0 7 0 7 0 7 0 0 0"),
        plain_fluid,
        "fix 2 all deform 1 xy erate 0.3 remap v",
    ),
}


@pytest.mark.parametrize("setup", SETUPS)
def test_without_noise_it_is_lammps_dpd(setup, tmp_path):
    start, pairs, more = SETUPS[setup]
    theirs = run_lammps(start + pairs("dpd") + more + END, tmp_path)
    ours = run_lammps(start + pairs("manymove/dpd", tail="precision double") + more + END, tmp_path)
    assert_close(ours.forces(), theirs.forces(), 1e-12)
    for name in ("PotEng", "Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz"):
        expected = theirs.thermo()[name]
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-11, abs=1e-10), name


def test_mixed_precision_is_float32_per_pair(tmp_path):
    # Relative to the largest force on a particle; a pair's own error is 1e-6 of a.
    mixed, double = (
        run_lammps(system() + plain_fluid("manymove/dpd", 1.0, f"precision {p}") + END, tmp_path)
        for p in ("mixed", "double")
    )
    assert_close(mixed.forces(), double.forces(), 1e-6)
    assert (mixed.forces() != double.forces()).any()


@pytest.mark.parametrize("setup", [another("orthogonal"), "triclinic", "fractional special_bonds"])
def test_ranks_draw_the_same_random_numbers(setup, tmp_path):
    start, pairs, more = SETUPS[setup]
    script = start + pairs("manymove/dpd", 1.0, "precision double") + more + END
    alone = run_lammps(script + "write_restart state\n", tmp_path)
    again = f"read_restart {alone.directory / 'state'}\ncomm_modify vel yes\n"
    if "bonds" in setup:
        again += "special_bonds lj 0.3 0.5 0.7\n"
    for ranks, newton in ((2, "on"), (2, "off"), (4, "on")):
        run = run_lammps(f"newton {newton}\n{again}{END}", tmp_path, ranks)
        assert f"on {ranks} procs" in run.output
        assert_close(run.forces(), alone.forces(), 1e-12)


@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_simd_levels_give_the_same_bits(precision, tmp_path, monkeypatch):
    script = system() + EXPONENTS.replace("double", precision) + END
    results = []
    for level in runnable_simd_levels():
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        results.append(run_lammps(script, tmp_path).forces())
    for other in results[1:]:
        assert (other == results[0]).all()


STRESS = """
compute stress all stress/atom NULL virial
dump s all custom 1 stresses id c_stress[1] c_stress[4] fx
dump_modify s sort id format float %.17g
"""


@pytest.mark.parametrize("asked", ["", STRESS], ids=["forces", "stress of each atom"])
@pytest.mark.parametrize("setup", ["orthogonal", "newton off", "fractional special_bonds"])
def test_the_number_of_threads_changes_no_bit(setup, asked, tmp_path):
    # More threads than there are cores, and than there are blocks of the list.
    start, pairs, more = SETUPS[setup]
    runs = [
        run_lammps(
            start
            + pairs("manymove/dpd", 1.0, f"threads {threads}")
            + more
            + asked
            # 36,000 particles are 141 blocks, more than a wave of two threads
            + ("replicate 4 3 3\n" if setup == "orthogonal" and not asked else "")
            + END.replace("run 0", "run 2"),
            tmp_path,
        )
        for threads in (1, 2, 7)
    ]
    for run in runs[1:]:
        assert (run.forces() == runs[0].forces()).all()
        for name, values in runs[0].thermo().items():
            assert (run.thermo()[name] == values).all(), name
        if asked:
            theirs, expected = (r.dump("stresses") for r in (run, runs[0]))
            assert all((theirs[name] == expected[name]).all() for name in expected)


def test_per_atom_energy_and_stress_sum_to_the_total(tmp_path):
    columns = """
compute energy all pe/atom pair
compute total all reduce sum c_energy
compute stress all stress/atom NULL virial
compute trace all reduce sum c_stress[1] c_stress[2] c_stress[3]
compute pressure all pressure NULL virial
thermo_style custom step pe c_total c_pressure c_trace[1] c_trace[2] c_trace[3]
thermo_modify format float %.16g norm no
run 0
"""
    run = run_lammps(
        system() + plain_fluid("manymove/dpd", 1.0, "precision double") + columns, tmp_path
    )
    table = run.thermo()
    assert table["c_total"] == pytest.approx(table["PotEng"], rel=1e-12)
    trace = sum(table[f"c_trace[{k}]"] for k in (1, 2, 3))
    assert -trace / (3 * 7.0**3) == pytest.approx(table["c_pressure"], rel=1e-10)


# ---- two particles: the law itself ----


def two_particles(r: np.ndarray, v: np.ndarray) -> str:
    """The first at `r` from the second, moving past it with velocity `v`."""
    first = np.array([2.0, 2.1, 2.2])

    def words(point: np.ndarray) -> str:
        return " ".join(f"{x:.17g}" for x in point)

    return f"""
units lj
comm_modify vel yes
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 single {words(first)}
create_atoms 1 single {words(first - r)}
mass 1 1.0
set atom 1 vx {v[0]:.17g} vy {v[1]:.17g} vz {v[2]:.17g}
timestep 0.02
fix nve all nve
{THERMO}
{DUMP}
"""


R = np.array([0.31, -0.44, 0.52])
V = np.array([1.3, 0.4, -0.7])


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5, 1.0, 1.7, 3.0])
def test_force_between_two_particles(exponent, precision, tmp_path):
    a, gamma, temperature, cutoff, seed, step = 18.0, 4.5, 0.7, 1.1, 99, 12345
    script = f"""
pair_style manymove/dpd {temperature} 1.0 {seed} precision {precision}
pair_coeff 1 1 {a} {gamma} {cutoff} weight_exponent {exponent}
reset_timestep {step}
run 0
"""
    force = run_lammps(two_particles(R, V) + script, tmp_path).forces()
    distance = np.linalg.norm(R)
    direction, w = R / distance, 1 - distance / cutoff
    xi = float(_core.dpd.noise(seed, step, np.uint32([1]), np.uint32([2]))[0])
    weight = w**exponent  # Eq. 8
    expected = (
        a * w  # Eq. 3
        - gamma * weight**2 * (direction @ V)  # Eqs. 4 and 7
        + math.sqrt(2 * gamma * temperature) * weight * xi / math.sqrt(0.02)  # Eqs. 5 and 9
    )
    tolerance = 1e-12 if precision == "double" else 2e-6
    assert_close(force[0], expected * direction, tolerance)
    assert (force[0] == -force[1]).all()


@pytest.mark.parametrize("exponent", [0.25, 0.5, 2.0])
def test_exponents_are_those_of_dpd_ext(exponent, tmp_path):
    start = system() + "variable T equal 0.0\n"
    theirs = f"""
pair_style dpd/ext 0.0 1.0 4711
pair_coeff * * 25.0 4.5 0.0 {exponent} 1.0 1.1
"""
    ours = f"""
pair_style manymove/dpd 0.0 1.0 4711 weight_exponent {exponent} precision double
pair_coeff * * 25.0 4.5 1.1
"""
    reference = run_lammps(start + theirs + END, tmp_path).forces()
    assert_close(run_lammps(start + ours + END, tmp_path).forces(), reference, 1e-12)


def test_special_bonds_keep_the_temperature(tmp_path):
    # A factor f multiplies the dissipative force; the random one must take its root.
    bond = """
pair_style manymove/dpd 0.7 1.0 99 precision double
pair_coeff 1 1 0.0 4.5
bond_style zero
bond_coeff 1
create_bonds single/bond 1 1 2
special_bonds lj 0.25 1 1
run 0
"""
    start = two_particles(R, np.zeros(3)).replace("units lj", "units lj\natom_style bond")
    start = start.replace(
        "create_box 1 box",
        "create_box 1 box bond/types 1 extra/bond/per/atom 1 extra/special/per/atom 2",
    )
    bonded = run_lammps(start + bond, tmp_path).forces()
    free = run_lammps(start + bond.replace("0.25 1 1", "1 1 1"), tmp_path).forces()
    assert_close(bonded, 0.5 * free, 1e-12)


def test_particles_in_one_place_feel_no_force(tmp_path):
    script = "pair_style manymove/dpd 1.0 1.0 7\npair_coeff * * 25.0 4.5\nrun 0\n"
    run = run_lammps(two_particles(np.zeros(3), V) + script, tmp_path)
    assert (run.forces() == 0).all()
    assert run.thermo()["PotEng"] == pytest.approx(12.5)


def test_minimization_feels_the_conservative_force_alone(tmp_path):
    start = system(atoms=400) + plain_fluid("manymove/dpd", 1.0, "precision double") + THERMO
    run = run_lammps(start + "thermo 1\nminimize 0 1e-8 300 3000\n", tmp_path)
    energies = run.thermo()["PotEng"]
    assert (np.diff(energies) <= 0).all()
    assert energies[-1] < 0.5 * energies[0]


# ---- what other commands ask of a pair style ----


def test_single_is_that_of_lammps(tmp_path):
    columns = """
compute pairs all pair/local dist eng force
dump p all local 1 pairs index c_pairs[1] c_pairs[2] c_pairs[3]
dump_modify p format float %.15g
run 0
pair_write 1 2 50 r 0.1 1.3 table soft
"""
    tables, locals_ = [], []
    for style, tail in (("dpd", ""), ("manymove/dpd", "precision double")):
        run = run_lammps(system(atoms=200) + plain_fluid(style, 0.0, tail) + columns, tmp_path)
        lines = (run.directory / "pairs").read_text().split("ITEM: ENTRIES")[1].splitlines()[1:]
        locals_.append(np.array([[float(w) for w in line.split()[1:]] for line in lines]))
        rows = [line.split() for line in (run.directory / "table").read_text().splitlines()]
        tables.append(
            np.array([[float(w) for w in r] for r in rows if len(r) == 4 and r[0] != "#"])
        )
    assert len(locals_[0]) > 100
    assert_close(locals_[1], locals_[0], 1e-10)
    assert len(tables[0]) == 50
    assert_close(tables[1], tables[0], 1e-10)


def test_fix_adapt_reaches_the_coefficients(tmp_path):
    start = system() + plain_fluid("manymove/dpd", 1.0, "precision double")
    adapt = """
variable one equal 33.0
variable two equal 7.0
variable hot equal 2.0
fix a all adapt 1 pair manymove/dpd a 1 1 v_one pair manymove/dpd gamma 1 1 v_two
"""
    changed = start.replace("1 1 25.0 4.5", "1 1 33.0 7.0")
    assert "33.0" in changed
    reference = run_lammps(changed + END, tmp_path).forces()
    assert_close(run_lammps(start + adapt + END, tmp_path).forces(), reference, 1e-12)


# ---- restart and data files ----


def last(run: Run) -> np.ndarray:
    columns = run.dump()
    return np.stack([columns[c] for c in ("x", "y", "z", "vx", "vy", "vz")], axis=-1)


def test_restart_continues_the_trajectory(tmp_path):
    # To rounding: after a restart atoms are in another order.
    whole = run_lammps(
        system() + EXPONENTS + THERMO + DUMP + "fix nve all nve\nrun 20\n"
        "write_restart half\nrun 20\n",
        tmp_path,
    )
    half = whole.directory / "half"
    resumed = run_lammps(
        f"read_restart {half}\ncomm_modify vel yes\n{THERMO}{DUMP}fix nve all nve\nrun 20\n",
        tmp_path,
    )
    assert_close(last(resumed), last(whole), 1e-9)
    assert (whole.dump()["id"] == resumed.dump()["id"]).all()


@pytest.mark.parametrize("pairs", ["ij", "ii"])
def test_data_file_carries_the_coefficients(pairs, tmp_path):
    written = run_lammps(system() + EXPONENTS + END + f"write_data data pair {pairs}\n", tmp_path)
    text = (written.directory / "data").read_text()
    assert "# manymove/dpd" in text
    read = f"""
units lj
atom_style bond
comm_modify vel yes
bond_style zero
pair_style manymove/dpd 1.0 1.0 4711 weight_exponent 0.5 precision double
read_data {written.directory / "data"}
{"pair_coeff 1 2 40.0 3.0 1.2 weight_exponent 1.5" if pairs == "ii" else ""}
bond_coeff 1
timestep 0.01
neighbor 0.3 bin
"""
    # Positions and velocities are written with 16 digits.
    assert_close(run_lammps(read + END, tmp_path).forces(), written.forces(), 1e-11)


def test_bonds_are_harmonic(tmp_path):
    start = system(atoms=600) + plain_fluid("dpd")
    ends = END + "write_restart bonds\n"
    theirs = run_lammps(start + BONDS + ends, tmp_path)
    ours = run_lammps(
        start + BONDS.replace("bond_style harmonic", "bond_style manymove/harmonic") + ends,
        tmp_path,
    )
    assert_close(ours.forces(), theirs.forces(), 1e-12)
    for name in ("PotEng", "Pxx", "Pxy"):
        assert ours.thermo()[name] == pytest.approx(theirs.thermo()[name], rel=1e-12), name
    again = f"read_restart {ours.directory / 'bonds'}\ncomm_modify vel yes\n"
    again += "special_bonds lj 0.3 0.5 0.7\n"
    assert_close(run_lammps(again + END, tmp_path).forces(), theirs.forces(), 1e-12)


def test_walls_bounce_forward(tmp_path):
    # LAMMPS' wall/reflect does the same; ideal particles, so that nothing but walls acts.
    start = one_type(
        "create_atoms 1 random 300 5 NULL",
        "block 0 4 0 4 0 4",
        "0.0 1.0 3",
        "0.0 0.0",
        before="boundary f f p",
        timestep=0.02,
    )
    start += "velocity all create 3.0 5 loop all\n"
    faces = "xlo EDGE xhi 3.99 ylo 0.01 yhi EDGE"
    theirs = start.replace("xhi EDGE", "") + f"fix w all wall/reflect {faces}\n"
    ours = start + f"fix w all manymove/wall {faces}\n"
    end = THERMO + DUMP + "run 300\n"
    reference = last(run_lammps(theirs + end, tmp_path))
    assert len(reference) == 300
    assert_close(last(run_lammps(ours + end, tmp_path)), reference, 1e-12)
