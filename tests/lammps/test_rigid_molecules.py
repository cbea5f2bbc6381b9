# SPDX-License-Identifier: BSD-3-Clause
"""fix manymove/wrmc/rigid: rigid molecules with charges in LAMMPS, on any ranks."""

from __future__ import annotations

import re

import numpy as np
import pytest
from adsorption_model import agrees
from dipoles import BOX, CHARGES, FRAMEWORK, LAWS, OFFSETS
from dipoles import dipoles_between_hills as alone
from ewald_sum import COULOMB, ewald_energy
from lammps_errors import errors_of
from lammps_host import needs_lammps, run_lammps
from machine import on_gpu

from manymove.adsorption import WATER, ForceField
from manymove.adsorption.places import rotated

pytestmark = needs_lammps

UNIT = COULOMB**0.5  # charge of LAMMPS' units lj for one e, with energies in kelvin
HEAD = """
units lj
atom_style full
atom_modify map yes
pair_style zero 4.0
read_data {data}
pair_coeff * *
neighbor 0.0 bin
"""
OUTPUT = """
thermo_style custom step atoms ke f_w f_w[2] f_w[4] f_w[5] f_w[6]
thermo_modify format float %.12g norm no
thermo 1
dump d all custom 1 dump id mol type q x y z xu yu zu vx vy vz
dump_modify d sort id format float %.14g
"""
SCRIPT = (
    HEAD
    + """
group gas type 3 4
{before}
fix w gas manymove/wrmc/rigid 1 {steps} 7 300.0 4.0 site 3 80 2.6 site 4 60 2.4 &
  framework 1 90 2.6 framework 2 60 2.4 ewald 0.7 3.0 spacing 0.25 device cpu {more}
"""
    + OUTPUT
)


def data_of(rows, box, types, masses, origin=(0.0, 0.0, 0.0)) -> str:
    """A data file; rows are (ID, molecule, type, charge, x, y, z)."""
    lines = ["molecules", "", f"{len(rows)} atoms", f"{types} atom types", ""]
    lines += [f"{o:.16g} {o + e:.16g} {a}lo {a}hi" for o, e, a in zip(origin, box, "xyz")]  # noqa: B905
    lines += ["", "Masses", "", *(f"{k + 1} {m}" for k, m in enumerate(masses)), "", "Atoms # full"]
    lines += ["", *(" ".join(f"{v:.16g}" for v in row) for row in rows)]
    return "\n".join(lines) + "\n"


def written(folder, change=None) -> str:
    """Three dipoles, whose IDs are mixed with each other's and with those of the framework."""
    start = alone()
    sites = start.positions[0][:, None] + rotated(start.orientations[0][:, None], OFFSETS)
    rows = [
        [k + 1, 0, 1 if e == "O" else 2, CHARGES[e] * UNIT, *(FRAMEWORK.fractional[k] * BOX)]
        for k, e in enumerate(FRAMEWORK.elements)
    ]
    for m in range(3):
        # Molecule IDs fall with the IDs of atoms.
        rows.append([6 + m, 9 - m, 3, 0.1 * UNIT, *(sites[m, 0] % BOX)])
        rows.append([9 + m, 9 - m, 4, -0.1 * UNIT, *(sites[m, 1] % BOX)])
    if change is not None:
        rows = change(rows)
    path = folder / "system.data"
    path.write_text(data_of(rows, BOX, 4, (1.0, 1.0, 2.0, 1.0)))
    return str(path)


def script(folder, tail="", before="", more="", steps=20, change=None) -> str:
    return SCRIPT.format(data=written(folder, change), before=before, more=more, steps=steps) + tail


def at(dump, names="xyz"):
    return np.stack([dump[name] for name in names], axis=-1)


UNWRAPPED = ("xu", "yu", "zu")


def poses(dump):
    """Centers and orientations of the dipoles, from the places of their two sites."""
    places = at(dump, UNWRAPPED)
    p, m = places[5:8], places[8:11]
    m = m - np.rint((m - p) / BOX) * BOX
    d0 = OFFSETS[0] - OFFSETS[1]
    d0, d1 = d0 / np.linalg.norm(d0), (p - m) / np.linalg.norm(p - m, axis=1)[:, None]
    q = np.concatenate((1 + d1 @ d0[:, None], np.cross(d0, d1)), axis=1)
    q /= np.linalg.norm(q, axis=1)[:, None]
    return p - rotated(q, OFFSETS[:1]), q


def test_the_energy_is_that_of_the_atoms_at_each_step(tmp_path):
    run = run_lammps(script(tmp_path, "run 5\n"), tmp_path)
    for frame in (0, 5):
        places, turns = poses(run.dump(frame=frame))
        exact = alone(positions=(places % BOX)[None], orientations=turns[None], precision="double")
        assert run.thermo()["f_w[6]"][frame] == pytest.approx(exact.energies[0], rel=1e-3, abs=2)
    assert run.thermo()["f_w[5]"][-1] == 100 and run.thermo()["f_w[4]"][-1] > 0


def test_units_and_conventions_are_those_of_the_script(tmp_path):
    """The energy of the start in kcal/mol, with charges in e."""
    calorie = 0.0019872067  # kcal/mol per kelvin

    def change(rows):
        return [[*row[:3], row[3] / UNIT, *row[4:]] for row in rows]

    text = script(tmp_path, "run 0\n", change=change).replace("units lj", "units real")
    laws = (("site 3 80", 80), ("site 4 60", 60), ("framework 1 90", 90), ("framework 2 60", 60))
    for words, epsilon in laws:
        name = words.rpartition(" ")[0]
        text = text.replace(words, f"{name} {epsilon * calorie:.12g}")
    more = f"potential truncated mix geometric pair 1 4 {30 * calorie:.12g} 2.2 pair 4 4 0 1"
    text = text.replace("device cpu", "device cpu " + more)
    run = run_lammps(text, tmp_path)
    field = ForceField(LAWS, CHARGES, {("M", "O"): (30.0, 2.2), ("M", "M"): None}, "geometric",
                       "truncated")  # fmt: skip
    places, turns = poses(run.dump())
    exact = alone(positions=(places % BOX)[None], orientations=turns[None], force_field=field)
    shifted = alone(positions=(places % BOX)[None], orientations=turns[None])
    energy = run.thermo()["f_w[6]"][0]
    assert energy == pytest.approx(exact.energies[0] * calorie, rel=1e-4)
    assert energy != pytest.approx(shifted.energies[0] * calorie, rel=1e-2)


@pytest.mark.parametrize(("spacing", "warns"), [(0.19, False), (0.2, True)])
def test_a_spacing_is_compared_with_the_sigmas_of_the_mixing_rule(spacing, warns, tmp_path):
    """A site of 0.4, like hydrogen atoms of some models of water, has 1.4 with the framework."""
    text = script(tmp_path, "run 0\n").replace("site 4 60 2.4", "site 4 60 0.4")
    text = text.replace("spacing 0.25", f"spacing {spacing}")
    output = " ".join(run_lammps(text, tmp_path).output.split())
    assert (f"spacing {spacing} is large for a smallest sigma of 1.4" in output) == warns
    assert ("is large for" in output) == warns


def test_the_mean_energy_is_that_of_the_engine_alone(tmp_path):
    """Five joint standard errors; LAMMPS' from blocks of 800 steps."""
    text = script(tmp_path, "undump d\nthermo 10\nrun 330\n", steps=80)
    run = run_lammps(text, tmp_path)
    sums = run.thermo()["f_w"] * run.thermo()["f_w[5]"]
    blocks = np.diff(sums)[3:] / np.diff(run.thermo()["f_w[5]"])[3:]
    other = alone(systems=32)
    other.equilibrate(300)
    other.run(400)
    error = np.std(blocks, ddof=1) / np.sqrt(len(blocks))
    assert agrees(blocks.mean(), error, other.energy_average.value, other.energy_average.error)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_make_the_same_moves_and_lose_no_atom(ranks, tmp_path):
    tail = 'variable v atom "sin(id)"\nvelocity gas set v_v v_v 0.1\nrun 8\n'
    text = script(tmp_path, tail)
    one, many = (run_lammps(text, tmp_path, ranks=n) for n in (1, ranks))
    for frame in range(9):
        a, b = one.dump(frame=frame), many.dump(frame=frame)
        assert all(np.array_equal(a[name], b[name]) for name in a)
    assert (many.thermo()["Atoms"] == 11).all()


@on_gpu
def test_a_gpu_makes_the_moves_of_the_cpu(tmp_path):
    text = script(tmp_path, "run 4\n")
    one, other = (
        run_lammps(text.replace("device cpu", f"device {d}"), tmp_path) for d in ("cpu", "cuda:0")
    )
    for name, values in one.dump().items():
        assert np.array_equal(values, other.dump()[name])


def test_molecules_stay_rigid_and_whole_and_velocities_turn_with_them(tmp_path):
    tail = "velocity gas create 300 5\nrun 40\n"
    run = run_lammps(script(tmp_path, tail, more="max_displacement 1.0"), tmp_path)
    first = run.dump(frame=0)
    bonds, along, centers = [], [], []
    for frame in (0, 10, 40):
        dump = run.dump(frame=frame)
        places, v = at(dump, UNWRAPPED), at(dump, ("vx", "vy", "vz"))
        assert np.array_equal(places[:5], at(first)[:5])  # the framework
        bonds.append(places[5:8] - places[8:11])
        centers.append((2 * v[5:8] + v[8:11]) / 3)
        # The data file has wrapped atoms; images keep what molecules were relative to each other.
        bonds[-1] -= np.rint(bonds[0] / BOX) * BOX if frame else 0
        bond = bonds[-1] - np.rint(bonds[-1] / BOX) * BOX
        along.append(((v[5:8] - v[8:11]) * bond).sum(axis=1))
    bonds[0] -= np.rint(bonds[0] / BOX) * BOX
    for bond in bonds:
        assert np.linalg.norm(bond, axis=1) == pytest.approx(3 * [np.hypot(0.1, 0.9)], abs=1e-9)
    assert np.abs(bonds[2] - bonds[0]).max() > 0.1
    assert centers[0] == pytest.approx(centers[2], abs=1e-12)  # of mass
    assert along[0] == pytest.approx(along[2], abs=1e-9) and np.abs(along[0]).max() > 0.1
    kinetic = run.thermo()["KinEng"]
    assert kinetic[-1] == pytest.approx(kinetic[0], rel=1e-12) and kinetic[0] > 0


WATERS = (
    HEAD
    + """
fix w all manymove/wrmc/rigid 1 20 7 300.0 6.0 site 1 78.19743111 3.16555789 site 2 0 1 &
  potential truncated ewald 0.8 6.0 max_displacement 0.3 device cpu
thermo_style custom step f_w[4] f_w[6]
thermo_modify format float %.12g norm no
dump d all custom 1 dump id mol type q x y z xu yu zu
dump_modify d sort id format float %.14g
run 30
"""
)


def test_bent_molecules_have_the_energy_of_an_independent_ewald_sum(tmp_path):
    """Waters in a box that does not begin at the origin, without a framework."""
    box, origin = np.array([12.5, 13.0, 14.0]), np.array([-3.0, 2.0, 40.0])
    random = np.random.default_rng(2)
    turns = random.normal(size=(8, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    corners = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1]), -1).reshape(-1, 3)
    sites = ((corners + 0.4) / 2 * box)[:, None] + rotated(turns[:, None], WATER.positions)
    charges = [s.charge for s in WATER.sites]
    rows = [
        [3 * m + s + 1, m + 1, 1 if s == 0 else 2, charges[s] * UNIT,
         *(sites[m, s] % box + origin)]
        for m in range(8) for s in range(3)
    ]  # fmt: skip
    path = tmp_path / "waters.data"
    path.write_text(data_of(rows, box, 2, (16.0, 1.0), origin))
    run = run_lammps(WATERS.format(data=path), tmp_path)
    laws = np.array(8 * [(s.epsilon, s.sigma) for s in WATER.sites])
    for frame in (0, 30):
        dump = run.dump(frame=frame)
        places = at(dump).reshape(8, 3, 3)
        apart = places - places[:, :1]
        whole = places[:, :1] + apart - np.rint(apart / box) * box
        energy = ewald_energy(whole.reshape(-1, 3), dump["q"] / UNIT, dump["mol"], laws,
                              np.diag(box), 6.0, 0.8, 6.0, False)  # fmt: skip
        k = 0 if frame == 0 else -1
        assert run.thermo()["f_w[6]"][k] == pytest.approx(energy, rel=3e-4)  # mixed
        apart = whole[:, [0, 0, 1]] - whole[:, [1, 2, 2]]
        hh = np.linalg.norm(WATER.positions[1] - WATER.positions[2])
        assert np.allclose(np.linalg.norm(apart, axis=2), [1.0, 1.0, hh], atol=1e-8)
    assert run.thermo()["f_w[4]"][-1] > 0.05


TILTED = (
    HEAD
    + """
group fixed id 1 2
group gas subtract all fixed
velocity gas create 300 5
fix w gas manymove/wrmc/rigid 1 25 7 300.0 4.0 site 2 80 2.6 site 3 60 2.4 site 4 50 2.5 &
  framework 1 90 2.6 ewald 0.8 5.0 spacing 0.25 device cpu species 2 {more}
"""
    + OUTPUT
)
BENT = np.array([[0.0, 0.0, 0.6], [0.5, 0.0, -0.3], [-0.5, 0.0, -0.3]])


def mixture(folder, edges, tail="run 20\n", more="", origin=(1.0, -2.0, 3.0)) -> str:
    """Three dipoles and two bent molecules, whose IDs alternate, with two neutral atoms."""
    random = np.random.default_rng(3)
    where = [[0.1, 0.1, 0.1], [0.6, 0.1, 0.2], [0.1, 0.6, 0.4], [0.6, 0.6, 0.6], [0.2, 0.3, 0.8]]
    rows = [[1, 0, 1, 0.0, *(np.array([0.9, 0.9, 0.3]) @ edges)],
            [2, 0, 1, 0.0, *(np.array([0.4, 0.9, 0.9]) @ edges)]]  # fmt: skip
    for m, place in enumerate(where):
        shape = BENT if m % 2 else OFFSETS
        kinds, charges = ((4, 2, 2), (0.3, -0.15, -0.15)) if m % 2 else ((2, 3), (0.2, -0.2))
        turn = random.normal(size=4)
        sites = np.array(place) @ edges + rotated(turn / np.linalg.norm(turn), shape)
        for x, kind, q in zip(sites, kinds, charges, strict=True):
            f = x @ np.linalg.inv(edges)
            rows.append([len(rows) + 1, 5 - m, kind, q * UNIT, *((f - np.floor(f)) @ edges)])
    rows = [[*row[:4], *(np.array(row[4:]) + origin)] for row in rows]
    text = data_of(rows, np.diag(edges), 4, (1.0, 2.0, 1.0, 3.0), origin)
    tilt = f"{edges[1, 0]} {edges[2, 0]} {edges[2, 1]} xy xz yz\n"
    path = folder / "mixture.data"
    path.write_text(text.replace("zhi\n", "zhi\n" + tilt if np.any(edges[1, 0]) else "zhi\n"))
    return TILTED.format(data=path, more=more) + tail


@pytest.mark.parametrize("tilt", [(0.0, 0.0, 0.0), (2.0, -1.5, 3.0)])
@pytest.mark.parametrize("method", ["plj", "mdp"])
def test_mixtures_in_tilted_boxes_have_the_energy_of_an_independent_ewald_sum(
    tilt, method, tmp_path
):
    """Molecules stay rigid and whole, the fixed atoms stay, and the kinetic energy is kept."""
    edges = np.array([[12.0, 0, 0], [tilt[0], 13.0, 0], [tilt[1], tilt[2], 14.0]])
    more = f"method {method} max_displacement 0.8"
    run = run_lammps(mixture(tmp_path, edges, more=more), tmp_path)
    law = {1: (90.0, 2.6), 2: (80.0, 2.6), 3: (60.0, 2.4), 4: (50.0, 2.5)}
    first = run.dump(frame=0)
    for frame in (0, 20):
        dump = run.dump(frame=frame)
        places, molecule = at(dump), dump["mol"].copy()
        molecule[:2] = (-1, -2)  # the fixed atoms are apart from each other
        whole = places.copy()
        for m in range(1, 6):
            own = np.flatnonzero(molecule == m)
            f = (places[own] - places[own[0]]) @ np.linalg.inv(edges)
            whole[own] = places[own[0]] + (f - np.rint(f)) @ edges
            a, b = (OFFSETS, BENT)[len(own) == 3], whole[own]
            assert np.allclose(
                np.linalg.norm(a[:, None] - a, axis=2), np.linalg.norm(b[:, None] - b, axis=2),
                atol=1e-8,
            )  # fmt: skip
        laws = np.array([law[int(t)] for t in dump["type"]])
        energy = ewald_energy(whole, dump["q"] / UNIT, molecule, laws, edges, 4.0, 0.8, 5.0, True)
        fixed = ewald_energy(whole[:2], 0 * dump["q"][:2], molecule[:2], laws[:2], edges, 4.0, 0.8,
                             5.0, True)  # fmt: skip
        k = 0 if frame == 0 else -1
        assert run.thermo()["f_w[6]"][k] == pytest.approx(energy - fixed, rel=1e-3, abs=1.0)
        assert np.allclose(places[:2], at(first)[:2], atol=1e-9)
    kinetic = run.thermo()["KinEng"]
    assert kinetic[-1] == pytest.approx(kinetic[0], rel=1e-9) and kinetic[0] > 0
    assert run.thermo()["f_w[4]"][-1] > 0.05
    assert np.abs(at(run.dump(), UNWRAPPED) - at(first, UNWRAPPED)).max() > 2


def test_ranks_move_a_mixture_in_a_tilted_box_as_one_does(tmp_path):
    edges = np.array([[12.0, 0, 0], [2.0, 13.0, 0], [-1.5, 3.0, 14.0]])
    one, two = (run_lammps(mixture(tmp_path, edges, "run 8\n"), tmp_path, ranks=n) for n in (1, 2))
    assert np.allclose(at(one.dump()), at(two.dump()), atol=1e-9)
    assert (two.thermo()["Atoms"] == 14).all()


def replaced(index, column, value):
    def change(rows):
        rows[index][column] = value
        return rows

    return change


MISTAKES = {
    "no molecule": (dict(change=replaced(5, 1, 0)), "atom 6 of the group has no molecule"),
    "charges": (dict(change=replaced(7, 3, 0.2)), "atom 7 of molecule 8 has type 3 and charge"),
    "unlike sizes": (dict(change=lambda rows: rows[:-1]), "molecule 8 does not have the 1 at"),
    "outside": (dict(change=replaced(0, 1, 9)), "atom 1 of molecule 9 is outside the group"),
    "flexible": (dict(before="group one id 6\ndisplace_atoms one move 0.1 0.1 0"),
                 r"molecule 9 is not rigid: atom (6|9) is 0\.\d+ away"),
    "charged": (dict(change=replaced(0, 3, 0.0)), "outside the group have a net charge of"),
    "no site": (dict(more="site 4 1 1"), "parameters of atom type 4 are given twice"),
    "bad site": (dict(more="site 9 1 1"), "no atom type 9"),
    "no waves": (dict(more="ewald 0.7 0.1"), "k_max is 0.1, below the smallest wave number"),
    "pair": (dict(more="pair 1 2 1 1"), "pair 1 2 has no effect: no type of a site with one of a"),
    "no type": (dict(more="pair 3 9 1 1"), "pair 3 9 has no effect"),
    "pair twice": (dict(more="pair 3 4 1 1 pair 4 3 1 2"), "pair (3 4|4 3) is given twice"),
    "changed": (dict(tail="run 1\nset type 1*2 charge 0\nrun 1 pre no\n"),
                "the box, or the IDs, types or charges of the atoms outside the group, have chang"),
    "mix": (dict(more="mix cubic"), "unknown mixing rule cubic"),
    "potential": (dict(more="potential cut"), "unknown potential cut"),
    "missing": (dict(more="pair 3 4 1"), "missing argument|[Ii]llegal .*pair"),
    "kinds": (dict(more="species 2"), "species is 2, but the molecules of the group are of 1 kind"),
    "many kinds": (dict(more="species 5"), "species 5 must be from 1 to 4"),
    "third kind": (dict(more="species 2", change=lambda rows: [
        [*row[:3], row[3] * {8: 0.5, 7: 0.7}.get(row[1], 1), *row[4:]] for row in rows]),
        "molecule 9 is unlike the molecules of the 2 kinds that keyword species allows"),
    "narrow": (dict(before="change_box all triclinic xy final 6 remap"), "wide along x, less than"),
    "moved": (dict(before="change_box all triclinic", tail="run 1\ngroup f id 1\n"
                   "displace_atoms f move 0.1 0 0\nrun 1 pre no\n"),
              "atom 1, which is outside the group, has moved by 0.1"),
}  # fmt: skip


def test_mistakes_are_named(tmp_path):
    scripts = []
    for k, (settings, _) in enumerate(MISTAKES.values()):
        (tmp_path / str(k)).mkdir()
        scripts.append(script(tmp_path / str(k), **{"tail": "run 1\n", **settings}))
    scripts.append(
        scripts[0].replace("atom_style full", "atom_style charge").split("read_data")[0]
        + "region b block 0 9 0 9 0 9\ncreate_box 2 b\ncreate_atoms 1 single 1 1 1\n"
        "create_atoms 2 single 4 4 4\nmass * 1\npair_coeff * *\ngroup g type 2\n"
        "fix w g manymove/wrmc/rigid 1 1 7 1.0 4.0 site 2 1 1 inert 1 device cpu\nrun 0\n"
    )
    answers = errors_of(scripts, tmp_path)
    expected = [(name, message) for name, (_, message) in MISTAKES.items()]
    expected.append(("style", "needs an atom style with molecule IDs, such as full"))
    for (name, message), answer in zip(expected, answers, strict=True):
        assert answer is not None and re.search(message, answer), (name, answer)


def test_charges_that_change_between_runs_have_an_effect(tmp_path):
    set_charges = "set type 1*2 charge 0\n"
    energies = []
    for before, tail in (("", "run 0\n" + set_charges), (set_charges, "")):
        run = run_lammps(script(tmp_path, tail + "run 0\n", before=before), tmp_path)
        energies.append(run.thermo()["f_w[6]"][0])
    assert run.thermo(0)["f_w[6]"][0] == energies[0] == energies[1]
    first = run_lammps(script(tmp_path, "run 0\n"), tmp_path).thermo()["f_w[6]"][0]
    assert abs(first - energies[0]) > 1


def test_molecules_that_bend_during_the_run_are_refused(tmp_path):
    tail = "velocity gas set 0.4 0 0\ngroup one id 6\nvelocity one set -0.4 0 0\nfix n gas nve\n"
    run = run_lammps(script(tmp_path, tail + "run 50\n"), tmp_path, fails=True)
    assert re.search(r"molecule 9 is not rigid: atom \d+ is", run.output)


def test_fixes_that_keep_rigid_bodies_are_refused(tmp_path):
    text = script(tmp_path, "run 1\n", before="fix r gas rigid/small molecule")
    run = run_lammps(text, tmp_path, fails=True)
    if "Unrecognized fix style" in run.output:
        pytest.skip("this LAMMPS has no fix rigid/small")
    assert "fix r (rigid/small) keeps positions of rigid bodies of its own" in run.output
