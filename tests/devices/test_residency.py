"""What runs on a GPU stays there: bytes between host and device, by the engines' own count."""

from __future__ import annotations

import re

import numpy as np
import pytest
from dpd_scripts import SCRIPTS, resident
from hard_disks import lattice
from lammps_host import needs_lammps, run_lammps
from machine import GPU

from manymove import Adsorption, Electrolyte, EnergyGrid, HardDisks, Interactions, _core
from manymove.analysis.ions import Salt

pytestmark = GPU

# A run's own words: counters, energies, when lists were built.
A_FEW = 1000


def copied(output: str) -> np.ndarray:
    """Per run: bytes in its steps, its steps, bytes for what was read."""
    found = re.findall(
        r"manymove/verlet: (\d+) bytes between host and device in (\d+) steps, (\d+) for", output
    )
    return np.array(found, dtype=int)


@needs_lammps
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_thousand_steps_of_dpd_copy_nothing(name, tmp_path):
    # From the random start: lists are built often, and get more room.
    script = SCRIPTS[name].replace("timestep 0.01", "timestep 0.002") + resident("cuda")
    run = run_lammps(script + "thermo 0\nrun 100\nrun 1000 pre no\n", tmp_path)
    ((_, _, _), (in_steps, steps, _)) = copied(run.output)
    assert steps == 1000
    assert in_steps < A_FEW


@needs_lammps
def test_who_reads_pays(tmp_path):
    script = SCRIPTS["several types"] + resident("cuda")
    # Pressure and temperature need velocities, a dump and the end of a run need everything. Each
    # value is a float64, images are three int32.
    end = "thermo 100\nrun 1000\ndump d all custom 100 dump x y z\nrun 1000\n"
    thermo, dump = copied(run_lammps(script + end, tmp_path).output)
    atoms = 1028
    assert thermo[0] < 11 * A_FEW and dump[0] < 11 * A_FEW
    assert thermo[2] == pytest.approx(10 * atoms * 24 + atoms * 60 + atoms * 4, rel=0.1)
    assert dump[2] == pytest.approx(10 * atoms * 84 + atoms * 4, rel=0.1)


def disks(N: int):
    box = (1.3 * N, 130.0)
    return HardDisks(lattice(N, 100, box), box, seed=1, device="cuda")


def electrolyte(N: int):
    salt = Salt.of(10 * N, (1, -1), (4.0, 4.0))
    return Electrolyte.random(salt, box=3 * (400.0,), seed=1, device="cuda")


def adsorption(N: int):
    return Adsorption(
        "LTA",
        8,
        systems=N,
        interactions=Interactions(grid=EnergyGrid(spacing=0.4)),
        seed=1,
        device="cuda",
    )


@pytest.mark.parametrize("make", [disks, electrolyte, adsorption])
@pytest.mark.parametrize("N", [100, 400])
def test_a_thousand_sweeps_copy_what_does_not_grow_with_the_system(make, N):
    engine = make(N)
    engine.run(10)
    before = _core.copied_bytes()
    engine.run(1000)
    # A tally for each sweep (Coulomb), or for each call of the engine.
    assert _core.copied_bytes() - before < 1000 * 100
