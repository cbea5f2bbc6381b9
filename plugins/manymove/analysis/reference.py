"""Published pressures of hard disks: a table (data/hard_disks.json) and the virial series."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from manymove.analysis.notation import Estimate

# B_n / B_2^(n-1) from n = 1 on: N. Clisby and B. M. McCoy, J. Stat. Phys. 122, 15 (2006), Table 1.
_VIRIAL = (
    1.0, 1.0, 0.782004, 0.53223180, 0.33355604, 0.1988425, 0.1148728, 0.0649930, 0.0362193,
    0.0199537,
)  # fmt: skip
VIRIAL_LIMIT = 0.6  # packing fraction up to which ten coefficients are enough


@cache
def published() -> dict[str, Any]:
    """Table 2 of Anderson et al., J. Comput. Phys. 254, 27 (2013), with its citation."""
    return json.loads(files("manymove").joinpath("data/hard_disks.json").read_text())


def published_pressure(N: int, packing_fraction: float) -> Estimate | None:
    """P* of N hard disks by MPMC in the paper (Table 2), or None where the paper has no such
    run."""
    table = published()
    row = table["MPMC"].get(str(N))
    for column, fraction in enumerate(table["packing_fractions"]):
        if row is not None and abs(fraction - packing_fraction) < 1e-6:
            return Estimate(*row[column])
    return None


def virial_pressure(packing_fraction: float) -> Estimate | None:
    """P* of hard disks by the Pade approximants [4/5] and [5/4] of the virial series, with their
    difference as the error; None beyond a packing fraction of 0.6.

    Source: N. Clisby and B. M. McCoy, J. Stat. Phys. 122, 15 (2006), Table 1.
    """
    if not 0 < packing_fraction <= VIRIAL_LIMIT:
        return None
    one, other = (_pade(numerator, 2 * packing_fraction) for numerator in (4, 5))
    ideal = 4 * packing_fraction / np.pi
    return Estimate(float(ideal * (one + other) / 2), float(max(ideal * abs(one - other), 1e-6)))


def _pade(numerator: int, x: float) -> float:
    """The compressibility factor at x = B_2 rho, from the ratio of two polynomials."""
    order = len(_VIRIAL) - 1
    c, degree = np.array(_VIRIAL), order - numerator
    matrix = [[c[i - j] for j in range(1, degree + 1)] for i in range(numerator + 1, order + 1)]
    below = np.concatenate(([1.0], np.linalg.solve(matrix, -c[numerator + 1 :])))
    above = np.convolve(below, c)[: numerator + 1]
    return float(np.polyval(above[::-1], x) / np.polyval(below[::-1], x))


def literature_pressure(N: int, packing_fraction: float) -> Estimate | None:
    """P*: of the paper, or of the virial series at lower densities."""
    return published_pressure(N, packing_fraction) or virial_pressure(packing_fraction)
