# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of the classes from one flat dictionary, in which tests combine and vary settings."""

from __future__ import annotations

from typing import Any

from manymove import ConstantPressure, Grid, Mixture, Ranks, Start, Swaps

_GROUPS = {
    "pressure": (ConstantPressure, "volume_", ("pressure", "mode", "delta", "repeats", "every")),
    "swaps": (Swaps, "swap_", ("rounds", "range", "every")),
    "grid": (Grid, "", ("moves_per_cell", "rounds", "tile", "cell_width")),
    "start": (Start, "", ("first_cycle", "repair_depth")),
    "comm": (Ranks, "", ("comm", "timeout")),
    "diameter": (Mixture, "", ("types", "contacts")),
}


def of_hard_particles(**flat: Any) -> dict[str, Any]:
    """The arguments of `HardDisks` and `HardSpheres`."""
    found = dict(flat)
    if "diameters" in found:
        found["diameter"] = found.pop("diameters")
    for name, (group, prefix, parameters) in _GROUPS.items():
        given = {
            parameter: found.pop(key)
            for parameter in parameters
            if (key := parameter if parameter == name else f"{prefix}{parameter}") in found
        }
        if given:
            found[name] = given[name] if given.keys() == {name} else group(**given)
    return found
