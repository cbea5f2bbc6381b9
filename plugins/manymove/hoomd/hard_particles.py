"""What the updaters of hard disks and of hard spheres share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import hoomd
import numpy as np
from hoomd.logging import log

from manymove import _core, arguments, hard_particles
from manymove.analysis.pressure import BINS, bin_width, pressure_from_histogram
from manymove.errors import ParameterError
from manymove.hoomd import moves
from manymove.hoomd.action import EngineAction, setting
from manymove.settings import ConstantPressure, Grid, Start, Swaps

_MOST_ROUNDS = 4  # in a cycle; with n_m = 4 at most 16 trial moves between two shifts


def _checked_diameter(value: float | Mapping[str, float]) -> float | dict[str, float]:
    """Check the diameter of all particles, or that of each particle type."""
    if not isinstance(value, Mapping):
        return arguments.positive_and_finite("diameter", value)
    if not value:
        raise ValueError("diameter must have an entry for each particle type, got none")
    return {
        name: arguments.positive_and_finite(f"diameter of type {name}", diameter)
        for name, diameter in value.items()
    }


class HardParticlesUpdater(EngineAction):
    """The common base of `HardDisksUpdater` and `HardSpheresUpdater`, not for separate use."""

    __module__ = "manymove.hoomd"
    _make_engine: ClassVar[type[hard_particles.HardDisks] | type[hard_particles.HardSpheres]]
    _DEFAULT_D: ClassVar[float]  # in largest diameters
    _made_with: dict[str, Any] | None
    _spreads = False

    def __init__(
        self,
        diameter: float | Mapping[str, float],
        d: float | None = None,
        nselect: int = 4,
        sweeps_per_step: int = 4,
        repair_depth: float = 1e-4,
        threads: int | None = None,
        box_moves: Mapping[str, Any] | None = None,
        swap: Mapping[str, Any] | None = None,
        tile: int | None = None,
    ) -> None:
        super().__init__(threads)
        self._settings = self._checked(
            {
                "diameter": diameter, "d": d, "nselect": nselect,
                "sweeps_per_step": sweeps_per_step, "repair_depth": repair_depth,
                "box_moves": box_moves, "swap": swap, "tile": tile,
            }
        )  # fmt: skip

    def __repr__(self) -> str:
        size = self._settings["diameter"]
        size = size if isinstance(size, dict) else f"{size:g}"
        return (
            f"<{type(self).__name__}: diameter = {size}, d = {self.d:g}, nselect = {self.nselect}, "
            f"sweeps_per_step = {self.sweeps_per_step}>"
        )

    # ---- settings --------------------------------------------------------------------------------

    diameter: float | dict[str, float] = setting(
        "diameter",
        "Diameter of the particles in HOOMD-blue's unit of length, or that of each particle type.",
    )
    d: float = setting(
        "d",
        "Maximum trial displacement along each axis, in HOOMD-blue's unit of length; None sets the "
        "default.",
    )
    nselect: int = setting("nselect", "Number of trial moves per visit of a cell.")
    sweeps_per_step: int = setting(
        "sweeps_per_step", "Number of passes over the checkerboard sets in a step of HOOMD-blue."
    )
    repair_depth: float = setting(
        "repair_depth", "Depth in contact distances up to which overlaps are repaired."
    )
    box_moves: dict[str, Any] | None = setting(
        "box_moves", "Trial changes of the box at constant pressure; None for constant volume."
    )
    swap: dict[str, Any] | None = setting(
        "swap",
        "Swap moves of diameters, which exchange the types of two particles; None for none.",
    )
    tile: int | None = setting("tile", "Maximum width of a tile in cells; None for the default.")

    def _setting(self, name: str) -> Any:
        if name == "d" and self._settings["d"] is None:
            sizes = self._settings["diameter"]
            return self._DEFAULT_D * (max(sizes.values()) if isinstance(sizes, dict) else sizes)
        return super()._setting(name)

    def _checked(self, settings: dict[str, Any]) -> dict[str, Any]:
        d, tile = settings["d"], settings["tile"]
        return {
            "diameter": _checked_diameter(settings["diameter"]),
            "d": None if d is None else arguments.positive_and_finite("d", d),
            "nselect": arguments.count("nselect", settings["nselect"], most=1024),
            "sweeps_per_step": arguments.count(
                "sweeps_per_step", settings["sweeps_per_step"], most=10**6
            ),
            "repair_depth": arguments.not_negative("repair_depth", settings["repair_depth"]),
            "box_moves": moves.box_moves(settings["box_moves"]),
            "swap": moves.swap(settings["swap"]),
            "tile": None if tile is None else arguments.count("tile", tile),
        }

    # ---- what HOOMD-blue calls -------------------------------------------------------------------

    def act(self, timestep: int) -> None:
        """Make the sweeps of a step.

        Args:
            timestep: time step of the simulation.
        """
        self._notice_a_new_run()
        with self._following(timestep) as particles:
            engine, cycles = self._engine.core, self.sweeps_per_step // self._rounds
            while cycles > 0:
                some = min(cycles, engine.cycles_between_writes)
                engine.enqueue(some, **particles)
                cycles -= some
        self._follow_box()
        self._run_seconds = time.perf_counter() - self._run_started

    def _begin(self, timestep: int) -> None:
        with self._following(timestep):
            pass

    def _follow_box(self) -> None:
        """Give HOOMD-blue the box of an engine at constant pressure."""
        if self._settings["box_moves"] is None:
            return
        box = hoomd.Box.from_box(self._simulation.state.box)
        for name, edge in zip(("Lx", "Ly", "Lz"), self._engine.box, strict=False):
            setattr(box, name, edge)
        self._simulation.state.set_box(box)
        self._made_with = {**(self._made_with or {}), "box": self._edges()}

    # ---- loggable --------------------------------------------------------------------------------

    @log(category="sequence", requires_run=True)
    def volume_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial changes of the volume and of edges since the
        start of the last run."""
        trial, accepted = self._moves_of_this_run()[2:4]
        return accepted, trial - accepted

    @log(category="sequence", requires_run=True)
    def aspect_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial changes of the aspect ratio since the start of
        the last run."""
        trial, accepted = self._moves_of_this_run()[6:]
        return accepted, trial - accepted

    @log(category="sequence", requires_run=True)
    def swap_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial swaps since the start of the last run."""
        trial, accepted = self._moves_of_this_run()[4:6]
        return accepted, trial - accepted

    @log(requires_run=True)
    def packing_fraction(self) -> float:
        """float: part of the box that the particles cover."""
        with self._following(self._simulation.timestep):
            return self._engine.packing_fraction

    @log(category="sequence", requires_run=True)
    def translate_moves(self) -> tuple[int, int]:
        """(int, int): accepted and rejected trial moves since the start of the last run."""
        trial, accepted = self._moves_of_this_run()[:2]
        return accepted, trial - accepted

    @log(requires_run=True)
    def mps(self) -> float:
        """float: trial moves per second of wall time in the last run; 0 before its first step."""
        started = time.perf_counter()
        trial = self._moves_of_this_run()[0]  # waits for a GPU that has not finished
        if self._run_seconds == 0:
            return 0.0
        self._run_seconds += time.perf_counter() - started
        return trial / self._run_seconds

    @log(category="string", requires_run=True)
    def state_hash(self) -> str:
        """str: 16 hexadecimal digits from all positions and counters; the same on every machine."""
        with self._following(self._simulation.timestep):
            return self._engine.state_hash

    @log(requires_run=True)
    def overlaps(self) -> int:
        """int: pairs of particles that overlap in HOOMD-blue's positions: 0 after every step, but
        for the rounding of a HOOMD-blue in single precision."""
        edges, sizes = self._edges(), self._sizes()
        if self._dimensions == 2 and "diameter" in sizes:
            return _core.count_overlaps(self._positions(), edges, sizes["diameter"])
        positions = self._positions()
        diameters = self._by_particle(sizes)
        if diameters is None:
            diameters = np.full(len(positions), sizes["diameter"])
        return _core.count_overlaps(positions, list(edges), diameters)

    @log(requires_run=True)
    def pressure(self) -> float:
        """float: P* = beta P d^D of the present configuration in D dimensions, from the pair
        distances near contact (section 4 of the paper); d is the diameter, and d^D its mean over
        the particles of a mixture. One configuration is a noisy estimate: average over many."""
        with self._following(self._simulation.timestep):
            engine = self._engine
            filled, dimensions = engine.packing_fraction, self._dimensions
            count = engine.core.contact_histogram
            width = bin_width(filled, dimensions, count if engine.mixed else None)
            counts = count(width, BINS)
            found = pressure_from_histogram(
                counts, 1, engine.N, filled, width, dimensions=dimensions
            )
            return float(found)

    @log(requires_run=True)
    def betaP(self) -> float:
        """float: beta P, in 1 / length^D; `pressure` over d^D."""
        return self.pressure / self._engine.diameter**self._dimensions

    @property
    def repaired(self) -> dict[str, Any]:
        """Overlaps repaired when positions were last read from HOOMD-blue: their `count`, and the
        `depth` of the deepest in contact distances."""
        if self._engine is None:
            return {"count": 0, "depth": 0.0}
        return self._engine.repaired

    # ---- the engine ------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self._made_with = None
        self._run_first_step: int | None = None
        self._past = (0,) * 8
        self._run_moves: tuple[int, ...] = self._past  # of all engines when the run began
        self._run_started: float = 0.0
        self._run_seconds = 0.0

    @property
    def _rounds(self) -> int:
        """Number of sweeps between two shifts of the grid."""
        sweeps = self.sweeps_per_step
        return next(n for n in range(_MOST_ROUNDS, 0, -1) if sweeps % n == 0)

    @contextmanager
    def _following(self, timestep: int) -> Iterator[dict[str, Any]]:
        """Addresses of HOOMD-blue's arrays, with an engine that has the present particles."""
        present = self._present(timestep)
        if present == self._made_with and self._simulation.state.N_particles == self._engine.N:
            with self._where("tag") as particles:
                if self._engine.core.same_positions(**particles):
                    yield particles
                    return
        self._make(present, timestep)
        with self._where("tag") as particles:
            self._engine.core.write_positions(**particles)
        self._follow_box()  # now that the positions fit
        with self._where("tag") as particles:
            yield particles

    def _present(self, timestep: int) -> dict[str, Any]:
        """The arguments of an engine for the present state, except the positions."""
        return {
            "box": self._edges(),
            **self._sizes(),
            "max_displacement": self.d,
            "grid": Grid(self.nselect, self._rounds, self.tile),
            "repair_depth": self.repair_depth,
            "seed": self._simulation.seed or 0,
            "device": self._device,
            "threads": self._threads,
            **self._constant_pressure(timestep),
            **self._swap_moves(),
        }

    def _constant_pressure(self, timestep: int) -> dict[str, Any]:
        """The arguments of an engine at constant pressure."""
        of_box = self._settings["box_moves"]
        if of_box is None:
            return {}
        betaP = moves.pressure(of_box["betaP"], timestep)
        return {"betaP": betaP, "box_moves": moves.kinds(of_box, self._dimensions)}

    def _swap_moves(self) -> dict[str, Any]:
        """The arguments of an engine with swap moves."""
        if self._settings["swap"] is None:
            return {}
        if "diameters_of_types" not in (sizes := self._sizes()):
            raise ValueError("swap needs particle types of different diameters")
        each = sizes["diameters_of_types"]
        if len({*each}) < len(each):
            raise ValueError("swap needs particle types of which no two have the same diameter")
        return {"swaps": Swaps(**self._settings["swap"])}

    def _make(self, present: dict[str, Any], timestep: int) -> None:
        if self._engine is not None:
            self._retire()
            self._made_with = None
        # A step has fewer cycles than 2**20, so that no random number is used twice.
        first_cycle = max(timestep << 20, self._past_step)
        settings = dict(present)
        start = Start(first_cycle, settings.pop("repair_depth"))
        if settings.pop("diameters_of_types", None) is not None:
            settings["diameter"] = self._by_particle(present)
        if (betaP := settings.pop("betaP", None)) is not None:
            volumes = np.power(settings["diameter"], self._dimensions)
            settings["pressure"] = ConstantPressure(
                betaP * float(np.mean(volumes)), **settings.pop("box_moves")
            )
        try:
            self._engine = self._make_engine(self._positions(), start=start, **settings)
        except ParameterError as error:
            names = {"max_displacement": "d", **moves.NAMES}
            kind = "length" if "length" in (self._settings["box_moves"] or ()) else "volume"
            names["volume_delta"] = names["delta"] = moves.NAMES[f"box_{kind}_delta"]
            raise ValueError(error.with_names(names)) from None
        if self._settings["swap"] is not None:
            self._engine.core.set_type_diameters(present["diameters_of_types"])
        self._made_with = present

    def _sizes(self) -> dict[str, Any]:
        """The "diameter" of all particles, or in a mixture the "diameters_of_types"."""
        given = self._settings["diameter"]
        if not isinstance(given, dict):
            return {"diameter": given}
        types = self._simulation.state.particle_types
        missing = [name for name in types if name not in given]
        if missing:
            raise ValueError(f"diameter has no entry for the particle type {missing[0]}")
        of_types = tuple(given[name] for name in types)
        return (
            {"diameter": of_types[0]} if len({*of_types}) == 1 else {"diameters_of_types": of_types}
        )

    def _by_particle(self, sizes: dict[str, Any]) -> np.ndarray | None:
        """The diameters of the particles of a mixture by tag, float64 (N,); otherwise None."""
        if "diameters_of_types" not in sizes:
            return None
        (types,) = self._by_tag("typeid")
        return np.array(sizes["diameters_of_types"], dtype=np.float64)[types]

    def _positions(self) -> np.ndarray:
        """HOOMD-blue's positions in host memory, float (N, D), by tag."""
        (positions,) = self._by_tag("position")
        off = np.flatnonzero(positions[:, 2]) if self._dimensions == 2 else np.empty(0)
        if off.size:
            raise ValueError(
                "manymove.hoomd needs z = 0 in a two-dimensional box: the particle with tag "
                f"{off[0]} has z = {positions[off[0], 2]}"
            )
        return np.ascontiguousarray(positions[:, : self._dimensions])

    # ---- counting --------------------------------------------------------------------------------

    def _notice_a_new_run(self) -> None:
        """Count from zero when a run has started.

        HOOMD-blue does not notify its updaters, but each run that makes steps has another first
        step.
        """
        first_step = self._simulation.initial_timestep
        if first_step != self._run_first_step:
            self._run_first_step = first_step
            self._run_moves = self._moves()
            self._run_started, self._run_seconds = time.perf_counter(), 0.0

    def _moves(self) -> tuple[int, ...]:
        """Trial and accepted moves of particles, of the volume, of diameters, and of the aspect
        ratio, by all engines since the simulation was attached."""
        if self._engine is None:
            return self._past
        core, present = self._engine.core, self._made_with or {}
        now = list(core.counters[1:3])
        now += core.volume_counters if "betaP" in present else (0, 0)
        now += core.swap_counters if "swaps" in present else (0, 0)
        now += core.box_counters[2] if "betaP" in present else (0, 0)
        return tuple(n + m for n, m in zip(now, self._past, strict=True))

    def _moves_of_this_run(self) -> tuple[int, ...]:
        """The same since the start of the last run."""
        self._notice_a_new_run()
        return tuple(n - m for n, m in zip(self._moves(), self._run_moves, strict=True))
