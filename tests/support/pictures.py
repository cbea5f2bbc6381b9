# SPDX-License-Identifier: BSD-3-Clause
"""Runs without pictures, which take longer than the runs of most tests."""

from __future__ import annotations

import os

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
