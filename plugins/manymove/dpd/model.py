# SPDX-License-Identifier: BSD-3-Clause
"""Forces, start and records of dissipative particles of one kind, as commands of LAMMPS."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any

import numpy as np

from manymove import arguments, settings
from manymove.devices import on_gpu, thread_count
from manymove.errors import ParameterError

QUANTITIES = ("temperature", "pressure", "potential_energy")  # of the records
TITLE = ",".join(("step", *QUANTITIES))
UNITS = "units lj\natom_style {}\ncomm_modify vel yes\n"
SKIN = 0.4  # of the neighbor lists, in cutoffs
_MOST_NEIGHBORS = 2000  # in a list of LAMMPS, `neigh_modify one`
_MOST_EMPTY_CELLS = 2**27  # such lists take seconds and 1 GB
_WORDS = re.compile(r"[\w./-]+(?: [\w./-]+)*", re.ASCII)
_QUOTED = re.compile(r"[^\"\x00-\x1f\x7f]+")


class Quoted(str):
    """Words of a command that LAMMPS reads as one argument, without any substitution."""


def line(*words: str | float) -> str:
    """One line for LAMMPS. All values that become a part of its input pass through this function,
    so that no value can contain another command.

    Args:
        words: names, numbers, and `Quoted` texts. Numbers keep all their digits.

    Raises:
        ValueError: a number is not finite, or a text has characters with a meaning for LAMMPS.
    """
    return " ".join(map(_word, words)) + "\n"


def _word(value: str | float) -> str:
    if isinstance(value, str):
        if not (_QUOTED if isinstance(value, Quoted) else _WORDS).fullmatch(value):
            raise ValueError(f"{value!r} cannot be a part of a command of LAMMPS")
        return f'"{value}"' if isinstance(value, Quoted) else value
    if isinstance(value, Integral):
        return str(int(value))
    if not math.isfinite(arguments.number("a number of LAMMPS' input", value)):
        raise ValueError(f"a number of LAMMPS' input must be finite, got {value}")
    return f"{value:.17g}"


def _timestep(name: str, value: Any) -> float:
    value = settings.positive(name, value)
    if value < 1 / settings.LARGEST:
        raise ParameterError(name, f"must be at least {1 / settings.LARGEST:g}, got {value}")
    return value


@dataclass(frozen=True)
class Model(settings.Forces):
    """Forces and engine of dissipative particles, with the arguments of `manymove.DPDFluid`.

    Args:
        temperature: temperature in reduced units, kT.
        timestep: time step of velocity Verlet in reduced units.
        seed: seed of the random number generator.
        precision: floating-point precision: mixed or double.
        device: device: auto, cpu or cuda. "cuda" keeps the particles on a GPU (one per rank), "cpu"
            keeps them in an engine for the CPU, "auto" is "cuda" if there is a GPU and otherwise
            "cpu".
        threads: number of CPU threads of the whole command (default all cores).

    Raises:
        ValueError: a number is out of range.
    """

    temperature: Annotated[float, settings.not_negative] = 1.0
    timestep: Annotated[float, _timestep] = 0.01
    seed: Annotated[int, arguments.count] = 1
    precision: Annotated[str, settings.one_of(*arguments.PRECISIONS)] = "mixed"
    device: Annotated[str, settings.one_of("auto", "cpu", "cuda")] = "auto"
    threads: Annotated[int | None, arguments.count] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "threads", thread_count(self.threads))


def run_style(model: Model, ranks: int = 1) -> str:
    """The run style of LAMMPS with its options.

    The trajectory of the engine does not depend on the threads, which the ranks share.
    """
    if not on_gpu(model.device):
        return f"manymove/verlet device cpu threads {_threads_of_rank(model, ranks)}"
    return "manymove/verlet device cuda" if model.device == "cuda" else "manymove/verlet"


def check_lists(model: Model, particles: int, edges: Sequence[float] | np.ndarray) -> None:
    """Refuse particles for which LAMMPS cannot build neighbor lists, or only within minutes.

    Raises:
        ValueError: the lists or the cells are too large for this cutoff.
    """
    check_neighbors(model, model.cutoff, particles, edges)
    cells = math.prod(math.ceil(edge / ((1 + SKIN) * model.cutoff / 2)) for edge in edges)
    if cells > _MOST_EMPTY_CELLS + 64 * particles:
        raise ValueError(
            f"the cutoff {model.cutoff:g} is too short for {_in_box(particles, edges)}: LAMMPS "
            f"would divide it into {cells:.3g} cells"
        )


def check_neighbors(
    model: Model, cutoff: float, particles: int, edges: Sequence[float] | np.ndarray
) -> None:
    """Refuse particles with more neighbors than the lists of LAMMPS allow for.

    The lists reach as far as the cutoff and the skin of the model.

    Raises:
        ValueError: the lists are too large for this cutoff.
    """
    reach = cutoff + SKIN * model.cutoff
    neighbors = 4 / 3 * math.pi * particles * math.prod(reach / edge for edge in edges)
    if neighbors / 2 > _MOST_NEIGHBORS:  # each pair is in one list
        raise ValueError(
            f"the cutoff {cutoff:g} is too long for {_in_box(particles, edges)}: a particle has "
            f"about {neighbors:.3g} neighbors within {reach:g}, but LAMMPS' lists allow for at "
            f"most {2 * _MOST_NEIGHBORS}"
        )


def _in_box(particles: int, edges: Sequence[float] | np.ndarray) -> str:
    return f"{particles} particles in a box of {' x '.join(f'{edge:.4g}' for edge in edges)}"


def _threads_of_rank(model: Model, ranks: int) -> int:
    return max(1, (model.threads or 1) // ranks)


def box(
    low: Sequence[float] | np.ndarray, edges: Sequence[float] | np.ndarray, charged: bool = False
) -> str:
    """Commands for an empty box with one particle type, or with one of neutral and one of charged
    particles."""
    faces = [face for x, edge in zip(low, edges, strict=True) for face in (x, x + edge)]
    units = UNITS.format("charge" if charged else "atomic")
    empty = line("create_box", 2 if charged else 1, "box")
    return units + line("region box block", *faces) + empty + "mass * 1.0\n"


def at_random(particles: int, seed: int) -> str:
    """Command for particles at random positions."""
    return line("create_atoms 1 random", particles, seed, "box")


def velocities(model: Model) -> str:
    """Commands for velocities from the Maxwell distribution, without motion of the center of
    mass."""
    drawn = line("velocity all create", model.temperature, model.seed, "loop geom")
    return drawn + "velocity all zero linear\n"


def motion(
    model: Model,
    ranks: int = 1,
    electrostatics: settings.Electrostatics | None = None,
    splitting: float = 0.0,
) -> str:
    """Commands for the forces and the integration. electrostatics: of particles of type 2, with
    Ewald's parameter `splitting`."""
    style, mesh = "manymove/dpd", ""
    of_charges: tuple[float, ...] = ()
    if electrostatics is not None:
        style += "/coul/slater/long"
        of_charges = (electrostatics.smearing, electrostatics.cutoff)
        mesh = line("pair_coeff 2 2", model.a, model.gamma, "yes")
        mesh += line("kspace_style pppm", electrostatics.accuracy)
        mesh += line("kspace_modify gewald", splitting)
        mesh += line("dielectric", 1 / electrostatics.coupling)
    forces = (f"pair_style {style}", model.temperature, model.cutoff, model.seed)
    exponent = ("weight_exponent", model.weight_exponent)
    threads = ("threads", _threads_of_rank(model, ranks))
    return "".join(
        (
            line(*forces, *of_charges, *exponent, "precision", model.precision, *threads),
            "pair_coeff * * " + line(model.a, model.gamma),
            mesh,
            line("neighbor", SKIN * model.cutoff, "bin"),
            "neigh_modify delay 0 every 2 check yes\n",
            line("timestep", model.timestep),
            "fix integrate all nve\n",
            line("run_style", run_style(model, ranks)),
            "thermo_style custom step temp press pe\n",
        )
    )


def splitting_of(
    electrostatics: settings.Electrostatics, charges: np.ndarray, edges: np.ndarray
) -> float:
    """Ewald's parameter for which pairs beyond the cutoff have the error `accuracy` (J. Kolafa,
    J. W. Perram, Mol. Simul. 9, 351 (1992)), as LAMMPS estimates it. It does not depend on the
    order of the charges."""
    squares = electrostatics.coupling * math.fsum((charges**2).tolist())
    room = charges.size * electrostatics.cutoff * math.prod(edges.tolist())
    share = electrostatics.accuracy * math.sqrt(room) / (2 * squares)
    if share < 1:
        return max(math.sqrt(-math.log(share)), 1.0) / electrostatics.cutoff
    return max(1.35 - 0.15 * math.log(electrostatics.accuracy), 1.0) / electrostatics.cutoff


def records(every: int, path: str, mode: str = "file") -> str:
    """Command for the table of temperature, pressure and potential energy."""
    row = Quoted("$(step),$(temp:%.10g),$(press:%.10g),$(pe:%.10g)")
    where = ("screen no", mode, Quoted(path))
    return line("fix records all print", every, row, *where, "title", Quoted(TITLE))
