"""Checkpoint files: a header and arrays, whole or not at all (see `manymove.files`).

They are NumPy archives (.npz) that are not compressed. Each member has a CRC-32, which is checked
for all bytes: a damaged file is refused unless the damage is in bytes without meaning.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manymove import arguments, files

FORMAT = 1
_RECORDS = "records"
# NumPy reads a header of an array with CPython's parser of syntax trees, which up to 3.11 fails at
# times in several threads.
_parsing = threading.Lock()

PathLike = str | os.PathLike[str]


def write(
    path: PathLike,
    kind: str,
    header: Mapping[str, Any],
    *,
    keep_previous: bool = False,
    **arrays: np.ndarray,
) -> None:
    """Write a file; the old one is replaced only when the new one is complete and on the disk.

    Args:
        path: of the file.
        kind: what it holds, for instance "hard disks".
        header: anything that JSON can hold.
        keep_previous: keep the old file as `files.previous(path)`.
        arrays: the rest, by name.
    """
    text = json.dumps({"kind": kind, "format": FORMAT, **header})
    with files.replace(path, keep_previous=keep_previous) as file:
        contents: dict[str, Any] = {"header": text, **arrays}
        np.savez(file, **contents)


def damage(path: PathLike) -> str | None:
    """Why a file cannot be a checkpoint of any kind; None if all its checksums are right."""
    try:
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
    except OSError as error:
        return f"{os.fspath(path)}: {error.strerror or error}"
    except Exception as error:  # damage has many types of errors
        return f"{os.fspath(path)} is damaged: {error}"
    return f"{os.fspath(path)} is damaged: wrong checksum of {broken}" if broken else None


@contextmanager
def refused(path: PathLike, kind: str) -> Iterator[None]:
    """What goes wrong inside becomes a ValueError that names the file and what it should hold."""
    try:
        yield
    except Exception as error:
        raise refusal(path, kind, error) from None


def refusal(path: PathLike, kind: str, error: Exception) -> ValueError:
    """The error for a file with unexpected contents."""
    what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    first = files.printable(what.partition("\n")[0])
    return ValueError(f"{os.fspath(path)} is no checkpoint of {kind}: {first}")


def read(
    path: PathLike, kind: str, types: Mapping[str, Any], optional: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file that `write` wrote.

    Args:
        path: of the file.
        kind: what it must hold.
        types: dtype of each array, by name.
        optional: the same of those that may be missing.

    Raises:
        OSError: the file cannot be opened.
        ValueError: it holds something else, or is damaged.
    """
    with open(path, "rb") as file, refused(path, kind), zipfile.ZipFile(file) as archive:
        header = json.loads(str(_member(archive, "header")))
        if header.get("kind", kind) != kind:
            raise ValueError(f"it holds {header['kind']}")
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}, expected {FORMAT}")
        arrays = {}
        for name, dtype in {**types, **(optional or {})}.items():
            if name not in types and f"{name}.npy" not in archive.namelist():
                continue
            arrays[name] = _member(archive, name)
            if arrays[name].dtype != dtype:
                raise ValueError(f"{name} is of {arrays[name].dtype}, expected {np.dtype(dtype)}")
        return header, arrays


def kind_of(path: PathLike) -> str:
    """What a file that `write` wrote holds.

    Raises:
        OSError, ValueError: as for `read`.
    """
    with open(path, "rb") as file, refused(path, "a simulation"), zipfile.ZipFile(file) as archive:
        return files.printable(str(json.loads(str(_member(archive, "header")))["kind"]))


# ---- folders of several files --------------------------------------------------------------------

# The folders of the last states and of the next ones take turns; a JSON file names the last ones.
_STATES = "states-0", "states-1"


def next_states(contents: Path, own: bool, what: str) -> str:
    """The name of the folder of the next states, which are written before the JSON file is.

    Args:
        contents: path of the JSON file.
        own: whether the states in the folder may be replaced.
        what: what the folder holds, for errors.

    Raises:
        FileExistsError: the folder has the states of another object.
    """
    if contents.exists() and not own:
        raise FileExistsError(
            f"{contents.parent} has another {what}: load it, choose another folder, or save with "
            "overwrite=True"
        )
    try:
        held = json.loads(contents.read_text())["states"]
    except (OSError, ValueError, LookupError, TypeError):
        held = None
    return _STATES[held == _STATES[0]]


def read_contents(contents: Path, what: str) -> dict[str, Any]:
    """The content of the JSON file, whose "states" name the folder of the last states.

    Raises:
        FileNotFoundError: there is no file.
        OSError: the file cannot be read.
        ValueError: the file is damaged.
    """
    try:
        held = dict(json.loads(contents.read_text()))
        arguments.one_of("states", held["states"], _STATES)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{contents.parent} has no {what}: {contents.name} is missing"
        ) from None
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{contents} is damaged: {error}") from None
    return held


# ---- arguments of a class in a header ------------------------------------------------------------

_PACKAGE = __name__.partition(".")[0]


def encoded(value: Any) -> Any:
    """Arguments of a class in a form that JSON can hold: numbers, texts, arrays, sequences,
    mappings, paths and data classes of this package. None if there is anything else."""
    try:
        return _encoded(value)
    except TypeError:
        return None


def _encoded(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encoded(each) for each in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_encoded(key), _encoded(each)] for key, each in value.items()]}
    if is_dataclass(value) and type(value).__module__.partition(".")[0] == _PACKAGE:
        given = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        return {"class": [type(value).__module__, type(value).__name__], "of": _encoded(given)}
    raise TypeError(f"{value!r} cannot be stored")


def decoded(value: Any) -> Any:
    """The inverse of `encoded`; None if the value has settings of another version."""
    try:
        return _decoded(value)
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    match list(value):
        case ["array", "dtype"]:
            return np.array(value["array"], dtype=value["dtype"])
        case ["list"]:
            return [_decoded(each) for each in value["list"]]
        case ["tuple"]:
            return tuple(_decoded(each) for each in value["tuple"])
        case ["dict"]:
            return {_decoded(key): _decoded(each) for key, each in value["dict"]}
        case ["class", "of"]:
            module, name = value["class"]
            if module.partition(".")[0] == _PACKAGE:  # a file does not choose what is imported
                kind = getattr(sys.modules[module], name)
                if isinstance(kind, type) and is_dataclass(kind):
                    return kind(**_decoded(value["of"]))
    raise ValueError(f"a setting cannot be read: {', '.join(value)}")


# ---- records -------------------------------------------------------------------------------------


def write_records(
    path: PathLike, records: np.ndarray, *, keep_previous: bool = False, **about: Any
) -> None:
    """The same for one array of float64, and anything about it that JSON can hold."""
    records = np.asarray(records, dtype=np.float64)
    write(path, _RECORDS, {"about": about}, keep_previous=keep_previous, records=records)


def read_records(path: PathLike, columns: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
    """The array that `write_records` wrote, (K,) or (K, columns), and its header.

    Raises:
        OSError, ValueError: as for `read`.
    """
    header, arrays = read(path, _RECORDS, {"records": np.float64})
    records = arrays["records"]
    with refused(path, _RECORDS):
        if records.shape[1:] != (() if columns is None else (columns,)):
            raise ValueError(f"records of shape {records.shape}")
        return records, dict(header["about"])


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed")
    with archive.open(info) as member:
        with _parsing:
            array = np.lib.format.read_array(member, allow_pickle=False)
        if member.read(1):  # the checksum is compared at the end
            raise ValueError(f"{name} is longer than it says")
    return array
