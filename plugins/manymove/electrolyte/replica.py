"""One replica of an electrolyte from its start to its pair correlations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from manymove import checkpoint
from manymove.analysis.ions import Salt
from manymove.analysis.pair_correlations import PairCorrelations
from manymove.analysis.stopping import decisions, is_reached
from manymove.analysis.structure_factors import StructureFactors
from manymove.arguments import PRECISIONS
from manymove.electrolyte.simulation import BOUNDARIES, METHODS, WATER_300K, Electrolyte
from manymove.jobs import limits, replica
from manymove.jobs.options import least, one_of, positive, refuse_shorter
from manymove.settings import SURROUNDINGS, Ewald, Sphere

_DIAMETER = 7.5  # in angstrom, of all ions
_DEBYE_LENGTH = 28.53  # in angstrom, of a salt without --debye-length and --concentration


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Measurement):
    """The settings of a job. Those under the title of a group are options of the command.

    System:
        ions: Number of ions N of both species.
        valences: Valences of the two species.
        diameter: Diameter of all ions in angstrom (default 7.5).
        diameters: Diameters of both species in angstrom (default --diameter).
        bjerrum_length: Bjerrum length in angstrom; that of water at 300 K is 7.117.
        debye_length: Bare Debye length in angstrom, which sets the density (default 28.53).
        concentration: Concentration of the salt in mol/l, which sets the density (default from
            --debye-length).
        geometry: Geometry of the cell: sphere or periodic.
        boundary: Energy of a periodic cell: nearest_image or ewald (default nearest_image).
        surrounding: Medium around the images with Ewald's energy: conductor or vacuum (default
            conductor).

    Moves:
        max_displacement: Maximum trial displacement along each axis, in angstrom (default radius /
            3 or L / 6).
        method: Method: brush, tree, reduction, serial or auto, which chooses brush or tree by the
            number of ions.

    Run:
        sweeps: Length of the measurement in sweeps of N trial moves each.

    Sampling:
        sample_every: Time between two samples of g(r) in sweeps.
        bin_width: Width of the bins of g(r) in angstrom.
        margin: Distance from the wall in angstrom within which ions are left out of g(r) (default
            10 Debye lengths, at most half the radius).
        structure_factors: Also sample structure factors of charge and number, in periodic cells.

    Device:
        device: Device: auto, cpu, cuda or cuda:<index>; cuda:0,1 shares one chain between two GPUs.
        precision: Floating-point precision: mixed or double (default mixed; with the methods tree
            and auto double).

    Attributes:
        replicas: number of independent runs.
    """

    replicas: Annotated[int, least(1)]
    ions: Annotated[int, least(2)] = 4096
    valences: tuple[int, int] = (3, -1)
    diameter: float | None = None
    diameters: tuple[float, float] | None = None
    bjerrum_length: Annotated[float, positive] = WATER_300K
    debye_length: Annotated[float | None, positive] = None
    concentration: Annotated[float | None, positive] = None
    geometry: Annotated[str, one_of("sphere", "periodic")] = "sphere"
    boundary: Annotated[str | None, one_of(*BOUNDARIES)] = None
    surrounding: Annotated[str | None, one_of(*SURROUNDINGS)] = None
    max_displacement: float | None = None
    method: Annotated[str, one_of(*METHODS)] = "brush"
    sweeps: Annotated[int, least(1)] = 1000
    equilibrate: Annotated[int, least(0)] = 50
    sample_every: Annotated[int, least(1)] = 1
    bin_width: Annotated[float, positive] = 0.25
    margin: float | None = None
    structure_factors: bool = False
    precision: Annotated[str | None, one_of(*PRECISIONS)] = None
    output: Path = Path("out/electrolyte")

    def __post_init__(self) -> None:
        super().__post_init__()
        if None not in (self.diameter, self.diameters):
            raise ValueError(
                "--diameter applies to all ions: give either --diameter or --diameters"
            )
        if self.debye_length is None and self.concentration is None:
            object.__setattr__(self, "debye_length", _DEBYE_LENGTH)
        if None not in (self.debye_length, self.concentration):
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
        diameter = _DIAMETER if self.diameter is None else self.diameter
        return Salt.of(self.ions, self.valences, self.diameters or (diameter, diameter))

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


def _each(name: str, owner: Electrolyte | Salt) -> tuple[float, ...]:
    """The valences or the diameters of the species."""
    return tuple(getattr(one, name) for one in owner.species)


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
                "--valences": (_each("valence", engine), _each("valence", s.salt)),
                "--diameters": (_each("diameter", engine), _each("diameter", s.salt)),
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
        engine.run_until(s.equilibrate)
        self._check_stop()
        if engine.sweeps <= s.equilibrate and engine.pair_sampling is None:
            engine.sample_pair_correlations(s.sample_every, bin_width=s.bin_width, margin=s.margin)
            if s.structure_factors:
                engine.sample_structure_factors(s.sample_every)
        end = s.equilibrate + s.sweeps
        target = None if s.target_error is None else s.target_error * math.sqrt(s.replicas)
        for decision in [end] if target is None else decisions(s.equilibrate, end):
            if engine.sweeps > decision:
                continue  # there it was decided before
            engine.run_until(decision)
            self._check_stop()
            if target is not None:
                self._reached = is_reached(self._energies(engine)[s.equilibrate :], target)
            if self._reached:
                break

    def _energies(self, engine: Electrolyte) -> np.ndarray:
        """Energies after each sweep, including those of the resumed runs."""
        return np.concatenate((self._earlier, engine.energy_records))

    def _write_records(self, engine: Electrolyte) -> None:
        self._replace_records(self._energies(engine), equilibrate=self._settings.equilibrate)

    def _found(self, engine: Electrolyte) -> dict[str, Any]:
        equilibrate, sampling = self._settings.equilibrate, engine.pair_sampling
        sampled = sampling is not None and sampling.samples > 0
        energies = self._energies(engine)[equilibrate:]
        return {
            "sweeps": max(0, engine.sweeps - equilibrate),
            "equilibration_sweeps": min(engine.sweeps, equilibrate),
            "energy_drift": engine.energy_drift(),
            "max_overlap": engine.max_overlap(),
            "energies": energies,
            "correlations": engine.pair_correlations if sampled else None,
            "structure": (
                engine.structure_factors if sampled and self._settings.structure_factors else None
            ),
        }
