# SPDX-License-Identifier: BSD-3-Clause
"""Former names, which work in version 0.1 with a DeprecationWarning."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MODULES = {
    "manymove.adsorbates": "manymove.adsorption.adsorbates",
    "manymove.adsorption_fill": "manymove.adsorption.occupancy",
    "manymove.averages": "manymove.adsorption.averages",
    "manymove.dpd.fluid": "manymove.dpd",
    "manymove.frameworks": "manymove.adsorption.frameworks",
    "manymove.harddisk": "manymove.hard_particles",
    "manymove.ions": "manymove.analysis.ions",
    "manymove.packing": "manymove.hard_particles.packing",
    "manymove.pair_correlations": "manymove.analysis.pair_correlations",
    "manymove.plots": "manymove.hard_particles.plots",
    "manymove.ranks": "manymove.jobs.ranks",
    "manymove.replicas": "manymove.jobs.world",
    "manymove.report": "manymove.jobs.report",
    "manymove.tuning": "manymove.hard_particles.tuning",
}

ATTRIBUTES = {
    "manymove.dpd.Fluid": "manymove.dpd.replica.Settings",
    "manymove.dpd.deck": "manymove.dpd.replica.deck",
    "manymove.dpd.Model": "manymove.dpd.model.Model",
    "manymove.dpd.run": "manymove.dpd.job.run",
    "manymove.dpd.table": "manymove.dpd.job.table",
    "manymove.hoomd.HardDisks": "manymove.hoomd.HardDisksUpdater",
}


def warn(old: str, new: str, depth: int) -> None:
    """Warn of the new name of an object, `depth` calls above this one."""
    warnings.warn(
        f"{old} has been renamed to {new}; the old name will be removed in the next release",
        DeprecationWarning,
        stacklevel=depth + 1,
    )


class Attribute:
    """The old name of an attribute, in a class that has it under a new one."""

    def __init__(self, new: str) -> None:
        self._new = new

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._old = owner.__name__, name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        warn(f"{self._owner}.{self._old}", self._new, 2)
        return getattr(instance, self._new)


class _Finder(MetaPathFinder, Loader):
    """The finder of modules in `MODULES` at their new places."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        warn(name, MODULES[name], 2)
        sys.modules[name] = importlib.import_module(MODULES[name])


def names_of(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose modules have moved, or whose names have changed."""

    def find(name: str) -> Any:
        old = f"{package}.{name}"
        if old in MODULES:
            warn(old, MODULES[old], 2)
            return importlib.import_module(MODULES[old])
        if old in ATTRIBUTES:
            warn(old, ATTRIBUTES[old], 2)
            module, _, new = ATTRIBUTES[old].rpartition(".")
            return getattr(importlib.import_module(module), new)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


sys.meta_path.append(_Finder())
