# SPDX-License-Identifier: BSD-3-Clause
"""A binary DPD fluid that separates, with its particles: density 3, a = 25 and 50 between species.

python particles.py
lmp -in in.separation
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure

from manymove import script
from manymove.lammps import host

SCRIPT = Path(__file__).parent / "in.separation"
COLORS = {1: "#2b6ca3", 2: "#e3a62f"}
SLAB = 1.0  # thickness of the slab that is drawn, in cutoffs


def simulate(options: argparse.Namespace) -> dict[str, Any]:
    """Run the input script; returns times and the particles of the slab at each of them."""
    frames = np.linspace(0, options.steps, 3).astype(int)
    given = {name: getattr(options, name) for name in ("edge", "steps", "seed")}
    every = max(1, options.steps // 2)
    host.run(SCRIPT, options.output, ranks=options.ranks, frame=every, **given)
    slabs = []
    for step in frames:
        path = options.output / f"frame.{step}.dump"
        particles = np.loadtxt(path, skiprows=9)
        slabs.append(particles[particles[:, 3] < SLAB][:, :3].round(3).tolist())
        path.unlink()
    return script.save(options, {"times": (0.04 * frames).tolist(), "slabs": slabs})


def like_neighbors(slab: np.ndarray, edge: float) -> float:
    """Share of the pairs within a cutoff, along x and y, whose species are the same."""
    d = slab[:, None, 1:] - slab[None, :, 1:]
    near = ((d - edge * np.rint(d / edge)) ** 2).sum(axis=-1) < 1
    same = slab[:, None, 0] == slab[None, :, 0]
    pairs = np.triu(near, 1)
    return float((pairs & same).sum() / pairs.sum())


def draw(report: dict[str, Any]) -> Figure:
    """The particles of the slab at each time."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    edge = report["edge"]
    for axes, time, slab in zip(
        figure.subplots(1, len(report["slabs"])), report["times"], report["slabs"], strict=True
    ):
        kinds, *places = np.array(slab).T
        size = np.full(len(kinds), 0.6)
        axes.add_collection(
            EllipseCollection(
                size, size, np.zeros_like(size), units="xy", offsets=np.column_stack(places),
                offset_transform=axes.transData, facecolors=[COLORS[int(k)] for k in kinds],
                edgecolors="white", linewidths=0.3,
            )
        )  # fmt: skip
        axes.set(
            xlim=(0, edge), ylim=(0, edge), aspect="equal", xlabel="x ($r_c$)", ylabel="y ($r_c$)",
            title=f"time {time:g}: {like_neighbors(np.array(slab), edge):.0%} like neighbors",
        )  # fmt: skip
    figure.suptitle(
        f"{3 * edge**3:,} DPD particles, density 3, a = 25 (like) and 50 (unlike), γ = 4.5; "
        f"slab of {SLAB:g} $r_c$",
        fontsize=10,
    )
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--edge", 20, "Edge of the cube in cutoffs.")
    parser.option("--steps", 2000, "Number of steps of 0.04.")
    parser.option("--ranks", 1)
    options = script.parse(parser, "particles", {"edge": 8, "steps": 300})
    report = script.read(options)[0] if options.draw else simulate(options)
    for time, slab in zip(report["times"], report["slabs"], strict=True):
        share = like_neighbors(np.array(slab), report["edge"])
        print(f"time {time:<6g} {share:.1%} of the neighbors are alike")
    script.picture(options, draw(report))


if __name__ == "__main__":
    script.run_script(main)
