# SPDX-License-Identifier: BSD-3-Clause
"""Warnings that a job collects. `warnings.catch_warnings` acts on all threads of the process, so
that jobs in several threads cannot use it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOUND: ContextVar[list[str] | None] = ContextVar("warnings", default=None)


def warn(text: str, stacklevel: int = 2) -> None:
    """Give a warning, or add it to those that are collected.

    Args:
        text: the message.
        stacklevel: as for `warnings.warn`.
    """
    found = _FOUND.get()
    if found is None:
        warnings.warn(text, stacklevel=stacklevel + 1)
    elif text not in found:
        found.append(text)


@contextmanager
def collected() -> Iterator[list[str]]:
    """A context in which the warnings of the calling thread, and of the threads of a team that it
    starts, are collected and not shown. Each message is collected once."""
    found: list[str] = []
    token = _FOUND.set(found)
    try:
        yield found
    finally:
        _FOUND.reset(token)
