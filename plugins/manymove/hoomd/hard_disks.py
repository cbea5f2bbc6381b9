"""Hard disks by checkerboard Monte Carlo, as an updater of a HOOMD-blue simulation."""

from __future__ import annotations

from manymove import hard_particles
from manymove.hoomd.hard_particles import HardParticlesUpdater


class HardDisksUpdater(HardParticlesUpdater):
    """Massively parallel Monte Carlo of hard disks: `manymove.HardDisks` in HOOMD-blue.

    A *sweep* of this class is one pass over the four checkerboard sets: `nselect` trial moves in
    every active cell that contains a disk. This is about 3.6 trial moves per disk with the defaults
    at a packing fraction of 0.7. All particles are disks of one diameter, or each particle type has
    its own. With the same positions, seed and settings the trajectory equals that of
    `manymove.HardDisks` and of the component `hoomd.manymove`, bit for bit, on every CPU and GPU.

    The engine reads and writes the arrays of HOOMD-blue's local snapshots in place, in host memory
    on a CPU device and in GPU memory on a GPU device. Image flags follow the particles. A new
    engine is made from HOOMD-blue's positions if another operation has moved a particle or, in a
    mixture, changed its type. The same holds if the box, the number of particles, the seed or a
    setting has changed. This rounds the positions to the engine's lattice (by 1e-7 of a cell) and
    repairs overlaps. Random numbers belong to the seed and the time step, so that no engine repeats
    those of its predecessor.

    Method: J. A. Anderson, E. Jankowski, T. L. Grubb, M. Engel, S. C. Glotzer, J. Comput. Phys.
    254, 27 (2013).

    Example::

        simulation = hoomd.Simulation(device=hoomd.device.auto_select(), seed=1)
        simulation.create_state_from_gsd("disks.gsd")
        disks = manymove.hoomd.HardDisksUpdater(diameter=1.0)
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), disks)
        )
        logger = hoomd.logging.Logger(categories=["scalar", "sequence"])
        logger.add(disks, quantities=["pressure", "translate_moves"])
        simulation.run(1000)

    Positions that a GSD file has rounded to float32 may overlap by their rounding error, which
    `repair_depth` allows. Loggable quantities describe the state at the time of reading, also
    if others have changed it. If there are overlaps deeper than `repair_depth`, `pressure` and
    `state_hash` raise the error of the next step.

    Args:
        diameter: diameter of the disks in HOOMD-blue's unit of length, or a dictionary with that of
            each particle type. Two disks are in contact at the mean of their diameters.
        d: maximum trial displacement along each axis; moves are uniform in a square. It is at most
            the width of a cell, which is slightly more than the largest diameter, and is rounded to
            eight significant bits. Default 0.16 of the largest diameter, also if `diameter` is
            changed later.
        nselect: number of trial moves per visit of a cell, from 1 to 1024.
        sweeps_per_step: number of sweeps in a step of HOOMD-blue. The number of sweeps between two
            random shifts of the grid is the largest divisor of this number that is at most four.
        repair_depth: depth in contact distances up to which overlaps are repaired by pushing disks
            apart, and reported in `repaired`, when positions are read from HOOMD-blue.
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
        swap: None, or a dictionary for swap moves, in which two disks of different types exchange
            their types if there is room: "rounds", the number of rounds of pairs for each set of
            cells, and optionally "range", the largest difference of the diameters (default any),
            and "every", the number of cycles between swap moves (default 1). No two types may have
            the same diameter.
        tile: maximum width of a tile in cells along each axis, from 3 to 41, or from 2 to 16 for
            mixtures and at constant pressure. The default follows from the box.

    All settings except `threads` may be changed between runs, or during a run by another action;
    `threads` can be set until the simulation runs.

    Raises:
        ValueError: an argument is out of range. When the simulation runs: the box is not
            two-dimensional, is tilted or below three diameters; disks overlap by more than
            `repair_depth` (a `manymove.OverlapError`, which names the pair and its depth);
            a particle is outside the box or not at z = 0; `d` is above the width of a cell;
            a particle type has no diameter; particles are spread over several MPI ranks; manymove
            was compiled without CUDA for a GPU device.
        TypeError: `nselect` or `sweeps_per_step` is not an integer.
    """

    __module__ = "manymove.hoomd"
    _dimensions = 2
    _make_engine = hard_particles.HardDisks
    _DEFAULT_D = 0.16
