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
        nselect: number of trial moves per visit of a cell, from 1 to 1024.
        sweeps_per_step: number of sweeps in a step of HOOMD-blue. The number of sweeps between two
            random shifts of the grid is the largest divisor of this number that is at most four.
        repair_depth: depth in contact distances up to which overlaps are repaired by pushing
            spheres apart, and reported in `repaired`, when positions are read from HOOMD-blue.
        threads: number of threads of the engine on a CPU device; default all cores. If several
            simulations share a machine, for example one per MPI rank, each should have its share.
        box_moves: None for constant volume, or a dictionary in the words of
            `hoomd.hpmc.update.BoxMC` for constant pressure: "betaP", a number or a
            `hoomd.variant.Variant`, and optionally "volume", a dictionary with the "mode", "ln"
            (default) or "standard", and "delta", the maximum change of ln V or V (default chosen
            from the pressure). Ten trial changes of the volume follow each cycle; all edges change
            together. "length" instead of "volume" changes one edge at a time, once per cycle, by at
            most its "delta", a number or a tuple of one number per edge, where 0 keeps the edge
            fixed. This maximum applies to the initial edges and grows in proportion to the edge.
            "aspect" changes one edge by at most the relative "delta" and the others inversely, at
            constant volume. If several kinds are given, one trial change follows each cycle. Its
            kind is drawn in proportion to the "weight" of each kind (default 1), and "mode" must be
            "ln".
        swap: None, or a dictionary for swap moves, in which two spheres of different types exchange
            their types if there is room: "rounds", the number of rounds of pairs for each set of
            cells, and optionally "range", the largest difference of the diameters (default any),
            and "every", the number of cycles between swap moves (default 1). No two types may have
            the same diameter.
        tile: maximum width of a tile in cells along each axis, from 2 to 16. The
            default follows from the box.

    All settings except `threads` may be changed between runs, or during a run by another action;
    `threads` can be set until the simulation runs.

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
