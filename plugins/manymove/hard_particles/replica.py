"""One replica of hard particles from its start to its pressure, on one or several ranks."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from manymove import checkpoint
from manymove import fields as external_fields
from manymove import steps as pair_steps
from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.analysis.stopping import is_reached
from manymove.errors import OutgrownLattice
from manymove.hard_particles import sizes
from manymove.hard_particles.kinds import make_start
from manymove.hard_particles.particles import HardParticles
from manymove.hard_particles.profiles import default_bins
from manymove.hard_particles.settings import Settings
from manymove.hard_particles.sizes import Sizes
from manymove.io import Frame, FrameWriter
from manymove.jobs import replica
from manymove.jobs.options import refuse_shorter
from manymove.jobs.progress import Interrupted, StopRequest
from manymove.jobs.ranks import Ranks
from manymove.settings import Grid, Swaps

T = TypeVar("T")

RECORDS = 512  # approximate number of pressure records in a complete run
SAMPLES = 8  # of the profile in a record, of fewer than SAMPLED particles together
SAMPLED = 100_000
LOOKS = 64  # at the slow quantities in a complete run
TUNINGS = 10  # number of adjustments of the maximum volume change in an equilibration


_NO_VOLUME_MOVES = {"volume_delta": None, "volume_trials": 0, "volume_acceptance": math.nan}


@dataclass(frozen=True)
class Result(replica.Result):
    """The result of a replica."""

    box: tuple[float, ...] = ()
    diameter: float = 1.0
    sizes: Sizes | None = None
    equilibration_sweeps: float = 0.0
    sweeps: float = 0.0
    moves_per_cell: int | None = None
    tile: int | tuple[int, ...] | None = None
    volume_delta: float | tuple[float, ...] | None = None
    volume_trials: int = 0
    volume_acceptance: float = math.nan
    swap_trials: int = 0
    swap_acceptance: float = math.nan
    insertion_trials: int = 0
    insertion_acceptance: float = math.nan
    deletion_trials: int = 0
    deletion_acceptance: float = math.nan
    psi6: float | None = None
    max_overlap: float | None = None
    repaired: dict[str, Any] = field(default_factory=dict)
    records: np.ndarray = field(default_factory=lambda: np.empty(0))
    record_sweeps: np.ndarray = field(default_factory=lambda: np.empty(0))
    # The course of the slow quantities: sweeps, and real and imaginary part of each.
    course: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    contact_values: dict[tuple[int, int], Estimate] = field(default_factory=dict)
    positions: np.ndarray | None = None  # of replica 0, for the picture
    pressures: np.ndarray = field(default_factory=lambda: np.empty(0))  # with a fugacity
    # In fields: P* on the lower and the upper wall, energy in the fields, and densities of bins.
    of_fields: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))


def is_mixture_of(engine: HardParticles, given: Sizes) -> bool:
    """Whether these are as many particles of each type, with these contact distances."""
    if given.diameters is not None:  # which swap moves exchange
        sizes = np.sort(engine.diameters)
        return bool(np.allclose(sizes, np.sort(given.diameters), rtol=1e-12, atol=0))
    found = engine.contacts
    return (
        found is not None
        and given.contacts is not None
        and given.types is not None
        and found.shape == given.contacts.shape
        and bool(np.allclose(found, given.contacts, rtol=1e-12, atol=0))
        and np.array_equal(np.bincount(engine.types), np.bincount(given.types))
    )


def made(
    settings: Settings,
    positions: np.ndarray | None,
    box: tuple[float, ...],
    given: Sizes,
    **place: Any,
) -> HardParticles:
    """The particles of a job at positions. `place` has the seed and where they run."""
    s, diameter = settings, given.mean(settings.kind.dimensions)
    return s.kind.make(
        positions,
        box,
        given.given,
        max_displacement=s.max_displacement and s.max_displacement * diameter,
        grid=Grid(s.moves_per_cell, tile=s.tile_for(given)),
        pressure=s.constant_pressure_for(given),
        swaps=s.swaps,
        steps=s.steps_for(given),
        fields=s.fields_for(given, box, positions),
        fugacity=s.fugacity_for(given),
        **place,
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
        self.writes = ranks is None or ranks.rank == 0
        self._earlier: np.ndarray | None = None  # records of the runs that this one resumes
        self._looks: list[list[float]] = []  # sweeps measured, real and imaginary parts
        self._equilibrated: float | None = None  # sweeps where the equilibration ended
        # Cycles, trial and accepted changes of the volume and their new maximum at each tuning.
        self._tunings: list[tuple[int, int, int, float]] = []
        self._sampling = False
        self._where = {"device": device, "threads": threads}
        if ranks is not None:
            self._where["comm"] = ranks.communicator

    # ---- what ranks that share a system do together ----------------------------------------------

    def _once(self, task: Callable[[], T]) -> T | None:
        """The result of a task on one of the ranks; None on the others."""
        if self._ranks is None:
            return task()
        return self._ranks.together(lambda: task() if self.writes else None, patient=True)

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
        positions, *shape = self._once(self._start) or (None,)
        shape_of_first: Any = self._shared(shape)
        box, given = shape_of_first
        if self._settings.springs is not None:
            positions = self._shared(positions)
        self._check_stop()
        disks = made(self._settings, positions, box, given, seed=self._seed, **self._where)
        self._say_how_rows_travel(disks)
        return disks

    def _say_how_rows_travel(self, disks: HardParticles) -> None:
        if self._ranks and self.writes and not self._settings.quiet:
            print(f"rows of cells travel through {disks.transport}", file=sys.stderr)

    def _start(self) -> tuple[np.ndarray, tuple[float, ...], Sizes]:
        """Positions, box and sizes."""
        s, frame = self._settings, self._frame
        if frame is not None:
            return frame.positions, frame.box, s.exchangeable(sizes.of_frame(frame))
        place: dict[str, Any] = {"device": self._device, "threads": self._threads}
        packing_fraction, shape, room = s._of_start()
        of_all = (s.kind, s.start, s.particles, packing_fraction, s.sizes, self._seed)
        positions, edges = make_start(*of_all, lambda: self._stop.requested, shape, **place)
        box = [edge + room * (axis == s.axis) for axis, edge in enumerate(edges)]
        return positions, tuple(box), s.sizes

    def _resumed(self) -> HardParticles:
        s = self._settings
        path, state = self._once(self._newest) or (self._records_file, self._state)
        engine = s.kind.make.load(state, **self._where)
        columns = 2 + _further_columns(engine, s)
        found = self._once(lambda: checkpoint.read_records(path, columns=columns))
        records, about = found or (None, {})
        self._mark = about.get("trajectory")
        self._say_how_rows_travel(engine)
        equilibrate, ended = self._shared((about.get("equilibrate"), about.get("equilibrated")))
        over = ended is not None and ended <= engine.sweeps  # records may be ahead of the state
        tuned = self._shared(about.get("tune_volume", False))
        if tuned and s.tune_volume and not over and equilibrate != s.equilibrate:
            raise ValueError(
                f"--resume: {state} has --equilibrate {equilibrate}, which cannot change with "
                "--tune-volume, because the volume moves are adjusted after each tenth of it"
            )
        done = engine._cycles_done * engine.sweeps_per_cycle
        self._refuse_other_equilibration(equilibrate, done, over=over)
        if over:
            self._equilibrated = ended
        # The last checkpoint may be from before a tuning that the records know, at the same cycle.
        cycles, delta = engine.cycles, engine._grid.get("volume_delta")
        self._tunings = [
            tuning
            for tuning in self._shared(about.get("tunings")) or []
            if tuning[0] < cycles or (tuning[0] == cycles and tuning[3] == delta)
        ]
        if self._equilibrated is not None:
            course = self._shared(about.get("looks", about.get("psi6"))) or []
            done = engine._cycles_done
            self._looks = [look for look in course if self._cycles_at(engine, look[0]) <= done]
        if records is not None:
            self._earlier = _of_the_state(records, about, engine)
        self._refuse_another_run(engine, tuned)
        if s.volume_delta is not None:
            self._refuse_other_delta(engine, self._shared(about.get("volume_delta")))
        return engine

    def _refuse_another_run(self, engine: HardParticles, tuned: bool) -> None:
        """Refuse a checkpoint with other settings than those of the command."""
        s, swaps = self._settings, self._settings.swaps or Swaps(1)
        tile = (engine.tile,) if isinstance(engine.tile, int) else engine.tile
        widths = s.tile or tile
        edges_apart = s.pressure is not None and engine.volume_mode == "length"
        held = engine.max_displacement / engine.diameter
        self._refuse_others({"--pressure": (engine.constant_pressure, s.pressure)}, 1e-9)
        self._refuse_others(
            {
                "--seed": (engine.seed, self._seed),
                "--particles": (engine.N, s.particles if s.fugacity is None else engine.N),
                "--moves-per-cell": (
                    engine.moves_per_cell,
                    s.moves_per_cell or engine.moves_per_cell,
                ),
                "--tile": (tile, widths if len(widths) > 1 else widths * len(tile)),
                "--edges-apart": (edges_apart, s.edges_apart),
                "--tune-volume": (tuned, s.tune_volume),
                "--swap-rounds": (engine.swap_rounds, swaps.rounds if s.swaps else 0),
                "--swap-range": (engine.swap_range, swaps.range or math.inf),
                "--swap-every": (engine.swap_every, swaps.every),
            }
        )
        self._refuse_others({"--max-displacement": (held, s.max_displacement or held)}, 0.01)
        if s.pressure is None and s.fugacity is None:
            both = engine.packing_fraction, s.packing_fraction
            self._refuse_others({"--packing-fraction": both}, 2e-6)
        z = s.fugacity_for(engine._sizes)
        self._refuse_others({"--fugacity": (engine.fugacity, z and z.fugacity)}, 1e-9)
        steps = pair_steps.read(s.steps_for(engine._sizes), engine._sizes.kinds)[1]
        if engine._parameters.get("steps", []) != steps.get("steps", []):
            raise ValueError(
                f"--resume: {self._state} holds other steps than --step-ranges and --step-energies"
            )
        asked = s.fields_for(engine._sizes, engine.box, np.zeros((1, len(engine.box))))
        fields = external_fields.read(asked, engine._sizes.radii, len(engine.box))[1]
        if engine._parameters.get("fields", []) != fields.get("fields", []):
            raise ValueError(
                f"--resume: {self._state} holds other fields than --walls, --gravity, --fields "
                "and --springs"
            )
        of_options = s.mixture is not None and s.input is None
        if of_options and not is_mixture_of(engine, s.sizes):
            raise ValueError(
                f"--resume: {self._state} holds other sizes than --diameters, --contacts and "
                "--fractions"
            )

    def _refuse_other_delta(self, engine: HardParticles, first: list[float] | None) -> None:
        """Refuse a checkpoint with another maximum change of the volume than that of the option.
        With tuning the checkpoint has the value of the start, which the records hold."""
        s = self._settings
        s.volume_delta_for(engine._sizes)  # raises an error if it is invalid
        unit = engine.diameter if s.edges_apart else 1.0
        delta: Any = engine.volume_delta
        held = first if s.tune_volume else np.atleast_1d(delta) / unit
        if held is None or not np.allclose(held, s.volume_delta, rtol=1e-9, atol=0):
            texts = [",".join(f"{x:.6g}" for x in each) for each in (held or (), s.volume_delta)]
            self._refuse_others({"--volume-delta": (texts[0] or "the default", texts[1])})

    def _cycles_at(self, engine: HardParticles, sweeps: float) -> int:
        """Number of cycles from the start to the end of these sweeps of the measured part."""
        parts = (self._settings.equilibrate, sweeps)
        return sum(math.ceil(part / engine.sweeps_per_cycle) for part in parts)

    def _advance(self, engine: HardParticles, cycles: int) -> None:
        """Run up to the given number of cycles since the start. This number must not
        depend on the moves made or on the box, because that would bias the final states."""
        try:
            engine.run_cycles(max(0, cycles - engine._cycles_done))
        except OutgrownLattice:
            s = self._settings
            raise ValueError(
                f"--packing-fraction {s.packing_fraction:.3g} of the start is too far from that of "
                f"--pressure {s.pressure:g}: at {engine.packing_fraction:.3g} the box no longer "
                "suits the lattice of its coordinates; start nearer to the expected density"
            ) from None
        self.moves = engine.trial_moves
        self._check_stop()

    def _course(self, engine: HardParticles) -> None:
        s = self._settings
        if self._equilibrated is None:
            if s.tune_volume:
                self._tune_volume(engine)
            self._advance(engine, self._cycles_at(engine, 0))
            self._equilibrated = engine.sweeps
        # Runs of an earlier version may have ended up to two cycles later.
        if engine._cycles_done > self._cycles_at(engine, s.sweeps) + 2:
            made = engine._cycles_done - self._cycles_at(engine, 0)
            refuse_shorter("--sweeps", s.sweeps, made * engine.sweeps_per_cycle, s.output)
        record = self._shared(self._length_of_records(engine))
        held = engine._samplings  # of the run that this one resumes
        if s.in_fields:
            # Samples of many particles are expensive, and a few are enough.
            samples = min(SAMPLES, max(1, SAMPLED // s.particles))
            engine.sample_profile(record / samples, record, axis=s.axis)
        elif s.pressure is None:
            engine.sample_pressure(every=1, record=record)
        else:
            engine.sample_volume(record)
        self._sampling = True
        for new, before in zip(engine._samplings, held, strict=False):
            new.continue_record(before)
        name = "trajectory.gsd" if self._index == 0 else f"trajectory-{self._index}.gsd"
        trajectory = self._trajectory = self._once(lambda: self._opened(name))
        with trajectory or nullcontext():
            last_step = self._shared(trajectory and trajectory.last_step)
            frames, looks = min(s.frames, s.sweeps), min(LOOKS, s.sweeps)
            of_frames = {s.sweeps * k / frames for k in range(1, frames + 1)}
            of_looks = {s.sweeps * k / looks for k in range(1, looks + 1)}
            target = None if s.target_error is None else s.target_error * math.sqrt(s.replicas)
            if target is not None and self._looks:  # it may have ended before
                self._reached = self._is_reached(engine, target)
            for done in sorted(of_frames | of_looks):
                if self._reached:
                    return
                step = round(s.equilibrate + done)
                frame = done in of_frames and step > last_step
                look = done in of_looks and done > (self._looks[-1][0] if self._looks else 0)
                if frame or look:
                    self._advance(engine, self._cycles_at(engine, done))
                if look:
                    self._looks.append([done, *engine.slow_quantities().view(float)])
                if frame:
                    self._append(trajectory, engine, step)
                    last_step = step
                if look and target is not None:
                    self._reached = self._is_reached(engine, target)
            self._advance(engine, self._cycles_at(engine, s.sweeps))

    def _is_reached(self, engine: HardParticles, target: float) -> bool:
        """Whether the records that had ended at the last look have the target error."""

        def decide() -> bool:
            rows = self._records(engine)
            at_look = rows[:, 0] <= self._cycles_at(engine, self._looks[-1][0])
            return is_reached(rows[at_look, 1], target, engine._average_of)

        return bool(self._shared(self._once(decide)))

    def _tune_volume(self, engine: HardParticles) -> None:
        """Equilibrate in `TUNINGS` parts, and adjust the maximum volume change after each."""
        for part in range(len(self._tunings) + 1, TUNINGS + 1):
            self._advance(engine, math.ceil(self._cycles_at(engine, 0) * part / TUNINGS))
            before = self._tunings[-1][1:3] if self._tunings else (0, 0)
            engine._adjust_delta(before)
            now = engine._engine.volume_counters
            self._tunings.append((engine.cycles, *now, engine._grid["volume_delta"]))

    def _length_of_records(self, engine: HardParticles) -> float:
        """Sweeps of a record. All records have the same weight in the mean. A longer run has longer
        records, therefore those of the runs that it resumes are joined to records of its length."""
        wanted = max(1, self._settings.sweeps // RECORDS)
        if self._earlier is None or not len(self._earlier):
            return wanted
        ends, begin = self._earlier[:, 0], self._cycles_at(engine, 0)
        held = [each.length for each in engine._samplings]
        # An earlier version did not store the length.
        length = held[0] if held else float(np.median(np.diff(ends, prepend=begin)))
        joined = max(1, round(wanted / (length * engine.sweeps_per_cycle)))
        first = len(ends) % joined  # fewer than the length of a record are left out
        rows = self._earlier[first:].reshape(-1, joined, self._earlier.shape[1])
        self._earlier = np.column_stack((rows[:, -1, 0], rows[:, :, 1:].mean(axis=1)))
        # A whole number of cycles: the engine divides by the sweeps of its last ones.
        return round(joined * length) * engine.sweeps_per_cycle

    def _append(self, trajectory: FrameWriter | None, engine: HardParticles, step: int) -> None:
        log = {"trial_moves": float(engine.trial_moves), **_order(engine)}
        frame = engine._frame(step, log)  # of all ranks
        self._once(lambda: trajectory.write(frame) if trajectory else None)

    def _records(self, engine: HardParticles) -> np.ndarray:
        """Cycles at the end, P* (at constant pressure the packing fraction) and the contact values
        of pairs of types of all records, (K, 2 + pairs), including those of the resumed runs. In
        fields, the measured quantity, and the values of `ProfileSampling` instead. With a fugacity
        the density is before P*, which in fields is that on the walls or NaN.

        They become sweeps with the mean cycle at the end of the run. With that of the checkpoints
        they would depend on the times of these."""
        columns = _further_columns(engine, self._settings)
        earlier = np.empty((0, 2 + columns)) if self._earlier is None else self._earlier
        if not self._sampling:
            return earlier
        if engine.constant_pressure is not None:
            new = (engine._cycles_of_volumes, engine.packing_fraction_records)
            return np.concatenate((earlier, np.column_stack(new)))
        if (profile := engine._profile) is not None:
            profile.collect()
            first = profile.cycles - engine._parameters["first_cycle"]
            parts = [first, *self._measured(engine, profile.values), profile.values]
            return np.concatenate((earlier, np.column_stack(parts)))
        parts = [engine._pressure_cycles, engine.pressure_records]
        if engine.fugacity is not None:
            parts.insert(1, _densities(engine))
        if _contact_columns(engine):
            parts.append(engine.contact_value_records)
        return np.concatenate((earlier, np.column_stack(parts)))

    def _measured(self, engine: HardParticles, values: np.ndarray) -> list[np.ndarray]:
        """The measured quantity of records of `ProfileSampling`; with a fugacity, the density and
        the pressure on the walls."""
        s = self._settings
        of_walls = values[:, 0] if s.gravity is not None else values[:, :2].mean(axis=1)
        if s.fugacity is not None:
            return [_densities(engine), of_walls]
        if s.walls is not None:
            return [of_walls]
        # The energy of springs is k r^2 / 2.
        return [values[:, 2] if s.fields is not None else 2 * values[:, 2] / (s.springs or 1.0)]

    def _write_records(self, engine: HardParticles) -> None:
        def write() -> None:
            self._sync_trajectory()
            self._replace_records(
                self._records(engine),
                ends_in="cycles",
                equilibrate=self._settings.equilibrate,
                equilibrated=self._equilibrated,
                tune_volume=self._settings.tune_volume,
                volume_delta=self._settings.volume_delta,
                tunings=self._tunings,
                trajectory=self._mark,
                looks=self._looks,
            )

        self._once(write)

    def _found(self, engine: HardParticles) -> dict[str, Any]:
        s, records = self._settings, self._records(engine)
        open_ = s.fugacity is not None
        equilibrated = engine.sweeps if self._equilibrated is None else self._equilibrated
        return {
            "sizes": Sizes(diameters=engine.diameters) if engine.swap_rounds else engine._sizes,
            "equilibration_sweeps": equilibrated,
            "sweeps": engine.sweeps - equilibrated,
            "psi6": _order(engine).get("psi6"),
            "max_overlap": engine.max_overlap(),
            "course": np.array(self._looks) if self._looks else np.empty((0, 3)),
            "contact_values": _contact_values(engine, records[:, 2 : 2 + _contact_columns(engine)]),
            "pressures": records[:, 2] if open_ else np.empty(0),
            "of_fields": records[:, 2 + open_ :] if s.in_fields else np.empty((0, 3)),
            "records": records[:, 1],
            "record_sweeps": records[:, 0] * engine._mean_cycle,
            "positions": engine.positions if self._index == 0 else None,
            **(_NO_VOLUME_MOVES if engine.constant_pressure is None else {}),
        }


def _of_the_state(records: np.ndarray, about: dict[str, Any], engine: HardParticles) -> np.ndarray:
    """The records that end before the state; a crash may have left others ahead of it."""
    if about.get("ends_in") == "cycles":
        return records[records[:, 0] <= engine.cycles]
    # An earlier version stored sweeps of the mean cycle, which may be rounded up, and the number of
    # records at the last checkpoints.
    ended_before = int((records[:, 0] <= engine.sweeps * (1 + 1e-12)).sum())
    counts = dict(about.get("counts", []))
    earlier = records[: counts.get(engine.cycles, ended_before)].copy()
    earlier[:, 0] = np.rint(earlier[:, 0] / engine._mean_cycle)
    return earlier


def _contact_columns(engine: HardParticles) -> int:
    """Number of pairs of types of a mixture at constant volume, each with a contact value in the
    records."""
    sampled = engine.contacts is not None and engine.constant_pressure is None
    sampled = sampled and not engine.fields
    return len(engine.pairs_of_types) if sampled else 0


def _further_columns(engine: HardParticles, settings: Settings) -> int:
    """Number of columns of the records besides the cycles and the measured quantity."""
    open_ = engine.fugacity is not None
    if not engine.fields:
        return open_ + _contact_columns(engine)
    return open_ + 3 + default_bins(engine.box[settings.axis], engine.diameter)


def _densities(engine: HardParticles) -> np.ndarray:
    """The density of each record, in 1 / diameter^D."""
    box = engine.box
    return engine.number_records * (engine.diameter ** len(box) / math.prod(box))


def _contact_values(engine: HardParticles, records: np.ndarray) -> dict[tuple[int, int], Estimate]:
    """The means of the contact values of the records, with their errors."""
    if not len(records):
        return {}
    columns = zip(engine.pairs_of_types, records.T, strict=False)  # no columns without types
    return {pair: estimate(column) for pair, column in columns}


def _order(engine: HardParticles) -> dict[str, float]:
    """The modulus of the global psi_6 of equal disks at constant volume."""
    if engine._general:
        return {}
    return {"psi6": float(abs(engine.slow_quantities()[0]))}
