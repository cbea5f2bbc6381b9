# SPDX-License-Identifier: BSD-3-Clause
"""Files that survive a kill, a full disk and a power cut.

A file is written under another name, synced, and renamed; then its folder is synced. A rename is
atomic, and syncing the folder makes it durable. Therefore the name always refers to a complete
file, the old one or the new one. The other name is random, so that several processes may write one
file at a time. The file that is renamed last remains. Python repeats calls that a signal has
interrupted (PEP 475).
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PathLike = str | os.PathLike[str]
PARTIAL = ".partial"


@contextmanager
def replace(path: PathLike, *, keep_previous: bool = False) -> Iterator[BinaryIO]:
    """A new file, which gets the name when the block ends and is then durable.

    If the block or a system call fails, the old file stays and the new one is removed. The new file
    gets the permissions of the old one.

    Args:
        path: of the file.
        keep_previous: keep the old file under the name that `previous` gives.

    Raises:
        OSError: the file cannot be written; the error names it.
    """
    path = Path(path)
    partial = _unused(path)
    try:
        with _created(partial, like=path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if keep_previous and path.is_file():
            _keep(path)
        os.replace(partial, path)
        sync_folder(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        if isinstance(error, OSError) and error.errno:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise


def _unused(path: Path) -> Path:
    """A name in the same folder that no other process uses, and that cannot be guessed. If the
    process is killed, the file with the suffix `PARTIAL` remains."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}{PARTIAL}")


def _created(path: Path, like: Path) -> BinaryIO:
    """A new file to write, with the permissions of the file `like` if it exists, and otherwise the
    default permissions. No link is followed, also not for the permissions."""
    try:
        found = os.lstat(like).st_mode
    except OSError:
        found = 0
    mode = stat.S_IMODE(found) & 0o777 if stat.S_ISREG(found) else None

    def opener(name: str, flags: int) -> int:
        descriptor = os.open(name, flags | os.O_NOFOLLOW, 0o666 if mode is None else mode)
        if mode is not None:
            os.fchmod(descriptor, mode)
        return descriptor

    return open(path, "xb", opener=opener)


def printable(text: str) -> str:
    """A text with escapes instead of characters that control a terminal, for messages that quote
    files."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def previous(path: PathLike) -> Path:
    """The name of the file that `replace` keeps."""
    path = Path(path)
    return path.with_name(path.name + ".previous")


def _keep(path: Path) -> None:
    """Give a file a second name, which remains when the first name is given to another file. The
    first name exists at every moment. A file system without hard links gets a copy."""
    link = _unused(previous(path))
    try:
        try:
            os.link(path, link)
        except OSError:
            with open(path, "rb") as old, _created(link, like=path) as copy:
                shutil.copyfileobj(old, copy)
                copy.flush()
                os.fsync(copy.fileno())
        os.replace(link, previous(path))
    finally:  # the link remains after an error, or if both names were of one file already
        with contextlib.suppress(OSError):
            os.unlink(link)


def remove(*paths: Path) -> None:
    """Remove those files of one folder that exist; a power cut does not bring them back."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    sync_folder(paths[0].parent)


def make_folder(path: PathLike) -> None:
    """Make a folder and its parents unless they exist, and make them durable."""
    path = Path(path)
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if not path.is_dir():
        os.makedirs(path, exist_ok=True)
    for folder in missing:
        sync_folder(folder.parent)


def sync(path: PathLike) -> None:
    """Wait until the contents of a file are on the disk, also if another program wrote them."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    finally:
        os.close(descriptor)


def sync_folder(path: PathLike) -> None:
    """Wait until the names in a folder are on the disk."""
    try:
        sync(path)
    except OSError as error:
        # Some network file systems sync names by themselves and refuse the call.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
