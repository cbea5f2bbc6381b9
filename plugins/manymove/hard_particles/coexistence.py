# SPDX-License-Identifier: BSD-3-Clause
"""The job of `manymove coexistence`: fluid and crystal of hard spheres, or a loop of pressures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from manymove.analysis.notation import Estimate
from manymove.analysis.phases import (
    Coexistence,
    CrystalBranch,
    FluidBranch,
    coexistence,
    maxwell_construction,
)
from manymove.analysis.sphere_reference import CLOSE_PACKED
from manymove.hard_particles import free_energy
from manymove.hard_particles.compression import check_random
from manymove.hard_particles.crystals import crystal
from manymove.hard_particles.free_energy import FreeEnergySettings
from manymove.hard_particles.spheres import HardSpheres
from manymove.hard_particles.systems import Settings, System, measured, warnings
from manymove.jobs import figures, report
from manymove.jobs.options import OPTIONS_FILE, least, of_option
from manymove.settings import Grid

_SEED_OF_CRYSTALS = 1000  # more than there are packing fractions


@dataclass(frozen=True, kw_only=True)
class CoexistenceSettings(Settings):
    """The settings of `manymove coexistence`. Those under the title of a group are options.

    System:
        particles: Number of particles N of the fluid and of the crystal, whose pressures are
            measured; four times a cube fills an FCC crystal.
        fluid: Packing fractions of the fluid.
        solid: Packing fractions of the crystal.
        free_energy: Folder of the results of "manymove free-energy" with several numbers of
            particles (default measured with its default options, in --output).
        loop: File summary.json of "manymove disks --equation-of-state", or another JSON file with
            the lists packing_fractions, pressure and pressure_error, to which Maxwell's
            construction is applied (default none).
    """

    particles: Annotated[int, least(32)] = 1372
    fluid: tuple[float, ...] = (0.25, 0.32, 0.38, 0.42, 0.45, 0.47, 0.485, 0.5)
    solid: tuple[float, ...] = (0.53, 0.545, 0.56, 0.575)
    free_energy: Path | None = None
    loop: Path | None = None
    sweeps: Annotated[int, least(1)] = 20_000
    equilibrate: Annotated[int, least(0)] = 2000
    output: Path = Path("out/coexistence")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loop is not None and self.free_energy is not None:
            raise ValueError("--loop has both phases: leave out --free-energy")
        for option, found, fewest in (("--fluid", self.fluid, 4), ("--solid", self.solid, 3)):
            if not fewest <= len(found) < _SEED_OF_CRYSTALS:
                raise ValueError(
                    f"{option} has {len(found)} values; it must have at least {fewest} and less "
                    f"than {_SEED_OF_CRYSTALS}"
                )
        for phi in self.fluid:
            check_random(3, phi)
        for phi in self.solid:
            crystal("fcc", self.particles, phi)


def run(settings: CoexistenceSettings) -> dict[str, Any]:
    """Measure the coexistence of two phases.

    Returns:
        the content of summary.json.

    Raises:
        FileExistsError: the folder contains results, and neither `resume` nor `overwrite` is set.
        OSError: a file cannot be read or written.
        ValueError: an option is out of range, a file does not have what is read from it, or the
            phases do not coexist in the range of the data.
        KeyboardInterrupt: Ctrl-C. With `resume` the job continues with the next systems.
    """
    if settings.loop is not None:
        found = _of_loop(settings.loop)
        settings.claim(0)
    else:
        given = None if settings.free_energy is None else _read(settings.free_energy)
        settings.claim(settings.particles * (len(settings.fluid) + len(settings.solid)))
        found = _of_phases(settings, given or _free_energy(settings))
    summary = {"complete": True, **found, **report.made_by()}
    report.write_json(settings.output / "summary.json", summary)
    with figures.pictures(settings.quiet):
        from manymove.hard_particles import phase_plots

        phase_plots.coexistence(settings.output / "coexistence.png", summary)
    return summary


# ---- free energies -------------------------------------------------------------------------------


def _free_energy(settings: CoexistenceSettings) -> dict[str, Any]:
    """The free energy of the crystal with the default options of `manymove free-energy`."""
    folder = settings.output / "free_energy"
    made = FreeEnergySettings(
        output=folder,
        seed=settings.seed,
        device=settings.device,
        threads=settings.threads,
        quiet=settings.quiet,
        resume=settings.resume and (folder / OPTIONS_FILE).is_file(),
        overwrite=settings.overwrite,
    )
    return free_energy.run(made)


def _read(folder: Path) -> dict[str, Any]:
    """The results of `manymove free-energy`.

    Raises:
        OSError, ValueError: there are none, or they do not have what is needed.
    """
    found = _json("--free-energy", folder / "summary.json" if folder.is_dir() else folder)
    names = ("free_energy", "free_energy_error", "packing_fraction")
    numbers = all(isinstance(found.get(name), float) for name in names)
    if not numbers or found.get("crystal") != "fcc":
        raise ValueError(
            f"--free-energy: {folder} has no free energy of infinitely many particles in an FCC "
            "crystal: give --particles of manymove free-energy at least two numbers"
        )
    return found


def _json(option: str, path: Path) -> dict[str, Any]:
    with of_option(option):
        found = json.loads(path.read_text())
    if not isinstance(found, dict):
        raise ValueError(f"{option}: {path} is not a summary")
    return found


def _system(settings: CoexistenceSettings, solid: bool, index: int, phi: float) -> System:
    gap = (CLOSE_PACKED / phi) ** (1 / 3) - 1  # between neighbors in a crystal
    make = HardSpheres.fcc if solid else HardSpheres.random
    return System(
        f"{'crystal' if solid else 'fluid'} {phi:g}",
        settings.seed + index + (_SEED_OF_CRYSTALS if solid else 0),
        partial(
            make,
            settings.particles,
            phi,
            max_displacement=min(0.5, 0.5 * gap),
            grid=Grid(rounds=2),  # a sample in about seven sweeps
        ),
        settings.particles,
    )


def _of_phases(settings: CoexistenceSettings, anchor: dict[str, Any]) -> dict[str, Any]:
    """The entries of a summary about a fluid and a crystal, whose free energy is known."""
    phases = {"fluid": sorted(settings.fluid), "crystal": sorted(settings.solid)}
    systems = {
        name: [_system(settings, name == "crystal", i, phi) for i, phi in enumerate(fractions)]
        for name, fractions in phases.items()
    }
    found = measured([*systems["fluid"], *systems["crystal"]], settings, "pressures")
    pressures = {name: [found[each.name] for each in some] for name, some in systems.items()}
    data = {
        name: (
            np.array(phases[name]),
            np.array([each.value for each in some]),
            np.array([each.error for each in some]),
        )
        for name, some in pressures.items()
    }
    start = Estimate(anchor["free_energy"], anchor["free_energy_error"])
    fluid = FluidBranch(*data["fluid"], N=settings.particles)
    solid = CrystalBranch(
        *data["crystal"], start=anchor["packing_fraction"], start_free_energy=start
    )
    result = coexistence(fluid, solid, seed=settings.seed)
    phi = np.linspace(phases["fluid"][0], phases["crystal"][-1], 201)
    return {
        "N": settings.particles,
        **_entries(result),
        "free_energy": list(start),
        "free_energy_packing_fraction": anchor["packing_fraction"],
        **{
            name: {
                "packing_fractions": phases[name],
                **report.values_and_errors("pressure", "", pressures[name]),
                "chi_squared": report.number(branch.chi_squared),
                "fit": [
                    [round(float(x), 5), float(branch.pressure(x))]
                    for x in phi[(phi >= phases[name][0]) & (phi <= phases[name][-1])]
                ],
            }
            for name, branch in (("fluid", fluid), ("crystal", solid))
        },
        "warnings": warnings(found),
        "sweeps": settings.sweeps,
        "equilibrate": settings.equilibrate,
        "seed": settings.seed,
    }


# ---- loops ---------------------------------------------------------------------------------------


def _of_loop(path: Path) -> dict[str, Any]:
    """The entries of a summary about the loop of the pressure in a file.

    Raises:
        OSError, ValueError: the file has no loop.
    """
    found = _json("--loop", path)
    names = ("packing_fractions", "pressure", "pressure_error")
    lists: list[Sequence[Any]] = [found.get(name, ()) for name in names]
    usable = all(isinstance(each, list) and len(each) == len(lists[0]) > 3 for each in lists)
    if not usable or not all(isinstance(x, int | float) for each in lists for x in each):
        raise ValueError(f"--loop: {path} must have lists of at least four numbers: {names}")
    with of_option("--loop"):
        result = maxwell_construction(*lists, degree=min(5, len(lists[0]) - 1))
    return {
        "N": found.get("N"),
        **_entries(result),
        "warnings": [],
        "loop": dict(zip(names, lists, strict=True)),
    }


def _entries(found: Coexistence) -> dict[str, Any]:
    quantities = {
        "pressure": found.pressure,
        "freezing": found.packing_fractions[0],
        "melting": found.packing_fractions[1],
        "chemical_potential": found.chemical_potential,
    }
    return {
        key: report.number(number)
        for name, each in quantities.items()
        if each is not None
        for key, number in ((name, each.value), (f"{name}_error", each.error))
    }


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints."""
    dimensions = 2 if "loop" in summary else 3
    per_phi = 2 * dimensions / math.pi

    def shown(name: str, factor: float = 1.0) -> str:
        return str(factor * Estimate(summary[name], summary[f"{name}_error"]))

    rows = [
        ("pressure P*", shown("pressure")),
        ("packing fractions", f"{shown('freezing')} and {shown('melting')}"),
        (
            f"densities rho d^{dimensions}",
            f"{shown('freezing', per_phi)} and {shown('melting', per_phi)}",
        ),
    ]
    if "chemical_potential" in summary:
        rows.append(("chemical potential mu / kT", shown("chemical_potential")))
    return report.lines([*rows, *report.warning_rows(summary)])
