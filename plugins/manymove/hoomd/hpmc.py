# SPDX-License-Identifier: BSD-3-Clause
"""Operations of HPMC, which keep HPMC's integrator after it has been replaced.

The component for HOOMD-blue has a copy of this file.
"""

from __future__ import annotations

from typing import Any

_INSTEAD = {
    "hoomd.hpmc.compute.SDF": "use hoomd.manymove.compute.SDF, or the quantity betaP",
    "hoomd.hpmc.compute.FreeVolume": "use the quantity packing_fraction",
    "hoomd.hpmc.update.BoxMC": "use the setting box_moves",
    "hoomd.hpmc.update.Clusters": "it is not needed",
    "hoomd.hpmc.update.MuVT": "use hoomd.manymove.update.MuVT",
    "hoomd.hpmc.update.QuickCompress": "use hoomd.manymove.update.QuickCompress",
    "hoomd.hpmc.update.Shape": "assign the diameters between runs",
    "hoomd.hpmc.tune.MoveSize": "use hoomd.manymove.tune.MoveSize, or assign d",
    "hoomd.hpmc.tune.BoxMCMoveSize": "assign box_moves",
}


def name(part: Any) -> str | None:
    """The public name of the first class of an object that belongs to HPMC; None without one."""
    for kind in type(part).__mro__:
        if kind.__module__.startswith("hoomd.hpmc."):
            folder = ".".join(kind.__module__.split(".")[:3])
            return f"{folder}.{kind.__name__.removeprefix('_Internal')}"
    return None


def refuse(operations: Any, who: str) -> None:
    """Refuse the operations that belong to HPMC's integrator, unless that is the integrator.

    Raises:
        RuntimeError: there is such an operation; the message names a replacement.
    """
    if operations.integrator is not None and name(operations.integrator):
        return
    for one in operations:
        for part in (one, getattr(one, "_action", None)):
            if (found := name(part)) is not None:
                instead = _INSTEAD.get(found, f"{who} has no replacement for it")
                raise RuntimeError(
                    f"{found} is in simulation.operations, but works with HPMC's integrator only, "
                    f"not with {who}: remove it; {instead}"
                )
