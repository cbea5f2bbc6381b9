# SPDX-License-Identifier: BSD-3-Clause
"""Sums in blocks."""

from __future__ import annotations

import numpy as np

from manymove.analysis.blocks import BlockSums


class _Sums(BlockSums):
    TYPES = {"value": np.float64, "samples": np.int64}

    def __init__(self) -> None:
        self._begin(())
        self.reset()


def test_sums_that_were_taken_replace_later_blocks():
    sums = _Sums()
    for _ in range(3):
        sums._add(1.0)
    held = {name: array.copy() for name, array in sums.arrays.items()}
    for _ in range(5):
        sums._add(100.0)
    sums._take_arrays(held)
    sums._add(1.0)
    assert sums.arrays["value"].tolist() == [1.0] * 4
    assert sums.arrays["samples"].tolist() == [1] * 4
