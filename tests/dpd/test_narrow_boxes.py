"""Forces of DPD in periodic boxes that are narrower than twice the cutoff."""

from __future__ import annotations

import math

import dpd_scripts
import numpy as np
import pytest
from dpd_scripts import STAYS, WARNING, assert_close, one_type, plain_fluid, resident
from lammps_host import DUMP, THERMO, needs_lammps, run_lammps
from laws import FALSE_ALARM, each_once, normal_tail

pytestmark = needs_lammps

# Narrower than twice the cutoff, than the cutoff, than half the cutoff (1.2).
BOXES = {
    "one narrow edge": ("block 0 1.7 0 7 0 7", 250),
    "two narrow edges": ("block 0 1.7 0 9 0 0.7", 40),
    "three narrow edges": ("block 0 1.7 0 0.55 0 0.7", 7),
    "tilted": ("prism 0 1.7 0 1.1 0 4 0.6 -0.4 0.3", 30),
    "two dimensions": ("block 0 1.7 0 12 -0.5 0.5", 60),
}


def system(
    box: str, temperature: float = 0.0, style: str = "manymove/dpd", before: str = ""
) -> str:
    shape, atoms = BOXES[box]
    before = f"atom_modify map array\n{before}"
    flat = ""
    if box == "two dimensions":
        before, flat = f"dimension 2\n{before}", "fix flat all enforce2d\n"
    tail = "precision double" if style == "manymove/dpd" else ""
    script = dpd_scripts.system(shape, atoms, before, timestep=0.005, bonds="")
    return script + plain_fluid(style, temperature, tail) + flat + THERMO + DUMP


@pytest.mark.parametrize(("box", "ranks", "newton"), each_once(BOXES, [1, 2], ["on", "off"]))
def test_without_noise_it_is_lammps_dpd(box, ranks, newton, tmp_path):
    before = f"newton {newton}"
    theirs, ours = (
        run_lammps(system(box, style=style, before=before) + "run 2\n", tmp_path, ranks)
        for style in ("dpd", "manymove/dpd")
    )
    for frame in (0, -1):
        assert_close(ours.forces(frame), theirs.forces(frame), 1e-11)
    for name in ("PotEng", "Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz"):
        assert ours.thermo()[name] == pytest.approx(theirs.thermo()[name], rel=1e-10, abs=1e-9)


RANKS = [
    (1, "newton off"),
    (2, ""),
    (2, "processors 2 1 1"),
    (2, "newton off\nprocessors 2 1 1"),
]


@pytest.mark.parametrize("box", BOXES)
def test_both_particles_of_a_pair_draw_the_same_number(box, tmp_path):
    """Where ranks or ghosts see a pair from both sides, and where one side computes it."""
    alone = run_lammps(system(box, 1.0) + "run 0\nwrite_restart state\nrun 2\n", tmp_path)
    ways = list(RANKS)
    if box in ("one narrow edge", "two dimensions"):  # tiled boxes are wider than ghosts reach
        ways.append((2, "newton off\ncomm_style tiled"))
    for ranks, before in ways:
        read = f"{before}\natom_modify map array\nread_restart {alone.directory}/state\n"
        more = f"comm_modify vel yes\nfix nve all nve\n{DUMP}run 2\n"
        if box == "two dimensions":
            more = "fix flat all enforce2d\n" + more
        run = run_lammps(read + more, tmp_path, ranks)
        for frame in (0, 1, 2):
            assert_close(run.forces(frame), alone.forces(frame), 1e-11)
            scale = np.abs(run.forces(frame)).max()
            assert np.abs(run.forces(frame).sum(axis=0)).max() < 1e-12 * scale


def test_images_of_a_particle_have_random_numbers_of_their_own(tmp_path):
    """The two images of a partner, on opposite sides and equally far away: their random forces
    would cancel. Chi-square of 600 pairs, in the normal approximation."""
    pairs = 600
    places = "".join(
        f"create_atoms 1 single {x} {2 * k + 1} 1\n" for k in range(pairs) for x in (0.25, 0.75)
    )
    box, pair = f"block 0 1 0 {2 * pairs} 0 4", "1.0 0.9 7 precision double"
    script = one_type(places, box, pair, "0.0 4.5") + DUMP + "run 0\n"
    force = run_lammps(script, tmp_path).forces()
    # The particles' own images, at a distance of 1, are beyond the cutoff.
    weight = math.sqrt(2 * 4.5 / 0.01) * (1 - 0.5 / 0.9)
    squares = (force[::2, 0] / weight) ** 2 / 2
    assert np.abs(force[::2] + force[1::2]).max() < 1e-12 * weight
    assert normal_tail((squares.mean() - 1) / math.sqrt(2 / pairs)) > FALSE_ALARM


def test_a_particle_and_its_own_images_leave_each_other_alone(tmp_path):
    for newton in ("on", "off"):
        script = system("three narrow edges", 1.0, before=f"newton {newton}")
        script = script.replace("random 3 11 NULL", "single 1 0.2 0.3")
        script = script.replace("create_atoms 2", "# create_atoms 2").replace(
            "velocity", "# velocity"
        )
        run = run_lammps(script + "run 2\n", tmp_path)
        assert np.abs(run.forces()).max() < 1e-10
        assert run.thermo()["PotEng"][0] > 1


def test_the_temperature_is_that_of_the_fluid(tmp_path):
    """Ten particles in a box of 1.5 cutoffs, over 100 independent stretches of 10 time units."""
    script = one_type(
        "create_atoms 1 random 10 5 NULL",
        "block 0 1.5 0 1.5 0 1.5",
        "1.0 1.0 7",
        timestep=0.005,
    )
    script += """
velocity all create 1.0 6 mom yes
run 2000
compute t all temp
fix t all ave/time 1 2000 2000 c_t file temperature
variable p equal "abs(vcm(all,x)) + abs(vcm(all,y)) + abs(vcm(all,z))"
run 200000
print "momentum $p"
"""
    run = run_lammps(script, tmp_path)
    means = np.loadtxt(run.directory / "temperature")[:, 1]
    assert len(means) == 100
    error = means.std(ddof=1) / math.sqrt(len(means))
    assert error < 0.01
    # The integrator's own error at this time step is below 0.01 (docs/benchmarks/dpd_physics.md).
    # With another seed a correct program fails once in a million runs.
    assert abs(means.mean() - 1) < 0.01 + 5 * error
    momentum = run.output.partition("momentum ")[2].split()[0]
    assert float(momentum) < 1e-10


def test_the_engines_leave_it_to_the_host(device, tmp_path):
    script = system("one narrow edge", 1.0)
    host = run_lammps(script + "run 5\n", tmp_path)
    kept = run_lammps(script + resident(device) + "run 5\n", tmp_path)
    assert STAYS not in kept.output
    assert f"{WARNING}: the periodic box is 1.7 wide along x, less than twice" in kept.output
    assert (kept.forces() == host.forces()).all()


def test_the_reason_for_the_host_is_a_phrase(tmp_path):
    """Another command comes first in the warning, and the box is why its steps need the host."""
    script = system("one narrow edge") + "fix again all nve\n" + resident("cpu")
    (warning,) = (
        line
        for line in run_lammps(script + "run 0\n", tmp_path).output.splitlines()
        if WARNING in line
    )
    assert ", because of a periodic box narrower than twice the cutoff along x" in warning


def test_a_box_that_becomes_narrow(tmp_path):
    shrink = "fix shrink all deform 1 x final 0 1.7 remap x\nrun 10\n"
    theirs, ours = (
        run_lammps(
            system("one narrow edge", style=style).replace("0 1.7", "0 2.7") + shrink, tmp_path
        )
        for style in ("dpd", "manymove/dpd")
    )
    assert_close(ours.forces(), theirs.forces(), 1e-9)
