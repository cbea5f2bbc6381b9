# SPDX-License-Identifier: BSD-3-Clause
"""Particles of a simulation by their tags, on one MPI rank or spread over several."""

from __future__ import annotations

from typing import Any

import hoomd
import numpy as np

from manymove.hoomd.ranks import watch_ranks
from manymove.jobs.ranks import Ranks
from manymove.optional import need

# Arrays that a snapshot of HOOMD-blue's state does not have.
_FORCES = ("net_force", "net_torque", "net_virial", "net_energy")
_MARGIN = 1e-5  # tolerance for the rounding of HOOMD-blue's domains, as a fraction of the box
_communicators: dict[tuple[int, ...], Any] = {}  # by the ranks of their members among all


def ranks_of(device: hoomd.device.Device, user: str) -> Ranks | None:
    """The ranks of a simulation; None if it has a single one. All its ranks call this together.

    HOOMD-blue does not give its communicator to Python. Therefore a communicator of mpi4py is made
    of the same ranks, which are compared by calls of HOOMD-blue.

    Args:
        device: device of the simulation.
        user: name of the class that needs the ranks, for error messages.

    Raises:
        ImportError: mpi4py is not installed where a rank runs.
        RuntimeError: mpi4py uses another MPI than HOOMD-blue, the ranks run different versions of
            this package, or a rank is silent.
    """
    size, rank = device.communicator.num_ranks, device.communicator.rank
    if size == 1:
        return None

    def on_all(flag: bool) -> bool:
        return hoomd._hoomd.mpi_allreduce_bcast_and(flag, device._cpp_exec_conf)

    failure, world = None, None
    try:
        need("mpi4py", f"{user} on several MPI ranks")
        from mpi4py import MPI

        world = MPI.COMM_WORLD
    except ImportError as error:
        failure = error
    if not on_all(failure is None):
        raise failure or ImportError(f"{user} needs mpi4py on all MPI ranks")
    assert world is not None
    # HOOMD-blue offers Python only the conjunction of a flag over all ranks. Each rank in
    # turn sends its number bit by bit, while all other ranks contribute True.
    members = tuple(
        sum(on_all(r != rank or bool(world.rank >> b & 1)) << b for b in range(31))
        for r in range(size)
    )
    if len({*members}) < size or max(members) >= world.size:
        raise RuntimeError(
            f"{user} on several MPI ranks needs an mpi4py with the MPI of HOOMD-blue: HOOMD-blue "
            f"has {size} ranks, and mpi4py sees {world.size} (build mpi4py with that MPI: "
            "pip install --no-binary mpi4py mpi4py)"
        )
    if members not in _communicators:
        everyone = members == tuple(range(world.size))
        group = world.Get_group().Incl(members)
        _communicators[members] = world if everyone else world.Create_group(group)
    communicator = _communicators[members]
    watch_ranks(communicator)
    return Ranks(communicator)


def by_tag(state: hoomd.State, ranks: Ranks | None, *names: str) -> list[np.ndarray]:
    """Copies of HOOMD-blue's arrays in host memory, in the order of the tags, on every rank."""

    def mine(*names: str) -> list[np.ndarray]:
        with state.cpu_local_snapshot as snapshot:
            return [np.array(getattr(snapshot.particles, name)) for name in names]

    if ranks is None:
        index, *columns = mine("rtag", *names)
        return [column[index] for column in columns]
    parts = ranks.all(ranks.together(lambda: mine("tag", *names)))
    tags, *columns = (np.concatenate(parts) for parts in zip(*parts, strict=True))
    place = np.empty_like(tags)
    place[tags] = np.arange(len(tags), dtype=tags.dtype)
    return [column[place] for column in columns]


def write(state: hoomd.State, ranks: Ranks | None, tags: np.ndarray, **values: np.ndarray) -> None:
    """Write the values of some particles into HOOMD-blue's arrays, each on its rank.

    Args:
        state: state of the simulation.
        ranks: ranks of the simulation, all of which have the same arguments, or None.
        tags: tags of the particles, (n,).
        values: arrays (n,) or (n, columns) by their names in HOOMD-blue. Positions are inside the
            box.
    """

    def mine() -> bool:
        with state.cpu_local_snapshot as snapshot:
            particles = snapshot.particles
            index = np.array(particles.rtag)[tags]
            here = index < len(particles.tag)
            for name, array in values.items():
                getattr(particles, name)[index[here]] = array[here]
        return ranks is not None and "position" in values and _far(state, values["position"][here])

    if ranks is None:
        mine()
        return
    if ranks.any(ranks.together(mine)):
        _redistribute(state, ranks)


def _far(state: hoomd.State, positions: np.ndarray) -> bool:
    """Whether one of this rank's particles is neither in its domain nor in one that shares a face
    with it. HOOMD-blue's migration does not reach beyond the next domain along an axis, and on the
    way to a domain that shares an edge it can change the last bit of a coordinate."""
    data = state._cpp_sys_def.getParticleData()
    corner, box = data.getBox().getLo(), data.getGlobalBox()
    fractions = np.linalg.solve(state.box.to_matrix(), positions.T) + 0.5
    domains_away = np.zeros(len(positions), dtype=int)
    for axis, cuts, at in zip(
        "xyz", state.domain_decomposition_split_fractions, fractions, strict=True
    ):
        begin = (getattr(corner, axis) - getattr(box.getLo(), axis)) / getattr(box.getL(), axis)
        own = np.searchsorted(cuts, begin + _MARGIN)
        below, above = (np.searchsorted(cuts, at + d) - own for d in (-_MARGIN, _MARGIN))
        domains_away += np.maximum(np.abs(below), np.abs(above))
    return bool((domains_away > 1).any())


def _redistribute(state: hoomd.State, ranks: Ranks) -> None:
    """Give each particle to the rank of its domain, however far it has moved."""
    forces = dict(zip(_FORCES, by_tag(state, ranks, *_FORCES), strict=True))
    state.set_snapshot(state.get_snapshot())
    write(state, ranks, np.arange(state.N_particles), **forces)
