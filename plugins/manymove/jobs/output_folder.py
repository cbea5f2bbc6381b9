# SPDX-License-Identifier: BSD-3-Clause
"""The folder of the results of a command."""

from __future__ import annotations

import errno
import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

from manymove import files
from manymove.jobs.folder_lock import hold

# The names of all files of commands, and of the folders of consecutive runs.
_FILES = (
    "summary.json", "options.json", "checkpoint-*", "trajectory.gsd", "trajectory-*.gsd",
    "pressure.csv", "packing_fraction.csv", "packing_fraction.png", "structure_factors.csv",
    "energy.csv", "g.csv", "profile.csv", "isotherm.csv", "thermo.csv",
    "in.dpd", "restart.in", "log.lammps", "final.data", "configuration.png", "pressure.png",
    "equation_of_state.png", "energy.png", "autocorrelation.png", "g.png", "far_field.png",
    "valences.png", "thermo.png", "profile.png", "isotherm.png",
    "density.csv", "density.png", "structure.cif", "structure.pdb",
    "free_energy.png", "coexistence.png",
    "screen.csv", "screen.parquet", "screen.png",
    "structure.json", "framework.json", "isotherm*.aif",
    "checkpoint-exchange/exchange.json", "checkpoint-exchange/states-*/replica*",
)  # fmt: skip
_RUNS = ("packing_fraction_*", "pressure_*")
_NAMED = 3  # in the message


def _places(folder: Path) -> list[Path]:
    """The folder, and the folders of consecutive runs in it."""
    return [folder, *(p for pattern in _RUNS for p in folder.glob(pattern) if p.is_dir())]


def _matches(folder: Path, suffix: str = "") -> list[Path]:
    return sorted(path for place in _places(folder) for path in _inside(place, suffix))


def _inside(place: Path, suffix: str) -> Iterator[Path]:
    """The files of commands in a folder, which is listed once for all names."""
    names = os.listdir(place) if place.is_dir() else []
    for pattern in _FILES:
        first, _, inner = pattern.partition("/")
        for name in fnmatch.filter(names, first if inner else pattern + suffix):
            path = place / name
            yield from (p for p in (path.glob(inner + suffix) if inner else [path]) if p.is_file())


def results_in(folder: Path) -> list[Path]:
    """The files of earlier runs in a folder, including the files of consecutive runs."""
    return [path for path in _matches(folder) if path.suffix != files.PARTIAL]


def claim(folder: Path, *, resume: bool, overwrite: bool, again: bool = True) -> None:
    """Make sure that a run may write into a folder, and lock it for this process. Incomplete
    files of killed runs are removed.

    Args:
        folder: `--output`.
        resume: whether the run continues the one in the folder.
        overwrite: whether to remove the results of earlier runs.
        again: whether this process may already hold the folder.

    Raises:
        FileExistsError: the folder contains results, and neither `resume` nor `overwrite` is set.
        OSError: the folder cannot be made or written, or another process writes into it.
        ValueError: both `resume` and `overwrite` are set.
    """
    if resume and overwrite:
        raise ValueError("--resume continues the run that --overwrite would remove: give one")
    place = next(p for p in (folder, *folder.absolute().parents) if p.exists())
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), f"--output {folder}")
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), f"--output {folder}")
    for place in _places(folder):
        hold(place, again=again)
    found = [] if resume else results_in(folder)
    if found and not overwrite:
        names = ", ".join(str(path.relative_to(folder)) for path in found[:_NAMED])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        raise FileExistsError(
            f"{folder} holds results ({names}{more}): --resume continues that run, --overwrite "
            "replaces it, and another --output keeps it"
        )
    found += _matches(folder, f".*{files.PARTIAL}")
    for place in {path.parent for path in found}:
        files.remove(*(path for path in found if path.parent == place))
