# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints of adsorbates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manymove import checkpoint
from manymove.adsorption.frameworks import Framework
from manymove.adsorption.rigid import framework_of, restored

_ALWAYS = {
    "sites": np.uint32,
    "counts": np.int32,
    "energies": np.float64,
    "sums": np.float64,
    "profile": np.uint64,
    "comparison": np.float64,
}
_OF_RIGID = {"orientations": np.float64, "waves": np.float64, "shapes": np.float64}
# Sums contain squares of energies, which must stay finite.
_LARGEST = {"energies": 1e100, "sums": 1e250, "waves": 1e100}
ARRAYS = (*_ALWAYS, *_OF_RIGID)  # of a checkpoint; the last are optional
MOLECULES = ("sites", "counts", "energies", *_OF_RIGID)  # those of the present configuration


class Contents(NamedTuple):
    """Contents of a checkpoint.

    Attributes:
        state: snapshot of the engine.
        framework, parameters, about, adapted_at: attributes of `manymove.Adsorption`.
        comparison, sums: header and sums of the comparison of loadings.
        settings: encoded arguments of the class; None in an earlier version.
    """

    state: dict[str, Any]
    framework: Framework
    parameters: dict[str, Any]
    about: dict[str, Any]
    adapted_at: tuple[int, int]
    comparison: dict[str, Any]
    sums: np.ndarray
    settings: Any


def read_checkpoint(path: checkpoint.PathLike, kind: str) -> Contents:
    """The contents of a checkpoint.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a checkpoint of this kind, or it is damaged.
    """
    header, arrays = checkpoint.read(path, kind, _ALWAYS, _OF_RIGID)
    with checkpoint.refused(path, kind):
        for name, most in _LARGEST.items():
            if not (np.abs(arrays.get(name, 0.0)) < most).all():
                raise ValueError(f"one of the {name} is not finite, or larger than {most:g}")
        sums = arrays.pop("comparison")
        if lacking := header.get("lacks"):
            raise ValueError(
                f"its averages lack {', '.join(lacking)}, because an earlier version began them: "
                "start the run again"
            )
        state: dict[str, Any] = dict(arrays)
        state["counters"] = tuple(header["counters"])
        state["max_displacement"] = float(header["max_displacement"])
        accepted, moves = (int(n) for n in header["adapted_at"])
        parameters, about = header["parameters"], header["about"]
        for name in ("cell", "cells", "grid", "direction"):
            parameters[name] = tuple(parameters[name])
        parameters["pairs"] = [tuple(law) for law in parameters["pairs"]]
        for species in parameters["species"]:
            species["with_framework"] = [tuple(law) for law in species["with_framework"]]
        tilt = (0.0, 0.0, 0.0)
        if "rigid" in parameters:
            parameters["rigid"] = restored(parameters["rigid"])
            tilt = parameters["rigid"]["tilt"]
        framework = framework_of(
            about["framework"],
            parameters["cell"],
            np.array(parameters["fractional"]).reshape(-1, 3),
            tuple(header["elements"]),
            float(header["mass"]),
            tilt,
        )
        comparison, settings = header["comparison"], header.get("settings")
    return Contents(
        state, framework, parameters, about, (accepted, moves), comparison, sums, settings
    )
