# SPDX-License-Identifier: BSD-3-Clause
"""`manymove.hoomd.HardDisksUpdater`, which was called HardDisks like two other classes."""

from __future__ import annotations

import pytest

hoomd = pytest.importorskip("hoomd", reason="HOOMD-blue is not installed")

import manymove.hoomd  # noqa: E402


def test_the_old_name_is_the_new_class():
    with pytest.warns(
        DeprecationWarning, match=r"manymove\.hoomd\.HardDisks has been renamed to manymove"
    ):
        assert manymove.hoomd.HardDisks is manymove.hoomd.HardDisksUpdater
    with pytest.raises(AttributeError, match="no attribute 'HardSpheres'"):
        _ = manymove.hoomd.HardSpheres


def test_it_says_what_it_is():
    disks = manymove.hoomd.HardDisksUpdater(2.0, sweeps_per_step=16)
    assert repr(disks) == (
        "<HardDisksUpdater: diameter = 2, d = 0.32, nselect = 4, sweeps_per_step = 16>"
    )
