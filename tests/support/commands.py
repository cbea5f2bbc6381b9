"""What the tests of the command line share."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT

from manymove.jobs.progress import Interrupted
from manymove.jobs.replica import Replica

COMMAND = [sys.executable, "-c", "import sys; from manymove.cli import run; sys.exit(run())"]
BENCHMARKS = [  # `python -m benchmarks` in any folder
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from benchmarks.cli import run; "
    "sys.exit(run())",
]
MPIEXEC = shutil.which("mpiexec", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
# Ranks of MPICH that have no core of their own let one another run, instead of polling for most of
# the time.
os.environ.setdefault("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")
os.environ.setdefault("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", "64")
# Not that of a rank of another job.
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "PRTE", "OMPI", "HYDI"))}


# Options that make the runs of each command short.
SMALL = {
    "disks": "--particles 64 --sweeps 2 --equilibrate 1",
    "spheres": "--particles 64 --sweeps 2 --equilibrate 1",
    "electrolyte": "--ions 64 --sweeps 2 --equilibrate 1",
    "adsorption": "--framework LTA --molecules 2 --systems 4 --steps 4 --equilibrate 4 "
    "--interpolation cubic --grid-spacing 0.8",
    "dpd": "--particles 200 --steps 2 --equilibrate 2",
}


@contextmanager
def interrupted_after(checks: int, replica: type[Replica] = Replica) -> Iterator[None]:
    """Runs of this kind of replica in this process are interrupted, as by Ctrl-C, when they have
    asked so many times whether they shall stop."""
    asked, check = itertools.count(), replica._check_stop

    def stop(self: Replica) -> None:
        if next(asked) >= checks:
            raise Interrupted
        check(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replica, "_check_stop", stop)
        yield


def summary_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def arguments(command: str, options: str, folder: Path) -> list[str]:
    return [command, *options.split(), "--device", "cpu", "--threads", "1", "--quiet",
            "--output", str(folder)]  # fmt: skip


def assert_mistake(made: int, message: str, folder: Path, capsys) -> None:
    """A command that has made a mistake says so in one line, and writes nothing."""
    error = capsys.readouterr().err
    assert made == 2 and message in error and error.count("\n") == 1
    assert not folder.exists()
