"""What MPI ranks do in parallel/test_waits.py: `mpiexec -n R python waits_program.py TASK FOLDER`.

Each rank leaves what it found in FOLDER/TASK-RANK.json. The last rank stops alone; the first one
wakes it when it has its error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from rank_tasks import message

LIMIT = 30  # seconds until all ranks have left what they found


def stop(folder: Path) -> None:
    """Stop this process, after writing its process ID to a file for the first rank."""
    (folder / "stopped").write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)


def wake(folder: Path) -> None:
    os.kill(int((folder / "stopped").read_text()), signal.SIGCONT)


def start_of_ranks(comm, folder: Path) -> dict:
    """The last rank stops before the ranks duplicate their communicator."""
    from manymove.jobs.ranks import Ranks

    if comm.rank == comm.size - 1:
        stop(folder)
    began = time.monotonic()
    found = message(lambda: Ranks.of(comm).any(True), BaseException)
    seconds = time.monotonic() - began
    if comm.rank == 0:
        wake(folder)
    return {"found": found, "seconds": seconds}


def hoomd_simulation(side: int, **settings):
    import hoomd.manymove
    from hoomd_disks import on_lattice

    simulation = on_lattice(side)
    disks = hoomd.manymove.HardDisks(threads=1, **settings)
    disks.shape["A"] = dict(diameter=1.0)
    simulation.operations.integrator = disks
    return simulation, disks


def silent_in_hoomd(comm, folder: Path) -> dict:
    """The last rank stops between two steps."""
    return _stopped(comm, folder, hoomd_simulation(60, sweeps_per_step=4)[0])


def silent_in_an_updater(comm, folder: Path) -> dict:
    """The same with an updater of Python, for which the others wait."""
    import hoomd
    from electrolytes import trivalent
    from hoomd_ions import simulation_of

    import manymove.hoomd

    simulation = simulation_of(trivalent(60, periodic=True, device="cpu"), hoomd.device.CPU())
    ions = manymove.hoomd.CoulombMC(7.117, threads=1)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, ions))
    return _stopped(comm, folder, simulation)


def _stopped(comm, folder: Path, simulation) -> dict:
    import hoomd

    class Stop(hoomd.custom.Action):
        def act(self, timestep):
            if comm.rank == comm.size - 1:
                stop(folder)

    simulation.operations.updaters.append(hoomd.update.CustomUpdater(hoomd.trigger.On(5), Stop()))
    began = time.monotonic()
    found = message(lambda: simulation.run(10), BaseException)
    seconds = time.monotonic() - began
    if comm.rank == 0:
        wake(folder)
    return {
        "found": found,
        "again": message(lambda: simulation.run(1), BaseException),
        "seconds": seconds,
    }


def memory_in_hoomd(comm, folder: Path) -> dict:
    """The last rank gets no memory for the positions of all disks, or for a snapshot of them."""
    import resource

    simulation, disks = hoomd_simulation(int(os.environ["SIDE"]), sweeps_per_step=4)
    simulation.run(0)
    disks.sweeps_per_step = 8  # the engine is made again
    before = resource.getrlimit(resource.RLIMIT_AS)
    if comm.rank == comm.size - 1:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + int(float(os.environ["MEGABYTES"]) * 1e6)
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    found = message(lambda: simulation.run(0), BaseException)
    resource.setrlimit(resource.RLIMIT_AS, before)
    return {"found": found, "later": message(lambda: simulation.run(1), BaseException)}


def main(task: str, folder: Path) -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    found = globals()[task](comm, folder)
    part = folder / f"{task}-{comm.rank}.part"
    part.write_text(json.dumps(found))
    part.rename(part.with_suffix(".json"))
    deadline = time.monotonic() + LIMIT
    while len(list(folder.glob("*.json"))) < comm.size and time.monotonic() < deadline:
        comm.Iprobe()  # messages of the others need this rank
        time.sleep(0.01)
    os._exit(0)  # MPI cannot be finalized after calls were given up


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
