"""What the integrators of hard disks and of hard spheres share."""

from __future__ import annotations

import functools

import numpy as np
from hoomd.data.parameterdicts import ParameterDict, TypeParameterDict
from hoomd.data.syncedlist import SyncedList
from hoomd.data.typeconverter import RequiredArg
from hoomd.data.typeparam import TypeParameter
from hoomd.error import DataAccessError, IncompleteSpecificationError
from hoomd.logging import log
from hoomd.manymove import _manymove, attributes, external, moves
from hoomd.manymove import pressure as _pressure
from hoomd.manymove.integrator import ManymoveIntegrator
from hoomd.manymove.parameters import OnlyFalse, count, length, not_negative


class Counters:
    """Trial moves since the start of the last run, as `hoomd.hpmc` names them.

    Attributes:
        translate (tuple[int, int]): accepted and rejected.
        rotate (tuple[int, int]): (0, 0), because particles have no orientation.
        overlap_errors (int): 0, because positions in the engine are integers of a lattice, and each
            overlap is decided.
    """

    rotate = (0, 0)
    overlap_errors = 0

    def __init__(self, translate):
        self.translate = translate

    @property
    def overlap_checks(self):
        """Not available: the engine does not count overlap checks."""
        raise AttributeError(
            "counters.overlap_checks: hoomd.manymove does not count overlap checks"
        )


# What `hoomd.hpmc.integrate.Sphere` has and these integrators do not.
_ONLY_HPMC = frozenset(
    [
        "a",
        "depletant_fugacity",
        "depletant_ntrial",
        "interaction_matrix",
        "kT",
        "map_overlaps",
        "pair_potential",
        "rotate_moves",
        "translation_move_probability",
    ]
)


class HardParticles(ManymoveIntegrator):
    """The common base of `HardDisks` and `HardSpheres`."""

    def __init__(
        self,
        default_d=0.1,
        nselect=4,
        sweeps_per_step=4,
        repair_depth=1e-4,
        threads=None,
        box_moves=None,
        swap=None,
        tile=None,
        **unavailable,
    ):
        for name in unavailable:
            if name.removeprefix("default_") in _ONLY_HPMC:
                raise TypeError(self._only_hpmc(name))
            raise TypeError(f"hoomd.manymove.{type(self).__name__} has no argument {name}")
        self.threads = threads
        self.tile = tile
        self.box_moves = box_moves
        self.swap = swap
        self.external_potential = None
        self.external_potentials = ()
        self.pair_potentials = ()
        self._fields, self._steps = [], []
        self._param_dict.update(
            ParameterDict(
                nselect=count("nselect", 1024),
                sweeps_per_step=count("sweeps_per_step", 10**6),
                repair_depth=not_negative("repair_depth"),
            )
        )
        self.nselect = nselect
        self.sweeps_per_step = sweeps_per_step
        self.repair_depth = repair_depth
        d = TypeParameterDict(not_negative("d"), len_keys=1)
        d.default = default_d
        shape = TypeParameterDict(
            diameter=length("diameter"),
            orientable=OnlyFalse("orientable", "these particles have no orientation"),
            ignore_statistics=OnlyFalse(
                "ignore_statistics", "moves are counted for all types together"
            ),
            len_keys=1,
        )
        shape.default = dict(orientable=False, ignore_statistics=False)
        self._extend_typeparam(
            [
                TypeParameter("d", type_kind="particle_types", param_dict=d),
                TypeParameter("shape", type_kind="particle_types", param_dict=shape),
            ]
        )

    def _setattr_hook(self, attr, value):
        self._refuse_hpmc(attr)
        super()._setattr_hook(attr, value)

    def _getattr_hook(self, attr):
        self._refuse_hpmc(attr)
        return super()._getattr_hook(attr)

    def _refuse_hpmc(self, attr):
        if attr in _ONLY_HPMC:
            raise AttributeError(self._only_hpmc(attr))

    def _only_hpmc(self, name):
        return (
            f"hoomd.manymove.{type(self).__name__} has no {name}: it moves hard particles without "
            "orientation or depletants (hoomd.hpmc.integrate.Sphere has it)"
        )

    @property
    def tile(self):
        return self._tile

    @tile.setter
    def tile(self, value):
        self._tile = None if value is None else moves.count("tile", value, 2**31 - 1)
        if self._attached:
            self._cpp_obj.setTile(self._tile or 0)

    @property
    def box_moves(self):
        return self._box_moves and attributes.ReadOnly("box_moves", self._box_moves)

    @box_moves.setter
    def box_moves(self, value):
        self._box_moves = moves.box_moves(value)
        self._set_moves()

    @property
    def swap(self):
        return self._swap and attributes.ReadOnly("swap", self._swap)

    @swap.setter
    def swap(self, value):
        self._swap = moves.swap(value)
        self._set_moves()

    @property
    def external_potential(self):
        return self._external_potential

    @external_potential.setter
    def external_potential(self, value):
        if value is not None:
            external.check("external_potential", value)
        self._external_potential = value

    @property
    def external_potentials(self):
        return self._external_potentials

    @external_potentials.setter
    def external_potentials(self, value):
        checked = functools.partial(external.check, "external_potentials")
        self._external_potentials = SyncedList(checked, iterable=value, attach_members=False)

    @property
    def pair_potentials(self):
        return self._pair_potentials

    @pair_potentials.setter
    def pair_potentials(self, value):
        checked = external.check_pair
        self._pair_potentials = SyncedList(checked, iterable=value, attach_members=False)

    def _prepare(self):
        self._set_fields()
        self._set_muvt()

    def _set_fields(self):
        one = self._external_potential
        potentials = [*([] if one is None else [one]), *self._external_potentials]
        types = self._simulation.state.particle_types
        fields = external.described(potentials, types, self._DIMENSIONS)
        if fields != self._fields:
            self._cpp_obj.setFields(fields)
        self._fields = fields
        diameters = {name: self.shape[name]["diameter"] for name in types}
        steps = external.steps(self._pair_potentials, diameters)
        if steps != self._steps:
            self._cpp_obj.setSteps(steps)
        self._steps = steps

    def _set_muvt(self):
        """Give the C++ object the updater of insertions and deletions, if there is one."""
        updaters = self._simulation.operations.updaters
        objects = [getattr(each, "_cpp_obj", None) for each in updaters]
        found = [each for each in objects if isinstance(each, _manymove.MuVT)]
        if len(found) > 1:
            raise RuntimeError(
                f"simulation.operations has {len(found)} updaters hoomd.manymove.update.MuVT: "
                "give all types to one of them"
            )
        self._cpp_obj.setMuVT(found[0] if found else None)

    def _set_moves(self):
        if not self._attached:
            return
        of_box, swap = self._box_moves, self._swap
        betaP = None if of_box is None else of_box["betaP"]
        self._cpp_obj.setPressure(betaP if callable(betaP) else None)
        if of_box is None:
            self._cpp_obj.setBoxMoves(0.0, True, False, 0.0, [1.0] * 3, [0.0] * 3, [0.0] * 3)
        else:
            now = moves.pressure(betaP, self._simulation.timestep)
            self._cpp_obj.setBoxMoves(now, *self._kinds(of_box))
        if swap is None:
            self._cpp_obj.setSwap(0, 0.0, 1)
        else:
            self._cpp_obj.setSwap(swap["rounds"], swap["range"] or 0.0, swap["every"])

    def _kinds(self, of_box):
        """The kinds of box moves, as the C++ object has them."""
        found = moves.kinds(of_box, self._DIMENSIONS)
        mode, weights = found.get("mode"), found.get("weights")
        deltas = (found["delta"] or {}) if weights else {mode: found["delta"]}
        shares = [1.0] * 3
        if isinstance(length := deltas.get("length"), tuple):
            deltas["length"] = most = max(length)
            shares = ([each / most for each in length] + shares)[:3]
        one = 0.0 if weights else deltas[mode] or 0.0
        each = [
            [given.get(kind, 0.0) for kind in moves.KINDS] if weights else [0.0] * 3
            for given in (weights, deltas)
        ]
        return mode == "ln", mode == "length" or bool(weights), one, shares, *each

    def _make_engine(self, state, threads):
        self._check_shapes(state.particle_types)
        return _manymove.HardParticles(state._cpp_sys_def, self._DIMENSIONS, threads)

    def _attach_hook(self):
        super()._attach_hook()
        self._fields, self._steps = [], []  # of the new C++ object
        self._cpp_obj.setTile(self._tile or 0)
        self._set_moves()

    def _check_shapes(self, types):
        for name in types:
            if self.shape[name]["diameter"] is RequiredArg:
                raise IncompleteSpecificationError(
                    f"hoomd.manymove.{type(self).__name__} needs the diameter of each particle "
                    f'type: shape["{name}"] = dict(diameter=...) is missing'
                )

    @property
    def max_d(self):
        r"""float: Largest `d` that the present box allows :math:`[\mathrm{length}]`: the width of
        its narrowest cells, which is slightly more than the largest diameter. Available while the
        integrator is attached."""
        if not self._attached:
            raise DataAccessError("max_d")
        return self._cpp_obj.max_d

    @log(category="object", requires_run=True)
    def type_shapes(self):
        """list[dict]: Shapes of the particle types, as `hoomd.hpmc.integrate.Sphere` has them."""
        return [
            {"type": "Sphere", "diameter": self.shape[name]["diameter"]}
            for name in self._simulation.state.particle_types
        ]

    @log(category="sequence", requires_run=True)
    def translate_moves(self):
        """tuple[int, int]: Accepted and rejected trial moves since the start of the last run."""
        return tuple(self._cpp_obj.translate_moves)

    @log(category="sequence", requires_run=True)
    def volume_moves(self):
        """tuple[int, int]: Accepted and rejected trial changes of the volume and of edges since the
        start of the last run."""
        return tuple(self._cpp_obj.volume_moves)

    @log(category="sequence", requires_run=True)
    def aspect_moves(self):
        """tuple[int, int]: Accepted and rejected trial changes of the aspect ratio since the start
        of the last run."""
        return tuple(self._cpp_obj.aspect_moves)

    @log(category="sequence", requires_run=True)
    def swap_moves(self):
        """tuple[int, int]: Accepted and rejected trial swaps since the start of the last run."""
        return tuple(self._cpp_obj.swap_moves)

    @log(requires_run=True)
    def packing_fraction(self):
        """float: Part of the box that the particles cover."""
        return self._cpp_obj.packing_fraction

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
    def external_energy(self):
        r"""float: Energy of all particles in the external potentials :math:`[kT]`."""
        return self._cpp_obj.external_energy

    @log(requires_run=True)
    def pair_energy(self):
        r"""float: Energy of all pairs in the pair potentials :math:`[kT]`."""
        return self._cpp_obj.pair_energy

    @log(requires_run=True)
    def overlaps(self):
        """int: Overlapping pairs in the present configuration."""
        return self._cpp_obj.overlaps

    @log(requires_run=True)
    def pressure(self):
        r"""float: :math:`P^* = \beta P d^D` :math:`[\mathrm{dimensionless}]`, now, where
        :math:`D` is the number of dimensions.

        :math:`d` is the diameter; in a mixture, :math:`d^D` is the mean over the particles. The
        value belongs to the present configuration, from its pair distances near contact (section 4
        of the paper). If the configuration has been changed, it is read and repaired first, as
        before a step. The value is linear in the counts of pairs, so that the mean over
        configurations is the estimate from all of them. Configurations a sweep apart are
        correlated; one in 10 to 100 is enough. With `pair_potentials` there is a term for each of
        their ranges, from the pair distances on both sides of it.
        """
        if self._simulation.state.N_particles == 0:
            return 0.0
        filled, mixed = self._cpp_obj.packing_fraction, len(set(self._sizes())) > 1
        count, steps = self._cpp_obj.contact_histogram, self._steps_of_pairs()

        def contacts(width, bins):  # before the histograms of steps
            return count(width, bins)[: len(steps) * bins]

        width = _pressure.bin_width(filled, self._DIMENSIONS, contacts if mixed else None)
        counts = count(width, _pressure.BINS)
        if not any(steps):  # with insertions each pair of types has a histogram
            counts = np.reshape(counts, (-1, _pressure.BINS)).sum(axis=0)
        return float(
            _pressure.pressure_from_histogram(
                counts,
                1,
                self._simulation.state.N_particles,
                filled,
                width,
                dimensions=self._DIMENSIONS,
                steps=steps,
            )
        )

    def _sizes(self):
        return [self.shape[name]["diameter"] for name in self._simulation.state.particle_types]

    def _steps_of_pairs(self):
        """The steps of the engine in contact distances, for each pair of types."""
        sizes = self._sizes()
        contacts = np.add.outer(sizes, sizes) / 2
        tables = np.reshape(self._steps, (-1, 2, *contacts.shape))
        return _pressure.steps_of_pairs(tables, contacts)

    @log(requires_run=True)
    def betaP(self):
        r"""float: :math:`\beta P` of the present configuration
        :math:`[\mathrm{length}^{-D}]`."""
        if self._simulation.state.N_particles == 0:
            return 0.0  # with insertions; there is no diameter
        return self.pressure / self._cpp_obj.diameter**self._DIMENSIONS

    @log(category="string", requires_run=True)
    def state_hash(self):
        """str: 16 hexadecimal digits from all positions and counters, the same on every machine."""
        return f"{self._cpp_obj.state_hash:016x}"

    @property
    def repaired(self):
        """dict: Overlaps repaired when positions were last read: their ``count`` and greatest
        ``depth`` in contact distances, which are diameters for particles of one size."""
        if not self._attached:
            raise DataAccessError("repaired")
        return self._cpp_obj.repaired
