"""The CUDA engine of DPD against the CPU engine: in double precision the same bits, in LAMMPS."""

from __future__ import annotations

import re

import pytest
from dpd_scripts import (
    BONDS,
    END,
    SCRIPTS,
    assert_stays,
    fluid,
    one_type,
    pick,
    resident,
    state,
    system,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import GPU

pytestmark = [
    needs_lammps,
    *GPU,
]

STEPS = 300

# Fewer than four cells of 1.5 (cutoff and skin) along one, two and all edges.
NARROW = {
    "one narrow edge": system("block 0 2.5 0 7 0 9", 470) + fluid() + BONDS,
    "two narrow edges": system("block 0 3.1 0 4.4 0 10", 410) + fluid() + BONDS,
    "narrow cube": system("block 0 2.5 0 2.6 0 2.7", 53) + fluid(),
    "narrow between walls": system("block 0 3 0 3.5 0 9", 280, before="boundary p p f")
    + fluid()
    + "fix walls all manymove/wall zlo EDGE zhi EDGE\n",
}
SEED = "1.0 1.0 4711 precision double"
ACROSS = """
pair_style manymove/dpd/ext 1.0 1.0 4711 precision double
pair_coeff * * 25.0 4.5 3.0 0.5 1.3
"""
MANY_BODIES = """
pair_style manymove/mdpd 1.0 1.0 4711 precision double
pair_coeff * * -40.0 25.0 4.5 1.0 0.75
"""
# What changes velocities or coefficients from step to step.
RAMP = "variable f equal 20+0.05*step\nfix a all adapt 1 pair manymove/dpd a 1 2 v_f\n"
CHANGES = {
    "berendsen": SCRIPTS["bonds"] + "fix v all temp/berendsen 1.3 0.9 0.5\n",
    "rescale": SCRIPTS["several types"] + "fix v all temp/rescale 1 1.3 0.9 0.001 0.7\n",
    "momentum": SCRIPTS["walls and body forces"] + "fix v all momentum 2 linear 1 0 1 rescale\n",
    "several changes": SCRIPTS["several types"]
    + "group some id 1:300\nfix v some temp/berendsen 1.3 1.3 0.2\ncompute t all temp\n"
    + "fix_modify v temp t\nfix w all temp/rescale 3 1 1 0.01 0.8\n",
    "adapted": SCRIPTS["several types"] + RAMP,
    "adapted and scaled": SCRIPTS["bonds"] + RAMP + "fix v all temp/berendsen 1.3 0.9 0.5\n",
}
# Rates at which the box flips a few times in 300 steps.
CUBE = "prism 0 7 0 7 0 7 0 0 0"
SHEARED = {
    name: script + f"fix shear all deform 1 {way}\n"
    for name, script, way in (
        ("shear", system(CUBE) + fluid(), "xy erate 1.1 remap v"),
        (
            "shear of one type",
            one_type("create_atoms 1 random 1028 11 NULL", CUBE, SEED),
            "xy erate -0.9 remap v",
        ),
        ("shear with bonds", system(CUBE) + fluid() + BONDS, "xy erate 0.7 remap v"),
        ("shear across the line of centers", system(CUBE) + ACROSS, "xy erate 0.8 remap v"),
        ("shear of many bodies", system(CUBE) + MANY_BODIES, "xy erate -0.6 remap v"),
        (
            "shear of a small box",
            system("prism 0 3.2 0 4.4 0 3 0 0 0", 127) + fluid(),
            "xy erate 1.3 remap v",
        ),
        (
            "shear, one lane",
            system("prism 0 28 0 28 0 28 13 0 0", 66_000) + fluid(),
            "xy erate 1.9 remap v",
        ),
        ("shear along y", system(CUBE) + fluid(), "yz erate 1.1 remap v"),
        ("shear across z", system(CUBE) + MANY_BODIES, "xz erate -0.9 remap v"),
        ("shear of positions", system(CUBE) + fluid() + BONDS, "yz erate 1.1 remap x"),
    )
}
SHEARED["sllod"] = SHEARED["shear"] + (
    "unfix nve\nfix nve all nvt/sllod temp 1.2 1.2 0.3 tchain 3\n"
)
SYSTEMS = {
    **SCRIPTS,
    **NARROW,
    **CHANGES,
    **SHEARED,
    "one lane": system("block 0 28 0 28 0 28", 66_000) + fluid(),
    "one lane, scaled": system("block 0 28 0 28 0 28", 66_000)
    + fluid()
    + "fix v all temp/berendsen 1.3 0.9 0.05\n",
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_cpu_and_gpu_give_the_same_trajectory_to_the_last_bit(name, tmp_path):
    # Many particles have one thread each, few have several, which order the sums otherwise.
    steps = 20 if "one lane" in name else STEPS
    end = THERMO + f"thermo {steps // 4}\nrun {steps}\n" + END
    runs = [
        run_lammps(SYSTEMS[name] + resident(device) + end, tmp_path) for device in ("cpu", "cuda")
    ]
    for run in runs:
        assert_stays(run)
    assert (state(runs[0]) == state(runs[1])).all()
    # Energies and virials are sums over particles in an order of the engine's own.
    for column, values in runs[0].thermo().items():
        assert runs[1].thermo()[column] == pytest.approx(values, rel=1e-11, abs=1e-9), column


@pytest.mark.parametrize(
    "name", ["several types", "narrow cube", "one lane", "shear", "shear of one type"]
)
def test_forces_of_pairs_add_up_to_zero_exactly_in_mixed_precision(name, tmp_path):
    # They are integers times a power of two.
    script = SYSTEMS[name].replace("precision double", "precision mixed")
    run = run_lammps(script + resident("cuda") + "run 20\n" + END, tmp_path)
    assert_stays(run)
    force = pick(run, "fx", "fy", "fz")
    assert abs(force).max() > 10
    assert (force.sum(axis=0) == 0).all()


# In mixed precision few particles of one type take all steps between two builds of lists in one
# kernel, unless the lists of a block are too long for its memory, as in the last system. A step
# whose sums are read has a kernel of its own.
@pytest.mark.parametrize(
    ("box", "atoms", "in_one_kernel"),
    [
        ("block 0 7 0 7 0 7", 1028, True),
        ("block 0 2.5 0 2.6 0 2.7", 53, True),
        ("block 0 16 0 16 0 16", 12_288, None),  # with at least 96 multiprocessors
        ("block 0 5 0 5 0 5", 5000, False),
    ],
)
def test_steps_in_one_kernel_are_those_in_kernels_of_their_own(box, atoms, in_one_kernel, tmp_path):
    create = f"create_atoms 1 random {atoms} 11 NULL"
    script = one_type(create, box, "1.0 1.0 4711 precision mixed", "10.0 4.5")
    script += "velocity all create 1.0 5 loop all\n" + resident("cuda")
    runs = [
        run_lammps(script + f"thermo {every}\nrun 60\n" + END, tmp_path) for every in (60, 20, 1)
    ]
    for run in runs:
        assert_stays(run)
        assert (state(run) == state(runs[0])).all()
    counts = [re.findall(r"verlet: (\d+) kernels took the steps", run.output) for run in runs]
    assert counts[-1] == []
    if in_one_kernel is not None:
        assert [bool(count) for count in counts[:-1]] == [in_one_kernel] * 2
