# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of hoomd/test_updaters_on_ranks.py do:
`mpiexec -n R python hoomd_ranks_program.py PARTICLES TASK SETTINGS`, where SETTINGS are in JSON.

Each rank leaves its rank in the simulation and what it found in RANK.json of the working folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import hoomd
import numpy as np
from electrolytes import trivalent
from hoomd_adsorption import ATOMS, MOLECULES, of_atoms, of_molecules
from hoomd_ions import simulation_of

import manymove.hoomd

_ARRAYS = ("position", "image", "orientation", "angmom", "velocity", "charge")


def ions(device, domains, place="periodic", rank_0=False, number=120, **settings):
    """rank_0: whether rank 0 makes the chain alone, as with GPU devices."""
    if rank_0:
        manymove.hoomd.CoulombMC._shares = False
    periodic = place != "sphere"
    if place in ("ewald", "vacuum"):
        settings["boundary"] = "ewald"
    if place == "vacuum":
        settings["surrounding"] = "vacuum"
    start = trivalent(number, periodic=periodic, device="cpu")
    box = None if periodic else 3 * (2 * start.radius + 1,)
    updater = manymove.hoomd.CoulombMC(
        7.117, None if periodic else start.radius, threads=1, **settings
    )
    return simulation_of(start, device, box, domains=domains), updater, {"sweeps_per_step": 2}


def atoms(device, domains, **settings):
    updater = manymove.hoomd.WasteRecyclingMC(
        **{**ATOMS, "steps": 20, "profile": "z", "bins": 5, **settings}
    )
    return of_atoms(device=device, domains=domains), updater, {"kT": 290.0}


def molecules(device, domains, bodies=True, **settings):
    updater = manymove.hoomd.RigidWasteRecyclingMC(**{**MOLECULES, "steps": 20, **settings})
    simulation = of_molecules(bodies=bodies, device=device, domains=domains)
    with simulation.state.cpu_local_snapshot as local:
        tags = np.array(local.particles.tag)
        local.particles.angmom[:] = np.outer(tags, [0, 1, 2, 3])
    return simulation, updater, {"kT": 290.0}


def quantities_of(updater):
    names = ("energy", "energy_plain", "potential_energy", "profile", "translate_moves")
    return [getattr(updater, name) for name in names if hasattr(type(updater), name)]


def state_of(simulation):
    """A digest of the particles of all ranks in the order of the tags, on the first rank."""
    snapshot = simulation.state.get_snapshot()
    if simulation.device.communicator.rank > 0:
        return None
    arrays = [np.array(getattr(snapshot.particles, name)) for name in _ARRAYS]
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
    return [digest, arrays[0].tolist(), arrays[1].tolist()]


def course(simulation, updaters, later):
    """What is found after some steps, after another has moved a particle, after a change of a
    setting, and in a simulation of the GSD file of the last step."""
    found, last = [], updaters[-1]

    def look():
        found.extend(quantities_of(updater) for updater in updaters)
        found.append(state_of(simulation))

    simulation.run(4)
    look()
    with simulation.state.cpu_local_snapshot as local:
        mine = np.array(local.particles.tag) == 3
        local.particles.position[mine] += 1e-4
    simulation.run(3)
    look()
    for name, value in later.items():
        setattr(last, name, value)
    simulation.run(3)
    look()
    return found


def restart(simulation, updater):
    """A simulation of the last state in a GSD file continues on these ranks."""
    communicator = simulation.device.communicator
    file = f"restart-{communicator.partition}.gsd"
    hoomd.write.GSD.write(simulation.state, file, mode="wb")
    again = hoomd.Simulation(simulation.device, seed=5)
    again.create_state_from_gsd(file)
    for each in list(simulation.operations.updaters):
        simulation.operations.updaters.remove(each)
    again.operations.updaters.append(hoomd.update.CustomUpdater(1, updater))
    again.run(3)
    return [quantities_of(updater), state_of(again)]


def message(simulation):
    try:
        simulation.run(1)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


# ---- what is done --------------------------------------------------------------------------------


def courses(simulation, updater, later):
    return course(simulation, [updater], later) + restart(simulation, updater)


def several(simulation, updater, later):
    """Another updater of the same ions, with longer moves at every second step."""
    other = manymove.hoomd.CoulombMC(7.117, max_displacement=40.0, threads=1)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(2, other))
    return course(simulation, [updater, other], later)


def forces(simulation, updater, later):
    """Forces of the last step stay with their particles, in whatever domain these are."""
    simulation.run(1)
    with simulation.state.cpu_local_snapshot as local:
        tags = np.array(local.particles.tag)
        for name in ("net_force", "net_torque", "net_virial"):
            array = getattr(local.particles, name)
            array[:] = tags[:, None] + np.arange(array.shape[1]) / 8
        local.particles.net_energy[:] = -tags
    updater.act(2)
    wrong = 0
    with simulation.state.cpu_local_snapshot as local:
        moved = not np.array_equal(tags, local.particles.tag)
        tags = np.array(local.particles.tag)
        for name in ("net_force", "net_torque", "net_virial"):
            array = np.array(getattr(local.particles, name))
            wrong += int((array != tags[:, None] + np.arange(array.shape[1]) / 8).sum())
        wrong += int((np.array(local.particles.net_energy) != -tags).sum())
    return [wrong, moved]


def beside_hpmc(simulation, updater, later):
    """HPMC's particles do not overlap with those that the updater has moved."""
    spheres = hoomd.hpmc.integrate.Sphere(default_d=5.0)
    spheres.shape["A"] = {"diameter": 7.5}
    simulation.operations.integrator = spheres
    simulation.run(30)
    return [spheres.overlaps, spheres.translate_moves[0] > 0]


def error_of_rank_0(simulation, updater, later):
    """A particle stands where the first atom of the framework is."""
    snapshot = simulation.state.get_snapshot()
    if simulation.device.communicator.rank == 0:
        snapshot.particles.position[3] = snapshot.particles.position[0]
    simulation.state.set_snapshot(snapshot)
    return [message(simulation), message(simulation)]


def _no_memory(*_, **__):
    raise MemoryError("no memory here")


def error_of_the_last_rank(simulation, updater, later):
    """No memory there for a copy of its particles."""
    communicator, real = simulation.device.communicator, hoomd.State.cpu_local_snapshot
    simulation.run(1)
    if communicator.rank == communicator.num_ranks - 1:
        hoomd.State.cpu_local_snapshot = property(_no_memory)
    found = message(simulation)
    hoomd.State.cpu_local_snapshot = real
    return [found, message(simulation)]


def error_that_no_rank_expects(simulation, updater, later):
    """The last rank fails where the others do not ask."""
    communicator = simulation.device.communicator
    simulation.run(1)
    if communicator.rank == communicator.num_ranks - 1:
        type(updater)._write = _no_memory
    return [message(simulation), message(simulation)]


def without_mpi4py(simulation, updater, later):
    if simulation.device.communicator.rank == 1:
        sys.modules["mpi4py"] = None
    return [message(simulation)]


def another_mpi(simulation, updater, later):
    from mpi4py import MPI

    MPI.COMM_WORLD = MPI.COMM_SELF
    return [message(simulation)]


def communicator_of(kind):
    """All ranks, partitions of two, or the even and the odd ranks in inverse order."""
    if kind == "partitions":
        return hoomd.communicator.Communicator(ranks_per_partition=2)
    if kind == "split":
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        return hoomd.communicator.Communicator(world.Split(world.rank % 2, -world.rank))
    return hoomd.communicator.Communicator()


def main(particles: str, task: str, settings: dict) -> None:
    communicator = communicator_of(settings.pop("communicator", None))
    if settings.pop("gpu", False):
        device = hoomd.device.GPU([0], communicator=communicator)
    else:
        device = hoomd.device.CPU(communicator=communicator)
    domains = settings.pop("domains", 3 * [None])
    domains = tuple(domains) if communicator.num_ranks > 1 else 3 * (None,)
    simulation, updater, later = globals()[particles](device, domains, **settings)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, updater))
    found = globals()[task](simulation, updater, later)
    launched = os.environ.get("PMI_RANK") or os.environ.get("OMPI_COMM_WORLD_RANK") or "0"
    Path(f"{launched}.json").write_text(json.dumps([communicator.rank, found]))
    communicator.barrier_all()


if __name__ == "__main__":
    main(*sys.argv[1:3], json.loads(sys.argv[3]))
