"""A part of the systems of adsorbates from their start to the last step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from manymove import checkpoint
from manymove.adsorption.adsorbates import METHANE, Adsorbate, mixed_laws
from manymove.adsorption.averages import MULTIPLE, Run
from manymove.adsorption.equilibration import test_molecules
from manymove.adsorption.input import barrier_of, grid_points
from manymove.adsorption.simulation import Adsorption
from manymove.jobs import replica, sizes
from manymove.jobs.options import of_option
from manymove.jobs.replica import at_least

RECORDS = 200  # approximate number of energy records in a complete run


@dataclass(frozen=True, kw_only=True)
class Settings(replica.Settings):
    """The settings of a job, which are those of the options of `manymove adsorption`."""

    framework: str
    molecules: Sequence[int]
    adsorbates: Sequence[Adsorbate]
    steps: int
    method: str
    systems: int
    options: dict[str, Any]  # other arguments of manymove.Adsorption
    pressure: float | None = None  # bar; the systems are open
    start: Path | None = None  # folder of a run from whose last states these systems start

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, value, least in (
            ("--steps", self.steps, 1),
            ("--equilibrate", self.equilibrate, 0),
            ("--systems", self.systems, 1),
            ("--seed", self.seed, 0),
        ):
            at_least(option, value, least)
            if value >= 2**63:
                raise ValueError(f"{option} is {value}; it must be below 2**63")

        sizes.refuse(
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
    def fugacity(self) -> list[float] | None:
        """Fugacity of each species in bar; all have the same share of the pressure."""
        if self.pressure is None:
            return None
        share = self.pressure / len(self.adsorbates)
        t = self.options["temperature"]
        return [share * b.fugacity_coefficient(self.pressure, t) for b in self.adsorbates]

    @property
    def states_per_step(self) -> int:
        """Number of trial states of a step."""
        return (self.options["proposals"] or 64) - 1 if self.method in MULTIPLE else 1


def read_adsorbates(path: Path | None) -> list[Adsorbate]:
    """Read the adsorbates of a JSON file with the attributes of `Adsorbate` for each species, as
    described in docs/guides/frameworks.md; methane without a file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file cannot be parsed, or an attribute is missing or unknown.
    """
    if path is None:
        return [METHANE]
    try:
        entries = json.loads(path.read_text())
        return [_adsorbate(e) for e in (entries if isinstance(entries, list) else [entries])]
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"--adsorbates: {path} does not list adsorbates: {error}; expected {_EXAMPLE}, or a "
            "list of these: energies in kelvin, lengths in angstrom"
        ) from None


_EXAMPLE = (
    '{"name": "CH4", "epsilon": 148.0, "sigma": 3.73, '
    '"framework": {"O": [115.0, 3.47], "Si": null}, "critical_temperature": 190.564, '
    '"critical_pressure": 45.992, "acentric_factor": 0.01142}'
)


def _adsorbate(entry: dict[str, Any]) -> Adsorbate:
    known = fields(Adsorbate)
    if not isinstance(entry, dict):
        raise ValueError(f"{entry!r} is not an object with names and values")
    for name in entry:
        if name not in {f.name for f in known}:
            raise ValueError(f'unknown "{name}"')
    for f in known:
        if f.default is MISSING and f.name not in entry:
            raise ValueError(f'"{f.name}" is missing')
    laws = {e: None if law is None else tuple(law) for e, law in entry["framework"].items()}
    for element, law in laws.items():
        if law is not None and len(law) != 2:
            raise ValueError(f'"framework" needs epsilon and sigma with {element}, or null')
    return Adsorbate(**{**entry, "framework": laws})


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
    seconds: float = 0.0  # of this session, in the engine
    proposals: int = 0
    box: tuple[float, ...] = ()
    grid: dict[str, Any] = field(default_factory=dict)
    grid_error: tuple[float, float] = (float("nan"), float("nan"))
    on_hills: int = 0
    energy_drift: float = 0.0


class Replica(replica.Replica):
    """A part of the systems, from their start to the last step.

    Args:
        parts: number of parts of the systems.
        rank: rank of this process.
        part and the rest: as for all replicas.
    """

    Result = Result

    def __init__(self, parts: int, rank: int, part: int, settings: Settings, *rest: Any) -> None:
        super().__init__(part, settings, *rest)
        self._rank = rank
        self._systems = settings.systems_of(part, parts)
        self._records: list[tuple[float, ...]] = []  # steps and sums so far, per system

    def _moves(self, a: Adsorption) -> int:
        return a.trial_states

    def _started(self) -> Adsorption:
        s = self._settings
        if s.start is not None:
            a = Adsorption.load(s.start / self._state.name, self._device, self._threads)
            a.set_fugacity(s.fugacity)
            return a
        with of_option("--framework", containing=s.framework):
            return Adsorption(
                s.framework, list(s.molecules), adsorbates=list(s.adsorbates), method=s.method,
                systems=self._systems, fugacity=s.fugacity, seed=self._seed, device=self._device,
                threads=self._threads, **s.options,
            )  # fmt: skip

    def _resumed(self) -> Adsorption:
        records_file, state = self._newest()
        a = Adsorption.load(state, device=self._device, threads=self._threads)
        records, _ = checkpoint.read_records(records_file, columns=3)
        self._records = [tuple(row) for row in records if row[0] <= a.samples]
        self._refuse_others({"--" + name: pair for name, pair in self._held_and_asked(a).items()})
        return a

    def _held_and_asked(self, a: Adsorption) -> dict[str, tuple[Any, Any]]:
        """Settings of the checkpoint and of the command by the names of the options. Settings that
        the program chooses are those of the checkpoint."""
        s, held = self._settings, {name: _plain(value) for name, value in a.settings.items()}
        asked = {
            "seed": self._seed,
            "systems": self._systems,
            "method": s.method,
            "framework": Path(s.framework).stem,
            "molecules": s.molecules,
            "adsorbates": [b.name for b in s.adsorbates],
            **{name: value for name, value in s.options.items() if value is not None},
            "profile": s.options["profile"],
            "barrier": barrier_of(s.options["barrier"], held["temperature"]),
        }
        if asked["profile"] is None:
            del asked["bins"]
        asked.pop("capacity", None)  # does not influence the results
        spacing = asked.pop("grid_spacing", None)
        same = {
            name.replace("_", "-"): (held[name], _plain(value)) for name, value in asked.items()
        }
        if spacing is not None:
            points = grid_points(a.framework.cell, spacing, held["interpolation"])
            same["grid-spacing (points)"] = (held["grid"], _plain(points))
        elements = sorted(set(a.framework.elements))
        laws = [b.with_element(e) for b in s.adsorbates for e in elements]
        held_and_asked = (held["laws"], [*mixed_laws(s.adsorbates, {}), *laws])
        same["adsorbates (epsilon, sigma)"] = tuple([*map(list, each)] for each in held_and_asked)
        if s.pressure is not None:
            same["isotherm (fugacity)"] = (held["fugacity"], s.fugacity)
            if a.first_round:
                same["equilibrate"] = (a.first_round, s.equilibrate)
        elif a.samples:
            same["equilibrate"] = (a.equilibration_steps, s.equilibrate)
        return same

    def _course(self, a: Adsorption) -> None:
        s, every = self._settings, self._every
        is_open = s.pressure is not None
        if not is_open and a.steps < s.equilibrate:
            a.equilibrate(s.equilibrate - a.steps, callback=self._pause)
        elif is_open and s.equilibrate and a.samples == 0:
            a.equilibrate_loading(s.equilibrate, callback=self._pause)
        while True:
            if is_open and a.comparisons < a.samples // every:
                a.compare_loading(test_molecules(every))
            if a.samples == s.steps:
                break
            target = min(s.steps, (a.samples // every + 1) * every)
            a.run(target - a.samples, callback=self._pause)
            self._record(a)

    @property
    def _every(self) -> int:
        return max(1, self._settings.steps // RECORDS)

    def _record(self, a: Adsorption) -> None:
        """Make a record if one is due."""
        due = a.samples > 0 and (a.samples % self._every == 0 or a.samples == self._settings.steps)
        if due and (not self._records or self._records[-1][0] < a.samples):
            sums = (a.samples * mean for mean in a.mean_energies())
            self._records.append((float(a.samples), *sums))

    def _write_records(self, a: Adsorption) -> None:
        self._record(a)  # the state may be of the last step before it
        self._replace_records(np.array(self._records).reshape(-1, 3))

    def _found(self, a: Adsorption) -> dict[str, Any]:
        return {
            "rank": self._rank,
            "N": int(a.counts.sum()),
            "run": a.snapshot,
            "records": np.array(self._records).reshape(-1, 3),
            "exchange_acceptance": a.exchange_acceptance,
            "trial_states": a.trial_states,
            "steps": a.samples + a.equilibration_steps,
            "samples": a.samples,
            "comparisons": a.comparisons,
            "seconds": a.seconds,
            "proposals": a.proposals,
            "box": a.box,
            "grid": a.grid,
            "grid_error": a.grid_error(),
            "on_hills": a.on_hills(),
            "energy_drift": a.energy_drift(),
        }


def _plain(value: Any) -> Any:
    """The value with tuples as lists, as in a checkpoint, for comparisons."""
    return list(value) if isinstance(value, (tuple, list)) else value
