# SPDX-License-Identifier: BSD-3-Clause
"""Published pressures of hard spheres (data/hard_spheres.json), and those of mixtures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from manymove.analysis.notation import Estimate
from manymove.analysis.reference import virial_pressure

CLOSE_PACKED = math.pi / (3 * math.sqrt(2))


@cache
def published() -> dict[str, Any]:
    """The equations of state of the fluid and of the crystals, with their citations."""
    return json.loads(files("manymove").joinpath("data/hard_spheres.json").read_text())


def fluid_factor(packing_fraction: float) -> float:
    """Compressibility factor Z = beta P / rho of the fluid by Kolafa, Labik and Malijevsky."""
    x = packing_fraction / (1 - packing_fraction)
    return sum(c * x**power for power, c in published()["fluid"]["terms"])


def solid_factor(packing_fraction: float, crystal: str = "fcc") -> float:
    """Compressibility factor of the FCC or HCP crystal by Speedy."""
    z = packing_fraction / CLOSE_PACKED
    a, b, c = published()["solid"][crystal]
    return 3 / (1 - z) - a * (z - b) / (z - c)


def literature_pressure(packing_fraction: float, start: str | None) -> Estimate | None:
    """P* = beta P d^3 of equal spheres.

    Args:
        packing_fraction: packing fraction.
        start: start of the run, "random", "fcc", "hcp" or "bcc"; None if it is unknown. Between
            freezing and melting, both phases stay metastable, so that the start determines the
            phase.

    Returns:
        None where the phase is unknown.
    """
    coexistence = published()["coexistence"]
    if packing_fraction < coexistence["freezing"]:
        phase = "fluid"
    elif packing_fraction <= coexistence["melting"]:
        phase = {"random": "fluid", "fcc": "solid", "hcp": "solid"}.get(start or "", "")
    else:
        phase = "solid" if start in (None, "fcc", "hcp") else ""
    limits = published()
    if phase == "fluid" and packing_fraction <= limits["fluid"]["largest"]:
        factor = fluid_factor(packing_fraction)
    elif phase == "solid" and limits["solid"]["smallest"] <= packing_fraction < CLOSE_PACKED:
        factor = solid_factor(packing_fraction, "hcp" if start == "hcp" else "fcc")
    else:
        return None
    pressure = 6 * packing_fraction / math.pi * factor
    return Estimate(pressure, pressure * limits[phase]["relative_error"])


def mixture_pressure(
    packing_fraction: float, diameters: Sequence[float] | np.ndarray, dimensions: int
) -> float | None:
    """P* of an additive mixture, beta P times the mean of d^D, approximately.

    In three dimensions the equation of state of Boublik (J. Chem. Phys. 53, 471, 1970) and of
    Mansoori, Carnahan, Starling and Leland (J. Chem. Phys. 54, 1523, 1971). In two dimensions that
    of Santos, Yuste and Lopez de Haro (Mol. Phys. 96, 1, 1999), with the virial series of equal
    disks.

    Args:
        packing_fraction: packing fraction.
        diameters: diameters of all particles, (N,).
        dimensions: 2 or 3.

    Returns:
        None beyond the range of the virial series of disks.
    """
    d, phi = np.asarray(diameters, dtype=np.float64), packing_fraction
    if dimensions == 2:
        equal = virial_pressure(phi)
        if equal is None:
            return None
        ideal = 4 * phi / math.pi
        alike = float(d.mean() ** 2 / (d**2).mean())
        return ideal * ((1 - alike) / (1 - phi)) + alike * equal.value
    moments = [phi * float((d**k).mean() / (d**3).mean()) for k in range(4)]
    x0, x1, x2, x3 = moments
    free = 1 - x3
    total = x0 / free + 3 * x1 * x2 / free**2 + (3 - x3) * x2**3 / free**3
    return 6 / math.pi * total * float((d**3).mean())
