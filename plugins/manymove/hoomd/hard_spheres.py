"""Hard spheres by checkerboard Monte Carlo, as an updater of a HOOMD-blue simulation."""

from __future__ import annotations

from manymove import hard_particles
from manymove.hoomd.hard_particles import HardParticlesUpdater


class HardSpheresUpdater(HardParticlesUpdater):
    """Massively parallel Monte Carlo of hard spheres: `manymove.HardSpheres` in HOOMD-blue.

    A *sweep* of this class is one pass over the eight checkerboard sets: `nselect` trial moves in
    every active cell that contains a sphere. With the same positions, seed and settings it
    has the trajectory of `manymove.HardSpheres` and of the component `hoomd.manymove`, bit for bit,
    on every CPU and GPU. Positions, images and changes by others are treated as in
    `HardDisksUpdater`.

    Example::

        spheres = manymove.hoomd.HardSpheresUpdater(diameter={"A": 1.0, "B": 1.4})
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), spheres)
        )

    Args:
        diameter: diameter of the spheres in HOOMD-blue's unit of length, or a dictionary with that
            of each particle type. Two spheres are in contact at the mean of their diameters.
        d: maximum trial displacement along each axis; moves are uniform in a cube. It is at most
            the width of a cell, which is slightly more than the largest diameter, and is rounded to
            eight significant bits. Default 0.12 of the largest diameter, also if `diameter` is
            changed later.
        nselect, sweeps_per_step, repair_depth, threads, box_moves, swap: as for `HardDisksUpdater`.
        tile: maximum width of a tile in cells along each axis, from 2 to 16. The
            default follows from the box.

    Settings may be changed in the same way as the settings of `HardDisksUpdater`.

    Raises:
        ValueError: an argument is out of range. When the simulation runs: the box is not
            three-dimensional, is tilted or below three diameters; spheres overlap by more than
            `repair_depth` (a `manymove.OverlapError`, which names the pair and its depth); a
            particle is outside the box; `d` is above the width of a cell; a particle type has no
            diameter; particles are spread over several MPI ranks; manymove was compiled without
            CUDA for a GPU device.
        TypeError: `nselect` or `sweeps_per_step` is not an integer.
    """

    __module__ = "manymove.hoomd"
    _make_engine = hard_particles.HardSpheres
    _DEFAULT_D = 0.12
