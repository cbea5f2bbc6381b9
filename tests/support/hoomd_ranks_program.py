# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of hoomd/test_updaters_on_ranks.py do:
`mpiexec -n R python hoomd_ranks_program.py TASK SETTINGS`, where SETTINGS are in JSON.

Each rank leaves what it found in RANK.json of the working folder.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import hoomd
import numpy as np
from electrolytes import trivalent
from hoomd_adsorption import ATOMS, MOLECULES, of_atoms, of_molecules
from hoomd_ions import simulation_of

import manymove.hoomd

_ARRAYS = ("position", "image", "orientation", "angmom", "velocity", "charge")


def ions(device, domains, place="periodic", **settings):
    periodic = place != "sphere"
    if place in ("ewald", "vacuum"):
        settings["boundary"] = "ewald"
    if place == "vacuum":
        settings["surrounding"] = "vacuum"
    start = trivalent(120, periodic=periodic, device="cpu")
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
    folder = Path("restart.gsd")
    hoomd.write.GSD.write(simulation.state, str(folder), mode="wb")
    again = hoomd.Simulation(simulation.device, seed=5)
    again.create_state_from_gsd(str(folder))
    for each in list(simulation.operations.updaters):
        simulation.operations.updaters.remove(each)
    again.operations.updaters.append(hoomd.update.CustomUpdater(1, updater))
    again.run(3)
    return [quantities_of(updater), state_of(again)]


def main(task: str, settings: dict) -> None:
    communicator = hoomd.communicator.Communicator(
        ranks_per_partition=settings.pop("ranks_per_partition", None)
    )
    device = hoomd.device.CPU(communicator=communicator)
    domains = settings.pop("domains", 3 * [None])
    domains = tuple(domains) if communicator.num_ranks > 1 else 3 * (None,)
    simulation, updater, later = globals()[task](device, domains, **settings)
    simulation.operations.updaters.append(hoomd.update.CustomUpdater(1, updater))
    found = course(simulation, [updater], later) + restart(simulation, updater)
    Path(f"{communicator.partition}-{communicator.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
