"""One replica of an electrolyte from its start to its pair correlations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from manymove import checkpoint
from manymove.analysis.ions import Salt
from manymove.analysis.pair_correlations import PairCorrelations
from manymove.analysis.structure_factors import StructureFactors
from manymove.electrolyte.simulation import Electrolyte
from manymove.jobs import limits, replica
from manymove.jobs.options import refuse_shorter
from manymove.settings import SURROUNDINGS, Ewald, Sphere


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Settings):
    """The settings of a job, which are those of the options of `manymove electrolyte`."""

    ions: int
    valences: tuple[int, int]
    diameters: tuple[float, float]
    bjerrum_length: float
    debye_length: float | None
    concentration: float | None
    geometry: str
    boundary: str | None
    surrounding: str | None
    sweeps: int
    sample_every: int
    bin_width: float
    margin: float | None
    structure_factors: bool
    max_displacement: float | None
    precision: str | None
    method: str
    replicas: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.debye_length is None) == (self.concentration is None):
            raise ValueError("give either --debye-length or --concentration")
        if self.geometry == "periodic" and self.margin is not None:
            raise ValueError("--margin is for --geometry sphere")
        if self.geometry == "sphere" and self.structure_factors:
            raise ValueError("--structure-factors is for --geometry periodic")
        if self.boundary is not None and self.geometry == "sphere":
            raise ValueError("--boundary is for --geometry periodic")
        if self.surrounding is not None and self.boundary != "ewald":
            raise ValueError("--surrounding is for --boundary ewald")
        _ = self.salt
        # The tree takes as long as the brush would for some N^1.5 pairs.
        exponent = 1.5 if self.method in ("tree", "auto") else 2
        limits.refuse(
            f"--ions {self.ions} and --sweeps {self.sweeps}",
            100.0 * self.ions,  # bytes
            float(self.ions) ** exponent * (self.sweeps + self.equilibrate) * self.replicas,
            "pair terms",
            self.device,
        )
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
        """Number of ions per cubic angstrom."""
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
class Result(replica.Result):
    """The result of a replica. Counters include the equilibration."""

    sweeps: int = 0  # measured
    equilibration_sweeps: int = 0
    evaluated_moves: int = 0
    seconds: float = 0.0  # of this session, in the engine
    method: str | None = None
    precision: str | None = None
    direct_moves: int = 0
    threads_per_particle: int | None = None
    debye_length: float | None = None
    energy: float | None = None
    energy_drift: float | None = None
    max_overlap: float | None = None
    energies: np.ndarray = field(default_factory=lambda: np.empty(0))  # measured, of all ions
    correlations: PairCorrelations | None = None
    structure: StructureFactors | None = None


class Replica(replica.Replica):
    """One engine from its start to the last sweep."""

    Result = Result
    _earlier = np.empty(0)  # energies of the runs that this one resumes

    def _started(self) -> Electrolyte:
        s = self._settings
        self._check_stop()
        ewald = Ewald(s.surrounding or SURROUNDINGS[0])
        engine = Electrolyte.random(
            s.salt,
            s.box or Sphere(s.radius),
            boundary=ewald if s.boundary == "ewald" else s.boundary,
            bjerrum_length=s.bjerrum_length,
            max_displacement=s.max_displacement,
            precision=s.precision,
            method=s.method,
            seed=self._seed,
            device=self._device,
            threads=self._threads,
        )
        _ = engine.energy  # before the first sweep: changes are counted from here
        return engine

    def _resumed(self) -> Electrolyte:
        records, state = self._newest()
        method = self._settings.method
        engine = Electrolyte.load(state, self._device, self._threads, method=method)
        energies, about = checkpoint.read_records(records)
        # A checkpoint of an earlier version has no energies.
        self._earlier = energies[: engine.sweeps - len(engine.energy_records)]
        if (held := about.get("equilibrate")) is not None:
            self._refuse_other_equilibration(held, engine.sweeps, over=engine.sweeps > held)
        self._check(engine)
        return engine

    def _check(self, engine: Electrolyte) -> None:
        """Refuse a checkpoint of another run."""
        s = self._settings
        density = engine.N / engine.volume
        self._refuse_others(
            {
                "--ions": (engine.N, s.ions),
                "--seed": (engine.seed, self._seed),
                "--precision": (engine.precision, s.precision or engine.precision),
                "--valences": (tuple(one.valence for one in engine.species), s.valences),
                "--diameters": (tuple(one.diameter for one in engine.species), s.diameters),
                "--bjerrum-length": (engine.bjerrum_length, s.bjerrum_length),
                "--geometry": ("sphere" if engine.box is None else "periodic", s.geometry),
                "--boundary": (engine.boundary, s.boundary or engine.boundary),
                "--surrounding": (engine.surrounding, s.surrounding or engine.surrounding),
            }
        )
        self._refuse_others({"ions per cubic angstrom": (density, s.density)}, 1e-6)
        if s.max_displacement is not None:
            held_and_asked = (engine.max_displacement, s.max_displacement)
            self._refuse_others({"--max-displacement": held_and_asked}, 1e-3)
        sampling = engine.pair_sampling
        if sampling is None:
            return
        radius = sampling.interior_radius
        asked = radius if s.margin is None else float(engine.radius or 0) - s.margin
        self._refuse_others(
            {
                "--sample-every": (sampling.every, s.sample_every),
                "--bin-width": (sampling.bin_width, s.bin_width),
                "--margin (as the radius within)": (radius, asked),
            },
            1e-6,
        )
        # Pairs are counted from the end of the equilibration.
        every, done = sampling.every, engine.sweeps
        if done // every - s.equilibrate // every != sampling.samples:
            raise ValueError(
                f"--resume: {self._state} has {sampling.samples} samples of pairs after {done} "
                f"sweeps: another --equilibrate than {s.equilibrate}"
            )

    def _course(self, engine: Electrolyte) -> None:
        s = self._settings
        refuse_shorter("--sweeps", s.sweeps, engine.sweeps - s.equilibrate, s.output)
        self._advance(engine, s.equilibrate)
        if engine.sweeps <= s.equilibrate and engine.pair_sampling is None:
            engine.sample_pair_correlations(s.sample_every, bin_width=s.bin_width, margin=s.margin)
            if s.structure_factors:
                engine.sample_structure_factors(s.sample_every)
        self._advance(engine, s.equilibrate + s.sweeps)

    def _advance(self, engine: Electrolyte, sweeps: int) -> None:
        """Run up to the given number of sweeps since the start."""
        if sweeps > engine.sweeps:
            engine.run(sweeps - engine.sweeps)
        self._check_stop()

    def _energies(self, engine: Electrolyte) -> np.ndarray:
        """Energies after each sweep, including those of the resumed runs."""
        return np.concatenate((self._earlier, engine.energy_records))

    def _write_records(self, engine: Electrolyte) -> None:
        self._replace_records(self._energies(engine), equilibrate=self._settings.equilibrate)

    def _found(self, engine: Electrolyte) -> dict[str, Any]:
        equilibrate, sampling = self._settings.equilibrate, engine.pair_sampling
        sampled = sampling is not None and sampling.samples > 0
        energies = self._energies(engine)[equilibrate:]
        drift = engine.energy_drift()
        return {
            "sweeps": max(0, engine.sweeps - equilibrate),
            "equilibration_sweeps": min(engine.sweeps, equilibrate),
            "evaluated_moves": engine.evaluated_moves,
            "seconds": engine.seconds,
            "method": engine.method,
            "precision": engine.precision,
            "direct_moves": engine.direct_moves,
            "threads_per_particle": engine.threads_per_particle,
            "debye_length": engine.debye_length,
            "energy": engine.energy,
            "energy_drift": drift,
            "max_overlap": engine.max_overlap(),
            "energies": energies,
            "correlations": engine.pair_correlations if sampled else None,
            "structure": (
                engine.structure_factors if sampled and self._settings.structure_factors else None
            ),
        }
