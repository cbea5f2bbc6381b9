"""What the integrators share."""

from __future__ import annotations

import functools
import os
import weakref

import hoomd.version
from hoomd.error import MutabilityError
from hoomd.manymove import attributes, hpmc, moves
from hoomd.operation import Integrator


class ManymoveIntegrator(Integrator):
    """The common base of `DPD` and `HardParticles`, which make the C++ object in `_make_engine`."""

    @property
    def threads(self):
        return self._threads

    @threads.setter
    def threads(self, value):
        if self._attached:
            raise MutabilityError("threads")
        self._threads = None if value is None else moves.count("threads", value, 2**31 - 1)

    def _setattr_hook(self, attr, value):
        attributes.check(self, attr, [*self._param_dict, *self._typeparam_dict])
        super()._setattr_hook(attr, value)

    def _attach_hook(self):
        simulation = self._simulation
        simulation._warn_if_seed_unset()
        try:
            # In a first run HOOMD-blue attaches them next, and its own errors come first.
            if not simulation.operations._scheduled:
                self._refuse_operations()
            threads = self._threads or default_threads(simulation.device)
            self._cpp_obj = self._make_engine(simulation.state, threads)
        except Exception:
            # Otherwise HOOMD-blue takes the integrator for attached, and runs without it.
            self._use_count -= 1
            raise
        super()._attach_hook()
        self._cpp_obj.setCheck(functools.partial(_prepare, weakref.ref(self)))

    def _refuse_operations(self):
        hpmc.refuse(self._simulation.operations, f"hoomd.manymove.{type(self).__name__}")


def _prepare(reference):
    """Give the engine what a script can change between runs, and refuse operations of HPMC. The
    reference is weak, because a strong one would close a cycle through the C++ object, which calls
    this function. HOOMD-blue keeps that object when the integrator is set to None."""
    integrator = reference()
    if integrator is not None and integrator._simulation is not None:
        integrator._refuse_operations()
        integrator._prepare()


def default_threads(device):
    """Default number of threads: one if there are several ranks or partitions, otherwise the cores
    that the process may use, but at most the threads of a HOOMD-blue with threads."""
    communicator = device.communicator
    if communicator.num_partitions * communicator.num_ranks > 1:
        return 1
    cores = len(os.sched_getaffinity(0))
    return min(cores, device.num_cpu_threads) if hoomd.version.tbb_enabled else cores
