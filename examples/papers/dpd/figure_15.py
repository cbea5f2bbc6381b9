# SPDX-License-Identifier: BSD-3-Clause
"""Sections and transmission pictures of a vesicle: Figure 15 of Y.-H. Tang and G. E. Karniadakis,
Comput. Phys. Commun. 185, 2809 (2014).

    python figure_15.py --frames out/figure_14/chains.*.dump
    python figure_15.py --edge 20 --steps 100000

The vesicle is the aggregate of the last frame that encloses the largest volume. Beads are shown as
in the paper: hydrophobic ones in red, and dark in the transmission pictures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from render import PIXELS, spheres, transmission
from vesicles import CHAIN, Frame, parsed, simulate

from manymove import script

AXES = "xyz"
SLAB, COARSE = 4.0, 96  # thickness and pixels of the transmission pictures


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


def local_view(positions: np.ndarray, axis: int) -> tuple[np.ndarray, float]:
    """Positions in a cube around all of them, seen along an axis, and its edge."""
    low, high = positions.min(axis=0) - 1, positions.max(axis=0) + 1
    width = float((high - low).max())
    order = [(axis + 1) % 3, (axis + 2) % 3, axis]
    return (positions - (low + high) / 2)[:, order] + width / 2, width


def microscope(positions: np.ndarray, types: np.ndarray) -> list[list[str]]:
    """Transmission pictures of a slab in the middle along three axes. Each row is a text with the
    brightness of its pixels, from 00 to ff."""
    images = []
    for axis in range(3):
        local, width = local_view(positions, axis)
        thin = np.abs(local[:, 2] - width / 2) < SLAB / 2
        image = transmission(local[thin], types[thin], np.full(3, width), COARSE)
        images.append([row.tobytes().hex() for row in np.rint(255 * image).astype(np.uint8)])
    return images


def draw(report: dict[str, Any], frame: Frame | None = None, beads: Any = None) -> Figure:
    """Transmission pictures along three axes, above them shaded spheres behind a cut if there is a
    frame."""
    figure = Figure(figsize=(7.8, 5.8 if frame else 3.2), layout="constrained")
    axes = figure.subplots(2 if frame else 1, 3, squeeze=False)
    width = report["width"]
    bar = 10 ** np.floor(np.log10(width / 3))
    for k in range(3):
        image = [list(bytes.fromhex(row)) for row in report["transmission"][k]]
        shown = [(image, "k", {"cmap": "gray", "vmin": 0, "vmax": 255})]
        if frame:
            local, _ = local_view(frame.positions[beads], k)
            behind = local[:, 2] < width / 2
            radius = max(0.4, 0.8 * width / PIXELS)
            view = spheres(
                local[behind], frame.types[beads][behind], np.full(3, width), PIXELS, radius
            )
            shown.insert(0, (view, "w", {}))
        axes[0, k].set_title(f"cut across {AXES[k]}", fontsize=9)
        for panel, (image, color, style) in zip(axes[:, k], shown, strict=True):
            panel.imshow(image, extent=(0, width, 0, width), **style)
            x = np.array([0.05 * width, 0.05 * width + bar])
            panel.plot(x, [0.05 * width] * 2, color=color, lw=2)
            panel.text(x[0], 0.07 * width, f"{bar:g} $r_c$", color=color, fontsize=7)
            panel.set_axis_off()
    what = "vesicle" if report["encloses"] else "largest aggregate, which encloses nothing"
    figure.suptitle(f"time {report['time']:g}, {what}: {report['chains']:,} chains", fontsize=10)
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    options = parsed(parser, 15, draw=draw)
    frame = Frame((options.frames or simulate(options))[-1])
    options.frames = None  # paths of this machine
    vesicle, closed = frame.vesicle()
    beads = chains_of(frame, vesicle)
    positions, types = frame.positions[beads], frame.types[beads]
    volumes = [
        volume
        for volume, owner in zip(frame.compartments, frame.vesicle_of, strict=True)
        if owner == vesicle
    ]
    found: dict[str, Any] = {
        "time": frame.time, "encloses": closed, "chains": int(frame.aggregates[vesicle]),
        "compartments": len(volumes), "volume_inside": sum(volumes),
        "membranes": membranes(frame, positions.mean(axis=0)),
        "width": local_view(positions, 0)[1], "transmission": microscope(positions, types),
    }  # fmt: skip
    size = f"{round(5 * float(frame.edges.prod())):,} particles"
    length = f"time {frame.time:,.0f}"
    what = "vesicle" if closed else "largest aggregate"
    titles = {
        "chains": f"chains of the {what}", "compartments": "its compartments",
        "volume_inside": "volume inside (r_c^3)", "membranes": "membranes from its center outwards",
    }  # fmt: skip
    found["rows"] = [
        script.compared(title, (found[name], None), None, size, length)
        for name, title in titles.items()
    ]
    for name, title in titles.items():
        print(f"{title}: {found[name]:.6g}")
    script.picture(options, draw(script.save(options, found), frame, beads), dpi=110)


if __name__ == "__main__":
    script.run_script(main)
