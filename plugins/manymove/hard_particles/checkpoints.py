# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of hard disks, which one rank reads for all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from manymove import arguments, checkpoint


def read_checkpoint(
    path: checkpoint.PathLike, kind: str
) -> tuple[dict[str, Any], int, dict[str, Any], dict[str, float]]:
    """The snapshot, the number of disks, the parameters and the progress of the run.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a checkpoint of this kind, or it is damaged.
    """
    header, arrays = checkpoint.read(path, kind, {"cells": np.float32, "ids": np.int32})
    with checkpoint.refused(path, kind):
        state: dict[str, Any] = {
            **arrays,
            "counters": tuple(header["counters"]),
            "origin": tuple(header["origin"]),
        }
        particles = arguments.count("particles", header["particles"])
        parameters = header["parameters"]
        parameters["box"] = tuple(parameters["box"])
        run = {key: float(header[key]) for key in ("goal", "per_cycle", "last_cycle")}
        for key, value in run.items():
            if not 0 <= value < math.inf:
                raise ValueError(f"{key} is {value}")
    return state, particles, parameters, run
