# SPDX-License-Identifier: BSD-3-Clause
"""What tests need of the machine."""

from __future__ import annotations

import os
import sys

import pytest

from manymove import _core

limits_address_space = pytest.mark.skipif(
    not sys.platform.startswith("linux") or "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="limits the address space, of which AddressSanitizer needs terabytes",
)


def on_gpu(test):
    """Compares the GPU with the CPU."""
    return pytest.mark.gpu(
        pytest.mark.skipif(not _core.cuda_devices(), reason="no CUDA device")(test)
    )


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
