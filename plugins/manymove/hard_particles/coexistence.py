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

from manymove.analysis.phases import (
    Coexistence,
    CrystalBranch,
    FluidBranch,
    coexistence,
    maxwell_construction,
)
from manymove.analysis.sphere_reference import CLOSE_PACKED, published
from manymove.hard_particles import free_energy
from manymove.hard_particles.crystals import crystal
from manymove.hard_particles.free_energy import FreeEnergySettings
from manymove.hard_particles.spheres import HardSpheres
from manymove.hard_particles.systems import (
    Settings,
    System,
    average,
    fit_warnings,
    measured,
    warnings,
)
from manymove.jobs import figures, report
from manymove.jobs.options import OPTIONS_FILE, least, of_option
from manymove.settings import Grid

_MOST = 999  # densities of a phase


@dataclass(frozen=True, kw_only=True)
class CoexistenceSettings(Settings):
    """The settings of `manymove coexistence`. Those under the title of a group are options.

    System:
        particles: Number of particles N of the fluid and of the crystal, whose pressures are
            measured; four times a cube fills an FCC crystal.
        fluid: Packing fractions of the fluid.
        solid: Packing fractions of the crystal.
        free_energy: Folder of the results of "manymove free-energy" with several numbers of
            particles (default: the free energy is measured in --output/free_energy with the
            default options of that command; --sweeps does not apply to it).
        loop: File summary.json of "manymove disks --equation-of-state", or another JSON file with
            the lists packing_fractions, pressure and pressure_error, to which Maxwell's
            construction is applied (default none).

    Files:
        resume: Continue the run in --output with its options; device and threads may differ, and
            --fluid and --solid may have further values.
    """

    particles: Annotated[int, least(32)] = 1372
    fluid: tuple[float, ...] = (0.25, 0.32, 0.38, 0.42, 0.45, 0.47, 0.485, 0.5)
    solid: tuple[float, ...] = (0.53, 0.545, 0.56, 0.575)
    free_energy: Path | None = None
    loop: Path | None = None
    sweeps: Annotated[int, least(100)] = 20_000
    equilibrate: Annotated[int, least(0)] = 2000
    output: Path = Path("out/coexistence")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loop is not None and self.free_energy is not None:
            raise ValueError("--loop has both phases: leave out --free-energy")
        for option, found, fewest in (("--fluid", self.fluid, 4), ("--solid", self.solid, 3)):
            if not fewest <= len(found) <= _MOST:
                raise ValueError(
                    f"{option} has {len(found)} values; it must have at least {fewest} and at "
                    f"most {_MOST}"
                )
            if len(set(found)) < len(found):
                raise ValueError(f"{option} has a value twice")
        for phi in self.fluid:
            if not 0 < phi <= (most := published()["fluid"]["largest"]):
                raise ValueError(
                    f"--fluid has {phi}; it must be positive and at most {most}, because denser "
                    "fluids crystallize"
                )
        for phi in self.solid:
            free_energy.check_stable("--solid", phi)
            crystal("fcc", self.particles, phi)


def run(settings: CoexistenceSettings) -> dict[str, Any]:
    """Measure the coexistence of two phases.

    Returns:
        the content of summary.json.

    Raises:
        FileExistsError: the folder contains results, and neither `resume` nor `overwrite` is set.
        OSError: a file cannot be read or written.
        ValueError: an option is out of range, a file does not have what is read from it, or the
            phases do not coexist in the range of the data (summary.json has the pressures then).
        KeyboardInterrupt: Ctrl-C. With `resume` the job continues with the next systems.
    """
    if settings.loop is not None:
        found = _of_loop(settings.loop)
        settings.claim(0)
    else:
        given = None if settings.free_energy is None else _read(settings.free_energy)
        _check_anchor(settings, given or {"packing_fraction": FreeEnergySettings.packing_fraction})
        systems = [each for some in _systems(settings).values() for each in some]
        settings.claim(sum(each.N for each in systems), [each.name for each in systems])
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
    if not all(map(_finite, map(found.get, names))) or found.get("crystal") != "fcc":
        raise ValueError(
            f"--free-energy: {folder} has no free energy of infinitely many particles in an FCC "
            "crystal: give manymove free-energy the --crystal fcc and at least two --particles"
        )
    return found


def _check_anchor(settings: CoexistenceSettings, anchor: dict[str, Any]) -> None:
    """Refuse a free energy at a density to which the pressures would be extrapolated."""
    low, high = min(settings.solid), max(settings.solid)
    if not low <= (phi := anchor["packing_fraction"]) <= high:
        raise ValueError(
            f"--solid is from {low} to {high}; it must contain {phi}, the packing fraction of the "
            "free energy"
        )


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _json(option: str, path: Path) -> dict[str, Any]:
    with of_option(option):
        found = json.loads(path.read_text())
    if not isinstance(found, dict):
        raise ValueError(f"{option}: {path} is not a summary")
    return found


def _system(settings: CoexistenceSettings, solid: bool, phi: float) -> System:
    gap = (CLOSE_PACKED / phi) ** (1 / 3) - 1  # between neighbors in a crystal
    make = HardSpheres.fcc if solid else HardSpheres.random
    return System(
        f"{'crystal' if solid else 'fluid'} {phi}",
        partial(
            make,
            settings.particles,
            phi,
            max_displacement=min(0.5, 0.5 * gap),
            grid=Grid(rounds=2),  # a sample in about seven sweeps
        ),
        settings.particles,
        {"packing_fraction": phi},
        group=int(solid),
    )


def _systems(settings: CoexistenceSettings) -> dict[str, list[System]]:
    return {
        "fluid": [_system(settings, False, phi) for phi in sorted(settings.fluid)],
        "crystal": [_system(settings, True, phi) for phi in sorted(settings.solid)],
    }


def _of_phases(settings: CoexistenceSettings, anchor: dict[str, Any]) -> dict[str, Any]:
    """The entries of a summary about a fluid and a crystal, whose free energy is known."""
    systems = _systems(settings)
    phases = {
        name: [each.about["packing_fraction"] for each in some] for name, some in systems.items()
    }
    found = measured([*systems["fluid"], *systems["crystal"]], settings, "pressures")
    pressures = {
        name: [average(found[each.name]) for each in some] for name, some in systems.items()
    }
    data = {
        name: (
            np.array(phases[name]),
            np.array([each.value for each in some]),
            np.array([each.error for each in some]),
        )
        for name, some in pressures.items()
    }
    start = 1.0 * report.estimate_in(anchor, "free_energy")  # also of integers
    summary: dict[str, Any] = {
        "N": settings.particles,
        "dimensions": 3,
        "free_energy": list(start),
        "free_energy_packing_fraction": anchor["packing_fraction"],
        **{
            name: {
                "packing_fractions": phases[name],
                **report.values_and_errors("pressure", "", pressures[name]),
            }
            for name in phases
        },
        "warnings": [
            *(f"free energy: {text}" for text in anchor.get("warnings", ())),
            *warnings([*pressures["fluid"], *pressures["crystal"]]),
        ],
        "sweeps": settings.sweeps,
        "equilibrate": settings.equilibrate,
        "seed": settings.seed,
    }
    try:
        fluid = FluidBranch(*data["fluid"], N=settings.particles)
        solid = CrystalBranch(
            *data["crystal"], N=settings.particles, start=anchor["packing_fraction"],
            start_free_energy=start,
        )  # fmt: skip
        result = coexistence(fluid, solid, seed=settings.seed)
    except ValueError as error:
        path = settings.output / "summary.json"
        report.write_json(path, {"complete": False, **summary, **report.made_by()})
        raise ValueError(f"{error}; the measured pressures are in {path}") from None
    for name, branch in (("fluid", fluid), ("crystal", solid)):
        phi = np.linspace(phases[name][0], phases[name][-1], 101)
        fit = np.stack([phi, branch.pressure(phi)], axis=1).tolist()
        summary[name] |= {"chi_squared": report.number(branch.chi_squared), "fit": fit}
        summary["warnings"] += _of_fit(f"the equation of state of the {name}", branch.chi_squared)
    return {**summary, **_entries(result)}


def _of_fit(name: str, squares: float) -> list[str]:
    return fit_warnings(name, squares, "pressures", "more densities")


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
    if found.get("complete") is False:
        raise ValueError(f"--loop: {path} is the summary of a run that was stopped early")
    if not usable:
        raise ValueError(f"--loop: {path} must have lists of at least four numbers: {names}")
    for phi, *others in zip(*lists, strict=True):
        if not all(map(_finite, (phi, *others))):
            raise ValueError(f"--loop: {path} has no pressure with an error at {phi}")
    different = len(set(lists[0]))
    if different < 4:
        raise ValueError(
            f"--loop: {path} must have at least four different packing fractions, got {different}"
        )
    dimensions = found.get("dimensions", _dimensions(found))
    if dimensions not in (2, 3):
        raise ValueError(f"--loop: dimensions in {path} must be 2 or 3, got {dimensions!r}")
    with of_option("--loop"):
        result = maxwell_construction(*lists, degree=min(5, different - 1))
    return {
        "N": found.get("N"),
        "dimensions": dimensions,
        **_entries(result),
        "chi_squared": report.number(result.chi_squared),
        "warnings": _of_fit("the polynomial", result.chi_squared),
        "loop": dict(zip(names, lists, strict=True)),
    }


def _dimensions(found: dict[str, Any]) -> int:
    """Dimensions of the box of the first run in a summary; 2 without one."""
    try:
        return len(found["runs"][0]["box"])
    except (KeyError, IndexError, TypeError):
        return 2


def _entries(found: Coexistence) -> dict[str, Any]:
    freezing, melting = found.packing_fractions
    known = {"pressure": found.pressure, "freezing": freezing, "melting": melting}
    if found.chemical_potential is not None:
        known["chemical_potential"] = found.chemical_potential
    return report.with_errors(**known)


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints."""
    dimensions = summary["dimensions"]
    per_phi = 2 * dimensions / math.pi

    def shown(name: str, factor: float = 1.0) -> str:
        return str(factor * report.estimate_in(summary, name))

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
