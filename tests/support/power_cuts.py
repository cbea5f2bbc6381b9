# SPDX-License-Identifier: BSD-3-Clause
"""A recorder of changes of files, and the folders that a power cut may leave after them.

The model is POSIX's, with nothing that a file system gives besides:
- A write is on the disk when its file was synced. Until then it may be there, or not, or in part,
  whatever becomes of other writes.
- A change of names (a file made, linked, renamed or removed, a folder made) is on the disk when the
  folder was synced. Until then it may be there as a whole, or not, whatever becomes of others.
"""

from __future__ import annotations

import builtins
import io
import itertools
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from manymove.jobs.folder_lock import LOCK_FILE

SECTOR = 512  # bytes, which are written as a whole or not at all
FOLDER = -1  # stands for the number of a file
Image = dict[str, bytes | None]  # paths from the root; None: a folder


class Recorder:
    """Records every change below a folder while the context is entered.

    Args:
        root: the folder; what is in it at the start is on the disk.
        patch: pytest's monkeypatch.
        library: ends of names of files that a compiled library writes; their bytes are compared at
            each system call, and every sector that differs is a write.

    Attributes:
        calls: what was done, in order.
        fail: called with the name of each system call before it is made; it may raise.
    """

    def __init__(self, root: Path, patch: Any, library: tuple[str, ...] = ()) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fail: Callable[[str], None] = lambda name: None
        self._root = root.resolve()
        self._patch = patch
        self._library = library
        self._lock = threading.RLock()
        self._names: dict[str, int] = {}  # now, of the files below the root
        self._contents: list[bytes] = []
        for path, data in image_of(self._root).items():
            self._names[path] = FOLDER if data is None else self._number(data)
        self._first = dict(self._names), list(self._contents)

    def __enter__(self) -> Recorder:
        for module, name in ((builtins, "open"), (io, "open")):
            self._patch.setattr(module, name, self._open)
        for name in ("replace", "rename", "link", "unlink", "remove", "mkdir", "fsync"):
            self._patch.setattr(os, name, self._recorded(name, getattr(os, name)))
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()
        self._poll()

    @property
    def image(self) -> Image:
        """What should be there now, from the recorded calls."""
        return {
            path: None if number == FOLDER else self._contents[number]
            for path, number in self._names.items()
        }

    # ---- recording -------------------------------------------------------------------------------

    def _number(self, data: bytes) -> int:
        self._contents.append(data)
        return len(self._contents) - 1

    def _relative(self, path: Any) -> str | None:
        """The path from the root; None for paths that are elsewhere."""
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        path = Path(os.path.abspath(path))
        if path.name == LOCK_FILE:  # means nothing after a power cut
            return None
        return str(path.relative_to(self._root)) if path.is_relative_to(self._root) else None

    def _written(self, path: str, offset: int, data: bytes) -> None:
        number = self._names[path]
        self.calls.append(("write", number, offset, data))
        self._contents[number] = _overwritten(self._contents[number], offset, data)

    def _cut(self, path: str, size: int) -> None:
        number = self._names[path]
        self.calls.append(("truncate", number, size))
        self._contents[number] = _resized(self._contents[number], size)

    def _renamed(self, folder: str, changes: dict[str, int | None]) -> None:
        self.calls.append(("names", folder, changes))
        for path, number in changes.items():
            if number is None:
                self._names.pop(path, None)
            else:
                self._names[path] = number

    def _poll(self) -> None:
        """What a library wrote since the last call."""
        for path, number in list(self._names.items()):
            name = re.sub(r"\.[0-9a-f]{16}\.partial$", "", path)
            if name.endswith(self._library or ("\0",)):
                with io.FileIO(self._root / path) as file:
                    now = file.readall()
                before = self._contents[number]
                if len(now) < len(before):
                    self._cut(path, len(now))
                for start in range(0, len(now), SECTOR):
                    sector = now[start : start + SECTOR]
                    if sector != before[start : start + SECTOR]:
                        self._written(path, start, sector)

    def _open(self, path: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        where = None if isinstance(path, int) else self._relative(path)
        if where is None or not set(mode) & set("wax+"):
            return _OPEN(path, mode, *args, **more)
        with self._lock:
            self._poll()
            self.fail("open")
            plain = mode.replace("b", "").replace("t", "")
            raw = _Raw(self, where, path, plain, more.pop("opener", None))
            if where not in self._names:
                changes = {where: self._number(b"")}
                self._renamed(os.path.dirname(where), changes)
            elif "w" in mode:
                self._cut(where, 0)
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *args[1:], **more)

    def _recorded(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*args: Any, **more: Any) -> Any:
            path = self._relative(args[0])
            if path is None:
                return call(*args, **more)
            with self._lock:
                self._poll()
                self.fail(name)
                result = call(*args, **more)
                if name == "fsync":
                    number = FOLDER if path == "." else self._names[path]
                    folder = "" if path == "." else path
                    self.calls.append(("sync", folder if number == FOLDER else number))
                else:
                    changes = self._changes(name, path, args)
                    folders = {os.path.dirname(one) for one in changes}
                    assert len(folders) == 1, f"{name} between folders"
                    self._renamed(folders.pop(), changes)
                return result

        return recorded

    def _changes(self, name: str, path: str, args: tuple[Any, ...]) -> dict[str, int | None]:
        if name == "mkdir":
            return {path: FOLDER}
        if name in ("unlink", "remove"):
            return {path: None}
        other, number = self._relative(args[1]), self._names[path]
        if name == "link":
            return {other: number}
        if self._names.get(other) == number:  # names of one file: rename does nothing
            return {other: number}
        return {path: None, other: number}

    # ---- power cuts ------------------------------------------------------------------------------

    def cut(self, calls: int) -> Disk:
        """The disk if the power is cut after so many calls."""
        disk = Disk(dict(self._first[0]), list(self._first[1]))
        for call in self.calls[:calls]:
            disk.take(call)
        return disk


_OPEN = open


class _Raw(io.FileIO):
    """A file without a buffer; its writes are system calls."""

    def __init__(self, recorder: Recorder, where: str, path: Any, mode: str, opener: Any) -> None:
        super().__init__(path, mode, opener=opener)
        self._recorder, self._where = recorder, where

    def write(self, data: Any) -> int:
        recorder = self._recorder
        with recorder._lock:
            recorder.fail("write")
            start = self.tell()
            count = super().write(data)
            recorder._written(self._where, start, bytes(memoryview(data).cast("B")[:count]))
            return count

    def truncate(self, size: int | None = None) -> int:
        recorder = self._recorder
        with recorder._lock:
            recorder.fail("truncate")
            size = super().truncate(size)
            recorder._cut(self._where, size)
            return size


class Disk:
    """The part that is certainly on the disk, and the part that may be."""

    def __init__(self, names: dict[str, int], contents: list[bytes]) -> None:
        self._names, self._contents = names, contents
        self._pending_names: dict[str, list[dict[str, int | None]]] = {}
        self._pending: dict[int, list[tuple[Any, ...]]] = {}

    def take(self, call: tuple[Any, ...]) -> None:
        kind, what, *_ = call
        if kind == "names":
            self._pending_names.setdefault(what, []).append(call[2])
        elif kind != "sync":
            self._pending.setdefault(what, []).append(call)
        elif isinstance(what, str):
            for changes in self._pending_names.pop(what, []):
                _rename(self._names, changes)
        else:
            for write in self._pending.pop(what, []):
                self._content(what, write)

    def _content(self, number: int, call: tuple[Any, ...]) -> None:
        self._contents.extend([b""] * (number + 1 - len(self._contents)))
        self._contents[number] = _applied(self._contents[number], call)

    def images(self, random: np.random.Generator, torn: int) -> Iterator[Image]:
        """All subsets of the changes of names, each with none of the writes, with all of them, and
        with so many random parts of them."""
        changes = [one for some in self._pending_names.values() for one in some]
        for chosen in itertools.product((False, True), repeat=len(changes)):
            names = dict(self._names)
            for one in itertools.compress(changes, chosen):
                _rename(names, one)
            for how in ("none", "all", *["torn"] * torn):
                yield self._image(names, how, random)

    def random_image(self, random: np.random.Generator) -> Image:
        """One of `images`."""
        names = dict(self._names)
        for changes in self._pending_names.values():
            for one in changes:
                if random.random() < 0.5:
                    _rename(names, one)
        return self._image(names, str(random.choice(["none", "all", "torn"])), random)

    def _image(self, names: dict[str, int], how: str, random: np.random.Generator) -> Image:
        image: Image = {}
        for path in sorted(names):  # folders come before what is in them
            folder = os.path.dirname(path)
            if folder and folder not in image:
                continue
            number = names[path]
            if number == FOLDER:
                image[path] = None
                continue
            data = self._contents[number] if number < len(self._contents) else b""
            for call in self._pending.get(number, []):
                if how == "all" or (how == "torn" and random.random() < 0.7):
                    data = _applied(data, _torn(call, random) if how == "torn" else call)
            image[path] = data
        return image


def image_of(root: Path) -> Image:
    """The actual contents of a folder."""
    image: Image = {}
    for path in sorted(root.rglob("*")):
        image[str(path.relative_to(root))] = None if path.is_dir() else path.read_bytes()
    return image


def materialize(image: Image, root: Path) -> None:
    """A folder with these files."""
    root.mkdir()
    for path, data in image.items():
        if data is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(data)


def _rename(names: dict[str, int], changes: dict[str, int | None]) -> None:
    for path, number in changes.items():
        if number is None:
            names.pop(path, None)
        else:
            names[path] = number


def _torn(call: tuple[Any, ...], random: np.random.Generator) -> tuple[Any, ...]:
    """Some sectors of a write, from its beginning on."""
    if call[0] == "truncate":
        return call
    kind, number, offset, data = call
    sectors = int(random.integers(0, len(data) // SECTOR + 2))
    return kind, number, offset, data[: sectors * SECTOR]


def _applied(data: bytes, call: tuple[Any, ...]) -> bytes:
    if call[0] == "truncate":
        return _resized(data, call[2])
    return _overwritten(data, call[2], call[3])


def _overwritten(data: bytes, offset: int, part: bytes) -> bytes:
    if not part:
        return data
    return _resized(data, max(len(data), offset))[:offset] + part + data[offset + len(part) :]


def _resized(data: bytes, size: int) -> bytes:
    return data[:size] + bytes(size - len(data[:size]))
