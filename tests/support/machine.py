# SPDX-License-Identifier: BSD-3-Clause
"""Properties of the machine that tests need."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from manymove import _core

limits_address_space = pytest.mark.skipif(
    not sys.platform.startswith("linux") or "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="limits the address space, of which AddressSanitizer needs terabytes",
)


# The marks of tests that need a GPU.
GPU = [pytest.mark.gpu, pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")]


def on_gpu(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that needs a GPU."""
    for mark in GPU:
        test = mark(test)
    return test


def runnable_simd_levels() -> list[str]:
    """The compiled SIMD levels that this machine runs."""
    levels = []
    with pytest.MonkeyPatch.context() as patch:
        for level in _core.simd_levels():
            patch.setenv("MANYMOVE_SIMD", level)
            try:
                levels.append(_core.simd_level())
            except RuntimeError:
                continue
    return levels
