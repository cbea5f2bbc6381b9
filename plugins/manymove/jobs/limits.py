# SPDX-License-Identifier: BSD-3-Clause
"""Estimates of memory and time before a run starts. Runs that are too large are refused."""

from __future__ import annotations

import os
from pathlib import Path

from manymove import _core
from manymove.devices import on_gpu, usable_cores
from manymove.jobs.world import launched_size

YEAR = 3.2e7  # seconds; a run that is estimated to take longer is refused
# Units of work per second on a core of a CPU and on a GPU, several times the measured speeds.
RATES = {
    "trial moves": (5e7, 3e11),
    "pair terms": (5e9, 5e12),
    "trial states": (2e7, 1e11),
    "particle-steps": (5e6, 2e10),
}


def refuse(options: str, memory: float, work: float, unit: str, device: str) -> None:
    """Refuse a run that does not fit into memory or takes more than a year.

    Args:
        options: options that determine the size, with their values.
        memory: minimum memory of all processes in bytes.
        work: work of the whole run.
        unit: unit of the work, a key of `RATES`.
        device: device of the run.

    Raises:
        ValueError: the run is too large; the message has the estimate.
    """
    size = launched_size()
    have = memory_of_this_machine()
    if memory > have * size:
        raise ValueError(
            f"{options}: this takes about {_bytes(memory)} of memory, and there are {_bytes(have)}"
        )
    gpus = 0 if device == "cpu" else len(_core.cuda_devices())
    core, gpu = RATES[unit]
    seconds = work / size / (gpu * gpus if gpus else core * len(usable_cores()))
    if seconds > YEAR:
        raise ValueError(
            f"{options}: {work:.2g} {unit} take about {seconds / YEAR:.2g} years here at best"
        )


def memory_of_this_machine() -> float:
    """Bytes of main memory that this process may use."""
    limits = [float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")]
    try:
        limits.append(float(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no control groups, or no limit ("max")
        pass
    return min(limits)


def memory_of(device: str) -> float:
    """Bytes of main memory that this process may use, or of the memory of a GPU if it has less."""
    gpus = _core.cuda_devices() if on_gpu(device) else []
    index = device.partition(":")[2] or "0"
    # The engine refuses a GPU that does not exist.
    of_gpu = [float(gpu["memory"]) for i, gpu in enumerate(gpus) if str(i) == index]
    return min([memory_of_this_machine(), *of_gpu])


def _bytes(count: float) -> str:
    exponent = 4 if count >= 1e12 else 3 if count >= 1e9 else 2
    return f"{count / 1000**exponent:.3g} {' kMGT'[exponent]}B"
