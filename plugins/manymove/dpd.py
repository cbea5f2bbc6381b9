"""A fluid of dissipative particles, simulated by the LAMMPS of this environment with our plugin."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from manymove import arguments, files, report
from manymove.analysis.pressure import blocking_error
from manymove.devices import device_name
from manymove.lammps import host

RECORDS = 1000  # thermodynamic records of a run, at most
CLOSEST = 10  # steps between two of them, if a run has so many: each makes particles leave the GPU
# By device. Without a GPU the first one is LAMMPS' own.
RUN_STYLES = {
    "auto": "manymove/verlet",
    "cpu": "verlet",
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
        device: "cuda" keeps the particles on a GPU (of each rank), "cpu" is the pair style on the
            CPU, "auto" a GPU where there is one.
        ranks: MPI processes.
        threads: of each of them, on a CPU; more than one keep the particles in run_style
            manymove/verlet.

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

    def __post_init__(self) -> None:
        for name in ("density", "cutoff", "timestep"):
            arguments.positive(name, getattr(self, name))
        for name in ("particles", "steps", "seed", "ranks", "threads"):
            arguments.count(name, getattr(self, name))
        for name in ("gamma", "temperature", "weight_exponent"):
            arguments.not_negative(name, getattr(self, name))
        arguments.steps("equilibrate", self.equilibrate)
        arguments.one_of("precision", self.precision, arguments.PRECISIONS)
        arguments.one_of("device", self.device, tuple(RUN_STYLES))
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
    """On a CPU threads have more to do where the particles stay in run_style manymove/verlet."""
    if fluid.threads == 1 or fluid.device == "cuda":
        return RUN_STYLES[fluid.device]
    device = " device cpu" if fluid.device == "cpu" else ""
    return f"manymove/verlet{device} threads {fluid.threads}"


def deck(fluid: Fluid) -> str:
    """The input deck for LAMMPS; it writes thermo.csv and final.data."""
    every = max(1, math.ceil(fluid.steps / RECORDS), min(CLOSEST, fluid.steps // CLOSEST))
    progress = max(1, fluid.equilibrate // 20)
    return f"""# manymove dpd
units lj
atom_style atomic
comm_modify vel yes
region box block 0 {fluid.edge:.17g} 0 {fluid.edge:.17g} 0 {fluid.edge:.17g}
create_box 1 box
create_atoms 1 random {fluid.particles} {fluid.seed} box
mass 1 1.0
velocity all create {fluid.temperature:.17g} {fluid.seed} loop geom
velocity all zero linear
pair_style manymove/dpd {fluid.temperature:.17g} {fluid.cutoff:.17g} {fluid.seed} &
  weight_exponent {fluid.weight_exponent:.17g} precision {fluid.precision} threads {fluid.threads}
pair_coeff 1 1 {fluid.a:.17g} {fluid.gamma:.17g}
neighbor {0.4 * fluid.cutoff:.17g} bin
neigh_modify delay 0 every 2 check yes
timestep {fluid.timestep:.17g}
fix integrate all nve
run_style {run_style(fluid)}
thermo_style custom step temp press pe
thermo {progress}
run {fluid.equilibrate}
thermo {every}
fix records all print {every} "$(step),$(temp:%.10g),$(press:%.10g),$(pe:%.10g)" &
  screen no file thermo.csv title "step,temperature,pressure,potential_energy"
run {fluid.steps}
write_data final.data
"""


def run(fluid: Fluid, output: Path, quiet: bool = False) -> dict[str, Any]:
    """Simulates the fluid; writes in.dpd, log.lammps, thermo.csv, final.data and summary.json.

    Args:
        fluid: what to simulate.
        output: the folder, made if it is missing.
        quiet: no progress bar.

    Returns:
        the content of summary.json.

    Raises:
        RuntimeError: LAMMPS, its MPI or the plugin is missing, or LAMMPS stopped with an error.
    """
    command = host.command(fluid.ranks)
    files.make_folder(output)
    with files.replace(output / "in.dpd") as file:
        file.write(deck(fluid).encode())
    command += ["-in", "in.dpd", "-log", "log.lammps", "-nocite"]
    lines = []
    with (
        subprocess.Popen(
            command,
            cwd=output,
            env=host.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
        tqdm(
            total=fluid.equilibrate + fluid.steps, unit="step", disable=True if quiet else None
        ) as bar,
    ):
        try:
            for line in process.stdout:
                lines.append(line)
                at = re.match(r"\s*(\d+)\s+[-\d.]+\s", line)
                if at:
                    bar.update(int(at.group(1)) - bar.n)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        errors = [line.strip() for line in lines if line.startswith("ERROR")]
        raise RuntimeError(
            errors[0] if errors else "LAMMPS stopped: " + "".join(lines[-3:]).strip()
        )
    summary = _summarise(fluid, output, "".join(lines))
    for name in ("thermo.csv", "final.data"):  # LAMMPS does not sync what it writes
        files.sync(output / name)
    files.sync_folder(output)
    report.write_json(output / "summary.json", summary)
    return summary


def _summarise(fluid: Fluid, output: Path, text: str) -> dict[str, Any]:
    records = np.genfromtxt(output / "thermo.csv", delimiter=",", names=True, ndmin=1)
    records = records[records["step"] > fluid.equilibrate]
    summary: dict[str, Any] = {}
    for name in ("temperature", "pressure", "potential_energy"):
        error, converged = blocking_error(records[name])
        summary[name] = float(records[name].mean())
        summary[f"{name}_error"] = error if math.isfinite(error) else None
        summary[f"{name}_error_converged"] = bool(converged)
    loops = re.findall(r"Loop time of ([\d.eE+-]+) on", text)
    seconds = float(loops[-1])
    settings = asdict(fluid)
    settings["set_temperature"] = settings.pop("temperature")
    settings["equilibration_steps"] = settings.pop("equilibrate")
    gpu = re.search(r"manymove/verlet: the particles are on (?!cpu$)(.+)", text, re.MULTILINE)
    return {
        **summary,
        "complete": True,
        "million_particle_steps_per_second": fluid.particles * fluid.steps / seconds / 1e6,
        "seconds": seconds,
        **settings,
        "box": [fluid.edge] * 3,
        "device": "cuda" if gpu else "cpu",
        "device_name": gpu.group(1) if gpu else device_name("cpu", fluid.threads),
        "lammps": re.search(r"LAMMPS \((.+?)\)", text).group(1),
        **report.made_by(),
    }


def table(summary: dict[str, Any]) -> str:
    """The summary for a terminal."""

    def measured(name: str) -> str:
        error = summary[f"{name}_error"]
        text = f"{summary[name]:.5g}" + (f" +- {error:.2g}" if error is not None else "")
        return text if summary[f"{name}_error_converged"] else f"{text} (too short for an error)"

    rows = [
        ("particles", f"{summary['particles']:,} in a box {summary['box'][0]:.5g} wide"),
        ("temperature", f"{measured('temperature')}, set {summary['set_temperature']:g}"),
        ("pressure", measured("pressure")),
        ("potential energy", measured("potential_energy")),
        ("steps", f"{summary['steps']:,} after {summary['equilibration_steps']:,}"),
        (
            "speed",
            f"{summary['million_particle_steps_per_second']:.3g} million particle-steps/s on "
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
