"""One replica of hard disks from its start to its pressure, on one rank or shared by several."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from manymove import checkpoint
from manymove.analysis import pressure
from manymove.analysis.pressure import PressureEstimate
from manymove.hard_particles.packing import (
    check_density,
    hexagonal_packing,
    random_packing,
    square_packing,
)
from manymove.hard_particles.simulation import HardDisks
from manymove.io import Frame, TrajectoryWriter
from manymove.jobs import replica, sizes
from manymove.jobs.progress import Interrupted, StopRequest
from manymove.jobs.ranks import Ranks
from manymove.jobs.replica import at_least

T = TypeVar("T")

RECORDS = 512  # approximate number of pressure records in a complete run
LOOKS = 64  # at psi_6 in a complete run


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Settings):
    """The settings of a job, which are those of the options of `manymove disks`."""

    particles: int
    packing_fraction: float
    sweeps: int
    start: str
    input: Path | None
    replicas: int
    max_displacement: float | None
    moves_per_cell: int | None
    frames: int
    decompose: bool

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
            check_density(self.start, self.packing_fraction)
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
        if self.decompose and self.replicas > 1:
            raise ValueError(f"--decompose shares one system; --replicas is {self.replicas}")


@dataclass(frozen=True)
class Result(replica.Result):
    """The result of a replica."""

    box: tuple[float, float] = (0.0, 0.0)
    diameter: float = 1.0
    equilibration_sweeps: float = 0.0
    sweeps: float = 0.0
    moves_per_cell: int | None = None
    psi6: float | None = None
    max_overlap: float | None = None
    repaired: dict[str, Any] = field(default_factory=dict)
    records: np.ndarray = field(default_factory=lambda: np.empty(0))
    record_sweeps: np.ndarray = field(default_factory=lambda: np.empty(0))
    psi6_course: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))  # sweeps, Re, Im
    positions: np.ndarray | None = None  # of replica 0, for the picture

    @property
    def estimate(self) -> PressureEstimate | None:
        return pressure.estimate(self.records) if self.records.size else None


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
        self._earlier = np.empty((0, 2))  # records of the runs that this one resumes: sweeps, P*
        self._psi6: list[list[float]] = []  # sweeps measured, real and imaginary part
        self._equilibrated: float | None = None  # sweeps where the equilibration ended
        self._sampling = False
        self._trajectory: TrajectoryWriter | None = None
        self._mark: dict[str, Any] | None = None  # the durable part of the trajectory
        self._where = {"device": device, "threads": threads, "comm": ranks and ranks.communicator}

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

    def _started(self) -> HardDisks:
        s = self._settings
        positions, *shape = self._once(self._start) or (None,)
        box, diameter = self._shared(shape)
        self._check_stop()
        return HardDisks(
            positions,
            box,
            diameter,
            max_displacement=s.max_displacement and s.max_displacement * diameter,
            moves_per_cell=s.moves_per_cell,
            seed=self._seed,
            **self._where,
        )

    def _start(self) -> tuple[np.ndarray, tuple[float, float], float]:
        """Positions, box and diameter."""
        if self._frame is not None:
            return self._frame.positions, self._frame.box, self._frame.diameter
        return *make_start(self._settings, self._seed, lambda: self._stop.requested), 1.0

    def _resumed(self) -> HardDisks:
        s, state = self._settings, self._state

        def earlier() -> tuple[Path, np.ndarray, dict[str, Any]]:
            records, state = self._newest()
            return state, *checkpoint.read_records(records, columns=2)

        state, records, about = self._once(earlier) or (state, None, {})
        self._mark = about.get("trajectory")
        engine = HardDisks.load(state, **self._where)
        asked, ended = self._shared((about.get("equilibrate"), about.get("equilibrated")))
        if ended is not None and ended <= engine.sweeps:  # the records may be ahead of the state
            self._refuse_others({"--equilibrate": (asked, s.equilibrate)})
            self._equilibrated = ended
        if self._equilibrated is not None:
            measured = engine.sweeps - self._equilibrated
            course = self._shared(about.get("psi6")) or []
            self._psi6 = [look for look in course if look[0] <= measured]
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
        if engine.N != s.particles or abs(engine.packing_fraction - s.packing_fraction) > 1e-6:
            raise ValueError(
                f"--resume: {state} holds {engine.N} disks at packing fraction "
                f"{engine.packing_fraction:.6g}, not {s.particles} at {s.packing_fraction:.6g}"
            )
        return engine

    def _advance(self, engine: HardDisks, sweeps: float) -> None:
        """Run up to the given number of sweeps since the start, to the end of a cycle."""
        engine.run_until(sweeps, callback=self._pause)
        while engine.sweeps < sweeps:
            engine.run_cycles(1, callback=self._pause)
        self.moves = engine.trial_moves
        self._check_stop()

    def _course(self, engine: HardDisks) -> None:
        s = self._settings
        if self._equilibrated is None:
            self._advance(engine, s.equilibrate)
            self._equilibrated = engine.sweeps
        engine.sample_pressure(every=1, record=max(1, s.sweeps // RECORDS))
        self._sampling = True
        name = "trajectory.gsd" if self._index == 0 else f"trajectory-{self._index}.gsd"
        trajectory = self._trajectory = self._once(lambda: self._opened(s.output / name, engine))
        with trajectory or nullcontext():
            last_step = self._shared(trajectory and trajectory.last_step)
            frames, looks = min(s.frames, s.sweeps), min(LOOKS, s.sweeps)
            of_frames = {s.sweeps * k / frames for k in range(1, frames + 1)}
            of_looks = {s.sweeps * k / looks for k in range(1, looks + 1)}
            for done in sorted(of_frames | of_looks):
                step = round(s.equilibrate + done)
                frame = done in of_frames and step > last_step
                look = done in of_looks and done > (self._psi6[-1][0] if self._psi6 else 0)
                if frame or look:
                    self._advance(engine, self._equilibrated + done)
                if look:
                    psi6 = engine.psi6()
                    self._psi6.append([done, psi6.real, psi6.imag])
                if frame:
                    self._append(trajectory, engine, step)
                    last_step = step
            self._advance(engine, self._equilibrated + s.sweeps)

    def _opened(self, path: Path, engine: HardDisks) -> TrajectoryWriter:
        """The trajectory, new or as it was at the checkpoint. A power cut may have damaged later
        frames, therefore they are computed again."""
        trajectory = TrajectoryWriter(
            path,
            engine.box,
            engine.diameter,
            mark=self._mark,
            overwrite=self._settings.resume,  # without a mark all its frames are after the state
        )
        if trajectory.shortened:
            after = f"frames after step {trajectory.last_step}, the last checkpoint's"
            print(f"manymove: {path}: {after}, are computed again", file=sys.stderr)
        return trajectory

    def _append(self, trajectory: TrajectoryWriter | None, engine: HardDisks, step: int) -> None:
        positions, psi6, moves = engine.positions, abs(engine.psi6()), float(engine.trial_moves)
        self._once(lambda: trajectory.append(positions, step=step, psi6=psi6, trial_moves=moves))

    def _records(self, engine: HardDisks) -> np.ndarray:
        """Sweeps and P* of all records, (K, 2), including those of the resumed runs."""
        if not self._sampling:
            return self._earlier
        new = np.column_stack((engine.pressure_sweeps, engine.pressure_records))
        return np.concatenate((self._earlier, new))

    def _write_records(self, engine: HardDisks) -> None:
        def write() -> None:
            # Frames are synced here and not when they are appended, because there may be many.
            if self._trajectory is not None:
                self._mark = self._trajectory.sync()
            self._replace_records(
                self._records(engine),
                equilibrate=self._settings.equilibrate,
                equilibrated=self._equilibrated,
                trajectory=self._mark,
                psi6=self._psi6,
            )

        self._once(write)

    def _found(self, engine: HardDisks) -> dict[str, Any]:
        records = self._records(engine)
        equilibrated = engine.sweeps if self._equilibrated is None else self._equilibrated
        return {
            "box": engine.box,
            "diameter": engine.diameter,
            "equilibration_sweeps": equilibrated,
            "sweeps": engine.sweeps - equilibrated,
            "moves_per_cell": engine.moves_per_cell,
            "psi6": abs(engine.psi6()),
            "max_overlap": engine.max_overlap(),
            "repaired": engine.repaired,
            "psi6_course": np.array(self._psi6).reshape(-1, 3),
            "records": records[:, 1],
            "record_sweeps": records[:, 0],
            "positions": engine.positions if self._index == 0 else None,
        }


def make_start(
    settings: Settings, seed: int, interrupted: Callable[[], bool]
) -> tuple[np.ndarray, tuple[float, float]]:
    """Positions and box of disks of diameter 1 for `--start`."""
    if settings.start == "hexagonal":
        return hexagonal_packing(settings.particles, settings.packing_fraction)
    if settings.start == "square":
        return square_packing(settings.particles, settings.packing_fraction)
    if settings.start == "random":
        return random_packing(
            settings.particles, settings.packing_fraction, seed=seed, interrupted=interrupted
        )
    raise ValueError(f"--start is {settings.start}; it is random, hexagonal or square")
