"""Devices: what they are called, and how many threads a CPU engine gets."""

from __future__ import annotations

import os
import re
from typing import Any

from manymove import _core
from manymove.arguments import count


def usable_cores() -> frozenset[int]:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def thread_count(threads: int | None) -> int:
    """Number of threads of a CPU engine (default: all cores)."""
    return len(usable_cores()) if threads is None else count("threads", threads)


def on_gpu(device: str) -> bool:
    """Whether "auto", "cpu" or "cuda..." is a GPU here."""
    return device.startswith("cuda") or (device == "auto" and bool(_core.cuda_devices()))


def resolve(device: Any, several: bool = False) -> str:
    """The device as engines want it: "cpu" or "cuda:<index>".

    Args:
        device: "auto" (the first GPU if there is one), "cpu", "cuda" or "cuda:<index>".
        several: "cuda:<index>,<index>..." is one, too.

    Raises:
        TypeError: it is no string.
        ValueError: it is none of these. Whether there is such a GPU is for the engine to say.
    """
    if not isinstance(device, str):
        raise TypeError(f"device must be a string, got {device!r}")
    if device == "auto":
        return "cuda:0" if on_gpu(device) else "cpu"
    if device == "cuda":
        return "cuda:0"
    if not re.fullmatch("cpu|cuda:[0-9]{1,3}" + several * "(,[0-9]{1,3})*", device):
        known = '"auto", "cpu", "cuda" or "cuda:<index>"' + several * ' (several: "cuda:0,1")'
        raise ValueError(f'unknown device "{device}": expected {known}')
    return device


def device_name(device: str, threads: int) -> str:
    """The GPU's name (with their number, if several), or the CPU's SIMD level and the number of
    threads.

    Args:
        device: "cpu", "cuda:<index>" or "cuda:<index>,<index>...".
        threads: of the CPU engine.
    """
    if device == "cpu":
        return f"CPU ({_core.simd_level()}, {threads} thread{'s' if threads > 1 else ''})"
    used = device.removeprefix("cuda:").split(",")
    name = _core.cuda_devices()[int(used[0])]["name"]
    return name if len(set(used)) == 1 else f"{len(set(used))} x {name}"


def first_index(device: str) -> int:
    """Index of the (first) GPU of "cuda:<index>" or "cuda:<index>,<index>..."; -1 for "cpu"."""
    return -1 if device == "cpu" else int(device.removeprefix("cuda:").partition(",")[0])
