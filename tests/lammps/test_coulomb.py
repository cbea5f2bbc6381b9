"""fix manymove/coulomb: the chain, what LAMMPS sees of it, several ranks, restarts, bad input."""

from __future__ import annotations

import re

import numpy as np
import pytest
from coulomb_scripts import BJERRUM, positions, script_of
from electrolytes import pair_energy, trivalent
from lammps_host import needs_lammps, run_lammps
from machine import GPU

pytestmark = needs_lammps


@pytest.mark.parametrize("boundary", ["nearest_image", "ewald"])
@pytest.mark.parametrize("shift", [0.0, -37.5])
def test_the_chain_is_that_of_the_engine(tmp_path, shift, boundary):
    ions = trivalent(200, periodic=True, boundary=boundary, precision="double", device="cpu")
    fix = f"1 2 3 7.117 7.5 7.5 boundary {boundary} precision double device cpu"
    script = script_of(tmp_path, ions, fix, shift=shift)
    run = run_lammps(script, tmp_path)
    ions.run(10)
    edge = np.array(ions.box)
    difference = positions(run) - shift - edge / 2 - ions.positions
    difference -= np.rint(difference / edge) * edge
    assert np.abs(difference).max() < 1e-4
    thermo = run.thermo()
    assert thermo["f_mc[1]"].tolist() == [0, 2, 4, 6, 8, 10]
    assert thermo["f_mc[3]"][-1] == ions.accepted_moves
    assert thermo["f_mc[4]"][-1] == pytest.approx(ions.energy, rel=1e-6)


@pytest.mark.parametrize("place", ["sphere", "ewald", "vacuum"])
def test_the_tree_makes_the_chain_of_the_brush(tmp_path, place):
    ions = trivalent(120, periodic=place != "sphere", precision="double", device="cpu")
    words = {
        "sphere": f"radius {ions.radius!r}",
        "ewald": "boundary ewald",
        "vacuum": "boundary ewald surrounding vacuum",
    }[place]
    extra = "change_box all boundary f f f" if place == "sphere" else ""
    found = {}
    for method in ("brush precision double", "tree", "auto"):
        fix = f"1 1 3 7.117 7.5 7.5 {words} device cpu method {method}"
        run = run_lammps(script_of(tmp_path, ions, fix, extra=extra), tmp_path)
        found[method] = (positions(run).tobytes(), run.thermo()["f_mc[3]"].tolist())
    assert found["tree"] == found["brush precision double"] == found["auto"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_vacuum_around_takes_the_images_of_the_atoms(tmp_path, ranks):
    """Unwrapped coordinates are those of the engine, also beyond half a box from the start."""
    images = np.random.default_rng(4).integers(-2, 3, (60, 3))
    settings = {"boundary": "ewald", "surrounding": "vacuum", "precision": "double"}
    ions = trivalent(60, periodic=True, images=images, device="cpu", **settings)
    edge = np.array(ions.box)
    fix = "1 7 3 7.117 7.5 7.5 boundary ewald surrounding vacuum precision double device cpu"
    run = run_lammps(script_of(tmp_path, ions, fix, images=ions.images), tmp_path, ranks=ranks)
    ions.run(35)
    columns = run.dump()
    found = np.stack([columns[c] for c in ("ix", "iy", "iz")], axis=-1)
    assert np.abs(positions(run) - edge / 2 - ions.positions).max() < 1e-4
    assert np.array_equal(found, ions.images)
    assert np.abs(found - images).max() > 0
    assert run.thermo()["f_mc[4]"][-1] == pytest.approx(ions.energy, rel=1e-6)


@pytest.mark.parametrize(
    "words",
    [
        "precision double",
        "precision mixed threads 2",
        "boundary ewald method tree",
        "sphere tree",
        pytest.param("precision mixed device cuda:0", marks=GPU),
        pytest.param("boundary ewald method tree device cuda:0", marks=GPU),
    ],
)
def test_several_ranks_make_the_same_chain(tmp_path, words):
    """Atoms cross several subdomains in a sweep; none is lost, and ghosts are made again. The
    chain has more trials than the ranks decide at a time."""
    sphere = words == "sphere tree"
    ions = trivalent(600, periodic=not sphere, precision="double", device="cpu")
    if sphere:
        words = f"radius {ions.radius!r} method tree"
    extra = "change_box all boundary f f f" if sphere else ""
    words += "" if "device" in words else " device cpu"
    script = script_of(tmp_path, ions, f"1 1 3 7.117 7.5 7.5 {words}", extra=extra)
    one = run_lammps(script, tmp_path)
    for ranks in (2, 4):
        many = run_lammps(script, tmp_path, ranks=ranks)
        assert np.array_equal(positions(one), positions(many))
        for column in ("f_mc[2]", "f_mc[3]", "f_mc[4]"):
            assert one.thermo()[column].tolist() == many.thermo()[column].tolist()


def test_atoms_that_overlap_are_named_on_several_ranks(tmp_path):
    ions = trivalent(60, periodic=True, device="cpu")
    script = script_of(tmp_path, ions, "1 1 3 7.117 7.5 7.5 device cpu")
    x, y, z = map(float, ions.positions[6] + np.array(ions.box) / 2 + (3.0, 0, 0))
    script = script.replace("thermo 1", f"set atom 9 x {x!r} y {y!r} z {z!r}\nthermo 1")
    for ranks in (1, 3):
        run = run_lammps(script, tmp_path, ranks=ranks, fails=True)
        assert "Fix manymove/coulomb: atoms 7 and 9 overlap: their distance is 2.9999" in run.output


def test_ghosts_and_lists_are_made_anew(tmp_path):
    """LAMMPS' own pair energy, cut off where the box is smallest, against brute force."""
    ions = trivalent(100, periodic=True, device="cpu")
    extra = "pair_style coul/cut 60\npair_coeff * *\ncomm_modify cutoff 70"
    script = script_of(tmp_path, ions, extra=extra).replace(
        "thermo_style custom step", "thermo_style custom step pe"
    )
    script = script.replace("fix still all nve", "")
    for ranks in (1, 2):
        run = run_lammps(script, tmp_path, ranks=ranks)
        columns, box = run.dump(), np.array(ions.box)
        at = np.stack([columns[c] for c in "xyz"], axis=-1)
        energy = 0.0
        for i in range(len(at)):
            d = at[i + 1 :] - at[i]
            r = np.linalg.norm(d - np.rint(d / box) * box, axis=1)
            near = r < 60
            energy += (columns["q"][i] * columns["q"][i + 1 :][near] / r[near]).sum()
        assert run.thermo()["PotEng"][-1] == pytest.approx(energy, rel=1e-9)


def test_rejected_atoms_keep_their_coordinates_and_images_follow(tmp_path):
    ions = trivalent(100, periodic=True, device="cpu")
    run = run_lammps(script_of(tmp_path, ions, steps=1), tmp_path)
    columns = run.dump()
    edge = np.array(ions.box)
    start = ions.positions + edge / 2
    moved = (np.abs(positions(run) - start) > 1e-9).any(axis=1)
    assert moved.sum() == run.thermo()["f_mc[3]"][-1]
    images = np.stack([columns[c] for c in ("ix", "iy", "iz")], axis=-1)
    assert np.abs(positions(run) + images * edge - start).max() <= edge[0] / 6 * (1 + 1e-6)
    assert (images != 0).any()


def test_a_spherical_cell(tmp_path):
    ions = trivalent(100, precision="double", device="cpu")
    fix = f"1 1 3 7.117 7.5 7.5 precision double device cpu radius {ions.radius!r}"
    run = run_lammps(
        script_of(tmp_path, ions, fix, extra="change_box all boundary f f f"), tmp_path
    )
    ions.run(5)
    assert np.abs(positions(run) - ions.radius - 1 - ions.positions).max() < 1e-4


def test_molecular_dynamics_in_between_is_noticed(tmp_path):
    ions = trivalent(100, periodic=True, device="cpu")
    fix = "4 1 3 7.117 1.0 1.0 precision double device cpu"
    extra = "velocity all create 1.0 5\ntimestep 0.05"
    run = run_lammps(script_of(tmp_path, ions, fix, steps=12, extra=extra), tmp_path)
    charges = run.dump()["q"]
    assert run.thermo()["f_mc[1]"][-1] == 3
    exact = pair_energy(positions(run), charges, BJERRUM, ions.box)
    # Its energy is that of the last sweep, the atoms have moved by no more than a step since.
    assert run.thermo()["f_mc[4]"][-1] == pytest.approx(exact, rel=0.05)


def test_a_restarted_run_is_the_same_run(tmp_path):
    ions = trivalent(100, periodic=True, device="cpu")
    fix = "1 1 3 7.117 7.5 7.5 precision double device cpu"
    whole = run_lammps(script_of(tmp_path, ions, fix, steps=6), tmp_path)
    restart = tmp_path / "state.restart"
    run_lammps(script_of(tmp_path, ions, fix, steps=3, after=f"write_restart {restart}"), tmp_path)
    rest = f"""
read_restart {restart}
pair_style zero 8.0
pair_coeff * *
comm_modify cutoff 20
fix mc all manymove/coulomb {fix}
fix still all nve
thermo 1
thermo_style custom step f_mc[1] f_mc[3]
dump d all custom 6 dump id type q x y z
dump_modify d sort id format float %.17g
run 3
"""
    second = run_lammps(rest, tmp_path)
    assert np.abs(positions(second) - positions(whole)).max() < 1e-4
    assert second.thermo()["f_mc[3]"][-1] == whole.thermo()["f_mc[3]"][-1]


GOOD = "1 1 3 7.117 7.5 7.5"
BAD = {
    f"{GOOD} boundary vacuum": "boundary vacuum must be nearest_image or ewald",
    f"{GOOD} radius 20 boundary ewald": "boundary ewald is for a periodic box",
    f"{GOOD} surrounding vacuum": "surrounding is for boundary ewald",
    f"{GOOD} boundary ewald surrounding water": "surrounding water must be conductor or vacuum",
    "1 1 3 7.117 7.5": "2 atom types need as many diameters after bjerrum",
    "1 1 3 7.117 7.5 radius 20": "2 atom types need as many diameters after bjerrum",
    "0 1 3 7.117 7.5 7.5": "N 0 must be positive",
    "1 0 3 7.117 7.5 7.5": "sweeps 0 must be positive",
    "1 1 0 7.117 7.5 7.5": "seed 0 must be positive",
    "1 1 3 -7 7.5 7.5": "bjerrum -7 must be positive",
    "1 1 3 7.117 7.5 0": "diameter 0 must be positive",
    f"{GOOD} radius": "missing argument",
    f"{GOOD} radius -3": "radius -3 must be positive",
    f"{GOOD} radius 1e5": "does not fit into the box",
    f"{GOOD} precision half": "precision half must be mixed or double",
    f"{GOOD} method serial": "method serial must be brush, tree or auto",
    f"{GOOD} method tree": "kink",
    f"{GOOD} method tree precision mixed": "mixed precision is for method brush",
    f"{GOOD} threads 0": "threads 0 must be positive",
    f"{GOOD} sweeps 3": "unknown keyword sweeps",
    f"{GOOD} device tpu": "unknown device",
    "1 1 3 7.117 60 60": "overlap",
}


@pytest.mark.parametrize("fix", BAD)
def test_bad_arguments_are_named(tmp_path, fix):
    ions = trivalent(40, periodic=True, device="cpu")
    run = run_lammps(script_of(tmp_path, ions, fix), tmp_path, fails=True)
    assert re.search(BAD[fix], run.output), run.output


@pytest.mark.parametrize(
    "extra, ranks, message",
    [
        ("run_style respa 2 2 pair 2", 1, "run_style respa"),
        ("change_box all boundary f p p", 1, "not periodic along x"),
        ("set atom 1 charge 4", 1, "not neutral"),
        ("change_box all triclinic", 1, "triclinic"),
        ("comm_style tiled", 2, "comm_style tiled"),
    ],
)
def test_bad_surroundings_are_named(tmp_path, extra, ranks, message):
    ions = trivalent(40, periodic=True, device="cpu")
    run = run_lammps(script_of(tmp_path, ions, extra=extra), tmp_path, ranks=ranks, fails=True)
    assert message in run.output


def test_more_than_three_ranks_along_an_axis_are_refused(tmp_path):
    ions = trivalent(40, periodic=True, device="cpu")
    script = "processors 4 1 1\n" + script_of(tmp_path, ions)
    run = run_lammps(script, tmp_path, ranks=4, fails=True)
    assert "4 processors along x" in run.output
