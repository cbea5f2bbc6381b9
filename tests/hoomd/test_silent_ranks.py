# SPDX-License-Identifier: BSD-3-Clause
"""Waits in the MPI calls of HOOMD-blue itself end when a rank is silent, with a message that names
the rank and the call. The waits of manymove are in parallel/test_waits.py."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
from commands import MPIEXEC
from processes import LIMIT, LIMITED, RANK, SOON, Job, on_ranks, programs, with_support

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")
pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not (MPIEXEC and hoomd.version.mpi_enabled), reason="no MPI")

# At step 5 the last rank stops or is killed, and the others wait for it in HOOMD-blue.
COMPONENT = """
import pathlib, sys, hoomd
from waits_program import hoomd_simulation
simulation, _ = hoomd_simulation(60, sweeps_per_step=4)
communicator = simulation.device.communicator

class Part(hoomd.custom.Action):
    def act(self, timestep):
        if communicator.rank == communicator.num_ranks - 1:
            pathlib.Path("ready").touch()
            while True:
                pass  # until the test stops or kills this rank
        simulation.state.get_snapshot()

simulation.operations.updaters.append(hoomd.update.CustomUpdater(hoomd.trigger.On(5), Part()))
simulation.run(10)
"""

# Each rank has a simulation of its own.
UPDATER = """
import pathlib, hoomd, manymove.hoomd
from mpi4py import MPI
from hoomd_disks import add_disks, on_lattice
communicator = hoomd.communicator.Communicator(ranks_per_partition=1)
manymove.hoomd.watch_ranks(MPI.COMM_WORLD)
simulation = on_lattice(10, hoomd.device.CPU(communicator=communicator))
add_disks(simulation)
simulation.run(10)
if MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1:
    pathlib.Path("ready").touch()
    while True:
        pass
communicator.barrier_all()
"""

# All ranks have one simulation, whose updater waits for the others by itself.
SPREAD = """
import pathlib, hoomd, manymove.hoomd
from electrolytes import trivalent
from hoomd_ions import simulation_of
simulation = simulation_of(trivalent(60, periodic=True, device="cpu"), hoomd.device.CPU())
ions = manymove.hoomd.CoulombMC(7.117, threads=1)
communicator = simulation.device.communicator

class Part(hoomd.custom.Action):
    def act(self, timestep):
        if communicator.rank == communicator.num_ranks - 1:
            pathlib.Path("ready").touch()
            while True:
                pass

simulation.operations.updaters.append(hoomd.update.CustomUpdater(hoomd.trigger.On(5), Part()))
simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, ions))
simulation.run(10)
"""
SCRIPTS = pytest.mark.parametrize(
    "script", [COMPONENT, UPDATER, SPREAD], ids=["component", "updater", "spread updater"]
)


def start(script: str, folder: Path, ranks: int) -> Job:
    """Each rank has a file for its errors, because a launcher that ends may not pass them on."""
    errors = ["sh", "-c", f'exec "$@" 2> error-{RANK}', "sh"]
    command = [*on_ranks(ranks), *errors, sys.executable, "-c", script]
    job = Job(command, cwd=folder, env=with_support({**os.environ, **LIMITED}))
    job.until((folder / "ready").exists)
    return job


def says(folder: Path, rank: int, silent: int) -> bool:
    text = rf"rank {rank} \(\S+\) has waited in MPI_\w+ and not heard of rank {silent} \(\S+\) for "
    own = rf"rank {silent} of \d has been silent for "  # an updater of Python that waits
    said = (folder / f"error-{rank}").read_text()
    return re.search(rf"({text}|{own}){LIMIT} s \(MANYMOVE_TIMEOUT\)", said) is not None


@pytest.mark.parametrize("ranks", [2, 3])
@SCRIPTS
def test_a_rank_that_is_stopped(script, ranks, tmp_path):
    if script == COMPONENT:
        pytest.importorskip("hoomd.manymove")
    job = start(script, tmp_path, ranks)
    job.send(signal.SIGSTOP, last_only=True)
    said = job.failure(LIMIT + SOON)
    assert says(tmp_path, 0, ranks - 1), said + (tmp_path / "error-0").read_text()


@SCRIPTS
def test_a_rank_that_is_killed_where_the_launcher_does_not_notice(script, tmp_path):
    if script == COMPONENT:
        pytest.importorskip("hoomd.manymove")
    job = start(script, tmp_path, 3)
    parents = {pid: parent for pid, (parent, _) in programs().items()}
    children = {p for p in parents if parents[p] == job.process.pid}  # of Open MPI the ranks
    launcher = [job.process.pid, *(children - {*job.ranks()})]
    for pid in launcher:
        os.kill(pid, signal.SIGSTOP)
    os.kill(job.ranks()[-1], signal.SIGKILL)
    deadline = time.monotonic() + LIMIT + SOON
    while job.ranks() and time.monotonic() < deadline:
        time.sleep(0.1)
    left = job.ranks()
    for pid in launcher:
        os.kill(pid, signal.SIGCONT)
    job.failure()
    assert not left
    assert says(tmp_path, 0, 2) and says(tmp_path, 1, 2)
