# SPDX-License-Identifier: BSD-3-Clause
"""Locks on output folders, so that two processes never write into one folder.

The kernel holds the lock (`flock` on the file manymove.lock of the folder) and releases it when the
process ends, for any reason. Some network file systems do not show the lock to other hosts, or have
no locks. Therefore the process also sets the modification time of the file every few seconds, and a
lock from another host is valid as long as this time advances. The clock of the file system is used,
so that the clocks of the hosts do not matter.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import fcntl
import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manymove import files

LOCK_FILE = "manymove.lock"
_BEAT = 5.0  # seconds between two settings of the time
_SILENT = 60.0  # without an update for so many seconds, a process on another host is taken for dead
_ENDING = 10.0  # seconds until a holder has its name written, or programs of a killed one end
_PAUSE = 0.25  # seconds between two checks of the time
_SILENT_WAIT = 3.0  # seconds after which a wait for such a process is announced
_UNSUPPORTED = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)

_held: dict[Path, _Lock] = {}
_guard = threading.Lock()  # protects the dictionary and its descriptors
_ended: threading.Event | None = None  # ends the thread that sets the times


class FolderInUse(OSError):
    """Another process holds the folder."""


def hold(folder: Path, *, again: bool = True) -> None:
    """Lock a folder until `release` or the end of this process. Missing folders are made, and
    removed at the end if they are empty.

    Args:
        folder: the folder.
        again: whether this process may already hold the folder.

    Raises:
        FolderInUse: another process holds the folder, or this one does and `again` is false.
        OSError: the folder cannot be written.
    """
    place = Path(os.path.realpath(folder))
    if place in _held:
        if again:
            return
        raise FolderInUse(f"{folder} is in use by this process")
    global _ended
    lock = _Lock(place, folder)
    with _guard:
        _held[place] = lock
        if _ended is None:
            _ended = threading.Event()
            threading.Thread(target=_beat, args=(_ended,), daemon=True).start()


def release(folder: Path | None = None, *, inside: bool = True) -> None:
    """Release a folder of this process, by default with the folders inside it; or all folders if
    `folder` is None."""
    global _ended
    top = None if folder is None else Path(os.path.realpath(folder))
    within = os.path.join(top or "", "")
    with _guard:
        for place in reversed([*_held]):
            # Text is compared faster than paths, and there may be a thousand folders.
            if top in (None, place) or (inside and str(place).startswith(within)):
                _held.pop(place).release()
        if not _held and _ended is not None:
            _ended.set()
            _ended = None


@contextlib.contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Give one thread of one process exclusive access to a folder. The context begins when no other
    thread and no other process holds the folder.

    Raises:
        OSError: the folder cannot be written.
    """
    while True:
        try:
            hold(folder, again=False)
            break
        except FolderInUse:
            time.sleep(_PAUSE)
    try:
        yield
    finally:
        release(folder, inside=False)


@contextlib.contextmanager
def shared() -> Iterator[tuple[int, ...]]:
    """A context with descriptors of the locks for a program that this process starts. The folders
    stay locked until that ends, too, also if this process is killed."""
    with _guard:
        copies = tuple(os.dup(lock.descriptor) for lock in _held.values())
    try:
        yield copies
    finally:
        for copy in copies:
            os.close(copy)


def _beat(ended: threading.Event) -> None:
    while not ended.wait(_BEAT):
        with _guard:
            for lock in _held.values():
                with contextlib.suppress(OSError):
                    os.utime(lock.descriptor)


def _forget() -> None:
    """A forked process does not hold the folders of its parent."""
    global _guard, _ended
    _guard, _ended = threading.Lock(), None
    for lock in _held.values():
        os.close(lock.descriptor)
    _held.clear()


atexit.register(release)
os.register_at_fork(after_in_child=_forget)


class _Lock:
    def __init__(self, place: Path, name: Path) -> None:
        self._path = place / LOCK_FILE
        self._name = name  # in messages
        self._patience = time.monotonic() + _ENDING
        self._made = [folder for folder in (place, *place.parents) if not folder.exists()]
        files.make_folder(place)
        try:
            while (descriptor := self._attempt()) is None:
                time.sleep(_PAUSE / 10)
        except BaseException:
            self._remove_folders()
            raise
        self.descriptor = descriptor

    def _attempt(self) -> int | None:
        """The descriptor of the locked file; None if the file has changed in the meantime."""
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            free = _lock(descriptor)
            holder = _read(descriptor)
            here = holder.get("machine") == _machine()
            # A program that a killed process has started may still be about to end.
            ending = not holder or (here and not _is_running(holder))
            if free is False and not (ending and time.monotonic() < self._patience):
                self._refuse(holder)
            # A holder on this machine has ended, because the kernel has granted the lock.
            if free is not False and holder and not (free and here) and self._beats(holder):
                self._refuse(holder)
            # The holder may just have removed the file, or not yet have written it.
            if free is not False and self._is_file_of(descriptor):
                _write(descriptor)
                return descriptor
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError) and error.errno and error.filename is None:
                error.filename = os.fspath(self._path)  # as of a full disk
            raise
        os.close(descriptor)
        return None

    def _refuse(self, holder: dict[str, Any]) -> None:
        raise FolderInUse(
            f"{self._name} is in use by {_description(holder)}: wait until it ends, or choose "
            "another --output"
        )

    def _beats(self, holder: dict[str, Any]) -> bool:
        """Whether the time of the file advances. A time that is old enough is known at once."""
        first, began = self._time(), time.monotonic()
        announced = False
        while first is not None and (waited := time.monotonic() - began) < _SILENT:
            if waited >= _SILENT_WAIT and not announced:
                print(
                    f"manymove: {self._name} was in use by {_description(holder)}: waiting up to "
                    f"{_SILENT:g} s to see whether this process has ended",
                    file=sys.stderr,
                    flush=True,
                )
                announced = True
            with tempfile.TemporaryFile(dir=self._path.parent) as new:
                if os.fstat(new.fileno()).st_mtime - first >= _SILENT:
                    return False
            time.sleep(_PAUSE)
            if (now := self._time()) != first:
                return now is not None
        return False

    def _time(self) -> float | None:
        """The time of the file, which network file systems update when it is opened."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            return os.fstat(descriptor).st_mtime
        finally:
            os.close(descriptor)

    def _is_file_of(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        # The file is removed while it is locked, and no process locks a file that was removed.
        if self._is_file_of(self.descriptor):
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        os.close(self.descriptor)
        self._remove_folders()

    def _remove_folders(self) -> None:
        with contextlib.suppress(OSError):  # a folder that is not empty ends the loop
            for folder in self._made:
                os.rmdir(folder)


def _description(holder: dict[str, Any]) -> str:
    if not holder:
        return "a process"
    words = (files.printable(str(holder.get(key))) for key in ("pid", "host", "since"))
    return "process {} on {} (since {})".format(*words)


def _lock(descriptor: int) -> bool | None:
    """Whether the kernel has granted the lock; None if the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return None
        raise
    return True


def _machine() -> str:
    """A name that is the same for all processes of a running kernel, and for no others."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return platform.node()


def _is_running(holder: dict[str, Any]) -> bool:
    try:
        os.kill(int(holder["pid"]), 0)
    except ProcessLookupError:
        return False
    except (OSError, LookupError, TypeError, ValueError):
        pass
    return True


def _write(descriptor: int) -> None:
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    text = {"host": platform.node(), "pid": os.getpid(), "since": since, "machine": _machine()}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(text).encode(), 0)
    os.fsync(descriptor)


def _read(descriptor: int) -> dict[str, Any]:
    """The holder, or nothing if it has not been written."""
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
    except (ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}
