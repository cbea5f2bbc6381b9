"""Random numbers of DPD: each draw is used for one set of forces only."""

from __future__ import annotations

import functools
import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from dpd_scripts import STAYS, resident
from lammps_host import Run, needs_lammps, run_lammps

from manymove import _core

pytestmark = needs_lammps

SEED, WEIGHT = 99, 0.7  # the pair is 0.3 cutoffs wide

STYLE = f"pair_style manymove/dpd 1.0 1.0 {SEED} precision double"

# Two particles too heavy to move, on either side of the face between two ranks: the force between
# them is a random number.
PAIR = f"""
units lj
atom_modify map array
comm_modify vel yes
region box block 0 8 0 4 0 4
create_box 1 box
create_atoms 1 single 3.85 2 2
create_atoms 1 single 4.15 2 2
mass 1 1.0e30
timestep 0.01
{STYLE}
pair_coeff 1 1 0.0 4.5
"""

OUTPUT = """
fix nve all nve
variable force equal fx[1]
thermo 1
thermo_style custom step v_force
thermo_modify format float %.17g
"""


@functools.cache
def noise_of_draws() -> list[float]:
    return [float(_core.dpd.noise(SEED, k, np.uint32([1]), np.uint32([2]))[0]) for k in range(2000)]


def draws(run: Run) -> list[list[int]]:
    """The numbers of the draws behind the forces in each table of thermodynamic output."""
    unit = -math.sqrt(2 * 4.5) * WEIGHT / math.sqrt(0.01)
    of_draws = noise_of_draws()
    result = []
    for part in range(run.output.count("v_force")):
        noise = run.thermo(part)["v_force"] / unit
        distance = np.abs(noise[:, None] - of_draws)
        assert distance.min(axis=1).max() < 1e-9, run.output
        result.append(distance.argmin(axis=1).tolist())
    return result


HOSTS = ["verlet", "engine", "two ranks", "engine on two ranks"]


def run_on(host: str, device: str, script: str, folder: Path) -> Run:
    """Run an input script with LAMMPS' own verlet or with an engine."""
    engine = resident(device) if "engine" in host else ""
    ranks = 2 if "two ranks" in host else 1
    done = run_lammps(script.replace("OUTPUT", OUTPUT + engine), folder, ranks)
    assert (STAYS in done.output) == (engine != "")
    return done


@pytest.fixture(params=HOSTS)
def host(request, device):
    if device == "cuda" and "engine" not in request.param:
        pytest.skip("the same on the CPU")
    return request.param


@pytest.fixture
def lammps(host, device, tmp_path):
    return lambda script: draws(run_on(host, device, script, tmp_path))


RUNS = {
    "run 12": [list(range(13))],
    # A run that continues begins with the forces that the run before ended with.
    "run 1\nrun 2": [[0, 1], [1, 2, 3]],
    "run 1\nrun 2 pre no": [[0, 1], [1, 2, 3]],
    "run 0\nrun 1": [[0], [0, 1]],
    "run 1\nrun 0\nrun 1": [[0, 1], [1], [1, 2]],
    'run 13 every 10 "print next"': [list(range(11)), [10, 11, 12, 13]],
    # A second run of no steps is another draw.
    "run 0\nrun 0\nrun 0": [[0], [1], [2]],
    "run 1\nrun 0\nrun 0\nrun 1": [[0, 1], [1], [2], [2, 3]],
    # Going back to an earlier step does not repeat the random numbers.
    "run 1\nreset_timestep 0\nrun 1": [[0, 1], [2, 3]],
    "run 3\nreset_timestep 0\nrun 1 pre no": [[0, 1, 2, 3], [3, 5]],
    "run 0\nreset_timestep 0\nrun 0": [[0], [1]],
    "run 1\nreset_timestep 0\nrun 0\nreset_timestep 0\nrun 0": [[0, 1], [2], [3]],
    "run 3\nreset_timestep 1\nrun 1\nreset_timestep 1\nrun 1": [
        [0, 1, 2, 3],
        [5, 6],
        [8, 9],
    ],
    # Until then the number of a draw is the step.
    "reset_timestep 1234\nrun 1": [[1234, 1235]],
    "run 1\nreset_timestep 1234\nrun 1": [[0, 1], [1234, 1235]],
    f"run 1\nreset_timestep 0\n{STYLE}\nrun 1": [[0, 1], [2, 3]],
}


NEXT = "the next case"


@pytest.fixture(scope="module")
def outputs_of_runs(tmp_path_factory):
    """What one LAMMPS prints for each of the runs, one after the other."""

    @functools.cache
    def outputs(host: str, device: str) -> dict[str, Run]:
        script = f'\nclear\nprint "{NEXT}"\n'.join(f"{PAIR}OUTPUT\n{text}" for text in RUNS)
        done = run_on(host, device, script + "\n", tmp_path_factory.mktemp("runs"))
        parts = re.split(rf"^{NEXT}$", done.output, flags=re.MULTILINE)
        return {text: Run(part, done.directory) for text, part in zip(RUNS, parts, strict=True)}

    return outputs


@pytest.mark.parametrize("commands", RUNS, ids=lambda text: text.replace("\n", "; "))
def test_every_draw_is_used_once(commands, host, device, outputs_of_runs):
    run = outputs_of_runs(host, device)[commands]
    assert (STAYS in run.output) == ("engine" in host)
    assert draws(run) == RUNS[commands]


# ---- restart files ----

BEFORE = {
    "run 2": [[2, 3, 4]],
    "run 2\nreset_timestep 0\nrun 1": [[4, 5, 6]],
    "run 0\nrun 0": [[1, 2, 3]],
    "reset_timestep 7": [[7, 8, 9]],
}


@pytest.mark.parametrize("commands", BEFORE, ids=lambda text: text.replace("\n", "; "))
def test_restart_files_hold_the_number_of_the_draw(commands, lammps, tmp_path):
    """A run from a restart file continues as the run that wrote it does."""
    written = f"write_restart {tmp_path}/state\n"
    whole = lammps(f"{PAIR}OUTPUT\n{commands}\n{written}run 2\n")
    read = f"atom_modify map array\nread_restart {tmp_path}/state\ncomm_modify vel yes\nOUTPUT\n"
    assert lammps(f"{read}run 2\n") == BEFORE[commands] == whole[-1:]


def test_restart_files_within_a_run(lammps, tmp_path):
    lammps(f"{PAIR}OUTPUT\nrun 1\nreset_timestep 0\nrestart 2 {tmp_path}/state\nrun 3\n")
    read = f"read_restart {tmp_path}/state.2\ncomm_modify vel yes\nOUTPUT\n"
    assert lammps(f"{read}run 1") == [[4, 5]]


def test_restart_files_without_the_number_of_the_draw_continue_from_their_step(tmp_path):
    script = f"{PAIR}{OUTPUT}\nrun 2\nrun 0\nrun 0\nwrite_restart state\n"
    folder = run_lammps(script, tmp_path).directory
    whole = (folder / "state").read_bytes()
    at = whole.index(struct.pack("<dddd", -1, 1, 1, 1))
    settings = whole[at + 8 : at + 8 + 3 * 8 + 3 * 4]
    rest = whole[at + 8 + len(settings) + 2 * 8 :]
    (folder / "earlier").write_bytes(whole[:at] + settings + rest)
    for name, expected in (("state", [[3, 4]]), ("earlier", [[2, 3]])):
        read = f"read_restart {folder}/{name}\ncomm_modify vel yes\n"
        assert draws(run_lammps(f"{read}{OUTPUT}run 1\n", tmp_path)) == expected


def test_damaged_numbers_of_draws_are_refused(tmp_path):
    script = f"{PAIR}{OUTPUT}\nrun 2\nwrite_restart state\n"
    folder = run_lammps(script, tmp_path).directory
    whole = (folder / "state").read_bytes()
    at = whole.index(struct.pack("<dddd", -1, 1, 1, 1)) + 8 + 3 * 8 + 3 * 4
    assert whole[at : at + 16] == struct.pack("<qq", 2, 0)
    for wrong in ((-2, 0), (2, -1)):
        (folder / "wrong").write_bytes(whole[:at] + struct.pack("<qq", *wrong) + whole[at + 16 :])
        run = run_lammps(f"read_restart {folder}/wrong\n", tmp_path, fails=True)
        assert "the restart file is damaged" in run.output
