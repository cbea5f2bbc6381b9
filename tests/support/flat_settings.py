# SPDX-License-Identifier: BSD-3-Clause
"""Arguments of the classes from one flat dictionary, in which tests combine and vary settings."""

from __future__ import annotations

from typing import Any

from manymove import (
    Brush,
    ConstantPressure,
    Displacements,
    Ewald,
    GrandCanonical,
    Grid,
    Mixture,
    Ranks,
    Sphere,
    Start,
    Swaps,
)
from manymove.adsorption.input import arguments_of

# The argument of the class, its group, and the beginning of the flat names of the other parameters.
_GROUPS = {
    "pressure": (ConstantPressure, "volume_"),
    "swaps": (Swaps, "swap_"),
    "fugacity": (GrandCanonical, "insertion_"),
    "grid": (Grid, ""),
    "start": (Start, ""),
    "comm": (Ranks, ""),
    "diameter": (Mixture, ""),
}


def of_hard_particles(**flat: Any) -> dict[str, Any]:
    """The arguments of `HardDisks` and `HardSpheres`."""
    found = dict(flat)
    if "diameters" in found:
        found["diameter"] = found.pop("diameters")
    for name, (group, prefix) in _GROUPS.items():
        given = {
            parameter: found.pop(key)
            for parameter in group.declared
            if (key := parameter if parameter == name else f"{prefix}{parameter}") in found
        }
        if given:
            found[name] = given[name] if given.keys() == {name} else group(**given)
    return found


def of_electrolytes(**flat: Any) -> dict[str, Any]:
    """The arguments of `Electrolyte`."""
    found = dict(flat)
    if (radius := found.pop("radius", None)) is not None:
        found["box"] = Sphere(radius)
    around = {name: found.pop(name) for name in ("surrounding", "images") if name in found}
    if around:
        found["boundary"] = Ewald(**around)
    if "short_displacement" in found:
        found["max_displacement"] = Displacements(
            found.pop("short_displacement"),
            found.pop("short_fraction"),
            found.pop("max_displacement", None),
        )
    if "threads_per_particle" in found:
        found["method"] = Brush(found.pop("threads_per_particle"))
    return found


def of_adsorption(**flat: Any) -> dict[str, Any]:
    """The arguments of `Adsorption`; the box of molecules without a framework is `box`."""
    if "box" in flat:
        flat["framework"] = flat.pop("box")
    return arguments_of(flat)
