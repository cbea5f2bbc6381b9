"""LAMMPS' own dihedrals and impropers in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_chains import DIHEDRALS, IMPROPERS, chain_data, chains
from dpd_scripts import (
    END,
    STAYS,
    TOLERANCE,
    assert_close,
    assert_same_steps,
    assert_stays,
    pick,
    resident,
    state,
)
from lammps_host import THERMO, needs_lammps, run_lammps
from machine import on_gpu

pytestmark = needs_lammps

KINDS = [
    ("harmonic", "zero"),
    ("opls", "zero"),
    ("zero", "harmonic"),
    ("harmonic", "harmonic"),
    ("opls", "harmonic"),
    ("zero", "zero"),
]
BONDED = THERMO.replace("press", "press ebond eangle edihed eimp")
ENERGIES = ("E_bond", "E_angle", "E_dihed", "E_impro")


def twisted(folder, dihedral, improper, bond="harmonic", angle="cosine/delta", **settings):
    data = chain_data(folder, twisted=True)
    return chains(data, bond, angle, dihedral=dihedral, improper=improper, **settings)


@pytest.mark.parametrize(("dihedral", "improper"), KINDS[:-1])
def test_forces_energies_and_stresses_are_those_of_lammps(dihedral, improper, device, tmp_path):
    # Nothing else acts, and a step is so short that particles move only by rounding.
    script = twisted(tmp_path, dihedral, improper, "zero", "zero", law="0.0 0.0")
    end = BONDED + "thermo 1\nrun 1\n" + END
    script = script.replace("0.005", "1e-15")
    host = run_lammps(script + end, tmp_path)
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_close(pick(ours, "fx", "fy", "fz"), pick(host, "fx", "fy", "fz"), 1e-12)
    for name in (*ENERGIES, "Pxx", "Pyy", "Pzz", "Pxy", "Pxz", "Pyz"):
        expected = host.thermo()[name]
        assert ours.thermo()[name] == pytest.approx(expected, rel=1e-12, abs=1e-12), name


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize(("dihedral", "improper"), KINDS)
def test_a_few_steps_are_those_of_the_host(dihedral, improper, precision, device, tmp_path):
    script = twisted(tmp_path, dihedral, improper).replace("double", precision)
    end = BONDED + "thermo 3\nrun 6\n" + END
    host = run_lammps(script + end, tmp_path)
    ours = run_lammps(script + resident(device) + end, tmp_path)
    assert_stays(ours)
    assert_same_steps(ours, host, TOLERANCE[precision])


@pytest.mark.parametrize("newton", ["on", "off"])
@pytest.mark.parametrize("processors", ["2 1 1", "2 2 1"])
def test_dihedrals_and_impropers_on_several_ranks(processors, newton, device, tmp_path):
    ranks = int(np.prod([int(n) for n in processors.split()]))
    shear = "velocity all ramp vx -4 4 y 0 7 sum yes\ntimestep 0.002\n"
    end = resident(device) + shear + BONDED + "thermo 15\nrun 30\n" + END
    one = run_lammps(twisted(tmp_path, "opls", "harmonic") + end, tmp_path)
    before = f"newton {newton}\nprocessors {processors}"
    script = twisted(tmp_path, "opls", "harmonic", before=before)
    many = run_lammps(script + end, tmp_path, ranks=ranks)
    assert STAYS in many.output
    assert_close(state(many), state(one), 1e-8)
    for name in (*ENERGIES, "Press", "Pxy"):
        assert many.thermo()[name] == pytest.approx(one.thermo()[name], rel=1e-8), name


def test_stresses_of_particles_sum_to_the_pressure(device, tmp_path):
    # They are computed by LAMMPS' styles, the pressure by the engine.
    script = twisted(tmp_path, "harmonic", "harmonic") + resident(device)
    script += "compute s all stress/atom NULL virial\ncompute sum all reduce sum c_s[1] c_s[5]\n"
    script += (
        "compute v all pressure NULL virial\nthermo_style custom step c_v[1] c_v[5] c_sum[*] vol\n"
    )
    script += "thermo_modify format float %.16g norm no\nthermo 5\nrun 10\n"
    run = run_lammps(script, tmp_path)
    assert_stays(run)
    table = run.thermo()
    for pressure, stress in (("c_v[1]", "c_sum[1]"), ("c_v[5]", "c_sum[2]")):
        expected = -table[stress] / table["Volume"]
        assert table[pressure] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_restart_continues(device, tmp_path):
    script = twisted(tmp_path, "opls", "harmonic") + resident(device) + BONDED
    whole = run_lammps(script + "restart 8 half\nrun 16\n", tmp_path)
    resumed = run_lammps(
        f"read_restart {whole.directory / 'half'}.8\ncomm_modify vel yes\n"
        f"special_bonds lj 0 0.5 1\n{resident(device)}{BONDED}fix nve all nve\nrun 8\n{END}",
        tmp_path,
    )
    again = run_lammps(script + "run 8\nrun 8\n" + END, tmp_path)
    assert_stays(resumed)
    assert_close(state(resumed), state(again), 1e-9)


def test_the_number_of_threads_does_not_change_a_bit(tmp_path):
    script = twisted(tmp_path, "harmonic", "harmonic")
    one, many = (
        run_lammps(script + resident("cpu", f"threads {n}") + BONDED + "run 20\n" + END, tmp_path)
        for n in (1, 5)
    )
    assert (state(many) == state(one)).all()
    for name in (*ENERGIES, "Press"):
        assert (many.thermo()[name] == one.thermo()[name]).all()


OTHERS = {
    "dihedral_style helix\ndihedral_coeff * 1.0 1.0 1.0": "dihedral_style helix",
    "dihedral_style harmonic\ndihedral_coeff * 1.0 1 7": "dihedral_style harmonic of another kind, "
    "or with a multiplicity above 6",
    "improper_style cvff\nimproper_coeff * 1.0 -1 2": "improper_style cvff",
}


@pytest.mark.parametrize("commands", OTHERS, ids=OTHERS.get)
def test_other_styles_are_named(commands, tmp_path):
    script = twisted(tmp_path, "zero", "zero") + commands + "\n" + resident("cpu")
    output = run_lammps(script + "run 2\n", tmp_path).output
    assert f"on the device: {OTHERS[commands]}. Pair forces are computed on cpu" in output


@on_gpu
@pytest.mark.parametrize(("dihedral", "improper"), KINDS[:-1])
def test_cpu_and_gpu_give_the_same_bits(dihedral, improper, tmp_path):
    script = twisted(tmp_path, dihedral, improper) + BONDED
    cpu, cuda = (
        run_lammps(script + resident(device) + "run 300\n" + END, tmp_path)
        for device in ("cpu", "cuda")
    )
    assert STAYS in cuda.output
    assert (state(cuda) == state(cpu)).all()
    for name in (*ENERGIES, "Pxx", "Pxy"):
        assert cuda.thermo()[name] == pytest.approx(cpu.thermo()[name], rel=1e-11, abs=1e-11)


def test_styles_of_this_page_exist():
    assert {dihedral for dihedral, _ in KINDS} == set(DIHEDRALS) - {""}
    assert {improper for _, improper in KINDS} == set(IMPROPERS) - {""}
