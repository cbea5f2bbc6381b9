"""The base of all updaters: a core engine on the particles of a HOOMD-blue simulation."""

from __future__ import annotations

import re
import time
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hoomd
import numpy as np
from hoomd.logging import log

from manymove.devices import thread_count


class EngineAction(hoomd.custom.Action):
    """A core engine on the particles of a HOOMD-blue simulation, to be wrapped in a
    `hoomd.update.CustomUpdater`.

    The engine reads and writes the arrays of HOOMD-blue's local snapshots where they are, in the
    host's memory on a CPU device and in the GPU's on a GPU device. Particles are known by their
    tags. Images follow the particles.

    The engine keeps its own state from step to step. It is made anew, from HOOMD-blue's positions,
    when someone else has moved a particle, or the box, the number of particles, the seed or a
    setting has changed. Making it rounds the positions to the engine's lattice (by 1e-7 of a cell)
    and mends overlaps that are no deeper than the engine allows. Random numbers belong to the seed
    and the time step, so that no engine repeats those of its predecessor.

    A subclass gives `_settings`, `_make_engine` and `_cycles_per_step`.

    Args:
        threads: of an engine on a CPU device; default all cores. Where several simulations share a
            machine, one per MPI rank for instance, each should have its part.

    Raises:
        ValueError: (when the simulation runs) the box is not two-dimensional, or is tilted; the
            particles are spread over several MPI ranks; there are none; the engine refuses them.
    """

    __module__ = "manymove.hoomd"

    def __init__(self, threads: int | None = None) -> None:
        super().__init__()
        self._threads = thread_count(threads)
        self._forget()

    # ---- what a subclass gives -------------------------------------------------------------------

    @property
    @abstractmethod
    def _settings(self) -> dict[str, Any]:
        """What else the engine is made with; if it changes, the engine is made anew."""

    @abstractmethod
    def _make_engine(self, positions: np.ndarray, box: tuple[float, float], **settings: Any) -> Any:
        """A new engine: an object of manymove such as `manymove.HardDisks`, with `N`, `cycle`,
        `state_hash` and the core's `_engine`.

        Args:
            positions: float (N, 2), by tag.
            box: (Lx, Ly).
            settings: those of `_settings`, and seed, first_cycle, device and threads.
        """

    @property
    @abstractmethod
    def _cycles_per_step(self) -> int:
        """Cycles of the engine in a step of HOOMD-blue."""

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def attach(self, simulation: hoomd.Simulation) -> None:
        """Take over the particles.

        HOOMD-blue calls this when a simulation first runs, be it for no steps.
        """
        if self._attached:
            raise RuntimeError("this action is in a simulation already: make another one")
        # A strong reference would close a circle through HOOMD-blue's C++ objects, which Python
        # cannot collect: engines of past simulations would stay in memory.
        self._simulation_reference = weakref.ref(simulation)
        if simulation.seed is None:
            simulation.device.notice("manymove: Simulation.seed is not set, 0 is taken")
        with self._following(simulation.timestep):
            pass

    def detach(self) -> None:
        """Let go of the simulation and of the engine's memory."""
        self._forget()

    def act(self, timestep: int) -> None:
        """Make a step: move the particles of the simulation."""
        self._notice_a_new_run()
        with self._following(timestep) as particles:
            engine, cycles = self._engine._engine, self._cycles_per_step
            while cycles > 0:
                some = min(cycles, engine.cycles_between_writes)
                engine.enqueue(some, **particles)
                cycles -= some
        self._run_seconds = time.perf_counter() - self._run_started

    def __getstate__(self) -> dict[str, Any]:
        """The settings: a copy is not attached to any simulation."""
        copy = object.__new__(type(self))
        copy.__dict__ = dict(self.__dict__)
        copy._forget()
        return copy.__dict__

    # ---- loggable --------------------------------------------------------------------------------

    @log(category="sequence", requires_run=True)
    def translate_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial moves since the start of the last run."""
        trial, accepted = self._moves_of_this_run()
        return accepted, trial - accepted

    @log(requires_run=True)
    def mps(self) -> float:
        """float: trial moves per second of wall time in the last run; 0 before its first step."""
        started = time.perf_counter()
        trial, _ = self._moves_of_this_run()  # waits for a GPU that is still at it
        if self._run_seconds == 0:
            return 0.0
        self._run_seconds += time.perf_counter() - started
        return trial / self._run_seconds

    @log(category="string", requires_run=True)
    def state_hash(self) -> str:
        """str: 16 hexadecimal digits from all positions and counters; the same on every machine."""
        with self._following(self._simulation.timestep):
            return self._engine.state_hash

    # ---- the engine ------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._simulation_reference: weakref.ref[hoomd.Simulation] | None = None
        self._engine: Any = None
        self._made_with: dict[str, Any] | None = None
        self._past_moves: tuple[int, int] = (0, 0)  # of engines that are no more
        self._past_cycle = 0  # that the last of them reached
        self._run_first_step: int | None = None
        self._run_moves: tuple[int, int] = (0, 0)  # of all engines when the run began
        self._run_started = self._run_seconds = 0.0

    @property
    def _simulation(self) -> hoomd.Simulation:
        return self._simulation_reference()

    @property
    def _attached(self) -> bool:
        """HOOMD-blue asks for this before it reads what needs a run."""
        return self._simulation_reference is not None and self._simulation is not None

    @contextmanager
    def _following(self, timestep: int) -> Iterator[dict[str, Any]]:
        """HOOMD-blue's particles, where they lie, with an engine that knows them as they are."""
        present = self._present()
        if present == self._made_with and self._simulation.state.N_particles == self._engine.N:
            with self._particles() as particles:
                if self._engine._engine.same_positions(**particles):
                    yield particles
                    return
        self._make(present, timestep)
        with self._particles() as particles:
            self._engine._engine.write_positions(**particles)
            yield particles

    def _present(self) -> dict[str, Any]:
        """What an engine for the present state is made with, besides the positions."""
        simulation = self._simulation
        state, device = simulation.state, simulation.device
        box = state.box
        ranks = device.communicator.num_ranks
        if ranks > 1:
            raise ValueError(
                f"manymove.hoomd needs all particles on one MPI rank, there are {ranks}; "
                "hoomd.communicator.Communicator(ranks_per_partition=1) runs a simulation on each "
                "(the component hoomd.manymove runs hard disks on several)"
            )
        if not box.is2D:
            raise ValueError(f"manymove.hoomd needs a two-dimensional box, Lz = 0; Lz is {box.Lz}")
        if box.xy != 0:
            raise ValueError(f"manymove.hoomd needs a box that is not tilted; xy is {box.xy}")
        particles = state.N_particles
        if particles == 0:
            raise ValueError("manymove.hoomd needs at least one particle, there is none")
        highest = state._cpp_sys_def.getParticleData().getMaximumTag()
        if highest != particles - 1:
            raise ValueError(
                f"manymove.hoomd needs particles with tags from 0 to N - 1; of the {particles} "
                f"here one has the tag {highest}"
            )
        return {
            **self._settings,
            "box": (box.Lx, box.Ly),
            "seed": simulation.seed or 0,
            "device": _engine_device(device),
            "threads": self._threads,
        }

    def _make(self, present: dict[str, Any], timestep: int) -> None:
        if self._engine is not None:
            self._past_moves, self._past_cycle = self._moves(), self._engine.cycle
            self._engine, self._made_with = None, None  # its memory is free for the next one
        # A step has fewer cycles than 2**20, so that no random number is used twice.
        first_cycle = max(timestep << 20, self._past_cycle)
        self._engine = self._make_engine(self._positions(), first_cycle=first_cycle, **present)
        self._made_with = present

    def _positions(self) -> np.ndarray:
        """HOOMD-blue's positions in host memory, float (N, 2), by tag."""
        with self._simulation.state.cpu_local_snapshot as snapshot:
            position = np.array(snapshot.particles.position)
            index = np.array(snapshot.particles.rtag)
        return np.ascontiguousarray(position[index, :2])

    @contextmanager
    def _particles(self) -> Iterator[dict[str, Any]]:
        """Where HOOMD-blue's particles lie, as engines take it, valid inside the context."""
        state = self._simulation.state
        on_gpu = isinstance(self._simulation.device, hoomd.device.GPU)
        with state.gpu_local_snapshot if on_gpu else state.cpu_local_snapshot as snapshot:
            position = _Array(snapshot.particles.position)
            image = _Array(snapshot.particles.image)
            index = _Array(snapshot.particles.rtag)
            tag = _Array(snapshot.particles.tag)
            size = position.dtype.itemsize
            if not (
                position.dtype.kind == "f"
                and position.strides == (4 * size, size)
                and image.dtype == np.int32
                and image.strides == (12, 4)
                and index.dtype == tag.dtype == np.uint32
                and index.strides == tag.strides == (4,)
            ):
                raise RuntimeError(
                    "the particles of this HOOMD-blue do not lie in memory as manymove expects: "
                    f"position {position}, image {image}, rtag {index}, tag {tag}"
                )
            yield {
                "position": position.address,
                "double_precision": size == 8,
                "image": image.address,
                "index": index.address,
                "tag": tag.address,
            }

    # ---- counting --------------------------------------------------------------------------------

    def _notice_a_new_run(self) -> None:
        """Count from zero when a run has started.

        HOOMD-blue does not tell its updaters, but a run that makes steps has a first step of its
        own.
        """
        first_step = self._simulation.initial_timestep
        if first_step != self._run_first_step:
            self._run_first_step = first_step
            self._run_moves = self._moves()
            self._run_started, self._run_seconds = time.perf_counter(), 0.0

    def _moves_of_this_run(self) -> tuple[int, int]:
        """Trial and accepted moves."""
        self._notice_a_new_run()
        return tuple(n - m for n, m in zip(self._moves(), self._run_moves, strict=True))

    def _moves(self) -> tuple[int, int]:
        """Trial and accepted moves of all engines since the simulation was attached."""
        if self._engine is None:
            return self._past_moves
        _, *moves = self._engine._engine.counters
        return tuple(n + m for n, m in zip(self._past_moves, moves, strict=True))


class _Array:
    """Address, type and strides of an array of a local snapshot.

    On the CPU not from ``__array_interface__``: HOOMD-blue's arrays give that of a copy.
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


def _engine_device(device: hoomd.device.Device) -> str:
    """The name that engines give to a device of HOOMD-blue."""
    if not isinstance(device, hoomd.device.GPU):
        return "cpu"
    # "[0]  NVIDIA H100 ...": the only place where HOOMD-blue says which GPU it took.
    number = re.match(r"\[(\d+)\]", device.device)
    if number is None:
        raise RuntimeError(f'no GPU number in HOOMD-blue\'s "{device.device}"')
    return f"cuda:{number[1]}"
