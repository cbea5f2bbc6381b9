"""The integrator."""

from __future__ import annotations

import math
import operator
import os

from hoomd.data.parameterdicts import ParameterDict, TypeParameterDict
from hoomd.data.typeconverter import OnlyTypes
from hoomd.data.typeparam import TypeParameter
from hoomd.error import DataAccessError, MutabilityError
from hoomd.logging import log
from hoomd.manymove import _manymove
from hoomd.manymove import pressure as _pressure
from hoomd.operation import Integrator


class _Range:
    """Refuses numbers that are not in [low, high) by the parameter's name."""

    def __init__(self, name, low, high, rule):
        self.name, self.low, self.high, self.rule = name, low, high, rule

    def __call__(self, value):
        if not self.low <= value < self.high:
            raise ValueError(f"{self.name} must be {self.rule}, got {value}")
        return value


def _count(name, most):
    return OnlyTypes(int, postprocess=_Range(name, 1, most + 1, f"from 1 to {most}"))


def _length(name):
    positive = _Range(name, math.ulp(0.0), math.inf, "positive and finite")
    return OnlyTypes(float, postprocess=positive)


def _depth(name):
    return OnlyTypes(float, postprocess=_Range(name, 0.0, math.inf, "finite and not negative"))


class Counters:
    """Trial moves since the start of the last run, as `hoomd.hpmc` names them.

    Attributes:
        translate (tuple[int, int]): accepted and rejected.
    """

    def __init__(self, translate):
        self.translate = translate


class HardDisks(Integrator):
    r"""Checkerboard Monte Carlo of hard disks (MPMC).

    Args:
        default_d (float): Default half edge of the square of trial displacements
            :math:`[\mathrm{length}]`.
        nselect (int): Trial moves in each occupied cell in a checkerboard sweep, 1 to 1024.
        sweeps_per_step (int): Checkerboard sweeps in a time step.
        repair_depth (float): Overlaps up to this depth, in diameters, are repaired when positions
            are read. Positions in single precision (GSD files) have such overlaps.
        threads (int): Number of threads of the CPU engine (default: all cores that the process
            may use, or one thread where there are several ranks or partitions).

    The box is cut into cells a diameter wide or a little more, the cells into four sets, and all
    cells of a set are updated at once: `nselect` trial moves of a cell's disks in random order,
    moves that leave the cell being rejected. A *checkerboard sweep* visits the four sets in
    random order. The grid is shifted at random after as many sweeps as divide `sweeps_per_step`,
    4 at most. The method is that of `Anderson 2013
    <https://dx.doi.org/10.1016/j.jcp.2013.07.023>`_; the engine is that of the package manymove,
    whose documentation has the proof of detailed balance.

    Displacements are uniform in a square, :math:`-d \le \Delta x, \Delta y \le d`
    (`hoomd.hpmc.integrate.Sphere`: in a disk of radius :math:`d`), to eight significant bits. A
    sweep makes about 3.6 trial moves per disk with ``nselect=4`` at packing fraction 0.7: count
    them with `translate_moves`.

    The trajectory is a function of the initial positions, the seed of the simulation and the
    parameters here, the same on every CPU and GPU. Positions that others change between two time
    steps are noticed and taken over, at the cost of a copy through the host.

    The box must be 2D and rectangular and at least three diameters wide, with all particles at
    z = 0; all particle types must have the same diameter and the same `d`.

    On several MPI ranks the trajectory is that of one. The engine divides the box into strips of
    its own, whose inactive borders move with the grid. After a step every rank fetches the
    positions of its particles and HOOMD-blue migrates them; that costs little on CPUs and much on
    GPUs, where ``sweeps_per_step`` should be large (once in a step, or in as many shifts of the
    grid as a domain is cells wide).

    Example::

        mc = hoomd.manymove.HardDisks(default_d=0.16)
        mc.shape["A"] = dict(diameter=1.0)
        simulation.operations.integrator = mc

    Attributes:
        shape (TypeParameter[``particle type``, dict]): ``diameter`` (float, **required**)
            :math:`[\mathrm{length}]`.
        d (TypeParameter[``particle type``, float]): Half edge of the square of trial displacements
            :math:`[\mathrm{length}]`, at most `max_d`.
        nselect (int): Trial moves in each occupied cell in a checkerboard sweep.
        sweeps_per_step (int): Checkerboard sweeps in a time step.
        repair_depth (float): Overlaps up to this depth, in diameters, are repaired.
        threads (int): Number of threads of the CPU engine, or `None`. It cannot be changed while
            the integrator is attached.

    Raises:
        ValueError: (at the start of a run) the box, the types or the particles are not as described
            above; `d` is larger than `max_d`; two disks overlap by more than `repair_depth` (the
            message has their tags and the depth); the box is too small for so many ranks.
        hoomd.error.MutabilityError: `threads` is set while the integrator is attached.
    """

    def __init__(
        self, default_d=0.1, nselect=4, sweeps_per_step=4, repair_depth=1e-4, threads=None
    ):
        self.threads = threads
        self._param_dict.update(
            ParameterDict(
                nselect=_count("nselect", 1024),
                sweeps_per_step=_count("sweeps_per_step", 10**6),
                repair_depth=_depth("repair_depth"),
            )
        )
        self.nselect = nselect
        self.sweeps_per_step = sweeps_per_step
        self.repair_depth = repair_depth
        d = TypeParameterDict(_length("d"), len_keys=1)
        d.default = default_d
        shape = TypeParameterDict(diameter=_length("diameter"), len_keys=1)
        self._extend_typeparam(
            [
                TypeParameter("d", type_kind="particle_types", param_dict=d),
                TypeParameter("shape", type_kind="particle_types", param_dict=shape),
            ]
        )

    @property
    def threads(self):
        return self._threads

    @threads.setter
    def threads(self, value):
        if self._attached:
            raise MutabilityError("threads")
        if value is not None and operator.index(value) < 1:
            raise ValueError(f"threads must be at least 1, got {value}")
        self._threads = value

    def _attach_hook(self):
        simulation = self._simulation
        simulation._warn_if_seed_unset()
        threads = self._threads
        if threads is None:
            communicator = simulation.device.communicator
            alone = communicator.num_partitions == communicator.num_ranks == 1
            threads = len(os.sched_getaffinity(0)) if alone else 1
        self._cpp_obj = _manymove.HardDisks(simulation.state._cpp_sys_def, threads)
        super()._attach_hook()

    @property
    def max_d(self):
        r"""float: Largest `d` that the present box allows :math:`[\mathrm{length}]`: the width of
        its narrowest cells, which is slightly more than one diameter. Available while the
        integrator is attached."""
        if not self._attached:
            raise DataAccessError("max_d")
        return self._cpp_obj.max_d

    @log(category="sequence", requires_run=True)
    def translate_moves(self):
        """tuple[int, int]: Accepted and rejected trial moves since the start of the last run."""
        return tuple(self._cpp_obj.translate_moves)

    @property
    def counters(self):
        """Counters: Trial moves since the start of the last run."""
        if not self._attached:
            raise DataAccessError("counters")
        return Counters(self.translate_moves)

    @log(requires_run=True)
    def mps(self):
        """float: Trial moves per second since the start of the last run."""
        return self._cpp_obj.mps

    @log(requires_run=True)
    def overlaps(self):
        """int: Overlapping pairs in the present configuration."""
        return self._cpp_obj.overlaps

    @log(requires_run=True)
    def pressure(self):
        r"""float: :math:`P^* = \beta P d^2` :math:`[\mathrm{dimensionless}]`, now.

        The value is that of the present configuration, from its pair distances near contact
        (section 4 of the paper). If the configuration has been changed, it is read and repaired
        first, as before a step. The value is linear in the counts of pairs, so that the mean over
        configurations is the estimate from all of them. Configurations a sweep apart are
        correlated; one in 10 to 100 is enough.
        """
        counts = self._cpp_obj.contact_histogram(_pressure.DELTA_R, _pressure.BINS)
        return float(
            _pressure.pressure_from_histogram(
                counts, 1, self._simulation.state.N_particles, self._cpp_obj.packing_fraction
            )
        )

    @log(requires_run=True)
    def betaP(self):
        r"""float: :math:`\beta P` of the present configuration :math:`[\mathrm{length}^{-2}]`."""
        return self.pressure / self._cpp_obj.diameter**2

    @log(category="string", requires_run=True)
    def state_hash(self):
        """str: 16 hexadecimal digits from all positions and counters, the same on every machine."""
        return f"{self._cpp_obj.state_hash:016x}"

    @property
    def repaired(self):
        """dict: Overlaps repaired when positions were last read: their ``count`` and greatest
        ``depth`` in diameters."""
        if not self._attached:
            raise DataAccessError("repaired")
        return self._cpp_obj.repaired
