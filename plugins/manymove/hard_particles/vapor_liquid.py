# SPDX-License-Identifier: BSD-3-Clause
"""The job of `manymove vapor-liquid`: coexisting vapor and liquid of the square well."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from manymove.analysis.blocking import estimate
from manymove.analysis.notation import Estimate
from manymove.analysis.reweighting import (
    CriticalPoint,
    GrandRun,
    MultipleHistograms,
    VaporLiquid,
    critical_point,
    vapor_liquid,
)
from manymove.errors import ParameterError
from manymove.hard_particles.spheres import HardSpheres
from manymove.hard_particles.systems import (
    Settings,
    System,
    finished,
    measured,
    records,
    warnings,
)
from manymove.jobs import figures, report
from manymove.jobs.options import least, positive
from manymove.settings import GrandCanonical, Grid
from manymove.steps import Step

_RANGE = 1.5
_SCAN = 1.2, (0.01, 0.02, 0.03, 0.04, 0.046, 0.049, 0.0505, 0.052, 0.056)  # of this range
_ATTEMPTS = 8  # of a cell to insert or delete, in each cycle
_BIAS = 8.0  # ln of the ratio of the weights of two phases, where one of them is simulated
_DENSITY = 0.2  # of the start of runs that visit both phases
_RUNG = 0.05  # difference of neighboring temperatures
_BLOCKS = 10
_TITLE = "vapor and liquid"
_PHASES = ("vapor", "liquid")
_OF_CRITICAL = ("temperature", "density")


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
            critical one (default 1.2 for a range of 1.5, otherwise it must be given).
        scan_fugacities: Fugacities z d^3 of these runs, from those of the vapor to those of the
            liquid (default nine from 0.01 to 0.056 for a range of 1.5).

    Files:
        resume: Continue the run in --output with its options; device, threads and temperatures may
            differ, and --scan-fugacities may have further values.
    """

    range: Annotated[float, positive] = _RANGE
    edge: Annotated[float, positive] = 6.0
    temperatures: tuple[float, ...] = (1.0, 1.05, 1.1)
    scan_temperature: Annotated[float | None, positive] = None
    scan_fugacities: tuple[float, ...] | None = None
    sweeps: Annotated[int, least(100)] = 20_000
    equilibrate: Annotated[int, least(0)] = 1000
    output: Path = Path("out/vapor_liquid")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.range > 1:
            raise ValueError(f"--range is {self.range}; it must be more than a diameter")
        if not self.edge >= 3 * self.range:
            raise ValueError(f"--edge is {self.edge}; it must be at least three times the range")
        T, fugacities = self.scan
        for option, found in (
            ("--temperatures", self.temperatures),
            ("--scan-fugacities", fugacities),
        ):
            if not found or len(set(found)) < len(found):
                raise ValueError(f"{option} must be different numbers, got {found}")
            for each in found:
                positive(option, each)
        if max(self.temperatures) > T:
            raise ValueError(
                f"--scan-temperature is {T}; it must be at least {max(self.temperatures)}, the "
                "highest of --temperatures"
            )

    @property
    def scan(self) -> tuple[float, tuple[float, ...]]:
        """Temperature and fugacities of the runs that visit both phases.

        Raises:
            ValueError: they are not given, and the range is not 1.5.
        """
        T, fugacities = self.scan_temperature, self.scan_fugacities
        if None in (T, fugacities) and self.range != _RANGE:
            raise ValueError(
                f"--range is {self.range}: give --scan-temperature and --scan-fugacities, because "
                f"their defaults are those of a range of {_RANGE}"
            )
        return T or _SCAN[0], fugacities or _SCAN[1]

    @property
    def volume(self) -> float:
        """Volume of the box."""
        return self.edge**3

    @property
    def stored(self) -> dict[str, Any]:
        T, fugacities = self.scan  # so that a resumed run cannot have others
        return {**super().stored, "scan_temperature": T, "scan_fugacities": [*fugacities]}

    @property
    def rungs(self) -> int:
        """Number of temperatures below the scan, down to the lowest one that is asked for."""
        return math.ceil((self.scan[0] - min(self.temperatures)) / _RUNG - 1e-9)

    def rung(self, index: int) -> float:
        """A temperature of runs that stay in one phase. It does not depend on `temperatures`, so
        that a resumed run can have others."""
        return round(self.scan[0] - _RUNG * (index + 1), 9)


def _system(
    settings: VaporLiquidSettings, name: str, group: int, z: float, T: float, N: int
) -> System:
    """A grand-canonical run, whose numbers of particles and of pairs in the well are kept."""
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


def _measured(settings: VaporLiquidSettings) -> dict[str, dict[str, Any]]:
    """The results of all runs: those of the scan, and on each rung one of the vapor and one of the
    liquid, close to the fugacity of coexistence that the warmer ones predict."""
    warm, fugacities = settings.scan
    N = round(_DENSITY * settings.volume)
    systems = [_system(settings, f"scan {z}", 0, z, warm, N) for z in sorted(fugacities)]
    kept, count = finished(settings) if settings.resume else {}, settings.rungs
    while f"vapor {settings.rung(count)}" in kept:
        count += 1
    colder = [f"{phase} {settings.rung(k)}" for k in range(count) for phase in _PHASES]
    particles = round(settings.volume * (len(fugacities) + count))
    settings.claim(particles, [*(each.name for each in systems), *colder])
    found = measured(systems, settings, _TITLE)
    for index in range(count):
        T = settings.rung(index)
        z, _, *densities = MultipleHistograms(_runs(found), settings.volume).coexistence(T)
        bias = _BIAS / (densities[1] - densities[0]) / settings.volume
        for phase, sign, density in zip(_PHASES, (-1, 1), densities, strict=True):
            # A resumed run takes what is in the file, which a fit would give to some digits only.
            known = kept.get(f"{phase} {T}", {}).get("options", {})
            at = known.get("fugacity", float(f"{z * math.exp(sign * bias):.3g}"))
            N = known.get("N", max(1, round(density * settings.volume)))
            systems.append(_system(settings, f"{phase} {T}", index + 1, at, T, N))
        found = measured(systems, settings, _TITLE)
    return found


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
    try:
        runs = _runs(_measured(settings))
        rows = vapor_liquid(runs, settings.volume, sorted(settings.temperatures), blocks=_BLOCKS)
    except ParameterError as error:
        names = {"runs": "--scan-fugacities"}
        raise ValueError(error.with_names(names)) from error
    critical = _critical(runs, settings.volume)
    numbers = [estimate(each.numbers.astype(float)) for each in runs]
    energies = [estimate(each.energies) for each in runs]
    summary = {
        "complete": True,
        "range": settings.range,
        "edge": settings.edge,
        "sweeps": settings.sweeps,
        "equilibrate": settings.equilibrate,
        "seed": settings.seed,
        "warnings": [*warnings(numbers), *_gaps(rows)],
        "temperatures": [each.temperature for each in rows],
        **_entries(rows),
        **report.with_errors(
            critical_temperature=critical.temperature, critical_density=critical.density
        ),
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


def _critical(runs: Sequence[GrandRun], volume: float) -> CriticalPoint:
    """The critical point; NaN if the runs do not reach it."""
    try:
        return critical_point(runs, volume, blocks=_BLOCKS)
    except ParameterError:
        return CriticalPoint(Estimate(math.nan, math.nan), Estimate(math.nan, math.nan))


def _gaps(rows: Sequence[VaporLiquid]) -> list[str]:
    """The warning of results whose jackknife has no error."""
    unknown = ", ".join(f"{row.temperature:g}" for row in rows if math.isnan(row.pressure.error))
    if not unknown:
        return []
    return [
        f"no errors at {unknown}: without a tenth of the records, the phases are not connected: "
        "raise --sweeps"
    ]


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
    if summary["critical_temperature"] is not None:
        critical = (report.estimate_in(summary, f"critical_{name}") for name in _OF_CRITICAL)
        lines.append("critical point: T* {}, rho {}".format(*critical))
    return "\n".join([*lines, *(f"warning: {text}" for text in summary["warnings"])])
