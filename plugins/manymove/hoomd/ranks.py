# SPDX-License-Identifier: BSD-3-Clause
"""Time limits for MPI ranks that wait for each other in HOOMD-blue."""

from __future__ import annotations

from typing import Any

from manymove import _core
from manymove.jobs.world import World
from manymove.optional import need


def watch_ranks(communicator: Any = None) -> None:
    """Give a limit to the waits of HOOMD-blue, and of the script, in MPI.

    A script whose ranks have a simulation each waits for all ranks in
    ``hoomd.communicator.Communicator.barrier_all``, in the calls of mpi4py and when MPI ends. If a
    rank has ended, is stopped or cannot be reached, such a wait would never end. This call limits
    the wait to MANYMOVE_TIMEOUT seconds (default 60). A rank that waits in a call of MPI and has
    received nothing from another rank for this time ends with a message that names the rank and the
    call, and the launcher ends the job. A rank may compute for longer.

    If a simulation has several ranks, the component `hoomd.manymove` and the updaters of this
    package make this call for these ranks.

    All ranks of the communicator make this call, once, at the beginning::

        from mpi4py import MPI

        manymove.hoomd.watch_ranks(MPI.COMM_WORLD)

    Args:
        communicator: communicator of mpi4py (default: all ranks of the job). mpi4py must use the
            MPI of HOOMD-blue.

    Raises:
        ImportError: mpi4py is not installed.
        RuntimeError: the ranks run different versions of this package, or a rank is silent.
    """
    if communicator is None:
        need("mpi4py", "watch_ranks")
        from mpi4py import MPI

        communicator = MPI.COMM_WORLD
    World.of(communicator)  # compares the versions
    _core.join(communicator, "jobs").meet()
