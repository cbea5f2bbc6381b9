# SPDX-License-Identifier: BSD-3-Clause
"""Files that survive a kill, a full disk and a power cut.

A file is written under another name, synced, and renamed; then its folder is synced. A rename is
atomic, and syncing the folder makes it durable. Therefore the name always refers to a complete
file, the old one or the new one. Python repeats calls that a signal has interrupted (PEP 475).
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PathLike = str | os.PathLike[str]


@contextmanager
def replace(path: PathLike, *, keep_previous: bool = False) -> Iterator[BinaryIO]:
    """A new file, which gets the name when the block ends and is then durable.

    If the block or a system call fails, the old file stays and the new one is removed.

    Args:
        path: of the file.
        keep_previous: keep the old file under the name that `previous` gives.

    Raises:
        OSError: the file cannot be written; the error names it.
    """
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb") as file:
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


def previous(path: PathLike) -> Path:
    """The name of the file that `replace` keeps."""
    path = Path(path)
    return path.with_name(path.name + ".previous")


def _keep(path: Path) -> None:
    """Give a file a second name, which remains when the first name is given to another file. The
    first name exists at every moment. A file system without hard links gets a copy."""
    link = path.with_name(path.name + ".link")
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(link)
        try:
            os.link(path, link)
        except OSError:
            with open(path, "rb") as old, open(link, "wb") as copy:
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
