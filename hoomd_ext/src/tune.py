"""Tuning of the displacement to an acceptance."""

from __future__ import annotations

import math

import hoomd
from hoomd.manymove import attributes
from hoomd.manymove.hard_particles import HardParticles
from hoomd.manymove.parameters import Fixed
from hoomd.tune import ManualTuneDefinition, ScaleSolver, SecantSolver

_NO_ROTATION = "these particles have no orientation"


class _Solve(hoomd.custom.Action):
    """A step of the solver, with the acceptance since the last one."""

    max_rotation_move = Fixed(None, _NO_ROTATION)

    def __init__(self, moves, target, solver, types, max_translation_move, max_rotation_move):
        self.solver = solver
        self._tuned = False
        self._integrator = None
        self._seen = (0, 0)
        self._acceptance = None
        self._definition = ManualTuneDefinition(
            get_y=self._get_acceptance,
            target=_checked_target(target),
            get_x=self._get_d,
            set_x=self._set_d,
        )
        self.moves = moves
        self.types = types
        self.max_translation_move = max_translation_move
        self.max_rotation_move = max_rotation_move

    @property
    def moves(self):
        return ["d"]

    @moves.setter
    def moves(self, value):
        if isinstance(value, str) or list(value) != ["d"]:
            raise ValueError(f"moves must be ['d'], got {value!r}: {_NO_ROTATION}")

    @property
    def target(self):
        return self._definition.target

    @target.setter
    def target(self, value):
        self._definition.target = _checked_target(value)

    @property
    def types(self):
        return self._types

    @types.setter
    def types(self, value):
        self._types = None if value is None else list(value)
        self._check_types()

    @property
    def max_translation_move(self):
        return self._longest

    @max_translation_move.setter
    def max_translation_move(self, value):
        if value is not None and not 0 < value < math.inf:
            raise ValueError(f"max_translation_move must be positive and finite, got {value}")
        self._longest = value

    @property
    def tuned(self):
        return self._tuned

    def _check_types(self):
        if self._integrator is None or self._types is None:
            return
        every = self._integrator._simulation.state.particle_types
        if {*self._types} != {*every}:
            raise RuntimeError(
                f"hoomd.manymove.tune.MoveSize tunes the one d of all types, {every}, but types "
                f"has {self._types}: leave out types"
            )

    def _get_acceptance(self):
        return self._acceptance

    def _moving(self):
        """The types whose particles move, with their d."""
        return {name: d for name, d in self._integrator.d.items() if d}

    def _get_d(self):
        return next(iter(self._moving().values()))

    def _set_d(self, d):
        for name in self._moving():
            self._integrator.d[name] = d

    def attach(self, simulation):
        integrator = simulation.operations.integrator
        if not isinstance(integrator, HardParticles):
            raise RuntimeError(
                "hoomd.manymove.tune.MoveSize tunes hoomd.manymove.HardDisks and HardSpheres only, "
                f"not {type(integrator).__name__}"
            )
        self._integrator = integrator
        try:
            self._check_types()
        except RuntimeError:
            self._integrator = None
            raise
        self._seen = tuple(integrator._cpp_obj.all_moves) if integrator._attached else (0, 0)

    def detach(self):
        self._integrator = None

    def act(self, timestep):
        now = self._integrator._cpp_obj.all_moves
        accepted, rejected = now[0] - self._seen[0], now[1] - self._seen[1]
        self._seen = now
        if accepted + rejected == 0:
            return
        self._acceptance = accepted / (accepted + rejected)
        largest = self._integrator.max_d
        self._definition.domain = (1e-6, min(self._longest or largest, largest))
        self._tuned = self.solver.solve([self._definition])


def _checked_target(target):
    if not 0 < target < 1:
        raise ValueError(f"target must be between 0 and 1, got {target}")
    return target


class MoveSize(hoomd.tune.CustomTuner):
    """Tunes `d` of `HardDisks` or `HardSpheres` to an acceptance; all types have the same.

    The arguments and their order are the same as for `hoomd.hpmc.tune.MoveSize`.

    Args:
        trigger (hoomd.trigger.trigger_like): When to tune.
        moves (list[str]): ``["d"]``, the only size that can be tuned.
        target (float): Wanted acceptance, in (0, 1).
        solver (hoomd.tune.RootSolver): How; see also `scale_solver` and `secant_solver`.
        types (list[str]): `None`, or the names of all particle types, which have one `d`, except
            that types with a `d` of 0 keep it.
        max_translation_move (float): Largest `d` to try, or `None`. The tuner never exceeds
            their `max_d`, whatever is given here.
        max_rotation_move (float): `None`, because there are no rotations.

    Attributes:
        moves, target, solver, types, max_translation_move, max_rotation_move: The arguments, which
            can be assigned.

    In a dilute system the acceptance stays above the target at the largest `d`. The tuner then
    keeps that `d`, and `tuned` remains False.

    Stop tuning before a production run, because detailed balance needs a constant `d`. Every change
    of `d` makes the engine read all positions again.

    Raises:
        ValueError: an argument is not as described above.
        RuntimeError: (when attached) the integrator is neither `HardDisks` nor `HardSpheres`, or
            `types` lacks one of the particle types.
    """

    def __init__(
        self,
        trigger,
        moves,
        target,
        solver,
        types=None,
        max_translation_move=None,
        max_rotation_move=None,
    ):
        action = _Solve(moves, target, solver, types, max_translation_move, max_rotation_move)
        super().__init__(trigger, action)

    def _setattr_hook(self, attr, value):
        attributes.check(self._action, attr)
        super()._setattr_hook(attr, value)

    @property
    def tuned(self):
        """bool: Whether the acceptance was within the solver's tolerance at the last step."""
        return self.action.tuned

    @classmethod
    def scale_solver(
        cls,
        trigger,
        moves,
        target,
        types=None,
        max_translation_move=None,
        max_rotation_move=None,
        max_scale=2.0,
        gamma=1.0,
        tol=1e-2,
    ):
        """With `hoomd.tune.ScaleSolver`."""
        solver = ScaleSolver(max_scale, gamma, "negative", tol)
        return cls(trigger, moves, target, solver, types, max_translation_move, max_rotation_move)

    @classmethod
    def secant_solver(
        cls,
        trigger,
        moves,
        target,
        types=None,
        max_translation_move=None,
        max_rotation_move=None,
        gamma=0.8,
        tol=1e-2,
    ):
        """With `hoomd.tune.SecantSolver`."""
        solver = SecantSolver(gamma, tol)
        return cls(trigger, moves, target, solver, types, max_translation_move, max_rotation_move)
