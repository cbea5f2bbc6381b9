# SPDX-License-Identifier: BSD-3-Clause
"""Mutated files of all kinds are read, or refused with a documented error of one line: no crash, no
hang, no number that is not finite. The cases of support/fuzz_program.py are the same in every run;
a failure names the command that repeats one.
"""

from __future__ import annotations

import re
import sys

import pytest
from documents import SUPPORT
from lammps_host import needs_lammps
from processes import run, with_support

PROGRAM = SUPPORT / "fuzz_program.py"
# Number of cases, which take about a minute in all.
CHECKPOINTS = {
    "disks": 700, "pressure": 700, "mixture": 500, "ions": 700, "ewald": 500, "closed": 400,
    "opened": 400, "rigid": 250, "dpd": 300,
}  # fmt: skip
OTHERS = (
    "molecule.def", "molecule.json", "chain.json", "force_field.json", "force_field.def",
    "pseudo_atoms.def", "framework.cif", "frame.gsd", "records",
)  # fmt: skip
TARGETS = {**CHECKPOINTS, **dict.fromkeys(OTHERS, 500)}


@pytest.mark.parametrize(
    "target", [pytest.param(t, marks=needs_lammps if t == "dpd" else ()) for t in TARGETS]
)
def test_mutated_files_are_read_or_refused(target, tmp_path):
    command = [sys.executable, PROGRAM, target]
    done = run([*command, 0, TARGETS[target], tmp_path], env=with_support(), timeout=300)
    last = [*re.findall(r"^case (\d+)", done.stdout, re.MULTILINE), "0"][-1]
    wrong = re.findall(r"^(case (\d+).*)\n(?:    run: .*\n)?  (WRONG.*)", done.stdout, re.MULTILINE)
    number = wrong[0][1] if wrong else last
    again = " ".join(map(str, (*command, number, 1, "FOLDER")))
    told = "\n".join(f"{case}: {error}" for case, _, error in wrong) or done.stderr[-3000:]
    assert done.returncode == 0, f"exit code {done.returncode}, repeat by: {again}\n{told}"
    end = re.search(r"^end: (\d+) cases, (\d+) refused", done.stdout, re.MULTILINE)
    cases, refused = map(int, end.groups())
    assert cases == TARGETS[target]
    assert 0.1 * cases < refused < 0.99 * cases  # otherwise the mutations are too weak or strong
