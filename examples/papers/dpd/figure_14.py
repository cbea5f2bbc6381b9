# SPDX-License-Identifier: BSD-3-Clause
"""Vesicles and membranes from a random solution of triblock copolymers: Figure 14 of Y.-H. Tang and
G. E. Karniadakis, Comput. Phys. Commun. 185, 2809 (2014).

    python figure_14.py --edge 14 --steps 12000 --frame 4000
    python figure_14.py --edge 58.48 --steps 1000000 --frame 100000
    python figure_14.py --edge 58.48 --start-only
    python figure_14.py --frames out/figure_14/chains.*.dump

The paper has 134,217,728 particles and 12,400,000 steps.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from render import DPI, montage
from vesicles import Frame, parsed, simulate, write_data

from manymove import script


def rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The numbers for docs/papers.md, at the first and the last time."""
    titles = {
        "aggregates": "aggregates of two chains or more", "largest_aggregate":
        "chains in the largest aggregate", "compartments": "closed compartments",
        "largest_compartment": "volume of the largest compartment (r_c^3)",
    }  # fmt: skip
    lines = []
    for found in (report["frames_found"][0], report["frames_found"][-1]):
        size, length = f"{report['particles']:,} particles", f"time {found['time']:,.0f}"
        for name, title in titles.items():
            lines.append(script.compared(title, (found[name], None), None, size, length))
    return lines


def draw(report: dict[str, Any]) -> Figure:
    """Numbers of aggregates and of closed compartments against time, from a summary."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    found = report["frames_found"]
    times = [one["time"] for one in found]
    for name, style in (("aggregates", "o-"), ("compartments", "s-"), ("vesicles", "^-")):
        axes.plot(times, [one[name] for one in found], style, ms=4, label=name)
    axes.set_yscale("symlog", linthresh=1)
    axes.set(xlabel="time", ylabel="number", title=f"{report['particles']:,} particles")
    axes.legend()
    return figure


def main() -> None:
    parser = script.Parser(__doc__, seed=1)
    parser.option("--slab", 2.0, "Thickness of the slab at the cut.")
    parser.option("--pictures", 6, "Maximum number of frames in the picture.")
    parser.option("--start-only", False, "Only write vesicle.data.")
    options = parsed(parser, 14, without_a_run=("start_only",), draw=draw)
    script.at_least(options, pictures=2)
    if options.start_only:
        count = write_data(options.output / "vesicle.data", options.edge, options.seed)
        print(f"{count} particles in {options.output / 'vesicle.data'}")
        return
    paths = options.frames or simulate(options)
    frames = [Frame(path) for path in paths]
    options.frames = None  # paths of this machine
    report: dict[str, Any] = {
        "particles": round(5 * float(frames[0].edges.prod())),
        "frames_found": [frame.summary() for frame in frames],
    }
    report["rows"] = rows(report)
    for found in report["frames_found"]:
        print(", ".join(f"{key} {value:,.6g}" for key, value in found.items()))
    script.save(options, report)
    every = max(1, -(-len(paths) // options.pictures))
    script.picture(options, montage([*paths[::-1][::every]][::-1], options.slab), DPI)


if __name__ == "__main__":
    script.run_script(main)
