"""Engines of manymove as updaters of HOOMD-blue, in Python, without a compiler.

An engine becomes an updater of a `hoomd.Simulation`. The updaters of hard disks, hard spheres and
ions work on HOOMD-blue's own particle arrays, on the CPU and on the GPU, and copy nothing in the
run loop.

::

    disks = manymove.hoomd.HardDisksUpdater(diameter=1.0)
    simulation.operations.updaters.append(
        hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), disks)
    )

For hard disks and spheres use the component `hoomd.manymove` if you can compile it for your
HOOMD-blue: it makes the same trajectories faster. These updaters are for a HOOMD-blue that was
installed as a binary, on a machine without a compiler.
"""

try:
    import hoomd as _hoomd  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "hoomd":
        raise
    raise ImportError(
        "manymove.hoomd needs HOOMD-blue 4.8 or later, which is not installed here: "
        "conda install -c conda-forge hoomd, or build it from source "
        "(https://hoomd-blue.readthedocs.io)"
    ) from None

from manymove.hoomd.action import EngineAction
from manymove.hoomd.coulomb import CoulombMC
from manymove.hoomd.hard_disks import HardDisksUpdater
from manymove.hoomd.hard_spheres import HardSpheresUpdater
from manymove.hoomd.ranks import watch_ranks
from manymove.hoomd.rigid_waste_recycling import RigidWasteRecyclingMC
from manymove.hoomd.waste_recycling import WasteRecyclingMC

__all__ = [
    "CoulombMC",
    "EngineAction",
    "HardDisksUpdater",
    "HardSpheresUpdater",
    "RigidWasteRecyclingMC",
    "WasteRecyclingMC",
    "watch_ranks",
]
