"""A part of the systems of adsorbates from their start to the last step."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from manymove import checkpoint
from manymove.adsorption.averages import MULTIPLE, Run
from manymove.adsorption.chains import Chain
from manymove.adsorption.density import AXES, DensityMap
from manymove.adsorption.equilibration import test_molecules
from manymove.adsorption.frameworks import Framework, name_of, read_framework
from manymove.adsorption.gas import GasPhase
from manymove.adsorption.input import arguments_of, barrier_of, grid_points, has_trials
from manymove.adsorption.labels import lines_of
from manymove.adsorption.molecule_files import Species
from manymove.adsorption.molecules import Molecule
from manymove.adsorption.rigid import settled
from manymove.adsorption.simulation import Adsorption
from manymove.adsorption.structures import check_pdb, element_of, write_structure
from manymove.adsorption.trajectory import frame_of
from manymove.analysis.autocorrelation import FEWEST
from manymove.analysis.notation import Estimate
from manymove.devices import resolve
from manymove.jobs import limits, replica
from manymove.jobs.options import least, of_option, refuse_shorter
from manymove.warned import collected

RECORDS = 200  # approximate number of energy records in a run of the maximum length
_OF_EARLY = 1000  # the same with early tests, if records did not become longer
_MOST = 40  # records that early tests merge in pairs, so that records become twice as long
_LEAST_TESTS = 4  # fewest test molecules of an early comparison, per step of the first record
INSERTIONS = 100  # test molecules of a system between two looks at the clock


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Measurement):
    """The settings of a job. Those under the title of a group are options of `manymove adsorption`.

    Run:
        steps: Length of the measurement in steps.
        equilibrate: Length of the equilibration in steps.
        mole_fractions: Mole fractions of the species in the gas of an isotherm (default equal).
        seed: Seed of the random number generator; rank k adds k.
        early: Test --target-error from --steps / 50 steps on, instead of --steps / 10. The
            intervals between tests grow during the run.

    Sampling:
        henry: Number of test molecules per system for Henry coefficients and heats.
        density_map: Edge of the unit cell along which the density of molecules is projected: x, y
            or z (default no map).

    Files:
        frames: Number of frames of the trajectory of the first system, equally spaced.
        structures: Formats of the final structure of the first system: cif, pdb or cif,pdb (default
            none).
    """

    framework: str
    molecules: Sequence[int]
    adsorbates: Sequence[Species]
    method: str
    systems: Annotated[int, least(1)]
    options: dict[str, Any]  # other arguments of manymove.Adsorption
    steps: Annotated[int, least(1)] = 100_000
    equilibrate: Annotated[int, least(0)] = 20_000
    pressure: float | None = None  # bar; the systems are open
    mole_fractions: tuple[float, ...] | None = None
    void_fraction: Estimate | None = None  # helium's, for excess loadings
    henry: Annotated[int, least(0)] = 0
    density_map: str | None = None
    frames: Annotated[int, least(0)] = 0
    structures: tuple[str, ...] = ()
    output: Path = Path("out/adsorption")
    start: Path | None = None  # folder of a run from whose last states these systems start
    point: tuple[int, int] = (1, 1)  # number of this point of an isotherm, and of all points
    pictures: bool = True  # drawn after a complete run
    early: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("steps", "equilibrate", "systems", "seed", "frames", "henry"):
            if (value := getattr(self, name)) >= 2**63:
                raise ValueError(f"--{name} is {value}; it must be below 2**63")
        if self.henry >= 2**31:
            raise ValueError(f"--henry is {self.henry}; it must be below 2**31")
        limits.refuse(
            f"--systems {self.systems} and --steps {self.steps}",
            24.0 * self.systems * sum(self.molecules),  # bytes
            float(self.systems) * (self.steps + self.equilibrate) * self.states_per_step,
            "trial states",
            self.device,
        )

    def systems_of(self, part: int, parts: int) -> int:
        """Number of systems in a part."""
        return len(range(self.systems)[part::parts])

    @property
    def gas(self) -> GasPhase | None:
        """The gas with which open systems exchange molecules."""
        if self.pressure is None:
            return None
        t = self.options["temperature"]
        return GasPhase(self.adsorbates, self.pressure, t, self.mole_fractions)

    @property
    def fugacity(self) -> list[float] | None:
        """Fugacity of each species in bar."""
        return None if self.gas is None else self.gas.fugacities

    @property
    def states_per_step(self) -> int:
        """Number of trial states of a step."""
        return (self.options["proposals"] or 64) - 1 if self.method in MULTIPLE else 1


@dataclass(frozen=True)
class Result(replica.Result):
    """The result of a part of the systems."""

    rank: int = 0  # that had it
    N: int = 0  # molecules of all its systems
    run: Run = ({}, {}, {})
    records: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    exchange_acceptance: float = float("nan")
    trial_states: int = 0
    steps: int = 0
    samples: int = 0
    comparisons: int = 0
    henry: np.ndarray | None = None  # sums over test molecules, (species, systems, 2)
    seconds: float = 0.0  # of this session, in the engine
    proposals: int = 0
    box: tuple[float, ...] = ()
    grid: dict[str, Any] = field(default_factory=dict)
    grid_error: tuple[float, float] = (float("nan"), float("nan"))
    framework_atoms: list[dict[str, Any]] = field(default_factory=list)
    on_hills: int = 0
    # Counts of molecules (species, bins, bins), samples times systems, and edges (2, 3) of the map.
    density: tuple[np.ndarray, int, np.ndarray] | None = None
    energy_drift: float = 0.0


class Ended(NamedTuple):
    """Systems at the end of a job, and their checkpoint."""

    state: Path
    systems: Adsorption


class Replica(replica.Replica):
    """A part of the systems, from their start to the last step.

    Args:
        parts: number of parts of the systems.
        rank: rank of this process.
        kept: list in which the energy grid of the systems, and the systems at their end, are kept
            for the next job. If it contains the framework, this is not read again.
        part and the rest: as for all replicas.
    """

    Result = Result

    def __init__(
        self, parts: int, rank: int, kept: list[Any], part: int, settings: Settings, *rest: Any
    ) -> None:
        super().__init__(part, settings, *rest)
        self._rank, self._parts, self._kept = rank, parts, kept
        self._systems = settings.systems_of(part, parts)
        records = _OF_EARLY if settings.early else RECORDS
        self._first = max(1, settings.steps // records)  # steps of the first record
        self._every = self._first  # of the present ones
        self._records: list[tuple[float, ...]] = []  # steps and sums so far, per system
        # Sums over the test molecules so far, (species, systems, 2), and their number.
        self._henry: np.ndarray | None = None
        self._inserted = 0
        self._density: DensityMap | None = None
        self._map_restarts = ""  # the reason why the records have no map of the state
        self._held_density: tuple[int, list[list[list[int]]]] | None = None  # of the checkpoint
        self._density_every = self._every  # steps of a sample of weight 1

    def _moves(self, a: Adsorption) -> int:
        return a.trial_states

    def _started(self) -> Adsorption:
        s = self._settings
        if s.start is not None:
            a = self._ended(s.start / self._state.name)
            a.set_fugacity(s.fugacity)
            return a
        self._taken()
        framework = next((one for one in self._kept if isinstance(one, Framework)), None)
        if framework is None:
            with of_option("--framework"):
                framework = read_framework(s.framework)
        given = {
            "framework": framework, "molecules": list(s.molecules), "method": s.method,
            "adsorbates": list(s.adsorbates), "systems": self._systems, "fugacity": s.fugacity,
            "seed": self._seed, "device": self._device, "threads": self._threads, **s.options,
        }  # fmt: skip
        a = Adsorption(**arguments_of(given))
        if self._index == 0 and not s.quiet:
            for line in lines_of(a.framework_atoms):
                print(f"framework {line}", file=sys.stderr)
        return a

    def _ended(self, state: Path) -> Adsorption:
        """The systems at the end of the job with this checkpoint, from memory if they are kept: a
        new engine would allocate memory, which on a GPU waits for the kernels of all structures."""
        a = self._taken(state)
        if a is None:
            return Adsorption.load(state, self._device, self._threads)
        a._restart_clock()
        return a

    def _taken(self, state: Path | None = None) -> Adsorption | None:
        """Remove all systems from those kept, so that they free their memory before another engine
        allocates some, and return the ones of this checkpoint."""
        ended = [one for one in self._kept if isinstance(one, Ended)]
        self._kept[:] = [one for one in self._kept if not isinstance(one, Ended)]
        for held in ended:
            if held.state == state and held.systems.device == resolve(self._device, several=True):
                return held.systems
        return None

    def _resumed(self) -> Adsorption:
        records_file, state = self._newest()
        self._taken()
        a = Adsorption.load(state, device=self._device, threads=self._threads)
        records, about = checkpoint.read_records(records_file, columns=3)
        self._mark = about.get("trajectory")
        counter, done, sums = about.get("henry") or (None, 0, [])
        if done and counter == a.insertions:  # the records may be ahead of the state
            self._inserted, self._henry = done, np.array(sums)
        held_every = int(about.get("every") or (records[0][0] if len(records) else self._every))
        self._thin([tuple(row) for row in records if row[0] <= a.samples], held_every)
        if self._settings.early:  # as many doublings as the state has had
            self._every = self._first
            while a.samples > _MOST * self._every:
                self._every *= 2
            self._thin(self._records, self._every)
        self._density_every = self._every
        steps, *held = about.get("density") or (None,)
        if steps == a.samples:  # the records may be ahead of the state
            self._held_density = (int(held[0]), held[1])
            self._density_every = held[2] if len(held) > 2 else held_every
        elif a.samples and self._settings.density_map is not None:
            self._map_restarts = (
                "they were made without one" if steps is None
                else "the records and the checkpoint are of different steps"
            )  # fmt: skip
        self._refuse_others({"--" + name: pair for name, pair in self._held_and_asked(a).items()})
        if self._settings.pressure is None:
            held = a.equilibration_steps
            self._refuse_other_equilibration(held, held, over=a.samples > 0, unit="steps")
        return a

    def _held_and_asked(self, a: Adsorption) -> dict[str, tuple[Any, Any]]:
        """Settings of the checkpoint and of the command by the names of the options. Settings
        that the program chooses come from the checkpoint."""
        s, held = (
            self._settings,
            {name: _plain(value) for name, value in a.resolved_settings.items()},
        )
        held |= dict.fromkeys(a.chosen_by_pilot, "auto")
        asked = {
            "seed": self._seed,
            "systems": self._systems,
            "method": s.method,
            "framework": name_of(s.framework),
            "molecules": s.molecules,
            "adsorbates": [b.name for b in s.adsorbates],
            **{name: value for name, value in s.options.items() if value is not None},
            "profile": s.options["profile"],
            "barrier": barrier_of(s.options["barrier"], held["temperature"]),
        }
        if asked["profile"] is None:
            del asked["bins"]
        asked.pop("capacity", None)  # does not influence the results
        for name in ("force_field", "framework_charges", "ewald"):
            asked.pop(name, None)  # compared below
        spacing = asked.pop("grid_spacing", None)
        same = {
            name.replace("_", "-"): (held[name], _plain(value)) for name, value in asked.items()
        }
        if spacing is not None:
            points = grid_points(a.framework.cell, spacing, held["interpolation"])
            same["grid-spacing (points)"] = (held["grid"], _plain(points))
        same |= self._held_and_asked_laws(a)
        if s.pressure is not None:
            same["isotherm (fugacity)"] = (held["fugacity"], s.fugacity)
            if a.first_round:
                same["equilibrate"] = (a.first_round, s.equilibrate)
        return same

    def _held_and_asked_laws(self, a: Adsorption) -> dict[str, tuple[Any, Any]]:
        """The same for what follows from the files of adsorbates, force field and charges."""
        s, held, framework = self._settings, a.resolved_settings, a.framework
        if any(isinstance(b, (Molecule, Chain)) for b in s.adsorbates):
            with collected():  # given when the run began
                framework = read_framework(s.framework)  # with labels and charges
        asked = settled(
            framework, s.adsorbates, {}, s.options.get("force_field"), s.options.get("ewald"),
            held["cutoff"], held["cells"], s.options.get("framework_charges"),
            biased=has_trials(s.options),
        )  # fmt: skip
        one, other = held.get("rigid"), asked.get("rigid")
        kinds = [
            "single sites" if r is None else "molecules or a skewed cell" for r in (one, other)
        ]
        tail = other is not None and other["tail"]
        potential = "shifted" if asked["shifted"] else "tail" if tail else "truncated"
        found: dict[str, Any] = {
            "potential": (held["potential"], potential), "adsorbates (kind)": tuple(kinds)
        }  # fmt: skip
        if one is None or other is None:
            laws = [*asked["pairs"], *(law for each in asked["with_framework"] for law in each)]
            pair = tuple([*map(list, x)] for x in (held["laws"], laws))
            return {**found, "adsorbates (epsilon, sigma)": pair}
        of_types = [[t["charge"] for t in r["types"]] for r in (one, other)]
        laws = [[r["pairs"], *(t["with_framework"] for t in r["types"])] for r in (one, other)]
        both = [(r["alpha"], r["wave_cutoff"]) for r in (one, other)]
        return {
            **found,
            "adsorbates (sites)": (one["bodies"], other["bodies"]),
            "adsorbates (bonds, bends, torsions)": (one.get("chains"), other.get("chains")),
            "force-field (charges)": tuple(of_types),
            "force-field (epsilon, sigma)": tuple(laws),
            "framework-charges": (one["framework_charge"], other["framework_charge"]),
            "ewald": tuple(both),
        }

    def _course(self, a: Adsorption) -> None:
        self._kept[:] = [a.kept_grid()]
        if self._index == 0 and "pdb" in self._settings.structures:
            check_pdb(self._settings.output / "structure.pdb", _least_atoms(a))
        if self._settings.frames and self._index == 0:
            self._trajectory = self._opened("trajectory.gsd")
        if self._settings.density_map is not None:
            axis, bins = self._settings.density_map, self._settings.options["bins"]
            self._density = DensityMap(a, axis, bins)
            if self._map_restarts:
                since = f"the density map starts at step {a.samples} of the averages"
                because = f"{since}, because {self._map_restarts}"
                print(f"manymove: {self._state}: {because}", file=sys.stderr)
            if self._held_density is not None:
                self._density.samples = self._held_density[0]
                self._density.counts += np.array(self._held_density[1], dtype=np.int64)
        with self._trajectory or nullcontext():
            self._steps(a)
        if self._index == 0:
            for suffix in self._settings.structures:
                write_structure(self._settings.output / f"structure.{suffix}", a)
        if self._settings.henry:
            self._insert(a)

    def _insert(self, a: Adsorption) -> None:
        """Insert the test molecules that are left into the framework."""
        kinds, most = len(self._settings.adsorbates), self._settings.henry
        if self._henry is None:
            self._henry = np.zeros((kinds, a.systems, 2))
        while self._inserted < most:
            count = min(INSERTIONS, most - self._inserted)
            self._henry += [a.insert_into_framework(count, kind) for kind in range(kinds)]
            self._inserted += count
            self._pause(a)

    def _steps(self, a: Adsorption) -> None:
        s = self._settings
        refuse_shorter("--steps", s.steps, a.samples, s.output)
        frames = min(s.frames, s.steps) if self._trajectory else 0
        of_frames = sorted({s.steps * k // frames for k in range(1, frames + 1)})
        is_open = s.pressure is not None
        if not is_open and a.steps < s.equilibrate:
            a.equilibrate(s.equilibrate - a.steps)
        elif is_open and s.equilibrate and a.samples == 0:
            a.equilibrate_loading(s.equilibrate)
        # A shorter run that is resumed had comparisons that were closer together.
        more = max(0, a.comparisons - self._due(a.samples))
        while True:
            if is_open and a.comparisons < self._due(a.samples) + more:
                a.compare_loading(self._tests)
            if s.early and a.samples == _MOST * self._every:
                self._thin(self._records, 2 * self._every)
            every = self._every
            # The last record of early tests may be shorter than the others.
            whole = a.samples % every == 0 or (s.early and a.samples == s.steps)
            enough = whole and a.samples // every >= FEWEST
            if s.target_error is not None and enough:
                self._reached = a._is_reached(s.target_error, s.systems / self._systems)
            if self._reached or a.samples == s.steps:
                break
            target = min(s.steps, (a.samples // every + 1) * every)
            target = min([target, *(step for step in of_frames if step > a.samples)])
            if is_open and a.comparisons < self._due(target) + more:
                a._run_and_compare(target - a.samples, self._tests)
            else:
                a.run(target - a.samples)
            self._record(a)
            frames_to = self._trajectory
            if frames_to and target in of_frames and a.steps > frames_to.last_step:
                frames_to.write(frame_of(a))

    @property
    def _tests(self) -> int:
        """Number of test molecules for each system in the present comparison, so that early tests
        have enough of them."""
        least = _LEAST_TESTS * self._first if self._settings.early else 0
        return test_molecules(max(self._every, least))

    def _due(self, samples: int) -> int:
        """Number of comparisons with test molecules after so many steps, one for each record. It
        is a function of the steps alone, so that an interrupted run has the same ones."""
        doublings = (self._every // self._first).bit_length() - 1 if self._settings.early else 0
        return samples // self._every + doublings * _MOST // 2

    def _thin(self, rows: list[tuple[float, ...]], every: int) -> None:
        """Take over the records of the runs that this one resumes, `every` so many steps. A longer
        run has longer records: rows are sums since the start, so that those between its records can
        be left out."""
        self._every = every * max(1, round(self._every / every))
        last = self._settings.steps
        self._records = [row for row in rows if row[0] % self._every == 0 or row[0] == last]

    def _record(self, a: Adsorption) -> None:
        """Make a record if one is due."""
        due = a.samples > 0 and (a.samples % self._every == 0 or a.samples == self._settings.steps)
        if due and (not self._records or self._records[-1][0] < a.samples):
            sums = (a.samples * mean for mean in a.mean_energies())
            self._records.append((float(a.samples), *sums))
            if self._density is not None:  # each sample stands for the steps of its record
                self._density.sample(max(1, round(self._every / self._density_every)))

    def _write_records(self, a: Adsorption) -> None:
        self._record(a)  # the state may be of the last step before it
        self._sync_trajectory()
        henry = None
        if self._henry is not None:
            henry = (a.insertions, self._inserted, self._henry.tolist())
        self._replace_records(
            np.array(self._records).reshape(-1, 3), every=self._every, parts=self._parts,
            trajectory=self._mark, henry=henry,
            density=None if self._density is None else (
                a.samples, self._density.samples, self._density.counts.tolist(),
                self._density_every,
            ),
        )  # fmt: skip

    def _found(self, a: Adsorption) -> dict[str, Any]:
        self._kept.append(Ended(self._state, a))
        return {
            "rank": self._rank,
            "N": int(a.counts.sum()),
            "run": a.snapshot,
            "records": np.array(self._records).reshape(-1, 3),
            "steps": a.samples + a.equilibration_steps,
            "henry": self._henry if self._inserted == self._settings.henry else None,
            "grid_error": a.grid_error(),
            "on_hills": a.on_hills(),
            "energy_drift": a.energy_drift(),
            "density": self._found_density(a),
        }

    def _found_density(self, a: Adsorption) -> tuple[np.ndarray, int, np.ndarray] | None:
        density = self._density
        if density is None or not density.samples:
            return None
        across = [k for k in range(3) if AXES[k] != density.axis]
        return density.counts, density.samples * a.systems, a.framework.edges[across]


def _least_atoms(a: Adsorption) -> int:
    """Number of atoms in the box of a system that a structure has in any case."""
    atoms = len(a.framework.elements) * math.prod(a.cells)
    if a.resolved_settings["fugacity"] is not None:
        return atoms
    for species, count in enumerate(a.counts[0]):
        labels = (name.rpartition(".")[2] for name in a.sites_of(species)[0])
        atoms += int(count) * sum(element_of(label) is not None for label in labels)
    return atoms


def _plain(value: Any) -> Any:
    """The value with tuples as lists, as in a checkpoint, for comparisons."""
    return list(value) if isinstance(value, (tuple, list)) else value
