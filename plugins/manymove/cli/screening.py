# SPDX-License-Identifier: BSD-3-Clause
"""The command `manymove screen`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from manymove.adsorption.screening.settings import Screening
from manymove.cli import adsorbents
from manymove.cli.options import (
    STOPPED,
    OptionsOf,
    Without,
    command,
    gathered,
    number,
    say,
    to_store,
)
from manymove.settings import EnergyGrid, Steps

app = typer.Typer()


@command(
    app,
    None,
    OptionsOf(Steps, names="reinsertion identity_change regrowth"),
    OptionsOf(EnergyGrid, names="interpolation", title="System"),
    Without(adsorbents.of_framework, "framework"),
    adsorbents.of_molecules,
    adsorbents.of_loadings,
    Without(Screening, "resume henry density_map frames structures early"),
)
def screen(
    collection: Annotated[
        list[str],
        typer.Argument(
            metavar="COLLECTION",
            help="Folder of CIF files, text file with a path on each line, database of ASE, paths "
            "of CIF files, MFI or LTA.",
        ),
    ],
    method: str = "plj",
    trial_positions: str = "auto",
    trial_orientations: str = "auto",
    systems: str = "32",
    precision: str = "mixed",
    **common: Any,
) -> int:
    """Measure isotherms of a collection of frameworks and rank them.

    Each framework is checked; an unsuitable one is refused with a reason. The command measures the
    helium void fraction, the surface area, Henry coefficients and the loading at each pressure. It
    writes screen.csv, screen.png and, for each structure, a folder with structure.json and
    isotherm.aif into --output. Ctrl-C stops it, and the same command continues. Several GPUs
    (--device cuda:0,1), the ranks of mpirun or srun, and commands on several hosts with the same
    --output share the collection. If the run of a structure fails, the table has the error, and the
    exit code is 1.

    Moves:
        method: Method: plj or metropolis (CPU).
        trial_positions: Number of positions of the center that an insertion tries; auto chooses it
            for each structure and pressure by a pilot run.
        trial_orientations: Number of orientations that are tried at each position. For chains it
            is the number of trials of each bead after the first; auto as for positions.

    Run:
        systems: Number of independent systems of each structure; auto chooses as many as fill the
            device.

    Device:
        precision: Floating-point precision: mixed or double.

    Examples:
      manymove screen cifs/ --adsorbates CO2 --force-field force_field.json --temperature 298
      manymove screen MFI LTA --adsorbates CO2,N2 --force-field TraPPE-zeo --isotherm 0.1,1
      manymove screen list.txt --force-field raspa/ --isotherm 65,5.8 --working-capacity 65,5.8
    """
    options = gathered(locals())
    from manymove.adsorption.occupancy import filling_systems
    from manymove.adsorption.screening.crew import open_connections
    from manymove.adsorption.screening.job import Job
    from manymove.adsorption.screening.settings import screening_of
    from manymove.adsorption.screening.structure import FAILED, REFUSED
    from manymove.jobs.replica import of_first
    from manymove.jobs.world import World

    open_connections()
    world = World.connect()
    adsorbents.read_trials(options)
    species, field, charges, barrier = adsorbents.model_of(options)
    if systems == "auto":
        where = (world.device(options["device"]).partition(",")[0], precision, options["threads"])
        count = of_first(world, lambda: filling_systems(method, 1, *where))
    else:
        count = number("--systems", systems, int, "auto")
    made = {"adsorbates": species, "framework_charges": charges, "barrier": barrier}
    if field is not None:
        made["force_field"] = field
    given = to_store(options | {"systems": str(count)})
    del options["collection"]
    screening = screening_of({**options, **made, "systems": count}, given)
    job = Job(collection, screening, world)
    try:
        for _ in job.run():
            pass
    except KeyboardInterrupt:
        if world.rank == 0:
            say(
                f"stopped early; the results so far are in {screening.output}/. The same command "
                "continues"
            )
        return STOPPED
    if not screening.quiet and world.rank == 0:
        print("\n".join(job.lines()))
        print(f"results in {screening.output}/")
    counts = job.counts
    return 1 if counts[FAILED] or counts[REFUSED] == counts.total() else 0
