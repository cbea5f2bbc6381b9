# SPDX-License-Identifier: BSD-3-Clause
"""The job of `manymove vapor-liquid`: coexisting vapor and liquid of the square well."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from manymove.analysis.blocking import estimate
from manymove.analysis.reweighting import GrandRun, MultipleHistograms, VaporLiquid, vapor_liquid
from manymove.hard_particles.spheres import HardSpheres
from manymove.hard_particles.systems import Settings, System, measured, records, warnings
from manymove.jobs import figures, report
from manymove.jobs.options import least, of_option, positive
from manymove.settings import GrandCanonical, Grid
from manymove.steps import Step

_ATTEMPTS = 8  # of a cell to insert or delete, in each cycle
_BIAS = 8.0  # ln of the ratio of the weights of two phases, where one of them is simulated
_DENSITY = 0.2  # of the start of runs that visit both phases
_RUNG = 0.055  # largest difference of neighboring temperatures
_BLOCKS = 10


@dataclass(frozen=True, kw_only=True)
class VaporLiquidSettings(Settings):
    """The settings of `manymove vapor-liquid`. Those under the title of a group are options.

    System:
        range: Range of the square well in diameters.
        edge: Edge of the cubic box in diameters.
        temperatures: Temperatures T* = kT / epsilon of coexistence, where epsilon is the depth of
            the well.

    Run:
        scan_temperature: Temperature T* of the runs that visit both phases, slightly below the
            critical one.
        scan_fugacities: Fugacities z d^3 of these runs, from those of the vapor to those of the
            liquid.
    """

    range: Annotated[float, positive] = 1.5
    edge: Annotated[float, positive] = 6.0
    temperatures: tuple[float, ...] = (1.0, 1.05, 1.1)
    scan_temperature: Annotated[float, positive] = 1.2
    scan_fugacities: tuple[float, ...] = (
        0.01,
        0.02,
        0.03,
        0.04,
        0.046,
        0.049,
        0.0505,
        0.052,
        0.056,
    )
    sweeps: Annotated[int, least(100)] = 20_000
    equilibrate: Annotated[int, least(0)] = 1000
    output: Path = Path("out/vapor_liquid")

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, found in (
            ("--temperatures", self.temperatures), ("--scan-fugacities", self.scan_fugacities)
        ):  # fmt: skip
            if not found or len(set(found)) < len(found):
                raise ValueError(f"{option} must be different numbers, got {found}")
            for each in found:
                positive(option, each)
        if not self.range > 1:
            raise ValueError(f"--range is {self.range}; it must be more than a diameter")
        if not self.edge >= 3 * self.range:
            raise ValueError(f"--edge is {self.edge}; it must be at least three times the range")
        if max(self.temperatures) > self.scan_temperature:
            raise ValueError(
                f"--scan-temperature is {self.scan_temperature}; it must be at least "
                f"{max(self.temperatures)}, the highest of --temperatures"
            )

    @property
    def volume(self) -> float:
        """Volume of the box."""
        return self.edge**3

    def rungs(self) -> list[float]:
        """The temperatures below that of the scan, with others between distant ones."""
        found: list[float] = []
        ends = [self.scan_temperature, *sorted(self.temperatures, reverse=True)]
        for high, low in itertools.pairwise(ends):
            parts = math.ceil((high - low) / _RUNG - 1e-9)
            found += [high - (high - low) * part / parts for part in range(1, parts)]
            found += [low] * (low < high)
        return found


def _system(
    settings: VaporLiquidSettings, name: str, group: int, z: float, T: float, density: float
) -> System:
    """A grand-canonical run, whose numbers of particles and of pairs in the well are kept."""
    N = max(1, round(density * settings.volume))
    return System(
        name,
        partial(
            HardSpheres.random,
            N,
            N * math.pi / (6 * settings.volume),
            max_displacement=0.2,
            grid=Grid(rounds=1),
            steps=Step(settings.range, -1 / T),
            fugacity=GrandCanonical(z, attempts=_ATTEMPTS),
        ),
        N,
        {"fugacity": z, "temperature": T, "edge": settings.edge, "range": settings.range},
        lambda one: (one.N, round(-one.step_energies.sum() / 2 * T)),
        group,
    )


def _runs(found: Mapping[str, dict[str, Any]]) -> list[GrandRun]:
    """The runs, with energies in units of the depth of the well."""
    runs = []
    for each in found.values():
        numbers, pairs = records(each)
        options = each["options"]
        runs.append(GrandRun(options["fugacity"], options["temperature"], numbers, -pairs))
    return runs


def run(settings: VaporLiquidSettings) -> dict[str, Any]:
    """Measure coexisting vapor and liquid at each temperature.

    Returns:
        the content of summary.json.

    Raises:
        FileExistsError: the folder contains results, and neither `resume` nor `overwrite` is set.
        OSError: a file cannot be read or written.
        ValueError: an option is out of range, or vapor and liquid do not coexist in the range of
            the runs.
        KeyboardInterrupt: Ctrl-C. With `resume` the job continues with the next systems.
    """
    T, rungs = settings.scan_temperature, settings.rungs()
    settings.claim(round(settings.volume * (len(settings.scan_fugacities) + len(rungs))))
    systems = [
        _system(settings, f"scan {z:g}", 0, z, T, _DENSITY)
        for z in sorted(settings.scan_fugacities)
    ]
    title = "vapor and liquid"
    found = measured(systems, settings, title, further=bool(rungs))
    for group, T in enumerate(rungs, 1):
        with of_option("--scan-fugacities", "runs"):
            z, _, *densities = MultipleHistograms(_runs(found), settings.volume).coexistence(T)
        bias = _BIAS / (densities[1] - densities[0]) / settings.volume
        systems += [
            _system(settings, f"{phase} {T:g}", group, z * math.exp(sign * bias), T, density)
            for phase, sign, density in zip(("vapor", "liquid"), (-1, 1), densities, strict=True)
        ]
        found = measured(systems, settings, title, further=T != rungs[-1])
    runs = _runs(found)
    rows = vapor_liquid(runs, settings.volume, sorted(settings.temperatures), blocks=_BLOCKS)
    numbers = [estimate(each.numbers.astype(float)) for each in runs]
    energies = [estimate(each.energies) for each in runs]
    summary = {
        "complete": True,
        "range": settings.range,
        "edge": settings.edge,
        "sweeps": settings.sweeps,
        "equilibrate": settings.equilibrate,
        "seed": settings.seed,
        "warnings": warnings(numbers),
        "temperatures": [each.temperature for each in rows],
        **_entries(rows),
        "runs": {
            "fugacity": [each.fugacity for each in runs],
            "temperature": [each.temperature for each in runs],
            **report.values_and_errors("N", "", numbers),
            **report.values_and_errors("energy", "", energies),
        },
        **report.made_by(),
    }
    report.write_json(settings.output / "summary.json", summary)
    with figures.pictures(settings.quiet):
        from manymove.hard_particles import phase_plots

        phase_plots.vapor_liquid(settings.output / "coexistence.png", summary)
    return summary


def _entries(rows: Sequence[VaporLiquid]) -> dict[str, Any]:
    of = {
        "fugacity": [each.fugacity for each in rows],
        "pressure": [each.pressure for each in rows],
        "vapor_density": [each.densities[0] for each in rows],
        "liquid_density": [each.densities[1] for each in rows],
    }
    return {
        key: value
        for name, found in of.items()
        for key, value in report.values_and_errors(name, "", found).items()
    }


def table(summary: dict[str, Any]) -> str:
    """The lines that the command prints."""
    names = ("vapor_density", "liquid_density", "pressure", "fugacity")
    lines = [
        f"square well of range {summary['range']:g} d, box of edge {summary['edge']:g} d",
        f"{'T*':>8}  {'rho vapor':>14}  {'rho liquid':>14}  {'P d^3/eps':>14}  {'z d^3':>14}",
    ]
    for index, T in enumerate(summary["temperatures"]):
        row = {
            name: summary[name][index]
            for key in names
            for name in (key, f"{key}_error")
        }  # fmt: skip
        shown = "  ".join(f"{report.estimate_in(row, name)!s:>14}" for name in names)
        lines.append(f"{T:>8g}  {shown}")
    return "\n".join([*lines, *(f"warning: {text}" for text in summary["warnings"])])
