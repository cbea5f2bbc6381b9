"""Massively parallel Monte Carlo of hard disks and spheres in HOOMD-blue.

`HardDisks` replaces `hoomd.hpmc.integrate.Sphere` in a 2D simulation of hard disks and their
mixtures, `HardSpheres` in a 3D simulation, `tune.MoveSize` replaces `hoomd.hpmc.tune.MoveSize`, and
`update.QuickCompress` replaces `hoomd.hpmc.update.QuickCompress`.
"""

from hoomd.manymove.version import built_for, version  # isort: skip, it refuses other releases
from hoomd.manymove import tune, update
from hoomd.manymove.hard_disks import HardDisks
from hoomd.manymove.hard_spheres import HardSpheres

__all__ = ["HardDisks", "HardSpheres", "built_for", "tune", "update", "version"]
