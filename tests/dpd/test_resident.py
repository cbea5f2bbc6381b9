"""`run_style manymove/verlet`: particles that stay with an engine, in LAMMPS."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_comparisons import assert_restart_continues
from dpd_scripts import (
    BONDS,
    END,
    NARROW,
    SCRIPTS,
    STAYS,
    THROWN,
    TOLERANCE,
    WARNING,
    assert_close,
    assert_same_steps,
    assert_stays,
    compare,
    fluid,
    one_type,
    pick,
    resident,
    state,
    system,
)
from lammps_host import DUMP, THERMO, needs_lammps, run_lammps
from laws import each_once
from machine import runnable_simd_levels

pytestmark = needs_lammps


@pytest.mark.parametrize(("script", "precision"), each_once(SCRIPTS, ["double", "mixed"]))
def test_a_few_steps_are_those_of_the_host(script, precision, device, tmp_path):
    # Forces, energies and pressures after steps long enough to build lists again.
    start = SCRIPTS[script].replace("precision double", f"precision {precision}")
    end = THERMO + "thermo 3\nrun 6\n" + END
    host = run_lammps(start + end, tmp_path)
    ours = run_lammps(start + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, TOLERANCE[precision])


@pytest.mark.parametrize("script", ["one type", "triclinic", "bonds", "walls and body forces"])
def test_lists_that_look_ahead_hold_longer_and_miss_nobody(script, device, tmp_path):
    # A pair that is missing in a single step changes the trajectory by far more than rounding.
    end = "run 100\n" + END
    host = run_lammps(SCRIPTS[script] + end, tmp_path)
    ours = run_lammps(SCRIPTS[script] + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_close(state(ours), state(host), 1e-8)
    builds = [
        int(re.search(r"Neighbor list builds = (\d+)", run.output)[1]) for run in (ours, host)
    ]
    assert 5 < builds[0] < 0.8 * builds[1]


def test_a_tilted_box_narrower_than_twice_the_reach(device, tmp_path):
    # Beyond half the width the image that differs least in fractions need not be the nearest.
    end = "run 100\n" + END
    host = run_lammps(NARROW + end, tmp_path)
    ours = run_lammps(NARROW + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_close(state(ours), state(host), 1e-9)


LOOKS = [
    "",
    "thermo 1\n",
    "thermo 7\n",
    "compute rdf all rdf 20\nfix look all ave/time 3 1 3 c_rdf[*] mode vector file rdf\n",
    "thermo 4\ncompute s all stress/atom NULL\ndump s all custom 5 s id c_s[1]\n",
]
# In triclinic boxes LAMMPS wants bins in reduced units, for which it rounds positions.
CHUNKS = """
compute c all chunk/atom bin/1d x lower 0.7 units box
fix c all ave/chunk 1 1 2 c vx density/number file chunks
"""


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    ("script", "precision"),
    each_once(["several types", "triclinic", "walls and body forces"], ["double", "mixed"]),
)
def test_looking_does_not_change_the_trajectory(script, precision, ranks, device, tmp_path):
    start = SCRIPTS[script].replace("precision double", f"precision {precision}") + resident(device)
    looks = LOOKS + ([] if script == "triclinic" else [CHUNKS])
    results = []
    for look in looks:
        run = run_lammps(start + look + "run 40\n" + END, tmp_path, ranks)
        assert_stays(run)
        results.append(state(run))
    for other in results[1:]:
        assert (other == results[0]).all()


# 9,000 particles are several parts for each thread also where they are sorted.
@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    ("script", "precision"), each_once(["walls and body forces", "many"], ["mixed", "double"])
)
def test_the_number_of_threads_does_not_change_a_bit(script, precision, ranks, tmp_path):
    many = system("block 0 14 0 14 0 15", 9000) + fluid()
    text = SCRIPTS.get(script, many).replace("precision double", f"precision {precision}") + THERMO
    runs = [
        run_lammps(text + resident("cpu", f"threads {n}") + "run 30\n" + END, tmp_path, ranks)
        for n in (1, 2, 3, 8)
    ]
    for run in runs[1:]:
        assert (state(run) == state(runs[0])).all()
        assert (run.thermo()["Press"] == runs[0].thermo()["Press"]).all()


@pytest.mark.parametrize("precision", ["mixed", "double"])
@pytest.mark.parametrize("script", ["several types", "one type", "triclinic", "bonds"])
def test_simd_levels_give_the_same_bits(script, precision, tmp_path, monkeypatch):
    text = SCRIPTS[script].replace("precision double", f"precision {precision}") + THERMO
    runs = []
    for level in runnable_simd_levels():
        monkeypatch.setenv("MANYMOVE_SIMD", level)
        runs.append(run_lammps(text + resident("cpu") + "run 20\n" + END, tmp_path))
    for run in runs[1:]:
        assert (state(run) == state(runs[0])).all()
        assert (run.thermo()["Press"] == runs[0].thermo()["Press"]).all()


# Within the cutoff are 170 neighbors of a particle, more than are computed at a time.
@pytest.mark.parametrize("precision", ["mixed", "double"])
def test_a_dense_fluid_is_that_of_the_host(precision, device, tmp_path):
    script = system("block 0 4 0 4 0 4", 2560) + fluid(precision).replace("25.0 4.5", "2.0 4.5")
    ours, host = compare(script, "run 3\n", device, tmp_path)
    # A GPU's functions in mixed precision, in sums of 170 pairs, not of a dozen.
    looser = 2 if (device, precision) == ("cuda", "mixed") else 1
    assert_close(state(ours), state(host), looser * TOLERANCE[precision])


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_same_script_gives_the_same_bits(ranks, device, tmp_path):
    script = SCRIPTS["walls and body forces"] + THERMO + resident(device) + "run 30\n" + END
    one, two = (run_lammps(script, tmp_path, ranks) for _ in range(2))
    assert (state(one) == state(two)).all()
    assert (one.thermo()["Press"] == two.thermo()["Press"]).all()


VESICLE = """
units lj
atom_style bond
comm_modify vel yes
boundary f f f
region box block 0 7 0 7 0 7
create_box 2 box bond/types 1 extra/bond/per/atom 2 extra/special/per/atom 6
create_atoms 1 random 1000 5 NULL
mass * 1.0
velocity all create 1.0 5 loop all
neighbor 0.3 bin
timestep 0.01
bond_style manymove/harmonic
bond_coeff 1 40.0 0.38
pair_style manymove/dpd 1.0 1.0 99 weight_exponent 0.5
pair_coeff * * 15.0 4.5
pair_coeff 1 2 120.0 4.5
special_bonds lj 0 1 1
create_bonds many all all 1 0.1 0.2
special_bonds lj 1 1 1
fix nve all nve
fix walls all manymove/wall xlo EDGE xhi EDGE ylo EDGE yhi EDGE zlo EDGE zhi EDGE
"""


def test_a_vesicle_script_is_served(device, tmp_path):
    script = VESICLE + THERMO + resident(device) + "thermo 50\nrun 100\n" + END
    run = run_lammps(script, tmp_path)
    assert_stays(run)
    positions = pick(run, "xu", "yu", "zu")
    assert len(positions) == 1000
    assert positions.min() >= 0 and positions.max() <= 7
    assert int(re.search(r"Neighbor list builds = (\d+)", run.output)[1]) > 5
    assert "Dangerous builds = 0" in run.output


def test_momentum_is_conserved(device, tmp_path):
    script = system() + fluid("mixed") + BONDS + resident(device)
    momentum = "variable p equal vcm(all,x)*mass(all)\nthermo_style custom step temp v_p\n"
    run = run_lammps(
        script + "velocity all zero linear\n" + momentum + "thermo 200\nrun 400\n", tmp_path
    )
    assert_stays(run)
    # In float32 each of 1028 particles rounds its velocity by 1e-7 per step, at random.
    assert abs(run.thermo()["v_p"]).max() < 1e-7 * np.sqrt(1028 * 400) * 10


# ---- several runs ----


@pytest.mark.parametrize("ranks", [1, 2])
def test_runs_follow_each_other(ranks, device, tmp_path):
    more = (
        THERMO
        + "run 4\nrun 3 pre no\nminimize 0 0 2 2\nvelocity all scale 1.3\nrun 5\n"
        + 'run 4 every 2 "velocity all scale 1.2"\n'
    )
    forces = "fix drag all addforce 0.1 0.0 -0.1\n"
    ours, host = compare(SCRIPTS["several types"] + forces, more, device, tmp_path, ranks)
    assert_close(state(ours), state(host), 1e-8)


def test_a_run_without_setup_continues(device, tmp_path):
    script = SCRIPTS["walls and body forces"] + resident(device) + THERMO
    whole = run_lammps(script + "run 16\n" + END, tmp_path)
    parts = run_lammps(script + "run 8\nrun 8 pre no\n" + END, tmp_path)
    assert_close(state(parts), state(whole), 1e-10)


def test_from_the_device_to_the_host_and_back(device, tmp_path):
    # Lists of the host are not rebuilt unless the run style sees to it.
    more = THERMO + "neigh_modify check no every 100 delay 0\n"
    more += "run 8\ngroup some dynamic all every 1\nrun 3 pre no\ngroup some static\nrun 6\n"
    host = run_lammps(
        SCRIPTS["bonds"] + more.replace("check no every 100", "every 1") + END, tmp_path
    )
    ours = run_lammps(SCRIPTS["bonds"] + resident(device) + more + END, tmp_path)
    assert ours.output.count(STAYS) == 2 and ours.output.count(WARNING) == 1
    assert_close(state(ours), state(host), 1e-8)


@pytest.mark.parametrize("ranks", [1, 2])
def test_restart_continues(ranks, device, tmp_path):
    rest = "special_bonds lj 0 0.5 1\nfix nve all nve\n"
    assert_restart_continues(SCRIPTS["bonds"], rest, device, tmp_path, ranks=ranks)


@pytest.mark.parametrize("ranks", [1, 2])
def test_time_runs_out(ranks, device, tmp_path):
    script = SCRIPTS["bonds"] + resident(device) + THERMO + "timer timeout 0:00:01\nrun 100000000\n"
    run = run_lammps(script + "timer timeout unlimited\nrun 1\n", tmp_path, ranks)
    assert "Wall time limit reached" in run.output
    steps = int(re.search(r"for (\d+) steps with", run.output)[1])
    assert 0 < steps < 100000000
    assert run.thermo()["Step"].tolist() == [steps, steps + 1]
    assert np.isfinite(run.thermo()["Press"]).all()


# ---- what is not served ----


def test_two_dimensions_need_a_plane_that_is_kept(tmp_path):
    script = SCRIPTS["two dimensions"] + resident("cpu")
    for spoilt, text in (
        (script.replace("fix flat", "#"), "dimension 2 without fix enforce2d"),
        (script + "set atom 1 z 0.1\n", "dimension 2 with atoms at different heights"),
        (script + "fix up all addforce 0.0 0.0 0.1\n", "fix up addforce out of the plane"),
    ):
        output = run_lammps(spoilt + "run 2\n", tmp_path).output
        assert output.count(WARNING) == 1
        assert text in output, output


def test_the_style_leaves_as_it_came(tmp_path):
    script = (
        system() + fluid() + resident("cpu") + "run 1\nplugin unload run manymove/verlet\nrun 1\n"
    )
    output = run_lammps(script, tmp_path).output
    assert output.count(STAYS) == 1


# ---- bad input ----

BAD = {
    "run_style manymove/verlet device": "missing argument",
    "run_style manymove/verlet device gpu": "device gpu must be auto, cuda or cpu",
    "run_style manymove/verlet threads 0": "threads 0 must be positive",
    "run_style manymove/verlet threads many": "Expected integer",
    "run_style manymove/verlet engine cpu": "unknown keyword engine",
    "run_style manymove/verlet transport tcp": "tcp must be auto, peer, shared, nccl, mpi or host",
    "run_style manymove/verlet overlap perhaps": "Expected boolean",
}


@pytest.mark.parametrize("command", BAD)
def test_bad_arguments_are_named(command, tmp_path):
    run = run_lammps(system() + fluid() + command + "\n", tmp_path, fails=True)
    errors = [line for line in run.output.splitlines() if line.startswith("ERROR")]
    assert errors and re.search(BAD[command], errors[0]), run.output


def test_a_missing_gpu_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run = run_lammps(system() + fluid() + resident("cuda"), tmp_path, fails=True)
    assert "device cuda is not available" in run.output


@pytest.mark.parametrize("precision", ["double", "mixed"])
def test_a_particle_exactly_at_a_wall_is_inside(precision, device, tmp_path):
    # From 7.75 with velocity 1 and time step 1/4: at the wall, then back.
    start = one_type(
        "create_atoms 1 single 7.75 4 4\ncreate_atoms 1 single 4 4 4\nset atom 1 vx 1.0",
        pair=f"0.0 1.0 4711 precision {precision}",
        law="0.0 0.0",
        before="boundary f f f",
        timestep=0.25,
    )
    start += "fix walls all manymove/wall xlo EDGE xhi EDGE\n"
    run = run_lammps(start + resident(device) + THERMO + DUMP + "thermo 1\nrun 3\n", tmp_path)
    assert_stays(run)
    x = [pick(run, "x", file="dump", frame=frame)[0, 0] for frame in range(4)]
    assert x == [7.75, np.nextafter(8.0, 0.0), 7.75, 7.5]


def thrown_at_walls(walls: str, precision: str) -> str:
    """Two free particles, up from z = 6.5 and down from 1.5, by 3 in a step."""
    script = one_type(
        THROWN,
        pair=f"0.0 1.0 4711 precision {precision}",
        law="0.0 0.0",
        before="boundary p p f",
        timestep=0.25,
    )
    return f"{script}set atom 2 vz -12.0\nfix walls all manymove/wall {walls}\n"


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("walls", ["zlo 1 zhi 7", "zhi 7 zlo 1"])
def test_walls_within_the_box_mirror_what_comes_beyond_the_box(walls, precision, device, tmp_path):
    script = thrown_at_walls(walls, precision) + resident(device) + "run 1\n" + END
    run = run_lammps(script, tmp_path)
    assert_stays(run)
    assert pick(run, "zu", "vz").tolist() == [[4.5, -12.0], [3.5, 12.0]]


def test_a_wall_does_not_hold_what_leaves_at_the_other_side(device, tmp_path):
    script = thrown_at_walls("zlo EDGE", "double") + resident(device) + "run 2\n"
    run = run_lammps(script, tmp_path, fails=True)
    assert "Lost atoms: particle 1 was lost before step 1" in run.output


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_lost_particle_is_an_error(ranks, device, tmp_path):
    script = system(before="boundary f p p") + fluid() + resident(device) + "run 5000\n"
    run = run_lammps(script, tmp_path, ranks, fails=True)
    assert re.search(r"ERROR.*Lost atoms: particle \d+ was lost before step \d+", run.output)


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_exploding_system_is_an_error(ranks, device, tmp_path):
    script = system() + fluid() + resident(device) + "timestep 30.0\nrun 500\n"
    run = run_lammps(script, tmp_path, ranks, fails=True)
    assert re.search(r"ERROR.*(Lost atoms|outside the box)", run.output), run.output
