"""Massively parallel Monte Carlo of hard disks in HOOMD-blue.

`HardDisks` replaces `hoomd.hpmc.integrate.Sphere` in a 2D simulation of hard disks of one
size; `tune.MoveSize` that of `hoomd.hpmc.tune.MoveSize`.
"""

from hoomd.manymove.version import built_for, version  # isort: skip, it refuses other releases
from hoomd.manymove import tune
from hoomd.manymove.hard_disks import HardDisks

__all__ = ["HardDisks", "built_for", "tune", "version"]
