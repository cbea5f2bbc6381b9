"""Compression to a target box."""

from __future__ import annotations

import math

import hoomd
from hoomd.manymove import attributes
from hoomd.manymove.hard_particles import HardParticles

# Shortest step as a fraction of the edges, about the gap that the repair of an overlap opens.
# Shorter steps would not reach a target in a reasonable time.
_SHORTEST = 1e-5
# The run ends with an error if this many successive steps change the edges by less than this part
# of their lengths.
_ATTEMPTS, _LEAST = 100, 2e-4
_DENSEST = {2: math.pi / math.sqrt(12), 3: math.pi / math.sqrt(18)}


class _Compress(hoomd.custom.Action):
    """A step toward the target box."""

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
    def allow_unsafe_resize(self):
        return False

    @allow_unsafe_resize.setter
    def allow_unsafe_resize(self, value):
        if value is not False:
            raise ValueError(
                f"allow_unsafe_resize must be False, got {value!r}: overlaps are pushed apart at "
                "once, and no step depends on d"
            )

    @property
    def instance(self):
        return 0

    @instance.setter
    def instance(self, value):
        if value != 0:
            raise ValueError(f"instance must be 0, got {value!r}: no random numbers are drawn")

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
