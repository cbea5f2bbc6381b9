# SPDX-License-Identifier: BSD-3-Clause
"""Runs without pictures, which take longer than the runs of most tests, and pictures of tests."""

from __future__ import annotations

import os
from typing import Any

import pytest
from commands import CLEAN
from documents import SUPPORT

from manymove.jobs import figures


def _refuse() -> None:
    raise ImportError("only tests with the marker `pictures` draw them")


def leave_out(patch: pytest.MonkeyPatch) -> None:
    """No command draws a picture, neither in this process nor in those that tests start."""
    patch.setattr(figures, "need_matplotlib", _refuse)
    for environment in (CLEAN, os.environ):
        folders = [str(SUPPORT / "no_pictures"), environment.get("PYTHONPATH")]
        patch.setitem(environment, "PYTHONPATH", os.pathsep.join(filter(None, folders)))


def watch(plots: Any, patch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The figures and axes that a module of plots makes from now on."""
    found, original = [], plots.new_figure

    def new_figure(*size: float) -> tuple[Any, Any]:
        found.append(original(*size))
        return found[-1]

    patch.setattr(plots, "new_figure", new_figure)
    return found
