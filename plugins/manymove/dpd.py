"""A fluid of dissipative particles, simulated by the LAMMPS of this environment with our plugin."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manymove import arguments, files, output_folder, report, sizes
from manymove.analysis.pressure import blocking_error, drift
from manymove.analysis.relaxation import relaxation_time
from manymove.cli_options import OPTIONS_FILE
from manymove.devices import device_name
from manymove.lammps import host
from manymove.progress import MovesBar, StopRequest
from manymove.replicas import run_concurrently

RECORDS = 1000  # thermodynamic records of a run, at most
CLOSEST = 10  # steps between two of them, if a run has so many: each makes particles leave the GPU
_MEASURED = "manymove: measured from here"  # in LAMMPS' output
_MEASURED_QUANTITIES = ("temperature", "pressure", "potential_energy")
_TITLE = ",".join(("step", *_MEASURED_QUANTITIES))
# By device. On a CPU several ranks of one thread each are faster with LAMMPS' own verlet.
RUN_STYLES = {
    "auto": "manymove/verlet",
    "cpu": "manymove/verlet device cpu",
    "cuda": "manymove/verlet device cuda",
}


@dataclass(frozen=True)
class Fluid:
    """A cubic box of one kind of particles, in LAMMPS' units lj: their mass and k_B are 1.

    Equations are those of Y.-H. Tang, G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).

    Attributes:
        particles: number N.
        density: N / V.
        a: height of the repulsion, a force (Eq. 3).
        gamma: friction, a force over a velocity (Eq. 4).
        temperature: kT.
        cutoff: r_c.
        weight_exponent: s of the weights (Eq. 8).
        timestep: of velocity Verlet.
        steps: measured.
        equilibrate: steps before that.
        seed: of start and random forces.
        precision: "mixed" or "double".
        device: "cuda" keeps the particles on a GPU (of each rank), "cpu" keeps them in an engine
            for the CPU (several ranks of one thread each use LAMMPS' own verlet), "auto" is "cuda"
            where there is a GPU, else "cpu".
        ranks: number of MPI processes.
        threads: number of threads of each process, on a CPU.
        checkpoint_steps: between restart files. At each of them LAMMPS starts a new run, from which
            a resumed run continues with the same bits; by default a twentieth of the whole run, and
            at least 100.

    Raises:
        ValueError: a number that is out of range, or a box below twice the cutoff.
    """

    particles: int = 100_000
    density: float = 3.0
    a: float = 25.0
    gamma: float = 4.5
    temperature: float = 1.0
    cutoff: float = 1.0
    weight_exponent: float = 1.0
    timestep: float = 0.01
    steps: int = 1000
    equilibrate: int = 1000
    seed: int = 1
    precision: str = "mixed"
    device: str = "auto"
    ranks: int = 1
    threads: int = 1
    checkpoint_steps: int = 0

    def __post_init__(self) -> None:
        for name in ("density", "cutoff", "timestep"):
            arguments.positive(name, getattr(self, name))
        for name in ("particles", "steps", "seed", "ranks", "threads"):
            arguments.count(name, getattr(self, name))
        for name in ("gamma", "temperature", "weight_exponent"):
            arguments.not_negative(name, getattr(self, name))
        arguments.steps("equilibrate", self.equilibrate)
        arguments.steps("checkpoint_steps", self.checkpoint_steps)
        if self.checkpoint_steps == 0:
            every = max(100, math.ceil((self.equilibrate + self.steps) / 20))
            object.__setattr__(self, "checkpoint_steps", every)
        arguments.one_of("precision", self.precision, arguments.PRECISIONS)
        arguments.one_of("device", self.device, tuple(RUN_STYLES))
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
        """Width of the box."""
        return (self.particles / self.density) ** (1 / 3)


def run_style(fluid: Fluid) -> str:
    """LAMMPS' run style with its options."""
    if fluid.device == "cpu" and fluid.ranks > 1 and fluid.threads == 1:
        return "verlet"
    threads = "" if fluid.device == "cuda" else f" threads {fluid.threads}"
    return RUN_STYLES[fluid.device] + threads


def deck(fluid: Fluid, step: int = 0) -> str:
    """The input deck for LAMMPS; it writes thermo.csv, final.data and restart files.

    A restart file holds positions and velocities of whole steps. Within a run the forces are those
    of velocities of the half step; at its start they are computed again. Therefore files are
    written between runs, and a run that starts from one has the bits of the run that went on.

    Args:
        fluid: what to simulate.
        step: of the restart file to continue from; 0 for a new start.
    """
    every = max(1, math.ceil(fluid.steps / RECORDS), min(CLOSEST, fluid.steps // CLOSEST))
    progress = max(1, fluid.equilibrate // 20)
    create = f"""region box block 0 {fluid.edge:.17g} 0 {fluid.edge:.17g} 0 {fluid.edge:.17g}
create_box 1 box
create_atoms 1 random {fluid.particles} {fluid.seed} box
mass 1 1.0
velocity all create {fluid.temperature:.17g} {fluid.seed} loop geom
velocity all zero linear
pair_style manymove/dpd {fluid.temperature:.17g} {fluid.cutoff:.17g} {fluid.seed} &
  weight_exponent {fluid.weight_exponent:.17g} precision {fluid.precision} threads {fluid.threads}
pair_coeff 1 1 {fluid.a:.17g} {fluid.gamma:.17g}
"""
    units = "units lj\natom_style atomic\ncomm_modify vel yes\n"
    start = f"read_restart checkpoint-{step}.restart\ncomm_modify vel yes\n"
    then = (
        f'every {fluid.checkpoint_steps} "write_restart partial" '
        '"shell mv partial checkpoint-$(step).restart"'
    )
    relax = f"thermo {progress}\nrun {fluid.equilibrate - step} {then}\n"
    return f"""# manymove dpd
{start if step else units + create}neighbor {0.4 * fluid.cutoff:.17g} bin
neigh_modify delay 0 every 2 check yes
timestep {fluid.timestep:.17g}
fix integrate all nve
run_style {run_style(fluid)}
thermo_style custom step temp press pe
{relax if step < fluid.equilibrate or step == 0 else ""}thermo {every}
fix records all print {every} "$(step),$(temp:%.10g),$(press:%.10g),$(pe:%.10g)" &
  screen no {"append" if step > fluid.equilibrate else "file"} thermo.csv &
  title "{_TITLE}"
print "{_MEASURED}"
run {fluid.equilibrate + fluid.steps - max(step, fluid.equilibrate)} {then}
write_data final.data
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
    """Simulates the fluid; writes in.dpd, log.lammps, thermo.csv, final.data, restart files and
    summary.json. Ctrl-C ends it; what was done up to the last restart file is kept.

    Args:
        fluid: what to simulate.
        output: the folder, made if it is missing.
        quiet: no progress bar.
        resume: continue from the last restart file in the folder.
        overwrite: replace the results in the folder.
        given: options of the command, stored for `--resume`.

    Returns:
        the content of summary.json.

    Raises:
        FileExistsError: the folder holds results, and neither `resume` nor `overwrite` is set.
        FileNotFoundError: there is no restart file to resume from.
        RuntimeError: LAMMPS, its MPI or the plugin is missing, or LAMMPS stopped with an error.
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

    def follow(process: subprocess.Popen[str]) -> None:
        for line in process.stdout:
            lines.append(line)
            if found := re.match(r"\s*(\d+)\s+[-\d.]+\s", line):
                at[0] = int(found.group(1))
            if line.startswith("Loop time"):
                _last_restart(output)

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
            if stop.requested:
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
    summary = _summarise(fluid, output, "".join(lines), complete, step, last)
    for name in ("thermo.csv", "final.data"):  # LAMMPS does not sync what it writes
        if (output / name).exists():
            files.sync(output / name)
    files.sync_folder(output)
    report.write_json(output / "summary.json", summary)
    return summary


def _last_restart(output: Path) -> int:
    """The step of the newest restart file, 0 if there is none. It and the one before it are made
    durable, and older ones are removed."""
    names = re.compile(r"checkpoint-(\d+)\.restart")
    found = sorted(
        int(match.group(1))
        for path in output.glob("checkpoint-*.restart")
        if (match := names.fullmatch(path.name))
    )
    for step in found[-1:]:
        files.sync(output / f"checkpoint-{step}.restart")
    if found[:-2]:
        files.remove(*(output / f"checkpoint-{step}.restart" for step in found[:-2]))
    return found[-1] if found else 0


def _cut_records(path: Path, step: int) -> None:
    """Leave out the records after a step, which are made again; a kill may have torn the last.
    LAMMPS repeats the title where a run is resumed."""
    title, *rows = path.read_text().splitlines() or [_TITLE]
    of_steps = (row for row in rows if row.count(",") == 3 and row[0].isdigit())
    kept = [row for row in of_steps if int(row.partition(",")[0]) <= step]
    with files.replace(path) as file:
        file.write("".join(f"{row}\n" for row in (title, *kept)).encode())


def _summarise(
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
    del settings["equilibrate"]
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
        return report.with_error(summary[name], summary[f"{name}_error"])

    rows = [
        ("particles", f"{summary['particles']:,} in a box {summary['box'][0]:.5g} wide"),
        ("temperature", f"{measured('temperature')}, set {summary['set_temperature']:g}"),
        ("pressure", measured("pressure")),
        ("potential energy", measured("potential_energy")),
        *report.warning_rows(summary),
        ("steps", f"{summary['steps']:,} after {summary['equilibration_steps']:,}"),
        (
            "speed",
            f"{summary['million_particle_steps_per_second'] or 0:.3g} million particle-steps/s on "
            f"{summary['ranks']} rank{'s' if summary['ranks'] > 1 else ''}"
            + (
                f" of {summary['threads']} threads"
                if summary["threads"] > 1 and summary["device"] == "cpu"
                else ""
            ),
        ),
        ("device", f"{summary['device']} ({summary['device_name']})"),
        ("host program", f"LAMMPS {summary['lammps']}"),
    ]
    return report.lines(rows)
