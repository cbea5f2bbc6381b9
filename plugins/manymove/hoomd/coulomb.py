"""Brush Metropolis Monte Carlo of charged hard spheres on the particles of a simulation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import hoomd
import numpy as np
from hoomd.logging import log

from manymove import arguments
from manymove.analysis.ions import Species
from manymove.electrolyte.simulation import BOUNDARIES, Electrolyte
from manymove.hoomd.action import EngineAction, number_or_variant, setting, value_at
from manymove.settings import SURROUNDINGS, Ewald, Ions, Sphere

_METHODS = ("brush", "tree", "auto")
_COLUMNS = ("position", "charge", "diameter", "image")


class CoulombMC(EngineAction):
    """Sweeps of Monte Carlo over the particles of a HOOMD-blue simulation, to be wrapped in a
    `hoomd.update.CustomUpdater`.

    Particles are hard spheres with their `diameter` and their `charge` in elementary charges, in
    the order of their tags; see `manymove.Electrolyte`. Only particles whose trial moves were
    accepted are written, with coordinates on the engine's grid (1e-7 of the box); the positions of
    the others are unchanged to the last bit. Image flags follow the nearest image; with
    surrounding="vacuum" they count the faces that the particles have crossed, are part of the
    state, and are read when the engine adopts positions.

    The engine reads and writes HOOMD-blue's arrays in place, in host memory on a CPU device and in
    GPU memory on a GPU device. It is kept from step to step. If other operations have moved
    particles, it adopts the new positions; if charges, diameters, the box or a setting have
    changed, a new engine is made. Both go through the host. Random numbers belong to the seed and
    the time step. On several MPI ranks the trajectory is the same as on one rank, and positions go
    through the host; see `EngineAction`. On CPU devices the ranks share the chain; on GPU devices
    rank 0 makes it.

    Method: Y. Liang, X. Xing, Y. Li, J. Comput. Phys. (2017), doi:10.1016/j.jcp.2017.02.069.

    ::

        ions = manymove.hoomd.CoulombMC(bjerrum_length=7.117, radius=298.9)
        simulation.operations.updaters.append(
            hoomd.update.CustomUpdater(hoomd.trigger.Periodic(1), ions)
        )

    Args:
        bjerrum_length: Bjerrum length l_B in the simulation's unit of length, a number or a
            `hoomd.variant.Variant`. Each new value makes a new engine, which computes the energy of
            all pairs.
        radius: radius of a hard wall around the origin that keeps all centers inside. None selects
            the periodic box.
        boundary: energy of the periodic box, "nearest_image" (default) or "ewald", as in
            `manymove.Electrolyte`.
        surrounding: medium around the images with boundary="ewald", "conductor" (default) or
            "vacuum", as in `manymove.Electrolyte`.
        sweeps_per_step: number of sweeps per step; a sweep is one trial move per particle.
        max_displacement: maximum trial displacement along each axis, in the simulation's unit of
            length; default radius / 3 or L / 6.
        method: "brush" (default), "tree" or "auto", as in `manymove.Electrolyte`. The tree needs a
            radius or boundary="ewald".
        precision: floating-point precision, "mixed" or "double"; default "mixed", with the methods
            "tree" and "auto" "double".
        threads: number of threads of an engine on a CPU device; default all cores.

    All settings except `threads` may be changed between runs, or during a run by another action.

    Raises:
        ValueError: an argument is bad, or, when the simulation runs, the box is tilted or
            two-dimensional, or `manymove.Electrolyte` refuses the particles.
        ImportError, RuntimeError: on several MPI ranks, as for `EngineAction`.
    """

    __module__ = "manymove.hoomd"

    def __init__(
        self,
        bjerrum_length: float,
        radius: float | None = None,
        sweeps_per_step: int = 1,
        max_displacement: float | None = None,
        precision: str | None = None,
        threads: int | None = None,
        boundary: str | None = None,
        surrounding: str | None = None,
        method: str = "brush",
    ) -> None:
        super().__init__(threads)
        self._settings = self._checked(
            {
                "bjerrum_length": bjerrum_length,
                "radius": radius,
                "sweeps_per_step": sweeps_per_step,
                "max_displacement": max_displacement,
                "precision": precision,
                "boundary": boundary,
                "surrounding": surrounding,
                "method": method,
            }
        )

    bjerrum_length: Any = setting(
        "bjerrum_length", "Bjerrum length in the simulation's unit of length, or a variant."
    )
    radius: float | None = setting("radius", "Radius of the hard wall; None for the periodic box.")
    sweeps_per_step: int = setting("sweeps_per_step", "Number of sweeps per step.")
    max_displacement: float | None = setting(
        "max_displacement", "Maximum trial displacement along each axis; None for the default."
    )
    precision: str | None = setting("precision", '"mixed" or "double"; None for the default.')
    boundary: str | None = setting(
        "boundary", 'Energy of the periodic box, "nearest_image" or "ewald"; None for the default.'
    )
    surrounding: str | None = setting(
        "surrounding", 'Medium around the images, "conductor" or "vacuum"; None for the default.'
    )
    method: str = setting("method", 'Method of the sweeps, "brush", "tree" or "auto".')

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        radius, boundary = settings["radius"], settings["boundary"]
        if radius is not None and boundary is not None:
            raise ValueError(f"boundary {boundary!r} is for the periodic box, not for a radius")
        found = {
            "bjerrum_length": number_or_variant("bjerrum_length", settings["bjerrum_length"]),
            "sweeps_per_step": arguments.count(
                "sweeps_per_step", settings["sweeps_per_step"], most=10**6
            ),
            "method": arguments.one_of("method", settings["method"], _METHODS),
        }
        for name in ("radius", "max_displacement"):
            if settings[name] is not None:
                found[name] = arguments.positive(name, settings[name])
        words = {
            "precision": arguments.PRECISIONS,
            "boundary": BOUNDARIES,
            "surrounding": SURROUNDINGS,
        }
        for name, known in words.items():
            if settings[name] is not None:
                arguments.one_of(name, settings[name], known)
        if settings["surrounding"] is not None and boundary != "ewald":
            raise ValueError(f"surrounding {settings['surrounding']!r} is for boundary 'ewald'")
        return {**settings, **found}

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def act(self, timestep: int) -> None:
        """Make the sweeps of a step.

        Args:
            timestep: time step of the simulation.
        """
        self._meet()
        with self._collective():
            self._follow(timestep)
            started = time.perf_counter()
            self._of_engine(self._sweep)
            self._leave()
            self._seconds += time.perf_counter() - started

    def _sweep(self) -> None:
        self._engine.run(self.sweeps_per_step)
        self._engine.reset_averages()  # energies are not read and would fill the memory

    def _begin(self, timestep: int) -> None:
        self._follow(timestep)

    # ---- loggable --------------------------------------------------------------------------------

    @log(category="sequence", requires_run=True)
    def translate_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial moves since the simulation was attached."""
        trial, accepted = self._moves()
        return accepted, trial - accepted

    @log(requires_run=True)
    def mps(self) -> float:
        """float: trial moves per second of wall time; 0 before the first step."""
        trial, seconds = self._moves()[0], self._seconds
        if self._ranks is not None:
            seconds = self._ranks.first(seconds)
        return trial / seconds if seconds else 0.0

    @log(requires_run=True)
    def energy(self) -> float:
        """float: electrostatic energy of all pairs in kT."""
        with self._collective():
            self._follow(self._simulation.timestep)
            return self._of_engine(lambda: self._engine.energy)

    # ---- the engine ------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self._made_with: tuple[Any, ...] = ()  # box, seed and options
        self._kinds: tuple[bytes, bytes] = (b"", b"")  # charges and diameters by tag
        self._seconds = 0.0
        # On several ranks, by tag:
        self._now: list[np.ndarray] = []  # HOOMD-blue's arrays
        self._left: list[np.ndarray] = []  # positions, charges and diameters after a step
        self._at = np.empty(0)  # the engine's positions then

    @property
    def _shares(self) -> bool:  # type: ignore[override]
        """Whether all ranks have the engine and share its work."""
        return not isinstance(self._simulation.device, hoomd.device.GPU)

    def _follow(self, timestep: int) -> None:
        """Give the engine the present particles."""
        made_with = self._together(
            lambda: (self._box(), self._simulation.seed, self._options(timestep))
        )
        if not (self._same_particles() and made_with == self._made_with):
            self._take_over(made_with, timestep)
            self._adopt()

    def _take_over(self, made_with: tuple[Any, ...], timestep: int) -> None:
        """Adopt positions, charges and diameters through the host."""
        position, charge, diameter, image = self._by_tag(*_COLUMNS)
        images = image if self.surrounding == "vacuum" else None
        position, diameter = position.astype(float), diameter.astype(float)
        charge = charge.astype(np.float32).astype(float)
        kinds = (charge.tobytes(), diameter.tobytes())
        if self._engine is not None:
            if (made_with, kinds) == (self._made_with, self._kinds):
                self._of_engine(lambda: self._engine.set_positions(position, images))
                return
            self._retire()
        species, types = np.unique(
            np.stack((charge, diameter), axis=1), axis=0, return_inverse=True
        )
        others = ("radius", "boundary", "surrounding")
        options = {name: value for name, value in made_with[2].items() if name not in others}
        options["threads"] = self.threads
        if self._ranks is not None and self._shares:
            options["comm"] = self._ranks.communicator
            options["threads"] = None if self._all_cores else self.threads

        def make() -> None:
            self._engine = Electrolyte(
                position,
                made_with[0] if self.radius is None else Sphere(self.radius),
                Ions(types.reshape(-1), [Species(*one) for one in species.tolist()]),
                boundary=(
                    Ewald(self.surrounding or SURROUNDINGS[0], images)
                    if self.boundary == "ewald"
                    else self.boundary
                ),
                seed=self._simulation.seed or 0,
                # A step has fewer sweeps than 2**20, so that no random number is used twice.
                first_sweep=max(timestep << 20, self._past_step),
                device=self._device,
                **options,
            )

        self._make_engine_by(make)
        self._made_with, self._kinds = made_with, kinds

    # ---- in place on one rank, by the tags on several --------------------------------------------

    def _same_particles(self) -> bool:
        """Whether particles are where the engine has left them, with charges and diameters."""
        if self._ranks is not None:
            self._now = self._by_tag(*_COLUMNS)
            return (
                self._engine is not None
                and len(self._left) > 0
                and all(map(np.array_equal, self._now, self._left))  # but for the images
            )
        if self._engine is None or self._engine.N != self._simulation.state.N_particles:
            return False
        with self._particles() as particles:
            return self._engine.core.same_particles(**particles)

    def _adopt(self) -> None:
        """Take the particles for the ions as they are now."""
        if self._ranks is not None:
            self._left = self._now[:3]
            self._at = self._of_engine(lambda: self._engine.positions)
            return
        with self._particles() as particles:
            self._engine.core.adopt(**particles)

    def _leave(self) -> None:
        """Write the positions of the ions that have moved, and their images."""
        if self._ranks is None:
            with self._particles() as particles:
                self._engine.core.write_positions(**particles)
            return
        vacuum = self.surrounding == "vacuum"
        went, images = self._of_engine(
            lambda: (self._engine.positions, self._engine.images if vacuum else None)
        )
        tags = np.flatnonzero((went != self._at).any(axis=1))
        position, charge, diameter, image = self._now
        position, box = position.copy(), np.array(self._box())
        position[tags] = np.minimum(went[tags], self._highest(position.dtype))
        if images is not None:
            tags, image = np.arange(len(went)), images
        elif self.radius is None:  # who left on one side and came in on the other
            image = image - np.rint((went - self._at) / box).astype(image.dtype)
        self._write(tags, position=position[tags], image=image[tags])
        self._left, self._at = [position, charge, diameter], went

    def _highest(self, real: np.dtype) -> np.ndarray:
        """The highest coordinates inside the box, in HOOMD-blue's precision."""
        half = np.array([edge / 2 for edge in self._box()], dtype=real)
        return np.nextafter(half, 0, dtype=real)

    def _options(self, timestep: int) -> dict[str, Any]:
        """The arguments of an engine at a time step."""
        options = {**self._settings}
        del options["sweeps_per_step"]
        length = value_at("bjerrum_length", self.bjerrum_length, timestep)
        return {**options, "bjerrum_length": length}

    def _box(self) -> tuple[float, float, float]:
        edges = self._edges()
        if self.radius is not None and 2 * self.radius > min(edges):
            raise ValueError(
                f"the cell of radius {self.radius} does not fit into the box "
                f"({', '.join(f'{edge:g}' for edge in edges)})"
            )
        x, y, z = edges
        return x, y, z

    @contextmanager
    def _particles(self) -> Iterator[dict[str, Any]]:
        """Addresses of HOOMD-blue's arrays, and the highest coordinates inside the box."""
        with self._where("charge", "diameter") as where:
            real = np.dtype(np.float64 if where["double_precision"] else np.float32)
            yield {**where, "highest": self._highest(real).tolist()}
