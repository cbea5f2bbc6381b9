"""One replica of hard particles from its start to its pressure, on one or several ranks."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from manymove import checkpoint
from manymove.analysis import pressure
from manymove.analysis.notation import Estimate
from manymove.analysis.pressure import PressureEstimate
from manymove.hard_particles import sizes as of_particles
from manymove.hard_particles.kinds import DISKS, SPHERES, Kind, check_start, make_start
from manymove.hard_particles.particles import HardParticles
from manymove.hard_particles.sizes import Sizes
from manymove.io import Frame, TrajectoryWriter
from manymove.jobs import replica, sizes
from manymove.jobs.progress import Interrupted, StopRequest
from manymove.jobs.ranks import Ranks
from manymove.jobs.replica import at_least
from manymove.jobs.report import number

T = TypeVar("T")

RECORDS = 512  # approximate number of pressure records in a complete run
LOOKS = 64  # at the slow quantities in a complete run


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Settings):
    """The settings of a job, which are those of the options of `manymove disks`.

    Attributes:
        mixture: contact distances of the pairs of types of a mixture, a row for each type.
        fractions: number fractions of the types.
        pressure: constant pressure P*; None for constant volume.
        edges_apart: whether edges change one at a time, at constant pressure.
        swap_rounds: number of rounds of swap moves; None without them.
        swap_range: largest difference of the diameters of a pair; None for any.
        swap_every: number of cycles between swap moves; None for 1.
    """

    kind: ClassVar[Kind] = DISKS
    particles: int
    packing_fraction: float
    sweeps: int
    start: str
    input: Path | None
    replicas: int
    max_displacement: float | None
    moves_per_cell: int | None
    frames: int
    decompose: bool = False
    mixture: tuple[tuple[float, ...], ...] | None = None
    fractions: tuple[float, ...] | None = None
    pressure: float | None = None
    edges_apart: bool = False
    swap_rounds: int | None = None
    swap_range: float | None = None
    swap_every: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least("--particles", self.particles, 1)
        at_least("--sweeps", self.sweeps, 1)
        at_least("--replicas", self.replicas, 1)
        at_least("--frames", self.frames, 1)
        if self.sweeps > 10**15:
            raise ValueError(f"--sweeps is {self.sweeps}; it must be at most 10**15")
        if not 0 < self.packing_fraction < 1:
            raise ValueError(
                f"--packing-fraction is {self.packing_fraction}; it lies between 0 and 1"
            )
        if self.input is None and not self.resume:
            check_start(self.kind, self.start, self.packing_fraction, self.mixture is not None)
        sizes.refuse(
            f"--particles {self.particles} and --sweeps {self.sweeps}",
            100.0 * self.particles,  # bytes
            float(self.particles) * (self.sweeps + self.equilibrate) * self.replicas,
            "trial moves",
            self.device,
        )
        if self.input is not None and not self.resume:
            trajectories = self.output.resolve() / "trajectory*.gsd"
            if self.input.resolve().match(str(trajectories)):
                raise ValueError(
                    f"--input {self.input} would be replaced by the new trajectory: "
                    "choose another --output"
                )
        self._check_swaps()
        if self.mixture is not None and self.input is None:
            missing = np.flatnonzero(np.bincount(self._types(), minlength=len(self.mixture)) == 0)
            if missing.size:
                raise ValueError(
                    f"--fractions leaves no particle of type {missing[0]}: --particles is "
                    f"{self.particles}"
                )
        if self.pressure is not None and not 0 < self.pressure < math.inf:
            raise ValueError(f"--pressure is {self.pressure}; it must be positive and finite")
        if self.edges_apart and self.pressure is None:
            raise ValueError("--edges-apart needs --pressure")
        if self.decompose and self.replicas > 1:
            raise ValueError(f"--decompose shares one system; --replicas is {self.replicas}")

    def _check_swaps(self) -> None:
        """Refuse swap moves that are out of range, or of particles that cannot have them."""
        if self.swap_rounds is None:
            for name in ("swap_range", "swap_every"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} needs --swap-rounds")
            return
        at_least("--swap-rounds", self.swap_rounds, 1)
        if self.swap_rounds > 1000:
            raise ValueError(f"--swap-rounds is {self.swap_rounds}; it must be at most 1000")
        if self.swap_every is not None:
            at_least("--swap-every", self.swap_every, 1)
        if self.swap_range is not None and not 0 < self.swap_range < math.inf:
            raise ValueError(f"--swap-range is {self.swap_range}; it must be positive and finite")
        if self.input is None:
            self.exchangeable(self._of_types())

    def exchangeable(self, given: Sizes) -> Sizes:
        """The sizes in the form that swap moves need, if there are any.

        Raises:
            ValueError: swap moves are not for these sizes.
        """
        if self.swap_rounds is None:
            return given
        try:
            return given.by_particle()
        except ValueError as error:
            raise ValueError(f"--swap-rounds: {error}") from None

    def _types(self) -> np.ndarray:
        """The type of each particle of a mixture."""
        kinds = len(self.mixture)
        shares = np.cumsum(self.fractions or kinds * (1 / kinds,))
        ends = np.rint(shares / shares[-1] * self.particles).astype(int)
        return np.repeat(np.arange(kinds, dtype=np.int32), np.diff(ends, prepend=0))

    def _of_types(self) -> Sizes:
        if self.mixture is None:
            return Sizes(diameter=1.0)
        return Sizes(types=self._types(), contacts=np.array(self.mixture))

    @property
    def sizes(self) -> Sizes:
        """The sizes of the particles without `--input`, in the unit of the options."""
        return self.exchangeable(self._of_types())


@dataclass(frozen=True, kw_only=True)
class SphereSettings(Settings):
    """The settings of a job of `manymove spheres`."""

    kind: ClassVar[Kind] = SPHERES


@dataclass(frozen=True)
class Result(replica.Result):
    """The result of a replica."""

    box: tuple[float, ...] = ()
    diameter: float = 1.0
    sizes: Sizes | None = None
    equilibration_sweeps: float = 0.0
    sweeps: float = 0.0
    moves_per_cell: int | None = None
    swap_trials: int = 0
    swap_acceptance: float | None = None
    psi6: float | None = None
    max_overlap: float | None = None
    repaired: dict[str, Any] = field(default_factory=dict)
    records: np.ndarray = field(default_factory=lambda: np.empty(0))
    record_sweeps: np.ndarray = field(default_factory=lambda: np.empty(0))
    # The course of the slow quantities: sweeps, and real and imaginary part of each.
    course: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    contact_values: dict[tuple[int, int], Estimate] = field(default_factory=dict)
    positions: np.ndarray | None = None  # of replica 0, for the picture

    @property
    def estimate(self) -> PressureEstimate | None:
        return pressure.estimate(self.records) if self.records.size else None


def _is_mixture_of(engine: HardParticles, given: Sizes) -> bool:
    """Whether these are as many particles of each type, with these contact distances."""
    if given.diameters is not None:  # which swap moves exchange
        sizes = np.sort(engine.diameters)
        return bool(np.allclose(sizes, np.sort(given.diameters), rtol=1e-12, atol=0))
    found = engine.contacts
    return (
        found is not None
        and found.shape == given.contacts.shape
        and bool(np.allclose(found, given.contacts, rtol=1e-12, atol=0))
        and np.array_equal(np.bincount(engine.types), np.bincount(given.types))
    )


class Replica(replica.Replica):
    """One engine from its start to the last sweep.

    Ranks that share a system have a replica each, which make the same steps. The first rank writes
    the files.
    """

    Result = Result

    def __init__(
        self,
        index: int,
        settings: Settings,
        device: str,
        threads: int | None,
        stop: StopRequest,
        frame: Frame | None,
        ranks: Ranks | None,
    ) -> None:
        super().__init__(index, settings, device, threads, stop)
        self._frame = frame
        self._ranks = ranks
        self._writes = ranks is None or ranks.rank == 0
        self._earlier: np.ndarray | None = None  # records of the runs that this one resumes
        self._looks: list[list[float]] = []  # sweeps measured, real and imaginary parts
        self._equilibrated: float | None = None  # sweeps where the equilibration ended
        self._sampling = False
        self._trajectory: TrajectoryWriter | None = None
        self._mark: dict[str, Any] | None = None  # the durable part of the trajectory
        self._where = {"device": device, "threads": threads}
        if ranks is not None:
            self._where["comm"] = ranks.communicator

    # ---- what ranks that share a system do together ----------------------------------------------

    def _once(self, task: Callable[[], T]) -> T | None:
        """The result of a task on one of the ranks; None on the others."""
        if self._ranks is None:
            return task()
        return self._ranks.together(lambda: task() if self._writes else None, patient=True)

    def _shared(self, value: T) -> T:
        """The value of the first rank."""
        return value if self._ranks is None else self._ranks.first(value)

    def _check_stop(self) -> None:
        if self._ranks is None:
            super()._check_stop()
        elif self._ranks.any(self._stop.requested):
            raise Interrupted

    def _is_due(self) -> bool:
        return self._shared(super()._is_due())

    # ---- the run ---------------------------------------------------------------------------------

    def _started(self) -> HardParticles:
        s = self._settings
        positions, *shape = self._once(self._start) or (None,)
        box, given = self._shared(shape)
        self._check_stop()
        diameter = given.mean(s.kind.dimensions)
        disks = s.kind.make(
            positions,
            box,
            **given.given(),
            max_displacement=s.max_displacement and s.max_displacement * diameter,
            moves_per_cell=s.moves_per_cell,
            pressure=s.pressure,
            volume_mode="length" if s.edges_apart else "ln",
            swap_rounds=s.swap_rounds,
            swap_range=s.swap_range,
            swap_every=s.swap_every,
            seed=self._seed,
            **self._where,
        )
        self._say_how_rows_travel(disks)
        return disks

    def _say_how_rows_travel(self, disks: HardParticles) -> None:
        if self._ranks and self._writes and not self._settings.quiet:
            print(f"rows of cells travel through {disks.transport}", file=sys.stderr)

    def _start(self) -> tuple[np.ndarray, tuple[float, ...], Sizes]:
        """Positions, box and sizes."""
        s, frame = self._settings, self._frame
        if frame is not None:
            return frame.positions, frame.box, s.exchangeable(of_particles.of_frame(frame))
        place = {"device": self._device, "threads": self._threads}
        stopped = lambda: bool(self._stop.requested)  # noqa: E731
        where = (s.kind, s.start, s.particles, s.packing_fraction, s.sizes)
        return *make_start(*where, self._seed, stopped, **place), s.sizes

    def _resumed(self) -> HardParticles:
        s, state = self._settings, self._state

        def newest() -> tuple[Path, Path]:
            records, state = self._newest()
            return state, records

        state, path = self._once(newest) or (state, None)
        engine = s.kind.make.load(state, **self._where)

        def earlier() -> tuple[np.ndarray, dict[str, Any]]:
            return checkpoint.read_records(path, columns=2 + _contact_columns(engine))

        records, about = self._once(earlier) or (None, {})
        self._mark = about.get("trajectory")
        self._say_how_rows_travel(engine)
        asked, ended = self._shared((about.get("equilibrate"), about.get("equilibrated")))
        if ended is not None and ended <= engine.sweeps:  # the records may be ahead of the state
            self._refuse_others({"--equilibrate": (asked, s.equilibrate)})
            self._equilibrated = ended
        if self._equilibrated is not None:
            measured = engine.sweeps - self._equilibrated
            course = self._shared(about.get("looks", about.get("psi6"))) or []
            self._looks = [look for look in course if look[0] <= measured]
        if records is not None:
            # The sweeps of a record that ends with the checkpoint may be rounded up.
            self._earlier = records[records[:, 0] <= engine.sweeps * (1 + 1e-12)]
        self._refuse_others({"--seed": (engine.seed, self._seed)})
        wanted = (s.max_displacement or 0) * engine.diameter
        if (wanted and abs(wanted / engine.max_displacement - 1) > 0.01) or (
            s.moves_per_cell not in (None, engine.moves_per_cell)
        ):
            raise ValueError(
                f"--resume: {state} has --max-displacement "
                f"{engine.max_displacement / engine.diameter:.4g} and --moves-per-cell "
                f"{engine.moves_per_cell}, which cannot change"
            )
        given, asked = engine.constant_pressure, s.pressure
        if (given is None) != (asked is None) or (given and abs(asked / given - 1) > 1e-9):
            raise ValueError(
                f"--resume: {state} has "
                + ("constant volume" if given is None else f"--pressure {given:.6g}")
                + ", which cannot change"
            )
        if given is not None and (engine.volume_mode == "length") != s.edges_apart:
            edges = "apart" if engine.volume_mode == "length" else "together"
            raise ValueError(
                f"--resume: {state} was written with edges that change {edges}; --edges-apart "
                "cannot change"
            )
        swaps = (s.swap_rounds or 0, s.swap_range or math.inf, s.swap_every or 1)
        if swaps != (engine.swap_rounds, engine.swap_range, engine.swap_every):
            raise ValueError(f"--resume: {state} has other swap moves, which cannot change")
        same = given is not None or abs(engine.packing_fraction - s.packing_fraction) < 1e-6
        if engine.N != s.particles or not same:
            raise ValueError(
                f"--resume: {state} holds {engine.N} {s.kind.particles} at packing fraction "
                f"{engine.packing_fraction:.6g}, not {s.particles} at {s.packing_fraction:.6g}"
            )
        if s.mixture is not None and not _is_mixture_of(engine, s.sizes):
            raise ValueError(
                f"--resume: {state} holds other sizes than --diameters, --contacts and --fractions"
            )
        return engine

    def _advance(self, engine: HardParticles, sweeps: float) -> None:
        """Run up to the given number of sweeps since the start, to the end of a cycle."""
        engine.run_until(sweeps, callback=self._pause)
        while engine.sweeps < sweeps:
            engine.run_cycles(1, callback=self._pause)
        self.moves = engine.trial_moves
        self._check_stop()

    def _course(self, engine: HardParticles) -> None:
        s = self._settings
        if self._equilibrated is None:
            self._advance(engine, s.equilibrate)
            self._equilibrated = engine.sweeps
        record = max(1, s.sweeps // RECORDS)
        if s.pressure is None:
            engine.sample_pressure(every=1, record=record)
        else:
            engine.sample_volume(record)
        self._sampling = True
        name = "trajectory.gsd" if self._index == 0 else f"trajectory-{self._index}.gsd"
        # The first rank opens the file; with swap moves the diameters are from all ranks.
        sizes = engine.diameters if engine.mixed else engine.diameter
        trajectory = self._trajectory = self._once(
            lambda: self._opened(s.output / name, engine, sizes)
        )
        with trajectory or nullcontext():
            last_step = self._shared(trajectory and trajectory.last_step)
            frames, looks = min(s.frames, s.sweeps), min(LOOKS, s.sweeps)
            of_frames = {s.sweeps * k / frames for k in range(1, frames + 1)}
            of_looks = {s.sweeps * k / looks for k in range(1, looks + 1)}
            for done in sorted(of_frames | of_looks):
                step = round(s.equilibrate + done)
                frame = done in of_frames and step > last_step
                look = done in of_looks and done > (self._looks[-1][0] if self._looks else 0)
                if frame or look:
                    self._advance(engine, self._equilibrated + done)
                if look:
                    self._looks.append([done, *engine.slow_quantities().view(float)])
                if frame:
                    self._append(trajectory, engine, step)
                    last_step = step
            self._advance(engine, self._equilibrated + s.sweeps)

    def _opened(
        self, path: Path, engine: HardParticles, sizes: float | np.ndarray
    ) -> TrajectoryWriter:
        """The trajectory, new or as it was at the checkpoint. A power cut may have damaged later
        frames, therefore they are computed again."""
        trajectory = TrajectoryWriter(
            path,
            engine.box,
            sizes,
            types=engine.types if engine.contacts is not None else None,
            contacts=engine.contacts,
            mark=self._mark,
            overwrite=self._settings.resume,  # without a mark all its frames are after the state
        )
        if trajectory.shortened:
            after = f"frames after step {trajectory.last_step}, the last checkpoint's"
            print(f"manymove: {path}: {after}, are computed again", file=sys.stderr)
        return trajectory

    def _append(
        self, trajectory: TrajectoryWriter | None, engine: HardParticles, step: int
    ) -> None:
        log = {"trial_moves": float(engine.trial_moves), **_order(engine)}
        now = {"positions": engine.positions, "box": engine.box}
        if engine.swap_rounds:
            now["diameters"] = engine.diameters
        self._once(lambda: trajectory.append(step=step, **now, **log))

    def _records(self, engine: HardParticles) -> np.ndarray:
        """Sweeps, P* (at constant pressure the packing fraction) and the contact values of pairs of
        types of all records, (K, 2 + pairs), including those of the resumed runs."""
        columns = _contact_columns(engine)
        earlier = np.empty((0, 2 + columns)) if self._earlier is None else self._earlier
        if not self._sampling:
            return earlier
        if engine.constant_pressure is not None:
            new = (engine.volume_sweeps, engine.packing_fraction_records)
            return np.concatenate((earlier, np.column_stack(new)))
        new = (engine.pressure_sweeps, engine.pressure_records)
        if columns:
            new += (engine.contact_value_records,)
        return np.concatenate((earlier, np.column_stack(new)))

    def _write_records(self, engine: HardParticles) -> None:
        def write() -> None:
            # Frames are synced here and not when they are appended, because there may be many.
            if self._trajectory is not None:
                self._mark = self._trajectory.sync()
            self._replace_records(
                self._records(engine),
                equilibrate=self._settings.equilibrate,
                equilibrated=self._equilibrated,
                trajectory=self._mark,
                looks=self._looks,
            )

        self._once(write)

    def _found(self, engine: HardParticles) -> dict[str, Any]:
        records = self._records(engine)
        equilibrated = engine.sweeps if self._equilibrated is None else self._equilibrated
        return {
            "box": engine.box,
            "diameter": engine.diameter,
            "sizes": Sizes(diameters=engine.diameters) if engine.swap_rounds else engine._sizes,
            "swap_trials": engine.swap_trials,
            "swap_acceptance": number(engine.swap_acceptance),
            "equilibration_sweeps": equilibrated,
            "sweeps": engine.sweeps - equilibrated,
            "moves_per_cell": engine.moves_per_cell,
            "psi6": _order(engine).get("psi6"),
            "max_overlap": engine.max_overlap(),
            "repaired": engine.repaired,
            "course": np.array(self._looks) if self._looks else np.empty((0, 3)),
            "contact_values": _contact_values(engine, records[:, 2:]),
            "records": records[:, 1],
            "record_sweeps": records[:, 0],
            "positions": engine.positions if self._index == 0 else None,
        }


def _contact_columns(engine: HardParticles) -> int:
    """Number of pairs of types of a mixture at constant volume, each with a contact value in the
    records."""
    sampled = engine.contacts is not None and engine.constant_pressure is None
    return len(engine.pairs_of_types) if sampled else 0


def _contact_values(engine: HardParticles, records: np.ndarray) -> dict[tuple[int, int], Estimate]:
    """The means of the contact values of the records, with their errors."""
    if not len(records):
        return {}
    columns = zip(engine.pairs_of_types, records.T, strict=False)  # no columns without types
    return {
        pair: Estimate(float(column.mean()), pressure.blocking_error(column)[0])
        for pair, column in columns
    }


def _order(engine: HardParticles) -> dict[str, float]:
    """The modulus of the global psi_6 of equal disks at constant volume."""
    if engine.mixed or len(engine.box) == 3 or engine.constant_pressure is not None:
        return {}
    return {"psi6": float(abs(engine.slow_quantities()[0]))}
