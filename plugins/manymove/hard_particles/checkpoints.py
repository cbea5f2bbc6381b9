# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of hard particles, which one rank reads for all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manymove import arguments, checkpoint
from manymove.hard_particles.profiles import ProfileSampling
from manymove.hard_particles.sampling import PressureSampling, VolumeSampling

# The arrays of a checkpoint: those of equal disks, those of all other particles, the sizes of the
# particles of a mixture, and the samples.
_TYPES = {
    "cells": np.float32,
    "ids": np.int32,
    "places": np.int64,
    "diameters": np.float64,
    "types": np.int32,
    "pinned": np.uint8,
    "field_values": np.float64,
    "field_points": np.float64,
}
_SIZES = {"diameters", "types"}
_BY_PARTICLE = _SIZES | {"pinned", "field_values", "field_points"}
_SAMPLES = PressureSampling.TYPES | VolumeSampling.TYPES | ProfileSampling.TYPES
SAMPLINGS = "pressure_sampling", "volume_sampling", "profile_sampling"
# Switches of earlier versions that left parts of the algorithm out, with the values of the whole
# algorithm.
_ABLATIONS = {"shuffle_particles": True, "shuffle_sets": True, "shift_along_axis": False}


class Contents(NamedTuple):
    """Contents of a checkpoint.

    Attributes:
        state: snapshot of the engine.
        particles: number of particles.
        parameters: parameters of the engine.
        run: progress of the run, and its samples.
        settings: encoded arguments of the class; None in an earlier version.
    """

    state: dict[str, Any]
    particles: int
    parameters: dict[str, Any]
    run: dict[str, Any]
    settings: Any


def read_checkpoint(path: checkpoint.PathLike, kind: str) -> Contents:
    """The contents of a checkpoint.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a checkpoint of this kind, or it is damaged.
    """
    header, arrays = checkpoint.read(path, kind, {}, _TYPES | _SAMPLES)
    with checkpoint.refused(path, kind):
        gibbs = "gibbs" in header["parameters"]
        constant_pressure = gibbs or "beta_pressure" in header["parameters"]
        others = not {"fields", "steps", "fugacities"}.isdisjoint(header["parameters"])
        general = kind == "hard spheres" or constant_pressure or others
        general = general or bool(_BY_PARTICLE & arrays.keys())
        state: dict[str, Any] = {
            **{name: arrays[name] for name in (("places",) if general else ("cells", "ids"))},
            **{name: arrays[name] for name in _BY_PARTICLE & arrays.keys()},
            "counters": tuple(header["counters"]),
            "origin": (*header["origin"], 0)[:3],  # of two dimensions with a third
        }
        if constant_pressure:
            state["volume"] = tuple(header["volume"])
            state["extent"] = tuple(header["extent"])
        if gibbs or "box_weights" in header["parameters"]:
            state["logarithms"] = tuple(header["logarithms"])
            state["box_moves"] = tuple(header["box_moves"])
        if "swaps" in header:
            state["swaps"] = tuple(header["swaps"])
        if "insertions" in header:
            state["insertions"] = tuple(header["insertions"])
        parameters = header["parameters"]
        number = arguments.steps if gibbs or "fugacities" in parameters else arguments.count
        particles = number("particles", header["particles"])
        for name, kept in _ABLATIONS.items():
            if parameters.pop(name, kept) is not kept:
                raise ValueError(
                    f"{name} is {not kept}, an ablation of the algorithm, which only "
                    "examples/papers/mpmc/table_1_engine.py runs"
                )
        parameters["box"] = tuple(parameters["box"])
        keys = ("goal", "sweeps_per_cycle")
        run: dict[str, Any] = {key: float(header[key]) for key in keys if key in header}
        if not 0 <= run["goal"] < 1e300:
            raise ValueError(f"goal is {run['goal']}")
        if not 1e-6 < run.get("sweeps_per_cycle", 1) < 1e9:  # an earlier version did not store it
            raise ValueError(f"sweeps_per_cycle is {run['sweeps_per_cycle']}")
        run["samples"] = {key: header.get(key) for key in SAMPLINGS}
        run["arrays"] = {name: arrays[name] for name in _SAMPLES if name in arrays}
    return Contents(state, particles, parameters, run, header.get("settings"))
