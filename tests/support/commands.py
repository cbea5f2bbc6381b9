"""What the tests of the command line share."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-c", "import sys; from manymove.cli import run; sys.exit(run())"]
MPIEXEC = shutil.which("mpiexec", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
# Not that of a rank of another job.
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "PRTE", "OMPI", "HYDI"))}


# Options that make the runs of each command short.
SMALL = {
    "disks": "--particles 64 --sweeps 2 --equilibrate 1",
    "electrolyte": "--ions 64 --sweeps 2 --equilibrate 1",
    "adsorption": "--framework LTA --molecules 2 --systems 4 --steps 4 --equilibrate 4 "
    "--interpolation cubic --grid-spacing 0.8",
    "dpd": "--particles 200 --steps 2 --equilibrate 2",
}


def summary_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def arguments(command: str, options: str, folder: Path) -> list[str]:
    return [command, *options.split(), "--device", "cpu", "--threads", "1", "--quiet",
            "--output", str(folder)]  # fmt: skip
