# SPDX-License-Identifier: BSD-3-Clause
"""The options of a command, as files and errors of its run name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

OPTIONS_FILE = "options.json"  # in the output folder, for --resume


@contextmanager
def of_option(option: str, containing: str = "") -> Iterator[None]:
    """Inside, errors of files name the option; with `containing` those whose message has it."""
    try:
        yield
    except (OSError, ValueError) as error:
        if containing not in str(error):
            raise
        raise ValueError(f"{option}: {error}") from error
