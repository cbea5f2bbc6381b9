# SPDX-License-Identifier: BSD-3-Clause
"""Databases of ASE (`ase.db`) as sources of frameworks. A row is named FILE@id=ID, as in ASE."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from functools import lru_cache
from pathlib import Path
from typing import Any

from manymove.optional import need

SUFFIXES = (".db", ".json")  # SQLite and JSON
_ROW = re.compile(rf"(.+(?:{'|'.join(map(re.escape, SUFFIXES))}))@id=(\d{{1,18}})", re.IGNORECASE)


def is_row(source: str | os.PathLike[str]) -> bool:
    """Whether a source of a framework is a row of a database."""
    return _ROW.fullmatch(str(source)) is not None


def rows_of(path: Path) -> list[tuple[str, str]]:
    """(name, source) of all rows of a database, in the order of their ids.

    Raises:
        ImportError: ase is not installed.
        OSError: there is no such file, or it cannot be read.
        ValueError: the file is not a database of ASE or has no rows.
    """
    found = [(_name(row, path), f"{path}@id={row.id}") for row in _select(path)]
    if not found:
        raise ValueError(f"the database {path} has no rows")
    return found


def atoms_of(source: str | os.PathLike[str]) -> tuple[Any, str]:
    """The `ase.Atoms` of a row and its name: its key "name", or the name of the file and the id.

    Raises:
        ImportError: ase is not installed.
        OSError: there is no such file, or it cannot be read.
        ValueError: the file is not a database of ASE, or it has no such row, or the row has no
            atoms.
    """
    match = _ROW.fullmatch(str(source))
    assert match
    path = Path(match[1])
    rows = _select(path, id=int(match[2]))
    if not rows:
        raise ValueError(f"the database {path} has no row with the id {match[2]}")
    try:
        atoms = rows[0].toatoms()
    except Exception as error:  # whatever ASE raises for what it cannot build
        raise ValueError(f"{source} has no atoms that ASE can read: {error}") from error
    if occupancy := rows[0].data.get("occupancy"):
        atoms.info.setdefault("occupancy", occupancy)
    return atoms, _name(rows[0], path)


def digest_of_row(source: str | os.PathLike[str]) -> str | None:
    """Hash of the name, the cell, the atoms and their charges; None if the row cannot be read."""
    try:
        atoms, name = atoms_of(source)
    except (OSError, ValueError):
        return None
    digest = hashlib.sha256(f"{name}:{atoms.has('initial_charges')}".encode())
    for part in (atoms.cell.array, atoms.pbc, atoms.numbers, atoms.positions,
                 atoms.get_masses(), atoms.get_initial_charges()):  # fmt: skip
        digest.update(part.tobytes())
    return digest.hexdigest()


def _select(path: Path, **which: int) -> list[Any]:
    need("ase", f"the database {path}")
    if not path.is_file():  # ASE would make an empty one
        raise FileNotFoundError(f"no database {path}")
    if path.suffix.lower() == ".db":
        _check_tables(path)
        return _rows(path, "db", which)
    # ASE reads a file of JSON whole, whatever is selected.
    try:
        rows = _kept_rows(path, path.stat().st_mtime_ns)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # of the reader of JSON
        raise ValueError(f"{path} is not a database of ASE: {error}") from error
    return [row for row in rows if row.id == which.get("id", row.id)]


def _check_tables(path: Path) -> None:
    """ASE would make its tables in a file that has none."""
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            found = connection.execute("SELECT name FROM sqlite_master WHERE name='systems'")
            tables = found.fetchall()
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):  # locked or not readable
            raise OSError(f"{path} cannot be read: {error}") from error
        raise ValueError(f"{path} is not a database of ASE: {error}") from error
    if not tables:
        raise ValueError(f"{path} is not a database of ASE: it has no table of systems")


def _rows(path: Path, kind: str, which: dict[str, int]) -> list[Any]:
    from ase.db import connect

    # serial: with mpi4py, all ranks would get the rows that the first one selects.
    found = connect(path, type=kind, serial=True).select(**which)
    return sorted(found, key=lambda row: row.id)


@lru_cache(maxsize=1)
def _kept_rows(path: Path, changed: int) -> list[Any]:
    return _rows(path, "json", {})


def _name(row: Any, path: Path) -> str:
    """The name of a row: its key "name" if that can be the name of the folder of its results."""
    name = str(row.get("name", ""))
    usable = name not in ("", ".", "..") and not re.search(r"[/\0-\x1f]", name)
    return name if usable and len(name.encode()) < 200 else f"{path.stem}-{row.id}"
