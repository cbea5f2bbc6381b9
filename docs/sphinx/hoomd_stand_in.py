"""A stand-in for HOOMD-blue, which no package registry has: enough of it to import our classes.

The classes of the component are imported from hoomd_ext/src.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import manymove.analysis.pressure

COMPONENT = Path(__file__).resolve().parents[2] / "hoomd_ext/src"


class Base:
    """Instead of a base class of HOOMD-blue."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        pass


def log(function: Callable | None = None, **_: Any) -> Any:
    """hoomd.logging.log: makes a loggable property."""
    return log if function is None else property(function)


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
    names = ("Action", "Integrator", "CustomTuner", "ScaleSolver", "SecantSolver")
    action, integrator, tuner, scale, secant = (type(name, (Base,), {}) for name in names)
    module("hoomd", Simulation=Base)
    module("hoomd.logging", log=log)
    module("hoomd.custom", Action=action)
    module("hoomd.operation", Integrator=integrator)
    module(
        "hoomd.tune",
        CustomTuner=tuner,
        ManualTuneDefinition=Base,
        ScaleSolver=scale,
        SecantSolver=secant,
    )
    module("hoomd.error", DataAccessError=RuntimeError)
    module("hoomd.data")
    module("hoomd.data.parameterdicts", ParameterDict=Base, TypeParameterDict=Base)
    module("hoomd.data.typeconverter", OnlyTypes=Base)
    module("hoomd.data.typeparam", TypeParameter=Base)
    component = module("hoomd.manymove", pressure=manymove.analysis.pressure, _manymove=None)
    component.__path__ = [str(COMPONENT)]
    from hoomd.manymove import hard_disks, tune

    component.HardDisks = hard_disks.HardDisks
    component.tune = tune
    component.HardDisks.__module__ = "hoomd.manymove"
    return {"parallel_read_safe": True}
