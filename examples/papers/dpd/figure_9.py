# SPDX-License-Identifier: BSD-3-Clause
"""Moments of the random numbers of DPD: Figure 9 of Y.-H. Tang and G. E. Karniadakis, Comput. Phys.
Commun. 185, 2809 (2014).

    python figure_9.py

LAMMPS runs a fluid of 65,536 particles, as in the paper. In each of several steps two generators
make normal variables for all pairs within the cutoff: the paper's generator (TEA of signatures,
compiled from tea.cpp) and the generator of the engines (Philox of the tags). The moments converge
to the moments of the normal distribution with the number of variables, as they do for NumPy's
generator. The script also measures the time of one random number.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from manymove import _core, script
from manymove.devices import on_gpu
from manymove.lammps import host

DENSITY = 3.0
SOURCE = Path(__file__).with_name("tea.cpp")
SEED = 1  # of the noise
# Moments 1 to 4 of the normal distribution, and the variances of a sample of them.
MOMENTS = {"mean": (0.0, 1.0), "variance": (1.0, 2.0), "third moment": (0.0, 15.0),
           "fourth moment": (3.0, 96.0)}  # fmt: skip
INPUT = """
units lj
comm_modify mode single vel yes
region box block 0 {edge} 0 {edge} 0 {edge}
create_box 1 box
create_atoms 1 random {particles} {seed} box
mass 1 1.0
velocity all create 1.0 {seed} loop geom
pair_style manymove/dpd 1.0 1.0 {seed}
pair_coeff 1 1 25.0 4.5
neighbor 0.3 bin
timestep 0.01
fix integrate all nve
run_style {style}
run {melt} post no
compute pairs all property/local patom1 patom2
compute distance all pair/local dist
dump pairs all local {every} pairs.* index c_pairs[1] c_pairs[2] c_distance
dump atoms all custom {every} atoms.* id vx vy vz
dump_modify atoms format float %.17g sort id
dump_modify pairs first no
dump_modify atoms first no
run {steps} post no
"""


class Tea:
    """The paper's generator, compiled from tea.cpp for this processor into a folder."""

    def __init__(self, folder: str):
        # As the engines are compiled.
        exact = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
        core = str(SOURCE.parents[3] / "plugins/core")
        self._library = script.compiled(SOURCE, folder, *exact, "-I", core)

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


def sample(options: argparse.Namespace, folder: Path) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Step, pairs of tags (M, 2) and velocities by tag (N, 3) of each frame of a simulation."""
    edge = (options.particles / DENSITY) ** (1 / 3)
    style = "manymove/verlet" if on_gpu(options.device) else "verlet"
    every = 10
    text = INPUT.format(
        edge=f"{edge:.17g}", particles=options.particles, seed=options.seed, style=style,
        melt=options.melt, every=every, steps=every * options.frames,
    )  # fmt: skip
    host.run(text, folder)
    frames = []
    for path in sorted(folder.glob("atoms.*"), key=lambda path: int(path.suffix[1:])):
        step = int(path.suffix[1:])
        velocity = np.loadtxt(path, skiprows=9)[:, 1:]
        pairs = np.loadtxt(folder / f"pairs.{step}", skiprows=9)
        near = pairs[pairs[:, 3] < 1.0, 1:3].astype(np.uint32)
        frames.append((step, near, velocity))
    return frames


def convergence(values: np.ndarray) -> dict[str, Any]:
    """Moments of the first numbers, for numbers that grow by powers of two."""
    counts = [len(values) >> k for k in range(12) if len(values) >> k >= 100][::-1]
    powers = np.cumsum(values[None] ** np.arange(1, 5)[:, None], axis=1)
    return {"counts": counts, "moments": [(powers[:, n - 1] / n).tolist() for n in counts]}


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The comparisons for docs/papers.md, with the moments of the normal distribution."""
    lines = []
    size, length = f"{report['particles']:,} particles", f"{report['frames']} steps"
    for label in ("TEA of signatures", "Philox of tags"):
        found = report["generators"][label]
        count = found["counts"][-1]
        for (name, (exact, variance)), value in zip(
            MOMENTS.items(), found["moments"][-1], strict=True
        ):
            lines.append(
                script.compared(
                    f"{label}: {name} of {count:,} numbers", (value, math.sqrt(variance / count)),
                    (exact, None), size, length,
                )
            )  # fmt: skip
    for name, value in report["nanoseconds"].items():
        quantity = f"{name} on one core (ns)"
        lines.append(script.compared(quantity, (value, None), None, size, "fastest of 20 calls"))
    return lines


def draw(report: dict[str, Any]) -> Figure:
    """Distance of the moments from those of the normal distribution, and the times."""
    figure = Figure(figsize=(9.6, 6.0), layout="constrained")
    panels = figure.subplots(2, 3)
    for axes, (k, (name, (exact, variance))) in zip(
        [*panels[0, :2], *panels[1, :2]], enumerate(MOMENTS.items()), strict=True
    ):
        for label, found in report["generators"].items():
            moments = [moment[k] - exact for moment in found["moments"]]
            axes.semilogx(found["counts"], moments, "o-", ms=3, label=label)
        counts = np.array(found["counts"])
        band = np.sqrt(variance / counts)
        axes.fill_between(counts, -band, band, color="0.85")
        axes.set(title=f"{name}, less {exact:g}", xlabel="numbers")
    panels[0, 0].legend(fontsize="small")
    panels[1, 2].set_axis_off()
    times = report["nanoseconds"]
    panels[0, 2].barh(list(times), list(times.values()))
    panels[0, 2].set(xlabel="time (ns)")
    panels[0, 2].tick_params(axis="y", labelsize=7)
    return figure


def main() -> None:
    parser = script.Parser(__doc__)
    parser.option("--particles", 1 << 16)
    parser.option("--frames", 8, "Steps whose pairs are used.")
    parser.option("--melt", 200, "Number of steps before these.")
    parser.option("--pairs", 1 << 20, "Pairs of a timed call.")
    parser.option("--device", "auto", "Device; on a GPU with run_style manymove/verlet.")
    parser.option("--seed", 1, "Seed of the fluid.")
    quick = {"particles": 1000, "frames": 2, "melt": 50, "pairs": 1 << 12, "device": "cpu"}
    options = script.parse(parser, "figure_9", quick, draw=draw)
    script.at_least(options, particles=200, frames=1, melt=0, pairs=1)
    noise: dict[str, list[np.ndarray]] = {"TEA of signatures": [], "Philox of tags": []}
    with tempfile.TemporaryDirectory() as folder:
        tea = Tea(folder)
        frames = sample(options, Path(folder))
    tags = np.arange(1, options.particles + 1, dtype=np.uint32)
    for step, pairs, velocity in frames:
        signatures = tea.signatures(SEED, step, tags, np.ascontiguousarray(velocity))
        i, j = (np.ascontiguousarray(pairs[:, k]) for k in (0, 1))
        noise["TEA of signatures"].append(
            tea.noise(SEED, step, signatures[i - 1], signatures[j - 1])
        )
        noise["Philox of tags"].append(_core.dpd.noise(SEED, step, i, j))
    values = {label: np.concatenate(some).astype(float) for label, some in noise.items()}
    count = len(values["TEA of signatures"])
    values["NumPy"] = np.random.default_rng(options.seed).normal(size=count)
    rng = np.random.default_rng(options.seed)
    i, j = rng.integers(0, options.particles, (2, options.pairs), dtype=np.uint32)
    a, b = signatures[i], signatures[j]
    velocity = np.ascontiguousarray(velocity)
    times = {
        "Philox, per pair": nanoseconds(lambda: _core.dpd.noise(SEED, 1, i, j), options.pairs),
        "TEA-4, per pair": nanoseconds(lambda: tea.noise(SEED, 1, a, b), options.pairs),
        "TEA-16, per particle": nanoseconds(
            lambda: tea.signatures(SEED, 1, tags, velocity), options.particles
        ),
    }
    report = {
        "generators": {label: convergence(some) for label, some in values.items()},
        "nanoseconds": times,
        "simd_level": _core.simd_level(),
    }
    report["rows"] = rows({**vars(options), **report})
    for row in report["rows"]:
        print(f"{row['quantity']}: {row['ours'][0]:.4g}")
    script.finish(options, report, draw)


if __name__ == "__main__":
    script.run_script(main)
