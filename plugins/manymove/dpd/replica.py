# SPDX-License-Identifier: BSD-3-Clause
"""One run of LAMMPS with the fluid of `manymove dpd`, from its start to its last step."""

from __future__ import annotations

import math
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from manymove import arguments, files
from manymove.dpd import messages
from manymove.dpd.model import (
    TITLE,
    Model,
    Quoted,
    at_random,
    box,
    check_lists,
    line,
    motion,
    records,
    velocities,
)
from manymove.jobs import folder_lock, limits
from manymove.jobs.progress import MovesBar, StopRequest
from manymove.lammps import host

RECORDS = 1000  # maximum number of thermodynamic records of a run
CLOSEST = 10  # steps between two of them, if a run has so many: each makes particles leave the GPU
MEASURED = "manymove: measured from here"  # in LAMMPS' output
# LAMMPS starts a new run at each step at which a restart file can be written. These steps are a
# function of the settings alone, and therefore the trajectory is as well.
_SEGMENTS = 20  # of the whole run, at least
_SEGMENT_STEPS = 100  # at least
_SEGMENT_WORK = 2e10  # particle-steps, at most
_RESTART = """write_restart partial
shell mv partial checkpoint-$(step).restart
"""
_PATIENCE = 5.0  # seconds after Ctrl-C in which a last restart file may be written


@dataclass(frozen=True)
class Settings(Model):
    """The settings of `manymove dpd`: a fluid in a cubic box with a random start.

    Args:
        particles: number of particles N.
        density: number density N / V in reduced units.
        steps: length of the measurement in steps.
        equilibrate: length of the equilibration in steps.
        ranks: number of MPI ranks.
        checkpoint_every: time between two checkpoints in seconds; 0 writes as many as possible.
        checkpoint_steps: number of steps between possible restart files. At each of them LAMMPS
            starts a new run, so that a resumed run continues with the same bits. Default a
            twentieth of the whole run, at least 100 steps and at most 2e10 particle-steps.

    Raises:
        ValueError: a number is out of range, the box is smaller than twice the cutoff, or the
            cutoff is too long or too short for LAMMPS' neighbor lists.
    """

    particles: Annotated[int, arguments.count] = 100_000
    density: Annotated[float, arguments.positive] = 3.0
    steps: Annotated[int, arguments.count] = 1000
    equilibrate: Annotated[int, arguments.steps] = 1000
    ranks: Annotated[int, arguments.count] = 1
    checkpoint_every: Annotated[float, arguments.not_negative] = 600.0
    checkpoint_steps: Annotated[int, arguments.steps] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.checkpoint_steps == 0:
            every = math.ceil((self.equilibrate + self.steps) / _SEGMENTS)
            every = max(_SEGMENT_STEPS, min(every, int(_SEGMENT_WORK / self.particles)))
            object.__setattr__(self, "checkpoint_steps", every)
        limits.refuse(
            f"--particles {self.particles}, --ranks {self.ranks} and --steps {self.steps}",
            500.0 * self.particles + 5e7 * self.ranks,  # bytes, LAMMPS and its MPI included
            float(self.particles) * (self.steps + self.equilibrate),
            "particle-steps",
            self.device,
        )
        if self.edge < 2 * self.cutoff:
            raise ValueError(
                f"the box of {self.particles} particles at density {self.density:g} is "
                f"{self.edge:.3g} wide, less than twice the cutoff {self.cutoff:g}"
            )
        check_lists(self, self.particles, [self.edge] * 3)

    @property
    def edge(self) -> float:
        """Edge of the cubic box."""
        return (self.particles / self.density) ** (1 / 3)


def interval(settings: Settings, earlier: int | None = None) -> int:
    """Steps between two records. A longer run has longer intervals: multiples of the interval of
    the run that it resumes, so that all its records are equally spaced.

    Args:
        settings: settings of the fluid.
        earlier: interval of the run that it resumes; None for a new run.
    """
    every = max(1, math.ceil(settings.steps / RECORDS), min(CLOSEST, settings.steps // CLOSEST))
    return every if earlier is None else earlier * max(1, math.ceil(every / earlier))


def input_script(settings: Settings, step: int = 0, earlier: int | None = None) -> str:
    """The input script for LAMMPS; it writes thermo.csv, final.data and restart files.

    A restart file contains positions and velocities of whole steps. Within a run the forces are
    those with velocities of the half step; at the start of a run they are recomputed. Therefore
    files are written between two runs, and a run that starts from a file has the same bits as the
    uninterrupted run.

    Args:
        settings: settings of the fluid.
        step: step of the restart file to continue from; 0 for a new start.
        earlier: interval of the records of the run that it continues; None without records.

    Returns:
        the text of the input script.
    """
    every = interval(settings, earlier)
    measured = settings.equilibrate + settings.steps - max(step, settings.equilibrate)
    then = ("every", settings.checkpoint_steps, Quoted("include restart.in"))
    if step:
        start = line("read_restart", f"checkpoint-{step}.restart") + "comm_modify vel yes\n"
    else:
        start = box([0.0] * 3, [settings.edge] * 3)
        start += at_random(settings.particles, settings.seed) + velocities(settings)
    relax = ""
    if step < settings.equilibrate or step == 0:
        relax = line("thermo", max(1, settings.equilibrate // 20))
        relax += line("run", settings.equilibrate - step, *then)
    return "".join(
        (
            "# manymove dpd\n",
            start + motion(settings, settings.ranks) + relax,
            line("thermo", every),
            records(every, "thermo.csv", "append" if step > settings.equilibrate else "file"),
            line("print", Quoted(MEASURED)),
            line("run", measured, *then),
            f"{_RESTART}write_data final.data\n",
        )
    )


def simulate(
    settings: Settings, command: list[str], text: str, step: int, output: Path, quiet: bool
) -> tuple[str, bool]:
    """Run LAMMPS with an input script.

    Ctrl-C ends the run at the next step at which a restart file can be written. If this step is not
    reached within five seconds, the steps after the last restart file are lost.

    Args:
        settings: settings of the fluid.
        command: command that starts LAMMPS.
        text: the input script.
        step: step of the restart file with which the input script begins, or 0.
        output: folder of the results.
        quiet: whether to show no progress.

    Returns:
        the output of LAMMPS, and whether the run has reached its end.

    Raises:
        RuntimeError: LAMMPS has stopped with an error.
    """
    with files.replace(output / "in.dpd") as file:
        file.write(text.encode())
    lines: list[str] = []
    steps = settings.equilibrate + settings.steps
    at = [step]
    restarts = Restarts(output, settings.checkpoint_every, step)

    def follow(process: subprocess.Popen[str]) -> None:
        for printed in process.stdout or ():
            lines.append(printed)
            if found := re.match(r"\s*(\d+)\s+[-\d.]+\s", printed):
                at[0] = int(found.group(1))

    # A session of its own, so that Ctrl-C on the terminal reaches this process only.
    with (
        StopRequest() as stop,
        folder_lock.shared() as locks,
        subprocess.Popen(
            [*command, "-in", "in.dpd", "-log", "log.lammps", "-nocite"],
            cwd=output,
            env=host.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=locks,
            start_new_session=True,
            preexec_fn=host.end_with_this_process,
        ) as process,
    ):
        bar = MovesBar(f"{settings.particles:,} particles", steps, unit="steps", quiet=quiet)

        def show() -> None:
            bar.show(at[0])
            if not restarts.follow(stop.requested):
                process.terminate()

        with ThreadPoolExecutor(1) as thread:
            try:
                following = thread.submit(follow, process)
                pending = {following}
                while pending:
                    _, pending = wait(pending, timeout=0.1)
                    show()
                following.result()
            except BaseException:
                process.terminate()
                raise
            finally:
                bar.close()
    complete = process.returncode == 0
    if not complete and not stop.requested:
        error = next((text for text in lines if messages.is_error(text)), None)
        if error is None:
            raise RuntimeError(_last_words(lines, process.returncode))
        if step and "restart file" in error:
            raise RuntimeError(
                f"--resume: {output}/checkpoint-{step}.restart: {messages.sentence(error)}. Remove "
                "this file to continue from an earlier one, or start again with --overwrite"
            )
        raise RuntimeError(f"LAMMPS has stopped: {messages.sentence(error)}")
    return "".join(lines), complete


class Restarts:
    """The decision when LAMMPS writes restart files. LAMMPS includes restart.in at each step where
    this is possible.

    Args:
        output: folder of the results.
        every: time between two files in seconds; the first file is written as soon as possible.
        step: step of the file from which the run continues, or 0.
    """

    def __init__(self, output: Path, every: float, step: int) -> None:
        self._output, self._every, self._newest = output, every, step
        self._written = -math.inf
        self._stopping: float | None = None  # when that was asked for
        self._commands = ""
        self._ask(_RESTART)

    def _ask(self, commands: str) -> None:
        if commands != self._commands:
            with files.replace(self._output / "restart.in") as file:
                file.write(commands.encode() or b"\n")
            self._commands = commands

    def follow(self, stop: bool) -> bool:
        """Check the time; called several times per second.

        Returns:
            False if LAMMPS must be ended from outside.
        """
        now = time.monotonic()
        newest = last_restart(self._output, self._newest)
        if newest != self._newest:
            self._newest, self._written = newest, now
        if stop:
            self._stopping = self._stopping or now
            self._ask(_RESTART + "quit 1\n")
            return now < self._stopping + _PATIENCE
        self._ask(_RESTART if now >= self._written + self._every else "")
        return True


def _last_words(lines: Sequence[str], status: int) -> str:
    """What is known about a LAMMPS that ended without an error message."""
    if words := "".join(lines[-3:]).strip():
        return f"LAMMPS stopped: {words}"
    reason = f"by the signal {signal.Signals(-status).name}" if status < 0 else f"({status})"
    return (
        f"LAMMPS stopped without a message {reason}: check the free space of the disk, the limits "
        "of the size of files and of memory, and log.lammps if it exists"
    )


def last_restart(output: Path, known: int = -1) -> int:
    """The step of the newest restart file, 0 if there is none. Unless that is known already, it and
    the one before it are made durable, and older ones are removed."""
    names = re.compile(r"checkpoint-(\d+)\.restart")
    found = sorted(
        int(match.group(1))
        for path in output.glob("checkpoint-*.restart")
        if (match := names.fullmatch(path.name))
    )
    if found[-1:] == [known]:
        return known
    for step in found[-1:]:
        files.sync(output / f"checkpoint-{step}.restart")
    if found[:-2]:
        files.remove(*(output / f"checkpoint-{step}.restart" for step in found[:-2]))
    return found[-1] if found else 0


def cut_records(path: Path, step: int, longer: Settings | None = None) -> int | None:
    """Remove the records after a step, which are computed again, because a kill may have damaged
    them. LAMMPS repeats the title where a run is resumed. For a longer run those between its
    records are removed, too, because all records have the same weight in the means.

    Returns:
        the interval of the records that were there, in steps; None for fewer than two.
    """
    title, *rows = path.read_text().splitlines() or [TITLE]
    of_steps = (row for row in rows if row.count(",") == 3 and row[0].isdigit())
    kept = {at: row for row in of_steps if (at := int(row.partition(",")[0])) <= step}
    steps = sorted(kept)
    earlier = min((b - a for a, b in pairwise(steps)), default=None)
    every = interval(longer, earlier) if longer is not None and earlier else 1
    with files.replace(path) as file:
        lines = (title, *(kept[at] for at in steps if at % every == 0))
        file.write("".join(f"{row}\n" for row in lines).encode())
    return earlier
