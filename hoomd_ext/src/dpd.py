"""The integrator of dissipative particle dynamics."""

from __future__ import annotations

import itertools
import math
from types import MappingProxyType

import hoomd
from hoomd.data.parameterdicts import ParameterDict, TypeParameterDict
from hoomd.data.typeconverter import RequiredArg
from hoomd.data.typeparam import TypeParameter
from hoomd.error import DataAccessError, IncompleteSpecificationError
from hoomd.logging import log
from hoomd.manymove import _manymove
from hoomd.manymove.integrator import ManymoveIntegrator
from hoomd.manymove.parameters import Number, length, not_negative
from hoomd.variant import Variant

_EXCLUSIONS = (
    "bond", "angle", "dihedral", "special_pair", "constraint", "body", "1-3", "1-4",
)  # fmt: skip
_PRECISIONS = ("mixed", "double")
_NAME = "hoomd.manymove.DPD"


def _listed(name, value):
    """The value as a list; None is an empty one, as in md. The name is for the error."""
    try:
        return [] if value is None else list(value)
    except TypeError:
        raise TypeError(f"{name} must be a sequence, got {value!r}") from None


def _class_name(force):
    """The public name of the class of an object: ``hoomd.md.bond.Harmonic``."""
    kind = type(force)
    folders = kind.__module__.split(".")
    return ".".join([*(folders[:3] if folders[0] == "hoomd" else folders), kind.__name__])


class DPD(ManymoveIntegrator):
    r"""Dissipative particle dynamics at constant volume, in the resident engine of manymove.

    Args:
        dt (float): Integration time step :math:`[\mathrm{time}]`.
        kT (`hoomd.variant` or float): Temperature of the thermostat :math:`[\mathrm{energy}]`.
        default_r_cut (float): Default cutoff radius :math:`[\mathrm{length}]`.
        buffer (float): Buffer of the neighbor list :math:`[\mathrm{length}]`.
        forces (list): Forces on the bonds and angles of the state: objects of the classes
            `hoomd.md.bond.Harmonic`, `hoomd.md.bond.FENEWCA` with ``delta`` 0, and
            `hoomd.md.angle.Harmonic`.
        filter (hoomd.filter.filter_like): Particles that move (default: all). The others are
            fixed, and exert forces.
        exclusions (tuple[str]): Pairs of particles without pair forces, as in
            `hoomd.md.nlist.NeighborList`: ``"bond"``, ``"angle"``, ``"dihedral"``,
            ``"special_pair"``, ``"constraint"``, ``"body"`` (bodies of up to 128 particles),
            ``"1-3"`` and ``"1-4"``. Meshes (``"meshbond"``) are not available.
        precision (str): ``"mixed"`` or ``"double"``. In ``"mixed"``, pair forces are float32, their
            sums are integers, and positions are 32-bit fractions of the box. In ``"double"``,
            forces are float64, and positions are 64-bit fractions.
        threads (int): Number of threads of the CPU engine. The default is one thread where there
            are several partitions. Otherwise it is all cores that the process may use, or
            ``device.num_cpu_threads`` if HOOMD-blue was built with threads (TBB) and they are
            fewer.

    `DPD` replaces `hoomd.md.Integrator` with the method `hoomd.md.methods.ConstantVolume`, the pair
    force `hoomd.md.pair.DPD` and its neighbor list. Velocity Verlet integrates the forces

    .. math::

        F = A w(r) - \gamma w(r)^{2s} (\hat{r} \cdot v)
        + \sqrt{2 \gamma kT / \Delta t} \; w(r)^s \xi,
        \qquad w(r) = 1 - r / r_\mathrm{cut},

    of pairs and those of bonds and angles. :math:`\xi` is a normal variable for each pair and time
    step, a function of the seed of the simulation, the time step and the two tags. In
    `hoomd.md.pair.DPD`, :math:`s` is 1 and :math:`\xi` is uniform with the same variance.

    Particles stay in the engine, on the GPU if the device is one. HOOMD-blue's arrays are updated
    at those time steps at which a writer, an updater or a tuner is triggered, and at the end of a
    run. Particles and parameters that an operation or a script has changed are noticed and taken
    over, at the cost of a new engine. Output does not affect the trajectory, and two runs of 10
    steps make the same trajectory as one of 20.

    `hoomd.md.compute.ThermodynamicQuantities` works. Potential energy and virial are known of the
    whole system only, and each compute has them whatever its filter is. The virial contains all
    forces; `hoomd.md.pair.DPD` leaves friction and noise out, whose mean is zero.

    The box must be 3D and, across each pair of faces, at least twice the largest cutoff wide. It
    may be tilted. Particles of a type may have different masses, as long as there are at most 256
    pairs of a type and a mass. A state with rigid bodies is refused. Particles of floppy bodies
    (``body`` below -1) move like all others.

    On several MPI ranks the engine has HOOMD-blue's domains. Trajectories on one and on several
    ranks differ by the order of sums only.

    Example::

        dpd = hoomd.manymove.DPD(dt=0.04, kT=1.0, default_r_cut=1.0)
        dpd.params[("A", "A")] = dict(A=25.0, gamma=4.5)
        simulation.operations.integrator = dpd

    Attributes:
        params (TypeParameter[tuple[``particle_type``, ``particle_type``], dict]): ``A`` (float,
            **required**) :math:`[\mathrm{force}]`, ``gamma`` (float, **required**)
            :math:`[\mathrm{mass} \cdot \mathrm{time}^{-1}]`, and ``weight_exponent`` (float),
            :math:`s` (default 1).
        r_cut (TypeParameter[tuple[``particle_type``, ``particle_type``], float]): Cutoff radius
            :math:`[\mathrm{length}]`. Pairs with a cutoff of 0 have no forces.
        dt (float): Integration time step :math:`[\mathrm{time}]`.
        kT (hoomd.variant.Variant): Temperature of the thermostat :math:`[\mathrm{energy}]`.
        buffer (float): Buffer of the neighbor list :math:`[\mathrm{length}]`.
        forces (list): Forces on bonds and angles. Their parameters are read when a run begins.
        filter (hoomd.filter.filter_like): Particles that move. It cannot be changed.
        exclusions (tuple[str]): Pairs of particles without pair forces.
        precision (str): ``"mixed"`` or ``"double"``. It cannot be changed.
        threads (int): Number of threads of the CPU engine, or `None`. It cannot be changed while
            the integrator is attached.

    Raises:
        ValueError: (at the start of a run) the box or the particles are not as described above, or
            a force is not one of those in `forces`; (in a run) kT is negative.
        RuntimeError: a particle moves by a quarter of the box in one step, or a bond is broken; the
            message has its tag. Also (at the start of a run) a rank has several GPUs, or
            ``simulation.operations`` has an operation that works with HPMC's integrator only.
        hoomd.error.MutabilityError: `threads` is set while the integrator is attached.
    """

    def __init__(
        self,
        dt,
        kT,
        default_r_cut=None,
        buffer=0.4,
        forces=(),
        filter=None,
        exclusions=("bond",),
        precision="mixed",
        threads=None,
    ):
        if precision not in _PRECISIONS:
            raise ValueError(f'precision must be "mixed" or "double", got {precision!r}')
        self._precision = precision
        self._filter = hoomd.filter.All() if filter is None else filter
        filters = hoomd.filter.ParticleFilter, hoomd.filter.CustomFilter
        if not isinstance(self._filter, filters):
            raise TypeError(f"filter must be a filter of hoomd.filter, got {filter!r}")
        self.forces = forces
        self.exclusions = exclusions
        self.threads = threads
        self._param_dict.update(
            ParameterDict(dt=length("dt"), kT=Variant, buffer=not_negative("buffer"))
        )
        self.dt = dt
        self.kT = kT
        self.buffer = buffer
        params = TypeParameterDict(
            A=Number("A", -math.inf, math.inf, "finite"),
            gamma=not_negative("gamma"),
            weight_exponent=not_negative("weight_exponent"),
            len_keys=2,
        )
        params.default = dict(weight_exponent=1.0)
        r_cut = TypeParameterDict(not_negative("r_cut"), len_keys=2)
        if default_r_cut is not None:
            r_cut.default = default_r_cut
        self._extend_typeparam(
            [
                TypeParameter("params", type_kind="particle_types", param_dict=params),
                TypeParameter("r_cut", type_kind="particle_types", param_dict=r_cut),
            ]
        )

    @property
    def precision(self):
        return self._precision

    @property
    def filter(self):
        return self._filter

    @property
    def forces(self):
        return self._forces

    @forces.setter
    def forces(self, value):
        self._forces = _listed("forces", value)
        for force in self._forces:
            self._check_force(force)

    @property
    def exclusions(self):
        return self._exclusions

    @exclusions.setter
    def exclusions(self, value):
        value = tuple(_listed("exclusions", [value] if isinstance(value, str) else value))
        for name in value:
            if name not in _EXCLUSIONS:
                raise ValueError(
                    f"exclusions of {_NAME} are {', '.join(map(repr, _EXCLUSIONS))}, got {name!r}"
                )
        self._exclusions = value

    # ---- forces on bonds and angles ----

    def _check_force(self, force):
        if _class_name(force) not in self._FORCES:
            raise ValueError(
                f"{_NAME} has no force {_class_name(force)}: it computes the pair forces of DPD, "
                f"and {', '.join(self._FORCES)}; other forces need hoomd.md.Integrator"
            )

    @staticmethod
    def _coefficients(force, kind, names):
        """The parameters of a force for a type of bonds or angles."""
        params = force.params[kind]
        values = [params[name] for name in names]
        for name, value in zip(names, values, strict=True):
            if value is RequiredArg:
                raise IncompleteSpecificationError(
                    f'{_class_name(force)} needs params["{kind}"]["{name}"]'
                )
        return values

    def _harmonic(self, force, types):
        for index, kind in enumerate(types):
            k, r0 = self._coefficients(force, kind, ("k", "r0"))
            if k != 0:
                yield index, "harmonic", k, r0, 0.0, 0.0

    def _fenewca(self, force, types):
        names = ("k", "r0", "epsilon", "sigma", "delta")
        for index, kind in enumerate(types):
            k, r0, epsilon, sigma, delta = self._coefficients(force, kind, names)
            if delta != 0:
                raise ValueError(
                    f"{_NAME} needs delta = 0 in {_class_name(force)}, got {delta} for {kind}"
                )
            if k != 0 or epsilon != 0:
                yield index, "fenewca", k, r0, epsilon, sigma

    def _angle(self, force, types):
        for index, kind in enumerate(types):
            k, t0 = self._coefficients(force, kind, ("k", "t0"))
            if k != 0:
                yield index, k, t0

    _FORCES = MappingProxyType(
        {
            "hoomd.md.bond.Harmonic": _harmonic,
            "hoomd.md.bond.FENEWCA": _fenewca,
            "hoomd.md.angle.Harmonic": _angle,
        }
    )

    def _prepare(self):
        state = self._simulation.state
        bonds, angles = [], []
        for force in self._forces:
            self._check_force(force)
            name = _class_name(force)
            to, types = (
                (bonds, state.bond_types)
                if name.startswith("hoomd.md.bond.")
                else (angles, state.angle_types)
            )
            to.extend(self._FORCES[name](self, force, types))
        if (bonds, angles) != self._terms:
            self._cpp_obj.setForces(bonds, angles)
        self._terms = bonds, angles
        self._cpp_obj.setExclusions(set(self._exclusions))
        self._set_schedule()

    # ---- runs ----

    def _make_engine(self, state, threads):
        self._check_params(state.particle_types)
        engine = _manymove.DPD(state._cpp_sys_def, self.dt, threads, self._precision == "double")
        # Before HOOMD-blue asks for the degrees of freedom of its groups.
        engine.setGroup(state._get_group(self._filter))
        self._terms = [], []  # of the new engine
        return engine

    def _check_params(self, types):
        for pair in itertools.combinations_with_replacement(types, 2):
            missing = [name for name in ("A", "gamma") if self.params[pair][name] is RequiredArg]
            if missing:
                raise IncompleteSpecificationError(
                    f"{_NAME} needs {' and '.join(missing)} of each pair of particle types: "
                    f"params[{pair}] = dict(A=..., gamma=...) is missing"
                )
            if self.r_cut[pair] is RequiredArg:
                raise IncompleteSpecificationError(
                    f"{_NAME} needs the cutoff of each pair of particle types: "
                    f"r_cut[{pair}] or default_r_cut is missing"
                )

    def _set_schedule(self):
        operations = self._simulation.operations
        readers = [writer.trigger for writer in operations.writers]
        changers = [
            operation.trigger
            for operation in (*operations.updaters, *operations.tuners)
            if not isinstance(operation, hoomd.tune.ParticleSorter)
        ]
        self._cpp_obj.setSchedule(readers, changers, self._simulation.final_timestep)

    # ---- results ----

    def _sum(self, name):
        return self._cpp_obj.sums()[name]

    @log(requires_run=True)
    def potential_energy(self):
        r"""float: Energy of pairs, bonds and angles :math:`[\mathrm{energy}]`."""
        sums = self._cpp_obj.sums()
        return sums["pair_energy"] + sums["bond_energy"] + sums["angle_energy"]

    @log(requires_run=True)
    def pair_energy(self):
        r"""float: Energy of the conservative pair forces :math:`[\mathrm{energy}]`."""
        return self._sum("pair_energy")

    @log(requires_run=True)
    def bond_energy(self):
        r"""float: Energy of bonds :math:`[\mathrm{energy}]`."""
        return self._sum("bond_energy")

    @log(requires_run=True)
    def angle_energy(self):
        r"""float: Energy of angles :math:`[\mathrm{energy}]`."""
        return self._sum("angle_energy")

    @log(requires_run=True)
    def kinetic_energy(self):
        r"""float: Kinetic energy of the moving particles :math:`[\mathrm{energy}]`."""
        return self._cpp_obj.kinetic_energy

    @log(requires_run=True)
    def degrees_of_freedom(self):
        """float: Degrees of freedom of the moving particles: 3 for each, and 3 fewer if all move,
        because momentum is conserved."""
        return self._cpp_obj.degrees_of_freedom

    @log(requires_run=True)
    def kinetic_temperature(self):
        r"""float: Instantaneous temperature of the moving particles :math:`[\mathrm{energy}]`."""
        freedom = self.degrees_of_freedom
        return 2 * self.kinetic_energy / freedom if freedom > 0 else 0.0

    @log(category="sequence", requires_run=True)
    def pressure_tensor(self):
        r"""tuple[float, ...]: Instantaneous pressure tensor xx, xy, xz, yy, yz, zz of the moving
        particles and all forces :math:`[\mathrm{pressure}]`."""
        return tuple(self._cpp_obj.pressure_tensor)

    @log(requires_run=True)
    def pressure(self):
        r"""float: Instantaneous pressure :math:`[\mathrm{pressure}]`, a third of the trace of
        `pressure_tensor`."""
        tensor = self.pressure_tensor
        return (tensor[0] + tensor[3] + tensor[5]) / 3

    @log(category="particle", requires_run=True)
    def forces_on_particles(self):
        r"""(*N*, 3) `numpy.ndarray` of float: Forces of pairs, bonds and angles on the particles in
        the order of their tags :math:`[\mathrm{force}]`, those on fixed particles included."""
        return self._cpp_obj.forces

    @log(requires_run=True)
    def mps(self):
        """float: Particle steps per second since the start of the last run."""
        return self._cpp_obj.mps

    @property
    def builds(self):
        """int: Neighbor lists that the present engine has built."""
        if not self._attached:
            raise DataAccessError("builds")
        return self._cpp_obj.builds
