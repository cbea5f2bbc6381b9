# SPDX-License-Identifier: BSD-3-Clause
"""How the chains of a vesicle came together: Figure 16 of Y.-H. Tang and G. E. Karniadakis, Comput.
Phys. Commun. 185, 2809 (2014).

    python figure_16.py --frames out/figure_14/chains.*.dump
    python figure_16.py --edge 20 --steps 100000

The chains of the vesicle of figure_15.py are traced back through the frames. They are shown in
color, and other chains as shadows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from render import COLORS, spheres
from vesicles import CHAIN, Frame, parsed, simulate

from manymove import script

SHADOW = 3  # type of the beads of other chains
SHARE = 0.02  # of the traced chains in an aggregate that is counted
PIXELS = 420


def traced(frame: Frame, chains: np.ndarray) -> dict[str, float]:
    """Over how many aggregates the chains are spread at the time of a frame."""
    counts = np.bincount(frame.aggregate[chains], minlength=len(frame.aggregates))[1:]
    return {
        "time": frame.time,
        "aggregates": int((counts >= max(1, SHARE * chains.sum())).sum()),
        "share_of_largest": float(counts.max() / chains.sum()),
    }


def view(frame: Frame, chains: np.ndarray) -> np.ndarray:
    """The box along -z: chains of the vesicle in front of the shadows of the others."""
    mine = np.repeat(chains, len(CHAIN))
    types = np.where(mine, frame.types, SHADOW)
    positions = frame.positions.copy()
    positions[mine, 2] += frame.edges[2]
    box = np.array([*frame.edges[:2], 2 * frame.edges[2]])
    radius = max(0.4, 0.8 * frame.edges[0] / PIXELS)
    colors = {**COLORS, SHADOW: (0.30, 0.32, 0.36)}
    return spheres(positions, types, box, PIXELS, radius, colors)


def draw(report: dict[str, Any]) -> Figure:
    """The numbers of the traced chains against time, from a summary."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    times = [one["time"] for one in report["traced"]]
    axes.plot(times, [one["aggregates"] for one in report["traced"]], "o-", ms=4)
    axes.set(
        xlabel="time", ylabel=f"aggregates with {SHARE:.0%} or more of the chains",
        title=f"{report['chains']:,} chains of the last frame's vesicle", yscale="log",
    )  # fmt: skip
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--pictures", 6, "Maximum number of frames in the picture.")
    options = parsed(parser, 16, draw=draw)
    script.at_least(options, pictures=2)
    paths = options.frames or simulate(options)
    options.frames = None  # paths of this machine
    last = Frame(paths[-1])
    vesicle, closed = last.vesicle()
    chains = last.aggregate == vesicle
    frames = [Frame(path) for path in paths]
    found = [traced(frame, chains) for frame in frames]
    size = f"{round(5 * float(last.edges.prod())):,} particles"
    rows = []
    for one in found:
        print(f"time {one['time']:g}: {one['aggregates']} aggregates, the largest with "
              f"{one['share_of_largest']:.0%} of the chains")  # fmt: skip
        length = f"time {one['time']:,.0f}"
        title = f"aggregates with {SHARE:.0%} or more of the later vesicle's chains"
        rows.append(script.compared(title, (one["aggregates"], None), None, size, length))
    script.save(options, {"encloses": closed, "chains": int(chains.sum()), "traced": found,
                          "rows": rows})  # fmt: skip
    every = max(1, -(-len(frames) // options.pictures))
    shown = frames[::-1][::every][::-1]
    columns = min(3, len(shown))
    lines = -(-len(shown) // columns)
    figure = Figure(figsize=(2.9 * columns, 3.1 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    for axes, frame in zip(panels, shown, strict=False):
        axes.imshow(view(frame, chains))
        axes.set_title(f"time {frame.time:g}", fontsize=9)
    script.picture(options, figure, dpi=120)


if __name__ == "__main__":
    script.run_script(main)
