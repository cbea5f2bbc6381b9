"""`run_style manymove/verlet` on several MPI ranks: the box is shared, the physics is not touched.

With a GPU, ranks share the ones that there are.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from dpd_scripts import (
    END,
    NARROW,
    SCRIPTS,
    STAYS,
    TOLERANCE,
    WARNING,
    assert_close,
    assert_same_steps,
    assert_stays,
    fluid,
    one_type,
    pick,
    resident,
    state,
    system,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

from manymove import _core

pytestmark = needs_lammps

# What a restart file does not keep, in the input scripts of dpd_scripts.
KEPT_OUT = ("comm_modify", "neighbor", "fix", "unfix", "region lower", "region upper")

FLOW = (
    system("block 0 3 0 6 0 5", 270, skin=0.2)
    + fluid("mixed")
    + "velocity all ramp vx -4 4 y 0 6 sum yes\n"
)


def from_restart(script: str, directory: Path) -> str:
    """The script with the atoms that one rank creates: which they are depends on their number."""
    run = run_lammps(script + "write_restart start\n", directory)
    rest = [line for line in script.splitlines() if line.startswith(KEPT_OUT)]
    return "\n".join([f"read_restart {run.directory / 'start'}", *rest, ""])


def grid(processors: str) -> tuple[str, int]:
    return f"processors {processors}\n", int(np.prod([int(n) for n in processors.split()]))


CASES = [
    *((script, "2 1 1", "mixed") for script in SCRIPTS),
    ("several types", "1 2 2", "double"),
    ("triclinic", "2 2 1", "double"),
    ("walls and body forces", "1 1 3", "double"),
    ("bonds", "1 1 4", "double"),
    ("small box", "1 4 1", "double"),
]


@pytest.mark.parametrize(("script", "processors", "precision"), CASES)
def test_a_few_steps_are_those_of_one_rank(script, processors, precision, device, tmp_path):
    text = SCRIPTS[script].replace("precision double", f"precision {precision}")
    start = from_restart(text, tmp_path) + resident(device) + THERMO + "thermo 3\nrun 6\n" + END
    where, ranks = grid(processors)
    one, many = run_lammps(start, tmp_path), run_lammps(where + start, tmp_path, ranks=ranks)
    assert_stays(many)
    assert_same_steps(many, one, TOLERANCE[precision])


@pytest.mark.parametrize("processors", ["2 1 1", "1 2 1"])
def test_ranks_share_a_tilted_box_narrower_than_twice_the_reach(processors, device, tmp_path):
    start = from_restart(NARROW, tmp_path)
    end = "run 100\n" + END
    where, ranks = grid(processors)
    host = run_lammps(start + end, tmp_path)
    ours = run_lammps(where + start + resident(device) + end, tmp_path, ranks=ranks)
    assert_stays(ours)
    assert_close(state(ours), state(host), 1e-9)


MOMENTUM = "".join(f"variable p{a} equal vcm(all,{a})*mass(all)\n" for a in "xyz")
MOMENTUM += "thermo_style custom step atoms temp v_px v_py v_pz\nthermo_modify lost error\n"


@pytest.mark.parametrize(("processors", "steps"), [("1 2 1", 600), ("2 2 1", 200)])
def test_nothing_is_lost_on_the_way(processors, steps, device, tmp_path):
    # Sheared, hot and in thin parts: particles change ranks often.
    where, ranks = grid(processors)
    run = run_lammps(
        where + FLOW + "velocity all zero linear\n" + resident(device) + MOMENTUM
        + f"thermo 100\nrun {steps}\n" + END,
        tmp_path,
        ranks=ranks,
    )  # fmt: skip
    assert_stays(run)
    table = run.thermo()
    assert (table["Atoms"] == 270).all()
    assert (np.sort(run.dump("end")["id"]) == np.arange(1, 271)).all()
    # In float32 each particle rounds its velocity, which is below 10, by 5e-7 per step, at random.
    for name in ("v_px", "v_py", "v_pz"):
        assert abs(table[name] - table[name][0]).max() < 5 * 5e-7 * np.sqrt(270 * steps)
    moved = np.abs(pick(run, "xu") / 3 - 0.5).max()
    assert moved > steps / 200  # boxes


def test_particles_that_come_farther_than_expected(device, tmp_path):
    # From rest and faster and faster: the next build always comes too late, and is made in time.
    script = one_type("create_atoms 1 box", "block 0 7 0 6 0 6", before="lattice sc 3.0")
    script += """
region upper block INF INF 3 INF INF INF
fix up all addforce 2.0 0.0 0.3 region upper
fix down all addforce -1.0 0.0 0.0
"""
    script = from_restart(script, tmp_path) + resident(device) + THERMO + "run 150\n" + END
    one, two = run_lammps(script, tmp_path), run_lammps(script, tmp_path, ranks=2)
    assert_stays(two)
    assert np.abs(pick(two, "vx")).max() > 0.5
    assert_close(state(two), state(one), 1e-10)


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("more", ["", "fix a all momentum 7 linear 1 1 1 angular\n"])
def test_faster_particles_are_not_missed_by_the_lists_of_slower_ones(every, more, device, tmp_path):
    # A thermostat makes the particles of two ranks faster and faster, in the engine or, after a
    # fix of the host, through LAMMPS' arrays.
    script = one_type("create_atoms 1 box", "block 0 7 0 6 0 6", before="lattice sc 3.0")
    script = from_restart(script + "velocity all create 0.001 13 loop all\n", tmp_path)
    script += f"{resident(device)}{THERMO}{more}fix h all temp/rescale {every} 0.001 30 0 1\n"
    one, two = (run_lammps(script + "run 60\n" + END, tmp_path, ranks=ranks) for ranks in (1, 2))
    assert_stays(two)
    assert np.abs(pick(two, "vx")).max() > 5
    assert_close(state(two), state(one), 1e-9)


WAYS = {
    "transport host": "page-locked host memory and MPI",
    "transport peer": "the memory of the GPUs (CUDA IPC)",
    "transport shared": "page-locked host memory that ranks share",
}


@on_gpu
def test_the_way_that_ghosts_take_does_not_change_a_bit(tmp_path):
    script = SCRIPTS["walls and body forces"].replace("precision double", "precision mixed")
    first, *others = (
        run_lammps(script + resident("cuda", way) + "run 40\n" + END, tmp_path, ranks=2)
        for way in ("overlap no", *WAYS, *(f"{way} overlap no" for way in WAYS))
    )
    assert_stays(first)
    for other, name in zip(others, [*WAYS.values()] * 2, strict=True):
        assert f"ghosts travel through {name}\n" in other.output
        assert (state(other) == state(first)).all()


@on_gpu
def test_more_ghosts_than_expected(tmp_path):
    # All particles are at the faces between ranks, in a tenth of the box and less.
    create = "region middle block 14 16 0 12 0 12\ncreate_atoms 1 random 3000 17 middle"
    pair, where = "1.0 1.0 7 precision double", "processors 2 1 1"
    script = one_type(create, "block 0 30 0 12 0 12", pair, before=where)
    script += "velocity all create 1.0 19 loop geom\n"
    host, peer = (
        run_lammps(script + resident("cuda", way) + "run 40\n" + END, tmp_path, ranks=2)
        for way in ("transport host", "transport peer")
    )
    assert_stays(peer)
    assert (state(peer) == state(host)).all()


# ---- who reads ----


@pytest.mark.parametrize("ranks", [2, 4])
def test_atoms_are_where_lammps_looks_for_them_in_the_next_run(ranks, device, tmp_path):
    # They have come far from their ranks.
    far = FLOW + resident(device) + "thermo_modify lost error\n"
    run = run_lammps(f"processors 1 {ranks} 1\n" + far + "run 60\n" * 3, tmp_path, ranks=ranks)
    assert_stays(run)
    assert run.output.count("Loop time") == 3


def test_what_computes_have_by_atom_is_of_the_atoms_after_a_run(device, tmp_path):
    # Atoms change ranks at the end of a run; commands between runs read what computes have.
    more = """
compute id all property/atom id
compute ke all ke/atom
compute sums all reduce sum c_id c_ke
thermo_style custom step c_sums[1] c_sums[2]
timestep 0.002
velocity all scale 40
run 20
variable other atom c_id!=id
group others variable other
write_dump all custom between id c_id c_ke modify sort id format float %.17g
"""
    script = from_restart(SCRIPTS["several types"], tmp_path) + resident(device) + more
    one, many = (run_lammps(script, tmp_path, ranks=ranks) for ranks in (1, 2))
    assert_stays(many)
    assert "\n0 atoms in group others" in many.output
    columns = many.dump("between")
    assert (columns["c_id"] == columns["id"]).all()
    assert_close(columns["c_ke"], one.dump("between")["c_ke"], 1e-8)


def test_ranks_without_particles(device, tmp_path):
    # All are in one corner and at rest: three of four ranks have none, then one comes.
    create = "create_atoms 1 single 1 1 1\ncreate_atoms 1 single 1 3.9 1\nset atom 2 vy 1.0"
    script = one_type(create, law="25.0 0.0", before="processors 1 4 1", skin=0.2)
    run = run_lammps(script + resident(device) + THERMO + "run 40\n" + END, tmp_path, ranks=4)
    assert_stays(run)
    assert pick(run, "yu")[:, 0] == pytest.approx([1.0, 4.3], abs=1e-12)


# ---- what is not served, and errors ----


def test_a_tiled_decomposition_runs_on_the_host(tmp_path):
    script = (
        system() + fluid() + "comm_style tiled\nbalance 1.0 rcb\n" + resident("cpu") + "run 4\n"
    )
    output = run_lammps(script, tmp_path, ranks=2).output
    assert output.count(WARNING) == 1
    assert "comm_style tiled" in output and STAYS not in output


def test_what_one_rank_refuses_all_refuse(tmp_path):
    # Only one of them has the atom that two fixes integrate.
    twice = "group one id 1\nfix two one nve\n"
    script = system() + fluid() + twice + resident("cpu") + "run 4\n"
    output = run_lammps(script, tmp_path, ranks=2).output
    assert output.count(WARNING) == 1
    assert "fix nve twice" in output


@on_gpu
def test_nccl_that_cannot_serve_is_an_error(tmp_path):
    devices = len(_core.cuda_devices())
    script = system() + fluid() + resident("cuda", "transport nccl") + "run 4\n"
    run = run_lammps(script, tmp_path, ranks=devices + 1, fails=True)
    assert re.search(
        "ERROR.*transport nccl cannot serve: (two ranks share a GPU|libnccl.so.2 is not found)",
        run.output,
    ), run.output


@on_gpu
def test_mpi_takes_memory_of_gpus_or_refuses_it(tmp_path):
    """It depends on the MPI of LAMMPS. PyPI's MPI is not CUDA-aware."""
    script = SCRIPTS["walls and body forces"].replace("precision double", "precision mixed")
    scripts = [
        script + resident("cuda", f"transport {w}") + "run 40\n" + END for w in ("mpi", "host")
    ]
    host = run_lammps(scripts[1], tmp_path, ranks=2)
    try:
        mpi = run_lammps(scripts[0], tmp_path, ranks=2)
    except AssertionError as error:
        assert "transport mpi cannot serve: MPI does not report that it is CUDA-aware" in str(error)
    else:
        assert "ghosts travel through CUDA-aware MPI\n" in mpi.output
        assert (state(mpi) == state(host)).all()


@pytest.mark.parametrize(("command", "reach"), [("", "1.2"), ("comm_modify cutoff 1.6", "1.6")])
def test_a_bond_beyond_reach_is_an_error(command, reach, device, tmp_path):
    # Two free particles that fly apart, one on each rank.
    script = one_type(
        "create_atoms 1 single 3.8 4 4\ncreate_atoms 1 single 4.2 4 4",
        pair="0.0 1.0 7",
        law="0.0 0.0",
        before=f"atom_style bond\nprocessors 2 1 1\n{command}",
        skin=0.2,
        timestep=0.05,
        bonds="bond/types 1 extra/bond/per/atom 1 extra/special/per/atom 1",
    )
    script += """
set atom 1 vx -1.0
set atom 2 vx 1.0
bond_style manymove/harmonic
bond_coeff 1 0.0 0.5
create_bonds single/bond 1 1 2
"""
    run = run_lammps(script + resident(device) + "run 60\n", tmp_path, ranks=2, fails=True)
    text = rf"ERROR.*a bond of particle [12] reaches farther at step \d+ than {reach}, "
    assert re.search(text, run.output), run.output
