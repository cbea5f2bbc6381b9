"""Time per random number of DPD: Philox of the tags, and the paper's signatures with TEA.

python noise_speed.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from manymove import _core, script

PARTICLES = 1 << 16


def nanoseconds(function: Callable[[], object], items: int, repeats: int = 20) -> float:
    """Time of the fastest call per item in nanoseconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best / items * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1 << 20, help="Number of pairs in a call.")
    options = script.parse(parser, "noise_speed", {"pairs": 1 << 14}, draw=False)
    script.at_least(options, pairs=1)
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, PARTICLES, (2, options.pairs), dtype=np.uint32)
    tags = np.arange(PARTICLES, dtype=np.uint32)
    velocity = rng.normal(size=(PARTICLES, 3))
    signatures = _core.dpd.tea_signatures(1, 1, tags, velocity)
    a, b = signatures[i], signatures[j]
    times = {
        "Philox, per pair": nanoseconds(lambda: _core.dpd.noise(1, 1, i, j), options.pairs),
        "TEA-4, per pair": nanoseconds(lambda: _core.dpd.tea_noise(1, 1, a, b), options.pairs),
        "TEA-16, per particle": nanoseconds(
            lambda: _core.dpd.tea_signatures(1, 1, tags, velocity), PARTICLES
        ),
    }
    for name, value in times.items():
        print(f"{name:22}{value:.2f} ns")
    level = _core.simd_level()
    script.save(options, {"simd_level": level, "nanoseconds": times})
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    axes = figure.add_subplot()
    axes.barh(list(times), list(times.values()))
    axes.set(xlabel="time (ns)", title=f"random numbers of DPD, SIMD level {level}")
    script.picture(options, figure)


if __name__ == "__main__":
    script.run_script(main)
