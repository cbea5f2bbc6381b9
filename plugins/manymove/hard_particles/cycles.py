# SPDX-License-Identifier: BSD-3-Clause
"""The number of sweeps in a cycle of hard particles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

# Sites in the volume d^D of the lattice gas that estimates how many cells are occupied. With these
# numbers the estimate is right to 1 % for equal disks and to 7 % for spheres and mixtures
# (docs/theory/hard_disks.md, section 7).
_SITES = {2: 1.05, 3: 1.2}


def expected_sweeps(
    grid: Mapping[str, Any], box: Sequence[float], diameter: float, particles: int
) -> float:
    """Number of sweeps in a cycle on a grid of the core, whatever the positions are.

    A cell is empty if all its sites are, and sites are taken as in a lattice gas. The result is
    rounded, so that it does not depend on the rounding of a mathematical library.
    """
    D, cells = len(box), math.prod(grid["cells"])
    active = math.prod(c - t for c, t in zip(grid["cells"], grid["tiles"], strict=True))
    sites = _SITES[D] * math.prod(box) / diameter**D
    empty = max(0.0, 1 - particles / sites) ** (sites / cells)
    moves = active * (1 - empty) * grid["rounds"] * grid["moves_per_cell"]
    return float(f"{moves / particles:.6g}")
