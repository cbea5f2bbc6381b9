# SPDX-License-Identifier: BSD-3-Clause
"""The command `manymove bench`, and what it shares with `python -m benchmarks`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from manymove.cli.options import command

app = typer.Typer()
ALGORITHMS = ("disks", "spheres", "electrolyte", "adsorption", "dpd")


def new_file(name: str, text: str) -> Any:
    """An option, with its help, for the path of a file that must not exist yet."""

    def check(path: Path | None) -> Path | None:
        if path is not None and path.exists():
            raise FileExistsError(f"{path} holds results: remove it, or choose another name")
        return path

    return typer.Option(f"--{name}", help=text, callback=check, rich_help_panel="Files")


NEW_JSON = new_file("json", "Path of a new JSON file of the results (default none).")


def _completed(incomplete: str) -> list[str]:
    return [name for name in ALGORITHMS if name.startswith(incomplete)]


@command(app)
def bench(
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Algorithms to time: disks, spheres, electrolyte, adsorption and dpd "
            "(default all).",
            autocompletion=_completed,
        ),
    ] = None,
    sizes: tuple[int, ...] | None = None,
    device: str = "auto",
    seconds: float = 1.0,
    repeats: int = 3,
    json_file: Annotated[Path | None, NEW_JSON] = None,
) -> int:
    """Measure the speed of the engines on this machine.

    The algorithms are disks, spheres, electrolyte, adsorption and dpd; without names all are timed.
    The table has the median of the timed runs, and half the distance of the fastest and the slowest
    one. Comparisons with other programs, scaling over ranks and further settings are in the folder
    benchmarks of the sources: python -m benchmarks.

    Device:
        device: Device: auto, cpu, cuda or cuda:<index>.

    Options:
        sizes: Numbers of particles N (default depends on the device).
        repeats: Number of timed runs of each variant, at least 3.
        seconds: Minimum duration of a timed run in seconds.

    Examples:
      manymove bench
      manymove bench disks --sizes 4096,65536 --json disks.json
      manymove bench dpd adsorption --device cuda
    """
    from manymove.bench import engines
    from manymove.jobs.world import require_one_process

    require_one_process("manymove bench", "python -m benchmarks of the sources times ranks")
    engines.run(
        algorithms, sizes=sizes, device=device, seconds=seconds, repeats=repeats,
        json_file=json_file,
    )  # fmt: skip
    return 0
