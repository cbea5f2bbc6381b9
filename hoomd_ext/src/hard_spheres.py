"""The integrator of hard spheres."""

from __future__ import annotations

from hoomd.manymove.hard_particles import HardParticles


class HardSpheres(HardParticles):
    r"""Checkerboard Monte Carlo of hard spheres and their mixtures in three dimensions (MPMC).

    Args:
        default_d (float): Default half edge of the cube of trial displacements
            :math:`[\mathrm{length}]`.
        nselect (int): Trial moves in each occupied cell in a checkerboard sweep, 1 to 1024.
        sweeps_per_step (int): Checkerboard sweeps in a time step.
        repair_depth (float): Overlaps up to this depth, in contact distances, are repaired when
            positions are read. Positions in single precision (GSD files) have such overlaps.
        threads (int): Number of threads of the CPU engine. The default is one thread where there
            are several ranks or partitions. Otherwise it is all cores that the process may use, or
            ``device.num_cpu_threads`` if HOOMD-blue was built with threads (TBB) and they are
            fewer.
        box_moves (dict): `None` for constant volume, or settings for constant pressure in the words
            of `hoomd.hpmc.update.BoxMC`: ``betaP``, a number or a `hoomd.variant.Variant`, whose
            every new value makes a new engine, and optionally ``volume``, a dictionary with the
            ``mode``, ``"ln"`` (default) or ``"standard"``, and ``delta``, the maximum change of ln
            V or V (default chosen from the pressure). Ten trial changes of the volume follow each
            shift of the grid; all edges change together. ``length`` instead of ``volume`` changes
            one edge at a time by at most its ``delta``, a number or a tuple of one number per edge,
            where 0 keeps the edge fixed. ``aspect`` changes one edge by at most the relative
            ``delta`` and the others inversely, at constant volume. If several kinds are given, one
            trial change follows each shift of the grid. Its kind is drawn in proportion to the
            ``weight`` of each kind (default 1), and ``mode`` must be ``"ln"``.
        swap (dict): `None`, or settings for swap moves, in which two spheres of different types
            exchange their types if there is room: ``rounds``, the number of rounds of pairs for
            each set of cells, and optionally ``range``, the largest difference of the diameters
            (default any), and ``every``, the number of shifts of the grid between swap moves
            (default 1). No two types may have the same diameter.
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
        nselect (int): Trial moves in each occupied cell in a checkerboard sweep.
        sweeps_per_step (int): Checkerboard sweeps in a time step.
        repair_depth (float): Overlaps up to this depth, in contact distances, are repaired.
        box_moves (dict): Trial changes of the box, or `None`. Assign a whole dictionary, because
            single items cannot be assigned.
        swap (dict): Swap moves, or `None`. Assign a whole dictionary.
        external_potential (object): A `hoomd.hpmc.external.wall.WallPotential` or
            `hoomd.hpmc.external.field.Harmonic`, or `None`. The object is read when a run begins,
            on CPUs and GPUs. Energies are in kT.
        external_potentials (list): Any of these and of `hoomd.hpmc.external.linear.Linear`, whose
            energies add up. External potentials cannot be combined with `box_moves` or `swap`. The
            pressure of particles in them is that of a homogeneous system.
        pair_potentials (list): Objects of `hoomd.hpmc.pair.Step`, whose energies add up, in kT.
            They are read when a run begins. The box must be at least three times as wide as the
            largest `r`. Pair potentials cannot be combined with `swap`. The pressure has a term for
            each of their ranges.
        tile (int): Maximum width of a tile in cells, or `None` for the default.
        threads (int): Number of threads of the CPU engine, or `None`. It cannot be changed while
            the integrator is attached.

    Raises:
        ValueError: (at the start of a run) the box, the types or the particles are not as described
            above; `d` is larger than `max_d`; two spheres overlap by more than `repair_depth` (the
            message has their tags and the depth); the box is too small for so many ranks.
        AttributeError: an attribute of `hoomd.hpmc.integrate.Sphere` for orientations, depletants
            or potentials is set or read, or an attribute is assigned that does not exist or is a
            result.
        RuntimeError: (at the start of a run) ``simulation.operations`` has an operation that works
            with HPMC's integrator only; the message names a replacement.
        hoomd.error.MutabilityError: `threads` is set while the integrator is attached.
    """

    _DIMENSIONS = 3
