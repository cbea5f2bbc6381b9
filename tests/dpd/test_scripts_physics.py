"""Temperature, pressure and energies of input scripts in the engine, and of the same scripts with
LAMMPS' own styles alone: random numbers differ, averages must not."""

from __future__ import annotations

import numpy as np
import pytest
from dpd_chains import BOX, chain_data, chains
from dpd_scripts import END, STAYS, resident
from lammps_host import THERMO, Run, needs_lammps, run_lammps
from laws import another

pytestmark = needs_lammps

BLOCKS = 20
START = """
fix cool all temp/rescale 1 1.0 1.0 0.01 1.0
timestep 0.002
thermo 0
run 500
unfix cool
timestep 0.01
run 1000
"""
RUN = THERMO.replace("press", "press ebond eangle") + START + "thermo 5\nrun 4000\n" + END
COLUMNS = ("Temp", "Press", "PotEng", "E_bond", "E_angle")


# Tails (type 2) avoid heads and water (type 1).
LAWS = "25.0 4.5\npair_coeff 1 2 50.0 4.5"


SCRIPTS = {
    "surfactant": {"bond": "harmonic", "angle": "harmonic", "special": "special_bonds lj 1 1 1"},
    "stiff chains": {"bond": "harmonic", "angle": "cosine", "special": "special_bonds lj 0 1 1"},
    "bilayer": {"bond": "harmonic", "angle": "harmonic", "special": "special_bonds lj 1 1 1"},
    # The first bead of each chain stays where it is.
    "brush": {"bond": "fene", "angle": "zero", "special": "special_bonds lj 0 1 1"},
}
GRAFTED = "group ends id 1:300:5\nvelocity ends set 0 0 0\nfix graft ends setforce 0 0 0\n"


def blocks(run: Run, column: str) -> np.ndarray:
    values = run.thermo()[column][1:]
    return values[: len(values) // BLOCKS * BLOCKS].reshape(BLOCKS, -1).mean(axis=1)


# The bilayer has the styles of the surfactant; test_bonded.py has the forces of stiff chains.
@pytest.mark.parametrize(
    "name", [another("surfactant"), another("stiff chains"), "bilayer", "brush"]
)
def test_averages_are_those_of_lammps(name, device, tmp_path):
    # Blocks of 200 steps of 0.01 are longer than the correlations. 7.5 standard errors of a
    # difference with 38 degrees of freedom: a false alarm in 1e-8 for each of 18 comparisons.
    if name == "bilayer":
        data = chain_data(tmp_path, chains=90, fluid=450, layered=True)
    else:
        data = chain_data(tmp_path, chains=60, fluid=600)
    results = []
    for style, more in (
        ("dpd 1.0 1.0 4711", ""),
        ("manymove/dpd 1.0 1.0 4711 precision mixed", resident(device)),
    ):
        script = chains(data, pair=style, law=LAWS, **SCRIPTS[name])
        script += GRAFTED if name == "brush" else ""
        results.append(run_lammps(script + more + RUN, tmp_path))
    assert STAYS in results[1].output
    for column in COLUMNS:
        theirs, ours = (blocks(run, column) for run in results)
        if np.ptp(theirs) == 0:
            assert (ours == theirs).all()  # angle_style zero
            continue
        error = np.sqrt((np.var(theirs, ddof=1) + np.var(ours, ddof=1)) / BLOCKS)
        assert abs(ours.mean() - theirs.mean()) < 7.5 * error, (column, ours.mean(), theirs.mean())
        assert error < 0.03 * abs(theirs.mean()), column
    if name == "bilayer":  # its tails are still in one layer, which fluctuates
        z, type = (results[1].dump("end")[key] for key in ("zu", "type"))
        height = (z - z[type == 2].mean() + BOX / 2) % BOX - BOX / 2
        core = np.abs(height) < 0.5
        assert core.sum() > 50
        assert (type[core] == 2).mean() > 1.5 * (type == 2).mean()
