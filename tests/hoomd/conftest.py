# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of the tests of HOOMD-blue."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["component", "updater"])
def way(request: pytest.FixtureRequest) -> str:
    """The two ways of hard particles into HOOMD-blue: the component and the updaters of Python."""
    if request.param == "component":
        pytest.importorskip("hoomd.manymove")
    return request.param
