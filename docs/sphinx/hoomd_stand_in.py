"""A stand-in for HOOMD-blue, which no package registry has: enough of it to import our classes.

The classes of the component are imported from hoomd_ext/src.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import manymove.analysis.pressure

MODULES = (
    "hoomd",
    "hoomd.custom",
    "hoomd.data",
    "hoomd.data.parameterdicts",
    "hoomd.data.syncedlist",
    "hoomd.data.typeconverter",
    "hoomd.data.typeparam",
    "hoomd.error",
    "hoomd.operation",
    "hoomd.tune",
    "hoomd.update",
    "hoomd.variant",
    "hoomd.version",
)
COMPONENT = Path(__file__).resolve().parents[2] / "hoomd_ext/src"


@cache
def stand_in(name: str) -> type:
    """A stand-in for the class of HOOMD-blue with this name."""
    if name.startswith("_"):
        raise AttributeError(name)
    return type(name, (), {"__init__": lambda self, *_, **__: None, "__module__": "hoomd"})


def log(function: Callable | None = None, category: str = "scalar", **_: Any) -> Any:
    """hoomd.logging.log: makes a loggable property, which the documentation says."""
    if function is None:
        return lambda function: log(function, category)
    text = inspect.cleandoc(function.__doc__)
    function.__doc__ = f"{text}\n\nLoggable: {category}."
    return property(function)


def module(name: str, **contents: Any) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(contents)
    made.__path__ = []
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)
    return made


def setup(app: Sphinx) -> dict[str, bool]:
    for name in MODULES:
        module(name, __getattr__=stand_in)
    module("hoomd.logging", log=log)
    from manymove import attributes
    from manymove.hoomd import hpmc, moves

    shared = {"attributes": attributes, "hpmc": hpmc, "moves": moves}
    component = module(
        "hoomd.manymove", pressure=manymove.analysis.pressure, _manymove=None, **shared
    )
    component.__path__ = [str(COMPONENT)]
    from hoomd.manymove import compute, dpd, hard_disks, hard_spheres, tune, update

    component.HardDisks, component.HardSpheres = hard_disks.HardDisks, hard_spheres.HardSpheres
    component.DPD = dpd.DPD
    component.compute, component.tune, component.update = compute, tune, update
    for integrator in (component.DPD, component.HardDisks, component.HardSpheres):
        integrator.__module__ = "hoomd.manymove"
    return {"parallel_read_safe": True}
