"""Published pressures of hard disks, shipped with the package (data/hard_disks.json)."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published() -> dict[str, Any]:
    """Table 2 of Anderson et al., J. Comput. Phys. 254, 27 (2013), with its citation."""
    return json.loads(files("manymove").joinpath("data/hard_disks.json").read_text())


def published_pressure(N: int, packing_fraction: float) -> tuple[float, float] | None:
    """P* and its standard error by MPMC in the paper, or None where the paper has no such run."""
    table = published()
    row = table["MPMC"].get(str(N))
    for column, fraction in enumerate(table["packing_fractions"]):
        if row is not None and abs(fraction - packing_fraction) < 1e-6:
            return tuple(row[column])
    return None
