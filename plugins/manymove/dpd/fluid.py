# SPDX-License-Identifier: BSD-3-Clause
"""The fluid of `manymove dpd`: decks for the LAMMPS of this environment with the plugin."""

from __future__ import annotations

import math
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manymove import arguments, files
from manymove.analysis.autocorrelation import relaxation_time
from manymove.analysis.notation import with_error
from manymove.analysis.pressure import blocking_error, drift
from manymove.devices import device_name, on_gpu, thread_count
from manymove.jobs import output_folder, report, sizes
from manymove.jobs.options import OPTIONS_FILE
from manymove.jobs.progress import MovesBar, StopRequest
from manymove.jobs.world import run_concurrently
from manymove.lammps import host

RECORDS = 1000  # maximum number of thermodynamic records of a run
CLOSEST = 10  # steps between two of them, if a run has so many: each makes particles leave the GPU
_MEASURED = "manymove: measured from here"  # in LAMMPS' output
_MEASURED_QUANTITIES = ("temperature", "pressure", "potential_energy")
_TITLE = ",".join(("step", *_MEASURED_QUANTITIES))
_DEVICES = ("auto", "cpu", "cuda")
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
class Model:
    """Forces and engine of dissipative particles, with the arguments of `manymove.DPDFluid`.

    Attributes:
        timestep: length of a time step.
        device: "cuda" keeps the particles on a GPU (one per rank), "cpu" keeps them in an engine
            for the CPU (several ranks use LAMMPS' own verlet), "auto" is "cuda" if there is a GPU
            and otherwise "cpu".
        threads: number of CPU threads of all processes together; default all cores.

    Raises:
        ValueError: a number is out of range.
    """

    a: float = 25.0
    gamma: float = 4.5
    temperature: float = 1.0
    cutoff: float = 1.0
    weight_exponent: float = 1.0
    timestep: float = 0.01
    seed: int = 1
    precision: str = "mixed"
    device: str = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("cutoff", "timestep"):
            arguments.positive(name, getattr(self, name))
        for name in ("gamma", "temperature", "weight_exponent"):
            arguments.not_negative(name, getattr(self, name))
        for name in ("a", "gamma", "temperature", "cutoff", "weight_exponent", "timestep"):
            value = float(getattr(self, name))
            if not math.isfinite(value):
                raise ValueError(f"{name} must be finite, got {value}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "seed", arguments.count("seed", self.seed))
        arguments.one_of("precision", self.precision, arguments.PRECISIONS)
        arguments.one_of("device", self.device, _DEVICES)
        object.__setattr__(self, "threads", thread_count(self.threads))


@dataclass(frozen=True)
class Fluid(Model):
    """The settings of `manymove dpd`: a fluid in a cubic box with a random start.

    Attributes:
        particles: number of particles N.
        density: number density N / V in reduced units.
        steps: number of measured steps.
        equilibrate: number of steps of the equilibration.
        ranks: number of MPI processes.
        checkpoint_every: time between restart files in seconds; 0 writes all possible files.
        checkpoint_steps: number of steps between possible restart files. At each of them LAMMPS
            starts a new run, so that a resumed run continues with the same bits. Default a
            twentieth of the whole run, at least 100 steps and at most 2e10 particle-steps.

    Raises:
        ValueError: a number is out of range, or the box is smaller than twice the cutoff.
    """

    particles: int = 100_000
    density: float = 3.0
    steps: int = 1000
    equilibrate: int = 1000
    ranks: int = 1
    checkpoint_every: float = 600.0
    checkpoint_steps: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.positive("density", self.density)
        for name in ("particles", "steps", "ranks"):
            arguments.count(name, getattr(self, name))
        arguments.not_negative("checkpoint_every", self.checkpoint_every)
        arguments.steps("equilibrate", self.equilibrate)
        arguments.steps("checkpoint_steps", self.checkpoint_steps)
        if self.checkpoint_steps == 0:
            every = math.ceil((self.equilibrate + self.steps) / _SEGMENTS)
            every = max(_SEGMENT_STEPS, min(every, int(_SEGMENT_WORK / self.particles)))
            object.__setattr__(self, "checkpoint_steps", every)
        sizes.refuse(
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

    @property
    def edge(self) -> float:
        """Edge of the cubic box."""
        return (self.particles / self.density) ** (1 / 3)


# ---- commands of LAMMPS --------------------------------------------------------------------------

UNITS = "units lj\natom_style atomic\ncomm_modify vel yes\n"


def run_style(model: Model, ranks: int = 1) -> str:
    """The run style of LAMMPS with its options.

    The engine for the CPU is faster than LAMMPS' own verlet on one rank, and slower on several
    ranks of one thread each. The choice does not depend on the threads, which therefore do not
    influence the trajectory.
    """
    if not on_gpu(model.device):
        if ranks > 1:
            return "verlet"
        return f"manymove/verlet device cpu threads {model.threads}"
    return "manymove/verlet device cuda" if model.device == "cuda" else "manymove/verlet"


def box(low: Sequence[float], edges: Sequence[float]) -> str:
    """Commands for an empty box with one particle type."""
    faces = " ".join(f"{x:.17g} {x + edge:.17g}" for x, edge in zip(low, edges, strict=True))
    return f"region box block {faces}\ncreate_box 1 box\nmass 1 1.0\n"


def at_random(particles: int, seed: int) -> str:
    """Command for particles at random positions."""
    return f"create_atoms 1 random {particles} {seed} box\n"


def velocities(model: Model) -> str:
    """Command for velocities from the Maxwell distribution, without motion of the center of
    mass."""
    return f"""velocity all create {model.temperature:.17g} {model.seed} loop geom
velocity all zero linear
"""


def motion(model: Model, ranks: int = 1) -> str:
    """Commands for the forces and the integration."""
    threads = max(1, model.threads // ranks)
    return f"""pair_style manymove/dpd {model.temperature:.17g} {model.cutoff:.17g} {model.seed} &
  weight_exponent {model.weight_exponent:.17g} precision {model.precision} threads {threads}
pair_coeff 1 1 {model.a:.17g} {model.gamma:.17g}
neighbor {0.4 * model.cutoff:.17g} bin
neigh_modify delay 0 every 2 check yes
timestep {model.timestep:.17g}
fix integrate all nve
run_style {run_style(model, ranks)}
thermo_style custom step temp press pe
"""


def records(every: int, path: str, mode: str = "file") -> str:
    """Commands for the table of temperature, pressure and potential energy."""
    return f"""fix records all print {every} "$(step),$(temp:%.10g),$(press:%.10g),$(pe:%.10g)" &
  screen no {mode} {path} &
  title "{_TITLE}"
"""


def deck(fluid: Fluid, step: int = 0) -> str:
    """The input deck for LAMMPS; it writes thermo.csv, final.data and restart files.

    A restart file contains positions and velocities of whole steps. Within a run the forces are
    those with velocities of the half step; at the start of a run they are recomputed. Therefore
    files are written between two runs, and a run that starts from a file has the same bits as the
    uninterrupted run.

    Args:
        fluid: settings of the fluid.
        step: step of the restart file to continue from; 0 for a new start.

    Returns:
        the text of the deck.
    """
    every = max(1, math.ceil(fluid.steps / RECORDS), min(CLOSEST, fluid.steps // CLOSEST))
    progress = max(1, fluid.equilibrate // 20)
    start = f"read_restart checkpoint-{step}.restart\ncomm_modify vel yes\n"
    if not step:
        start = UNITS + box([0.0] * 3, [fluid.edge] * 3)
        start += at_random(fluid.particles, fluid.seed) + velocities(fluid)
    then = f'every {fluid.checkpoint_steps} "include restart.in"'
    relax = ""
    if step < fluid.equilibrate or step == 0:
        relax = f"thermo {progress}\nrun {fluid.equilibrate - step} {then}\n"
    table = records(every, "thermo.csv", "append" if step > fluid.equilibrate else "file")
    return f"""# manymove dpd
{start}{motion(fluid, fluid.ranks)}{relax}thermo {every}
{table}print "{_MEASURED}"
run {fluid.equilibrate + fluid.steps - max(step, fluid.equilibrate)} {then}
{_RESTART}write_data final.data
"""


def run(
    fluid: Fluid,
    output: Path,
    quiet: bool = False,
    *,
    resume: bool = False,
    overwrite: bool = False,
    given: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Simulate the fluid, and write in.dpd, log.lammps, thermo.csv, final.data, restart files and
    summary.json.

    Ctrl-C ends the run at the next step at which a restart file can be written. If this step is not
    reached within five seconds, the steps after the last restart file are lost.

    Args:
        fluid: settings of the fluid.
        output: folder of the results, which is made if it is missing.
        quiet: whether to show no progress.
        resume: continue from the last restart file in the folder.
        overwrite: replace the results in the folder.
        given: options of the command, which are stored for `--resume`.

    Returns:
        the content of summary.json.

    Raises:
        FileExistsError: the folder contains results, and neither `resume` nor `overwrite` is set.
        FileNotFoundError: there is no restart file to resume from.
        RuntimeError: LAMMPS, its MPI or the plugin is missing, or LAMMPS has stopped with an error.
    """
    command = host.command(fluid.ranks)
    output_folder.claim(output, resume=resume, overwrite=overwrite)
    step = _last_restart(output) if resume else 0
    end = fluid.equilibrate + fluid.steps
    if resume and not 0 < step <= end:
        reason = f"is at step {step}, beyond the {end} asked for" if step else "is missing"
        raise FileNotFoundError(f"--resume: no checkpoint {output}/checkpoint-*.restart: {reason}")
    files.make_folder(output)
    if given is not None:
        report.write_json(output / OPTIONS_FILE, given)
    if step > fluid.equilibrate:
        _cut_records(output / "thermo.csv", step)
    with files.replace(output / "in.dpd") as file:
        file.write(deck(fluid, step).encode())
    command += ["-in", "in.dpd", "-log", "log.lammps", "-nocite"]
    lines: list[str] = []
    at = [step]
    restarts = _Restarts(output, fluid.checkpoint_every, step)

    def follow(process: subprocess.Popen[str]) -> None:
        for line in process.stdout:
            lines.append(line)
            if found := re.match(r"\s*(\d+)\s+[-\d.]+\s", line):
                at[0] = int(found.group(1))

    # A session of its own, so that Ctrl-C on the terminal reaches this process only.
    with (
        StopRequest() as stop,
        subprocess.Popen(
            command,
            cwd=output,
            env=host.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        bar = MovesBar(f"{fluid.particles:,} particles", end, unit="steps", quiet=quiet)

        def show() -> None:
            bar.show(at[0])
            if not restarts.follow(stop.requested):
                process.terminate()

        try:
            run_concurrently([lambda: follow(process)], 1, stop, show)
        except BaseException:
            process.terminate()
            raise
        finally:
            bar.close()
    complete = process.returncode == 0
    if not complete and not stop.requested:
        errors = [line.strip() for line in lines if line.startswith("ERROR")]
        raise RuntimeError(
            errors[0] if errors else "LAMMPS stopped: " + "".join(lines[-3:]).strip()
        )
    last = end if complete else _last_restart(output)
    if (output / "thermo.csv").exists():
        _cut_records(output / "thermo.csv", last)
    summary = _summarize(fluid, output, "".join(lines), complete, step, last)
    for name in ("thermo.csv", "final.data"):  # LAMMPS does not sync what it writes
        if (output / name).exists():
            files.sync(output / name)
    files.sync_folder(output)
    report.write_json(output / "summary.json", summary)
    return summary


class _Restarts:
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
        newest = _last_restart(self._output, self._newest)
        if newest != self._newest:
            self._newest, self._written = newest, now
        if stop:
            self._stopping = self._stopping or now
            self._ask(_RESTART + "quit 1\n")
            return now < self._stopping + _PATIENCE
        self._ask(_RESTART if now >= self._written + self._every else "")
        return True


def _last_restart(output: Path, known: int = -1) -> int:
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


def _cut_records(path: Path, step: int) -> None:
    """Remove the records after a step, which are computed again, because a kill may have damaged
    them. LAMMPS repeats the title where a run is resumed."""
    title, *rows = path.read_text().splitlines() or [_TITLE]
    of_steps = (row for row in rows if row.count(",") == 3 and row[0].isdigit())
    kept = [row for row in of_steps if int(row.partition(",")[0]) <= step]
    with files.replace(path) as file:
        file.write("".join(f"{row}\n" for row in (title, *kept)).encode())


def _summarize(
    fluid: Fluid, output: Path, text: str, complete: bool, begun: int, step: int
) -> dict[str, Any]:
    """The content of summary.json after a session from one step to another."""
    records = _records(output / "thermo.csv")
    records = records[records["step"] > fluid.equilibrate]
    summary: dict[str, Any] = {}
    for name in _MEASURED_QUANTITIES:
        error, converged = blocking_error(records[name])
        summary[name] = float(records[name].mean()) if len(records) else None
        summary[f"{name}_error"] = report.number(error)
        summary[f"{name}_error_converged"] = bool(converged)
    every = float(records["step"][1] - records["step"][0]) if len(records) > 1 else 1.0
    summary |= report.equilibration(
        step - fluid.equilibrate,
        "steps",
        {name: relaxation_time([records[name]], every) for name in _MEASURED_QUANTITIES},
        [(name, *map(report.number, drift([records[name]])), "") for name in _MEASURED_QUANTITIES],
        all(summary[f"{name}_error_converged"] for name in _MEASURED_QUANTITIES),
    )
    measured = text.partition(_MEASURED)[2]
    seconds = sum(map(float, re.findall(r"Loop time of ([\d.eE+-]+) on", measured)))
    steps = step - max(begun, fluid.equilibrate)
    lammps = re.search(r"LAMMPS \((.+?)\)", text)
    settings = asdict(fluid)
    settings["set_temperature"] = settings.pop("temperature")
    settings["N"] = settings.pop("particles")
    del settings["equilibrate"], settings["checkpoint_every"]
    gpu = re.search(r"manymove/verlet: the particles are on (?!cpu$)(.+)", text, re.MULTILINE)
    return {
        **summary,
        "complete": complete,
        "million_particle_steps_per_second": (
            fluid.particles * steps / seconds / 1e6 if seconds > 0 and steps > 0 else None
        ),
        "seconds": seconds,
        **settings,
        "steps": max(0, step - fluid.equilibrate),
        "equilibration_steps": min(step, fluid.equilibrate),
        "box": [fluid.edge] * 3,
        "device": "cuda" if gpu else "cpu",
        "device_name": gpu.group(1) if gpu else device_name("cpu", fluid.threads),
        "lammps": lammps.group(1) if lammps else None,
        **report.made_by(),
    }


def _records(path: Path) -> np.ndarray:
    if not path.exists():
        return np.empty(0, [(n, float) for n in ("step", *_MEASURED_QUANTITIES)])
    return np.genfromtxt(path, delimiter=",", names=True, ndmin=1)


def table(summary: dict[str, Any]) -> str:
    """The summary for a terminal."""

    def measured(name: str) -> str:
        if summary[name] is None:
            return "not measured yet"
        return with_error(summary[name], summary[f"{name}_error"])

    threads = summary["threads"] // summary["ranks"]  # of each
    rows = [
        ("particles", f"{summary['N']:,} in a box {summary['box'][0]:.5g} wide"),
        ("temperature", f"{measured('temperature')}, set {summary['set_temperature']:g}"),
        ("pressure", measured("pressure")),
        ("potential energy", measured("potential_energy")),
        *report.warning_rows(summary),
        ("steps", f"{summary['steps']:,} after {summary['equilibration_steps']:,}"),
        (
            "speed",
            f"{summary['million_particle_steps_per_second'] or 0:.3g} million particle-steps/s on "
            f"{summary['ranks']} rank{'s' if summary['ranks'] > 1 else ''}"
            + (f" of {threads} threads" if threads > 1 and summary["device"] == "cpu" else ""),
        ),
        ("device", f"{summary['device']} ({summary['device_name']})"),
        ("host program", f"LAMMPS {summary['lammps']}"),
    ]
    return report.lines(rows)
