# SPDX-License-Identifier: BSD-3-Clause
"""The job of `manymove free-energy`: the free energy of a crystal of hard spheres."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from manymove.analysis.notation import Estimate
from manymove.errors import ParameterError
from manymove.hard_particles.crystals import crystal
from manymove.hard_particles.einstein import POINTS, REFERENCES, EinsteinCrystal, extrapolated
from manymove.hard_particles.systems import (
    Settings,
    average,
    fit_warnings,
    measured,
    warnings,
)
from manymove.jobs import figures, report
from manymove.jobs.options import least, one_of

_BASIS = {"fcc": 1, "hcp": 2}  # sites of the primitive cell
_STABLE = 0.5  # packing fraction below which crystals melt during a run
_TERMS = ("ideal", "hardness", "release", "free_energy")


@dataclass(frozen=True, kw_only=True)
class FreeEnergySettings(Settings):
    """The settings of `manymove free-energy`. Those under the title of a group are options.

    System:
        packing_fraction: Packing fraction, N pi d^3 / (6 V) of the crystal, at least 0.5.
        crystal: Crystal: fcc or hcp.
        particles: Numbers of particles; from two different ones, the free energy of infinitely many
            is extrapolated.

    Run:
        reference: Reference: crystal (relative to the center of mass) or molecule (one particle is
            pinned; needs much longer runs).
        points: Number of spring constants, 6 to 32.
    """

    packing_fraction: float = 0.544993
    crystal: Annotated[str, one_of(*_BASIS)] = "fcc"
    particles: tuple[int, ...] = (108, 256, 500)
    reference: Annotated[str, one_of(*REFERENCES)] = "crystal"
    points: Annotated[int, least(POINTS[0])] = 12
    sweeps: Annotated[int, least(100)] = 20_000
    equilibrate: Annotated[int, least(0)] = 2000
    output: Path = Path("out/free_energy")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_stable("--packing-fraction", self.packing_fraction)
        if not self.particles or len(set(self.particles)) < len(self.particles):
            raise ValueError(f"--particles must be different numbers, got {self.particles}")


def check_stable(option: str, packing_fraction: float) -> None:
    """Refuse a crystal that melts.

    Raises:
        ValueError: the packing fraction is too small, or no number.
    """
    if not packing_fraction >= _STABLE:
        raise ValueError(
            f"{option} is {packing_fraction}; it must be at least {_STABLE}, because crystals of "
            "hard spheres melt at smaller ones"
        )


def _references(settings: FreeEnergySettings) -> list[EinsteinCrystal]:
    """The path from oscillators to the crystal for each number of particles.

    Raises:
        ValueError: a number of particles fills no such crystal, or it is too dense.
    """
    found = []
    for N in sorted(settings.particles):
        sites, box = crystal(settings.crystal, N, settings.packing_fraction)
        if min(box) < 3:
            raise ParameterError("N", f"is {N}; the box must be at least three diameters wide")
        found.append(
            EinsteinCrystal(
                sites, box, settings.reference, settings.points, _BASIS[settings.crystal]
            )
        )
    return found


def run(settings: FreeEnergySettings) -> dict[str, Any]:
    """Measure the free energy of the crystal for each number of particles.

    Returns:
        the content of summary.json.

    Raises:
        FileExistsError: the folder contains results, and neither `resume` nor `overwrite` is set.
        ValueError: an option is out of range.
        KeyboardInterrupt: Ctrl-C. With `resume` the job continues with the next systems.
    """
    paths = _references(settings)
    of_paths = [
        path.systems(f"{path.N} particles, ", size, packing_fraction=settings.packing_fraction)
        for size, path in enumerate(paths)
    ]
    systems = [each for some in of_paths for each in some]
    settings.claim(sum(each.N for each in systems), [each.name for each in systems])
    found = {
        name: average(each) for name, each in measured(systems, settings, "free energy").items()
    }
    rows = []
    for path, some in zip(paths, of_paths, strict=True):
        displacements = [found[each.name] for each in some]
        terms = path.terms(displacements, seed=settings.seed)
        rows.append(
            {
                "N": path.N,
                "largest_spring_constant": path.stiffness,
                **report.with_errors(**terms),
                "converged": terms["free_energy"].converged,
                "spring_constants": path.spring_constants.tolist(),
                **report.values_and_errors("squared_displacement", "", displacements),
            }
        )
    advice = "raise --sweeps" if settings.reference == "crystal" else "use --reference crystal"
    infinite, warned = _infinite(rows)
    summary = {
        "complete": True,
        "packing_fraction": settings.packing_fraction,
        "density": 6 * settings.packing_fraction / math.pi,
        "crystal": settings.crystal,
        "reference": settings.reference,
        "sweeps": settings.sweeps,
        "equilibrate": settings.equilibrate,
        "seed": settings.seed,
        "warnings": [*warnings([*found.values()], advice), *warned],
        "sizes": rows,
        **infinite,
        **report.made_by(),
    }
    report.write_json(settings.output / "summary.json", summary)
    with figures.pictures(settings.quiet):
        from manymove.hard_particles import phase_plots

        phase_plots.free_energy(settings.output / "free_energy.png", summary)
    return summary


def _infinite(rows: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """The entries of a summary about infinitely many particles, and the warnings about them."""
    if len(rows) < 2:
        names = ("free_energy", "free_energy_error", "slope", "converged", "chi_squared")
        return dict.fromkeys(names), []
    found = [
        Estimate(row["free_energy"], row["free_energy_error"], row["converged"]) for row in rows
    ]
    value, slope, squares = extrapolated([row["N"] for row in rows], found)
    entries = {
        **report.with_errors(free_energy=value),
        "slope": slope,
        "converged": value.converged,
        "chi_squared": report.number(squares),
    }
    return entries, fit_warnings(
        "the straight line in 1/N", squares, "sizes", "more numbers of particles"
    )


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints."""

    lines = [
        f"{summary['crystal'].upper()} crystal of hard spheres, packing fraction "
        f"{summary['packing_fraction']:g} (rho d^3 = {summary['density']:.5f})",
        "F / (N kT), with a thermal wavelength of a diameter:",
        f"{'N':>8}  {'oscillators':>12}  {'hardness':>12}  {'release':>12}  {'F / (N kT)':>12}",
    ]
    for row in summary["sizes"]:
        rest = "  ".join(f"{report.estimate_in(row, name)!s:>12}" for name in _TERMS[1:])
        lines.append(f"{row['N']:>8}  {row['ideal']:>12.6f}  {rest}")
    if summary["free_energy"] is not None:
        lines.append(f"{'infinite':>8}  {report.estimate_in(summary, 'free_energy')!s:>54}")
    return "\n".join([*lines, *(f"warning: {text}" for text in summary["warnings"])])
