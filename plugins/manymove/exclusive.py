# SPDX-License-Identifier: BSD-3-Clause
"""Exclusive use of an engine by one thread of one process at a time."""

from __future__ import annotations

import os
import threading
from typing import Any


class Exclusive:
    """An engine that refuses to be used by two threads at a time, and by a forked process.

    It has the attributes and methods of the engine. A forked process has no copy of the threads and
    of the GPU memory of an engine, and would wait for them without end.

    Args:
        engine: engine of the core, or one with its interface.
        name: name of the class in messages.
    """

    def __init__(self, engine: Any, name: str) -> None:
        self._engine = engine
        self._name = name
        self._process = os.getpid()
        self._lock = threading.RLock()

    def __enter__(self) -> Any:
        """Begin a context in which no other thread can use the engine.

        Raises:
            RuntimeError: another thread uses the engine, or this process was forked.
        """
        self._check_process()
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                f"this {self._name} is in use by another thread: wait until its call ends, or make "
                "an object for each thread"
            )
        return self._engine

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    @property
    def bare(self) -> Any:
        """The engine itself, for adaptors to host programs."""
        self._check_process()
        return self._engine

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this {self._name} belongs to the process that made it, and fork() does not copy "
                "its threads: make or load an object in each process, or use the start method "
                '"spawn" of multiprocessing'
            )

    def __getattr__(self, name: str) -> Any:
        with self as engine:
            value = getattr(engine, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **named: Any) -> Any:
            with self:
                return value(*arguments, **named)

        return call
