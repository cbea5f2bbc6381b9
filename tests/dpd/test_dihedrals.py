"""LAMMPS' own dihedrals and impropers in the engine of `run_style manymove/verlet`."""

from __future__ import annotations

from dpd_chains import DIHEDRALS, IMPROPERS, chain_data, chains
from dpd_comparisons import Contract, assert_named
from lammps_host import THERMO, needs_lammps

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


class TestTwistedChains(Contract):
    scripts = {f"{dihedral}, {improper}": (dihedral, improper) for dihedral, improper in KINDS}
    forces = bits = [*scripts][:-1]
    chains = ["opls, harmonic", "hybrid, hybrid"]
    restarts = {"opls, harmonic": "special_bonds lj 0 0.5 1\nfix nve all nve\n"}
    threads = sums = ["harmonic, harmonic"]
    refused = {
        "dihedral_style helix": "dihedral_style helix\ndihedral_coeff * 1.0 1.0 1.0\n",
        "dihedral_style harmonic of another kind, or with a multiplicity above 6": "dihedral_style "
        "harmonic\ndihedral_coeff * 1.0 1 7\n",
        "improper_style cvff": "improper_style cvff\nimproper_coeff * 1.0 -1 2\n",
        "dihedral_style hybrid with helix": "dihedral_style hybrid helix opls\n"
        "dihedral_coeff 1 helix 1.0 1.0 1.0\ndihedral_coeff 2 opls 1 1 1 1\n",
    }
    table = THERMO.replace("press", "press ebond eangle edihed eimp")
    columns = ("E_bond", "E_angle", "E_dihed", "E_impro", "Press")
    runs, instead, bits_after = "thermo 3\nrun 6\n", "Pair forces are computed on cpu", 300

    def script(self, name, folder, bond="harmonic", angle="cosine/delta", **settings):
        dihedral, improper = self.scripts[name]
        data = chain_data(folder, twisted=True)
        return chains(data, bond, angle, dihedral=dihedral, improper=improper, **settings)

    def still(self, name, folder):
        script = self.script(name, folder, "zero", "zero", law="0.0 0.0")
        return script.replace("0.005", "1e-15")

    def test_what_is_not_served_is_named(self, name, ranks, tmp_path):
        script = self.script("zero, zero", tmp_path) + self.refused[name]
        assert self.instead in assert_named(script, name, tmp_path)


def test_styles_of_this_page_exist():
    assert {dihedral for dihedral, _ in KINDS} == set(DIHEDRALS) - {""}
    assert {improper for _, improper in KINDS} == set(IMPROPERS) - {""}
