# SPDX-License-Identifier: BSD-3-Clause
"""The commands `manymove free-energy`, `manymove coexistence` and `manymove vapor-liquid`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from manymove.cli.options import STOPPED, command, say, to_store
from manymove.hard_particles.coexistence import CoexistenceSettings
from manymove.hard_particles.free_energy import FreeEnergySettings
from manymove.hard_particles.vapor_liquid import VaporLiquidSettings

app = typer.Typer()


def _run(name: str, module: Any, kind: Callable[..., Any], options: dict[str, Any]) -> int:
    """Run a job, and print its results or the command that continues it.

    Returns:
        the exit code.
    """
    from manymove.jobs.world import require_one_process

    require_one_process(f"manymove {name}", "--threads sets the number of threads")
    given = to_store(options)
    del options["context"]
    settings = kind(**options, given=given)
    try:
        summary = module.run(settings)
    except KeyboardInterrupt:
        say(
            f"stopped early; the finished systems are in {settings.output}/. This command "
            f"continues: manymove {name} --resume --output {settings.output}"
        )
        return STOPPED
    if not settings.quiet:
        print(f"{module.table(summary)}\nresults in {settings.output}/")
    return 0


@command(app, "device threads", FreeEnergySettings)
def free_energy(**common: Any) -> int:
    """Measure the free energy of a crystal of hard spheres.

    Independent oscillators, whose free energy is known, become a crystal of hard spheres: springs
    to the sites of the crystal are weakened to zero (Einstein molecule and Einstein crystal). The
    free energy is F / (N kT) with a thermal wavelength of a diameter. The command writes
    summary.json with all terms and free_energy.png into --output. Ctrl-C stops it; --resume
    continues with the systems that are not finished.

    Examples:
      manymove free-energy --particles 108,256 --sweeps 5000
      manymove free-energy --packing-fraction 0.57 --output dense
      manymove free-energy --resume --output dense
    """
    from manymove.hard_particles import free_energy as job

    return _run("free-energy", job, FreeEnergySettings, common)


@command(app, "device threads fluid solid", CoexistenceSettings)
def coexistence(**common: Any) -> int:
    """Measure where the fluid and the crystal of hard spheres coexist.

    Both phases have the same pressure and the same chemical potential. The chemical potential of
    the fluid follows from pressures between the ideal gas and freezing; that of the crystal from
    its free energy at one density and from pressures. With --loop, the command simulates nothing
    and applies Maxwell's construction to pressures of a finite system, such as those of
    "manymove disks --equation-of-state". It writes summary.json and coexistence.png into --output.
    Ctrl-C stops it; --resume continues with the systems that are not finished, and measures further
    densities if --fluid or --solid has them.

    Examples:
      manymove coexistence --particles 500 --sweeps 5000
      manymove coexistence --free-energy out/free_energy --output freezing
      manymove coexistence --loop out/disks/summary.json --output loop
    """
    from manymove.hard_particles import coexistence as job

    return _run("coexistence", job, CoexistenceSettings, common)


@command(app, "device threads temperatures scan_fugacities", VaporLiquidSettings)
def vapor_liquid(**common: Any) -> int:
    """Measure where vapor and liquid of the square well coexist, and their critical point.

    Hard spheres with a square well are inserted and deleted at given chemical potentials. Runs
    slightly below the critical temperature visit both phases; colder ones stay in one of them. The
    histograms of the numbers of particles and of pairs in the well are combined, and both phases
    have the same weight at coexistence. The critical point follows from the fluctuations of the
    number of particles. The command writes summary.json and coexistence.png into --output. Ctrl-C
    stops it; --resume continues with the systems that are not finished, and takes other
    --temperatures and further --scan-fugacities.

    Examples:
      manymove vapor-liquid --sweeps 5000
      manymove vapor-liquid --temperatures 0.9,0.95,1.0 --output cold
      manymove vapor-liquid --resume --output cold
    """
    from manymove.hard_particles import vapor_liquid as job

    return _run("vapor-liquid", job, VaporLiquidSettings, common)
