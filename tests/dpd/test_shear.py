"""`fix deform` of a tilt while the particles are with the engine."""

from __future__ import annotations

import ctypes
import re
import signal

import numpy as np
import pytest
from dpd_comparisons import assert_stresses_of_lammps, assert_threads_do_not_count
from dpd_scripts import (
    BONDS,
    END,
    SINCE_TWO_INTEGRATORS,
    STAYS,
    assert_close,
    assert_same_steps,
    assert_stays,
    legacy,
    one_type,
    pick,
    resident,
    state,
    system,
)
from lammps_host import THERMO, needs_lammps, release, run_lammps, start_lammps
from laws import each_once
from machine import on_gpu

from manymove.lammps import host

pytestmark = needs_lammps

BOX = "prism 0 5 0 6 0 7 0 0 0"
# LAMMPS wraps atoms, and changes their velocities, when it builds lists.
OFTEN = "neigh_modify every 1 delay 0 check no\n"
SHEAR = "fix shear all deform 1 xy erate {} remap v\n"


def shear(rate: float, way: str = "xy v") -> str:
    """Shear of a tilt, which carries velocities ("v") or positions ("x") with it."""
    tilt, remap = way.split()
    return f"fix shear all deform 1 {tilt} erate {rate} remap {remap}\n"


def fluid(temperature: float, style: str = "dpd", precision: str = "double") -> str:
    law = "* * 25.0 4.5 3.0 1.0 0.6" if style == "dpd/ext" else "* * 25.0 4.5"
    return (
        system(BOX, 630)
        + f"pair_style manymove/{style} {temperature} 1.0 4711 precision {precision}\n"
        + f"pair_coeff {law}\n"
        + OFTEN
        + THERMO
    )


@pytest.mark.parametrize(
    ("style", "rate", "way"),
    [
        ("dpd", 0.3, "xy v"),
        ("dpd/ext", -0.3, "xy v"),
        ("dpd", 2.2, "xy v"),
        ("dpd/ext", -1.17, "xy v"),
        ("dpd", 2.2, "xz v"),
        ("dpd/ext", -1.17, "yz v"),
        ("dpd", 2.2, "xy x"),
        ("dpd/ext", -1.17, "xz x"),
        ("dpd", 2.2, "yz x"),
    ],
)
def test_steps_under_shear_are_those_of_lammps(style, rate, way, device, tmp_path):
    # At the higher rates the box flips. No atom here crosses the box along the gradient in a step
    # in which LAMMPS flips it: LAMMPS wraps such an atom without a change of its velocity.
    script = fluid(1.0, style) + shear(rate, way) + "thermo 10\n"
    more = "run 20\nrun 30\n"
    host = run_lammps(script + more + END, tmp_path)
    ours = run_lammps(script + resident(device) + more + END, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, 1e-8)


@pytest.mark.parametrize("way", ["xy v", "xz v", "yz v", "xy x", "yz x"])
def test_a_step_under_shear_has_twelve_digits_of_lammps(way, device, tmp_path):
    script = fluid(0.0) + shear(1.3, way)
    host = run_lammps(script + "run 2\n" + END, tmp_path)
    ours = run_lammps(script + resident(device) + "run 2\n" + END, tmp_path)
    assert_stays(ours)
    for names in (("xu", "yu", "zu"), ("vx", "vy", "vz"), ("fx", "fy", "fz")):
        assert_close(pick(ours, *names), pick(host, *names), 1e-12)


@pytest.mark.parametrize(
    ("style", "rate", "way", "due"),
    [
        ("dpd", 2.2, "xy v", 19),
        ("dpd/ext", -1.2, "xy v", 35),
        ("dpd", 2.2, "xz x", 17),
        ("dpd/ext", -1.6, "yz v", 27),
    ],
)
def test_the_box_flips_in_the_step_in_which_that_of_lammps_does(
    style, rate, way, due, device, tmp_path
):
    # The box of each step, and the positions in it. The first run ends where a flip is due.
    tilt = way[:2]
    script = fluid(1.0, style) + shear(rate, way)
    script += f"thermo_style custom step {tilt}\nthermo 1\n"
    script += "dump d all custom 1 dump id x y z ix iy iz\n"
    script += "dump_modify d sort id format float %.17g\n"
    runs = f"run {due}\nrun {50 - due}\n"
    host = run_lammps(script + runs, tmp_path)
    ours = run_lammps(script + resident(device) + runs, tmp_path)
    assert_stays(ours)
    column = tilt.capitalize()
    last = host.thermo(0)[column][-1]
    assert abs(last) > 0.5 * {"x": 5, "y": 6}[tilt[0]]
    assert np.sign(host.thermo(1)[column][1]) == -np.sign(last)
    for k in range(2):
        assert (ours.thermo(k)[column] == host.thermo(k)[column]).all()
    atoms = [
        np.array([row for row in map(str.split, text.splitlines()) if len(row) == 7], float)
        for text in ((run.directory / "dump").read_text() for run in (host, ours))
    ]
    assert len(atoms[0]) == 51 * 630
    assert_close(atoms[1], atoms[0], 1e-8)


ONE_TYPE = (
    one_type("create_atoms 1 random 630 11 NULL", BOX, "1.0 1.0 4711 precision mixed")
    + "velocity all create 1.3 13 loop all\n"
    + OFTEN
    + THERMO
)


@pytest.mark.parametrize("script", [fluid(1.0, precision="mixed"), ONE_TYPE])
def test_mixed_precision_and_threads(script, device, tmp_path):
    # One type with weight exponent 1 has kernels of its own on a GPU.
    script = script + SHEAR.format(1.0) + "thermo 5\n"
    host = run_lammps(script + "run 15\n" + END, tmp_path)
    ours = run_lammps(script + resident(device, "threads 2") + "run 15\n" + END, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, 1e-4)


def test_threads_do_not_change_a_bit_of_a_sheared_run(tmp_path):
    assert_threads_do_not_count(fluid(1.0) + shear(2.0, "yz v"), tmp_path, "")


def test_lists_have_the_pairs_that_shear_brings_closer(device, tmp_path):
    # Two particles fly towards each other almost as far as the lists of step 1 allow. These hold
    # until step 12, when shear has brought the pair within the cutoff: it is 1.242 apart at first.
    towards = np.array([-1.0, 1.0]) / np.sqrt(2)
    places = [(2.5, 2.5), tuple(np.array([2.5, 2.5]) + 1.2643 * towards)]
    rate, speed = 0.4, 1.0
    script = one_type(
        "\n".join(f"create_atoms 1 single {x:.17g} {y:.17g} 3" for x, y in places),
        BOX,
        law="25.0 0.0",
    )
    for k, (_, y) in enumerate(places):
        vx, vy = (1 - 2 * k) * speed * towards
        script += f"set atom {k + 1} vx {vx + rate * y:.17g} vy {vy:.17g}\n"
    script += SHEAR.format(rate) + OFTEN + THERMO
    host = run_lammps(script + "run 12\n" + END, tmp_path)
    ours = run_lammps(script + resident(device) + "run 12\n" + END, tmp_path)
    assert_stays(ours)
    assert abs(pick(host, "fx", "fy")).max() > 0.05
    assert_same_steps(ours, host, 1e-10)


def test_bonds_and_harmonic_chains_under_shear(device, tmp_path):
    bonds = """
bond_style harmonic
bond_coeff * 20.0 0.5
create_bonds many all all 1 0.1 0.22
"""
    script = fluid(0.0) + bonds + SHEAR.format(1.0)
    host = run_lammps(script + "run 30\n" + END, tmp_path)
    ours = run_lammps(script + resident(device) + "run 30\n" + END, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, 1e-9)


@pytest.mark.parametrize("way", ["xy v", "yz x"])
def test_output_between_does_not_change_the_steps(way, device, tmp_path):
    # Fixes that read, and a fix that changes velocities on the host.
    script = fluid(1.0) + shear(-1.5, way)
    temperature = "temp/deform" if way == "xy v" else "temp"
    reads = (
        f"compute t all {temperature}\nfix a all ave/time 3 2 6 c_t file t\n"
        "dump d all custom 7 d id x y z vx vy vz\n"
    )
    plain, busy = (
        run_lammps(script + more + resident(device) + "run 42\n" + END, tmp_path)
        for more in ("", reads)
    )
    # Since 2026 compute temp/deform subtracts the flow from the velocities and adds it again, which
    # rounds them in LAMMPS and here.
    assert_close(state(busy), state(plain), 1e-11 if release() >= SINCE_TWO_INTEGRATORS else 0)
    drift = "fix m all momentum 5 linear 1 1 1\n"
    host, ours = (
        run_lammps(script + drift + more + "run 30\n" + END, tmp_path)
        for more in ("", resident(device))
    )
    assert_stays(ours)
    assert_same_steps(ours, host, 1e-8)


def test_the_velocity_profile_is_linear_and_the_stress_is_that_of_lammps(device, tmp_path):
    # 30 time units after 10, in 10 blocks: both shear stresses within 5 standard errors of their
    # difference (one false alarm in 10,000 seeds), both slopes within 5 standard errors of 0.013.
    script = (
        system(BOX, 630).replace("timestep 0.01", "timestep 0.02")
        + "pair_style manymove/dpd 1.0 1.0 {} precision mixed\n"
        + "pair_coeff * * 25.0 4.5\nmass * 1.0\n"
        + SHEAR.format(0.4)
        + "compute p all pressure NULL virial\n"
        "thermo_style custom step c_p[4]\nthermo 4\n"
        "compute y all chunk/atom bin/1d y lower 0.1 units reduced\n"
        "fix p all ave/chunk 5 300 1500 y vx file profile\n{}run 500\nrun 1500\n"
    )
    stress, error, slope = [], [], []
    for seed, more in ((3, ""), (4, resident(device))):
        run = run_lammps(script.format(seed, more), tmp_path)
        values = run.thermo(1)["c_p[4]"][1:]
        blocks = values[: len(values) // 10 * 10].reshape(10, -1).mean(axis=1)
        stress.append(blocks.mean())
        error.append(blocks.std(ddof=1) / np.sqrt(10))
        rows = [line.split() for line in (run.directory / "profile").read_text().splitlines()]
        bins = [row[1:4:2] for row in rows if len(row) == 4 and row[0] != "#"]
        profile = np.array(bins, float)[-10:]
        fit, residual = np.polyfit(6 * profile[:, 0], profile[:, 1], 1, full=True)[:2]
        slope.append(fit[0])
        assert residual[0] < 10 * 0.08**2
    assert abs(stress[1] - stress[0]) < 5 * np.hypot(*error), (stress, error)
    assert np.all(np.array(stress) < -0.1)
    assert slope == pytest.approx([0.4, 0.4], abs=0.065)


NOT_ON_THE_DEVICE = {
    "fix shear all deform 1 xy erate 0.3 remap none": "fix shear deform",
    "fix shear all deform 2 xy erate 0.3 remap v": "fix shear deform",
    "fix shear all deform 1 xy trate 0.3 remap v": "fix shear deform",
    "fix shear all deform 1 xz erate 0.3 yz erate 0.2 remap v": "fix shear deform",
    "fix shear all deform 1 x erate 0.1 remap v": "fix shear deform",
    "change_box all xz final 0.5\nfix shear all deform 1 xy erate 0.3 remap v": "no other tilt",
    "fix shear all deform 1 xy erate 0.3 z wiggle 1.0 0.4 remap v": "fix shear deform",
    "fix shear all deform 1 xy erate 0.3 x wiggle 0.5 0.4 remap v": "fix shear deform",
    "fix shear all deform 1 xy erate 0.3 y trate 0.2 remap v": "fix shear deform",
    "variable d equal 0\nvariable r equal 0.2\n"
    "fix shear all deform 1 xy erate 0.3 z variable v_d v_r remap v": "fix shear deform",
    "fix shear all deform 1 xy wiggle 0.3 1.0 remap v": "fix shear deform",
    SHEAR.format(0.3) + "unfix nve\nfix nve all nvt/sllod temp 1 2 1": "fix nve nvt/sllod",
    SHEAR.format(0.3) + "unfix nve\nfix nve all nvt/sllod temp 1 1 1 tloop 2": "nvt/sllod",
    SHEAR.format(0.3) + "unfix nve\nfix nve all nvt/sllod temp 1 1 1 drag 1": "nvt/sllod",
    SHEAR.format(0.3) + "compute c all temp/deform\nunfix nve\n"
    "fix nve all nvt/sllod temp 1 1 1\nfix_modify nve temp c": "fix nve nvt/sllod",
    SHEAR.format(0.3) + "unfix nve\ngroup g id > 5\ngroup h id < 6\n"
    "fix n h nve\nfix nve g nvt/sllod temp 1 1 1": "fix nve nvt/sllod",
    SHEAR.format(0.3) + "fix l all langevin 1 1 1 5": "shear cannot be combined with walls",
    SHEAR.format(20.0): "rate of shear 20 is too high",
    SHEAR.format(0.3) + "group g id > 5\nunfix nve\nfix nve g nve": "that are not integrated",
}


@pytest.mark.parametrize("line", NOT_ON_THE_DEVICE)
def test_what_stays_on_the_host_is_named(line, tmp_path):
    box = "0 7 0.5 0 0" if "trate" in line else "0 7 0 0 0"
    line_here = line.replace("nvt/sllod", f"nvt/sllod {legacy()}")
    script = fluid(1.0).replace("0 7 0 0 0", box) + line_here + "\n"
    # Without a setup, the second run begins with the rates that the first one left.
    host = run_lammps(script + "run 3\nrun 2 pre no\n" + END, tmp_path)
    ours = run_lammps(script + resident("cpu") + "run 3\nrun 2 pre no\n" + END, tmp_path)
    assert STAYS not in ours.output
    assert NOT_ON_THE_DEVICE[line] in " ".join(ours.output.split()), ours.output
    assert_close(pick(ours, "vx", "vy", "vz"), pick(host, "vx", "vy", "vz"), 1e-10)


@pytest.mark.parametrize(
    ("processors", "bonds", "way"),
    [
        ("2 1 1", "", "xy v"),
        ("1 2 1", "", "xy v"),
        ("1 2 2", "", "xy v"),
        ("4 1 1", BONDS, "xy v"),
        ("2 1 2", "", "xz v"),
        ("1 2 1", "", "yz v"),
        ("2 1 1", "", "xy x"),
        ("1 2 2", BONDS, "yz x"),
    ],
)
def test_ranks_share_a_sheared_box(processors, bonds, way, device, tmp_path):
    # Atoms that are created depend on the number of ranks. The box flips in step 2, when all
    # particles are in other sub-domains, and the second run begins after it.
    tilt = way[:2]
    place = ("xy", "xz", "yz").index(tilt)
    box = "prism 0 6 0 6 0 6 " + " ".join("2.9" if k == place else "0" for k in range(3))
    create = fluid(1.0).replace(BOX, box) + bonds
    started = run_lammps(create + "write_restart start\n", tmp_path).directory / "start"
    script = (
        f"comm_modify vel yes\nread_restart {started}\ncomm_modify vel yes\nneighbor 0.3 bin\n"
        "timestep 0.01\nfix nve all nve\n"
        + OFTEN
        + THERMO.replace("pyz", f"pyz {tilt}")
        + shear(0.9, way)
    )
    script += resident(device) + "thermo 4\nrun 8\nrun 5\n" + END
    one = run_lammps(script, tmp_path)
    ranks = int(np.prod([int(n) for n in processors.split()]))
    many = run_lammps(f"processors {processors}\n" + script, tmp_path, ranks=ranks)
    for run in (one, many):
        assert_stays(run)
    tilts = one.thermo(0)[tilt.capitalize()]
    assert tilts[0] > 0 > tilts[-1]
    assert_same_steps(many, one, 1e-9)


@pytest.mark.parametrize(("rate", "flips"), [(0.3, False), (2.2, True)])
def test_images_of_an_atom_are_a_chain_in_the_map_of_lammps(rate, flips):
    """LAMMPS looks for the closest image of a partner along this chain, which must have an end."""
    lmp = host.start()
    try:
        lmp.commands_string(fluid(1.0) + BONDS + SHEAR.format(rate) + resident("cpu") + "run 22")
        assert (lmp.extract_box()[2] < 0) == flips
        atoms = lmp.extract_global("nlocal") + lmp.extract_global("nghost")
        lmp.lib.lammps_extract_global.restype = ctypes.POINTER(ctypes.c_int)
        following = np.array(lmp.lib.lammps_extract_global(lmp.lmp, b"sametag")[:atoms])
        tags = np.array(lmp.extract_atom("id")[:atoms])
    finally:
        lmp.close()
    has_next = following >= 0
    assert (tags[following[has_next]] == tags[has_next]).all()
    assert (following[has_next] > np.flatnonzero(has_next)).all()


@pytest.mark.parametrize(
    ("precision", "style"), each_once(["double", "mixed"], ["dpd", "dpd/ext", "mdpd"])
)
def test_ranks_and_gpus_make_the_steps_of_one_cpu(style, precision, device, tmp_path):
    # The box flips in steps 1 and 39; 15 steps are few enough for mixed precision.
    script = fluid(1.0, style, precision) if style != "mdpd" else many_bodies(precision)
    start = run_lammps(
        script.replace(BOX, "prism 0 5 0 6 0 7 2.4 0 0") + "write_restart start\n", tmp_path
    )
    script = (
        f"comm_modify vel yes\nread_restart {start.directory / 'start'}\ncomm_modify vel yes\n"
        "neighbor 0.3 bin\ntimestep 0.01\nfix nve all nve\n"
        f"{OFTEN}{THERMO}{SHEAR.format(2.2)}"
    )
    steps = "run 25\nrun 15\n" if precision == "double" else "run 15\n"
    one = run_lammps(script + resident("cpu") + steps + END, tmp_path)
    two = run_lammps(script + resident(device) + steps + END, tmp_path, ranks=2)
    for run in (one, two):
        assert_stays(run)
    assert_same_steps(two, one, 1e-8 if precision == "double" else 1e-3)


def many_bodies(precision: str) -> str:
    return (
        one_type("create_atoms 1 random 1200 11 NULL", BOX)
        + f"pair_style manymove/mdpd 1.0 1.0 4711 precision {precision}\n"
        + "pair_coeff 1 1 -40 25 4.5 1 0.75\nvelocity all create 1.0 13 loop all\n"
        + THERMO
    )


@on_gpu
def test_the_way_of_ghosts_does_not_change_a_bit_of_a_sheared_run(tmp_path):
    script = fluid(1.0) + SHEAR.format(2.2)
    ways = ("", "overlap no", "transport host", "transport shared", "transport peer")
    first, *others = (
        run_lammps(script + resident("cuda", way) + "run 60\n" + END, tmp_path, ranks=2)
        for way in ways
    )
    assert_stays(first)
    for other in others:
        assert np.array_equal(state(other), state(first))


def test_time_runs_out_under_shear(device, tmp_path):
    # On two ranks, of which each has its own clock.
    script = fluid(1.0, precision="mixed") + SHEAR.format(2.2) + resident(device)
    script += "thermo_style custom step xy press\ntimer timeout 0:00:01\nrun 100000000\n"
    run = run_lammps(script + "timer timeout unlimited\nrun 1\n", tmp_path, ranks=2)
    assert "Wall time limit reached" in run.output
    steps = int(re.search(r"for (\d+) steps with", run.output)[1])
    assert 0 < steps < 100000000
    after = run.thermo()
    assert after["Step"].tolist() == [steps, steps + 1]
    assert np.isfinite(after["Press"]).all()
    tilts = 2.2 * 0.01 * 6 * np.array([steps, steps + 1])
    difference = (after["Xy"] - tilts) / 5
    assert difference == pytest.approx(np.round(difference), abs=1e-6)


def test_an_interrupted_run_continues_from_its_last_restart_file(tmp_path):
    # Ctrl-C ends LAMMPS at once. The box flips every 38 steps, and the files are 50 steps apart.
    deform = shear(2.2) + resident("cpu")
    script = fluid(1.0) + deform + "thermo 50\nthermo_modify flush yes\n"
    folder = tmp_path / "interrupted"
    job = start_lammps(script + "restart 50 half.*\nrun 100000000\n", folder, 2, 150)
    job.process.send_signal(signal.SIGINT)
    job.failure()
    done = sorted(int(file.name[5:]) for file in folder.glob("half.*"))
    assert done[:2] == [50, 100]
    rest = (
        f"read_restart {folder / 'half.100'}\ncomm_modify vel yes\nneighbor 0.3 bin\n"
        "timestep 0.01\nfix nve all nve\n" + OFTEN + THERMO + deform + "run 50\n" + END
    )
    whole = run_lammps(script + "run 100\nrun 50\n" + END, tmp_path, ranks=2)
    again = run_lammps(rest, tmp_path, ranks=2)
    for run in (whole, again):
        assert_stays(run)
    # LAMMPS' images of the two runs may differ by a period, as without the engine.
    for names in (("vx", "vy", "vz"), ("fx", "fy", "fz")):
        assert_close(pick(again, *names), pick(whole, *names), 1e-6)


def test_output_on_ranks_does_not_change_the_steps(device, tmp_path):
    # Atoms are sent to their sub-domains for LAMMPS' neighbor lists, and in flips.
    script = fluid(1.0) + SHEAR.format(2.2) + resident(device)
    reads = "compute rdf all rdf 20\nfix look all ave/time 3 1 3 c_rdf[*] mode vector file rdf\n"
    plain, busy = (
        run_lammps(script + more + "run 50\n" + END, tmp_path, ranks=2) for more in ("", reads)
    )
    for run in (plain, busy):
        assert_stays(run)
        assert (np.sort(run.dump("end")["id"]) == np.arange(1, 631)).all()
    # LAMMPS wraps positions for its neighbor lists by its own arithmetic.
    assert_close(state(busy), state(plain), 1e-11 if device == "cpu" else 1e-9)


@pytest.mark.parametrize(
    ("precision", "way"),
    [("double", "xy v"), ("mixed", "xy v"), ("double", "yz v"), ("double", "xz x")],
)
def test_shear_continues_from_a_restart_file(precision, way, device, tmp_path):
    # At this rate the box has flipped before the file is written, and flips again after it.
    script = fluid(1.0, precision=precision)
    deform = shear(2.2, way) + resident(device)
    whole = run_lammps(script + deform + "run 70\nrun 30\n" + END, tmp_path)
    first = run_lammps(script + deform + "run 70\nwrite_restart half\n", tmp_path)
    rest = (
        f"read_restart {first.directory / 'half'}\ncomm_modify vel yes\nneighbor 0.3 bin\n"
        "timestep 0.01\nfix nve all nve\n" + OFTEN + THERMO + deform + "run 30\n" + END
    )
    second = run_lammps(rest, tmp_path)
    for run in (whole, first, second):
        assert_stays(run)
    assert_close(state(second), state(whole), 1e-8 if precision == "double" else 1e-3)


def sllod(more: str = "") -> str:
    return f"unfix nve\nfix nve all nvt/sllod temp 1.1 1.1 0.2 {legacy()} {more}\n"


CHAIN = (
    "variable e equal f_nve\nvariable p equal f_nve[1]\nvariable w equal f_nve[2]\n"
    "thermo_style custom step temp pxy v_e v_p v_w\nthermo_modify format float %.16g\n"
)


@pytest.mark.parametrize(
    ("rate", "way", "chain", "style"),
    [
        (0.3, "xy v", "", "dpd"),
        (-1.2, "xy v", "tchain 3", "dpd"),
        (2.2, "xy v", "", "dpd/ext"),
        (1.7, "xz v", "", "dpd"),
        (-1.2, "yz v", "", "dpd/ext"),
        (2.2, "xy x", "nvt", "dpd"),
    ],
)
def test_sllod_is_that_of_lammps(rate, way, chain, style, device, tmp_path):
    # Steps, the chain of thermostats and its energy, also of fix nvt where the box carries
    # positions. At the higher rates the box flips.
    integrator = sllod(chain)
    if chain == "nvt":
        integrator = "unfix nve\nfix nve all nvt temp 1.1 1.1 0.2\n"
    script = fluid(0.0, style) + shear(rate, way) + integrator + CHAIN + "thermo 10\n"
    more = "run 20\nrun 30\n"
    host = run_lammps(script + more + END, tmp_path)
    ours = run_lammps(script + resident(device) + more + END, tmp_path)
    assert_stays(ours)
    for names in (("xu", "yu", "zu"), ("vx", "vy", "vz"), ("fx", "fy", "fz")):
        assert_close(pick(ours, *names), pick(host, *names), 1e-8)
    assert abs(host.thermo()["v_p"]).min() > 0
    for name, expected in host.thermo().items():
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-7, abs=1e-7), name


@pytest.mark.parametrize(("rate", "way"), [(0.3, "xy v"), (2.2, "xy v"), (2.2, "yz v")])
def test_stresses_of_particles_under_sllod(rate, way, device, tmp_path):
    assert_stresses_of_lammps(fluid(0.0) + shear(rate, way) + sllod(), device, tmp_path)


def test_the_reversible_integrator_of_sllod_is_refused_by_name(tmp_path):
    if release() < SINCE_TWO_INTEGRATORS:
        pytest.skip("LAMMPS has one integrator before 11 Feb 2026")
    script = fluid(0.0) + SHEAR.format(0.3) + sllod().replace("legacy", "reversible")
    host = run_lammps(script + "run 3\n" + END, tmp_path)
    ours = run_lammps(script + resident("cpu") + "run 3\n" + END, tmp_path)
    assert STAYS not in ours.output
    assert "fix nve nvt/sllod without integrator legacy" in " ".join(ours.output.split())
    assert_close(state(ours), state(host), 1e-10)


def test_sllod_on_ranks_with_output_and_from_a_restart_file(device, tmp_path):
    script = fluid(0.0) + SHEAR.format(2.2) + sllod()
    start = run_lammps(script + "write_restart start\n", tmp_path).directory / "start"
    begin = (
        f"read_restart {start}\ncomm_modify vel yes\nneighbor 0.3 bin\ntimestep 0.01\n"
        "fix nve all nve\n" + OFTEN + SHEAR.format(2.2) + sllod() + resident(device)
    )
    one = run_lammps(begin + "run 20\nrun 20\n" + END, tmp_path)
    two = run_lammps(begin + "thermo 1\nrun 20\nrun 20\n" + END, tmp_path, ranks=2)
    half = run_lammps(begin + "run 20\nwrite_restart half\n", tmp_path).directory / "half"
    rest = run_lammps(begin.replace(str(start), str(half)) + "run 20\n" + END, tmp_path)
    for run in (one, two, rest):
        assert_stays(run)
    assert_close(state(two), state(one), 1e-8)
    assert_close(state(rest), state(one), 1e-8)


def test_sllod_keeps_its_temperature(device, tmp_path):
    # A fluid of conservative forces, which shear heats: 40 damping times after 20. Five standard
    # errors of ten blocks (Student's t): one false alarm in 1,300 seeds.
    script = fluid(0.0, precision="mixed").replace("25.0 4.5", "25.0 0.0") + SHEAR.format(0.5)
    script += sllod() + "thermo_style custom step c_nve_temp\nthermo 4\n" + resident(device)
    run = run_lammps(script + "run 400\nrun 800\n", tmp_path)
    assert_stays(run)
    blocks = run.thermo(1)["c_nve_temp"][1:].reshape(10, 20).mean(axis=1)
    error = blocks.std(ddof=1) / np.sqrt(10)
    assert error < 0.02 and abs(blocks.mean() - 1.1) < 5 * error, (blocks.mean(), error)
