# SPDX-License-Identifier: BSD-3-Clause
"""Databases of ASE (`ase.db`) as sources of frameworks. A row is named FILE@id=ID, as in ASE."""

from __future__ import annotations

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from manymove.optional import need

SUFFIXES = (".db", ".json")  # SQLite and JSON
_ROW = re.compile(rf"(.+(?:{'|'.join(map(re.escape, SUFFIXES))}))@id=(\d+)")


def is_row(source: str | os.PathLike[str]) -> bool:
    """Whether a source of a framework is a row of a database."""
    return _ROW.fullmatch(str(source)) is not None


def rows_of(path: Path) -> list[tuple[str, str]]:
    """(name, source) of all rows of a database, in the order of their ids.

    Raises:
        ImportError: ase is not installed.
        ValueError: the file is not a database of ASE or has no rows, or the name of a row cannot be
            the name of a folder.
    """
    found = [(_name(row, path), f"{path}@id={row.id}") for row in _select(path)]
    if not found:
        raise ValueError(f"the database {path} has no rows")
    return found


def atoms_of(source: str | os.PathLike[str]) -> tuple[Any, str]:
    """The `ase.Atoms` of a row and its name: its key "name", or the name of the file and the id.

    Raises:
        ImportError: ase is not installed.
        FileNotFoundError: there is no such file.
        ValueError: the file is not a database of ASE, or has no such row.
    """
    path, row = _row(source)
    return row.toatoms(), _name(row, path)


def digest_of_row(source: str | os.PathLike[str]) -> str | None:
    """Hash of the name, the cell, the atoms and their charges; None if the row cannot be read."""
    try:
        atoms, name = atoms_of(source)
    except (OSError, ValueError):
        return None
    digest = hashlib.sha256(name.encode())
    for part in (atoms.cell.array, atoms.pbc, atoms.numbers, atoms.positions,
                 atoms.get_masses(), atoms.get_initial_charges()):  # fmt: skip
        digest.update(part.tobytes())
    return digest.hexdigest()


def _row(source: str | os.PathLike[str]) -> tuple[Path, Any]:
    match = _ROW.fullmatch(str(source))
    assert match
    path = Path(match[1])
    rows = _select(path, id=int(match[2]))
    if not rows:
        raise ValueError(f"the database {path} has no row with the id {match[2]}")
    return path, rows[0]


def _select(path: Path, **which: int) -> list[Any]:
    need("ase", f"the database {path}")
    if not path.is_file():  # ASE would make an empty one
        raise FileNotFoundError(f"no database {path}")
    try:
        if path.suffix.lower() == ".db":
            return _rows(path, "db", which)
        # ASE reads a file of JSON whole, whatever is selected.
        rows = _kept_rows(path, path.stat().st_mtime_ns)
        return [row for row in rows if row.id == which.get("id", row.id)]
    except Exception as error:  # of SQLite, or of the reader of JSON
        raise ValueError(f"{path} is not a database of ASE: {error}") from error


def _rows(path: Path, kind: str, which: dict[str, int]) -> list[Any]:
    from ase.db import connect

    return [*connect(path, type=kind).select(**which)]


@lru_cache(maxsize=1)
def _kept_rows(path: Path, changed: int) -> list[Any]:
    return _rows(path, "json", {})


def _name(row: Any, path: Path) -> str:
    name = str(row.get("name", f"{path.stem}-{row.id}"))
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(
            f"row {row.id} of {path} has the name {name!r}, which cannot be that of the folder of "
            "its results"
        )
    return name
