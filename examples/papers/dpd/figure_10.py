# SPDX-License-Identifier: BSD-3-Clause
"""Start-up of the double Poiseuille flow: Figure 10 of Y.-H. Tang and G. E. Karniadakis, Comput.
Phys. Commun. 185, 2809 (2014).

The script runs in.transient_poiseuille with different seeds, fits one kinematic viscosity to all
times, and computes chi-square for each time. In equilibrium the noise of the slab velocities is
independent between Fourier modes. The variance of each mode follows from the scatter of the runs.

    python figure_10.py --runs 10
    python figure_10.py --paper --runs 10 --device cuda
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from manymove import script
from manymove.analysis.notation import with_error
from manymove.devices import on_gpu
from manymove.lammps import host

TIMESTEP, WINDOW = 0.01, 0.5  # profiles are averaged over t - WINDOW to t + WINDOW
BLOCK, EVERY = 50, 2  # steps between records of the input script, and between its samples
MODES = 200  # of the series
DENSITY = 5.0
INPUT = Path(__file__).parents[2] / "poiseuille/in.transient_poiseuille"
# Section 4.2. The paper gives no force.
PAPER: dict[str, Any] = {
    "half": 118.825 / 2, "width": 59.4123, "depth": 7.42654, "force": 0.0004, "slab": 118.825 / 24,
    "times": "100,200,500,1000,2000,10000",
}  # fmt: skip


def velocity(
    z: np.ndarray, times: np.ndarray, force: float, d: float, viscosity: float, width: float
) -> np.ndarray:
    """Eq. 10 in the lower half, its opposite in the upper one, averaged over slabs and times.

    Args:
        z: centers of slabs, (M,), from the bottom of the box, 2 d high.
        times: averaged over, (K,).
        force: per particle of mass 1.
        d: width of one half.
        viscosity: kinematic.
        width: of a slab.

    Returns:
        velocities, (M,).
    """
    odd = 2 * np.arange(MODES) + 1
    k = odd * np.pi / d
    # 1 - (2 z / d)^2 is the sum of the series at t = 0, so that both sums of Eq. 10 are one. With z
    # from the bottom instead of the middle the cosines are sines of one sign.
    amplitude = 4 * force * d**2 / (viscosity * np.pi**3 * odd**3)
    growth = 1 - np.exp(-np.outer(k**2 * viscosity, times)).mean(axis=1)
    slab_mean = np.sinc(k * width / (2 * np.pi))
    return np.sin(np.outer(z, k)) @ (amplitude * growth * slab_mean)


def read_profile(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps (K,), centers of slabs (M,) and velocities (K, M) of one run."""
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    slabs = int(rows[0][1])
    blocks = [rows[k : k + slabs + 1] for k in range(0, len(rows), slabs + 1)]
    blocks = [block for block in blocks if len(block) == slabs + 1]
    values = np.array([[[float(w) for w in row] for row in block[1:]] for block in blocks])
    return np.array([int(b[0][0]) for b in blocks]), values[0, :, 1], values[:, :, 3]


def window(steps: np.ndarray, velocities: np.ndarray, time: float) -> np.ndarray:
    """Mean over t - WINDOW to t + WINDOW."""
    end = round((time + WINDOW) / TIMESTEP)
    wanted = range(end - round(2 * WINDOW / TIMESTEP) + BLOCK, end + 1, BLOCK)
    return velocities[np.isin(steps, wanted)].mean(axis=0)


def sampled_times(time: float) -> np.ndarray:
    end = round((time + WINDOW) / TIMESTEP)
    return TIMESTEP * np.arange(end - round(2 * WINDOW / TIMESTEP) + EVERY, end + 1, EVERY)


def spectrum(profiles: np.ndarray) -> np.ndarray:
    """Real and imaginary parts of the Fourier modes 1 to M/2 as independent normal variables, by
    mode: (..., M/2, 2); the last mode is real."""
    modes = np.fft.rfft(profiles, axis=-1)[..., 1:]
    return np.stack([modes.real, modes.imag], axis=-1)


class Comparison:
    """All runs at all times beside Eq. 10."""

    def __init__(self, profiles: np.ndarray, z: np.ndarray, times: list[float], options) -> None:
        self.profiles, self.z, self.times = profiles, z, times  # (runs, times, M)
        self.options = options
        runs, slabs = profiles.shape[0], profiles.shape[2]
        modes = spectrum(profiles)
        self.mean = modes.mean(axis=0)
        self.real = np.ones((slabs // 2, 2), bool)
        self.real[-1, 1] = slabs % 2 == 1
        # Per mode, over both parts and all times: the noise is as in equilibrium.
        scatter = ((modes - self.mean) ** 2).sum(axis=0)
        self.variance = scatter.sum(axis=(0, 2)) / ((runs - 1) * len(times) * self.real.sum(axis=1))
        self.error = np.sqrt(self.variance / runs)

    def theory(self, viscosity: float) -> np.ndarray:
        o = self.options
        return np.array(
            [
                velocity(self.z, sampled_times(t), o.force, o.half, viscosity, o.slab)
                for t in self.times
            ]
        )

    def chi_square(self, viscosity: float) -> np.ndarray:
        """By time."""
        away = (self.mean - spectrum(self.theory(viscosity))) / self.error[:, None]
        return (away**2 * self.real).sum(axis=(1, 2))

    def fit(self) -> tuple[float, float]:
        """Viscosity of the least sum of chi-squares, and its error."""
        low, high = 0.05, 5.0
        for _ in range(60):  # ternary search: the sum has one minimum
            a, b = low + (high - low) / 3, high - (high - low) / 3
            if self.chi_square(a).sum() < self.chi_square(b).sum():
                high = b
            else:
                low = a
        best = (low + high) / 2
        step = 0.01 * best
        left, middle, right = (self.chi_square(best + k * step).sum() for k in (-1, 0, 1))
        return best, float(np.sqrt(2 * step**2 / (left - 2 * middle + right)))


def tail(x: float, degrees: int) -> float:
    """Probability that chi-square is larger."""
    from scipy.stats import chi2

    return float(chi2.sf(x, degrees))


def draw(report: dict[str, Any]) -> Figure:
    """Profiles at all times and Eq. 10."""
    figure = Figure(figsize=(6.5, 4.4), layout="constrained")
    axes = figure.add_subplot()
    force, half, viscosity = (report[key] for key in ("force", "half", "kinematic_viscosity"))
    colors = colormaps["viridis"]
    fine = np.linspace(0, 2 * half, 241)
    times = [row["time"] for row in report["comparison"]]
    for k, time in enumerate(times):
        color = colors(0.9 * k / max(1, len(times) - 1))
        curve = velocity(fine, sampled_times(time), force, half, viscosity, 0.0)
        axes.plot(fine, curve, color=color, lw=1)
        error = report["velocity_errors"][k] if "velocity_errors" in report else None
        axes.errorbar(report["z"], report["velocities"][k], error, fmt="o", ms=3, lw=1,
                      color=color, label=f"t = {time:g}")  # fmt: skip
    axes.set(
        xlabel="position z ($r_c$)", ylabel="velocity $v_x$", xlim=(0, 2 * half),
        title=f"density 5, a = 15, σ = 3, kT = 1, g = {force:g}; "
        f"lines: Eq. 10 with ν = {viscosity:.4f}",
    )  # fmt: skip
    axes.title.set_fontsize(9)
    axes.legend(frameon=False, fontsize=8)
    return figure


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The comparisons for docs/papers.md. Chi-square over its degrees of freedom has the mean 1
    and the variance 2 over the degrees of freedom if Eq. 10 holds."""
    depth = report.get("depth") or report["width"]
    particles = round(DENSITY * report["width"] * depth * 2 * report["half"])
    size = f"{particles:,} particles"
    lines = [
        script.compared(
            f"t = {row['time']:g}: chi-square over {row['degrees']} (Eq. 10: 1)",
            (row["chi_square"] / row["degrees"], math.sqrt(2 / row["degrees"])), (1.0, None), size,
            f"{report['runs']} runs of {round((row['time'] + WINDOW) / TIMESTEP):,} steps",
        )
        for row in report["comparison"]
    ]  # fmt: skip
    found = (report["kinematic_viscosity"], report["error"])
    length = f"{report['runs']} runs"
    return [*lines, script.compared("kinematic viscosity, fitted", found, None, size, length)]


def parse() -> argparse.Namespace:
    parser = script.Parser(__doc__)
    parser.option("--runs", 10)
    parser.option("--seed", 1, "Seed of the first run.")
    parser.option("--half", 12.0, "Width d of one flow.")
    parser.option("--width", 8.0, "Width of the box along x.")
    parser.option("--depth", float, "Width of the box along y (default: --width).")
    parser.option("--force", 0.01)
    parser.option("--slab", 1.0)
    parser.option("--weight-exponent", 1.0)
    parser.option("--settle", 2000, "Steps before the flow starts.")
    parser.option("--times", "4,8,20,40,80,200")
    parser.option("--paper", False, "Use the paper's box and times, with a force of 4e-4.")
    parser.option("--device", "auto", "Device; on a GPU with run_style manymove/verlet.")
    parser.option("--ranks", 1, "MPI ranks on a CPU.")
    parser.option("--minutes", float, "Time in minutes after which no run begins.")
    if parser.parse_known_args()[0].paper:
        parser.set_defaults(**PAPER)
    quick = {
        "runs": 3,
        "times": "0.5,1.5",
        "half": 4.0,
        "width": 4.0,
        "device": "cpu",
        "settle": 200,
    }
    options = script.parse(parser, "figure_10", quick, draw=draw)
    script.need(parser, "scipy")
    script.at_least(options, runs=1, ranks=1)
    if options.runs < 3:
        parser.error("--runs: the scatter of at least 3 runs is needed")
    times = [-WINDOW, *sorted(float(word) for word in options.times.split(","))]
    if min(np.diff(times)) < 2 * WINDOW or any(2 * t % 1 for t in times):
        parser.error(f"--times is {options.times}; its windows of one time unit overlap, or a "
                     "time is no multiple of 0.5")  # fmt: skip
    return options


def simulate(options: argparse.Namespace, seed: int, times: list[float]) -> dict[str, Any]:
    """Centers of the slabs and their velocities at each time, of one run."""
    profile = options.output / f"transient_{seed}"
    variables = {
        "seed": seed,
        "half": options.half,
        "x": options.width,
        "y": options.depth or options.width,
        "g": options.force,
        "s": options.weight_exponent,
        "slab": options.slab,
        "settle": options.settle,
        "out": profile,
    }
    gpu = on_gpu(options.device)
    variables |= {"style": "manymove/verlet"} if gpu else {}
    variables["time"] = [f"{time:g}" for time in times]
    host.run(INPUT, ranks=1 if gpu else options.ranks, log=f"{profile}.log", **variables)
    found = [read_profile(Path(f"{profile}.{time:g}")) for time in times]
    print(f"seed {seed}: done", flush=True)
    return {
        "z": found[0][1].tolist(),
        "velocities": [
            window(steps, velocities, time).tolist()
            for time, (steps, _, velocities) in zip(times, found, strict=True)
        ],
    }


def main() -> None:
    options = parse()
    times = sorted(float(word) for word in options.times.split(","))
    parts = script.Parts(options, without=("runs", "device", "ranks"))
    runs = [
        parts.run(f"seed {seed}", lambda seed=seed: simulate(options, seed, times))
        for seed in range(options.seed, options.seed + options.runs)
    ]
    profiles, z = np.array([run["velocities"] for run in runs]), np.array(runs[0]["z"])
    comparison = Comparison(profiles, z, times, options)
    viscosity, error = comparison.fit()
    degrees = int(comparison.real.sum())
    print(f"kinematic viscosity {with_error(viscosity, error)}")
    found = []
    for time, chi in zip(times, comparison.chi_square(viscosity), strict=True):
        found.append({"time": time, "chi_square": chi, "degrees": degrees, "p": tail(chi, degrees)})
        print(f"t = {time:6g}  chi-square {chi:6.1f} of {degrees}, p = {found[-1]['p']:.3f}")
    report = {
        "kinematic_viscosity": viscosity,
        "error": error,
        "comparison": found,
        "z": z.tolist(),
        "velocities": profiles.mean(axis=0).tolist(),
        "velocity_errors": (profiles.std(axis=0, ddof=1) / math.sqrt(len(runs))).tolist(),
    }
    report["rows"] = rows({**vars(options), **report})
    script.finish(options, report, draw)


if __name__ == "__main__":
    script.run_script(main)
