"""Compression to a target box, and insertions and deletions of particles."""

from __future__ import annotations

import math

import hoomd
from hoomd.data.parameterdicts import ParameterDict, TypeParameterDict
from hoomd.data.typeparam import TypeParameter
from hoomd.logging import log
from hoomd.manymove import _manymove, attributes
from hoomd.manymove.hard_particles import HardParticles
from hoomd.manymove.parameters import Fixed, count

# Shortest step as a fraction of the edges, about the gap that the repair of an overlap opens.
# Shorter steps would not reach a target in a reasonable time.
_SHORTEST = 1e-5
# The run ends with an error if this many successive steps change the edges by less than this part
# of their lengths.
_ATTEMPTS, _LEAST = 100, 2e-4
_DENSEST = {2: math.pi / math.sqrt(12), 3: math.pi / math.sqrt(18)}


class _Compress(hoomd.custom.Action):
    """A step toward the target box."""

    allow_unsafe_resize = Fixed(
        False, "overlaps are pushed apart at once, and no step depends on d"
    )
    instance = Fixed(0, "no random numbers are drawn")

    def __init__(self, target_box, max_overlaps_per_particle, min_scale, allow_unsafe_resize):
        self._integrator = None
        self._complete = False
        self.target_box = target_box
        self.max_overlaps_per_particle = max_overlaps_per_particle
        self.min_scale = min_scale
        self.allow_unsafe_resize = allow_unsafe_resize

    @property
    def target_box(self):
        return self._target_box

    @target_box.setter
    def target_box(self, value):
        if not isinstance(value, hoomd.variant.box.BoxVariant):
            value = hoomd.variant.box.Constant(hoomd.Box.from_box(value))
        self._target_box = value
        self._complete = False

    @property
    def max_overlaps_per_particle(self):
        return self._most_overlaps

    @max_overlaps_per_particle.setter
    def max_overlaps_per_particle(self, value):
        value = float(value)
        if not 0 <= value < math.inf:
            raise ValueError(
                f"max_overlaps_per_particle must be finite and not negative, got {value}"
            )
        self._most_overlaps = value

    @property
    def min_scale(self):
        return self._min_scale

    @min_scale.setter
    def min_scale(self, value):
        value = float(value)
        if not 0.5 <= value < 1:
            raise ValueError(f"min_scale must be from 0.5 to below 1, got {value}")
        self._min_scale = value
        self._step = 1 - value

    @property
    def complete(self):
        return self._complete

    def attach(self, simulation):
        super().attach(simulation)
        integrator = simulation.operations.integrator
        if not isinstance(integrator, HardParticles):
            raise RuntimeError(
                "hoomd.manymove.update.QuickCompress compresses particles of "
                f"hoomd.manymove.HardDisks and HardSpheres only, not {type(integrator).__name__}"
            )
        self._integrator = integrator
        self._step = 1 - self._min_scale
        self._begin_count()

    def detach(self):
        super().detach()
        self._integrator = None

    def _target(self, timestep):
        """The edges of the target box, that of z being 1 in two dimensions."""
        found = [float(each) for each in self._target_box(timestep)]
        flat = self._state.box.is2D
        if any(found[3:4] if flat else found[3:]):
            raise ValueError(
                "hoomd.manymove.update.QuickCompress needs a rectangular target_box without tilts; "
                f"xy, xz and yz are {', '.join(map(repr, found[3:]))}"
            )
        edges = [*found[:2], 1.0 if flat else found[2]]
        self._check_density(edges, 2 if flat else 3)
        return edges

    def _check_density(self, edges, D):
        now = self._state.box
        present = now.Lx * now.Ly * (1.0 if D == 2 else now.Lz)
        fraction = self._integrator.packing_fraction * present / math.prod(edges)
        sizes = {shape["diameter"] for shape in self._integrator.shape.values()}
        most, name = (_DENSEST[D], "densest packing") if len(sizes) == 1 else (1.0, "whole box")
        if fraction > most * (1 + 1e-9):
            raise ValueError(
                "hoomd.manymove.update.QuickCompress cannot reach target_box: its packing fraction "
                f"would be {fraction:.6g}, and that of the {name} is {most:.6g}"
            )

    def act(self, timestep):
        target = self._target(timestep)
        box = self._state.box
        now = [box.Lx, box.Ly, 1.0 if box.is2D else box.Lz]
        if now != target:
            self._keep_d_in_a_cell()
            scale = 1 - self._step
            edges = [
                max(to, edge * scale) if to < edge else min(to, edge / scale)
                for edge, to in zip(now, target, strict=True)
            ]
            integrator = self._integrator._cpp_obj
            self._attempts += 1
            # Scaling by 1 - s makes no overlap deeper than s, except for rounding.
            if integrator.resize(edges, self._step * (1 + 1e-6) + 1e-9, self._most_overlaps):
                self._gained += self._step
                self._step = min(2 * self._step, 1 - self._min_scale)
                now = edges
            else:
                self._shorten()
        self._complete = now == target
        if self._complete:
            self._begin_count()

    def _keep_d_in_a_cell(self):
        """Cells of the new box may be as narrow as the largest diameter."""
        d, shape = self._integrator.d, self._integrator.shape
        widest = max(each["diameter"] for each in shape.values())
        for name in d:
            d[name] = min(d[name], widest)

    def _begin_count(self):
        self._attempts, self._gained = 0, 0.0

    def _shorten(self):
        self._step = max(self._step / 2, _SHORTEST)
        if self._attempts < _ATTEMPTS:
            return
        gained = self._gained
        self._begin_count()
        if gained < _LEAST:
            raise RuntimeError(
                "hoomd.manymove.update.QuickCompress cannot reach target_box: at packing fraction "
                f"{self._integrator.packing_fraction:.6g} {_ATTEMPTS} steps have changed the edges "
                f"by {gained:.1g} of their lengths. The others made more overlaps than "
                "max_overlaps_per_particle, or overlaps that cannot be pushed apart. Use a less "
                "dense target, or a trigger with a longer period, so that the particles relax "
                "between two steps"
            )


class QuickCompress(hoomd.update.CustomUpdater):
    r"""Scales the box of `HardDisks` or `HardSpheres` to a target box.

    The arguments and their order are the same as for `hoomd.hpmc.update.QuickCompress`.

    Args:
        trigger (hoomd.trigger.trigger_like): When to make a step toward the target.
        target_box (hoomd.box.box_like or hoomd.variant.box.BoxVariant): Target box, without tilts.
        max_overlaps_per_particle (float): Largest number of overlaps per particle that a step may
            cause before the particles are pushed apart.
        min_scale (float): Smallest factor of the edges in a step, from 0.5 to below 1.
        allow_unsafe_resize (bool): False. HPMC relates its steps to the size of trial moves, which
            must remove the overlaps. Here overlapping particles are pushed apart at once.

    Attributes:
        target_box, max_overlaps_per_particle, min_scale, allow_unsafe_resize: The arguments, which
            can be assigned.
        instance (int): 0, because no random numbers are drawn.

    A step scales all edges and positions by a factor :math:`1 - s`, but no edge beyond its target.
    An edge that is shorter than its target grows by :math:`1 / (1 - s)`. Pairs then
    overlap by at most :math:`s` contact distances and are pushed apart, in the same way as overlaps
    of the initial configuration. If there are too many, or if they cannot be pushed
    apart, box and positions stay as they were and :math:`s` is halved, down to 1e-5. After a
    success it is doubled, up to ``1 - min_scale``. Therefore there are no overlaps between steps,
    and the trajectory depends on positions, seed and parameters only. It is the same on any number
    of ranks.

    The particles have to be equilibrated afterwards, because pushed particles are not a sample of
    the ensemble. A `d` above the largest diameter is reduced to this diameter, because the cells
    of the next box may be narrower. Use a tuner to adjust `d`.

    With a `BoxVariant`, `complete` is True if the box is that of the present time step.

    Example::

        compress = hoomd.manymove.update.QuickCompress(
            trigger=10, target_box=hoomd.Box.cube(10.0)
        )
        simulation.operations.updaters.append(compress)
        while not compress.complete:
            simulation.run(100)

    Raises:
        ValueError: an argument is not as described above; (in a run) the target box is denser than
            the densest packing of equal particles, or smaller than the volume of the particles of a
            mixture; the integrator has `box_moves`, or refuses the box.
        RuntimeError: (when attached) the integrator is neither `HardDisks` nor `HardSpheres`; (in a
            run) 100 successive steps have changed the edges by less than 2e-4 of their lengths.
    """

    def __init__(
        self,
        trigger,
        target_box,
        max_overlaps_per_particle=0.25,
        min_scale=0.99,
        allow_unsafe_resize=False,
    ):
        action = _Compress(target_box, max_overlaps_per_particle, min_scale, allow_unsafe_resize)
        super().__init__(trigger, action)

    def _setattr_hook(self, attr, value):
        attributes.check(self._action, attr)
        super()._setattr_hook(attr, value)

    @property
    def complete(self):
        """bool: Whether the box is the target box, without overlaps, since the last step."""
        return self.action.complete


class MuVT(hoomd.operation.Updater):
    r"""Inserts and deletes particles of `HardDisks` or `HardSpheres` at given fugacities.

    The arguments and their order are the same as for `hoomd.hpmc.update.MuVT`, and `attempts`
    follows them.

    Args:
        transfer_types (list[str]): Types of the particles that are inserted and deleted. The
            numbers of the others are constant.
        ngibbs (int): 1. For the Gibbs ensemble, use `manymove.GibbsEnsemble`.
        max_volume_rescale (float): Without effect, because it belongs to the Gibbs ensemble.
        volume_move_probability (float): Without effect, for the same reason.
        trigger (hoomd.trigger.trigger_like): Time steps in which particles are inserted and
            deleted.
        attempts (int): Trial insertions and deletions in each visit of a cell, 1 to 1000.

    In a step in which the updater is triggered, the integrator visits the cells of its checkerboard
    after each shift of the grid, all cells of a set at once. In a visit it makes `attempts`
    attempts. Each draws a type among `transfer_types` and, with equal probabilities, an insertion
    at a random place of the cell or the deletion of one of its particles. HPMC makes one attempt
    for the whole box instead. Therefore the number of attempts in a step is about the number of
    cells times `attempts`, for each of ``sweeps_per_step`` / 4 shifts (see the integrator); both
    have the same equilibrium. The engine is that of `manymove.HardSpheres` and
    `manymove.HardDisks` with the setting `manymove.GrandCanonical`, and the trajectory is the same.

    New particles have the properties that HPMC gives them: the mass and the diameter 1, the charge
    0, the image (0, 0, 0), and no body, velocity or rotation. The tags are always 0 to
    :math:`N - 1`. A new particle takes the lowest tag that is free. If more particles have gone
    than come, then those with the highest tags take the tags that remain free. A tag is therefore a
    name of the same particle only as long as none is deleted. A simulation may begin without
    particles.

    On several ranks the trajectory is the same as on one. In each step in which particles come or
    go, all ranks receive the positions of all particles, and on GPUs the arrays of HOOMD-blue go
    through the memory of the host. A longer period of the trigger saves this time.

    Example::

        muvt = hoomd.manymove.update.MuVT(transfer_types=["A"], trigger=1)
        muvt.fugacity["A"] = 0.5
        simulation.operations.updaters.append(muvt)

    Attributes:
        fugacity (TypeParameter[``particle type``, `hoomd.variant.Variant`]): Fugacity
            :math:`z = e^{\mu/kT} / \Lambda^D` of a type :math:`[\mathrm{length}^{-D}]`, the
            density of an ideal gas at the chemical potential :math:`\mu`. It must be positive for
            `transfer_types` when the updater is triggered (default 0).
        transfer_types, max_volume_rescale, volume_move_probability, trigger, attempts: The
            arguments, which can be assigned; `transfer_types` is a tuple.
        ngibbs (int): 1.
        ntrial (int): 1, because there are no depletants.

    Raises:
        ValueError: an argument is not as described above; (in a run) the fugacity of one of
            `transfer_types` is not positive, or the integrator has `box_moves`, `swap`, a type with
            a `d` of 0, springs, or external potentials that differ between the particle types.
        RuntimeError: (when attached) the integrator is neither `HardDisks` nor `HardSpheres`; (in a
            run) there are two such updaters.
    """

    ngibbs = Fixed(1, "use manymove.GibbsEnsemble")
    ntrial = Fixed(1, "there are no depletants here")
    max_volume_rescale, volume_move_probability = 0.1, 0.5  # without effect

    def __init__(
        self,
        transfer_types,
        ngibbs=1,
        max_volume_rescale=0.1,
        volume_move_probability=0.5,
        trigger=1,
        attempts=4,
    ):
        super().__init__(trigger)
        self._param_dict.update(ParameterDict(attempts=count("attempts", 1000)))
        self.transfer_types = transfer_types
        self.ngibbs = ngibbs
        self.max_volume_rescale = max_volume_rescale
        self.volume_move_probability = volume_move_probability
        self.attempts = attempts
        fugacity = TypeParameterDict(
            hoomd.variant.Variant, len_keys=1, _defaults=hoomd.variant.Constant(0.0)
        )
        self._extend_typeparam(
            [TypeParameter("fugacity", type_kind="particle_types", param_dict=fugacity)]
        )

    def _setattr_hook(self, attr, value):
        attributes.check(self, attr, [*self._param_dict, *self._typeparam_dict])
        super()._setattr_hook(attr, value)

    @property
    def transfer_types(self):
        return self._transfer_types  # a tuple: a list would lose what is appended to it

    @transfer_types.setter
    def transfer_types(self, value):
        if isinstance(value, str) or not all(isinstance(each, str) for each in value):
            raise TypeError(f"transfer_types must be a list of names of types, got {value!r}")
        if not value or len({*value}) < len(value):
            raise ValueError(f"transfer_types must have a type, and each once, got {value!r}")
        self._transfer_types = tuple(value)
        self._set_types()

    def _set_types(self):
        if self._simulation is None:
            return
        every = self._simulation.state.particle_types
        for name in self._transfer_types:
            if name not in every:
                raise ValueError(f"transfer_types has {name!r}, but the types are {every}")
        if self._attached:
            self._cpp_obj.transfer_types = self._transfer_types

    def _attach_hook(self):
        integrator = self._simulation.operations.integrator
        try:
            if not isinstance(integrator, HardParticles):
                raise RuntimeError(
                    "hoomd.manymove.update.MuVT inserts particles of hoomd.manymove.HardDisks and "
                    f"HardSpheres only, not {type(integrator).__name__}"
                )
            self._set_types()
        except Exception:
            self._use_count -= 1
            raise
        self._cpp_obj = _manymove.MuVT(self._simulation.state._cpp_sys_def, self.trigger)
        self._set_types()

    def _engine(self):
        return self._simulation.operations.integrator._cpp_obj

    @log(category="sequence", requires_run=True)
    def insert_moves(self):
        """tuple[int, int]: Accepted and rejected trial insertions since the start of the last
        run."""
        return tuple(self._engine().insert_moves)

    @log(category="sequence", requires_run=True)
    def remove_moves(self):
        """tuple[int, int]: Accepted and rejected trial deletions since the start of the last run.
        Those in cells without a particle of the type are rejected."""
        return tuple(self._engine().remove_moves)

    @log(category="sequence", requires_run=True)
    def exchange_moves(self):
        """tuple[int, int]: (0, 0), because there is a single box."""
        return (0, 0)

    @log(category="sequence", requires_run=True)
    def volume_moves(self):
        """tuple[int, int]: (0, 0), because there is a single box."""
        return (0, 0)

    @log(category="object")
    def N(self):
        """dict[str, int]: Number of particles of each type; None when not attached."""
        return self._engine().N if self._attached else None
