# SPDX-License-Identifier: BSD-3-Clause
"""Sections and transmission pictures of a vesicle: Figure 15 of Y.-H. Tang and G. E. Karniadakis,
Comput. Phys. Commun. 185, 2809 (2014).

    python figure_15.py --frames out/figure_14/chains.*.dump
    python figure_15.py --edge 20 --steps 100000

The vesicle is the aggregate of the last frame that encloses the largest volume. Beads are shown as
in the paper: hydrophobic ones in red, and dark in the transmission pictures.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from render import PIXELS, spheres, transmission
from vesicles import CHAIN, Frame, add_options, simulate

from manymove import script

AXES = "xyz"


def chains_of(frame: Frame, vesicle: int) -> np.ndarray:
    """Whether each bead belongs to a chain of an aggregate."""
    return np.repeat(frame.aggregate == vesicle, len(CHAIN))


def membranes(frame: Frame, center: np.ndarray) -> float:
    """Mean number of membranes from the center of a vesicle to the walls of the box, along the
    26 directions to neighbors, edges and corners of a cube."""
    directions = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)
    shape = np.array(frame.labels.shape)
    crossed = []
    for direction in directions[np.any(directions != 0, axis=1)]:
        steps = np.arange(0, frame.edges.max(), 0.25)[:, None]
        path = (center + steps * direction / np.linalg.norm(direction)) * (shape / frame.edges)
        cells = path.astype(int)
        cells = cells[((path >= 0) & (cells < shape)).all(axis=1)]
        inside = frame.labels[tuple(cells.T)] > 0
        crossed.append(int(inside[0]) + int((np.diff(inside.astype(int)) > 0).sum()))
    return float(np.mean(crossed))


def draw(frame: Frame, vesicle: int, closed: bool) -> Figure:
    """Sections along three axes: shaded spheres behind a cut, and a transmission picture of a slab
    in the middle."""
    beads = chains_of(frame, vesicle)
    positions, types = frame.positions[beads], frame.types[beads]
    low, high = positions.min(axis=0) - 1, positions.max(axis=0) + 1
    width = float((high - low).max())
    figure = Figure(figsize=(7.8, 5.8), layout="constrained")
    axes = figure.subplots(2, 3)
    for k in range(3):
        order = [(k + 1) % 3, (k + 2) % 3, k]
        local = (positions - (low + high) / 2)[:, order] + width / 2
        box = np.full(3, width)
        behind = local[:, 2] < width / 2
        thin = np.abs(local[:, 2] - width / 2) < 2
        radius = max(0.4, 0.8 * width / PIXELS)
        axes[0, k].imshow(spheres(local[behind], types[behind], box, PIXELS, radius))
        image = transmission(local[thin], types[thin], box, PIXELS // 2)
        axes[1, k].imshow(image, cmap="gray", vmin=0, vmax=1)
        axes[0, k].set_title(f"cut across {AXES[k]}", fontsize=9)
        for row, pixels in ((0, PIXELS), (1, PIXELS // 2)):
            bar = 10 ** np.floor(np.log10(width / 3))
            x = np.array([0.05, 0.05 + bar / width]) * pixels
            color = "w" if row == 0 else "k"
            axes[row, k].plot(x, [0.95 * pixels] * 2, color=color, lw=2)
            axes[row, k].text(x[0], 0.93 * pixels, f"{bar:g} $r_c$", color=color, fontsize=7)
            axes[row, k].set_axis_off()
    what = "vesicle" if closed else "largest aggregate, which encloses nothing"
    chains = int(frame.aggregates[vesicle])
    figure.suptitle(f"time {frame.time:g}, {what}: {chains:,} chains", fontsize=10)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, "Figure 15")
    quick = {"edge": 6.0, "steps": 200, "frame": 100, "style": "verlet"}
    options = script.parse(parser, "figure_15", quick, draw=False)
    script.need(parser, "scipy")
    script.at_least(options, edge=4, steps=1, frame=1)
    frame = Frame((options.frames or simulate(options))[-1])
    options.frames = None  # paths of this machine
    vesicle, closed = frame.vesicle()
    center = frame.positions[chains_of(frame, vesicle)].mean(axis=0)
    volumes = [
        volume
        for volume, owner in zip(frame.compartments, frame.vesicle_of, strict=True)
        if owner == vesicle
    ]
    found: dict[str, Any] = {
        "time": frame.time, "encloses": closed, "chains": int(frame.aggregates[vesicle]),
        "compartments": len(volumes), "volume_inside": sum(volumes),
        "membranes": membranes(frame, center),
    }  # fmt: skip
    size = f"{round(5 * float(frame.edges.prod())):,} particles"
    length = f"time {frame.time:,.0f}"
    titles = {
        "chains": "chains of the vesicle", "compartments": "its compartments",
        "volume_inside": "volume inside (r_c^3)", "membranes": "membranes from its center outwards",
    }  # fmt: skip
    found["rows"] = [
        script.compared(title, (found[name], None), None, size, length)
        for name, title in titles.items()
    ]
    for name, title in titles.items():
        print(f"{title}: {found[name]:.6g}")
    script.save(options, found)
    script.picture(options, draw(frame, vesicle, closed), dpi=110)


if __name__ == "__main__":
    script.run_script(main)
