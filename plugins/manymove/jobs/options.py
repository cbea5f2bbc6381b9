# SPDX-License-Identifier: BSD-3-Clause
"""The options of a command in files and errors of its run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from manymove.jobs.errors import text_of

OPTIONS_FILE = "options.json"  # in the output folder, for --resume


@contextmanager
def of_option(option: str, containing: str = "") -> Iterator[None]:
    """A context in which errors of files name the option. With `containing` only errors are changed
    whose message contains this text."""
    try:
        yield
    except (OSError, ValueError) as error:
        if containing not in str(error):
            raise
        name, text = option[2:].replace("-", "_"), text_of(error)
        own = text.startswith((f"{name} must ", f"{name} needs "))
        text = text.removeprefix(name) if own else f": {text}"
        raise ValueError(f"{option}{text}") from error


def refuse_shorter(option: str, asked: int, made: float, output: Path) -> None:
    """Refuse a --resume of a run that is longer than the one asked for."""
    if made > asked:
        raise ValueError(
            f"{option} is {asked}, but the run in {output} has made {made:.7g} {option[2:]} "
            "already: --resume needs at least as many"
        )
