"""Time per random number of DPD: Philox of the tags, and the paper's signatures with TEA.

python noise_speed.py
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from manymove import _core, script

PARTICLES = 1 << 16
SOURCE = Path(__file__).with_name("tea.cpp")


class Tea:
    """The paper's generator, compiled from `tea.cpp` for this processor into a folder."""

    def __init__(self, folder: str):
        library = f"{folder}/tea.so"
        options = ["-march=native", "-ffp-contract=off", "-std=c++20", "-O3", "-fPIC", "-shared"]
        command = [*shlex.split(os.environ.get("CXX", "c++")), *options]
        command += ["-I", str(SOURCE.parents[2] / "plugins/core"), str(SOURCE), "-o", library]
        subprocess.run(command, check=True)
        self._library = ctypes.CDLL(library)

    def _call(self, name: str, seed: int, step: int, *arrays: np.ndarray) -> None:
        counts = [ctypes.c_uint64(seed), ctypes.c_uint64(step), ctypes.c_int64(len(arrays[0]))]
        getattr(self._library, name)(*counts, *(ctypes.c_void_p(a.ctypes.data) for a in arrays))

    def signatures(self, seed: int, step: int, tag: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Signatures of particles from tags (uint32) and velocities (float64, (N, 3))."""
        result = np.empty(len(tag), np.uint32)
        self._call("tea_signatures", seed, step, tag, velocity, result)
        return result

    def noise(self, seed: int, step: int, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Normal variables (float32) for pairs of signatures at one step."""
        result = np.empty(len(i), np.float32)
        self._call("tea_noise", seed, step, i, j, result)
        return result


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
    with tempfile.TemporaryDirectory() as folder:
        tea = Tea(folder)
    signatures = tea.signatures(1, 1, tags, velocity)
    a, b = signatures[i], signatures[j]
    times = {
        "Philox, per pair": nanoseconds(lambda: _core.dpd.noise(1, 1, i, j), options.pairs),
        "TEA-4, per pair": nanoseconds(lambda: tea.noise(1, 1, a, b), options.pairs),
        "TEA-16, per particle": nanoseconds(
            lambda: tea.signatures(1, 1, tags, velocity), PARTICLES
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
