"""Tuning of the displacement to an acceptance."""

from __future__ import annotations

import hoomd
from hoomd.manymove.hard_particles import HardParticles
from hoomd.tune import ManualTuneDefinition, ScaleSolver, SecantSolver


class _Solve(hoomd.custom.Action):
    """A step of the solver, with the acceptance since the last one."""

    def __init__(self, target, solver, max_translation_move):
        self.target = target
        self.solver = solver
        self.max_translation_move = max_translation_move
        self.tuned = False
        self._integrator = None
        self._seen = (0, 0)
        self._acceptance = None
        self._definition = ManualTuneDefinition(
            get_y=self._get_acceptance,
            target=target,
            get_x=self._get_d,
            set_x=self._set_d,
        )

    def _get_acceptance(self):
        return self._acceptance

    def _get_d(self):
        return next(iter(self._integrator.d.values()))

    def _set_d(self, d):
        for name in self._integrator.d:
            self._integrator.d[name] = d

    def attach(self, simulation):
        integrator = simulation.operations.integrator
        if not isinstance(integrator, HardParticles):
            raise RuntimeError(
                "hoomd.manymove.tune.MoveSize tunes hoomd.manymove.HardDisks and HardSpheres only, "
                f"not {type(integrator).__name__}"
            )
        self._integrator = integrator
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
        largest = min(self.max_translation_move, self._integrator.max_d)
        self._definition.domain = (1e-6, largest)
        self.tuned = self.solver.solve([self._definition])


class MoveSize(hoomd.tune.CustomTuner):
    """Tunes `d` of `HardDisks` or `HardSpheres` to an acceptance; all types have the same.

    Args:
        trigger (hoomd.trigger.trigger_like): When to tune.
        target (float): Wanted acceptance, in (0, 1).
        solver (hoomd.tune.RootSolver): How; see also `scale_solver` and `secant_solver`.
        max_translation_move (float): Largest `d` to try. The tuner never exceeds
            their `max_d`, whatever is given here.

    In a dilute system the acceptance stays above the target at the largest `d`. The tuner then
    keeps that `d`, and `tuned` remains False.

    Stop tuning before a production run: detailed balance needs a constant `d`. Every change of `d`
    makes the engine read all positions again.

    Raises:
        ValueError: target is not in (0, 1).
        RuntimeError: (when attached) the integrator is neither `HardDisks` nor `HardSpheres`.
    """

    def __init__(self, trigger, target, solver, max_translation_move):
        if not 0 < target < 1:
            raise ValueError(f"target must be between 0 and 1, got {target}")
        super().__init__(trigger, _Solve(target, solver, max_translation_move))

    @property
    def target(self):
        """float: Wanted acceptance."""
        return self.action.target

    @property
    def tuned(self):
        """bool: Whether the acceptance was within the solver's tolerance at the last step."""
        return self.action.tuned

    @classmethod
    def scale_solver(
        cls, trigger, target, max_translation_move, max_scale=2.0, gamma=1.0, tol=1e-2
    ):
        """With `hoomd.tune.ScaleSolver`."""
        solver = ScaleSolver(max_scale, gamma, "negative", tol)
        return cls(trigger, target, solver, max_translation_move)

    @classmethod
    def secant_solver(cls, trigger, target, max_translation_move, gamma=0.8, tol=1e-2):
        """With `hoomd.tune.SecantSolver`."""
        return cls(trigger, target, SecantSolver(gamma, tol), max_translation_move)
