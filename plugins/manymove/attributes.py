# SPDX-License-Identifier: BSD-3-Clause
"""Assignments to attributes of an object, which take effect or are refused with a valid name.

The component for HOOMD-blue has a copy of this file.
"""

from __future__ import annotations

import copy
import difflib
import inspect
from collections.abc import Iterable
from typing import Any, NoReturn

_MISSING = object()


class CheckedAttributes:
    """A class whose public attributes can be assigned only if that has an effect: properties with a
    setter, and attributes with a plain value in the class body. Names that start with an underscore
    are free."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            check(self, name)
        super().__setattr__(name, value)


class Uncopied:
    """A class whose objects own threads and engines, which `copy` and `pickle` cannot reproduce."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"{name} objects cannot be copied or pickled: use save() and load()")


class ReadOnly(dict[str, Any]):
    """A copy of a setting that is a dictionary. Its items cannot be assigned, because that would
    not change the setting."""

    def __init__(self, name: str, items: dict[str, Any]) -> None:
        super().__init__(
            (key, ReadOnly(name, each) if isinstance(each, dict) else each)
            for key, each in items.items()
        )
        self._name = name

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            f"items of {self._name} cannot be assigned: assign a whole dictionary to {self._name}"
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnly, (self._name, dict(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        """A dictionary that can be changed, and then be assigned."""
        return {key: copy.deepcopy(each, memo) for key, each in self.items()}


def check(owner: Any, name: str, settings: Iterable[str] = ()) -> None:
    """Check that assignment to a public attribute of an object has an effect.

    Args:
        owner: the object.
        name: name of the attribute.
        settings: names that can be assigned and are not attributes of the class.

    Raises:
        AttributeError: the attribute does not exist, or it is fixed, a result or a method.
    """
    if name.startswith("_") or name in settings:
        return
    kind = type(owner)
    found = next((part.__dict__[name] for part in kind.__mro__ if name in part.__dict__), _MISSING)
    if isinstance(found, property):
        if found.fset is not None:
            return
    elif hasattr(found, "__set__") or (found is not _MISSING and not hasattr(found, "__get__")):
        return
    arguments = _arguments(kind)
    what = f"{kind.__name__}.{name}"
    if hasattr(kind, f"set_{name}"):
        raise AttributeError(f"{what} cannot be assigned: call set_{name}()")
    if (short := name.removeprefix("default_")) != name and short in settings:
        raise AttributeError(f"{what} is fixed: assign {short}")
    if name in arguments:
        raise AttributeError(f"{what} is fixed: give {name} when the object is created")
    if found is not _MISSING:
        raise AttributeError(
            f"{what} is a method and cannot be assigned"
            if inspect.isroutine(found)
            else f"{what} is a result and cannot be assigned"
        )
    public = {each for each in dir(kind) if not each.startswith("_")}
    known = sorted(public | arguments | set(settings))
    near = [each for each in known if each.startswith(name)]
    near = near or difflib.get_close_matches(name, known, 1)
    hint = f"; the nearest name is {near[0]}" if near else ""
    raise AttributeError(f"{kind.__name__} has no attribute {name}{hint}")


def _arguments(kind: type) -> set[str]:
    """Names of the arguments of a class."""
    every = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {each.name for each in every if each.kind in kinds} - {"self"}
