"""The base class of all updaters: a core engine on the particles of a HOOMD-blue simulation."""

from __future__ import annotations

import re
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import hoomd
import numpy as np
from hoomd.error import MutabilityError

from manymove import arguments
from manymove.attributes import CheckedAttributes, ReadOnly
from manymove.devices import thread_count
from manymove.hoomd import hpmc, spread
from manymove.jobs.ranks import Ranks

T = TypeVar("T")
_Variant = hoomd.variant.Variant
_ON_RANK_0 = object()  # placeholder on ranks without an engine


def setting(name: str, doc: str) -> Any:
    """A property for an entry of the settings of an action, which the next step uses."""
    return property(
        lambda self: self._setting(name), lambda self, value: self._set({name: value}), doc=doc
    )


def number_or_variant(name: str, value: Any) -> Any:
    """Check a positive number, or take a variant of HOOMD-blue."""
    if isinstance(value, _Variant):
        return value
    return arguments.positive_and_finite(name, value)


def value_at(name: str, value: Any, timestep: int) -> float:
    """The value of a number or a variant at a time step."""
    number = value(timestep) if isinstance(value, _Variant) else value
    return arguments.positive_and_finite(name, number)


class EngineAction(CheckedAttributes, hoomd.custom.Action):
    """A core engine on the particles of a HOOMD-blue simulation, to be wrapped in a
    `hoomd.update.CustomUpdater`.

    Particles are identified by their tags. The engine keeps its own state from step to step, and
    adopts changes that other operations have made in between. It is in the memory of the
    simulation's device.

    If the particles are spread over several MPI ranks, the trajectory is the same as on one rank.
    Rank 0 has the engine, on its CPU or its GPU; on CPUs all ranks share the chain of `CoulombMC`.
    Before each step all ranks gather the particles, and afterwards each rank writes its own. If
    particles have moved beyond the next domain, a snapshot of the state brings them to their rank.
    All ranks make the same calls, and each loggable quantity is the same on all of them. An error
    of one rank is raised on all. The disks and spheres of `HardDisksUpdater` and
    `HardSpheresUpdater` must be on one rank.

    A subclass defines `_begin`, `act`, and the number of dimensions of the box. Public attributes
    that it assigns need a value or a property in the class body: other names are refused, so that a
    misspelled setting is an error.

    Args:
        threads: number of threads of an engine on a CPU device. The default is all cores, but at
            most `hoomd.device.Device.num_cpu_threads` if HOOMD-blue was built with threads (TBB).
            If several simulations share a machine, for example one per MPI rank, each should have
            its share. If ranks share a chain, the default is this rank's part of the cores.
            `threads` can be set until the simulation runs.

    Raises:
        AttributeError: an attribute is assigned that does not exist or cannot change.
        hoomd.error.MutabilityError: `threads` is set while the action is attached to a simulation.
        ImportError: (when the simulation runs) the particles are spread over several MPI ranks, and
            mpi4py is not installed.
        RuntimeError: (when the simulation runs on several ranks) mpi4py uses another MPI than
            HOOMD-blue, or a rank is silent.
        ValueError: (when the simulation runs) the box is tilted or has another number of
            dimensions, there are no particles, or their tags have gaps.
    """

    __module__ = "manymove.hoomd"
    _dimensions = 3
    _tilts = False  # whether the box may be tilted
    _spreads = True  # whether the particles may be spread over several ranks
    _shares = False  # whether all ranks then have the engine, with collective calls
    _settings: dict[str, Any]
    _simulation_reference: weakref.ref[hoomd.Simulation] | None

    def __init__(self, threads: int | None = None) -> None:
        super().__init__()
        self._forget()
        self.threads = threads

    @property
    def threads(self) -> int:
        """Number of threads of an engine on a CPU device; None sets the number of cores."""
        return self._threads

    @threads.setter
    def threads(self, value: int | None) -> None:
        if self._attached:
            raise MutabilityError("threads")
        self._threads, self._all_cores = thread_count(value), value is None

    def _setting(self, name: str) -> Any:
        """The value of a setting, as a user reads it."""
        value = self._settings[name]
        return ReadOnly(name, value) if isinstance(value, dict) else value

    def _set(self, changes: dict[str, Any]) -> None:
        """Keep settings for the next step. If one is refused, none changes."""
        self._settings = self._checked({**self._settings, **changes})

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Check settings, and return them as they are kept."""
        return settings

    @abstractmethod
    def _begin(self, timestep: int) -> None:
        """Make the engine for the present particles. If this fails, HOOMD-blue may still call
        `act`, which tries again."""

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def attach(self, simulation: hoomd.Simulation) -> None:
        """Make the engine for the particles of a simulation.

        HOOMD-blue calls this when a simulation first runs, also for zero steps.

        Raises:
            RuntimeError: the action is attached to a simulation already.
        """
        earlier = None if self._simulation_reference is None else self._simulation
        # An earlier attempt of the same simulation may have failed.
        if self._attached or earlier not in (None, simulation):
            raise RuntimeError("this action is in a simulation already: make another one")
        # A strong reference would close a cycle through HOOMD-blue's C++ objects, which Python
        # cannot collect, so that engines of past simulations would stay in memory.
        self._simulation_reference = weakref.ref(simulation)
        if self._all_cores and hoomd.version.tbb_enabled:
            self._threads = min(thread_count(None), simulation.device.num_cpu_threads)
        if simulation.seed is None:
            simulation.device.notice("manymove: Simulation.seed is not set, 0 is used")
        self._meet()
        with self._collective():
            self._begin(simulation.timestep)

    def detach(self) -> None:
        """Release the simulation and the memory of the engine."""
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """The settings; a copy is not attached to a simulation."""
        copy = object.__new__(type(self))
        copy.__dict__ = dict(self.__dict__)
        copy._forget()
        return copy.__dict__

    # ---- the simulation --------------------------------------------------------------------------

    def _forget(self) -> None:
        self._simulation_reference = None
        self._engine: Any = None
        self._ranks: Ranks | None = None  # if the particles are spread over several
        self._past: tuple[int, ...] = (0, 0)  # moves of earlier engines
        self._past_step = 0  # last step of the last of them

    def _retire(self) -> None:
        """Count the engine's moves, and free its memory for the next one."""
        self._past = self._moves()
        self._past_step = self._of_engine(lambda: self._engine.elapsed)
        self._engine = None

    def _moves(self) -> tuple[int, ...]:
        """Trial and accepted moves of all engines since the simulation was attached."""
        if self._engine is None:
            return self._past
        now = self._of_engine(lambda: self._engine.core.counters[1:3])
        return tuple(n + m for n, m in zip(self._past, now, strict=True))

    def _meet(self) -> None:
        """Find the other ranks of the simulation."""
        if self._spreads and self._ranks is None:
            self._ranks = spread.ranks_of(self._simulation.device, type(self).__name__)

    def _collective(self) -> AbstractContextManager[None]:
        """A context for calls that all ranks make together: all of them learn of an error of one
        rank. Errors that all ranks raise belong into `_together`."""
        return nullcontext() if self._ranks is None else self._ranks.collective()

    def _together(self, task: Callable[[], T]) -> T:
        """The result of a task of this rank. All ranks raise the error of the lowest that fails."""
        return task() if self._ranks is None else self._ranks.together(task)

    def _of_engine(self, task: Callable[[], T]) -> T:
        """The result of a task with the engine, on every rank. If rank 0 alone has the engine, all
        ranks raise an error of the task."""
        return task() if self._ranks is None or self._shares else self._ranks.of_first(task)

    def _make_engine_by(self, make: Callable[[], None]) -> None:
        """Call a function that makes `_engine`, where the engine is to be."""
        self._of_engine(make)
        if self._engine is None:
            self._engine = _ON_RANK_0

    @property
    def _simulation(self) -> hoomd.Simulation:
        assert self._simulation_reference is not None
        return self._simulation_reference()

    @property
    def _attached(self) -> bool:
        """Whether quantities that need a run can be read; HOOMD-blue reads this."""
        return self._simulation_reference is not None and self._simulation is not None

    @property
    def _device(self) -> str:
        """Name of the simulation's device for engines."""
        device = self._simulation.device
        if not isinstance(device, hoomd.device.GPU):
            return "cpu"
        # "[0]  NVIDIA H100 ..." is the only place where HOOMD-blue has the number of the GPU.
        number = re.match(r"\[(\d+)\]", device.device)
        if number is None:
            raise RuntimeError(f'no GPU number in HOOMD-blue\'s "{device.device}"')
        return f"cuda:{number[1]}"

    def _edges(self) -> tuple[float, ...]:
        """Edges of the box. A state that no engine supports is refused."""
        hpmc.refuse(self._simulation.operations, f"manymove.hoomd.{type(self).__name__}")
        state, box = self._simulation.state, self._simulation.state.box
        ranks = self._simulation.device.communicator.num_ranks
        if ranks > 1 and not self._spreads:
            raise ValueError(
                f"manymove.hoomd needs all particles on one MPI rank, there are {ranks}; "
                "hoomd.communicator.Communicator(ranks_per_partition=1) runs a simulation on each "
                "(the component hoomd.manymove runs disks and spheres on several)"
            )
        if self._dimensions == 2 and not box.is2D:
            raise ValueError(f"manymove.hoomd needs a two-dimensional box, Lz = 0; Lz is {box.Lz}")
        if self._dimensions == 3 and box.is2D:
            raise ValueError("manymove.hoomd needs a three-dimensional box; Lz is 0")
        tilts = {"xy": box.xy, "xz": box.xz, "yz": box.yz}
        for name, tilt in tilts.items():
            if tilt != 0 and not self._tilts:
                raise ValueError(f"manymove.hoomd needs a box that is not tilted; {name} is {tilt}")
        particles = state.N_particles
        if particles == 0:
            raise ValueError("manymove.hoomd needs at least one particle, there is none")
        highest = state._cpp_sys_def.getParticleData().getMaximumTag()
        if highest != particles - 1:
            raise ValueError(
                f"manymove.hoomd needs particles with tags from 0 to N - 1; of the {particles} "
                f"here one has the tag {highest}"
            )
        return (box.Lx, box.Ly, box.Lz)[: self._dimensions]

    def _by_tag(self, *names: str) -> list[np.ndarray]:
        """Copies of HOOMD-blue's arrays in host memory, in the order of the tags, on every rank."""
        return spread.by_tag(self._simulation.state, self._ranks, *names)

    def _write(self, tags: np.ndarray, **values: np.ndarray) -> None:
        """Write values (n, columns) of the particles with tags (n,) into HOOMD-blue's arrays."""
        spread.write(self._simulation.state, self._ranks, tags, **values)
        integrator = self._simulation.operations.integrator
        if self._ranks is not None and hpmc.name(integrator):
            integrator._cpp_obj.communicate(True)  # its ghost particles are those of a step ago

    @contextmanager
    def _where(self, *names: str) -> Iterator[dict[str, Any]]:
        """Addresses of HOOMD-blue's arrays on the device of a single rank, as engines need them:
        "position", "image", "rtag" (as "index"), and those named. They are valid inside the
        context."""
        state = self._simulation.state
        on_gpu = isinstance(self._simulation.device, hoomd.device.GPU)
        with state.gpu_local_snapshot if on_gpu else state.cpu_local_snapshot as snapshot:
            arrays = {
                name: _Array(getattr(snapshot.particles, name))
                for name in ("position", "image", "rtag", *names)
            }
            real = arrays["position"].dtype
            layout = {
                "position": (real, (4 * real.itemsize, real.itemsize)),
                "image": (np.int32, (12, 4)),
                "rtag": (np.uint32, (4,)),
                "tag": (np.uint32, (4,)),
                "charge": (real, (real.itemsize,)),
                "diameter": (real, (real.itemsize,)),
            }
            if real.kind != "f" or any(
                (array.dtype, array.strides) != layout[name] for name, array in arrays.items()
            ):
                raise RuntimeError(
                    "the particles of this HOOMD-blue do not lie in memory as manymove expects: "
                    + ", ".join(f"{name} {array}" for name, array in arrays.items())
                )
            where = {name: array.address for name, array in arrays.items()}
            where["index"] = where.pop("rtag")
            yield {**where, "double_precision": real.itemsize == 8}


class _Array:
    """Address, type and strides of an array of a local snapshot.

    On the CPU ``__array_interface__`` cannot be used, because HOOMD-blue's arrays return that of a
    copy.
    """

    def __init__(self, array: hoomd.data.array.HOOMDArray | hoomd.data.array.HOOMDGPUArray) -> None:
        if isinstance(array, hoomd.data.array.HOOMDArray):
            self.address: int = array.ctypes.data
            self.dtype: np.dtype = array.dtype
            self.strides: tuple[int, ...] = array.strides
        else:
            face = array.__cuda_array_interface__
            self.address = face["data"][0]
            self.dtype = np.dtype(face["typestr"])
            self.strides = face["strides"]

    def __str__(self) -> str:
        return f"{self.dtype} with strides {self.strides}"
