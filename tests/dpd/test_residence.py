"""When `run_style manymove/verlet` keeps the particles in an engine: with LAMMPS' OPENMP package,
with `device auto` without a GPU, and in input scripts that LAMMPS runs although the engine would
not."""

from __future__ import annotations

import re

import pytest
from documents import ROOT
from dpd_scripts import (
    BONDS,
    END,
    SCRIPTS,
    STAYS,
    THROWN,
    WALLS,
    WARNING,
    assert_stays,
    fluid,
    one_type,
    pick,
    resident,
    state,
    system,
    with_energies,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from laws import each_once

pytestmark = needs_lammps


# ---- the OPENMP package ----

OPENMP = {
    "package": ("package omp 2\n", (), {}),
    "suffix": ("", ("-sf", "omp"), {}),
    "suffix and package": ("", ("-sf", "omp", "-pk", "omp", "2"), {}),
    "environment": ("", (), {"OMP_NUM_THREADS": "2"}),
}


@pytest.mark.parametrize(
    ("name", "way"), each_once(["bonds", "walls and body forces", "two dimensions"], OPENMP)
)
def test_threads_of_lammps_leave_the_particles_with_the_engine(way, name, device, tmp_path):
    command, arguments, variables = OPENMP[way]
    # A reader of neighbor lists, which the OPENMP package makes in its own way.
    reader = "compute near all coord/atom cutoff 0.8\ncompute sum all reduce sum c_near\n"
    end = reader + "thermo_style custom step pe c_sum\nthermo 4\nrun 12\n" + END
    script = SCRIPTS[name] + resident(device) + end
    plain = run_lammps(script, tmp_path)
    ours = run_lammps(command + script, tmp_path, arguments=arguments, **variables)
    assert STAYS in ours.output and WARNING not in ours.output, ours.output
    assert (state(ours) == state(plain)).all()
    assert (ours.thermo()["c_sum"] == plain.thermo()["c_sum"]).all()


def test_a_threaded_variant_that_acts_within_steps_is_named(tmp_path):
    script = system() + fluid() + "unfix nve\nfix n all nvt temp 1.0 1.0 1.0\n" + resident("cpu")
    output = run_lammps(script + "run 2\n", tmp_path, arguments=("-sf", "omp")).output
    (warning,) = (line for line in output.splitlines() if WARNING in line)
    assert "on the device: fix n nvt/omp (instead: fix nve" in warning


# ---- device auto without a GPU ----


@pytest.mark.parametrize(("name", "way"), each_once(["several types", "bonds"], ["plain", *OPENMP]))
def test_without_a_gpu_auto_is_the_engine_for_the_cpu(way, name, tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    command, arguments, variables = OPENMP.get(way, ("", (), {}))
    end = THERMO + "thermo 5\nrun 10\n" + END
    cpu = run_lammps(SCRIPTS[name] + resident("cpu") + end, tmp_path)
    script = command + SCRIPTS[name] + resident("auto") + end
    auto = run_lammps(script, tmp_path, arguments=arguments, **variables)
    assert re.search(r"no CUDA device \(.+\), the particles are on cpu", auto.output)
    assert "manymove" not in "".join(re.findall("WARNING.*", auto.output))
    assert (state(auto) == state(cpu)).all()


def test_auto_of_several_ranks_is_the_engine_for_any_number_of_threads(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    script = SCRIPTS["bonds"] + resident("auto") + "run 10\n" + END
    one, two = (
        run_lammps(script, tmp_path, ranks=2, OMP_NUM_THREADS=threads) for threads in ("1", "2")
    )
    for run in (one, two):
        assert re.search(r"no CUDA device \(.+\), the particles are on cpu", run.output), run.output
        assert WARNING not in run.output
    assert (state(one) == state(two)).all()


# A particle leaves through an open face.
ESCAPE = one_type(THROWN, pair="0.0 1.0 4711", law="0.0 0.0", before="boundary p p f", timestep=0.1)


@pytest.mark.parametrize(
    ("walls", "face"),
    [
        ("", "zlo"),
        ("fix lower all manymove/wall zlo EDGE\n", "zhi"),
        ("fix walls second manymove/wall zlo EDGE zhi EDGE\n", "zlo"),
    ],
)
def test_auto_leaves_a_script_that_may_lose_particles_on_the_host(
    walls, face, tmp_path, monkeypatch
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    script = ESCAPE + "group second id 2\n" + walls
    auto = run_lammps(script + resident("auto") + "run 1\n", tmp_path)
    (warning,) = (line for line in auto.output.splitlines() if WARNING in line)
    assert f"device auto with the face {face}" in warning
    cpu = run_lammps(script + resident("cpu") + "run 20\n", tmp_path, fails=True)
    assert "Lost atoms: particle 1" in cpu.output
    # LAMMPS deletes it and continues.
    script += "thermo_modify lost ignore\n"
    ignored = run_lammps(script + resident("auto") + "run 20\n", tmp_path)
    assert "on 1 procs for 20 steps with 1 atoms" in ignored.output
    assert WARNING not in ignored.output


def test_auto_keeps_particles_between_walls(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    script = system(before="boundary f p f") + fluid() + WALLS + resident("auto") + "run 4\n"
    assert "the particles are on cpu" in run_lammps(script, tmp_path).output


def test_auto_keeps_long_bonds_of_several_ranks(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    far = "comm_modify cutoff 3.0\n"
    script = SCRIPTS["bonds"] + far + "create_bonds single/bond 1 1 2\n" + resident("auto")
    script = script.replace(BONDS, BONDS + far)
    assert_stays(run_lammps(script + "run 2\n", tmp_path, ranks=2))


@pytest.mark.parametrize("ranks", [1, 2])
def test_temperatures_of_atoms_stay_with_them(ranks, device, tmp_path):
    script = with_energies() + (
        "variable theta atom 1+0.001*id\nset group all dpd/theta v_theta\n"
        "compute fields all dpd/atom\n"
    )
    dump = "write_dump all custom end id c_fields[4] modify sort id format float %.17g\n"
    run = run_lammps(script + resident(device) + "run 40\n" + dump, tmp_path, ranks=ranks)
    assert_stays(run)
    ids, found = pick(run, "id", "c_fields[4]").T
    assert found == pytest.approx(1 + 0.001 * ids, rel=1e-14)


# ---- what the table of the run style says about other commands ----


def in_table(fix: str) -> str:
    """What the page of the run style says about the runs with a fix."""
    page = (ROOT / "lammps_ext/doc/run_style_manymove_verlet.md").read_text()
    (row,) = re.findall(rf"^\| .*`(?:fix )?{fix}`.* \| (.+?) \|.*\|$", page, re.MULTILINE)
    return row


@pytest.mark.parametrize("atoms", ["edpd", "tdpd 1"])
def test_lammps_refuses_its_fix_mvv_with_other_pair_styles(atoms, tmp_path):
    fix = f"mvv/{atoms[:4]}"
    script = SCRIPTS["several types"].replace("atom_style bond", f"atom_style {atoms}")
    script = script.replace("bond/types 2 extra/bond/per/atom 10 extra/special/per/atom 100", "")
    script = script.replace("fix nve all nve", f"fix nve all {fix}")
    output = run_lammps(script + resident("cpu") + "run 2\n", tmp_path, fails=True).output
    assert in_table(fix) == "resident"  # with the pair styles that the row names
    assert re.search(r"ERROR: Must use .*pair style.* with fix mvv/[et]?dpd", output), output
