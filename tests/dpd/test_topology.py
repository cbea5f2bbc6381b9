"""Bonds and special neighbors on several MPI ranks: they are where their particle is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from dpd_scripts import (
    BONDS,
    END,
    assert_close,
    assert_stays,
    fluid,
    one_type,
    pick,
    resident,
    state,
    system,
)
from lammps_host import THERMO, Run, needs_lammps, run_lammps

pytestmark = needs_lammps

# Sheared along x: particles go through the parts of ranks there, with their bonds.
CHAINS = (
    system("block 0 6 0 5 0 5", 450, skin=0.2)
    + fluid()
    + BONDS
    + "velocity all ramp vx -6 6 y 0 5 sum yes\n"
)
COMMANDS = ("comm_modify", "neighbor", "fix", "timestep", "pair_", "bond_style", "bond_coeff")


def as_data(script: str, directory: Path, ids=None) -> str:
    """The script with the atoms that one rank creates, read from a data file with other IDs."""
    run = run_lammps(script + "write_data start nocoeff\n", directory)
    text = (run.directory / "start").read_text()
    if ids:
        text = renumbered(text, ids)
    file = directory / f"start{len(list(directory.iterdir()))}.data"
    file.write_text(text)
    before, rest = ["units lj", "atom_style bond"], []
    for line in script.splitlines():
        if line.startswith(("boundary", "newton")):
            before.append(line)
        elif line.startswith((*COMMANDS, "special_bonds")):
            rest.append(line)
    read = f"read_data {file} extra/bond/per/atom 10 extra/special/per/atom 100"
    return "\n".join([*before, read, *rest, ""])


def renumbered(text: str, ids) -> str:
    """A data file with ids(ID) for each ID of an atom."""
    lines, section = [], ""
    columns = {"Atoms": (0,), "Velocities": (0,), "Bonds": (2, 3)}
    for line in text.splitlines():
        words = line.split()
        if words and words[0][0].isalpha():
            section = words[0]
        elif words and section in columns:
            for k in columns[section]:
                words[k] = str(ids(int(words[k])))
            line = " ".join(words)
        lines.append(line)
    return "\n".join(lines) + "\n"


def one_and_many(script: str, processors: str, device: str, tmp_path: Path) -> tuple[Run, Run]:
    ranks = int(np.prod([int(n) for n in processors.split()]))
    one = run_lammps(script, tmp_path)
    many = run_lammps(f"processors {processors}\n{script}", tmp_path, ranks=ranks)
    assert_stays(many)
    return one, many


@pytest.mark.parametrize("newton", ["on", "off"])
@pytest.mark.parametrize("processors", ["2 1 1", "3 1 1", "2 2 1"])
def test_bonds_and_special_neighbors_travel_with_particles(newton, processors, device, tmp_path):
    start = as_data(f"newton {newton}\n" + CHAINS, tmp_path)
    script = (
        start + resident(device) + THERMO + "write_dump all custom first id xu modify sort id\n"
    )
    one, many = one_and_many(script + "run 60\n" + END, processors, device, tmp_path)
    assert_close(state(many), state(one), 1e-6)
    assert one.thermo()["Press"] == pytest.approx(many.thermo()["Press"], rel=1e-6)
    # At least a third of the particles have moved to another part of the box.
    width = 6 / int(processors.split()[0])
    before, after = (np.floor(pick(one, "xu", file=f) / width) for f in ("first", "end"))
    assert np.mean(before != after) > 1 / 3


@pytest.mark.parametrize("last", [2**31 - 2, 2**31 - 1000])
def test_ids_up_to_the_largest(last, device, tmp_path):
    # The IDs are spread over all that LAMMPS allows. Memory must not depend on the largest one.
    start = as_data(CHAINS, tmp_path, lambda k: last - 4_000_037 * (k - 1))
    script = start + resident(device) + THERMO + "run 30\n" + END
    one, many = one_and_many(script, "2 1 1", device, tmp_path)
    assert pick(one, "id").max() == last
    assert_close(state(many), state(one), 1e-8)


PAIR = one_type(
    "create_atoms 1 single LEFT 4 4\ncreate_atoms 1 single RIGHT 4 4\n"
    "create_atoms 1 single 4.0 4.3 4",
    before="atom_style bond\nnewton on NEWTON",
    bonds="bond/types 2 extra/bond/per/atom 2 extra/special/per/atom 4",
)
PAIR += """
velocity all set 3.0 0.1 0.0
bond_style manymove/harmonic
bond_coeff 1 20.0 0.5
bond_coeff 2 30.0 0.6
special_bonds lj 0 0.5 1
create_bonds single/bond 1 1 2
create_bonds single/bond 2 2 3
"""


@pytest.mark.parametrize("newton", ["on", "off"])
@pytest.mark.parametrize("ends", [(3.8, 4.2), (4.2, 3.8)])
def test_a_chain_across_the_face_between_ranks(newton, ends, device, tmp_path):
    # The chain moves through the whole box, so that each rank has a part and all of it in turn.
    script = PAIR.replace("NEWTON", newton).replace("LEFT", str(ends[0]))
    script = script.replace("RIGHT", str(ends[1])) + resident(device) + THERMO + "run 300\n" + END
    one, many = one_and_many(script, "2 1 1", device, tmp_path)
    assert pick(one, "xu").min() > 12
    assert_close(state(many), state(one), 1e-9)
    assert many.thermo()["PotEng"] == pytest.approx(one.thermo()["PotEng"], rel=1e-9)


def test_ranks_without_bonds(device, tmp_path):
    # Only the corner of one of four ranks has bonds, which the flow carries to the other ranks.
    script = CHAINS.replace("create_bonds many all all", "create_bonds many corner corner")
    corner = (
        "region corner block 0 2 0 2 INF INF\ngroup corner region corner\nspecial_bonds lj 0 1 1"
    )
    script = script.replace("special_bonds lj 0 1 1", corner)
    start = as_data(script, tmp_path) + resident(device) + THERMO
    one, many = one_and_many(start + "run 40\n" + END, "2 2 1", device, tmp_path)
    assert_close(state(many), state(one), 1e-7)


def test_the_parts_of_ranks_change_between_runs(device, tmp_path):
    start = as_data(CHAINS, tmp_path) + resident(device) + THERMO
    runs = "run 15\nbalance 1.0 x 0.2 0.6\nrun 15\nbalance 1.0 x 0.5 0.9\nrun 15\n"
    many = run_lammps("processors 3 1 1\n" + start + runs + END, tmp_path, ranks=3)
    one = run_lammps(start + "run 15\n" * 3 + END, tmp_path)
    assert_stays(many)
    assert many.output.count("rebalancing time") == 2
    assert_close(state(many), state(one), 1e-7)
