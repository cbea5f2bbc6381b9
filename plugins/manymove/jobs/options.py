# SPDX-License-Identifier: BSD-3-Clause
"""The options of a command in files and errors of its run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import isfunction
from numbers import Integral
from pathlib import Path
from typing import Any, get_type_hints

from manymove.errors import ParameterError
from manymove.jobs.errors import text_of

OPTIONS_FILE = "options.json"  # in the output folder, for --resume


def flag_of(name: str) -> str:
    """The option of an argument."""
    return f"--{name.rstrip('_').replace('_', '-')}"


@cache
def _checks_of(kind: type) -> dict[str, list[Callable[[str, Any], object]]]:
    annotations = get_type_hints(kind, include_extras=True)
    checks = {name: getattr(each, "__metadata__", ()) for name, each in annotations.items()}
    return {name: [*filter(isfunction, found)] for name, found in checks.items()}


def check_declared(settings: object) -> None:
    """Check the values of a settings class as its fields declare.

    Raises:
        TypeError, ValueError: a value is wrong; the message names its option.
    """
    for name, checks in _checks_of(type(settings)).items():  # type: ignore[arg-type]
        if (value := getattr(settings, name)) is not None:
            for check in checks:
                check(flag_of(name), value)


def least(count: int) -> Callable[[str, Any], None]:
    """A check that an integer is not smaller."""

    def check(option: str, value: int) -> None:
        if not isinstance(value, Integral):
            raise TypeError(f"{option} is {value!r}; it must be an integer")
        if value < count:
            raise ValueError(f"{option} is {value}; it must be at least {count}")

    return check


def positive(option: str, value: float) -> None:
    """Check that a number is positive and finite."""
    if not 0 < value < math.inf:
        raise ValueError(f"{option} is {value}; it must be positive and finite")


def not_negative(option: str, value: float) -> None:
    """Check that a number is not negative."""
    if not value >= 0:
        raise ValueError(f"{option} is {value}; it must not be negative")


def one_of(*words: str) -> Callable[[str, Any], None]:
    """A check that a value is one of these words."""

    def check(option: str, value: str) -> None:
        if value not in words:
            wanted = f"{', '.join(words[:-1])} or {words[-1]}"
            raise ValueError(f"{option} is {value}; it must be {wanted}")

    return check


@contextmanager
def of_option(option: str, parameter: str | None = None) -> Iterator[None]:
    """A context in which errors name the option, also instead of the parameter (default the one
    with its name)."""
    try:
        yield
    except (OSError, ValueError) as error:
        name = parameter or option[2:].replace("-", "_")
        if isinstance(error, ParameterError) and name in error.parameters:
            raise ValueError(error.with_names({name: option})) from error
        raise ValueError(f"{option}: {text_of(error)}") from error


def refuse_shorter(option: str, asked: int, made: float, output: Path) -> None:
    """Refuse a --resume of a run that is longer than the one asked for."""
    if made > asked:
        raise ValueError(
            f"{option} is {asked}, but the run in {output} has made {made:.7g} {option[2:]} "
            "already: --resume needs at least as many"
        )
