# SPDX-License-Identifier: BSD-3-Clause
"""Averages of many small systems of hard particles, which are kept as soon as they are finished."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import numpy as np

from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.devices import on_gpu
from manymove.errors import ParameterError
from manymove.hard_particles.particles import HardParticles
from manymove.hard_particles.spheres import HardSpheres
from manymove.jobs import limits, output_folder
from manymove.jobs.options import OPTIONS_FILE, check_declared, least
from manymove.jobs.progress import MovesBar
from manymove.jobs.replica import Session
from manymove.jobs.report import write_json
from manymove.jobs.world import World
from manymove.replicas import Replicas
from manymove.runs import Call

FILE = "checkpoint-systems.json"  # in the output folder
_SEEDS = 2**63  # so that the seeds of all systems are less than 2^64
_SEEDS_OF_GROUP = 1000  # more than there are systems in a group
_SHOWN_EVERY = 64  # cycles between two updates of the progress bar
_CHI_SQUARED = 4.0  # per degree of freedom, above which a warning is written


@dataclass(frozen=True, kw_only=True)
class Settings(Session):
    """The settings of a job that measures many systems.

    Run:
        sweeps: Length of the measurement of each run in sweeps.
        equilibrate: Length of the equilibration of each run in sweeps.

    Files:
        output: Folder of the results.
        resume: Continue the run in --output with its options; device and threads may differ.
        overwrite: Replace the results in --output.

    Attributes:
        given: the options of the command, stored for `--resume`.
    """

    sweeps: Annotated[int, least(100)]
    equilibrate: Annotated[int, least(0)]
    output: Path
    resume: bool = False
    overwrite: bool = False
    given: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        check_declared(self)
        if not 0 <= self.seed < _SEEDS:
            raise ValueError(f"--seed is {self.seed}; it must be in [0, {_SEEDS})")

    def claim(self, particles: int, names: Iterable[str] = ()) -> None:
        """Take the folder of the results, and write the options there.

        Args:
            particles: number of particles of all systems together; 0 if nothing is simulated.
            names: names of the systems, whose results the folder may have.

        Raises:
            FileExistsError: the folder has results, and neither `resume` nor `overwrite` is set.
            FileNotFoundError: there is nothing to resume.
            OSError, ValueError: an error of `output_folder.claim` or of the device, the run takes
                more than a year, or the folder has results of other systems.
        """
        work = particles * (self.sweeps + self.equilibrate)
        limits.refuse(f"--sweeps {self.sweeps}", 0, work, "trial moves", self.device)
        if particles:
            HardSpheres.fcc(108, 0.5, seed=0, device=self.device, threads=self.threads)
        if self.resume and not (self.output / OPTIONS_FILE).is_file():
            raise FileNotFoundError(f"--resume: no run in {self.output}")
        output_folder.claim(self.output, resume=self.resume, overwrite=self.overwrite)
        if particles and (other := finished(self).keys() - {*names}):
            path = self.output / FILE
            raise ValueError(
                f"--resume: {path} has the result of {min(other)}: give the values of that run, too"
            )
        write_json(self.output / OPTIONS_FILE, self.stored)

    @property
    def stored(self) -> dict[str, Any]:
        """The options that are stored for `--resume`."""
        return self.given or {}


@dataclass(frozen=True)
class System:
    """A system that is measured.

    Attributes:
        name: its name in the file.
        make: function that is called as ``make(seed=..., device=..., threads=...)`` and returns the
            particles.
        N: number of particles.
        about: parameters of the system, which are stored with its result.
        read: function of the particles, whose mean over all cycles is measured; None for the
            pressure. All values of a function that returns integers as a tuple are kept instead.
        group: systems of a group have consecutive seeds in the order in which they are finished.
    """

    name: str
    make: Callable[..., HardParticles]
    N: int
    about: Mapping[str, float]
    read: Callable[[Any], float | tuple[int, ...]] | None = None
    group: int = 0


def simulated(
    systems: Mapping[int, System],
    sweeps: float,
    equilibrate: float,
    show: Callable[[int], object] = lambda moves: None,
    **place: Any,
) -> dict[str, dict[str, Any]]:
    """Simulate systems at the same time.

    Args:
        systems: the systems by their seeds.
        sweeps, equilibrate: lengths of the measurement and of the equilibration before it.
        show: function that is called with the number of trial moves so far.
        place: device and threads of `Replicas`.

    Returns:
        for each name the average with its error or the kept values, the acceptance, and the hash of
        the last state.

    Raises:
        ValueError: the runs are too short for an average.
        KeyboardInterrupt: Ctrl-C.
    """
    lock = Lock()
    moves: dict[int, int] = {}
    records: dict[int, list[Any]] = {seed: [] for seed in systems}

    def maker(own: int, system: System) -> Callable[..., HardParticles]:
        def make(*, seed: int, **where: Any) -> HardParticles:
            one = system.make(seed=own, **where)
            if system.read is None:
                one.sample_pressure(every=1, record=max(20, sweeps / 256))
            return one

        return make

    def progress(one: HardParticles) -> None:
        with lock:
            moves[one.seed] = one.trial_moves
            show(sum(moves.values()))

    def read(one: HardParticles) -> None:
        function = systems[one.seed].read
        if function is not None and one.cycles > one._end_of(equilibrate):
            records[one.seed].append(function(one))

    def result(one: HardParticles) -> tuple[str, dict[str, Any]]:
        system, found = systems[one.seed], records[one.seed]
        if system.read is not None and len(found) < 2:
            raise ParameterError("sweeps", "must be more than one cycle")
        entry: dict[str, Any]
        if found and isinstance(found[0], tuple):
            # Texts, because the file has a line for each element of a list.
            entry = {"records": [" ".join(map(str, each)) for each in zip(*found, strict=True)]}
        else:
            average = one.pressure_average if system.read is None else estimate(np.array(found))
            entry = average.to_dict()
        return system.name, {
            **entry,
            "acceptance": one.acceptance,
            "state_hash": one.state_hash,
        }

    replicas = Replicas([maker(*each) for each in systems.items()], seed=0, **place)
    calls: list[Call] = [(_SHOWN_EVERY, progress)]
    if any(each.read for each in systems.values()):
        calls.append((1, read))
    replicas.run_until(equilibrate + sweeps, calls, equilibrate=equilibrate)
    return dict(replicas.map(result))


def records(found: Mapping[str, Any]) -> np.ndarray:
    """The kept values in a result of `simulated`, integers (columns, n)."""
    return np.array([[*map(int, column.split())] for column in found["records"]])


def average(found: Mapping[str, Any]) -> Estimate:
    """The average in a result of `simulated`, also after a file."""
    error = found["error"]
    return Estimate(found["value"], math.nan if error is None else error, found["converged"])


def measured(
    systems: Sequence[System], settings: Settings, title: str
) -> dict[str, dict[str, Any]]:
    """The result of each system by its name, as of `simulated`. Finished systems of the folder are
    not simulated again, so that a resumed job may have further systems.

    Args:
        systems: the systems; their names are different.
        settings: the settings of the job.
        title: text of the progress bar.

    Raises:
        KeyboardInterrupt: Ctrl-C. The folder has the systems that were finished.
        ValueError: a file in the folder is damaged, or has results of other options.
    """
    path, named = settings.output / FILE, {each.name: each for each in systems}
    kept = finished(settings)
    done = {name: found for name, found in kept.items() if name in named}
    seeds, counts = {}, Counter[int]()
    for name in dict.fromkeys([*done, *named]):
        group = named[name].group
        seeds[name] = settings.seed + _SEEDS_OF_GROUP * group + counts[group]
        counts[group] += 1
    lengths = {"sweeps": settings.sweeps, "equilibrate": settings.equilibrate}
    options = {
        each.name: {"N": each.N, "seed": seeds[each.name], **lengths, **each.about}
        for each in systems
    }
    for name, found in done.items():
        if found["options"] != options[name]:
            raise ValueError(f"--resume: {path} has results of other options: {name}")
    work = settings.sweeps + settings.equilibrate
    before = work * sum(named[name].N for name in done)
    left = [each for each in systems if each.name not in done]
    total = work * sum(each.N for each in systems)
    with closing(MovesBar(title, total, done=before, quiet=settings.quiet)) as bar:
        for some in _batches(left, settings):
            moves = work * sum(each.N for each in some)
            results = simulated(
                {seeds[each.name]: each for each in some},
                settings.sweeps,
                settings.equilibrate,
                partial(_show, bar, before, moves),
                device=settings.device,
                threads=settings.threads,
            )
            done |= {name: {**each, "options": options[name]} for name, each in results.items()}
            before += moves
            write_json(path, {**kept, **done})
    return {name: done[name] for name in named}


def _show(bar: MovesBar, before: int, most: int, moves: int) -> None:
    bar.show(before + min(moves, most))


def finished(settings: Settings) -> dict[str, dict[str, Any]]:
    """The results of the finished systems of the folder, in the order in which they were finished,
    with their `options`.

    Raises:
        ValueError: the file is damaged.
    """
    path = settings.output / FILE
    if not path.exists():
        return {}
    try:
        done = {name: {**found} for name, found in json.loads(path.read_text()).items()}
        for found in done.values():
            (records if "records" in found else average)(found), {**found["options"]}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(f"--resume: {path} is damaged: {error}") from None
    return done


def warnings(found: Sequence[Estimate], advice: str = "raise --sweeps") -> list[str]:
    """The warning of averages whose errors are not reliable."""
    count = sum(not each.converged for each in found)
    if not count:
        return []
    return [
        f"error not converged in {count} of {len(found)} systems: the runs are too short for "
        f"reliable errors: {advice}"
    ]


def fit_warnings(name: str, squares: float, data: str, advice: str) -> list[str]:
    """The warning of a fit that does not describe the data, or that nothing tests.

    Args:
        name: name of the fit.
        squares: chi^2 per degree of freedom; NaN without a degree of freedom.
        data: what is fitted, in the plural.
        advice: what helps if there are too few of them.
    """
    if math.isnan(squares):
        return [f"{name} has as many coefficients as there are {data}: {advice}"]
    if squares > _CHI_SQUARED:
        return [f"{name} does not fit: chi^2 per degree of freedom is {squares:.3g}"]
    return []


def _batches(systems: Sequence[System], settings: Settings) -> Iterator[list[System]]:
    """The systems that run at the same time: those with the same number of particles on a GPU, and
    one on each thread of a CPU."""
    world = World()
    if on_gpu(world.device(settings.device)):
        for _, some in itertools.groupby(systems, lambda each: each.N):
            yield [*some]
        return
    count = world.threads(settings.threads) or world.cores
    for first in range(0, len(systems), count):
        yield [*systems[first : first + count]]
