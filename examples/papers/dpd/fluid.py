# SPDX-License-Identifier: BSD-3-Clause
"""Speed of the fluids of the paper's sections 4.3 and 4.4 in LAMMPS, for Figures 11 to 13.

The paper gives densities, cutoffs, the time step and the interval of neighbor lists. It does
not give the repulsion and the friction. Here they are a = 75 kT / (density r_c^4) and gamma = 4.5,
as in R. D. Groot and P. B. Warren, J. Chem. Phys. 107, 4423 (1997).
"""

from __future__ import annotations

import math
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from manymove.devices import on_gpu, usable_cores
from manymove.lammps import host

DENSITIES, CUTOFFS = (3.0, 6.0, 50.0), (1.0, 1.5)
TIMESTEP, REBUILD, SKIN = 0.005, 5, 0.3  # the paper gives no skin
MELT = 200  # steps from the random start
FEWEST_STEPS = 20  # of a measurement: four neighbor lists
LONG_STEP = 0.5  # seconds of a step that needs no warm-up
# Neighbors that a processor is expected to compute in a second, which chooses the number of steps.
EXPECTED = {"gpu": 5e10, "core": 1.5e7}
LOOP = re.compile(r"^Loop time of (\S+) on \d+ procs for (\d+) steps", re.MULTILINE)


@dataclass(frozen=True)
class Fluid:
    """A DPD fluid in a cubic box."""

    density: float
    cutoff: float
    particles: int

    @property
    def edge(self) -> float:
        return (self.particles / self.density) ** (1 / 3)

    @property
    def neighbors(self) -> float:
        """Mean number of particles within the cutoff of a particle."""
        return 4 / 3 * math.pi * self.cutoff**3 * self.density

    @property
    def name(self) -> str:
        return f"density {self.density:g}, r_c {self.cutoff:g}"

    def random(self, seed: int) -> str:
        """Commands that make a random start."""
        edge = f"{self.edge:.17g}"
        return (
            "units lj\natom_style atomic\ncomm_modify mode single vel yes\n"
            f"region box block 0 {edge} 0 {edge} 0 {edge}\ncreate_box 1 box\n"
            f"create_atoms 1 random {self.particles} {seed} box\nmass 1 1.0\n"
            f"velocity all create 1.0 {seed} loop geom\n"
        )

    def forces(self, style: str, seed: int) -> str:
        """Pair style, lists and integration. `style` may be followed by keywords of the style."""
        pair, _, keywords = style.partition(" ")
        repulsion = 75 / (self.density * self.cutoff**4)
        return (
            f"pair_style {pair} 1.0 {self.cutoff:g} {seed} {keywords}\n"
            f"pair_coeff 1 1 {repulsion:.10g} 4.5\nneighbor {SKIN:g} bin\n"
            f"neigh_modify delay 0 every {REBUILD} check no\ntimestep {TIMESTEP:g}\n"
            "fix integrate all nve\nthermo_style custom step temp\n"
        )


def run_style(device: str, threads: int) -> str:
    """The run style of manymove on a device."""
    if on_gpu(device):
        return "run_style manymove/verlet device cuda\n"
    return f"run_style manymove/verlet device cpu threads {threads}\n"


def steps_for(fluid: Fluid, seconds: float, processors: int, gpu: bool) -> int:
    """Number of steps that take about this time."""
    rate = EXPECTED["gpu"] if gpu else processors * EXPECTED["core"]
    step = 1.5e-5 * gpu + fluid.particles * fluid.neighbors / rate
    return max(FEWEST_STEPS, round(seconds / step))


def loop_times(commands: str, ranks: int = 1) -> list[tuple[float, int]]:
    """Time in seconds and number of steps of each run of an input script.

    Raises:
        RuntimeError: LAMMPS is missing or ends with an error, which the text contains.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "in").write_text(commands)
        command = [*host.command(ranks), "-in", "in", "-log", "none", "-nocite"]
        done = subprocess.run(
            command, cwd=folder, env=host.environment(), capture_output=True, text=True,
            preexec_fn=host.end_with_this_process,
        )  # fmt: skip
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
        raise RuntimeError(f"LAMMPS failed: {(lines or [done.stderr[-300:] or 'no output'])[0]}")
    return [(float(time), int(steps)) for time, steps in LOOP.findall(done.stdout)]


def resident_speed(
    fluid: Fluid, device: str, ranks: int, threads: int, precision: str, seconds: float, seed: int,
    restart: Path | None = None,
) -> tuple[float, int]:  # fmt: skip
    """Speed of run_style manymove/verlet in particle-steps per second, and the number of steps.

    It is the difference of a long and a short run after the fluid has melted, because a run ends
    with a copy of all particles to LAMMPS. LAMMPS sets up only the first run.

    Args:
        fluid: the fluid; it starts at random places.
        device: "auto", "cpu" or "cuda".
        ranks, threads: MPI processes, and threads of each on a CPU. If there are fewer GPUs than
            ranks, ranks share them.
        precision: "mixed" or "double".
        seconds: about the time of the long run.
        seed: seed of the start and of the noise.
        restart: file for the melted fluid after these runs.
    """
    gpu = on_gpu(device)
    steps = steps_for(fluid, seconds, ranks * threads, gpu)
    short = max(FEWEST_STEPS, steps // 10)
    # LAMMPS computes the forces of the first step on the host.
    style = f"manymove/dpd precision {precision} threads {max(1, cores() // ranks)}"
    text = f"{fluid.random(seed)}{fluid.forces(style, seed)}{run_style(device, threads)}"
    text += f"run {MELT} post no\n"
    text += f"run {short} pre no post no\nrun {steps + short} pre no post no\n"
    if restart:
        text += f'write_restart "{restart}"\n'
    _, (first, _), (second, _) = loop_times(text, ranks)
    return fluid.particles * steps / max(second - first, second / 10), steps


def reference_speed(
    fluid: Fluid, restart: Path, ranks: int, seconds: float, seed: int
) -> tuple[float, int]:
    """Speed of LAMMPS' `dpd` on MPI ranks from a melted fluid, in particle-steps per second, and
    the number of steps."""
    steps = steps_for(fluid, seconds, ranks, gpu=False)
    communicate = "comm_modify mode single vel yes\n"
    text = f'{communicate}read_restart "{restart}"\n{communicate}{fluid.forces("dpd", seed)}'
    if steps > FEWEST_STEPS or seconds / steps < LONG_STEP:
        text += f"run {REBUILD} post no\n"
    time, _ = loop_times(f"{text}run {steps} post no\n", ranks)[-1]
    return fluid.particles * steps / time, steps


def cores() -> int:
    """Cores of this host, at most the 16 of a node of the paper."""
    return min(16, len(usable_cores()))
