"""LAMMPS' own dihedrals and impropers in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_chains import DIHEDRALS, IMPROPERS, chain_data, chains
from dpd_comparisons import (
    assert_forces_of_lammps,
    assert_named,
    assert_restart_continues,
    assert_same_bits,
    assert_same_state,
    assert_steps_of_lammps,
    assert_stresses_of_particles,
    assert_threads_do_not_count,
)
from dpd_scripts import (
    END,
    resident,
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
    ("hybrid", "hybrid"),
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
    assert_forces_of_lammps(script.replace("0.005", "1e-15"), device, tmp_path, BONDED)


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize(("dihedral", "improper"), KINDS)
def test_a_few_steps_are_those_of_the_host(dihedral, improper, precision, device, tmp_path):
    script = twisted(tmp_path, dihedral, improper)
    assert_steps_of_lammps(script, precision, device, tmp_path, "thermo 3\nrun 6\n", BONDED)


@pytest.mark.parametrize("newton", ["on", "off"])
@pytest.mark.parametrize("processors", ["2 1 1", "2 2 1"])
@pytest.mark.parametrize(("dihedral", "improper"), [("opls", "harmonic"), ("hybrid", "hybrid")])
def test_dihedrals_and_impropers_on_several_ranks(
    dihedral, improper, processors, newton, device, tmp_path
):
    ranks = int(np.prod([int(n) for n in processors.split()]))
    shear = "velocity all ramp vx -4 4 y 0 7 sum yes\ntimestep 0.002\n"
    end = resident(device) + shear + BONDED + "thermo 15\nrun 30\n" + END
    one = run_lammps(twisted(tmp_path, dihedral, improper) + end, tmp_path)
    before = f"newton {newton}\nprocessors {processors}"
    script = twisted(tmp_path, dihedral, improper, before=before)
    many = run_lammps(script + end, tmp_path, ranks=ranks)
    assert_same_state(many, one, (*ENERGIES, "Press", "Pxy"))


def test_stresses_of_particles_sum_to_the_pressure(device, tmp_path):
    assert_stresses_of_particles(twisted(tmp_path, "harmonic", "harmonic"), device, tmp_path)


def test_restart_continues(device, tmp_path):
    script = twisted(tmp_path, "opls", "harmonic")
    rest = "special_bonds lj 0 0.5 1\nfix nve all nve\n"
    assert_restart_continues(script, rest, device, tmp_path, BONDED)


def test_the_number_of_threads_does_not_change_a_bit(tmp_path):
    script = twisted(tmp_path, "harmonic", "harmonic")
    assert_threads_do_not_count(script, tmp_path, BONDED, (*ENERGIES, "Press"))


OTHERS = {
    "dihedral_style helix\ndihedral_coeff * 1.0 1.0 1.0": "dihedral_style helix",
    "dihedral_style harmonic\ndihedral_coeff * 1.0 1 7": "dihedral_style harmonic of another kind, "
    "or with a multiplicity above 6",
    "improper_style cvff\nimproper_coeff * 1.0 -1 2": "improper_style cvff",
    "dihedral_style hybrid helix opls\ndihedral_coeff 1 helix 1.0 1.0 1.0\n"
    "dihedral_coeff 2 opls 1 1 1 1": "dihedral_style hybrid with helix",
}


@pytest.mark.parametrize("commands", OTHERS, ids=OTHERS.get)
def test_other_styles_are_named(commands, tmp_path):
    script = twisted(tmp_path, "zero", "zero") + commands + "\n"
    assert_named(script, f"{OTHERS[commands]}. Pair forces are computed on cpu", tmp_path)


@on_gpu
@pytest.mark.parametrize(("dihedral", "improper"), KINDS[:-1])
def test_cpu_and_gpu_give_the_same_bits(dihedral, improper, tmp_path):
    script = twisted(tmp_path, dihedral, improper)
    assert_same_bits(script, tmp_path, 300, BONDED, (*ENERGIES, "Pxx", "Pxy"))


def test_styles_of_this_page_exist():
    assert {dihedral for dihedral, _ in KINDS} == set(DIHEDRALS) - {""}
    assert {improper for _, improper in KINDS} == set(IMPROPERS) - {""}
