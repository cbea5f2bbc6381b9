"""Massively parallel Monte Carlo of hard disks and spheres, and resident DPD, in HOOMD-blue.

`HardDisks` replaces `hoomd.hpmc.integrate.Sphere` in a 2D simulation of hard disks and their
mixtures, `HardSpheres` in a 3D simulation. `compute.SDF`, `tune.MoveSize`, `update.QuickCompress`
and `update.MuVT` replace those of `hoomd.hpmc`. `DPD` replaces `hoomd.md.Integrator` with
`hoomd.md.pair.DPD`.
"""

from hoomd.manymove.version import built_for, version  # isort: skip, it refuses other releases
from hoomd.manymove import compute, tune, update
from hoomd.manymove.dpd import DPD
from hoomd.manymove.hard_disks import HardDisks
from hoomd.manymove.hard_spheres import HardSpheres

__all__ = [
    "DPD",
    "HardDisks",
    "HardSpheres",
    "built_for",
    "compute",
    "tune",
    "update",
    "version",
]
