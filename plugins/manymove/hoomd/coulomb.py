"""Brush Metropolis Monte Carlo of charged hard spheres on the particles of a simulation."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hoomd
import numpy as np
from hoomd.logging import log

from manymove.devices import thread_count
from manymove.electrolyte import Electrolyte
from manymove.hoomd.action import _Array, _engine_device
from manymove.ions import Species


class CoulombMC(hoomd.custom.Action):
    """Sweeps of Monte Carlo over the particles of a HOOMD-blue simulation, to be wrapped in a
    `hoomd.update.CustomUpdater`.

    Particles are hard spheres of their `diameter` with their `charge` in elementary charges, in the
    order of their tags; see `manymove.Electrolyte`. Only particles whose trial moves were accepted
    are written, to coordinates on the engine's grid (1e-7 of the box); the others keep theirs to
    the last bit. Images follow by the nearest image.

    The engine reads and writes HOOMD-blue's arrays where they are, in the host's memory on a CPU
    device and in the GPU's on a GPU device. It is kept from step to step. When particles were moved
    by someone else it takes them over, when charges, diameters or the box have changed it is made
    anew; both go through the host. Random numbers belong to the seed and the time step.

    ::

        ions = manymove.hoomd.CoulombMC(bjerrum_length=7.117, radius=298.9)
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), ions)
        )

    Args:
        bjerrum_length: l_B, in the simulation's unit of length.
        radius: of a hard wall around the origin that keeps all centres within; None for the
            periodic box with the nearest image of each particle.
        sweeps_per_step: trial moves per particle and step.
        max_displacement, precision, threads: as for `manymove.Electrolyte`.

    Raises:
        ValueError: (when the simulation runs) the particles are spread over several MPI ranks, the
            box is tilted or two-dimensional, or `manymove.Electrolyte` refuses the particles.
    """

    __module__ = "manymove.hoomd"

    def __init__(
        self,
        bjerrum_length: float,
        radius: float | None = None,
        sweeps_per_step: int = 1,
        max_displacement: float | None = None,
        precision: str = "mixed",
        threads: int | None = None,
    ) -> None:
        super().__init__()
        if not bjerrum_length > 0:
            raise ValueError(f"bjerrum_length must be positive, got {bjerrum_length}")
        if not (isinstance(sweeps_per_step, int) and 0 < sweeps_per_step < 1 << 20):
            raise ValueError(
                f"sweeps_per_step must be an integer from 1 to 2**20 - 1, got {sweeps_per_step}"
            )
        self._options: dict[str, Any] = {
            "bjerrum_length": float(bjerrum_length),
            "max_displacement": max_displacement,
            "precision": precision,
            "threads": thread_count(threads),
        }
        self._radius = radius
        self._sweeps = sweeps_per_step
        self._forget()

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def attach(self, simulation: hoomd.Simulation) -> None:
        """Take over the particles. HOOMD-blue calls this when a simulation first runs."""
        if self._attached:
            raise RuntimeError("this action is in a simulation already: make another one")
        self._simulation_reference = weakref.ref(simulation)
        self._follow(simulation.timestep)

    def detach(self) -> None:
        """Let go of the simulation and of the engine's memory."""
        self._forget()

    def act(self, timestep: int) -> None:
        """Make the sweeps of a step."""
        engine = self._follow(timestep)
        started = time.perf_counter()
        engine.run(self._sweeps)
        engine._energies = []  # nobody asks for those of all steps
        with self._particles() as particles:
            engine._engine.write_positions(**particles)
        self._seconds += time.perf_counter() - started

    def __getstate__(self) -> dict[str, Any]:
        """The settings: a copy is not attached to any simulation."""
        copy = object.__new__(type(self))
        copy.__dict__ = dict(self.__dict__)
        copy._forget()
        return copy.__dict__

    # ---- loggable --------------------------------------------------------------------------------

    @log(category="sequence", requires_run=True)
    def translate_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial moves since the simulation was attached."""
        trial, accepted = self._moves()
        return accepted, trial - accepted

    @log(requires_run=True)
    def mps(self) -> float:
        """float: trial moves per second of wall time; 0 before the first step."""
        return self._moves()[0] / self._seconds if self._seconds else 0.0

    @log(requires_run=True)
    def energy(self) -> float:
        """float: electrostatic energy in kT, of all pairs."""
        return self._follow(self._simulation.timestep).energy

    # ---- the engine ------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._simulation_reference: weakref.ref[hoomd.Simulation] | None = None
        self._engine: Electrolyte | None = None
        self._made_with: tuple[Any, ...] = ()  # box and seed
        self._kinds: tuple[bytes, bytes] = (b"", b"")  # charges and diameters by tag
        self._past = (0, 0)  # moves of engines that are no more
        self._past_sweep = 0
        self._seconds = 0.0

    @property
    def _simulation(self) -> hoomd.Simulation:
        assert self._simulation_reference is not None
        return self._simulation_reference()

    @property
    def _attached(self) -> bool:
        """HOOMD-blue asks for this before it reads what needs a run."""
        return self._simulation_reference is not None and self._simulation is not None

    def _moves(self) -> tuple[int, int]:
        now = self._engine
        if now is None:
            return self._past
        return self._past[0] + now.trial_moves, self._past[1] + now.accepted_moves

    def _follow(self, timestep: int) -> Electrolyte:
        """The engine, with the particles as they are."""
        made_with = (self._box(), self._simulation.seed)
        engine = self._engine
        if engine is not None and (made_with, engine.N) == (self._made_with, self._particle_count):
            with self._particles() as particles:
                if engine._engine.same_particles(**particles):
                    return engine
        self._take_over(made_with, timestep)
        assert self._engine is not None
        with self._particles() as particles:
            self._engine._engine.adopt(**particles)
        return self._engine

    def _take_over(self, made_with: tuple[Any, ...], timestep: int) -> None:
        """Positions, charges and diameters, by way of the host."""
        with self._simulation.state.cpu_local_snapshot as snapshot:
            index = np.array(snapshot.particles.rtag)
            position = np.array(snapshot.particles.position, dtype=float)[index]
            charge = np.array(snapshot.particles.charge, dtype=np.float32)[index].astype(float)
            diameter = np.array(snapshot.particles.diameter, dtype=float)[index]
        kinds = (charge.tobytes(), diameter.tobytes())
        if self._engine is not None:
            if (made_with, kinds) == (self._made_with, self._kinds):
                self._engine.set_positions(position)
                return
            self._past, self._past_sweep = self._moves(), self._engine.sweep
            self._engine = None  # its memory is free for the next one
        species, types = np.unique(
            np.stack((charge, diameter), axis=1), axis=0, return_inverse=True
        )
        self._engine = Electrolyte(
            position,
            types.reshape(-1),
            [Species(*one) for one in species.tolist()],
            radius=self._radius,
            box=made_with[0] if self._radius is None else None,
            seed=self._simulation.seed or 0,
            # A step has fewer sweeps than 2**20, so that no random number is used twice.
            first_sweep=max(timestep << 20, self._past_sweep),
            device=_engine_device(self._simulation.device),
            **self._options,
        )
        self._made_with, self._kinds = made_with, kinds

    @property
    def _particle_count(self) -> int:
        return self._simulation.state.N_particles

    def _box(self) -> tuple[float, float, float]:
        state, device = self._simulation.state, self._simulation.device
        box, ranks = state.box, device.communicator.num_ranks
        if ranks > 1:
            raise ValueError(
                f"manymove.hoomd needs all particles on one MPI rank, there are {ranks}; "
                "hoomd.communicator.Communicator(ranks_per_partition=1) runs a simulation on each"
            )
        if box.is2D:
            raise ValueError("CoulombMC needs a three-dimensional box; Lz is 0")
        if (box.xy, box.xz, box.yz) != (0, 0, 0):
            raise ValueError("CoulombMC needs a box that is not tilted")
        if self._radius is not None and 2 * self._radius > min(box.Lx, box.Ly, box.Lz):
            raise ValueError(
                f"the cell of radius {self._radius} does not fit into the box "
                f"({box.Lx:g}, {box.Ly:g}, {box.Lz:g})"
            )
        if state._cpp_sys_def.getParticleData().getMaximumTag() != state.N_particles - 1:
            raise ValueError("CoulombMC needs particles with tags from 0 to N - 1")
        return box.Lx, box.Ly, box.Lz

    @contextmanager
    def _particles(self) -> Iterator[dict[str, Any]]:
        """Where HOOMD-blue's particles lie, as the engine takes it, valid inside the context."""
        state = self._simulation.state
        on_gpu = isinstance(self._simulation.device, hoomd.device.GPU)
        with state.gpu_local_snapshot if on_gpu else state.cpu_local_snapshot as snapshot:
            position, image, charge, diameter, index = (
                _Array(getattr(snapshot.particles, name))
                for name in ("position", "image", "charge", "diameter", "rtag")
            )
            size = position.dtype.itemsize
            if not (
                position.dtype.kind == "f"
                and position.strides == (4 * size, size)
                and image.dtype == np.int32
                and image.strides == (12, 4)
                and charge.dtype == diameter.dtype == position.dtype
                and charge.strides == diameter.strides == (size,)
                and index.dtype == np.uint32
                and index.strides == (4,)
            ):
                raise RuntimeError(
                    "the particles of this HOOMD-blue do not lie in memory as manymove expects: "
                    f"position {position}, image {image}, charge {charge}, diameter {diameter}, "
                    f"rtag {index}"
                )
            half = np.array(self._box(), dtype=position.dtype) / 2
            yield {
                "position": position.address,
                "double_precision": size == 8,
                "image": image.address,
                "charge": charge.address,
                "diameter": diameter.address,
                "index": index.address,
                "highest": np.nextafter(half, 0, dtype=position.dtype).tolist(),
            }
