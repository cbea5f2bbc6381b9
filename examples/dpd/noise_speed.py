"""Time per random number of DPD: Philox of the tags, and the paper's signatures with TEA."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from manymove import _core

PAIRS, PARTICLES = 1 << 20, 1 << 16


def nanoseconds(function: Callable[[], object], items: int, repeats: int = 20) -> float:
    """Of the fastest call, per item."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best / items * 1e9


def main() -> None:
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, PARTICLES, (2, PAIRS), dtype=np.uint32)
    tags = np.arange(PARTICLES, dtype=np.uint32)
    velocity = rng.normal(size=(PARTICLES, 3))
    signatures = _core.dpd.tea_signatures(1, 1, tags, velocity)
    a, b = signatures[i], signatures[j]
    print(f"SIMD level {_core.simd_level()}, nanoseconds")
    print(f"Philox   {nanoseconds(lambda: _core.dpd.noise(1, 1, i, j), PAIRS):.2f} per pair")
    print(f"TEA-4    {nanoseconds(lambda: _core.dpd.tea_noise(1, 1, a, b), PAIRS):.2f} per pair")
    each = nanoseconds(lambda: _core.dpd.tea_signatures(1, 1, tags, velocity), PARTICLES)
    print(f"TEA-16   {each:.2f} per particle")


if __name__ == "__main__":
    main()
