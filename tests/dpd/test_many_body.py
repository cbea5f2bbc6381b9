"""Many-body DPD, `pair_style manymove/mdpd`: its law, on the host and in the engines."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from dpd_comparisons import assert_restart_continues, assert_same_bits
from dpd_scripts import (
    BONDS,
    END,
    STAYS,
    WARNING,
    assert_close,
    assert_same_steps,
    assert_stays,
    compare,
    pick,
    resident,
    state,
    system,
    two_types,
)
from lammps_host import DUMP, THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

A, B, CUTOFF, DENSITY_CUTOFF = -40.0, 25.0, 1.0, 0.75
LAW = f"pair_coeff * * {A} {B} 18.0 {CUTOFF} {DENSITY_CUTOFF}\n"
STRESSES = ("Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz")
DOUBLE = "precision double"


def many_body(temperature: float = 0.0, tail: str = DOUBLE, law: str = LAW) -> str:
    return f"pair_style manymove/mdpd {temperature} {CUTOFF} 4711 {tail}\n{law}"


TWO_LAWS = f"""
pair_coeff 1 1 -40 {B} 18.0 1.0 0.75
pair_coeff 1 2 -30 {B} 9.0 1.2 0.75 weight_exponent 0.5
pair_coeff 2 2 -35 {B} 12.0 0.9 0.75 weight_exponent 1.7
"""


def pairs(
    position: np.ndarray, box: np.ndarray, cutoff: float = CUTOFF
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of all pairs i < j within the cutoff, and r_i - r_j of the nearest images."""
    i, j = np.triu_indices(len(position), 1)
    r = position[i] - position[j]
    r -= box * np.round(r / box)
    near = (r**2).sum(axis=1) < cutoff**2
    return i[near], j[near], r[near]


def density(position: np.ndarray, box: np.ndarray) -> np.ndarray:
    """The sum of w_rho over all other particles."""
    i, j, r = pairs(position, box)
    weight = np.maximum(1 - np.linalg.norm(r, axis=1) / DENSITY_CUTOFF, 0) ** 2
    weight *= 15 / (2 * math.pi * DENSITY_CUTOFF**3)
    count = len(position)
    return np.bincount(i, weight, count) + np.bincount(j, weight, count)


def energies(
    position: np.ndarray, box: np.ndarray, kind: np.ndarray, law: dict[int, tuple[float, float]]
) -> tuple[float, float]:
    """Values of the attraction, and of the local densities. law: A and cutoff by sum of types."""
    i, j, r = pairs(position, box, max(cutoff for _, cutoff in law.values()))
    a, cutoff = np.array([law[n] for n in kind[i] + kind[j]]).T
    attraction = 0.5 * a * cutoff * np.maximum(1 - np.linalg.norm(r, axis=1) / cutoff, 0) ** 2
    embedding = math.pi * DENSITY_CUTOFF**4 * B / 30 * density(position, box) ** 2
    return attraction.sum(), embedding.sum()


@pytest.mark.parametrize("types", [1, 2])
def test_without_noise_it_is_lammps_mdpd(types, device, tmp_path):
    # LAMMPS' mdpd takes the densities that atoms have. Its energy counts that of the densities
    # twice.
    rng = np.random.default_rng(5)
    box = np.full(3, 4.0)
    position, velocity = rng.uniform(0, box, (300, 3)), rng.normal(size=(300, 3))
    kind = rng.integers(1, types + 1, 300)
    rho = density(position, box)
    atoms = (
        f"{k + 1} {kind[k]} {rho[k]:.17g} " + " ".join(f"{x:.17g}" for x in position[k])
        for k in range(300)
    )
    speeds = (f"{k + 1} " + " ".join(f"{v:.17g}" for v in velocity[k]) for k in range(300))
    faces = "".join(f"0 4 {a}lo {a}hi\n" for a in "xyz")
    masses = "".join(f"{t} 1.0\n" for t in range(1, types + 1))
    data = tmp_path / "data"
    data.write_text(
        f"\n\n300 atoms\n{types} atom types\n{faces}\nMasses\n\n{masses}\nAtoms\n\n"
        + "\n".join(atoms)
        + "\n\nVelocities\n\n"
        + "\n".join(speeds)
        + "\n"
    )
    law = LAW if types == 1 else re.sub(" weight_exponent .*", "", TWO_LAWS)
    start = f"units lj\natom_style mdpd\ncomm_modify vel yes\nread_data {data}\n"
    theirs = run_lammps(
        start + f"pair_style mdpd 0.0 1.0 4711\n{law}{THERMO}{DUMP}run 0\n", tmp_path
    )
    ours = run_lammps(
        start
        + many_body(law=law)
        + THERMO
        + "compute rho all sph/rho/atom\n"
        + DUMP.replace("fz\n", "fz c_rho\n")
        + "run 0\n",
        tmp_path,
    )
    assert_close(ours.dump()["c_rho"], rho, 1e-12)
    # In the engine, which refuses atoms that have a density, after the first half of a step that
    # moves nothing.
    plain = start.replace("atom_style mdpd", "atom_style atomic")
    (tmp_path / "plain").write_text(
        re.sub(r"^(\d+ \d+) \S+ (\S+ \S+ \S+)$", r"\1 \2", data.read_text(), flags=re.M)
    )
    engine = run_lammps(
        plain.replace(str(data), str(tmp_path / "plain"))
        + many_body(law=law)
        + "timestep 1e-30\nfix nve all nve\n"
        + resident(device)
        + THERMO
        + "run 1\n"
        + END,
        tmp_path,
    )
    assert_stays(engine)
    for run, name in ((ours, "dump"), (engine, "end")):
        assert_close(pick(run, "fx", "fy", "fz", file=name), theirs.forces(), 1e-12)
        stresses = ([r.thermo()[name][-1] for name in STRESSES] for r in (run, theirs))
        assert_close(*map(np.array, stresses), 1e-12)
    by_types = {2: (A, CUTOFF), 3: (-30, 1.2), 4: (-35, 0.9)}  # of TWO_LAWS
    attraction, embedding = energies(position, box, kind, by_types)
    for run in (ours, engine):
        assert run.thermo()["PotEng"][-1] == pytest.approx(attraction + embedding, rel=1e-12)
    assert theirs.thermo()["PotEng"][-1] == pytest.approx(attraction + 2 * embedding, rel=1e-12)


def test_the_force_is_the_gradient_of_the_energy(tmp_path):
    # With special neighbors of different weights, two types and a tilted box.
    step, moves = 1e-4, []
    for atom in (3, 150, 290):
        for axis in range(3):
            for by in (step, -2 * step, step):
                shift = " ".join(str(by if a == axis else 0) for a in range(3))
                moves.append(
                    f"group one id {atom}\ndisplace_atoms one move {shift} units box\n"
                    "group one delete\nrun 0\n"
                )
    script = two_types("prism 0 4 0 4.2 0 4 0.5 0.3 -0.2", 400) + "velocity all set 0 0 0\n"
    law = TWO_LAWS.replace(" weight_exponent 0.5", "").replace(" weight_exponent 1.7", "")
    bonds = BONDS.replace("0.0 0.5 1.0", "0.2 0.5 1.0").replace("manymove/harmonic", "harmonic")
    run = run_lammps(
        script + many_body(law=law) + bonds + THERMO + DUMP + "run 0\n" + "".join(moves), tmp_path
    )
    force = run.forces(frame=0)
    index = {int(k): n for n, k in enumerate(run.dump(frame=0)["id"])}
    energy = np.array([run.thermo(k)["PotEng"][0] for k in range(1 + len(moves))])[1:]
    energy = energy.reshape(3, 3, 3)
    slope = (energy[..., 1] - energy[..., 0]) / (2 * step)
    expected = np.array([force[index[k]] for k in (3, 150, 290)])
    assert_close(slope, expected, 3e-6)


def test_without_b_it_is_manymove_dpd_to_the_last_bit(device, tmp_path):
    # So are friction and noise, whose moments the tests of manymove/dpd check.
    script = system(atoms=900)
    ours = many_body(1.3, DOUBLE + " weight_exponent 0.6", "pair_coeff * * 25 0 4.5 1.0 0.75\n")
    dpd = "pair_style manymove/dpd 1.3 1.0 4711 precision double weight_exponent 0.6\n"
    dpd += "pair_coeff * * 25 4.5\n"
    for where in ("", resident(device)):
        one, two = (
            run_lammps(script + pair + where + "run 20\n" + END, tmp_path) for pair in (ours, dpd)
        )
        if where:
            assert (state(one) == state(two)).all()
        else:  # LAMMPS orders the neighbors in its half list in another way
            assert_close(state(one), state(two), 1e-10)


WALLS = "fix walls all manymove/wall zlo 0.02 zhi 6.97\nfix down all addforce 0.1 0 -0.2\n"
SCRIPTS = {
    "one type": system(atoms=1400) + many_body(1.0),
    "two types": system(atoms=1400) + many_body(1.0, law=TWO_LAWS),
    "triclinic": system("prism 0 7 0 7.5 0 7 2 1 -1.5", 1400) + many_body(1.0, law=TWO_LAWS),
    "bonds": system() + many_body(1.0) + BONDS,
    "walls": system(atoms=1400, before="boundary p p f") + many_body(1.0) + WALLS,
    "small box": system("block 0 3 0 4 0 5", 300) + many_body(1.0),
    "newton off": system(before="newton off") + many_body(1.0, law=TWO_LAWS),
    "changing attraction": system(atoms=1400)
    + many_body(1.0)
    + "variable a equal ramp(-40,-20)\nfix a all adapt 2 pair manymove/mdpd a * * v_a\n",
}


# What restart files do not have.
AGAIN = "neighbor 0.3 bin\ntimestep 0.01\nfix nve all nve\n"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_few_steps_are_those_of_the_host(name, device, tmp_path):
    ours, host = compare(SCRIPTS[name], THERMO + "thermo 5\nrun 10\n", device, tmp_path)
    assert_same_steps(ours, host, 1e-10)


def test_forces_come_from_the_engine_where_the_host_moves_the_particles(device, tmp_path):
    script = SCRIPTS["two types"] + "fix tie all spring/self 0.1\n"
    end = THERMO + "thermo 5\nrun 10\n" + END
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert "Pair forces are computed on" in ours.output
    assert_same_steps(ours, run_lammps(script + end, tmp_path), 1e-10)


def test_mixed_precision(device, tmp_path):
    for name in ("one type", "bonds"):
        script = SCRIPTS[name].replace(DOUBLE, "precision mixed")
        ours, _ = compare(script, THERMO + "run 5\n", device, tmp_path)
        exact = run_lammps(SCRIPTS[name] + THERMO + "run 5\n" + END, tmp_path)
        assert_same_steps(ours, exact, 2e-5)


def restarted(script: str, tmp_path) -> str:
    """The input script with the atoms that one rank creates."""
    start = run_lammps(script + "write_restart start\n", tmp_path).directory / "start"
    more = ("newton", "fix walls", "fix down")
    kept = [line for line in script.splitlines() if line.startswith(more)]
    return "\n".join([f"comm_modify vel yes\nread_restart {start}", AGAIN, *kept, ""])


@pytest.mark.parametrize("resides", [False, True])
def test_ranks_and_threads(resides, device, tmp_path):
    where = resident(device) if resides else ""
    end = "run 15\n" + END
    script = restarted(SCRIPTS["two types"], tmp_path) + THERMO
    one = run_lammps(script + where + end, tmp_path)
    two = run_lammps(script + where + end, tmp_path, ranks=2)
    assert_same_steps(two, one, 1e-10)
    if where:
        assert_stays(two)
    threads = (
        resident("cpu", "threads 3")
        if where
        else "pair_style manymove/mdpd 1 1 4711 precision double threads 3\n" + TWO_LAWS
    )
    three = run_lammps(script + threads + end, tmp_path)
    assert (state(three) == state(one)).all()


RANKS = [
    ("one type", "2 1 1", "mixed"),
    ("triclinic", "1 2 2", "double"),
    ("bonds", "1 1 2", "double"),
    ("walls", "1 1 2", "mixed"),
    ("small box", "1 2 1", "double"),
]


@pytest.mark.parametrize(("name", "processors", "precision"), RANKS)
def test_ranks_share_the_box(name, processors, precision, device, tmp_path):
    script = restarted(SCRIPTS[name].replace(DOUBLE, f"precision {precision}"), tmp_path)
    ranks = math.prod(int(n) for n in processors.split())
    end = resident(device) + THERMO + "thermo 3\nrun 6\n" + END
    one = run_lammps(script + end, tmp_path)
    many = run_lammps(f"processors {processors}\n" + script + end, tmp_path, ranks=ranks)
    assert_stays(many)
    assert_same_steps(many, one, {"double": 1e-10, "mixed": 3e-5}[precision])


def test_ranks_lose_nothing_in_a_longer_run(device, tmp_path):
    # A sheared film, whose particles change ranks: the momentum stays zero, and after 300 steps the
    # energy is that of the host, which computes all densities itself.
    script = """
units lj
comm_modify vel yes
processors 1 2 2
region box block 0 5 0 5 0 8
region film block 0 5 0 5 2 6
create_box 1 box
create_atoms 1 random 600 11 film
mass 1 1.0
velocity all create 1.0 13 loop geom
velocity all ramp vx -2 2 z 2 6 sum yes
velocity all zero linear
timestep 0.01
neighbor 0.3 bin
fix nve all nve
"""
    energy = THERMO + "thermo 300\nrun {}\n"
    run = run_lammps(
        script + many_body(1.0) + resident(device) + energy.format(300)
        + "write_restart last\n" + END,
        tmp_path,
        ranks=4,
    )  # fmt: skip
    assert_stays(run)
    assert (np.sort(run.dump("end")["id"]) == np.arange(1, 601)).all()
    velocity = pick(run, "vx", "vy", "vz")
    assert abs(velocity.sum(axis=0)).max() < 1e-9
    host = run_lammps(
        f"comm_modify vel yes\nread_restart {run.directory / 'last'}\n" + AGAIN + energy.format(0),
        tmp_path,
    )
    assert host.thermo()["PotEng"][-1] == pytest.approx(run.thermo()["PotEng"][-1], rel=1e-9)


def test_values_per_atom_and_a_thermostat_keep_the_trajectory(device, tmp_path):
    script = SCRIPTS["one type"] + resident(device) + THERMO
    look = "compute e all pe/atom\ncompute s all reduce sum c_e\nthermo_style custom step pe c_s\n"
    looked = run_lammps(script + look + "thermo 2\nrun 6\n" + END, tmp_path)
    alone = run_lammps(script + "run 6\n" + END, tmp_path)
    assert (state(looked) == state(alone)).all()
    assert looked.thermo()["c_s"] == pytest.approx(looked.thermo()["PotEng"], rel=1e-9)


def test_a_restart_continues_to_the_last_bit(device, tmp_path):
    # The restart file has all coefficients, and so has a data file.
    start, where = SCRIPTS["two types"], resident(device)
    whole = run_lammps(start + where + "run 8\nrun 8\n" + END, tmp_path)
    file = tmp_path / "state"
    run_lammps(start + where + f"run 8\nwrite_restart {file}\n", tmp_path)
    again = f"comm_modify vel yes\nread_restart {file}\n" + AGAIN
    rest = run_lammps(again + where + "run 8\n" + END, tmp_path)
    assert (state(rest) == state(whole)).all()

    data = tmp_path / "data"
    run = run_lammps(start + THERMO + f"run 0\nwrite_data {data} pair ij\n", tmp_path)
    read = "units lj\natom_style bond\ncomm_modify vel yes\n" + many_body(1.0, law="")
    other = run_lammps(read + f"read_data {data}\n" + THERMO + "run 0\n", tmp_path)
    assert other.thermo()["PotEng"] == pytest.approx(run.thermo()["PotEng"], rel=1e-12)


def test_minimization_uses_the_conservative_force(tmp_path):
    run = run_lammps(
        SCRIPTS["one type"] + THERMO + "thermo 1000\nminimize 1e-7 1e-7 200 2000\n", tmp_path
    )
    energy = run.thermo()["PotEng"]
    assert energy[-1] < energy[0]
    assert "linesearch alpha is zero" not in run.output


def setfl() -> str:
    """The conservative force as an embedded-atom potential."""
    count = 4000
    r = CUTOFF / count * np.arange(count)
    rho_of_r = np.maximum(1 - r / DENSITY_CUTOFF, 0) ** 2 * 15 / (2 * math.pi * DENSITY_CUTOFF**3)
    rho = 60.0 / count * np.arange(count)
    tables = (
        math.pi * DENSITY_CUTOFF**4 * B / 30 * rho**2,
        rho_of_r,
        0.5 * A * CUTOFF * (1 - r / CUTOFF) ** 2 * r,
    )
    head = f"\n\n\n1 X\n{count} {60.0 / count:.17g} {count} {CUTOFF / count:.17g} {CUTOFF}\n"
    head += "1 1.0 1.0 sc\n"
    return head + "".join("\n".join(f"{x:.17g}" for x in table) + "\n" for table in tables)


def test_temperature_and_pressure_are_those_of_an_embedded_atom_fluid(device, tmp_path):
    # LAMMPS' eam/alloy with its dpd/tstat is the same fluid. Two means differ by five standard
    # errors, from eight blocks each, once in 600 runs at most: one comparison of the two fails a
    # right program once in 300.
    (tmp_path / "x.eam").write_text(setfl())
    start = """
units lj
comm_modify vel yes
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 random 390 11 NULL
mass 1 1.0
velocity all create 1.0 13
timestep 0.01
neighbor 0.3 bin
fix nve all nve/limit 0.05
"""
    run = THERMO + "thermo 10\nrun 200\nunfix nve\nfix nve all nve\nrun 1600\n"
    theirs = run_lammps(
        start + f"pair_style hybrid/overlay eam/alloy dpd/tstat 1.0 1.0 1.0 4711\n"
        f"pair_coeff * * eam/alloy {tmp_path}/x.eam X\npair_coeff * * dpd/tstat 18.0\n" + run,
        tmp_path,
    )
    ours = run_lammps(start + many_body(1.0, "precision mixed") + resident(device) + run, tmp_path)
    for name in ("Temp", "Press"):
        blocks = [
            np.array([b.mean() for b in np.array_split(r.thermo()[name][40:], 8)])
            for r in (ours, theirs)
        ]
        error = math.sqrt(sum(b.var(ddof=1) / 8 for b in blocks))
        assert abs(blocks[0].mean() - blocks[1].mean()) < 5 * error, name
        assert error < (0.02 if name == "Temp" else 1.5), name


def test_a_film_has_the_density_and_the_surface_tension_of_the_literature(device, tmp_path):
    # Warren (2003): a liquid of density 6.1 with surface tension 7.5 and hardly any vapor. Six
    # standard errors from eight blocks: a right program fails once in two thousand runs.
    script = """
units lj
comm_modify vel yes
region box block 0 6 0 6 0 14
region film block 0 6 0 6 4 10
create_box 1 box
create_atoms 1 random 1310 11 film
mass 1 1.0
velocity all create 1.0 13
timestep 0.01
neighbor 0.4 bin
fix nve all nve/limit 0.05
"""
    run = run_lammps(
        script
        + many_body(1.0, "precision mixed")
        + resident(device)
        + THERMO
        + "thermo 1\nrun 300\nunfix nve\nfix nve all nve\n"
        "compute z all chunk/atom bin/1d z lower 0.25 units box\n"
        "fix p all ave/chunk 10 100 1000 z density/number file profile\n"
        "run 1700\n",
        tmp_path,
    )
    columns = run.thermo()
    tension = 0.5 * 14 * (columns["Pzz"] - 0.5 * (columns["Pxx"] + columns["Pyy"]))[400:]
    blocks = np.array([b.mean() for b in np.array_split(tension, 8)])
    error = blocks.std(ddof=1) / math.sqrt(8)
    assert error < 0.5
    assert abs(blocks.mean() - 7.5) < 6 * error
    rows = [line.split() for line in (run.directory / "profile").read_text().splitlines()[4:]]
    profile = np.array([float(row[3]) for row in rows if len(row) == 4][-56:])
    assert np.sort(profile)[-12:].mean() == pytest.approx(6.1, abs=0.15)
    assert np.sort(profile)[:16].max() < 0.02


BAD = {
    "pair_coeff * * -40 25 18 1.0": "A B gamma cutoff density_cutoff .*missing argument",
    "pair_coeff * * mdpd -40 25 18 1.0 0.75": "mdpd is not a number; the name of a style",
    "pair_coeff * * -40 -25 18 1.0 0.75": "B -25 must not be negative, because the energy",
    "pair_coeff * * -40 inf 18 1.0 0.75": "B inf must be finite|[Ee]xpected floating",
    "pair_coeff * * -40 25 18 1.0 0": "density_cutoff 0 must be positive",
    "pair_coeff * * -40 25 18 1.0 1.2": "density_cutoff 1.2 must not be larger than cutoff 1.0",
    "pair_coeff * * -40 25 -18 1.0 0.75": "manymove/mdpd: gamma -18 must not be negative",
    "pair_coeff * * -40 25 18 1.0 0.75 0.5": "manymove/mdpd: unknown keyword 0.5",
    "pair_coeff * * -40 25 18 1.0 0.75\npair_coeff 2 2 -40 30 18 1.0 0.75": (
        "B is 25 for types 1 1 and 30 for types 2 2; it must be the same"
    ),
    "pair_coeff * * -40 25 18 1.0 0.75\npair_coeff 1 2 -40 25 18 1.0 0.7": (
        "density_cutoff is 0.75 for types 1 1 and 0.7 for types 1 2; it must be the same"
    ),
    LAW + "pair_style manymove/mdpd 1.0 0.5 7": "density_cutoff 0.75 of types 1 1 must not be",
    LAW + "pair_style manymove/mdpd -1.0 1.0 7": "manymove/mdpd: temperature -1.0 must not be",
    LAW + "run_style respa 2 2": "manymove/mdpd draws one random number",
}


@pytest.mark.parametrize("law", BAD)
def test_bad_coefficients_are_named(law, tmp_path):
    run = run_lammps(system(atoms=50) + many_body(law=law + "\n") + "run 0\n", tmp_path, fails=True)
    assert re.search(BAD[law], " ".join(run.output.split())), run.output


HYBRID = many_body(1.0).replace("pair_style", "pair_style hybrid/overlay soft 1.0")
STAYING = {
    "densities of atoms (instead: atom_style atomic)": system(atoms=400).replace(
        "atom_style bond", "atom_style hybrid bond mdpd"
    )
    + many_body(1.0)
    + "fix s all spring/self 3.0\n",
    "neigh_modify exclude with pair_style manymove/mdpd": system(atoms=400)
    + many_body(1.0)
    + "neigh_modify exclude type 1 2\n",
    "pair_style hybrid/overlay with manymove/mdpd": system(atoms=400)
    + HYBRID.replace("* * ", "* * manymove/mdpd ")
    + "pair_coeff * * soft 10.0\n",
}


@pytest.mark.parametrize("reason", STAYING)
def test_what_keeps_the_particles_on_the_host(reason, tmp_path):
    script = STAYING[reason]
    host = run_lammps(script + "run 5\n" + END, tmp_path)
    ours = run_lammps(script + resident("cpu") + "run 5\n" + END, tmp_path)
    assert WARNING in ours.output and reason in ours.output and STAYS not in ours.output
    assert_close(state(ours), state(host), 1e-10)  # lists are built in each step, and sorted


# ---- atoms with densities, and fix mvv/dpd ----

MVV = "fix nve all mvv/dpd\n"
ATOMS_OF_MDPD = system(atoms=400).replace("atom_style bond", "atom_style hybrid bond mdpd")
MODIFIED = ATOMS_OF_MDPD.replace("fix nve all nve\n", MVV) + many_body(1.0).replace(
    "manymove/mdpd", "mdpd/manymove"
)
DENSITIES = END.replace("fz modify", "fz c_rho modify")


def assert_densities(ours, expected) -> None:
    assert_close(pick(ours, "c_rho"), pick(expected, "c_rho"), 1e-10)
    assert_close(state(ours), state(expected), 1e-9)


@pytest.mark.parametrize("ranks", [1, 2])
def test_fix_mvv_dpd_and_densities_of_atoms_stay(ranks, device, tmp_path):
    script = MODIFIED + "compute rho all sph/rho/atom\n"
    end = "thermo 4\nrun 10\n" + DENSITIES
    host = run_lammps(script + end, tmp_path, ranks)
    ours = run_lammps(script + resident(device) + end, tmp_path, ranks)
    assert STAYS in ours.output
    assert_densities(ours, host)
    plain = ATOMS_OF_MDPD + many_body(1.0) + "compute rho all sph/rho/atom\n" + end
    assert_densities(ours, run_lammps(plain, tmp_path, ranks))


def test_a_restart_with_fix_mvv_dpd_continues(device, tmp_path):
    assert_restart_continues(MODIFIED, MVV, device, tmp_path)


def test_another_parameter_of_fix_mvv_dpd_is_named(tmp_path):
    # Pairs of atoms that have densities are computed by the host.
    script = MODIFIED.replace("mvv/dpd\n", "mvv/dpd 0.65\n")
    output = run_lammps(script + resident("cpu") + "run 2\n", tmp_path).output
    assert "on the device: fix nve mvv/dpd with another parameter than 0.5" in output


@on_gpu
def test_fix_mvv_dpd_has_the_same_bits_on_cpu_and_gpu(tmp_path):
    assert_same_bits(MODIFIED, tmp_path, 100)


@on_gpu
def test_cpu_and_gpu_give_the_same_trajectory_to_the_last_bit(tmp_path):
    for script in SCRIPTS.values():
        assert_same_bits(script, tmp_path, 200)
    assert_same_bits(system("block 0 28 0 28 0 28", 66_000) + many_body(1.0), tmp_path, 20)


@on_gpu
def test_forces_add_up_to_zero_exactly_in_mixed_precision_on_a_gpu(tmp_path):
    for name in ("one type", "two types"):
        script = SCRIPTS[name].replace(DOUBLE, "precision mixed")
        run = run_lammps(script + resident("cuda") + "run 20\n" + END, tmp_path)
        assert_stays(run)
        force = pick(run, "fx", "fy", "fz")
        assert abs(force).max() > 10
        assert (force.sum(axis=0) == 0).all()


@on_gpu
def test_the_way_that_densities_take_does_not_change_a_bit(tmp_path):
    # Each rank has particles whose neighbors are all its own: they move while densities travel.
    script = system("block 0 14 0 7 0 7", 4200).replace("fix nve all nve\n", "") + many_body(
        1.0, "precision mixed"
    )
    script += "fix nve all nve\n"
    ways = ("", "overlap no", "transport host", "transport shared", "transport peer")
    first, *others = (
        run_lammps(script + resident("cuda", way) + "run 60\n" + END, tmp_path, ranks=2)
        for way in ways
    )
    assert_stays(first)
    for other in others:
        assert (state(other) == state(first)).all()


@on_gpu
@pytest.mark.whole_gpu
def test_two_gpus_have_the_liquid_of_one(tmp_path):
    # Each rank has a GPU of its own if there are several. Single records of 59,292 particles have
    # standard deviations of 0.0034 (sqrt(2 / 3N)) of the temperature and 0.43 of the pressure (1.9
    # of 3,123 particles). Five of the differences: one false alarm in 870,000 seeds.
    script = """
units lj
comm_modify vel yes
region box block 0 30 0 18 0 18
create_box 1 box
create_atoms 1 random 59292 11 NULL
mass 1 1.0
velocity all create 1.0 13 loop geom
timestep 0.01
neighbor 0.3 bin
fix nve all nve/limit 0.05
"""
    script += many_body(1.0, "precision mixed") + resident("cuda") + THERMO
    # `fix nve/limit` does not conserve momentum; the second run, which begins with none, must.
    script += "thermo 200\nrun 200\nunfix nve\nfix nve all nve\n"
    script += "velocity all zero linear\nrun 200\n" + END
    one, two = (run_lammps(script, tmp_path, ranks=ranks) for ranks in (1, 2))
    assert_stays(two)
    t, p = ([run.thermo()[name][-1] for run in (one, two)] for name in ("Temp", "Press"))
    assert t[0] == pytest.approx(t[1], abs=5 * math.sqrt(2) * math.sqrt(2 / 3 / 59292))
    assert p[0] == pytest.approx(p[1], abs=5 * math.sqrt(2) * 0.43)
    assert abs(pick(two, "vx", "vy", "vz").mean(axis=0)).max() < 1e-5
