# SPDX-License-Identifier: BSD-3-Clause
"""Variants for the tests of `benchmarks.simultaneous.Processes`, which new processes import."""

from __future__ import annotations

import os
import time
from pathlib import Path

from manymove.bench.harness import Variant


def recorded(folder: Path, process: int) -> list[Variant]:
    """Two variants with one trial move per sweep, of which the second accepts each.

    Each call, and the making of the variants, adds its beginning and its end to a file of the
    process in this folder.
    """

    def record(what: str, began: float) -> None:
        with (folder / f"{what}.{process}").open("a") as file:
            file.write(f"{began} {time.monotonic()}\n")

    def run(name: str, accepts: bool, sweeps: int) -> tuple[int, int]:
        began = time.monotonic()
        time.sleep(0.005)
        record(name, began)
        return sweeps, sweeps * accepts

    began = time.monotonic()
    time.sleep(0.05)
    record("make", began)
    return [
        Variant(name, lambda sweeps, n=name, a=accepts: run(n, a, sweeps), {"process": process})
        for name, accepts in (("none", False), ("all", True))
    ]


def wrong(process: int) -> list[Variant]:
    """An error in the second process."""
    if process == 1:
        raise ValueError("no such system")
    return []


def lost(process: int) -> list[Variant]:
    """A second process that ends without a word when it runs."""
    return [Variant("lost", lambda sweeps: os._exit(3) if process == 1 else (1, 1), {})]


def failing(process: int) -> list[Variant]:
    """A second process whose run fails."""
    return [Variant("failing", lambda sweeps: (1 // (1 - process), 1), {})]


def of_environment(process: int) -> list[Variant]:
    """A variant whose name is an environment variable."""
    return [Variant(os.environ["OF_THE_PROCESSES"], lambda sweeps: (1, 1), {})]
