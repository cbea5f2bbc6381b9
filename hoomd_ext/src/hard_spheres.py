"""The integrator of hard spheres."""

from __future__ import annotations

from hoomd.manymove.hard_particles import HardParticles


class HardSpheres(HardParticles):
    r"""Checkerboard Monte Carlo of hard spheres and their mixtures in three dimensions (MPMC).

    Args:
        default_d (float): Default half edge of the cube of trial displacements
            :math:`[\mathrm{length}]`.
        nselect, sweeps_per_step, repair_depth, threads, box_moves, swap: As for `HardDisks`.
        tile (int): Maximum width of a tile in cells along each axis, 2 to 16 (default: chosen from
            the box). Narrower tiles allow more ranks. The trajectory depends on it.

    The box is cut into cells a diameter (of the largest spheres) wide or a little more, the cells
    into eight sets, and all cells of a set are updated at once: one sphere of each cell, drawn at
    random, makes `nselect` trial moves, and moves that leave the cell are rejected. A *checkerboard
    sweep* visits the eight sets in random order. The number of sweeps between two random shifts of
    the grid is the largest divisor of `sweeps_per_step` that is at most four. The class has the
    engine of `manymove.HardSpheres`.

    Displacements are uniform in a cube, :math:`-d \le \Delta x, \Delta y, \Delta z \le d`
    (`hoomd.hpmc.integrate.Sphere`: in a ball of radius :math:`d`), to eight significant bits. Count
    the trial moves with `translate_moves`.

    The trajectory is a function of the initial positions, the seed of the simulation and the
    parameters here, the same on every CPU and GPU. Positions that others change between two time
    steps are noticed and taken over, at the cost of a copy through the host; so are types in a
    mixture.

    Particle types may have different diameters. Two spheres are in contact at the mean of their
    diameters. All types have the same `d`, but the particles of a type with `d` = 0 never move.

    The updater `hoomd.manymove.update.MuVT` inserts and deletes spheres.

    The box must be 3D and rectangular and at least three of the largest diameters wide.

    On several MPI ranks the trajectory is the same as on one. The engine divides the box into slabs
    of its own along z, whose inactive borders move with the grid. After a step every rank fetches
    the positions of its particles and HOOMD-blue migrates them; that costs little on CPUs and much
    on GPUs, where ``sweeps_per_step`` should be large (once in a step, or in as many shifts of the
    grid as a domain is cells wide).

    Example::

        mc = hoomd.manymove.HardSpheres(default_d=0.12)
        mc.shape["A"] = dict(diameter=1.0)
        mc.shape["B"] = dict(diameter=1.4)
        simulation.operations.integrator = mc

    Attributes:
        shape (TypeParameter[``particle type``, dict]): ``diameter`` (float, **required**)
            :math:`[\mathrm{length}]`. ``orientable`` and ``ignore_statistics`` of HPMC are False.
        d (TypeParameter[``particle type``, float]): Half edge of the cube of trial displacements
            :math:`[\mathrm{length}]`, at most `max_d`. With 0, particles of the type never move:
            the others collide with them, and their trial moves count as rejected. This cannot be
            combined with `box_moves` or `swap`.
        nselect, sweeps_per_step, repair_depth, box_moves, swap, tile, threads: As for `HardDisks`.
        external_potential, external_potentials, pair_potentials: As for `HardDisks`.

    Raises:
        ValueError, AttributeError, RuntimeError, hoomd.error.MutabilityError: As for `HardDisks`.
    """

    _DIMENSIONS = 3
