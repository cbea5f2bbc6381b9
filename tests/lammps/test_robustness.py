"""Bad input scripts and damaged files of LAMMPS: one ERROR that names the argument, and no crash.

74 bad commands and 66 damaged files, in a process each for the commands, the data files and the
restart files. 84 more are in dpd/test_errors.py, lammps/test_coulomb.py and
lammps/test_adsorption.py.
"""

from __future__ import annotations

import re
import struct

import numpy as np
from damage import damaged_words
from lammps_errors import errors_of
from lammps_host import needs_lammps, run_lammps

pytestmark = needs_lammps

DPD = """
units lj
atom_style bond
comm_modify vel yes
region box block 0 4 0 4 0 4
create_box 2 box bond/types 1
create_atoms 1 random 20 1 NULL
mass * 1.0
fix nve all nve
"""
FLUID = DPD + "pair_style manymove/dpd 1.0 1.0 7\npair_coeff * * 25.0 4.5\n"
IONS = """
units lj
atom_style charge
region box block 0 40 0 40 0 40
create_box 2 box
create_atoms 1 single 10 10 10
create_atoms 2 single 30 30 30
set type 1 charge 1
set type 2 charge -1
mass * 1.0
pair_style zero 8.0
pair_coeff * *
fix nve all nve
"""
GAS = """
units lj
region box block 0 8 0 9 0 10
create_box 3 box
create_atoms 1 single 1 1 1
create_atoms 3 single 4 5 5
mass * 1.0
group gas type 3
pair_style zero 4.0
pair_coeff * *
neighbor 0.0 bin
"""
FLOAT, WHOLE = "Expected floating point parameter instead of '{}'", "Expected integer .*'{}'"
RANGE = "{} in input script or data file is out of range"
MISSING = "missing argument"

# Input script, command with {}, what follows it: {words: message}.
BAD = [
    (
        DPD,
        "pair_style manymove/dpd {}",
        {
            "": MISSING,
            "1e400 1.0 7": RANGE.format("1e400"),
            "1.0 inf 7": FLOAT.format("inf"),
            "1.0 1.0 7.5": WHOLE.format("7.5"),
            "1.0 1.0 99999999999": RANGE.format("99999999999"),
            "1.0 1.0 -7": "seed -7 must be positive",
            "x 1.0 7": FLOAT.format("x"),
            "1.0 1.0 7 weight_exponent nan": FLOAT.format("nan"),
            "1.0 1.0 7 precision Mixed": "precision Mixed must be mixed or double",
            "1.0 1.0 7 threads 99999999999": RANGE.format("99999999999"),
            "1.0 1.0 7 threads -1": "threads -1 must be positive",
        },
    ),
    (
        DPD + "pair_style manymove/dpd 1.0 1.0 7\n",
        "pair_coeff {}\nrun 0",
        {
            "1": MISSING,
            "* *": MISSING,
            "* * x 4.5": FLOAT.format("x"),
            "* * 1e400 4.5": RANGE.format("1e400"),
            "* * 25 4.5 nan": FLOAT.format("nan"),
            "* * 25 4.5 0": "cutoff 0 must be positive",
            "* * 25 4.5 1.0 weight_exponent inf": FLOAT.format("inf"),
            "* * 25 4.5 1.0 weight_exponent 1 weight_exponent 2": "unexpected argument",
            "0 1 25 4.5": "Invalid range string: 0",
            "a 1 25 4.5": "Invalid range string: a",
        },
    ),
    (DPD, "{}", {"pair_coeff * * 25.0 4.5": "without a pair style"}),
    (
        FLUID,
        "run_style manymove/verlet {}\nrun 0",
        {
            "device tpu": "device tpu must be auto, cuda or cpu",
            "device": MISSING,
            "threads 0": "threads 0 must be positive",
            "threads x": WHOLE.format("x"),
            "threads": MISSING,
            "colour red": "unknown keyword colour",
        },
    ),
    (
        FLUID,
        "bond_style manymove/harmonic\nbond_coeff {}",
        {
            "1 nan 0.4": FLOAT.format("nan"),
            "1 20 inf": FLOAT.format("inf"),
            "1 x 0.4": FLOAT.format("x"),
            "2 20 0.4": "Numeric index 2 is out of bounds",
            "1": MISSING,
        },
    ),
    (
        FLUID,
        "{}\nrun 0",
        {
            "bond_style manymove/harmonic 5": "Illegal bond_style manymove/harmonic argument: 5",
            "bond_style manymove/harmonic": "Bond coeffs are not set",
        },
    ),
    (
        FLUID + "change_box all boundary f p p\n",
        "fix w all manymove/wall {}\nrun 0",
        {
            "xlo nan": FLOAT.format("nan"),
            "xlo 1e400": RANGE.format("1e400"),
            "xlo v_x": FLOAT.format("v_x"),
            "xlo 1.0 5": "unknown face 5",
            "EDGE xlo": "unknown face EDGE",
        },
    ),
    (
        IONS,
        "fix mc all manymove/coulomb {}\nrun 1",
        {
            "": MISSING,
            "1 1 3 nan 5 5": FLOAT.format("nan"),
            "1 1 3 7 inf 5": FLOAT.format("inf"),
            "1.5 1 3 7 5 5": WHOLE.format("1.5"),
            "1 x 3 7 5 5": WHOLE.format("x"),
            "1 1 99999999999 7 5 5": RANGE.format("99999999999"),
            "1 1 3 7 5 5 max_displacement nan": FLOAT.format("nan"),
            "1 1 3 7 5 5 max_displacement 1e9": "max_displacement must be positive and at most 20",
            "1 1 3 7 5 5 max_displacement 0": "max_displacement 0 must be positive",
            "1 1 3 7 5 5 threads -1": "threads -1 must be positive",
            "1 1 3 7 5 5 device": MISSING,
            "1 1 3 7 5 5 precision": MISSING,
            "1 1 3 7 5 5 5": "unknown keyword 5",
        },
    ),
    (
        IONS,
        "{}",
        {
            "fix mc all manymove/coulomb 1 1 3 7 5 5\nminimize 0 0 1 1": "with minimize",
            "set type 2 charge 0\nfix mc all manymove/coulomb 1 1 3 7 5 5\nrun 1": "valence 0",
            "group g type 1\nfix mc g manymove/coulomb 1 1 3 7 5 5": "the group must be all",
        },
    ),
    (
        GAS,
        "fix w gas manymove/wrmc {} spacing 0.5\nrun 1",
        {
            "1 10 7 nan 4 120 3 framework 1 160 2.6": FLOAT.format("nan"),
            "1 10 7 300 4 -5 3 framework 1 160 2.6": "epsilon >= 0",
            "1.5 10 7 300 4 120 3 framework 1 160 2.6": WHOLE.format("1.5"),
            "1 10 7 300 4 120 framework 1 160 2.6": FLOAT.format("framework"),
            "1 10 7 300 4 120 3 framework 1 -160 2.6": "epsilon >= 0",
            "1 10 7 300 4 120 3 framework 1 160 nan": FLOAT.format("nan"),
            "1 10 7 300 4 120 3 framework 1 160 2.6 inert 1": "atom type 1 are given twice",
            "1 10 7 300 4 120 3 inert x": WHOLE.format("x"),
        },
    ),
    (
        GAS,
        "fix w gas manymove/wrmc 1 10 7 300 4 120 3 framework 1 160 2.6 {}\nrun 1",
        {
            "profile z 0": "bins 0 must be positive",
            "profile z 5000": "bins must be from 1 to 1024, got 5000",
            "profile zz 5": "profile along zz",
            "profile z": MISSING,
            "max_displacement -1": "max_displacement -1 must be positive",
            "max_displacement nan": FLOAT.format("nan"),
            "spacing 1e-9": "spacing 1e-09 is too fine",
            "device tpu": 'unknown device "tpu"',
            "threads 0": "threads 0 must be positive",
            "method": MISSING,
        },
    ),
]


def test_bad_commands_are_named(tmp_path):
    cases = [
        (start + command.format(words), message)
        for start, command, lines in BAD
        for words, message in lines.items()
    ]
    assert len(cases) > 70
    answers = errors_of([script for script, _ in cases], tmp_path)
    for (script, message), answer in zip(cases, answers, strict=True):
        what = script.splitlines()[-2:]
        assert answer is not None, what
        assert answer.startswith("ERROR") and re.search(message, answer), (what, answer)


DATA = """two kinds of particles with a bond

3 atoms
2 atom types
1 bonds
1 bond types

0 4 xlo xhi
0 4 ylo yhi
0 4 zlo zhi

Masses

1 1.0
2 1.0

PairIJ Coeffs # manymove/dpd

1 1 25.0 4.5 1.0 weight_exponent 1.0
1 2 20.0 4.5 1.1 weight_exponent 0.5
2 2 25.0 4.5 1.2 weight_exponent 2.0

Bond Coeffs # manymove/harmonic

1 20.0 0.4

Atoms # bond

1 1 1 1.0 1.0 1.0
2 1 2 1.5 1.0 1.0
3 2 2 3.0 3.0 3.0

Bonds

1 1 1 2
"""
READ = """
units lj
atom_style bond
comm_modify vel yes
pair_style manymove/dpd 1.0 1.0 7
bond_style manymove/harmonic
read_data {}
fix nve all nve
run 2
"""


def test_damaged_coefficients_in_data_files_are_refused(tmp_path):
    """Words of our own sections: LAMMPS' reader answers for the others."""
    before, ours = DATA.split("1 1 25.0", 1)
    ours, after = ours.split("\n\nAtoms", 1)
    scripts = []
    for k, (_, text) in enumerate(damaged_words("1 1 25.0" + ours, 40, seed=2)):
        path = tmp_path / f"{k}.data"
        path.write_text(f"{before}{text}\n\nAtoms{after}".replace("\0", "?"))
        scripts.append(READ.format(path))
    (tmp_path / "whole.data").write_text(DATA)
    *answers, whole = errors_of([*scripts, READ.format(tmp_path / "whole.data")], tmp_path)
    assert whole is None
    refused = [answer for answer in answers if answer is not None]
    assert len(refused) > 25  # others, as two sigmas swapped, make another valid file
    assert all(answer.startswith("ERROR") for answer in refused), refused


def test_damaged_restart_files_are_refused(tmp_path):
    """Each of our numbers in turn, and files cut in our part."""
    numbers = [1.375, 1.125, 0.8125, 25.5, 4.625, 1.0625, 0.6875, 20.25, 0.4375]
    temperature, cutoff, s, a, gamma, own, own_s, k, r0 = numbers
    script = (
        FLUID
        + f"""
pair_style manymove/dpd {temperature} {cutoff} 7 weight_exponent {s}
pair_coeff * * {a} {gamma} {own} weight_exponent {own_s}
bond_style manymove/harmonic
bond_coeff 1 {k} {r0}
run 0
write_restart state
"""
    )
    folder = run_lammps(script, tmp_path).directory
    whole = (folder / "state").read_bytes()
    read = "read_restart {}\ncomm_modify vel yes\nfix nve all nve\nrun 1\n"
    scripts, kept = [], whole
    for number in numbers:
        at = whole.index(struct.pack("<d", number))
        for wrong in (np.nan, -number):
            if number == a and wrong == -a:
                continue  # attraction is allowed
            kept = whole[:at] + struct.pack("<d", wrong) + whole[at + 8 :]
            scripts.append((f"{number} {wrong}", kept))
        scripts.append((f"cut at {number}", whole[: at + 4]))
    files = []
    for i, (_, data) in enumerate(scripts):
        (tmp_path / f"state{i}").write_bytes(data)
        files.append(read.format(tmp_path / f"state{i}"))
    *answers, good = errors_of([*files, read.format(folder / "state")], tmp_path)
    assert good is None
    for (name, _), answer in zip(scripts, answers, strict=True):
        assert answer is not None and answer.startswith("ERROR"), name
        assert re.search("damaged|end of file|Unexpected", answer), (name, answer)
