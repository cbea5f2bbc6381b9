# SPDX-License-Identifier: BSD-3-Clause
"""Averages of many small systems of hard particles, which are kept as soon as they are finished."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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

    def claim(self, particles: int) -> None:
        """Take the folder of the results, and write the options there.

        Args:
            particles: number of particles of all systems together; 0 if nothing is simulated.

        Raises:
            FileExistsError: the folder has results, and neither `resume` nor `overwrite` is set.
            FileNotFoundError: there is nothing to resume.
            OSError, ValueError: an error of `output_folder.claim` or of the device, or the run
                takes more than a year.
        """
        work = particles * (self.sweeps + self.equilibrate)
        limits.refuse(f"--sweeps {self.sweeps}", 0, work, "trial moves", self.device)
        if particles:
            HardSpheres.fcc(108, 0.5, seed=0, device=self.device, threads=self.threads)
        if self.resume and not (self.output / OPTIONS_FILE).is_file():
            raise FileNotFoundError(f"--resume: no run in {self.output}")
        output_folder.claim(self.output, resume=self.resume, overwrite=self.overwrite)
        write_json(self.output / OPTIONS_FILE, self.given or {})


@dataclass(frozen=True)
class System:
    """A system whose average is measured.

    Attributes:
        name: its name in the file.
        seed: its seed.
        make: function that is called as ``make(seed=..., device=..., threads=...)`` and returns the
            particles.
        N: number of particles.
        about: parameters of the system, which are stored with its result.
        read: function of the positions (N, D), whose mean over all cycles is measured; None for the
            pressure.
    """

    name: str
    seed: int
    make: Callable[..., HardParticles]
    N: int
    about: Mapping[str, float]
    read: Callable[[np.ndarray], float] | None = None


def _finished(systems: Sequence[System], settings: Settings) -> dict[str, dict[str, Any]]:
    """The results of the finished systems in the folder.

    Raises:
        ValueError: the file is damaged, or has results of other systems or options.
    """
    path = settings.output / FILE
    if not path.exists():
        return {}
    of = {each.name: _options(each, settings) for each in systems}
    try:
        done = {name: {**found} for name, found in json.loads(path.read_text()).items()}
        other = [name for name, found in done.items() if found["options"] != of.get(name)]
        for found in done.values():
            _estimate(found)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(f"--resume: {path} is damaged: {error}") from None
    if other:
        raise ValueError(f"--resume: {path} has results of other options: {other[0]}")
    return done


def _options(system: System, settings: Settings) -> dict[str, float]:
    """What determines the result of a system."""
    lengths = {"sweeps": settings.sweeps, "equilibrate": settings.equilibrate}
    return {"N": system.N, "seed": system.seed, **lengths, **system.about}


def measured(systems: Sequence[System], settings: Settings, title: str) -> dict[str, Estimate]:
    """The average of each system by its name. Finished systems of the folder are not simulated
    again.

    Args:
        systems: the systems; their names and seeds are different.
        settings: the settings of the job.
        title: text of the progress bar.

    Raises:
        KeyboardInterrupt: Ctrl-C. The folder has the systems that were finished.
        ValueError: a file in the folder is damaged, or has results of other systems or options.
    """
    done = _finished(systems, settings)
    moves = {each.name: each.N * (settings.sweeps + settings.equilibrate) for each in systems}
    before = sum(count for name, count in moves.items() if name in done)
    left = [each for each in systems if each.name not in done]
    with closing(MovesBar(title, sum(moves.values()), done=before, quiet=settings.quiet)) as bar:
        for some in _batches(left, settings):
            done |= _Batch(some, settings, partial(_show, bar, before)).results()
            before += sum(moves[each.name] for each in some)
            write_json(settings.output / FILE, done)
    return {each.name: _estimate(done[each.name]) for each in systems}


def warnings(found: Mapping[str, Estimate], advice: str = "raise --sweeps") -> list[str]:
    """The warning of averages whose errors are not reliable."""
    count = sum(not each.converged for each in found.values())
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


def _show(bar: MovesBar, before: int, moves: int) -> None:
    bar.show(before + moves)


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


class _Batch:
    """Systems that run at the same time."""

    def __init__(
        self, systems: Sequence[System], run: Settings, show: Callable[[int], object]
    ) -> None:
        self._systems = {each.seed: each for each in systems}
        self._run = run
        self._show = show
        self._lock = Lock()
        self._moves: dict[int, int] = {}
        self._records: dict[int, list[float]] = {each.seed: [] for each in systems}

    def results(self) -> dict[str, dict[str, Any]]:
        """The average of each system, and the hash of its last state."""
        run = self._run
        replicas = Replicas(
            [self._maker(each) for each in self._systems.values()],
            seed=0,
            device=run.device,
            threads=run.threads,
        )
        calls: list[Call] = [(_SHOWN_EVERY, self._progress)]
        if any(each.read for each in self._systems.values()):
            calls.append((1, self._read))
        replicas.run_until(
            run.equilibrate + run.sweeps, calls, equilibrate=run.equilibrate, progress=False
        )
        return dict(replicas.map(self._result))

    def _maker(self, system: System) -> Callable[..., HardParticles]:
        def make(*, seed: int, **place: Any) -> HardParticles:
            one = system.make(seed=system.seed, **place)
            if system.read is None:
                one.sample_pressure(every=1, record=max(20, self._run.sweeps / 256))
            return one

        return make

    def _progress(self, one: HardParticles) -> None:
        with self._lock:
            self._moves[one.seed] = one.trial_moves
            self._show(sum(self._moves.values()))

    def _read(self, one: HardParticles) -> None:
        read = self._systems[one.seed].read
        if read is not None and one.sweeps > self._run.equilibrate:
            self._records[one.seed].append(read(one.positions))

    def _result(self, one: HardParticles) -> tuple[str, dict[str, Any]]:
        system = self._systems[one.seed]
        if system.read is None:
            found = one.pressure_average
        elif len(self._records[one.seed]) < 2:
            raise ParameterError("sweeps", "must be more than one cycle")
        else:
            found = estimate(np.array(self._records[one.seed]))
        about = {
            "acceptance": one.acceptance,
            "state_hash": one.state_hash,
            "options": _options(system, self._run),
        }
        return system.name, {**found.to_dict(), **about}


def _estimate(found: dict[str, Any]) -> Estimate:
    error = found["error"]
    return Estimate(found["value"], float("nan") if error is None else error, found["converged"])
