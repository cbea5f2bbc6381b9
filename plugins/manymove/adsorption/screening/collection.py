# SPDX-License-Identifier: BSD-3-Clause
"""The structures of a screening: files of a folder or a list, rows of a database, single files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from manymove.adsorption import databases
from manymove.adsorption.frameworks import SHIPPED

EXPECTED = (
    "a folder of CIF files, a text file with a path on each line, a database of ASE (.db or "
    f".json), the path of a CIF file, {' or '.join(SHIPPED)}"
)


@dataclass(frozen=True)
class Structure:
    """A framework of a collection.

    Attributes:
        name: name of the framework, which is that of its file without the suffix, or of its row.
        source: path of its CIF file, its row of a database, or its name if it is shipped.
    """

    name: str
    source: str

    @property
    def digest(self) -> str | None:
        """Hash of the contents of the file or row; None if it cannot be read."""
        if databases.is_row(self.source):
            return databases.digest_of_row(self.source)
        shipped = self.source in SHIPPED
        path = files("manymove").joinpath(f"data/{self.source}.cif") if shipped else None
        try:
            return digest_of(path or Path(self.source))
        except OSError:
            return None


def digest_of(file: Any) -> str:
    """Hash of the contents of a file, which is a path or a resource of the package."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def seed_of(seed: int, name: str) -> int:
    """Seed of a structure, an integer below 2^53. It follows from the seed of the screening and the
    name of the structure, so that it does not depend on the other structures."""
    digest = hashlib.sha256(f"{seed}:{name}".encode(errors="surrogateescape")).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def structures_of(collection: Sequence[str | os.PathLike[str]]) -> list[Structure]:
    """The structures of a collection in their order, each of them once.

    Args:
        collection: folders, whose CIF files are taken in alphabetical order without hidden ones;
            text files with a path on each line, which are relative to the folder of the list;
            databases of ASE, whose rows are taken in the order of their ids; rows, FILE.db@id=ID;
            paths of CIF files; and names of shipped frameworks.

    Raises:
        FileNotFoundError: an item does not exist. A missing file of a list is refused later.
        ImportError: an item is a database, and ase is not installed.
        ValueError: a folder, a list or a database is empty, a list is not a text file, a database
            cannot be read, or two structures have the same name.
    """
    found = dict.fromkeys(one for item in collection for one in _of_item(item))
    by_name: dict[str, Structure] = {}
    for one in found:
        other = by_name.setdefault(one.name, one)
        if other is not one:
            raise ValueError(
                f"{other.source} and {one.source} have the same name, {one.name}, which is that of "
                "their results: rename one of them"
            )
    return [*by_name.values()]


def _of_item(item: str | os.PathLike[str]) -> Iterator[Structure]:
    path = Path(item)
    if str(item) in SHIPPED:
        yield Structure(str(item), str(item))
    elif databases.is_row(path):
        yield _of_row(path)
    elif path.is_dir():
        inside = [p for p in sorted(path.iterdir()) if p.suffix.lower() == ".cif"]
        inside = [p for p in inside if not p.name.startswith(".")]
        if not inside:
            raise ValueError(f"the folder {path} has no CIF files")
        yield from (Structure(p.stem, str(p)) for p in inside)
    elif path.suffix.lower() == ".cif" and path.is_file():
        yield Structure(path.stem, str(path))
    elif path.suffix.lower() in databases.SUFFIXES and path.is_file():
        yield from (Structure(name, source) for name, source in databases.rows_of(path))
    elif path.is_file():
        yield from _of_list(path)
    else:
        raise FileNotFoundError(f"no collection {item}: expected {EXPECTED}")


def _of_row(source: Path) -> Structure:
    """A row that cannot be read is refused later, as a file is."""
    try:
        name = databases.atoms_of(source)[1]
    except (OSError, ValueError):
        name = source.name
    return Structure(name, str(source))


def _of_list(path: Path) -> Iterator[Structure]:
    try:
        lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a text file with a path on each line") from None
    named = [line for line in lines if line]
    if not named:
        raise ValueError(f"the list {path} is empty")
    for line in named:
        place = path.parent / line
        if line in SHIPPED:
            yield Structure(line, line)
        elif databases.is_row(place):
            yield _of_row(place)
        else:
            yield Structure(place.stem, str(place))
