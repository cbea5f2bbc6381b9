"""The integrator of hard disks."""

from __future__ import annotations

from hoomd.manymove.hard_particles import HardParticles


class HardDisks(HardParticles):
    r"""Checkerboard Monte Carlo of hard disks and their mixtures (MPMC).

    Args:
        default_d (float): Default half edge of the square of trial displacements
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
        swap (dict): `None`, or settings for swap moves, in which two disks of different types
            exchange their types if there is room: ``rounds``, the number of rounds of pairs for
            each set of cells, and optionally ``range``, the largest difference of the diameters
            (default any), and ``every``, the number of shifts of the grid between swap moves
            (default 1). No two types may have the same diameter.
        tile (int): Maximum width of a tile in cells along each axis, 3 to 41, or 2 to 16 for
            mixtures, at constant pressure and with insertions (default: chosen from the box).
            Narrower tiles allow more ranks. The trajectory depends on it.

    The box is cut into cells a diameter (of the largest disks) wide or a little more, the cells
    into four sets, and all cells of a set are updated at once: `nselect` trial moves of a cell's
    disks in random order, moves that leave the cell being rejected. A *checkerboard sweep* visits
    the four sets in random order. The grid is shifted at random after as many sweeps as divide
    `sweeps_per_step`, 4 at most. The method is described in `Anderson 2013
    <https://dx.doi.org/10.1016/j.jcp.2013.07.023>`_; the engine belongs to the package manymove,
    whose documentation has the proof of detailed balance.

    Displacements are uniform in a square, :math:`-d \le \Delta x, \Delta y \le d`
    (`hoomd.hpmc.integrate.Sphere`: in a disk of radius :math:`d`), to eight significant bits. A
    sweep makes about 3.6 trial moves per disk with ``nselect=4`` at packing fraction 0.7: count
    them with `translate_moves`.

    The trajectory is a function of the initial positions, the seed of the simulation and the
    parameters here, the same on every CPU and GPU. Positions that others change between two time
    steps are noticed and taken over, at the cost of a copy through the host; so are types in a
    mixture.

    Particle types may have different diameters. Two disks are in contact at the mean of their
    diameters. All types have the same `d`, but the particles of a type with `d` = 0 never move. In
    a mixture, all `nselect` trial moves in a cell are made with one disk, which is drawn at random.

    The updater `hoomd.manymove.update.MuVT` inserts and deletes disks. Disks of one size then have
    the trial moves of a mixture.

    The box must be 2D and rectangular and at least three of the largest diameters wide, with all
    particles at z = 0.

    On several MPI ranks the trajectory is the same as on one. The engine divides the box into
    strips of its own, whose inactive borders move with the grid. After a step every rank fetches
    the positions of its particles and HOOMD-blue migrates them; that costs little on CPUs and much
    on GPUs, where ``sweeps_per_step`` should be large (once in a step, or in as many shifts of the
    grid as a domain is cells wide).

    Example::

        mc = hoomd.manymove.HardDisks(default_d=0.16)
        mc.shape["A"] = dict(diameter=1.0)
        simulation.operations.integrator = mc

    Attributes:
        shape (TypeParameter[``particle type``, dict]): ``diameter`` (float, **required**)
            :math:`[\mathrm{length}]`. ``orientable`` and ``ignore_statistics`` of HPMC are False.
        d (TypeParameter[``particle type``, float]): Half edge of the square of trial displacements
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
            above; `d` is larger than `max_d`; two disks overlap by more than `repair_depth` (the
            message has their tags and the depth); the box is too small for so many ranks.
        AttributeError: an attribute of `hoomd.hpmc.integrate.Sphere` for orientations, depletants
            or potentials is set or read, or an attribute is assigned that does not exist or is a
            result.
        RuntimeError: (at the start of a run) ``simulation.operations`` has an operation that works
            with HPMC's integrator only; the message names a replacement.
        hoomd.error.MutabilityError: `threads` is set while the integrator is attached.
    """

    _DIMENSIONS = 2
