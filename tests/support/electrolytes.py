"""Small electrolytes that the tests share."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from flat_settings import of_electrolytes

from manymove import Electrolyte, Sphere
from manymove.analysis.ions import Salt

DILUTE = {"bjerrum_length": 7.117}


def trivalent(ions: int = 512, seed: int = 3, **options: Any) -> Electrolyte:
    """The 3:-1 salt of the paper at its density."""
    salt = Salt.of(ions, (3, -1), (7.5, 7.5))
    volume = ions / salt.density(28.53, 7.117)
    if options.pop("periodic", False):
        options["box"] = 3 * (volume ** (1 / 3),)
    else:
        options["box"] = Sphere((3 * volume / (4 * math.pi)) ** (1 / 3))
    return Electrolyte.random(salt, seed=seed, **of_electrolytes(**options))


def dense(ions: int = 400, **options: Any) -> Electrolyte:
    """Unequal sizes and valences at a packing fraction of 0.25, in a sphere."""
    salt = Salt.of(ions, (2, -2), (6.0, 4.0))
    volume = ions * math.pi / 6 * (6**3 + 4**3) / 2 / 0.25
    radius = (3 * volume / (4 * math.pi)) ** (1 / 3)
    return Electrolyte.random(salt, box=Sphere(radius), seed=5, bjerrum_length=7.0, **options)


def pair_energy(
    positions: np.ndarray, valences: np.ndarray, bjerrum: float, box: Any = None
) -> float:
    """Energy in kT by brute force."""
    total = 0.0
    for i, j in itertools.combinations(range(len(positions)), 2):
        d = positions[i] - positions[j]
        if box is not None:
            d -= np.rint(d / np.array(box)) * np.array(box)
        total += valences[i] * valences[j] / math.sqrt((d**2).sum())
    return bjerrum * total
