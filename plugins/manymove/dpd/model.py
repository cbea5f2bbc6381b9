# SPDX-License-Identifier: BSD-3-Clause
"""Forces, start and records of dissipative particles of one kind, as commands of LAMMPS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from manymove import arguments
from manymove.devices import on_gpu, thread_count

QUANTITIES = ("temperature", "pressure", "potential_energy")  # of the records
TITLE = ",".join(("step", *QUANTITIES))
UNITS = "units lj\natom_style atomic\ncomm_modify vel yes\n"
_DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class Model:
    """Forces and engine of dissipative particles, with the arguments of `manymove.DPDFluid`.

    Attributes:
        timestep: length of a time step.
        device: "cuda" keeps the particles on a GPU (one per rank), "cpu" keeps them in an engine
            for the CPU, "auto" is "cuda" if there is a GPU and otherwise "cpu".
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


def run_style(model: Model, ranks: int = 1) -> str:
    """The run style of LAMMPS with its options.

    The trajectory of the engine does not depend on the threads, which the ranks share.
    """
    if not on_gpu(model.device):
        return f"manymove/verlet device cpu threads {_threads_of_rank(model, ranks)}"
    return "manymove/verlet device cuda" if model.device == "cuda" else "manymove/verlet"


def _threads_of_rank(model: Model, ranks: int) -> int:
    return max(1, model.threads // ranks)


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
    threads = _threads_of_rank(model, ranks)
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
  title "{TITLE}"
"""
