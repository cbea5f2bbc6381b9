# SPDX-License-Identifier: BSD-3-Clause
"""The keyword `max_displacement` of the Monte Carlo fixes, and `displacement`, its former name."""

from __future__ import annotations

import pytest
from lammps_host import needs_lammps, run_lammps

pytestmark = needs_lammps

IONS = """
units lj
atom_style charge
lattice sc 0.001
region box block 0 2 0 2 0 2
create_box 2 box
create_atoms 1 box
set atom 1*4 type 2
set type 1 charge 1
set type 2 charge -1
mass * 1.0
pair_style zero 8.0
pair_coeff * *
fix mc all manymove/coulomb 1 1 3 7 5 5 device cpu {}
thermo_style custom step f_mc[1] f_mc[4]
thermo_modify format float %.17g
run 20
"""
GAS = """
units lj
lattice sc 0.001
region box block 0 1 0 1 0 1
create_box 2 box
create_atoms 1 single 0.5 0.5 0.5
create_atoms 2 single 0 0 0
mass * 1.0
pair_style zero 3.0
pair_coeff * *
group gas type 2
fix mc gas manymove/wrmc 1 20 7 1.0 3.0 1 1 framework 1 1 1 device cpu threads 1 spacing 0.5 {}
thermo_style custom step f_mc f_mc[2]
thermo_modify format float %.17g
run 20
"""
DECKS = pytest.mark.parametrize("deck", [IONS, GAS], ids=["coulomb", "wrmc"])


@DECKS
def test_both_names_mean_the_same(deck, tmp_path):
    new, old, default = (
        run_lammps(deck.format(words), tmp_path).thermo()
        for words in ("max_displacement 1.5", "displacement 1.5", "")
    )
    assert all((new[name] == old[name]).all() for name in new)
    assert any((new[name] != default[name]).any() for name in new)


@DECKS
def test_messages_have_the_word_that_was_given(deck, tmp_path):
    for word in ("max_displacement", "displacement"):
        run = run_lammps(deck.format(f"{word} -1"), tmp_path, fails=True)
        assert f": {word} -1 must be positive" in run.output, run.output


def test_unknown_keywords_are_answered_with_the_known_ones(tmp_path):
    run = run_lammps(IONS.format("distance 1"), tmp_path, fails=True)
    assert (
        "unknown keyword distance (radius, boundary, surrounding, max_displacement, " in run.output
    )
