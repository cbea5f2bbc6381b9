# SPDX-License-Identifier: BSD-3-Clause
"""Packages that manymove uses only where they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Names of distributions that differ from the names of their modules.
_DISTRIBUTIONS = {"freud": "freud-analysis"}


def how_to_install(module: str) -> str:
    """The command that installs a package."""
    return f"pip install {_DISTRIBUTIONS.get(module, module)}"


def need(module: str, user: str) -> Any:
    """Import a package that manymove does not require.

    Args:
        module: name of the package.
        user: what needs the package, the subject of the error's sentence.

    Returns:
        the module.

    Raises:
        ImportError: the package is not installed. The message has the command that installs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise ImportError(f"{user} needs {module}: {how_to_install(module)}") from error
