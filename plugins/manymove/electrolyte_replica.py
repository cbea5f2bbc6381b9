"""One replica of an electrolyte from its start to its pair correlations."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from manymove import checkpoint
from manymove.electrolyte import Electrolyte
from manymove.ions import Salt
from manymove.pair_correlations import PairCorrelations
from manymove.progress import Interrupted, StopRequest
from manymove.replica import _at_least


@dataclass(frozen=True)
class Settings:
    """What the user asked for; the options of `manymove electrolyte` say what each means."""

    ions: int
    valences: tuple[int, int]
    diameters: tuple[float, float]
    bjerrum_length: float
    debye_length: float | None
    concentration: float | None
    geometry: str
    sweeps: int
    equilibrate: int
    sample_every: int
    bin_width: float
    margin: float | None
    max_displacement: float | None
    precision: str
    method: str
    seed: int
    device: str
    threads: int | None
    replicas: int
    output: Path
    checkpoint: float
    resume: bool
    quiet: bool

    def __post_init__(self) -> None:
        _at_least("--ions", self.ions, 2)
        _at_least("--sweeps", self.sweeps, 1)
        _at_least("--equilibrate", self.equilibrate, 0)
        _at_least("--sample-every", self.sample_every, 1)
        _at_least("--seed", self.seed, 0)
        _at_least("--replicas", self.replicas, 1)
        if self.threads is not None:
            _at_least("--threads", self.threads, 1)
        if not self.checkpoint > 0:
            raise ValueError(f"--checkpoint is {self.checkpoint}; it must be positive (seconds)")
        if (self.debye_length is None) == (self.concentration is None):
            raise ValueError("give either --debye-length or --concentration")
        for name, value in (
            ("--debye-length", self.debye_length),
            ("--concentration", self.concentration),
            ("--bjerrum-length", self.bjerrum_length),
            ("--bin-width", self.bin_width),
        ):
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} is {value}; it must be positive")
        for name, value, words in (
            ("--geometry", self.geometry, ("sphere", "periodic")),
            ("--method", self.method, ("brush", "reduction", "serial")),
            ("--precision", self.precision, ("mixed", "double")),
        ):
            if value not in words:
                raise ValueError(f"{name} is {value}; it is {', '.join(words[:-1])} or {words[-1]}")
        if self.geometry == "periodic" and self.margin is not None:
            raise ValueError("--margin is for --geometry sphere")
        _ = self.salt
        name, value = (
            ("--debye-length", self.debye_length)
            if self.concentration is None
            else ("--concentration", self.concentration)
        )
        try:
            possible = 1e-60 < self.density < 1e60
        except ArithmeticError:
            possible = False
        if not possible:
            raise ValueError(
                f"{name} {value} and --bjerrum-length {self.bjerrum_length}: no density"
            )

    @property
    def salt(self) -> Salt:
        return Salt.of(self.ions, self.valences, self.diameters)

    @property
    def density(self) -> float:
        """Ions per cubic angstrom."""
        if self.concentration is not None:
            return self.salt.density_at(self.concentration)
        return self.salt.density(float(self.debye_length or 0), self.bjerrum_length)

    @property
    def radius(self) -> float | None:
        if self.geometry == "periodic":
            return None
        return (3 * self.ions / self.density / (4 * math.pi)) ** (1 / 3)

    @property
    def box(self) -> tuple[float, float, float] | None:
        if self.geometry == "sphere":
            return None
        edge = (self.ions / self.density) ** (1 / 3)
        return (edge, edge, edge)


@dataclass(frozen=True)
class Result:
    """What one replica did. Counters include the equilibration."""

    replica: int
    seed: int
    complete: bool
    sweeps: int = 0  # measured
    equilibration_sweeps: int = 0
    trial_moves: int = 0
    accepted_moves: int = 0
    evaluated_moves: int = 0
    session_sweeps: int = 0  # of all, those since the process started or resumed
    seconds: float = 0.0  # of those, in the engine
    device: str = ""
    device_name: str = ""
    threads: int | None = None
    threads_per_particle: int | None = None
    max_displacement: float | None = None
    debye_length: float | None = None
    state_hash: str | None = None
    energy: float | None = None
    energy_drift: float | None = None
    max_overlap: float | None = None
    energies: np.ndarray = field(default_factory=lambda: np.empty(0))  # measured, of all ions
    correlations: PairCorrelations | None = None


class Replica:
    """One engine from its start to the last sweep, in a thread of its own."""

    def __init__(
        self,
        index: int,
        settings: Settings,
        device: str,
        threads: int | None,
        stop: StopRequest,
    ) -> None:
        self.moves = 0  # done so far; read by the progress bar
        self._index = index
        self._settings = settings
        self._device = device
        self._threads = threads
        self._stop = stop
        self._seed = settings.seed + index
        self._checkpoint = settings.output / f"checkpoint-{index}"
        self._earlier = np.empty(0)  # energies of the runs that this one resumes
        self._earlier_sweeps = 0
        self._saved = 0.0

    def run(self) -> Result:
        """Equilibrate and measure; a requested stop ends it early with a checkpoint."""
        s = self._settings
        try:
            engine = self._engine()
            _ = engine.energy  # before the first sweep: changes are counted from here
        except (Interrupted, KeyboardInterrupt):
            return Result(self._index, self._seed, complete=False)
        self._earlier_sweeps = engine.sweep
        self._saved = time.time()
        try:
            self._advance(engine, s.equilibrate)
            if engine.sweep <= s.equilibrate and engine._sampling is None:
                engine.sample_pair_correlations(
                    s.sample_every, bin_width=s.bin_width, margin=s.margin
                )
            self._advance(engine, s.equilibrate + s.sweeps)
            complete = True
        except Interrupted:
            complete = False
        self._save(engine)
        return self._result(engine, complete)

    def _engine(self) -> Electrolyte:
        s = self._settings
        state = self._checkpoint.with_suffix(".state")
        if not s.resume:
            self._stop.check()
            return Electrolyte.random(
                s.salt,
                radius=s.radius,
                box=s.box,
                bjerrum_length=s.bjerrum_length,
                max_displacement=s.max_displacement,
                precision=s.precision,
                method=s.method,
                seed=self._seed,
                device=self._device,
                threads=self._threads,
            )
        if not state.is_file():
            raise FileNotFoundError(f"--resume: no checkpoint {state}")
        engine = Electrolyte.load(state, device=self._device, threads=self._threads)
        energies = checkpoint.read_records(self._checkpoint.with_suffix(".records"))
        self._earlier = energies[: engine.sweep]
        self._check(engine, state)
        return engine

    def _check(self, engine: Electrolyte, state: Path) -> None:
        """Refuse a checkpoint of another run."""
        s = self._settings
        wanted = {
            "--ions": (engine.N, s.ions),
            "--seed": (engine.seed, self._seed),
            "--precision": (engine.precision, s.precision),
            "--method": (engine.method, s.method),
            "--valences": (tuple(one.valence for one in engine.species), s.valences),
            "--diameters": (tuple(one.diameter for one in engine.species), s.diameters),
            "--bjerrum-length": (engine.bjerrum_length, s.bjerrum_length),
            "--geometry": ("sphere" if engine.box is None else "periodic", s.geometry),
        }
        for option, (held, asked) in wanted.items():
            if held != asked:
                raise ValueError(f"--resume: {state} has {option} {held}, not {asked}")
        if abs(engine.N / engine.volume / s.density - 1) > 1e-6:
            raise ValueError(
                f"--resume: {state} has {engine.N / engine.volume:.6g} ions per cubic angstrom, "
                f"not {s.density:.6g}"
            )
        sampling = engine._sampling
        if sampling is not None:
            radius = None if s.margin is None else float(engine.radius or 0) - s.margin
            for option, old, new in (
                ("--sample-every", sampling.every, s.sample_every),
                ("--bin-width", sampling.bin_width, s.bin_width),
                ("--margin (as the radius within)", sampling.interior_radius, radius),
            ):
                if new is not None and abs(old / new - 1) > 1e-6:
                    raise ValueError(f"--resume: {state} has {option} {old:.6g}, not {new:.6g}")
            # Pairs are counted from the end of the equilibration on.
            every, done = sampling.every, engine.sweep
            if done // every - s.equilibrate // every != sampling.samples:
                raise ValueError(
                    f"--resume: {state} has {sampling.samples} samples of pairs after {done} "
                    f"sweeps: another --equilibrate than {s.equilibrate}"
                )
        if s.max_displacement and abs(engine.max_displacement / s.max_displacement - 1) > 1e-5:
            raise ValueError(
                f"--resume: {state} has --max-displacement {engine.max_displacement:.6g}, "
                f"not {s.max_displacement:.6g}"
            )

    def _advance(self, engine: Electrolyte, sweeps: int) -> None:
        """Run up to the given number of sweeps since the start."""
        if sweeps > engine.sweep:
            engine.run(sweeps - engine.sweep, callback=self._pause)
        self._stop.check()

    def _pause(self, engine: Electrolyte) -> None:
        self.moves = engine.trial_moves
        self._stop.check()
        if time.time() - self._saved > self._settings.checkpoint:
            self._save(engine)

    def _energies(self, engine: Electrolyte) -> np.ndarray:
        """After each sweep, those of the resumed runs included."""
        return np.concatenate((self._earlier, engine.energies))

    def _save(self, engine: Electrolyte) -> None:
        """Write the checkpoint; energies that a crash leaves ahead are dropped."""
        checkpoint.write_records(self._checkpoint.with_suffix(".records"), self._energies(engine))
        engine.save(self._checkpoint.with_suffix(".state"))
        self._saved = time.time()

    def _result(self, engine: Electrolyte, complete: bool) -> Result:
        s = self._settings
        sampling = engine._sampling
        energies = self._energies(engine)[s.equilibrate :]
        drift = engine.energy_drift()
        return Result(
            replica=self._index,
            seed=self._seed,
            complete=complete,
            sweeps=max(0, engine.sweep - s.equilibrate),
            equilibration_sweeps=min(engine.sweep, s.equilibrate),
            trial_moves=engine.trial_moves,
            accepted_moves=engine.accepted_moves,
            evaluated_moves=engine.evaluated_moves,
            session_sweeps=engine.sweep - self._earlier_sweeps,
            seconds=engine.seconds,
            device=engine.device,
            device_name=engine.device_name,
            threads=engine.threads,
            threads_per_particle=engine.threads_per_particle,
            max_displacement=engine.max_displacement,
            debye_length=engine.debye_length,
            state_hash=engine.state_hash,
            energy=engine.energy,
            energy_drift=drift,
            max_overlap=engine.max_overlap(),
            energies=energies,
            correlations=engine.pair_correlations if sampling and sampling.samples else None,
        )
